"""Attention that must be written by hand: what a better way to write it saves here."""

from __future__ import annotations

from functools import partial

from ..analysis import RunFacts, VariantFacts
from ..analysis.ranking import deciding, faster, rank
from ..analysis.savings import saving
from ..numbers.quantities import heading
from ..numbers.statistics import PROCESSES
from ..questions import needs
from ..questions.bar_charts import time_bars
from ..questions.model import Advice, Because, Case, Decision, Evidence, Finding, Leads, Need, Source, claim, decide, not_measurable
from ..questions.ranked import over_processes, too_few
from ..questions.shared import OTHER_SHAPE, other_workload
from ..saying.tables import Table, columns
from ..saying.units import Count, Ratio, Saving, Seconds, significant

BASE = "naive_inplace"
COMPILED_FROM = "naive"
EXTRAS = ("naive_scaled_q", "naive_baddbmm", "naive_compiled")
SHOWN = ("naive", BASE, *EXTRAS)
_FURTHER = "A fused SDPA backend is faster still."

SCALED = Advice("Scale the queries, not the scores: `torch.matmul(q * scale, k.mT)`.", _FURTHER, more_needs="fused_faster", more_leads=Leads("fused"), saves="saves")
FOLDED = Advice("Let the first matmul scale and mask: `torch.baddbmm(bias, q, k.mT, alpha=scale)`, with zero or −∞ in the bias.", _FURTHER, more_needs="fused_faster",
                more_leads=Leads("fused"), saves="saves")
COMPILE = Advice("If attention must be written by hand, use `torch.compile`{but}.", saves="saves")
"""but: what makes its saving less than a verdict, and what compiling costs once; it stands wherever the saving does."""

_WHY = (
    Because("steps", "GPU activities: {steps}."),
    Because("error", "Relative error against FP64: {error}; {base}: {base_error}."),
)


def _cases(what: str, advice: Advice) -> dict[str, Case]:
    """what: the change, as a sentence begins."""
    return {
        "unpaired": not_measurable("{extra} and {base} were timed in different numbers of processes and cannot be compared."),
        "faster": Case("holds", what + " makes hand-written attention faster: {extra_time} instead of {base_time} ({ratio}; {processes}).", because=_WHY, caveats=(OTHER_SHAPE,), advice=(advice,)),
        "same": Case("within noise", what + " makes no measurable difference: {extra_time} against {base_time} (ratio {processes}).", because=_WHY, caveats=(OTHER_SHAPE,)),
        "slower": Case("differs", what + " makes hand-written attention slower: {extra_time} instead of {base_time} ({ratio}; {processes}).", because=_WHY, caveats=(OTHER_SHAPE,)),
    }


SCALED_CASES = _cases("Scaling the queries instead of the scores", SCALED)
FOLDED_CASES = _cases("Folding scale and mask into the first matmul", FOLDED)
COMPILED_CASES: dict[str, Case] = {
    **_cases("`torch.compile`", COMPILE),
    "too-few-less": Case(
        "within noise",
        "`torch.compile` was {few}: {extra_time} with it, {base_time} without (at least {base_low} in every process).",
        because=_WHY, caveats=(OTHER_SHAPE,), advice=(COMPILE,)),
    "too-few": Case(
        "within noise",
        "`torch.compile` was {few}: {extra_time} with it, {base_time} without.", because=_WHY, caveats=(OTHER_SHAPE,)),
}


def compared(*names: str) -> Need:
    """Both have the time that decides here, from enough processes, by one timer."""
    return Need(f"the deciding time of {', '.join(names)} in {PROCESSES} processes",
                lambda facts: needs.unmet(facts, needs.compared(deciding(facts).name, *names), needs.one_timer(*names)))


def rule(extra: str, base: str, facts: RunFacts) -> Decision:
    pair = rank(facts, names=(base, extra)).pair(extra, base)
    if pair.ratio is None:
        return decide("unpaired", extra=facts.variants[extra].title, base=facts.variants[base].title)
    case = {extra: "faster", base: "slower", None: "same"}[pair.winner]
    return decide(case, **_args(facts, extra, base), ratio=Ratio(pair.ratio.median), processes=over_processes(pair.ratio), saves=saving(facts, base, extra))


def compiled_rule(facts: RunFacts) -> Decision:
    """A compiled forward is timed in fewer processes as a rule: then nothing is judged, and a saving is named where no process of naive comes near."""
    name, extra = deciding(facts).name, "naive_compiled"
    blocked = needs.unmet(facts, needs.timed(name, extra, COMPILED_FROM), needs.one_timer(extra, COMPILED_FROM))
    if blocked:
        return blocked
    one, base = facts.variants[extra].times[name], facts.variants[COMPILED_FROM].times[name]
    if len(one.samples) == len(base.samples) or len(one.samples) >= PROCESSES:
        return needs.unmet(facts, needs.compared(name, extra, COMPILED_FROM)) or rule(extra, COMPILED_FROM, facts)
    args = {**_args(facts, extra, COMPILED_FROM), "few": too_few(len(one.samples)), "base_low": Seconds(base.low)}
    args["but"] = _but(facts.variants[extra], too_few(len(one.samples)))
    threshold = rank(facts, name, (COMPILED_FROM, extra)).pair(extra, COMPILED_FROM).threshold
    if one.high * (1 + threshold) > base.low or len(base.samples) < PROCESSES:
        return decide("too-few", **args)
    return decide("too-few-less", **args, saves=Saving(base.median - one.median, 1 - one.median / base.median, facts.variants[COMPILED_FROM].title))


def _args(facts: RunFacts, extra: str, base: str) -> dict[str, object]:
    first, second, name = facts.variants[extra], facts.variants[base], deciding(facts).name
    return {"extra_time": Seconds(first.times[name].median), "base_time": Seconds(second.times[name].median), "base": second.title, "steps": _steps(first, second),
            "error": _error(first), "base_error": _error(second), "other_workload": other_workload(facts),
            "fused_faster": bool(faster(facts, extra)), "but": _but(first)}


def _but(variant: VariantFacts, few: str = "") -> str:
    """` (timed in 1 process only, too few to judge; compiling at the first call took 2.38 s here)`; empty where there is nothing to add."""
    once = f"compiling at the first call took {Seconds(variant.first_call.median)} here" if variant.first_call else ""
    said = "; ".join(filter(None, (few, once)))
    return f" ({said})" if said else ""


def _error(variant: VariantFacts) -> str:
    return "" if variant.relative_error is None else f"{significant(100 * variant.relative_error, 2)} %"


def _steps(extra: VariantFacts, base: VariantFacts) -> str:
    if extra.observed is None or base.observed is None:
        return ""
    return f"{Count(extra.observed)}, in {base.title} {Count(base.observed)}"


def evidence(facts: RunFacts) -> Evidence:
    name = deciding(facts).name
    shown = [facts.variants[one] for one in SHOWN if one in facts.variants and facts.variants[one].ok and facts.variants[one].time(name)]
    if len(shown) < 2:
        return Evidence()
    words = "GPU time" if name == "gpu_time" else "Wall time"
    caption = "Hand-written attention."
    return Evidence(tables=(*_roles(shown),), charts=time_bars("by-hand", [(variant, variant.time(name)) for variant in shown], f"{words} per forward", caption))


def _roles(shown: list[VariantFacts]) -> tuple[Table, ...]:
    """GPU time of each kind of step, a row per variant: what a change takes away, and what it adds."""
    traced = [variant for variant in shown if variant.activities]
    roles = list(dict.fromkeys(activity.role for variant in traced for activity in variant.activities))
    if len(traced) < 2:
        return ()
    rows = tuple((variant.title, Seconds(sum(activity.duration for activity in variant.activities)), *(_taken(variant, role) for role in roles)) for variant in traced)
    return (Table(columns("Variant", "#All steps", *(f"#{heading(role)}" for role in roles)), rows, caption="GPU time of each kind of step in one forward, from the traces."),)


def _taken(variant: VariantFacts, role: str) -> Seconds | None:
    found = [activity.duration for activity in variant.activities if activity.role == role]
    return Seconds(sum(found)) if found else None


FINDING = Finding(
    slug="by-hand",
    title="Written by hand, done better",
    question="Some attention has no fused kernel and must be written by hand. How much can you save by writing it better?",
    questions=(
        claim("scaled-q-faster", "Scaling the queries instead of the scores makes hand-written attention faster.", partial(rule, "naive_scaled_q", BASE), SCALED_CASES,
              needs=(compared("naive_scaled_q", BASE),), source=Source.TEAM),
        claim("baddbmm-faster", "Folding scale and mask into the first matmul makes hand-written attention faster.", partial(rule, "naive_baddbmm", BASE), FOLDED_CASES,
              needs=(compared("naive_baddbmm", BASE),), source=Source.TEAM),
        claim("compiled-faster", "`torch.compile` makes hand-written attention faster.", compiled_rule, COMPILED_CASES, source=Source.TEAM),
    ),
    evidence=evidence,
)
