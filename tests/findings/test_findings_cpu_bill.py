"""The CPU's bill: every case, every device, and what stands beside the verdict."""

from __future__ import annotations

import pytest

from builders import facts, unavailable, variant
from reportgen.questions.evaluate import evaluate
from reportgen.findings.cpu_bill import FINDING
from reportgen.numbers.statistics import Estimate
from turned import timed

CLAIMS = {claim.id: claim for claim in FINDING.claims}

CASES_REACHED = {
    ("cudnn-cpu-cost", "costs-most"): (
        lambda: facts(),
        "cuDNN costs the most CPU time of the three in the steady state, with torch 2.11.0+cu130 and cuDNN 9.19.0: SDPA cuDNN 47.0 µs, SDPA"
        " flash 43.0 µs and SDPA efficient 40.0 µs per call."),
    ("cudnn-cpu-cost", "another-costs-more"): (
        lambda: timed(facts(), "host_time", sdpa_efficient=40, sdpa_flash=50, sdpa_cudnn=45),
        "cuDNN does not cost the most CPU time in the steady state, with torch 2.11.0+cu130 and cuDNN 9.19.0: SDPA flash costs more (SDPA "
        "flash 50.0 µs, SDPA cuDNN 45.0 µs and SDPA efficient 40.0 µs per call)."),
    ("cudnn-cpu-cost", "tie"): (
        lambda: timed(facts(), "host_time", sdpa_efficient=40, sdpa_flash=46.5, sdpa_cudnn=47),
        "Which of the three costs the most CPU time in the steady state cannot be told apart, with torch 2.11.0+cu130 and cuDNN 9.19.0: "
        "cuDNN ties with SDPA flash (SDPA cuDNN 47.0 µs, SDPA flash 46.5 µs and SDPA efficient 40.0 µs per call)."),
    ("fewer-ops-not-less-cpu", "fewer-and-dearer"): (
        lambda: facts(),
        "Fewer ops do not mean less CPU work, with torch 2.11.0+cu130 and cuDNN 9.19.0: SDPA cuDNN takes 47.0 µs with 7 ops, SDPA efficient"
        " 40.0 µs with 15; SDPA cuDNN takes 47.0 µs with 7 ops, SDPA flash 43.0 µs with 17."),
    ("fewer-ops-not-less-cpu", "agree"): (
        lambda: timed(facts(), "host_time", sdpa_efficient=40, sdpa_flash=43, sdpa_cudnn=30),
        "Here fewer ops go with less CPU time, with torch 2.11.0+cu130 and cuDNN 9.19.0: SDPA efficient takes 40.0 µs with 15 ops, SDPA "
        "flash 43.0 µs with 17; SDPA cuDNN takes 30.0 µs with 7 ops, SDPA efficient 40.0 µs with 15; SDPA cuDNN takes 30.0 µs with 7 ops, "
        "SDPA flash 43.0 µs with 17."),
    ("fewer-ops-not-less-cpu", "tie"): (
        lambda: timed(facts(), "host_time", sdpa_efficient=40, sdpa_flash=40.2, sdpa_cudnn=40.4),
        "No two fused backends with different numbers of ops differ in CPU time beyond this run's noise, with torch 2.11.0+cu130 and cuDNN "
        "9.19.0: SDPA efficient takes 40.0 µs with 15 ops, SDPA flash 40.2 µs with 17; SDPA cuDNN takes 40.4 µs with 7 ops, SDPA efficient "
        "40.0 µs with 15; SDPA cuDNN takes 40.4 µs with 7 ops, SDPA flash 40.2 µs with 17."),
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
        "Under the profiler, which the article read, the CPU times are SDPA cuDNN 78.8 to 87.2 µs, SDPA flash 76.9 to 85.0 µs and SDPA efficient 67.4 to 74.5 µs over the "
        "recorded forwards of one process; their ranges overlap, so they do not tell SDPA cuDNN from SDPA flash.",
        "The first call, after context, allocator and handles are there, loads kernels and, for cuDNN, builds a plan; over the processes it takes: SDPA cuDNN 90.2 to 99.8 ms, "
        "SDPA flash 3.32 to 3.67 ms and SDPA efficient 1.71 to 1.89 ms.",
        "At a shape not seen before, the first call takes: SDPA cuDNN 57.0 to 63.0 ms, SDPA flash 123 to 135 µs and SDPA efficient 114 to 126 µs.")


def profiled(run):
    return evaluate(CLAIMS["cudnn-cpu-cost"], run).because[0].split("one process")[1]


def test_only_ranges_that_do_not_overlap_are_an_order_under_the_profiler():
    """A few forwards of one process are no seven processes; whatever their order is, it decides nothing."""
    turned = timed(facts(), "profiled_host_time", sdpa_flash=100)
    assert evaluate(CLAIMS["cudnn-cpu-cost"], turned).verdict == "holds"
    assert profiled(turned) == "; the other way round than without it: SDPA flash above SDPA cuDNN."
    assert profiled(facts("a100")) == ", the same order."
    assert profiled(timed(facts(), "profiled_host_time", sdpa_flash=100, sdpa_cudnn=72)) == (
        "; the other way round than without it: SDPA flash above SDPA cuDNN; their ranges overlap, so they do not tell SDPA cuDNN from SDPA efficient.")


def test_where_host_times_tie_the_profilers_order_is_neither_the_same_nor_another():
    assert profiled(timed(facts("a100"), "host_time", sdpa_efficient=70)) == "."


def test_a_first_call_alone_is_told_apart_from_one_after_others():
    run = facts()
    for name, seconds in (("sdpa_cudnn", 0.0721), ("sdpa_flash", 0.0031)):
        run = variant(run, name, first_call_alone=Estimate((seconds,)))
    assert not any("before all other" in sentence for sentence in evaluate(CLAIMS["cudnn-cpu-cost"], run).because)
    said = evaluate(CLAIMS["cudnn-cpu-cost"], variant(run, "sdpa_efficient", first_call_alone=Estimate((0.0013, 0.0015))))
    assert said.because[2] == "Where each of them ran before all other variants of its process, it takes: SDPA cuDNN 72.1 ms, SDPA flash 3.10 ms and SDPA efficient 1.30 to 1.50 ms."
    assert "A first call depends on the order: the variants share processes, and what several of them need is loaded by the one that comes first." in said.caveats
    first = FINDING.evidence(run).tables[1]
    assert [column.title for column in first.columns][2] == "Where it ran before all other variants"
    assert [str(cell) for cell in next(row for row in first.rows if row[0] == "SDPA flash")] == ["SDPA flash", "3.32 to 3.67 ms", "3.10 ms", "123 to 135 µs", "43.0 µs", "78.5× to 84.2×"]


@pytest.mark.parametrize("claim", CLAIMS)
def test_host_time_varies_between_runs_and_the_page_says_by_how_much(claim):
    assert evaluate(CLAIMS[claim], facts(floors={"host_time": 0.34, "host_time sdpa_cudnn/sdpa_efficient": 0.03, "host_time sdpa_cudnn/sdpa_flash": 0.05, "host_time sdpa_efficient/sdpa_flash": 0.04})).caveats[0] == (
        "Host time varies between runs: whole runs of the same code lie up to 34 % apart here. The ratios of the three inside a run moved by up to 5 %, and only differences beyond that of their own pair count.")
    assert evaluate(CLAIMS[claim], facts()).caveats[0] == "Host time varies between runs, and this run does not know by how much: its own processes alone decide."


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
        "Pay the first call before it matters: warm each shape up once per thread at start-up, and keep the number of shapes small. "
        "Where the CPU is what you wait for, capture the forward in a CUDA graph: one launch of the graph is then all that is left to pay for.")


def test_causes_go_when_their_times_were_not_recorded():
    run = variant(facts(), "sdpa_cudnn", profiled_host_time=None, first_call=None, first_call_new_shape=None)
    assert evaluate(CLAIMS["cudnn-cpu-cost"], run).because == ()


def test_one_dearer_backend_is_enough_to_differ_even_beside_a_tie():
    run = timed(facts(), "host_time", sdpa_efficient=45.2, sdpa_flash=50, sdpa_cudnn=45)
    assert evaluate(CLAIMS["cudnn-cpu-cost"], run).case == "another-costs-more"


def test_the_runs_own_floor_can_turn_a_difference_into_noise():
    """43 against 47 µs is 9 %: beyond 2 %, within a floor of 12 %."""
    assert evaluate(CLAIMS["cudnn-cpu-cost"], facts(floor=0.12)).verdict == "within noise"


def test_a_pair_that_shows_it_is_enough_though_a_third_did_not_run():
    """Flash has more ops than efficient; let it be the cheaper one."""
    run = timed(unavailable(facts(), "sdpa_cudnn"), "host_time", sdpa_efficient=43, sdpa_flash=40)
    outcome = evaluate(CLAIMS["fewer-ops-not-less-cpu"], run)
    assert outcome.case == "fewer-and-dearer"
    assert outcome.headline.endswith("SDPA efficient takes 43.0 µs with 15 ops, SDPA flash 40.0 µs with 17.")


def test_pairs_with_equal_counts_say_nothing():
    run = timed(facts(), "host_time", sdpa_efficient=40, sdpa_flash=50, sdpa_cudnn=60)
    for name in ("sdpa_flash", "sdpa_efficient", "sdpa_cudnn"):
        run = variant(run, name, op_count=15)
    assert evaluate(CLAIMS["fewer-ops-not-less-cpu"], run).case == "tie"


def test_the_bill_sets_gpu_time_beside_host_time():
    table, first = FINDING.evidence(facts()).tables
    row = next(row for row in table.rows if row[0] == "SDPA cuDNN")
    assert [str(cell) for cell in row] == ["SDPA cuDNN", "7", "47.0 µs (46.3 µs to 47.7 µs)", "83.0 µs (78.8 µs to 87.2 µs)", "214 µs", "59.0 µs", "62.0 µs"]
    assert [str(cell) for cell in next(row for row in first.rows if row[0] == "SDPA flash")] == ["SDPA flash", "3.32 to 3.67 ms", "123 to 135 µs", "43.0 µs", "78.5× to 84.2×"]


def test_the_chart_says_the_times():
    chart = FINDING.evidence(facts("a100")).charts[1]
    assert chart.alt == "CPU time of one forward under the profiler: SDPA efficient 117 µs; SDPA flash 138 µs; SDPA cuDNN 214 µs. SDPA efficient has the smallest median."
    assert chart.data["reference"] == pytest.approx([117.0, 138.0, 214.0])
