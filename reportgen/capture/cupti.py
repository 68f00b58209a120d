"""Why the profiler keeps no GPU record: Kineto's own words on standard error, and the usual cures."""

from __future__ import annotations

import re

LOG_LEVEL = "2"
"""`KINETO_LOG_LEVEL` from which on Kineto speaks: warnings. Children's standard error goes to a file, so nobody is disturbed."""
_PREFIX = re.compile(r"^\s*(?:\[?\w+\]?:?\s*)?\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[.\d]* \d+:\d+ [\w.]+:\d+\]\s*")
_TELLING = re.compile(r"cupti|roctracer|rocprof|profiler activities will be missing", re.IGNORECASE)
_STAGE = re.compile(r"^\s*\[?(?:STAGE|INFO)\b")
LONGEST, MOST = 300, 2
_CURES = (
    (re.compile("MULTIPLE_SUBSCRIBERS|already", re.I), "stop whatever else profiles this GPU (Nsight, DCGM, another profiler)"),
    (re.compile("INSUFFICIENT_PRIVILEGES|permission", re.I),
     "allow profiling: in a container --cap-add=SYS_ADMIN, on the host the driver's option NVreg_RestrictProfilingToAdminUsers=0"),
    (re.compile("LIBRARY|version|not.?found|undefined symbol|NOT_INITIALIZED", re.I), "unset LD_LIBRARY_PATH, which may put another CUDA's libcupti before torch's own"),
)


def complaints(text: str) -> tuple[str, ...]:
    """What Kineto and CUPTI complained of in a process's standard error, without time stamps and file names, each once."""
    lines = [line for line in text.splitlines() if _TELLING.search(line) and not _STAGE.match(line)]
    return tuple(dict.fromkeys(_PREFIX.sub("", line).strip()[:LONGEST] for line in lines))[:MOST]


def cures(said: tuple[str, ...]) -> str:
    """What helps: the cure that fits what was said, or the three usual ones."""
    fitting = [cure for pattern, cure in _CURES if any(pattern.search(line) for line in said)]
    return "; or ".join(fitting[:1] or [cure for _, cure in _CURES])
