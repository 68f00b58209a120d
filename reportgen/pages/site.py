"""What every page is made from: a row per run, the run that is featured, and the facts of the runs that a page shows in full."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from ..analysis import RunFacts, VariantFacts
from ..analysis.maps import MapFacts
from ..questions import evaluate
from ..questions.model import Chart, Evidence, Finding, Outcome
from ..saying.markup import alt, escaped, label, sentence
from ..saying.units import day, plural
from ..shapes.folder import Folder
from . import charts, marks
from .rows import Row, completed, known, named, row

Draw = Callable[[str, Any, str], bytes]

MARKER = "<!-- Generated from the recorded runs by `make render`: edit the templates or record a run, never this file. -->"
SVG_MARKER = "<!-- Generated from the recorded runs by `make render`. -->"
PYTHON_MARKER = "Generated from the recorded runs by `make render`."


T = TypeVar("T")


def drawn(form: str, data: Any, alt: str) -> bytes:
    """The picture, drawn anew."""
    return charts.svg(form, data, alt)


class Each(Mapping[str, T]):
    """Name → what `make` gives for it, made when it is first asked for."""

    def __init__(self, names: Iterable[str], make: Callable[[str], T]) -> None:
        self._names, self._make = dict.fromkeys(names), make
        self._made: dict[str, T] = {}

    def __getitem__(self, name: str) -> T:
        if name not in self._made:
            if name not in self._names:
                raise KeyError(name)
            self._made[name] = self._make(name)
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


@dataclass
class Site:
    """A row per run in slot order, and of the few runs that a page shows in full their facts, outcomes and evidence, made when they are asked for.

    shown: slot of the featured run, which shared pages show in full
    runs: slot → facts, completed (see `rows`); outcomes: slot → claim → outcome; evidence: slot → finding → evidence
    files: what has been rendered so far, path below the docs root → content
    maps: of devices that have one, in the order of their names; folders: what lies beside them
    draw: form, data and alt text → picture
    """

    rows: tuple[Row, ...]
    shown: str
    findings: tuple[Finding, ...]
    runs: Mapping[str, RunFacts]
    outcomes: Mapping[str, Mapping[str, Outcome]]
    evidence: Mapping[str, Mapping[str, Evidence]]
    files: dict[str, str | bytes] = field(default_factory=dict)
    maps: tuple[MapFacts, ...] = ()
    folders: tuple[Folder, ...] = ()
    draw: Draw = drawn

    @property
    def featured(self) -> RunFacts:
        return self.runs[self.shown]

    @property
    def first(self) -> Row:
        """The featured run's row."""
        return next(row for row in self.rows if row.slot == self.shown)

    @property
    def others(self) -> tuple[Row, ...]:
        return tuple(row for row in self.rows if row.slot != self.shown)

    def finding_of(self, claim: str) -> Finding:
        return next(finding for finding in self.findings if any(c.id == claim for c in finding.claims))

    def chart(self, facts: RunFacts, chart: Chart, page: str) -> str:
        """Draws a chart into the run's folder and returns the Markdown image for `page`."""
        path = f"runs/{facts.slot}/charts/{chart.name}.svg"
        if path not in self.files:
            self.files[path] = marked(self.draw(chart.form, {**chart.data, "title": chart.title, "foot": foot(facts)}, chart.alt))
        image = f"![{alt(chart.alt)}]({root(page)}{path})"
        caption = chart.below(marks.caption(facts, chart))
        return f"{image}\n\n*{sentence(caption)}*" if caption else image


def build(runs: Iterable[RunFacts], featured: str, findings: Sequence[Finding], maps: Sequence[MapFacts] = (), folders: Sequence[Folder] = ()) -> Site:
    """The site of runs whose facts are all there.

    Raises:
        ValueError: no run is in the slot `featured`.
    """
    facts = {run.slot: run for run in sorted(runs, key=lambda run: run.slot)}
    if featured not in facts:
        raise ValueError(f"no recorded run in slot {featured!r}; there are {', '.join(facts) or 'none'}")
    made = {slot: row(run, asked(run, findings), findings) for slot, run in facts.items()}
    return of_rows(made.values(), featured, findings, facts, known(made.values()), maps, folders)


def of_rows(made: Iterable[Row], featured: str, findings: Sequence[Finding], facts: Mapping[str, RunFacts], known: Mapping[str, VariantFacts],
            maps: Sequence[MapFacts] = (), folders: Sequence[Folder] = (), draw: Draw = drawn) -> Site:
    """The site of runs whose rows are there.

    Args:
        facts: slot → facts, of every run that a page may show in full.
        known: every variant of any run (see `rows.known`).
    """
    return Site(tuple(made), featured, tuple(findings), Each(facts, lambda slot: completed(facts[slot], known)),
                Each(facts, lambda slot: asked(facts[slot], findings)), Each(facts, lambda slot: _shown(facts[slot], findings)),
                maps=tuple(sorted(maps, key=lambda one: one.slug)), folders=tuple(sorted(folders, key=lambda one: one.slug)), draw=draw)


def asked(run: RunFacts, findings: Sequence[Finding]) -> dict[str, Outcome]:
    """Claim → its outcome on a run."""
    return evaluate.outcomes([claim for finding in findings for claim in finding.claims], run)


def _shown(run: RunFacts, findings: Sequence[Finding]) -> Mapping[str, Evidence]:
    by_slug = {finding.slug: finding for finding in findings}
    return Each(by_slug, lambda slug: evaluate.shown(by_slug[slug], run))


def marked(picture: bytes) -> bytes:
    """The SVG with the comment that says where it comes from, after its XML head."""
    text = picture.decode("utf-8")
    head, tag, rest = text.partition("<svg ")
    return f"{head}{SVG_MARKER}\n{tag}{rest}".encode()


def root(page: str) -> str:
    """Prefix that leads from `page` to the docs root: `../` for `findings/x.md`."""
    return "../" * page.count("/")


def same_device(site: Site, slug: str) -> bool:
    """Whether a run is one of the featured run's device: only then may its pages leave out what the featured run's say."""
    return slug == site.first.slug


def device_name(facts: RunFacts) -> str:
    """The device, and its label where a second setting was kept on purpose."""
    return named(facts.device.name, facts.label)


def device_said(facts: RunFacts) -> str:
    """The same for prose, headings and labels of links."""
    return label(device_name(facts))


def foot(facts: RunFacts) -> str:
    """The line inside a picture: the device, the shape and the day, so that it says whose it is when it is passed on."""
    shape = facts.workload
    sizes = f"batch {shape.batch}, {plural(shape.heads, 'head')}, {shape.sequence:,} × {shape.head_dim}, {shape.dtype}{', causal' if shape.causal else ''}"
    return " · ".join(part for part in (device_name(facts), sizes, day(facts.recorded_on)) if part)


def software(facts: RunFacts) -> str:
    """`torch 2.11.0, CUDA 13.0, cuDNN 9.19.0`: what counts and times are a property of."""
    names = (("torch", "torch"), ("cuda", "CUDA"), ("cudnn", "cuDNN"), ("rocm", "ROCm"))
    return ", ".join(f"{label} {facts.software[key]}" for key, label in names if facts.software.get(key))


def stands(facts: RunFacts) -> str:
    """Shape, versions and the day of a run, as Markdown: what every page says once."""
    recorded = day(facts.recorded_on)
    return " · ".join(escaped(part) for part in (facts.workload.describe(), software(facts), f"recorded {recorded}" if recorded else "") if part)


def by_path(files: Mapping[str, Any]) -> dict[str, Any]:
    return dict(sorted(files.items()))
