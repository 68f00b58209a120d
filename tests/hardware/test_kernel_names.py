"""Names are decoded as far as somebody documents them; the rest stays unknown."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from reportgen import trace
from reportgen.hardware.kernel_names import UNKNOWN, Implementation, decode

DATA = Path(__file__).resolve().parents[1] / "data"
FLASH = ("void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4, false, false, cutlass::bfloat16_t, "
         "Flash_kernel_traits<64, 128, 128, 4, cutlass::bfloat16_t> >, false, true, false, false, true, true, false, false>(pytorch_flash::Flash_fwd_params)")
CUDNN = "cudnn_generated_fort_native_sdpa_sm80_flash_fprop_wmma_f16_knob_6_128x64x64_4x1x1_cga1x1x1_kernel0_0"
EFFICIENT = "fmha_cutlassF_bf16_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel<cutlass::bfloat16_t, cutlass::arch::Sm80, true, 64, 64, 64, true, true>::Params)"

# name → family, Tensor Cores
KNOWN = {
    "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn": ("cuBLAS GEMM", "yes"),
    "ampere_fp16_s1688gemm_fp16_128x128_ldg8_f2f_stages_32x1_nn": ("cuBLAS GEMM", "yes"),
    "ampere_h16816gemm_128x64_ldg8_stages_64x3_nn": ("cuBLAS GEMM", "yes"),
    "turing_fp16_s1688gemm_fp16_128x128_ldg8_f2f_tn": ("cuBLAS GEMM", "yes"),
    "volta_fp16_s884gemm_fp16_128x128_ldg8_f2f_tn": ("cuBLAS GEMM", "yes"),
    "ampere_sgemm_128x64_nn": ("cuBLAS GEMM", "no"),
    "volta_sgemm_128x128_tn": ("cuBLAS GEMM", "no"),
    # 16-bit input is multiplied in FP32 all the same.
    "ampere_fp16_sgemm_fp16_128x32_sliced1x4_nn": ("cuBLAS GEMM", "no"),
    "volta_hgemm_128x64_nn": ("cuBLAS GEMM", "unknown"),
    "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x128x8_stage3_warpsize2x2x1_ffma_aligna4_alignc4_execute_kernel__5x_cublas": ("cuBLAS xmma GEMM", "no"),
    "sm80_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x32_stage4_warpsize2x2x1_tensor16x8x16_execute_kernel__5x_cublas": ("cuBLAS xmma GEMM", "yes"),
    "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize64x128x64_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_cublas": ("cuBLAS xmma GEMM", "yes"),
    "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize32x32x8_something": ("cuBLAS xmma GEMM", "unknown"),
    "void cutlass::Kernel2<cutlass_80_simt_sgemm_256x128_8x4_tn_align1>(cutlass_80_simt_sgemm_256x128_8x4_tn_align1::Params)": ("CUTLASS GEMM", "no"),
    "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_bf16_256x128_32x3_nn_align8>(Params)": ("CUTLASS GEMM", "yes"),
    "void cutlass::Kernel2<cutlass_75_wmma_tensorop_f16_s161616gemm_f16_16x16_128x2_tn_align8>(Params)": ("CUTLASS GEMM", "yes"),
    "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_TNT": ("cuBLAS nvjet", "yes"),
    "nvjet_sm100_tst_256x128_64x5_2x2_2cta_h_bz_TNT": ("cuBLAS nvjet", "yes"),
    "nvjet_hsh_64x8_64x16_4x1_v_bz_splitK_TNT": ("cuBLAS nvjet", "yes"),
    CUDNN: ("cuDNN SDPA", "yes"),
    "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x64_4x1x1_cga1x1x1_kernel0_0": ("cuDNN SDPA", "yes"),
    "cudnn_generated_fort_native_sdpa_sm120_flash_fprop_f16_knob_3_64x64x64_4x1x1_cga1x1x1_kernel0_0": ("cuDNN SDPA", "unknown"),
    FLASH: ("FlashAttention-2", "yes"),
    "void pytorch_flash::flash_fwd_splitkv_combine_kernel<Flash_fwd_kernel_traits<64, 64, 256, 4, false, false, cutlass::bfloat16_t>, 16, 1, true>(pytorch_flash::Flash_fwd_params)": ("FlashAttention-2", "no"),
    "void cutlass::device_kernel<flash::enable_sm90<flash::FlashAttnFwdSm90<flash::CollectiveMainloopFwdSm90<2> > > >(Params)": ("FlashAttention-3", "yes"),
    EFFICIENT: ("memory-efficient attention", "yes"),
    "fmha_cutlassF_f32_aligned_64x64_rf_sm80(Params)": ("memory-efficient attention", "unknown"),
    "fmha_cutlassF_f16_notaligned_64x64_rf_sm50(Params)": ("memory-efficient attention", "no"),
    "fmhaSm100aKernel_QkvBfloat16OBfloat16H64Causal": ("TensorRT-LLM attention", "unknown"),
    "attn_fwd": ("AOTriton attention", "unknown"),
    "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x128x64_MI16x16x1_SN_LDSB1": ("Tensile GEMM", "unknown"),
    "void splitKreduce_kernel<32, 16, int, float>(Params)": ("cuBLAS auxiliary", "no"),
    "void gemv2T_kernel_val<int, int, float>(Params)": ("cuBLAS auxiliary", "no"),
    "std::enable_if<!(false), void>::type internal::gemvx::kernel<int, int, float>(Params)": ("cuBLAS auxiliary", "no"),
    "triton_per_fused__softmax_exp_masked_fill_mul_prepare_softmax_online_sub_view_0": ("Triton (torch.compile)", "no"),
    "triton_poi_fused_add_1": ("Triton (torch.compile)", "no"),
    "triton_tem_fused_bmm_3": ("Triton (torch.compile)", "unknown"),
    "triton_mm": ("Triton (torch.compile)", "unknown"),
    "triton_red_fused_bmm_2": ("Triton (torch.compile)", "unknown"),
    "void gemmSN_TN_kernel<float, 128>(Params)": (UNKNOWN, "unknown"),
    "ncclDevKernel_AllReduce": (UNKNOWN, "unknown"),
    "unknown": (UNKNOWN, "unknown"),
}


@pytest.mark.parametrize("name", KNOWN)
def test_family_and_tensor_cores(name):
    decoded = decode(name)
    assert (decoded.family, decoded.tensor_cores) == KNOWN[name]
    assert decoded.tensor_cores_why


# The kernels of the recorded H200 forwards, in launch order.
H200_SHORT = {
    "naive": ["nvjet bf16 256x128 TNT", "mul (vectorized_elementwise)", "masked_fill (elementwise)", "softmax_warp_forward", "nvjet bf16 64x512 NNT"],
    "sdpa_math": ["cast (unrolled_elementwise)", "cast (unrolled_elementwise)", "cast (unrolled_elementwise)", "mul (vectorized_elementwise)",
                  "fill bool (vectorized_elementwise)", "triu_tril", "fill fp32 (vectorized_elementwise)", "fill fp32 (vectorized_elementwise)",
                  "where (elementwise)", "mul (vectorized_elementwise)", "xmma gemm FP32 128x128x8 (FMA)", "add (elementwise)", "softmax_warp_forward",
                  "isneginf (vectorized_elementwise)", "all (reduce)", "fill fp32 (vectorized_elementwise)", "where (elementwise)",
                  "cast to bf16 (vectorized_elementwise)", "xmma gemm FP32 64x64x8 (FMA)", "cast to bf16 (vectorized_elementwise)"],
    "sdpa_efficient": ["fmha_cutlassF bf16 64x64 sm80"],
    "sdpa_flash": ["flash_fwd D=64 128x128"],
    "sdpa_cudnn": ["cudnn sdpa flash_fprop 64x128x64"],
}


def kernels(variant):
    return [a.name for a in trace.read(DATA / "h200-probe" / f"{variant}.trace.json.gz").forwards[0].activities if a.kind == "kernel"]


@pytest.mark.parametrize("variant", H200_SHORT)
def test_recorded_kernels_have_legible_short_names(variant):
    assert [decode(name).short for name in kernels(variant)] == H200_SHORT[variant]


@pytest.mark.parametrize("variant", ["naive", "naive_inplace", "sdpa_math", "sdpa_efficient", "sdpa_flash", "sdpa_cudnn"])
def test_the_decoder_agrees_with_the_operation_counter(variant):
    """Where Nsight Compute counted Tensor Core operations the name says yes, and no where it counted none."""
    rows = [row for row in csv.DictReader((DATA / "ncu_h200.csv").open()) if row["variant"] == variant]
    assert [decode(name).tensor_cores for name in kernels(variant)] == ["yes" if int(row["tensor_flop"]) else "no" for row in rows]


def parts(name):
    return {part.text: part.meaning for part in decode(name).parts}


def test_the_articles_cudnn_name_part_by_part():
    assert parts(CUDNN) == {
        "cudnn_generated": "generated for this problem at run time, not shipped as a finished kernel",
        "fort_native": "unknown",
        "sdpa": "scaled dot-product attention",
        "sm80": "code path of compute capability 8.0 (Ampere)",
        "flash_fprop": "the forward pass in FlashAttention's style",
        "wmma": "matrix instruction of one warp, on Tensor Cores",
        "f16": "16-bit elements: FP16 or bfloat16",
        "knob_6": "number of the configuration that cuDNN's heuristic chose",
        "128x64x64": "tile 128 × 64 × 64",
        "4x1x1": "unknown",
        "cga1x1x1": "cluster of 1 × 1 × 1 thread blocks",
        "kernel0_0": "unknown",
    }


def test_the_articles_efficient_name_part_by_part():
    assert parts(EFFICIENT) == {
        "fmha": "fused multi-head attention",
        "cutlassF": "written with CUTLASS, NVIDIA's open matrix templates; F: forward",
        "bf16": "works on bfloat16, without a cast to FP32",
        "aligned": "operands are aligned for wide loads",
        "64x64": "tile: 64 queries × 64 keys",
        "rf": "the output is accumulated in the register file",
        "sm80": "code path of compute capability 8.0 (Ampere)",
    }


def test_nvjets_undocumented_letters_stay_unknown():
    found = parts("nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_TNT")
    assert found["256x128"] == "output tile of one thread block: 256 × 128 (m × n)"
    assert found["64x4"] == "each stage holds 64 of the inner dimension; 4 stages are in flight"
    assert found["1x2"] == "cluster of 1 × 2 thread blocks"
    assert (found["h"], found["bz"], found["coopA"]) == (UNKNOWN, UNKNOWN, UNKNOWN)


@pytest.mark.parametrize("flags, meanings", [
    ("false, true, false, true, true, false", ["dropout: no", "causal mask: yes", "local window: no", "the tile divides the sequence lengths: yes",
                                               "the head dimension fills the tile: yes", "returns the softmax: no"]),
    ("false, true, false, false, true, true, false", ["dropout: no", "causal mask: yes", "local window: no", "ALiBi: no", "the tile divides the sequence lengths: yes",
                                                      "the head dimension fills the tile: yes", "returns the softmax: no"]),
    ("false, true, false, false, true, true, false, false", ["dropout: no", "causal mask: yes", "local window: no", "ALiBi: no", "the tile divides the sequence lengths: yes",
                                                             "the head dimension fills the tile: yes", "soft cap: no", "returns the softmax: no"]),
    ("false, true", [UNKNOWN, UNKNOWN]),
])
def test_flashs_flags_read_by_their_number(flags, meanings):
    """The template gained flags over the years; a number that no version has is not interpreted."""
    name = FLASH.replace("false, true, false, false, true, true, false, false>(", flags + ">(")
    assert [part.meaning for part in decode(name).parts][-len(meanings):] == meanings


def test_where_flash_keeps_q_is_in_its_traits():
    """Of the traits' two flags the first says where Q's tile lies; the article's kernel reads it from shared memory."""
    said = [part.meaning for part in decode(FLASH).parts]
    assert said[2:9] == ["head dimension", "query rows in a tile", "keys in a tile", "warps in a block", "keeps its tile of Q in registers (Is_Q_in_regs): no",
                         "Q and K share a piece of shared memory (Share_Q_K_smem): no", "elements are bfloat16"]
    kept = [part.meaning for part in decode(FLASH.replace("4, false, false, cutlass", "4, true, false, cutlass")).parts]
    assert "keeps its tile of Q in registers (Is_Q_in_regs): yes" in kept


def test_the_instruction_shape_is_spelled_out():
    assert parts("ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn")["s16816gemm"] == (
        "accumulates in FP32; one Tensor Core instruction multiplies 16 × 8 × 16 (m × n × k)")


def test_element_types_are_the_operands_not_the_accumulators():
    """`MulFunctor<float>` on bfloat16 operands multiplies bfloat16 elements."""
    name = kernels("naive")[1]
    assert [part.text for part in decode(name).parts if "element type" in part.meaning] == ["c10::BFloat16"]


@pytest.mark.parametrize("name", [*KNOWN, "x" * 300, "void (anonymous namespace)::some_kernel<int>(int)", ""])
def test_short_names_fit_and_every_part_has_a_source(name):
    decoded = decode(name)
    assert len(decoded.short) <= 40
    assert all(part.meaning and part.source for part in decoded.parts)
    assert all(part.source == UNKNOWN for part in decoded.parts if part.meaning == UNKNOWN)


def test_an_unknown_kernel_is_called_by_its_function():
    assert decode("void ns::(anonymous namespace)::some_kernel<int, 3>(int*)").short == "some_kernel"


def test_a_matmul_that_rounds_to_tf32_says_so_in_its_short_name():
    """FP32 operands that Tensor Cores take as TF32; recorded on an H200 with TF32 allowed."""
    name = decode("sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize64x256x32_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_cublas")
    assert (name.short, name.tensor_cores) == ("xmma gemm TF32 64x256x32", "yes")
    assert decode("sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x128x8_stage3_warpsize2x2x1_ffma_aligna4_execute_kernel__5x_cublas").short == "xmma gemm FP32 128x128x8 (FMA)"


WGMMA = "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x64_4x1x1_cga1x1x1_kernel0_0"


@pytest.mark.parametrize("name, implementation, tile, instruction", [
    (FLASH, Implementation.FLASH_2, (128, 128), None),
    ("void pytorch_flash::flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<64>>(P)", Implementation.FLASH_2, None, None),
    ("void cutlass::device_kernel<flash::FlashAttnFwdSm90<X>>(P)", Implementation.FLASH_3, None, None),
    (EFFICIENT, Implementation.EFFICIENT, (64, 64), None),
    (CUDNN, Implementation.CUDNN, (128, 64), "wmma"),
    (WGMMA, Implementation.CUDNN, (64, 128), "wgmma"),
    ("cudnn_generated_fort_native_sdpa_sm90_flash_fprop_4x1x1_cga1x1x1_kernel0_0", Implementation.CUDNN, None, None),
    ("attn_fwd", Implementation.AOTRITON, None, None),
    ("ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn", None, None, None),
    ("mystery_kernel", None, None, None),
])
def test_what_decides_is_typed_and_not_read_back_from_a_meaning(name, implementation, tile, instruction):
    """(queries, keys), as the name tells them; cuDNN's `4x1x1` counts something else."""
    found = decode(name)
    assert (found.implementation, found.tile, found.instruction) == (implementation, tile, instruction)
    assert found.known is (name != "mystery_kernel")


def test_a_part_that_nobody_explains_is_marked_so():
    assert [part.text for part in decode(WGMMA).parts if not part.known] == [part.text for part in decode(WGMMA).parts if part.meaning == UNKNOWN] != []
    assert [part.known for part in decode("mystery_kernel").parts] == [False]
