"""cuDNN's launch and its zero: every case, every device, and which kernels may decide the cause."""

from __future__ import annotations

from dataclasses import replace

from builders import activity, facts, probes, unavailable
from turned import WIDE, counted, kernels, resident, with_extra_kernel

from reportgen.findings.cudnn_launch import FINDING
from reportgen.findings.zero_cause import pair
from reportgen.questions.evaluate import evaluate
from reportgen.run import OccupancyProbe, ProbeLaunch

CLAIMS = {claim.id: claim for claim in FINDING.claims}
GRID = (8448, 1, 1)


def probe(api, kib, field):
    return ProbeLaunch(f"probe_{kib}_kib", api, kib * 1024, field, GRID, (128, 1, 1), 16)


def no_probe(run):
    return probes(run, occupancy_probe=OccupancyProbe(reason="the probe kernels could not be loaded"))


def all_by_runtime(run):
    """`run` where every kernel but cuDNN's came through `cudaLaunchKernel`."""
    for name in run.variants:
        if name != "sdpa_cudnn":
            run = kernels(run, name, launch_api="cudaLaunchKernel")
    return run


def compiled(run, **changes):
    """`run` with a kernel of `torch.compile`'s kind in naive: launched by the driver, no shared memory."""
    given = dict(name="triton_per_fused_softmax_0", launch_api="cuLaunchKernel", shared_memory=0, profiler_occupancy=50.0, grid=(131072, 1, 1), block=(32, 1, 1))
    return with_extra_kernel(run, "naive", **{**given, **changes})


CASES_REACHED = {
    ("cudnn-launch-api", "as-published"): (
        lambda: all_by_runtime(facts()),
        "cuDNN's kernel is launched by `cuLaunchKernelEx`, every other kernel of the six by `cudaLaunchKernel`."),
    ("cudnn-launch-api", "others-too"): (
        lambda: facts(),
        "cuDNN's kernel is launched by `cuLaunchKernelEx`, but it is not the only exception among the kernels of the six: 4 "
        "kernels of cuBLAS nvjet by `cuLaunchKernelEx` and 2 kernels of cuBLAS xmma GEMM by `cudaLaunchKernelExC`; the rest by "
        "`cudaLaunchKernel`."),
    ("cudnn-launch-api", "cudnn-otherwise"): (
        lambda: kernels(all_by_runtime(facts()), "sdpa_cudnn", launch_api="cudaLaunchKernelExC"),
        "cuDNN's kernel is launched by `cudaLaunchKernelExC`, not by `cuLaunchKernelEx`; every other kernel of the six by "
        "`cudaLaunchKernel`."),
    ("cudnn-launch-api", "both-otherwise"): (
        lambda: kernels(facts(), "sdpa_cudnn", launch_api="cuLaunchKernel"),
        "cuDNN's kernel is launched by `cuLaunchKernel`, not by `cuLaunchKernelEx`, and not all others by `cudaLaunchKernel`: 4 "
        "kernels of cuBLAS nvjet by `cuLaunchKernelEx` and 2 kernels of cuBLAS xmma GEMM by `cudaLaunchKernelExC`."),
    ("cudnn-zero-occupancy", "zero"): (
        lambda: facts(),
        "The profiler shows 0 % occupancy for cuDNN's kernel."),
    ("cudnn-zero-occupancy", "above-zero"): (
        lambda: resident(facts(), "sdpa_cudnn", 384, 168, 40960, 19),
        "The profiler shows 19 % occupancy for cuDNN's kernel, not 0 %."),
    ("cudnn-zero-occupancy", "unknown-device"): (
        lambda: kernels(facts(), "sdpa_cudnn", profiler_occupancy=-99.0),
        "The profiler shows no value for cuDNN's kernel, not 0 %: its occupancy calculator does not know this compute capability."),
    ("cudnn-zero-occupancy", "no-field"): (
        lambda: kernels(facts(), "sdpa_cudnn", profiler_occupancy=None),
        "Not measurable: the trace has no occupancy field for cuDNN's kernel."),
    ("cudnn-zero-cause", "both-halves"): (
        lambda: facts("a100"),
        "The driver call is not the cause of the 0 %: `s16816gemm 128x128 (16-bit in, FP32)` (80 KiB of shared memory, launched "
        "by `cudaLaunchKernel`) also shows 0 %, and `probe_16k` (16 KiB of shared memory, launched by `cuLaunchKernel`) shows 38 "
        "%."),
    ("cudnn-zero-cause", "runtime-half"): (
        lambda: no_probe(resident(facts(), "sdpa_flash", 128, 255, 65536, 0)),
        "0 % does not need a driver call: `flash_fwd D=64 128x128` (64 KiB of shared memory, launched by `cudaLaunchKernel`) "
        "also shows 0 %. Whether a driver call alone gives 0 % was not seen in this run."),
    ("cudnn-zero-cause", "driver-half"): (
        lambda: no_probe(compiled(facts())),
        "A driver call alone does not give 0 %: `triton_per_fused_softmax_0` (0 B of shared memory, launched by "
        "`cuLaunchKernel`) shows 50 %. This run has no kernel above 48 KiB that the runtime launched."),
    ("cudnn-zero-cause", "driver-call"): (
        lambda: no_probe(compiled(facts(), profiler_occupancy=0.0)),
        "The driver call fits as the cause of the 0 %: `triton_per_fused_softmax_0` (0 B of shared memory, launched by "
        "`cuLaunchKernel`) shows 0 % although its shared memory is within 48 KiB and its grid fills the GPU."),
    ("cudnn-zero-cause", "not-seen"): (
        lambda: no_probe(facts()),
        "Not measurable: no kernel of this run separates the two causes: the driver call and the 48 KiB rule both explain the 0 "
        "% of cuDNN's kernel (131 KiB of shared memory, `cuLaunchKernelEx`)."),
    ("cudnn-zero-cause", "no-zero"): (
        lambda: kernels(facts(), "sdpa_cudnn", profiler_occupancy=19.0),
        "Not measurable: the profiler shows 19 % for cuDNN's kernel here, so there is no 0 % to explain."),
    ("cudnn-real-occupancy", "like-flash"): (
        lambda: facts("a100"),
        "cuDNN's kernel has an occupancy of 12.5 % (1 block of 8 warps), like flash's 12.5 %."),
    ("cudnn-real-occupancy", "other-value"): (
        lambda: facts(),
        "cuDNN's kernel has an occupancy of 18.75 % (1 block of 12 warps), not about 12.5 %; flash's has 12.5 %."),
    ("cudnn-real-occupancy", "disagrees"): (
        lambda: counted(facts(), "sdpa_cudnn", theoretical_pct=12.5, achieved_pct=11.0),
        "The arithmetic gives 18.75 % for cuDNN's kernel, but Nsight Compute calculates 12.5 %."),
    ("cudnn-real-occupancy", "unlike-flash"): (
        lambda: resident(facts("a100"), "sdpa_flash", 128, 128, 49152, 19),
        "cuDNN's kernel has an occupancy of 12.5 % (1 block of 8 warps), unlike flash's 18.75 %."),
}

# claim → device → (verdict, case)
ON_DEVICES = {
    "cudnn-launch-api": {
        "h200": ("differs", "others-too"),
        "a100": ("holds", "as-published"),
        "t4": ("not measurable", "unavailable"),
        "rtx4090": ("holds", "as-published"),
        "b200": ("differs", "others-too"),
        "mi300x": ("not measurable", "unavailable"),
        "cpu": ("not measurable", "unavailable"),
    },
    "cudnn-zero-occupancy": {
        "h200": ("holds", "zero"),
        "a100": ("holds", "zero"),
        "t4": ("not measurable", "unavailable"),
        "rtx4090": ("holds", "zero"),
        "b200": ("holds", "zero"),
        "mi300x": ("not measurable", "unavailable"),
        "cpu": ("not measurable", "unavailable"),
    },
    "cudnn-zero-cause": {
        "h200": ("differs", "driver-half"),
        "a100": ("differs", "both-halves"),
        "t4": ("not measurable", "unavailable"),
        "rtx4090": ("differs", "both-halves"),
        "b200": ("differs", "driver-half"),
        "mi300x": ("not measurable", "unavailable"),
        "cpu": ("not measurable", "unavailable"),
    },
    "cudnn-real-occupancy": {
        "h200": ("differs", "other-value"),
        "a100": ("holds", "like-flash"),
        "t4": ("not measurable", "unavailable"),
        "rtx4090": ("differs", "other-value"),
        "b200": ("differs", "other-value"),
        "mi300x": ("not measurable", "unavailable"),
        "cpu": ("not measurable", "unavailable"),
    },
}


def cause(run):
    return evaluate(CLAIMS["cudnn-zero-cause"], run)


def test_a_zero_from_a_grid_that_does_not_fill_decides_nothing():
    """100 blocks on 132 SMs round down to nothing; that is no evidence for the driver call."""
    assert cause(no_probe(compiled(facts(), profiler_occupancy=0.0, grid=(100, 1, 1)))).case == "not-seen"


def test_exactly_48_kib_is_not_above_it():
    """49,152 B fit the default limit: a zero there, by the runtime, is not the size's doing."""
    assert cause(no_probe(resident(facts(), "sdpa_flash", 128, 255, 49152, 0))).case == "not-seen"
    assert cause(no_probe(resident(facts(), "sdpa_flash", 128, 255, 49153, 0))).case == "runtime-half"


def test_four_probes_alone_show_both_halves():
    """Two sizes by two launch calls: the size decides, the call does not."""
    four = (probe("cuLaunchKernel", 16, 100.0), probe("cudaLaunchKernel", 16, 100.0), probe("cuLaunchKernel", 52, 0.0), probe("cudaLaunchKernel", 52, 0.0))
    outcome = cause(probes(facts(), occupancy_probe=OccupancyProbe(four)))
    assert (outcome.verdict, outcome.case) == ("differs", "both-halves")
    assert outcome.because[1] == ("A controlled pair confirms it: two probe kernels that differ in shared memory alone (16 KiB "
                                  "and 52 KiB) read 100 % and 0 % when `cuLaunchKernel` launches them and 100 % and 0 % when "
                                  "`cudaLaunchKernel` launches them.")


def test_probes_that_read_alike_are_no_pair():
    assert pair(probes(facts(), occupancy_probe=OccupancyProbe((probe("cuLaunchKernel", 16, 100.0), probe("cuLaunchKernel", 52, 38.0))))) is None
    assert pair(probes(facts(), occupancy_probe=OccupancyProbe((probe("cuLaunchKernel", 16, 100.0), probe("cudaLaunchKernel", 52, 0.0))))) is None
    assert pair(probes(facts(), occupancy_probe=None)) is None


def test_a_kernel_against_the_48_kib_rule_is_said():
    """Whoever reads 38 % above 48 KiB breaks the rule that the page explains; that must not be hidden."""
    outcome = cause(probes(facts(), occupancy_probe=OccupancyProbe((probe("cuLaunchKernel", 16, 100.0), probe("cuLaunchKernel", 52, 38.0)))))
    assert outcome.case == "driver-half"
    assert outcome.caveats == ("One kernel contradicts the 48 KiB rule too: `probe_52_kib` (52 KiB of shared memory, launched by `cuLaunchKernel`) reads 38 %.",)


def test_everything_else_is_seen_only_when_all_six_ran_but_one_exception_is_enough():
    """On the H200, cuBLAS contradicts the claim whether or not efficient ran."""
    run = unavailable(facts(), "sdpa_efficient")
    assert evaluate(CLAIMS["cudnn-launch-api"], run).case == "others-too"


def test_a_seventh_variant_is_in_no_verdict_about_the_six():
    """`torch.compile` launches through the driver; the claim is about the article's six."""
    run = all_by_runtime(facts())
    seventh = replace(run.variants["naive"], id="naive_compiled", named=False,
                      activities=(activity(name="triton_poi_fused_0", launch_api="cuLaunchKernel"),))
    run = replace(run, variants={**run.variants, "naive_compiled": seventh})
    assert evaluate(CLAIMS["cudnn-launch-api"], run).case == "as-published"


def test_the_same_seventh_variant_may_decide_the_cause():
    """There it is a kernel of this run like any other."""
    run = no_probe(facts())
    triton = activity(name="triton_poi_fused_0", launch_api="cuLaunchKernel", shared_memory=0, profiler_occupancy=50.0, grid=(131072, 1, 1), block=(32, 1, 1))
    seventh = replace(run.variants["naive"], id="naive_compiled", named=False, activities=(triton,))
    assert cause(replace(run, variants={**run.variants, "naive_compiled": seventh})).case == "driver-half"


def test_unlike_flash_can_be_told_on_any_workload():
    """The published value needs the article's workload; a difference between the two kernels does not."""
    outcome = evaluate(CLAIMS["cudnn-real-occupancy"], facts(workload=WIDE))
    assert outcome.case == "unlike-flash"
    assert outcome.caveats == ("Judged on another workload than the article's: batch 4, heads 16, sequence 2,048, head dimension 128, bfloat16, causal.",)


def test_the_witness_table_says_which_story_each_kernel_fits():
    table = next(table for table in FINDING.evidence(facts()).tables if table.caption.startswith("Kernels that can tell"))
    fits = {row[0].name: row[5] for row in table.rows}
    assert fits["probe_16k"] == "only the 48 KiB rule"
    assert fits["probe_52k"] == "both"


def test_the_api_table_groups_by_library_and_call():
    table = FINDING.evidence(facts()).tables[0]
    rows = {(row[0], row[1].name): row[2] for row in table.rows}
    assert rows["cuBLAS nvjet", "cuLaunchKernelEx"] == 4
    assert rows["cuDNN SDPA", "cuLaunchKernelEx"] == 1


def test_the_api_table_counts_the_six_apart_from_all_variants():
    """The headline's four kernels of nvjet must be found in the table, whatever a seventh variant adds."""
    run = facts()
    seventh = replace(run.variants["naive"], id="naive_compiled", named=False)
    table = FINDING.evidence(replace(run, variants={**run.variants, "naive_compiled": seventh})).tables[0]
    assert [column.title for column in table.columns][2:4] == ["Kernels per forward, the six", "All variants"]
    assert {row[0]: row[2:4] for row in table.rows}["cuBLAS nvjet"] == (4, 6)


def test_the_launch_works_out_beside_the_zero_and_the_counter_says_what_ran():
    zero = evaluate(CLAIMS["cudnn-zero-occupancy"], facts()).because
    assert zero == ("The real occupancy of this launch is 18.75 %.",)
    run = counted(facts(), "sdpa_cudnn", theoretical_pct=18.75, achieved_pct=14.1)
    assert evaluate(CLAIMS["cudnn-zero-occupancy"], run).because == ("The real occupancy of this launch is 18.75 % (theoretical; measured: 14.1 % on average).",)


def test_a_counter_that_agrees_confirms_the_arithmetic():
    said = evaluate(CLAIMS["cudnn-real-occupancy"], counted(facts(), "sdpa_cudnn", theoretical_pct=18.75, achieved_pct=14.1))
    assert said.case == "other-value"
    assert said.because[1:] == ("Nsight Compute calculates 18.75 % as well.",
                                "Measured: 14.1 % of the warp slots were occupied on average.")
    assert len(evaluate(CLAIMS["cudnn-real-occupancy"], facts()).because) == 1
