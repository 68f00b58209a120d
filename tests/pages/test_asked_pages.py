"""The pages of what torch answered, of the bill, and of what lies beside the backends: from made-up files, with their sentences read literally."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

from builders import facts
from folder_doubles import NO_MASK, after, answer, asked, bill, extras, row
from map_doubles import point, reading, square
from probe_doubles import tried, wrong

from reportgen.pages import beside, navigation, site, why
from reportgen.pages import bill as bill_page
from reportgen.questions import bill_words as words
from reportgen.shapes import answers
from reportgen.shapes.asked import Asked
from reportgen.shapes.bill import Row
from reportgen.shapes.folder import Folder
from reportgen.shapes.record import Reading


def page(room: Any, *folders: Folder) -> str:
    run = facts("h200")
    text = room.files(site.build([run], run.slot, (), folders=folders))[room.PATH]
    assert isinstance(text, str)
    return text


MASKED = answer("a prompt with a mask", "efficient", square(1024, mask="bool"), (after("is_causal", "cudnn", flash=60.0, cudnn=36.0),), math=900.0, efficient=215.0, flash=NO_MASK, cudnn=89.0)
PLAIN = answer("a prompt", "cudnn", math=900.0, efficient=107.0, flash=57.0, cudnn=36.0)


def test_nobody_asked_and_how_to_ask():
    text = page(why)
    assert "Nobody asked the torch of NVIDIA H200 yet. `make map` on a machine with the device asks" in text and "python -m reportgen why --mask bool" in text


def test_the_answer_says_what_torch_picks_and_what_less_time_takes():
    text = page(why, asked(MASKED, PLAIN))
    assert text.split("\n\n")[1] == "# Why not flash?"
    assert "**torch picks efficient for 1 of 2 calls**, cuDNN for 1." in text
    assert "flash declines 1; it could run at 1 where torch picks another, which is faster at 1 of them." in text
    assert ("At 1 the same result can be had in less GPU time; the most at “a prompt with a mask”: 215 µs with efficient, 36.0 µs if you say `is_causal=True` instead of passing "
            "the triangle as a mask (83 % less).") in text
    assert "| a prompt with a mask | say `is_causal=True` instead of passing the triangle as a mask | 83 % | 83 % | efficient | 215 µs | 36.0 µs |" in text


def test_a_refusal_stands_in_torchs_own_words():
    text = page(why, asked(MASKED, PLAIN))
    assert "| flash | — | Flash Attention does not support non-null attn_mask. |" in text
    assert "| flash | 1 | Flash Attention does not support non-null attn_mask. |" in text and "runtime disabled" not in text


def test_what_differs_in_numbers_alone_is_said_once():
    lengths = [f"Last dimension must be divisible by 8. Got Query.size(-1): {size}, Query.sizes(): [1, {size}] instead." for size in (60, 100)]
    reasons = [*lengths, lengths[1], "head_dim should be no more than 256."]
    found = tuple(replace(PLAIN, readings=(Reading("efficient", "refused", reason),)) for reason in reasons)
    assert [[str(cell) for cell in row] for row in why.refusals(found).rows] == [
        ["efficient", "3", "Last dimension must be divisible by 8. Got Query.size(-1): …, Query.sizes(): […] instead."],
        ["efficient", "1", "head_dim should be no more than 256."]]


def test_what_a_loop_gains_stands_beside_what_the_gpu_saves():
    def call(name: str, gpu: float, cpu: float, then: float, then_cpu: float, **more: Any) -> answers.Answer:
        before, later = (reading("cudnn", us, host) for us, host in ((gpu, cpu), (then, then_cpu)))
        asked = Asked(name, square(1024), **more)
        return answers.Answer(asked, "cudnn", (before,), 0.5, (3, 64), (answers.Changed("is_causal", asked, "cudnn", (later,)),))

    # 100 → 50 on the GPU each. The CPU: 20 → 80 leaves 20 % to a loop; 20 → 150 takes half as long again; 20 → 100 is a draw
    found = (call("a", 100.0, 20.0, 50.0, 80.0), call("b", 100.0, 20.0, 50.0, 150.0), call("c", 100.0, 20.0, 50.0, 100.0))
    assert [(str(row[2]), str(row[3])) for row in why.instead(found).rows] == [("50 %", "20 %"), ("50 %", "50 % more"), ("50 %", "nothing")]
    text = page(why, Folder("nvidia-h200", answers=answers.Answers(asked().answers.header, found)))
    assert "At 3 the same result can be had in less GPU time;" in text and "At 2 of these 3 a loop that launches call by call gains nothing: there the CPU sets the pace." in text
    drawn = (call("d", 100.0, 20.0, 50.0, 20.0, dropout=0.1),)
    assert not why.instead(drawn).rows and [str(row[0]) for row in why.other(drawn).rows] == ["d"], "another backend or mask draws other keys"


def test_every_call_stands_there_without_a_script():
    text = page(why, asked(MASKED, PLAIN))
    assert re.findall(r"<summary>(.*)</summary>", text) == ["a prompt with a mask: efficient, 215 µs", "a prompt: cuDNN, 36.0 µs"]
    assert "| pin cuDNN | `with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):` | cuDNN | 89.0 µs | less time |" in text


def test_a_wrong_pick_is_the_first_thing_said_and_saves_nothing():
    text = page(why, asked(answer("a bias in fp32", "cudnn", math=300.0, cudnn="wrong"), PLAIN))
    assert text.index("**What torch picks by itself gives a wrong result at 1 call**: a bias in fp32.") < text.index("**torch picks cuDNN for 2 of 2 calls**.")
    assert "## The same result in less time" not in text and "At none of them was something found that gives the same result in less time." in text
    assert "<summary>a bias in fp32: cuDNN, a wrong result</summary>" in text and "wrong: the gradient of q has a relative error of 0.40" in text


def test_a_change_of_type_is_no_same_result():
    fp32 = answer("a prompt in fp32", "efficient", square(1024, dtype="float32"), (after("bfloat16", "cudnn", cudnn=40.0),), efficient=354.0, flash="no", cudnn="no")
    text = page(why, asked(fp32))
    assert "## The same result in less time" not in text
    assert "| a prompt in fp32 | use bfloat16 instead of fp32; the result is rounded to 8 bits | 89 % | 89 % | efficient | 354 µs | 40.0 µs |" in text


def test_a_tie_is_no_saving():
    tie = answer("a prompt", "flash", flash=100.0, cudnn=98.0)
    assert "At none of them was something found" in page(why, asked(tie))


def test_a_further_device_has_a_page_of_its_own_that_the_shared_one_and_the_navigation_lead_to():
    run, cpu = facts("h200"), asked(PLAIN, kind="cpu")
    shown = site.build([run], run.slot, (), folders=(asked(MASKED), cpu))
    shown.files.update(why.files(shown))
    assert "Other devices: [Some CPU](runs/some-cpu/why.md)" in str(shown.files["why.md"]) and "## Call by call" in str(shown.files["runs/some-cpu/why.md"])
    assert '      - "Why not flash?: Some CPU": runs/some-cpu/why.md\n' in navigation.render(shown)


def test_words_of_others_open_nothing():
    text = page(why, asked(answer("a prompt", "math", math=900.0, flash="<script>alert(1)</script> | x [a](b)")))
    assert "<script>" not in text and "[a](b)" not in text


BILL = bill(row("flash", 0.2, 60.0), row("cudnn", 50.0, 40.0), row("cudnn", 0.0, 340.0, avoid=True, layout="bshd"), row("flash", 0.0, 0.0, mask=True, reason="flash said no"))


def test_no_bill_was_taken():
    assert "No bill of NVIDIA H200 was taken." in page(bill_page)


def test_the_bill_s_first_sentences():
    text = page(bill_page, BILL)
    assert "**A length that was not called before costs cuDNN 50.0 ms once** (causal, forward); flash 200 µs." in text
    # 49.8 ms over 20 µs a call
    assert "Beside flash a length has earned that back after 2,490 calls." in text
    assert "With `TORCH_CUDNN_SDPA_AVOID_RECOMPILE=1` a new length costs 0 µs (the dearest 0 µs), and every later call takes 340 µs instead of 40.0 µs, 8.50× as long." in text
    assert "| cuDNN | causal, forward | 50.0 ms | 50.0 ms | 40.0 µs | flash | 2,490 |" in text and "| flash | causal, forward | 200 µs | 200 µs | 60.0 µs | — | — |" in text


def test_a_switch_that_torch_does_not_heed_for_the_layout_shows_nothing():
    text = page(bill_page, bill(row("flash", 0.2, 60.0), row("cudnn", 50.0, 40.0), row("cudnn", 49.0, 41.0, avoid=True)))
    assert ("What `TORCH_CUDNN_SDPA_AVOID_RECOMPILE=1` saves is not shown: torch heeds it only for q, k and v stored as `[batch, length, heads, dim]` and transposed, "
            "and here they were stored the other way.") in text and "and every later call takes" not in text


def test_what_processes_show_apart_is_told_beside_what_they_show_together():
    """43 and 61 ms: 52 ms on average; 380 drawn lengths cost between what either pace makes of them."""
    three = Row("cudnn", False, False, False, (256, 512, 300, 1024), first=(0.043, 0.043, 0.061, 0.061), later=(0.0,) * 4, passes=(0, 0, 1, 1), begun=(1.0, 1.0), layout="bshd")
    text = page(bill_page, bill(three))
    assert "**A length that was not called before costs cuDNN 52.0 ms once** (causal, forward; 43.0 ms to 61.0 ms in 2 processes)." in text
    assert "| Backend | Call | A new length, once | by process | the dearest | A later call | Beside | Calls to earn it back |" in text
    assert "| cuDNN | causal, forward | 52.0 ms | 43.0 ms to 61.0 ms | 61.0 ms | 0 µs | — | — |" in text
    assert "Each way of calling ran in 2 processes of its own, in turn with the others" in text and "· stored BSHD ·" in text
    assert "| Process | Length | First call | A later call |" in text and "| 2 | 300 | 61.0 ms | 0 µs |" in text
    alone = page(bill_page, BILL)
    assert "by process" not in alone and "ran in a process of its own" in alone and "| Length | First call | A later call |" in alone


def test_what_did_not_run_says_why_and_is_in_no_table():
    text = page(bill_page, BILL)
    assert "- flash, bool mask, forward: flash said no" in text and "| flash | bool mask, forward |" not in text


def test_advice_follows_the_bill():
    text = page(bill_page, BILL)
    # 49.8 ms more for a new length, 20 µs less for a later call; with the switch 50 ms less once, and 300 µs more each time
    assert ("- Where lengths keep coming that were not called before, pin a backend whose new lengths are nearly free, `with sdpa_kernel([SDPBackend.FLASH_ATTENTION]):` in place of cuDNN "
            "(causal, forward), flash below 2,490 calls of a length.") in text
    # beside efficient it saves 120 − 40 = 80 µs, beside flash 60 − 40 = 20 µs, each of 49.8 ms: every backend has its own border
    both = bill(row("flash", 0.2, 60.0), row("efficient", 0.2, 120.0), row("cudnn", 50.0, 40.0))
    assert "efficient below 623 calls of a length" in page(bill_page, both) and "flash below 2,490 calls of a length" in page(bill_page, both)
    assert ("most new lengths are nearly free then, and it has a price (causal, forward: every later call takes 8.50× as long, so it pays below 167 calls of a length).") in text
    dear = bill(row("cudnn", 50.0, 40.0), row("cudnn", 50.0, 40.0, avoid=True, layout="bshd"))
    assert "AVOID_RECOMPILE=1` before" not in page(bill_page, dear)
    assert "pin a backend" not in page(bill_page, dear), "nothing else has a price"
    slow = bill(row("flash", 0.2, 30.0), row("cudnn", 50.0, 40.0))
    assert "(causal, forward), flash however often a length is called" in page(bill_page, slow)
    free = bill(row("flash", 0.0, 60.0))
    assert "## What to write" not in page(bill_page, free)


def test_a_pin_of_the_bill_names_what_its_backend_gets_wrong_on_the_device():
    """Flash is wrong in one report here; the advice leads to it, so its row is named, with the way to the list."""
    run = tried(facts("h200"), {"shared-heads": {"flash": wrong()}})
    limits = words.limits(BILL.bill, run)
    assert limits == "Not for unsafe call 1 (“Is it right?”)." and words.advice(BILL.bill, [256, 512], limits)[1].endswith("of a length. Not for unsafe call 1 (“Is it right?”).")
    assert words.limits(BILL.bill, tried(facts("h200"), {"shared-heads": {"cudnn": wrong()}})) == words.limits(BILL.bill, None) == ""


def test_the_best_multiple_has_a_column_of_its_own():
    """Each new length costs 50 ms and a later call nothing: one length for all is best, and that is 1,024."""
    lines = page(bill_page, bill(row("cudnn", 50.0, 0.0))).splitlines()
    head = next(line for line in lines if line.startswith("| Backend | Call | as they are"))
    cells = next(line for line in lines[lines.index(head):] if line.startswith("| cuDNN |")).strip("| ").split(" | ")
    heads = head.strip("| ").split(" | ")
    assert cells[heads.index("Best")] == "1,024" and cells[heads.index("to 1,024")] == "50.0 ms" and "to 512" not in heads


def test_the_sentence_and_the_table_say_one_price():
    """The first of three new lengths was dear, the others cost 0.1 ms: the median stands in both, and the dearest beside it."""
    plan = Row("cudnn", False, False, True, (256, 512, 300, 1024), first=(2.0, 0.0581, 0.0002, 0.0002), later=(0.0001,) * 4, layout="bshd")
    text = page(bill_page, bill(row("cudnn", 50.0, 40.0), plan))
    assert "a new length costs 100 µs (the dearest 58.0 ms)" in text and "| cuDNN, with the switch | causal, forward | 100 µs | 58.0 ms | 100 µs |" in text


def test_the_calculator_has_the_numbers_of_the_rows():
    found = re.search(r"data-bill='(.*?)'", page(bill_page, BILL))
    assert found is not None
    rows = json.loads(found[1].replace("&amp;", "&"))["rows"]
    assert [(one["name"], one["lengths"]) for one in rows][1] == ("cuDNN: causal, forward", [256, 512, 1024])
    assert [round(value, 6) for value in rows[1]["new"]] == [0.05, 0.05, 0.05]


def test_a_bill_without_any_price_says_so():
    assert "**No new length has a price here**: no backend ran." in page(bill_page, bill(row("cudnn", 0, 0, reason="no")))


def test_nobody_measured_what_lies_beside():
    run = facts("h200")
    assert beside.files(site.build([run], run.slot, ())) == {}


def test_what_lies_beside_wins_ties_is_wrong_or_absent():
    text = page(beside, extras(point(square(512), "cudnn", flash=95.0, cudnn=60.0, flex=50.0, xformers="refused"),
                               point(square(1024), "cudnn", flash=95.0, cudnn=60.0, flex=61.0, varlen="wrong", xformers="refused")))
    assert "**Beside SDPA's backends, the fastest right one is flex_attention at 1 of 2 calls.**" in text and "Wrong somewhere: varlen_attn." in text
    assert "| flex_attention | 95.0 µs | 60.0 µs | 50.0 µs | — |" in text and "| ~ cuDNN, flex_attention | 95.0 µs | 60.0 µs | 61.0 µs | wrong |" in text
    assert "- xformers: xformers said why not" in text
