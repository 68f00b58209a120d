"""The mask step: a broadcast mask against one of full size, with the evidence turned round."""

from __future__ import annotations

from dataclasses import replace

import pytest
from builder_devices import DEVICES
from builders import activities, estimate, facts, probes
from case_tables import outcome

from reportgen.analysis import CounterFacts, RunFacts
from reportgen.findings.mask_step import FINDING
from reportgen.numbers.statistics import Estimate
from reportgen.run import MaskOp, MaskStep
from reportgen.saying.tables import markdown

MIB = 2**20
ASKED = {"broadcast": 513 * MIB, "full": 640 * MIB, "mul": 512 * MIB}
LOOP = "void at::native::{}, at::native::(anonymous namespace)::masked_fill_kernel(at::TensorIterator&, c10::Scalar const&)::{{lambda(c10::BFloat16, bool)#1}}>(int)"
SLOW, FAST = LOOP.format("elementwise_kernel<128, 4"), LOOP.format("vectorized_elementwise_kernel<4")


def step(broadcast: float = 358, full: float = 157, mul: float = 128, named: bool = True, run: RunFacts | None = None, **changes: object) -> RunFacts:
    """A run whose mask step alone takes so many µs, by kernels with these names."""
    kernels = {"broadcast": SLOW, "full": FAST, "mul": FAST} if named else {}
    ops = {name: MaskOp(ASKED[name], estimate(us), kernels.get(name)) for name, us in (("broadcast", broadcast), ("full", full), ("mul", mul))}
    return probes(run or facts(), mask_step=MaskStep(ops, "cuda-graph", **changes))


def counted(run: RunFacts) -> RunFacts:
    """221 and 24 million warp instructions, with 60 and 31 % of the issue slots busy."""
    return replace(run, mask_step={"broadcast": CounterFacts(instructions=221e6, issue_pct=60.2, alu_pct=45.0), "full": CounterFacts(instructions=24.1e6, issue_pct=30.9, alu_pct=9.0)})


def in_the_forward(run: RunFacts, us: float) -> RunFacts:
    """The step in the trace of naive in place takes so long."""
    return activities(run, "naive_inplace", lambda a: replace(a, duration=us * 1e-6) if a.role == "mask" else a)


def scattered() -> RunFacts:
    """The broadcast mask is slower in six processes and faster in one."""
    ops = {name: MaskOp(ASKED[name], estimate(200)) for name in ASKED}
    ops["broadcast"] = MaskOp(ASKED["broadcast"], Estimate((300e-6,) * 6 + (150e-6,)))
    return probes(facts(), mask_step=MaskStep(ops, "cuda-graph"))


CASES_REACHED = {
    ("mask-broadcast", "not-timed"): (
        lambda: probes(facts(), mask_step=MaskStep(reason="CUDA out of memory.")),
        "Not measurable: the mask step could not be timed alone (CUDA out of memory)."),
    ("mask-broadcast", "broadcast"): (
        step,
        "The mask step is slow because the mask is broadcast: `masked_fill_` takes 358 µs with the `[S, S]` mask and 157 µs with a full-size copy, although the copy adds "
        "127 MiB to read (2.28×; in every process)."),
    ("mask-broadcast", "same"): (
        lambda: step(full=355),
        "A full-size mask makes no measurable difference: `masked_fill_` takes 355 µs with it and 358 µs with the broadcast mask (1.01×; in every process)."),
    ("mask-broadcast", "full-slower"): (
        lambda: step(broadcast=150, full=180),
        "Broadcasting the mask costs nothing here: `masked_fill_` takes 180 µs with a full-size mask and 150 µs with the broadcast one (0.833×; in every process)."),
}

# claim → device → (verdict, case); the made-up devices are older than the probe
ON_DEVICES = {"mask-broadcast": dict.fromkeys(DEVICES, ("not measurable", "not-taken"))}


def test_names_and_counters_are_given_as_the_cause_only_where_they_show_it():
    because = outcome("mask-broadcast", counted(in_the_forward(step(), 358))).because
    assert because == (
        "The kernel names show the cause: `elementwise_kernel` computes an index for each element, `vectorized_elementwise_kernel` loads several neighbours at once.",
        "Counted: 221 million warp instructions with the broadcast mask, 24.1 million with the full-size one; the issue slots were busy 60 % and 31 % of the time.",
        "Multiplying the same scores by a number takes 128 µs; the mask step takes 2.80× as long.",
        "In Naive in place the step is one kernel: in the trace 358 µs, 38.4 % of all GPU time there, more than any other.")
    nameless = outcome("mask-broadcast", step(named=False))
    assert not any("names" in line or "Counted" in line for line in nameless.because)
    fewer = replace(step(), mask_step={"broadcast": CounterFacts(instructions=20e6), "full": CounterFacts(instructions=24e6)})
    assert not any("Counted" in line for line in outcome("mask-broadcast", fewer).because)


def test_of_a_step_that_takes_another_time_in_the_forward_no_saving_is_promised():
    """201 µs of 930 are 22 %; in a forward whose step takes 250 µs the op alone says nothing about it."""
    (advice,) = outcome("mask-broadcast", in_the_forward(step(), 358)).pieces
    assert str(advice.saves) == "201 µs per forward (22 % of Naive in place)"
    assert advice.says.startswith("If you must apply a mask by hand, expand it once") and advice.more == "It takes 128 MiB of memory."
    other = outcome("mask-broadcast", in_the_forward(step(), 250))
    assert other.pieces[0].saves is None and not any("Naive in place" in line for line in other.because)


def test_where_the_full_mask_is_slower_the_broadcast_one_stays():
    (advice,) = outcome("mask-broadcast", step(broadcast=150, full=180)).pieces
    assert advice.says == "Let the `[S, S]` mask broadcast."
    assert outcome("mask-broadcast", step(full=355)).pieces == ()


def test_fewer_processes_or_unsteady_ones_decide_nothing():
    two = {name: MaskOp(ASKED[name], Estimate((us * 1e-6,) * 2)) for name, us in (("broadcast", 358), ("full", 157), ("mul", 128))}
    assert outcome("mask-broadcast", probes(facts(), mask_step=MaskStep(two, "cuda-graph"))).case == "few"
    assert outcome("mask-broadcast", scattered()).case == "same"


def test_a_product_that_is_not_faster_is_no_measure():
    assert not any("product" in line for line in outcome("mask-broadcast", step(mul=400)).because)


def test_what_the_times_have_in_them_is_a_caveat():
    said = outcome("mask-broadcast", step(note="2 of 9 replays reached the GPU late"))
    assert "About these times: 2 of 9 replays reached the GPU late." in said.caveats


@pytest.mark.parametrize("run", [step, lambda: counted(step(named=False)), lambda: replace(step(), ceilings=None)])
def test_the_table_has_a_row_for_each_op(run):
    shown = FINDING.evidence(run())
    rows = [line for line in markdown(shown.tables[0]).splitlines() if line.startswith("| `")]
    assert [line.split(" | ")[0] for line in rows] == ["| `scores.masked_fill_(mask, -inf)`", "| `scores.masked_fill_(full_mask, -inf)`", "| `scores.mul_(number)`"]
    assert "358 µs" in rows[0] and "513 MiB" in rows[0]
    assert shown.charts[0].alt == "GPU time of one op on the whole score matrix: broadcast mask 358 µs, full-size mask 157 µs, product 128 µs."
