"""What torch does with the masks that hide padding: for the guide to what SDPA accepts, from what was asked beside the map."""

from __future__ import annotations

from ..questions import map_words
from ..questions import why_words as words
from ..saying.tables import Table, columns
from ..saying.units import listed
from ..shapes import answers
from ..shapes.answers import Answer
from ..shapes.asked import Form
from ..shapes.record import Reading
from .cells import Sentence
from .site import Site

FORMS: tuple[Form, ...] = ("padding", "padding and causal", "padding bias")
FUSED = ("efficient", "flash", "cudnn")


def table(site: Site) -> Table | None:
    """A row per call with such a mask that the featured run's device was asked about: torch's pick, each fused backend, what to write instead; `None` where none was."""
    folder = next((one for one in site.folders if one.slug == site.featured.device.slug and one.answers), None)
    found = [one for one in folder.answers.answers if one.asked.form in FORMS] if folder and folder.answers else []
    rows = tuple((one.asked.name, words.title(one.picked), *(_told(answers.reading(one.readings, name)) for name in FUSED), _instead(one)) for one in found)
    if not rows:
        return None
    return Table(columns("Call", "torch picks", *(f"#{words.title(name)}" for name in FUSED), "The same result in less time"), rows, caption="Calls with padding, as torch answered them here.")


def _told(reading: Reading | None) -> str | None:
    if reading is None:
        return None
    return words.seconds(answers.price(reading)) or {"refused": "refused", "wrong": "wrong"}.get(reading.state, "not timed")


def _instead(one: Answer) -> object:
    how = words.same_result(one)
    if how is None:
        return None
    before, then = answers.price(words.own(one)), answers.price(words.after(how))
    share = f" ({map_words.share(1 - then / before)} less)" if before and then else ""
    return Sentence(listed([f"{words.instead(how)}{share}"]))
