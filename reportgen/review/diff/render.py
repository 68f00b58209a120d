"""A comparison as Markdown for a pull request: what must be looked at first, the rest folded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ...numbers.quantities import QUANTITIES
from ...numbers.ranks import ALPHA
from ...questions.model import VERDICTS
from ...saying.tables import Code, Table, columns, markdown, prose
from ...saying.units import Percent, Seconds, plural
from . import beside, maps, words
from .model import RunDiff, Side, TimingChange
from .trees import TreeDiff

FORGE_LIMIT = 65_000
"""Characters that a comment may have on the forges that allow the fewest (65,536), less a margin."""
_TIMING_HEADS = ("Variant", "Quantity", "#Old", "#New", "#Change", f"#{Percent(100 * (1 - ALPHA))} interval")


def tree_markdown(diff: TreeDiff, limit: int = FORGE_LIMIT) -> str:
    """Everything, at most `limit` characters: folded parts go first, then whole slots, which are named."""
    for folded in (True, False):
        text = _tree(diff, folded, len(diff.changed))
        if len(text) <= limit:
            return text
    for shown in range(len(diff.changed) - 1, -1, -1):
        text = _tree(diff, False, shown)
        if len(text) <= limit:
            break
    return text


def _tree(diff: TreeDiff, folded: bool, shown: int) -> str:
    blocks = [f"## Recorded runs: {prose(diff.new)} against {prose(diff.old)}", *(maps.markdown(one) for one in diff.maps.values()), *(beside.markdown(one) for one in diff.beside.values()), _overview(diff), _without_floor(diff)]
    loud = [slot for slot, run in diff.changed.items() if not run.unchanged or run.flipped or run.new_baseline]
    order = [*loud, *(slot for slot in diff.changed if slot not in loud)]
    blocks += [run_markdown(diff.changed[slot], f"`{slot}`", folded) for slot in order[:shown]]
    if shown < len(order):
        blocks.append(f"Left out for length: {', '.join(f'`{slot}`' for slot in order[shown:])}. `make diff` prints them.")
    elif not folded and order:
        blocks.append("Left out for length: what did not change. `make diff` prints it.")
    return "\n\n".join(block for block in blocks if block) + "\n"


def _overview(diff: TreeDiff) -> str:
    lines = []
    if diff.changed:
        rows = tuple((Code(slot), words.baseline(run), words.flips(run), words.structures(run), *words.speeds(run)) for slot, run in diff.changed.items())
        lines.append(markdown(Table(columns("Slot", "Compared as", "Verdicts flipped", "Structure", "#Slower", "#Faster"), rows)))
    lines += [f"- New slot `{slot}`: {_introduced(side)}" for slot, side in diff.added.items()]
    lines += [f"- New map of `{slug}`: {plural(calls, 'call')}" for slug, calls in diff.new_maps.items()]
    lines += [f"- Removed slot `{slot}`" for slot in diff.removed]
    lines += [f"- **Could not be compared**: `{slot}`: {prose(why)}" for slot, why in diff.unreadable.items()]
    if diff.same:
        lines.append(f"- {plural(len(diff.same), 'slot')} with the same evidence, byte for byte: {', '.join(f'`{slot}`' for slot in diff.same)}")
    if not lines and not diff.maps and not diff.beside:
        return "No run is recorded on either side."
    split = 1 if diff.changed else 0
    return "\n\n".join(part for part in ("\n".join(lines[:split]), "\n".join(lines[split:])) if part)


def _without_floor(diff: TreeDiff) -> str:
    slots = [f"`{slot}`" for slot, run in diff.changed.items() if run.timings and run.old.noise is None and run.new.noise is None]
    return f"No same-code floor is recorded for {', '.join(slots)}; `make noise` takes one." if slots else ""


def _introduced(side: Side) -> str:
    counts = Counter(outcome.verdict for outcome in side.outcomes.values())
    verdicts = ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS if counts[verdict])
    torch = f", torch {side.facts.software['torch']}" if side.facts.software.get("torch") else ""
    return f"{prose(side.facts.device.name)}{prose(torch)}; {verdicts or 'no claim judged'}"


def run_markdown(diff: RunDiff, title: str, folded: bool = True) -> str:
    """One comparison under a heading of level 3.

    Args:
        title: Markdown. folded: also print what did not change, in a `<details>` block.
    """
    blocks = [f"### {title}", words.headline(diff), _probes(diff), _environment(diff), _conditions(diff), _flipped(diff), _structure(diff), _timings(diff), _apart(diff)]
    if folded:
        blocks.append(_rest(diff))
    return "\n\n".join(block for block in blocks if block)


def _probes(diff: RunDiff) -> str:
    """Every probe that came out otherwise, the unpinned calls first."""
    if not diff.probes:
        return ""
    return "\n".join(["#### Probes that came out otherwise", "", *(f"- {'**' if change.worse else ''}{prose(words.flip(change))}{'**' if change.worse else ''}" for change in diff.probes)])


def _environment(diff: RunDiff) -> str:
    if not diff.environment:
        return "Same device, software and settings."
    rows = tuple((change.name, change.old, change.new) for change in diff.environment)
    return markdown(Table(columns("Environment", "Old", "New"), rows))


def _conditions(diff: RunDiff) -> str:
    """Clocks, neighbours, timers, counters and evidence that only one side has; what makes the new run worse is marked."""
    if not diff.conditions:
        return ""
    rows = tuple((change.name, change.old, change.new, "worse" if change.lack else None) for change in diff.conditions)
    return "#### Conditions\n\n" + markdown(Table(columns("Condition", "Old", "New", ""), rows))


def _flipped(diff: RunDiff) -> str:
    if not diff.flipped:
        return ""
    lines = ["#### Verdicts that flipped", ""]
    for change in diff.flipped:
        lines += [f"- **{change.claim}**: {change.old.verdict} → **{change.new.verdict}**",
                  f"    - old: {prose(change.old.headline)}", f"    - new: {prose(change.new.headline)}"]
    return "\n".join(lines)


def _structure(diff: RunDiff) -> str:
    if not diff.structure:
        return ""
    lines = ["#### Structure", ""]
    for name in dict.fromkeys(change.variant for change in diff.structure):
        lines.append(f"- `{name}`")
        lines += [f"    - {words.structure(change)}" for change in diff.structure if change.variant == name]
    return "\n".join(lines)


def _timings(diff: RunDiff) -> str:
    """The timings that may replace a run, and folded those that never do."""
    shown_only = [change for change in diff.significant if not change.decides]
    blocks = []
    if diff.decisive:
        blocks.append("#### Timings that changed\n\n" + _timing_table(diff.decisive))
    if shown_only:
        blocks.append(_folded(f"Host-side timings that changed; they never replace a run: {len(shown_only)}", _timing_table(shown_only)))
    return "\n\n".join(blocks)


def _timing_table(changes: Sequence[TimingChange]) -> str:
    rows = tuple((Code(change.variant), QUANTITIES[change.quantity].label, Seconds(change.old.median), Seconds(change.new.median),
                  words.signed(change.ratio - 1) if change.significant else "~", words.interval(change)) for change in changes)
    return markdown(Table(columns(*_TIMING_HEADS), rows))


def _folded(summary: str, body: str) -> str:
    # MkDocs needs the attribute to read Markdown inside; forges drop it and need the empty lines.
    return f'<details markdown="1">\n<summary>{summary}</summary>\n\n{body}\n\n</details>'


def _apart(diff: RunDiff) -> str:
    lines = []
    for names, run, label in ((diff.added, diff.new, "New variants, compared with nothing"), (diff.removed, diff.old, "Variants that went away")):
        if names:
            rows = tuple((Code(name), run.facts.variants[name].state.value, words.median(run.facts.variants[name].gpu_time),
                          words.median(run.facts.variants[name].wall_time), run.facts.variants[name].kernels) for name in names)
            lines.append(f"#### {label}\n\n" + markdown(Table(columns("Variant", "Status", "#GPU time", "#Wall time", "#Kernels"), rows)))
    return "\n\n".join(lines)


def _rest(diff: RunDiff) -> str:
    """What did not change, and same verdicts by another case; `~` stands for a change that is noise."""
    quiet = [change for change in diff.timings if not change.significant]
    cases = [change for change in diff.verdicts if not change.flipped]
    if not quiet and not cases:
        return ""
    parts = []
    if cases:
        parts.append("\n".join(["Same verdict, another case:", ""] + [
            f"- {change.claim} ({change.new.verdict}): {prose(change.old.headline)} → {prose(change.new.headline)}" for change in cases]))
    if quiet:
        parts.append(_timing_table(quiet))
    return _folded(f"The rest: {plural(len(quiet), 'timing')} within noise", "\n\n".join(parts))

