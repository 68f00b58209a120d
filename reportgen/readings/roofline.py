"""The roofline: FLOP per byte that crossed against FLOP per second, under the ceilings of the same run."""

from __future__ import annotations

from collections.abc import Sequence

from ..analysis import RunFacts
from ..analysis.kernels import readable, uses_tf32
from ..analysis.pace import pace
from ..analysis.roofline import Point, forwards, is_counted, products
from ..questions import needs
from ..questions.limit_words import at_limits_said
from ..questions.model import Because, Case, Chart, Decision, Evidence, Finding, Question, answer, decide
from ..saying.tables import Table, columns
from ..saying.units import Bytes, BytesPerSecond, Flop, FlopPerSecond, Percent, listed, significant

NEAR = 0.05
"""Points closer than this in both directions are one mark with both names."""
SHORT = {"bfloat16": "bf16", "float16": "fp16", "float32": "fp32"}


def name_of(point: Point) -> str:
    """`Naive`, or `Naive: its matmuls`."""
    return point.variant.title if point.part == "forward" else f"{point.variant.title}: its matmuls"


def merged(found: Sequence[Point]) -> list[tuple[str, Point]]:
    """Points that would lie on top of each other as one mark, under their names together. For drawing only: their numbers differ."""
    groups: list[list[Point]] = []
    for point in found:
        home = next((group for group in groups if _near(group[0], point)), None)
        groups.append([point]) if home is None else home.append(point)
    return [(_names(group), group[0]) for group in groups]


def _near(a: Point, b: Point) -> bool:
    return abs(a.intensity / b.intensity - 1) < NEAR and abs(a.rate / b.rate - 1) < NEAR


def _names(group: list[Point]) -> str:
    """`Naive and Naive in place: their matmuls` of two that are matmuls."""
    if len(group) > 1 and all(point.part == "matmuls" for point in group):
        return f"{listed([point.variant.title for point in group])}: their matmuls"
    return listed([name_of(point) for point in group])


ROOF_ANSWERS: dict[str, Case] = {
    "placed": answer(
        "The ridge lies at {ridge} FLOP per byte ({flop_ceiling} ÷ {copy_ceiling}). Left of it memory sets the roof: {left}. Right of it arithmetic does: {right}. "
        "The roof is not the limit that each is at, which must explain {rules[half]} of its GPU time. By that test: {limited}.",
        because=(Because("other_ridge", "For matrix products on CUDA cores the ridge lies at {other_ridge} FLOP per byte: {on_cores}."),),
        caveats=(Because("tf32", "{tf32} multiplies in TF32, for which this run has no ceiling, so the roof shown is that of the workload's type."),
                 Because("modelled", "Modelled: FLOP per requested byte, because this run has no counters."),
                 Because("absent", "Not shown, because bytes, work or unit of a step are unknown: {absent}."))),
    "no-points": answer("No variant can be placed: bytes or work are unknown for all."),
}


def roof_rule(facts: RunFacts) -> Decision:
    ceilings = facts.ceilings
    if not ceilings or not ceilings.copy_bytes_per_s or not ceilings.matmul_flop_per_s:
        return needs.no_ceilings(facts)
    whole = forwards(facts)
    if not whole:
        return decide("no-points")
    cores = [p for p in whole if p.tensor_cores == "no"]
    ridge, on_tensor = ceilings.matmul_flop_per_s / ceilings.copy_bytes_per_s, [p for p in whole if p not in cores]
    left, right = ([p for p in on_tensor if (p.intensity < ridge) is side] for side in (True, False))
    other = ceilings.fp32_flop_per_s / ceilings.copy_bytes_per_s if ceilings.fp32_flop_per_s and cores else None
    return decide("placed", ridge=significant(ridge), flop_ceiling=FlopPerSecond(ceilings.matmul_flop_per_s), copy_ceiling=BytesPerSecond(ceilings.copy_bytes_per_s),
                  left=_placed(left), right=_placed(right), other_ridge=other and significant(other), on_cores=_placed(cores), modelled=not is_counted(facts),
                  tf32=listed([p.variant.title for p in whole if uses_tf32(p.variant)]),
                  limited=at_limits_said([pace(facts, p.variant) for p in whole]), absent=listed([v.title for v in readable(facts) if v.id not in {p.variant.id for p in whole}]))


def _placed(found: Sequence[Point]) -> str:
    return listed([f"{p.variant.title} ({significant(p.intensity)})" for p in found]) or "none"


SHARE_ANSWERS: dict[str, Case] = {
    "shares": answer("Closest to its roof is {nearest} with {most}, farthest below is {farthest} with {least}.",
                     because=(Because("matmuls", "Their matmuls alone: {matmuls}."),)),
    "one": answer("{nearest} reaches {most} of the roof above it."),
    "no-points": answer("Not known: bytes or work are unknown for all variants."),
}


def share_rule(facts: RunFacts) -> Decision:
    if not facts.ceilings or not facts.ceilings.copy_bytes_per_s or not facts.ceilings.matmul_flop_per_s:
        return needs.no_ceilings(facts)
    whole = sorted(forwards(facts), key=lambda p: -p.share)
    if not whole:
        return decide("no-points")
    args = {"nearest": whole[0].variant.title, "most": _share(whole[0]), "farthest": whole[-1].variant.title, "least": _share(whole[-1]),
            "matmuls": listed([f"{p.variant.title} {_share(p)}" for p in products(facts)])}
    return decide("shares" if len(whole) > 1 else "one", **args)


def _share(point: Point) -> Percent:
    return Percent(round(100 * point.share, 1))


def evidence(facts: RunFacts) -> Evidence:
    found = [*forwards(facts), *products(facts)]
    if not found:
        return Evidence()
    return Evidence(tables=(_table(facts, found),), charts=_chart(facts, found))


def _table(facts: RunFacts, found: list[Point]) -> Table:
    word = "Counted bytes" if is_counted(facts) else "Requested bytes (modelled)"
    rows = tuple((name_of(p), Flop(p.flop), Bytes(p.bytes), significant(p.intensity), FlopPerSecond(p.rate), FlopPerSecond(p.roof), _share(p)) for p in found)
    notes = ("The roof is what the bytes allow at the copy ceiling, or what the unit allows at its matmul ceiling, whichever is lower. Work on Tensor Cores is counted where this run "
             "has counters; products on CUDA cores are modelled.",)
    return Table(columns("Forward, or part of it", "#Work", f"#{word}", "#FLOP per byte", "#Reached", "#Roof above it", "#Share of its roof"), rows,
                 "Where each variant lies under the roof.", notes)


def _chart(facts: RunFacts, found: list[Point]) -> tuple[Chart, ...]:
    ceilings = facts.ceilings
    assert ceilings is not None
    marks = merged(found)
    data = {"ceiling_bytes": ceilings.copy_bytes_per_s, "points": [(name, point.variant.id, point.intensity, point.rate) for name, point in marks],
            "ceilings_flop": [(f"{SHORT[facts.workload.dtype]} matmul", ceilings.matmul_flop_per_s), *([("FP32 matmul", ceilings.fp32_flop_per_s)] if ceilings.fp32_flop_per_s else [])]}
    said = "; ".join(f"{name_of(point)} {significant(point.intensity)} FLOP per byte, {FlopPerSecond(point.rate)}" for point in found)
    word = "counted" if is_counted(facts) else "requested (modelled)"
    return (Chart("roofline", "roofline", data, alt=f"Roofline. {said}.", caption=f"FLOP per {word} byte against FLOP per second. Logarithmic axes; lines are this run's ceilings."),)


READING = Finding(
    slug="roofline",
    title="The roofline",
    question="How fast could each variant compute, given the bytes it moves, and how fast does it?",
    questions=(
        Question("roofline-ridge", "On which side of the ridge does each variant lie?", roof_rule, ROOF_ANSWERS, needs=(needs.kernels(),)),
        Question("roofline-share", "Who comes close to the roof?", share_rule, SHARE_ANSWERS, needs=(needs.kernels(),)),
    ),
    evidence=evidence,
    section="readings",
)
