"""What the rules say of a call is what torch said when it was asked, on every device that recorded it."""

from __future__ import annotations

from pathlib import Path

import pytest

from reportgen.hardware.attention_ops import Backend
from reportgen.hardware.backends import conditions
from reportgen.hardware.declined import FUSED, Given, declined
from reportgen.ledger.causes import ASKED
from reportgen.shapes import answers

ROOT = Path(__file__).resolve().parents[2]
NAMES = {Backend.CUDNN: "cudnn", Backend.FLASH: "flash", Backend.EFFICIENT: "efficient"}
RECORDED = [(file.parent.name, asked, readings) for file in sorted(ROOT.glob("docs/runs/*/why.jsonl")) for one in answers.read(file).answers
            for asked, readings in ((one.asked, one.readings), *((changed.asked, changed.readings) for changed in one.changed))]


def given(asked):
    """The call as its tensors would be recorded."""
    call = asked.call
    grouped = call.heads if asked.written == "repeated" else call.kv_heads
    dims = [(call.batch, call.heads, call.queries, call.head_dim), (call.batch, grouped, call.keys, call.head_dim), (call.batch, grouped, call.keys, call.value_dim)]
    if asked.form == "three dimensions":
        dims = [one[1:] for one in dims]
    if asked.written == "padded":
        dims = [(*one[:-1], one[-1] + -one[-1] % 8) for one in dims]
    mask = () if call.mask in ("none", "causal") else (call.queries, call.keys)
    kind = "bool" if call.mask in ("bool", "window") else "float32" if asked.form == "bias in fp32" else call.dtype
    strides = (call.keys,) if asked.form == "strided" and asked.written != "contiguous" else (1, 1, 1)
    return Given(*dims, call.dtype, strides, mask, kind if mask else None, asked.form == "learned bias", call.mask == "causal")


@pytest.mark.parametrize(("device", "asked", "readings"), RECORDED, ids=[f"{device}-{asked.id}" for device, asked, _ in RECORDED])
def test_the_rules_decline_what_torch_declined(device, asked, readings):
    """But for `torch.use_deterministic_algorithms`, which is no argument."""
    said = {one.backend for one in readings if one.state == "refused"}
    if asked.form == "deterministic":
        said.discard("cudnn")
    assert {NAMES[one.backend] for one in declined(given(asked))} == said


def test_some_device_has_recorded_what_torch_said():
    assert len(RECORDED) > 50


def test_every_row_that_a_rule_names_is_in_the_table_and_has_a_cause():
    rows = {row.asks for row in conditions().rows}
    odd = [Given((2, 8, 16, 70), (2, 4, 1, 70), (2, 4, 1, 300), "float64", (3,), (16, 1), "float32", True, True), Given((8, 16, 64), (8, 16, 64), (8, 16, 64))]
    named = {one.asks for each in odd for one in declined(each)}
    assert named == set(ASKED) and named <= rows


def test_a_call_without_sizes_proves_nothing():
    assert declined(Given((), (), ())) == []


def test_each_fused_backend_is_asked():
    assert set(FUSED) == set(NAMES)
