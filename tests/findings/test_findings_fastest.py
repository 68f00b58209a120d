"""Who is fastest: every case, every device, and the clocks that may disagree."""

from __future__ import annotations

from dataclasses import replace

import pytest
from builders import facts, failed, probes, unavailable, variant, without
from turned import WIDE, counted, timed

from reportgen.analysis import State
from reportgen.findings.fastest import FINDING
from reportgen.numbers.statistics import Estimate
from reportgen.questions.evaluate import evaluate
from reportgen.run import DefaultBackend

CLAIMS = {claim.id: claim for claim in FINDING.claims}


def bimodal(low: float, high: float) -> Estimate:
    """Seven processes, four of which take `low` microseconds and three `high`."""
    return Estimate(tuple(us * 1e-6 for us in (low, high, low, high, low, high, low)))


def processes(run, count: int):
    """`run` with the first `count` processes only."""
    return replace(run, variants={name: replace(held, times={quantity: Estimate(time.samples[:count]) for quantity, time in held.times.items()})
                                  for name, held in run.variants.items()})


def only_flash(run):
    for name in run.variants:
        if name != "sdpa_flash":
            run = unavailable(run, name)
    return run


def fallen_back(run):
    """`run` where the call pinned to flash ran the math backend's op."""
    return variant(run, "sdpa_flash", ops=run.variants["sdpa_math"].ops)


CASES_REACHED = {
    ("flash-fastest", "flash-wins"): (
        lambda: facts("a100"),
        "Flash is the fastest by GPU time: 147 µs per forward; SDPA cuDNN is next with 186 µs (1.27×)."),
    ("flash-fastest", "other-wins"): (
        lambda: facts(),
        "Flash is not the fastest by GPU time: SDPA cuDNN takes 59.0 µs per forward, flash 93.0 µs (1.58×)."),
    ("flash-fastest", "tie"): (
        lambda: facts("rtx4090"),
        "Whether flash is the fastest by GPU time cannot be told: it ties with SDPA cuDNN (214 µs) at 215 µs per forward."),
    ("flash-fastest", "unsteady"): (
        lambda: variant(facts("a100"), "sdpa_cudnn", gpu_time=bimodal(100, 300)),
        "Whether flash is the fastest by GPU time cannot be told: the processes disagree by up to 3.01× about flash (147 µs in "
        "the middle) and SDPA cuDNN (100 µs)."),
    ("flash-fastest", "open"): (
        lambda: variant(facts("a100"), "sdpa_cudnn", gpu_time=None, trace_gpu_time=None, timer_note="the queue ran dry."),
        "Not measurable: SDPA cuDNN ran and has no GPU time (the queue ran dry), and nothing in this run shows that it is slower "
        "than SDPA flash."),
    ("flash-fastest", "few"): (
        lambda: processes(facts("a100"), 3),
        "Whether flash is the fastest by GPU time cannot be told: this run has 3 processes per variant, and 7 are needed."),
    ("cudnn-gpu-between", "unsteady"): (
        lambda: variant(facts("a100"), "sdpa_cudnn", gpu_time=bimodal(100, 300)),
        "Whether cuDNN's GPU time lies between flash's and efficient's cannot be told: the processes disagree by up to 3.01× "
        "about cuDNN, SDPA flash and SDPA efficient (SDPA cuDNN 100 µs, SDPA flash 147 µs and SDPA efficient 278 µs)."),
    ("flash-fastest", "alone"): (
        lambda: only_flash(facts()),
        "Not measurable: flash is the only one of the six with a right result and a time."),
    ("cudnn-gpu-between", "between"): (
        lambda: facts("a100"),
        "cuDNN's GPU time lies between flash's and efficient's: SDPA flash 147 µs, SDPA cuDNN 186 µs and SDPA efficient 278 µs."),
    ("cudnn-gpu-between", "below-both"): (
        lambda: facts(),
        "cuDNN's GPU time lies below both flash's and efficient's: SDPA cuDNN 59.0 µs, SDPA flash 93.0 µs and SDPA efficient 178 "
        "µs."),
    ("cudnn-gpu-between", "above-both"): (
        lambda: timed(facts(), "gpu_time", sdpa_cudnn=200),
        "cuDNN's GPU time lies above both flash's and efficient's: SDPA flash 93.0 µs, SDPA efficient 178 µs and SDPA cuDNN 200 "
        "µs."),
    ("cudnn-gpu-between", "tie"): (
        lambda: facts("rtx4090"),
        "Whether cuDNN's GPU time lies between flash's and efficient's cannot be told: it ties with SDPA flash (SDPA cuDNN 214 "
        "µs, SDPA flash 215 µs and SDPA efficient 330 µs)."),
    ("sdpa-pin", "all-answer"): (
        lambda: facts(),
        "Each of the four backends can be pinned: its own op appears in its trace."),
    ("sdpa-pin", "other-op"): (
        lambda: fallen_back(facts()),
        "A pin did not select its backend: the trace of SDPA flash has no `aten::_scaled_dot_product_flash_attention` but "
        "`aten::_scaled_dot_product_attention_math`."),
    ("sdpa-pin", "some-did-not-run"): (
        lambda: facts("cpu"),
        "Not measurable in full: SDPA math and SDPA flash run when pinned, but SDPA efficient and SDPA cuDNN "
        "did not run here (No available kernel. Aborting execution)."),
}

# claim → device → (verdict, case)
ON_DEVICES = {
    "flash-fastest": {
        "h200": ("differs", "other-wins"),
        "a100": ("holds", "flash-wins"),
        "t4": ("not measurable", "unavailable"),
        "rtx4090": ("within noise", "tie"),
        "b200": ("differs", "other-wins"),
        "mi300x": ("holds", "flash-wins"),
        "cpu": ("holds", "flash-wins"),
    },
    "cudnn-gpu-between": {
        "h200": ("differs", "below-both"),
        "a100": ("holds", "between"),
        "t4": ("not measurable", "unavailable"),
        "rtx4090": ("within noise", "tie"),
        "b200": ("differs", "below-both"),
        "mi300x": ("not measurable", "unavailable"),
        "cpu": ("not measurable", "unavailable"),
    },
    "sdpa-pin": {
        "h200": ("holds", "all-answer"),
        "a100": ("holds", "all-answer"),
        "t4": ("not measurable", "some-did-not-run"),
        "rtx4090": ("holds", "all-answer"),
        "b200": ("holds", "all-answer"),
        "mi300x": ("not measurable", "some-did-not-run"),
        "cpu": ("not measurable", "some-did-not-run"),
    },
}


def fastest(run):
    return evaluate(CLAIMS["flash-fastest"], run)


def test_a_winner_need_not_be_fused():
    """Any of the six that beats flash decides, and the quickest of them is named."""
    outcome = fastest(timed(facts("a100"), "gpu_time", naive_inplace=90, sdpa_cudnn=120))
    assert outcome.headline == ("Flash is not the fastest by GPU time: Naive in place takes 90.0 µs per forward, flash 147 µs "
                                "(1.63×).")
    assert outcome.because == ("Also: SDPA cuDNN beats flash too.",)


def test_the_instruction_is_a_cause_only_where_both_names_show_it():
    """On the A100 cuDNN's name says wmma: if it led there, the page would not explain it by wgmma."""
    assert any("uses `wgmma`" in sentence for sentence in fastest(facts()).because)
    assert fastest(timed(facts("a100"), "gpu_time", sdpa_cudnn=100)).because == ()


def test_counted_operations_are_said_where_they_were_counted():
    run = counted(counted(facts(), "sdpa_cudnn", tensor_core_flop=19.3e9), "sdpa_flash", tensor_core_flop=19.3e9)
    assert fastest(run).because[-1] == "Counted on Tensor Cores: 19.3 GFLOP in the winner's kernel, 19.3 GFLOP in flash's: the same amount, so that is not what makes the difference."


def test_another_leader_with_cold_caches_is_a_caveat():
    outcome = fastest(timed(facts("a100"), "gpu_time_cold", sdpa_cudnn=140, sdpa_flash=160))
    assert outcome.verdict == "holds"
    assert outcome.caveats == ("With cold caches SDPA cuDNN is faster than SDPA flash: SDPA cuDNN 140 µs, SDPA flash 160 µs and SDPA efficient 283 µs.",)


@pytest.mark.parametrize("clock", ["gpu_time_cold", "wall_time"])
def test_a_smaller_median_by_another_clock_is_no_lead_while_it_ties(clock):
    """1 % is within the 2 % below which nothing counts; 5 % is not, and is again within a floor of 10 %."""
    assert fastest(timed(facts("a100"), clock, sdpa_cudnn=158, sdpa_flash=160)).caveats == ()
    assert len(fastest(timed(facts("a100"), clock, sdpa_cudnn=152, sdpa_flash=160)).caveats) == 1
    assert fastest(timed(facts("a100", floors={clock: 0.1}), clock, sdpa_cudnn=152, sdpa_flash=160)).caveats == ()


def test_another_leader_by_wall_time_is_a_caveat():
    outcome = fastest(timed(facts(), "wall_time", sdpa_cudnn=110, sdpa_flash=96, sdpa_efficient=181))
    assert outcome.caveats == ("In an eager loop SDPA flash is faster than SDPA cuDNN: SDPA flash 96.0 µs, SDPA cuDNN 110 µs and SDPA efficient 181 µs.",)


SHARED = "Time your own shapes before you pin: the order of backends depends on sequence length, head dimension and library versions."


def test_nobody_is_told_to_pin_what_torch_picks_by_itself():
    """On the H200 the winner is the default: 60 ms − 129 µs at a new shape, 34 µs saved per call."""
    assert fastest(facts()).advice == (
        "Leave `scaled_dot_product_attention` unpinned for this shape: PyTorch picks SDPA cuDNN by itself (no `attn_mask`, no gradients). At a new shape the first call of SDPA cuDNN "
        "takes 56.9 to 62.9 ms longer than that of SDPA flash. At this run's saving per call (34.0 µs of GPU time) that pays off after 1,700 to 1,800 calls, so with many shapes pin SDPA flash (`SDPBackend.FLASH_ATTENTION`) or round the lengths up to a few. " + SHARED)
    assert fastest(facts("a100")).advice == (
        "Leave `scaled_dot_product_attention` unpinned for this shape: PyTorch picks SDPA flash by itself (no `attn_mask`, no gradients). " + SHARED)


def test_a_winner_that_torch_does_not_pick_is_to_be_pinned():
    run = probes(facts("a100"), default_backend=DefaultBackend("cudnn", "aten::_scaled_dot_product_cudnn_attention"))
    assert fastest(run).advice == (
        "Pin the winner for this shape (`sdpa_kernel(SDPBackend.FLASH_ATTENTION)`) and check its accuracy: by default PyTorch picks cuDNN "
        "(no `attn_mask`, no gradients). " + SHARED)


@pytest.mark.parametrize("probe", [None, DefaultBackend(reason="out of memory")])
def test_without_the_probe_the_advice_says_what_it_does_not_know(probe):
    assert fastest(probes(facts("a100"), default_backend=probe)).advice == (
        "Pin the winner for this shape (`sdpa_kernel(SDPBackend.FLASH_ATTENTION)`), unless your trace shows that an unpinned call gets it anyway (this run did not try). " + SHARED)


def test_a_winner_without_a_pin_is_called_in_place_of_sdpa():
    said = fastest(timed(facts("a100"), "gpu_time", naive_inplace=90))
    assert said.advice == (
        "Naive in place wins, and no pin selects it: it is written in PyTorch operations. Call it in place of `scaled_dot_product_attention` for this shape, if you can spare the "
        "memory it needs. " + SHARED)


def test_a_winner_with_ties_names_them():
    said = fastest(timed(facts("a100"), "gpu_time", sdpa_cudnn=100, sdpa_efficient=101))
    assert said.caveats[-1] == "SDPA cuDNN cannot be told apart from SDPA efficient."
    assert "pays off after" not in said.advice


def test_a_plan_that_is_paid_for_at_once_is_not_worth_a_sentence():
    """34 µs saved per call: 330 µs more at a new shape are earned back within ten, 3.4 ms in a hundred."""
    assert "pays off after" not in fastest(timed(facts(), "first_call_new_shape", sdpa_cudnn=129 + 330)).advice
    run = timed(facts(), "first_call_new_shape", sdpa_cudnn=129 + 3400)
    assert "that pays off after 100 calls, so with many shapes pin SDPA flash" in fastest(run).advice
    run = timed(run, "gpu_time", naive=80)
    assert fastest(timed(run, "first_call_new_shape", naive=129)).advice.count("so with many shapes round the lengths up to a few.") == 1


def test_a_variant_that_did_not_run_is_named_and_one_that_failed_can_win_nothing():
    run = failed(facts(), "sdpa_cudnn")
    outcome = fastest(run)
    assert outcome.verdict == "holds"
    assert outcome.caveats == ("Not ranked: SDPA cuDNN broke off here.",)


def test_each_that_has_no_place_is_told_as_what_it_is():
    run = unavailable(unavailable(facts(), "naive"), "naive_inplace")
    run = variant(variant(run, "sdpa_math", state=State.NOT_TRIED, reason="not asked for in this run"), "sdpa_cudnn", state=State.WRONG, relative_error=0.3, allowed_error=0.0048)
    assert fastest(run).caveats == ("Not ranked, because the result is wrong: SDPA cuDNN (relative error 30 %, allowed 0.48 %).",
                                    "Not ranked: Naive and Naive in place did not run here; SDPA math was not tried in this run.")


def test_a_variant_of_the_users_own_takes_no_part():
    """A seventh variant may be quicker than all: the claim is about the six."""
    run = facts("a100")
    quick = timed(replace(run, variants={**run.variants, "own": replace(run.variants["sdpa_flash"], id="own", named=False)}), "gpu_time", own=1)
    assert fastest(quick).case == "flash-wins"


def test_on_a_cpu_wall_time_decides_and_the_sentence_says_so():
    assert fastest(facts("cpu")).headline.startswith("Flash is the fastest by wall time on the CPU: 643 µs per forward;")


def test_one_process_on_the_other_side_makes_a_tie():
    """Seven of seven must agree: one process in which cuDNN was the slower one is enough."""
    run = facts("a100")
    samples = list(run.variants["sdpa_cudnn"].gpu_time.samples)
    samples[3] = 140e-6
    assert fastest(variant(run, "sdpa_cudnn", gpu_time=Estimate(tuple(samples)))).case == "tie"
    samples[3] = 100e-6  # 186 ÷ 147 in one process and 100 ÷ 147 in another lie 1.86 times apart
    assert fastest(variant(run, "sdpa_cudnn", gpu_time=Estimate(tuple(samples)))).case == "unsteady"


def test_between_in_the_other_order_is_still_between():
    outcome = evaluate(CLAIMS["cudnn-gpu-between"], timed(facts(), "gpu_time", sdpa_flash=200, sdpa_cudnn=100, sdpa_efficient=50))
    assert outcome.verdict == "holds"
    assert outcome.caveats == ("The order is the other way round than in the article: there flash is the faster of the two.",)


def test_pins_are_matched_by_the_whole_op_name():
    """A Triton op can contain the name of the flash op; it is not that op."""
    run = facts()
    ops = tuple(replace(op, name="triton::aten::_scaled_dot_product_flash_attention_0") if op.name.endswith("flash_attention") else op
                for op in run.variants["sdpa_flash"].ops)
    assert evaluate(CLAIMS["sdpa-pin"], variant(run, "sdpa_flash", ops=ops)).case == "other-op"


def test_a_wrong_op_decides_though_another_backend_did_not_run():
    assert evaluate(CLAIMS["sdpa-pin"], fallen_back(unavailable(facts(), "sdpa_cudnn"))).verdict == "differs"


def test_the_unpinned_choice_is_said_only_where_it_was_probed():
    assert evaluate(CLAIMS["sdpa-pin"], facts()).because == (
        "By default PyTorch picks cuDNN for this shape (no `attn_mask`, no gradients): it dispatches "
        "`aten::_scaled_dot_product_cudnn_attention`.",)
    assert evaluate(CLAIMS["sdpa-pin"], probes(facts(), default_backend=None)).because == ()


def test_a_run_from_before_a_variant_names_it():
    outcome = evaluate(CLAIMS["cudnn-gpu-between"], without(facts(), "sdpa_cudnn"))
    assert outcome.headline == "Not measurable: this run was recorded before `sdpa_cudnn` was added."


def test_the_table_leads_with_intervals_and_ratios():
    table = FINDING.evidence(facts()).tables[0]
    ratios = {row[0]: str(row[4]) for row in table.rows}
    assert ratios == {"Naive": "17.9×", "Naive in place": "15.8×", "SDPA math": "43.7×", "SDPA efficient": "3.02×", "SDPA flash": "1.58×", "SDPA cuDNN": "1.00×"}


def test_one_chart_has_the_first_clock_and_carries_intervals():
    """The table has the other clocks; on a CPU there is wall time alone."""
    (chart,) = FINDING.evidence(facts()).charts
    assert chart.name == "fastest-hot" and chart.data["labels"][:2] == ["SDPA cuDNN", "SDPA flash"]
    assert chart.data["low"][1] == pytest.approx(92.814)
    assert chart.data["reference"][1] == pytest.approx(146.8) and chart.data["reference_as"] == "beside"
    assert [chart.name for chart in FINDING.evidence(facts("cpu")).charts] == ["fastest-wall"]


def test_the_pin_table_marks_the_default():
    table = FINDING.evidence(facts()).tables[1]
    assert [(row[0], row[2], row[3]) for row in table.rows] == [
        ("SDPA math", "yes", "no"), ("SDPA efficient", "yes", "no"), ("SDPA flash", "yes", "no"), ("SDPA cuDNN", "yes", "yes")]


def test_another_amount_of_arithmetic_is_not_called_the_same():
    """18.3 against 19.3 GFLOP are 5 % apart, beyond the 2 % below which nothing is a difference."""
    run = counted(counted(facts(), "sdpa_cudnn", tensor_core_flop=18.3e9), "sdpa_flash", tensor_core_flop=19.3e9)
    assert fastest(run).because[-1] == "Counted on Tensor Cores: 18.3 GFLOP in the winner's kernel, 19.3 GFLOP in flash's."


def test_pins_are_answered_in_the_number_that_there_is():
    run = facts()
    for name in ("sdpa_math", "sdpa_efficient", "sdpa_cudnn"):
        run = unavailable(run, name, "No.")
    assert evaluate(CLAIMS["sdpa-pin"], run).headline == (
        "Not measurable in full: SDPA flash runs when pinned, but SDPA math, SDPA efficient and SDPA cuDNN did not run here (No).")
    assert evaluate(CLAIMS["sdpa-pin"], unavailable(run, "sdpa_flash", "No.")).headline == (
        "Not measurable in full: no pin could be tried: SDPA math, SDPA efficient, SDPA flash and SDPA cuDNN did not run here (No).")


def test_a_wrong_result_answers_to_its_pin_where_its_trace_was_kept():
    wrong = variant(facts(), "sdpa_cudnn", state=State.WRONG, reason="wrong result: relative error 0.3, allowed 0.0048")
    assert evaluate(CLAIMS["sdpa-pin"], wrong).case == "all-answer"
    assert evaluate(CLAIMS["sdpa-pin"], variant(wrong, "sdpa_cudnn", ops=())).headline.endswith("but SDPA cuDNN gave a wrong result (wrong result: relative error 0.3, allowed 0.0048).")


def test_the_articles_times_stand_beside_its_own_workload_only():
    evidence = FINDING.evidence(facts(workload=WIDE))
    assert "The article's GPU time" not in [column.title for column in evidence.tables[0].columns]
    assert evidence.tables[0].notes == ("GPU times here are medians of graph replays without the profiler.",)
    assert {chart.name: chart.data["reference"] for chart in evidence.charts}["fastest-hot"] is None


def test_the_note_names_the_timers_that_the_run_used():
    assert FINDING.evidence(facts()).tables[0].notes == ("The article's times are averages under the profiler; GPU times here are medians of graph replays without it.",)
    mixed = variant(facts(), "sdpa_cudnn", timer="queued-events", timer_note="no CUDA graph")
    table = FINDING.evidence(mixed).tables[0]
    assert table.notes[0].endswith("GPU times here are medians taken without it: graph replays for Naive, Naive in place, SDPA math, SDPA efficient and SDPA flash and forwards between "
                                   "queued events for SDPA cuDNN.")
    assert FINDING.evidence(facts("cpu")).tables[0].notes == ()


def test_who_is_not_ranked_says_why_in_the_table():
    untimed = variant(unavailable(facts("a100"), "sdpa_efficient", "No."), "sdpa_cudnn", gpu_time=None, trace_gpu_time=None, timer_note="the queue ran dry.")
    table = FINDING.evidence(untimed).tables[0]
    assert [column.title for column in table.columns][4] == "÷ the smallest (GPU time)"
    assert table.notes[0].endswith("GPU times here, where there are any, are medians of graph replays without it.")
    assert {row[0]: row[-1] for row in table.rows if row[-1]} == {"SDPA efficient": "No", "SDPA cuDNN": "the queue ran dry"}
