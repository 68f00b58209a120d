"""Traces made on an H200 by `benchmarks.planted`, one planted cause each: it is the first thing said, nothing else above 1 % is blamed, clean ones say so."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest

from reportgen.ledger import words
from reportgen.ledger.build import build
from reportgen.ledger.model import Backend, Cause, Cure, Kind, Ledger
from reportgen.trace.whole import read_whole

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "data" / "planted"
MANIFEST = {entry["name"]: entry for entry in json.loads((DATA / "manifest.json").read_text(encoding="utf-8"))}
PLANTED = {
    "bool_mask": (Kind.SDPA, Backend.CUDNN, Cause.MASK, Cure.CAUSAL_FLAG),
    "float_mask": (Kind.SDPA, Backend.CUDNN, Cause.MASK, Cure.CAUSAL_FLAG),
    "mask_other_type": (Kind.SDPA, Backend.CUDNN, Cause.MASK, Cure.CAUSAL_FLAG),
    "compiled": (Kind.BACKEND, Backend.CUDNN, Cause.MASK, Cure.CAUSAL_FLAG),
    "fp32": (Kind.SDPA, Backend.EFFICIENT, Cause.TYPE, Cure.SIXTEEN_BITS),
    "strided": (Kind.SDPA, Backend.MATH, Cause.STRIDE, Cure.CONTIGUOUS_HEADS),
    "head_dim_100": (Kind.SDPA, Backend.FLASH, Cause.HEAD_DIM, Cure.PAD_HEAD),
    "dropout": (Kind.SDPA, Backend.CUDNN, Cause.DROPOUT, Cure.NO_DROPOUT),
    "need_weights": (Kind.BY_HAND, None, Cause.WEIGHTS, Cure.NO_WEIGHTS),
    "need_weights_own": (Kind.BY_HAND, None, Cause.WEIGHTS, Cure.NO_WEIGHTS),
    "repeat_kv": (Kind.SDPA, Backend.CUDNN, Cause.REPEATED_KV, Cure.ENABLE_GQA),
    "gqa_fp32": (Kind.SDPA, Backend.MATH, Cause.GQA_TYPE, Cure.SIXTEEN_BITS),
    "mask_per_layer": (Kind.SDPA, Backend.CUDNN, Cause.MASK_PER_LAYER, Cure.MASK_ONCE),
    "by_hand": (Kind.BY_HAND, None, Cause.BY_HAND, Cure.CALL_SDPA),
    "copies": (Kind.SDPA, Backend.CUDNN, Cause.COPIES, Cure.NO_COPIES),
    "flex_eager": (Kind.FLEX, None, Cause.NOT_COMPILED, Cure.COMPILE_FLEX),
    "new_shapes": (Kind.SDPA, Backend.CUDNN, Cause.NEW_SHAPES, Cure.FIXED_SHAPES),
    "mask_gradient_backward": (Kind.SDPA, Backend.EFFICIENT, Cause.MASK_GRADIENT, Cure.FREEZE_MASK),
    "by_hand_backward": (Kind.BY_HAND, None, Cause.BY_HAND, Cure.CALL_SDPA),
    "fp32_backward": (Kind.SDPA, Backend.EFFICIENT, Cause.TYPE, Cure.SIXTEEN_BITS),
}
CLEAN = ("clean_inference", "clean_training", "head_dim_80", "bool_mask_cured", "fp32_cured", "dropout_cured", "need_weights_cured", "repeat_kv_cured", "by_hand_cured")
CURED = {"bool_mask": 0.25, "strided": 0.25, "head_dim_100": 0.25, "dropout": 0.25, "by_hand": 0.25}
"""Case with a twin to which its one cure was applied → how far what was said may lie from what was measured."""


@cache
def ledger(name: str) -> Ledger:
    return build(read_whole(DATA / MANIFEST[name]["trace"]), ROOT / "docs" / "runs")


def line(name: str) -> str:
    """`planted_models.py(98): attend`'s file, of the manifest's planted line."""
    return MANIFEST[name]["line"].split(":")[0].rsplit("/", 1)[-1]


@pytest.mark.parametrize("name", PLANTED)
def test_the_planted_cause_comes_first(name):
    kind, backend, cause, cure = PLANTED[name]
    first = ledger(name).sites[0]
    assert (first.kind, first.backend) == (kind, backend)
    assert first.reasons[0].cause is cause
    assert first.advice[0].cure is cure
    assert line(name) in words.where(first.where)
    assert words.advice(first.advice[0]).split(";")[0] in words.verdict(ledger(name))


@pytest.mark.parametrize("name", PLANTED)
def test_nothing_else_is_blamed(name):
    found = ledger(name)
    blamed = [(site, reason.cause) for site in found.sites for reason in site.reasons]
    others = [cause for site, cause in blamed if cause is not PLANTED[name][2] and site.share >= 0.01]
    # the mask that is built anew for each layer rules flash out as well
    assert others == ([Cause.MASK] if name == "mask_per_layer" else [])


@pytest.mark.parametrize("name", CLEAN)
def test_a_clean_trace_says_that_there_is_nothing_to_gain(name):
    assert [site.reasons for site in ledger(name).sites] == [()] * len(ledger(name).sites)
    assert words.verdict(ledger(name)).startswith("Nothing to gain was found")


def test_a_graph_replay_holds_names_alone_and_says_how_to_record_more():
    found = ledger("graph_decode")
    assert (found.sites[0].kind, found.sites[0].backend, found.sites[0].reasons) == (Kind.KERNEL, None, ())
    assert words.caveats(found)[0].startswith("48 graph launches queued 2,352 activities")
    assert words.more(found)


@pytest.mark.parametrize("name", CURED)
def test_what_is_said_to_be_saved_is_near_what_the_cure_saved(name):
    """Per step: of the trace's GPU time by its three steps, and by CUDA events around five steps of the twin, which has the whole cure."""
    saving = ledger(name).sites[0].advice[0].saving
    assert saving is not None
    said = saving.seconds / MANIFEST[name]["steps"]
    measured = middle(name) - middle(f"{name}_cured")
    assert abs(said / measured - 1) < CURED[name]


def middle(name: str) -> float:
    return sorted(MANIFEST[name]["seconds"])[2]
