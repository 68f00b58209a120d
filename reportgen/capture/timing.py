"""How one forward is timed: graph replays, filled queues and plain clocks.

Two benches with the same questions, one for a GPU and one for a CPU. A *block* is a callable that
runs once and gives seconds per forward. The arithmetic of how much work a block holds is pure.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from math import ceil
from statistics import median
from typing import Any

Block = Callable[[], float]
Call = Callable[[int], Any]
"""Runs one forward; the number says whose turn it is, so that input sets rotate."""

ENOUGH_FORWARDS, ENOUGH_SECONDS = 20, 0.020
AIM_SECONDS = 0.006
HOST_BLOCK_SECONDS = 0.01
MOST_FORWARDS = 1000
MOST_LAUNCHES, LAUNCHES_PER_FORWARD = 500, 25
"""Deeper queues make the host wait for the GPU, and host time would be GPU time. The most wasteful
forward, SDPA math, launches 20 or 21 kernels. (Counting a forward's ops first would cost each
process 1.7 s: torch's dispatch modes import its compiler.)"""
MOST_QUEUED = MOST_LAUNCHES // LAUNCHES_PER_FORWARD
LEAST_CALLS = 10
FILL = 3
AGREEMENT = 0.01
SLEEP_CYCLES_PER_SECOND = 2_000_000_000
"""At least the SM clock of any GPU so far: a sleep of this many cycles lasts a second or more."""


def forwards_per_graph(seconds: float, sets: int = 1) -> int:
    """N of a graph whose forward takes about `seconds`: 20 forwards or 20 ms of work, whichever is less.

    Quick forwards get up to 6 ms of work, so that the replay's own start does not show. N is a
    multiple of `sets`, so that each input set is used equally often.
    """
    least = min(ENOUGH_FORWARDS, ceil(ENOUGH_SECONDS / seconds))
    wanted = max(least, min(ceil(AIM_SECONDS / seconds), MOST_FORWARDS))
    return ceil(wanted / sets) * sets


def calls_per_block(seconds: float) -> int:
    """Calls in one block of host time, whose GPU time is `seconds` each.

    At most 500 launches, and not much more than 10 ms of work to wait for afterwards: many short
    blocks tell more than a few long ones.
    """
    return max(LEAST_CALLS, min(MOST_QUEUED, int(HOST_BLOCK_SECONDS / seconds)))


def repeats(seconds: float, budget: float = 0.015, most: int = 5) -> int:
    """How often a block of this length is repeated within one round, so that short ones are less noisy."""
    return max(1, min(most, int(budget / seconds))) if seconds > 0 else most


def settled(values: list[float], agreement: float = AGREEMENT) -> bool:
    """True if the last three running medians (of three values each) agree within `agreement`."""
    if len(values) < 5:
        return False
    medians = [median(values[end - 3 : end]) for end in range(len(values) - 2, len(values) + 1)]
    return max(medians) <= min(medians) * (1 + agreement)


def settle(block: Block, most_seconds: float, clock: Callable[[], float] = time.perf_counter) -> bool:
    """Repeats a block until it has settled, for `most_seconds` at most; tells whether it has."""
    began, values = clock(), []
    while True:
        values.append(block())
        if settled(values):
            return True
        if clock() - began >= most_seconds:
            return False


@dataclass
class Prepared:
    """A variant ready to be timed.

    blocks: quantity → block; warm: the block that shows when the device has settled
    timer, note: how GPU time is taken, and why not by a graph
    forwards: per block, by quantity
    """

    blocks: dict[str, Block]
    warm: Block
    timer: str | None = None
    note: str | None = None
    forwards: dict[str, int] = field(default_factory=dict)


class CpuBench:
    """Plain clocks: on a CPU a call returns when the work is done."""

    timer = "wall"
    block_seconds = 0.01

    def synchronize(self) -> None:
        return None

    def warm_up(self, dtype: Any, memory_bytes: int) -> list[str]:
        """One small matmul: thread pool and BLAS. Returns what was warmed."""
        import torch

        a = torch.ones(64, 64, dtype=dtype)
        torch.mm(a, a)
        return ["threads", "blas"]

    def prepare(self, call: Call, sets: int | None) -> Prepared:
        began = time.perf_counter()
        call(0)
        count = max(1, min(50, ceil(self.block_seconds / (time.perf_counter() - began))))
        block = _timed_loop(call, count)
        return Prepared({"wall_time": block, "host_time": _timed_loop(call, count)}, warm=block,
                        forwards={"wall_time": count, "host_time": count})

    def chain(self, step: Callable[[Any], Any], first: Any, layers: int) -> Block:
        """Seconds for `layers` forwards, each fed with the one before."""
        def block() -> float:
            began = time.perf_counter()
            _through(step, first, layers)
            return time.perf_counter() - began
        return block


def _timed_loop(call: Call, count: int) -> Block:
    def block() -> float:
        began = time.perf_counter()
        for turn in range(count):
            call(turn)
        return (time.perf_counter() - began) / count
    return block


def _through(step: Callable[[Any], Any], value: Any, layers: int) -> Any:
    for _ in range(layers):
        value = step(value)
    return value


class GpuBench:
    """CUDA graphs and events; where a graph cannot be captured, a queue behind a GPU-side sleep."""

    timer = "cuda-graph"

    def __init__(self, device: str) -> None:
        import torch

        self._torch = torch
        torch.cuda.set_device(device if ":" in device else f"{device}:0")
        self._device = torch.cuda.current_device()
        self._side = torch.cuda.Stream()
        # all graphs draw from one pool: none keeps an output, and no two replay at once
        self._pool = torch.cuda.graph_pool_handle()

    def synchronize(self) -> None:
        self._torch.cuda.synchronize(self._device)

    def warm_up(self, dtype: Any, memory_bytes: int) -> list[str]:
        """Context, allocator and the handles of cuBLAS, cuBLASLt and cuDNN, so that no first call pays for them.

        The allocator takes `memory_bytes` now, up to a quarter of what is free. Returns what was warmed.
        """
        torch = self._torch
        square = torch.ones(64, 64, dtype=dtype, device="cuda")
        steps = {
            "cublas": lambda: torch.bmm(square[None], square[None]),
            "cublaslt": lambda: torch.nn.functional.linear(square, square, square[0]),
            # a small kernel of cuDNN's that needs its handle and none of its convolution engines
            "cudnn": lambda: torch.cudnn_affine_grid_generator(torch.ones(1, 2, 3, device="cuda"), 1, 1, 2, 2),
        }
        free, _ = torch.cuda.mem_get_info()
        reserve = torch.empty(min(memory_bytes, free // 4), dtype=torch.uint8, device="cuda")
        del reserve
        warmed = ["context", "allocator"]
        for name, step in steps.items():
            try:
                step()
                self.synchronize()
                warmed.append(name)
            except (RuntimeError, AttributeError):
                continue  # this torch is built without it
        return warmed

    def prepare(self, call: Call, sets: int | None) -> Prepared:
        for turn in range(3):
            call(turn)
        host = self._host(lambda turn: call(0), 5)()
        estimate = self._queued(call, 5, host)
        # a call that waits for the GPU cannot be queued; its wall time is the best guess of its length
        forwards = forwards_per_graph(max(estimate or host, 1e-6), sets or 1)
        calls = calls_per_block(estimate or host)
        blocks, timer, note = self._gpu_blocks(call, sets, forwards, host)
        blocks["wall_time"] = self._wall(lambda turn: call(0), forwards)
        blocks["host_time"] = self._host(lambda turn: call(0), calls)
        return Prepared(blocks, blocks.get("gpu_time", blocks["wall_time"]), timer, note,
                        {"gpu_time": forwards, "wall_time": forwards, "host_time": calls})

    def _gpu_blocks(self, call: Call, sets: int | None, forwards: int,
                    host: float) -> tuple[dict[str, Block], str | None, str | None]:
        hot: Call = lambda turn: call(0)  # noqa: E731 - reads better beside `call`
        try:
            blocks = {"gpu_time": self._replay(self._capture(hot, forwards), forwards)}
            if sets:
                blocks["gpu_time_cold"] = self._replay(self._capture(call, forwards), forwards)
            return blocks, "cuda-graph", None
        except RuntimeError as error:
            self.synchronize()  # raises if the context is lost, which ends this process
            note = f"no CUDA graph: {str(error).strip().splitlines()[0]}"
        count = min(forwards, MOST_QUEUED)
        if self._queued(hot, count, host) is None:
            return {}, None, f"{note}; the queue ran dry, so events measure launching as well"
        blocks = {"gpu_time": self._pending(hot, count, host)}
        if sets and count >= sets:
            blocks["gpu_time_cold"] = self._pending(call, count, host)
        return blocks, "queued-events", note

    def _capture(self, call: Call, count: int) -> Any:
        """One graph of `count` forwards, warmed on the capture stream.

        `capture_begin` rather than `torch.cuda.graph`, which collects garbage and empties the
        allocator's cache each time.
        """
        torch, graph = self._torch, self._torch.cuda.CUDAGraph()
        self.synchronize()
        with torch.cuda.stream(self._side):
            for turn in range(2):
                call(turn)
            self._side.synchronize()
            graph.capture_begin(pool=self._pool)
            try:
                for turn in range(count):
                    call(turn)
            except BaseException:
                _abandon(graph)
                raise
            graph.capture_end()
        self.synchronize()
        return graph

    def _replay(self, graph: Any, count: int, replays: int = 1) -> Block:
        """Seconds per forward of a graph of `count`, replayed back to back behind a sleep."""
        def block() -> float:
            start, end = self._events()
            self._sleep(0.0005)  # the graph is queued before the first event passes
            start.record()
            for _ in range(replays):
                graph.replay()
            end.record()
            end.synchronize()
            return start.elapsed_time(end) / 1000 / (count * replays)
        return block

    def _queued(self, call: Call, count: int, host_seconds: float) -> float | None:
        """Seconds per forward over a queue that a sleep holds back; `None` if the queue ran dry."""
        for patience in (2, 8):
            start, end = self._events()
            self.synchronize()
            self._sleep(0.0005 + patience * host_seconds * count)
            start.record()
            for turn in range(count):
                call(turn)
            pending = not start.query()
            end.record()
            end.synchronize()
            if pending:
                return start.elapsed_time(end) / 1000 / count
        return None

    def _pending(self, call: Call, count: int, host_seconds: float) -> Block:
        def block() -> float:
            seconds = self._queued(call, count, host_seconds)
            if seconds is None:
                raise RuntimeError("the queue ran dry while GPU time was measured by events")
            return seconds
        return block

    def _wall(self, call: Call, count: int) -> Block:
        """Eager forwards back to back behind a few that fill the queue, from their end to the last one's."""
        def block() -> float:
            start, end = self._events()
            for turn in range(FILL):
                call(turn)
            start.record()
            for turn in range(count):
                call(turn)
            end.record()
            end.synchronize()
            return start.elapsed_time(end) / 1000 / count
        return block

    def _host(self, call: Call, count: int) -> Block:
        """Seconds until a call returns, onto an empty queue, nothing waited for inside."""
        def block() -> float:
            self.synchronize()
            seconds = _timed_loop(call, count)()
            self.synchronize()
            return seconds
        return block

    def chain(self, step: Callable[[Any], Any], first: Any, layers: int, fill: int = 24) -> Block:
        """Seconds for `layers` forwards, each fed with the one before.

        One graph holds one chain. A short chain is replayed often enough between the events that
        each block holds `fill` forwards.
        """
        chains = max(1, fill // layers)
        return self._replay(self._capture(lambda turn: _through(step, first, layers), 1), 1, chains)

    def _events(self) -> tuple[Any, Any]:
        event = self._torch.cuda.Event
        return event(enable_timing=True), event(enable_timing=True)

    def _sleep(self, seconds: float) -> None:
        self._torch.cuda._sleep(int(seconds * SLEEP_CYCLES_PER_SECOND))


def _abandon(graph: Any) -> None:
    """Ends a capture that failed; torch complains once more, which adds nothing."""
    try:
        graph.capture_end()
    except RuntimeError:
        pass


def bench(device: str) -> CpuBench | GpuBench:
    return GpuBench(device) if device.split(":")[0] == "cuda" else CpuBench()
