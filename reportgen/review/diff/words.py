"""The short phrases of a comparison: signed percentages, counts, one line per structural change."""

from __future__ import annotations

from variants.backends import title

from ...hardware.kernel_names import decode
from ...numbers.statistics import Estimate
from ...questions.right_words import named
from ...run import DEFAULT
from ...saying.markup import code
from ...saying.tables import prose
from ...saying.units import Bytes, Percent, Seconds, plural, significant, text
from .flips import SAID
from .model import ProbeFlip, RunDiff, StructureChange, TimingChange

LONG = 80
"""Characters from which a kernel's name hides what changed in it."""


def signed(share: float) -> str:
    """A relative change with its sign: `+4.2 %`, `−12 %`; a factor from +900 % on."""
    if share >= 9:
        return f"{significant(share + 1)}×"
    sign = "+" if share >= 0 else "−"
    return f"{sign}{Percent(round(abs(share) * 100, 1))}"


def interval(change: TimingChange) -> str | None:
    if change.interval is None:
        return None
    low, high = change.interval
    return f"{signed(low - 1)} … {signed(high - 1)}"


def median(estimate: Estimate | None) -> Seconds | None:
    return None if estimate is None else Seconds(estimate.median)


def baseline(diff: RunDiff) -> str:
    return "new baseline" if diff.new_baseline else "rerun"


def flips(diff: RunDiff) -> str:
    return ", ".join(change.claim for change in diff.flipped) or "none"


def structures(diff: RunDiff) -> str:
    """The variants whose structure changed, and those that only one side has."""
    parts = list(dict.fromkeys(change.variant for change in diff.structure))
    parts += [f"{name} (new)" for name in diff.added] + [f"{name} (gone)" for name in diff.removed]
    return ", ".join(parts) or "same"


def speeds(diff: RunDiff) -> tuple[int, int]:
    """How many deciding timings got slower and faster."""
    return sum(change.slower for change in diff.decisive), sum(not change.slower for change in diff.decisive)


def flip(change: ProbeFlip) -> str:
    """`unpinned (cuDNN), pytorch#196678: right → wrong`."""
    tried = change.probe.tried(change.choice)
    who = title(change.choice) if change.choice != DEFAULT else f"unpinned{f' ({title(tried.picked)})' if tried and tried.picked else ''}"
    trap = ", a documented trap" if change.trap else ""
    return f"{who}, {named(change.probe)}{trap}: {SAID[change.old]} → {SAID[change.new]}"


def probes(diff: RunDiff) -> str:
    """What an unpinned call gets otherwise now, and how many probes came out otherwise; empty where none did."""
    if not diff.probes:
        return ""
    first = diff.probes[0]
    more = f", and {plural(len(diff.probes) - 1, 'more change')} of probes" if len(diff.probes) > 1 else ""
    what = "gives a wrong result now" if first.worse else "gives no wrong result any more" if first.old == "reproduces" else "comes out otherwise"
    return f"**A probe {what}: {prose(flip(first))}{more}.** "


def headline(diff: RunDiff) -> str:
    """The first line: what a reviewer must know before anything else; a probe that comes out otherwise stands before all."""
    return f"{probes(diff)}{_headline(diff)}"


def _headline(diff: RunDiff) -> str:
    slower, faster = speeds(diff)
    variants = {change.variant for change in diff.structure}
    if diff.unchanged and not diff.flipped:
        found = "Nothing changed: no structure, and no timing beyond noise"
    else:
        parts = [f"{plural(len(diff.flipped), 'verdict')} flipped", f"structure of {plural(len(variants), 'variant')} changed" if variants else "same structure",
                 f"{plural(slower + faster, 'timing')} changed" + (f" ({slower} slower, {faster} faster)" if slower + faster else "")]
        parts += [plural(len(names), label) for names, label in ((diff.added, "new variant"), (diff.removed, "variant gone")) if names]
        found = ", ".join(parts)
    new = [change for change in diff.environment if change.baseline]
    names = [change.name for change in [one for one in new if (one.part, one.key) == ("device", "name")] or new]
    return f"**{found}.**" + (f" New baseline ({prose(', '.join(names))}): nothing here is a regression." if names else "")


_EXCHANGES = {"replaced": "{what} replaced: {old} → {new}", "removed": "{what} went away: {old}", "added": "{what} came: {new}"}


def structure(change: StructureChange) -> str:
    """One structural change as a line of Markdown."""
    times = f" ({change.times} times)" if change.times > 1 else ""
    if change.kind in _EXCHANGES:
        old, new = _names(change.old, change.new)
        return _EXCHANGES[change.kind].format(what=change.what, old=old, new=new) + times
    if change.kind == "source":
        return f"source changed ({change.new})"
    show = _size if change.kind == "memory" else _value
    where = f" of {code(change.subject)}" if change.subject else ""
    return f"{change.what}{where}: {show(change.old)} → {show(change.new)}{times}"


def _names(old: object, new: object) -> tuple[str, str]:
    """Two names of activities as code: short forms where a full one is long and the short ones differ."""
    names = [None if value is None else str(value) for value in (old, new)]
    short = [decode(name).short if name and len(name) > LONG else name for name in names]
    shown = short if short[0] != short[1] else names
    return tuple(code(name) if name else "" for name in shown)  # type: ignore[return-value]


def _size(value: object) -> str:
    return text(None if value is None else Bytes(value))  # type: ignore[arg-type]


def _value(value: object) -> str:
    if isinstance(value, tuple):
        return " × ".join(str(item) for item in value)
    return prose(text(value))
