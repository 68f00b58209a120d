"""What changes from side A to side B, in words: for the page and the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from variants import backends

from ..hardware import kernel_names
from ..numbers import quantities
from ..numbers.statistics import MINIMUM_EFFECT, PROCESSES
from ..run.noise import SAME, switches
from ..saying.units import Percent, Seconds, listed, plural, significant, text
from ..shapes.upgrade import SIDES, Seen, Upgrade
from ..shapes.upgrade import Side as Letter
from .upgrade import Cause, Change, Judged, Shift

SOFTWARE = {"torch": "torch", "cuda": "CUDA", "hip": "ROCm", "cudnn": "cuDNN", "cublas": "cuBLAS", "triton": "Triton", "driver": "driver"}
STATES = {"ok": "right", "wrong": "wrong", "refused": "refused", "failed": "failed", "no memory": "out of memory"}
CHANGES = {Change.STATE: "state", Change.SLOWER: "more time", Change.FASTER: "less time", Change.BACKEND: "backend", Change.KERNELS: "kernels", Change.OPS: "ops",
           Change.BITS: "bits"}
CLOCKS = 0.03
"""Middle SM clocks of the two sides further apart than this are a caveat."""


def other_software(found: Upgrade) -> list[str]:
    """The names in `noise.SAME` of which both sides know a version, and another one."""
    return [name for name in SAME if found.a.software.get(name) and found.b.software.get(name) and found.a.software[name] != found.b.software[name]]


def other_switches(found: Upgrade) -> list[str]:
    """Switches and environment variables that differ."""
    a, b = switches(found.a.settings), switches(found.b.settings)
    known = (found.a.settings.keys() & found.b.settings.keys()) - {"environment"}
    variables = (a.keys() | b.keys()) - (found.a.settings.keys() | found.b.settings.keys())
    given = {*found.a.variables, *found.b.variables}
    return sorted(name for name in known | variables | given if _setting(found, "a", name) != _setting(found, "b", name))


def _setting(found: Upgrade, side: Letter, name: str) -> object:
    given = found.given(side)
    return given.variables.get(name, switches(given.settings).get(name))


def name(found: Upgrade, side: Letter) -> str:
    """A side in a few words: by its torch where that differs, else by other software, else by its switches.

    `torch 2.14.1`, `driver 580.95`, `TORCH_CUDNN_SDPA_DEPRIORITIZED=1`, `no TORCH_CUDNN_SDPA_DEPRIORITIZED`, `side A` where nothing differs.
    """
    given, software, other = found.given(side), other_software(found), other_switches(found)
    if software:
        first = "torch" if "torch" in software else software[0]
        return f"{SOFTWARE.get(first, first)} {given.software[first]}"
    if other:
        value = _setting(found, side, other[0])
        return f"no {other[0]}" if value is None else f"{other[0]}={value}"
    return f"side {side.upper()}"


def sides(found: Upgrade) -> list[tuple[str, str, str]]:
    """What differs, one line each: the name, and its value on both sides."""
    rows = [(SOFTWARE.get(one, one), str(found.a.software[one]), str(found.b.software[one])) for one in other_software(found)]
    return rows + [(one, *(_told(_setting(found, side, one)) for side in SIDES)) for one in other_switches(found)]  # type: ignore[misc]


def _told(value: object) -> str:
    return "not set" if value is None else ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def answer(found: Upgrade, judged: Sequence[Judged]) -> list[str]:
    """The answer in one to four sentences."""
    a, b = name(found, "a"), name(found, "b")
    worse, better = [one for one in judged if one.worse], [one for one in judged if one.better]
    if not judged:
        return ["No call was compared."]
    if found.processes < PROCESSES:
        head = f"**{plural(found.processes, 'process', 'processes')} of each side decide nothing about time.** From {a} to {b}:"
    else:
        head = f"**From {a} to {b}, {_of(len(worse), judged)} worse and {_of(len(better), judged)} better.**"
    lines = [f"{head} {_counts(judged)}"]
    if worse:
        lines.append(f"Look first at {worst(worse)}.")
    unsure = sum(one.unconfirmed for one in judged)
    if unsure:
        lines.append(f"{plural(unsure, 'call was', 'calls were')} called changed in the first pass and not in the second, which counts as not told apart.")
    untimed = [one for one in judged if one.untimed]
    if untimed and len(untimed) < len(judged):
        reasons = list(dict.fromkeys(reason.rstrip(".") for one in untimed if (reason := one.pair.a.untimed or one.pair.b.untimed)))
        lines.append(f"{plural(len(untimed), 'call', 'calls')} right on both sides {'has' if len(untimed) == 1 else 'have'} no times to compare, so may be slower or faster"
                     f"{f' ({listed(reasons)})' if reasons else ''}: {listed([f'“{one.pair.asked.name}”' for one in untimed])}.")
    blind = sensitivity(judged)
    return [*lines, blind] if blind else lines


def _of(count: int, judged: Sequence[Judged]) -> str:
    return f"{'none' if not count else count} of {plural(len(judged), 'call')} {'is' if count <= 1 else 'are'}"


def _counts(judged: Sequence[Judged]) -> str:
    told = {change: sum(change in one.changes for one in judged) for change in Change}
    words = {Change.STATE: "another outcome", Change.SLOWER: "more time", Change.FASTER: "less time", Change.BACKEND: "another backend", Change.KERNELS: "other kernels",
             Change.OPS: "other ops", Change.BITS: "other bits in the output"}
    parts = [f"{words[change]} at {count}" for change, count in told.items() if count]
    return f"{listed(parts)[:1].upper()}{listed(parts)[1:]}." if parts else "Nothing else came out otherwise."


def worst(worse: Sequence[Judged]) -> str:
    """The gravest: another outcome first, then the largest share of time."""
    def grave(one: Judged) -> tuple[bool, float]:
        shift = one.shift()
        return Change.STATE not in one.changes, -(shift.ratio if shift else 0.0)

    one = min(worse, key=grave)
    return f"“{one.pair.asked.name}”: {said(one)}"


def said(one: Judged) -> str:
    """What changed at a call, in a line: `1.5 times the GPU time; cuDNN → flash`."""
    a, b = one.pair.a, one.pair.b
    parts = []
    if Change.STATE in one.changes:
        parts.append(f"{STATES[a.state]} → {STATES[b.state]}{f' ({b.reason.rstrip(chr(46))})' if b.reason and b.state != 'ok' else ''}")
    shift = one.shift()
    if shift is not None and shift.confirmed:
        parts.append(f"{times(shift.ratio)} {quantities.QUANTITIES[shift.quantity].label}")
    if Change.BACKEND in one.changes:
        parts.append(f"{backend(a)} → {backend(b)}")
    elif Change.KERNELS in one.changes:
        parts.append("other kernels")
    elif Change.OPS in one.changes:
        parts.append("other ops")
    if Change.BITS in one.changes:
        parts.append("other bits")
    if parts and shift is not None and shift.confirmed and one.cause is Cause.SAME_KERNELS:
        parts.append("by the same kernels")
    return "; ".join(parts) or "nothing seen"


def times(ratio: float) -> str:
    """B ÷ A in a sentence.

    >>> times(1.034), times(0.5), times(2.5)
    ('3.4 % more', '50 % less', '2.5 times the')
    """
    if ratio >= 2:
        return f"{significant(ratio, 2)} times the"
    return f"{significant(abs(ratio - 1) * 100, 2)} % {'more' if ratio > 1 else 'less'}"


def backend(seen: Seen) -> str:
    return "none" if seen.picked is None else backends.title(seen.picked)


def caused(one: Judged) -> str | None:
    """What carries a change of time, as far as it was seen; `None` where no time changed."""
    if Change.SLOWER not in one.changes and Change.FASTER not in one.changes:
        return None
    return {Cause.BACKEND: "another backend", Cause.KERNELS: "other kernels", Cause.OPS: "other ops", Cause.SAME_KERNELS: "the same kernels: library, driver or launching",
            Cause.NOT_SEEN: "not seen: same backend, same ops"}[one.cause]


def interval(shift: Shift) -> str | None:
    """`1.021 to 1.045`."""
    return None if shift.low is None or shift.high is None else f"{significant(shift.low, 4)} to {significant(shift.high, 4)}"


def least(shift: Shift) -> Percent:
    """The smallest slowdown that the rule would have called one."""
    return Percent(round(100 * shift.least, 1))


def kernels(seen: Seen) -> list[str]:
    """The kernels in the order of their begin, by the names that the decoder gives; equal ones after each other once, with their number."""
    short: list[tuple[str, int]] = []
    for one in seen.kernels or ():
        label = kernel_names.decode(one).short
        short = [*short[:-1], (label, short[-1][1] + 1)] if short and short[-1][0] == label else [*short, (label, 1)]
    return [label if count == 1 else f"{label} × {count}" for label, count in short]


def caveats(found: Upgrade) -> list[str]:
    """What makes the times suspect."""
    lines = []
    clocks = {side: sorted(one.sm_mhz for one in found.ran if one.side == side and one.sm_mhz) for side in SIDES}
    if all(clocks.values()):
        a, b = (values[len(values) // 2] for values in clocks.values())
        if abs(b / a - 1) > CLOCKS:
            lines.append(f"The GPU ran at {a:.0f} MHz on side A and at {b:.0f} MHz on side B, in the middle, so times compare clocks as well.")
    beside = sum(bool(one.neighbours) for one in found.ran)
    if beside:
        lines.append(f"Another process held the GPU during {beside} of {plural(len(found.ran), 'timing process', 'timing processes')}.")
    busy = [one.others_cpu_share for one in found.ran if one.others_cpu_share is not None and one.others_cpu_share > 0.1]
    if found.device.kind == "cpu" and busy:
        share = text(Percent(round(100 * max(busy))))
        lines.append(f"Others used up to {share} of the processors during {len(busy)} of {plural(len(found.ran), 'timing process', 'timing processes')}: only large changes can be told here.")
    throttled = sorted({word for one in found.ran for word in one.throttle})
    if throttled:
        lines.append(f"Clocks were held back ({listed(throttled)}).")
    return lines


def sensitivity(judged: Sequence[Judged]) -> str | None:
    """The smallest slowdown that could have been found at half of the calls, and at the worst one, by the time that decides first."""
    deciding = [one.shifts[0] for one in judged if one.shifts and one.shifts[0].least < float("inf")]
    least = sorted(shift.least for shift in deciding)
    if not least:
        return None
    names = {quantities.QUANTITIES[shift.quantity].label for shift in deciding}
    by = f"By {names.pop()}, a" if len(names) == 1 else "A"
    half, most = (text(Percent(round(100 * one, 1))) for one in (least[len(least) // 2], least[-1]))
    return f"{by} slowdown is seen from {half} on at the middle call, and from {most} on at every one; below {text(Percent(100 * MINIMUM_EFFECT))} nothing counts."


def terminal(found: Upgrade, judged: Sequence[Judged]) -> list[str]:
    """For the terminal: the answer, then a line per call that is not the same."""
    lines = [line.replace("**", "") for line in answer(found, judged)]
    lines += [f"note: {line}" for line in caveats(found)]
    for title, rows in (("worse", [one for one in judged if one.worse]), ("better", [one for one in judged if one.better]),
                        ("otherwise", [one for one in judged if one.changes and not one.worse and not one.better])):
        if rows:
            lines += ["", f"{title}:", *(f"  {one.pair.asked.name}: {said(one)}{_seconds(one)}" for one in rows)]
    return lines


def _seconds(one: Judged) -> str:
    shift = one.shift()
    return f" ({text(Seconds(shift.a))} → {text(Seconds(shift.b))})" if shift is not None and shift.confirmed else ""
