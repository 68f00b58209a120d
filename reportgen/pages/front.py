"""The front page, what lies beyond the article, and the pages that teach: all from the featured run."""

from __future__ import annotations

from collections.abc import Iterator

from ..analysis import RunFacts, VariantFacts
from ..analysis.kernels import main_kernel
from ..analysis.ranking import deciding
from ..numbers import power
from ..numbers.statistics import PROCESSES
from ..questions import caveats, right_words
from ..questions import lead as first
from ..questions.model import Source
from ..questions.ranked import too_few
from ..review.diff import example
from ..review.diff.model import Side
from ..saying.markup import sentence
from . import board, crowd, glance, lead, marks, measured, pictures, summaries, trained
from .environment import page
from .rows import Row
from .site import Site, device_said, software, stands

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
                article=board.tally(site, facts, Source.ARTICLE), devices=board.devices(site),
                many=crowd.many(site), choice=crowd.devices(site), counted=crowd.counted(site))


def beyond(site: Site) -> str:
    """`beyond.md`: questions that the article does not ask and the evidence answers."""
    facts = site.featured
    compiled = facts.variants.get("naive_compiled")
    return page("beyond.md.j2", BEYOND, device=device_said(facts), software=sentence(software(facts)),
                training=marks.one(facts, trainings) if (trainings := trained.training(facts)) else None, no_training=summaries.not_taken(facts, "training"), compiled=compiled, compiled_few=_few(facts, compiled), others=site.others, many=crowd.many(site))


def _few(facts: RunFacts, variant: VariantFacts | None) -> str:
    """That its deciding time is from too few processes for a verdict; empty where it is not, or where it has none."""
    time = variant.time(deciding(facts).name) if variant else None
    return too_few(len(time.samples)) if time and len(time.samples) < PROCESSES else ""


def reading(site: Site, path: str) -> str:
    """A page that teaches; it shows the featured run, or the first one that has a GPU lane."""
    shown = site.runs[next((row.slot for row in (site.first, *site.rows) if row.has_gpu_lane), site.shown)]
    variant = shown.variants.get("naive")
    picture = pictures.lanes(variant) if variant and variant.activities and path.startswith("reading") else None
    return page(READING[path], path, facts=shown, featured=site.featured, device=device_said(shown), naive=variant if variant and variant.ok else None,
                flash=main_kernel(shown.variants.get("sdpa_flash")), lanes=site.chart(shown, picture, path) if picture else "",
                processes=site.featured.protocol.processes, folder=f"runs/{shown.slot}/index.md",
                power=power.tables(), trace_apart=measured.trace_apart(shown), drift=measured.drift(shown), example=example.find(pairs(site)) if path.startswith("reviewing") else None)


def pairs(site: Site) -> Iterator[tuple[Side, Side]]:
    """A plain and a labelled run of one device and workload, each pair that there is."""
    def side(row: Row) -> Side:
        facts = site.runs[row.slot]
        return Side(facts, site.outcomes[row.slot], facts.extras.get("noise"))

    return ((side(plain), side(other)) for plain in site.rows if plain.label is None for other in site.rows
            if other.label and (plain.slug, plain.workload) == (other.slug, other.workload))
