"""Hardware counters of every kernel of one forward per variant, through Nsight Compute (`ncu`).

Whatever goes wrong is a reason with its cure, never an error: a report without counters is whole.
Clocks and caches are left as they are (`--clock-control none --cache-control none`), so the kernels
run under the conditions of the timed forwards and no setting of the device is touched.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..company import parents
from ..run.workload import Workload
from . import counter_report, counter_target, libraries, mask_step, operands
from .counter_report import MASK_STEP

METRICS = (
    "dram__bytes_read.sum",
    "dram__bytes_write.sum",
    "lts__t_bytes.sum",
    "gpu__time_duration.sum",
    "sm__maximum_warps_per_active_cycle_pct",
    "sm__warps_active.avg.pct_of_peak_sustained_active",
    "launch__registers_per_thread",
    "launch__shared_mem_per_block_static",
    "launch__shared_mem_per_block_dynamic",
    "launch__shared_mem_per_block_driver",
    "launch__occupancy_limit_registers",
    "launch__occupancy_limit_shared_mem",
    "launch__occupancy_limit_warps",
    "launch__occupancy_limit_blocks",
)
PIPE_METRICS = (
    "sm__inst_executed.sum",
    "sm__inst_issued.avg.pct_of_peak_sustained_active",
    "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active",
    "sm__inst_executed_pipe_xu.avg.pct_of_peak_sustained_active",
    "sm__inst_executed_pipe_alu.avg.pct_of_peak_sustained_active",
)
"""What the SMs do with their cycles: warp instructions, issue slots busy, and how busy the pipes for matrices, for exponentials and
for integers and comparisons are. They may cost one more replay of each kernel (`passes` in the record says how many there were)."""
TENSOR_METRICS = {
    "bfloat16": "sm__ops_path_tensor_src_bf16_dst_fp32.sum",
    "float16": "sm__ops_path_tensor_src_fp16.sum",
    "tf32": "sm__ops_path_tensor_src_tf32_dst_fp32.sum",
}
"""Operations done on Tensor Cores by source type. These count mathematics; the instruction counters
of the tensor pipe do not, they include packed half-precision arithmetic. Not every chip has them."""
PLACES = ("/usr/local/cuda/bin/ncu", "/opt/nvidia/nsight-compute/*/ncu", "/usr/local/cuda*/nsight-compute*/ncu")
LIMIT_SECONDS = 60.0
ROOT = Path(__file__).resolve().parents[2]
TRIED = 3
"""How many of the tools that are installed are tried, where one does not know the GPU or does not start."""
_ANOTHER_MAY = re.compile("does not know the GPU|could not be started|no table")
LONGEST_LINE = 200
GUIDE = "https://developer.nvidia.com/ERR_NVGPUCTRPERM"

Outcome = tuple[dict[str, Any] | None, str | None]


def measure(
    variant_ids: Sequence[str],
    device: str,
    workload: Workload,
    python: str = sys.executable,
    limit_s: float = LIMIT_SECONDS,
    mode: str = "auto",
    gate: Path | None = None,
) -> Outcome:
    """`(counters, None)` or `(None, reason with its cure)`; never raises for what the tool does.

    counters: `{"tool", "passes", "metrics", "missing", "variants": {id: [kernel, …]}, "mask_step": {op: [kernel, …]}}`, see
    `counter_report.parse` and `mask_step`.
    Copies and memsets are no kernels and do not appear. A variant that did not run is absent.

    Args:
        mode: `auto` and `on` take counters, `off` does not.
        limit_s: seconds after which the tool and all that it started is ended; they begin when the gate is open.
        gate: a file; the tool is started at once, and the GPU is left alone until somebody has made that file.
    """
    if mode == "off":
        return None, "turned off; to take counters, leave COUNTERS at auto"
    missing = _why_not_here(device)
    tools = () if missing else find()
    if missing or not tools:
        return None, missing or "Nsight Compute (ncu) was not found; install it with the CUDA toolkit and put it on the PATH"
    target = [python, "-m", "reportgen.capture.counter_target", device, json.dumps(workload.to_json()), str(gate or counter_target.NO_GATE), *variant_ids]
    tensor = tensor_metrics(workload, _tf32_allowed())
    metrics = (*METRICS, *PIPE_METRICS, *tensor)
    first: str | None = None
    for tool in tools[:TRIED]:
        result, reason = _attempt(tool, target, metrics, limit_s, gate)
        for fewer in ((*METRICS, *tensor), (*METRICS, *PIPE_METRICS), METRICS):
            if result is None and reason and _UNKNOWN_METRIC.search(reason):
                result, reason = _attempt(tool, target, fewer, limit_s, gate)
        if result is not None:
            result["missing"] = [name for name in metrics if name not in result["metrics"]]
            return {"tool": version(tool), **_apart(result)}, None
        first = first or reason
        if not reason or not _ANOTHER_MAY.search(reason):
            break
    return None, first


def _apart(result: dict[str, Any]) -> dict[str, Any]:
    """The table with the ops of the mask step beside the variants."""
    steps = {name: f"{MASK_STEP}{name}" for name in mask_step.OPS}
    variants = {name: kernels for name, kernels in result["variants"].items() if name not in steps.values()}
    counted = {name: result["variants"][place] for name, place in steps.items() if place in result["variants"]}
    return {**result, "variants": variants, "mask_step": counted}


def tensor_metrics(workload: Workload, tf32_allowed: bool) -> tuple[str, ...]:
    """The source types that a kernel of this workload can feed to Tensor Cores.

    Only these, since each further type costs passes: with all three an H200 replays every kernel
    five times instead of once. FP32 reaches Tensor Cores only as TF32, where that is allowed.
    """
    types = (workload.dtype, *(["tf32"] if tf32_allowed else []))
    return tuple(TENSOR_METRICS[name] for name in types if name in TENSOR_METRICS)


def _tf32_allowed() -> bool:
    import torch

    return bool(torch.backends.cuda.matmul.allow_tf32) or os.environ.get("NVIDIA_TF32_OVERRIDE") == "1"


def _why_not_here(device: str) -> str | None:
    if not operands.is_gpu(device):
        return "there is no GPU, and Nsight Compute counts on NVIDIA GPUs only"
    import torch

    if torch.version.hip:
        return "Nsight Compute counts on NVIDIA GPUs only, and this is ROCm"
    return None


def find() -> tuple[str, ...]:
    """Where `ncu` is, the one to try first first: on the PATH, then in its usual places, newer ones before older ones."""
    on_path = shutil.which("ncu")
    places = (file for place in PLACES for file in sorted(Path("/").glob(place.lstrip("/")), reverse=True))
    found = [*([on_path] if on_path else []), *(str(file) for file in places if os.access(file, os.X_OK))]
    once: dict[str, str] = {}
    for file in found:
        once.setdefault(os.path.realpath(file), file)
    return tuple(once.values())


def version(tool: str) -> str | None:
    """`Nsight Compute 2025.3.1.0`, or `None` where the tool does not say."""
    try:
        done = subprocess.run([tool, "--version"], capture_output=True, text=True, errors="replace", timeout=10)
    except (OSError, subprocess.SubprocessError):
        return None
    match = re.search(r"Version\s+([\d.]+)", done.stdout)
    return f"Nsight Compute {match[1]}" if match else None


def command(tool: str, target: Sequence[str], metrics: Sequence[str], log: Path) -> list[str]:
    """The command line: counters of the kernels inside our ranges, as a raw CSV table."""
    return [
        tool, "--target-processes", "all", "--clock-control", "none", "--cache-control", "none",
        "--nvtx", "--nvtx-include", f"regex:{counter_report.RANGE_PREFIX}.*/",
        "--metrics", ",".join(metrics), "--csv", "--page", "raw", "--log-file", str(log), *target,
    ]  # fmt: skip


def _attempt(tool: str, target: Sequence[str], metrics: Sequence[str], limit_s: float, gate: Path | None) -> Outcome:
    with tempfile.TemporaryDirectory(prefix="counters-") as folder:
        log, printed = Path(folder) / "ncu.csv", Path(folder) / "printed.txt"
        try:
            code = _run(command(tool, target, metrics, log), printed, limit_s, gate)
        except OSError as error:
            return None, f"Nsight Compute could not be started ({error.strerror}); install it anew"
        report = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
        said = report + "\n" + printed.read_text(encoding="utf-8", errors="replace")
    if code is None:
        return None, f"Nsight Compute did not finish within {limit_s:g} s and was ended; look whether another tool holds the GPU"
    try:
        return {**counter_report.parse(report, metrics), "passes": counter_report.passes(said)}, None
    except counter_report.Unreadable as problem:
        return None, explain(said, code) or f"Nsight Compute's output could not be read ({problem}); run `ncu --version` to see whether it works"


def _run(arguments: list[str], printed: Path, limit_s: float, gate: Path | None = None) -> int | None:
    """The exit status, or `None` if it ran too long once the gate was open. Everything that it started is ended in any case.

    Output goes to a file: a grandchild that outlives the tool would keep a pipe open for ever.
    """
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])),
                   "TMPDIR": str(printed.parent)}  # the tool's lock file may belong to another user in /tmp
    with open(printed, "wb") as out:
        process = subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, cwd=ROOT, env=environment,
                                   start_new_session=True, preexec_fn=parents.killed_with_parent)
        try:
            while gate is not None and not gate.exists() and process.poll() is None:
                time.sleep(counter_target.GATE_LOOK)
            return process.wait(timeout=limit_s)
        except subprocess.TimeoutExpired:
            return None
        finally:
            _end_group(process)


def _end_group(process: subprocess.Popen[bytes]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass
    process.wait()


_UNKNOWN_METRIC = re.compile(r"metric", re.IGNORECASE)
_EXPLANATIONS = (
    (r"ERR_NVGPUCTRPERM|permission to access NVIDIA GPU Performance Counters", None),
    (r"driver resource was unavailable|DCGM|MULTIPLE_SUBSCRIBERS|another (?:tool|profiler)|already (?:attached|being profiled)",
     "another profiler holds the counters; end it (DCGM: `dcgmi profiling --pause`) and record again"),
    (r"\bMIG\b|multi-instance",
     "Nsight Compute cannot count on this MIG instance; record on a whole GPU"),
    (r"No kernels were profiled",
     "Nsight Compute saw no kernel of an annotated forward; see whether the variants run at all"),
    (r"not supported (?:on|for|by) (?:this )?(?:GPU|device|chip|driver)|(?:GPU|device|chip)[^\n]*(?:not supported|unsupported)|unsupported (?:GPU|device|driver)|driver[^\n]*(?:not supported|incompatible)",
     "this version of Nsight Compute does not know the GPU or its driver; install the one of the CUDA toolkit in use"),
    (r"No module named|ModuleNotFoundError|Traceback \(most recent call last\)",
     "the forward that was to be counted did not run under Nsight Compute; try `make profile COUNTERS=off`"),
)  # fmt: skip


def explain(said: str, code: int) -> str | None:
    """Why the tool gave no table, with the cure, from what it printed; `None` if it printed nothing of use."""
    for pattern, reason in _EXPLANATIONS:
        if re.search(pattern, said, re.IGNORECASE):
            return reason or _permission()
    error = re.search(r"^==ERROR==\s*(.+)$", said, re.MULTILINE)
    if error:
        return f"Nsight Compute refused: {error[1].strip().rstrip('.')}"
    if not code:
        return None
    lines = [line.strip() for line in said.splitlines() if line.strip() and not line.startswith("==PROF==")]
    words = f"; its last line: {lines[-1][:LONGEST_LINE]}" if lines else ""
    return f"Nsight Compute ended with status {code} and no table{words}; run `ncu --version` to see whether it works"


def _permission() -> str:
    refused = "the driver keeps hardware counters to administrators (ERR_NVGPUCTRPERM)"
    if libraries.in_container():
        return f"{refused}; start the container with --cap-add=SYS_ADMIN, or see {GUIDE}"
    return f"{refused}; run as root, or load the driver with NVreg_RestrictProfilingToAdminUsers=0, see {GUIDE}"
