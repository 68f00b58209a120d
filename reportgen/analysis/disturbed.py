"""What beside the run was in its processes, so that their host time is not what a call costs."""

from __future__ import annotations

from collections.abc import Mapping

from ..run import Run, disturbance

HOST_QUANTITIES = ("host_time", "profiled_host_time", "first_call", "first_call_alone", "first_call_new_shape")
"""Times that end when the call returns: with launches that wait, the GPU's work is in them."""
WATCHED, BUSY = "tools", "busy-processors"
"""What a capture calls a notice about a watching tool, and one about busy processors (see `Noticed`)."""


def launches_wait(run: Run) -> tuple[str, ...]:
    """The variables that made every launch wait for the GPU; empty on a CPU, which has no launches."""
    return () if run.device.kind == "cpu" else disturbance.blocking(_environment(run))


def watched_by(run: Run) -> tuple[str, ...] | None:
    """The variables that a profiler, a tracer or a sanitizer left; empty where only the capture noticed it, `None` where nothing watched."""
    found = disturbance.tools(_environment(run))
    return found if found or any(notice.cause == WATCHED for notice in run.noticed) else None


def _environment(run: Run) -> Mapping[str, str]:
    found = run.settings.get("environment")
    return found if isinstance(found, Mapping) else {}
