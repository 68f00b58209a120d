"""Why no GPU, why not this one, what can be measured: each case under stubs, with its sentences."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from fake_nvml import FakeGpu, FakeNvml
from fake_torch import CUDA_12, GIB, fake_torch

from reportgen.capture import cause_words, causes, counters, machine
from reportgen.capture.causes import Cause
from reportgen.commands import doctor

TOO_OLD = ("CUDA initialization: The NVIDIA driver on your system is too old (found version 11040). Please update your GPU driver. "
           "(Triggered internally at /pytorch/c10/cuda/CUDAFunctions.cpp:119.)")
NO_IMAGE = "CUDA error: no kernel image is available for execution on the device\nCUDA kernel errors might be asynchronously reported"
BUSY = "CUDA error: CUDA-capable device(s) is/are busy or unavailable"


@pytest.fixture
def place(tmp_path, monkeypatch):
    """The root of a machine without anything; `place(file=text)` adds files."""
    monkeypatch.setattr(counters, "find", lambda: ("ncu",))
    monkeypatch.setattr(machine, "Processors", lambda: type("Quiet", (), {"others": lambda self: 0.01})())
    monkeypatch.setattr(machine, "processor_load", lambda: 0.4)
    monkeypatch.setattr(machine, "available_processors", lambda: 16)
    monkeypatch.setattr(machine, "_pinnable", lambda: True)
    return tmp_path


def look(root: Path, torch: Any = None, nvml: Any = None, *, files: dict[str, str] | None = None, libcuda: bool = False, environment: dict[str, str] | None = None,
         wanted: str | None = None, **options: Any) -> machine.Machine:
    """What is seen under stubs. torch: a module, or the error of importing it; nvml: a library, or `None` where there is none."""
    for name, text in (files or {}).items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)

    def import_torch() -> Any:
        if isinstance(torch, BaseException):
            raise torch
        return torch

    def load(name: str) -> Any:
        if nvml is None:
            raise OSError(f"{name}: cannot open shared object file")
        return nvml

    def library(name: str) -> None:
        if not libcuda:
            raise OSError(name)

    return machine.look(wanted, import_torch=import_torch, load_nvml=load, root=root, environment=environment or {}, library=library, **options)


def said(seen: machine.Machine, wanted: str | None = None) -> list[tuple[str, str, str]]:
    return [(notice.cause.value, cause_words.sentence(notice), cause_words.cure(notice)) for notice in causes.diagnose(seen, wanted)]


CARD = {"sys/bus/pci/devices/0000:3b:00.0/class": "0x030200\n", "sys/bus/pci/devices/0000:3b:00.0/vendor": "0x10de\n"}
AMD_CARD = {"sys/bus/pci/devices/0000:3b:00.0/class": "0x120000\n", "sys/bus/pci/devices/0000:3b:00.0/vendor": "0x1002\n"}
AMD_DRIVER = {"sys/module/amdgpu/version": "6", "dev/kfd": ""}
KERNEL = {"proc/driver/nvidia/version": "NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.86.15  Tue Jan\n"}
NODES = {"dev/nvidia0": ""}
LOCALLY = "(https://pytorch.org/get-started/locally/ gives the command), or name a Python whose torch fits: PYTHON=…"

NO_GPU = [
    ("a plain machine", {"torch": fake_torch("2.13.0+cpu", None)}, "no-gpu", "there is no NVIDIA or AMD GPU with a driver here, so the CPU is what can be profiled",
     "run it on a machine with a GPU to see kernels and GPU time"),
    ("a CPU torch on a GPU machine", {"torch": fake_torch("2.13.0+cpu", None), "nvml": FakeNvml(), "libcuda": True}, "torch-without-cuda",
     "there is an NVIDIA driver 580.159.04, and torch 2.13.0+cpu is built without CUDA, so it cannot use the GPU", f"install a build of torch with CUDA {LOCALLY}"),
    ("the same where NVML is not mounted", {"torch": fake_torch("2.13.0", None), "libcuda": True, "files": KERNEL}, "torch-without-cuda",
     "there is an NVIDIA driver 570.86.15, and torch 2.13.0 is built without CUDA, so it cannot use the GPU", f"install a build of torch with CUDA {LOCALLY}"),
    ("a CPU torch beside ROCm", {"torch": fake_torch("2.13.0+cpu", None), "files": AMD_DRIVER}, "torch-without-rocm",
     "there is an AMD driver, and torch 2.13.0+cpu is built without ROCm, so it cannot use the GPU", f"install a build of torch with ROCm {LOCALLY}"),
    ("a ROCm torch on NVIDIA", {"torch": fake_torch("2.13.0+rocm6.4", None, "6.4"), "nvml": FakeNvml(), "libcuda": True}, "other-vendor",
     "torch 2.13.0+rocm6.4 is built for ROCm, and the driver here is NVIDIA's", "install a build of torch for CUDA, or name a Python whose torch fits: PYTHON=…"),
    ("a CUDA torch on AMD", {"torch": fake_torch(), "files": AMD_DRIVER}, "other-vendor", "torch 2.11.0+cu130 is built for CUDA, and the driver here is AMD's",
     "install a build of torch for ROCm, or name a Python whose torch fits: PYTHON=…"),
    ("a card without its driver", {"torch": fake_torch(), "files": CARD}, "no-driver", "there is an NVIDIA GPU, and its driver is not loaded",
     "install NVIDIA's driver, or load it (`modprobe nvidia`); `nvidia-smi` tells whether it works"),
    ("an AMD card without its driver", {"torch": fake_torch("2.13.0+rocm6.4", None, "6.4"), "files": AMD_CARD}, "no-driver", "there is an AMD GPU, and its driver is not loaded",
     "install ROCm with its driver (amdgpu); `rocminfo` tells whether it works"),
    ("WSL without the driver for Windows", {"torch": fake_torch(says="CUDA initialization: Found no NVIDIA driver on your system."), "files": {"dev/dxg": ""}}, "no-driver",
     "this is WSL, and Windows' NVIDIA driver is not in it; torch says: CUDA initialization: Found no NVIDIA driver on your system",
     "install NVIDIA's driver for Windows, which brings the one for WSL; `nvidia-smi` tells whether it works"),
    ("a driver that torch calls too old", {"torch": fake_torch("2.6.0+cu124", "12.4", says=TOO_OLD), "nvml": FakeNvml(cuda=11040, driver="470.82"), "libcuda": True}, "driver-too-old",
     "the NVIDIA driver 470.82, which runs CUDA up to 11.4, is too old for torch 2.6.0+cu124, which is built for CUDA 12.4; torch says: CUDA initialization: "
     "The NVIDIA driver on your system is too old (found version 11040). Please update your GPU driver",
     "update the driver, or install a torch that is built for CUDA 11.4"),
    ("a driver that is too old without a word", {"torch": fake_torch(), "nvml": FakeNvml(cuda=12020, driver="535.1"), "libcuda": True}, "driver-too-old",
     "the NVIDIA driver 535.1, which runs CUDA up to 12.2, is too old for torch 2.11.0+cu130, which is built for CUDA 13.0", "update the driver, or install a torch that is built for CUDA 12.2"),
    ("a driver half updated", {"torch": fake_torch(), "nvml": FakeNvml(init=18), "libcuda": True, "files": KERNEL}, "driver-mismatch",
     "the NVIDIA driver in the kernel (570.86.15) is of another version than its libraries, as after an update", "restart the machine, or reload the driver's modules"),
    ("everything hidden", {"torch": fake_torch(), "nvml": FakeNvml(FakeGpu(), FakeGpu()), "libcuda": True, "environment": {"CUDA_VISIBLE_DEVICES": ""}}, "hidden",
     "CUDA_VISIBLE_DEVICES=(empty) hides 2 GPUs from torch", "unset CUDA_VISIBLE_DEVICES, or give it a number from 0 to 1"),
    ("a number that is none", {"torch": fake_torch(), "nvml": FakeNvml(), "libcuda": True, "environment": {"CUDA_VISIBLE_DEVICES": "7"}}, "hidden",
     "CUDA_VISIBLE_DEVICES=7 hides 1 GPU from torch", "unset CUDA_VISIBLE_DEVICES, or give it 0"),
    ("hidden from ROCm", {"torch": fake_torch("2.13.0+rocm6.4", None, "6.4"), "files": AMD_DRIVER, "environment": {"HIP_VISIBLE_DEVICES": "-1"}}, "hidden",
     "HIP_VISIBLE_DEVICES=-1 hides every GPU from torch", "unset HIP_VISIBLE_DEVICES"),
    ("a Slurm job without a GPU", {"torch": fake_torch(), "environment": {"SLURM_JOB_ID": "7"}}, "not-allocated", "this Slurm job was given no GPU", "ask for one: `--gres=gpu:1`"),
    ("a Slurm job that sees the driver", {"torch": fake_torch(), "nvml": FakeNvml(), "libcuda": True, "environment": {"SLURM_JOB_ID": "7", "CUDA_VISIBLE_DEVICES": "NoDevFiles"}},
     "not-allocated", "this Slurm job was given no GPU", "ask for one: `--gres=gpu:1`"),
    ("a container without the GPU", {"torch": fake_torch(), "libcuda": True, "files": {**KERNEL, ".dockerenv": ""}}, "not-in-container",
     "the GPU's driver is here and its device files are not: this container was started without access to the GPU",
     "start the container with the GPU: `--gpus all`, with ROCm `--device /dev/kfd --device /dev/dri`"),
    ("a driver and no GPU", {"torch": fake_torch(says="CUDA unknown error - this may be due to an incorrectly set up environment."), "nvml": FakeNvml(init=15), "libcuda": True,
                             "files": NODES}, "not-seen",
     "there is an NVIDIA driver, and torch 2.11.0+cu130 finds no GPU; torch says: CUDA unknown error - this may be due to an incorrectly set up environment; "
     "NVML is not available (nvmlInit answered 15: the GPU is lost: it fell off the bus)", "see whether `nvidia-smi` lists one"),
]


@pytest.mark.parametrize(("given", "cause", "sentence", "cure"), [case[1:] for case in NO_GPU], ids=[case[0] for case in NO_GPU])
def test_why_there_is_no_gpu(place, given, cause, sentence, cure):
    seen = look(place, **given)
    assert said(seen) == [(cause, sentence, cure)]
    assert causes.status(causes.diagnose(seen)) == 1 and not causes.gpu_works(seen)


def test_device_files_that_may_not_be_opened(place, monkeypatch):
    monkeypatch.setattr("os.access", lambda *_: False)
    assert said(look(place, fake_torch(), libcuda=True, files={**KERNEL, **NODES})) == [
        ("denied", "this account may not open the GPU's device files (/dev/nvidia*)", "ask who runs the machine for the right to use them")]
    (place / "proc/driver/nvidia/version").unlink()
    assert said(look(place, fake_torch("2.13.0+rocm6.4", None, "6.4"), files=AMD_DRIVER)) == [
        ("denied", "this account may not open the GPU's device files (/dev/kfd)", "join the groups `render` and `video`, and log in again")]


H200 = FakeGpu(pids=(1,))
OWN = {"nvml": FakeNvml(H200), "libcuda": True}
NOT_THIS = [
    ("a GPU newer than torch", {"torch": fake_torch("2.6.0+cu124", "12.4", count=1, archs=CUDA_12, name="NVIDIA GeForce RTX 5090", capability=(12, 0), error=NO_IMAGE), **OWN}, "architecture",
     "torch 2.6.0+cu124 holds kernels for sm_50, sm_60, sm_70, sm_75, sm_80, sm_86 and sm_90, and NVIDIA GeForce RTX 5090 is sm_120, so nothing runs on it",
     "install a build of torch that holds sm_120 (newer GPUs need one for a newer CUDA, older ones one for an older), or name a Python whose torch fits: PYTHON=…"),
    ("a GPU older than torch", {"torch": fake_torch(count=1, archs=("sm_75", "sm_80"), name="Tesla P100", capability=(6, 0), error=NO_IMAGE), **OWN}, "architecture",
     "torch 2.11.0+cu130 holds kernels for sm_75 and sm_80, and Tesla P100 is sm_60, so nothing runs on it",
     "install a build of torch that holds sm_60 (newer GPUs need one for a newer CUDA, older ones one for an older), or name a Python whose torch fits: PYTHON=…"),
    ("an architecture that ROCm's torch lacks", {"torch": fake_torch("2.13.0+rocm6.4", None, "6.4", count=1, archs=("gfx90a", "gfx942"), name="AMD Radeon Graphics", gfx="gfx1151",
                                                                     error="HIP error: invalid device function"), "files": AMD_DRIVER}, "architecture",
     "torch 2.13.0+rocm6.4 holds kernels for gfx90a and gfx942, and AMD Radeon Graphics is gfx1151, so nothing runs on it",
     "install a build of torch that holds gfx1151 (newer GPUs need one for a newer CUDA, older ones one for an older), or name a Python whose torch fits: PYTHON=…"),
    ("prohibited", {"torch": fake_torch(count=1, error=BUSY), "nvml": FakeNvml(FakeGpu(mode=2)), "libcuda": True}, "prohibited",
     "NVIDIA H200 is set to compute mode `prohibited`: no process may compute on it", "as root: `nvidia-smi -c DEFAULT`"),
    ("exclusive and taken", {"torch": fake_torch(count=1, error=BUSY), "nvml": FakeNvml(FakeGpu(mode=3, pids=(7,))), "libcuda": True}, "exclusive",
     "NVIDIA H200 is in exclusive mode, and 1 other process holds it", "wait until it is free, name another GPU with CUDA_VISIBLE_DEVICES, or as root: `nvidia-smi -c DEFAULT`"),
    ("exclusive, and nobody says by whom", {"torch": fake_torch(count=1, error=BUSY), "nvml": FakeNvml(FakeGpu(mode=3)), "libcuda": True}, "exclusive",
     "NVIDIA H200 is in exclusive mode, and another process holds it", "wait until it is free, name another GPU with CUDA_VISIBLE_DEVICES, or as root: `nvidia-smi -c DEFAULT`"),
    ("busy without a mode", {"torch": fake_torch(count=1, error=BUSY), "nvml": FakeNvml(), "libcuda": True}, "busy",
     "NVIDIA H200 does not take this process: CUDA error: CUDA-capable device(s) is/are busy or unavailable", "see `nvidia-smi` for who holds it, or name another GPU with CUDA_VISIBLE_DEVICES"),
    ("memory all taken", {"torch": fake_torch(count=1, error="CUDA out of memory. Tried to allocate 2.00 MiB."), "nvml": FakeNvml(FakeGpu(total=32 * GIB, free=GIB // 2)), "libcuda": True},
     "memory-taken", "31.5 GiB of the GPU's 32 GiB are taken already", "end what holds it (`nvidia-smi` lists it), or name another GPU with CUDA_VISIBLE_DEVICES"),
    ("anything else", {"torch": fake_torch(count=1, error="CUDA error: an illegal memory access was encountered"), **OWN}, "refused",
     "NVIDIA H200 does not compute: CUDA error: an illegal memory access was encountered",
     "see whether `python -c \"import torch; print(torch.ones(1, device='cuda') + 1)\"` works"),
]


@pytest.mark.parametrize(("given", "cause", "sentence", "cure"), [case[1:] for case in NOT_THIS], ids=[case[0] for case in NOT_THIS])
def test_why_not_this_gpu(place, given, cause, sentence, cure):
    seen = look(place, **given)
    assert said(seen) == [(cause, sentence, cure)]
    assert not causes.gpu_works(seen) and not causes.measurable(seen, causes.diagnose(seen))["gpu_time"]


def test_a_gpu_with_everything_has_nothing_to_say(place):
    seen = look(place, fake_torch(count=1), **OWN, files=NODES, try_traces=True)
    assert said(seen) == [] and causes.status(()) == 0
    assert set(causes.measurable(seen, ()).values()) == {True}


LIMITS = [
    ("cuDNN refuses", {"torch": fake_torch(count=1, cudnn="cuDNN version incompatibility: PyTorch was compiled against (9, 19, 0) but found runtime version (9, 10, 0)."), **OWN}, "cudnn",
     "torch cannot use cuDNN, so only its backend is lost: cuDNN version incompatibility: PyTorch was compiled against (9, 19, 0) but found runtime version (9, 10, 0).", "cudnn_backend"),
    ("others hold memory", {"torch": fake_torch(count=1, free=10 * GIB, total=32 * GIB), **OWN}, "memory-taken", "22 GiB of the GPU's 32 GiB are taken already", None),
    ("neighbours", {"torch": fake_torch(count=1), "nvml": FakeNvml(FakeGpu(pids=(1, 2, 3))), "libcuda": True}, "neighbours", "2 other processes compute on this GPU", None),
    ("no NVML", {"torch": fake_torch(count=1), "libcuda": True}, "no-clocks",
     "clocks, throttling and neighbours of the GPU stay unknown: NVML is not available (libnvidia-ml.so.1: cannot open shared object file)", "clocks_and_throttling"),
    ("counters for administrators", {"torch": fake_torch(count=1), **OWN, "files": {"proc/driver/nvidia/params": "RmProfilingAdminOnly: 1\n", "proc/self/status": "CapEff:\t0000000000000000\n"}},
     "counters-kept", "there are no hardware counters: the driver keeps them to administrators (ERR_NVGPUCTRPERM)", "hardware_counters"),
    ("counters on MIG", {"torch": fake_torch(count=1), "nvml": FakeNvml(FakeGpu(instances=("MIG-1",))), "libcuda": True}, "counters-mig",
     "there are no hardware counters: Nsight Compute may not count on a MIG instance", "hardware_counters"),
    ("no records", {"torch": fake_torch(count=1, records=False), **OWN, "try_traces": True}, "no-records", "the profiler gives no records of the GPU: it ran, and recorded no kernel", "kernels"),
    ("a sanitizer", {"torch": fake_torch(count=1), **OWN, "environment": {"COMPUTE_SANITIZER_INJECTION": "1"}}, "tools",
     "a profiler or a sanitizer watches this process (COMPUTE_SANITIZER_INJECTION), so times are its as well", None),
    ("launches that wait", {"torch": fake_torch(count=1), **OWN, "environment": {"CUDA_LAUNCH_BLOCKING": "1"}}, "blocking",
     "CUDA_LAUNCH_BLOCKING=1 makes every launch wait for the GPU, so host time is GPU time", None),
]


@pytest.mark.parametrize(("given", "cause", "sentence", "lost"), [case[1:] for case in LIMITS], ids=[case[0] for case in LIMITS])
def test_what_limits_a_report_on_a_gpu_that_works(place, given, cause, sentence, lost):
    seen = look(place, **given)
    notices = causes.diagnose(seen)
    assert [text[:2] for text in said(seen)] == [(cause, sentence)]
    assert causes.gpu_works(seen) and causes.status(notices) == 1
    assert [name for name, can in causes.measurable(seen, notices).items() if not can] == ([lost] if lost else [])


def test_counters_are_open_to_who_has_the_right(place):
    """CAP_SYS_ADMIN is bit 21 of the capabilities, CAP_PERFMON bit 38."""
    for capabilities in ("0000000000200000", "0000004000000000"):
        files = {"proc/driver/nvidia/params": "RmProfilingAdminOnly: 1\n", "proc/self/status": f"CapEff:\t{capabilities}\n"}
        assert said(look(place, fake_torch(count=1), **OWN, files=files)) == []


def test_counters_need_their_tool_and_nvidia(place, monkeypatch):
    monkeypatch.setattr(counters, "find", lambda: ())
    assert said(look(place, fake_torch(count=1), **OWN)) == [
        ("counter-tool", "there are no hardware counters: Nsight Compute (ncu) was not found", "install it with the CUDA toolkit and put it on the PATH")]
    rocm = look(place, fake_torch("2.13.0+rocm6.4", None, "6.4", count=1, archs=("gfx942",), gfx="gfx942:sramecc+", name=""), files=AMD_DRIVER)
    assert [text[0] for text in said(rocm)] == ["counters-rocm"]


def test_a_thread_that_cannot_be_pinned_and_busy_processors_are_told(place, monkeypatch):
    monkeypatch.setattr(machine, "_pinnable", lambda: False)
    monkeypatch.setattr(machine, "Processors", lambda: type("Busy", (), {"others": lambda self: 0.62})())
    assert said(look(place, fake_torch(count=1), **OWN)) == [
        ("unpinned", "the system does not let a thread stay on one processor, so host time moves more", "allow sched_setaffinity in the container, or read host times with that in mind"),
        ("busy-processors", "other processes take 62 % of the 16 processors (load 0.4), which makes host time longer and unsteady", "wait until the machine is quiet")]


def test_several_gpus_and_another_accelerator_are_told_and_are_no_limit(place):
    seen = look(place, fake_torch(count=2), **OWN)
    assert said(seen) == [("several-gpus", "torch sees 2 GPUs, and the first one is profiled: NVIDIA H200", "choose another one with CUDA_VISIBLE_DEVICES")]
    assert causes.status(causes.diagnose(seen)) == 0
    mac = look(place, fake_torch("2.13.0", None, mps=True))
    assert [text[:2] for text in said(mac)] == [
        ("no-gpu", "there is no NVIDIA or AMD GPU with a driver here, so the CPU is what can be profiled"),
        ("other-accelerator", "torch finds Apple's GPU (MPS), which is not profiled: this report knows CUDA, ROCm and the CPU")]


def test_a_cpu_that_was_asked_for_says_nothing_of_gpus(place):
    assert said(look(place, fake_torch("2.13.0+cpu", None), nvml=FakeNvml(), libcuda=True, wanted="cpu"), "cpu") == []


@pytest.mark.parametrize(("torch", "cause", "sentence", "cure"), [
    (ModuleNotFoundError("No module named 'torch'", name="torch"), "no-torch", "this Python has no torch",
     "activate the environment that has it, name its Python with PYTHON=…, or let `make report` create one"),
    (ImportError("libcudart.so.13: cannot open shared object file"), "torch-broken", "torch cannot be imported: libcudart.so.13: cannot open shared object file",
     "install torch anew in this Python, or name another Python with PYTHON=…"),
    (ModuleNotFoundError("No module named 'sympy'", name="sympy"), "torch-broken", "torch cannot be imported: No module named 'sympy'",
     "install torch anew in this Python, or name another Python with PYTHON=…"),
    (fake_torch("2.4.1+cu121"), "torch-too-old", "torch 2.4.1+cu121 is here, and profiling needs 2.5 or later", "name a Python with a newer torch: PYTHON=…"),
])
def test_where_nothing_can_be_measured_the_status_is_2(place, torch, cause, sentence, cure):
    seen = look(place, torch)
    notices = causes.diagnose(seen)
    assert said(seen)[0] == (cause, sentence, cure)
    assert causes.status(notices) == 2 and not any(causes.measurable(seen, notices).values())


def test_an_older_python_is_named(place, monkeypatch):
    monkeypatch.setattr("sys.version_info", (3, 9, 2, "final", 0))
    assert said(look(place, fake_torch("2.13.0+cpu", None)))[0] == ("python-too-old", "this is Python 3.9, and profiling needs 3.10 or later", "name a newer one that has torch: PYTHON=…")


def test_a_disk_that_takes_nothing_or_too_little_is_told(place, monkeypatch):
    (place / "docs").mkdir()
    seen = look(place, fake_torch("2.13.0+cpu", None), places=(("docs/runs", place / "docs" / "runs"),))
    assert [(one.name, one.error) for one in seen.places] == [("docs/runs", None)] and seen.places[0].free > 0

    def full(folder: Path) -> None:
        raise OSError(30, "Read-only file system", str(folder))

    monkeypatch.setattr("shutil.disk_usage", lambda folder: type("Usage", (), {"free": 2**20})())
    assert said(look(place, fake_torch("2.13.0+cpu", None), places=(("build", place / "build"),)))[0] == ("disk-full", "build has room for 1 MiB, and a report may write 200 MiB", "make room on that disk")
    monkeypatch.setattr("reportgen.company.disk.try_folder", full)
    assert said(look(place, fake_torch("2.13.0+cpu", None), places=(("build", place / "build"),)))[0] == (
        "disk", "build cannot be written to: the disk is read-only", "mend that, or use a checkout on a disk that can be written")


@pytest.mark.parametrize(("architectures", "capability", "runs"), [
    (("sm_80", "sm_90"), (9, 0), True), (("sm_80",), (8, 9), True), (("sm_80", "sm_86"), (9, 0), False), (("sm_86",), (8, 0), False), (("sm_80", "compute_90"), (12, 0), True),
    (("sm_90a",), (9, 0), True), (("sm_90a",), (9, 1), False), (("sm_100", "sm_120"), (12, 1), True), (("sm_100f",), (10, 3), False), (("gfx942",), (9, 0), False), ((), (9, 0), True),
])  # fmt: skip
def test_a_build_runs_on_its_architectures_and_on_later_ones_of_the_same_major_version(architectures, capability, runs):
    assert causes.runs_on(architectures, capability) is runs


def test_every_cause_has_words_and_each_of_them_is_tried():
    assert set(cause_words.WORDS) == set(Cause)


def test_what_a_person_reads(place):
    seen = look(place, fake_torch("2.13.0+cpu", None), nvml=FakeNvml(), libcuda=True, environment={"CUDA_VISIBLE_DEVICES": "0"})
    text = doctor.as_text(seen, causes.diagnose(seen))
    assert text.splitlines()[1:] == [
        "torch       2.13.0+cpu, built for the CPU",
        "kernels     sm_50 sm_60 sm_70 sm_75 sm_80 sm_86 sm_90 sm_100",
        "driver      NVIDIA 580.159.04, CUDA up to 13.0",
        "GPUs        NVIDIA H200",
        "used        the CPU",
        "visible     CUDA_VISIBLE_DEVICES=0",
        "",
        "measurable  wall and host time, traces",
        "not         GPU time, kernels, clocks and throttling, hardware counters, the cuDNN backend",
        "",
        "A report can be made, and it is limited:",
        "- there is an NVIDIA driver 580.159.04, and torch 2.13.0+cpu is built without CUDA, so it cannot use the GPU",
        f"  what to do: install a build of torch with CUDA {LOCALLY}"]


def test_what_a_program_reads_has_causes_values_and_no_identity(place):
    seen = look(place, fake_torch(count=1, error=BUSY), nvml=FakeNvml(FakeGpu(mode=3, pids=(7,))), libcuda=True,
                environment={"CUDA_VISIBLE_DEVICES": "GPU-11111111-aaaa-bbbb-cccc-000000000000"})
    told = json.loads(json.dumps(doctor.as_json(seen, causes.diagnose(seen))))
    assert (told["schema_version"], told["status"], told["measurable"]["traces"], told["measurable"]["gpu_time"]) == (1, 1, True, False)
    assert [(one["cause"], one["effect"], one["values"]["processes"]) for one in told["causes"]] == [("exclusive", "limits", 1)]
    assert told["seen"]["driver"]["gpus"][0]["compute_mode"] == "exclusive-process"
    assert told["seen"]["visible"] == {"CUDA_VISIBLE_DEVICES": "<uuid>"}
    assert "11111111-aaaa" not in json.dumps(told)
