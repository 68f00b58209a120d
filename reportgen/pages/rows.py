"""What shared pages say of a run that they do not show in full: a row. Plain values alone, so that a row can be kept on disk.

A shared page is made from the featured run's facts and from one row per run, so that the hundredth device costs its own facts and no others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import variants as ours

from ..analysis import RunFacts, State, VariantFacts
from ..analysis.ranking import Ranking, Standing, rank
from ..questions import right_words
from ..questions.evaluate import evaluate
from ..questions.model import Finding, Outcome, Verdict
from ..readings import COUNTING, READINGS
from ..run.workload import Workload
from ..saying.markup import label
from ..saying.units import Ratio
from .cells import us


@dataclass(frozen=True)
class Judged:
    """How a claim came out: as which case, and what that says of the article."""

    verdict: Verdict | None
    case: str


@dataclass(frozen=True)
class VariantRow:
    """A variant of a run. Times are medians in µs, in words; `None` where nothing was taken.

    state: in a word; ok: it ran and is right
    ratio: to the first of the ranking, in words; mark: the sign of one that is not right everywhere
    kernels, memcpys, memsets: per forward; names: of its kernels
    source, prediction: as the run recorded them
    """

    title: str
    named: bool
    state: str
    ok: bool
    kernels: int | None = None
    memcpys: int | None = None
    memsets: int | None = None
    gpu_time: str | None = None
    wall_time: str | None = None
    host_time: str | None = None
    ratio: str | None = None
    mark: str = ""
    names: tuple[str, ...] = ()
    source: str = ""
    prediction: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Row:
    """A run on the shared pages.

    slug, device: the device's folder and name; torch: its version
    claims: claim → how it came out; answers: finding → what its page would say first; readings: reading → its answers
    notes: what the signs in its times mean; recorded_on: as the run says
    """

    slot: str
    slug: str
    device: str
    label: str | None
    workload: Workload
    torch: str | None
    has_gpu_lane: bool
    claims: Mapping[str, Judged]
    answers: Mapping[str, str]
    readings: Mapping[str, tuple[str, ...]]
    notes: tuple[str, ...]
    variants: Mapping[str, VariantRow]
    recorded_on: str = ""

    @property
    def name(self) -> str:
        """The device, and its label where a second setting was kept on purpose."""
        return named(self.device, self.label)

    @property
    def said(self) -> str:
        """The same for prose, headings and labels of links."""
        return label(self.name)

    @property
    def page(self) -> str:
        """Its own page."""
        return f"runs/{self.slot}/index.md"

    @property
    def seen_from_others(self) -> Row:
        """What the pages of another run may say of this one, and what they are made anew for: its name and its verdicts."""
        return replace(self, torch=None, answers={}, readings={}, notes=(), variants={}, recorded_on="")


def again(said: Mapping[str, Any]) -> Row:
    """The row that `asdict` and JSON made `said` of; whoever kept it has looked whether it is whole."""
    ran = {name: VariantRow(**{**one, "names": tuple(one["names"]), "prediction": tuple((role, words) for role, words in one["prediction"])}) for name, one in said["variants"].items()}
    parts = {"workload": Workload(**said["workload"]), "claims": {name: Judged(**one) for name, one in said["claims"].items()},
             "readings": {name: tuple(answers) for name, answers in said["readings"].items()}, "notes": tuple(said["notes"]), "variants": ran}
    return Row(**{**said, **parts})


def named(device: str, label: str | None) -> str:
    return f"{device} ({label})" if label else device


def row(facts: RunFacts, outcomes: Mapping[str, Outcome], findings: Sequence[Finding]) -> Row:
    """The row of a run. outcomes: claim → its outcome on the run."""
    return Row(
        facts.slot, facts.device.slug, facts.device.name, facts.label, facts.workload, facts.software.get("torch"), facts.has_gpu_lane,
        claims={name: Judged(outcome.verdict, outcome.case) for name, outcome in outcomes.items()},
        answers={finding.slug: answer(facts, outcomes, finding).headline for finding in findings},
        readings={reading.slug: _answers(facts, reading) for reading in READINGS},
        notes=tuple(right_words.listed_notes(facts, facts.variants, right_words.ON_ITS_PAGE)),
        variants=_variants(facts),
        recorded_on=facts.recorded_on,
    )


def answer(facts: RunFacts, outcomes: Mapping[str, Outcome], finding: Finding) -> Outcome:
    """What a finding's page says first: its own answer, or its first claim's outcome."""
    return outcomes[finding.claims[0].id] if finding.answer is None else evaluate(finding.answer, facts)


def _answers(facts: RunFacts, reading: Finding) -> tuple[str, ...]:
    """Whether the run counted, then each answer; of counting only what is missing is worth a line."""
    counted = evaluate(COUNTING, facts)
    said = ["" if counted.case == "counted" else counted.headline, *(evaluate(question, facts).headline for question in reading.questions)]
    return tuple(text for text in said if text)


def to_first(ranking: Ranking, variant: VariantFacts) -> Ratio | None:
    """The variant's ratio to the first of the ranking: the median of the per-process ratios; `None` where it is not ranked, or where the processes disagree too much for a middle."""
    if variant.id not in ranking.order or ranking.standing is Standing.UNSTEADY:
        return None
    ratio = ranking.ratio(variant.id, ranking.order[0])
    return None if ratio is None else Ratio(ratio)


def _variants(facts: RunFacts) -> dict[str, VariantRow]:
    ranking = rank(facts)

    def one(v: VariantFacts) -> VariantRow:
        ratio = to_first(ranking, v)
        kernels = dict.fromkeys(a.name for a in v.activities if a.decoded and a.kind == "kernel")
        return VariantRow(v.title, v.named, v.state.value, v.ok, v.kernels, v.memcpys, v.memsets, us(v.gpu_time), us(v.wall_time), us(v.host_time),
                          None if ratio is None else str(ratio), right_words.mark(facts, v.id), tuple(kernels), v.source, v.prediction)

    return {name: one(variant) for name, variant in facts.variants.items()}


def known(rows: Iterable[Row]) -> dict[str, VariantFacts]:
    """Every variant of this checkout or of any run, as one that a run was recorded before: tables say so of a run that lacks it."""
    found = {v.id: VariantFacts(v.id, v.title, v.named, State.RECORDED_BEFORE, source=v.source, prediction=v.prediction) for v in ours.load()}
    for each in rows:
        for name, v in each.variants.items():
            found.setdefault(name, VariantFacts(name, v.title, v.named, State.RECORDED_BEFORE, source=v.source, prediction=v.prediction))
    return found


def completed(run: RunFacts, known: Mapping[str, VariantFacts]) -> RunFacts:
    """`run` with an entry for each variant that it does not have, so that tables can say so.

    Claims are evaluated on the run as it is; this form is for showing.
    """
    missing = {name: replace(entry, reason="this run was recorded before the variant was added") for name, entry in known.items() if name not in run.variants}
    order = {name: index for index, name in enumerate(known)}
    return replace(run, variants=dict(sorted({**run.variants, **missing}.items(), key=lambda item: order[item[0]])))
