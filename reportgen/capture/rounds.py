"""One timing process: first calls, warm-up, then rounds in which the variants take turns."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import variants as variant_room
from variants import Variant

from ..run.workload import Workload
from . import chains, gpu_bench, inputs, mask_step, neighbours, operands, patience, timing
from .faults import GraphsSpoil, Spoiled
from .processes import Report
from .refusal import listening
from .sampler import Sampler
from .undisturbed import undisturbed

SEED = 20261130
HOST_ROUNDS = 4
"""Rounds of one short host-time block per variant, for each of the rounds that every quantity has (see `timing.LEAST_ROUNDS`)."""


@dataclass(frozen=True)
class Plan:
    """What a timing process is to do.

    process: its number, from which the order of the variants follows
    rounds: how often every quantity of every variant is measured at most; each less often where its rounds agree (see `timing.steady`)
    settle_seconds: longest warm-up of one variant
    patience_seconds: no further round is begun after so much time
    most_threads: torch gets no more CPU threads than these; `None` leaves its own choice
    chains: chains of forwards as well, if they take no longer than `chain_seconds`
    mask_step: the mask step alone as well (see `mask_step`)
    no_graphs: why no CUDA graph is to be tried, or `None`
    """

    device: str
    workload: Workload
    variants: tuple[str, ...]
    process: int
    rounds: int
    settle_seconds: float
    patience_seconds: float = patience.PROCESS_SECONDS
    most_threads: int | None = None
    chains: bool = True
    chain_seconds: float = patience.CHAIN_SECONDS
    mask_step: bool = False
    no_graphs: str | None = None


def order(variants: Sequence[str], process: int, turn: int) -> list[str]:
    """The variants shuffled, differently for each process and turn, the same in every run."""
    shuffled = list(variants)
    random.Random(f"{SEED}/{process}/{turn}").shuffle(shuffled)
    return shuffled


def first_order(variants: Sequence[str], process: int) -> list[str]:
    """The order of the first calls: each variant in its turn goes first in a process, the others are shuffled.

    Variants share library code that only the first of them loads, so a first call after others and
    one before all others are two quantities; with as many processes as variants each has both.
    """
    if not variants:
        return []
    leader = variants[process % len(variants)]
    return [leader, *(name for name in order(variants, process, 0) if name != leader)]


def measure(report: Report, plan: Plan) -> dict[str, Any]:
    """Runs one timing process.

    Returns:
        `samples` (variant → quantity → seconds: the median of this process), `failures` (variant →
        status and reason), `notes` (variant → timer, note, forwards, settled), `chains`, `mask_step`, `clocks`,
        `neighbours` (see `neighbours.inside`), `pinned` (the launching thread stayed on one processor),
        `first_order` (the order of the first calls), `warmed` and `input_sets`. Each variant's
        seconds per forward, by its first calls, are handed over at once, under `("call", id)`.

    Raises:
        Spoiled: a variant left the device unusable; the last `report.at` names it.
    """
    import torch

    limit_threads(plan.most_threads)
    operands.start(plan.device)  # only then does CUDA say which GPU is meant, and NVML is asked for that one
    with torch.no_grad(), Sampler(plan.device) as sampler:
        return _Process(report, plan, sampler).run()


def limit_threads(most: int | None) -> None:
    """Keeps torch to `most` CPU threads where it would take more."""
    import torch

    if most is not None and torch.get_num_threads() > most:
        torch.set_num_threads(most)


class _Process:
    def __init__(self, report: Report, plan: Plan, sampler: Any) -> None:
        self.report, self.plan, self.sampler = report, plan, sampler
        self.variants = {variant.id: variant for variant in variant_room.load(plan.variants)}
        self.failures: dict[str, dict[str, Any]] = {}
        self.samples: dict[str, dict[str, float]] = {name: {} for name in self.variants}
        self.prepared: dict[str, timing.Prepared] = {}
        self.settled: dict[str, bool] = {}
        self.first: dict[str, list[float]] = {}
        self.clocks: list[dict[str, Any]] = []
        self.rounds_done = 0
        self.medians: dict[tuple[str, str], list[float]] = {}
        self.phases: dict[str, float] = {}
        self.processors = neighbours.Processors()
        self.pinned = False
        self.began = self.lap = time.perf_counter()

    def _lap(self, phase: str) -> None:
        now = time.perf_counter()
        self.phases[phase] = self.phases.get(phase, 0.0) + now - self.lap
        self.lap = now

    def run(self) -> dict[str, Any]:
        import torch

        workload, plan = self.plan.workload, self.plan
        self.report.at("all variants", "warming libraries")
        self.bench = gpu_bench.bench(plan.device, plan.no_graphs)
        # eight score matrices hold what the most wasteful variant needs at once
        warmed = self.bench.warm_up(getattr(torch, workload.dtype), 8 * (workload.score_bytes + workload.operand_bytes))
        sets = self._sets()
        self.inputs = inputs.make(plan.device, workload, sets or 1)
        self.bench.synchronize()
        self._lap("libraries and inputs")
        whole, extras = ([name for name in self._alive() if self.variants[name].brief is brief] for brief in (False, True))
        first = first_order(whole, plan.process)
        self._each("first call", [*first, *extras], self._first_calls)  # extras last: they load nothing that a first call is timed with
        with undisturbed(plan.device) as self.pinned:
            self._each("preparing", self._turn(1), lambda variant: self._prepare(variant, sets), new_graphs=True)
            self._each("warming up", self._turn(2), self._settle, new_graphs=True)
            values = self._rounds()
            chained = self._chains(values) if plan.chains else None
            self._lap("chains")
            masked = self._mask_step() if plan.mask_step else None
            self._lap("mask step")
        for name in self._alive():
            self.samples[name].update({quantity: median(found) for quantity, found in values[name].items()})
        return {
            "samples": {name: self.samples[name] for name in self._alive()},
            "failures": self.failures,
            "notes": {name: self._notes(name) for name in self._alive()},
            "chains": chained,
            "mask_step": masked,
            "rounds": self.rounds_done,
            "phases": self.phases,
            "clocks": self.clocks,
            "clocks_reason": self.sampler.reason,
            "neighbours": neighbours.inside(self.sampler, self.processors),
            "pinned": self.pinned,
            "first_order": first,
            "warmed": warmed,
            "input_sets": sets,
            "threads": torch.get_num_threads(),
        }

    def _alive(self) -> list[str]:
        return [name for name in self.variants if name not in self.failures]

    def _turn(self, number: int) -> list[str]:
        return order(self._alive(), self.plan.process, number)

    def _each(self, phase: str, names: Sequence[str], work: Any, new_graphs: bool = False) -> None:
        """These variants one after another; a failure costs that variant only.

        new_graphs: on a GPU CUDA graphs run for the first time here, so what goes wrong may be their doing
        """
        for name in names:
            self.report.at(name, phase)
            variant = self.variants[name]
            with listening() as heard, variant.pinned():
                work(variant)
            if heard.error is not None:
                self.failures[name] = {"status": _status(variant, heard), "reason": heard.reason or "unknown", "out_of_memory": heard.out_of_memory}
                self.prepared.pop(name, None)
                self._still_answers(name, new_graphs)
        self._lap(phase)

    def _rounds(self) -> dict[str, dict[str, list[float]]]:
        """variant → quantity → values of all rounds; on a slow or busy machine fewer rounds than planned."""
        values: dict[str, dict[str, list[float]]] = {name: {} for name in self.variants}
        for turn in range(self.plan.rounds):
            left = [name for name in self._turn(3 + turn) if self._undecided(name)]
            if turn and (self._late() or not left):
                break
            self._each("rounds", left, lambda variant: self._round(variant, values[variant.id]))
            self.rounds_done = turn + 1
        began, least = time.perf_counter(), min(self.rounds_done, timing.LEAST_ROUNDS)
        for turn in range(HOST_ROUNDS * least):
            if turn and (self._late() or turn >= least and time.perf_counter() - began > patience.HOST_SECONDS):
                break
            whole = [name for name in self._turn(100 + turn) if not self.variants[name].brief]
            self._each("host time", whole, lambda variant: self._host_block(variant, values[variant.id]))
        if self.bench.one_clock:
            for found in values.values():
                found.setdefault("wall_time", found.get("host_time", []))
        return values

    def _undecided(self, name: str) -> list[str]:
        """The quantities of a variant whose rounds do not agree yet, or are too few; host time has rounds of its own."""
        return [quantity for quantity in self.prepared[name].blocks if quantity != "host_time" and not timing.steady([self.medians.get((name, quantity), [])])]

    def _late(self) -> bool:
        return time.perf_counter() - self.began > self.plan.patience_seconds

    def _host_block(self, variant: Variant, values: dict[str, list[float]]) -> None:
        """One short block. A processor changes its pace within seconds, and variants are compared: each shall see every pace."""
        values.setdefault("host_time", []).append(self.prepared[variant.id].blocks["host_time"]())

    def _still_answers(self, name: str, new_graphs: bool) -> None:
        """Raises `Spoiled` where the device does not, `GraphsSpoil` where a graph may have done it."""
        try:
            self.bench.synchronize()
        except RuntimeError as error:
            kind = GraphsSpoil if new_graphs and self.bench.timer == "cuda-graph" else Spoiled
            raise kind(f"{self.failures[name]['reason'].rstrip('.')} (after it the device answers: {str(error).splitlines()[0]})") from error

    def _sets(self) -> int | None:
        if not isinstance(self.bench, gpu_bench.GpuBench):
            return None
        from .environment import last_level_cache

        return inputs.input_sets(self.plan.workload.operand_bytes, last_level_cache(self.plan.device))

    def _first_calls(self, variant: Variant) -> None:
        """Before anything else of this variant: the first call at the shape, then at another. Of an extra neither is kept."""
        found = {} if variant.brief else self.samples[variant.id]
        found["first_call"] = self._one_call(variant, self.inputs)
        if not variant.slow_start and not variant.brief:
            other = inputs.make(self.plan.device, inputs.new_shape(self.plan.workload))
            found["first_call_new_shape"] = self._one_call(variant, other)
        self.report.result(("call", variant.id), self._per_forward(found))

    def _per_forward(self, found: dict[str, float]) -> float:
        """Seconds of one forward by its first calls: the first loads code, so one at another shape may tell more."""
        workload = self.plan.workload
        other = inputs.new_shape(workload)
        scaled = found.get("first_call_new_shape", found["first_call"]) * workload.score_elements / other.score_elements
        return min(found["first_call"], scaled)

    def _one_call(self, variant: Variant, given: inputs.Inputs) -> float:
        """Seconds until the call returns, as host time has it; what it queued is waited for afterwards."""
        arguments = given.arguments(0)
        self.bench.synchronize()
        began = time.perf_counter()
        variant.bare(*arguments)
        seconds = time.perf_counter() - began
        self.bench.synchronize()
        return seconds

    def _prepare(self, variant: Variant, sets: int | None) -> None:
        def call(turn: int) -> Any:
            return variant.bare(*self.inputs.arguments(turn))

        self.prepared[variant.id] = self.bench.prepare(call, sets, variant.brief)

    def _settle(self, variant: Variant) -> None:
        """Warms one variant up. On a GPU the last blocks of that, which agree, are the first round of what they measure."""
        gpu = "gpu_time" in self.prepared[variant.id].blocks
        values = timing.warmed(self.prepared[variant.id].warm, self.plan.settle_seconds, _enough_on_a_gpu if gpu else timing.settled)
        self.settled[variant.id] = timing.settled(values) or gpu and timing.at_rest(values)
        if gpu and self.settled[variant.id]:
            self.first[variant.id] = values[-timing.AT_REST:]
            self._look_at_clocks(variant)

    def _round(self, variant: Variant, values: dict[str, list[float]]) -> None:
        for quantity in self._undecided(variant.id):
            warmed = self.first.pop(variant.id, []) if quantity == "gpu_time" else []
            found = warmed or _repeated(self.prepared[variant.id].blocks[quantity])
            values.setdefault(quantity, []).extend(found)
            self.medians.setdefault((variant.id, quantity), []).append(median(found))
            if quantity == "gpu_time" and not warmed:
                self._look_at_clocks(variant)

    def _look_at_clocks(self, variant: Variant) -> None:
        """Right after the device has worked for this variant."""
        if self.sampler.available:
            self.clocks.append({"variant": variant.id, **self.sampler.sample()})

    def _notes(self, name: str) -> dict[str, Any]:
        prepared = self.prepared[name]
        return {"timer": prepared.timer, "note": prepared.said(), "forwards": prepared.forwards, "settled": self.settled[name]}

    def _chains(self, values: dict[str, dict[str, list[float]]]) -> dict[str, Any]:
        if any(name not in self._alive() for name in chains.CHAINED):
            return {"reason": "chains of forwards could not be timed"}
        self.report.at("naive", "chains of forwards")
        one = [median(values[name].get("gpu_time") or values[name]["wall_time"]) for name in chains.CHAINED]
        return chains.measure(self.bench, self.variants, self.inputs.arguments(0), sum(one) / len(one), self.plan.chain_seconds, self._late)

    def _mask_step(self) -> dict[str, Any]:
        """The last thing of a process: whatever becomes of it, all else has been measured."""
        self.report.at("naive_inplace", "the mask step alone")
        return mask_step.measure(self.bench, self.plan.device, self.plan.workload, self._late)


def _enough_on_a_gpu(values: list[float]) -> bool:
    return timing.at_rest(values) or timing.settled(values)


def _repeated(block: timing.Block) -> list[float]:
    """The values of one round: a short block is repeated."""
    began = time.perf_counter()
    found = [block()]
    again = timing.repeats(time.perf_counter() - began) - 1
    return found + [block() for _ in range(again)]


def _status(variant: Variant, heard: Any) -> str:
    """A compiler that is not there is unavailable, whatever it raises; else what the refusal says."""
    compiler = variant.slow_start and not heard.out_of_memory
    return "unavailable" if compiler else heard.status
