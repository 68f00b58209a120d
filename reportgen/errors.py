"""The few errors a user can meet. Each says what happened, where, and what to do next."""

from __future__ import annotations


class ReportError(Exception):
    """An error for the user's eyes: one line of what is wrong, one line of cure.

    `cli.main` prints it without a traceback and exits with status 2.
    """

    def __init__(self, problem: str, *, where: str | None = None, cure: str | None = None) -> None:
        self.problem = problem
        self.where = where
        self.cure = cure
        super().__init__(str(self))

    def __str__(self) -> str:
        text = f"{self.where}: {self.problem}" if self.where else self.problem
        return f"{text}\n  what to do: {self.cure}" if self.cure else text


class RunInvalid(ReportError):
    """A recorded run does not satisfy its schema, or is newer than this program."""


class TraceMalformed(ReportError):
    """A trace file cannot be read as a Kineto JSON trace; names the file and the event."""


class DeviceUnavailable(ReportError):
    """The device that was asked for is not there (no CUDA, no torch, no such ordinal)."""


class CaptureFailed(ReportError):
    """Profiling ended without a run; the former run, if any, is untouched."""


class PageMismatch(ReportError):
    """A committed page is not what the committed runs render to (`make check`)."""


class Told(Exception):
    """A process that was started has failed and has said why; there is nothing to add. The exit status is 2."""
