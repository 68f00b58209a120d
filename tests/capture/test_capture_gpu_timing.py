"""GPU, wall and host time on a GPU made of two clocks: each clock is read for the quantity it belongs to."""

from __future__ import annotations

import sys

import pytest
from fake_cuda import FakeCuda

from reportgen.capture import gpu_bench, timing


def prepared(monkeypatch, torch: FakeCuda, sets: int | None = 4):
    """A forward made ready on the fake GPU, and its bench."""
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setattr(timing.time, "perf_counter", torch.perf_counter)
    bench = gpu_bench.GpuBench("cuda")
    return bench, bench.prepare(torch.forward, sets)


def test_a_forward_that_keeps_the_gpu_busy(monkeypatch):
    """0.9 ms on the GPU, 50 µs on the host: wall time is GPU time."""
    torch = FakeCuda(host=50e-6, gpu=0.9e-3)
    _, ready = prepared(monkeypatch, torch)
    found = {quantity: block() for quantity, block in ready.blocks.items()}
    assert found == pytest.approx({"gpu_time": 0.9e-3, "gpu_time_cold": 0.9e-3, "wall_time": 0.9e-3, "host_time": 50e-6})
    assert (ready.timer, ready.note) == ("cuda-graph", None)
    assert ready.forwards == {"gpu_time": 20, "wall_time": 20, "host_time": 11}


def test_a_forward_that_the_host_cannot_launch_fast_enough(monkeypatch):
    """20 µs on the GPU, 100 µs on the host: wall time is host time, GPU time is free of the gaps."""
    torch = FakeCuda(host=100e-6, gpu=20e-6)
    _, ready = prepared(monkeypatch, torch)
    found = {quantity: block() for quantity, block in ready.blocks.items()}
    assert found == pytest.approx({"gpu_time": 20e-6, "gpu_time_cold": 20e-6, "wall_time": 100e-6, "host_time": 100e-6})
    assert ready.forwards["gpu_time"] == 300  # 6 ms of work


@pytest.mark.parametrize(("hand_over", "level"), [(0.0001, 0), (0.002, 1), (0.005, 1), (0.05, 2)])
def test_a_replay_that_is_handed_over_slowly_is_repeated_behind_a_longer_wait(monkeypatch, hand_over, level):
    """On WSL and in VMs a launch takes milliseconds: the GPU must be kept busy for as long, or it waits for the host and that time is in the replay's."""
    _, ready = prepared(monkeypatch, FakeCuda(host=50e-6, gpu=0.9e-3, hand_over=hand_over))
    assert [ready.blocks["gpu_time"]() for _ in range(3)] == pytest.approx([0.9e-3] * 3)
    assert (ready.handed_over.level, ready.handed_over.late, ready.handed_over.note()) == (level, 0, None)


def test_replays_that_no_wait_is_long_enough_for_are_told(monkeypatch):
    """The longest sleep lasts 60 ms at 2 GHz; handing over takes 0.1 s, so 40 ms of nothing are in 18 ms of work."""
    _, ready = prepared(monkeypatch, FakeCuda(host=50e-6, gpu=0.9e-3, hand_over=0.1))
    assert [ready.blocks["gpu_time"]() for _ in range(2)] == pytest.approx([2.9e-3] * 2)
    assert ready.handed_over.note() == "2 of 2 replays reached the GPU after it had become free, so the time until the host handed them over is in them"


def test_a_clock_faster_than_any_so_far_shortens_no_wait(monkeypatch):
    """At 2.9 GHz a sleep that was made for 4 GHz still lasts longer than asked for."""
    torch = FakeCuda(host=50e-6, gpu=0.9e-3, hand_over=0.0006, hertz=2.9e9)
    _, ready = prepared(monkeypatch, torch)
    assert ready.blocks["gpu_time"]() == pytest.approx(0.9e-3)
    assert ready.handed_over.level == 0


def test_cold_forwards_rotate_their_inputs_and_hot_ones_do_not(monkeypatch):
    torch, turns = FakeCuda(host=50e-6, gpu=0.9e-3), []
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setattr(timing.time, "perf_counter", torch.perf_counter)

    def call(turn):
        if torch.capturing is not None:
            turns.append(turn)
        torch.forward(turn)

    gpu_bench.GpuBench("cuda").prepare(call, 4)
    assert turns == [0] * 20 + list(range(20))


def test_of_an_extra_its_gpu_time_alone_is_taken(monkeypatch):
    """0.9 ms on the GPU: 20 forwards a graph, as for the others. Where no graph can be captured and events do as well, it is GPU time still."""
    for refuses, timer, forwards in ((False, "cuda-graph", 20), (True, "queued-events", 20)):
        torch = FakeCuda(host=50e-6, gpu=0.9e-3, refuses=refuses)
        monkeypatch.setitem(sys.modules, "torch", torch)
        monkeypatch.setattr(timing.time, "perf_counter", torch.perf_counter)
        ready = gpu_bench.GpuBench("cuda").prepare(torch.forward, 4, brief=True)
        assert {name: block() for name, block in ready.blocks.items()} == pytest.approx({"gpu_time": 0.9e-3})
        assert (ready.timer, ready.forwards) == (timer, {"gpu_time": forwards})


def test_an_extra_whose_gpu_time_cannot_be_taken_has_its_wall_time(monkeypatch):
    """It waits for the GPU, so no queue can be filled, and refuses to be captured."""
    torch = FakeCuda(host=50e-6, gpu=0.9e-3, refuses=True, waits=True)
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setattr(timing.time, "perf_counter", torch.perf_counter)
    ready = gpu_bench.GpuBench("cuda").prepare(torch.forward, 4, brief=True)
    assert "gpu_time" not in ready.blocks and "wall_time" in ready.blocks and ready.timer is None


def test_something_small_is_timed_by_a_graph_of_many(monkeypatch):
    """0.1 ms on the GPU: 6 ms of work are 60 calls. A device whose graphs are not to be tried says so."""
    torch = FakeCuda(host=5e-6, gpu=0.1e-3)
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setattr(timing.time, "perf_counter", torch.perf_counter)
    block = gpu_bench.GpuBench("cuda").repeated(torch.forward, timing.HandedOver())
    assert block() == pytest.approx(0.1e-3) and torch.captured == [60]
    with pytest.raises(RuntimeError, match="no CUDA graph: it broke"):
        gpu_bench.GpuBench("cuda", "it broke").repeated(torch.forward, timing.HandedOver())


def test_without_a_known_cache_there_is_no_cold_time(monkeypatch):
    _, ready = prepared(monkeypatch, FakeCuda(host=50e-6, gpu=0.9e-3), sets=None)
    assert set(ready.blocks) == {"gpu_time", "wall_time", "host_time"}


def test_where_no_graph_can_be_captured_a_queue_behind_a_sleep_is_timed(monkeypatch):
    """At most 20 forwards of at most 25 launches; the first line of torch's reason is kept."""
    torch = FakeCuda(host=100e-6, gpu=20e-6, refuses=True)
    _, ready = prepared(monkeypatch, torch)
    assert ready.blocks["gpu_time"]() == pytest.approx(20e-6)
    assert (ready.timer, ready.note) == ("queued-events", "no CUDA graph: operation not permitted when stream is capturing")


def test_a_queue_that_runs_dry_gives_no_gpu_time(monkeypatch):
    """A forward that waits for the GPU: its first event has passed before the last call returns."""
    torch = FakeCuda(host=100e-6, gpu=20e-6, refuses=True, waits=True)
    _, ready = prepared(monkeypatch, torch)
    assert "gpu_time" not in ready.blocks
    assert ready.timer is None
    assert ready.note.endswith("the queue ran dry, so events measure launching as well")


def test_host_blocks_start_on_an_empty_queue_and_stay_short(monkeypatch):
    torch = FakeCuda(host=50e-6, gpu=0.9e-3)
    _, ready = prepared(monkeypatch, torch)
    torch.longest_queue = 0
    torch.enqueue(1.0)
    assert ready.blocks["host_time"]() == pytest.approx(50e-6)
    assert torch.longest_queue == 13


def test_host_blocks_of_long_forwards_leave_out_the_first_calls_after_a_wait(monkeypatch):
    """A forward of 33 ms: a block has three calls, and the two before them found cold caches."""
    torch = FakeCuda(host=18e-6, gpu=33e-3, cold=200e-6)
    _, ready = prepared(monkeypatch, torch)
    assert ready.forwards["host_time"] == 3
    assert ready.blocks["host_time"]() == pytest.approx(18e-6)


def test_chains_give_seconds_for_all_their_layers(monkeypatch):
    """One forward is 0.9 ms and 24 are 21.6 ms; the graph of the short chain holds 24 of them."""
    torch = FakeCuda(host=50e-6, gpu=0.9e-3)
    bench, _ = prepared(monkeypatch, torch)
    torch.captured.clear()
    assert bench.chain(torch.forward, 0, 1)() == pytest.approx(0.9e-3)
    assert bench.chain(torch.forward, 0, 24)() == pytest.approx(21.6e-3)
    assert torch.captured == [1, 24]
