"""The command `why`: what it understands, what it refuses, and what it says of an answer made up here. Without torch."""

from __future__ import annotations

import pytest
from folder_doubles import NO_MASK, after, answer
from map_doubles import square

from reportgen.commands import asking, cli

DESCRIBED = {"device": {"name": "NVIDIA H200"}, "software": {"torch": "2.11.0+cu130", "cudnn": "9.19.0"}}


def test_sizes_that_are_not_given_follow_the_others():
    asked = asking.asked_for(cli.parser().parse_args(["why", "--heads", "32", "--head-dim", "128", "--mask", "bool", "--dtype", "float32", "--grad", "--dropout", "0.1"]))
    assert asked.id == "b8-h32-q1024-k1024-d128-fp32-bool-grad-drop0.1"
    assert asking.asked_for(cli.parser().parse_args(["why", "--form", "padding bias"])).call.mask == "float"


@pytest.mark.parametrize("options, said", [
    (["--queries", "0"], "argument --queries: '0' is no whole number"), (["--head-dim", "²"], "no whole number"), (["--dropout", "1"], "no share that leaves something"),
    (["--kv-heads", "3"], "--kv-heads 3 does not divide --heads 16"), (["--queries", "8", "--keys", "16"], "aligned at the first key"),
    (["--mask", "bool", "--queries", "16", "--keys", "8"], "some would see no key"), (["--form", "three dimensions"], "three dimensions have no batch"),
])
def test_what_makes_no_sense_is_two_lines(capsys: pytest.CaptureFixture[str], options: list[str], said: str):
    assert cli.main(["why", *options]) == 2
    error = capsys.readouterr().err.strip().split("\n")
    assert said in error[0] and error[1].startswith("  what to do: ") and len(error) == 2


def test_the_pick_the_refusals_and_what_is_faster():
    one = answer("your call", "efficient", square(1024, mask="bool"), (after("is_causal", "cudnn", cudnn=36.0),), math="wrong", efficient=215.0, flash=NO_MASK, cudnn=89.0)
    assert asking.as_text(DESCRIBED, one) == [
        "NVIDIA H200, torch 2.11.0+cu130, cudnn 9.19.0: b4-h16-q1024-k1024-d64-bf16-bool", "",
        "torch picks efficient, 215 µs a call.",
        "  math       WRONG: relative error 0.4 in the gradient of q, allowed 0.005",
        "  efficient  215 µs",
        "  flash      refused: Flash Attention does not support non-null attn_mask.",
        "  cuDNN      89.0 µs", "",
        "Faster here:",
        "  36.0 µs: say `is_causal=True` instead of passing the triangle as a mask; torch then picks cuDNN",
        "    F.scaled_dot_product_attention(q, k, v, is_causal=True)",
        "  89.0 µs: pin cuDNN",
        "    with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):"]


def test_nothing_faster_is_said():
    assert asking.as_text(DESCRIBED, answer("your call", "cudnn", flash=57.0, cudnn=36.0))[-1] == "Nothing that was tried is faster than torch's own pick."
