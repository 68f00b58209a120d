"""What is said of each cause: one sentence of what is wrong, and one of what to do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..saying.units import Bytes, listed, plural
from .causes import LEAST_PYTHON, LEAST_TORCH, Cause, Notice

Values = Mapping[str, Any]
MEASURES = {"wall_and_host_time": "wall and host time", "traces": "traces", "gpu_time": "GPU time", "kernels": "kernels", "clocks_and_throttling": "clocks and throttling",
            "hardware_counters": "hardware counters", "cudnn_backend": "the cuDNN backend"}
"""What `causes.measurable` names."""
_ACCELERATORS = {"mps": "Apple's GPU (MPS)", "xpu": "an Intel GPU (XPU)"}
_DRIVERS = {"nvidia": "install NVIDIA's driver, or load it (`modprobe nvidia`); `nvidia-smi` tells whether it works", "amd": "install ROCm with its driver (amdgpu); `rocminfo` tells whether it works",
            "wsl": "install NVIDIA's driver for Windows, which brings the one for WSL; `nvidia-smi` tells whether it works"}
TORCH_FOR_IT = "or name a Python whose torch fits: PYTHON=…"
WORDS: dict[Cause, tuple[Callable[[Values], str], Callable[[Values], str]]] = {
    Cause.PYTHON_TOO_OLD: (lambda v: f"this is Python {v['python']}, and profiling needs {_version(LEAST_PYTHON)} or later", lambda v: "name a newer one that has torch: PYTHON=…"),
    Cause.NO_TORCH: (lambda v: "this Python has no torch", lambda v: "activate the environment that has it, name its Python with PYTHON=…, or let `make report` create one"),
    Cause.TORCH_BROKEN: (lambda v: f"torch cannot be imported: {v['error']}", lambda v: "install torch anew in this Python, or name another Python with PYTHON=…"),
    Cause.TORCH_TOO_OLD: (lambda v: f"torch {v['torch']} is here, and profiling needs {_version(LEAST_TORCH)} or later", lambda v: "name a Python with a newer torch: PYTHON=…"),
    Cause.DISK: (lambda v: f"{v['place']} cannot be written to: {v['error']}", lambda v: "mend that, or use a checkout on a disk that can be written"),
    Cause.DISK_FULL: (lambda v: f"{v['place']} has room for {Bytes(v['free'])}, and a report may write {Bytes(v['needed'])}", lambda v: "make room on that disk"),
    Cause.NO_GPU: (lambda v: "there is no NVIDIA or AMD GPU with a driver here, so the CPU is what can be profiled", lambda v: "run it on a machine with a GPU to see kernels and GPU time"),
    Cause.NO_DRIVER: (lambda v: _no_driver(v), lambda v: _DRIVERS[v["vendor"]]),
    Cause.DRIVER_MISMATCH: (lambda v: f"the NVIDIA driver in the kernel{_bracketed(v['kernel'])} is of another version than its libraries, as after an update",
                            lambda v: "restart the machine, or reload the driver's modules"),
    Cause.DRIVER_TOO_OLD: (lambda v: f"the NVIDIA driver{_spaced(v['version'])}{_runs(v['runs'])} is too old for torch {v['torch']}, which is built for CUDA {v['built']}{_said(v)}",
                           lambda v: f"update the driver, or install a torch that is built for {'CUDA ' + v['runs'] if v['runs'] else 'an older CUDA'}"),
    Cause.TORCH_WITHOUT_CUDA: (lambda v: f"there is an NVIDIA driver{_spaced(v['version'])}, and torch {v['torch']} is built without CUDA, so it cannot use the GPU",
                               lambda v: f"install a build of torch with CUDA (https://pytorch.org/get-started/locally/ gives the command), {TORCH_FOR_IT}"),
    Cause.TORCH_WITHOUT_ROCM: (lambda v: f"there is an AMD driver, and torch {v['torch']} is built without ROCm, so it cannot use the GPU",
                               lambda v: f"install a build of torch with ROCm (https://pytorch.org/get-started/locally/ gives the command), {TORCH_FOR_IT}"),
    Cause.OTHER_VENDOR: (lambda v: f"torch {v['torch']} is built for {v['built']}, and the driver here is {v['driver']}'s",
                         lambda v: f"install a build of torch for {'CUDA' if v['driver'] == 'NVIDIA' else 'ROCm'}, {TORCH_FOR_IT}"),
    Cause.NOT_IN_CONTAINER: (lambda v: "the GPU's driver is here and its device files are not: this container was started without access to the GPU",
                             lambda v: "start the container with the GPU: `--gpus all`, with ROCm `--device /dev/kfd --device /dev/dri`"),
    Cause.DENIED: (lambda v: f"this account may not open the GPU's device files ({'/dev/kfd' if v['vendor'] == 'amd' else '/dev/nvidia*'})",
                   lambda v: "join the groups `render` and `video`, and log in again" if v["vendor"] == "amd" else "ask who runs the machine for the right to use them"),
    Cause.NOT_ALLOCATED: (lambda v: "this Slurm job was given no GPU", lambda v: "ask for one: `--gres=gpu:1`"),
    Cause.HIDDEN: (lambda v: f"{v['name']}={v['value'] or '(empty)'} hides {plural(v['gpus'], 'GPU') if v['gpus'] else 'every GPU'} from torch", lambda v: _unhide(v)),
    Cause.NOT_SEEN: (lambda v: f"there is an {v['vendor']} driver{_spaced(v['version'])}, and torch {v['torch']} finds no GPU{_said(v)}{_also(v['refusal'])}",
                     lambda v: f"see whether `{'nvidia-smi' if v['vendor'] == 'NVIDIA' else 'rocminfo'}` lists one"),
    Cause.ARCHITECTURE: (lambda v: _architecture(v), lambda v: f"install a build of torch that holds {v['wants'] or 'its architecture'} (newer GPUs need one for a newer CUDA, older ones "
                                                               f"one for an older), {TORCH_FOR_IT}"),
    Cause.PROHIBITED: (lambda v: f"{v['name']} is set to compute mode `prohibited`: no process may compute on it", lambda v: "as root: `nvidia-smi -c DEFAULT`"),
    Cause.EXCLUSIVE: (lambda v: f"{v['name']} is in exclusive mode, and {_holders(v['processes'])}",
                      lambda v: "wait until it is free, name another GPU with CUDA_VISIBLE_DEVICES, or as root: `nvidia-smi -c DEFAULT`"),
    Cause.BUSY: (lambda v: f"{v['name']} does not take this process: {v['said']}", lambda v: "see `nvidia-smi` for who holds it, or name another GPU with CUDA_VISIBLE_DEVICES"),
    Cause.MEMORY_TAKEN: (lambda v: _taken(v), lambda v: "end what holds it (`nvidia-smi` lists it), or name another GPU with CUDA_VISIBLE_DEVICES"),
    Cause.REFUSED: (lambda v: f"{v['name'] or 'the GPU'} does not compute: {v['said']}", lambda v: "see whether `python -c \"import torch; print(torch.ones(1, device='cuda') + 1)\"` works"),
    Cause.CUDNN: (lambda v: f"torch cannot use cuDNN, so only its backend is lost: {v['said']}",
                  lambda v: "take other cuDNN libraries off LD_LIBRARY_PATH, or leave GPUs that this cuDNN does not know out of CUDA_VISIBLE_DEVICES"),
    Cause.NO_CLOCKS: (lambda v: f"clocks, throttling and neighbours of the GPU stay unknown: {v['refusal']}", lambda v: "make the driver's library libnvidia-ml.so.1 visible here"),
    Cause.COUNTER_TOOL: (lambda v: "there are no hardware counters: Nsight Compute (ncu) was not found", lambda v: "install it with the CUDA toolkit and put it on the PATH"),
    Cause.COUNTERS_KEPT: (lambda v: "there are no hardware counters: the driver keeps them to administrators (ERR_NVGPUCTRPERM)",
                          lambda v: f"{'start the container with --cap-add=SYS_ADMIN' if v['container'] else 'run as root, or load the driver with NVreg_RestrictProfilingToAdminUsers=0'}; "
                                    "see https://developer.nvidia.com/ERR_NVGPUCTRPERM"),
    Cause.COUNTERS_MIG: (lambda v: "there are no hardware counters: Nsight Compute may not count on a MIG instance", lambda v: "record on a whole GPU to have them"),
    Cause.COUNTERS_ROCM: (lambda v: "there are no hardware counters: they come from Nsight Compute, which counts on NVIDIA GPUs only", lambda v: "nothing; the report is whole without them"),
    Cause.NO_RECORDS: (lambda v: f"the profiler gives no records of the GPU: {v['said']}",
                       lambda v: "end other profilers, take other CUDA libraries off LD_LIBRARY_PATH, and start a container with `--cap-add=SYS_ADMIN`"),
    Cause.NEIGHBOURS: (lambda v: f"{plural(v['count'], 'other process computes', 'other processes compute')} on this GPU", lambda v: "wait until it is alone, or every time is suspect"),
    Cause.BUSY_PROCESSORS: (lambda v: f"other processes take {round(100 * v['share'])} % of the {plural(v['processors'], 'processor')}{_load(v['load'])}, which makes host time longer and unsteady",
                            lambda v: "wait until the machine is quiet"),
    Cause.TOOLS: (lambda v: f"a profiler or a sanitizer watches this process ({listed(v['names'])}), so times are its as well", lambda v: "start the report outside of it"),
    Cause.BLOCKING: (lambda v: f"{listed(v['names'])} makes every launch wait for the GPU, so host time is GPU time", lambda v: "unset it, unless that is what you want to see"),
    Cause.UNPINNED: (lambda v: "the system does not let a thread stay on one processor, so host time moves more", lambda v: "allow sched_setaffinity in the container, or read host times with that in mind"),
    Cause.OTHER_ACCELERATOR: (lambda v: f"torch finds {_ACCELERATORS[v['name']]}, which is not profiled: this report knows CUDA, ROCm and the CPU", lambda v: "nothing; the report is of the CPU"),
    Cause.SEVERAL_GPUS: (lambda v: f"torch sees {plural(v['count'], 'GPU')}, and the first one is profiled: {v['name']}", lambda v: "choose another one with CUDA_VISIBLE_DEVICES"),
}
def sentence(notice: Notice) -> str:
    """What is wrong, without a full stop."""
    return WORDS[notice.cause][0](notice.values)


def cure(notice: Notice) -> str:
    """What to do about it."""
    return WORDS[notice.cause][1](notice.values)


def _version(parts: tuple[int, ...]) -> str:
    return ".".join(map(str, parts))


def _spaced(text: str | None) -> str:
    return f" {text}" if text else ""


def _bracketed(text: str | None) -> str:
    return f" ({text})" if text else ""


def _said(values: Values) -> str:
    """torch's own words behind ours."""
    return f"; torch says: {values['said'].rstrip('.')}" if values.get("said") else ""


def _also(refusal: str | None) -> str:
    return f"; {refusal}" if refusal else ""


def _runs(newest: str | None) -> str:
    return f", which runs CUDA up to {newest}," if newest else ""


def _load(load: float | None) -> str:
    return f" (load {load:g})" if load is not None else ""


def _no_driver(values: Values) -> str:
    if values["vendor"] == "wsl":
        return f"this is WSL, and Windows' NVIDIA driver is not in it{_said(values)}"
    return f"there is an {'NVIDIA' if values['vendor'] == 'nvidia' else 'AMD'} GPU, and its driver is not loaded{_said(values)}"


def _unhide(values: Values) -> str:
    if not values["gpus"]:
        return f"unset {values['name']}"
    return f"unset {values['name']}, or give it {'0' if values['gpus'] == 1 else 'a number from 0 to ' + str(values['gpus'] - 1)}"


def _holders(count: int | None) -> str:
    return f"{plural(count, 'other process', 'other processes')} {'holds' if count == 1 else 'hold'} it" if count else "another process holds it"


def _architecture(values: Values) -> str:
    if not values["has"]:
        return f"torch {values['torch']} holds no kernel for {values['name']}, so nothing runs on it"
    wants = f"is {values['wants']}" if values["wants"] else "is none of them"
    return f"torch {values['torch']} holds kernels for {listed(values['has'])}, and {values['name']} {wants}, so nothing runs on it"


def _taken(values: Values) -> str:
    if values["taken"] is None:
        return f"the GPU's memory is taken: {values['said']}"
    return f"{Bytes(values['taken'])} of the GPU's {Bytes(values['total'])} are taken already"
