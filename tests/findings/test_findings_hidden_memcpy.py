"""Hidden Memcpy: every way in which its claims can come out, with the evidence turned round."""

from __future__ import annotations

from dataclasses import replace

import pytest
from builders import activities, activity, estimate, facts, probes, variant
from case_tables import outcome
from turned import WIDE

from reportgen.findings.hidden_memcpy import FINDING
from reportgen.numbers.statistics import Estimate
from reportgen.run import Autograd, MinimalRefusal


def extra(run, variant_id, **changes):
    """One more activity at the end of a variant's forward."""
    kept = run.variants[variant_id].activities + (activity(**changes),)
    return variant(run, variant_id, activities=kept, memcpys=sum(a.kind == "memcpy" for a in kept))


def no_copy():
    return activities(facts(), "naive", lambda a: None if a.role == "copy" else a)


def copy_in_place():
    return extra(facts(), "naive_inplace", kind="memcpy", name="Memcpy DtoD (Device -> Device)", role="copy", bytes=2**28, op_path=("aten::masked_fill_", "aten::contiguous", "aten::copy_"))


def two_copies():
    return extra(facts(), "naive", name="copy_mask", role="copy", op_path=("aten::masked_fill", "aten::clone", "aten::copy_"))


def untraced(name="naive"):
    return variant(facts(), name, kernels=None, memcpys=None, memsets=None, activities=())


def ops_of(name, other):
    return variant(facts(), name, ops=facts().variants[other].ops)


def autograd(**changes):
    run = facts()
    return probes(run, autograd=replace(run.probes.autograd, **changes))


MINIMAL_RUNS = MinimalRefusal(refused=False)


CASES_REACHED = {
    ("memcpy-hidden", "no-gpu-lane"): (
        lambda: facts("cpu"),
        "Not measurable: this run's trace has no GPU lane, so the copy cannot be looked for."),
    ("memcpy-hidden", "one-copy"): (
        facts,
        "`masked_fill` adds a device-to-device copy that is not in the code: `Memcpy DtoD (Device -> Device)`, 256 MiB, 126 µs. In place it is gone."),
    ("memcpy-hidden", "several-copies"): (
        two_copies,
        "`masked_fill` adds 2 device copies, not one: `Memcpy DtoD (Device -> Device)` and `copy_mask`. In place there is none."),
    ("memcpy-hidden", "no-copy"): (
        no_copy,
        "`masked_fill` adds no device copy: no activity is launched under `masked_fill` → `clone` → `copy_`."),
    ("memcpy-hidden", "copy-in-both"): (
        copy_in_place,
        "The masking step copies on the GPU in both variants (`Memcpy DtoD (Device -> Device)` in naive), so in place removes nothing."),
    ("memcpy-inplace-removes", "no-copy"): (
        no_copy,
        "Not measurable: naive shows no copy under `masked_fill` here, so in place has none to remove."),
    ("memcpy-inplace-removes", "removed-and-faster"): (
        facts,
        "In place removes the copy and saves 126 µs of GPU time per forward: 930 µs instead of 1,056 µs (0.881×, all seven processes agree)."),
    ("memcpy-inplace-removes", "removed-but-tie"): (
        lambda: variant(facts(), "naive", gpu_time=estimate(940)),
        "In place removes the copy, but the saving is within noise: 930 µs against 940 µs (ratio 0.989× in every process; differences below 2 % do not count)."),
    ("memcpy-inplace-removes", "removed-but-slower"): (
        lambda: variant(facts(), "naive", gpu_time=estimate(900)),
        "In place removes the copy, yet a forward takes longer: 930 µs against 900 µs (1.03×)."),
    ("memcpy-inplace-removes", "copy-stays"): (
        copy_in_place,
        "In place a copy remains under the masking step; GPU time is 930 µs against 1.06 ms."),
    ("inplace-fewer-cpu-ops", "no-mask-step"): (
        lambda: ops_of("naive_inplace", "sdpa_flash"),
        "Not measurable: the trace of Naive in place shows no `masked_fill` op, so there is no masking step to count."),
    ("inplace-fewer-cpu-ops", "fewer"): (
        lambda: facts("cpu"),
        "The masking step dispatches 1 CPU op in place instead of 10."),
    ("inplace-fewer-cpu-ops", "same"): (
        lambda: ops_of("naive_inplace", "naive"),
        "The masking step dispatches 12 CPU ops either way."),
    ("inplace-fewer-cpu-ops", "more"): (
        lambda: variant(ops_of("naive", "naive_inplace"), "naive_inplace", ops=facts().variants["naive"].ops),
        "The masking step dispatches more in place: 12 CPU ops instead of 3."),
    ("inplace-autograd", "probe-failed"): (
        lambda: probes(facts(), autograd=Autograd(reason="CUDA out of memory")),
        "Not measurable: the gradients could not be taken here (CUDA out of memory)."),
    ("inplace-autograd", "fine-here"): (
        facts,
        "In this graph masking in place is safe with autograd: backward runs and the gradients equal naive's. In other graphs torch refuses it: “one of the variables needed for gradient computation has been modified by an inplace operation”."),
    ("inplace-autograd", "refused-here"): (
        lambda: autograd(inplace_backward="refused", gradients_equal=None, reason="a leaf Variable that requires grad is being used in an in-place operation."),
        "Autograd refuses backward through the in-place mask in this graph: a leaf Variable that requires grad is being used in an in-place operation."),
    ("inplace-autograd", "gradients-differ"): (
        lambda: autograd(gradients_equal=False, relative_difference=0.25),
        "Backward runs through the in-place mask, but its gradients differ from naive's (relative difference 0.250)."),
    ("inplace-autograd", "never-refused"): (
        lambda: autograd(minimal_refusal=MINIMAL_RUNS),
        "Nothing breaks: backward through the in-place mask gives naive's gradients, and the minimal graph that should be refused runs too."),
    ("inplace-memory", "not-counted"): (
        lambda: facts("cpu"),
        "Not measurable: torch counts no peak memory on this device."),
    ("inplace-memory", "smaller"): (
        lambda: variant(facts(), "naive_inplace", peak_memory_bytes=272 * 2**20),
        "In place lowers the peak memory of a forward by 256 MiB: 272 MiB instead of 528 MiB above its inputs."),
    ("inplace-memory", "same"): (
        facts,
        "In place does not lower peak memory: both variants need 528 MiB above their inputs."),
    ("inplace-memory", "larger"): (
        lambda: variant(facts(), "naive_inplace", peak_memory_bytes=784 * 2**20),
        "In place raises the peak memory of a forward: 784 MiB instead of 528 MiB above its inputs."),
}

# claim → device → (verdict, case)
ON_DEVICES = {
    "memcpy-hidden": {
        "h200": ("holds", "one-copy"),
        "a100": ("holds", "one-copy"),
        "t4": ("holds", "one-copy"),
        "rtx4090": ("holds", "one-copy"),
        "b200": ("holds", "one-copy"),
        "mi300x": ("holds", "one-copy"),
        "cpu": ("not measurable", "no-gpu-lane"),
    },
    "memcpy-inplace-removes": {
        "h200": ("holds", "removed-and-faster"),
        "a100": ("holds", "removed-and-faster"),
        "t4": ("holds", "removed-and-faster"),
        "rtx4090": ("holds", "removed-and-faster"),
        "b200": ("holds", "removed-and-faster"),
        "mi300x": ("holds", "removed-and-faster"),
        "cpu": ("not measurable", "no-gpu-lane"),
    },
    "inplace-fewer-cpu-ops": {
        "h200": ("holds", "fewer"),
        "a100": ("holds", "fewer"),
        "t4": ("holds", "fewer"),
        "rtx4090": ("holds", "fewer"),
        "b200": ("holds", "fewer"),
        "mi300x": ("holds", "fewer"),
        "cpu": ("holds", "fewer"),
    },
    "inplace-autograd": {
        "h200": ("holds", "fine-here"),
        "a100": ("holds", "fine-here"),
        "t4": ("holds", "fine-here"),
        "rtx4090": ("holds", "fine-here"),
        "b200": ("holds", "fine-here"),
        "mi300x": ("holds", "fine-here"),
        "cpu": ("holds", "fine-here"),
    },
    "inplace-memory": {
        "h200": ("differs", "same"),
        "a100": ("differs", "same"),
        "t4": ("differs", "same"),
        "rtx4090": ("differs", "same"),
        "b200": ("differs", "same"),
        "mi300x": ("differs", "same"),
        "cpu": ("not measurable", "not-counted"),
    },
}


def test_a_copy_done_by_a_kernel_is_the_copy_all_the_same():
    """The ops around the launch decide, not the word Memcpy."""
    said = outcome("memcpy-hidden", facts("mi300x"))
    assert said.headline == ("`masked_fill` adds a device-to-device copy that is not in the code: `__amd_rocclr_copyBuffer`, 256 "
                             "MiB, 163 µs. In place it is gone.")
    assert "On this device a kernel does the copy, so it counts as a kernel, not as a memcpy." in said.because


def test_a_memset_is_said_beside_the_copy_and_only_where_there_is_one():
    caveat = "1 memset beside them is neither a kernel nor a copy, but a count of all GPU activities includes it."
    assert outcome("memcpy-hidden", facts("h200")).caveats == (caveat,)
    assert outcome("memcpy-hidden", facts("a100")).caveats == ()


def test_the_copy_of_another_op_is_not_hidden_in_the_mask():
    """A copy under `contiguous` belongs to whoever asked for it."""
    run = activities(facts(), "naive", lambda a: replace(a, op_path=("aten::contiguous", "aten::clone", "aten::copy_")) if a.role == "copy" else a)
    assert outcome("memcpy-hidden", run).case == "no-copy"


def test_without_a_ceiling_the_saving_is_not_explained():
    """Take the fact away and the sentence goes; the verdict stays."""
    said = outcome("memcpy-inplace-removes", facts(ceilings=None))
    assert (said.verdict, said.because) == ("holds", ())


def test_the_expected_saving_is_the_copy_read_and_written_at_the_ceiling():
    """2 × 2²⁸ B ÷ 4.3 TB/s = 124.9 µs; 126 µs were saved."""
    assert outcome("memcpy-inplace-removes", facts()).because == (
        "The copy reads and writes 256 MiB. At this run's copy rate (4.30 TB/s) that is 125 µs; the saving is 101 % of it.",)


def test_one_process_that_disagrees_makes_noise_of_the_saving():
    times = list(facts().variants["naive_inplace"].gpu_time.samples)
    times[3] = 1.2e-3
    assert outcome("memcpy-inplace-removes", variant(facts(), "naive_inplace", gpu_time=Estimate(tuple(times)))).case == "removed-but-tie"


def test_the_equal_peak_is_explained_only_where_it_is_two_score_matrices():
    """528 MiB are 2 × 256 MiB of scores and 16 MiB of output, which is what the last matmul holds."""
    said = outcome("inplace-memory", facts())
    assert said.because == (
        "The peak is at the last matmul: 2 score matrices of 256 MiB (the weights, and `scores`, which is still referenced) and "
        "the output of 16 MiB, within 1 %. Saving memory at the mask cannot lower it.",)
    assert said.advice == ("Peak memory falls only if no step holds two score matrices, and softmax does. Use a fused backend: it never stores the scores.")


@pytest.mark.parametrize("mib", [512, 522, 534, 2048])
def test_another_equal_peak_is_not_explained(mib):
    """1 % of 528 MiB is 5.3 MiB; 512 MiB would be the scores without the output."""
    run = variant(variant(facts(), "naive", peak_memory_bytes=mib * 2**20), "naive_inplace", peak_memory_bytes=mib * 2**20)
    said = outcome("inplace-memory", run)
    assert (said.case, said.because) == ("same", ())
    assert said.advice.startswith("Peak memory falls")


def test_an_output_too_small_to_be_told_leaves_the_peak_unexplained():
    """At a sequence of 8,192 the output is 1/128 of a score matrix: two matrices alone fit within 1 % as well."""
    long = replace(facts().workload, sequence=8192)
    peak = 2 * long.score_bytes + long.operand_bytes // 4
    run = variant(variant(facts(workload=long), "naive", peak_memory_bytes=peak), "naive_inplace", peak_memory_bytes=peak)
    assert outcome("inplace-memory", run).because == ()


def test_what_the_profiler_saw_of_the_step_is_evidence():
    said = outcome("inplace-fewer-cpu-ops", facts())
    assert said.because[1] == "On the CPU the step takes 28.7 µs instead of 41.2 µs, both under the profiler and including its overhead."
    assert said.caveats == ()


def test_the_version_counter_has_its_limits():
    assert outcome("inplace-autograd", facts()).advice == (
        "In training, overwrite a tensor only if the op that made it does not save it for backward. Autograd's version counter "
        "catches the mistake with an error, but not if you write through `.data`.")


def test_a_slower_forward_in_place_is_no_proof_of_a_slower_kernel():
    said = outcome("memcpy-inplace-removes", variant(facts(), "naive", gpu_time=estimate(900)))
    assert said.advice == "Compare the masking kernels of both variants in their traces: the in-place one may be slower."


@pytest.mark.parametrize("naive, end", [(1076, "the saving is 117 % of it, more than the copy explains."), (1030, "the saving is 80 % of it, less than the copy explains."),
                                        (1070, "the saving is 112 % of it.")])
def test_a_saving_that_the_copy_does_not_explain_says_so(naive, end):
    """The copy should cost 124.9 µs; 930 µs in place. 146 ÷ 124.9 = 1.17, 100 ÷ 124.9 = 0.80, 140 ÷ 124.9 = 1.12."""
    assert outcome("memcpy-inplace-removes", variant(facts(), "naive", gpu_time=estimate(naive))).because[0].endswith(end)

def test_the_evidence_sets_the_saving_beside_the_bytes():
    tables = {table.caption: table for table in FINDING.evidence(facts()).tables}
    saving = [[str(cell) for cell in row] for row in tables["Does the removed copy explain the saving?"].rows]
    assert saving[2:4] == [["saved", "126 µs", "measured"], ["bytes the copy reads and writes", "512 MiB", "counted"]]
    assert saving[-2:] == [["the bytes at that rate", "125 µs", "modelled"], ["saved ÷ modelled", "101 %", "modelled"]]


def test_the_evidence_counts_three_kinds_of_activity():
    """Five kernels, a memcpy and a memset are seven activities where the article saw six."""
    counts = FINDING.evidence(facts()).tables[0]
    assert counts.rows == (("Naive", 5, 6, 7, 5, 1, 1), ("Naive in place", 5, 5, 6, 5, 0, 1))


def saving(run):
    """The table that sets the saving beside the bytes, as text."""
    table = next(table for table in FINDING.evidence(run).tables if [column.title for column in table.columns] == ["What", "Value", "Origin"])
    return table.caption, [(str(row[0]), str(row[1])) for row in table.rows]


def test_what_is_slower_in_place_is_no_saving():
    """In place 1,056 µs and out of place 930: it costs 126 µs more, and no share of the copy is saved."""
    run = variant(variant(facts(), "naive", gpu_time=estimate(930)), "naive_inplace", gpu_time=estimate(1056))
    caption, rows = saving(run)
    assert caption == "GPU time out of place and in place."
    assert rows[:3] == [("GPU time of a forward, out of place", "930 µs"), ("GPU time of a forward, in place", "1,056 µs"), ("more in place", "126 µs")]
    assert "saved ÷ modelled" not in [label for label, _ in rows]
    assert saving(facts())[1][2] == ("saved", "126 µs")


def test_a_small_time_keeps_its_digits_beside_a_large_one():
    run = variant(facts(), "naive_inplace", gpu_time=estimate(46.4))
    assert outcome("memcpy-inplace-removes", run).headline.startswith("In place removes the copy and saves 1,009.6 µs of GPU time per forward: 46.4 µs instead of 1,056.0 µs")


def test_captions_say_what_the_run_shows():
    """The same steps but for the copy, and seven processes: each only where it is so."""
    times, steps = FINDING.evidence(facts()).charts
    assert times.caption == "GPU time per forward out of place and in place; whiskers span the seven processes."
    assert steps.caption == "One forward by step, from the trace: the same steps except the copy."
    gone = activities(facts(), "naive", lambda a: None if a.role == "copy" else a)
    assert FINDING.evidence(gone).charts[1].caption == "One forward by step, from the trace."
    single = variant(variant(facts(), "naive", gpu_time=Estimate((1e-3,))), "naive_inplace", gpu_time=Estimate((9e-4,)))
    assert FINDING.evidence(single).charts[0].caption == "GPU time per forward out of place and in place."


def test_nine_processes_are_nine_in_the_sentence():
    nine = facts()
    for name in ("naive", "naive_inplace"):
        held = nine.variants[name].gpu_time.samples
        nine = variant(nine, name, gpu_time=Estimate((*held, *held[:2])))
    assert "all nine processes agree" in outcome("memcpy-inplace-removes", nine).headline


def test_the_articles_activities_stand_beside_its_own_workload_only():
    counts = FINDING.evidence(facts(workload=WIDE)).tables[0]
    assert [column.title for column in counts.columns] == ["Variant", "Predicted steps", "Activities here", "Kernels", "Memcpys", "Memsets"]
    assert counts.caption == "GPU activities per forward: predicted, in this run."


def test_processes_that_disagree_are_told_beside_the_tie():
    """300 µs in three processes and 1,056 in four, beside times that spread by 0.4 %: 3.52 × 1.0012 ÷ 0.998."""
    torn = variant(facts(), "naive_inplace", gpu_time=Estimate(tuple(us * 1e-6 for us in (1056, 300, 1056, 300, 1056, 300, 1056))))
    assert outcome("memcpy-inplace-removes", torn).caveats == ("The processes disagree: from one to another this ratio changes by up to 3.53×, so no median sums them up.",)
