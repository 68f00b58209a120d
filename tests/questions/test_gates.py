"""The shared gates: each reached once, its sentence typed by hand, and exceptions contained."""

from __future__ import annotations

from dataclasses import replace

import pytest
from builders import estimate, facts, failed, no_lane, unavailable, variant, without
from case_tables import CLAIMS, outcome
from counted import h200
from turned import WIDE, without_ops

from reportgen.analysis import Lost, State
from reportgen.analysis.watch import Watch
from reportgen.findings import claims
from reportgen.numbers.statistics import Estimate
from reportgen.questions import evaluate, lead
from reportgen.questions.gates import FAULT, GATES
from reportgen.questions.model import Advice, Case, Relies, Source, claim, decide
from reportgen.readings import questions
from reportgen.run import LostPart

QUESTIONS = {question.id: question for question in (*claims(), *questions())}


def state(run, name, state, reason=None, **changes):
    return variant(run, name, state=state, reason=reason, **changes)


def lost(run, name, what, reason, **changes):
    return variant(run, name, state=State.LOST, lost=(Lost(what, reason),), **changes)


def processes(run, count):
    """`run` with the first `count` processes only."""
    return replace(run, variants={name: replace(held, times={quantity: Estimate(time.samples[:count]) for quantity, time in held.times.items()})
                                  for name, held in run.variants.items()})


BARE = dict(kernels=None, memcpys=None, memsets=None, activities=())
OLDER = dict(older=True)

REACHED = {
    "unavailable": ("flash-fastest", lambda: facts("t4"), "Not measurable: SDPA flash did not run here (Flash attention only supports gpu architectures in the range [sm80, sm121])."),
    "wrong-result": ("cudnn-one-kernel", lambda: state(facts(), "sdpa_cudnn", State.WRONG, "wrong result", relative_error=0.3, allowed_error=0.0048),
                     "Not measurable: SDPA cuDNN ran and gave a wrong result (relative error 30 %, allowed 0.48 %), so none of its numbers counts."),
    "wrong-result-unsized": ("cudnn-one-kernel", lambda: state(facts(), "sdpa_cudnn", State.WRONG, "wrong result: nothing but NaN", relative_error=None, allowed_error=None),
                             "Not measurable: SDPA cuDNN ran and gave a wrong result (wrong result: nothing but NaN), so none of its numbers counts."),
    "failed": ("math-slower", lambda: failed(facts(), "sdpa_math", "CUDA out of memory."), "Not measurable: SDPA math broke off here (CUDA out of memory)."),
    "not-tried": ("math-slower", lambda: state(facts(), "sdpa_math", State.NOT_TRIED, "not asked for in this run"),
                  "Not measurable: SDPA math was not tried in this run (not asked for in this run)."),
    "before-variant": ("math-slower", lambda: without(facts(), "sdpa_math"), "Not measurable: this run was recorded before `sdpa_math` was added."),
    "no-gpu-lane": ("efficient-one-kernel", lambda: no_lane(facts()), "Not measurable: this run's trace has no GPU lane, so there is nothing to count."),
    "lost-trace": ("efficient-one-kernel", lambda: lost(facts(), "sdpa_efficient", "trace", "the profiler raised", **BARE),
                   "Not measurable: no trace of SDPA efficient could be taken (the profiler raised)."),
    "lost-records": ("efficient-one-kernel", lambda: lost(facts(), "sdpa_efficient", "GPU records", "3 of 5 are missing", **BARE),
                     "Not measurable: the GPU activities of SDPA efficient cannot be counted: 3 of 5 are missing."),
    "ops-differ": ("math-upcast", lambda: variant(without_ops(facts(), "sdpa_math"), "sdpa_math", other_ops=5),
                   "Not measurable: the CPU ops of SDPA math cannot be told: its 5 recorded forwards have different lists of them, and no list has a majority."),
    "untimed": ("math-3.7x", lambda: lost(facts(), "sdpa_math", "GPU time", "the queue ran dry", gpu_time=None),
                "Not measurable: the GPU time of SDPA math could not be taken (the queue ran dry)."),
    "few": ("math-slower", lambda: processes(facts("a100"), 3), "Nothing can be told apart: this run has 3 processes for each variant, and 7 are needed."),
    "mixed-timers": ("cudnn-gpu-between", lambda: variant(facts("a100"), "sdpa_cudnn", timer="queued-events", gpu_time=estimate(150), trace_gpu_time=None),
                     "Not measurable: the GPU times of SDPA cuDNN and SDPA flash were taken by different timers, and their traces do not settle which is smaller."),
    "other-timers": ("math-3.7x", lambda: variant(facts("a100"), "sdpa_math", timer="queued-events"),
                     "Not measurable: the GPU times of Naive in place and SDPA math were taken by different timers, so the ratio of the two is not told."),
    "no-gpu-time": ("math-3.7x", lambda: replace(facts("cpu"), workload=facts().workload), "Not measurable: this device has no GPU time."),
    "recorded-before": ("math-upcast", lambda: without_ops(replace(facts(), **OLDER), "sdpa_math"), "Not measurable: this run was recorded before the list of CPU ops was measured."),
    "not-taken": ("math-upcast", lambda: without_ops(facts(), "sdpa_math"), "Not measurable: this run did not measure the list of CPU ops."),
    "other-workload": ("math-3.7x", lambda: facts(workload=WIDE), "Not measurable: the published value belongs to the article's workload, and this run used another "
                       "(batch 4, heads 16, sequence 2,048, head dimension 128, bfloat16, causal)."),
    "other-dtype": ("math-upcast", lambda: facts("t4"), "Not measurable: the claim is about bfloat16, and this run computes in float16."),
    "no-ceilings": ("hbm-dominates", lambda: facts(ceilings=None), "Not measurable: this run has no measured ceilings for copies and matmuls, so nothing can be held against them."),
    "launches-wait": ("cudnn-cpu-cost", lambda: facts(launches_wait=("CUDA_LAUNCH_BLOCKING",)),
                      "Not measurable: CUDA_LAUNCH_BLOCKING made every launch wait for the GPU in this run, so its host time has the GPU's time in it."),
    "watched": ("fewer-ops-not-less-cpu", lambda: facts(watched_by=("COMPUTE_SANITIZER_INJECTION",)),
                "Not measurable: a profiler or a sanitizer watched this run (COMPUTE_SANITIZER_INJECTION), so its host time is the tool's as well."),
    "lost-part": ("hbm-dominates", lambda: facts(ceilings=None, lost=(LostPart("ceilings", "killed by SIGKILL"),)),
                  "Not measurable: the copy and matmul ceilings could not be taken in this run (killed by SIGKILL)."),
    "no-kernels": ("bytes-forward", lambda: facts("cpu"), "No variant of this run has a trace with GPU activities."),
    "not-counted": ("bytes-ratio", lambda: facts(), "Only hardware counters can tell, and this run has none for any variant."),
    "no-times": ("limits-best", lambda: replace(h200(), variants={name: replace(held, times={}) for name, held in h200().variants.items()}), "This run has no GPU times."),
    "fits-in-cache": ("hbm-dominates", lambda: replace(facts(), device=replace(facts().device, l2_cache_bytes=2**28)),
                      "Not measurable: the score matrix (256 MiB) is smaller than twice the last-level cache (256 MiB), so its round trips need not reach HBM."),
    "cache-unknown": ("hbm-dominates", lambda: replace(facts(), device=replace(facts().device, l2_cache_bytes=None)),
                      "Not measurable: the size of this device's last-level cache was not recorded, so nobody can say whether the score matrix (256 MiB) stays in it."),
    "no-arithmetic": ("flash-occupancy", lambda: facts("mi300x"), "Not measurable: the occupancy of SDPA flash cannot be worked out, because the trace or our tables lack the limits of "
                      "this device (AMD Instinct MI300X)."),
    "no-probes": ("default-right", lambda: replace(facts(), watch=Watch(reason="the child was killed by signal 9.")),
                  "Not measurable: no publicly reported case could be tried here (the child was killed by signal 9)."),
    "no-kernel": ("cudnn-launch-api", lambda: variant(facts(), "sdpa_cudnn", activities=(), kernels=0), "Not measurable: the trace of SDPA cuDNN shows no kernel."),
}


def test_every_gate_is_reached_by_a_test():
    assert GATES.keys() - {FAULT} == REACHED.keys()


@pytest.mark.parametrize("gate", REACHED)
def test_the_gate_answers_in_its_own_words(gate):
    question, factory, sentence = REACHED[gate]
    said = evaluate.evaluate(QUESTIONS[question], factory())
    assert (said.case, said.headline, said.gate) == (gate, sentence, True)


def test_beside_its_badge_a_gate_says_the_reason_alone():
    said = outcome("efficient-one-kernel", no_lane(facts()))
    assert said.headline == f"Not measurable: {said.reason[0].lower()}{said.reason[1:]}" == REACHED["no-gpu-lane"][2]


@pytest.mark.parametrize("disturbed", [{"launches_wait": ("CUDA_LAUNCH_BLOCKING",)}, {"watched_by": ("NSYS_PROFILING_SESSION_ID",)}, {"watched_by": ()}])
def test_host_time_that_is_not_the_hosts_decides_nothing(disturbed):
    """Undisturbed, two claims about the CPU's bill hold on this device; the other claims do not ask for host time."""
    before, after = ({claim.id: evaluate.evaluate(claim, facts("a100", **changes)) for claim in claims()} for changes in ({}, disturbed))
    assert [name for name in before if before[name].verdict != after[name].verdict] == ["cudnn-cpu-cost", "fewer-ops-not-less-cpu"]
    assert {after[name].verdict for name in ("cudnn-cpu-cost", "fewer-ops-not-less-cpu")} == {"not measurable"}
    run = facts("a100", **disturbed)
    assert (lead.cpu_cost(run), lead.first_call(run)) == ("", "") and lead.cpu_cost(facts("a100")) and lead.first_call(facts("a100"))


@pytest.mark.parametrize(("claim", "changes", "part", "sentence"), [
    ("flash-never-writes-scores", {"sdpa_flash": dict(peak_memory_bytes=None)}, LostPart("memory", "killed by SIGKILL", "sdpa_flash"),
     "Not measurable: the peak memory of SDPA flash could not be taken in this run (killed by SIGKILL)."),
    ("inplace-memory", {"naive": dict(peak_memory_bytes=None)}, LostPart("memory", "killed by SIGSEGV", "naive"),
     "Not measurable: the peak memory of Naive could not be taken in this run (killed by SIGSEGV)."),
    ("math-safe-softmax", {"sdpa_math": dict(masked_row=None)}, LostPart("masked_row", "it gave no sign for 300 s", "sdpa_math"),
     "Not measurable: a fully masked row of SDPA math could not be taken in this run (it gave no sign for 300 s)."),
])
def test_what_a_dead_child_took_is_the_reason_and_not_the_age_of_the_run(claim, changes, part, sentence):
    run = facts()
    for name, fields in changes.items():
        run = variant(run, name, **fields)
    assert outcome(claim, replace(run, lost=(part,))).headline == sentence


def test_a_quick_run_is_not_called_an_old_one():
    assert outcome("math-upcast", without_ops(facts(label="quick"), "sdpa_math")).headline == (
        "Not measurable: this run did not measure the list of CPU ops (a quick run leaves it out).")


def test_the_first_unmet_need_answers():
    """A variant that was refused is told before the lane that no trace has."""
    assert outcome("math-20-kernels", unavailable(no_lane(facts()), "sdpa_math", "No.")).case == "unavailable"


def _broken(run):
    raise ZeroDivisionError("1 / 0")


BROKEN = claim("broken", "It works.", _broken, {"works": Case("holds", "It does.")})


def test_a_fault_costs_its_own_claim_only(monkeypatch):
    monkeypatch.setattr(evaluate, "CONTAIN", True)
    found = evaluate.outcomes((BROKEN, CLAIMS["flash-fastest"]), facts())
    assert found["broken"].headline == ("Not measurable: a fault of this program (ZeroDivisionError) kept it from being judged. Please report it with this run.")
    assert found["flash-fastest"].case == "other-wins"


def test_the_tests_run_without_containment():
    with pytest.raises(ZeroDivisionError):
        evaluate.evaluate(BROKEN, facts())


def test_advice_is_given_only_where_every_case_that_it_relies_on_came_out():
    def leading(case):
        return claim("first", "It is so.", lambda run: decide(case), {"so": Case("holds", "So."), "not": Case("differs", "Not.")})

    relying = claim("second", "And so?", lambda run: decide("then", there=True, gone=None), {
        "then": Case("holds", "Then.", advice=(Advice("Do it.", "Soon.", when=(Relies("first", ("so",)),)), Advice("Never.", needs="gone"), Advice("Look.", needs="there")))})
    assert evaluate.outcomes((leading("so"), relying), facts())["second"].advice == "Do it. Soon. Look."
    assert evaluate.outcomes((leading("not"), relying), facts())["second"].advice == "Look."
    assert evaluate.outcomes((relying,), facts())["second"].advice == "Look."


def test_every_claim_has_a_source_and_states_what_it_needs():
    assert all(isinstance(one.source, Source) for one in claims())
    assert all(need.name for one in claims() for need in one.needs)
    assert all(one.source is None for one in questions())
