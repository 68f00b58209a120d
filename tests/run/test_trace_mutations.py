"""Damaged traces of a recorded H200 run: whatever is done to the file or to what it holds, the end is all that can be said, or an error of two lines.

`MUTATIONS=4000` tries 900 and renders the pages of 20; without it 40 are tried.
"""

from __future__ import annotations

import gzip
import json
import os
import random
import re
import shutil
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from mutations import NUMBERS, OTHERS, WORDS

from reportgen import analysis, findings, pages, readings, trace
from reportgen import run as run_room
from reportgen.commands import facts_json
from reportgen.commands.summary import summary
from reportgen.errors import ReportError
from reportgen.pages import charts, readme

RECORDED = Path(__file__).resolve().parents[2] / "docs" / "runs" / "nvidia-h200" / "article"
TRIED = 900 if int(os.environ.get("MUTATIONS", "0")) >= 4000 else 40
RENDERED = 20 if TRIED == 900 else 2
IMPOSSIBLE = (None, True, "", "x", [], {}, [0, 0, 0], -1, -0.5, float("nan"), float("inf"), float("-inf"), 1e308, 10**400, "nan")
BLANK = b'<?xml version="1.0"?>\n<svg xmlns="http://www.w3.org/2000/svg"></svg>\n'
Draw = random.Random
Events = list[dict[str, Any]]


@cache
def packed(name: str) -> bytes:
    return (RECORDED / f"{name}.trace.json.gz").read_bytes()


def _cut(content: bytes, draw: Draw) -> bytes:
    return content[:draw.randrange(len(content))]


def _flip(content: bytes, draw: Draw) -> bytes:
    place = draw.randrange(len(content))
    return content[:place] + bytes([content[place] ^ 1 << draw.randrange(8)]) + content[place + 1:]


def _bytes_of_the_text(content: bytes, draw: Draw) -> bytes:
    """A letter of the JSON becomes another one, packed again, so that no checksum tells."""
    text = bytearray(gzip.decompress(content))
    for _ in range(draw.choice((1, 1, 8))):
        text[draw.randrange(len(text))] = draw.choice(b'0123456789{}[]":,x-.\x00\xff')
    return gzip.compress(bytes(text), 1)


def _events(change: Callable[[Events, Draw], Events]) -> Callable[[bytes, Draw], bytes]:
    def changed(content: bytes, draw: Draw) -> bytes:
        document = json.loads(gzip.decompress(content))
        document["traceEvents"] = change(document["traceEvents"], draw)
        return gzip.compress(json.dumps(document).encode(), 1)

    changed.__name__ = change.__name__
    return changed


def _some(events: Events, draw: Draw) -> Events:
    return draw.sample(events, draw.choice((1, 1, 5, 40)))


def _field(events: Events, draw: Draw, values: tuple[Any, ...]) -> Events:
    for event in _some(events, draw):
        inside = event["args"] if event.get("args") and draw.random() < 0.5 else event
        inside[draw.choice(list(inside))] = draw.choice(values)
    return events


def _impossible(events: Events, draw: Draw) -> Events:
    return _field(events, draw, IMPOSSIBLE)


def _anything(events: Events, draw: Draw) -> Events:
    return _field(events, draw, (*OTHERS, *NUMBERS, *WORDS))


def _without(events: Events, draw: Draw) -> Events:
    gone = {id(event) for event in _some(events, draw)}
    return [event for event in events if id(event) not in gone]


def _twice(events: Events, draw: Draw) -> Events:
    return events + _some(events, draw)


def _exchanged(events: Events, draw: Draw) -> Events:
    one, other = draw.sample(events, 2)
    field = draw.choice([name for name in one if name in other])
    one[field], other[field] = other[field], one[field]
    return events


def _shuffled(events: Events, draw: Draw) -> Events:
    draw.shuffle(events)
    return events


KINDS: tuple[Callable[[bytes, Draw], bytes], ...] = (_cut, _flip, _bytes_of_the_text, *map(_events, (_impossible, _impossible, _anything, _without, _twice, _exchanged, _shuffled)))
NO_VERDICT_TURNS = ("_flip", "_impossible", "_without", "_shuffled")
"""What is lost, in another order, or no number at all may leave a claim open, and not turn it over."""


@cache
def whole_run() -> dict[str, tuple[str, str]]:
    return verdicts(analysis.build(run_room.load(RECORDED)))


def verdicts(facts: analysis.RunFacts) -> dict[str, tuple[str, str]]:
    return {claim: (outcome.verdict, outcome.headline) for claim, outcome in findings.outcomes(facts).items()}


def told(folder: Path, render: bool) -> analysis.RunFacts | None:
    """Everything said that can be; `None` where the trace is refused."""
    try:
        facts = analysis.build(run_room.load(folder))
    except ReportError as error:
        assert re.fullmatch(r".+\.trace\.json\.gz: .+\n  what to do: .+", str(error)), str(error)
        return None
    outcomes = findings.outcomes(facts)
    said = [outcome.headline for outcome in (*outcomes.values(), *readings.answers(facts).values())]
    said += [summary(facts, outcomes, {}, ""), readme.section(facts, outcomes)]
    for finding in findings.FINDINGS:
        finding.evidence(facts)
    json.dumps(facts_json.to_json(facts, outcomes), allow_nan=False)
    assert not re.search(r"\bnan\b|\binf\b|\bNone\b(?!\.)", "\n".join(said))
    if render:  # the variants' code, which stands on pages, has None and -inf
        shown = [content for content in pages.render_facts([facts], facts.slot).values() if isinstance(content, str)]
        assert not re.search(r"\b(?:nan|inf|None)(?: µs| ms| %|×)|Undefined|<bound method", "\n".join(shown))
    return facts


def test_a_damaged_trace_gives_pages_or_two_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(charts, "svg", lambda form, data, alt="": BLANK)
    folder, counts = tmp_path / "nvidia-h200" / "article", Counter[str]()
    real, once, damaged = trace.read, cache(trace.read), tmp_path
    ours = whole_run()
    monkeypatch.setattr(trace, "read", lambda file: real(file) if file == damaged else once(file))
    shutil.copytree(RECORDED, folder, ignore=shutil.ignore_patterns("*.md", "charts"))
    names = sorted(file.name.split(".")[0] for file in folder.glob("*.gz"))
    for seed in range(TRIED):
        draw = random.Random(seed)
        name, kind = names[seed % len(names)], KINDS[seed % len(KINDS)]
        damaged = folder / f"{name}.trace.json.gz"
        damaged.write_bytes(kind(packed(name), draw))
        render = counts["read"] % (TRIED // RENDERED // 2) == 0
        try:
            facts = told(folder, render)
            if facts and kind.__name__ in NO_VERDICT_TURNS:
                turned = {claim: said for claim, said in verdicts(facts).items() if said[0] not in ("not measurable", ours[claim][0])}
                assert turned == {}
        except Exception as error:
            raise AssertionError(f"seed {seed}: {kind.__name__.strip('_')} {name}") from error
        counts.update(("refused" if facts is None else "read", f"{'refused' if facts is None else 'read'}: {kind.__name__.strip('_')}", *(["rendered"] if render and facts else [])))
        damaged.write_bytes(packed(name))
    with capsys.disabled():
        print(f"\n{TRIED} damaged traces: {', '.join(f'{what} {number}' for what, number in sorted(counts.items()))}")
    assert counts["read"] > TRIED / 10 and counts["refused"] > TRIED / 10
