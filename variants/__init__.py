"""The attention variants that the report profiles, in the order in which it shows them.

To add one: write `variants/<name>.py` and put `<name>` into `VARIANTS`. The file gives

- `TITLE`, `CHANGED` (one sentence: what differs from the variant before),
- `PREDICTION`: the GPU steps one would expect, as `(role, what it is)`; a role is one of matmul, scale,
  copy, mask, softmax, cast, fill, tril, where, add, isneginf, all, memset, fused attention, other,
- `forward(q, k, v, mask)`, and `masked(q, k, v, mask)` where it takes a mask of one's own,
- optionally `BACKEND`: the SDPA backend that it is pinned to, `SLOW_START`: its first call takes many
  seconds, and `BRIEF`: an extra of which no more is taken than its GPU time (on a CPU its wall time), its
  error against FP64, its memory, one trace and its counters.

q, k, v are `[batch, heads, sequence, head_dim]`; mask is bool `[sequence, sequence]`, True where a
query may not see a key. torch is imported inside functions only, so that pages can be rendered
where there is no torch.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from reportgen.errors import ReportError

from .backends import BACKENDS

VARIANTS = (
    "naive",
    "naive_inplace",
    "sdpa_math",
    "sdpa_efficient",
    "sdpa_flash",
    "sdpa_cudnn",
    "naive_compiled",
    "naive_scaled_q",
    "naive_baddbmm",
)
ROLES = ("matmul", "scale", "copy", "mask", "softmax", "cast", "fill", "tril", "where", "add", "isneginf", "all", "memset",
         "fused attention", "other")
"""What a step of a prediction may be; the words that the steps in a trace are told apart by."""
SIX = ("naive", "naive_inplace", "sdpa_math", "sdpa_efficient", "sdpa_flash", "sdpa_cudnn")
"""The variants of the article: only these are in verdicts."""


@dataclass(frozen=True)
class Variant:
    """One implementation of causal attention.

    backend: key of `backends.BACKENDS`, or `None` where nothing is pinned
    named: one of the article's six
    source: the variant's file as text
    bare, bare_masked: the file's own functions, to be called inside `pinned()`; the pin costs
        about 10 µs of host time, so what is timed is pinned once, outside
    slow_start: measured in one process only, because the first call takes many seconds
    brief: an extra that is timed by the deciding clock alone, and not trained
    """

    id: str
    title: str
    changed: str
    prediction: tuple[tuple[str, str], ...]
    backend: str | None
    named: bool
    source: str
    bare: Callable[..., Any]
    bare_masked: Callable[..., Any] | None
    slow_start: bool = False
    brief: bool = False

    def pinned(self) -> AbstractContextManager[Any]:
        """Holds SDPA to this variant's backend; does nothing where there is none to pin."""
        if self.backend is None:
            return nullcontext()
        from torch.nn.attention import SDPBackend, sdpa_kernel

        pin: AbstractContextManager[Any] = sdpa_kernel(getattr(SDPBackend, BACKENDS[self.backend].member))
        return pin

    def forward(self, q: Any, k: Any, v: Any, mask: Any) -> Any:
        """Causal attention `[B, H, S, D]`, pinned. Raises what torch raises where it cannot run."""
        with self.pinned():
            return self.bare(q, k, v, mask)

    def masked(self, q: Any, k: Any, v: Any, mask: Any) -> Any:
        """Attention under `mask` alone, pinned.

        Raises:
            NotImplementedError: the variant takes no mask of one's own.
        """
        if self.bare_masked is None:
            raise NotImplementedError(f"{self.id} does not support an attn_mask of one's own")
        with self.pinned():
            return self.bare_masked(q, k, v, mask)


def load(names: tuple[str, ...] | None = None) -> tuple[Variant, ...]:
    """The variants with these names, or all of them, in the order of `VARIANTS`.

    Raises:
        ReportError: a name is not in `VARIANTS`, or its file is missing, cannot be imported, or lacks a part.
    """
    unknown = set(names or ()) - set(VARIANTS)
    if unknown:
        raise ReportError(f"no such variant: {', '.join(sorted(unknown))}", cure=f"choose among {', '.join(VARIANTS)}")
    return tuple(_from_module(name) for name in VARIANTS if names is None or name in names)


def _from_module(name: str) -> Variant:
    module = _imported(name)
    for part in ("TITLE", "CHANGED", "PREDICTION", "forward"):
        if not hasattr(module, part):
            raise ReportError(f"{part} is missing", where=f"variants/{name}.py", cure="see the top of variants/__init__.py for what a variant gives")
    backend = getattr(module, "BACKEND", None)
    if backend is not None and backend not in BACKENDS:
        raise ReportError(f"BACKEND is {backend!r}", where=f"variants/{name}.py", cure=f"choose among {', '.join(BACKENDS)}, or leave it out")
    return Variant(
        id=name,
        title=module.TITLE,
        changed=module.CHANGED,
        prediction=_prediction(module.PREDICTION, f"variants/{name}.py"),
        backend=backend,
        named=name in SIX,
        source=inspect.getsource(module),
        bare=module.forward,
        bare_masked=getattr(module, "masked", None),
        slow_start=getattr(module, "SLOW_START", False),
        brief=getattr(module, "BRIEF", False),
    )


def _imported(name: str) -> ModuleType:
    """The variant's module; whatever its own code raises while it is imported is the user's to mend."""
    where = f"variants/{name}.py"
    try:
        return importlib.import_module(f"{__name__}.{name}")
    except SyntaxError as error:
        raise ReportError(f"is not valid Python: {error.msg}", where=f"{where}:{error.lineno}", cure="mend that line") from None
    except Exception as error:  # noqa: BLE001 - a module of the user's may raise anything
        if isinstance(error, ModuleNotFoundError) and error.name == f"{__name__}.{name}":
            raise ReportError("is in VARIANTS, and there is no such file", where=where, cure="write it, or take its name out of variants/__init__.py") from None
        raise ReportError(f"cannot be imported ({type(error).__name__}: {error})", where=where,
                          cure="mend it; torch is imported inside functions, for the pages read this file without torch") from None


def _prediction(steps: Any, where: str) -> tuple[tuple[str, str], ...]:
    try:
        found = tuple((role, meaning) for role, meaning in steps)
    except (TypeError, ValueError):
        raise ReportError("PREDICTION is not a list of pairs", where=where, cure='write each step as ("matmul", "q · kᵀ"): a role and what it is') from None
    for role, _ in found:
        if role not in ROLES:
            raise ReportError(f"PREDICTION has the role {role!r}, which is none", where=where, cure=f"choose among {', '.join(ROLES)}")
    return found
