"""The page of a device's history: every recorded state of its slots, what each step did to times and verdicts, and what changed with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from variants import VARIANTS

from ..analysis import State
from ..numbers import quantities
from ..numbers.quantities import QUANTITIES
from ..numbers.ranks import ALPHA
from ..numbers.statistics import MINIMUM_EFFECT, Estimate
from ..review.history import Judged, Standing, judged, words
from ..run.history import DECIDING, History, Past
from ..saying.markup import alt, escaped, inline, label
from ..saying.tables import Link, Table, columns
from ..saying.units import Percent, Seconds, extent, number_word, plural, text
from .environment import page
from .site import Draw, Site, marked, root

PATH = "history.md"
TITLE = "What did each version change?"
INTERVAL = f"{text(Percent(100 * (1 - ALPHA)))} interval"
RIGHT = tuple(state.value for state in State if state.right)
"""States of a variant whose times count."""


@dataclass(frozen=True)
class Section:
    """A slot. missing: the run that is recorded now is not among the states; gone: there is none"""

    slot: str
    answer: str
    image: str
    steps: Table
    moves: Table | None
    flips: Table | None
    times: Table
    ran: list[tuple[str, list[str]]]
    probes: list[str]
    missing: bool
    gone: bool


def device_path(slug: str) -> str:
    return f"runs/{slug}/{PATH}"


def links(site: Site) -> list[tuple[str, str]]:
    """Device, as the label of a link, and place of every history page."""
    return [(label(one.history.header.device), device_path(one.slug)) for one in site.folders if one.history is not None and one.history.states]


def files(site: Site) -> dict[str, str | bytes]:
    """One page per device that has a history, and a picture per slot with two states that can be compared."""
    found: dict[str, str | bytes] = {}
    for one in site.folders:
        if one.history is not None and one.history.states:
            found |= _of(site, one.slug, one.history)
    return found


def _of(site: Site, slug: str, found: History) -> dict[str, str | bytes]:
    path, pictures, sections = device_path(slug), {}, []
    now = {row.slot.partition("/")[2]: row.recorded_on for row in site.rows if row.slug == slug}
    first = site.shown.partition("/")[2] if site.first.slug == slug else ""
    for slot, states in sorted(found.slots.items(), key=lambda item: (item[0] != first, item[0])):
        steps = judged(states)
        picture, said = _picture(steps, f"{found.header.device} · {slot} · {words.days(states)}", site.draw)
        place = f"runs/{slug}/history-{slot}.svg"
        if picture:
            pictures[place] = picture
        sections.append(_section(site, slot, steps, f"![{alt(said)}]({root(path)}{place})" if picture else "", now.get(slot)))
    stands = f"{plural(len(found.states), 'state')} of {plural(len(sections), 'slot')}"
    text_of = page("history.md.j2", path, title=TITLE, device=label(found.header.device), stands=escaped(stands), sections=sections, several=len(sections) > 1,
                   alpha=text(Percent(100 * ALPHA)), effect=text(Percent(100 * MINIMUM_EFFECT)))
    return {path: text_of, **pictures}


def _section(site: Site, slot: str, steps: Sequence[Judged], image: str, now: str | None) -> Section:
    return Section(slot, words.answer(slot, steps), image, _steps(steps), _some(_moves(steps)), _some(_flips(site, steps)), _times(steps),
                   [(f"State {one.number}: {words.headline(one)}", _lines(one)) for one in steps if one.exact],
                   [f"State {one.number}: {words.probe(turn)}" for one in steps if one.state.before for turn in one.state.before.probes],
                   missing=now is not None and steps[-1].state.recorded_on != now, gone=now is None)


def _some(table: Table) -> Table | None:
    return table if table.rows else None


def _steps(steps: Sequence[Judged]) -> Table:
    """A state per row: what came with it, and what it did beside the one before."""
    rows = tuple((str(one.number), words.when(one.state), words.came(one) or _standing(one), _opening(words.headline(one))) for one in steps)
    return Table(columns("State", "Recorded", "What came with it", "What it did"), rows)


def _standing(one: Judged) -> str | None:
    if one.standing in (Standing.FIRST, Standing.CUT):
        return ", ".join(f"{words.SOFTWARE[key]} {one.state.software[key]}" for key in words.TOLD if one.state.software.get(key))
    return None if one.standing in (Standing.UNREADABLE, Standing.APART) else "same software and settings"


def _opening(said: str) -> str:
    return said[:1].upper() + said[1:]


def _moves(steps: Sequence[Judged]) -> Table:
    """Every deciding time that moved beyond noise."""
    rows = tuple((str(one.number), words.title(one, move.variant), QUANTITIES[move.quantity].label, Seconds(move.old.median), Seconds(move.new.median), words.size(move),
                  words.interval(move), words.why(one, move)) for one in steps for move in one.moves)
    return Table(columns("State", "Variant", "Time", "#Before", "#After", "#Change", INTERVAL, "What changed with it"), rows)


def _flips(site: Site, steps: Sequence[Judged]) -> Table:
    rows = tuple((str(one.number), _claim(site, flip.claim), flip.old, flip.new, words.FLIPS[cause]) for one in steps for flip, cause in one.flips)
    return Table(columns("State", "Claim", "Before", "After", "Why"), rows)


def _claim(site: Site, claim: str) -> object:
    """The claim's own words, linked to its page; its id where this program has none of that name."""
    found = next((finding for finding in site.findings if any(one.id == claim for one in finding.claims)), None)
    if found is None:
        return claim
    return Link(next(one.statement for one in found.claims if one.id == claim), f"findings/{found.slug}.md")


def _quantity(steps: Sequence[Judged]) -> str:
    """The time that the table and the picture show: GPU time where any state has it."""
    held = [one for step in steps for one in step.state.variants.values()]
    return next((name for name in DECIDING if any(name in one.times for one in held)), DECIDING[0])


def _names(steps: Sequence[Judged]) -> dict[str, str]:
    """Variant → title, of any state, in the variants' order."""
    found = {name: held.title for step in steps for name, held in step.state.variants.items()}
    return {name: found[name] for name in sorted(found, key=lambda name: VARIANTS.index(name) if name in VARIANTS else len(VARIANTS))}


def _times(steps: Sequence[Judged]) -> Table:
    """States down, variants across: the processes' middle, and from the least to the most."""
    quantity, names = _quantity(steps), _names(steps)

    def cell(state: Past, name: str) -> str | None:
        held = state.variants.get(name)
        if held is None or (held.state in RIGHT and quantity not in held.times):
            return None
        if held.state not in RIGHT:
            return held.state
        time = held.times[quantity]
        return f"{Seconds(time.median)} ({_extent(time)})"

    rows = tuple((str(one.number), *(cell(one.state, name) for name in names)) for one in steps if one.standing is not Standing.UNREADABLE)
    head = quantities.heading(QUANTITIES[quantity].label)
    apart = [one.number for one in steps if one.standing is Standing.APART]
    notes = (f"Measured otherwise from state {number} on: what stands above it is no time of the same kind." for number in apart)
    return Table(columns("State", *(f"#{title}" for title in names.values())), rows, f"{head} of a forward: the middle of the processes, and the least to the most.", tuple(notes))


def _extent(time: Estimate) -> str:
    """From the least to the most of the processes, where there are several."""
    return extent(time.low, time.high) if len(time.samples) > 1 else "one process"


def _lines(one: Judged) -> list[str]:
    """What ran otherwise, a variant after the other."""
    return [f"{inline(words.title(one, exact.variant))}: {words.exact(exact)}" for exact in one.exact]


def _picture(steps: Sequence[Judged], of: str, draw: Draw) -> tuple[bytes | None, str]:
    """How far each variant's time lies from the first state of its stretch, and what that shows in words."""
    quantity = _quantity(steps)
    rows = [row for name, title in _names(steps).items() if (row := _row(steps, name, title, quantity)) is not None]
    if len(steps) < 2 or not rows:
        return None, ""
    breaks = [one.number - 1 for one in steps if one.standing is Standing.APART]
    marks = [one.number - 1 for one in steps if any(each.part == "software" for each in one.came)]
    least = max(MINIMUM_EFFECT, *(one.least for one in steps))
    keys = [f"up: change from the first state{', anew after a dashed line' if breaks else ''}; the band is {Percent(round(100 * least, 1))} either way, the least that counts; whiskers span the processes"]
    keys += ["dashed: measured otherwise from here on, so nothing is compared across it"] if breaks else []
    keys += ["upright line: other software"] if marks else []
    head = quantities.heading(QUANTITIES[quantity].label)
    said = f"{head} of each variant over {number_word(len(steps))} states, as the change from the first{' of its stretch' if breaks else ''}."
    data = {"rows": rows, "states": [str(one.number) for one in steps], "breaks": breaks, "marks": marks, "least": least, "keys": keys, "title": f"{head}, state by state", "foot": of}
    return marked(draw("history", data, said)), said


Strip = tuple[str, str, str, list[tuple[float, float, float, str] | None], list[int]]
"""A row of the picture (see `charts`)."""


def _row(steps: Sequence[Judged], name: str, title: str, quantity: str) -> Strip | None:
    """A variant's strip; `None` where fewer than two states have its time."""
    base, last = 0.0, ""
    points: list[tuple[float, float, float, str] | None] = []
    begins: list[int] = []
    for one in steps:
        held = one.state.variants.get(name)
        time = held.times.get(quantity) if held and held.state in RIGHT else None
        if time is None:
            points.append(None)
            continue
        if not base or one.standing is Standing.APART or (name in one.untold and quantity.startswith("gpu_")):
            begins += [one.number - 1] if base else []
            base = time.median
        last = str(Seconds(time.median))
        change, low, high = (round(value / base - 1, 5) for value in (time.median, time.low, time.high))
        points.append((change, low, high, f"{title}, state {one.number}: {last} ({_extent(time)})"))
    return (title, name, last, points, begins) if sum(point is not None for point in points) > 1 else None


