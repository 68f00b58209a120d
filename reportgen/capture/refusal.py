"""torch's own words for why something did not run: the error, and the warnings that came before it."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

LONGEST = 600
_TRIGGERED = re.compile(r"\s*\(Triggered internally at .*?\)\s*$", re.DOTALL)
_BROKE = re.compile(r"CUDA error|cuDNN (?:Frontend )?error|CUDNN_STATUS|HIP error|out of memory|INTERNAL ASSERT|illegal", re.IGNORECASE)
"""What torch says when a call broke off, and did not just decline the inputs."""
_NO_BACKEND = re.compile(r"No (?:available|viable) (?:kernel|backend)", re.IGNORECASE)


class Refusal:
    """What `listening` heard.

    error: the exception, or `None` if the block ran
    reason: one line for a person, or `None` if the block ran
    status: `ok`, `unavailable` (torch has no such kernel here) or `failed` (anything else)
    """

    def __init__(self) -> None:
        self.error: Exception | None = None
        self.warnings: list[str] = []

    @property
    def reason(self) -> str | None:
        return explain(self.error, self.warnings) if self.error else None

    @property
    def out_of_memory(self) -> bool:
        """Of the host's or the device's memory: torch has a class for the latter, which its compiler wraps in its own."""
        return isinstance(self.error, MemoryError) or type(self.error).__name__ == "OutOfMemoryError" or "out of memory" in str(self.error).lower()

    @property
    def declined(self) -> bool:
        """Whether torch, or what stands beside it, would not take the inputs, in contrast to a call that broke off."""
        return isinstance(self.error, (RuntimeError, ValueError)) and not _BROKE.search(str(self.error))

    @property
    def status(self) -> str:
        if self.error is None:
            return "ok"
        return "unavailable" if _NO_BACKEND.search(str(self.error)) else "failed"


GPU_ONLY = ("efficient", "cudnn")
"""Backends that torch has no CPU kernel for."""


def on_a_cpu(backend: str | None, reason: str | None) -> str | None:
    """`reason` with what it means in front, where a CPU refused a backend that only GPUs have.

    There torch says that math and fused kernels were turned off, which is what the pin does and explains nothing.
    """
    if backend in GPU_ONLY and reason and _NO_BACKEND.search(reason):
        return f"torch has this backend on GPUs only: {reason}"
    return reason


@contextmanager
def listening() -> Iterator[Refusal]:
    """Runs a block that torch may refuse; afterwards the refusal tells whether and why.

    SDPA explains a refused backend by warnings and raises a bare "No available kernel", so the
    warnings are the reason.
    """
    heard = Refusal()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield heard
        except Exception as error:  # noqa: BLE001 - whatever torch raises is the answer
            heard.error = error.with_traceback(None)  # its frames would keep the tensors of a refused forward alive
    heard.warnings = [str(warning.message) for warning in caught]


def explain(error: Exception, warned: list[str]) -> str:
    """The error's first line and each distinct warning, without source positions."""
    first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    told = [_TRIGGERED.sub("", text).strip() for text in warned] if _NO_BACKEND.search(first) else []
    parts = list(dict.fromkeys([first, *(" ".join(text.split()) for text in told if text)]))
    text = " ".join(part if part.endswith((".", "!", "?")) else f"{part}." for part in parts)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
