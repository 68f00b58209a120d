"""Whether the parts of a run fit together: what no field can tell by itself."""

from __future__ import annotations

from collections import Counter

from ..numbers.statistics import Estimate
from .model import Run


def fault(run: Run) -> str | None:
    """The first thing that does not fit, or `None`: field, what it is, what was expected."""
    return _unequal_processes(run) or _broken_chains(run) or _silent_refusal(run)


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


def _unequal(found: dict[str, Estimate]) -> str | None:
    """The field that has another number of values than most."""
    lengths = Counter(len(times.samples) for times in found.values())
    usual = max(lengths, key=lambda length: (lengths[length], length), default=0)
    for place, times in found.items():
        if len(times.samples) != usual:
            return f"{place} has {len(times.samples)} values, expected {usual}, one per process as in the others"
    return None


def _silent_refusal(run: Run) -> str | None:
    autograd = run.probes.autograd
    minimal = autograd.minimal_refusal if autograd else None
    if minimal and minimal.refused and not (minimal.message or "").strip():
        return "probes.autograd.minimal_refusal.message is missing, expected torch's words, since it refused"
    return None
