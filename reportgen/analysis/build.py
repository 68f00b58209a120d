"""Run + traces → facts. Pure: the same run always gives the same facts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from statistics import median
from typing import Any

from .. import probes
from .. import trace as trace_room
from ..hardware import kernel_names
from ..hardware.occupancy import Difference, Launch, Occupancy, difference, occupancy
from ..numbers import quantities
from ..numbers.statistics import Estimate
from ..run import Run, VariantRun
from ..run.noise import Noise, current
from ..trace import Activity, Forward, Loss, Trace, TraceLoss, signature
from . import counters, disturbed, mask_step, states, watch
from .caveats import CLOCK_AGREEMENT, clock_spread, run_caveats
from .model import BY_GPU_CLOCK, ActivityFacts, OpFacts, RunFacts, VariantFacts
from .patterns import bytes_model, roles


def build(run: Run) -> RunFacts:
    """Everything that a run's samples and traces show.

    Raises:
        TraceMalformed: a recorded trace cannot be read.
    """
    traces = {name: trace_room.read(variant.trace_path) for name, variant in run.variants.items() if variant.trace_path}
    context = _Context(run, any(trace.has_gpu_lane for trace in traces.values()) if traces else run.device.kind != "cpu")
    variants = {name: context.variant(variant, traces.get(name)) for name, variant in run.variants.items()}
    noise = current(run)
    return RunFacts(
        slot=run.slot,
        recorded_on=run.recorded_on,
        older=run.older,
        device=run.device,
        software=run.software,
        host=run.host,
        settings=run.settings,
        workload=run.workload,
        label=run.label,
        ceilings=run.ceilings,
        clocks=run.clocks,
        probes=run.probes,
        watch=watch.build(run.correctness, probes.load()),
        mask_step=mask_step.counted(run.counters, run.workload.dtype),
        protocol=run.protocol,
        phases=run.phases,
        variants=variants,
        has_gpu_lane=context.has_gpu_lane,
        caveats=run_caveats(run, variants),
        noticed=run.noticed,
        lost=run.lost,
        launches_wait=disturbed.launches_wait(run),
        watched_by=disturbed.watched_by(run),
        counters_reason=run.counters_reason,
        counters_tool=(run.counters.tool or "Nsight Compute") if run.counters else None,
        floor=_clock_floor(run),
        floors=_floors(run, noise) if noise else {},
        extras={"noise": noise} if noise else {},
    )


def _clock_floor(run: Run) -> float:
    """Relative margin below which this run calls nothing a difference, beside the 2 % of the rules."""
    spread = clock_spread(run)
    return spread if spread > CLOCK_AGREEMENT else 0.0


def _floors(run: Run, noise: Noise) -> dict[str, float]:
    """Per quantity, and per quantity and pair of variants; see `RunFacts.floors`. The GPU's clock has no part in host time."""
    least = _clock_floor(run)
    whole = {quantity: noise.floor(quantity) for quantity in quantities.with_floor()}
    pairs = {f"{quantity} {pair}": shift for quantity, shifts in noise.ratios.items() for pair, shift in shifts.items()}
    return {name: max(least, shift) if name.split()[0] in BY_GPU_CLOCK else shift for name, shift in {**whole, **pairs}.items()}


class _Context:
    """What building one variant needs to know of its run."""

    def __init__(self, run: Run, has_gpu_lane: bool) -> None:
        self.run = run
        self.has_gpu_lane = has_gpu_lane
        self.counted = run.counters.variants if run.counters else {}

    def variant(self, variant: VariantRun, trace: Trace | None) -> VariantFacts:
        samples = variant.samples
        known: dict[str, Any] = {
            "source": variant.source,
            "prediction": variant.prediction,
            "timer": variant.timer,
            "timer_note": variant.timer_note,
            "peak_memory_bytes": variant.peak_memory_bytes,
            "relative_error": variant.relative_error,
            "allowed_error": variant.allowed_error,
            "masked_row": variant.masked_row,
            "own_mask": variant.own_mask,
            "training": variant.training,
        }
        times: dict[str, Estimate | None] = {**samples, "first_call_alone": self._alone(variant)}
        if trace is not None and trace.forwards:
            known |= self._from_trace(variant.id, trace)
            times["profiled_host_time"] = Estimate(tuple(forward.duration for forward in trace.forwards))
            known["trace_file"] = variant.trace_path.name if variant.trace_path else None
            if self.run.counters and trace.has_gpu_lane:
                known["counters_reason"] = counters.why_none(known["activities"], self.counted.get(variant.id), known["trace_loss"],
                                                                  extra=not variant.named and "host_time" not in samples)
        state, lost = states.of(self.run, variant, known.get("trace_loss"))
        ordered = {row.name: time for row in quantities.times() if (time := times.get(row.name)) is not None}
        return VariantFacts(variant.id, variant.title, variant.named, state, variant.reason, lost, times=ordered, **known)

    def _alone(self, variant: VariantRun) -> Estimate | None:
        """The first calls in the processes that began with this variant."""
        orders = self.run.protocol.first_call_order or ()
        calls = variant.samples.get("first_call")
        if calls is None or len(orders) != len(calls.samples):
            return None
        alone = [seconds for order, seconds in zip(orders, calls.samples) if order and order[0] == variant.id]
        return Estimate(tuple(alone)) if alone else None

    def _from_trace(self, variant_id: str, trace: Trace) -> dict[str, Any]:
        """The CPU side from all forwards; the GPU side from the whole ones, and unknown where there are none."""
        loss = self._loss(trace)
        alike = typical_forwards(trace.whole) if trace.whole else []
        activities = counters.attach(
            tuple(self._activity(activity, [forward.activities[place] for forward in alike], variant_id)
                  for place, activity in enumerate(alike[0].activities)),
            self.counted.get(variant_id), self.run.workload.dtype) if alike else ()
        kinds = Counter(activity.kind for activity in activities)
        on_gpu = trace.has_gpu_lane and loss is None
        usual, others = typical_ops(trace.forwards, alike)
        return {
            "activities": activities,
            "kernels": kinds["kernel"] if on_gpu else None,
            "memcpys": kinds["memcpy"] if on_gpu else None,
            "memsets": kinds["memset"] if on_gpu and trace.memsets_known else None,
            "trace_loss": loss,
            "ops": tuple(OpFacts(op.name, op.path, op.start, op.duration, op.self_duration) for op in usual.ops) if usual else (),
            "op_count": len(usual.ops) if usual else None,
            "transposes": sum(op.name == "aten::transpose" for op in usual.ops) if usual else None,
            "other_ops": others,
            "integrity": trace.integrity,
            "trace_gpu_time": sum(activity.duration for activity in activities) if on_gpu else None,
        }

    def _loss(self, trace: Trace) -> TraceLoss | None:
        """The trace's own loss; on a GPU a trace without a GPU record has lost them all."""
        if trace.loss is None and not trace.has_gpu_lane and self.run.device.kind != "cpu":
            return TraceLoss(Loss.NO_LANE, len(trace.forwards), 0, 0)
        return trace.loss

    def _activity(self, activity: Activity, repeats: Sequence[Activity], variant_id: str) -> ActivityFacts:
        is_kernel = activity.kind == "kernel"
        threads = _product(activity.block)
        resident: Occupancy | None = None
        if is_kernel and threads and activity.registers is not None:
            resident = occupancy(self._capability(), threads, activity.registers, activity.shared_memory or 0)
        role = roles.role(activity.kind, activity.name, activity.op_path)
        modelled = bytes_model.model(activity, role, self.run.workload)
        return ActivityFacts(
            kind=activity.kind,
            name=activity.name,
            role=role,
            op_path=activity.op_path,
            launch_api=activity.launch.api,
            start=activity.start,
            duration=median(repeat.duration for repeat in repeats),
            launch_start=activity.launch.start,
            decoded=kernel_names.decode(activity.name) if is_kernel else None,
            bytes=activity.bytes,
            grid=activity.grid,
            block=activity.block,
            registers=activity.registers,
            shared_memory=activity.shared_memory,
            profiler_occupancy=activity.profiler_occupancy,
            occupancy=resident,
            occupancy_cause=self._cause(activity, resident, threads),
            requested_bytes=modelled.bytes,
            flop=modelled.flop,
        )

    def _capability(self) -> str | None:
        return self.run.device.compute_capability if self.run.device.kind == "cuda" else None

    def _cause(self, activity: Activity, resident: Occupancy | None, threads: int | None) -> Difference | None:
        if resident is None or activity.profiler_occupancy is None or not threads:
            return None
        launch = Launch(activity.grid, threads, activity.registers or 0, activity.shared_memory or 0)
        return difference(resident, launch, activity.profiler_occupancy, sm_count=self.run.device.sm_count, compute_capability=self._capability())


def _product(shape: tuple[int, int, int] | None) -> int | None:
    return shape[0] * shape[1] * shape[2] if shape else None


def typical_forwards(forwards: Sequence[Forward]) -> list[Forward]:
    """The forwards that share the most common list of activities; the others are only reported.

    The earliest list wins a draw. Durations are never averaged across different lists.
    """
    counts = Counter(signature(forward) for forward in forwards)
    most = max(counts.values())
    chosen = next(signature(forward) for forward in forwards if counts[signature(forward)] == most)
    return [forward for forward in forwards if signature(forward) == chosen]


def typical_ops(forwards: Sequence[Forward], preferred: Sequence[Forward]) -> tuple[Forward | None, int]:
    """A forward with the list of ops that more than half dispatched, one of the `preferred` if it can be, and how many have another list.

    `None` without such a list: the profiler loses events, so what one forward lacks proves nothing, and nobody knows which is whole.
    """
    lists = {forward.index: tuple(op.path for op in forward.ops) for forward in forwards}
    usual, count = Counter(lists.values()).most_common(1)[0]
    if 2 * count <= len(forwards):
        return None, len(forwards)
    return next(forward for forward in (*preferred, *forwards) if lists[forward.index] == usual), len(forwards) - count
