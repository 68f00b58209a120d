"""The program's verdicts against an oracle that reads the files itself, on every copy."""

from __future__ import annotations

import pytest

from perturbed import oracle
from perturbed.harness import Harness
from perturbed.test_copies import GOOD


@pytest.mark.parametrize("name", GOOD)
def test_five_verdicts_are_those_of_the_oracle(name: str, copies: Harness):
    copy = copies[name]
    allowed = oracle.verdicts(copy.content, copy.noise, copy.folder)
    said = {claim: copy.outcomes[claim].verdict for claim in allowed}
    assert {claim: verdict for claim, verdict in said.items() if verdict not in allowed[claim]} == {}, allowed


@pytest.mark.parametrize("name", GOOD)
def test_no_claim_is_decided_without_the_variants_that_it_compares(name: str, copies: Harness):
    copy = copies[name]
    missing = {claim for claim, names in oracle.NEEDS.items() if not all(oracle.ran(copy.content, one) for one in names.split())}
    assert {claim for claim in missing if copy.outcomes[claim].verdict != "not measurable"} == set()


def test_the_oracle_knows_the_recorded_run(copies: Harness):
    """On the H200 cuDNN is faster than flash and efficient, costs the CPU most, math is slower and in place pays."""
    copy = copies["as_recorded"]
    assert oracle.verdicts(copy.content, copy.noise, copy.folder) == {
        "flash-fastest": {"differs"}, "math-slower": {"holds"}, "cudnn-gpu-between": {"differs"}, "cudnn-cpu-cost": {"holds"}, "memcpy-inplace-removes": {"holds"}}


@pytest.mark.parametrize("name, claim, verdict", [
    ("untimed_winner", "flash-fastest", {"not measurable"}), ("mixed_timers", "flash-fastest", {"differs", "not measurable"}), ("fused_tied", "flash-fastest", {"within noise"}),
    ("flash_fastest", "flash-fastest", {"holds"}), ("untimed_loser", "flash-fastest", {"holds", "not measurable"}), ("only_flash", "flash-fastest", {"not measurable"}),
    ("wrong_but_ok", "flash-fastest", {"holds"}), ("on_a_cpu", "flash-fastest", {"holds"}), ("cudnn_between", "cudnn-gpu-between", {"holds"}),
    ("mixed_timers", "cudnn-gpu-between", {"differs", "not measurable"}), ("cudnn_cheapest_call", "cudnn-cpu-cost", {"differs"}), ("clock_spread", "cudnn-cpu-cost", {"holds"}),
    ("no_copy", "memcpy-inplace-removes", {"not measurable"}), ("copy_in_both", "memcpy-inplace-removes", {"differs"}), ("inplace_tied", "memcpy-inplace-removes", {"within noise"}),
    ("no_gpu_lane", "memcpy-inplace-removes", {"not measurable"}), ("three_processes", "math-slower", {"within noise", "not measurable"}), ("math_faster", "math-slower", {"differs"}),
])
def test_the_oracle_knows_what_some_copies_were_made_for(name: str, claim: str, verdict: set[str], copies: Harness):
    """So that an oracle that is wrong in the same way as the program is noticed."""
    copy = copies[name]
    assert oracle.verdicts(copy.content, copy.noise, copy.folder)[claim] == verdict
