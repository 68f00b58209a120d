"""What the math backend pays for being right on every row, and whether it is the most accurate."""

from __future__ import annotations

import re

from ..analysis import RunFacts, State, VariantFacts
from ..analysis.kernels import tf32_setting
from ..analysis.pins import PINNED
from ..analysis.softmax import added_ops, calls_safe, under_safe
from ..numbers.statistics import MINIMUM_EFFECT
from ..questions import needs
from ..questions.model import Advice, Because, Case, Chart, Decision, Evidence, Finding, Relies, claim, decide, not_measurable
from ..questions.needs import refusal
from ..questions.shared import MASKED_ROW, OTHER_SHAPE, other_workload, software
from ..questions.steps import share, total
from ..saying.tables import Code, Table, columns
from ..saying.units import Count, Percent, Ratio, Seconds, listed, plural, significant

_ROWS = Because("others", "The same row in the other variants: {others}.")
_EXPLICIT = Because("row", "The row was masked with an explicit `attn_mask`, which may run another kernel than the one timed here.")
_DECIDE = "If a mask can hide every key of a row (padding does), decide what that row should return (usually zeros) and test for it"
_PROTECTED = "Under a causal mask every row sees at least one key, so nothing is needed."
_ADVICE = (Advice(f"{_DECIDE}: the backends do not agree.", _PROTECTED, needs="disagree"), Advice(f"{_DECIDE}.", _PROTECTED, needs="no_disagreement"))

SAFE_CASES: dict[str, Case] = {
    "no-gpu-lane": Case(
        "not measurable",
        "without a GPU lane the kernels that `aten::_safe_softmax` adds cannot be counted.", partly=True,
        because=(Because("ops", "It adds these CPU ops to the softmax: {ops}."), Because("row", "For a fully masked row math returns {row}."), _ROWS),
        caveats=(_EXPLICIT,),
    ),
    "protects": Case(
        "holds",
        "`aten::_safe_softmax` adds {count} to the softmax ({roles}); for a fully masked row math returns {row}, not NaN.",
        because=(Because("extra_time", "They take {extra_time}, {extra_share} of math's GPU time; the softmax takes {softmax_time}."), _ROWS),
        caveats=(_EXPLICIT, OTHER_SHAPE),
        advice=_ADVICE,
    ),
    "still-nan": Case(
        "differs",
        "`aten::_safe_softmax` adds {count} to the softmax ({roles}), yet for a fully masked row math returns NaN.",
        because=(_ROWS,), caveats=(_EXPLICIT, OTHER_SHAPE), advice=_ADVICE,
    ),
    "adds-none": Case(
        "differs",
        "`aten::_safe_softmax` is in the trace but adds no kernel; for a fully masked row math returns {row}.",
        because=(_ROWS,), caveats=(_EXPLICIT, OTHER_SHAPE), advice=_ADVICE,
    ),
    "no-safe-softmax": Case(
        "differs",
        "Math does not call `aten::_safe_softmax`; for a fully masked row it returns {row}.",
        because=(_ROWS,), caveats=(_EXPLICIT, OTHER_SHAPE), advice=_ADVICE,
    ),
    "row-refused": not_measurable("`aten::_safe_softmax` adds {count} to the softmax ({roles}), but math refused the masked row ({reason}).", partly=True),
}


def safe_rule(facts: RunFacts) -> Decision:
    math = facts.variants["sdpa_math"]
    if math.masked_row is None:
        return needs.older(facts, "a fully masked row", math.id, part="masked_row")
    outcome = math.masked_row.outcome
    disagree = _disagree(facts)
    args: dict[str, object] = {"software": software(facts, "torch"), "row": MASKED_ROW[outcome], "others": _others(facts), "other_workload": other_workload(facts),
                               "disagree": disagree, "no_disagreement": not disagree}
    if not calls_safe(math):
        return decide("no-safe-softmax", **args)
    if math.trace_loss:
        return needs.older(facts, "the GPU side of this variant's trace", math.id)
    if not math.activities:
        return decide("no-gpu-lane", **args, ops=listed([f"`{name}`" for name in added_ops(math)]) or None)
    found = under_safe(math)
    args |= {"count": plural(len(found.kernels), "kernel"), "roles": listed([a.role for a in found.kernels]), "extra_time": Seconds(total(found.added)),
             "extra_share": share(total(found.added), total(math.activities)), "softmax_time": Seconds(total(found.softmax))}
    if not found.kernels:
        return decide("adds-none", **args)
    if outcome in ("refused", "takes-no-mask"):
        return decide("row-refused", **args, reason=about_the_mask(math.masked_row.reason) or MASKED_ROW[outcome])
    return decide("still-nan" if outcome == "nan" else "protects", **args)


def _disagree(facts: RunFacts) -> bool:
    """Whether two backends gave such a row different values. Naive attention is no backend, and one that takes no mask gave nothing."""
    rows = [facts.variants[name].masked_row for name in PINNED if facts.ok(name)]
    return len({row.outcome for row in rows if row and row.outcome not in ("refused", "takes-no-mask")}) > 1


def about_the_mask(reason: str | None) -> str | None:
    """torch's sentences about the mask, where there are any; else its refusal without the echo of the pin."""
    if not reason:
        return None
    told = [part.rstrip(".") for part in re.split(r"(?<=[.])\s+", reason.strip()) if "mask" in part]
    return ". ".join(told) or refusal(reason)


def _others(facts: RunFacts) -> str | None:
    said = [f"{v.title} {MASKED_ROW[v.masked_row.outcome]}" for v in facts.six if v.ok and v.masked_row and v.id != "sdpa_math"]
    return ", ".join(said) or None


_EXACT = (Advice("As a test reference compute in FP64: math on 16-bit inputs computes in FP32 and rounds its output.",
                 "For everyday use all these errors are as small as the type's rounding.",
                 when=(Relies("math-upcast", ("upcast",)),), more_needs="all_right"),)

ACCURATE_CASES: dict[str, Case] = {
    "most-accurate": Case(
        "holds",
        "Math is the most accurate of the {count} variants with a right result: relative error {error} against FP64; next is {next} with {next_error}{times}.",
        because=(Because("upcast", "It casts its inputs up, {computes}, and rounds to {upcast} once."),
                 Because("rounding", "Rounding the exact result to {type} once gives the same error ({rounding}, within {within}), so no {type} output can be much closer.")),
        caveats=(OTHER_SHAPE,),
        advice=_EXACT,
    ),
    "other-more-accurate": Case(
        "differs",
        "Math is not the most accurate: {best} has a relative error of {best_error} against FP64, math {error}.",
        caveats=(OTHER_SHAPE,),
        advice=_EXACT,
    ),
    "tie": Case(
        "within noise",
        "Math shares the smallest relative error against FP64 ({error}) with {ties}, within {threshold}.",
        caveats=(OTHER_SHAPE,),
        advice=_EXACT,
    ),
    "nothing-to-compare": not_measurable("none of the other five variants gave a result to compare."),
}


def accurate_rule(facts: RunFacts) -> Decision:
    """Errors are exact for given inputs, but another seed moves them by a percent or so.

    Closer than the 2 % below which no difference counts, two variants are called equally accurate.
    """
    math = facts.variants["sdpa_math"]
    if math.relative_error is None:
        return needs.older(facts, "the error against FP64")
    others = {v.title: v.relative_error for v in facts.six if v.ok and v.id != "sdpa_math" and v.relative_error is not None}
    if not others:
        return decide("nothing-to-compare")
    best = min(others, key=others.__getitem__)
    args: dict[str, object] = {"error": math.relative_error, "other_workload": other_workload(facts), **_rounded_once(facts, math),
                               "all_right": not any(v.state is State.WRONG for v in facts.six)}
    if others[best] * (1 + MINIMUM_EFFECT) < math.relative_error:
        return decide("other-more-accurate", **args, best=best, best_error=others[best])
    ties = [name for name, error in others.items() if error <= math.relative_error * (1 + MINIMUM_EFFECT)]
    if ties:
        return decide("tie", **args, ties=listed(ties), threshold=Percent(100 * MINIMUM_EFFECT))
    return decide("most-accurate", **args, count=Count(len(others) + 1), next=best, next_error=others[best],
                  times=f", {Ratio(others[best] / math.relative_error)} as much" if math.relative_error else "", upcast=_upcast(facts),
                  computes="keeps FP32 in between, with matmuls that may use TF32 in this run" if tf32_setting(facts) else "computes in FP32 from end to end")


ROUNDINGS_ALLOWED = {"bfloat16": 3, "float16": 3}
"""How many times the error of rounding the exact result once a variant's error may be (`capture/numerics.py`)."""
ONCE = 0.01


def _rounded_once(facts: RunFacts, math: VariantFacts) -> dict[str, object]:
    """The error of a single rounding, where math's own is no other."""
    times = ROUNDINGS_ALLOWED.get(facts.workload.dtype)
    if not times or not math.allowed_error or math.relative_error is None:
        return {"rounding": None}
    once = math.allowed_error / times
    return {"rounding": once if abs(math.relative_error / once - 1) <= ONCE else None, "within": Percent(100 * ONCE), "type": facts.workload.dtype}


def _upcast(facts: RunFacts) -> str | None:
    """The type that math rounds to at the end, where it casts up in this run."""
    math = facts.variants["sdpa_math"]
    return facts.workload.dtype if facts.workload.element_bytes < 4 and any(op.name == "aten::_to_copy" for op in math.ops) else None


def evidence(facts: RunFacts) -> Evidence:
    math = facts.variants.get("sdpa_math")
    steps = _steps(math) if math and math.ok else ()
    return Evidence(tables=(*steps, *_rows(facts), *_errors(facts)), charts=_chart(facts))


def _steps(math: VariantFacts) -> tuple[Table, ...]:
    found = under_safe(math)
    rows = tuple(("softmax" if a in found.softmax else "added", a.role, Code(a.op or "—"), Code(a.short), Seconds(a.duration).us(), share(a.duration, total(math.activities)))
                 for a in math.activities if a in found.softmax or a in found.added)
    return (Table(columns("Part", "Role", "Op", "Kernel", "#GPU time (µs)", "#Share of the forward"), rows, caption="GPU activities under `aten::_safe_softmax` in one math forward."),) if rows else ()


def _rows(facts: RunFacts) -> tuple[Table, ...]:
    rows = tuple((v.title, MASKED_ROW[v.masked_row.outcome], about_the_mask(v.masked_row.reason)) for v in facts.six if v.ok and v.masked_row)
    return (Table(columns("Variant", "A fully masked row gives", "In torch's words"), rows, caption="What a query row returns that sees no key."),) if rows else ()


def _known(facts: RunFacts) -> list[tuple[VariantFacts, float]]:
    """Each variant that gave a result, right or wrong, with its error: whose error is beyond what is accepted is seen here."""
    return [(v, v.relative_error) for v in facts.six if v.state.ran and v.relative_error is not None]


def _errors(facts: RunFacts) -> tuple[Table, ...]:
    shown = _known(facts)
    math = next((error for v, error in shown if v.id == "sdpa_math"), None)
    rows = tuple((v.title, error, Ratio(error / math) if math else None, v.allowed_error) for v, error in shown)
    return (Table(columns("Variant", "#Relative error against FP64", "#÷ math's", "#Most that is accepted"), rows,
                  caption="‖out − ref‖ ÷ ‖ref‖ of each variant, the reference computed in FP64."),) if rows else ()


def _chart(facts: RunFacts) -> tuple[Chart, ...]:
    shown = sorted(_known(facts), key=lambda pair: pair[1])
    right = [(error, v.title) for v, error in shown if v.ok]
    if not right:
        return ()
    labels = [v.title if v.ok else f"{v.title}, wrong" for v, _ in shown]
    said = "; ".join(f"{label} {significant(error)}" for label, (_, error) in zip(labels, shown))
    data = {"labels": labels, "values": [error for _, error in shown], "low": None, "high": None, "unit": "",
            "ids": [v.id for v, _ in shown], "reference": None}
    return (Chart("safe-softmax-errors", "bars", data, alt=f"Relative error against FP64: {said}. {min(right, key=lambda one: one[0])[1]} has the smallest.",
                  caption="Relative error against FP64."),)


FINDING = Finding(
    slug="safe-softmax",
    title="Safe softmax and accuracy",
    question="What does attention return for a fully masked row, and which variant is the most accurate?",
    questions=(
        claim("math-safe-softmax", "`_safe_softmax` adds kernels and protects fully masked rows from NaN.", safe_rule, SAFE_CASES, needs=(needs.ops("sdpa_math"),)),
        claim("math-accurate", "Math is the accurate reference.", accurate_rule, ACCURATE_CASES, needs=(needs.ran("sdpa_math"),)),
    ),
    evidence=evidence,
)
