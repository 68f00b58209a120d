"""The front page, what lies beyond the article, and the pages that teach: all from the featured run."""

from __future__ import annotations

from collections.abc import Iterator

from ..analysis import RunFacts, State, VariantFacts
from ..analysis.kernels import main_kernel
from ..findings.safe_softmax import about_the_mask
from ..numbers import power
from ..questions import caveats, right_words
from ..questions import lead as first
from ..questions.model import Source
from ..review.diff import example
from ..review.diff.model import Side
from ..saying.markup import sentence
from ..saying.tables import Table, columns
from . import board, glance, lead, marks, pictures, summaries, trained
from .cells import error, signed, us
from .environment import page
from .rows import Row
from .site import Site, device_said, software, stands

NO_MORE = "≈ 0"
INDEX = "index.md"
BEYOND = "beyond.md"
READING = {"reading-a-trace.md": "reading_a_trace.md.j2", "method.md": "method.md.j2", "glossary.md": "glossary.md.j2",
           "reviewing.md": "reviewing.md.j2"}


def index(site: Site) -> str:
    """`index.md`: who wins, what to call, what to change, what differs from the article."""
    facts = site.featured
    sentences = [text for text in (first.wall(facts), first.cpu_cost(facts), first.first_call(facts)) if text]
    lanes = pictures.forwards(facts)
    return page("index.md.j2", INDEX, site=site, lanes=site.chart(facts, lanes, INDEX) if lanes else "", device=device_said(facts), question=f"Which attention is fastest on {device_said(facts)}?", stands=stands(facts), folder=f"runs/{facts.slot}/index.md",
                alarm=first.alarm(facts), unsafe=right_words.unsafe(facts), unsafe_list=right_words.unsafe_list(facts), caveats=caveats.travelling(facts), winner=first.winner(facts), call=first.call(facts), glance=glance.table(facts, with_scripts=True),
                counts=board.counts(site, facts), sentences=sentences, advice=lead.advice(site, facts), differing=board.differing(site, facts, INDEX), undecided=board.undecided(site, facts),
                article=board.tally(site, facts, Source.ARTICLE), devices=board.devices(site))


def beyond(site: Site) -> str:
    """`beyond.md`: questions that the article does not ask and the evidence answers."""
    facts = site.featured
    return page("beyond.md.j2", BEYOND, device=device_said(facts), software=sentence(software(facts)), wall=marks.one(facts, wall(facts)), calls=marks.one(facts, calls(facts)), cold=marks.one(facts, cold(facts)),
                accuracy=accuracy(facts), training=marks.one(facts, trainings) if (trainings := trained.training(facts)) else None, no_training=summaries.not_taken(facts, "training"), compiled=facts.variants.get("naive_compiled"), others=site.others)


def reading(site: Site, path: str) -> str:
    """A page that teaches; it shows the featured run, or the first one that has a GPU lane."""
    shown = site.runs[next((row.slot for row in (site.first, *site.rows) if row.has_gpu_lane), site.shown)]
    variant = shown.variants.get("naive")
    picture = pictures.lanes(variant) if variant and variant.activities and path.startswith("reading") else None
    return page(READING[path], path, facts=shown, featured=site.featured, device=device_said(shown), naive=variant if variant and variant.ok else None,
                flash=main_kernel(shown.variants.get("sdpa_flash")), lanes=site.chart(shown, picture, path) if picture else "",
                processes=site.featured.protocol.processes, folder=f"runs/{shown.slot}/index.md",
                power=power.tables(), example=example.find(pairs(site)) if path.startswith("reviewing") else None)


def pairs(site: Site) -> Iterator[tuple[Side, Side]]:
    """A plain and a labelled run of one device and workload, each pair that there is."""
    def side(row: Row) -> Side:
        facts = site.runs[row.slot]
        return Side(facts, site.outcomes[row.slot], facts.extras.get("noise"))

    return ((side(plain), side(other)) for plain in site.rows if plain.label is None for other in site.rows
            if other.label and (plain.slug, plain.workload) == (other.slug, other.workload))


def _shown(facts: RunFacts) -> list[VariantFacts]:
    return [v for v in facts.variants.values() if v.ok]


def wall(facts: RunFacts) -> Table:
    rows = tuple((summaries.variant_link(v), us(v.gpu_time), us(v.wall_time), _launching(v), us(v.host_time)) for v in _shown(facts))
    notes = (f"{NO_MORE}: less than the processes differ by.",) if any(NO_MORE in row for row in rows) else ()
    return Table(columns("Variant", "#GPU time (µs)", "#Wall time (µs)", "#Wall minus GPU (µs)", "#Host time (µs)"), rows, notes=notes)


def _launching(variant: VariantFacts) -> str | None:
    """What wall time adds to GPU time, in µs, where their processes lie apart."""
    wall_time, gpu_time = variant.wall_time, variant.gpu_time
    if wall_time is None or gpu_time is None:
        return None
    return us(wall_time.median - gpu_time.median) if wall_time.low > gpu_time.high else NO_MORE


def calls(facts: RunFacts) -> Table:
    rows = tuple((summaries.variant_link(v), summaries.spread(v.first_call_alone), summaries.spread(v.first_call), summaries.spread(v.first_call_new_shape), us(v.host_time)) for v in _shown(facts))
    return Table(columns("Variant", "#First call, before all others", "#First call, lowest to highest process", "#First call at a new shape", "#Steady state (µs)"), rows)


def cold(facts: RunFacts) -> Table:
    rows = []
    for v in _shown(facts):
        change = signed(100 * (v.gpu_time_cold.median / v.gpu_time.median - 1)) if v.gpu_time and v.gpu_time_cold else None
        rows.append((summaries.variant_link(v), us(v.gpu_time), us(v.gpu_time_cold), change))
    return Table(columns("Variant", "#Hot (µs)", "#Cold (µs)", "#Change"), tuple(rows))


def accuracy(facts: RunFacts) -> Table:
    """Relative error against FP64, and what a fully masked row gives; torch's words where it refused."""
    rows, notes = [], []
    for v in facts.variants.values():
        if not v.state.ran:
            continue
        rows.append((summaries.variant_link(v), error(v.relative_error), error(v.allowed_error), summaries.masked_row(v)))
        if v.state is State.WRONG:
            notes.append(summaries.why_not(v))
        if v.masked_row and v.masked_row.reason:
            notes.append(f"{v.title}: {about_the_mask(v.masked_row.reason) or v.masked_row.reason}.")
    return Table(columns("Variant", "#Relative error", "#Allowed", "Fully masked row"), tuple(rows), notes=tuple(notes))
