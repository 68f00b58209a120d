"""The bill as data: what it predicts, when a length has earned its first call back, and which bucket is best."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from reportgen.errors import RunInvalid
from reportgen.shapes import bill
from reportgen.shapes.bill import Row

LENGTHS = (100, 200, 300, 400, 500)
EVEN = Row("cudnn", False, False, False, LENGTHS, first=(2.0, 0.053, 0.053, 0.053, 0.053), later=(0.001, 0.002, 0.003, 0.004, 0.005))
AVOIDING = Row("cudnn", False, False, True, LENGTHS, first=(2.0, 0.1, 0.0011, 0.0011, 0.0011), later=(0.001,) * 5)


def test_a_later_call_lies_between_its_neighbours():
    assert [EVEN.at(length) for length in (50, 100, 250, 500, 1000)] == pytest.approx([0.001, 0.001, 0.0025, 0.005, 0.02])


def test_a_new_length_costs_once():
    # new lengths cost 0.051, 0.050, 0.049, 0.048: 0.0495 on average
    assert bill.predict(EVEN, [100, 100, 100]) == pytest.approx(0.0495 + 0.003)
    assert bill.predict(EVEN, [100, 200]) == pytest.approx(2 * 0.0495 + 0.003)
    assert bill.predict(EVEN, [100], begun=False) == pytest.approx(2.0)
    assert bill.predict(EVEN, []) == 0.0


def test_plans_that_serve_several_lengths_cost_for_the_first_few_only():
    # new: 0.099, then 0.0001 each
    assert bill.predict(AVOIDING, [110, 120, 130, 140]) == pytest.approx(0.099 + 0.0001 * 3 + 0.004)


def test_the_best_bucket_weighs_new_lengths_against_longer_calls():
    many = list(range(100, 200))
    assert bill.bucketed([100, 128, 129], 64) == [128, 128, 192]
    assert bill.best_bucket(EVEN, many)[0] == 256          # one length, of 256, and one new call
    assert bill.best_bucket(EVEN, [100] * 1000)[0] == 1    # never new again: nothing is gained by a longer call


def test_a_row_without_seconds_predicts_nothing_new_and_earns_nothing():
    assert bill.calls_to_earn(Row("flash", True, False, reason="refused"), EVEN) is None


def written(tmp_path: Path, **changed: Any) -> Path:
    row = {"backend": "cudnn", "mask": False, "gradients": False, "lengths": [8, 16], "first": [1.0, 0.5], "later": [0.1, 0.2], **changed}
    call = {"batch": 1, "heads": 1, "kv_heads": 1, "queries": 8, "keys": 8, "head_dim": 8, "value_dim": 8}
    header = {"schema_version": 1, "device": {"kind": "cpu", "name": "CPU", "slug": "cpu"}, "software": {"torch": "2.13"}}
    bill.write(tmp_path / "bill.json", {"header": header, "call": call, "rows": [row]})
    return tmp_path / "bill.json"


def test_a_bill_is_read_as_it_was_written(tmp_path: Path):
    found = bill.read(written(tmp_path))
    assert found.row("cudnn", False, False) == Row("cudnn", False, False, False, (8, 16), (1.0, 0.5), (0.1, 0.2)) and found.row("flash", False, False) is None
    assert json.loads((tmp_path / "bill.json").read_text())["rows"][0]["first"] == [1.0, 0.5]


@pytest.mark.parametrize("changed, said", [({"later": [0.1]}, "unequal numbers"), ({"first": [-1.0, 0.5]}, r"rows\S*first"), ({"lengths": ["8"]}, r"rows\S*lengths")])
def test_a_damaged_bill_is_named(tmp_path: Path, changed: dict[str, Any], said: str):
    with pytest.raises(RunInvalid, match=said):
        bill.read(written(tmp_path, **changed))
