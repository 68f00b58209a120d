"""Mask rebuilt: every way in which its claim can come out, with the evidence turned round."""

from __future__ import annotations

from dataclasses import replace

import pytest
from builders import activities, facts, no_lane, variant
from case_tables import outcome

from reportgen.analysis.patterns import rebuilt_mask
from reportgen.findings.mask_rebuilt import FINDING

BUILDERS = ("aten::ones", "aten::tril", "aten::scalar_tensor", "aten::where")


def without_ops(*names):
    ops = tuple(op for op in facts().variants["sdpa_math"].ops if not set(names) & set(op.path))
    return variant(facts(), "sdpa_math", ops=ops)


def odd_forward():
    integrity = facts().variants["sdpa_math"].integrity
    return variant(facts(), "sdpa_math", integrity=replace(integrity, differing=(3,)))


CASES_REACHED = {
    ("math-mask-rebuilt", "rebuilt"): (
        facts,
        "Math rebuilds the causal mask in every recorded forward: 5 kernels, 10.8 µs of 2.58 ms GPU time (0.42 %), under `aten::ones` → `aten::fill_`, `aten::tril`, `aten::scalar_tensor` → `aten::fill_` and `aten::where`."),
    ("math-mask-rebuilt", "rebuilt-ops-only"): (
        lambda: facts("cpu"),
        "Math rebuilds the causal mask in every recorded forward: 102 µs of 1.16 ms CPU time under the profiler, in `aten::ones` → `aten::fill_`, `aten::tril`, `aten::scalar_tensor` and `aten::where`."),
    ("math-mask-rebuilt", "part-missing"): (
        lambda: without_ops("aten::tril"),
        "Math builds the mask differently: every recorded forward has `aten::ones` → `aten::fill_`, `aten::scalar_tensor` → `aten::fill_` and `aten::where`, but not `aten::tril`."),
    ("math-mask-rebuilt", "not-rebuilt"): (
        lambda: without_ops(*BUILDERS),
        "Math builds no mask: its forward has none of `aten::ones` → `aten::fill_`, `aten::tril`, `aten::scalar_tensor` → `aten::fill_` and `aten::where`."),
    ("math-mask-rebuilt", "forwards-differ"): (
        odd_forward,
        "Not measurable: 1 forward ran other activities than the rest, so nothing can be said of every forward."),
}

# claim → device → (verdict, case)
ON_DEVICES = {
    "math-mask-rebuilt": {
        "h200": ("holds", "rebuilt"),
        "a100": ("holds", "rebuilt"),
        "t4": ("holds", "rebuilt"),
        "rtx4090": ("holds", "rebuilt"),
        "b200": ("holds", "rebuilt"),
        "mi300x": ("holds", "rebuilt"),
        "cpu": ("holds", "rebuilt-ops-only"),
    },
}


def test_the_safe_softmax_also_fills_and_selects_and_is_not_counted():
    """5 kernels build the mask; two more `fill_` and `where` protect rows."""
    assert "5 kernels, 10.8 µs of 2.58 ms GPU time (0.42 %)" in outcome("math-mask-rebuilt", facts()).headline
    table = FINDING.evidence(facts()).tables[1]
    assert [row[1:3] for row in table.rows] == [("build", "fill"), ("build", "tril"), ("build", "fill"), ("build", "fill"), ("build", "where"), ("apply", "add")]


def test_applying_the_mask_is_set_beside_building_it():
    assert outcome("math-mask-rebuilt", facts()).because == (
        "Building is cheap. Applying the mask (`aten::add_`, one pass over the whole score matrix) takes 390 µs.",)
    assert outcome("math-mask-rebuilt", facts("cpu")).because == ()


@pytest.mark.parametrize("times, cheap", [(1, True), (12, True), (13, False)])
def test_building_is_called_cheap_only_below_a_twentieth(times, cheap):
    """10.8 µs of 2.58 ms: 12 × 10.8 are 4.8 % of the longer forward, 13 × 10.8 are 5.2 %."""
    building = {id(a) for a in rebuilt_mask.activities_of(facts().variants["sdpa_math"].activities)}
    run = activities(facts(), "sdpa_math", lambda a: replace(a, duration=a.duration * times) if id(a) in building else a)
    said = outcome("math-mask-rebuilt", run).because
    assert said == (("Building is cheap. " if cheap else "")
                    + "Applying the mask (`aten::add_`, one pass over the whole score matrix) takes 390 µs.",)


def test_building_is_not_called_cheap_where_applying_costs_less():
    run = activities(facts(), "sdpa_math", lambda a: replace(a, duration=5e-6) if a.role == "add" else a)
    assert outcome("math-mask-rebuilt", run).because[0].startswith("Applying the mask")


def test_the_flag_comes_first_and_a_kept_mask_only_for_math():
    assert outcome("math-mask-rebuilt", facts()).advice == (
        "With as many queries as keys, use `is_causal=True` and a fused backend: it compares indices inside the kernel and "
        "builds no mask (saving: building the mask, in the trace). If you must use math, build the mask once, keep it as a module buffer and pass it (flash on a GPU refuses "
        "an explicit mask).")


def test_a_scalar_that_is_written_without_a_fill_is_a_scalar_all_the_same():
    """On a CPU `scalar_tensor` dispatches no `fill_`; the mask is rebuilt nonetheless, and the page says how."""
    assert outcome("math-mask-rebuilt", facts("cpu")).caveats[0] == "Here `aten::scalar_tensor` writes its value itself, without an `aten::fill_` below it."
    assert outcome("math-mask-rebuilt", facts("h200")).caveats == ()


def test_the_saving_is_the_time_of_building_and_is_said_to_be_unknown_without_a_trace():
    """Of the flag alone: 5 kernels in math's trace; without a GPU lane the run does not show it."""
    piece = outcome("math-mask-rebuilt", facts()).pieces[0]
    assert str(piece.saves) == "10.8 µs per forward (0.42 % of SDPA math)"
    blind = outcome("math-mask-rebuilt", no_lane(facts()))
    assert all(piece.saves is None and piece.says.endswith("This run does not show what it saves.") for piece in blind.pieces)
