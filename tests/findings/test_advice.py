"""Advice stands only where the run shows what it promises: each promise turned round, with the sentence typed by hand."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from builders import activities, activity, facts, probes, unavailable, variant
from case_tables import CLAIMS, together
from probe_doubles import KNOWN, recorded, tried, wrong
from test_findings_hbm_dominates import spent
from turned import counted, kernels, renamed, timed, with_extra_kernel

from reportgen.analysis import SIX, State, watch
from reportgen.analysis.correctness import unsafe_calls
from reportgen.findings import claims, outcomes
from reportgen.probes import Needs
from reportgen.questions.evaluate import fill
from reportgen.questions.gates import GATES
from reportgen.questions.lead import by_hand
from reportgen.questions.right_words import numbered
from reportgen.run import DefaultBackend, MaskedRow
from reportgen.run.correctness import Pick

PIECES = [(claim.id, case, place) for claim in claims() for case, told in claim.cases.items() for place in range(len(told.advice))]


def advised(run, claim):
    """The pieces of advice of a claim as a whole run gives them."""
    return [piece.text for piece in outcomes(run)[claim].pieces]


def given(run, sentence):
    """The claims that give a piece of advice which begins so."""
    return [claim for claim, outcome in outcomes(run).items() if any(piece.says.startswith(sentence) for piece in outcome.pieces)]


def rows(run, **given):
    """`run` with other outcomes of the fully masked row."""
    for name, outcome in given.items():
        run = variant(run, name, masked_row=MaskedRow(outcome))
    return run


def in_place(run, naive, inplace):
    return timed(run, "gpu_time", naive=naive, naive_inplace=inplace)


def saving_memory(run):
    """`run` in which a forward in place needs half the memory."""
    return variant(run, "naive_inplace", peak_memory_bytes=264 * 2**20)


def ignored(run):
    """`run` in which the call pinned to cuDNN ran flash's op and flash's kernel."""
    flash = run.variants["sdpa_flash"]
    return variant(run, "sdpa_cudnn", ops=flash.ops, activities=flash.activities)


def one_level(run, **times):
    """`run` in which all of the six take as long."""
    return timed(run, "gpu_time", **{**dict.fromkeys(SIX, 100), **times})


WRITE = "Where no gradient is needed (`torch.inference_mode()`, `torch.no_grad()`), write `scores.masked_fill_(mask, float(\"-inf\"))`."
FURTHER = " A fused SDPA backend has no masking step at all."


def test_in_place_is_advised_where_it_is_faster_or_smaller_and_not_slower():
    """naive 1,056 µs and in place 930 µs; then level, then slower; memory apart."""
    asked = ("memcpy-hidden", "memcpy-inplace-removes")
    assert [advised(facts(), claim) for claim in asked] == [[WRITE + FURTHER]] * 2
    level, slower = in_place(facts(), 930, 930), in_place(facts(), 930, 1056)
    assert given(level, WRITE) == given(slower, WRITE) == given(saving_memory(slower), WRITE) == []
    assert given(saving_memory(level), WRITE) == [*asked, "inplace-memory"]
    assert advised(saving_memory(level), "inplace-memory") == [WRITE + FURTHER]
    assert advised(saving_memory(facts()), "inplace-memory") == [WRITE + FURTHER]


def test_a_fused_backend_goes_further_only_where_one_is_faster_and_right():
    assert advised(one_level(facts(), naive=130), "memcpy-hidden") == [WRITE]
    nothing_fused = facts()
    for name in ("sdpa_efficient", "sdpa_flash", "sdpa_cudnn"):
        nothing_fused = variant(nothing_fused, name, state=State.WRONG)
    assert advised(nothing_fused, "memcpy-hidden") == [WRITE]


def test_fewer_ops_shorten_a_forward_only_where_a_call_costs_less():
    fewer = "Where the GPU waits for the CPU"
    assert given(facts(), fewer) == ["inplace-fewer-cpu-ops"]
    assert given(timed(facts(), "host_time", naive=58, naive_inplace=58), fewer) == []
    assert given(facts("cpu"), fewer) == []


def test_in_place_for_inference_is_advised_only_where_it_is_faster():
    refused = replace(facts().probes.autograd, inplace_backward="refused", reason="an in-place operation")
    keep, write = "Keep `masked_fill` in training code.", "Keep `masked_fill_` for inference."
    assert advised(probes(facts(), autograd=refused), "inplace-autograd") == [keep, write]
    assert advised(in_place(probes(facts(), autograd=refused), 930, 1056), "inplace-autograd") == [keep]


STORES = ("Peak memory falls only if no step holds two score matrices, and softmax does. Use a fused backend: it never stores the scores.")


def test_a_fused_backend_stores_no_scores_only_where_flash_was_seen_not_to():
    assert STORES in advised(facts(), "inplace-memory")
    assert STORES not in advised(variant(facts(), "sdpa_flash", peak_memory_bytes=2**28), "inplace-memory")
    assert STORES not in advised(unavailable(facts(), "sdpa_flash"), "inplace-memory")


PIN = "If your trace contains `aten::_scaled_dot_product_attention_math`, SDPA fell back to math. Pin a fused backend"


def test_a_fused_backend_is_advised_in_place_of_math_only_where_it_is_faster():
    assert given(facts(), PIN) == ["math-slower"]
    assert given(facts("a100"), PIN) == ["math-slower", "math-3.7x"]
    assert given(timed(facts(), "gpu_time", sdpa_efficient=2580, sdpa_flash=2580, sdpa_cudnn=2580), PIN) == []
    fused = "With as many queries as keys, use `is_causal=True` and a fused backend"
    assert given(facts(), fused) == ["math-mask-rebuilt"]
    assert given(timed(facts(), "gpu_time", sdpa_efficient=2580, sdpa_flash=2580, sdpa_cudnn=2580), fused) == []


def test_an_explicit_mask_rules_flash_out_only_where_it_was_seen_to():
    bound = ("With as many queries as keys, use `is_causal=True` and a fused backend: it compares indices inside the kernel and builds no mask (saving: building the mask, in the trace). If you must use math, build the mask once, keep it "
             "as a module buffer and pass it")
    assert advised(facts(), "math-mask-rebuilt") == [bound + " (flash on a GPU refuses an explicit mask)."]
    takes = rows(facts(), sdpa_flash="zeros")
    assert advised(takes, "math-mask-rebuilt") == [bound + "."]
    assert given(facts(), "Call `scaled_dot_product_attention` without `attn_mask`") == ["flash-one-kernel"]
    assert given(takes, "Call `scaled_dot_product_attention` without `attn_mask`") == []


def test_the_setting_of_tf32_is_to_be_recorded_only_where_it_decided():
    record = "Record the TF32 setting with every timing of math: it decides which unit runs the matmuls."
    as_tf32 = math_matmuls(facts(), "cutlass_80_tensorop_s1688gemm_256x128_16x3_tn_align4")
    assert advised(as_tf32, "math-no-tensor-cores") == [record]
    allowed = replace(math_matmuls(facts(), "nvjet_hsh_256x128_64x4_1x2_h_bz_coopA_TNT"), settings={"float32_matmul_precision": "high"})
    assert advised(allowed, "math-no-tensor-cores") == [record]
    in_16_bits = without_casts(math_matmuls(facts(), "nvjet_hsh_256x128_64x4_1x2_h_bz_coopA_TNT"))
    assert outcomes(in_16_bits)["math-no-tensor-cores"].case == "math-on-tensor-cores"
    assert advised(in_16_bits, "math-no-tensor-cores") == []


def math_matmuls(run, name):
    other = renamed(run, "sdpa_math", name).variants["sdpa_math"].activities
    return activities(run, "sdpa_math", lambda a: next(b for b in other if b.start == a.start) if a.role == "matmul" else a)


def without_casts(run):
    return variant(run, "sdpa_math", ops=tuple(op for op in run.variants["sdpa_math"].ops if op.name != "aten::_to_copy"))


def test_fp32_names_are_to_be_looked_for_where_math_has_them():
    look = "`sgemm`, `simt` or `ffma` in a matmul's kernel name means FP32 without Tensor Cores."
    assert advised(facts(), "math-no-tensor-cores") == [look + " Keep q, k and v in 16 bits, and use a fused SDPA backend."]
    assert advised(one_level(facts()), "math-no-tensor-cores") == [look]
    silent = counted(math_matmuls(facts(), "gemm"), "sdpa_math", tensor_core_flop=0.0)
    assert outcomes(silent)["math-no-tensor-cores"].case == "as-said"
    assert advised(silent, "math-no-tensor-cores") == []


ORACLE = ("As a test reference compute in FP64: math on 16-bit inputs computes in FP32 and rounds its output.")


def test_math_computes_in_fp32_only_where_it_was_seen_to_cast_up():
    everyday = " For everyday use all these errors are as small as the type's rounding."
    assert advised(facts(), "math-accurate") == [ORACLE + everyday]
    assert advised(variant(facts(), "sdpa_cudnn", state=State.WRONG, relative_error=0.3), "math-accurate") == [ORACLE]
    assert advised(without_casts(facts()), "math-accurate") == []


def test_backends_disagree_on_a_hidden_row_only_where_their_rows_differ():
    """Naive's NaN is no backend's, and what takes no mask gave nothing."""
    decide = "If a mask can hide every key of a row (padding does), decide what that row should return (usually zeros) and test for it"
    protected = " Under a causal mask every row sees at least one key, so nothing is needed."
    assert advised(facts(), "math-safe-softmax") == [f"{decide}: the backends do not agree.{protected}"]
    agreeing = rows(facts(), sdpa_cudnn="zeros")
    assert advised(agreeing, "math-safe-softmax") == [f"{decide}.{protected}"]
    assert advised(rows(agreeing, naive="zeros", naive_inplace="zeros"), "math-safe-softmax") == [f"{decide}.{protected}"]
    assert advised(facts("t4"), "math-safe-softmax") == [f"{decide}.{protected}"]
    assert advised(rows(agreeing, sdpa_flash="refused"), "math-safe-softmax") == [f"{decide}.{protected}"]


def picking(run, *backends, **more):
    """`run` in which torch was seen to pick these for a bool mask, a mask of floats and so on."""
    masks = ("bool", "float")
    return tried(run, picks=(Pick("causal", False, False, 256, 256, "flash"), *(Pick(mask, False, False, 256, 256, name) for mask, name in zip(masks, backends))), **more)


FALL_BACK, PIN_IT = "Call `scaled_dot_product_attention` and let it fall back to this backend", "Where flash cannot run (an `attn_mask`), "


def test_a_call_falls_back_to_efficient_only_where_torch_was_seen_to_pick_it_and_it_is_faster_than_math():
    falls, elsewhere = picking(facts(), "efficient", "efficient"), picking(facts(), "cudnn", "efficient")
    assert given(falls, FALL_BACK) == given(elsewhere, PIN_IT + "torch picks cuDNN here: pin this backend (`sdpa_kernel(SDPBackend.EFFICIENT_ATTENTION)`)") == ["efficient-one-kernel"]
    assert given(facts(), PIN_IT + "pin this backend") == ["efficient-one-kernel"], "nobody looked, so nothing is said of what torch picks"
    assert given(falls, PIN_IT) == given(elsewhere, FALL_BACK) == given(facts(), FALL_BACK) == []
    assert given(timed(falls, "gpu_time", sdpa_efficient=2600), FALL_BACK) == given(timed(elsewhere, "gpu_time", sdpa_efficient=2600), PIN_IT) == []


def test_what_the_backend_itself_gets_wrong_is_named_where_advice_leads_to_it():
    """Row 1 is wrong unpinned, row 2 with efficient alone: who falls back may meet both, who pins efficient meets the second."""
    found = {"mask-in-fp32": {"default": wrong(picked="cudnn")}, "shared-heads": {"efficient": wrong()}}
    assert advised(picking(facts(), "efficient", "efficient", found=found), "efficient-one-kernel")[0].endswith("Not for unsafe calls 1 and 2 (“Is it right?”).")
    assert advised(picking(facts(), "cudnn", "cudnn", found=found), "efficient-one-kernel")[0].endswith("Not for unsafe call 2 (“Is it right?”).")


def test_as_many_queries_as_keys_rule_one_query_out_and_no_mask_alone_does_not():
    """A call with one query and one key has no softmax to go wrong; one without a mask may still have one query on many keys."""
    decoding = [replace(one, needs=frozenset({Needs.ONE_QUERY, Needs.LARGE_LOGITS})) if one.id == "far-logits" else one for one in KNOWN]
    run = rows(replace(facts(), watch=watch.build(recorded({"far-logits": {"default": wrong(picked="cudnn"), "cudnn": wrong()}}), decoding)), sdpa_flash="takes-no-mask")
    assert "Not for" not in advised(run, "math-mask-rebuilt")[0] and advised(run, "math-mask-rebuilt")[0].startswith("With as many queries as keys")
    assert "Not for" not in by_hand(run) and "as many queries as keys" in by_hand(run)
    assert advised(run, "flash-one-kernel")[0].endswith("this kernel refuses a mask. Not for unsafe call 1 (“Is it right?”).")


USE = "Use a fused backend wherever you can"
BANDWIDTH = "Bandwidth alone does not predict this code's time: mask runs far below copy speed."


def test_a_fused_backend_saves_the_time_of_the_scores_only_where_one_is_faster():
    """In place takes 930 µs."""
    dominated = facts()
    assert given(dominated, USE) == ["hbm-dominates"]
    assert given(timed(dominated, "gpu_time", sdpa_efficient=1200, sdpa_flash=1200, sdpa_cudnn=1200), USE) == []
    assert given(timed(dominated, "gpu_time", sdpa_efficient=930, sdpa_flash=930, sdpa_cudnn=930), USE) == []
    stored = dominated
    for name in ("sdpa_efficient", "sdpa_flash", "sdpa_cudnn"):
        stored = variant(stored, name, peak_memory_bytes=2**28)
    assert given(stored, USE) == []


def test_a_fused_backend_removes_the_passes_only_where_one_is_faster():
    slow = spent(facts(), naive_inplace=(800, 300), sdpa_math=(800, 300))
    assert advised(slow, "hbm-dominates") == [BANDWIDTH + " A fused backend has no such passes."]
    assert advised(timed(slow, "gpu_time", sdpa_efficient=2400, sdpa_flash=2400, sdpa_cudnn=2400), "hbm-dominates") == [BANDWIDTH]


def test_a_precompiled_kernel_is_praised_only_where_the_pin_was_obeyed():
    praise = "Nothing to change: a precompiled kernel saves generating one."
    precompiled = renamed(facts(), "sdpa_cudnn", facts().variants["sdpa_flash"].activities[-1].name)
    assert advised(precompiled, "cudnn-one-kernel") == [praise]
    assert outcomes(ignored(facts()))["cudnn-one-kernel"].case == "not-generated"
    assert advised(ignored(facts()), "cudnn-one-kernel") == []
    assert advised(ignored(facts()), "cudnn-no-transposes") == []


def test_nobody_is_told_to_pin_what_a_pin_did_not_reach():
    unpicked = probes(facts(), default_backend=DefaultBackend("flash", "aten::_scaled_dot_product_flash_attention"))
    assert given(unpicked, "Pin the winner for this shape (`sdpa_kernel(SDPBackend.CUDNN_ATTENTION)`)") == ["flash-fastest"]
    assert given(ignored(unpicked), "Pin the winner") == given(ignored(facts()), "Leave `scaled_dot_product_attention` unpinned") == []


def test_where_two_lead_either_is_to_be_pinned_and_neither_is_the_winner():
    run = timed(facts("a100"), "gpu_time", sdpa_cudnn=100, sdpa_efficient=101)
    assert advised(run, "flash-fastest")[0] == (
        "Pin one of the leaders for this shape (`SDPBackend.CUDNN_ATTENTION` or `SDPBackend.EFFICIENT_ATTENTION`): by default "
        "PyTorch picks flash (no `attn_mask`, no gradients).")
    assert given(run, "Pin the winner") == []


def test_shapes_are_to_be_kept_few_only_where_a_new_one_is_dear():
    few = "Keep the number of shapes small"
    assert given(facts(), few) == ["cudnn-one-kernel"]
    assert given(timed(facts(), "first_call_new_shape", sdpa_cudnn=150), few) == []


def test_views_cost_no_gpu_time_only_where_none_was_seen():
    views = "Do not change your layout to avoid them"
    assert given(facts(), views) == ["cudnn-no-transposes"]
    copied = replace(activity(), op_path=("aten::scaled_dot_product_attention", "aten::transpose"))
    assert given(variant(facts(), "sdpa_flash", activities=(*facts().variants["sdpa_flash"].activities, copied)), views) == []


def test_occupancy_is_no_aim_only_where_a_fuller_kernel_is_slower():
    assert given(facts(), "Do not tune a kernel for occupancy.") == ["flash-occupancy"]
    assert given(timed(facts(), "gpu_time", sdpa_efficient=93), "Do not tune a kernel for occupancy.") == []


def test_libraries_are_not_told_apart_by_their_call_only_where_two_share_it():
    """On the H200 cuBLAS uses cuDNN's call too; on the A100 of the article nobody does."""
    apart = "Identify a library by its kernel's name"
    assert given(facts(), apart) == ["cudnn-launch-api"]
    assert outcomes(facts("a100"))["cudnn-launch-api"].case == "as-published"
    assert given(facts("a100"), apart) == []


def test_a_copy_beside_the_kernel_is_to_be_looked_for_only_where_there_is_something_beside_it():
    look = "Look in the trace for a copy or a fallback beside the fused kernel"
    stored = variant(facts(), "sdpa_flash", peak_memory_bytes=2**28)
    assert given(stored, look) == []
    assert given(with_extra_kernel(stored, "sdpa_flash"), look) == ["flash-never-writes-scores"]


@pytest.mark.parametrize("claim, case, place", PIECES)
def test_what_advice_relies_on_is_declared(claim, case, place):
    """A question or a case that nobody declares would withhold the advice for ever."""
    for relies in CLAIMS[claim].cases[case].advice[place].when:
        assert relies.question in CLAIMS and relies.cases
        assert set(relies.cases) <= CLAIMS[relies.question].cases.keys() | GATES.keys()


def _given_on(run):
    """(claim, sentence as declared) of every piece that a run gives."""
    for name, outcome in outcomes(run).items():
        case = CLAIMS[name].cases.get(outcome.case)
        said = [piece.says for piece in outcome.pieces]
        for told in case.advice if case else ():
            if _filled(told.says, outcome.args) in said:
                yield name, told.says


def _filled(sentence, args):
    try:
        return fill(sentence, args)
    except KeyError:
        return None


def in_three_ways(run):
    """`run` with a head dimension of 60, in which efficient and the naive matmuls leave Tensor Cores."""
    odd = replace(run, workload=replace(run.workload, head_dim=60))
    return counted(counted(odd, "sdpa_efficient", tensor_core_flop=0.0), "naive_inplace", tensor_core_flop=0.0)


def as_they_come(run):
    """`run` in which no first call at a new shape is dear."""
    return timed(run, "first_call_new_shape", sdpa_efficient=120, sdpa_flash=129, sdpa_cudnn=150)


TURNED = (
    lambda: with_extra_kernel(variant(facts(), "sdpa_flash", peak_memory_bytes=2**28), "sdpa_flash"),
    lambda: timed(facts("a100"), "gpu_time", naive_inplace=90),
    lambda: timed(facts("a100"), "gpu_time", sdpa_cudnn=100, sdpa_efficient=101),
    lambda: probes(facts(), default_backend=DefaultBackend("flash", "aten::_scaled_dot_product_flash_attention")),
    lambda: probes(facts(), default_backend=None),
    lambda: variant(facts(), "sdpa_cudnn", ops=(*facts().variants["sdpa_cudnn"].ops, *(op for op in facts().variants["sdpa_flash"].ops if op.name == "aten::transpose"))),
    lambda: renamed(facts(), "sdpa_flash", "attn_fwd"),
    lambda: in_three_ways(facts()),
    lambda: as_they_come(facts()),
    lambda: kernels(facts(), "sdpa_cudnn", profiler_occupancy=-1.0, occupancy=None),
    lambda: saving_memory(in_place(facts(), 930, 930)),
    lambda: rows(facts(), sdpa_cudnn="zeros"),
    lambda: picking(facts(), "efficient", "efficient"),
)


def test_every_piece_of_advice_is_given_somewhere():
    """One that no run gives says nothing to anybody, or asks for an argument that no rule gives."""
    declared = {(claim, CLAIMS[claim].cases[case].advice[place].says) for claim, case, place in PIECES}
    found = {piece for factory, _ in together("CASES_REACHED").values() for piece in _given_on(factory())}
    found |= {piece for factory in TURNED for piece in _given_on(factory())}
    assert declared - found == set()


LEADING = re.compile(r"\bis_causal|[Pp]in (?:the winner|one of|a backend|a fused)|unpinned for this|[Ll]eave it open|[Uu]se a fused|fused (?:SDPA )?backend goes|[Aa] fused backend (?:removes|does)|as the one call")
"""Words that send a reader's call to a backend."""


def test_advice_that_leads_to_a_backend_declares_where_it_leads():
    """So that the calls which come out wrong there are named by rule, on whatever device."""
    silent = [(claim.id, part) for claim in claims() for case in claim.cases.values() for piece in case.advice
              for part, leads in ((piece.says, piece.leads), (piece.more, piece.more_leads)) if LEADING.search(part) and leads is None]
    assert silent == []


def test_advice_is_limited_by_what_reproduces_and_only_by_that():
    unpinned = "Leave `scaled_dot_product_attention` unpinned for this shape: PyTorch picks SDPA cuDNN by itself (no `attn_mask`, no gradients)."
    assert advised(facts(), "flash-fastest")[0] == advised(tried(facts()), "flash-fastest")[0] == unpinned
    with_a_mask = tried(facts(), {"mask-in-fp32": {"default": wrong(picked="cudnn"), "cudnn": wrong()}})
    assert advised(with_a_mask, "flash-fastest")[0] == unpinned, "its own words rule a mask out"
    far = watch.build(recorded({"far-logits": {"default": wrong(picked="cudnn")}}), [replace(one, needs=frozenset({Needs.LARGE_LOGITS})) for one in KNOWN])
    assert advised(replace(facts(), watch=far), "flash-fastest")[0] == (
        f"{unpinned} Not for unsafe call 1 (“Is it right?”).")


def test_a_trap_limits_advice_where_the_choice_of_a_backend_decides_what_comes_out():
    """What every backend does is no reason for another one; a call whose words rule the trap out is not warned of it."""
    some = {"default": wrong(error=1.2, picked="cudnn"), "cudnn": wrong(error=1.2)}
    empty = [replace(one, needs=frozenset({Needs.MASK, Needs.EMPTY_ROWS})) if one.id == "one-query-causal" else one for one in KNOWN]
    run = replace(facts(), watch=watch.build(recorded({"one-query-causal": some}), empty))
    assert advised(run, "sdpa-pin")[0].endswith("In production leave the choice to PyTorch unless you have timed your shapes. Mind trap 1 (“Is it right?”).")
    assert "Mind" not in advised(run, "flash-fastest")[0], "its own words rule a mask out"
    everyone = replace(facts(), watch=watch.build(recorded({"one-query-causal": {name: wrong(error=1.2) for name in ("default", "math", "efficient", "flash", "cudnn")}}), empty))
    assert advised(everyone, "sdpa-pin")[0].endswith("In production leave the choice to PyTorch unless you have timed your shapes.")


def test_advice_names_every_row_of_the_list_that_concerns_it():
    """The list numbers what goes wrong; a narrower condition is a row of its own, and whoever reads `2` alone would take it for safe."""
    given = tried(facts(), {"mask-in-fp32": {"default": wrong()}, "shared-heads": {"default": wrong()}})
    assert advised(given, "sdpa-pin")[0].endswith("Not for unsafe calls 1 and 2 (“Is it right?”).")
    assert [(one.number, one.choices, [probe.probe.id for probe in one.probes]) for one in unsafe_calls(given)] == [(1, ("default",), ["mask-in-fp32"]), (2, ("default",), ["shared-heads"])]
    wider = watch.build(recorded({"mask-in-fp32": {"default": wrong()}, "shared-heads": {"default": wrong()}}),
                        [replace(one, needs=frozenset({Needs.MASK})) if one.id == "shared-heads" else one for one in KNOWN])
    assert advised(replace(facts(), watch=wider), "sdpa-pin")[0].endswith("Not for unsafe calls 1 and 2 (“Is it right?”).")


def test_numbers_in_a_row_are_said_as_a_range():
    def held(*numbers):
        return [replace(unsafe_calls(tried(facts(), {"mask-in-fp32": {"default": wrong()}}))[0], number=number) for number in numbers]

    assert numbered(held(2)) == "unsafe call 2" and numbered(held(1, 2)) == "unsafe calls 1 and 2"
    assert numbered(held(1, 2, 3, 5)) == "unsafe calls 1 to 3 and 5" and numbered(held(1, 3, 4)) == "unsafe calls 1, 3 and 4"
