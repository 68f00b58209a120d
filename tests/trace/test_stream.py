"""The streaming reader beside `json.loads`: the same events at every size of piece, all that a cut text holds, and what is broken is skipped."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterator
from typing import Any

import pytest

from reportgen.trace.stream import LONGEST_EVENT, LONGEST_OTHER, NoTrace, Stream

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


def test_a_damaged_text_is_read_alike_whatever_the_pieces():
    whole = [{"ph": "X", "cat": "cpu_op", "name": f"a{number}", "ts": number, "dur": 1, "args": {"Input Dims": [[1, 2], []], "q": "x"}} for number in range(40)]
    for seed in range(400):
        drawn = random.Random(seed)
        text = list(json.dumps({"deviceProperties": [{"id": 0}], "traceEvents": whole, "z": 1}, indent=drawn.choice((None, 1))))
        for _ in range(drawn.choice((1, 3, 10))):
            at = drawn.randrange(len(text))
            text[at: at + drawn.choice((0, 1, 1, 20))] = [drawn.choice('"{}[],:\\e9x')]
        assert len({told("".join(text), size) for size in (1, 7, 97, 1000, 10**6)}) == 1, seed


def told(text: str, size: int) -> str:
    try:
        events, stream = read(text, size)
    except NoTrace as reason:
        return str(reason)
    return json.dumps([events, stream.damaged, stream.cut])


@pytest.mark.parametrize("broken", ['{"ph": "X", "name": "a "b" c", "ts": 1}', '{"ph": "X", "name": "C:\\q", "ts": 1}'])
def test_names_with_unescaped_signs_all_over_cost_no_more_time_than_there_are_of_them(broken: str):
    """Some torch versions write them so. `json` counts the lines before each; 24 s when a text was held from its begin."""
    text = '{"traceEvents": [' + ",".join([broken, '{"ph": "X", "name": "whole"}'] * 40_000) + "]}"
    began = time.process_time()
    events, stream = read(text, 2**20)
    assert time.process_time() - began < 8
    assert len(events) == stream.damaged == 40_000


def test_blanks_behind_what_is_broken_do_not_cost_their_square():
    began = time.process_time()
    events, stream = read('{"traceEvents": [{"ph": "X"}, {"ph": "X", bad}' + " " * 1_000_000 + 'x, {"ph": "X"}, {"ph": "X"}]}', 2**20)
    assert time.process_time() - began < 3
    assert (len(events), stream.damaged) == (2, 1)  # the one before, and the one behind the first that seems to follow another


def test_only_what_is_asked_for_beside_the_events_is_kept():
    stream = Stream(pieces(TEXT, 50), ("deviceProperties",))
    assert len(list(stream.events())) == 3 and stream.other == {"deviceProperties": [{"id": 0, "name": "x"}]}


def test_what_is_too_long_beside_the_events_is_told_and_not_held():
    endless = '"k": "' + "x" * (3 * LONGEST_OTHER) + '"'
    with pytest.raises(NoTrace) as before:
        read("{" + endless + ', "traceEvents": [{"ph": "X"}]}', 2**20)
    assert str(before.value) == "what stands before its events cannot be read"
    events, stream = read('{"traceEvents": [{"ph": "X"}], ' + endless + "}", 2**20)
    assert len(events) == 1 and stream.cut == "something beside its events cannot be read"


@pytest.mark.parametrize("behind", [" x", "}", '{"traceEvents": []}', "\x00"])
@pytest.mark.parametrize("size", [1, 1000])
def test_text_behind_the_end_is_told(behind: str, size: int):
    assert read(TEXT + "\n \n", size)[1].damaged == 0
    events, stream = read(TEXT + behind, size)
    assert len(events) == 3 and stream.damaged == 1


def test_a_second_list_of_events_is_told():
    """`json` would drop the first one without a word."""
    events, stream = read('{"traceEvents": [{"ph": "X"}], "traceEvents": [{"ph": "i"}]}')
    assert len(events) == 2 and stream.damaged == 1
