"""Under which conditions two runs were taken, and which evidence one has and the other lacks."""

from __future__ import annotations

from statistics import median
from typing import Iterator, Sequence

from ...analysis import RunFacts, VariantFacts
from ...analysis.caveats import CLOCK_AGREEMENT
from ...numbers import quantities
from ...numbers.quantities import QUANTITIES
from ...saying.units import Count, listed, plural
from .model import ConditionChange, Lack

EXACT_TIMER = "cuda-graph"
_RECORDED = ("peak_memory_bytes", "relative_error")


def conditions(old: RunFacts, new: RunFacts, before: Sequence[VariantFacts], after: Sequence[VariantFacts]) -> tuple[ConditionChange, ...]:
    """What differs, the whole run first. before, after: the variants that both runs have something to say about, pairwise."""
    changes = [*_neighbours(old, new), *_throttling(old, new), *_clock(old, new), *_processes(old, new), *_counters(old, new), *_ceilings(old, new), *_probes(old, new)]
    for one, other in zip(before, after):
        changes += _variant(one, other)
    return tuple(changes)


def lacks(changes: Sequence[ConditionChange]) -> list[str]:
    """Why the new run cannot stand in for the old one, one clause per kind and cause; empty where it can.

    >>> lacks([ConditionChange("trace of naive", "recorded", None, Lack.TRACE, "naive", "the disk was full")])
    ['no trace of naive (the disk was full)']
    """
    found: dict[tuple[Lack, str], list[str]] = {}
    for change in changes:
        if change.lack is not None:
            found.setdefault((change.lack, change.why), []).append(change.subject)
    return [lack.value.format(listed(subjects)) + (f" ({why.rstrip('.')})" if why else "") for (lack, why), subjects in found.items()]


def _neighbours(old: RunFacts, new: RunFacts) -> Iterator[ConditionChange]:
    before, after = old.clocks.other_processes, new.clocks.other_processes
    if before != after:
        worse = (after or 0) > (before or 0)
        yield ConditionChange("other processes on the GPU", _count(before), _count(after), Lack.QUIET if worse else None, plural(after or 0, "other process", "other processes"))


def _throttling(old: RunFacts, new: RunFacts) -> Iterator[ConditionChange]:
    before, after = _reasons(old), _reasons(new)
    added = sorted((after or set()) - (before or set()))
    if before != after:
        yield ConditionChange("clocks held back", _held(old), _held(new), Lack.CLOCKS if added else None, "", listed(added))


def _reasons(facts: RunFacts) -> set[str] | None:
    """What held the clocks back; `None` where no sample tells."""
    told = [sample.throttle for sample in facts.clocks.samples if sample.throttle is not None]
    return {reason for reasons in told for reason in reasons} if told else None


def _held(facts: RunFacts) -> str | None:
    told = [sample.throttle for sample in facts.clocks.samples if sample.throttle is not None]
    if not told:
        return None
    reasons = sorted({reason for reasons in told for reason in reasons})
    return f"{Count(sum(bool(reasons) for reasons in told))} of {plural(len(told), 'sample')}" + (f" ({listed(reasons)})" if reasons else "")


def _clock(old: RunFacts, new: RunFacts) -> Iterator[ConditionChange]:
    before, after = ([sample.sm_mhz for sample in facts.clocks.samples if sample.sm_mhz] for facts in (old, new))
    if bool(before) != bool(after) or (before and abs(median(after) / median(before) - 1) > CLOCK_AGREEMENT):
        yield ConditionChange("SM clock, median", *(f"{Count(round(median(found)))} MHz" if found else None for found in (before, after)))


def _processes(old: RunFacts, new: RunFacts) -> Iterator[ConditionChange]:
    before, after = old.protocol.processes, new.protocol.processes
    if before != after:
        fewer = (after or 0) < (before or 0)
        yield ConditionChange("timing processes", _count(before), _count(after), Lack.PROCESSES if fewer else None, f"{after or 0} timing processes instead of {before}")


def _counters(old: RunFacts, new: RunFacts) -> Iterator[ConditionChange]:
    if (old.counters_tool is None) != (new.counters_tool is None):
        yield ConditionChange("hardware counters", old.counters_tool, new.counters_tool, Lack.COUNTERS if old.counters_tool else None, "", new.counters_reason or "")


def _ceilings(old: RunFacts, new: RunFacts) -> Iterator[ConditionChange]:
    for name in ("copy_bytes_per_s", "matmul_flop_per_s", "fp32_flop_per_s"):
        yield from _either(QUANTITIES[name].label, getattr(old.ceilings, name, None), getattr(new.ceilings, name, None), Lack.CEILING, QUANTITIES[name].label)


def _probes(old: RunFacts, new: RunFacts) -> Iterator[ConditionChange]:
    answered = {"default backend": lambda p: p.default_backend and p.default_backend.name, "gradients of masking in place": lambda p: p.autograd and p.autograd.inplace_backward,
                "chains of forwards": lambda p: p.saving_accumulates and p.saving_accumulates.timed, "occupancy probe": lambda p: p.occupancy_probe and p.occupancy_probe.launches}
    why = {"default backend": "default_backend", "gradients of masking in place": "autograd", "chains of forwards": "saving_accumulates", "occupancy probe": "occupancy_probe"}
    for label, found in answered.items():
        yield from _either(f"probe: {label}", found(old.probes), found(new.probes), Lack.PROBE, label, getattr(getattr(new.probes, why[label]), "reason", None) or "")


def _variant(old: VariantFacts, new: VariantFacts) -> Iterator[ConditionChange]:
    if old.ok != new.ok:
        yield ConditionChange(f"{new.id}", old.state.value, new.state.value, Lack.RUN if old.ok else None, new.id, new.reason or new.state.value)
        return
    if not new.ok:
        return
    reasons = {one.what: one.reason for one in new.lost}
    traced = [variant.trace_file is not None for variant in (old, new)]
    yield from _either(f"trace of {new.id}", *traced, Lack.TRACE, new.id, reasons.get("trace", ""))
    if all(traced):
        yield from _either(f"GPU records of {new.id}", *(variant.kernels is not None for variant in (old, new)), Lack.RECORDS, new.id, reasons.get("GPU records", ""))
        yield from _either(f"memsets of {new.id}", *(variant.memsets is not None or variant.kernels is None for variant in (old, new)), Lack.MEMSETS, new.id)
    for name in quantities.recorded():
        yield from _either(f"{QUANTITIES[name].label} of {new.id}", old.time(name), new.time(name), Lack.TIME, f"{QUANTITIES[name].label} of {new.id}", new.timer_note or "" if name.startswith("gpu_") else "")
    for name in _RECORDED:
        yield from _either(f"{QUANTITIES[name].label} of {new.id}", *(getattr(variant, name) is not None for variant in (old, new)), Lack.TIME, f"{QUANTITIES[name].label} of {new.id}")
    if old.timer != new.timer and old.gpu_time and new.gpu_time:
        yield ConditionChange(f"timer of {new.id}", old.timer, new.timer, Lack.TIMER if old.timer == EXACT_TIMER else None, new.id, new.timer_note or "")
    trained = [bool(variant.training and variant.training.status == "ok") for variant in (old, new)]
    yield from _either(f"forward and backward of {new.id}", *trained, Lack.TRAINING, new.id, (new.training.reason if new.training else None) or "")
    if all(trained):
        yield from _either(f"kernels of forward and backward of {new.id}", *(bool(variant.training and variant.training.kernels) for variant in (old, new)), Lack.TRAINING_KERNELS, new.id)
    counted = [any(activity.counters for activity in variant.activities) for variant in (old, new)]
    if new.counters_reason and counted == [True, False]:
        yield ConditionChange(f"hardware counters of {new.id}", "counted", None, Lack.COUNTED, new.id, new.counters_reason)


def _either(name: str, old: object, new: object, lack: Lack, subject: str, why: str = "") -> Iterator[ConditionChange]:
    """A change where one side has it and the other has not."""
    if bool(old) != bool(new):
        yield ConditionChange(name, *("recorded" if there else None for there in (old, new)), *((lack, subject, why) if old else (None, subject, "")))


def _count(value: int | None) -> str | None:
    return None if value is None else str(Count(value))
