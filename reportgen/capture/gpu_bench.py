"""How one forward is timed on a GPU: graph replays, filled queues, events."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .timing import MOST_QUEUED, Block, Call, CpuBench, HandedOver, Prepared, calls_per_block, forwards_per_graph, through, timed_loop

FILL = 3
"""Forwards that fill the queue before wall time begins."""
HOST_LEAD = 2
"""Untimed calls before a block of host time. After a wait the first calls find cold caches: where a forward takes 33 ms, blocks of
three calls without them showed five times the host time of a short forward that does the same on the CPU."""
SLEEP_CYCLES_PER_SECOND = 4_000_000_000
"""Above the SM clock of any GPU so far: a sleep of this many cycles lasts a second or more."""
HAND_OVER_SECONDS = (0.0005, 0.004, 0.03)
"""How long the GPU is kept busy while a replay is handed over; the next one where the former was too short."""
SLOW_CALL = 0.05
"""Seconds from which on a call is not repeated to be judged."""


class GpuBench:
    """CUDA graphs and events; where a graph cannot be captured, a queue behind a GPU-side sleep."""

    one_clock = False

    def __init__(self, device: str, no_graphs: str | None = None) -> None:
        """no_graphs: why no CUDA graph is to be tried, or `None`."""
        import torch

        self._torch, self._no_graphs = torch, no_graphs
        self.timer = "queued-events" if no_graphs else "cuda-graph"
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

    def prepare(self, call: Call, sets: int | None, brief: bool = False) -> Prepared:
        """brief: GPU time with hot inputs alone, or wall time where GPU time cannot be taken."""
        once = self._host(lambda turn: call(turn), 1)()
        few = 1 if once > SLOW_CALL else 5
        for turn in range(0 if once > SLOW_CALL else 2):
            call(turn)
        host = self._host(lambda turn: call(0), few)()
        estimate = self._queued(call, few, host)
        # a call that waits for the GPU cannot be queued; its wall time is the best guess of its length
        forwards = forwards_per_graph(max(estimate or host, 1e-6), sets or 1)
        calls = min(calls_per_block(estimate or host), MOST_QUEUED - HOST_LEAD)
        watch = HandedOver()
        blocks, timer, note = self._gpu_blocks(call, None if brief else sets, forwards, host, watch)
        if brief and blocks:
            return Prepared(blocks, blocks["gpu_time"], timer, note, {"gpu_time": forwards}, watch)
        blocks["wall_time"] = self._wall(lambda turn: call(0), forwards)
        blocks["host_time"] = self._host(lambda turn: call(0), calls, HOST_LEAD)
        return Prepared(blocks, blocks.get("gpu_time", blocks["wall_time"]), timer, note,
                        {"gpu_time": forwards, "wall_time": forwards, "host_time": calls}, watch)

    def _gpu_blocks(self, call: Call, sets: int | None, forwards: int, host: float,
                    watch: HandedOver) -> tuple[dict[str, Block], str | None, str | None]:
        hot: Call = lambda turn: call(0)  # noqa: E731 - reads better beside `call`
        note = f"no CUDA graph: {self._no_graphs}"
        try:
            if self._no_graphs is None:
                blocks = {"gpu_time": self._replay(self._capture(hot, forwards), forwards, watch)}
                if sets:
                    blocks["gpu_time_cold"] = self._replay(self._capture(call, forwards), forwards, watch)
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

    def _capture(self, call: Call, count: int, warm: Call | None = None) -> Any:
        """One graph of `count` calls, warmed on the capture stream by two of them, or of `warm`.

        `capture_begin` rather than `torch.cuda.graph`, which collects garbage and empties the
        allocator's cache each time.
        """
        torch, graph = self._torch, self._torch.cuda.CUDAGraph()
        self.synchronize()
        with torch.cuda.stream(self._side):
            for turn in range(2):
                (warm or call)(turn)
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

    def _replay(self, graph: Any, count: int, watch: HandedOver, replays: int = 1) -> Block:
        """Seconds per forward of a graph of `count`, replayed back to back behind a sleep.

        If the first event had passed before the host was done, the GPU waited for the host, and the
        time of that is in it: the block is repeated behind longer sleeps, and counted as late where
        the longest is too short.
        """
        def block() -> float:
            watch.replays += 1
            while True:
                seconds, in_time = self._one_replay(graph, replays, HAND_OVER_SECONDS[watch.level])
                if in_time or watch.level + 1 == len(HAND_OVER_SECONDS):
                    watch.late += not in_time
                    return seconds / (count * replays)
                watch.level += 1
        return block

    def _one_replay(self, graph: Any, replays: int, sleep: float) -> tuple[float, bool]:
        """Seconds, and whether all was queued before the first event passed."""
        start, end = self._events()
        self._sleep(sleep)
        start.record()
        for _ in range(replays):
            graph.replay()
        in_time = not start.query()
        end.record()
        end.synchronize()
        return start.elapsed_time(end) / 1000, in_time

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

    def _host(self, call: Call, count: int, lead: int = 0) -> Block:
        """Seconds until a call returns, nothing waited for inside; `lead` calls go before it onto the empty queue, untimed."""
        def block() -> float:
            self.synchronize()
            for turn in range(lead):
                call(turn)
            seconds = timed_loop(call, count)()
            self.synchronize()
            return seconds
        return block

    def chain(self, step: Callable[[Any], Any], first: Any, layers: int, fill: int = 24) -> Block:
        """Seconds for `layers` forwards, each fed with the one before.

        One graph holds one chain. A short chain is replayed often enough between the events that
        each block holds `fill` forwards.
        """
        if self._no_graphs is not None:
            raise RuntimeError(f"no CUDA graph: {self._no_graphs}")
        chains = max(1, fill // layers)
        graph = self._capture(lambda turn: through(step, first, layers), 1, warm=lambda turn: step(first))
        return self._replay(graph, 1, HandedOver(), chains)

    def repeated(self, call: Call, watch: HandedOver) -> Block:
        """Seconds of one call of something small: a graph of many, as for a forward. Raises `RuntimeError` where none can be captured."""
        if self._no_graphs is not None:
            raise RuntimeError(f"no CUDA graph: {self._no_graphs}")
        few = 5
        host = self._host(call, few)()
        count = forwards_per_graph(max(self._queued(call, few, host) or host, 1e-6))
        return self._replay(self._capture(call, count), count, watch)

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


def bench(device: str, no_graphs: str | None = None) -> CpuBench | GpuBench:
    return GpuBench(device, no_graphs) if device.split(":")[0] == "cuda" else CpuBench()
