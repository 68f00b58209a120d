"""Tries a correctness probe with one choice of backend: the output and the gradients beside FP64, the cure, the control."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from statistics import median
from typing import Any

from variants.backends import BACKENDS

from .. import probes
from ..probes import Inputs, NotHere, Probe, comparing
from ..run.correctness import CHOICES, DEFAULT
from . import operands, picking
from .refusal import listening, on_a_cpu

SEED = 20261201
REPETITIONS = 5
WITH_COMPILER = ("causal-one-query",)
"""Probes whose cure is of a part of torch that imports its compiler, which takes seconds: they are for a process that has it."""
RAN = ("right", "reproduces")
"""Outcomes of what gave a result."""
GRADIENT_SLACK = 2.0
"""torch's CPU kernel adds up the gradients of k and v in 16 bits, and shows 1.9 errors of the plain formula with wide scores."""
AGAIN = "output of a second call with the same seed"
GRADIENTS = {"q": "gradient of q", "k": "gradient of k", "v": "gradient of v", "mask": "gradient of the mask"}


def steps(ids: Sequence[str] | None = None) -> list[tuple[str, str]]:
    """The tasks of the watch, `("probe", "<id> <choice>")`: each choice by itself, so that a crash costs no other."""
    return [("probe", f"{probe.id} {choice}") for probe in probes.load() if ids is None or probe.id in ids for choice in CHOICES]


def cures(answers: Mapping[tuple[str, Any], Mapping[str, Any]]) -> list[tuple[str, str]]:
    """The tasks that time what a cure costs, `("cure", "<id> <choice>")`: of each probe the first choice that was cured, and gave a result.

    answers: to the tasks of `steps`
    """
    first: dict[str, tuple[str, str]] = {}
    for (task, step), answer in answers.items():
        cured = (answer["value"] or {}).get("cured") if task == "probe" else None
        if cured:
            first.setdefault(step.split()[0], (step, cured["outcome"]))
    return [("cure", step) for step, outcome in first.values() if outcome in RAN]


_plain = partial(comparing.plain, wide_scores=True)


@dataclass(frozen=True)
class Case:
    """Inputs, and what is right for them: exact and by the plain formula (see `comparing`). For dropout that depends on the keys that were kept."""

    inputs: Inputs
    exact: Mapping[Any, Any]
    plain: Mapping[Any, Any]


def answer(step: str, device: str) -> dict[str, Any]:
    """One step of `steps`.

    Returns:
        `{"not_here": reason}`, or `{"tried"}` with the fields of `run.Tried`, and where it reproduces `control` and `cured`
        as well (`None` where the probe has none). What the cure costs is not timed here (see `seconds`).
    """
    name, choice = step.split()
    probe = next(one for one in probes.load() if one.id == name)
    try:
        case = _case(name, device, control=False)
    except NotHere as reason:
        return {"not_here": str(reason)}
    except RuntimeError as error:
        if "out of memory" not in str(error):
            raise
        return {"not_here": "the inputs and their exact result do not fit the device's memory"}
    found: dict[str, Any] = {"tried": tried(case, choice, device)}
    if found["tried"]["outcome"] == "reproduces":
        found["control"] = tried(_case(name, device, control=True), choice, device) if probe.control else None
        found["cured"] = _cured(probe, case, choice, device) if probe.cure else None
    return found


@lru_cache(maxsize=2)
def _case(name: str, device: str, control: bool) -> Case:
    """The inputs of a probe with their exact result, kept for the next choice."""
    probe = next(one for one in probes.load() if one.id == name)
    return case(probe.control(device) if control and probe.control else probe.make(device))


def case(inputs: Inputs) -> Case:
    """Inputs with their exact result, or with that of what is meant (traps)."""
    meant = inputs.meant or inputs
    return Case(inputs, {}, {}) if inputs.keys_show else Case(inputs, _formula(comparing.exact, meant), _formula(_plain, meant))


def _formula(formula: Callable[..., Any], inputs: Inputs, kept: Any = None) -> Mapping[Any, Any]:
    told = {name: inputs.options[name] for name in ("is_causal", "scale") if name in inputs.options}
    dropped = {} if kept is None else {"kept": kept, "dropout_p": inputs.options["dropout_p"]}
    return formula(inputs.q, inputs.k, inputs.v, inputs.mask, upstream=inputs.upstream, **told, **dropped)


def call(inputs: Inputs) -> Any:
    """`scaled_dot_product_attention` of the inputs; looked up when it is called."""
    import torch.nn.functional as F

    return F.scaled_dot_product_attention(inputs.q, inputs.k, inputs.v, attn_mask=inputs.mask, **inputs.options)


def pinned(choice: str) -> AbstractContextManager[Any]:
    """Holds SDPA to one backend; nothing is pinned for the default choice."""
    if choice == DEFAULT:
        return nullcontext()
    from torch.nn.attention import SDPBackend, sdpa_kernel

    return sdpa_kernel(getattr(SDPBackend, BACKENDS[choice].member))


def tried(case: Case, choice: str, device: str, program: Callable[[Inputs], Any] = call) -> dict[str, Any]:
    """The fields of `run.Tried`. program: from inputs to the output."""
    compared: list[dict[str, Any]] = []
    picked = _picked(case.inputs, program) if choice == DEFAULT else None
    with listening() as heard:
        compared = _compared(case, _values(case.inputs, program, choice))
        operands.synchronize(device)
    told = {"compared": compared, "picked": picked, "reason": None}
    if heard.error is None:
        return {"outcome": "right" if all(one["right"] for one in compared) else "reproduces", **told}
    reason = heard.reason if operands.is_gpu(device) else on_a_cpu(choice, heard.reason)
    return {"outcome": "refused" if heard.declined else "failed", **told, "compared": [], "reason": reason}


def _values(inputs: Inputs, program: Callable[[Inputs], Any], choice: str) -> dict[str, Any]:
    """The output, and the gradients where there is an upstream one."""
    import torch

    values = {}
    with torch.enable_grad() if inputs.upstream is not None else torch.no_grad():
        leaves = _leaves(inputs)
        with pinned(choice):
            _seed()
            output = program(leaves)
        values["output"] = output.detach()
        if inputs.upstream is not None:
            gradients = torch.autograd.grad(output, [getattr(leaves, name) for name in inputs.wants], inputs.upstream)
            values.update({GRADIENTS[name]: gradient for name, gradient in zip(inputs.wants, gradients)})
        if inputs.keys_show:
            with pinned(choice):
                _seed()
                values[AGAIN] = program(leaves).detach()
    return values


def _seed() -> None:
    """Seeds what draws dropout. `torch.manual_seed` does the same, and imports the compiler at its first use, which takes seconds."""
    import torch

    torch.default_generator.manual_seed(SEED)
    torch.cuda.manual_seed_all(SEED)


def _picked(inputs: Inputs, program: Callable[[Inputs], Any]) -> str | None:
    """The backend that torch takes for the call with nothing pinned: it is made once more, and ends at the op."""
    import torch

    with listening(), torch.set_grad_enabled(inputs.upstream is not None), picking.listener(stop=True) as seen:
        program(_leaves(inputs))
    found = picking.backend(seen.ops)
    return found[0] if found else None


def _leaves(inputs: Inputs) -> Inputs:
    """The inputs as leaves with the same strides, each asking for a gradient where it is wanted."""
    if inputs.upstream is None:
        return inputs
    return replace(inputs, **{name: value.detach().requires_grad_(name in inputs.wants)
                              for name in GRADIENTS if (value := getattr(inputs, name)) is not None and value.dtype.is_floating_point})


def _compared(case: Case, values: Mapping[str, Any]) -> list[dict[str, Any]]:
    exact, plain = case.exact, case.plain
    if case.inputs.keys_show:  # with v the identity, what was dropped is 0 in the output
        kept = values["output"] != 0
        exact, plain = _formula(comparing.exact, case.inputs, kept), _formula(_plain, case.inputs, kept)
    compared = [comparing.compare(name, value, exact[name], plain[name], 1.0 if name == "output" else GRADIENT_SLACK)  # type: ignore[arg-type]
                for name, value in values.items() if name in exact]
    return compared + ([_again(values[AGAIN], values["output"])] if AGAIN in values else [])


def _again(value: Any, first: Any) -> dict[str, Any]:
    """The fields of `run.Compared` for what must equal the first output bit for bit."""
    error = float((value.double() - first.double()).norm() / first.double().norm())
    broken = int((~value.isfinite()).sum())
    return {"tensor": AGAIN, "right": not broken and error == 0.0, "error": None if broken else error, "allowed": 0.0,
            "not_finite": broken, "elements": value.numel()}


def _cured(probe: Probe, case: Case, choice: str, device: str) -> dict[str, Any]:
    """The fields of `run.Cured`: the cure in place of the call, with the same choice around it."""
    assert probe.cure is not None
    return {**tried(case, choice, device, probe.cure.call), "choice": choice, "before": None, "after": None}


def seconds(step: str, device: str) -> dict[str, float]:
    """`{"before", "after"}`: seconds of one call as reported and with the probe's cure, for a step of `cures`. Nothing may run beside it."""
    name, choice = step.split()
    probe = next(one for one in probes.load() if one.id == name)
    assert probe.cure is not None
    inputs = probe.make(device)
    return {when: _seconds(inputs, program, choice, device) for when, program in (("before", call), ("after", probe.cure.call))}


def _seconds(inputs: Inputs, program: Callable[[Inputs], Any], choice: str, device: str) -> float:
    """Median seconds of one call, with its backward where gradients are compared. It has run once, so nothing is compiled."""
    taken = []
    _values(inputs, program, choice)
    for _ in range(REPETITIONS):
        operands.synchronize(device)
        began = time.perf_counter()
        _values(inputs, program, choice)
        operands.synchronize(device)
        taken.append(time.perf_counter() - began)
    return median(taken)
