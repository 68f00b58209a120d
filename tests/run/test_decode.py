"""The border between JSON and a run: what a type asks for is there in the end, or one line names the field."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal, Optional

import pytest

from reportgen.numbers.statistics import Estimate
from reportgen.run.decode import Misfit, decode
from reportgen.run.ranges import Capability, Count, Known, Number, Setting, Size, Times, Triple


@dataclass(frozen=True)
class Leaf:
    size: Size
    note: str | None = None


@dataclass(frozen=True)
class Whole:
    kind: Literal["a", "b"]
    leaves: tuple[Leaf, ...] = ()
    times: Mapping[str, Times] = field(default_factory=dict)
    grid: Triple | None = None
    leaf: Leaf | None = None
    known: Mapping[Annotated[str, Known(("x", "y"))], Count] = field(default_factory=dict)
    named: Mapping[str, Setting] = field(default_factory=dict)
    flag: bool = False
    number: Optional[Number] = None
    capability: Capability | None = None


def test_a_whole_record_is_decoded_to_the_leaf():
    found = decode(Whole, {"kind": "b", "leaves": [{"size": 2}, {"size": 3.0, "note": "n"}], "times": {"t": [0.5, 1]}, "grid": [1, 2, 3], "leaf": {"size": 1},
                           "known": {"x": 0}, "named": {"n-1": [True, "s"]}, "flag": True, "number": 7})
    assert found == Whole("b", (Leaf(2), Leaf(3, "n")), {"t": Estimate((0.5, 1))}, (1, 2, 3), Leaf(1), {"x": 0}, {"n-1": (True, "s")}, True, 7)


def test_what_nobody_asked_for_is_left_out_in_silence():
    assert decode(Whole, {"kind": "a", "later": 1, "known": {"y": 1, "z": "?"}, "leaf": {"size": 1, "more": []}}) == Whole("a", known={"y": 1}, leaf=Leaf(1))


def test_null_is_as_good_as_not_recorded_where_there_is_a_default():
    assert decode(Whole, {"kind": "a", "leaves": None, "times": None, "flag": None, "grid": None}) == Whole("a")


def test_a_field_from_elsewhere_is_not_looked_for():
    assert decode(Leaf, {"size": "?"}, size=4) == Leaf(4)


NAN, INFINITE = float("nan"), float("inf")


@pytest.mark.parametrize(("change", "said"), [
    ({"kind": "c"}, "kind is 'c', expected one of a, b"),
    ({"kind": 1}, "kind is 1, expected text"),
    ({"kind": None}, "kind is None, expected text"),
    ({"leaves": {}}, "leaves is {}, expected a list"),
    ({"leaves": [{"size": 1}, {}]}, "leaves[1].size is missing"),
    ({"leaves": [5]}, "leaves[0] is 5, expected an object"),
    ({"leaf": [1]}, "leaf is [1], expected an object"),
    ({"leaf": {"size": 0}}, "leaf.size is 0, expected a whole number from 1 to 2^53"),
    ({"leaf": {"size": 1.5}}, "leaf.size is 1.5, expected a whole number"),
    ({"leaf": {"size": True}}, "leaf.size is True, expected a whole number"),
    ({"leaf": {"size": 10**300}}, f"leaf.size is {'1' + '0' * 58}…, expected a whole number from 1 to 2^53"),
    ({"leaf": {"size": INFINITE}}, "leaf.size is inf, expected a whole number"),
    ({"leaf": {"size": 1, "note": 2}}, "leaf.note is 2, expected text"),
    ({"leaf": {"size": 1, "note": "\ud800"}}, "leaf.note is '\\ud800', expected text"),
    ({"grid": [1, 2]}, "grid is [1, 2], expected a list of 3"),
    ({"grid": [1, 2, -1]}, "grid[2] is -1, expected a whole number from 0 to 2^31"),
    ({"times": {"t": []}}, "times.t is an empty list, expected one value per process"),
    ({"times": {"t": [1.0, 0.0]}}, "times.t[1] is 0.0, expected seconds above 0"),
    ({"times": {"t": [-1.0]}}, "times.t[0] is -1.0, expected seconds above 0"),
    ({"times": {"t": [NAN]}}, "times.t[0] is nan, expected seconds above 0"),
    ({"times": {"t": [INFINITE]}}, "times.t[0] is inf, expected seconds above 0"),
    ({"times": {"t": [1.0, "2"]}}, "times.t is [1.0, '2'], expected a list of numbers"),
    ({"times": {"t": None}}, "times.t is None, expected a list of numbers"),
    ({"capability": "sm_90"}, "capability is 'sm_90', expected a compute capability, as '9.0'"),
    ({"named": {"\ud800": 1}}, "a name in named is '\\ud800', expected text"),
    ({"named": {"n": {}}}, "named.n is {}, expected true or false or a number or text or a list"),
    ({"named": {"n": [[1]]}}, "named.n[0] is [1], expected true or false or a number or text"),
    ({"number": NAN}, "number is nan, expected a finite number"),
    ({"number": -INFINITE}, "number is -inf, expected a finite number"),
    ({"number": 1e200}, "number is 1e+200, expected a finite number"),
    ({"flag": 1}, "flag is 1, expected true or false"),
])  # fmt: skip
def test_what_does_not_fit_is_named_with_what_was_expected(change, said):
    with pytest.raises(Misfit) as caught:
        decode(Whole, {"kind": "a", **change})
    assert str(caught.value) == said


def test_a_whole_file_of_another_form_is_named_as_such():
    with pytest.raises(Misfit) as caught:
        decode(Whole, [1, 2])
    assert str(caught.value) == "the whole file is [1, 2], expected an object"
