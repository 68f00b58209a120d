"""The CPU's bill: every case, every device, and what stands beside the verdict."""

from __future__ import annotations

from dataclasses import replace

import pytest
from builders import facts, unavailable, variant
from turned import WIDE, timed

from reportgen.findings.cpu_bill import FINDING
from reportgen.numbers.statistics import Estimate
from reportgen.questions.evaluate import evaluate

CLAIMS = {claim.id: claim for claim in FINDING.claims}

def bimodal(low: float, high: float) -> Estimate:
    """Seven processes, four of which take `low` microseconds and three `high`: host times spread by 3 %, so ratios lie high ÷ low × 1.015 ÷ 0.988 apart."""
    return Estimate(tuple(us * 1e-6 for us in (low, high, low, high, low, high, low)))


def all_of_fifteen_ops():
    run = timed(facts(), "host_time", sdpa_efficient=40, sdpa_flash=50, sdpa_cudnn=60)
    for name in ("sdpa_flash", "sdpa_efficient", "sdpa_cudnn"):
        run = variant(run, name, op_count=15)
    return run


CASES_REACHED = {
    ("cudnn-cpu-cost", "costs-most"): (
        lambda: facts(),
        "cuDNN costs the most CPU time of the three fused backends in the steady state: SDPA cuDNN 47.0 µs, SDPA flash 43.0 µs "
        "and SDPA efficient 40.0 µs per call."),
    ("cudnn-cpu-cost", "another-costs-more"): (
        lambda: timed(facts(), "host_time", sdpa_efficient=40, sdpa_flash=50, sdpa_cudnn=45),
        "cuDNN does not cost the most CPU time in the steady state; SDPA flash costs more (SDPA flash 50.0 µs, SDPA cuDNN 45.0 "
        "µs and SDPA efficient 40.0 µs per call)."),
    ("cudnn-cpu-cost", "tie"): (
        lambda: timed(facts(), "host_time", sdpa_efficient=40, sdpa_flash=46.5, sdpa_cudnn=47),
        "Which of the three costs the most CPU time in the steady state cannot be told apart: cuDNN ties with SDPA flash (SDPA "
        "cuDNN 47.0 µs, SDPA flash 46.5 µs and SDPA efficient 40.0 µs per call)."),
    ("cudnn-cpu-cost", "unsteady"): (
        lambda: variant(facts(), "sdpa_cudnn", host_time=bimodal(30, 1500)),
        "Which of the three costs the most CPU time in the steady state cannot be told: the processes disagree by up to 51.4× "
        "about cuDNN, SDPA efficient and SDPA flash (SDPA flash 43.0 µs, SDPA efficient 40.0 µs and SDPA cuDNN 30.0 µs per call)."),
    ("fewer-ops-not-less-cpu", "fewer-and-dearer"): (
        lambda: facts(),
        "Fewer ops do not mean less CPU work: SDPA cuDNN takes 47.0 µs with 7 ops, SDPA efficient 40.0 µs with 15; SDPA cuDNN "
        "takes 47.0 µs with 7 ops, SDPA flash 43.0 µs with 17."),
    ("fewer-ops-not-less-cpu", "agree"): (
        lambda: timed(facts(), "host_time", sdpa_efficient=40, sdpa_flash=43, sdpa_cudnn=30),
        "Here fewer ops do go with less CPU time: SDPA efficient takes 40.0 µs with 15 ops, SDPA flash 43.0 µs with 17; SDPA "
        "cuDNN takes 30.0 µs with 7 ops, SDPA efficient 40.0 µs with 15; SDPA cuDNN takes 30.0 µs with 7 ops, SDPA flash 43.0 µs "
        "with 17."),
    ("fewer-ops-not-less-cpu", "tie"): (
        lambda: timed(facts(), "host_time", sdpa_efficient=40, sdpa_flash=40.2, sdpa_cudnn=40.4),
        "No two fused backends with different numbers of ops differ in CPU time beyond this run's noise: SDPA efficient takes "
        "40.0 µs with 15 ops, SDPA flash 40.2 µs with 17; SDPA cuDNN takes 40.4 µs with 7 ops, SDPA efficient 40.0 µs with 15; "
        "SDPA cuDNN takes 40.4 µs with 7 ops, SDPA flash 40.2 µs with 17."),
    ("fewer-ops-not-less-cpu", "equal-counts"): (
        lambda: all_of_fifteen_ops(),
        "Not measurable: all fused backends dispatch the same number of ops here."),
    ("fewer-ops-not-less-cpu", "unsteady"): (
        lambda: variant(timed(facts(), "host_time", sdpa_flash=40.1), "sdpa_cudnn", host_time=bimodal(30, 1500)),
        "Whether fewer ops mean less CPU work cannot be told: the processes disagree by up to 51.4× about two fused backends "
        "(SDPA efficient takes 40.0 µs with 15 ops, SDPA flash 40.1 µs with 17; SDPA cuDNN takes 30.0 µs with 7 ops, SDPA "
        "efficient 40.0 µs with 15; SDPA cuDNN takes 30.0 µs with 7 ops, SDPA flash 40.1 µs with 17)."),
}

# claim → device → (verdict, case)
ON_DEVICES = {
    "cudnn-cpu-cost": {
        "h200": ("holds", "costs-most"),
        "a100": ("holds", "costs-most"),
        "t4": ("not measurable", "unavailable"),
        "rtx4090": ("within noise", "tie"),
        "b200": ("holds", "costs-most"),
        "mi300x": ("not measurable", "unavailable"),
        "cpu": ("not measurable", "unavailable"),
    },
    "fewer-ops-not-less-cpu": {
        "h200": ("holds", "fewer-and-dearer"),
        "a100": ("holds", "fewer-and-dearer"),
        "t4": ("not measurable", "unavailable"),
        "rtx4090": ("holds", "fewer-and-dearer"),
        "b200": ("holds", "fewer-and-dearer"),
        "mi300x": ("not measurable", "unavailable"),
        "cpu": ("not measurable", "unavailable"),
    },
}


def test_the_profiled_times_and_the_first_calls_stand_beside_the_verdict():
    """The article read the profiled times; the verdict does not."""
    said = evaluate(CLAIMS["cudnn-cpu-cost"], facts()).because
    assert said == (
        "Under the profiler (the article's numbers) the CPU times are SDPA cuDNN 78.8 to 87.2 µs, SDPA flash 76.9 to 85.0 µs and "
        "SDPA efficient 67.4 to 74.5 µs, over the recorded forwards of one process; overlapping ranges do not tell "
        "SDPA cuDNN from SDPA flash.",
        "The first call loads kernels and, for cuDNN, builds a plan (context, allocator and handles exist already). Over the "
        "processes: SDPA cuDNN 90.2 to 99.8 ms, SDPA flash 3.32 to 3.67 ms and SDPA efficient 1.71 to 1.89 ms.",
        "First call at a new shape: SDPA cuDNN 57.0 to 63.0 ms, SDPA flash 123 to 135 µs and SDPA efficient 114 to 126 µs.")


def profiled(run):
    return evaluate(CLAIMS["cudnn-cpu-cost"], run).because[0].split("one process")[1]


def test_only_ranges_that_do_not_overlap_are_an_order_under_the_profiler():
    """A few forwards of one process are no seven processes; whatever their order is, it decides nothing."""
    turned = timed(facts(), "profiled_host_time", sdpa_flash=100)
    assert evaluate(CLAIMS["cudnn-cpu-cost"], turned).verdict == "holds"
    assert profiled(turned) == "; reversed there: SDPA flash above SDPA cuDNN."
    assert profiled(facts("a100")) == ", the same order."
    assert profiled(timed(facts(), "profiled_host_time", sdpa_flash=100, sdpa_cudnn=72)) == (
        "; reversed there: SDPA flash above SDPA cuDNN; overlapping ranges do not tell SDPA cuDNN from SDPA efficient.")


def test_where_host_times_tie_the_profilers_order_is_neither_the_same_nor_another():
    assert profiled(timed(facts("a100"), "host_time", sdpa_efficient=70)) == "."


def test_a_first_call_alone_is_told_apart_from_one_after_others():
    run = facts()
    for name, seconds in (("sdpa_cudnn", 0.0721), ("sdpa_flash", 0.0031)):
        run = variant(run, name, first_call_alone=Estimate((seconds,)))
    assert not any("before all other" in sentence for sentence in evaluate(CLAIMS["cudnn-cpu-cost"], run).because)
    said = evaluate(CLAIMS["cudnn-cpu-cost"], variant(run, "sdpa_efficient", first_call_alone=Estimate((0.0013, 0.0015))))
    assert said.because[2] == "In processes where it ran before all other variants: SDPA cuDNN 72.1 ms, SDPA flash 3.10 ms and SDPA efficient 1.30 to 1.50 ms."
    assert "First calls depend on the order: the variants share a process, and whichever runs first loads what the others need too." in said.caveats
    first = FINDING.evidence(run).tables[1]
    assert [column.title for column in first.columns][2] == "First call, run before all others"
    assert [str(cell) for cell in next(row for row in first.rows if row[0] == "SDPA flash")] == ["SDPA flash", "3.32 to 3.67 ms", "3.10 ms", "123 to 135 µs", "43.0 µs", "78.5× to 84.2×"]


def test_a_first_call_that_stands_apart_in_the_runs_first_process_is_told_and_is_not_laid_to_the_order():
    """625 ms in the first process, where another variant had run before, 60 to 90 ms in the six others; cuDNN itself began the sixth."""
    calls = (0.625, 0.090, 0.060, 0.070, 0.065, 0.066, 0.072)
    said = "Order does not explain everything: in the run's first process, after another variant, the first call takes {}; in the other processes {}."
    run = variant(facts(), "sdpa_cudnn", first_call=Estimate(calls), first_call_alone=Estimate((0.066,)))
    assert said.format("625 ms for SDPA cuDNN", "60.0 to 90.0 ms for SDPA cuDNN") in evaluate(CLAIMS["cudnn-cpu-cost"], run).caveats
    for alike in (variant(run, "sdpa_cudnn", first_call_alone=Estimate((0.625, 0.066))),  # it began that process itself
                  variant(run, "sdpa_cudnn", first_call_alone=None),  # nobody recorded who began
                  variant(run, "sdpa_cudnn", first_call=Estimate((0.170, *calls[1:])))):  # less than twice the next
        assert not any("does not explain" in caveat for caveat in evaluate(CLAIMS["cudnn-cpu-cost"], alike).caveats)


@pytest.mark.parametrize("claim", CLAIMS)
def test_host_time_varies_between_runs_and_the_page_says_by_how_much(claim):
    assert evaluate(CLAIMS[claim], facts(floors={"host_time": 0.34, "host_time sdpa_cudnn/sdpa_efficient": 0.03, "host_time sdpa_cudnn/sdpa_flash": 0.05, "host_time sdpa_efficient/sdpa_flash": 0.04})).caveats[0] == (
        "Whole runs of the same code differ by up to 34 % in host time here. Within a run the ratios of the three vary by up to 5 %; a difference counts only beyond its pair's own.")
    assert evaluate(CLAIMS[claim], facts()).caveats[0] == "Host time varies between runs. By how much was not recorded, so only this run's processes decide."


@pytest.mark.parametrize("claim", CLAIMS)
def test_the_floor_of_host_time_decides_and_not_that_of_gpu_time(claim):
    """All host times lie within 18 % of each other."""
    assert evaluate(CLAIMS[claim], facts(floors={"host_time": 0.2, "gpu_time": 0.001})).verdict == "within noise"
    assert evaluate(CLAIMS[claim], facts(floor=0.2, floors={"host_time": 0.001})).verdict == "holds"


def test_a_slow_processor_that_slows_all_alike_hides_no_order():
    """Whole runs lie 60 % apart, their ratios 2 %: the order inside the run stands."""
    pairs = {f"host_time {pair}": 0.02 for pair in ("sdpa_cudnn/sdpa_efficient", "sdpa_cudnn/sdpa_flash", "sdpa_efficient/sdpa_flash")}
    assert evaluate(CLAIMS["cudnn-cpu-cost"], facts(floors={"host_time": 0.6, **pairs})).verdict == "holds"
    wide = {**pairs, "host_time sdpa_cudnn/sdpa_flash": 0.5}
    assert evaluate(CLAIMS["cudnn-cpu-cost"], facts(floors={"host_time": 0.6, **wide})).verdict == "within noise"


def test_a_graph_leaves_one_launch():
    assert evaluate(CLAIMS["cudnn-cpu-cost"], facts()).advice == (
        "At start-up, call each shape once per thread to warm it up, and keep the number of shapes small. If the CPU is the "
        "bottleneck, capture the forward in a CUDA graph: it costs one launch.")


def test_causes_go_when_their_times_were_not_recorded():
    run = variant(facts(), "sdpa_cudnn", profiled_host_time=None, first_call=None, first_call_new_shape=None)
    assert evaluate(CLAIMS["cudnn-cpu-cost"], run).because == ()


def test_one_dearer_backend_is_enough_to_differ_even_beside_a_tie():
    run = timed(facts(), "host_time", sdpa_efficient=45.2, sdpa_flash=50, sdpa_cudnn=45)
    assert evaluate(CLAIMS["cudnn-cpu-cost"], run).case == "another-costs-more"


def test_the_runs_own_floor_can_turn_a_difference_into_noise_but_not_the_gpus_clock():
    """43 against 47 µs is 9 %: beyond 2 %, within a floor of 12 %. GPU clocks that lie 12 % apart move no host time."""
    assert evaluate(CLAIMS["cudnn-cpu-cost"], facts(floors={"host_time": 0.12})).verdict == "within noise"
    held_back = evaluate(CLAIMS["cudnn-cpu-cost"], facts(floor=0.12))
    assert held_back.verdict == "holds"
    assert not any("12 %" in caveat for caveat in held_back.caveats)
    assert evaluate(CLAIMS["cudnn-cpu-cost"], facts(floors={"host_time": 0.01})).caveats[0] == "Whole runs of the same code differ by up to 1 % in host time here."


def test_a_pair_that_shows_it_is_enough_though_a_third_did_not_run():
    """Flash has more ops than efficient; let it be the cheaper one."""
    run = timed(unavailable(facts(), "sdpa_cudnn"), "host_time", sdpa_efficient=43, sdpa_flash=40)
    outcome = evaluate(CLAIMS["fewer-ops-not-less-cpu"], run)
    assert outcome.case == "fewer-and-dearer"
    assert outcome.headline.endswith("SDPA efficient takes 43.0 µs with 15 ops, SDPA flash 40.0 µs with 17.")


def test_two_that_cost_more_cost():
    said = evaluate(CLAIMS["cudnn-cpu-cost"], timed(facts(), "host_time", sdpa_efficient=60, sdpa_flash=50, sdpa_cudnn=45)).headline
    assert "; SDPA flash and SDPA efficient cost more (SDPA efficient 60.0 µs, SDPA flash 50.0 µs and SDPA cuDNN 45.0 µs per call)." in said


def test_three_processes_tell_no_two_costs_apart():
    run = facts()
    for name in ("sdpa_flash", "sdpa_efficient", "sdpa_cudnn"):
        run = variant(run, name, host_time=Estimate(run.variants[name].host_time.samples[:3]))
    for claim in CLAIMS.values():
        assert evaluate(claim, run).case == "few"


def advice(claim, run):
    return evaluate(CLAIMS[claim], run).advice


def test_warming_up_is_advised_where_a_first_call_is_dear():
    """Ten times the steady state or more in every process: 47 µs against 60 ms at a new shape, or against 95 ms at start-up."""
    shapes = "At start-up, call each shape once per thread to warm it up, and keep the number of shapes small."
    start = "Warm up once at start-up, so that no request pays for the first call."
    graph = " If the CPU is the bottleneck, capture the forward in a CUDA graph: it costs one launch."
    assert advice("cudnn-cpu-cost", facts()) == shapes + graph
    assert str(evaluate(CLAIMS["cudnn-cpu-cost"], facts()).pieces[0].saves) == "57.0 to 63.0 ms per new shape (SDPA cuDNN)"
    known = timed(facts(), "first_call_new_shape", sdpa_efficient=120, sdpa_flash=129, sdpa_cudnn=150)
    assert advice("cudnn-cpu-cost", known) == start + graph
    assert advice("cudnn-cpu-cost", timed(known, "first_call", sdpa_efficient=120, sdpa_flash=129, sdpa_cudnn=150)) == ""
    assert advice("cudnn-cpu-cost", variant(facts(), "sdpa_flash", timer="queued-events")) == shapes


def test_gpu_time_is_to_be_chosen_by_only_where_it_decides_and_the_cpu_does_not():
    level = timed(facts(), "host_time", sdpa_efficient=40, sdpa_flash=40.2, sdpa_cudnn=40.4)
    assert advice("fewer-ops-not-less-cpu", level) == "Choose by GPU time: the fused backends' CPU costs cannot be told apart here."
    assert advice("fewer-ops-not-less-cpu", timed(level, "gpu_time", sdpa_cudnn=93)) == ""
    # efficient and flash have 15 ops each, so the two are no pair; their costs differ all the same
    dearer = variant(timed(facts(), "host_time", sdpa_efficient=40, sdpa_flash=43, sdpa_cudnn=41.2), "sdpa_flash", op_count=15)
    dearer = replace(dearer, floors={"host_time sdpa_cudnn/sdpa_efficient": 0.05, "host_time sdpa_cudnn/sdpa_flash": 0.05})
    assert evaluate(CLAIMS["fewer-ops-not-less-cpu"], dearer).case == "tie"
    assert advice("fewer-ops-not-less-cpu", dearer) == ""


def test_the_bill_sets_gpu_time_beside_host_time():
    table, first = FINDING.evidence(facts()).tables
    row = next(row for row in table.rows if row[0] == "SDPA cuDNN")
    assert [str(cell) for cell in row] == ["SDPA cuDNN", "7", "47.0 µs (46.3 µs to 47.7 µs)", "83.0 µs (78.8 µs to 87.2 µs)", "214 µs", "59.0 µs", "62.0 µs"]
    assert [str(cell) for cell in next(row for row in first.rows if row[0] == "SDPA flash")] == ["SDPA flash", "3.32 to 3.67 ms", "123 to 135 µs", "43.0 µs", "78.5× to 84.2×"]


def test_the_articles_times_stand_beside_its_own_workload_only():
    """214 µs belong to a sequence of 1,024."""
    evidence = FINDING.evidence(facts(workload=WIDE))
    assert [column.title for column in evidence.tables[0].columns] == ["Variant", "CPU ops", "Host time, unprofiled", "CPU time, profiled", "GPU time", "Wall time"]
    assert evidence.charts[1].data["reference"] is None
    assert evidence.charts[1].caption == "CPU time of one forward under the profiler."


def test_without_gpu_times_nothing_is_said_to_be_queued():
    evidence = FINDING.evidence(facts("cpu"))
    assert evidence.charts[0].caption == "Host time per call."
    assert evidence.charts[0].data["reference"] is None
    assert evidence.tables[0].caption == "What one call costs the CPU in the steady state."


def test_the_chart_says_the_times():
    chart = FINDING.evidence(facts("a100")).charts[1]
    assert chart.alt == "CPU time of one forward under the profiler: SDPA efficient 117 µs; SDPA flash 138 µs; SDPA cuDNN 214 µs. SDPA efficient has the smallest median."
    assert chart.data["reference"] == pytest.approx([117.0, 138.0, 214.0])
