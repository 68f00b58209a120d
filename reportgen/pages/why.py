"""The page *Why not flash?*: what torch picks for calls that people write, what each backend costs or why it refuses, and what to write instead."""

from __future__ import annotations

from variants.backends import BACKENDS

from ..questions import map_words
from ..questions import why_words as words
from ..saying.markup import label
from ..saying.tables import Code, Table, columns
from ..saying.units import Count
from ..shapes import answers
from ..shapes.answers import Answer, Changed
from ..shapes.folder import Folder
from ..shapes.record import Reading
from . import per_device
from .cells import Sentence
from .environment import page
from .site import Site

PATH = "why.md"


def device_path(slug: str) -> str:
    return per_device.device_path(slug, PATH)


def files(site: Site) -> dict[str, str | bytes]:
    """The shared page, of the featured run's device if it was asked there, and one per further device."""
    known = [one for one in site.folders if one.answers is not None]
    return per_device.files(site, known, PATH, _render) or {PATH: page("why_none.md.j2", PATH, device=label(site.featured.device.name))}


def _render(folder: Folder, path: str, others: per_device.Others) -> str:
    assert folder.answers is not None
    found = folder.answers.answers
    header = folder.answers.header
    return page("why.md.j2", path, device=label(header.device.name), stands=per_device.stands(header, f"{Count(len(found))} calls"), answer=words.answer_sentences(found) if found else [],
                instead=_some(instead(found)), margin=map_words.share(answers.MARGIN), other=_some(other(found)), refusals=_some(refusals(found)), calls=[(one.asked.name, summary(one), call(one), backends(one), _some(changes(one))) for one in found],
                on_gpu=header.device.kind != "cpu", rounds=header.rounds, others=others)


def _some(table: Table) -> Table | None:
    return table if table.rows else None


def instead(found: tuple[Answer, ...]) -> Table:
    """Calls with the same result in less time, those that save the largest share first."""
    pairs = [(one, how) for one in found if (how := words.same_result(one)) is not None]
    pairs.sort(key=lambda pair: -(words.saved(*pair) or 0.0) / (answers.price(words.own(pair[0])) or 1.0))
    return _pairs(pairs)


def _pairs(pairs: list[tuple[Answer, Changed | Reading]]) -> Table:
    """A row each; what a loop saves that launches call by call stands there where the CPU's time is known of any."""
    gains = [words.in_a_loop(*pair) for pair in pairs]
    if not any(gain is not None for gain in gains):
        return Table(columns("Call", "Write instead", "#Saves", "torch picks", "#which takes", "#Instead"), tuple(_pair(*pair) for pair in pairs))
    rows = (((head := _pair(*pair))[:3] + (_gain(gain),) + head[3:]) for pair, gain in zip(pairs, gains))
    return Table(columns("Call", "Write instead", "#Saves (GPU)", "#in a loop", "torch picks", "#which takes", "#Instead"), tuple(rows))


def _gain(gain: float | None) -> str | None:
    if gain is None:
        return None
    return map_words.share(gain) if gain >= answers.MARGIN else "nothing" if gain > -answers.MARGIN else f"{map_words.share(-gain)} more"


def other(found: tuple[Answer, ...]) -> Table:
    """Calls at which a change that may give another result saves time."""
    pairs = [(one, how) for one in found for how in answers.better(one)
             if words.another_result(one, how) and answers.price(words.own(one)) is not None]
    return _pairs(pairs)


def refusals(found: tuple[Answer, ...]) -> Table:
    """torch's words about each backend, and at how many calls it says so; what it says most often first.

    What differs in numbers alone is said once, with … in their place; each call's own words stand at the call.
    """
    said: dict[tuple[str, str], list[str]] = {}
    for one in found:
        for reading in one.readings:
            if reading.state == "refused":
                text = answers.own_words(reading.backend, reading.reason) or ""
                said.setdefault((reading.backend, answers.without_sizes(text)), []).append(text)
    ordered = sorted(said.items(), key=lambda pair: (pair[0][0] != words.FLASH, list(BACKENDS).index(pair[0][0]) if pair[0][0] in BACKENDS else 0, -len(pair[1])))
    return Table(columns("Backend", "#Calls", "torch says"),
                 tuple((words.title(name), Count(len(texts)), texts[0] if len(set(texts)) == 1 else common) for (name, common), texts in ordered))


def _pair(one: Answer, how: object) -> tuple[object, ...]:
    before, then = answers.price(words.own(one)) or 0.0, answers.price(words.after(how)) or 0.0  # type: ignore[arg-type]
    return (one.asked.name, Sentence(words.instead(how)), map_words.share(1 - then / before), words.title(one.picked), words.seconds(before), words.seconds(then))  # type: ignore[arg-type]


def summary(one: Answer) -> str:
    """The line that stands when an answer is folded."""
    reading = words.own(one)
    price = words.seconds(answers.price(reading)) if reading else None
    return f"{one.asked.name}: {words.title(one.picked)}{f', {price}' if price else ', a wrong result' if words.wrong(one) else ''}"


def call(one: Answer) -> str:
    """The call in sizes: `batch 8, 16 heads, 1,024 queries and keys, …`."""
    asked = one.asked
    more = [*([f"dropout {asked.dropout:g}"] if asked.dropout else []), *([asked.form] if asked.form != "plain" else [])]
    return ", ".join([map_words.said(asked.call), *more])


def backends(one: Answer) -> Table:
    """Each backend's price, or why it has none, in torch's own words."""
    rows = [(words.title(reading.backend), "picked" if reading.backend == one.picked else None, words.told(reading)) for name in BACKENDS if (reading := answers.reading(one.readings, name))]
    return Table(columns("Backend", "torch", "A call takes, or torch says"), tuple(rows))


def changes(one: Answer) -> Table:
    """What can be written instead, whether it is faster or not; what is faster first."""
    better = answers.better(one)
    rows = [(Sentence(words.instead(how)), Code(words.code(how)), words.title(how.picked if isinstance(how, Changed) else how.backend), words.seconds(answers.price(words.after(how))), "less time") for how in better]
    slower = [change for change in one.changed if change not in better]
    rows += [(Sentence(words.instead(change)), Code(words.code(change)), words.title(change.picked), _then(change), "no less") for change in slower]
    return Table(columns("Instead", "Code", "torch then picks", "#A call takes", "Told apart"), tuple(rows))


def _then(change: Changed) -> str | None:
    reading = words.after(change)
    return None if reading is None else words.told(reading)
