"""The front page's first sentences: each case reached with evidence turned round, and read."""

from __future__ import annotations

from dataclasses import replace

from builders import estimate, facts, variant

from reportgen.analysis import RunFacts
from reportgen.findings import FINDINGS
from reportgen.numbers.statistics import Estimate
from reportgen.pages import lead, site
from reportgen.questions import lead as first
from reportgen.run import DefaultBackend, Probes


def test_the_winner_is_named_with_the_next_and_the_naive_one() -> None:
    assert first.winner(facts("h200")) == ("**SDPA cuDNN is the fastest here**: 59.0 µs of GPU time per forward. SDPA flash needs 93.0 µs, 1.58× as long. "
                                          "Naive attention needs 1.06 ms, 17.9× as long.")
    assert first.winner(facts("a100")).startswith("**SDPA flash is the fastest here**: 147 µs of GPU time per forward. SDPA cuDNN needs 186 µs, 1.27× as long.")


def test_a_tie_is_called_a_tie() -> None:
    tied = variant(facts("h200"), "sdpa_flash", gpu_time=estimate(59.2))
    assert first.winner(tied).startswith("**SDPA cuDNN and SDPA flash** are the fastest here and cannot be told apart: 59.0 to 59.2 µs of GPU time per forward.")


def test_without_a_gpu_wall_time_decides() -> None:
    assert "of wall time per forward" in first.winner(facts("cpu"))
    assert first.wall(facts("cpu")) == ""


def test_one_or_no_variant_is_no_race() -> None:
    run = facts("h200")
    alone = replace(run, variants={"naive": run.variants["naive"]})
    assert first.winner(alone) == "Only **Naive** ran here: 1.06 ms of GPU time per forward."
    assert first.winner(replace(run, variants={})) == "No variant ran on this device, so there is no winner."


def test_a_loop_that_the_cpu_paces_is_said() -> None:
    """Where launching takes longer than computing, the order on the GPU is not the order of the program."""
    slow = variant(facts("h200"), "sdpa_cudnn", wall_time=estimate(150))
    assert first.wall(slow) == ("The order changes when Python does the launching: called back to back from Python it takes 150 µs of wall time per forward, "
                               "and SDPA flash takes 96.0 µs.")
    paced = variant(slow, "sdpa_cudnn", host_time=estimate(140))
    assert first.wall(paced).endswith("A call keeps the CPU 140 µs, longer than the GPU works, so the CPU sets that pace.")
    level = variant(facts("h200"), "sdpa_cudnn", wall_time=estimate(96))
    assert first.wall(level).startswith("When Python does the launching it cannot be told apart from SDPA flash: ")
    assert first.wall(facts("h200")).startswith("It stays in front when Python does the launching")


def test_cpu_cost_names_every_fused_backend_or_the_tie() -> None:
    assert first.cpu_cost(facts("h200")) == "A call costs the CPU 40.0 µs for SDPA efficient, 43.0 µs for SDPA flash, 47.0 µs for SDPA cuDNN."
    tied = facts("h200")
    for name in ("sdpa_efficient", "sdpa_flash", "sdpa_cudnn"):
        tied = variant(tied, name, host_time=estimate(40))
    assert first.cpu_cost(tied).startswith("Their cost on the CPU cannot be told apart: about 40.0 µs per call")
    assert first.cpu_cost(facts("cpu")) == ""


def test_the_first_call_is_mentioned_where_it_is_dear() -> None:
    assert first.first_call(facts("h200")) == "The first call in a process is another matter: 90.2 to 99.8 ms for SDPA cuDNN, and 57.0 to 63.0 ms at a new shape."
    opened = variant(facts("h200"), "sdpa_cudnn", first_call=Estimate((0.625, 0.090, 0.060, 0.070, 0.065, 0.066, 0.072)))
    assert first.first_call(opened) == (
        "The first call in a process is another matter: 60.0 to 90.0 ms for SDPA cuDNN (625 ms in the run's first process), and 57.0 to 63.0 ms at a new shape.")
    cheap = facts("h200")
    for name in ("sdpa_efficient", "sdpa_flash", "sdpa_cudnn"):
        cheap = variant(cheap, name, first_call=estimate(60))
    assert first.first_call(cheap) == ""


def test_what_pytorch_picks_is_compared_with_the_winner() -> None:
    run = facts("h200")
    assert first.default_backend(run) == "Unpinned, PyTorch picks SDPA cuDNN for this shape, so there is nothing to pin for speed."
    other = replace(run, probes=Probes(DefaultBackend("flash", "x")))
    assert first.default_backend(other) == "Unpinned, PyTorch picks SDPA flash here. Pin SDPA cuDNN to get the fastest."
    assert first.default_backend(replace(run, probes=Probes())) == ""


def test_advice_is_given_once() -> None:
    """Two claims with the same advice make one bullet."""
    outcome = lead.advice(site.build([facts("h200")], facts("h200").slot, FINDINGS), facts("h200"))
    assert outcome and len({one.text for one in outcome}) == len(outcome) <= len(lead.ACTIONABLE)


def test_nobody_is_told_to_pin_what_pytorch_picks() -> None:
    """PyTorch picks cuDNN, the fastest: no advice to pin it. It picks flash: the advice is there."""
    def pins(run: RunFacts) -> bool:
        return any(step.text.startswith("Pin the winner for this shape") for step in lead.advice(site.build([run], run.slot, FINDINGS), run))

    run = facts("h200")
    assert first.picks_the_fastest(run) and not pins(run)
    other = replace(run, probes=replace(run.probes, default_backend=DefaultBackend("flash", "x")))
    assert not first.picks_the_fastest(other) and pins(other)


def test_advice_stands_by_what_it_saves() -> None:
    """By hand 1,056 − 59 µs, math 2,580 − 59 µs, in place 1,056 − 930 µs of GPU time, 5 kernels of the mask in math's trace; what saves nothing per forward comes last."""
    run = facts("h200")
    steps = lead.advice(site.build([run], run.slot, FINDINGS), run)
    assert [step.saves for step in steps[:4]] == ["−2.52 ms (−98 %)", "−997 µs (−94 %)", "−126 µs (−12 %)", "−10.8 µs (−0.42 %)"]
    assert steps[1].text.startswith("Where attention is written by hand")
    assert {step.saves for step in steps[4:]} == {"", "−57.0 to 63.0 ms per new shape"}


def test_the_call_to_write_stands_where_nothing_is_to_be_pinned() -> None:
    run = facts("h200")
    assert first.call(run) == "Call `F.scaled_dot_product_attention(q, k, v, is_causal=True)`. Unpinned, PyTorch picks SDPA cuDNN for this shape, so there is nothing to pin for speed."
    other = replace(run, probes=Probes(DefaultBackend("flash", "x")))
    assert first.call(other) == "Unpinned, PyTorch picks SDPA flash here. Pin SDPA cuDNN to get the fastest."




def test_who_writes_attention_by_hand_is_told_what_the_one_call_gives() -> None:
    """1,056 µs against 59 µs of GPU time is 17.9×; where naive is not slower, nothing is said."""
    assert first.by_hand(facts("h200")) == (
        "Where attention is written by hand and there are as many queries as keys, call `F.scaled_dot_product_attention(q, k, v, is_causal=True)`: left alone it runs SDPA cuDNN here, "
        "and naive attention takes 17.9× its GPU time.")
    assert first.by_hand(variant(facts("h200"), "naive", gpu_time=estimate(59))) == ""
    assert first.by_hand(replace(facts("h200"), probes=Probes())) == ""


def test_where_the_cpu_sets_the_pace_nothing_is_gained_by_a_faster_kernel() -> None:
    """Five times the GPU time, and the same wall time: no advice."""
    level = variant(variant(facts("h200"), "naive", wall_time=estimate(100)), "sdpa_cudnn", wall_time=estimate(100))
    assert first.by_hand(level) == ""
