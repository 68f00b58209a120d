"""Right before fast: a probe reproduces on the default, on another backend, in a trap alone, nowhere, is refused, or was not tried."""

from __future__ import annotations

import re

import pytest

from perturbed.harness import Harness
from reportgen.commands.facts_json import to_json
from reportgen.review.diff import RunDiff, Side, compare, render, words
from reportgen.review.diff.gates import GATES
from reportgen.review.rerun import keys

UNDER_A_MASK = "SDPA cuDNN gives wrong gradients with this run's inputs (under a mask gradient of v: relative error 5 %, allowed 0.65 %): do not train with it here."
QUIET = ("probe_elsewhere", "probe_nowhere", "probes_refused", "trap_only", "old_run_without_probes", "wrong_gradients")
LINE = "**Unpinned, 1 kind of call comes out wrong on this device**: one public report reproduces here (cuDNN)."
CAST = "For a call with a mask of floats in another type than q (pytorch#191612): Cast the mask to the type of q."
LIMIT = "Not for unsafe call 1 (“Is it right?”)."
ROW = "- **1** (unpinned, cuDNN): a call with a mask of floats in another type than q. Cast the mask to the type of q.\n"
NOTE = "† SDPA cuDNN is right in this forward but wrong in other calls on this device: avoid a mask of floats in another type than q (pytorch#191612)."


def test_what_the_unpinned_call_gets_wrong_stands_before_the_winner(copies: Harness):
    front = copies["probe_on_default"].front
    assert f"> {LINE} [Which, and what to write](findings/is-it-right.md#what-to-do-in-your-code)" in front and f"> {ROW}" in front
    assert front.index(LINE) < front.index("is the fastest here")
    assert LINE in copies["probe_on_default"].readme
    terminal = " ".join(copies["probe_on_default"].terminal.split())
    assert terminal.count(LINE.replace("**", "")) == 2  # first and last, as every alarm


@pytest.mark.parametrize("name", QUIET)
def test_nothing_is_said_against_the_unpinned_call_where_nothing_reproduces_there(name: str, copies: Harness):
    copy = copies[name]
    assert "comes out wrong on this device" not in copy.front + copy.readme + copy.terminal
    assert "so there is nothing to pin for speed." in copy.front


def test_nothing_to_pin_is_said_with_its_conditions_where_the_unpinned_call_is_not_right_everywhere(copies: Harness):
    front = copies["probe_on_default"].front
    assert "so there is nothing to pin for speed" not in front
    assert "Unpinned, PyTorch picks SDPA cuDNN for this shape; with no `attn_mask` and no gradients there is nothing to pin for speed.\n" in front


def test_what_to_write_stands_before_all_advice(copies: Harness):
    front = copies["probe_on_default"].front
    first = front.split("## What to change in your code\n\n")[1].split("\n")[0]
    assert "Is it right?](" not in first and front.index(ROW) < front.index("## What to change in your code")
    trapped = copies["trap_only"].front.split("## What to change in your code\n\n")[1].split("\n")[0]
    assert trapped.startswith("- For a call with one query and fewer queries than keys and `is_causal` (one-query-causal): Align the mask with the last key.")


def test_leave_it_open_names_the_calls_for_which_it_is_not_safe(copies: Harness):
    advice = "In production leave the choice to PyTorch unless you have timed your shapes."
    assert f"{advice} {LIMIT}" in copies["probe_on_default"].front
    for name in QUIET:
        assert advice in copies[name].front and f"{advice} Not for" not in copies[name].front


def test_advice_whose_words_rule_a_condition_out_is_given_without_it(copies: Harness):
    """A call of q, k, v and `is_causal` has no mask, so a report about masks does not limit it."""
    text = copies["probe_on_default"].pages["findings/flash-hbm.md"]
    assert "(with as many queries as keys use `is_causal=True`): this kernel refuses a mask.\n" in text


def test_a_pinned_backend_that_is_wrong_limits_what_leads_to_it(copies: Harness):
    text = copies["probe_elsewhere"].pages["findings/math-slowdown.md"]
    assert "Not for unsafe call 1 (“Is it right?”)." in text
    assert "| 1 | an `attn_mask` and operands that are not contiguous | efficient |" in copies["probe_elsewhere"].pages["findings/is-it-right.md"]


def test_a_variant_is_marked_wherever_it_is_ranked(copies: Harness):
    copy = copies["probe_on_default"]
    assert re.search(r"\| \[SDPA cuDNN †\]\(variants/sdpa_cudnn.md\) \| 58.5 \|", copy.front)
    assert "| [SDPA cuDNN †](docs/variants/sdpa_cudnn.md) |" in copy.readme
    assert "† SDPA cuDNN is right in this forward, but not in every call on this device." in copy.front
    assert "| SDPA cuDNN † | 58.5 µs" in copy.pages["findings/fastest.md"]
    assert re.search(r"\| 58\.5 † \|", copy.pages["compare.md"]) and "| 1.00× † |" in copy.pages["compare.md"]
    assert "sdpa_cudnn †" in copy.terminal
    assert "† SDPA cuDNN: right in this forward, but not in every call on this device; the list below says in which." in copy.front and f"> {ROW}" in copy.front
    for text in (copy.readme, " ".join(copy.terminal.split())):
        assert NOTE in text
    for text in (copy.pages["findings/fastest.md"], copy.pages["compare.md"]):
        assert "† SDPA cuDNN: right in this forward, but not in every call on this device; the page “Is it right?” says in which." in text


def test_only_the_backend_that_reproduces_is_marked(copies: Harness):
    front = copies["probe_elsewhere"].front
    assert "| [SDPA efficient †](variants/sdpa_efficient.md) |" in front and "[SDPA cuDNN †]" not in front and "† SDPA cuDNN" not in front


@pytest.mark.parametrize("name", ["probe_nowhere", "probes_refused", "trap_only", "old_run_without_probes", "as_recorded"])
def test_nobody_is_marked_without_cause(name: str, copies: Harness):
    copy = copies[name]
    assert "†" not in copy.front + copy.readme + copy.terminal + copy.pages["compare.md"]


def test_wrong_gradients_have_no_time_and_are_told_beside_the_forward(copies: Harness):
    copy = copies["wrong_gradients"]
    assert "| [SDPA flash †](variants/sdpa_flash.md) | wrong result | — | — | — | — | 20 % |" in copy.pages["beyond.md"]
    assert "SDPA flash: wrong result: gradient of q: relative error 20 %, allowed 0.65 %" in copy.pages["beyond.md"]
    assert "† SDPA flash gives wrong gradients with this run's inputs (gradient of q: relative error 20 %, allowed 0.65 %): do not train with it here." in copy.front


def test_gradients_that_are_wrong_under_a_mask_alone_keep_their_time_and_carry_the_sign(copies: Harness):
    """Its own causal call is right, so its time counts; torch picks it, so the front page says it before the winner."""
    copy = copies["wrong_gradients_under_a_mask"]
    said = "**Unpinned, PyTorch picks SDPA cuDNN here, and its gradients are wrong** with this run's inputs: under a mask gradient of v: relative error 5 %, allowed 0.65 %."
    assert said in copy.front and copy.front.index(said) < copy.front.index("is the fastest here") and said in copy.readme
    assert "out wrong on this device" not in copy.front
    assert f"† {UNDER_A_MASK}" in copy.front and "| [SDPA cuDNN †](variants/sdpa_cudnn.md) | ok | 249 |" in copy.pages["beyond.md"]
    assert "| SDPA cuDNN | right: at most 0.3 % in 3 tensors | wrong: gradient of v: relative error 5 %, allowed 0.65 % |" in copy.pages["findings/is-it-right.md"]
    assert "wrong result: gradient of v: relative error 5 %, allowed 0.65 %" in copy.pages["variants/sdpa_cudnn.md"]


def test_tables_and_charts_of_speed_carry_the_sign_and_others_do_not(copies: Harness):
    copy = copies["probe_on_default"]
    line = "† SDPA cuDNN is right in this forward, but not in every call on this device."
    for name in ("beyond.md", "hardware/limits.md", "hardware/roofline.md", "findings/fastest.md"):
        assert line in copy.pages[name]
    assert "| SDPA cuDNN † | 58.5 | 2.69× |" in copy.pages["hardware/limits.md"]
    assert f"*The mark is the best that the measured ceilings allow. {line}*" in copy.pages["hardware/limits.md"]
    assert "†" not in copy.pages["hardware/half-the-square.md"] + copies["probe_nowhere"].pages["hardware/limits.md"] + copies["probe_nowhere"].pages["beyond.md"]


def test_an_older_run_says_once_that_nothing_was_tried(copies: Harness):
    front = copies["old_run_without_probes"].front
    assert front.count("rightness of gradients") == 1
    assert "This run was recorded before the rightness of gradients and of publicly reported cases was measured." in front


def test_json_has_every_probe_and_which_calls_are_unsafe(copies: Harness):
    found = {name: to_json(copies[name].facts, copies[name].outcomes) for name in ("probe_on_default", "probe_elsewhere", "as_recorded")}
    told = found["probe_on_default"]
    assert told["correctness"]["unsafe_unpinned"] == [["MASK", "OTHER_TYPE"]]
    assert {name: probe["standing"] for name, probe in told["correctness"]["probes"].items()} == {
        "mask-in-fp32": "default", "far-logits": "nowhere", "shared-heads": "nowhere", "one-query-causal": "nowhere"}
    assert told["correctness"]["probes"]["mask-in-fp32"]["cure"]["healing"] == "cures"
    assert [name for name, variant in told["variants"].items() if variant["marks"]] == ["sdpa_cudnn"]
    assert (found["probe_elsewhere"]["correctness"]["unsafe_unpinned"], found["as_recorded"]["correctness"]) == ([], None)


def side(copies: Harness, name: str) -> Side:
    return Side(copies[name].facts, copies[name].outcomes)


def between(copies: Harness, old: str, new: str) -> RunDiff:
    return compare(side(copies, old), side(copies, new))


def test_a_probe_that_flips_is_the_first_thing_that_a_diff_names(copies: Harness):
    found = between(copies, "probe_nowhere", "probe_on_default")
    first = "**A probe gives a wrong result now: unpinned (cuDNN), pytorch#191612: right → wrong, and 1 more change of probes.** "
    assert words.headline(found).startswith(first)
    text = render.run_markdown(found, "x")
    assert text.split("\n\n")[1].startswith(first)
    assert "- **unpinned (cuDNN), pytorch#191612: right → wrong**\n- **cuDNN, pytorch#191612: right → wrong**" in text
    assert not found.unchanged and ("mask-in-fp32", "default", "right", "reproduces") in keys(found)
    assert GATES["probe"](found) == ["unpinned (cuDNN), pytorch#191612: right → wrong", "cuDNN, pytorch#191612: right → wrong"]


def test_a_probe_that_is_mended_is_named_first_too_and_fails_no_gate(copies: Harness):
    found = between(copies, "probe_on_default", "probe_nowhere")
    assert words.headline(found).startswith("**A probe gives no wrong result any more: unpinned (cuDNN), pytorch#191612: wrong → right,")
    assert GATES["probe"](found) == []


def test_a_trap_in_a_diff_says_that_it_is_one(copies: Harness):
    assert "unpinned (cuDNN), one-query-causal, a documented trap: right → wrong" in words.headline(between(copies, "probe_nowhere", "trap_only"))


def test_probes_that_one_run_lacks_flip_nothing(copies: Harness):
    """They are a condition: evidence that one side has and the other lacks."""
    for old, new in (("as_recorded", "probe_on_default"), ("probe_on_default", "as_recorded")):
        found = between(copies, old, new)
        assert found.probes == () and [c.name for c in found.conditions if c.name == "publicly reported cases"] == ["publicly reported cases"]
