"""Environment variables that say that something beside the run was in its processes: a watching tool, or launches that wait."""

from __future__ import annotations

import re
from collections.abc import Mapping

BLOCKING = ("CUDA_LAUNCH_BLOCKING", "HIP_LAUNCH_BLOCKING", "AMD_SERIALIZE_KERNEL")
"""With one of these every launch waits until the GPU is done, so the host's time has the GPU's in it."""
TOOLS = re.compile(r"^(?:CUDA_INJECTION64_PATH|NVTX_INJECTION64_PATH|COMPUTE_SANITIZER_\w+|NV_SANITIZER_\w+|NV_COMPUTE_PROFILER_\w+|NV_NSIGHT_\w+|NSYS_\w+|QUADD_\w+|HSA_TOOLS_\w+"
                   r"|ROCP_\w+|ROCPROFILER_\w+|[ATU]B?SAN_\w+)$")
"""Variables that a profiler, a tracer or a sanitizer leaves in the processes that it watches."""


def blocking(given: Mapping[str, str]) -> tuple[str, ...]:
    """Which of the variables make every launch wait.

    >>> blocking({"CUDA_LAUNCH_BLOCKING": "1", "HIP_LAUNCH_BLOCKING": "0"})
    ('CUDA_LAUNCH_BLOCKING',)
    """
    return tuple(name for name in BLOCKING if given.get(name, "0") not in ("", "0"))


def tools(given: Mapping[str, str]) -> tuple[str, ...]:
    """Which of the variables say that a profiler, a tracer or a sanitizer watches the process."""
    preloaded = given.get("LD_PRELOAD", "")
    found = (name for name in sorted(given) if TOOLS.fullmatch(name) and given[name] != "")
    return (*found, *(("LD_PRELOAD",) if re.search(r"sanitizer|asan|tsan|nsys|vtune|injection|heaptrack|jemalloc_prof", preloaded) else ()))
