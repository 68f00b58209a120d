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
    # new lengths cost 0.051, 0.050, 0.049, 0.048: 0.0495 in the middle
    assert bill.predict(EVEN, [100, 100, 100]) == pytest.approx(0.0495 + 0.003)
    assert bill.predict(EVEN, [100, 200]) == pytest.approx(2 * 0.0495 + 0.003)
    assert bill.predict(EVEN, []) == 0.0


def test_plans_that_serve_several_lengths_cost_for_the_first_few_only():
    # new: 0.099, then 0.0001 each
    assert bill.predict(AVOIDING, [110, 120, 130, 140]) == pytest.approx(0.099 + 0.0001 * 3 + 0.004)


THREE = Row("cudnn", False, False, False, (64, 100, 200, 128, 110, 210, 192, 120, 220),
            first=(0.050, 0.051, 0.052, 0.500, 0.060, 0.061, 0.040, 0.041, 0.042), later=(0.0,) * 9, passes=(0, 0, 0, 1, 1, 1, 2, 2, 2), begun=(2.0, 1.0, 1.0))
"""Three processes at paces of 51, 61 and 41 ms a plan; the second also read a file, once."""


def test_the_price_is_the_mean_of_what_the_processes_show_and_its_spread_is_theirs():
    assert [one.new for one in THREE.split] == [(0.050, 0.051, 0.052), (0.500, 0.060, 0.061), (0.040, 0.041, 0.042)]
    assert bill.price(THREE) == pytest.approx((0.051 + 0.061 + 0.041) / 3) and bill.spread(THREE) == (0.041, 0.061) and bill.spread(EVEN) is None


def test_what_one_process_alone_paid_is_in_no_prediction():
    """At the first place 0.050, 0.500, 0.040; then 0.051, 0.060, 0.041; then 0.052, 0.061, 0.042; afterwards the mean of 0.0515, 0.0605, 0.0415."""
    assert [round(bill.new_length(THREE)(before), 6) for before in range(5)] == [0.050, 0.051, 0.052, 0.051167, 0.051167]
    assert bill.predict(THREE, [300, 301, 302, 303]) == pytest.approx(0.153 + 0.051167, abs=1e-6)
    # 0.050 + 0.051 + 0.052 + 0.0515; the file's price is the median at its place: 0.050 + 0.060 + 0.061 + 0.0605; 0.040 + 0.041 + 0.042 + 0.0415
    assert bill.paces(THREE, [300, 301, 302, 303]) == pytest.approx([0.2045, 0.2315, 0.1645])
    assert bill.between(THREE, [300, 301, 302, 303]) == pytest.approx((0.1645, 0.2315)) and bill.between(EVEN, [300]) is None


def test_a_plan_that_serves_many_lengths_is_paid_at_the_places_where_every_process_met_one():
    row = Row("cudnn", False, False, True, tuple(range(100, 112)), first=(0.06, 0.06, 0.0001, 0.0001) * 3, later=(0.0,) * 12, passes=(0,) * 4 + (1,) * 4 + (2,) * 4, begun=(1.0,) * 3)
    assert bill.predict(row, range(300, 310)) == pytest.approx(2 * 0.06 + 8 * 0.0001) and bill.settled(row) == pytest.approx(0.0001)


def test_multiples_of_the_tile_have_a_line_of_their_own():
    """Four lengths that are no multiples of 64 at 1 ms, and three that are at 0.5 ms."""
    row = Row("efficient", True, False, False, (64, 100, 128, 150, 192, 180, 190), first=(1.0,) * 7, later=(0.0005, 0.001, 0.0005, 0.001, 0.0005, 0.001, 0.001))
    assert row.at(128) == row.at(192) == 0.0005 and row.at(129) == row.at(175) == 0.001
    few = Row("efficient", True, False, False, (64, 100, 200), first=(1.0,) * 3, later=(0.0005, 0.001, 0.002))
    assert few.at(100) == 0.001 and few.at(150) == pytest.approx(0.0015)  # too few of a kind: all together


def test_the_lengths_of_the_processes_differ_and_begin_with_a_long_one_and_a_short_one():
    assert len({length for part in bill.LENGTHS for length in part}) == 33 and all(part[0] > 512 > part[1] for part in bill.LENGTHS)
    assert all(sum(length % 64 == 0 for length in part) >= 3 and min(part) > 256 and max(part) <= 1024 for part in bill.LENGTHS)


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


@pytest.mark.parametrize("changed, said", [({"later": [0.1]}, "unequal numbers"), ({"first": [-1.0, 0.5]}, r"rows\S*first"), ({"lengths": ["8"]}, r"rows\S*lengths"),
                                           ({"passes": [0]}, "lengths and processes"), ({"passes": [0, 1], "begun": [1.0]}, "lengths and processes")])
def test_a_damaged_bill_is_named(tmp_path: Path, changed: dict[str, Any], said: str):
    with pytest.raises(RunInvalid, match=said):
        bill.read(written(tmp_path, **changed))
