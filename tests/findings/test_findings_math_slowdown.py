"""Math slowdown: every way in which its claims can come out, with the evidence turned round."""

from __future__ import annotations

from dataclasses import replace

import pytest
from builders import activities, activity, estimate, facts, variant
from case_tables import outcome
from turned import WIDE, renamed, without_ops

from reportgen.findings.math_slowdown import FINDING
from reportgen.numbers.statistics import Estimate
from reportgen.questions.evaluate import evaluate


def math_us(us):
    return variant(facts(), "sdpa_math", gpu_time=estimate(us))


def scattered():
    """Ratios to naive in place from about 2.8 to 4.0, on both sides of the border at 3.145."""
    inplace = facts().variants["naive_inplace"].gpu_time.samples
    return variant(facts(), "sdpa_math", gpu_time=Estimate(tuple(t * ratio for t, ratio in zip(inplace, (2.8, 3.0, 3.2, 3.4, 3.6, 3.8, 4.0)))))


def one_more(run, name):
    kept = run.variants[name].activities + (activity(name="one_more", role="other"),)
    return variant(run, name, activities=kept, kernels=run.variants[name].kernels + 1)


def sixteen_bit_math():
    """What older releases did: no casts and no safe softmax."""
    run = activities(facts(), "sdpa_math", lambda a: None if a.role == "cast" or a.role in ("isneginf", "all") else a)
    return variant(run, "sdpa_math", ops=tuple(op for op in run.variants["sdpa_math"].ops if "aten::_safe_softmax" not in op.path))


CASES_REACHED = {
    ("math-slower", "slower"): (
        facts,
        "SDPA math takes 2.77× the GPU time of naive in place: 2.58 ms against 930 µs per forward (in every process)."),
    ("math-slower", "faster"): (
        lambda: math_us(800),
        "SDPA math is faster than naive in place: 0.860× the GPU time, 800 µs against 930 µs per forward (in every process)."),
    ("math-slower", "tie"): (
        lambda: math_us(935),
        "SDPA math and naive in place cannot be told apart: 935 µs against 930 µs of GPU time per forward (1.01× in every process; differences below 2 % do not count)."),
    ("math-3.7x", "as-published"): (
        lambda: facts("a100"),
        "Math takes 3.70× the GPU time of naive in place (in every process), about the article's 3.7×."),
    ("math-3.7x", "smaller"): (
        facts,
        "Math takes 2.77× the GPU time of naive in place (in every process), less than the article's 3.7×."),
    ("math-3.7x", "larger"): (
        lambda: math_us(4650),
        "Math takes 5.00× the GPU time of naive in place (in every process), more than the article's 3.7×."),
    ("math-3.7x", "straddles"): (
        scattered,
        "Math takes 3.40× the GPU time of naive in place, but the processes (2.80× to 4.00×) straddle ±15 % around the article's 3.7×."),
    ("math-20-kernels", "both-as-published"): (
        facts,
        "Math launches 20 kernels per forward and naive in place 5 beside 1 memset (4 B), as in the article."),
    ("math-20-kernels", "math-differs"): (
        sixteen_bit_math,
        "Math launches 13 kernels per forward, the article saw 20; naive in place launches 5 beside 1 memset (4 B), as in the article."),
    ("math-20-kernels", "naive-differs"): (
        lambda: one_more(facts(), "naive_inplace"),
        "Naive in place launches 6 beside 1 memset (4 B), the article saw 5; math launches 20 kernels per forward, as in the article."),
    ("math-20-kernels", "both-differ"): (
        lambda: one_more(one_more(facts(), "naive_inplace"), "sdpa_math"),
        "Math launches 21 kernels per forward (article: 20), naive in place 6 beside 1 memset (4 B) (article: 5)."),
}

# claim → device → (verdict, case)
ON_DEVICES = {
    "math-slower": {
        "h200": ("holds", "slower"),
        "a100": ("holds", "slower"),
        "t4": ("holds", "slower"),
        "rtx4090": ("holds", "slower"),
        "b200": ("holds", "slower"),
        "mi300x": ("holds", "slower"),
        "cpu": ("holds", "slower"),
    },
    "math-3.7x": {
        "h200": ("differs", "smaller"),
        "a100": ("holds", "as-published"),
        "t4": ("not measurable", "other-workload"),
        "rtx4090": ("differs", "smaller"),
        "b200": ("differs", "smaller"),
        "mi300x": ("differs", "smaller"),
        "cpu": ("not measurable", "other-workload"),
    },
    "math-20-kernels": {
        "h200": ("holds", "both-as-published"),
        "a100": ("holds", "both-as-published"),
        "t4": ("holds", "both-as-published"),
        "rtx4090": ("holds", "both-as-published"),
        "b200": ("holds", "both-as-published"),
        "mi300x": ("holds", "both-as-published"),
        "cpu": ("not measurable", "no-gpu-lane"),
    },
}


def test_on_a_cpu_wall_time_decides_and_the_page_says_so():
    said = outcome("math-slower", facts("cpu"))
    assert said.headline == ("SDPA math takes 2.07× the wall time of naive in place: 2.90 ms against 1.40 ms per forward (in "
                             "every process).")
    assert "This device has no GPU time, so the wall time of eager forwards decides." in said.caveats


def test_another_workload_is_named_where_a_direction_is_judged_on_it():
    assert outcome("math-slower", facts("t4")).caveats == (
        "Judged on another workload than the article's: batch 8, heads 16, sequence 1,024, head dimension 64, float16, causal.",)


def test_the_reasons_of_the_slowdown_are_ranked_by_the_trace_and_go_with_it():
    """Of 2,580 − 930 µs; each part is a sum over the recorded forward."""
    assert outcome("math-slower", facts()).because == (
        "Where the extra 1.65 ms goes, largest first: the two matmuls (in FP32 without Tensor Cores, +777 µs, 47.1 %), the safe softmax's checks (+652 µs, 39.5 %), "
        "casting attention weights that are then dropped (+184 µs, 11.2 %), casts of the inputs and the output (+87.7 µs, 5.3 %) and applying the mask (+34.7 µs, 2.1 %).",
        "Math saves time on scaling (91.7 µs).",
        "The article also blames rebuilding the mask: that is 0.7 % of the extra time.",
        "Wider elements are not the reason: applying the mask requests 1 GiB instead of 513 MiB and takes 1.10× the time and softmax requests 1 GiB instead of 512 MiB "
        "and takes 0.983× the time.")
    assert outcome("math-slower", variant(facts(), "sdpa_math", activities=())).because == ()


def test_a_slow_mask_comes_first_where_the_trace_has_it_so():
    """tril of 4 µs takes 2 ms instead: the ranking is the run's, not the page's."""
    run = activities(facts(), "sdpa_math", lambda a: replace(a, duration=2e-3) if a.role == "tril" else a)
    said = outcome("math-slower", run).because
    assert "largest first: building the mask (+2.01 ms, 55 %), the two matmuls" in said[0]
    assert "that is 55 % of the extra time." in said[2]


def test_wider_elements_are_a_reason_where_time_follows_the_bytes():
    """Softmax twice as long with twice the bytes; the mask is not."""
    run = activities(facts(), "sdpa_math", lambda a: replace(a, duration=2 * 281.204e-6) if a.role == "softmax" else a)
    said = outcome("math-slower", run).because
    assert "Wider elements cost time: softmax requests 1 GiB instead of 512 MiB and takes 2.00× the time." in said
    assert "Wider elements are not the reason: applying the mask requests 1 GiB instead of 513 MiB and takes 1.10× the time." in said


def test_matmuls_are_called_fp32_only_where_they_are():
    """The TF32 kernel runs on Tensor Cores; a math that casts nothing up is none in FP32."""
    tf32 = renamed(facts(), "sdpa_math", "sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize64x256x32_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_cublas")
    assert "the two matmuls (in TF32, +777 µs" in outcome("math-slower", tf32).because[0]
    assert "the two matmuls (+777 µs" in outcome("math-slower", without_ops(facts(), "sdpa_math")).because[0]


def test_the_table_of_extra_time_ends_with_its_sum():
    table = FINDING.evidence(facts()).tables[0]
    assert table.caption == "Where the extra time of SDPA math over Naive in place goes, from both traces."
    assert [str(cell) for cell in table.rows[0][:5]] == ["the two matmuls", "+777", "47.1 %", "167", "944"]
    assert [str(cell) for cell in table.rows[-2][:5]] == ["scaling", "−91.7", "−5.6 %", "126", "34.6"]
    assert [str(cell) for cell in table.rows[-1][:5]] == ["total", "+1,650", "100 %", "930", "2,580"]
    assert FINDING.evidence(variant(facts(), "sdpa_math", activities=())).tables[0].caption.startswith("Time per forward")


def test_each_clock_has_its_own_floor():
    """A CPU run is decided by wall time: its floor counts there, and that of GPU time does not."""
    assert outcome("math-slower", facts("cpu", floors={"wall_time": 1.5, "gpu_time": 0.0})).case == "tie"
    assert outcome("math-slower", facts("cpu", floors={"wall_time": 0.0, "gpu_time": 1.5})).case == "slower"


@pytest.mark.parametrize("ratio, case", [(3.14, "smaller"), (3.15, "as-published"), (4.25, "as-published"), (4.26, "larger")])
def test_the_published_ratio_has_borders_at_fifteen_percent(ratio, case):
    """3.7 × 0.85 = 3.145 and 3.7 × 1.15 = 4.255."""
    assert outcome("math-3.7x", math_us(930 * ratio)).case == case


def test_nobody_is_named_as_the_cause_of_another_ratio():
    assert outcome("math-3.7x", facts()).caveats == (
        "Device and software both differ from the article's, so this run cannot say which of them moved the ratio.",
        "The article's times are averages under the profiler; these are medians of graph replays without it.")


def test_a_run_that_allows_tf32_says_so_beside_its_ratio():
    said = outcome("math-slower", replace(facts(), settings={"float32_matmul_precision": "high"})).caveats
    assert said == ("FP32 matmuls may use TF32 in this run (`float32_matmul_precision` is `high`; torch's default does not allow it). The article's ran in FP32 on CUDA cores.",)
    assert outcome("math-3.7x", replace(facts(), settings={"float32_matmul_precision": "high"})).caveats[2:] == said
    assert not outcome("math-slower", facts()).caveats


def test_a_memset_beside_the_kernels_is_named_and_not_counted():
    assert outcome("math-20-kernels", facts("a100")).headline == "Math launches 20 kernels per forward and naive in place 5, as in the article."
    assert "naive in place 5 beside 1 memset (4 B)" in outcome("math-20-kernels", facts("h200")).headline


def test_the_step_list_has_a_line_per_kernel_and_its_shares_add_up():
    table = next(t for t in FINDING.evidence(facts()).tables if t.caption.startswith("SDPA math"))
    assert len(table.rows) == 20
    assert sum(float(row[-1]) for row in table.rows) == pytest.approx(100, abs=1)
    assert [row[1] for row in table.rows[10:13]] == ["matmul", "add", "softmax"]


def test_the_times_stand_beside_the_published_ratio():
    times = FINDING.evidence(facts()).tables[1]
    assert [str(cell) for cell in times.rows[0]] == [
        "GPU time, same inputs (hot)", "930 µs (928 µs to 932 µs)", "2.58 ms (2.57 ms to 2.59 ms)", "2.77×", "2.77× in every process", "3.7×"]


def test_memsets_of_math_are_named_too():
    run = facts()
    math = run.variants["sdpa_math"]
    more = variant(run, "sdpa_math", activities=(*math.activities, activity(kind="memset", bytes=4)), memsets=1)
    assert "Math launches 20 kernels per forward beside 1 memset (4 B) and naive in place 5" in outcome("math-20-kernels", more).headline


def test_the_articles_ratio_stands_beside_its_own_workload_only():
    other = FINDING.evidence(facts(workload=WIDE))
    assert [column.title for column in other.tables[1].columns] == ["Quantity", "Naive in place", "SDPA math", "Ratio", "Over the processes"]
    assert other.tables[1].notes == ()
    assert [chart.form for chart in other.charts] == ["waterfall", "bars", "stacked"]
    assert other.charts[1].data["reference"] is None
    assert other.charts[1].caption == "GPU time per forward; whiskers span the seven processes."


def test_the_caveats_of_another_ratio_name_this_runs_timer_and_what_may_have_moved_it():
    both = ("Device and software both differ from the article's, so this run cannot say which of them moved the ratio.",
            "The article's times are averages under the profiler; these are medians of graph replays without it.")
    assert outcome("math-3.7x", facts()).caveats == both
    queued = variant(variant(facts(), "sdpa_math", timer="queued-events"), "naive_inplace", timer="queued-events")
    assert outcome("math-3.7x", queued).caveats[1] == "The article's times are averages under the profiler; these are medians of forwards between queued events without it."
    same = variant(facts("a100"), "sdpa_math", gpu_time=estimate(4000))
    assert outcome("math-3.7x", same).caveats[0] == "The article's device has the same name, so software, clocks or power moved the ratio; this run cannot say which."


def test_processes_that_disagree_are_told_beside_the_tie():
    """Half and twice the time of naive in place, whose processes spread by 0.4 %: 4 × 1.002 ÷ 0.9984."""
    torn = variant(facts(), "sdpa_math", gpu_time=Estimate(tuple(us * 1e-6 for us in (465, 1860, 465, 1860, 465, 1860, 465))))
    assert outcome("math-slower", torn).case == "tie"
    assert "The processes disagree: from one to another this ratio changes by up to 4.01×, so no median sums them up." in outcome("math-slower", torn).caveats


def test_a_median_that_is_told_is_that_of_the_processes_own_ratios():
    """Ratios 10, 9, 4.5, 4, 4, 3 and 4: their median is 4; the medians themselves lie 5 times apart."""
    run = variant(facts(), "naive_inplace", gpu_time=Estimate(tuple(us * 1e-6 for us in (700, 800, 900, 1000, 1250, 1500, 1600))))
    run = variant(run, "sdpa_math", gpu_time=Estimate(tuple(us * 1e-6 for us in (7000, 7200, 4050, 4000, 5000, 4500, 6400))))
    assert outcome("math-slower", run).headline.startswith("SDPA math takes 4.00× the GPU time of naive in place: 5.00 ms against 1.00 ms per forward (3.00× to 10.0×).")


def test_the_answer_names_the_causes_that_make_up_most_of_the_time_and_no_more():
    """47.1 + 39.5 % are beyond three quarters; with a mask that takes 2 ms it is first, and the matmuls bring it beyond."""
    def said(run):
        return evaluate(FINDING.answer, run).headline

    assert said(facts()) == ("SDPA math takes 2.77× the GPU time of naive in place, 2.58 ms against 930 µs. Most of the extra time goes into the two matmuls in FP32 without Tensor Cores "
                             "(47.1 %) and the safe softmax's checks (39.5 %).")
    slow = activities(facts(), "sdpa_math", lambda a: replace(a, duration=2e-3) if a.role == "tril" else a)
    assert said(slow).endswith("goes into building the mask (55 %) and the two matmuls in FP32 without Tensor Cores (21.3 %).")


def test_the_answer_is_the_claims_sentence_where_no_trace_ranks_the_causes():
    for run in (math_us(800), facts("cpu"), variant(facts(), "sdpa_math", activities=())):
        assert evaluate(FINDING.answer, run).headline == outcome("math-slower", run).headline


def test_the_waterfall_is_the_first_chart_and_leads_from_one_total_to_the_other():
    """930 µs, then the causes in the table's order, to 2,580 µs."""
    chart = FINDING.evidence(facts()).charts[0]
    assert (chart.form, chart.data["start"][0], chart.data["end"][0]) == ("waterfall", "Naive in place", "SDPA math")
    assert chart.data["start"][1] + sum(change for _, change in chart.data["steps"]) == pytest.approx(2580)
    assert chart.data["steps"][0] == ("the two matmuls", pytest.approx(776.67, abs=0.01))
    assert FINDING.evidence(variant(facts(), "sdpa_math", activities=())).charts[0].form != "waterfall"
