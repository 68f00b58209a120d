"""The page on reviewing: its worked example is a real comparison, with every number from it."""

from dataclasses import replace

import pytest
from builders import activities, estimate, facts, variant

from reportgen import findings
from reportgen.pages import front, site
from reportgen.pages.environment import page
from reportgen.review.diff import example

MATH_GEMM = "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x128x8_stage3_warpsize2x2x1_ffma_aligna4_alignc4_execute_kernel__5x_cublas"


@pytest.fixture
def runs():
    """An H200 without and with TF32, where the math variant's matmul becomes another and faster; and another device."""
    plain = facts("h200")
    tf32 = activities(plain, "sdpa_math", lambda a: replace(a, name="tf32_gemm") if a.name == MATH_GEMM else a)
    tf32 = variant(tf32, "sdpa_math", gpu_time=estimate(1900))
    tf32 = replace(tf32, label="tf32", slot=f"{plain.slot}+tf32", settings={**plain.settings, "float32_matmul_precision": "high"})
    return [facts("a100"), plain, tf32]


def found(runs):
    return example.find(front.pairs(site.build(runs, runs[0].slot, findings.FINDINGS)))


def test_the_example_is_a_labelled_run_against_the_plain_one_of_its_device(runs):
    pair = found(runs)
    assert (pair.old, pair.new) == ("nvidia-h200/article", "nvidia-h200/article+tf32")
    assert pair.settings == ("float32_matmul_precision: highest → high",)
    assert pair.kernels == ("`sdpa_math`: matmul replaced: `xmma gemm FP32 128x128x8 (FMA)` → `tf32_gemm`",)
    assert (pair.slower, pair.faster) == (0, 1)


def test_the_page_prints_the_examples_numbers_and_the_comparison_itself(runs):
    pair = found(runs)
    text = page("reviewing.md.j2", "reviewing.md", example=pair)
    assert "python -m reportgen diff nvidia-h200/article nvidia-h200/article+tf32" in text
    assert "**Activities replaced, added or removed:** 1:\n\n- `sdpa_math`: matmul replaced:" in text
    assert f"**Timings:** slower 0, faster 1, within noise {pair.quiet}. See whether" in text
    assert pair.markdown in text


def test_without_a_second_setting_the_page_says_when_an_example_appears(runs):
    assert found(runs[:2]) is None
    text = page("reviewing.md.j2", "reviewing.md", example=None)
    assert "It appears here once a device has two recorded runs" in text


def test_a_pair_that_shows_a_change_is_preferred(runs):
    same = replace(runs[1], label="again", slot=f"{runs[1].slot}+again")
    assert found([runs[0], runs[1], same, runs[2]]).new == "nvidia-h200/article+tf32"


def test_the_template_has_no_number_that_a_run_would_have_to_back():
    """Only the definitions of the rule are typed: seven processes, p < 0.01, 2 %."""
    text = page("reviewing.md.j2", "reviewing.md", example=None)
    for device in ("H200", "A100", "nvidia"):
        assert device not in text
