"""The streaming reader beside `json.loads`: the same events at every size of piece, all that a cut text holds, and what is broken is skipped."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

import pytest

from reportgen.trace.stream import LONGEST_EVENT, NoTrace, Stream

TEXT = ('{"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "x"}], "traceEvents": [{"ph": "X", "name": "a", "ts": 1.5, "dur": 2, "args": {"k": [1, 2]}},\n'
        '  {"ph": "X", "name": "b\\u00e9\\"}", "ts": 3}, {"ph": "i", "name": "c"}], "last": 12345}')
WHOLE = json.loads(TEXT)


def pieces(text: str, size: int) -> Iterator[str]:
    return (text[at: at + size] for at in range(0, len(text), size))


def read(text: str, size: int = 1000) -> tuple[list[dict[str, Any]], Stream]:
    stream = Stream(pieces(text, size))
    return list(stream.events()), stream


@pytest.mark.parametrize("size", [1, 2, 3, 7, 50, 1000])
def test_the_same_as_json_at_every_size_of_piece(size: int):
    events, stream = read(TEXT, size)
    assert events == WHOLE["traceEvents"]
    assert stream.other == {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "x"}], "last": 12345}
    assert stream.cut is None and stream.damaged == 0


@pytest.mark.parametrize("size", [1, 5, 1000])
@pytest.mark.parametrize("end", range(TEXT.index("[{\"ph\"") + 1, len(TEXT)))
def test_a_cut_text_gives_every_whole_event_and_says_that_it_is_cut(end: int, size: int):
    events, stream = read(TEXT[:end], size)
    ends = [TEXT.index(mark) + len(mark) for mark in ('{"k": [1, 2]}}', '"ts": 3}', '"name": "c"}')]
    assert events == WHOLE["traceEvents"][: sum(one <= end for one in ends)]
    assert stream.cut == "it ends before its last event does"


@pytest.mark.parametrize("text, said", [("", "it is empty"), ("   ", "it is empty"), ("hello", "it begins with 'hello'"), ("{}", "it has no list `traceEvents`"),
                                        ('{"traceEvents": 3}', "it has no list `traceEvents`"), ('{"a": 1', "it has no list `traceEvents`")])
def test_what_is_no_trace_is_told(text: str, said: str):
    with pytest.raises(NoTrace) as told:
        read(text)
    assert str(told.value) == said


def test_a_bare_list_of_events_is_a_trace():
    assert read('[{"ph": "X"}, {"ph": "i"}]')[0] == [{"ph": "X"}, {"ph": "i"}]


@pytest.mark.parametrize("broken", ['{"ph": "X", "name": "an unescaped " quote"}', '{"ph": "X", "name": "C:\\dir\\x"}', '{"ph": "X", "dur": 1' + "0" * 5000 + "}",
                                    '{"ph": "X", "args": ' + "[" * 100_000 + "]" * 100_000 + "}", "3", '"text"', "null"])
@pytest.mark.parametrize("size", [1, 64, 100_000])
def test_what_is_broken_costs_itself(broken: str, size: int):
    if size == 1 and len(broken) > 10_000:
        size = 1000
    events, stream = read('{"traceEvents": [{"ph": "X", "name": "before"}, ' + broken + ', {"ph": "X", "name": "after"}], "k": 1}', size)
    assert [event["name"] for event in events if event.get("name") in ("before", "after")] == ["before", "after"]
    assert len(events) == 2 and stream.damaged == 1 and stream.cut is None and stream.other == {"k": 1}


def test_an_event_without_an_end_does_not_take_the_whole_text_into_memory():
    endless = '{"traceEvents": [{"ph": "X", "name": "' + "x" * (3 * LONGEST_EVENT)
    held = []
    stream = Stream(pieces(endless, 2**16))
    for event in stream.events():
        held.append(event)
    assert held == [] and stream.cut is not None


def test_random_texts_with_random_pieces():
    drawn = random.Random(13)
    for _ in range(200):
        events = [{"ph": "X", "name": "".join(drawn.choice('ab"\\{}[],:\u00e9\n') for _ in range(drawn.randrange(12))), "ts": drawn.random() * 1e9, "args": {"n": [drawn.randrange(9)] * drawn.randrange(4)}}
                  for _ in range(drawn.randrange(8))]
        text = json.dumps({"a": {"traceEvents": [1]}, "traceEvents": events, "b": drawn.random()}, indent=drawn.choice([None, 1]), ensure_ascii=drawn.random() < 0.5)
        assert read(text, drawn.randrange(1, 40))[0] == events
