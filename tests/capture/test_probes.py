"""The small experiments and the training measurement, on a CPU and on events written by hand."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from reportgen.capture import occupancy_probe, probes, training  # noqa: E402
from reportgen.run import Training  # noqa: E402
from reportgen.run.decode import decode  # noqa: E402
from reportgen.run.workload import Workload  # noqa: E402
from variants import load  # noqa: E402

TINY = Workload("tiny", 1, 2, 32, 16)


def stand_in(function: Callable[..., Any]) -> Any:
    return SimpleNamespace(id="stand_in", forward=function, backend=None)


def test_every_probe_is_run_and_the_gpus_own_says_why_not() -> None:
    found = probes.run_all("cpu", TINY)
    assert list(found) == ["default_backend", "autograd", "occupancy_probe", "mask_kernels"] and found["mask_kernels"] == {}
    assert found["occupancy_probe"] == {"reason": "there is no GPU"}


def test_a_probe_that_breaks_costs_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> Any:
        raise RuntimeError("out of order")

    monkeypatch.setattr(probes, "default_backend", broken)
    found = probes.run_all("cpu", TINY)
    assert found["default_backend"] == {"reason": "out of order."}
    assert found["autograd"]["inplace_backward"] == "ok"


class TestDefaultBackend:
    @pytest.mark.parametrize(("allowed", "name", "op"), [
        ("MATH", "math", "aten::_scaled_dot_product_attention_math"),
        ("FLASH_ATTENTION", "flash", "aten::_scaled_dot_product_flash_attention_for_cpu"),
    ])  # fmt: skip
    def test_the_op_that_runs_is_seen(self, allowed: str, name: str, op: str) -> None:
        """torch is left only one choice, so the answer is known."""
        from torch.nn.attention import SDPBackend, sdpa_kernel

        with sdpa_kernel(getattr(SDPBackend, allowed)):
            assert probes.default_backend("cpu", TINY) == {"name": name, "op": op}


class TestAutograd:
    def test_masking_in_place_trains_with_the_same_gradients(self) -> None:
        told = probes.autograd("cpu", TINY)
        assert told["gradients_equal"] is True and told["relative_difference"] == 0.0
        assert told["inplace_backward"] == "ok" and told["reason"] is None

    def test_a_refusing_variant_is_refused_in_torchs_words(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from variants import naive_inplace

        def spoils(q: Any, k: Any, v: Any, mask: Any) -> Any:
            return torch.softmax(q @ k.transpose(-2, -1), -1).masked_fill_(mask, 0.0) @ v

        monkeypatch.setattr(naive_inplace, "forward", spoils)
        told = probes.autograd("cpu", TINY)
        assert told["inplace_backward"] == "refused" and told["gradients_equal"] is None
        assert "modified by an inplace operation" in told["reason"]

    def test_other_gradients_are_told_with_their_difference(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from variants import naive, naive_inplace

        original = naive.forward
        monkeypatch.setattr(naive_inplace, "forward", lambda q, k, v, mask: 2 * original(q, k, v, mask))
        told = probes.autograd("cpu", TINY)
        assert told["gradients_equal"] is False and told["relative_difference"] == pytest.approx(1.0, abs=0.01)

    def test_the_smallest_graph_that_refuses_is_the_code_that_ran(self) -> None:
        told = probes.minimal_refusal()
        assert told["refused"] is True and "masked_fill_" in told["code"]
        assert told["message"].startswith("one of the variables needed for gradient computation has been modified by an inplace operation")
        with pytest.raises(RuntimeError, match="inplace"):
            exec(told["code"], {})


class TestTraining:
    def test_a_cpu_gives_wall_times_and_nothing_of_a_gpu(self) -> None:
        (naive,) = load(("naive",))
        told = decode(Training, training.measure(naive, "cpu", TINY))
        assert told.status == "ok" and len(told.wall_time.samples) == training.REPETITIONS
        assert told.gpu_time is None and told.kernels is None and told.peak_memory_bytes is None
        assert training.count_kernels(naive, "cpu", TINY) is None

    def test_the_backward_pass_is_part_of_what_is_timed(self) -> None:
        """A function whose backward sleeps 20 ms and whose forward does nothing."""
        import time

        class Slow(torch.autograd.Function):
            @staticmethod
            def forward(context: Any, q: Any, k: Any, v: Any) -> Any:
                return q + k + v

            @staticmethod
            def backward(context: Any, gradient: Any) -> Any:
                time.sleep(0.02)
                return gradient, gradient, gradient

        told = training.measure(stand_in(lambda q, k, v, mask: Slow.apply(q, k, v)), "cpu", TINY)
        assert min(told["wall_time"]) >= 0.02

    @pytest.mark.parametrize(("spoilt", "reason"), [
        ((1,), "the gradient of k has 1 of 1,024 values that are not finite"), ((0, 2), "the gradient of v has 1 of 1,024 values that are not finite"),
    ])  # fmt: skip
    @pytest.mark.parametrize("value", [float("nan"), float("inf")])
    def test_gradients_that_are_not_finite_are_a_wrong_result(self, spoilt: tuple[int, ...], reason: str, value: float) -> None:
        """As cuDNN's backward pass has given them; a time for them would be a time for nothing."""

        class Spoils(torch.autograd.Function):
            @staticmethod
            def forward(context: Any, q: Any, k: Any, v: Any) -> Any:
                return q + k + v

            @staticmethod
            def backward(context: Any, gradient: Any) -> Any:
                found = [gradient.clone() for _ in range(3)]
                for number in spoilt:
                    found[number][0, 0, 0, 0] = value
                return tuple(found)

        told = training.measure(stand_in(lambda q, k, v, mask: Spoils.apply(q, k, v)), "cpu", TINY)
        assert told["status"] == "wrong" and reason in told["reason"]
        assert [one["not_finite"] for one in told["compared"]] == [int(number in spoilt) for number in range(3)]

    @pytest.mark.parametrize(("message", "status"), [
        ("No available kernel. Aborting execution.", "unavailable"),
        ("No viable backend for scaled_dot_product_attention was found.", "unavailable"),
        ("derivative for aten::something is not implemented", "failed"),
    ])  # fmt: skip
    def test_a_refusal_is_recorded_with_torchs_reason(self, message: str, status: str) -> None:
        def refuses(*_: Any) -> Any:
            raise RuntimeError(message)

        told = decode(Training, training.measure(stand_in(refuses), "cpu", TINY))
        assert told.status == status and message.rstrip(".") in told.reason and told.wall_time is None


def event(category: str, name: str, at: float, correlation: int | None = None, **more: Any) -> dict[str, Any]:
    arguments = {} if correlation is None else {"correlation": correlation}
    return {"cat": category, "name": name, "ts": at, "dur": more.pop("dur", 1), "args": {**arguments, **more}}


class TestCountKernels:
    EVENTS = [
        event("user_annotation", "attention_training", 0, dur=10),
        event("user_annotation", "attention_training", 100, dur=10),
        event("cuda_runtime", "cudaLaunchKernel", 5, 1),
        event("cuda_runtime", "cudaLaunchKernel", 101, 2),
        event("cuda_driver", "cuLaunchKernelEx", 105, 3),
        event("cuda_runtime", "cudaMemcpyAsync", 106, 4),
        event("cuda_runtime", "cudaLaunchKernel", 120, 5),
        event("kernel", "first", 6, 1),
        event("kernel", "second", 102, 2),
        event("kernel", "third", 150, 3),
        event("gpu_memcpy", "Memcpy DtoD", 151, 4),
        event("kernel", "outside", 152, 5),
        event("kernel", "unlaunched", 103, 9),
    ]

    def test_only_kernels_launched_in_the_last_range_count(self) -> None:
        """Two of them: not the first range's, the copy, the one launched later, or the one without a launch."""
        assert training.kernels_in_last_range(self.EVENTS, "attention_training") == 2

    def test_no_range_or_no_kernel_is_not_zero(self) -> None:
        assert training.kernels_in_last_range(self.EVENTS, "other") is None
        assert training.kernels_in_last_range(self.EVENTS[:2], "attention_training") is None

    def test_a_launch_without_a_record_makes_the_count_unknown(self) -> None:
        """One of the two kernels is lost; the other one must not pass for all there were."""
        left = [one for one in self.EVENTS if one["name"] != "third"]
        assert training.kernels_in_last_range(left, "attention_training") is None


class TestOccupancyProbe:
    def test_each_kernel_appears_once_per_launch_call(self) -> None:
        small, large = occupancy_probe.SIZES
        told = {"est. achieved occupancy %": 81, "shared memory": 16384, "grid": [8448, 1, 1], "block": [128, 1, 1], "registers per thread": 16}
        events = [
            event("cuda_driver", "cuLaunchKernel", 1, 11), event("kernel", small, 2, 11, **told),
            event("cuda_driver", "cuLaunchKernel", 3, 12), event("kernel", large, 4, 12, **{**told, "est. achieved occupancy %": 0, "shared memory": 53248}),
            event("cuda_driver", "cuLaunchKernel", 5, 13), event("cuda_runtime", "cudaLaunchKernel", 5, 13), event("kernel", large, 6, 13, **told),
            event("cuda_driver", "cuLaunchKernel", 7, 14), event("kernel", small, 8, 14, **told),
            event("cuda_runtime", "cudaLaunchKernel", 9, 15), event("kernel", "another kernel", 10, 15, **told),
        ]  # fmt: skip
        found = occupancy_probe.launches_seen(events)
        assert [(entry["name"], entry["launch_api"], entry["profiler_occupancy"]) for entry in found] == [
            (small, "cuLaunchKernel", 81), (large, "cuLaunchKernel", 0), (large, "cudaLaunchKernel", 81)]  # fmt: skip
        assert found[0] == {"name": small, "launch_api": "cuLaunchKernel", "shared_memory": 16384, "profiler_occupancy": 81,
                            "grid": [8448, 1, 1], "block": [128, 1, 1], "registers": 16}  # fmt: skip

    def test_the_two_sizes_lie_on_both_sides_of_48_kib(self) -> None:
        assert sorted(occupancy_probe.SIZES.values()) == [16384, 53248]
        for name in occupancy_probe.SIZES:
            assert f".entry {name}()".encode() in occupancy_probe.PTX
