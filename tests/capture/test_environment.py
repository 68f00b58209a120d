"""The machine as a run records it, NVML's answers, and the ceilings."""

from __future__ import annotations

import ctypes
import getpass
import json
import socket
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from reportgen.capture import ceilings, environment, libraries, nvml  # noqa: E402
from reportgen.run import Ceilings, DeviceRecord  # noqa: E402
from reportgen.run.workload import PRESETS  # noqa: E402

GIB = 2**30


class TestNames:
    def test_a_mig_instance_is_the_product_and_its_profile(self) -> None:
        assert environment.mig_profile("NVIDIA A100-SXM4-40GB MIG 3g.20gb") == ("NVIDIA A100-SXM4-40GB", "3g.20gb")
        assert environment.mig_profile("NVIDIA A100-SXM4-40GB") == ("NVIDIA A100-SXM4-40GB", None)

    @pytest.mark.parametrize(("given", "architecture", "shown"), [
        ("NVIDIA H200", "9.0", "NVIDIA H200"), ("", "gfx942", "unnamed GPU (gfx942)"), (" \t", None, "unnamed GPU"),
        ("NVIDIA\x00\n H200\u202e", "9.0", "NVIDIA H200"),
    ])  # fmt: skip
    def test_a_device_is_called_something_on_one_line(self, given: str, architecture: str | None, shown: str) -> None:
        assert environment.plain_name(given, architecture) == shown


class TestDescribe:
    def test_a_cpu_fills_the_record_that_a_run_reads(self) -> None:
        described = environment.describe("cpu")
        record = DeviceRecord(**described["device"])
        assert record.kind == "cpu" and record.slug.startswith("cpu-")
        assert record.compute_capability is None and record.sm_count is None
        assert described["software"]["torch"] == torch.__version__
        assert described["software"]["driver"] is None
        assert set(described["host"]) == {"cpu", "logical_cpus"}

    def test_nothing_names_the_machine_or_its_user(self) -> None:
        text = json.dumps(environment.describe("cpu"))
        for secret in {socket.gethostname(), str(Path.home()), getpass.getuser()} - {"root", "localhost", ""}:
            assert secret not in text

    def test_switches_that_change_results_are_read_when_asked(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("CUDA_LAUNCH_BLOCKING", "1")
        before = torch.get_float32_matmul_precision()
        try:
            torch.set_float32_matmul_precision("high")
            told = environment.settings("cpu")
        finally:
            torch.set_float32_matmul_precision(before)
        assert told["float32_matmul_precision"] == "high"
        assert told["environment"]["CUDA_LAUNCH_BLOCKING"] == "1"
        assert environment.settings("cpu")["float32_matmul_precision"] == before

    def test_the_largest_cache_of_the_first_processor_counts(self, tmp_path: Path) -> None:
        for index, size in enumerate(("48K", "2048K", "105M", "odd")):
            (tmp_path / f"index{index}").mkdir()
            (tmp_path / f"index{index}" / "size").write_text(size + "\n")
        assert environment.cpu_cache(tmp_path) == 105 * 2**20
        assert environment.cpu_cache(tmp_path / "absent") is None

    @pytest.mark.parametrize(("number", "text"), [(91900, "9.19.0"), (90100, "9.1.0"), (8902, "8.9.2"), (None, None)])
    def test_cudnns_number_is_written_in_its_usual_form(self, number: int | None, text: str | None) -> None:
        assert libraries.cudnn_version(number) == text


class FakeNvml:
    """Answers like the driver's library; `refuses` names functions that return an error, `lacks` those it has not."""

    VALUES = {"nvmlDeviceGetPowerUsage": 412_500, "nvmlDeviceGetClockInfo": 1980, "nvmlDeviceGetTemperature": 47,
              "nvmlDeviceGetCurrentClocksEventReasons": 0x4, "nvmlDeviceGetCurrentClocksThrottleReasons": 0x8,
              "nvmlDeviceGetEnforcedPowerLimit": 600_000, "nvmlDeviceGetPowerManagementDefaultLimit": 700_000}  # fmt: skip

    def __init__(self, refuses: tuple[str, ...] = (), lacks: tuple[str, ...] = (), pids: tuple[int, ...] = ()) -> None:
        self.refuses, self.lacks, self.pids = refuses, lacks, pids
        self.asked: list[Any] = []
        self.shut = False

    def __getattr__(self, function: str) -> Any:
        if function in self.lacks:
            raise AttributeError(function)
        return lambda *arguments: self._answer(function, arguments)

    def _answer(self, function: str, arguments: tuple[Any, ...]) -> int:
        if function in self.refuses:
            return 3
        if function == "nvmlShutdown":
            self.shut = True
        elif function.startswith("nvmlDeviceGetHandleBy"):
            self.asked.append(getattr(arguments[0], "value", arguments[0]))
        elif function == "nvmlDeviceGetComputeRunningProcesses_v3":
            _, count, found = arguments
            count._obj.value = len(self.pids)
            for slot, pid in zip(found, self.pids):
                slot.pid = pid
        elif function == "nvmlDeviceGetEccMode":
            current, pending = arguments[1:]
            current._obj.value, pending._obj.value = 1, 0
        elif function == "nvmlSystemGetDriverVersion":
            arguments[0].value = b"580.159.04"
        elif function in self.VALUES:
            arguments[-1]._obj.value = self.VALUES[function]
        return 0


class TestNvml:
    def test_a_sample_is_in_plain_units_and_words(self) -> None:
        with nvml.Sampler("cuda", load=lambda name: FakeNvml()) as sampler:
            assert sampler.sample() == {"sm_mhz": 1980, "memory_mhz": 1980, "power_watts": 412.5, "temperature_c": 47,
                                        "throttle": ["software power cap"]}  # fmt: skip

    def test_the_description_tells_limits_and_modes(self) -> None:
        with nvml.Sampler("cuda", load=lambda name: FakeNvml()) as sampler:
            assert sampler.describe() == {"driver": "580.159.04", "power_limit_watts": 600.0, "default_power_limit_watts": 700.0,
                                          "ecc": True}  # fmt: skip

    def test_an_older_driver_is_asked_by_the_older_name(self) -> None:
        fake = FakeNvml(lacks=("nvmlDeviceGetCurrentClocksEventReasons",))
        assert nvml.Sampler("cuda", load=lambda name: fake).sample()["throttle"] == ["hardware slowdown"]

    def test_what_the_driver_refuses_is_none_and_the_rest_is_there(self) -> None:
        fake = FakeNvml(refuses=("nvmlDeviceGetPowerUsage", "nvmlDeviceGetEccMode"))
        sampler = nvml.Sampler("cuda", load=lambda name: fake)
        assert sampler.sample()["power_watts"] is None and sampler.sample()["sm_mhz"] == 1980
        assert sampler.describe()["ecc"] is None

    def test_an_answer_that_means_not_available_is_none(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """NVML answers 0xFFFFFFFF in the place of a number that it does not have."""
        monkeypatch.setitem(FakeNvml.VALUES, "nvmlDeviceGetClockInfo", 4_294_967_295)
        sample = nvml.Sampler("cuda", load=lambda name: FakeNvml()).sample()
        assert (sample["sm_mhz"], sample["memory_mhz"], sample["power_watts"]) == (None, None, 412.5)

    @pytest.mark.parametrize("device", ["cuda", "cpu"])
    def test_no_library_or_no_gpu_is_a_reason_and_every_answer_none(self, device: str) -> None:
        def absent(name: str) -> Any:
            raise OSError(f"{name}: cannot open shared object file")

        sampler = nvml.Sampler(device, load=absent)
        assert not sampler.available and ("NVML" in sampler.reason)
        assert set(sampler.sample().values()) == {None}
        assert sampler.compute_processes() is None

    def test_closing_shuts_the_library_down_once_and_ends_the_answers(self) -> None:
        fake = FakeNvml()
        sampler = nvml.Sampler("cuda", load=lambda name: fake)
        sampler.close()
        sampler.close()
        assert fake.shut and sampler.sample()["sm_mhz"] is None

    @pytest.mark.parametrize(("visible", "device", "asked"), [
        ("", "cuda", 0), ("", "cuda:2", 2), ("3,1", "cuda", 3), ("3,1", "cuda:1", 1), ("GPU-abc", "cuda:0", b"GPU-abc"),
    ])  # fmt: skip
    def test_the_device_is_found_behind_cuda_visible_devices(
        self, monkeypatch: pytest.MonkeyPatch, visible: str, device: str, asked: Any
    ) -> None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
        monkeypatch.setattr(nvml, "_torch_uuid", lambda ordinal: None)
        fake = FakeNvml()
        nvml.Sampler(device, load=lambda name: fake)
        assert fake.asked == [asked]

    @pytest.mark.parametrize(("bits", "words"), [
        (0, []), (0x1, []), (0x5, ["software power cap"]), (0x60, ["software thermal slowdown", "hardware thermal slowdown"]),
        (0x1000, ["unknown reason 0x1000"]),
    ])  # fmt: skip
    def test_throttle_reasons_are_words_and_idling_is_none(self, bits: int, words: list[str]) -> None:
        assert nvml.decode_throttle(bits) == words

    @pytest.mark.parametrize(("reported", "own", "others"), [
        ([10], [10], 0), ([10, 99], [10], 1), ([], [10], 0), ([4711], [10], 0), ([4711, 4712], [10], 1), ([7, 8], [], 2),
    ])  # fmt: skip
    def test_neighbours_are_the_processes_that_are_not_ours(self, reported: list[int], own: list[int], others: int) -> None:
        """4711 is a number of the host, seen from a container in which we are number 10."""
        assert nvml.others(reported, own) == others

    def test_the_process_list_is_read_from_the_library(self) -> None:
        assert nvml.Sampler("cuda", load=lambda name: FakeNvml(pids=(10, 99))).compute_processes() == [10, 99]


class TestCeilings:
    def test_a_cpu_reaches_some_rate_and_says_what_was_run(self) -> None:
        measured = Ceilings(**ceilings.measure("cpu", PRESETS["small"]))
        assert measured.copy_bytes == ceilings.CPU_COPY_BYTES and measured.matmul_size == ceilings.CPU_MATMUL
        assert 1e8 < measured.copy_bytes_per_s < 1e13
        assert 1e8 < measured.fp32_flop_per_s < 1e15

    def test_the_fp32_setting_is_restored(self) -> None:
        before = torch.get_float32_matmul_precision()
        try:
            torch.set_float32_matmul_precision("high")
            with ceilings._exact_fp32():
                assert torch.get_float32_matmul_precision() == "highest"
            assert torch.get_float32_matmul_precision() == "high"
        finally:
            torch.set_float32_matmul_precision(before)

    @pytest.mark.parametrize(("cache", "free", "size"), [
        (60 * 2**20, 140 * GIB, 1200 * 2**20),
        (6 * 2**20, 16 * GIB, 512 * 2**20),
        (None, 16 * GIB, 512 * 2**20),
        (96 * 2**20, 5 * GIB, GIB),
    ], ids=["twenty caches", "at least half a GiB", "cache unknown", "a fifth of what is free"])  # fmt: skip
    def test_the_copy_outgrows_the_cache_and_fits_the_memory(self, cache: int | None, free: int, size: int) -> None:
        assert ceilings.copy_size(cache, free) == size


def test_process_structure_has_the_size_of_the_drivers() -> None:
    """`nvmlProcessInfo_t`: 4 bytes, padding, 8 bytes, 4 and 4 (nvml.h)."""
    assert ctypes.sizeof(nvml._Process) == 24
