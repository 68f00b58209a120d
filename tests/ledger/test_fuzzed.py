"""Traces damaged at random: read or refused in words, in time, and no number that a second count does not give without a caveat that says why.

    FUZZED=20000 pytest tests/ledger/test_fuzzed.py
"""

from __future__ import annotations

import copy
import gzip
import json
import os
import random
import resource
import sys
import time
from pathlib import Path

import pytest

from reportgen.errors import TraceMalformed
from reportgen.explained import html, terminal
from reportgen.ledger import words
from reportgen.ledger.as_json import as_json
from reportgen.ledger.build import build
from reportgen.trace.whole import read_pieces

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "trace"))
import second_count  # noqa: E402

DATA = Path(__file__).resolve().parents[1] / "data" / "planted"
COUNT = int(os.environ.get("FUZZED", "240"))
PARTS = 8
SLOWEST = 5.0
"""Seconds for one trace of a few hundred events, on a machine that does other things as well."""
HOSTILE = (None, True, -1, 0, 1, 2**31, 2**63, 2**64, 10**400, -(10**30), 1e308, -1e308, 0.5, "", "inf", "nan", "1e999", "-5", "9" * 5000, "x" * 3000, "\x1b[31m", "\u202e", "</script>",
           "aten::scaled_dot_product_attention", "cpu_op", "kernel", [], [[]], [[[[[[1]]]]]], [None], {}, {"a": {"b": [1]}}, [1] * 500, float("inf"), float("-inf"), float("nan"))
NAMES = ("bool_mask", "by_hand", "mask_gradient_backward", "strided", "graph_decode")


def small(name: str) -> dict:
    """One step of a recorded trace, or as many events of it as a step has."""
    document = json.loads(gzip.decompress((DATA / f"{name}.json.gz").read_bytes()))
    events = [event for event in document["traceEvents"] if event.get("ph") == "X"]
    wanted = [event for event in events if "attend" in str(event.get("name"))] or events
    begin = min(event["ts"] for event in wanted)
    held = [event for event in events if begin - 100 <= event["ts"] <= begin + 1500][:500]
    numbers = {event["args"].get("correlation") for event in held if isinstance(event.get("args"), dict)} - {None, 0}
    held += [event for event in events if event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset") and event["args"].get("correlation") in numbers and event not in held][:200]
    return {**{key: value for key, value in document.items() if key != "traceEvents"}, "traceEvents": held}


BASES = {name: small(name) for name in NAMES}


def damaged(draw: random.Random, base: dict) -> str:
    """A text: a document with a few changed members, or its text with a few changed signs, or both."""
    document = copy.deepcopy(base) if draw.random() < 0.85 else base
    if document is not base:
        for _ in range(draw.choice((1, 1, 1, 2, 5, 30))):
            _member(draw, document)
    text = json.dumps(document)
    if document is base or draw.random() < 0.15:
        text = _signs(draw, text)
    return text


def _member(draw: random.Random, document: dict) -> None:
    events = document["traceEvents"]
    what = draw.randrange(9)
    place = draw.randrange(len(events)) if events else 0
    event = events[place] if events else None
    if not events or not isinstance(event, dict):
        return
    if what == 0:
        del events[place]
    elif what == 1:
        events.insert(draw.randrange(len(events)), copy.deepcopy(event))
    elif what == 2:
        events[place] = draw.choice(HOSTILE)
    elif what == 3:
        draw.shuffle(events)
    elif what == 4 and event:
        event.pop(draw.choice(list(event)))
    elif what == 5 and event:
        event[draw.choice(list(event))] = draw.choice(HOSTILE)
    elif what == 6 and isinstance(event.get("args"), dict) and event["args"]:
        event["args"][draw.choice(list(event["args"]))] = draw.choice(HOSTILE)
    elif what == 7:
        key = draw.choice(("ts", "dur"))
        if isinstance(event.get(key), (int, float)):
            event[key] = event[key] * draw.choice((-1, 0, 0.5, 1e6, 1e12)) + draw.choice((0, 1, -1e6, 1e15))
    else:
        document[draw.choice([key for key in document if key != "traceEvents"])] = draw.choice(HOSTILE)


def _signs(draw: random.Random, text: str) -> str:
    if draw.random() < 0.4:
        return text[: draw.randrange(len(text))]
    for _ in range(draw.choice((1, 2, 20))):
        place = draw.randrange(len(text))
        text = text[:place] + draw.choice(("", "\x00", '"', "{", "}", "[", "]", ",", ":", "\\", "e", "9", "\ud800", "\u2028")) + text[place + draw.choice((0, 1, 1, 50)):]
    return text


def pieces(draw: random.Random, text: str) -> list[str]:
    size = draw.choice((1 << 20, 4096, 101))
    return [text[at:at + size] for at in range(0, len(text), size)]


def second(text: str) -> second_count.Count | None:
    """`None` where the second count cannot make anything of it."""
    try:
        document = json.loads(text, strict=False)
        return second_count.Count(document) if second_count.is_trace(document) else None
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
        return None


@pytest.mark.parametrize("part", range(PARTS))
def test_it_is_read_or_refused_and_no_number_differs_without_a_caveat(part):
    read, held = 0, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for number in range(part, COUNT, PARTS):
        draw = random.Random(f"fuzzed {number}")
        text = damaged(draw, BASES[draw.choice(NAMES)])
        began = time.monotonic()
        try:
            ledger = build(read_pieces(pieces(draw, text), f"fuzzed {number}"))
        except TraceMalformed as refused:
            assert refused.cure, number
            continue
        read += 1
        said = terminal.page(ledger) + html.page(ledger) + json.dumps(as_json(ledger), allow_nan=False)
        assert time.monotonic() - began < SLOWEST, number
        assert "\x1b" not in said and "<script" not in said, number
        counted = second(text)
        if counted is None or words.caveats(ledger):
            continue
        assert {kind: time.activities for kind, time in ledger.totals.kinds.items()} == dict(counted.activities), number
        for kind, seconds in counted.seconds.items():
            assert ledger.totals.kinds[kind].seconds == pytest.approx(seconds, rel=1e-9), number
    assert read > COUNT / PARTS / 3, "most are read"
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < held + 200 * 1024  # KiB more than this test process held before
