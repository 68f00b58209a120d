"""The mask step alone: what is computed, what it asks for in bytes, and how the processes' times come together."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from reportgen.capture import mask_step  # noqa: E402
from reportgen.run import MaskStep  # noqa: E402
from reportgen.run.decode import decode  # noqa: E402
from reportgen.run.workload import ARTICLE, Workload  # noqa: E402

TINY = Workload("tiny", 2, 3, 8, 4, "float32")


class Bench:
    """Each op runs once when it is asked for; its block says 1, 2 or 3 ms, by the order."""

    def __init__(self, refuses: str | None = None) -> None:
        self.asked, self.blocks, self.refuses = 0, [], refuses

    def repeated(self, call, watch):
        if self.refuses:
            raise RuntimeError(self.refuses)
        self.asked += 1
        seconds = self.asked / 1000

        def block() -> float:
            call(0)
            self.blocks.append(seconds)
            return seconds

        return block


def test_broadcast_and_full_mask_hide_the_same_scores_in_place():
    """Of 8 × 8 pairs a causal mask hides 28, in 2 × 3 heads; the product leaves how large the others are."""
    for name in ("broadcast", "full"):
        ready = mask_step.steps("cpu", TINY)
        out = ready[name]()
        assert int(out.isinf().sum()) == 6 * 28 and out.shape == (2, 3, 8, 8)
        again = ready["mul"]()
        assert again.data_ptr() == out.data_ptr(), "the same scores, nothing new"
    assert torch.equal(mask_step.steps("cpu", TINY)["broadcast"](), mask_step.steps("cpu", TINY)["full"]())
    assert torch.equal(mask_step.steps("cpu", TINY)["mul"]().abs(), mask_step.steps("cpu", TINY)["broadcast"].func.__self__.abs())


def test_the_bytes_differ_by_the_mask_alone():
    """The article's scores: 8 · 16 · 1,024² elements of 2 bytes, read and written: 512 MiB. The mask: 1 MiB, or 128 MiB."""
    mib = 2**20
    assert mask_step.requested_bytes(ARTICLE) == {"broadcast": 513 * mib, "full": 640 * mib, "mul": 512 * mib}


def test_three_ops_are_timed_in_turn_after_a_block_that_counts_for_nothing(monkeypatch):
    monkeypatch.setattr(mask_step.operands, "is_gpu", lambda device: True)
    bench = Bench()
    found = mask_step.measure(bench, "cpu", TINY)
    assert found == {"gpu_time": {"broadcast": 0.001, "full": 0.002, "mul": 0.003}, "timer": "cuda-graph", "note": None}
    assert bench.blocks == [0.001, 0.002, 0.003] * 4


def test_a_process_that_is_late_takes_one_turn(monkeypatch):
    monkeypatch.setattr(mask_step.operands, "is_gpu", lambda device: True)
    bench = Bench()
    mask_step.measure(bench, "cpu", TINY, late=lambda: True)
    assert bench.blocks == [0.001, 0.002, 0.003] * 2


def test_what_keeps_it_from_being_timed_is_a_reason(monkeypatch):
    assert mask_step.measure(Bench(), "cpu", TINY) == {"reason": "there is no GPU"}
    monkeypatch.setattr(mask_step.operands, "is_gpu", lambda device: True)
    assert mask_step.measure(Bench("CUDA out of memory."), "cpu", TINY) == {"reason": "CUDA out of memory"}


def test_processes_and_launches_come_together():
    taken = [{"gpu_time": {"broadcast": b, "full": 0.002, "mul": 0.001}, "timer": "cuda-graph", "note": note} for b, note in ((0.004, None), (0.005, "late"))]
    launches = {"full": {"kernel": "vectorized", "grid": [1, 1, 1], "block": [128, 1, 1], "registers": 16}}
    probe = decode(MaskStep, mask_step.assembled(taken, launches, TINY))
    assert probe.timed and probe.ops["broadcast"].gpu_time.samples == (0.004, 0.005)
    assert (probe.ops["full"].kernel, probe.ops["full"].grid, probe.ops["mul"].kernel, probe.note) == ("vectorized", (1, 1, 1), None, "late")
    assert probe.ops["full"].requested_bytes == 2 * 6 * 64 * 4 + 6 * 64


@pytest.mark.parametrize(("processes", "reason"), [
    ([], "not asked for in this run"),
    ([None, None], "not asked for in this run"),
    ([{"gpu_time": {}, "timer": "cuda-graph", "note": None}, {"reason": "no room"}], "no room"),
])
def test_a_process_without_it_takes_it_from_all(processes, reason):
    probe = decode(MaskStep, mask_step.assembled(processes, {}, TINY))
    assert (probe.reason, probe.timed, probe.ops) == (reason, False, {})


def test_one_kernel_that_is_always_the_same_is_the_ops():
    def kernel(name: str) -> dict:
        return {"cat": "kernel", "name": name, "args": {"grid": [2, 1, 1], "block": [128, 1, 1], "registers per thread": 24}}

    assert mask_step.launched([{"cat": "cpu_op", "name": "aten::mul_"}, kernel("a"), kernel("a")]) == {"kernel": "a", "grid": [2, 1, 1], "block": [128, 1, 1], "registers": 24}
    assert mask_step.launched([kernel("a"), kernel("b")]) is None
    assert mask_step.launched([]) is None
