"""What every page is made from: the runs, the one that is featured, and each claim's outcome on each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import variants

from ..analysis import RunFacts, State, VariantFacts
from ..analysis.maps import MapFacts
from ..questions import evaluate
from ..questions.model import Chart, Evidence, Finding, Outcome
from ..saying.markup import alt, escaped, label, sentence
from ..saying.units import day, plural
from ..shapes.folder import Folder
from . import charts, marks

MARKER = "<!-- Generated from the recorded runs by `make render`: edit the templates or record a run, never this file. -->"
SVG_MARKER = "<!-- Generated from the recorded runs by `make render`. -->"
PYTHON_MARKER = "Generated from the recorded runs by `make render`."


@dataclass
class Site:
    """All runs in slot order, and their outcomes.

    featured: the run that shared pages show in full
    files: what has been rendered so far, path below the docs root → content
    maps: of devices that have one, in the order of their names; folders: what lies beside them
    """

    runs: tuple[RunFacts, ...]
    featured: RunFacts
    findings: tuple[Finding, ...]
    outcomes: Mapping[str, Mapping[str, Outcome]]
    evidence: Mapping[str, Mapping[str, Evidence]]
    files: dict[str, str | bytes] = field(default_factory=dict)
    maps: tuple[MapFacts, ...] = ()
    folders: tuple[Folder, ...] = ()

    @property
    def others(self) -> tuple[RunFacts, ...]:
        return tuple(run for run in self.runs if run.slot != self.featured.slot)

    def finding_of(self, claim: str) -> Finding:
        return next(finding for finding in self.findings if any(c.id == claim for c in finding.claims))

    def chart(self, facts: RunFacts, chart: Chart, page: str) -> str:
        """Draws a chart into the run's folder and returns the Markdown image for `page`."""
        path = f"runs/{facts.slot}/charts/{chart.name}.svg"
        if path not in self.files:
            self.files[path] = marked(charts.svg(chart.form, {**chart.data, "title": chart.title, "foot": foot(facts)}, chart.alt))
        image = f"![{alt(chart.alt)}]({root(page)}{path})"
        caption = chart.below(marks.caption(facts, chart))
        return f"{image}\n\n*{sentence(caption)}*" if caption else image


def build(runs: Sequence[RunFacts], featured: str, findings: Sequence[Finding], maps: Sequence[MapFacts] = (),
          folders: Sequence[Folder] = ()) -> Site:
    """Evaluates every claim and gathers every finding's evidence on every run.

    Raises:
        ValueError: no run is in the slot `featured`.
    """
    runs = sorted(runs, key=lambda run: run.slot)
    ordered = tuple(completed(run, runs) for run in runs)
    chosen = next((run for run in ordered if run.slot == featured), None)
    if chosen is None:
        raise ValueError(f"no recorded run in slot {featured!r}; there are {', '.join(run.slot for run in ordered) or 'none'}")
    outcomes = {run.slot: evaluate.outcomes([claim for finding in findings for claim in finding.claims], run) for run in runs}
    evidence = {run.slot: {finding.slug: evaluate.shown(finding, run) for finding in findings} for run in runs}
    return Site(ordered, chosen, tuple(findings), outcomes, evidence, maps=tuple(sorted(maps, key=lambda one: one.slug)),
                folders=tuple(sorted(folders, key=lambda one: one.slug)))


def completed(run: RunFacts, runs: Sequence[RunFacts]) -> RunFacts:
    """`run` with an entry for each variant that it does not have, so that tables can say so.

    Claims are evaluated on the run as it is; this form is for showing.
    """
    known = {v.id: VariantFacts(v.id, v.title, v.named, State.RECORDED_BEFORE, source=v.source, prediction=v.prediction) for v in variants.load()}
    for other in runs:
        for name, variant in other.variants.items():
            known.setdefault(name, VariantFacts(name, variant.title, variant.named, State.RECORDED_BEFORE, source=variant.source, prediction=variant.prediction))
    missing = {name: replace(entry, reason="this run was recorded before the variant was added") for name, entry in known.items() if name not in run.variants}
    order = {name: index for index, name in enumerate(known)}
    return replace(run, variants=dict(sorted({**run.variants, **missing}.items(), key=lambda item: order[item[0]])))


def marked(picture: bytes) -> bytes:
    """The SVG with the comment that says where it comes from, after its XML head."""
    text = picture.decode("utf-8")
    head, tag, rest = text.partition("<svg ")
    return f"{head}{SVG_MARKER}\n{tag}{rest}".encode()


def root(page: str) -> str:
    """Prefix that leads from `page` to the docs root: `../` for `findings/x.md`."""
    return "../" * page.count("/")


def alike(site: Site, facts: RunFacts, cases: Iterable[tuple[object, object]]) -> bool:
    """Whether a part of a run's pages would only say what the featured run's say: the same device, and every pair of cases, here and there, the same."""
    return facts.device.slug == site.featured.device.slug and all(here == there for here, there in cases)


def device_name(facts: RunFacts) -> str:
    """The device, and its label where a second setting was kept on purpose."""
    return f"{facts.device.name} ({facts.label})" if facts.label else facts.device.name


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
