"""What torch answered when it was asked about a call: its pick, each backend's price or refusal, and the same for what can be written instead.

Recorded beside the map, in the same form of file: a header, then one line per call.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from ..run.ranges import Seconds
from . import record
from .asked import Asked, Change
from .record import Header, Reading

WHY_FILE = "why.jsonl"
MARGIN = 0.03
"""Of its time: what is less apart is a tie, whatever the rounds say."""
_NO_BACKEND = re.compile(r"^No (?:available|viable) (?:kernel|backend)[^.]*\.(?:\s*Aborting execution\.)?\s*")
_SECTION = re.compile(r"(Memory efficient|Flash attention|cuDNN attention|CuDNN attention) kernel not used because:\.?\s*")
_HEADINGS = {"memory efficient": "efficient", "flash attention": "flash", "cudnn attention": "cudnn"}
_OFF = re.compile(r"(?:Memory Efficient attention|Flash Attention|[Cc]u[Dd][Nn][Nn] [Aa]ttention) has been runtime disabled\.\s*", re.IGNORECASE)


@dataclass(frozen=True)
class Changed:
    """The same call after one change. picked: what torch takes then"""

    change: Change
    asked: Asked
    picked: str | None
    readings: tuple[Reading, ...]


@dataclass(frozen=True)
class Answer:
    """seconds: that asking took; checked: as a point's; changed: everything that `asked.changes` names"""

    asked: Asked
    picked: str | None
    readings: tuple[Reading, ...]
    seconds: Seconds
    checked: tuple[int, ...] = ()
    changed: tuple[Changed, ...] = ()


@dataclass(frozen=True)
class Answers:
    header: Header
    answers: tuple[Answer, ...]


def read(file: Path) -> Answers:
    """The answers in `file`, each call once, the first of it.

    Raises:
        RunInvalid: names the file, the line and the field.
    """
    header, found = record.lines(file, Answer)
    once: dict[Asked, Answer] = {}
    for answer in found:
        once.setdefault(answer.asked, answer)
    return Answers(header, tuple(once.values()))


def price(reading: Reading | None) -> float | None:
    """Seconds of a call in the median round; `None` where it is not right or was not timed."""
    return median(reading.gpu) if reading is not None and reading.state == "ok" and reading.gpu else None


def pace(reading: Reading | None) -> float | None:
    """Seconds per call of a loop that launches call by call: the GPU's, or what a call costs the CPU where that is longer; `None` where either is not known.

    >>> pace(Reading("flash", "ok", gpu=(2.0,), host=(3.0,))), pace(Reading("flash", "ok", gpu=(2.0,)))
    (3.0, None)
    """
    gpu = price(reading)
    return None if gpu is None or reading is None or not reading.host else max(gpu, median(reading.host))


def beats(one: Reading, other: Reading, margin: float = MARGIN) -> bool:
    """Whether every round of `one` is faster than every round of `other`, and their medians are further apart than `margin`.

    >>> fast, near = Reading("flash", "ok", gpu=(1.0, 1.01)), Reading("cudnn", "ok", gpu=(1.02, 1.03))
    >>> beats(fast, near), beats(fast, near, 0.01), beats(fast, Reading("math", "ok", gpu=(1.0, 9.0)))
    (False, True, False)
    """
    mine, others = price(one), price(other)
    return mine is not None and others is not None and max(one.gpu) < min(other.gpu) and mine < others * (1 - margin)


def best(readings: Sequence[Reading]) -> Reading | None:
    """The right backend with the smallest price."""
    priced = [one for one in readings if price(one) is not None]
    return min(priced, key=lambda one: price(one) or 0.0, default=None)


def reading(readings: Sequence[Reading], backend: str | None) -> Reading | None:
    return next((one for one in readings if one.backend == backend), None)


def better(answer: Answer) -> list[Changed | Reading]:
    """What is faster than torch's own pick, the fastest first: another backend pinned (a `Reading`), or a change and torch's pick after it.

    Where torch's pick is wrong or has no price, everything right with a price is better than it.
    """
    own = reading(answer.readings, answer.picked)
    found: list[tuple[float, Changed | Reading]] = []
    pinned = best(answer.readings)
    if pinned is not None and pinned.backend != answer.picked and _improves(pinned, own):
        found.append((price(pinned) or 0.0, pinned))
    for changed in answer.changed:
        after = reading(changed.readings, changed.picked)
        if after is not None and price(after) is not None and _improves(after, own):
            found.append((price(after) or 0.0, changed))
    return [one for _, one in sorted(found, key=lambda pair: pair[0])]


def _improves(one: Reading, own: Reading | None) -> bool:
    return own is None or price(own) is None or beats(one, own)


def own_words(backend: str, reason: str | None) -> str | None:
    """torch's words about one backend, out of what it says when that one is pinned and refused.

    >>> said = "No available kernel. Aborting execution. Flash attention kernel not used because:. Flash Attention does not support non-null attn_mask."
    >>> own_words("flash", said), own_words("cudnn", "CUDA error: out of memory.")
    ('Flash Attention does not support non-null attn_mask.', 'CUDA error: out of memory.')
    """
    if reason is None or not _SECTION.search(reason):
        return reason
    parts = _SECTION.split(reason)
    said = {_HEADINGS[name.lower()]: text for name, text in zip(parts[1::2], parts[2::2])}
    words = _OFF.sub("", said.get(backend, "")).strip()
    if words:
        return words
    left = _OFF.sub("", " ".join([_NO_BACKEND.sub("", parts[0]), *said.values()])).strip()
    return left or " ".join(parts[0].split())  # it names no reason


def without_sizes(text: str) -> str:
    """torch's words with … for the sizes and strides of the call, which stand behind a colon.

    >>> without_sizes("last dimension divisible by 8. Got Query.size(-1): 60, Key.size(-1): 60. Query.sizes(): [1, 32, 1, 128] instead.")
    'last dimension divisible by 8. Got Query.size(-1): …, Key.size(-1): …. Query.sizes(): […] instead.'
    """
    return re.sub(r": \d+", ": …", re.sub(r": \[[\d, ]*\]", ": […]", text))
