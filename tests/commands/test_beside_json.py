"""What lies beside a map, as JSON for other tools."""

from __future__ import annotations

import json

from folder_doubles import NO_MASK, after, answer, asked, bill, extras, row
from map_doubles import point, square

from reportgen.commands import beside_json
from reportgen.shapes.folder import Folder


def test_nothing_recorded_is_null_each():
    assert beside_json.to_json(Folder("x")) == {"why": None, "bill": None, "extras": None}


def test_an_answer_has_picks_prices_words_and_what_takes_less_time():
    masked = answer("a prompt with a mask", "efficient", square(1024, mask="bool"), (after("is_causal", "cudnn", cudnn=36.0),), efficient=215.0, flash=NO_MASK, cudnn=89.0)
    found = json.loads(json.dumps(beside_json.to_json(asked(masked)), allow_nan=False))["why"]
    call = found["calls"][0]
    assert (call["name"], call["torch_picks"], call["mask"], call["keys"]) == ("a prompt with a mask", "efficient", "bool", 1024)
    assert call["backends"]["flash"]["in_its_own_words"] == "Flash Attention does not support non-null attn_mask." and call["backends"]["flash"]["gpu_time_us"] is None
    assert call["backends"]["efficient"]["gpu_time_us"] == 215.0 and call["backends"]["efficient"]["in_its_own_words"] is None
    assert call["same_result_in_less_time"] == {"write": "is_causal", "saves_us": 179.0}
    assert [(one["change"], one["torch_picks"], one["backends"]["cudnn"]["gpu_time_us"]) for one in call["changes"]] == [("is_causal", "cudnn", 36.0)]
    assert found["software"]["torch"] == "2.11.0+cu130" and found["recorded_on"] == "2026-12-03"


def test_a_pinned_backend_is_named_and_a_pick_without_a_price_saves_nothing():
    pinned, wrong = answer("a", "efficient", efficient=200.0, cudnn=100.0), answer("b", "cudnn", cudnn="wrong", math=900.0)
    found = beside_json.to_json(asked(pinned, wrong))["why"]["calls"]
    assert found[0]["same_result_in_less_time"] == {"write": "pin cudnn", "saves_us": 100.0} and found[1]["same_result_in_less_time"] is None


def test_a_bill_has_every_length_and_the_median_price():
    found = beside_json.to_json(bill(row("cudnn", 43.0, 50.0, layout="bshd"), row("flash", 0.0, 0.0, mask=True, reason="takes no mask")))["bill"]
    first, refused = found["rows"]
    assert (first["lengths"], first["later_us"], first["new_length_us"], first["layout"], first["switch_set"]) == ([256, 512, 1024], [50.0] * 3, 43000.0, "bshd", False)
    assert (refused["reason"], refused["lengths"], refused["new_length_us"]) == ("takes no mask", [], None) and found["switch"] == "TORCH_CUDNN_SDPA_AVOID_RECOMPILE"


def test_extras_have_each_way_of_calling():
    found = beside_json.to_json(extras(point(square(2048), "cudnn", cudnn=100.0, flex=90.0)))["extras"]
    assert [(one["id"], one["ways"]["flex"]["gpu_time_us"]) for one in found["points"]] == [("b2-h16-q2048-k2048-d64-bf16-causal", 90.0)]
