"""A GPU made of two clocks, to test how times are taken where there is no GPU.

The host's clock advances when something is called; the GPU works its queue off in order. A forward
costs the host `host` seconds and the GPU `gpu` seconds.
"""

from __future__ import annotations

from contextlib import contextmanager
from types import SimpleNamespace


class FakeCuda:
    """Stands for the module `torch`.

    refuses: forwards cannot be captured; waits: they wait for the GPU
    hand_over: seconds that the host takes to hand a graph over; hertz: the SM clock, by which a sleep is counted
    cold: what the first two forwards after a wait cost the host more
    """

    def __init__(self, host: float, gpu: float, *, refuses: bool = False, waits: bool = False, hand_over: float = 0.0001, hertz: float = 2e9,
                 cold: float = 0.0) -> None:
        self.host, self.gpu, self.refuses, self.waits, self.cold = host, gpu, refuses, waits, cold
        self.hand_over, self.hertz = hand_over, hertz
        self.now = 0.0
        self.idle_at = 0.0
        self.capturing: list[object] | None = None
        self.captured: list[int] = []
        self.longest_queue = 0
        self._queued = 0
        self.cuda = SimpleNamespace(
            set_device=lambda name: None, current_device=lambda: 0, graph_pool_handle=lambda: "pool",
            synchronize=lambda device=None: self.synchronize(), Stream=lambda: SimpleNamespace(synchronize=self.synchronize),
            stream=self._stream, CUDAGraph=lambda: Graph(self), Event=lambda enable_timing: Event(self), _sleep=self._sleep,
        )  # fmt: skip

    def perf_counter(self) -> float:
        return self.now

    def forward(self, turn: int) -> None:
        self.now += self.host
        if self.capturing is not None:
            if self.refuses:
                raise RuntimeError("operation not permitted when stream is capturing\nmore")
            self.capturing.append(turn)
            return
        self._queued += 1
        self.now += self.cold if self._queued <= 2 else 0.0
        self.longest_queue = max(self.longest_queue, self._queued)
        self.enqueue(self.gpu)
        if self.waits:
            self.synchronize()

    def enqueue(self, seconds: float) -> None:
        self.idle_at = max(self.idle_at, self.now) + seconds

    def synchronize(self) -> None:
        self.now = max(self.now, self.idle_at)
        self._queued = 0

    def _sleep(self, cycles: int) -> None:
        self.enqueue(cycles / self.hertz)

    @contextmanager
    def _stream(self, stream: object):
        yield


class Graph:
    def __init__(self, torch: FakeCuda) -> None:
        self.torch, self.calls = torch, []

    def capture_begin(self, pool: object) -> None:
        self.torch.capturing = []

    def capture_end(self) -> None:
        self.calls, self.torch.capturing = self.torch.capturing, None
        self.torch.captured.append(len(self.calls))

    def replay(self) -> None:
        self.torch.now += self.torch.hand_over  # handing a graph over takes a while, behind the sleep
        self.torch.enqueue(self.torch.gpu * len(self.calls))


class Event:
    def __init__(self, torch: FakeCuda) -> None:
        self.torch, self.passes = torch, 0.0

    def record(self) -> None:
        self.passes = max(self.torch.idle_at, self.torch.now)

    def query(self) -> bool:
        return self.torch.now >= self.passes

    def synchronize(self) -> None:
        self.torch.synchronize()

    def elapsed_time(self, end: Event) -> float:
        return (end.passes - self.passes) * 1000
