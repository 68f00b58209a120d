"""What was asked beside the map, where other pages say it: padding masks in the guide, the change that helps most calls on the front page. And two figures of the method."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from builders import estimate, facts, variant
from folder_doubles import NO_MASK, after, answer, asked
from map_doubles import square

from reportgen.pages import front, guides, lead, measured, padding, site
from reportgen.questions import why_words
from reportgen.run.noise import Noise

ROOT = Path(__file__).resolve().parents[2]
MASK = square(1024, mask="bool")


def padded(name, form, picked="cudnn", **told):
    one = answer(name, picked, MASK, **told)
    return replace(one, asked=replace(one.asked, form=form))


def causal(name, before, then, change="is_causal"):
    """A call that cuDNN runs in so many µs, and after the change in so many."""
    return answer(name, "cudnn", MASK, (after(change, "cudnn", cudnn=then),), flash=NO_MASK, cudnn=before)


def built(*folders, run=None):
    run = run or facts("h200")
    return site.build([run], run.slot, (), folders=folders)


def test_the_guide_has_a_row_for_each_call_with_padding_and_none_for_others():
    one = padded("an encoder with a padding mask", "padding", efficient=408.0, flash=NO_MASK, cudnn=141.0)
    text = guides.render(built(asked(one, causal("the triangle", 158.0, 58.8))), guides.SDPA)
    assert "| an encoder with a padding mask | cuDNN | 408 µs | refused | 141 µs | — |" in text and "the triangle" not in text
    assert "a bool `attn_mask` of `[batch, 1, 1, keys]`" in text and "[Every call that was asked](why.md)" in text
    alone = guides.render(built(), guides.SDPA)
    assert "## A mask for padding" in alone and "Every call that was asked" not in alone


def test_what_is_faster_with_padding_stands_beside_it():
    """Torch picks efficient, cuDNN takes a third: 1 − 141 ÷ 408."""
    one = padded("padded", "padding bias", picked="efficient", efficient=408.0, cudnn=141.0)
    table = padding.table(built(asked(one)))
    assert table is not None and str(table.rows[0][-1]) == "pin cuDNN (65 % less)"
    assert padding.table(built(asked(padded("padded", "padding", cudnn="wrong")))).rows[0][4] == "wrong"


def step(*answers, **changes):
    found = built(asked(*answers), run=replace(facts("h200"), **changes))
    return [one for one in lead.advice(found, found.featured) if one.target == "why.md"]


TORCH = asked(causal("x", 2.0, 1.0)).answers.header.software.get("torch")
"""Of the made-up map."""


def test_the_front_page_says_the_change_that_helps_most_calls_with_what_it_saves():
    """158 − 58.8 and 200 − 50 µs: 63 and 75 %; the third call is helped by another change."""
    calls = (causal("a prompt with the triangle", 158.0, 58.8), causal("longer", 200.0, 50.0), causal("sixty", 100.0, 50.0, "padded"), causal("level", 100.0, 99.0))
    (one,) = step(*calls, software={"torch": TORCH})
    assert one.text == ("Say `is_causal=True` instead of passing the triangle as a mask: at 2 of 4 calls that people write it takes 63 % to 75 % less GPU time with the same result, "
                        "at “a prompt with the triangle” 58.8 µs instead of 158 µs.")
    assert one.saves.startswith("−99.2 µs (−63 %)") and one.worth == pytest.approx(-99.2e-6)


def test_one_call_alone_another_torch_or_nothing_asked_is_no_advice():
    twice = (causal("one", 158.0, 58.8), causal("two", 158.0, 58.8))
    assert step(twice[0], software={"torch": TORCH}) == [] == step(*twice, software={"torch": "1.0"})
    assert step(*twice, software={"torch": TORCH}) != []
    assert why_words.most_helpful([causal("level", 100.0, 99.0)] * 3) is None


def test_a_change_that_may_give_another_result_is_not_the_most_helpful_one():
    lossy = [causal("a", 100.0, 10.0, "bfloat16"), causal("b", 100.0, 10.0, "bfloat16")]
    assert why_words.most_helpful(lossy) is None


def test_the_method_says_how_far_traces_and_whole_runs_lie_apart():
    """Naive's trace adds up to 1,100 µs where the timer says 1,000; the others lie as the made-up traces do."""
    run = variant(facts("h200"), "naive", gpu_time=estimate(1000), trace_gpu_time=1100e-6)
    run = replace(run, variants={"naive": run.variants["naive"]}, extras={"noise": Noise(6, 15, {}, {}, {"naive": {"gpu_time": 0.04}})})
    assert measured.trace_apart(run) == "+10.0 %"
    text = front.reading(site.build([run], run.slot, []), "method.md")
    assert "lies +10.0 % from the timer's, variant by variant. A step is told from the trace" in text
    assert "On NVIDIA H200: largest shift of the same code between any two of 6 whole runs (15 pairs): GPU time 4 %." in text
    bare = replace(variant(run, "naive", trace_gpu_time=None), extras={})
    without = front.reading(site.build([bare], bare.slot, []), "method.md")
    assert "A trace and the timer are two measurements. A step" in without and "largest shift" not in without


def test_the_page_about_reviewing_names_commands_and_files_that_there_are():
    text = front.reading(built(), "reviewing.md")
    table = text.partition("## Which files, which commands")[2].partition("\n## ")[0]
    commands = set(re.findall(r"`make (\w+)", table))
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert commands >= {"check", "diff", "render", "merge"} and all(re.search(rf"^{name}:", makefile, re.M) for name in commands)
    named = set(re.findall(r"`([\w.]+\.(?:json|jsonl))`", table))
    assert named >= {"noise.json", "map.jsonl", "why.jsonl", "bill.json"} and all(any((ROOT / "docs" / "runs").rglob(name)) for name in named)


def test_a_claim_is_the_articles_or_our_own():
    text = front.reading(built(), "glossary.md")
    assert "**Claim**: a conclusion, the article's or our own, with a rule" in text
