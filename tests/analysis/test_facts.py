"""Facts of a run: what is typical, what is said aside, and what a caveat follows from."""

import gzip
import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from reportgen import analysis as facts_room
from reportgen import run as run_room
from reportgen.analysis import counters as counters_room
from reportgen.analysis.build import typical_forwards
from reportgen.analysis.caveats import run_caveats as typed_caveats
from reportgen.numbers.statistics import Estimate
from reportgen.questions.caveats import said
from reportgen.run import Ceilings, Clocks, ClockSample, KernelCounters, Look, LostPart, Noticed, Protocol
from reportgen.run.noise import Noise, save
from reportgen.trace import Activity, Forward, Launch

RECORDED = Path(__file__).resolve().parents[1] / "data" / "run-schema-1" / "nvidia-h200" / "article"
"""A real run of schema 1, kept for ever: what was recorded once must stay readable."""


def run_caveats(run, variants):
    """The caveats in words: what `questions.caveats` says of them."""
    return tuple(said(caveat) for caveat in typed_caveats(run, variants))


def kernel(name: str, duration: float = 1e-6) -> Activity:
    return Activity("kernel", name, 0.0, duration, 7, Launch("cudaLaunchKernel", 1, 0.0, 1e-6), ("aten::mul",), (1, 1, 1), (128, 1, 1), 16, 0)


def forward(index: int, *names: str) -> Forward:
    return Forward(index, 1e-4, (), (), tuple(kernel(name) for name in names))


def test_forwards_that_differ_are_left_out_of_the_medians():
    odd, first, second = forward(0, "a"), forward(1, "a", "b"), forward(2, "a", "b")
    assert typical_forwards([odd, first, second]) == [first, second]


def test_in_a_draw_the_earliest_list_is_typical():
    assert typical_forwards([forward(0, "a"), forward(1, "b")])[0].index == 0


def run_with(**changes):
    return replace(run_room.load(RECORDED), **changes)


def test_throttling_says_how_many_samples_and_which_clocks():
    samples = (ClockSample("naive", 1980, throttle=()), ClockSample("naive", 1965, throttle=("software power cap",)))
    assert run_caveats(run_with(clocks=Clocks(samples=samples)), {}) == (
        "The clocks were held back (software power cap) in 1 of 2 samples; the SM clock ran between 1,965 MHz and 1,980 MHz.",)


def test_throttling_without_a_clock_is_said():
    """As on WSL and on integrated GPUs: what held the clocks back is told, and the clock is not."""
    samples = (ClockSample("naive", throttle=("thermal slowdown",)), ClockSample("naive", throttle=()), ClockSample("naive"))
    assert run_caveats(run_with(clocks=Clocks(samples=samples)), {}) == ("The clocks were held back (thermal slowdown) in 1 of 2 samples.",)


def test_clocks_apart_between_variants_are_said_and_raise_the_floor():
    run = run_with(clocks=Clocks(samples=(ClockSample("naive", 1900, throttle=()), ClockSample("sdpa_math", 1710, throttle=()))))
    assert "margins smaller than 10 % are treated as noise" in run_caveats(run, {})[0]
    assert facts_room.build(run).floor == pytest.approx(0.1)


def test_neighbours_make_every_time_suspect():
    assert run_caveats(run_with(clocks=Clocks(other_processes=2)), {}) == (
        "2 other compute processes used this GPU during the run, so every time here is suspect.",)


@pytest.mark.parametrize(("changes", "sentence"), [
    ({"settings": {"environment": {"CUDA_LAUNCH_BLOCKING": "1"}}},
     "CUDA_LAUNCH_BLOCKING made every launch wait for the GPU, so host times here have the GPU's in them, and nothing is concluded from them; wall times are longer as well."),
    ({"settings": {"environment": {"CUDA_LAUNCH_BLOCKING": "0"}}}, None),
    ({"settings": {"environment": {"COMPUTE_SANITIZER_INJECTION": "1"}}},
     "A profiler or a sanitizer watched this run (COMPUTE_SANITIZER_INJECTION), so every time here is its as well, and nothing is concluded from host time."),
    ({"noticed": (Noticed("tools", "something watches"),)}, "A profiler or a sanitizer watched this run, so every time here is its as well, and nothing is concluded from host time."),
    ({"clocks": Clocks(other_processes=0, looks=(Look("begin", processes=0, gpu_busy_percent=40.0),))},
     "The GPU was computing 40 % of the time before this run began, and nobody says for whom, so every time here is suspect."),
    ({"clocks": Clocks(looks=(Look("begin", gpu_busy_percent=9.0), Look("process 1", others_cpu_share=0.09)))}, None),
    ({"clocks": Clocks(looks=(Look("process 1", others_cpu_share=0.05), Look("process 2", others_cpu_share=0.31)))},
     "Other processes took up to 31 % of the processors while this run was timed, so host times are longer and unsteady."),
    ({"lost": (LostPart("ceilings", "killed by SIGKILL."),)}, "Copy and matmul ceilings could not be taken: killed by SIGKILL."),
    ({"noticed": (Noticed("cudnn", "torch cannot use cuDNN, so only its backend is lost: no"),)}, "Noticed before it began: torch cannot use cuDNN, so only its backend is lost: no."),
    ({"noticed": (Noticed("neighbours", "2 other processes compute on this GPU"),), "clocks": Clocks(other_processes=2)},
     "2 other compute processes used this GPU during the run, so every time here is suspect."),
])
def test_what_was_around_the_run_is_said(changes, sentence):
    assert run_caveats(run_with(**{"clocks": Clocks(), **changes}), {}) == ((sentence,) if sentence else ())


def test_a_busy_processor_makes_every_time_of_a_run_on_it_suspect():
    run = run_with(clocks=Clocks(looks=(Look("process 1", others_cpu_share=0.62),)), noticed=(Noticed("busy-processors", "other processes take 62 % of the processors"),))
    caveats = typed_caveats(replace(run, device=replace(run.device, kind="cpu")), {})
    assert [(said(one), one.travels) for one in caveats] == [("Other processes took up to 62 % of the processors while this run was timed, so every time here is suspect.", True)]


def test_launches_do_not_wait_on_a_cpu():
    run = run_with(settings={"environment": {"CUDA_LAUNCH_BLOCKING": "1"}}, clocks=Clocks())
    assert typed_caveats(replace(run, device=replace(run.device, kind="cpu")), {}) == ()


def test_parts_that_were_lost_for_one_reason_are_said_together():
    run = run_with(clocks=Clocks(), lost=(LostPart("memory", "killed by SIGKILL", "naive"), LostPart("memory", "killed by SIGKILL", "sdpa_flash"), LostPart("probes", "no sign")))
    assert run_caveats(run, facts_room.build(run).variants)[:2] == (
        "Peak memory of Naive and SDPA flash could not be taken: killed by SIGKILL.", "Probes could not be taken: no sign.")


def test_a_gpu_time_above_the_wall_time_of_the_same_work_is_said():
    """105 µs against 100 µs is what two timers may differ by; 106 µs is not. A wrong result's times are nobody's concern."""
    built = facts_room.build(run_room.load(RECORDED)).variants["sdpa_flash"]
    above = replace(built, times={"gpu_time": Estimate((106e-6,) * 7), "wall_time": Estimate((100e-6,) * 7)}, trace_gpu_time=None)
    run = run_with(clocks=Clocks(), ceilings=None)
    assert run_caveats(run, {"sdpa_flash": above}) == (
        "SDPA flash: its GPU time (106 µs) is above the wall time of the same work (100 µs), which cannot be: one of the two was disturbed while it was taken.",)
    assert run_caveats(run, {"sdpa_flash": replace(above, times={**above.times, "gpu_time": Estimate((105e-6,) * 7)})}) == ()
    assert run_caveats(run, {"sdpa_flash": replace(above, state=facts_room.State.WRONG)}) == ()


def test_a_quiet_run_has_no_caveat():
    assert run_caveats(run_with(clocks=Clocks()), {}) == ()


def test_a_time_below_what_the_ceilings_allow_is_said():
    """17.2 GFLOP for the visible pairs at 800 TFLOP/s are 21.5 µs. 64 MiB of operands at 1 TB/s are 67.1 µs, and count only where no cache can hold a part of them."""
    run, built = run_with(clocks=Clocks()), facts_room.build(run_room.load(RECORDED)).variants["sdpa_flash"]
    timed = replace(built, times={"gpu_time": Estimate((20e-6,) * 7)}, trace_gpu_time=None)
    run = replace(run, ceilings=Ceilings(4e12, 800e12, 50e12), device=replace(run.device, l2_cache_bytes=60 * 2**20))
    assert run_caveats(run, {"sdpa_flash": timed}) == (
        "The GPU time of SDPA flash is below what this run's own ceilings allow (21.5 µs), which cannot be: a ceiling was measured too low, or a time is wrong.",)
    slower = replace(timed, times={"gpu_time": Estimate((22e-6,) * 7)})
    assert run_caveats(run, {"sdpa_flash": slower}) == ()
    slow_copy = replace(run, ceilings=Ceilings(1e12, 800e12, 50e12))
    assert run_caveats(slow_copy, {"sdpa_flash": slower}) == ()
    small_cache = replace(slow_copy, device=replace(run.device, l2_cache_bytes=16 * 2**20))
    assert "(67.1 µs)" in run_caveats(small_cache, {"sdpa_flash": slower})[0]
    assert run_caveats(replace(run, ceilings=None), {"sdpa_flash": timed}) == ()


def test_the_trace_and_the_timer_apart_by_more_than_five_percent_is_said():
    built = facts_room.build(run_room.load(RECORDED)).variants["sdpa_flash"]
    apart = replace(built, trace_gpu_time=built.gpu_time.median * 1.08)
    assert run_caveats(run_with(clocks=Clocks()), {"sdpa_flash": apart})[0].startswith("SDPA flash: the activities in the trace add up to")
    assert run_caveats(run_with(clocks=Clocks()), {"sdpa_flash": replace(built, trace_gpu_time=built.gpu_time.median * 1.04)}) == ()


def test_counters_of_another_number_of_kernels_are_not_attached():
    naive = facts_room.build(run_room.load(RECORDED)).variants["naive"]
    assert counters_room.mismatch(naive.activities, [KernelCounters("a")]) == "the trace shows 5 kernels, the counter tool 1"


def test_counters_under_another_name_are_not_attached_and_the_place_is_said():
    naive = facts_room.build(run_room.load(RECORDED)).variants["naive"]
    rows = [KernelCounters(a.name) for a in naive.activities if a.kind == "kernel"]
    rows[3] = KernelCounters("another_kernel<int>(float)")
    assert counters_room.mismatch(naive.activities, rows) == "kernel 4 is softmax_warp_forward in the trace and another_kernel for the counter tool"


@pytest.mark.parametrize(("variant", "counts"), [
    ("naive", (5, 1, 1)), ("naive_inplace", (5, 0, 1)), ("sdpa_math", (20, 0, 0)),
    ("sdpa_efficient", (1, 0, 0)), ("sdpa_flash", (1, 0, 0)), ("sdpa_cudnn", (1, 0, 1)),
])
def test_the_recorded_h200_counts_kernels_copies_and_memsets_apart(variant, counts):
    """Read by hand from the first trace of that machine; another torch may change them with the recorded run."""
    built = facts_room.build(run_room.load(RECORDED)).variants[variant]
    assert (built.kernels, built.memcpys, built.memsets) == counts


@pytest.mark.parametrize(("forwards", "transposes", "others"), [((1,), 4, 1), ((1, 2), 4, 2), ((1, 2, 3, 4, 5), 3, 0)])
def test_ops_are_counted_as_most_forwards_have_them(tmp_path, forwards, transposes, others):
    """A profiler loses events now and then. Efficient transposes four times a forward; in `forwards` of the six (the first is set aside) one of them is lost."""
    from reportgen import findings

    folder = Path(shutil.copytree(RECORDED, tmp_path / "nvidia-h200" / "article"))
    file = folder / "sdpa_efficient.trace.json.gz"
    document = json.loads(gzip.decompress(file.read_bytes()))
    begins = sorted(event["ts"] for event in document["traceEvents"] if event.get("name") == "attention_forward" and event.get("cat") == "user_annotation")
    found = sorted((event for event in document["traceEvents"] if event.get("name") == "aten::transpose"), key=lambda event: event["ts"])
    assert (len(begins), len([event for event in found if event["ts"] >= begins[0]])) == (6, 24)
    for forward in forwards:
        document["traceEvents"].remove(next(event for event in found if event["ts"] >= begins[forward]))
    file.write_bytes(gzip.compress(json.dumps(document).encode()))
    built = facts_room.build(run_room.load(folder))
    efficient = built.variants["sdpa_efficient"]
    assert (efficient.transposes, efficient.other_ops) == (transposes, others)
    told = [said(caveat) for caveat in built.caveats if caveat.kind is facts_room.CaveatKind.OPS_DIFFER]
    number = "1 recorded forward" if others == 1 else f"{others} recorded forwards"
    assert told == ([f"SDPA efficient: {number} dispatched another list of CPU ops than the {efficient.op_count} that are counted here."] if others else [])
    assert findings.outcomes(built)["cudnn-no-transposes"].verdict == ("holds" if transposes == 4 else "differs")


def test_traces_that_failed_are_no_reason_to_say_that_there_is_no_gpu_lane():
    recorded = run_room.load(RECORDED)
    without = {name: replace(variant, trace_path=None) for name, variant in recorded.variants.items()}
    built = facts_room.build(replace(recorded, variants=without))
    assert built.has_gpu_lane
    assert built.variants["naive"].kernels is None


def test_the_first_call_of_a_process_is_told_from_one_after_others():
    """Process 0 began with naive and took 80 ms; in process 1 it came after others and took 1 ms."""
    recorded = run_room.load(RECORDED)
    naive = replace(recorded.variants["naive"], samples={"first_call": Estimate((0.08, 0.001))})
    run = replace(recorded, variants={"naive": naive}, protocol=Protocol(first_call_order=(("naive", "sdpa_math"), ("sdpa_math", "naive"))))
    built = facts_room.build(run).variants["naive"]
    assert built.first_call_alone == Estimate((0.08,))
    assert (built.first_call.low, built.first_call.high) == (0.001, 0.08)
    assert facts_room.build(replace(run, protocol=Protocol())).variants["naive"].first_call_alone is None


def test_each_quantity_has_its_own_floor_where_one_was_taken(tmp_path):
    recorded = run_room.load(RECORDED)
    noise = Noise(6, 15, recorded.software, recorded.settings, {"naive": {"gpu_time": 0.001, "host_time": 0.25}}, {"host_time": {"naive/sdpa_math": 0.03}})
    save(noise, tmp_path)
    built = facts_room.build(replace(recorded, path=tmp_path, clocks=Clocks(), variants={}))
    assert built.floor_of("host_time", "sdpa_math", "naive") == 0.03
    assert built.floor_of("host_time", "naive", "sdpa_flash") == 0.25
    assert built.floor_of("gpu_time", "naive", "sdpa_math") == 0.001


def test_a_real_run_of_the_first_schema_decides_every_claim():
    """Recorded on an H200 with torch 2.11; the verdicts are those that its page showed when it was recorded."""
    from reportgen import findings
    from reportgen.questions.model import Source

    outcomes = findings.outcomes(facts_room.build(run_room.load(RECORDED)))
    assert sorted(claim for claim, outcome in outcomes.items() if outcome.verdict == "differs") == [
        "cudnn-gpu-between", "cudnn-launch-api", "cudnn-real-occupancy", "cudnn-zero-cause", "flash-fastest", "inplace-memory", "math-3.7x"]
    assert {outcome.verdict for outcome in outcomes.values() if outcome.source is Source.ARTICLE} == {"holds", "differs"}


def test_every_kernel_of_the_real_run_has_the_occupancy_that_nsight_compute_worked_out():
    """33 kernels of the six: our arithmetic against `sm__maximum_warps_per_active_cycle_pct`."""
    six = facts_room.build(run_room.load(RECORDED)).six
    kernels = [activity for variant in six for activity in variant.activities if activity.kind == "kernel"]
    assert len(kernels) == 33
    assert [a.name for a in kernels if abs(a.occupancy.theoretical - a.counters.theoretical_pct) > 0.01] == []
