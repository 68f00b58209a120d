"""Prediction beside trace, line by line: where the two part, something is to be learned."""

from __future__ import annotations

from ..analysis import RunFacts, VariantFacts
from ..analysis.patterns import predictions
from ..questions import needs
from ..questions.model import Advice, Because, Case, Chart, Decision, Evidence, Finding, claim, decide, not_measurable
from ..questions.ranked import states_said
from ..questions.shared import OTHER_SHAPE, other_workload, software
from ..saying.units import Count, listed, plural

_ADVICE = (Advice("Before you open a trace, write down what you expect: how many activities, in which order, which one takes "
    "longest.",
    "Then look only at what differs."),)

NOT_RAN = Because("not_ran", "Not in the comparison: {not_ran}.")

CASES: dict[str, Case] = {
    "none-ran": not_measurable("no variant ran, so there is no trace to compare."),
    "no-predictions": not_measurable("this run's variants carry no predictions."),
    "broken": Case(
        "holds",
        "The trace contradicts the prediction in {broken}: {names}.",
        because=(Because("unpredicted", "Not predicted: {unpredicted}."), Because("absent", "Predicted but not seen: {absent}."), Because("kept", "As predicted: {kept}.")),
        caveats=(OTHER_SHAPE, NOT_RAN),
        advice=_ADVICE,
    ),
    "as-predicted": Case(
        "differs",
        "Every trace matches its prediction: {all} exactly the expected activities.",
        caveats=(OTHER_SHAPE, NOT_RAN),
        advice=_ADVICE,
    ),
}


def rule(facts: RunFacts) -> Decision:
    ran = [variant for variant in facts.six if variant.ok]
    if not ran:
        return decide("none-ran")
    if not facts.has_gpu_lane:
        return decide("no-gpu-lane")
    traced = [variant for variant in ran if variant.kernels is not None]
    if not traced:
        return needs.older(facts, "a trace")
    judged = [variant for variant in traced if variant.prediction]
    if not judged:
        return decide("no-predictions")
    broken = [(variant, predictions.broken(variant.prediction, variant.activities)) for variant in judged]
    broken = [(variant, lines) for variant, lines in broken if lines]
    names = {variant.id for variant, _ in broken}
    alone = len(judged) == 1
    args = {"software": software(facts, "torch", "cudnn"), "all": "the one variant that was traced queues" if alone else f"all {Count(len(judged))} variants queue",
            "other_workload": other_workload(facts), "not_ran": states_said(facts, [variant.id for variant in facts.six])}
    untraced = [variant.id for variant in ran if variant.kernels is None]
    if not broken:
        return needs.older(facts, "a trace", *untraced) if untraced else decide("as-predicted", **args)
    return decide("broken", **args, broken="the one variant that was traced" if alone else f"{Count(len(broken))} of {Count(len(judged))} variants",
                  names=listed([variant.title for variant, _ in broken]),
                  unpredicted="; ".join(filter(None, (_extra(variant, lines) for variant, lines in broken))),
                  absent="; ".join(filter(None, (_absent(variant, lines) for variant, lines in broken))),
                  kept=listed([variant.title for variant in judged if variant.id not in names]))


def _extra(variant: VariantFacts, lines: tuple[predictions.Line, ...]) -> str | None:
    """`SDPA math: 3 × cast, 1 × where`: what the trace shows and the prediction does not."""
    roles = [observed.role for predicted, observed in lines if predicted is None and observed is not None]
    return f"{variant.title}: {_counted(roles)}" if roles else None


def _absent(variant: VariantFacts, lines: tuple[predictions.Line, ...]) -> str | None:
    roles = [predicted[0] for predicted, observed in lines if observed is None and predicted is not None]
    return f"{variant.title}: {_counted(roles)}" if roles else None


def _counted(roles: list[str]) -> str:
    return ", ".join(f"{Count(roles.count(role))} × {role}" for role in dict.fromkeys(roles))


def evidence(facts: RunFacts) -> Evidence:
    shown = [variant for variant in facts.six if variant.ok and variant.activities and variant.prediction]
    return Evidence(charts=_chart(shown))


def _chart(shown: list[VariantFacts]) -> tuple[Chart, ...]:
    if not shown:
        return ()
    aligned = [predictions.align(variant.prediction, variant.activities) for variant in shown]
    series = [("as predicted", [sum(None not in line for line in lines) for lines in aligned]),
              ("seen, not predicted", [sum(line[0] is None for line in lines) for lines in aligned]),
              ("predicted, not seen", [sum(line[1] is None for line in lines) for lines in aligned])]
    said = "; ".join(f"{variant.title} {extra} unpredicted" for variant, extra in zip(shown, series[1][1]))
    return (Chart("predict-then-look", "stacked", {"labels": [variant.title for variant in shown], "series": series, "keys": [f"part:{name}" for name, _ in series],
                                                        "totals": [_ran(variant) for variant in shown], "unit": "lines"},
                  alt=f"GPU activities per forward against the prediction: {said}.", caption="Lines of the comparison: as predicted, not predicted, predicted but not seen."),)


def _ran(variant: VariantFacts) -> str:
    """What ran; a line that was predicted and not seen is a line of the comparison and no activity."""
    return plural(len(variant.activities), "activity", "activities")


FINDING = Finding(
    slug="predict-then-look",
    title="Predict, then look",
    question="How do you find surprises like these in your own trace?",
    questions=(
        claim("predict-then-look", "Every insight came from a prediction that the trace broke.", rule, CASES),
    ),
    evidence=evidence,
)
