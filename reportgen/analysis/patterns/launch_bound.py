"""A forward whose launches take longer than its work on the GPU."""

from __future__ import annotations

from dataclasses import dataclass

from ...trace import Forward


@dataclass(frozen=True)
class LaunchBound:
    """Seconds of one forward, both under the profiler, which lengthens the host's share.

    host_time: until the call returned; launch_time: inside the launching host calls alone
    gpu_time: that at least one activity ran
    """

    host_time: float
    launch_time: float
    gpu_time: float
    launches: int

    @property
    def bound(self) -> bool:
        """True if queueing the work took longer than doing it: a loop of such forwards waits for the CPU."""
        return self.host_time > self.gpu_time


def measure(forward: Forward) -> LaunchBound | None:
    """`None` where the trace has no GPU activity to compare with."""
    if not forward.activities:
        return None
    launched = {activity.launch.correlation: activity.launch for activity in forward.activities}
    return LaunchBound(forward.duration, sum(launch.duration for launch in launched.values()), busy_time(forward), len(launched))


def busy_time(forward: Forward) -> float:
    """Seconds in which at least one activity ran; activities may overlap, even on one stream."""
    total, reached = 0.0, float("-inf")
    for activity in sorted(forward.activities, key=lambda a: a.start):
        end = activity.start + activity.duration
        total += max(0.0, end - max(activity.start, reached))
        reached = max(reached, end)
    return total
