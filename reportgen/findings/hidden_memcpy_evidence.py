"""The hidden copy in tables and pictures."""

from __future__ import annotations

from ..analysis import ActivityFacts, RunFacts, VariantFacts, published
from ..analysis.masking import copied, hidden_copies, mask_ops, masking, masking_copies
from ..questions.bar_charts import time_bars
from ..questions.model import Chart, Evidence
from ..questions.ranked import whiskers
from ..questions.steps import stacked_roles
from ..run import Autograd
from ..saying.tables import Code, Table, columns
from ..saying.units import Bytes, BytesPerSecond, Count, Percent, Seconds, difference

BOTH = ("naive", "naive_inplace")


def evidence(facts: RunFacts) -> Evidence:
    shown = [facts.variants[name] for name in BOTH if facts.ok(name)]
    tables = [*_counts(facts), *_activities(shown), *_saving(facts), *_ops(shown), *_memory(facts, shown), *_gradients(facts.probes.autograd)]
    steps = "One forward by step, from the trace: the same steps except the copy." if _differ_by_the_copy(shown) else "One forward by step, from the trace."
    return Evidence(tables=tuple(tables), charts=(*_times(facts, shown), *stacked_roles("hidden-memcpy-steps", shown, steps)))


def _differ_by_the_copy(shown: list[VariantFacts]) -> bool:
    """Whether one forward is the other without its hidden copies, step by step."""
    if len(shown) < len(BOTH):
        return False
    naive, inplace = shown
    copies = hidden_copies(naive)
    return bool(copies) and [a.role for a in naive.activities if a not in copies] == [a.role for a in inplace.activities]


def _counts(facts: RunFacts) -> list[Table]:
    shown = [facts.variants[name] for name in BOTH if facts.ok(name) and facts.variants[name].kernels is not None]
    if not shown:
        return []
    beside = published.same_workload(facts)
    rows = tuple((variant.title, Count(len(variant.prediction)), *([published.of(variant.id, "activities")] if beside else []),
                  *(None if count is None else Count(count) for count in (variant.observed, variant.kernels, variant.memcpys, variant.memsets))) for variant in shown)
    heads = ["Variant", "#Predicted steps", *(["#Activities in the article"] if beside else []), "#Activities here", "#Kernels", "#Memcpys", "#Memsets"]
    return [Table(columns(*heads), rows, caption=f"GPU activities per forward: predicted, {'in the article, ' if beside else ''}in this run.")]


def _activities(shown: list[VariantFacts]) -> list[Table]:
    rows = tuple((variant.title, a.kind, a.role, Code(a.short), Seconds(a.duration).us(), Bytes(a.bytes) if a.bytes else None, Code(a.launch_api), Code(" → ".join(a.op_path)))
                 for variant in shown for a in masking(variant))
    if not rows:
        return []
    return [Table(columns("Variant", "Kind", "Role", "Name", "#GPU time (µs)", "#Bytes", "Launched by", "Under the ops"), rows,
                  caption="All GPU activities of the masking step, from the trace.")]


def _saving(facts: RunFacts) -> list[Table]:
    if not facts.ok(*BOTH):
        return []
    naive, inplace = (facts.variants[name] for name in BOTH)
    if naive.gpu_time is None or inplace.gpu_time is None:
        return []
    saving = naive.gpu_time.median - inplace.gpu_time.median
    out_of_place, in_place, saved = difference(naive.gpu_time.median, inplace.gpu_time.median)
    copies = hidden_copies(naive)
    rows: list[tuple[object, ...]] = [
        ("GPU time of a forward, out of place", out_of_place, "measured"),
        ("GPU time of a forward, in place", in_place, "measured"),
        ("saved", saved, "measured") if saving >= 0 else ("more in place", saved.removeprefix("-"), "measured"),
        *_modelled(facts, copies, saving),
    ]
    gone = bool(copies) and not masking_copies(inplace)
    return [Table(columns("What", "#Value", "Origin"), tuple(rows), caption="Does the removed copy explain the saving?" if gone and saving > 0 else "GPU time out of place and in place.")]


def _modelled(facts: RunFacts, copies: tuple[ActivityFacts, ...], saving: float) -> list[tuple[object, ...]]:
    """What the hidden copies move, and how long that takes at the rate of a plain copy; nothing where their sizes are not known."""
    sizes = [copied(copy) for copy in copies]
    if not sizes or not all(sizes):
        return []
    moved = 2 * sum(size for size in sizes if size)
    rows: list[tuple[object, ...]] = [("bytes the copy reads and writes", Bytes(moved), "counted"),
                                      ("the copy in the trace", Seconds(sum(copy.duration for copy in copies)), "measured under the profiler")]
    ceiling = facts.ceilings.copy_bytes_per_s if facts.ceilings else None
    if ceiling:
        rows += [("rate of a plain copy in this run", BytesPerSecond(ceiling), "measured"), ("the bytes at that rate", Seconds(moved / ceiling), "modelled")]
        rows += [("saved ÷ modelled", Percent(round(100 * saving * ceiling / moved)), "modelled")] if saving > 0 else []
    return rows


def _ops(shown: list[VariantFacts]) -> list[Table]:
    rows = tuple((variant.title, Code("· " * (len(op.path) - 1) + op.name), Seconds(op.duration).us()) for variant in shown for op in mask_ops(variant))
    if not rows:
        return []
    return [Table(columns("Variant", "CPU op (dots: depth)", "#CPU time under the profiler (µs)"), rows,
                  caption="CPU ops of the masking step. An op's time includes the ops below it.")]


def _memory(facts: RunFacts, shown: list[VariantFacts]) -> list[Table]:
    rows = tuple((variant.title, Bytes(variant.peak_memory_bytes), round(variant.peak_memory_bytes / facts.workload.score_bytes, 2))
                 for variant in shown if variant.peak_memory_bytes is not None)
    if not rows:
        return []
    return [Table(columns("Variant", "#Peak above the inputs", "#In score matrices"), rows,
                  caption=f"Peak memory of one forward. One score matrix is {Bytes(facts.workload.score_bytes)}.")]


def _gradients(probe: Autograd | None) -> list[Table]:
    if probe is None or probe.inplace_backward is None:
        return []
    minimal = probe.minimal_refusal
    rows: list[tuple[object, ...]] = [
        ("backward through the in-place mask", "runs" if probe.inplace_backward == "ok" else f"refused: {probe.reason}"),
        ("gradients equal naive's", probe.gradients_equal),
        ("relative difference of the gradients", probe.relative_difference),
    ]
    if minimal:
        rows.append(("the minimal graph", f"refused: {minimal.message}" if minimal.refused else "runs"))
    return [Table(columns("Question", "Answer"), tuple(rows), caption="Autograd and the in-place mask, tried in this run.")]


def _times(facts: RunFacts, shown: list[VariantFacts]) -> tuple[Chart, ...]:
    return time_bars("hidden-memcpy-gpu-time", [(variant, variant.gpu_time) for variant in shown], "GPU time per forward",
                     f"GPU time per forward out of place and in place{whiskers(facts, 'gpu_time', BOTH)}.")
