"""NVML is asked for the GPU that CUDA uses, and what it does not tell is unknown."""

from __future__ import annotations

import ctypes
import sys
from types import SimpleNamespace
from typing import Any

import pytest
from fake_nvml import GIB, FakeGpu, FakeNvml

from reportgen.capture import libraries, nvml, sampler
from reportgen.capture.sampler import Identity, Sampler

T4 = FakeGpu("Tesla T4", "GPU-44444444-aaaa-bbbb-cccc-000000000000", "0000:03:00.0", values={"nvmlDeviceGetClockInfo": 585})
H200 = FakeGpu(instances=("MIG-77777777-aaaa-bbbb-cccc-000000000000",), pids=(10, 99))
KNOWN = Identity(H200.uuid)


def opened(fake: FakeNvml, known: Identity | None = KNOWN) -> Sampler:
    return Sampler("cuda", known, load=lambda name: fake)


def test_a_sample_is_in_plain_units_and_words():
    with opened(FakeNvml(H200)) as asked:
        assert asked.sample() == {"sm_mhz": 1980, "memory_mhz": 1980, "power_watts": 412.5, "power_limit_watts": 550.0, "temperature_c": 47,
                                  "throttle": ["software power cap"]}  # fmt: skip


def test_the_description_tells_the_limit_that_is_set_not_the_one_that_moves():
    with opened(FakeNvml(H200)) as asked:
        assert asked.describe() == {"driver": "580.159.04", "power_limit_watts": 600.0, "default_power_limit_watts": 700.0, "ecc": True}


def test_an_older_driver_is_asked_by_the_older_names():
    fake = FakeNvml(H200, lacks=("nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetComputeRunningProcesses_v3"))
    assert opened(fake).sample()["throttle"] == ["hardware slowdown"]
    assert opened(fake).processes() == [10, 99]


def test_what_the_driver_refuses_is_unknown_and_the_rest_is_there():
    asked = opened(FakeNvml(H200, refuses=("nvmlDeviceGetPowerUsage", "nvmlDeviceGetEccMode", "nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons")))
    assert (asked.sample()["power_watts"], asked.sample()["throttle"], asked.sample()["sm_mhz"], asked.describe()["ecc"]) == (None, None, 1980, None)


def test_a_clock_of_zero_is_unknown_and_throttling_is_kept_without_a_clock():
    """GB10 and WSL answer 0 for what they do not know."""
    zeros = dict.fromkeys(("nvmlDeviceGetClockInfo", "nvmlDeviceGetPowerUsage", "nvmlDeviceGetTemperature", "nvmlDeviceGetEnforcedPowerLimit"), 0)
    assert opened(FakeNvml(FakeGpu(values=zeros))).sample() == {"sm_mhz": None, "memory_mhz": None, "power_watts": None, "power_limit_watts": None, "temperature_c": None,
                                                                "throttle": ["software power cap"]}  # fmt: skip


def test_an_answer_that_means_not_available_is_unknown():
    """NVML answers 0xFFFFFFFF in the place of a number that it does not have."""
    sample = opened(FakeNvml(FakeGpu(values={"nvmlDeviceGetClockInfo": 4_294_967_295}))).sample()
    assert (sample["sm_mhz"], sample["memory_mhz"], sample["power_watts"]) == (None, None, 412.5)


@pytest.mark.parametrize(("device", "reason"), [
    ("cuda", "NVML is not available (libnvidia-ml.so.1: cannot open shared object file)"), ("cpu", "not an NVIDIA GPU: NVML has nothing to say")])  # fmt: skip
def test_no_library_or_no_gpu_is_a_reason_and_every_answer_unknown(device, reason):
    def absent(name: str) -> Any:
        raise OSError(f"{name}: cannot open shared object file")

    asked = Sampler(device, KNOWN, load=absent)
    assert (asked.available, asked.reason) == (False, reason)
    assert set(asked.sample().values()) == {None}
    assert (asked.processes(), asked.busy_percent(), asked.memory_used()) == (None, None, None)


@pytest.mark.parametrize(("code", "reason"), [
    (9, "NVML is not available (nvmlInit answered 9: the driver is not loaded)"),
    (18, "NVML is not available (nvmlInit answered 18: the driver in the kernel is of another version than its libraries)"),
    (999, "NVML is not available (nvmlInit answered 999)")])
def test_a_refusal_is_told_in_words(code, reason):
    assert opened(FakeNvml(init=code)).reason == reason


def test_closing_shuts_the_library_down_once_and_ends_the_answers():
    fake = FakeNvml(H200)
    asked = opened(fake)
    asked.close()
    asked.close()
    assert fake.shut == 1 and asked.sample()["sm_mhz"] is None


@pytest.mark.parametrize(("known", "clock"), [
    (Identity("GPU-11111111-aaaa-bbbb-cccc-000000000000"), 1980),
    (Identity("11111111-aaaa-bbbb-cccc-000000000000"), 1980),  # as torch gives it
    (Identity("44444444-aaaa-bbbb-cccc-000000000000"), 585),
    (Identity(None, "0000:1B:00.0"), 1980),  # a torch that knows no UUID
    (Identity("00000000-0000-0000-0000-000000000000", "0000:03:00.0"), 585),  # virtual machines give an empty UUID
])
def test_the_profiled_gpu_is_asked_whatever_order_the_driver_has(known, clock):
    """The driver lists the T4 first, and CUDA the fastest."""
    assert opened(FakeNvml(T4, H200), known).sample()["sm_mhz"] == clock


@pytest.mark.parametrize("uuid", ["77777777-aaaa-bbbb-cccc-000000000000", "MIG-77777777-aaaa-bbbb-cccc-000000000000", "GPU-77777777-aaaa-bbbb-cccc-000000000000"])
def test_of_a_mig_instance_the_clocks_are_those_of_its_gpu(uuid):
    asked = opened(FakeNvml(T4, H200), Identity(uuid))
    assert (asked.available, asked.sample()["sm_mhz"], asked.describe()["driver"], asked.processes()) == (True, 1980, "580.159.04", [10, 99])


def test_a_gpu_that_nvml_does_not_know_is_a_reason():
    asked = opened(FakeNvml(T4), Identity("GPU-99999999-aaaa-bbbb-cccc-000000000000"))
    assert asked.reason == "NVML is not available (nvmlDeviceGetHandleByUUID answered 6: there is no such GPU)"


def fake_torch(started: bool = True, hip: str | None = None, **properties: Any) -> SimpleNamespace:
    return SimpleNamespace(version=SimpleNamespace(hip=hip, cuda="13.0"), cuda=SimpleNamespace(
        is_initialized=lambda: started, current_device=lambda: 1, get_device_properties=lambda ordinal: SimpleNamespace(ordinal=ordinal, **properties)))


@pytest.mark.parametrize(("torch", "device", "identity"), [
    (fake_torch(uuid="abc"), "cuda", Identity("abc", "0000:01:00.0")),
    (fake_torch(uuid="abc"), "cuda:3", Identity("abc", "0000:03:00.0")),
    (fake_torch(), "cuda", Identity(None, "0000:01:00.0")),
    (fake_torch(started=False, uuid="abc"), "cuda", None),
    (fake_torch(hip="6.4", uuid="abc"), "cuda", None),
])
def test_a_device_is_identified_by_what_cuda_says_of_it_once_it_runs(monkeypatch, torch, device, identity):
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setattr(libraries, "bus_id", lambda ordinal: f"0000:{ordinal:02x}:00.0")
    assert sampler.identity(device) == identity


def test_on_rocm_nvml_is_not_asked(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", fake_torch(hip="6.4"))
    assert opened(FakeNvml(T4)).reason == "not an NVIDIA GPU: NVML has nothing to say"


def test_before_cuda_runs_no_gpu_is_guessed(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", fake_torch(started=False))
    assert opened(FakeNvml(T4, H200), None).reason == "CUDA has not been started in this process, so it is not known which GPU to ask NVML for"


@pytest.mark.parametrize(("bits", "words"), [
    (0, []), (0x1, []), (0x5, ["software power cap"]), (0x60, ["software thermal slowdown", "hardware thermal slowdown"]),
    (0x1000, ["unknown reason 0x1000"]),
])  # fmt: skip
def test_throttle_reasons_are_words_and_idling_is_none(bits, words):
    assert nvml.decode_throttle(bits) == words


@pytest.mark.parametrize(("reported", "own", "others"), [
    ([10], [10], 0), ([10, 99], [10], 1), ([], [10], 0), ([4711], [10], 0), ([4711, 4712], [10], 1), ([7, 8], [], 2),
])  # fmt: skip
def test_neighbours_are_the_processes_that_are_not_ours(reported, own, others):
    """4711 is a number of the host, seen from a container in which we are number 10."""
    assert sampler.others(reported, own) == others


def test_more_processes_than_expected_are_all_listed():
    assert len(opened(FakeNvml(FakeGpu(pids=tuple(range(1, 400))))).processes()) == 399


def test_every_gpu_of_the_machine_is_listed_with_what_keeps_one_off_it():
    with nvml.Library(lambda name: FakeNvml(T4, FakeGpu(mode=2, pids=(7,), total=8 * GIB, free=2 * GIB, instances=("MIG-1",)))) as library:
        assert library.gpus() == [
            nvml.Gpu(0, "Tesla T4", T4.uuid, "default", False, 0, 140 * GIB, 139 * GIB),
            nvml.Gpu(1, "NVIDIA H200", H200.uuid, "prohibited", True, 1, 8 * GIB, 2 * GIB)]
        assert (library.driver(), library.cuda_version()) == ("580.159.04", "13.0")


def test_structures_have_the_sizes_of_the_drivers():
    """`nvmlProcessInfo_t`: 4 bytes, padding, 8 bytes, 4 and 4; `nvmlMemory_t`: three of 8; `nvmlUtilization_t`: two of 4 (nvml.h)."""
    assert [ctypes.sizeof(kind) for kind in (nvml._Process, nvml._Memory, nvml._Utilization)] == [24, 24, 8]
