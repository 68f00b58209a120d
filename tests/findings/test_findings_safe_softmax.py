"""Safe softmax: every way in which its claims can come out, with the evidence turned round."""

from __future__ import annotations

from dataclasses import replace

import pytest
from builders import activities, facts, unavailable, variant, without
from case_tables import outcome

from reportgen.analysis import SIX, State
from reportgen.findings.safe_softmax import FINDING
from reportgen.run import MaskedRow

SAFE = "aten::_safe_softmax"


def row(outcome, reason=None):
    return variant(facts(), "sdpa_math", masked_row=MaskedRow(outcome, reason))


def no_safe_op():
    ops = tuple(op for op in facts().variants["sdpa_math"].ops if op.name != SAFE)
    return variant(row("nan"), "sdpa_math", ops=ops)


def nothing_added():
    return activities(facts(), "sdpa_math", lambda a: None if SAFE in a.op_path and "aten::_softmax" not in a.op_path else a)


def error(name, value):
    return variant(facts(), name, relative_error=value)


def only_math():
    run = facts()
    for name in SIX:
        if name != "sdpa_math":
            run = without(run, name)
    return run


CASES_REACHED = {
    ("math-safe-softmax", "no-gpu-lane"): (
        lambda: facts("cpu"),
        "Not measurable in full: without a GPU lane the kernels that `aten::_safe_softmax` adds cannot be counted."),
    ("math-safe-softmax", "protects"): (
        facts,
        "`aten::_safe_softmax` adds 4 kernels to the softmax (isneginf, all, fill and where); for a fully masked row math returns zeros, not NaN."),
    ("math-safe-softmax", "still-nan"): (
        lambda: row("nan"),
        "`aten::_safe_softmax` adds 4 kernels to the softmax (isneginf, all, fill and where), yet for a fully masked row math returns NaN."),
    ("math-safe-softmax", "adds-none"): (
        nothing_added,
        "`aten::_safe_softmax` is in the trace but adds no kernel; for a fully masked row math returns zeros."),
    ("math-safe-softmax", "no-safe-softmax"): (
        no_safe_op,
        "Math does not call `aten::_safe_softmax`; for a fully masked row it returns NaN."),
    ("math-safe-softmax", "row-refused"): (
        lambda: row("refused", "attn_mask must have a visible key"),
        "Not measurable in full: `aten::_safe_softmax` adds 4 kernels to the softmax (isneginf, all, fill and where), but math refused the masked row (attn_mask must have a visible key)."),
    ("math-accurate", "most-accurate"): (
        facts,
        "Math is the most accurate of the 6 variants with a right result: relative error 0.00166 against FP64; next is SDPA flash with 0.00240, 1.45× as much."),
    ("math-accurate", "other-more-accurate"): (
        lambda: error("sdpa_flash", 0.0012),
        "Math is not the most accurate: SDPA flash has a relative error of 0.00120 against FP64, math 0.00166."),
    ("math-accurate", "tie"): (
        lambda: error("sdpa_flash", 0.00168),
        "Math shares the smallest relative error against FP64 (0.00166) with SDPA flash, within 2 %."),
    ("math-accurate", "nothing-to-compare"): (
        only_math,
        "Not measurable: none of the other five variants gave a result to compare."),
}

# claim → device → (verdict, case)
ON_DEVICES = {
    "math-safe-softmax": {
        "h200": ("holds", "protects"),
        "a100": ("holds", "protects"),
        "t4": ("holds", "protects"),
        "rtx4090": ("holds", "protects"),
        "b200": ("holds", "protects"),
        "mi300x": ("holds", "protects"),
        "cpu": ("not measurable", "no-gpu-lane"),
    },
    "math-accurate": {
        "h200": ("holds", "most-accurate"),
        "a100": ("holds", "most-accurate"),
        "t4": ("holds", "most-accurate"),
        "rtx4090": ("holds", "most-accurate"),
        "b200": ("holds", "most-accurate"),
        "mi300x": ("holds", "most-accurate"),
        "cpu": ("holds", "most-accurate"),
    },
}


def test_what_the_protection_costs_is_the_time_of_the_added_kernels():
    assert outcome("math-safe-softmax", facts()).because == (
        "They take 652 µs, 25.3 % of math's GPU time; the softmax takes 277 µs.",
        "The same row in the other variants: Naive NaN, Naive in place NaN, SDPA efficient zeros, SDPA flash takes no `attn_mask`, SDPA cuDNN other values.")


def test_without_a_gpu_lane_what_can_be_seen_is_said():
    assert outcome("math-safe-softmax", facts("cpu")).because == (
        "It adds these CPU ops to the softmax: `aten::isneginf`, `aten::all`, `aten::scalar_tensor` and `aten::where`.",
        "For a fully masked row math returns zeros.",
        "The same row in the other variants: Naive NaN, Naive in place NaN, SDPA flash takes no `attn_mask`.")


@pytest.mark.parametrize("flash, case", [(0.00162, "other-more-accurate"), (0.00164, "tie"), (0.00169, "tie"), (0.0017, "most-accurate")])
def test_errors_closer_than_two_percent_are_not_ranked(flash, case):
    """Math's error is 0.00166: 0.00162 × 1.02 = 0.00165 is smaller, 0.00164 × 1.02 = 0.00167 is not; 0.00166 × 1.02 = 0.001693."""
    assert outcome("math-accurate", error("sdpa_flash", flash)).case == case


def test_the_way_in_which_the_row_was_hidden_is_a_caveat():
    assert outcome("math-safe-softmax", facts()).caveats == ("The row was masked with an explicit `attn_mask`, which may run another kernel than the one timed here.",)


@pytest.mark.parametrize("outcome_of_row, words", [("other", "other values"), ("infinite", "infinite values"), ("nan", "NaN")])
def test_a_row_that_is_neither_zero_nor_nan_is_told_apart_where_the_run_does(outcome_of_row, words):
    run = variant(facts(), "sdpa_cudnn", masked_row=MaskedRow(outcome_of_row))
    assert outcome("math-safe-softmax", run).because[1].endswith(f"SDPA cuDNN {words}.")


REFUSAL = ("No available kernel. Aborting execution. Memory efficient kernel not used because:. Memory Efficient attention has been runtime disabled. Flash attention kernel not used "
           "because:. Flash Attention does not support non-null attn_mask. cuDNN attention kernel not used because:. cuDNN attention has been runtime disabled.")


def test_of_a_refusal_only_the_part_about_the_mask_is_shown():
    """The rest is torch's echo of the pin."""
    table = FINDING.evidence(variant(facts(), "sdpa_flash", masked_row=MaskedRow("takes-no-mask", REFUSAL))).tables[1]
    assert next(row for row in table.rows if row[0] == "SDPA flash")[2] == "Flash Attention does not support non-null attn_mask"
    assert outcome("math-safe-softmax", row("refused", "CUDA out of memory.")).headline.endswith("but math refused the masked row (CUDA out of memory).")


@pytest.mark.parametrize("error_of_math, said", [(0.00166, True), (0.001675, True), (0.00168, False), (0.00164, False)])
def test_an_error_of_one_rounding_is_called_that(error_of_math, said):
    """Three roundings are allowed, 0.00498 in these facts; one is 0.00166."""
    found = outcome("math-accurate", error("sdpa_math", error_of_math)).because
    sentence = "Rounding the exact result to bfloat16 once gives the same error (0.00166, within 1 %), so no bfloat16 output can be much closer."
    assert (sentence in found) is said


def test_the_factor_of_what_is_allowed_is_the_one_that_capture_uses():
    from reportgen.capture.numerics import ROUNDING_FACTOR
    from reportgen.findings.safe_softmax import ROUNDINGS_ALLOWED

    assert {name: ROUNDING_FACTOR[name] for name in ROUNDINGS_ALLOWED} == ROUNDINGS_ALLOWED


def test_an_oracle_is_not_what_math_is():
    assert outcome("math-accurate", facts()).advice == (
        "As a test reference compute in FP64: math on 16-bit inputs computes in FP32 and rounds its output. For everyday use all "
        "these errors are as small as the type's rounding.")


def test_a_variant_with_a_wrong_result_is_in_no_ranking():
    run = unavailable(error("sdpa_flash", 0.0001), "sdpa_flash", "relative error 0.7")
    assert outcome("math-accurate", run).case == "most-accurate"


def test_a_compiled_variant_is_not_one_of_the_six():
    run = facts()
    run = replace(run, variants={**run.variants, "naive_compiled": replace(run.variants["naive"], id="naive_compiled", named=False, relative_error=1e-9)})
    assert outcome("math-accurate", run).case == "most-accurate"


def test_fp32_from_end_to_end_is_not_said_where_matmuls_may_use_tf32():
    said = outcome("math-accurate", replace(facts(), settings={"float32_matmul_precision": "high"})).because[0]
    assert said == "It casts its inputs up, keeps FP32 in between, with matmuls that may use TF32 in this run, and rounds to bfloat16 once."
    assert "computes in FP32 from end to end" in outcome("math-accurate", facts()).because[0]


def test_a_wrong_result_is_in_the_table_of_errors_and_in_no_ranking():
    wrong = variant(facts(), "sdpa_cudnn", state=State.WRONG, relative_error=0.3, allowed_error=0.0048)
    assert outcome("math-accurate", wrong).headline.startswith("Math is the most accurate of the 5 variants with a right result: relative error 0.00166 against FP64;")
    table = next(table for table in FINDING.evidence(wrong).tables if table.caption.startswith("‖out − ref‖"))
    assert [row for row in table.rows if row[0] == "SDPA cuDNN"][0][1::2] == (0.3, 0.0048)
    (chart,) = FINDING.evidence(wrong).charts
    assert chart.alt.endswith("Naive in place 0.00366; SDPA cuDNN, wrong 0.300. SDPA math has the smallest.")
