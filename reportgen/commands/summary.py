"""What `report` says in the terminal when it has finished: plain lines, and a headline at the end that a terminal shows in colour."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from ..analysis import RunFacts, VariantFacts
from ..analysis.ranking import Standing, rank
from ..numbers.statistics import Estimate
from ..pages.glance import to_first_head
from ..pages.readme import VERBS
from ..pages.rows import to_first
from ..questions import caveats, lead, right_words, sources
from ..questions.model import VERDICTS, Outcome
from ..questions.needs import refusal
from ..saying.units import MISSING, Seconds, plural

WIDTH = 100
RED, GREEN, YELLOW, BOLD = "1;31", "1;32", "33", "1"
"""Colours of a terminal; the words say the same without them."""
HEADS = {"gpu_time": "GPU time", "wall_time": "wall time", "host_time": "host time"}
MINDS = 2
"""How many caveats the headline names."""
SHOWN = 0.1
"""Phases shorter than this, in seconds, are not worth a word."""
PARTS = 3
"""How many parts of a phase are named."""
CLAIMS = 4
"""How many claims are named that one reason keeps from being measured."""
ON_A_CPU = ("python", "torch", "os")
"""The software that a run on a CPU used; torch may have been built for a CUDA that no part of it touched."""


def summary(facts: RunFacts, outcomes: Mapping[str, Outcome], seconds: Mapping[str, float], where: str, measured: RunFacts | None = None, coloured: bool = False) -> str:
    """The whole text.

    Args:
        seconds: what each step of this command took, in order
        where: how to look at the site, one line
        measured: the run that was measured just now, where `facts` are those of a recorded run that stays
        coloured: the headline has a terminal's colours
    """
    table = _side_by_side(facts, measured) if measured else _table(facts)
    blocks = [_alarms(facts), _environment(facts), table, _caveats(measured or facts), _verdicts(outcomes), _spent(measured or facts, seconds), where, _headline(facts, coloured)]
    return "\n\n".join(block for block in blocks if block)


def _alarms(facts: RunFacts) -> str:
    """What makes the run suspect, before any number of it."""
    lines = [_plain(lead.alarm(facts)), _plain(right_words.unsafe(facts)), *(f"mind: {caveat}" for caveat in caveats.travelling(facts))]
    return "\n".join(line for text in lines if text for line in _wrapped(text, ""))


def _headline(facts: RunFacts, coloured: bool) -> str:
    """Who is fastest, by how much, and what to mind: the last lines, which stay in sight."""
    minds = caveats.travelling(facts)
    more = (f"mind: {len(minds) - MINDS} more at the top of this summary",) if len(minds) > MINDS else ()
    texts = [(RED, _plain(lead.alarm(facts))), (RED, _plain(right_words.unsafe(facts))), (GREEN if rank(facts).standing is Standing.ONE else BOLD, _plain(lead.winner(facts))),
             *((YELLOW, text) for text in (*(f"mind: {caveat}" for caveat in minds[:MINDS]), *more))]
    lines = [(colour, line) for colour, text in texts if text for line in _wrapped(text, "")]
    return "\n".join(f"\x1b[{colour}m{line}\x1b[0m" if coloured else line for colour, line in lines)


def _plain(text: str) -> str:
    """A sentence of the pages without their marks."""
    return text.replace("**", "").replace("`", "")


def _environment(facts: RunFacts) -> str:
    device, software = facts.device, facts.software
    capability = f", compute capability {device.compute_capability}" if device.compute_capability else ""
    shown = ON_A_CPU if device.kind == "cpu" else tuple(software)
    names = ", ".join(f"{name} {software[name]}" for name in shown if software.get(name))
    return "\n".join([f"{device.name}{capability}", *_wrapped(names, "  "),
                      f"  workload {facts.workload.name}: {facts.workload.describe()}"])


def _table(facts: RunFacts) -> str:
    lines = _numbers(facts)
    lines += [line for note in right_words.mark_notes(facts, facts.variants) for line in _wrapped(_plain(note), "")]
    causes: dict[tuple[str, str], list[str]] = {}
    for variant in facts.variants.values():
        if not variant.ok:
            causes.setdefault((variant.state.value, refusal(variant.reason or "no reason recorded")), []).append(variant.id)
    for (status, reason), names in causes.items():
        lines += _wrapped(f"{', '.join(names)} {status}: {reason}.", "")
    return "\n".join(lines)


def _numbers(facts: RunFacts) -> list[str]:
    """The right results, the fastest first, without columns that have no value; the ratio stands beside the time that was ranked."""
    ranking = rank(facts)
    right = [facts.variants[name] for name in (*ranking.order, *(name for name in facts.variants if name not in ranking.order)) if facts.variants[name].ok]
    ratio = (to_first_head(ranking), [str(found) if (found := to_first(ranking, variant)) is not None else MISSING for variant in right])
    columns: list[tuple[str, list[str], Callable[[str, int], str]]] = [("variant", [f"{variant.id}{right_words.mark(facts, variant.id)}" for variant in right], str.ljust)]
    for quantity in HEADS:
        columns.append((HEADS[quantity], [_time(variant.time(quantity)) for variant in right], str.rjust))
        columns += [(*ratio, str.rjust)] if quantity == ranking.quantity.name else []
    if facts.device.kind != "cpu":
        columns.append(("GPU activities", [_activities(variant, facts.has_gpu_lane) for variant in right], str.ljust))
    shown = [([head, *cells], place) for head, cells, place in columns if any(cell != MISSING for cell in cells)]
    placed = [[place(cell, max(map(len, cells))) for cell in cells] for cells, place in shown]
    return ["  ".join(row).rstrip() for row in zip(*placed)]


def _side_by_side(recorded: RunFacts, measured: RunFacts) -> str:
    """What was measured now beside what the recorded run holds; the pages and verdicts are of the recorded one."""
    rows: list[tuple[str, ...]] = [("variant", "GPU time now", "recorded", "wall time now", "recorded", "host time now", "recorded")]
    for name in dict.fromkeys((*recorded.variants, *measured.variants)):
        sides = [facts.variants.get(name) for facts in (measured, recorded)]
        if any(side is not None and side.ok for side in sides):
            rows.append((name, *(_time(side.time(quantity)) if side is not None and side.ok else MISSING
                                 for quantity in ("gpu_time", "wall_time", "host_time") for side in sides)))
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    lines = ["measured now beside the recorded run, which stays; verdicts and pages are the recorded run's"]
    return "\n".join([*lines, *("  ".join([row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:]))]) for row in rows)])


def _time(value: Estimate | None) -> str:
    return MISSING if value is None else str(Seconds(value.median))


def _activities(variant: VariantFacts, lane: bool) -> str:
    if variant.kernels is None:
        return f"{MISSING} (not known)" if lane else f"{MISSING} (no GPU lane)"
    parts = [plural(variant.kernels, "kernel")]
    parts += [plural(number, noun) for number, noun in ((variant.memcpys, "memcpy"), (variant.memsets, "memset")) if number]
    return ", ".join(parts)


def _caveats(facts: RunFacts) -> str:
    lines = [line for caveat in facts.caveats if not caveat.travels for line in _wrapped(caveats.said(caveat), "  ")]
    return "\n".join(["mind that", *lines]) if lines else ""


def _verdicts(outcomes: Mapping[str, Outcome]) -> str:
    """Verdicts that were reached with their headlines, then how many claims each reason kept from being measured."""
    counts = Counter(outcome.verdict for outcome in outcomes.values())
    lines = [f"{sources.counted(outcomes.values())}: " + ", ".join(f"{counts[verdict]} {VERBS[verdict][counts[verdict] != 1]}" for verdict in VERDICTS if counts[verdict])]
    for verdict in VERDICTS[:3]:
        for outcome in outcomes.values():
            if outcome.verdict == verdict:
                lines += _wrapped(f"{verdict:<12}  {outcome.question}: {outcome.headline}", "  ", hang=14)
    reasons: dict[str, list[str]] = {}
    for outcome in outcomes.values():
        if outcome.verdict == "not measurable":
            reasons.setdefault(outcome.reason, []).append(outcome.question)
    if reasons:
        lines.append("not measurable here (the run's page has each reason in full)")
    for reason, claims in sorted(reasons.items(), key=lambda item: -len(item[1])):
        named = ", ".join(claims[:CLAIMS]) + (f" and {len(claims) - CLAIMS} more" if len(claims) > CLAIMS else "")
        alone = f"{named}: " if len(claims) == 1 else ""
        lines.append(f"  {len(claims):>2}  {textwrap.shorten(alone + _sentence(reason), WIDTH - 6, placeholder=' …')}")
        lines += [] if alone else _wrapped(named, "      ", hang=0)
    return "\n".join(lines)


def _sentence(reason: str) -> str:
    """The first sentence of a reason, with a capital and without what is in parentheses."""
    bare = re.sub(r"\s*\([^()]*\)", "", reason)
    first = re.split(r"(?<=[.])\s", bare)[0]
    return first[:1].upper() + first[1:]


def _spent(facts: RunFacts, seconds: Mapping[str, float]) -> str:
    """Where the seconds went: the command's steps, then the phases of the capture with their longest parts."""
    lines: list[str] = []
    if seconds:
        steps = ", ".join(f"{name} {_brief(value)}" for name, value in seconds.items())
        lines += _wrapped(f"{_brief(sum(seconds.values()))} in all: {steps}", "")
    lines += [f"  {_phase(name, facts.phases)}" for name, value in facts.phases.items() if name != "whole" and ": " not in name and value >= SHOWN]
    return "\n".join(lines)


def _phase(name: str, phases: Mapping[str, float]) -> str:
    """`timing  4.7 s (rounds 1.9 s, warming up 1.6 s)`."""
    parts = sorted(((part.removeprefix(f"{name}: "), value) for part, value in phases.items() if part.startswith(f"{name}: ") and value >= SHOWN), key=lambda item: -item[1])
    inside = ", ".join(f"{part} {_brief(value)}" for part, value in parts[:PARTS])
    return f"{name:<8} {_brief(phases[name]):>7}" + (f" ({inside})" if inside else "")


def _brief(seconds: float) -> str:
    return f"{seconds:.1f} s"


def _wrapped(text: str, indent: str, hang: int = 2) -> Sequence[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=indent, subsequent_indent=indent + " " * hang, break_on_hyphens=False) or [indent]
