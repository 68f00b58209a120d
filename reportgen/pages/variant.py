"""A variant's page: asks for a prediction, then shows what the trace of the featured run says."""

from __future__ import annotations

import re

import variants

from ..analysis import ActivityFacts, RunFacts, State, VariantFacts
from ..questions.residency import explained, field
from ..saying.tables import Code, Link, Table, columns
from ..saying.units import Percent, Seconds
from . import glance, pictures
from .cells import Sentence, dims, us
from .environment import page
from .names import anchor
from .site import Site, device_said, same_device, stands


def path(name: str) -> str:
    return f"variants/{name}.md"


def render(site: Site, name: str) -> str:
    """The page of one variant, from the featured run."""
    facts, at = site.featured, path(name)
    variant = facts.variants[name]
    picture = pictures.lanes(variant)
    return page("variant.md.j2", at, variant=variant, stands=stands(facts), at_a_glance=glance.sentence_of(facts, variant), code=computation(variant.source), changed=changed(name), device=device_said(facts), folder=f"runs/{facts.slot}/index.md",
                trace=f"runs/{facts.slot}/{variant.trace_file}" if variant.trace_file else None,
                prediction=prediction(variant), lanes=site.chart(facts, picture, at) if picture else "", activities=activities(variant),
                names=names(variant), whys=whys(variant),
                numbers=numbers(variant), processes=processes(variant), others=others(site, name))


def computation(source: str) -> str:
    """The part of a variant's file that computes, from its first function on: what stands before it gives the prediction away."""
    start = re.search(r"^(?:@|def )", source, re.M)
    return source[start.start():].strip() if start else source.strip()


def changed(name: str) -> str:
    """The variant's own sentence on what it changes; empty for one that only an older run has."""
    return next((v.changed for v in variants.load() if v.id == name), "")


def prediction(variant: VariantFacts) -> Table:
    """Prediction against trace, line by line."""
    from ..analysis.patterns import predictions

    rows = []
    for expected, seen in predictions.align(variant.prediction, variant.activities):
        rows.append((f"{expected[0]}: {expected[1]}" if expected else None, _activity_name(seen) if seen else None, us(seen.duration) if seen else None))
    return Table(columns("Predicted", "In the trace", "#Duration (µs)"), tuple(rows))


def _activity_name(activity: ActivityFacts) -> str:
    kind = "" if activity.kind in ("kernel", activity.role) else f" ({activity.kind})"
    return f"{activity.role}{kind}, under {activity.op}" if activity.op else f"{activity.role}{kind}"


def activities(variant: VariantFacts) -> Table:
    """Every GPU activity of one forward, in order of launch."""
    rows = []
    for index, a in enumerate(variant.activities):
        occupancy = Percent(a.occupancy.theoretical) if a.occupancy else None
        size = a.shared_memory if a.kind == "kernel" else a.bytes
        rows.append((index + 1, a.kind, a.role, Code(a.short), Code(a.op or ""), Code(a.launch_api), us(a.duration), dims(a.grid), dims(a.block),
                     a.registers, size, a.decoded.tensor_cores if a.decoded else None, occupancy, field(a.profiler_occupancy)))
    return Table(columns("#No.", "Kind", "Role", "Name", "Op", "Launched by", "#Duration (µs)", "Grid", "Block", "#Registers per thread",
                         "#Shared memory (B), or bytes moved", "Tensor Cores", "#Occupancy, worked out", "#Profiler's field"), tuple(rows))


def names(variant: VariantFacts) -> Table:
    """Each kernel once: its family, with the link to its name part by part, and whether it runs on Tensor Cores."""
    seen = {a.name: a.decoded for a in reversed(variant.activities) if a.decoded and a.kind == "kernel"}
    rows = tuple((Code(one.short), Link(one.family, f"kernel-names.md#{anchor(one.family)}"), one.tensor_cores, Sentence(one.tensor_cores_why)) for one in reversed(seen.values()))
    return Table(columns("Kernel", "Its name, part by part", "Tensor Cores", "How we know"), rows)


def whys(variant: VariantFacts) -> list[tuple[int, str]]:
    """Why the two occupancies disagree: (number of the activity, reason)."""
    return [(index + 1, said) for index, a in enumerate(variant.activities) if (said := explained(a))]


def numbers(variant: VariantFacts) -> Table | None:
    """The variant's measured quantities as rows: median, lowest and highest process."""
    if not variant.ok:
        return None
    names = (("GPU time, the same inputs every time (hot)", "gpu_time"), ("GPU time, rotating inputs (cold)", "gpu_time_cold"), ("Wall time in an eager loop", "wall_time"),
             ("Host time of one call", "host_time"), ("Host time under the profiler", "profiled_host_time"), ("First call", "first_call"),
             ("First call at a new shape", "first_call_new_shape"))
    rows = []
    for label, quantity in names:
        estimate = variant.time(quantity)
        # the middle of first calls says nothing: what one loads depends on what ran before it in its process
        middle = None if quantity.startswith("first_call") and estimate and len(estimate.samples) > 1 else estimate
        rows.append((label, *(None if time is None else Seconds(time) for time in (middle.median if middle else None, estimate.low if estimate else None, estimate.high if estimate else None))))
    return Table(columns("Quantity", "#Median", "#Lowest", "#Highest"), tuple(rows))


def processes(variant: VariantFacts) -> str:
    """`over 7 fresh processes`, or `in one process only`: a variant of one's own is timed apart."""
    time = variant.gpu_time or variant.wall_time
    count = len(time.samples) if time else 0
    return "in one process only" if count == 1 else f"over {count} fresh processes" if count else "over fresh processes"


def others(site: Site, name: str) -> Table | None:
    """The same variant on the other devices, a row each."""
    rows: list[tuple[object, ...]] = []
    for row in site.others:
        v = row.variants.get(name)
        numbers = (v.state, v.kernels, v.memcpys, v.memsets, v.gpu_time, v.wall_time, v.host_time) if v else (State.RECORDED_BEFORE.value, *[None] * 6)
        rows.append((Link(row.name, f"runs/{row.slot}/variants.md#{name}"), row.workload.name, *numbers))
    return Table(columns("Device", "Workload", "Status", "#Kernels", "#Memcpys", "#Memsets", "#GPU time (µs)", "#Wall time (µs)", "#Host time (µs)"), tuple(rows)) if rows else None


def of_run(site: Site, facts: RunFacts) -> str:
    """`runs/<slot>/variants.md`, of a run that the shared pages do not show: each variant's trace; of the featured device itself only where it ran something else."""
    at = f"runs/{facts.slot}/variants.md"
    same = [v for v in facts.variants.values() if same_device(site, facts.device.slug) and v.ok and _ran(v) == _ran(site.featured.variants[v.id])]
    sections = [(v, site.chart(facts, picture, at) if (picture := pictures.lanes(v)) else "", activities(v), whys(v)) for v in facts.variants.values() if v not in same]
    return page("run_variants.md.j2", at, device=device_said(facts), workload=facts.workload.name, featured=site.first.said, stands=stands(facts), sections=sections, alike=same)


def _ran(variant: VariantFacts) -> tuple[tuple[str, str], ...]:
    """Kind and name of each activity of a forward, in order."""
    return tuple((one.kind, one.name) for one in variant.activities)
