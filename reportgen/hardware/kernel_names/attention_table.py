"""Names of attention kernels that carry no parts worth explaining: which library's, which pass, which stage.

A name is looked up whole. Where C++ templates or a mangled name wrap it, each identifier in it is looked up, and still whole:
`_ZN7ck_tile6kentryILi2ENS_13FmhaFwdKernelI…` holds `FmhaFwdKernel`. Triton's kernels have short plain names, so those must be the
name of the kernel itself. `_fwd_kernel` and `_bwd_kernel` are missing on purpose: attention, normalisation and linear attention all use them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from ..attention_ops import Direction
from .shapes import Implementation, Stage

_F, _B = Direction.FORWARD, Direction.BACKWARD
_I = Implementation


class Known(NamedTuple):
    """What a name says. implementation: `None` for what only writes a cache; source: the public file that defines the kernel."""

    implementation: Implementation | None
    direction: Direction | None
    stage: Stage
    source: str


def _rows(implementation: Implementation | None, source: str, *rows: tuple[Direction | None, Stage, str]) -> dict[str, Known]:
    return {name: Known(implementation, direction, stage, source) for direction, stage, names in rows for name in names.split()}


_HOPPER = "Dao-AILab/flash-attention, hopper/"
_FLASH = "Dao-AILab/flash-attention, csrc/flash_attn/src/"
_CK = "ROCm/composable_kernel, include/ck_tile/ops/fmha/kernel/"

WRAPPED: dict[str, Known] = {
    **_rows(_I.FLASH_1, "Dao-AILab/flash-attention v1, csrc/flash_attn/src/",
            (_F, Stage.MAIN, "fmha_fwd_loop_kernel"), (_B, Stage.MAIN, "fmha_bwd_dq_dk_dv_loop_kernel"), (_B, Stage.PREPARE, "fmha_bwd_dot_do_o_kernel")),
    **_rows(_I.FLASH_2, _FLASH,
            (_B, Stage.PREPARE, "flash_bwd_dot_do_o_kernel flash_bwd_clear_dkvaccum_kernel"), (_B, Stage.FINISH, "flash_bwd_convert_dq_kernel flash_bwd_convert_dkv_kernel")),
    **_rows(_I.FLASH_3, _HOPPER,
            (_F, Stage.MAIN, "FlashAttnFwdSm90 FlashAttnFwdSm80"), (_F, Stage.COMBINE, "FlashAttnFwdCombine"), (_F, Stage.PREPARE, "prepare_varlen_num_blocks_kernel"),
            (_B, Stage.MAIN, "FlashAttnBwdSm90 FlashAttnBwdSm80"), (_B, Stage.PREPARE, "FlashAttnBwdPreprocess"), (_B, Stage.FINISH, "FlashAttnBwdPostprocessConvertdQ")),
    **_rows(_I.FLASH_MLA, "deepseek-ai/FlashMLA, csrc/",
            (_F, Stage.MAIN, "flash_fwd_splitkv_mla_kernel flash_fwd_splitkv_mla_fp8_sparse_kernel sparse_attn_fwd_kernel sparse_attn_fwd_for_small_topk_kernel"),
            (_F, Stage.COMBINE, "flash_fwd_splitkv_mla_combine_kernel flash_fwd_mla_combine_kernel"), (_F, Stage.PREPARE, "get_mla_metadata_kernel")),
    **_rows(_I.CUTLASS, "NVIDIA/cutlass, examples/77_blackwell_fmha/",
            (_F, Stage.MAIN, "Sm100FmhaFwdKernelTmaWarpspecialized Sm100FmhaGenKernelWarpspecialized Sm100FmhaMlaKernelTmaWarpspecialized"),
            (_F, Stage.COMBINE, "Sm100FmhaMlaReductionKernel"),
            (_B, Stage.MAIN, "Sm100FmhaBwdKernelTmaWarpSpecialized Sm100FmhaBwdMlaKernelTmaWarpSpecialized"),
            (_B, Stage.PREPARE, "FmhaKernelBwdSumOdO"), (_B, Stage.FINISH, "FmhaKernelBwdConvert")),
    **_rows(_I.FLASHINFER, "flashinfer-ai/flashinfer, include/flashinfer/attention/",
            (_F, Stage.MAIN, "SinglePrefillWithKVCacheKernel BatchPrefillWithRaggedKVCacheKernel BatchPrefillWithPagedKVCacheKernel PrefillWithKVCacheKernel "
             "FP8PrefillWithKVCacheKernel SingleDecodeWithKVCacheKernel BatchDecodeWithPagedKVCacheKernel BatchDecodeWithPagedKVCacheKernelMLA "
             "BatchDecodeWithPagedKVCacheKernelMlaCuteSM80 BatchMLAPagedAttentionKernel BatchMLAPageAttentionHopperKernel PODWithKVCacheTensorKernel BatchPODWithKVCacheTensorKernel"),
            (_F, Stage.COMBINE, "MergeStateKernel MergeStateInPlaceKernel MergeStatesKernel MergeStatesLargeNumIndexSetsKernel AttentionSumKernel "
             "PersistentVariableLengthMergeStatesKernel PersistentVariableLengthAttentionSumKernel")),
    **_rows(None, "flashinfer-ai/flashinfer, include/flashinfer/page.cuh", (None, Stage.CACHE, "AppendPagedKVCacheKernel AppendPagedKVCacheDecodeKernel AppendPagedKVMlaCacheKernel")),
    **_rows(_I.TENSORRT_LLM, "NVIDIA/TensorRT-LLM, cpp/tensorrt_llm/kernels/", (_F, Stage.MAIN, "masked_multihead_attention_kernel"), (_F, Stage.COMBINE, "fmhaReductionKernel")),
    **_rows(_I.PAGED, "vllm-project/vllm, csrc/attention/ and csrc/rocm/attention.cu",
            (_F, Stage.MAIN, "paged_attention_v1_kernel paged_attention_v2_kernel paged_attention_ll4mi_QKV_mfma16_kernel paged_attention_ll4mi_QKV_mfma4_kernel paged_attention_ll4mi_QKV_kernel"),
            (_F, Stage.COMBINE, "paged_attention_v2_reduce_kernel paged_attention_ll4mi_reduce_kernel merge_attn_states_kernel")),
    **_rows(None, "vllm-project/vllm, csrc/cache_kernels.cu",
            (None, Stage.CACHE, "reshape_and_cache_kernel reshape_and_cache_flash_kernel concat_and_cache_mla_kernel")),
    **_rows(None, "sgl-project/sglang, jit_kernel/csrc/", (None, Stage.CACHE, "store_kvcache")),
    **_rows(_I.COMPOSABLE_KERNEL, _CK,
            (_F, Stage.MAIN, "FmhaFwdKernel FmhaFwdV3Kernel FmhaFwdSplitKVKernel FmhaFwdPagedKVKernel FmhaBatchPrefillWithPagedKVCacheKernel"),
            (_F, Stage.COMBINE, "FmhaFwdSplitKVCombineKernel"), (None, Stage.CACHE, "FmhaFwdAppendKVKernel"),
            (_B, Stage.MAIN, "FmhaBwdDQDKDVKernel"), (_B, Stage.PREPARE, "FmhaBwdOGradDotOKernel"), (_B, Stage.FINISH, "FmhaBwdConvertQGradKernel")),
    **_rows(_I.COMPOSABLE_KERNEL, "ROCm/composable_kernel, include/ck/tensor_operation/gpu/device/impl/",
            (_F, Stage.MAIN, "kernel_batched_gemm_softmax_gemm_xdl_cshuffle_v1 kernel_grouped_gemm_softmax_gemm_xdl_cshuffle_v1 kernel_batched_gemm_softmax_gemm_wmma_cshuffle")),
    **_rows(_I.COMPOSABLE_KERNEL, "ROCm/TransformerEngine, transformer_engine/common/ck_fused_attn/", (_B, Stage.FINISH, "dk_dv_reduce dk_dv_reduce_thd")),
    **_rows(_I.AITER, "ROCm/aiter, csrc/",
            (_F, Stage.COMBINE, "kn_mla_reduce_v1 kn_mla_reduce_v1_ps pa_decode_ps_reduce_hip_kernel"),
            (_F, Stage.PREPARE, "kn_get_mla_metadata_v1_0 kn_get_mla_metadata_v1_1 kn_get_mla_metadata_v1_2 kn_get_pa_metadata_v1_2"),
            (_F, Stage.MAIN, "pa_prefill_16mx1_16nx4_kernel pa_prefill_16mx8_32nx1_kernel")),
    **_rows(_I.SAGE, "thu-ml/SageAttention, csrc/",
            (_F, Stage.MAIN, "qk_int_sv_f16_attn_kernel qk_int_sv_f8_attn_kernel qk_int8_sv_f8_attn_kernel"), (_F, Stage.PREPARE, "TransposePadPermuteKernel")),
}
"""Identifiers of C++ kernels, wherever they stand in the name."""

PLAIN: dict[str, Known] = {
    **_rows(_I.UNIFIED, "vllm-project/vllm, vllm/v1/attention/ops/triton_unified_attention.py",
            (_F, Stage.MAIN, "kernel_unified_attention kernel_unified_attention_2d kernel_unified_attention_3d _unified_attention_gluon_kernel_2d _unified_attention_gluon_kernel_3d "
             "_kernel_unified_attention_sparse_mla_2d"), (_F, Stage.COMBINE, "reduce_segments")),
    **_rows(_I.PAGED, "vllm-project/vllm, vllm/v1/attention/ops/", (_F, Stage.MAIN, "kernel_paged_attention_2d _kernel_paged_attention_2d"), (_F, Stage.COMBINE, "merge_attn_states_kernel")),
    **_rows(_I.DECODE, "sgl-project/sglang, python/sglang/srt/layers/attention/triton_ops/decode_attention.py",
            (_F, Stage.MAIN, "_fwd_kernel_stage1 _fwd_grouped_kernel_stage1 _fwd_grouped_kernel_stage1_rope"), (_F, Stage.COMBINE, "_fwd_kernel_stage2")),
    **_rows(_I.EXTEND, "sgl-project/sglang, python/sglang/srt/layers/attention/triton_ops/extend_attention.py", (_F, Stage.MAIN, "_fwd_kernel_unified")),
    **_rows(_I.AOTRITON, "ROCm/aotriton, modules/flash/kernel/ (flash-attn's Triton kernels for ROCm have the same names)",
            (_F, Stage.MAIN, "attn_fwd"), (_B, Stage.MAIN, "bwd_kernel_dk_dv bwd_kernel_dq bwd_kernel_fuse"),
            (_B, Stage.PREPARE, "bwd_preprocess bwd_preprocess_varlen"), (_B, Stage.FINISH, "bwd_postprocess")),
    **_rows(_I.AITER, "ROCm/aiter, aiter/ops/triton/",
            (_F, Stage.MAIN, "_mla_decode_fwd_kernel _mla_decode_fwd_kernel_non_pipelined _mla_prefill_fwd_kernel _mla_prefill_fwd_kernel_non_pipelined la_persistent_paged "
             "_paged_attn_decode_v1_w_dot_kernel _paged_attn_decode_v1_wo_dot_kernel _paged_attn_decode_v2_w_dot_kernel _paged_attn_decode_v2_wo_dot_kernel "
             "paged_attention_decode_v2_gluon_dot_kernel paged_attention_decode_sliding_window"),
            (_F, Stage.COMBINE, "_mla_softmax_reducev_kernel _mla_decode_fwd_reduce_kernel _paged_attn_decode_v2_w_dot_reduce_kernel _paged_attn_decode_v2_wo_dot_reduce_kernel "
             "paged_attention_decode_v2_reduce_kernel paged_attention_decode_ps_reduce_kernel"),
            (_B, Stage.MAIN, "_bwd_kernel_dkdvdq_causal _bwd_kernel_dkdvdq_noncausal _bwd_kernel_fused_atomic_causal _bwd_kernel_fused_atomic_noncausal "
             "_bwd_kernel_split_dkdv_causal _bwd_kernel_split_dkdv_noncausal _bwd_kernel_split_dq_causal _bwd_kernel_split_dq_noncausal "
             "bwd_kernel_causal bwd_kernel_noncausal bwd_kernel_fused_causal bwd_kernel_fused_noncausal")),
    **_rows(_I.SAGE, "ROCm/aiter, aiter/ops/triton/ and thu-ml/SageAttention, sageattention/triton/",
            (_F, Stage.MAIN, "sage_fwd sage_fwd_mxfp4"),
            (_F, Stage.PREPARE, "sage_quant_kernel sage_quant_v_kernel sage_quant_v_amax_partial_kernel sage_quant_v_amax_finalize_kernel "
             "quant_per_block_int8_kernel quant_query_per_thread_int8_kernel quant_key_per_thread_int8_kernel")),
    **_rows(_I.XFORMERS, "facebookresearch/xformers, xformers/ops/fmha/triton_splitk.py",
            (_F, Stage.MAIN, "_fwd_kernel_splitK"), (_F, Stage.COMBINE, "_splitK_reduce _splitK_reduce_varargs")),
    **_rows(_I.TRITON, "triton-lang/triton, python/tutorials/06-fused-attention.py (SageAttention and others keep its names)",
            (_F, Stage.MAIN, "_attn_fwd"), (_B, Stage.MAIN, "_attn_bwd _attn_bwd_dkdv _attn_bwd_dk_dv _attn_bwd_dq"), (_B, Stage.PREPARE, "_attn_bwd_preprocess")),
    **_rows(_I.FLASH_MLA, "deepseek-ai/FlashMLA, csrc/", (_F, Stage.MAIN, "flash_fwd_splitkv_mla_kernel")),
    **_rows(_I.TENSORRT_LLM, "NVIDIA/TensorRT-LLM, cpp/kernels/xqa/", (_F, Stage.MAIN, "kernel_mha")),
}
"""Names of Triton kernels and of others that are nothing but a word: the whole name."""

_ASSEMBLY = "ROCm/aiter, hsa/ (the names of its assembly kernels)"
_AITER = (
    (re.compile(r"fmha_bwd_hd\d+(?:_\d+)?_odo_\w+"), Known(_I.AITER, _B, Stage.PREPARE, _ASSEMBLY)),
    (re.compile(r"fmha_bwd_hd\d+(?:_\d+)?_dq_(?:convert|shuffle)\w*"), Known(_I.AITER, _B, Stage.FINISH, _ASSEMBLY)),
    (re.compile(r"fmha_bwd_hd\d+\w*"), Known(_I.AITER, _B, Stage.MAIN, _ASSEMBLY)),
    (re.compile(r"fmha_(?:fwd_hd\d+|bf16_pertokenBf16_hd\d+)\w*"), Known(_I.AITER, _F, Stage.MAIN, _ASSEMBLY)),
    (re.compile(r"mla_(?:dec_stage1|pfl|a\d+w\d+)_\w+"), Known(_I.AITER, _F, Stage.MAIN, _ASSEMBLY)),
    (re.compile(r"pa_(?:bf16|fp16|decode|a\d+w\d+)_\w+|PA_A\d+W\d+_\w+"), Known(_I.AITER, _F, Stage.MAIN, _ASSEMBLY)),
)
_WORD = re.compile(r"[A-Za-z_]\w*")
_LENGTH = re.compile(r"(?<!\d)(\d{1,3})(?=[A-Za-z_])")
_HANGING = re.compile(r"(?: \[clone)? ?\.kd\]?$")
_TRITON_SUFFIX = re.compile(r"_\d[0-9cde]*$")
"""Older versions of Triton append how the arguments were specialised: `attn_fwd_0d1d2d3de`."""


def identifiers(name: str) -> Iterator[str]:
    """The identifiers in a name, in their order; of a mangled one those that are written with their length before them."""
    if not name.startswith("_Z"):
        yield from _WORD.findall(name)
        return
    for found in _LENGTH.finditer(name):
        text = name[found.end(): found.end() + int(found.group(1))]
        if len(text) == int(found.group(1)) and _WORD.fullmatch(text):
            yield text


def plain(name: str) -> str:
    """A kernel's name without what compilers hang on its end (`.kd`, ` [clone .kd]`)."""
    return _HANGING.sub("", name)


def look_up(name: str) -> tuple[str, Known] | None:
    """The identifier that decided, and what it says; `None` where no identifier of the name is known."""
    bare = plain(name)
    for text in (bare, _TRITON_SUFFIX.sub("", bare)):
        if text in PLAIN:
            return text, PLAIN[text]
    words = list(identifiers(bare))
    for word in words:
        if word in WRAPPED:
            return word, WRAPPED[word]
    if words[:1] == ["aiter"] and len(words) > 1:
        return next(((words[1], known) for pattern, known in _AITER if pattern.fullmatch(words[1])), None)
    return None
