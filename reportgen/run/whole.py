"""Whether the parts of a run fit together: what no field can tell by itself."""

from __future__ import annotations

from collections import Counter

from ..numbers.statistics import Estimate
from ..saying.units import plural
from .counters import over_full
from .model import Run


def fault(run: Run) -> str | None:
    """The first thing that does not fit, or `None`: field, what it is, what was expected."""
    return next((found for rule in (_unequal_processes, _broken_chains, _other_processes, _silent_refusal, _over_full, _not_wrong) if (found := rule(run))), None)


def _unequal_processes(run: Run) -> str | None:
    """Variants are compared process by process, so each quantity of each has one value per process.

    A variant of one's own, or a compiled one, may have been timed in processes of its own.
    """
    named = [variant for variant in run.variants.values() if variant.named]
    for group in (named, *([variant] for variant in run.variants.values() if not variant.named)):
        problem = _unequal({f"variants.{variant.id}.samples.{quantity}": times for variant in group for quantity, times in variant.samples.items()})
        if problem:
            return problem
    return None


def _broken_chains(run: Run) -> str | None:
    chains, place = run.probes.saving_accumulates, "probes.saving_accumulates"
    if chains is None or not (chains.naive or chains.naive_inplace):
        return None
    if not chains.layers:
        return f"{place}.layers is empty, expected the lengths of the chains that were timed"
    for name, times in (("naive", chains.naive), ("naive_inplace", chains.naive_inplace)):
        for depth in chains.layers:
            if str(depth) not in times:
                return f"{place}.{name}.{depth} is missing"
    return _unequal({f"{place}.{name}.{depth}": times for name, by_depth in (("naive", chains.naive), ("naive_inplace", chains.naive_inplace))
                     for depth, times in by_depth.items()})


def _other_processes(run: Run) -> str | None:
    """The protocol says how many processes there were; what is recorded once per process has as many values."""
    processes = run.protocol.processes
    lists = {f"protocol.{name}": getattr(run.protocol, name) for name in ("rounds_done", "first_call_order")}
    counts = {place: len(values) for place, values in lists.items() if values is not None}
    counts |= {f"variants.{variant.id}.samples.{quantity}": len(times.samples)
               for variant in run.variants.values() if variant.named for quantity, times in variant.samples.items()}
    place = next((place for place, count in counts.items() if count != processes), None)
    return f"protocol.processes is {processes}, and {place} has {plural(counts[place], 'value')}, expected one per process" if processes is not None and place else None


def _unequal(found: dict[str, Estimate]) -> str | None:
    """The field that has another number of values than most."""
    lengths = Counter(len(times.samples) for times in found.values())
    usual = max(lengths, key=lambda length: (lengths[length], length), default=0)
    for place, times in found.items():
        if len(times.samples) != usual:
            return f"{place} has {plural(len(times.samples), 'value')}, expected {usual}, one per process as in the others"
    return None


def _silent_refusal(run: Run) -> str | None:
    autograd = run.probes.autograd
    minimal = autograd.minimal_refusal if autograd else None
    if minimal and minimal.refused and not (minimal.message or "").strip():
        return "probes.autograd.minimal_refusal.message is missing, expected torch's words, since it refused"
    return None


def _over_full(run: Run) -> str | None:
    """A share of a peak is no more than all of it, but for rounding; a pipe's may be, which is put together from several replays."""
    for name, kernels in (run.counters.variants if run.counters else {}).items():
        for place, kernel in enumerate(kernels):
            for metric, value in kernel.metrics.items():
                if over_full(metric, value):
                    return f"counters.variants.{name}[{place}].metrics.{metric} is {value}, expected a percentage"
    return None


def _not_wrong(run: Run) -> str | None:
    for variant in run.variants.values():
        error, allowed = variant.relative_error, variant.allowed_error
        if variant.status == "wrong" and error is not None and allowed is not None and error <= allowed:
            return f"variants.{variant.id}.status is 'wrong', and its error of {error} is not above the allowed {allowed}"
    return None
