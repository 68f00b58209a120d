"""Under which conditions two runs were taken, and which evidence one has and the other lacks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from statistics import median
from typing import Any

from ...analysis import RunFacts, VariantFacts
from ...analysis.caveats import BUSY_SHARE, CLOCK_AGREEMENT, others_cpu_share
from ...analysis.correctness import Gradients, own_gradients
from ...analysis.counters import NOT_ASKED
from ...numbers import quantities
from ...numbers.quantities import QUANTITIES
from ...saying.units import Count, listed, plural
from .model import ConditionChange, Lack

EXACT_TIMER = "cuda-graph"
_RECORDED = ("peak_memory_bytes", "relative_error")


def conditions(old: RunFacts, new: RunFacts, before: Sequence[VariantFacts], after: Sequence[VariantFacts]) -> tuple[ConditionChange, ...]:
    """What differs, the whole run first. before, after: the variants that both runs have something to say about, pairwise."""
    changes = [*neighbours(old, new), *_processors(old, new), *clocks(old, new), *_processes(old, new), *_counters(old, new), *_ceilings(old, new), *_probes(old, new), *_watched(old, new)]
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


def neighbours(old: RunFacts, new: RunFacts) -> Iterator[ConditionChange]:
    before, after = old.clocks.other_processes, new.clocks.other_processes
    if before != after:
        worse = (after or 0) > (before or 0)
        yield ConditionChange("other processes on the GPU", _count(before), _count(after), Lack.QUIET if worse else None, plural(after or 0, "other process", "other processes"))


def _processors(old: RunFacts, new: RunFacts) -> Iterator[ConditionChange]:
    """Told and no more: GPU time, kernels and results are as good beside busy processors as without them."""
    before, after = (others_cpu_share(facts.clocks) for facts in (old, new))
    if ((before or 0) > BUSY_SHARE) != ((after or 0) > BUSY_SHARE):
        yield ConditionChange("processors taken by others, at most", _share(before), _share(after))


def _share(value: float | None) -> str | None:
    return None if value is None else f"{round(100 * value)} %"


def clocks(old: RunFacts, new: RunFacts) -> Iterator[ConditionChange]:
    """What held the clocks back, and at which clock the SMs ran."""
    yield from _throttling(old, new)
    yield from _clock(old, new)


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
        yield ConditionChange("SM clock, median", _mhz(before), _mhz(after))


def _mhz(found: Sequence[float]) -> str | None:
    return f"{Count(round(median(found)))} MHz" if found else None


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


PROBES: dict[str, tuple[str, Callable[[Any], object]]] = {
    "default_backend": ("default backend", lambda probe: probe.name), "autograd": ("gradients of masking in place", lambda probe: probe.inplace_backward),
    "saving_accumulates": ("chains of forwards", lambda probe: probe.timed), "occupancy_probe": ("occupancy probe", lambda probe: probe.launches)}
"""Field of `run.Probes` → its words, and whether it has its answer."""


def _probes(old: RunFacts, new: RunFacts) -> Iterator[ConditionChange]:
    for name, (label, answer) in PROBES.items():
        before, after = (getattr(facts.probes, name) for facts in (old, new))
        yield from _either(f"probe: {label}", before and answer(before), after and answer(after), Lack.PROBE, label, getattr(after, "reason", None) or "")


def _watched(old: RunFacts, new: RunFacts) -> Iterator[ConditionChange]:
    yield from _either("publicly reported cases", old.watch.taken, new.watch.taken, Lack.WATCH, "", new.watch.reason or "")


def _variant(old: VariantFacts, new: VariantFacts) -> Iterator[ConditionChange]:
    if old.ok != new.ok:
        yield ConditionChange(f"{new.id}", old.state.value, new.state.value, Lack.RUN if old.ok else None, new.id, new.reason or new.state.value)
    elif new.ok:
        yield from _traced(old, new)
        yield from _timed(old, new)
        yield from _trained(old, new)


def _traced(old: VariantFacts, new: VariantFacts) -> Iterator[ConditionChange]:
    reasons = {one.what: one.reason for one in new.lost}
    yield from _either(f"trace of {new.id}", old.trace_file, new.trace_file, Lack.TRACE, new.id, reasons.get("trace", ""))
    if not (old.trace_file and new.trace_file):
        return
    yield from _either(f"GPU records of {new.id}", old.kernels is not None, new.kernels is not None, Lack.RECORDS, new.id, reasons.get("GPU records", ""))
    if old.kernels is not None and new.kernels is not None:
        yield from _either(f"memsets of {new.id}", old.memsets is not None, new.memsets is not None, Lack.MEMSETS, new.id)
    counted = [any(activity.counters for activity in variant.activities) for variant in (old, new)]
    if new.counters_reason and counted == [True, False] and new.counters_reason != NOT_ASKED:
        yield ConditionChange(f"hardware counters of {new.id}", "counted", None, Lack.COUNTED, new.id, new.counters_reason)


def _timed(old: VariantFacts, new: VariantFacts) -> Iterator[ConditionChange]:
    for name in quantities.recorded():
        label = f"{QUANTITIES[name].label} of {new.id}"
        yield from _either(label, old.time(name), new.time(name), Lack.TIME, label, (new.timer_note or "") if name.startswith("gpu_") else "")
    for name in _RECORDED:
        label = f"{QUANTITIES[name].label} of {new.id}"
        yield from _either(label, getattr(old, name) is not None, getattr(new, name) is not None, Lack.TIME, label)
    if old.timer != new.timer and old.gpu_time and new.gpu_time:
        yield ConditionChange(f"timer of {new.id}", old.timer, new.timer, Lack.TIMER if old.timer == EXACT_TIMER else None, new.id, new.timer_note or "")


def _trained(old: VariantFacts, new: VariantFacts) -> Iterator[ConditionChange]:
    before, after = ((variant.training if variant.training and variant.training.status == "ok" and own_gradients(variant) is not Gradients.WRONG else None)
                     for variant in (old, new))
    yield from _either(f"forward and backward of {new.id}", before, after, Lack.TRAINING, new.id, (new.training.reason if new.training else None) or "")
    if before and after:
        yield from _either(f"gradients of {new.id}, compared", before.compared, after.compared, Lack.GRADIENTS, new.id)
        yield from _either(f"kernels of forward and backward of {new.id}", before.kernels, after.kernels, Lack.TRAINING_KERNELS, new.id)


def _either(name: str, old: object, new: object, lack: Lack, subject: str, why: str = "") -> Iterator[ConditionChange]:
    """A change where one side has it and the other has not."""
    if old and not new:
        yield ConditionChange(name, "recorded", None, lack, subject, why)
    elif new and not old:
        yield ConditionChange(name, None, "recorded", None, subject)


def _count(value: int | None) -> str | None:
    return None if value is None else str(Count(value))
