"""How what the processes found becomes entries of a run: statuses, samples, chains, memory of failures."""

from __future__ import annotations

import gc
import weakref

import pytest

import variants
from reportgen.capture import assemble, neighbours, rounds, training
from reportgen.capture.causes import Cause, Notice
from reportgen.capture.patience import Extent
from reportgen.capture.refusal import listening
from reportgen.run.workload import ARTICLE

NAIVE = variants.load(("naive",))[0]


def process(*, naive=0.002, in_place=0.001, timer="cuda-graph", note=None, chains=True, **changes):
    """One result of `rounds.measure`, seconds."""
    found = {"naive": naive, "naive_inplace": in_place}
    chained = {name: {"1": seconds, "24": seconds * 24} for name, seconds in found.items()} if chains else None
    return {"samples": {name: {"gpu_time": seconds, "wall_time": seconds} for name, seconds in found.items()}, "failures": {},
            "notes": {name: {"timer": timer, "note": note, "forwards": {}, "settled": True} for name in found},
            "chains": chained, "clocks": [], "clocks_reason": "no driver", **changes}  # fmt: skip


def right(error=0.002):
    return {("numerics", "naive"): {"status": "ok", "reason": None, "value": {"relative_error": error, "allowed_error": 0.005, "ok": error < 0.005}}}


def test_samples_stay_in_process_order():
    timed = assemble.Timed([process(naive=seconds) for seconds in (0.3, 0.1, 0.2)])
    entry = assemble.variant_entry(NAIVE, timed, right(), None)
    assert (entry["status"], entry["samples"]) == ("ok", {"gpu_time": [0.3, 0.1, 0.2], "wall_time": [0.3, 0.1, 0.2]})


def test_a_quantity_that_one_process_lacks_is_left_out():
    """Otherwise its values could not be paired with those of another variant."""
    incomplete = process()
    del incomplete["samples"]["naive"]["gpu_time"]
    assert assemble.Timed([process(), incomplete]).samples("naive") == {"wall_time": [0.002, 0.002]}


def test_a_variant_that_failed_in_one_process_is_out_of_all():
    timed = assemble.Timed([process(), process()], {"naive": {"status": "failed", "reason": "CUDA out of memory."}})
    entry = assemble.variant_entry(NAIVE, timed, right(), None)
    assert (entry["status"], entry["reason"], entry["samples"], entry["timer"]) == ("failed", "CUDA out of memory.", {}, None)


def test_times_and_numbers_of_a_wrong_result_are_recorded_beside_its_error():
    entry = assemble.variant_entry(NAIVE, assemble.Timed([process()]), right(error=0.0123), None)
    assert (entry["status"], entry["reason"]) == ("wrong", "wrong result: relative error 0.012, allowed 0.005")
    assert (entry["relative_error"], entry["allowed_error"]) == (0.0123, 0.005)
    assert (entry["samples"], entry["timer"]) == ({"gpu_time": [0.002], "wall_time": [0.002]}, "cuda-graph")


def test_an_accuracy_check_that_crashed_fails_the_variant():
    answers = {("numerics", "naive"): {"value": None, "status": "failed", "reason": "the process was killed by SIGSEGV"}}
    entry = assemble.variant_entry(NAIVE, assemble.Timed([process()]), answers, None)
    assert (entry["status"], entry["reason"]) == ("failed", "the process was killed by SIGSEGV")


def test_if_processes_timed_differently_the_weaker_way_is_named():
    timed = assemble.Timed([process(), process(timer="queued-events", note="no CUDA graph: busy")])
    entry = assemble.variant_entry(NAIVE, timed, right(), None)
    assert (entry["timer"], entry["timer_note"]) == ("queued-events", "no CUDA graph: busy")


def test_chains_are_gathered_process_by_process():
    found = assemble.chains(assemble.Timed([process(naive=0.5, in_place=0.25), process(naive=0.75, in_place=0.5)]))
    assert found == {"layers": [1, 24], "timer": "cuda-graph",
                     "naive": {"1": [0.5, 0.75], "24": [12.0, 18.0]}, "naive_inplace": {"1": [0.25, 0.5], "24": [6.0, 12.0]}}  # fmt: skip


def test_chains_that_one_process_lacks_are_not_reported_at_all():
    slow = {"reason": "chains of 24 forwards would take longer than 1.5 s in each process"}
    assert assemble.chains(assemble.Timed([process(), {**process(), "chains": slow}])) == slow
    assert assemble.chains(assemble.Timed([{**process(), "chains": slow}, process(chains=False)])) == slow  # after the first they are not tried again
    assert assemble.chains(assemble.Timed([process(chains=False)])) == {"reason": "chains of forwards were not asked for in this run"}


def test_without_clock_samples_the_reason_is_kept():
    found = assemble.clocks(assemble.Timed([process()]), neighbours.Watch(None))
    assert found == {"available": False, "reason": "no driver", "samples": [], "other_processes": None, "looks": []}


def test_a_sample_that_tells_only_what_held_the_clocks_back_is_kept():
    sample = {"variant": "naive", "sm_mhz": None, "throttle": ["software power cap"]}
    found = assemble.clocks(assemble.Timed([process(clocks=[sample])]), neighbours.Watch(None))
    assert (found["available"], found["samples"]) == (True, [sample])


@pytest.mark.parametrize(("pinned", "recorded"), [((True, True), True), ((True, False), False), ((), False)])
def test_the_launching_thread_counts_as_pinned_if_it_was_in_each_process(pinned, recorded):
    plan = rounds.Plan("cuda", ARTICLE, ("naive",), process=0, rounds=1, settle_seconds=0.1)
    notes = {"naive": {"timer": "cuda-graph", "note": None, "forwards": {"gpu_time": 20, "wall_time": 20, "host_time": 10}, "settled": True}}
    timed = assemble.Timed([{**process(), "notes": notes, "pinned": one, "input_sets": 4, "warmed": [], "threads": 1, "rounds": 1, "first_order": []} for one in pinned])
    assert assemble.protocol(plan, timed, "spawn", Extent(7), {}, None)["pinned"] is recorded


def test_training_that_failed_has_no_kernels():
    answers = {("training", "naive"): {"status": "ok", "value": training.refused("failed", "the gradient of q is not finite")},
               ("training_kernels", "naive"): {"status": "ok", "value": 9}}
    entry = assemble.variant_entry(NAIVE, assemble.Timed([process()]), {**right(), **answers}, None)
    assert entry["training"] == {"status": "failed", "reason": "the gradient of q is not finite", "gpu_time": None, "wall_time": None, "kernels": None, "peak_memory_bytes": None, "compared": []}


def test_training_with_a_wrong_gradient_keeps_its_kernels_and_its_times():
    value = {**training.refused("wrong", "wrong result: the gradient of q has a relative error of 0.01, allowed 0.0078"), "wall_time": [0.001]}
    answers = {("training", "naive"): {"status": "ok", "value": value}, ("training_kernels", "naive"): {"status": "ok", "value": 9}}
    entry = assemble.variant_entry(NAIVE, assemble.Timed([process()]), {**right(), **answers}, None)
    assert (entry["status"], entry["training"]["status"], entry["training"]["kernels"], entry["training"]["wall_time"]) == ("ok", "wrong", 9, [0.001])


def test_a_mask_of_its_own_that_took_the_process_with_it_is_a_failure_with_its_reason():
    found = {"outcome": "right", "reason": None, "compared": []}
    for answer, recorded in (({"status": "ok", "value": found}, found), ({"status": "failed", "reason": "it died", "value": None}, {"outcome": "failed", "reason": "it died"})):
        assert assemble.variant_entry(NAIVE, assemble.Timed([process()]), {**right(), ("own_mask", "naive"): answer}, None)["own_mask"] == recorded
    assert assemble.variant_entry(NAIVE, assemble.Timed([process()]), right(), None)["own_mask"] is None


def test_what_was_noticed_is_recorded_as_a_cause_and_a_sentence():
    """Counters have a reason of their own in the run."""
    found = assemble.noticed((Notice(Cause.NO_GPU), Notice(Cause.COUNTER_TOOL)))
    assert found == [{"cause": "no-gpu", "said": "there is no NVIDIA or AMD GPU with a driver here, so the CPU is what can be profiled"}]


def test_a_failed_call_holds_no_memory():
    """The error's frames would keep a variant's tensors alive into the next one's measurement."""
    class Scores:
        pass

    def fails():
        scores = Scores()
        held.append(weakref.ref(scores))
        raise RuntimeError("out of memory")

    held: list[weakref.ref] = []
    gc.disable()
    try:
        with listening() as heard:
            fails()
        assert held[0]() is None
        assert heard.reason == "out of memory."
    finally:
        gc.enable()


@pytest.mark.parametrize("failures, expected", [
    ({"naive": {"out_of_memory": True}, "naive_inplace": {"out_of_memory": True}}, True),
    ({"naive": {"out_of_memory": True}}, False),
    ({"naive": {"out_of_memory": True}, "naive_inplace": {"out_of_memory": False}}, False),
    ({"naive": {"status": "failed", "reason": "its process died"}, "naive_inplace": {"out_of_memory": True}}, False),
    ({}, False),
])  # fmt: skip
def test_what_ran_out_of_memory_is_told_apart(failures, expected):
    assert assemble.Timed([], failures).out_of_memory(("naive", "naive_inplace")) is expected
