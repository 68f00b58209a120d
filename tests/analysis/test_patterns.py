"""Diagnoses on recorded traces, and on synthetic ones with the evidence turned round."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import pytest
from builders import activity as shown_as
from trace_builder import TraceBuilder, naive

from reportgen import trace
from reportgen.analysis.patterns import (
    bytes_model,
    hidden_copy,
    math_fallback,
    predictions,
    rebuilt_mask,
    roles,
)
from reportgen.analysis.patterns.shapes import under
from reportgen.run.workload import ARTICLE, PRESETS, Workload
from variants import ROLES

DATA = Path(__file__).resolve().parents[1] / "data"
MATH = ("aten::scaled_dot_product_attention", "aten::_scaled_dot_product_attention_math")
VARIANTS = ("naive", "naive_inplace", "sdpa_math", "sdpa_efficient", "sdpa_flash", "sdpa_cudnn")


def recorded(variant):
    return trace.read(DATA / "h200-probe" / f"{variant}.trace.json.gz")


def synthetic(*forwards):
    builder = TraceBuilder()
    for make in forwards:
        make(builder)
    return trace.parse(builder.document())


def roles_of(forward):
    return [roles.role(a.kind, a.name, a.op_path) for a in forward.activities]


# Roles.

H200_ROLES = {
    "naive": ["memset", "matmul", "scale", "copy", "mask", "softmax", "matmul"],
    "naive_inplace": ["memset", "matmul", "scale", "mask", "softmax", "matmul"],
    "sdpa_math": ["cast", "cast", "cast", "scale", "fill", "tril", "fill", "fill", "where", "scale", "matmul", "add", "softmax", "isneginf", "all", "fill",
                  "where", "cast", "matmul", "cast"],
    "sdpa_efficient": ["fused attention"], "sdpa_flash": ["fused attention"], "sdpa_cudnn": ["memset", "fused attention"],
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_recorded_activities_have_their_roles(variant):
    found = roles_of(recorded(variant).forwards[0])
    assert found == H200_ROLES[variant] and set(found) <= set(ROLES)


@pytest.mark.parametrize("kind, name, path, expected", [
    ("memcpy", "Memcpy DtoD", ("aten::masked_fill", "aten::clone", "aten::copy_"), "copy"),
    ("kernel", "copy_kernel", ("aten::masked_fill", "aten::clone", "aten::copy_"), "copy"),
    ("kernel", "copy_kernel", ("aten::contiguous", "aten::clone", "aten::copy_"), "copy"),
    ("kernel", "copy_kernel", ("aten::to", "aten::_to_copy", "aten::copy_"), "cast"),
    ("memcpy", "Memcpy DtoD", ("aten::to", "aten::_to_copy", "aten::copy_"), "copy"),   # a memcpy cannot convert
    ("memcpy", "Memcpy DtoD", (), "copy"),
    ("memset", "Memset (Device)", ("aten::matmul", "aten::bmm"), "memset"),
    ("kernel", "void splitKreduce_kernel<32>(x)", ("aten::matmul", "aten::bmm"), "other"),
    ("kernel", "attn_fwd", ("aten::scaled_dot_product_attention", "aten::_flash_attention_forward"), "fused attention"),
    ("kernel", "fmhaSm100aKernel_Qkv", (), "fused attention"),
    ("kernel", "flash_fwd_splitkv_combine_kernel<x>", ("aten::_flash_attention_forward",), "other"),
    ("kernel", "triton_per_fused__softmax_0", ("triton_per_fused__softmax_0",), "softmax"),
    # A Triton op may carry another op's name inside its own.
    ("kernel", "triton_poi_fused_scaled_dot_product_flash_attention_0", ("triton_poi_fused_scaled_dot_product_flash_attention_0",), "other"),
    ("kernel", "whatever", (), "other"),
])
def test_the_op_path_decides_the_role(kind, name, path, expected):
    assert roles.role(kind, name, path) == expected


def test_under_compares_whole_names_in_order():
    path = ("aten::masked_fill", "aten::clone", "aten::copy_")
    assert under(path, "aten::masked_fill", "aten::copy_")
    assert not under(path, "aten::copy_", "aten::masked_fill")
    assert not under(path, "aten::copy")


# Hidden copy.


def test_the_recorded_copy_is_found_and_only_in_naive():
    """256 MiB, as a memcpy."""
    forward, inplace = recorded("naive").forwards[0], recorded("naive_inplace").forwards[0]
    (copy,) = hidden_copy.find(forward.activities)
    assert (copy.kind, copy.bytes) == ("memcpy", 256 * 1024**2)
    assert hidden_copy.find(inplace.activities) == ()


@pytest.mark.parametrize("kind", ["memcpy", "kernel"])
def test_the_copy_is_found_whatever_its_kind(kind):
    forward = synthetic(lambda b: naive(b, copy_as=kind)).forwards[0]
    assert [a.kind for a in hidden_copy.find(forward.activities)] == [kind]


def test_a_clone_elsewhere_is_not_the_hidden_copy():
    def with_own_clone(builder):
        with builder.forward(), builder.op("aten::clone"), builder.op("aten::copy_"):
            builder.memcpy(64)
    assert hidden_copy.find(synthetic(with_own_clone).forwards[0].activities) == ()


# Rebuilt mask.


def test_the_recorded_math_backend_builds_its_mask_every_time():
    """Five kernels: ones, tril, two scalars, where; a hundredth of a millisecond."""
    for forward in recorded("sdpa_math").forwards:
        assert rebuilt_mask.steps_of(forward.ops) == set(rebuilt_mask.STEPS)
        built = rebuilt_mask.activities_of(forward.activities)
        assert roles_of(replace(forward, activities=built)) == ["fill", "tril", "fill", "fill", "where"]
        assert sum(activity.duration for activity in built) == pytest.approx(11e-6, abs=2e-6)


@pytest.mark.parametrize("variant", ["naive", "naive_inplace", "sdpa_efficient", "sdpa_flash", "sdpa_cudnn"])
def test_no_other_recorded_variant_builds_a_mask(variant):
    for forward in recorded(variant).forwards:
        assert rebuilt_mask.steps_of(forward.ops) == frozenset() and rebuilt_mask.activities_of(forward.activities) == ()


def build_mask(builder, *, tril=True):
    with builder.forward():
        with builder.op("aten::ones"), builder.op("aten::fill_"):
            builder.kernel(duration=2)
        if tril:
            with builder.op("aten::tril"):
                builder.kernel(duration=3)
        with builder.op("aten::where"):
            with builder.op("aten::scalar_tensor"), builder.op("aten::fill_"):
                builder.kernel(duration=1)
            with builder.op("aten::where"):
                builder.kernel(duration=4)


def test_building_is_told_from_what_stands_beside_it():
    """2 + 3 + 1 + 4 µs, four steps."""
    (forward,) = synthetic(build_mask).forwards
    assert rebuilt_mask.steps_of(forward.ops) == set(rebuilt_mask.STEPS)
    assert [activity.duration for activity in rebuilt_mask.activities_of(forward.activities)] == pytest.approx([2e-6, 3e-6, 1e-6, 4e-6])


def test_a_select_without_a_triangle_is_no_mask():
    (forward,) = synthetic(lambda b: build_mask(b, tril=False)).forwards
    assert rebuilt_mask.activities_of(forward.activities) == ()
    assert ("aten::tril",) not in rebuilt_mask.steps_of(forward.ops)


# Math fallback.


def test_the_recorded_math_backend():
    """5 casts, among them a cast of the whole weights that nobody uses."""
    found = math_fallback.find(recorded("sdpa_math").forwards[0].activities)
    assert len(found.casts) == 5
    assert found.wasted_cast.grid == (131072, 1, 1) and found.wasted_cast.duration == pytest.approx(187e-6, rel=0.01)


@pytest.mark.parametrize("variant", ["naive", "sdpa_efficient", "sdpa_flash", "sdpa_cudnn"])
def test_no_other_recorded_variant_fell_back_to_math(variant):
    assert math_fallback.find(recorded(variant).forwards[0].activities) is None


def test_math_in_16_bits_has_no_wasted_cast():
    """With Tensor Core matmuls the cast before the second one is needed."""
    def forward(builder):
        with builder.forward(), builder.op(MATH[0]), builder.op(MATH[1]):
            for op, name in (("aten::bmm", "nvjet_tst_1x1_TNT"), ("aten::_softmax", "softmax"), ("aten::_to_copy", "cast"), ("aten::bmm", "nvjet_tst_1x1_TNT")):
                with builder.op(op):
                    if op == "aten::_to_copy":
                        with builder.op("aten::copy_"):
                            builder.kernel(name)
                    else:
                        builder.kernel(name)
    found = math_fallback.find(synthetic(forward).forwards[0].activities)
    assert len(found.casts) == 1 and found.wasted_cast is None


def test_math_that_casts_up_wastes_the_cast_whatever_unit_its_matmuls_use():
    """TF32 on Tensor Cores, or a name that says nothing: v was cast up, so the matmul takes the weights before the cast down."""
    acts = recorded("sdpa_math").forwards[0].activities
    for name in ("sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize64x256x32_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_cublas", "Cijk_Ailk_Bljk_SB_MT128x64x16"):
        found = math_fallback.find([replace(a, name=name) if "gemm" in a.name else a for a in acts])
        assert found.wasted_cast.grid == (131072, 1, 1)


# Predictions.

FIVE = (("matmul", "q · kᵀ"), ("scale", "÷ √D"), ("mask", "causal mask"), ("softmax", ""), ("matmul", "weights · v"))


def aligned(prediction, observed):
    return [(left[0] if left else None, right) for left, right in predictions.align(prediction, observed)]


def test_the_hidden_copy_stands_alone_beside_a_kept_prediction():
    assert aligned(FIVE, H200_ROLES["naive"]) == [(None, "memset"), ("matmul", "matmul"), ("scale", "scale"), (None, "copy"), ("mask", "mask"),
                                                  ("softmax", "softmax"), ("matmul", "matmul")]


def test_what_did_not_happen_stands_alone_too():
    """One fused kernel: nothing of five steps is seen as such."""
    assert aligned(FIVE, ["fused attention"]) == [(None, "fused attention"), ("matmul", None), ("scale", None), ("mask", None), ("softmax", None), ("matmul", None)]


def test_no_line_is_lost_and_order_is_kept():
    lines = predictions.align(FIVE, H200_ROLES["sdpa_math"])
    assert [left for left, _ in lines if left] == list(FIVE)
    assert [right for _, right in lines if right] == H200_ROLES["sdpa_math"]
    assert [left[0] for left, right in lines if left and right] == ["matmul", "softmax", "matmul"]


@pytest.mark.parametrize("prediction, observed, broken", [
    ((("fused attention", ""),), ["fused attention"], 0), (FIVE, ["matmul", "scale", "mask", "softmax", "matmul"], 0), (FIVE, H200_ROLES["naive"], 2),
    (FIVE, [], 5), ((), ["memset"], 1),
])
def test_broken_lines_are_those_with_one_side(prediction, observed, broken):
    assert len(predictions.broken(prediction, observed)) == broken


# Bytes and FLOP.


def modelled(variant, workload=ARTICLE):
    forward = recorded(variant).forwards[0]
    return [(activity, bytes_model.model(activity, role, workload)) for activity, role in zip(forward.activities, roles_of(forward))]


MIB = 1024**2


def test_modelled_bytes_of_the_recorded_forwards():
    """By hand: scores are 256 MiB in bf16 and 512 in FP32, an operand 16 and 32, the mask 1 (bool) and 4 (FP32)."""
    assert [m.bytes for _, m in modelled("naive")] == [4, 288 * MIB, 512 * MIB, 512 * MIB, 513 * MIB, 512 * MIB, 288 * MIB]
    assert [m.bytes for _, m in modelled("sdpa_math")] == [
        48 * MIB, 48 * MIB, 48 * MIB, 64 * MIB, MIB, 2 * MIB, 4, 4, 5 * MIB, 64 * MIB, 576 * MIB, 1028 * MIB, 1024 * MIB, 640 * MIB,
        128 * MIB + 131072, 4, 1024 * MIB + 131072, 768 * MIB, 576 * MIB, 48 * MIB]
    assert [m.bytes for _, m in modelled("sdpa_flash")] == [64 * MIB]


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_model_agrees_with_counted_dram_traffic(variant):
    """Within 20 % for everything larger than the 60 MB cache: what is smaller may never leave it, inputs may still
    lie in it (masked_fill reads 84 % of the scores from memory), and a kernel may write out what the one before it left."""
    rows = [row for row in csv.DictReader((DATA / "ncu_h200.csv").open()) if row["variant"] == variant]
    pairs = [(m.bytes, int(row["dram_read"]) + int(row["dram_write"])) for (a, m), row in zip([p for p in modelled(variant) if p[0].kind == "kernel"], rows)]
    large = [(requested, counted) for requested, counted in pairs if requested > 60e6]
    assert large
    for requested, counted in large:
        assert counted == pytest.approx(requested, rel=0.2)


def test_matmul_flop_equal_the_counted_operations():
    """17,179,869,184 for each naive matmul, by the Tensor Core operation counter; causal attention needs half of both."""
    assert [m.flop for a, m in modelled("naive") if m.flop] == [17179869184, 17179869184]
    (_, fused), = modelled("sdpa_efficient")
    assert fused.flop == 17196646400     # 2·B·H·S·(S+1)·D


def test_casts_of_operands_and_of_scores_are_told_apart_by_the_grid():
    operands, scores = 8 * 16 * 1024 * 64, 8 * 16 * 1024 * 1024
    assert [m.bytes // 6 for a, m in modelled("sdpa_math") if roles.role(a.kind, a.name, a.op_path) == "cast"] == [operands] * 3 + [scores, operands]


def test_a_cast_whose_grid_fits_no_tensor_is_not_modelled():
    """The article's grids do not belong to the small workload: no size is made up for them."""
    casts = [m for a, m in modelled("sdpa_math", PRESETS["small"]) if roles.role(a.kind, a.name, a.op_path) == "cast"]
    assert [m.bytes for m in casts] == [None] * 5


def activity(name="kernel", path=(), kind="kernel", **fields):
    base = recorded("naive").forwards[0].activities[1]
    return replace(base, name=name, op_path=path, kind=kind, **fields)


@pytest.mark.parametrize("name, path, expected", [
    ("ampere_sgemm_128x64_nn", MATH, 576 * MIB),
    ("ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn", MATH, 288 * MIB),
    ("Cijk_Alik_Bljk_SB_MT128x128x16", MATH, 576 * MIB),
    ("nameless_gemm", MATH, None),                       # FP32 or not: the name does not tell
    ("nameless_gemm", ("aten::bmm",), 288 * MIB),        # the naive variants work in the workload's type
])
def test_the_type_of_a_matmul_comes_from_its_name(name, path, expected):
    found = bytes_model.model(activity(name, path), "matmul", ARTICLE)
    assert (found.bytes, found.flop) == (expected, 17179869184)


def test_what_cannot_be_modelled_is_none():
    fused = "triton_per_fused__softmax_masked_fill_mul_0"
    assert bytes_model.model(activity(fused, (fused,)), "softmax", ARTICLE) == bytes_model.NOTHING
    assert bytes_model.model(activity("whatever"), "other", ARTICLE) == bytes_model.NOTHING
    assert bytes_model.model(activity(kind="memcpy", bytes=None), "copy", ARTICLE).bytes is None


def test_a_memcpy_reads_and_writes_and_a_memset_writes():
    assert bytes_model.model(activity(kind="memcpy", bytes=100), "copy", ARTICLE).bytes == 200
    assert bytes_model.model(activity(kind="memset", bytes=100), "memset", ARTICLE).bytes == 100


def test_attention_that_is_not_causal_does_the_whole_square():
    full = Workload("custom", 8, 16, 1024, 64, causal=False)
    assert bytes_model.model(activity(), "fused attention", full).flop == 2 * 17179869184


@pytest.mark.parametrize(("name", "role", "path", "grid", "asked"), [
    ("void at::native::vectorized_elementwise_kernel<4, at::native::AUnaryFunctor<c10::BFloat16, c10::BFloat16, c10::BFloat16, at::native::binary_internal::MulFunctor<float> > >(int)",
     "scale", ("aten::mul",), (65536, 1, 1), 2 * 134217728 * 2),
    ("void at::native::vectorized_elementwise_kernel<4, at::native::AUnaryFunctor<c10::BFloat16, c10::BFloat16, c10::BFloat16, at::native::binary_internal::MulFunctor<float> > >(int)",
     "scale", ("aten::mul",), (4096, 1, 1), 2 * 8388608 * 2),
    ("void at::native::vectorized_elementwise_kernel<4, at::native::masked_fill_kernel(at::TensorIterator&, c10::Scalar const&)::{lambda(c10::BFloat16, bool)#1}>(int)",
     "mask", ("aten::masked_fill_",), (512, 1, 1), 2 * 1048576 * 2 + 1048576),
    ("void at::native::elementwise_kernel<128, 4, at::native::masked_fill_kernel(at::TensorIterator&, c10::Scalar const&)::{lambda(c10::BFloat16, bool)#1}>(int)",
     "mask", ("aten::masked_fill_",), (262144, 1, 1), 2 * 134217728 * 2 + 1048576),
    ("void at::native::elementwise_kernel<128, 4, at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda(c10::BFloat16)#1}>(int)",
     "copy", ("aten::baddbmm", "aten::copy_"), (262144, 1, 1), (1048576 + 134217728) * 2),
    ("nvjet_tst_256x128_64x4_1x2_h_bz_coopA_TNT", "matmul", ("aten::baddbmm",), (128, 1, 1), (2 * 8388608 + 2 * 134217728) * 2),
    ("nvjet_tst_256x128_64x4_1x2_h_bz_coopA_TNT", "matmul", ("aten::bmm",), (128, 1, 1), (2 * 8388608 + 134217728) * 2),
])  # fmt: skip
def test_the_extras_ask_for_what_their_grids_and_ops_say(name, role, path, grid, asked):
    """The article's shape: 134,217,728 scores of 2 bytes, 8,388,608 numbers in q, a square of 1,048,576. 65,536 blocks of 128 threads with 16 elements each cover the scores."""
    shown = shown_as(name=name, role=role, op_path=path, grid=grid, block=(128, 1, 1))
    assert bytes_model.model(shown, role, ARTICLE).bytes == asked
