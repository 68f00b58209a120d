"""The panel of attention kernel names: each with the library, pass and stage that the public source of the kernel tells."""

from __future__ import annotations

import pytest

from reportgen.hardware.kernel_names import UNKNOWN, Direction, Implementation, Stage, decode
from reportgen.hardware.kernel_names.attention_table import identifiers

F, B = Direction.FORWARD, Direction.BACKWARD
I = Implementation  # noqa: E741 - the panel is a table
MAIN, PREPARE, COMBINE, FINISH = Stage.MAIN, Stage.PREPARE, Stage.COMBINE, Stage.FINISH

PAGED_CK = ("_ZN7ck_tile6kentryILi2ENS_38FmhaBatchPrefillWithPagedKVCacheKernelINS_40BlockFmhaBatchPrefillPipelineQRKSVSAsyncINS_36BlockFmhaBatchPrefillPipelineProblem"
            "IDF16bDF16bDF16bffDF16bhfDF16bfDF16bNS_13TileFmhaShapeINS_8sequenceIJLi128ELi128ELi32ELi128ELi32ELi128EEEEE")
RMSNORM_CK = "_ZN7ck_tile6kentryILi1ENS_12Rmsnorm2dFwdINS_27Rmsnorm2dFwdPipelineOnePassINS_27Rmsnorm2dFwdPipelineProblemIDF16bDF16bfDF16bDF16bDF16bffEEEEEE"
FLASH_BWD = ("void flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<Flash_bwd_kernel_traits<128, 64, 128, 8, 2, 4, 2, false, false, cutlass::bfloat16_t, "
             "Flash_kernel_traits<128, 64, 128, 8, cutlass::bfloat16_t> >, false, true, false, false, false, true, false>(flash::Flash_bwd_params)")
NSYS_FLASH = ("void flash_fwd_kernel<Flash_fwd_kernel_traits<(int)128, (int)128, (int)64, (int)4, (bool)0, (bool)0, cutlass::bfloat16_t, "
              "Flash_kernel_traits<(int)128, (int)128, (int)64, (int)4, cutlass::bfloat16_t>>, (bool)0, (bool)1, (bool)0, (bool)0, (bool)1, (bool)1, (bool)0, (bool)0>(Flash_fwd_params)")

PANEL = {
    # FlashAttention 1 and 2: csrc/flash_attn/src of flash-attention, and PyTorch's copy of it
    "void fmha_fwd_loop_kernel<FMHA_kernel_traits<128, 64, 16, 1, 4, 8u, __half>, false, true, false>(FMHA_fprop_params)": (I.FLASH_1, F, MAIN),
    "void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4, false, false, cutlass::bfloat16_t>, false>(pytorch_flash::Flash_fwd_params)": (I.FLASH_2, F, MAIN),
    NSYS_FLASH: (I.FLASH_2, F, MAIN),
    "void flash::flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<128, 64, 128, 4, false, false, cutlass::half_t>, false>(flash::Flash_fwd_params)": (I.FLASH_2, F, MAIN),
    "void flash::flash_fwd_splitkv_combine_kernel<Flash_fwd_kernel_traits<128, 64, 128, 4, false, false, cutlass::half_t>, 4, 1, true>(flash::Flash_fwd_params)": (I.FLASH_2, F, COMBINE),
    FLASH_BWD: (I.FLASH_2, B, MAIN),
    "void pytorch_flash::flash_bwd_dot_do_o_kernel<true, Flash_bwd_kernel_traits<64, 128, 128, 8, 4, 4, 4, false, false, cutlass::half_t> >(pytorch_flash::Flash_bwd_params)": (I.FLASH_2, B, PREPARE),
    "void pytorch_flash::flash_bwd_convert_dq_kernel<Flash_bwd_kernel_traits<64, 128, 128, 8, 4, 4, 4, false, false, cutlass::half_t> >(pytorch_flash::Flash_bwd_params, int)": (I.FLASH_2, B, FINISH),
    # FlashAttention 3: hopper/ of flash-attention
    "void cutlass::device_kernel<flash::enable_sm90<flash::FlashAttnFwdSm90<flash::CollectiveMainloopFwdSm90<2> > > >(flash::enable_sm90<X>::Params)": (I.FLASH_3, F, MAIN),
    "void cutlass::device_kernel<flash::FlashAttnFwdCombine<cute::tuple<cute::C<8> >, 4, 256, 1, false> >(Params)": (I.FLASH_3, F, COMBINE),
    "void flash::prepare_varlen_num_blocks_kernel<1, true>(int, int, int, int const*)": (I.FLASH_3, F, PREPARE),
    "void cutlass::device_kernel<flash::enable_sm90<flash::FlashAttnBwdSm90<flash::CollectiveMainloopBwdSm90<2> > > >(Params)": (I.FLASH_3, B, MAIN),
    "void cutlass::device_kernel<flash::FlashAttnBwdPreprocess<cute::tuple<cute::C<128> > > >(Params)": (I.FLASH_3, B, PREPARE),
    "void cutlass::device_kernel<flash::FlashAttnBwdPostprocessConvertdQ<cute::tuple<cute::C<64> > > >(Params)": (I.FLASH_3, B, FINISH),
    # FlashAttention 4: flash_attn/cute, in CuTe DSL; vLLM carries a copy
    "kernel_cutlass_kernel_flash_attncuteflash_fwd_sm100FlashAttentionForwardSm100_object_at__tensor0000o11101213_tensor0000o11101213_None_None_0": (I.FLASH_4, F, MAIN),
    "kernel_cutlass_kernel_vllmvllm_flash_attncuteflash_fwd_sm100FlashAttentionForwardSm100_object_at__tensor000o111012": (I.FLASH_4, F, MAIN),
    "kernel_cutlass_kernel_flash_attncuteflash_fwd_combineFlashAttentionForwardCombine_object_at__tensor0000o1": (I.FLASH_4, F, COMBINE),
    "kernel_cutlass_kernel_flash_attncuteflash_bwd_sm90FlashAttentionBackwardSm90_object_at__tensor0000o1": (I.FLASH_4, B, MAIN),
    "kernel_cutlass_kernel_flash_attncuteflash_bwd_preprocessFlashAttentionBackwardPreprocess_object_at_": (I.FLASH_4, B, PREPARE),
    "kernel_cutlass_kernel_flash_attncuteflash_bwd_postprocessFlashAttentionBackwardPostprocess_object_at_": (I.FLASH_4, B, FINISH),
    # MLA
    "void flash::flash_fwd_splitkv_mla_kernel<Flash_fwd_kernel_traits_mla<576, 64, 64, 8, cutlass::bfloat16_t, 512>, true>(Flash_fwd_mla_params)": (I.FLASH_MLA, F, MAIN),
    "void flash::flash_fwd_splitkv_mla_combine_kernel<float, 1>(Flash_fwd_mla_params)": (I.FLASH_MLA, F, COMBINE),
    "get_mla_metadata_kernel(Mla_metadata_params)": (I.FLASH_MLA, F, PREPARE),
    "void cutlass::device_kernel<cutlass::fmha::kernel::Sm100FmhaMlaKernelTmaWarpspecialized<cute::tuple<cute::C<128> >, cutlass::bfloat16_t> >(Params)": (I.CUTLASS, F, MAIN),
    "void cutlass::device_kernel<cutlass::fmha::kernel::Sm100FmhaBwdKernelTmaWarpSpecialized<cute::tuple<int> > >(Params)": (I.CUTLASS, B, MAIN),
    # PyTorch's memory-efficient attention (CUTLASS)
    "fmha_cutlassF_bf16_aligned_64x128_rf_sm80(PyTorchMemEffAttention::AttentionKernel<cutlass::bfloat16_t, cutlass::arch::Sm80, true, 64, 128, 128, true, true>::Params)": (I.EFFICIENT, F, MAIN),
    "fmha_cutlassB_bf16_aligned_128x128_k128_sm80(PyTorchMemEffAttention::AttentionBackwardKernel<cutlass::arch::Sm80, cutlass::bfloat16_t, true>::Params)": (I.EFFICIENT, B, MAIN),
    "fmha_cutlassB_f16_aligned_64x64_k64_dropout_sm80(AttentionBackwardKernel<cutlass::arch::Sm80, cutlass::half_t, true, true, true, 64, 64, 64>::Params)": (I.EFFICIENT, B, MAIN),
    # cuDNN
    "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x128_4x1x1_cga1x1x1_kernel0_0": (I.CUDNN, F, MAIN),
    "cudnn_generated_fort_native_sdpa_sm100_flash_bprop_f16_knob_31_128x128x128_1x4x1_cga1x1x1_kernel0_0": (I.CUDNN, B, MAIN),
    "void cudnn::fusion::compute_dot_do_o_specialized<true, 128>(float*, __nv_bfloat16 const*)": (I.CUDNN, B, PREPARE),
    "void cudnn::fusion::convert_dq_to_16bits<true>(cudnn::fusion::Params)": (I.CUDNN, B, FINISH),
    "void cudnn::fusion::fmha_reduce_head<true>(cudnn::fusion::Params)": (I.CUDNN, B, FINISH),
    # FlexAttention, compiled
    "triton_tem_fused_flex_attention_0": (I.FLEX, F, MAIN),
    "triton_tem_fused__to_copy_flex_attention_transpose_view_3": (I.FLEX, F, MAIN),
    "triton_tem_fused_flex_attention_backward_transpose_view_3": (I.FLEX, B, MAIN),
    "triton_red_fused_flex_attention_1": (I.FLEX, F, Stage.BESIDE),
    # FlashInfer and TensorRT-LLM
    "void flashinfer::BatchPrefillWithPagedKVCacheKernel<flashinfer::KernelTraits<(flashinfer::MaskMode)1, 128u, 2u>, flashinfer::PagedParams<__nv_bfloat16> >(X)": (I.FLASHINFER, F, MAIN),
    "void flashinfer::BatchDecodeWithPagedKVCacheKernel<(flashinfer::PosEncodingMode)0, 2u, 4u, 8u, 16u, 1u, 8u>(X)": (I.FLASHINFER, F, MAIN),
    "void flashinfer::PersistentVariableLengthMergeStatesKernel<8u, 16u, 8u, 4u, __nv_bfloat16, __nv_bfloat16, int>(X)": (I.FLASHINFER, F, COMBINE),
    "fmhaSm100aKernel_QkvE4m3OBfloat16H64PagedKvCausalP16VarSeqQ128Kv128PersistentContext": (I.TENSORRT_LLM, F, MAIN),
    "fmhaSm100fKernel_QkvBfloat16OBfloat16HQk576HV512HVPerCta256PagedKvDenseP64MultiCtasKvVarSeqQ8Kv128StaticSwapsAbForGen": (I.TENSORRT_LLM, F, MAIN),
    "fmha_v2_flash_attention_bf16_64_128_S_qkv_128_causal_tma_ws_sm90_kernel": (I.TENSORRT_LLM, F, MAIN),
    "void tensorrt_llm::kernels::mmha::masked_multihead_attention_kernel<unsigned short, unsigned short, 128>(X)": (I.TENSORRT_LLM, F, MAIN),
    # vLLM and SGLang
    "kernel_unified_attention_2d": (I.UNIFIED, F, MAIN),
    "kernel_unified_attention_3d": (I.UNIFIED, F, MAIN),
    "reduce_segments": (I.UNIFIED, F, COMBINE),
    "void vllm::paged_attention_v2_kernel<__half, __half, 128, 16, 128, (vllm::Fp8KVCacheDataType)0, false, 512>(X)": (I.PAGED, F, MAIN),
    "_ZN4vllm32paged_attention_v2_reduce_kernelItLi128ELi128ELi512EEEvPT_PKfS4_PKS1_PKii": (I.PAGED, F, COMBINE),
    "void paged_attention_ll4mi_QKV_mfma16_kernel<0, __hip_bfloat16, __hip_bfloat16, (vllm::Fp8KVCacheDataType)0, 1, 128, 256, false, 4, 1, "
    "ck_tile::ComposedAttention<0u, false> >(__hip_bfloat16 const*)": (I.PAGED, F, MAIN),
    "void paged_attention_ll4mi_reduce_kernel<__hip_bfloat16, __hip_bfloat16, 128, 128, 256, 3, false>(__hip_bfloat16*)": (I.PAGED, F, COMBINE),
    "void vllm::merge_attn_states_kernel<__nv_bfloat16, 128u>(__nv_bfloat16*, float*)": (I.PAGED, F, COMBINE),
    "_fwd_grouped_kernel_stage1": (I.DECODE, F, MAIN),
    "_fwd_kernel_stage2": (I.DECODE, F, COMBINE),
    "_fwd_kernel_unified": (I.EXTEND, F, MAIN),
    # ROCm: AOTriton, Composable Kernel, AITER
    "attn_fwd": (I.AOTRITON, F, MAIN),
    "attn_fwd.kd": (I.AOTRITON, F, MAIN),
    "attn_fwd [clone .kd]": (I.AOTRITON, F, MAIN),
    "attn_fwd_0d1d2d3de": (I.AOTRITON, F, MAIN),
    "bwd_kernel_dk_dv": (I.AOTRITON, B, MAIN),
    "bwd_kernel_dq": (I.AOTRITON, B, MAIN),
    "bwd_kernel_fuse": (I.AOTRITON, B, MAIN),
    "bwd_preprocess": (I.AOTRITON, B, PREPARE),
    PAGED_CK: (I.COMPOSABLE_KERNEL, F, MAIN),
    "void ck_tile::kentry<256, 1, ck_tile::FmhaBwdDQDKDVKernel<ck_tile::BlockFmhaBwdDQDKDVPipelineKRKTRVR<X> > >(X)": (I.COMPOSABLE_KERNEL, B, MAIN),
    "void ck_tile::kentry<64, 2, ck_tile::FmhaBwdOGradDotOKernel<ck_tile::BlockFmhaBwdOGradDotO<X> > >(X)": (I.COMPOSABLE_KERNEL, B, PREPARE),
    "void ck_fused_attn::dk_dv_reduce<unsigned short>(unsigned long, unsigned short const*)": (I.COMPOSABLE_KERNEL, B, FINISH),
    "aiter::fmha_fwd_hd128_bf16_rtz": (I.AITER, F, MAIN),
    "_ZN5aiter24fmha_fwd_hd128_bf16_rtneE": (I.AITER, F, MAIN),
    "aiter::fmha_bwd_hd128_bf16_causal_a32_psskddv": (I.AITER, B, MAIN),
    "_ZN5aiter22fmha_bwd_hd64_odo_bf16E": (I.AITER, B, PREPARE),
    "aiter::fmha_bwd_hd128_dq_shuffle": (I.AITER, B, FINISH),
    "_ZN5aiter41mla_dec_stage1_bf16_a16w16_subQ128_mqa128E": (I.AITER, F, MAIN),
    "void kn_mla_reduce_v1<MlaReduceKernelV1Traits<512, 16, 1>, float, __hip_bfloat16>(MlaReduceKernelV1Params)": (I.AITER, F, COMBINE),
    # SageAttention, xformers, and who keeps the names of Triton's tutorial
    "void qk_int_sv_f16_attn_kernel<128u, 64u, 32u, 64u, 128u, (DataType)1, (QuantGranularity)2>(signed char*)": (I.SAGE, F, MAIN),
    "sage_fwd": (I.SAGE, F, MAIN),
    "sage_quant_kernel": (I.SAGE, F, PREPARE),
    "_fwd_kernel_splitK": (I.XFORMERS, F, MAIN),
    "_splitK_reduce": (I.XFORMERS, F, COMBINE),
    "_attn_fwd": (I.TRITON, F, MAIN),
    "_attn_bwd_preprocess": (I.TRITON, B, PREPARE),
}


@pytest.mark.parametrize("name", PANEL)
def test_library_pass_and_stage(name):
    decoded = decode(name)
    assert (decoded.implementation, decoded.direction, decoded.stage) == PANEL[name]
    assert decoded.family == PANEL[name][0].value
    assert decoded.known and len(decoded.short) <= 40


@pytest.mark.parametrize("name", [
    "void vllm::reshape_and_cache_flash_kernel<__hip_bfloat16, __hip_bfloat16, (vllm::Fp8KVCacheDataType)0>(__hip_bfloat16 const*)",
    "void (anonymous namespace)::store_kvcache<2048l, 4, false, long>((anonymous namespace)::StoreKVCacheParams)",
])
def test_a_write_to_the_cache_is_no_attention(name):
    decoded = decode(name)
    assert (decoded.family, decoded.implementation, decoded.stage) == ("KV cache", None, Stage.CACHE)


@pytest.mark.parametrize("name", [
    "_fwd_kernel",                                  # of flash-attn's Triton, SGLang, and of linear attention and normalisation too
    "_bwd_kernel",
    "_fwd_kernel_ep_scatter_1",                     # a mixture of experts
    "chunk_fwd_kernel_o",                           # linear attention
    "igemm_fwd_gtcx3_nhwc_bf16_bx0_ex1_bt64x64x16",  # a convolution
    "MIOpenBatchNormBwdSpatial",
    "aiter::add_rmsnorm_quant_kernel",
    "_ZN5aiter20add_rmsnorm_quant_kernelE",
    RMSNORM_CK,
    "my_attn_fwd_attn_fwdx",
    "kernel_cutlass_kernel_vllmv1attentionopsdeepseek_v4_opsdequant_gather_k_cutedslDequantGatherKCache_object_at_",
])
def test_what_no_source_settles_stays_unknown(name):
    decoded = decode(name)
    assert (decoded.family, decoded.implementation, decoded.direction, decoded.stage) == (UNKNOWN, None, None, None)


@pytest.mark.parametrize("name", [
    "triton_poi_fused__scaled_dot_product_flash_attention_cat_transpose_view_10",
    "triton_red_fused__to_copy_add_addmm_as_strided_fmha_v3_fwd_mean_mul_neg_pow_rsqrt_stack_unbind_unsqueeze_view_24",
    "triton_poi_fused_flex_attention_mul_3",
])
def test_what_is_fused_around_attention_is_not_attention(name):
    """Inductor names a kernel after every op beside it."""
    assert (decode(name).family, decode(name).implementation) == ("Triton (torch.compile)", None)


def test_a_mangled_name_gives_the_identifiers_that_its_lengths_tell():
    assert list(identifiers("_ZN5aiter24fmha_fwd_hd128_bf16_rtneE")) == ["aiter", "fmha_fwd_hd128_bf16_rtne"]
    assert list(identifiers("_ZN7ck_tile6kentryILi2ENS_13FmhaFwdKernelI"))[-1] == "FmhaFwdKernel"
    assert list(identifiers("_ZN9")) == []


def parts(name):
    return [part.meaning for part in decode(name).parts]


def test_cudnns_backward_is_called_backward():
    name = "cudnn_generated_fort_native_sdpa_sm90_flash_bprop_wgmma_f16_knob_26_64x64x128_1x4x1_cga1x1x1_kernel0_0"
    assert decode(name).short == "cudnn sdpa flash_bprop 64x64x128"
    assert "the backward pass in FlashAttention's style" in parts(name)


def test_whose_copy_of_flash_attention_is_said_only_where_the_namespace_tells():
    bare = NSYS_FLASH
    assert parts(bare.replace("flash_fwd_kernel<", "pytorch_flash::flash_fwd_kernel<", 1))[0] == "PyTorch's copy of FlashAttention-2"
    assert parts(bare.replace("flash_fwd_kernel<", "flash::flash_fwd_kernel<", 1))[0] == "the flash-attn package's own kernel"
    assert parts(bare)[0] == "the forward pass in one kernel"


def test_nsight_systems_spelling_gives_head_dimension_tile_and_flags():
    decoded = decode(NSYS_FLASH)
    assert (decoded.short, decoded.tile) == ("flash_fwd D=128 128x64", (128, 64))
    assert parts(NSYS_FLASH)[-7:] == ["causal mask: yes", "local window: no", "ALiBi: no", "the tile divides the sequence lengths: yes",
                                      "the head dimension fills the tile: yes", "soft cap: no", "returns the softmax: no"]


def test_flash_attentions_backward_gives_head_dimension_tile_and_flags():
    decoded = decode(FLASH_BWD)
    assert (decoded.short, decoded.tile, decoded.tensor_cores) == ("flash_bwd D=128 64x128", (64, 128), "yes")
    assert parts(FLASH_BWD)[-7:] == ["dropout: no", "causal mask: yes", "local window: no", "ALiBi: no", "the tile divides the sequence lengths: no",
                                     "the head dimension fills the tile: yes", "soft cap: no"]


def test_the_efficient_backward_part_by_part():
    assert {part.text: part.meaning for part in decode("fmha_cutlassB_f16_aligned_64x64_k96_dropout_sm80(X::Params)").parts} == {
        "fmha": "fused multi-head attention", "cutlassB": "written with CUTLASS, NVIDIA's open matrix templates; B: backward",
        "f16": "works on FP16, without a cast to FP32", "aligned": "operands are aligned for wide loads", "64x64": "tile: 64 queries × 64 keys",
        "k96": "for head dimensions up to 96", "dropout": "compiled with dropout", "sm80": "code path of compute capability 8.0 (Ampere)"}


def test_rocms_unrolled_elementwise_kernel_is_read():
    name = ("void at::native::elementwise_kernel_manual_unroll<128, 8, at::native::gpu_kernel_impl_nocast<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)"
            "::{lambda()#3}::operator()() const::{lambda()#12}::operator()() const::{lambda(c10::BFloat16)#1}>(at::TensorIteratorBase&)::{lambda(int, bool)#1}>(int, X)")
    assert (decode(name).family, decode(name).short) == ("ATen elementwise", "copy (elementwise_kernel_manual_unroll)")
