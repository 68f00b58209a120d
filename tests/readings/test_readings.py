"""Memory and arithmetic: every answer of every question, with evidence turned round, and each sentence typed by hand."""

from __future__ import annotations

from dataclasses import replace

import counted
import pytest
from builder_devices import DEVICES
from builders import activities, activity, facts, no_lane, unavailable, variant
from turned import timed

from reportgen.analysis import CounterFacts
from reportgen.analysis.roofline import Point, forwards, products
from reportgen.pages.charts import svg
from reportgen.questions.evaluate import evaluate as answer
from reportgen.readings import READINGS, answers, questions, roofline
from reportgen.readings.roofline import merged
from reportgen.run import Ceilings
from reportgen.saying.tables import markdown

QUESTIONS = {question.id: question for question in questions()}
MIB = 2**20


def only(run, *names):
    return replace(run, variants={name: run.variants[name] for name in names})


def flash(read=40 * MIB, written=12 * MIB, flop=19327352832, **changes):
    """An H200 where flash alone ran, with these counts on its one kernel."""
    run = only(facts(), "sdpa_flash")
    counts = CounterFacts(read, written, None, changes.pop("theoretical", 12.5), changes.pop("achieved", 11.9), flop)
    return activities(run, "sdpa_flash", lambda a: replace(a, counters=counts, **changes))


def tensor(run, **flops):
    for name, flop in flops.items():
        run = activities(run, name, lambda a, flop=flop: replace(a, counters=replace(a.counters, tensor_core_flop=flop)) if a.counters else a)
    return run


def fused(**flops):
    return tensor(only(counted.h200(), "sdpa_efficient", "sdpa_flash"), **flops)


def cache(run, size):
    return replace(run, device=replace(run.device, l2_cache_bytes=size))


def untimed(run):
    for name in run.variants:
        run = variant(run, name, gpu_time=None)
    return run


def uncounted(run):
    return replace(run, counters_tool="Nsight Compute 1", counters_reason=None)


def unlike(run):
    """`run` where the counters contradict the arithmetic of the first kernel of efficient."""
    return activities(run, "sdpa_efficient", lambda a: replace(a, counters=replace(a.counters, theoretical_pct=12.5)))


REACHED = {
    ("counted", "counted"): (
        counted.h200,
        "Counted by Nsight Compute 2025.3.1.0, kernel by kernel, in one forward per variant; copies and memsets are from the trace."),
    ("counted", "some"): (
        lambda: counted.h200(without=("sdpa_flash",)),
        "Counted by Nsight Compute 2025.3.1.0, kernel by kernel, in one forward per variant; not counted: SDPA flash (the "
        "counter tool saw no kernel of it). Copies and memsets are from the trace."),
    ("counted", "modelled-only"): (
        lambda: facts(counters_reason="the driver keeps hardware counters to administrators (ERR_NVGPUCTRPERM); run as root."),
        "Modelled only: this run has no hardware counters (the driver keeps hardware counters to administrators (ERR_NVGPUCTRPERM); run as root)."),
    ("counted", "recorded-before"): (
        lambda: facts(counters_reason=None),
        "Modelled only: this run was recorded before hardware counters were taken. `make report` on this machine records it anew, with them where they are allowed."),
    ("counted", "not-matched"): (
        lambda: uncounted(variant(only(facts(), "sdpa_flash"), "sdpa_flash", counters_reason="the trace shows 1 kernels, the counter tool 2")),
        "Modelled only: hardware counters were taken by Nsight Compute 1, and match no variant's trace: SDPA flash (the trace "
        "shows 1 kernels, the counter tool 2)."),
    ("counted", "no-gpu"): (
        lambda: facts("cpu"), "This run has no GPU, so there is no kernel to count or to model."),
    ("counted", "no-lane"): (
        lambda: no_lane(facts()), "This run's traces have no GPU lane, so there is no kernel to count or to model."),
    ("bytes-forward", "counted"): (
        lambda: flash(), "DRAM traffic of one forward: SDPA flash 52 MiB. Q, K, V and the output, once each, are 64 MiB."),
    ("bytes-forward", "modelled"): (
        lambda: only(facts(), "naive", "sdpa_flash"),
        "Bytes requested by one forward (modelled): Naive 2.56 GiB and SDPA flash 64 MiB. Q, K, V and the output, once each, are 64 MiB."),
    ("bytes-forward", "not-modelled"): (
        lambda: activities(only(facts(), "sdpa_flash"), "sdpa_flash", lambda a: replace(a, requested_bytes=None)),
        "Not known: no counters ran, and no variant is modelled in full."),
    ("bytes-ratio", "ratio"): (
        lambda: cache(flash(), 16 * MIB), "Counted bytes ÷ operand bytes: SDPA flash 0.812×. At 1.00× every operand crosses once and nothing else does."),
    ("bytes-ratio", "fits-in-cache"): (
        lambda: flash(),
        "No ratio is given: the operands (64 MiB) can stay in the last-level cache (60 MiB) between forwards, so a low count may "
        "only mean that the cache served them. The ratio is meaningful from 240 MiB of operands, 4 times the cache."),
    ("bytes-ratio", "cache-unknown"): (
        lambda: cache(flash(), None),
        "No ratio is given: the size of the last-level cache was not recorded, so the operands may stay in it."),
    ("bytes-agree", "agree"): (
        lambda: flash(50 * MIB, 8 * MIB),
        "Yes: in every kernel with 1 % of its variant's time or more, counted and requested bytes agree within 10 %."),
    ("bytes-agree", "apart"): (
        lambda: flash(50 * MIB, 7 * MIB), "Not everywhere: of the kernels with 1 % of their variant's time or more, some differ by more than 10 %. The count confirms the model for the others."),
    ("bytes-floor", "counted"): (
        lambda: flash(), "A copy reaches 4.30 TB/s here. At that rate the operands alone take 15.6 µs, and the counted bytes: SDPA flash 12.7 µs of its 93.0 µs (13.6 %)."),
    ("bytes-floor", "modelled"): (
        lambda: only(facts(), "sdpa_flash"),
        "A copy reaches 4.30 TB/s here. At that rate the operands alone take 15.6 µs, and the requested bytes (modelled): SDPA "
        "flash 15.6 µs of its 93.0 µs (16.8 %)."),
    ("square-fused", "no-fused"): (
        lambda: only(counted.h200(), "naive"), "No fused backend gave a right result here."),
    ("square-fused", "not-causal"): (
        lambda: (lambda run: replace(run, workload=replace(run.workload, causal=False)))(flash()),
        "This workload has no causal mask, so there is nothing to skip."),
    ("square-fused", "all-skip"): (
        fused,
        "The fused kernels skip masked tiles: on Tensor Cores SDPA efficient does 18.3 GFLOP and SDPA flash 19.3 GFLOP. The "
        "whole square is 34.4 GFLOP, the unmasked pairs 17.2 GFLOP."),
    ("square-fused", "some-skip"): (
        lambda: fused(sdpa_efficient=34359738368),
        "Not all of them skip masked tiles. SDPA flash does 19.3 GFLOP; SDPA efficient does the whole square or nearly so. The "
        "whole square is 34.4 GFLOP, the unmasked pairs 17.2 GFLOP."),
    ("square-fused", "none-skips"): (
        lambda: fused(sdpa_efficient=34359738368, sdpa_flash=34359738368),
        "No fused kernel skips masked tiles: SDPA efficient does 34.4 GFLOP and SDPA flash 34.4 GFLOP. The whole square is 34.4 "
        "GFLOP, the unmasked pairs 17.2 GFLOP."),
    ("square-fused", "too-few"): (
        lambda: fused(sdpa_flash=9e9),
        "Not known: 9.00 GFLOP for SDPA flash were counted, less than the unmasked pairs need (17.2 GFLOP), so the counter misses work."),
    ("square-steps", "whole"): (
        lambda: only(counted.h200(), "naive", "naive_inplace", "sdpa_math"),
        "The step-by-step variants multiply the whole square: Naive and Naive in place 34.4 GFLOP on Tensor Cores, of which the mask lets 50 % through."),
    ("square-steps", "elsewhere"): (
        lambda: only(counted.h200(), "sdpa_math"), "Nothing was counted on Tensor Cores for SDPA math: it multiplies elsewhere."),
    ("square-steps", "otherwise"): (
        lambda: tensor(only(counted.h200(), "naive"), naive=1e9),
        "The step-by-step variants' operations differ from the square's (34.4 GFLOP): Naive does 5.00 GFLOP on Tensor Cores."),
    ("roofline-ridge", "placed"): (
        lambda: only(counted.h200(), "naive", "sdpa_flash"),
        "The ridge lies at 183 FLOP per byte (788 TFLOP/s ÷ 4.30 TB/s). Left of it memory sets the roof: Naive (12.7). Right of it arithmetic does: SDPA flash (249). "
        "The roof is not the limit that each is at, which must explain 50 % of its GPU time. By that test: memory: Naive; instructions or latency: SDPA flash."),
    ("roofline-ridge", "no-points"): (
        lambda: untimed(flash()), "No variant can be placed: bytes or work are unknown for all."),
    ("roofline-share", "shares"): (
        lambda: only(counted.h200(), "naive", "sdpa_flash"),
        "Closest to its roof is Naive with 59.7 %, farthest below is SDPA flash with 26.4 %."),
    ("roofline-share", "one"): (lambda: only(counted.h200(), "sdpa_flash"), "SDPA flash reaches 26.4 % of the roof above it."),
    ("roofline-share", "no-points"): (
        lambda: untimed(flash()), "Not known: bytes or work are unknown for all variants."),
    ("limits-best", "arithmetic"): (
        lambda: facts(),
        "The ceilings of this run allow 21.8 µs at best: 17.2 GFLOP of unmasked work at 788 TFLOP/s. Memory alone would allow "
        "15.6 µs (64 MiB at 4.30 TB/s). SDPA cuDNN, the fastest here, takes 59.0 µs: 2.70× as long."),
    ("limits-best", "memory"): (
        lambda: facts(ceilings=Ceilings(2e12, 788e12, 50e12)),
        "The ceilings of this run allow 33.6 µs at best: 64 MiB (Q, K, V and the output, once each) at 2.00 TB/s. Arithmetic "
        "alone would allow 21.8 µs (17.2 GFLOP at 788 TFLOP/s). SDPA cuDNN, the fastest here, takes 59.0 µs: 1.76× as long."),
    ("limits-best", "undercut"): (
        lambda: facts(ceilings=Ceilings(1e12, 788e12, 50e12)),
        "The ceilings of this run allow 67.1 µs at best, yet SDPA cuDNN takes 59.0 µs. A ceiling was measured too low, or that "
        "time is wrong, or a part of the operands was found in the cache."),
    ("limits-fused", "no-fused"): (lambda: only(counted.h200(), "naive"), "No fused kernel on Tensor Cores was timed here."),
    ("limits-fused", "neither"): (
        lambda: flash(),
        "No fused kernel reaches 50 % of a ceiling: SDPA flash 13.6 % of the copy ceiling and 23.5 % of the matmul ceiling."),
    ("limits-fused", "some"): (
        lambda: activities(fused(), "sdpa_flash", lambda a: replace(a, counters=replace(a.counters, dram_read_bytes=300 * MIB))),
        "At a threshold of 50 %, SDPA flash reaches a ceiling (85.5 % of the copy ceiling and 23.5 % of the matmul ceiling); the "
        "other reaches none: SDPA efficient 9.8 % of the copy ceiling and 12.3 % of the matmul ceiling."),
    ("limits-fused", "all"): (
        lambda: flash(300 * MIB),
        "Every fused kernel reaches 50 % of a ceiling: SDPA flash 81.8 % of the copy ceiling and 23.5 % of the matmul ceiling."),
    ("limits-fused", "uncounted"): (
        lambda: only(facts(), "sdpa_flash"),
        "The bytes of SDPA flash were not counted. What is known: SDPA flash 23.5 % of the matmul ceiling."),
    ("limits-steps", "one"): (
        lambda: only(facts(), "naive_inplace"),
        "Naive in place spends 82 % of its GPU time in passes over the score matrix and 17.9 % in matmuls; at copy speed its bytes account for 55.4 %, arithmetic alone for 4.7 %."),
    ("limits-steps", "several"): (
        lambda: only(facts(), "naive_inplace", "sdpa_math"),
        "Of their GPU time, the 2 step-by-step variants spend 58.2 % to 82 % in passes over the score matrix and 17.9 % to 36.6 % in matmuls. Passes take more than matmuls in all of them. "
        "At copy speed, bytes alone would take 55.4 % to 57.6 % of it, and arithmetic alone 4.7 % to 26.6 %."),
    ("limits-steps", "not-modelled"): (
        lambda: activities(only(facts(), "naive_inplace"), "naive_inplace", lambda a: replace(a, requested_bytes=None) if a.role == "mask" else a),
        "Not known: the bytes of some steps of Naive in place were neither counted nor modelled."),
    ("limits-steps", "cached"): (
        lambda: facts("mi300x"), "Not known: the score matrix is 256 MiB and the last-level cache 256 MiB, so requested bytes need not reach memory, and no counters ran."),
    ("limits-steps", "no-steps"): (lambda: flash(), "No step-by-step variant ran here."),
    ("occupancy-counted", "agree"): (
        counted.h200, "Yes: for all 23 kernels that have both, Nsight Compute's theoretical occupancy equals ours within 0.5 "
                      "points. Neither is measured."),
    ("occupancy-counted", "disagree"): (
        lambda: unlike(counted.h200()),
        "⚠ Not for 1 kernel: Nsight Compute calculates another theoretical occupancy. For the other 22 both agree."),
    ("occupancy-counted", "no-arithmetic"): (
        lambda: facts("mi300x"), "Not known: this device's limits are missing here, or the trace lacks the launches' registers."),
    ("occupancy-field", "all-agree"): (
        lambda: flash(), "The profiler's field matches the arithmetic, up to rounding, for 1 kernel."),
    ("occupancy-field", "some-differ"): (
        lambda: only(facts(), "sdpa_flash", "sdpa_cudnn"), "The profiler's field matches the arithmetic, up to rounding, for 1 kernel, and is wrong for 1."),
    ("occupancy-field", "no-field"): (
        lambda: facts("mi300x"), "Not known: the traces have no occupancy field, or no kernel's occupancy can be calculated."),
    ("occupancy-achieved", "below"): (
        lambda: only(counted.h200(), "sdpa_efficient", "sdpa_cudnn"),
        "Among kernels with 1 % of their variant's time or more, `fmha_cutlassF bf16 64x64 sm80` comes closest to its "
        "theoretical value (22.87 % of 25 %), `cudnn sdpa flash_fprop 64x128x64` stays farthest below (14.1 % of 18.75 %)."),
    ("occupancy-achieved", "one"): (lambda: flash(), "`flash_fwd D=64 128x128` reaches 11.9 % of 12.5 %."),
}


@pytest.mark.parametrize("question, case", REACHED, ids=lambda value: value)
def test_the_case_is_reached_and_says(question, case):
    """The rule picks the case, the sentence is the one typed by hand, and no sentence keeps a placeholder."""
    factory, sentence = REACHED[question, case]
    said = answer(QUESTIONS[question], factory())
    assert (said.case, said.headline) == (case, sentence)
    for text in (said.headline, *said.because, *said.caveats):
        assert "{" not in text and "None" not in text and "  " not in text and not text.endswith("..")


def test_every_declared_answer_is_reached_by_a_test():
    declared = {(question.id, case) for question in questions() for case in question.cases}
    assert declared == REACHED.keys()


def test_every_question_but_the_first_needs_gpu_activities():
    """On a CPU each of them is answered by the shared gate."""
    assert {said.case for name, said in answers(facts("cpu")).items() if name != "counted"} == {"no-kernels"}


def test_a_gap_that_no_grid_explains_is_told_in_warps():
    """132 blocks of 12 warps on 132 SMs, one each: 14.06 % of 64 slots are 9.00 warps. A block more is a last wave, and the sentence goes."""
    def because(grid, achieved):
        run = activities(only(counted.h200(), "sdpa_cudnn"), "sdpa_cudnn", lambda a: replace(a, grid=grid, counters=replace(a.counters, achieved_pct=achieved)) if a.kind == "kernel" else a)
        return answer(QUESTIONS["occupancy-achieved"], run).because

    (said,) = because((132, 1, 1), 14.0625)
    assert "had 9.00 of its 12 resident warps on average. All blocks fit at once and every SM is full" in said and "this run does not show which warps ended" in said
    assert because((133, 1, 1), 14.0625) == because((131, 1, 1), 14.0625) == because((132, 1, 1), 17.5) == ()


def test_causes_go_with_their_facts():
    """Take the counters, the ceiling or the tile away, and the sentence goes."""
    said = answer(QUESTIONS["square-fused"], fused())
    assert said.because == ("The count equals the one predicted from the tile in the name: SDPA efficient 64 × 64 and SDPA flash 128 × 128.",
                            "So the tile is consistent with the count, not proved. Of tiles with sides of 32, 64, 128 and 256, "
                            "these give the same number: SDPA efficient 32 × 64 and 64 × 32; SDPA flash 32 × 128, 64 × 128, 128 "
                            "× 32 and 128 × 64. All others are excluded.",
                            "At this run's matmul ceiling the skipped work would take 19.1 µs or more.")
    other = answer(QUESTIONS["square-fused"], replace(fused(sdpa_flash=20e9), ceilings=None))
    assert (other.because[0], other.because[2]) == ("The count equals the one predicted from the tile in the name: SDPA efficient 64 × 64.",
                                                    "The tile in the name predicts another number: SDPA flash 128 × 128 would do 19.3 GFLOP.")
    assert "SDPA efficient 32 × 64 and 64 × 32. All" in other.because[1]
    assert answer(QUESTIONS["limits-fused"], flash()).because[0] == "Warp slots occupied on average, counted: SDPA flash 11.9 %."
    assert answer(QUESTIONS["limits-fused"], only(facts(), "sdpa_flash")).because == ()


def test_bytes_apart_are_said_with_their_direction():
    """64 MiB asked for: 57 MiB are fewer by more than a tenth, 71 MiB more."""
    fewer, more = (answer(QUESTIONS["bytes-agree"], flash(50 * MIB, rest)).because for rest in (7 * MIB, 21 * MIB))
    assert fewer[0].startswith("Fewer bytes than requested: fused attention of SDPA flash (64 MiB requested, 57 MiB counted)") and len(fewer) == 1
    assert more[0].startswith("More bytes than requested: fused attention of SDPA flash (64 MiB requested, 71 MiB counted)") and len(more) == 1


def test_the_floor_names_the_cache_only_where_the_operands_may_lie_in_it():
    """64 MiB of operands: a cache of 16 MiB cannot hold enough of them to matter."""
    assert answer(QUESTIONS["limits-best"], facts()).caveats[0].startswith("The operands are smaller than four times the last-level cache")
    assert answer(QUESTIONS["limits-best"], cache(facts(), 16 * MIB)).caveats == ()
    assert answer(QUESTIONS["limits-best"], cache(facts(), None)).caveats == ()


def test_nobody_is_called_the_fastest_who_does_not_beat_all_others():
    """The compiled variant is quicker than the winner of the six; a tie has no winner; a variant without a time could win."""
    tied = timed(facts(), "gpu_time", sdpa_flash=59)
    assert "The smallest GPU time here is that of SDPA flash, 59.0 µs: 2.70× as long." in answer(QUESTIONS["limits-best"], tied).said
    compiled = replace(facts().variants["naive"], id="naive_compiled", title="Naive, compiled", named=False)
    beside = timed(replace(facts(), variants={**facts().variants, "naive_compiled": compiled}), "gpu_time", naive_compiled=40)
    assert "The smallest GPU time here is that of Naive, compiled, 40.0 µs: 1.83× as long." in answer(QUESTIONS["limits-best"], beside).said
    rival = variant(facts(), "sdpa_flash", gpu_time=None, trace_gpu_time=None)
    assert "the fastest" not in answer(QUESTIONS["limits-best"], rival).said


def test_more_than_a_ceiling_allows_is_remarked():
    """58.6 µs for 800 MiB are 14.3 TB/s, where a copy reaches 4.3."""
    beyond = flash(800 * MIB)
    assert answer(QUESTIONS["limits-fused"], beyond).caveats == ("SDPA flash goes beyond a ceiling, which is impossible: the ceiling was measured too low, or a time is wrong.",)
    assert answer(QUESTIONS["limits-fused"], flash(300 * MIB)).caveats == ()


def test_numbers_agree_with_their_verbs():
    said = answer(QUESTIONS["occupancy-field"], only(facts(), "sdpa_flash", "sdpa_cudnn")).because
    assert said == ("1 of these uses more than 48 KiB of shared memory and read 0: the profiler assumes the default limit.",)


def test_points_on_top_of_each_other_are_one_mark_with_both_names():
    six = facts().six
    first, second, third = (Point(held, "matmuls", flop, 1.0, 1.0, "yes", 1e15) for held, flop in zip(six, (100.0, 104.0, 120.0)))
    assert [name for name, _ in merged([first, second, third])] == ["Naive and Naive in place: their matmuls", "SDPA math: its matmuls"]
    whole = replace(first, part="forward"), replace(second, part="forward")
    assert [name for name, _ in merged(whole)] == ["Naive and Naive in place"]
    assert [name for name, _ in merged((whole[0], second))] == ["Naive and Naive in place: its matmuls"]


def test_each_variant_is_named_with_its_own_numbers_although_two_share_a_mark():
    """Naive's matmuls lie within 5 % of those in place, so the drawing merges them; the sentence and the alt text do not."""
    run = counted.h200()
    assert "Naive and Naive in place: their matmuls" in [name for name, _ in merged(products(run))]
    assert answer(QUESTIONS["roofline-share"], run).because == ("Their matmuls alone: Naive 85.2 %, Naive in place 82.8 % and SDPA math 72.8 %.",)
    (chart,) = roofline.READING.evidence(run).charts
    assert "; Naive: its matmuls 56.4 FLOP per byte, 206 TFLOP/s; Naive in place: its matmuls 57.9 FLOP per byte, 206 TFLOP/s; " in chart.alt


def test_counted_and_modelled_points_are_never_mixed():
    """One variant without counters is left out of a counted roofline, and named."""
    run = counted.h200(without=("sdpa_flash",))
    assert "sdpa_flash" not in {point.variant.id for point in forwards(run)}
    said = answer(QUESTIONS["roofline-ridge"], run)
    assert said.caveats == ("Not shown, because bytes, work or unit of a step are unknown: SDPA flash.",)
    assert answer(QUESTIONS["roofline-ridge"], facts()).caveats == ("Modelled: FLOP per requested byte, because this run has no counters.",)


def test_maths_roof_is_that_of_cuda_cores():
    """28 FLOP per byte × 4.3 TB/s would be 120 TFLOP/s; FP32 on CUDA cores ends at 50."""
    matmuls = next(point for point in products(counted.h200()) if point.variant.id == "sdpa_math")
    assert matmuls.roof == 50e12


def _runs():
    for device in sorted(DEVICES):
        yield device, facts(device)
    counted_run = counted.h200()
    yield from (("counted", counted_run), ("one missing", counted.h200(without=("sdpa_math",))), ("no lane", no_lane(facts())), ("nothing", replace(facts(), variants={})),
                ("no ceilings", replace(counted_run, ceilings=None)), ("no times", untimed(counted_run)), ("one alone", unavailable(counted_run, "sdpa_cudnn")),
                ("odd", unlike(counted_run)), ("one activity", variant(facts(), "naive", activities=(activity(),))))


RUNS = dict(_runs())


@pytest.mark.parametrize("name", RUNS)
def test_every_question_and_every_chart_bears_every_run(name):
    """Missing variants, counters, ceilings, times and lanes leave things out; they break nothing."""
    run = RUNS[name]
    assert list(answers(run)) == list(QUESTIONS)
    for reading in READINGS:
        shown = reading.evidence(run)
        assert all("None" not in markdown(table) for table in shown.tables)
        for chart in shown.charts:
            assert chart.alt and svg(chart.form, chart.data, chart.alt).startswith(b"<")


def test_charts_of_all_readings_have_names_of_their_own():
    names = [chart.name for reading in READINGS for chart in reading.evidence(counted.h200()).charts]
    assert len(names) == len(set(names)) == 6


def test_the_step_table_says_where_each_number_comes_from():
    """Naive: a memset and a copy from the trace, five kernels counted."""
    table = next(table for table in READINGS[0].evidence(counted.h200()).tables if table.caption == "Naive, step by step.")
    assert [row[-1] for row in table.rows] == ["from the trace", "counted", "counted", "from the trace", "counted", "counted", "counted"]
    modelled = next(table for table in READINGS[0].evidence(facts()).tables if table.caption == "Naive, step by step.")
    assert {row[-1] for row in modelled.rows} == {"from the trace", "modelled only"}


def test_shares_of_a_peak_need_a_known_datasheet():
    """14.4 % of 4.8 TB/s; a device that nobody looked up has no peaks."""
    assert any(table.caption == "Shares of the datasheet's peaks." for table in READINGS[3].evidence(counted.h200()).tables)
    stranger = replace(counted.h200(), device=replace(counted.h200().device, name="NVIDIA Unheard"))
    assert not any(table.caption == "Shares of the datasheet's peaks." for table in READINGS[3].evidence(stranger).tables)
