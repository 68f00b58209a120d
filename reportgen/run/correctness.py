"""What each correctness probe found: public reports of wrong SDPA results, tried on the device of the run.

The probes themselves are in `reportgen/probes/`. A probe is tried with nothing pinned and with each backend pinned.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal, get_args

from .ranges import Amount, Count, Extent, Known, Seconds

DEFAULT = "default"
"""The choice of a caller who pins nothing."""
CHOICES = (DEFAULT, "math", "efficient", "flash", "cudnn")
Tensor = Literal["output", "gradient of q", "gradient of k", "gradient of v", "gradient of the mask", "output of a second call with the same seed"]
TENSORS: tuple[Tensor, ...] = get_args(Tensor)


@dataclass(frozen=True)
class Compared:
    """One tensor beside FP64.

    error: ‖value − exact‖ ÷ ‖exact‖, or `None` where the value is not finite
    allowed: the most that is accepted
    row_error, row_allowed: the same for the row in which it is largest
    not_finite, hidden, elements: how many elements are NaN or infinite and should not be, how many are finite and should be NaN,
        and how many there are
    """

    tensor: Tensor
    right: bool
    error: Amount | None = None
    allowed: Amount | None = None
    row_error: Amount | None = None
    row_allowed: Amount | None = None
    not_finite: Count = 0
    hidden: Count = 0
    elements: Count = 0


@dataclass(frozen=True)
class Tried:
    """What one choice of backend made of a probe's inputs.

    outcome: `right`; `reproduces`: it ran, and what came out is not what the probe's writer may expect; `refused`: torch
        would not run it; `failed`: it broke off
    reason: torch's words for `refused` and `failed`
    compared: the output, and the gradients where the probe asks for them
    picked: for the choice `default`: the backend that ran, a key of `variants.backends.BACKENDS`; `None` where no op told
    """

    outcome: Literal["right", "reproduces", "refused", "failed"]
    reason: str | None = None
    compared: tuple[Compared, ...] = ()
    picked: str | None = None


@dataclass(frozen=True)
class Cured:
    """The probe's cure, run with the first choice that reproduces, in the order of `CHOICES`: what it is to cure.

    choice: that choice; with `default`, nothing is pinned around the cure
    before, after: seconds of one call (forward, and backward where the probe asks for gradients) as reported and with the
        cure; medians
    """

    outcome: Literal["right", "reproduces", "refused", "failed"]
    reason: str | None = None
    compared: tuple[Compared, ...] = ()
    picked: str | None = None
    before: Seconds | None = None
    after: Seconds | None = None
    choice: Literal["default", "math", "efficient", "flash", "cudnn"] = "default"


@dataclass(frozen=True)
class ProbeRun:
    """One probe.

    tried: by choice; control: the same with inputs that should be right, for the choices that reproduce the probe
    cured: what the cure did, where something reproduces and a cure is known
    not_here: why it was not tried on this device at all; seconds: what it took
    """

    tried: Mapping[Annotated[str, Known(CHOICES)], Tried] = field(default_factory=dict)
    control: Mapping[Annotated[str, Known(CHOICES)], Tried] = field(default_factory=dict)
    cured: Cured | None = None
    not_here: str | None = None
    seconds: Seconds | None = None


@dataclass(frozen=True)
class Pick:
    """Which backend runs when nothing is pinned, for one kind of call at the workload's head dimension and type.

    mask: none, causal by `is_causal`, a bool mask, or a mask of floats in the type of q
    backend: a key of `variants.backends.BACKENDS`; `None` where torch refused, with its `reason`
    """

    mask: Literal["none", "causal", "bool", "float"]
    gradients: bool
    grouped: bool
    queries: Extent
    keys: Extent
    backend: str | None = None
    reason: str | None = None


@dataclass(frozen=True)
class Correctness:
    """The watch. probes: by id, in the order in which they are shown. reason: why there are none."""

    probes: Mapping[str, ProbeRun] = field(default_factory=dict)
    picks: tuple[Pick, ...] = ()
    seconds: Seconds | None = None
    reason: str | None = None


@dataclass(frozen=True)
class OwnShape:
    """A variant's gradients at the run's own shape, and its output and gradients under the same causal mask given as a mask.

    outcome: as for `Tried`; `takes-no-mask` where torch says that the backend has no mask argument
    """

    outcome: Literal["right", "wrong", "refused", "failed", "takes-no-mask"]
    reason: str | None = None
    compared: tuple[Compared, ...] = ()
