"""Is it right: every case, every device, what the page shows, and what may not be said."""

from __future__ import annotations

from dataclasses import replace

import pytest
from builder_devices import DEVICES
from builders import facts, unavailable
from probe_doubles import BROKE, KNOWN, REFUSED, compared, cured, everywhere, recorded, trained, tried, wrong

from reportgen.analysis import watch
from reportgen.findings import is_it_right, outcomes
from reportgen.probes import Needs, load
from reportgen.questions import right_words
from reportgen.questions.evaluate import evaluate
from reportgen.run import DEFAULT, Correctness, OwnShape, Pick, ProbeRun, Tried
from reportgen.saying.tables import markdown

CLAIMS = {claim.id: claim for claim in is_it_right.FINDING.claims}
NOT_FINITE = {"default": wrong(error=None, picked="cudnn"), "cudnn": wrong(error=None)}
TRAPPED = {"one-query-causal": everywhere(wrong(error=1.2))}
OUT_OF_MEMORY = "CUDA out of memory"


def on_default(**more):
    return tried(facts(), {"mask-in-fp32": NOT_FINITE}, **more)


def elsewhere():
    return tried(facts(), {"shared-heads": {"efficient": wrong()}})


CASES_REACHED = {
    ("default-right", "all-right"): (
        lambda: tried(facts()), "Unpinned, PyTorch is right on this device in all 3 public reports that ran."),
    ("default-right", "reproduces"): (
        on_default, "Unpinned, PyTorch is wrong on this device in 1 of 3 public reports: pytorch#191612 on cuDNN (output: 512 of "
                    "512 values not finite)."),
    ("default-right", "incomplete"): (
        lambda: tried(facts(), {"far-logits": {"default": BROKE}}),
        "Not measurable in full: unpinned, PyTorch is right on this device in all 2 public reports that ran, but "
        "cudnn-frontend#1072 broke off (CUDA error: an illegal memory access was encountered)."),
    ("default-right", "none-ran"): (
        lambda: tried(facts(), {name: everywhere(REFUSED) for name in ("mask-in-fp32", "far-logits", "shared-heads")}),
        "Not measurable: unpinned, PyTorch gave no result for any public report that this run tried (No available kernel. Aborting execution)."),
    ("pinned-right", "all-right"): (
        lambda: tried(facts(), {"shared-heads": {"flash": REFUSED}}),
        "Every pinned backend is right on this device wherever it runs: math in 3 public reports, efficient in 3 public reports, "
        "flash in 2 public reports and cuDNN in 3 public reports."),
    ("pinned-right", "reproduces"): (
        elsewhere, "Pinned, efficient gives a wrong result on this device: efficient in 1 of 3 (pytorch#191937)."),
    ("pinned-right", "incomplete"): (
        lambda: tried(facts(), {name: {**everywhere(REFUSED), "math": Tried("right")} for name in ("mask-in-fp32", "shared-heads")} | {"far-logits": {**everywhere(REFUSED), "flash": BROKE}}),
        "Not measurable in full: every pinned backend is right on this device wherever it runs (math in 2 public reports), but "
        "some broke off: cudnn-frontend#1072 on flash (CUDA error: an illegal memory access was encountered)."),
    ("pinned-right", "none-ran"): (
        lambda: tried(facts(), {name: {**everywhere(REFUSED), "default": Tried("right")} for name in ("mask-in-fp32", "far-logits", "shared-heads")}),
        "Not measurable: no pinned backend gave a result for any public report that this run tried (No available kernel. Aborting execution)."),
    ("gradients-right", "all-right"): (
        lambda: trained(facts(), masked={"sdpa_flash": OwnShape("takes-no-mask", "Flash Attention does not support non-null attn_mask.")}),
        "At this run's own shape, the only one compared, gradients come out right beside FP64: those of Naive, Naive in place, SDPA math, SDPA "
        "efficient, SDPA flash and SDPA cuDNN, and under a mask output and gradients of Naive, Naive in place, SDPA math, SDPA "
        "efficient and SDPA cuDNN."),
    ("gradients-right", "wrong"): (
        lambda: trained(facts(), {"sdpa_flash": compared("gradient of q", 0.01)}, {"sdpa_cudnn": OwnShape("wrong", None, (compared("gradient of k", None),))}),
        "Gradients are wrong on this device: SDPA flash (gradient of q: relative error 1 %, allowed 0.65 %); SDPA cuDNN (under a "
        "mask gradient of k: 512 of 512 values not finite)."),
    ("gradients-right", "broke-off"): (
        lambda: trained(facts("cpu"), masked={"sdpa_math": OwnShape("failed", OUT_OF_MEMORY)}),
        "Not measurable in full: at this run's own shape, the only one compared, gradients come out right beside FP64 (those of Naive, Naive in place, SDPA "
        "math and SDPA flash, and under a mask output and gradients of Naive, Naive in place and SDPA flash), but SDPA math "
        "under a mask broke off."),
    ("gradients-right", "none-ran"): (
        lambda: untrained(), "Not measurable: no variant's gradients could be compared with FP64 (CUDA out of memory)."),
    ("cures-cure", "one-cures"): (
        lambda: on_default(cures={"mask-in-fp32": cured()}),
        "The one cure on these pages helps on this device: with it one public report (pytorch#191612) comes out right."),
    ("cures-cure", "all-cure"): (
        lambda: tried(facts(), {"mask-in-fp32": NOT_FINITE, **TRAPPED}, cures={"mask-in-fp32": cured(), "one-query-causal": cured()}),
        "All 2 cures on these pages help on this device: with them one public report (pytorch#191612) and one trap "
        "(one-query-causal) come out right."),
    ("cures-cure", "some-fail"): (
        lambda: tried(facts(), {"mask-in-fp32": NOT_FINITE, **TRAPPED}, cures={"mask-in-fp32": cured("reproduces", compared=(compared(error=0.2),)), "one-query-causal": cured()}),
        "Not every cure helps on this device: pytorch#191612 (output: relative error 20 %, allowed 0.65 %) is still not right, "
        "so these pages do not advise it."),
    ("cures-cure", "not-run"): (
        on_default, "Not measurable in full: the cure of pytorch#191612 was not run on this device."),
    ("cures-cure", "nothing-to-cure"): (
        lambda: tried(facts()), "Not measurable: nothing that has a cure goes wrong on this device."),
}

ON_DEVICES = {claim: {device: ("not measurable", "not-taken") for device in DEVICES} for claim in CLAIMS}
"""No made-up device has the evidence; each case above adds it."""


def untrained():
    run = trained(facts())
    broken = {name: replace(variant, training=replace(variant.training, status="failed", reason=OUT_OF_MEMORY, compared=()), own_mask=OwnShape("failed", OUT_OF_MEMORY))
              for name, variant in run.variants.items()}
    return replace(run, variants=broken)


def asked(claim, run):
    return evaluate(CLAIMS[claim], run)


def test_a_run_without_probes_says_whether_it_is_older_or_did_not_try():
    older = asked("default-right", replace(facts(), older=True))
    assert older.headline == "Not measurable: this run was recorded before the rightness of gradients and of publicly reported cases was measured."
    broke = replace(facts(), watch=watch.build(Correctness(reason="the child was killed by signal 9."), ()))
    assert asked("default-right", broke).headline == "Not measurable: no publicly reported case could be tried here (the child was killed by signal 9)."


def test_one_reason_stands_behind_all_four_claims_of_an_older_run():
    """So that the board lists them in one row."""
    older = outcomes(replace(facts(), older=True))
    assert len({older[claim].reason for claim in CLAIMS}) == 1


def test_a_trap_alone_is_no_wrong_result_and_is_named_apart():
    trapped = asked("default-right", tried(facts(), TRAPPED))
    assert (trapped.verdict, trapped.case) == ("holds", "all-right")
    assert trapped.because == ("Traps, which are documented behaviour and no wrong result, when unpinned: one-query-causal.",)


def test_what_only_another_backend_gets_wrong_leaves_the_default_right():
    other = asked("default-right", elsewhere())
    assert (other.verdict, other.because) == ("holds", ("A pinned backend is wrong where the unpinned call is right: pytorch#191937 (efficient).",))


def test_a_control_that_is_wrong_is_a_wrong_result_too():
    """The inputs of the report are refused, those beside it, which should be right, are not."""
    given = ProbeRun({"default": REFUSED}, {"default": wrong(error=0.5, picked="flash")})
    said = asked("default-right", tried(facts(), {"mask-in-fp32": given}))
    assert said.headline.endswith("in 1 of 3 public reports: pytorch#191612 on flash (its control, output: relative error 50 %, allowed 0.65 %).")


def test_what_was_not_tried_is_told_by_its_cause():
    given = {"mask-in-fp32": ProbeRun(not_here="needs 40 GiB of memory"), "far-logits": everywhere(REFUSED)}
    said = asked("default-right", tried(facts(), given))
    assert said.headline.startswith("Unpinned, PyTorch is right on this device in the one public report that ran.")
    assert said.caveats == ("Refused by torch (neither right nor wrong): cudnn-frontend#1072.",
                            "Not tried, because the inputs do not suit this device: pytorch#191612 (needs 40 GiB of memory).")
    newer = asked("default-right", tried(facts(), left_out=("far-logits",)))
    assert newer.caveats == ("Newer than this run, so not tried: cudnn-frontend#1072.",)


def test_an_error_that_shows_in_one_row_alone_is_told_as_such():
    row = replace(compared(error=0.004), right=False, row_error=0.6, row_allowed=0.05)
    said = asked("default-right", tried(facts(), {"mask-in-fp32": {"default": Tried("reproduces", None, (row,), "cudnn")}}))
    assert said.headline.endswith("pytorch#191612 on cuDNN (output: relative error 60 % in one row, allowed 5 %).")


def advised(run):
    return [piece.text for piece in outcomes(run)["default-right"].pieces]


def test_a_cure_is_advised_only_where_it_was_seen_to_cure():
    assert advised(on_default(cures={"mask-in-fp32": cured()})) == ["For a call with a mask of floats in another type than q (pytorch#191612): Cast the mask to the type of q."]
    pins = "For a call with a mask of floats in another type than q (pytorch#191612): pin `SDPBackend.MATH`, `SDPBackend.EFFICIENT_ATTENTION` or `SDPBackend.FLASH_ATTENTION` around it, with " \
           "`sdpa_kernel(...)`, which came out right here."
    assert advised(on_default()) == advised(on_default(cures={"mask-in-fp32": cured("reproduces")})) == [pins]
    assert advised(tried(facts(), {"mask-in-fp32": everywhere(wrong(picked="cudnn"))})) == []


def test_what_to_write_in_place_of_a_trap_is_advised_where_the_unpinned_call_falls_into_it():
    write = "For a call with one query and fewer queries than keys and `is_causal` (one-query-causal): Align the mask with the last key."
    assert advised(tried(facts(), TRAPPED, cures={"one-query-causal": cured()})) == [write]
    assert advised(tried(facts(), TRAPPED)) == advised(tried(facts())) == []


def test_the_table_has_a_line_per_report_with_its_source_and_what_came_out():
    shown = is_it_right.FINDING.evidence(tried(facts(), {"mask-in-fp32": {**NOT_FINITE, "efficient": REFUSED}, "far-logits": {"flash": BROKE}}))
    assert [line for line in markdown(shown.tables[0]).splitlines() if line.startswith("| [")] == [
        "| [pytorch#191612](https://github.com/pytorch/pytorch/issues/191612) | An additive mask in FP32 beside queries in FP16 | fp16 [2,4,128,64]; the output | "
        "wrong (cuDNN): output: 512 of 512 values not finite | right | refused | right | wrong: output: 512 of 512 values not finite |",
        "| [cudnn-frontend#1072](https://github.com/NVIDIA/cudnn-frontend/issues/1072) | Gradients where all logits are far below 0 | fp16 [2,4,128,64]; the output | "
        "right (cuDNN) | right | right | broke off | right |",
        "| [pytorch#191937 and pytorch#1](https://github.com/pytorch/pytorch/issues/191937) | Keys and values shared by all heads through a stride of 0 | fp16 [2,4,128,64]; the output | "
        "right (cuDNN) | right | right | right | right |"]
    assert shown.tables[0].notes == ("Broke off: cudnn-frontend#1072 (flash): CUDA error: an illegal memory access was encountered.",)


def test_traps_have_a_table_of_their_own_and_nothing_in_it_is_called_wrong():
    shown = is_it_right.FINDING.evidence(tried(facts(), TRAPPED))
    text = markdown(shown.tables[1])
    assert "otherwise: output: relative error 120 %" in text and "wrong:" not in text


def test_a_cure_stands_as_code_with_what_it_costs():
    shown = is_it_right.FINDING.evidence(on_default(cures={"mask-in-fp32": cured()}))
    assert "| pytorch#191612 | a call with a mask of floats in another type than q | Cast the mask to the type of q. | unpinned | right | 80.0 µs | 92.0 µs |" in markdown(shown.tables[2])
    assert [(fold.summary, fold.code) for fold in shown.folds if fold.code] == [
        ("What to write for a call with a mask of floats in another type than q (pytorch#191612)", "F.scaled_dot_product_attention(q, k, v, attn_mask=mask.to(q.dtype))")]
    assert is_it_right.FINDING.evidence(on_default(cures={"mask-in-fp32": cured("reproduces")})).folds[0].code == ""


def test_a_cure_of_what_only_a_pinned_backend_gets_wrong_says_so():
    run = tried(facts(), {"shared-heads": {"efficient": wrong()}}, cures={"shared-heads": cured(choice="efficient")})
    assert asked("cures-cure", run).case == "one-cures"
    assert "| Make k and v contiguous. | efficient | right |" in markdown(is_it_right.FINDING.evidence(run).tables[2])
    assert advised(run) == []


def test_what_torch_picks_stands_in_one_small_table():
    picks = (Pick("none", False, False, 1024, 1024, "cudnn"), Pick("none", True, False, 1024, 1024, "flash"), Pick("float", False, True, 1, 1024, None, "No available kernel. Why not"))
    text = markdown(is_it_right.FINDING.evidence(tried(facts(), picks=picks)).tables[2])
    assert "What torch picks when nothing is pinned, in bfloat16 at head dimension 64." in text
    assert "| none | as many as heads | 1,024 × 1,024 | cuDNN | flash |" in text
    assert "| floats in the type of q | fewer than heads | 1 × 1,024 | refused | — |" in text
    assert "Refused: Why not." in text


def test_gradients_that_are_right_at_one_shape_do_not_hide_those_that_are_not_at_another():
    """The backward pass of one query is wrong here: the claim holds at the run's shape, and says for which calls not."""
    far = trained(tried(facts(), {"far-logits": {"default": wrong(error=None, picked="cudnn"), "cudnn": wrong(error=None)}}))
    held = evaluate(CLAIMS["gradients-right"], far)
    assert held.verdict == "holds" and held.headline.endswith("SDPA cuDNN. Other calls give wrong gradients here: unsafe call 1 (“Is it right?”).")
    masks = trained(tried(facts(), {"mask-in-fp32": NOT_FINITE}))
    assert "Other calls" not in evaluate(CLAIMS["gradients-right"], masks).headline, "that report compares an output"


def test_large_logits_and_the_tile_are_said_with_their_numbers():
    """What the probe's inputs had; of two reports of one kind both, and the multiple that every kernel's tile divides."""
    near = [replace(one, logits=size, needs=frozenset({Needs.LARGE_LOGITS, Needs.ODD_LENGTH})) for one, size in zip(KNOWN, ("near −120", "10¹¹"))]
    first, second = near[0].id, near[1].id
    run = replace(facts(), watch=watch.build(recorded({first: {"default": wrong()}, second: {"default": wrong()}}), [*near, *KNOWN[2:]]))
    assert right_words.unsafe_list(run)[0].startswith("**1** (unpinned): a call with large logits (near −120 or 10¹¹) and a length that is not a multiple of 128 (the largest tile).")
    assert all(one.logits for one in load() if Needs.LARGE_LOGITS in one.needs) and not any(one.logits for one in load() if Needs.LARGE_LOGITS not in one.needs)


def test_gradients_have_a_line_per_variant():
    run = trained(facts(), {"sdpa_flash": compared("gradient of q", 0.01)}, {"sdpa_cudnn": OwnShape("refused", "no engine")})
    text = markdown(is_it_right.FINDING.evidence(run).tables[0])
    assert "| SDPA flash | wrong: gradient of q: relative error 1 %, allowed 0.65 % | right: at most 0.3 % in 4 tensors |" in text
    assert "| SDPA cuDNN | right: at most 0.3 % in 3 tensors | refused |" in text
    assert "SDPA cuDNN under a mask: no engine." in text


@pytest.mark.parametrize("run", [facts(), unavailable(facts(), "sdpa_cudnn")], ids=["all", "no cuDNN"])
def test_nothing_is_shown_where_nothing_was_tried(run):
    shown = is_it_right.FINDING.evidence(run)
    assert (shown.tables, shown.charts, shown.folds) == ((), (), ())


def test_a_probe_that_this_program_no_longer_has_is_named_and_counts_nowhere():
    held = recorded()
    with_more = Correctness({**held.probes, "gone": ProbeRun({DEFAULT: wrong()})})
    run = tried(facts())
    run = replace(run, watch=watch.build(with_more, [one.probe for one in run.watch.probes]))
    said = asked("default-right", run)
    assert (said.case, said.caveats) == ("all-right", ("In this run, but no longer among the probes: `gone`.",))


def test_where_rounding_alone_outweighs_the_result_right_is_told_with_its_bound():
    """A bound of 145 % passes a gradient of the wrong sign: right is then finite and no more."""
    wide = Tried("right", None, (compared("output", 0.002), compared("gradient of q", 0.9, allowed=1.4542)))
    shown = is_it_right.FINDING.evidence(tried(facts(), {"far-logits": {"math": wide, "flash": Tried("right", None, (compared("gradient of q", 0.4, allowed=0.99),))}}))
    assert shown.tables[0].notes == ("cudnn-frontend#1072: rounding alone may be off there by more than the exact gradient of q (up to 145 % is allowed), "
                                     "so “right” says no more than that it is finite and within that bound.",)
    assert is_it_right.FINDING.evidence(tried(facts())).tables[0].notes == ()


def test_each_report_stands_with_what_its_reporter_named_and_what_its_probe_took():
    took = ProbeRun({"default": Tried("right")}, seconds=0.901)
    run = tried(facts(), {"shared-heads": took})
    run = replace(run, watch=replace(run.watch, seconds=22.556))
    fold = next(fold for fold in is_it_right.FINDING.evidence(run).folds if fold.summary.startswith("Versions, devices"))
    assert fold.says == "In the reporters' terms, not those of this device. All probes took 22.6 s of this run, cures and what torch picks included."
    text = markdown(fold.tables[0])
    assert "| [pytorch#191937](https://github.com/pytorch/pytorch/issues/191937) | a version | a device | a backend | 901 ms |" in text
    assert "| [pytorch#1](https://github.com/pytorch/pytorch/issues/1) | a version | a device | a backend | — |" in text


def test_a_refusal_stands_in_torchs_words_once_with_who_met_it():
    shown = is_it_right.FINDING.evidence(tried(facts(), {"mask-in-fp32": {"efficient": REFUSED}, "far-logits": {"default": REFUSED}}))
    fold = next(fold for fold in shown.folds if fold.summary == "What torch said where it refused")
    assert markdown(fold.tables[0]).splitlines()[2:] == ["| No available kernel. Aborting execution | pytorch#191612 (efficient), cudnn-frontend#1072 (unpinned) |"]
