"""The machine as a run records it, and the ceilings."""

from __future__ import annotations

import getpass
import json
import socket
import sys
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from fake_nvml import FakeGpu, FakeNvml  # noqa: E402
from fake_torch import fake_torch  # noqa: E402

from reportgen.capture import ceilings, environment, libraries, switches  # noqa: E402
from reportgen.capture.sampler import Identity, Sampler  # noqa: E402
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
            told = switches.settings("cpu")
        finally:
            torch.set_float32_matmul_precision(before)
        assert told["float32_matmul_precision"] == "high"
        assert told["environment"]["CUDA_LAUNCH_BLOCKING"] == "1"
        assert switches.settings("cpu")["float32_matmul_precision"] == before

    def test_the_largest_cache_of_the_first_processor_counts(self, tmp_path: Path) -> None:
        for index, size in enumerate(("48K", "2048K", "105M", "odd")):
            (tmp_path / f"index{index}").mkdir()
            (tmp_path / f"index{index}" / "size").write_text(size + "\n")
        assert environment.cpu_cache(tmp_path) == 105 * 2**20
        assert environment.cpu_cache(tmp_path / "absent") is None

    @pytest.mark.parametrize(("number", "text"), [(91900, "9.19.0"), (90100, "9.1.0"), (8902, "8.9.2"), (None, None)])
    def test_cudnns_number_is_written_in_its_usual_form(self, number: int | None, text: str | None) -> None:
        assert libraries.cudnn_version(number) == text


class TestGpu:
    """A GPU's record from what torch and NVML say of it."""

    def described(self, monkeypatch: pytest.MonkeyPatch, gpu: FakeGpu | None = None, **options: Any) -> dict[str, Any]:
        monkeypatch.setitem(sys.modules, "torch", fake_torch(count=1, **options))
        monkeypatch.setattr(switches, "settings", lambda device: {})
        monkeypatch.setattr(environment, "Sampler", lambda device: Sampler(device, Identity(FakeGpu().uuid), load=lambda name: FakeNvml(gpu or FakeGpu())))
        return environment.describe("cuda")

    def test_everything_is_there_for_a_whole_gpu(self, monkeypatch: pytest.MonkeyPatch) -> None:
        found = self.described(monkeypatch)
        assert found["device"] == {
            "kind": "cuda", "name": "NVIDIA H200", "slug": "nvidia-h200-600w", "compute_capability": "9.0", "gfx": None, "sm_count": 132, "memory_bytes": 140 * GIB,
            "power_limit_watts": 600.0, "default_power_limit_watts": 700.0, "l2_cache_bytes": 50 * 2**20, "mig_profile": None, "ecc": True}
        assert (found["software"]["cudnn"], found["software"]["driver"]) == ("9.19.0", "580.159.04")

    def test_cudnn_that_refuses_costs_its_version_only(self, monkeypatch: pytest.MonkeyPatch) -> None:
        assert self.described(monkeypatch, cudnn="cuDNN version incompatibility")["software"]["cudnn"] is None

    def test_a_laptops_limit_is_not_recorded_since_it_moves(self, monkeypatch: pytest.MonkeyPatch) -> None:
        device = self.described(monkeypatch, name="NVIDIA GeForce RTX 4070 Laptop GPU", capability=(8, 9))["device"]
        assert (device["slug"], device["power_limit_watts"]) == ("nvidia-geforce-rtx-4070-laptop-gpu", None)

    @pytest.mark.parametrize(("name", "slug", "shown"), [
        ("", "gpu-rocm-gfx942-132sm", "unnamed GPU (gfx942)"), ("AMD Radeon Graphics", "amd-radeon-graphics-gfx942-132sm", "AMD Radeon Graphics"),
        ("..", "gpu-rocm-gfx942-132sm", ".."), ("AMD Instinct MI300X", "amd-instinct-mi300x", "AMD Instinct MI300X"),
    ])  # fmt: skip
    def test_rocm_has_its_architecture_and_a_name_in_any_case(self, monkeypatch: pytest.MonkeyPatch, name: str, slug: str, shown: str) -> None:
        device = self.described(monkeypatch, version="2.13.0+rocm6.4", cuda=None, hip="6.4", name=name, gfx="gfx942:sramecc+:xnack-")["device"]
        assert (device["slug"], device["name"], device["gfx"], device["compute_capability"]) == (slug, shown, "gfx942", None)

    def test_a_mig_instance_has_its_profile_and_no_power_of_its_own(self, monkeypatch: pytest.MonkeyPatch) -> None:
        device = self.described(monkeypatch, name="NVIDIA H200 MIG 1g.18gb")["device"]
        assert (device["name"], device["slug"], device["mig_profile"], device["power_limit_watts"]) == ("NVIDIA H200", "nvidia-h200-mig-1g.18gb", "1g.18gb", None)


class TestCeilings:
    def test_a_cpu_reaches_some_rate_and_says_what_was_run(self) -> None:
        measured = Ceilings(**ceilings.measure("cpu", PRESETS["small"]))
        assert measured.copy_bytes == ceilings.CPU_COPY_BYTES and measured.matmul_size in (256, 512, 1024)
        assert 1e8 < measured.copy_bytes_per_s < 1e13
        assert 1e8 < measured.fp32_flop_per_s < 1e15

    @pytest.mark.parametrize(("device", "rate", "size"), [
        ("cpu", 3e10, 1024), ("cpu", 5e9, 512), ("cpu", 1.4e9, 256), ("cpu", 1e6, 256), ("cuda", 1e14, 8192), ("cuda", 1e13, 4096), ("cuda", 1e9, 2048)])
    def test_a_slow_device_multiplies_a_smaller_square(self, monkeypatch: pytest.MonkeyPatch, device: str, rate: float, size: int) -> None:
        """One multiplication of n squares takes 2n³ operations: 2.1e9 for 1024 and 1.1e12 for 8192; a CPU may take 0.1 s for it, a GPU 0.03 s."""
        monkeypatch.setattr(ceilings, "_matmul", lambda *_, **__: rate)
        assert ceilings._matmul_size(device, None) == size

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
