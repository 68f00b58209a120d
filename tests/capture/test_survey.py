"""What a capture learns first, and what becomes of a device that cannot be used."""

from __future__ import annotations

from typing import Any

import pytest
from fake_nvml import FakeGpu, FakeNvml
from fake_torch import fake_torch

from reportgen.capture import environment, evidence, machine, sampler, session
from reportgen.run.workload import ARTICLE, PRESETS

BUSY = "CUDA error: CUDA-capable device(s) is/are busy or unavailable"


class Report:
    """The line to the parent, which nobody reads here."""

    def at(self, *_: object) -> None: ...


@pytest.fixture
def survey(monkeypatch, tmp_path):
    """`evidence.survey` on a machine made of stubs: torch, NVML and an empty root."""
    real = machine.look

    def run(torch: Any, nvml: Any = None, device: str | None = None, given: dict[str, Any] | None = None) -> dict[str, Any]:
        def load(name: str) -> Any:
            if nvml is None:
                raise OSError(name)
            return nvml

        def absent(name: str) -> None:
            raise OSError(name)

        def imported() -> Any:
            if isinstance(torch, BaseException):
                raise torch
            return torch

        monkeypatch.setattr(machine, "look", lambda wanted, watch: real(wanted, import_torch=imported, load_nvml=load, root=tmp_path, environment={}, library=absent))
        monkeypatch.setattr(environment, "describe", lambda device: {"device": given or {}})
        monkeypatch.setattr(sampler, "identity", lambda device: sampler.Identity("abc") if device == "cuda" else None)
        return evidence.survey(Report(), device, None)

    return run


def causes_of(found: dict[str, Any]) -> list[str]:
    return [notice.cause.value for notice in found["notices"] if notice.cause.value != "busy-processors"]


def test_a_gpu_that_works_is_taken_with_what_nvml_finds_it_by(survey):
    found = survey(fake_torch(count=1), FakeNvml(FakeGpu(pids=(1,))), given={"compute_capability": "9.0"})
    assert (found["device"], found["identity"], found["workload"]) == ("cuda", sampler.Identity("abc"), ARTICLE)


def test_without_a_gpu_the_cpu_is_taken_and_the_reason_goes_along(survey):
    found = survey(fake_torch("2.13.0+cpu", None), FakeNvml())
    assert (found["device"], found["identity"], found["workload"], causes_of(found)) == ("cpu", None, PRESETS["small"], ["torch-without-cuda"])


def test_a_gpu_that_is_there_and_does_not_compute_is_not_passed_over_in_silence(survey):
    """Neither is a run of the CPU made in its place."""
    found = survey(fake_torch(count=1, error=BUSY), FakeNvml(FakeGpu(mode=3, pids=(7,))))
    assert "device" not in found
    assert str(session._unavailable(found["notices"])) == (
        "NVIDIA H200 is in exclusive mode, and 1 other process holds it\n"
        "  what to do: wait until it is free, name another GPU with CUDA_VISIBLE_DEVICES, or as root: `nvidia-smi -c DEFAULT`; DEVICE=cpu profiles the processor instead")


def test_cudnn_that_refuses_costs_no_report(survey):
    found = survey(fake_torch(count=1, cudnn="cuDNN version incompatibility"), FakeNvml(FakeGpu(pids=(1,))), given={"compute_capability": "6.0"})
    assert (found["device"], found["workload"].name) == ("cuda", "article-fp16") and "cudnn" in causes_of(found)


def test_a_gpu_that_was_asked_for_and_is_not_there_is_refused_with_the_reason(survey):
    found = survey(fake_torch("2.13.0+cpu", None), device="cuda")
    assert str(session._unavailable(found["notices"])) == (
        "there is no NVIDIA or AMD GPU with a driver here, so the CPU is what can be profiled\n"
        "  what to do: run it on a machine with a GPU to see kernels and GPU time; DEVICE=cpu profiles the processor instead")


@pytest.mark.parametrize(("torch", "problem"), [
    (ModuleNotFoundError("No module named 'torch'", name="torch"), "this Python has no torch"), (ImportError("libc10.so: cannot open"), "torch cannot be imported: libc10.so: cannot open"),
    (fake_torch("2.4.1"), "torch 2.4.1 is here, and profiling needs 2.5 or later"),
])
def test_where_no_torch_can_be_used_no_other_device_is_offered(survey, torch, problem):
    found = survey(torch)
    error = str(session._unavailable(found["notices"]))
    assert error.splitlines()[0] == problem and "DEVICE=cpu" not in error


def test_a_cpu_that_was_asked_for_is_taken_beside_a_gpu(survey):
    found = survey(fake_torch(count=1, error=BUSY), FakeNvml(), device="cpu")
    assert (found["device"], causes_of(found)) == ("cpu", [])
