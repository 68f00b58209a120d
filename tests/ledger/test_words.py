"""What is said of a ledger: the answer first, causes with the recorded argument, a model called a model."""

from __future__ import annotations

from dataclasses import replace

import pytest
from ledgers import ALL, GIVEN, MASK, WHOLE, Q, by_hand, flash, full, ledger, masked, site

from reportgen.hardware.attention_ops import Backend, Kind
from reportgen.ledger import words
from reportgen.ledger.model import Arguments, Cause, Drag, DragKind, GpuTime, Located, Reason, Tensor, Where


def test_the_answer_is_the_share_of_the_whole():
    assert words.headline(ledger(by_hand(), flash())) == "Attention takes 500 ms of 1.00 s of GPU time (50.0 %), at 2 places."
    assert words.headline(ledger()) == "No attention was found in this trace."
    assert words.headline(ledger(flash(), host=True)) == "Attention takes 100 ms of the 2.00 s that the trace spans (5.00 %), at 1 place."


def test_the_verdict_names_the_largest_place_with_a_cure():
    assert words.verdict(ledger(by_hand(), masked())) == (
        "Begin at `eyes.py(41): forward` in `EyeAttention` (written by hand, 40.0 %): call `F.scaled_dot_product_attention`; modelled, not measured: saves about 320 ms "
        "(32.0 % of the GPU time), scaled from this project's run on NVIDIA H200.")


def test_a_call_that_comes_out_wrong_is_told_first():
    said = words.verdict(ledger(by_hand(), flash(wrong=("masked_leak",))))
    assert said.startswith("`ears.py(7): forward` in `EarAttention`: ") and "Begin at `eyes.py(41): forward`" in said
    said = words.verdict(ledger(flash(wrong=("masked_leak",)))).split(". ")[0] + "."
    assert said == "`ears.py(7): forward` in `EarAttention`: calls like these gave wrong results on this device, see `masked_leak`."


def test_only_a_clean_trace_is_called_clean():
    clean = "Nothing to gain was found: no place for which a faster way is known, and nothing beside attention costs 1 % of the GPU time."
    assert words.verdict(ledger(flash())) == clean
    assert words.verdict(ledger(site())) == "No fused kernel computes it at `eyes.py(41): forward` in `EyeAttention` (written by hand, 40.0 %)."
    assert "No fused kernel" in words.verdict(ledger(site(kind=Kind.SDPA, backend=Backend.MATH)))
    assert words.verdict(ledger(flash(reasons=(Reason(Cause.NOT_SAID),)))) == "Nothing to change is proved by what was recorded. At 1 place the trace does not say why no faster way was taken."
    alone = site(kind=Kind.KERNEL, seconds=0.1, arguments=None)
    assert words.verdict(ledger(alone)) == "At 1 place only a kernel's name tells of attention, so whether a faster way was left out cannot be told there."
    assert words.verdict(ledger(flash(), alone)).endswith("cannot be told there; nothing to gain was found elsewhere.")
    copies = Drag(DragKind.COPY, GpuTime(0.02, 24), 0.0, ("aten::contiguous",), 24)
    assert words.verdict(ledger(flash(drags=(copies,)))) == (
        "No faster way than those taken is known. What costs most beside them is at `ears.py(7): forward` in `EarAttention`: copies that feed it: 20.0 ms in 24 calls, `aten::contiguous`.")
    assert words.verdict(ledger(flash(), replace(masked(), share=0.004))) == "Nothing to gain was found that is worth 1 % of the GPU time."


def test_a_small_call_that_drags_much_along_is_worth_a_word():
    small = replace(masked(), share=0.001)
    assert words.worth(small, ledger(small)) == 0.001
    copies = Drag(DragKind.COPY, GpuTime(0.05, 12), 0.0, (), 12)
    assert words.worth(replace(small, drags=(copies,)), ledger(small)) == pytest.approx(0.051)
    first = Drag(DragKind.FIRST_CALL, GpuTime(), 1.0, (), 3)
    assert words.worth(replace(small, drags=(first,)), ledger(small)) == 0.501
    inside = Drag(DragKind.CAST, GpuTime(0.05, 12), 0.0, (), 12, inside=True)
    assert words.worth(replace(small, drags=(inside,)), ledger(small)) == 0.001


@pytest.mark.parametrize("of, said", [
    (by_hand(), "written by hand"), (flash(), "SDPA, flash"), (site(kind=Kind.SDPA), "SDPA, backend not recorded"),
    (site(kind=Kind.BACKEND, backend=Backend.FLASH), "SDPA's flash op, called by itself"), (site(kind=Kind.FLEX), "flex_attention, not compiled"),
    (site(kind=Kind.KERNEL), "FlashAttention-2, by its kernel's name"), (site(kind=Kind.UNKNOWN, op="mine::attend"), "FlashAttention-2 under `mine::attend`"),
    (site(kind=Kind.VLLM), "vLLM"),
])
def test_how_it_is_computed(of, said):
    assert words.kind(of) == said


@pytest.mark.parametrize("of, said", [
    (Where(Located.SOURCE, "C:\\models\\eyes.py(41): forward", "EyeAttention"), "`eyes.py(41): forward` in `EyeAttention`"),
    (Where(Located.SOURCE, "vllm/cuda_graph.py(208): __call__", None, (), "kernel_unified_attention_3d"), "`cuda_graph.py(208): __call__`, kernel `kernel_unified_attention_3d`"),
    (Where(Located.MODULE, None, "EyeAttention"), "`EyeAttention`"), (Where(Located.OPS, None, None, ("a", "b", "c", "d")), "`b > c > d`"),
    (Where(Located.KERNEL, kernel="attn_fwd"), "`attn_fwd`"), (Where(Located.KERNEL), "a place that was not recorded"),
])
def test_where_it_is(of, said):
    assert words.where(of) == said


def test_what_a_call_was_given():
    assert words.arguments(GIVEN) == "q [2, 16, 576, 64] bf16, k and v alike, mask [2, 1, 576, 576] bf16"
    keys = Tensor((2, 4, 576, 64), "float")
    assert words.arguments(Arguments(Q, keys, keys, None, True, 0.1, True, gqa=True)) == (
        "q [2, 16, 576, 64] bf16, k and v [2, 4, 576, 64] fp32, dropout 0.1, causal, `enable_gqa`")
    assert words.arguments(Arguments(Q, keys, Q, None, True)) == "q [2, 16, 576, 64] bf16, k [2, 4, 576, 64] fp32, v [2, 16, 576, 64] bf16, no mask"
    assert words.arguments(None) == "shapes not recorded"
    assert words.tensor(MASK) == "[2, 1, 576, 576] bf16"


def test_a_cause_quotes_the_argument_that_proves_it():
    assert words.reason(masked().reasons[0]) == "A mask rules out flash: `mask` is `[2, 1, 576, 576] c10::BFloat16` (12 calls)."
    assert words.reason(Reason(Cause.NOT_SAID)) == "The trace does not say why no faster way was taken."
    assert words.reason(Reason(Cause.TYPE, "query", "float", (Backend.FLASH, Backend.CUDNN))) == "The element type rules out flash and cuDNN: `query` is `float`."


def test_what_is_dragged_along():
    assert words.drag(by_hand().drags[0]) == "copies that feed it: 20.0 ms in 24 calls, `aten::contiguous > aten::clone > aten::copy_`"
    assert words.drag(Drag(DragKind.FIRST_CALL, GpuTime(), 1.2, (), 3)) == "the first call of each new shape: 1.20 s of the host in 3 calls"


def test_the_rest_is_one_line_and_tells_what_has_no_name():
    assert words.rest(ledger(flash())) == "The rest of the GPU time is 900 ms (90.0 %); 5.00 % are kernels whose names are not known here, the largest `CatArrayBatchedCopy`."
    assert words.rest(ledger(flash(), host=True)) == ""


def test_what_to_know_first_and_what_is_no_loss():
    said = words.caveats(full())
    assert said == (
        "The file is not whole: the file ends within an event. What it still holds is read.",
        "1 record without a usable time was set aside.",
        "9 GPU activities (4.00 ms) have no launch in the trace, as what was queued before it began: only names tell what they are.",
        "2 graph launches queued 421 activities: no op stands around those, and only their names tell what they are.",
        "3 launches left no GPU record (3 `cudaLaunchKernel`): either nothing was to be done, or the profiler lost it.")
    assert "305 memsets left no GPU record: libraries ask for some that set nothing, so this is no loss." in words.method(full())
    assert words.caveats(ledger(flash())) == ()


def test_waiting_and_false_zeros():
    assert words.stretches(full()) == "The GPU waits for the host in 1 stretch, 150 ms in all: there, launches cost more than the kernels do."
    assert words.stretch(full().stretches[0]) == ("From 500 ms on, for 200 ms, device 0, stream 7 has nothing to do for 75 % of the time while the host still launches "
                                                  "(40 activities, 8 of attention).")
    assert words.false_zero(full().false_zeros[0]) == "`nvjet bf16 128x256 TNT` is written with an occupancy of 0 48 times (30.0 ms): more shared memory than it reckons with; its resources allow 18.8 %."


def test_how_to_record_more_is_said_only_where_something_is_missing():
    assert words.more(ledger(flash())) == ()
    assert words.more(ledger(flash(), recorded=replace(ALL, shapes=False, strides=False))) == (
        "Shapes were not recorded, so no argument can prove a cause: profile with `record_shapes=True`.",)
    assert words.more(ledger(recorded=replace(ALL, ops=False)))[0].startswith("No ops were recorded")
    assert WHOLE.cut is None


def test_all_that_is_said_of_the_whole_is_in_the_json_too():
    said = words.sentences(full())
    assert list(said) == ["headline", "verdict", "caveats", "rest", "waiting", "false_zeros", "record_more", "method"]
    assert said["headline"] == words.headline(full()) and said["caveats"] == list(words.caveats(full()))
    assert words.plain("`a > b` twice") == "a > b twice"


def test_a_backward_pass_without_its_forward_is_told():
    of = flash()
    assert words.kind(replace(of, calls=(replace(of.calls[0], alone=True),))) == "SDPA, flash, backward without its forward"
