"""What torch answered about the calls that people write, in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from variants import backends

from ..saying.units import Count, Saving, Seconds, listed, plural, significant, text
from ..shapes import answers, change_words
from ..shapes.answers import Answer, Changed
from ..shapes.asked import Change
from ..shapes.record import Reading
from .map_words import share

FLASH = "flash"


def title(backend: str | None) -> str:
    return "nothing" if backend is None else backends.title(backend)


def seconds(value: float | None) -> str | None:
    return None if value is None else text(Seconds(value))


def own(answer: Answer) -> Reading | None:
    """The reading of torch's own pick."""
    return answers.reading(answer.readings, answer.picked)


def wrong(answer: Answer) -> bool:
    """Whether torch's own pick gives a wrong result."""
    reading = own(answer)
    return reading is not None and reading.state == "wrong"


def after(one: Changed | Reading) -> Reading | None:
    """The reading that counts: of the pinned backend, or of torch's pick after a change."""
    return answers.reading(one.readings, one.picked) if isinstance(one, Changed) else one


def saved(answer: Answer, one: Changed | Reading) -> float | None:
    """Seconds of a call that `one` saves; `None` where torch's own pick has no price."""
    before, then = answers.price(own(answer)), answers.price(after(one))
    return None if before is None or then is None else before - then


def instead(one: Changed | Reading) -> str:
    """What to write: `pin cuDNN`, or a change."""
    return change_words.WORDS[one.change][0] if isinstance(one, Changed) else f"pin {title(one.backend)}"


def code(one: Changed | Reading) -> str:
    if isinstance(one, Changed):
        return change_words.WORDS[one.change][1]
    return f"with sdpa_kernel({backends.BACKENDS[one.backend].pin}):"


def told(reading: Reading) -> str:
    """A backend's price, or why there is none, in torch's own words."""
    if reading.state == "wrong":
        off = "is not finite" if reading.error is None else f"has a relative error of {significant(reading.error, 2)}"
        return f"wrong: the {reading.tensor} {off}"
    price = seconds(answers.price(reading))
    return price or answers.own_words(reading.backend, reading.reason) or "was not timed"


LOSES_SOMETHING: frozenset[Change] = frozenset({"bfloat16", "detached bias", "no dropout", "not deterministic"})
"""Changes after which the result is another one, or may be."""


def another_result(answer: Answer, one: Changed | Reading) -> bool:
    """Whether what is written instead gives, or may give, another result: every backend draws its own dropout."""
    return answer.asked.dropout > 0 or (isinstance(one, Changed) and one.change in LOSES_SOMETHING)


def answer_sentences(found: Sequence[Answer]) -> list[str]:
    """The page's first sentences: what torch picks by itself, and how much of it can be had for less with the same result."""
    said = []
    if bad := [one for one in found if wrong(one)]:
        said.append(f"**What torch picks by itself gives a wrong result at {plural(len(bad), 'call')}**: {listed([one.asked.name for one in bad])}.")
    picks = Counter(title(one.picked) for one in found)
    first, *rest = picks.most_common()
    others = f", {listed([f'{name} for {count}' for name, count in rest])}" if rest else ""
    said.append(f"**torch picks {first[0]} for {first[1]} of {plural(len(found), 'call')}**{others}.")
    said += about(FLASH, found)
    cheaper = [(one, better) for one in found if (better := same_result(one)) is not None]
    if not cheaper:
        return [*said, "At none of them was something found that gives the same result in less time."]
    looped = [gain for pair in cheaper if (gain := in_a_loop(*pair)) is not None]
    worst, how = max(cheaper, key=lambda pair: (saved(*pair) or 0.0) / (answers.price(own(pair[0])) or 1.0))
    before, then = answers.price(own(worst)) or 1.0, answers.price(after(how)) or 1.0
    said.append(f"At {len(cheaper)} the same result can be had in less {'GPU time' if looped else 'time'}; the most at “{worst.asked.name}”: {seconds(before)} with {title(worst.picked)}, "
                f"{seconds(then)} if you {instead(how)} ({share(1 - then / before)} less).")
    if none := sum(gain < answers.MARGIN for gain in looped):
        said.append(f"At {none} of these {len(cheaper)} a loop that launches call by call gains nothing: there the CPU sets the pace.")
    return said


def in_a_loop(answer: Answer, one: Changed | Reading) -> float | None:
    """The share of a call's time that `one` saves in a loop that launches call by call, below 0 where it takes longer; `None` where the CPU's time is not known."""
    before, then = answers.pace(own(answer)), answers.pace(after(one))
    return None if before is None or then is None else 1 - then / before


def about(backend: str, found: Sequence[Answer]) -> list[str]:
    """How often a backend declines, and how often it could run where torch picks another; nothing where it is always picked."""
    readings = [(one, answers.reading(one.readings, backend)) for one in found]
    declines = sum(reading is not None and reading.state == "refused" for _, reading in readings)
    passed_over = [(reading, own(one)) for one, reading in readings if reading is not None and reading.state == "ok" and one.picked != backend]
    slower = sum(bool(mine and answers.beats(mine, reading)) for reading, mine in passed_over)
    said = [f"{title(backend)} declines {declines}"] if declines else []
    if passed_over:
        said.append(f"{'it' if said else title(backend)} could run at {len(passed_over)} where torch picks another, which is faster at {slower} of them")
    return [f"{'; '.join(said)}."] if said else []


@dataclass(frozen=True)
class Often:
    """A change with the same result that helps at several of the calls that were asked about.

    first: the answer that stands for them, the first one asked; change: what is written there instead; shares: what each of the calls saves, of its time
    """

    first: Answer
    change: Changed
    shares: tuple[float, ...]


def most_helpful(found: Sequence[Answer]) -> Often | None:
    """The change that is the best one with the same result at most calls; `None` where none is so at two."""
    groups: dict[Change, list[tuple[Answer, Changed]]] = {}
    for one in found:
        how = same_result(one)
        if isinstance(how, Changed) and saved(one, how) is not None:
            groups.setdefault(how.change, []).append((one, how))
    most = max(groups.values(), key=len, default=[])
    if len(most) < 2:
        return None
    return Often(*most[0], tuple((saved(*pair) or 0.0) / (answers.price(own(pair[0])) or 1.0) for pair in most))


def often_said(found: Often, asked: int) -> str:
    """`Say `is_causal=True` …: at 11 of 65 calls that people write it takes 48 % to 91 % less with the same result, at “…” 58.8 µs instead of 158 µs.`"""
    words = instead(found.change)
    low, high = share(min(found.shares)), share(max(found.shares))
    return (f"{words[:1].upper()}{words[1:]}: at {Count(len(found.shares))} of {plural(asked, 'call')} that people write it takes {low if low == high else f'{low} to {high}'} less GPU time with the same result, "
            f"at “{found.first.asked.name}” {seconds(answers.price(after(found.change)))} instead of {seconds(answers.price(own(found.first)))}.")


def often_saves(found: Often) -> Saving:
    """What it saves at the call that stands for all."""
    return Saving(saved(found.first, found.change) or 0.0, found.shares[0], title(found.first.picked), per="call")


def same_result(answer: Answer) -> Changed | Reading | None:
    """The fastest of what is better than torch's own pick and changes nothing about the result; only where that pick has a price."""
    if answers.price(own(answer)) is None:
        return None
    return next((one for one in answers.better(answer) if not another_result(answer, one)), None)
