"""A device's page: who is fastest here, what does not hold, and what to know before trusting it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from ..analysis import RunFacts
from ..numbers.statistics import Estimate
from ..questions import caveats, lead, right_words
from ..questions.evaluate import evaluate
from ..readings import COUNTING
from ..run import ClockSample, noise, recorded
from ..run.workload import Workload
from ..saying.tables import Code, Link, Table, columns
from ..saying.units import Bytes, BytesPerSecond, Count, FlopPerSecond, Percent, Seconds, significant
from . import board, glance, marks, pictures, summaries, trained
from .cells import Linked, Sentence, signed
from .environment import page
from .site import Site, device_said, root, same_device, stands


def path(facts: RunFacts) -> str:
    return f"runs/{facts.slot}/index.md"


def render(site: Site, facts: RunFacts) -> str:
    """The page of one run: who is fastest and what does not hold, then what lets one trust it, then everything that was measured."""
    at, picture, lanes, first = path(facts), pictures.overview(facts), pictures.forwards(facts), site.first
    otherwise, alike = board.otherwise(site, facts, at)
    same = facts.slot != site.shown and same_device(site, facts.device.slug)

    def own(table: Callable[[RunFacts], Table]) -> Table:
        """All rows, or those that the featured run of the same device has otherwise."""
        here = table(facts)
        return replace(here, rows=tuple(row for row in here.rows if str(row) not in set(map(str, table(site.featured).rows)))) if same else here

    return page("device.md.j2", at, facts=facts, device=device_said(facts), stands=stands(facts), travelling=caveats.travelling(facts), caveats=caveats.all_said(facts),
                first=[text for text in (lead.alarm(facts), right_words.unsafe(facts)) if text], winner=lead.winner(facts), unsafe_list=right_words.unsafe_list(facts), counts=board.counts(site, facts), glance=glance.table(facts), overview=site.chart(facts, picture, at) if picture else "",
                lanes=site.chart(facts, lanes, at) if lanes else "",
                featured=facts.slot == site.shown, featured_device=first.said, featured_folder=first.page, tally=board.tally(site, facts), undecided=board.undecided(site, facts),
                otherwise=otherwise, alike=alike, counting=evaluate(COUNTING, facts), same=same, environment=own(environment), settings=own(settings), numbers=marks.one(facts, summaries.numbers(facts)),
                training=marks.one(facts, trainings) if (trainings := trained.training(facts)) else None, integrity=integrity(facts),
                ceilings=ceilings(facts), ceilings_missing=ceilings_missing(facts), company=company(facts), clocks=clocks(facts), phases=phases(facts), noise=noise.table(facts, facts.extras.get("noise")), downloads=downloads(facts, root(at)),
                protocol=own(protocol), repetitions=repetitions(facts))


def environment(facts: RunFacts) -> Table:
    """Hardware and software of the run."""
    d = facts.device
    rows: list[tuple[object, object]] = [
        ("Device", d.name), ("Compute capability", d.compute_capability), ("Multiprocessors (SMs)", d.sm_count),
        ("Memory", Bytes(d.memory_bytes) if d.memory_bytes else None), ("Last-level cache", Bytes(d.l2_cache_bytes) if d.l2_cache_bytes else None),
        ("Power limit", f"{significant(d.power_limit_watts)} W" if d.power_limit_watts else None), ("MIG profile", d.mig_profile), ("ECC", d.ecc)]
    rows += [(NAMES.get(name, name), Sentence(str(value))) for name, value in facts.software.items() if value is not None]
    rows += [(NAMES.get(name, name.replace("_", " ")), Sentence(str(value))) for name, value in recorded(facts.host).items()]
    return Table(columns("What", "Value"), tuple(row for row in rows if row[1] is not None))


NAMES = {"python": "Python", "cuda": "CUDA", "hip": "HIP", "rocm": "ROCm", "cudnn": "cuDNN", "cublas": "cuBLAS", "driver": "Driver", "triton": "Triton",
         "os": "Operating system", "cpu": "Host's processor", "logical_cpus": "Host's logical processors"}
"""Labels of what is recorded under a short name."""


def settings(facts: RunFacts) -> Table:
    """Switches that change results; what was not set is shown as such."""
    return Table(columns("Setting", "Value"), tuple((Code(name), "not set" if value in (None, {}) else Sentence(_plain(value))) for name, value in facts.settings.items()))


def protocol(facts: RunFacts) -> Table:
    """How the run was taken: what is one value for all variants."""
    rows = [(name, value) for name, value in recorded(facts.protocol).items() if not _per_variant(facts, value) and value not in ((), {})]
    return Table(columns("What", "Value"), tuple((name.replace("_", " "), Sentence(_plain(value))) for name, value in rows))


def repetitions(facts: RunFacts) -> Table | None:
    """How the run was taken: what each variant has a value of its own for, a row per variant."""
    own = {name: value for name, value in recorded(facts.protocol).items() if _per_variant(facts, value)}
    rows = tuple((v.title, *(_count(value.get(v.id)) for value in own.values())) for v in facts.variants.values() if any(v.id in value for value in own.values()))
    return Table(columns("Variant", *(f"#{name[:1].upper()}{name[1:].replace('_', ' ')}" for name in own)), rows) if rows else None


def _per_variant(facts: RunFacts, value: Any) -> bool:
    return isinstance(value, Mapping) and bool(value) and all(name in facts.variants for name in value)


def _count(value: Any) -> object:
    return Count(value) if isinstance(value, int) and not isinstance(value, bool) else None if value is None else str(value)


def integrity(facts: RunFacts) -> Table:
    """What to know before trusting a count, a row per variant that has a trace."""
    rows = []
    for v in facts.variants.values():
        box = v.integrity
        if box is None:
            continue
        leaked = ", ".join(f"{n} {kind}" for kind, n in box.unattributed.items() if n) or "none"
        differing = ", ".join(str(i) for i in box.differing) or "none"
        apis = ", ".join(f"{api} {n}" for api, n in sorted(box.launch_apis.items())) or None
        timing = None
        if v.gpu_time is not None and v.trace_gpu_time:
            timing = signed(100 * (v.trace_gpu_time / v.gpu_time.median - 1))
        aside = f"{box.dropped_forwards}, and {len(box.lost)} with lost records" if box.lost else box.dropped_forwards
        rows.append((Link(v.title, f"variants/{v.id}.md"), leaked, box.launches_without_activity, aside, differing, apis, v.timer, timing))
    return Table(columns("Variant", "GPU activities outside the forwards", "#Launches without an activity", "#Forwards set aside", "Forwards that differ",
                         "Host calls that launched", "GPU timer", "#Trace against timer"), tuple(rows))


def ceilings(facts: RunFacts) -> Table | None:
    """Rates that plain large work reached in this run."""
    c = facts.ceilings
    if c is None:
        return None
    size = f"square matmul of size {c.matmul_size:,}" if c.matmul_size else "square matmul"
    rows = (("Copy, bytes read plus written", f"{Bytes(c.copy_bytes)} copied" if c.copy_bytes else None, BytesPerSecond(c.copy_bytes_per_s) if c.copy_bytes_per_s else None),
            (f"Matmul in {facts.workload.dtype}", size, FlopPerSecond(c.matmul_flop_per_s) if c.matmul_flop_per_s else None),
            ("Matmul in float32, TF32 off", size, FlopPerSecond(c.fp32_flop_per_s) if c.fp32_flop_per_s else None))
    return Table(columns("Ceiling", "Work", "#Reached"), rows)


def ceilings_missing(facts: RunFacts) -> str:
    """Why there are no ceilings, where a reason was recorded."""
    lost = next((part.reason.rstrip(".") for part in facts.lost if part.what == "ceilings"), None)
    return f"No ceilings were measured in this run: {lost}." if lost else "No ceilings were measured in this run."


def company(facts: RunFacts) -> Table | None:
    """Who else was at work, a row per look, without what nobody told; `None` where nobody looked."""
    looks = facts.clocks.looks
    shown: list[tuple[str, list[object]]] = [
        ("#Other processes on the GPU", [_count(look.processes) for look in looks]),
        ("#With graphics", [_count(look.graphics_processes) for look in looks]),
        ("#GPU at work", [None if look.gpu_busy_percent is None else Percent(look.gpu_busy_percent) for look in looks]),
        ("#GPU memory in use", [None if look.gpu_memory_used_bytes is None else Bytes(look.gpu_memory_used_bytes) for look in looks]),
        ("#Load", [None if look.load is None else f"{look.load:.2f}" for look in looks]),
        ("#Processors taken by others", [None if look.others_cpu_share is None else Percent(round(100 * look.others_cpu_share, 1)) for look in looks])]
    told = [(title, values) for title, values in shown if any(value is not None for value in values)]
    if not told:
        return None
    rows = tuple((look.when, *(values[place] for _, values in told)) for place, look in enumerate(looks))
    return Table(columns("When", *(title for title, _ in told)), rows, notes=_company_notes(facts, told))


def _company_notes(facts: RunFacts, told: list[tuple[str, list[object]]]) -> tuple[str, ...]:
    """What the memory is that is in use, and what a dash means, where the table has one."""
    looks = facts.clocks.looks
    held = any(look.gpu_memory_used_bytes for look in looks)
    alone = all(look.processes == 0 and look.graphics_processes == 0 for look in looks)
    notes = []
    if held:
        whose = "no other process was seen, so it is what the driver keeps for itself" if alone else "the driver's own is in it"
        notes.append(f"GPU memory in use: looked up while nobody of this run held any; {whose}.")
    if any(None in values for _, values in told):
        notes.append("—: not told at that look. Whether the GPU was at work is asked only while nobody of this run uses it, what others took of the processors only while a process of this run is at work.")
    return tuple(notes)


def clocks(facts: RunFacts) -> Table | None:
    """Clock, power and temperature per variant, medians of what was sampled between blocks."""
    by: dict[str, list[ClockSample]] = {}
    for sample in facts.clocks.samples:
        by.setdefault(str(sample.variant), []).append(sample)
    if not by:
        return None
    rows = []
    for name, samples in sorted(by.items(), key=lambda item: list(facts.variants).index(item[0]) if item[0] in facts.variants else len(facts.variants)):
        title = facts.variants[name].title if name in facts.variants else name
        rows.append((title, *(_middle(samples, key) for key in ("sm_mhz", "memory_mhz", "power_watts", "temperature_c")), _throttling(samples)))
    return Table(columns("Variant", "#SM clock (MHz)", "#Memory clock (MHz)", "#Power (W)", "#Temperature (°C)", "Throttled samples"), tuple(rows))


def _throttling(samples: list[ClockSample]) -> str | None:
    """`3 of 21: software power cap`: in how many samples something held the clocks back, and what; `None` where no sample tells."""
    known = [sample for sample in samples if sample.throttle is not None]
    if not known:
        return None
    held = [sample for sample in known if sample.throttle]
    reasons = sorted({reason for sample in held for reason in sample.throttle or ()})
    return f"{len(held)} of {len(known)}" + (f": {', '.join(reasons)}" if reasons else "")


def _middle(samples: list[ClockSample], key: str) -> object:
    known = [float(value) for sample in samples if (value := getattr(sample, key)) is not None]
    return Count(round(Estimate(tuple(known)).median)) if known else None


def phases(facts: RunFacts) -> Table | None:
    """Where the seconds of the capture went: phases, below each its parts, then the whole. Shares are of the whole."""
    if not facts.phases:
        return None
    parts: dict[str, list[tuple[str, float]]] = {}
    for name, value in facts.phases.items():
        phase, _, part = name.partition(": ")
        parts.setdefault(phase, []).extend([(part, value)] if part else [])
    alone = {name: value for name, value in facts.phases.items() if ": " not in name}
    whole = alone.pop(WHOLE, None) or sum(alone.get(phase, sum(v for _, v in inside)) for phase, inside in parts.items()) or 1.0
    rows = []
    for phase, inside in parts.items():
        if phase != WHOLE:
            rows.append((phase, alone.get(phase, sum(value for _, value in inside))))
            rows += [(f"└ {part}", value) for part, value in inside]
    rows.append((WHOLE, whole))
    return Table(columns("Phase", "#Time", "#Share"), tuple((name.replace("_", " "), Seconds(value), Percent(round(100 * value / whole, 1))) for name, value in rows))


WHOLE = "whole"


def downloads(facts: RunFacts, to_root: str) -> str:
    """The evidence itself, as links."""
    files = [("run.json", "run.json"), *((v.title, v.trace_file) for v in facts.variants.values() if v.trace_file)]
    run, *traces = [str(Linked(title, f"runs/{facts.slot}/{file}", to_root)) for title, file in files]
    return f"{run}, everything that was measured" + (f"; traces: {', '.join(traces)}." if traces else ".")


LISTED = 20
"""A longer list is counted; the recorded run has it."""


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, Workload):
        return _plain(value.to_json())
    if isinstance(value, Mapping):
        return ", ".join(f"{k.replace('_', ' ')} {_plain(v)}" for k, v in value.items())
    if isinstance(value, tuple):
        if len(value) > 1 and len({str(v) for v in value}) == 1:
            return f"{_plain(value[0])} in each of {len(value)}"
        if len(value) > LISTED:
            return f"{len(value)} entries, in `run.json`"
        return ", ".join(_plain(v) for v in value)
    return str(value)
