"""Which ops compute attention: what they belong to, which backend they are, and what their arguments are called.

A trace holds an op's arguments by their place alone, so each op brings the names of its places along. Names are those of the libraries' own
registrations (`TORCH_LIBRARY`, `torch.library.custom_op`, classes of `torch.autograd.Function`), read in their public sources.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum


class Kind(Enum):
    """How attention is computed at a call site."""

    SDPA = "scaled_dot_product_attention"
    BACKEND = "a backend's own op"
    FLASH_ATTN = "flash-attn"
    XFORMERS = "xformers"
    TRANSFORMER_ENGINE = "TransformerEngine"
    VLLM = "vLLM"
    SGLANG = "SGLang"
    AITER = "AITER"
    FLASHINFER = "FlashInfer"
    TENSORRT_LLM = "TensorRT-LLM"
    VARLEN = "torch's varlen_attn"
    SAGE = "SageAttention"
    FLEX = "flex_attention"
    BY_HAND = "written by hand"
    KERNEL = "a kernel that is known by its name alone"
    UNKNOWN = "an op that is not known"


class Backend(Enum):
    """Which of the implementations behind `scaled_dot_product_attention` ran."""

    FLASH = "flash"
    EFFICIENT = "efficient"
    CUDNN = "cuDNN"
    MATH = "math"
    OVERRIDEABLE = "overrideable"
    CPU_FLASH = "flash on the CPU"


class Direction(Enum):
    """Which pass of attention."""

    FORWARD = "forward"
    BACKWARD = "backward"


@dataclass(frozen=True)
class AttentionOp:
    """An op that computes attention.

    arguments: the names of its places: query, key, value, mask, dropout, causal, scale, gqa; "" for any other
    """

    kind: Kind
    backend: Backend | None = None
    direction: Direction = Direction.FORWARD
    arguments: tuple[str, ...] = ()


DISPATCHED = {
    Backend.MATH: "aten::_scaled_dot_product_attention_math",
    Backend.EFFICIENT: "aten::_scaled_dot_product_efficient_attention",
    Backend.FLASH: "aten::_scaled_dot_product_flash_attention",
    Backend.CPU_FLASH: "aten::_scaled_dot_product_flash_attention_for_cpu",
    Backend.CUDNN: "aten::_scaled_dot_product_cudnn_attention",
    Backend.OVERRIDEABLE: "aten::_scaled_dot_product_fused_attention_overrideable",
}
"""The op that shows that a backend ran; by whole name. The last is what a device of another vendor puts in."""

SDPA_OP = "aten::scaled_dot_product_attention"
"""The one call, whatever runs below it."""

_QKV = ("query", "key", "value")
_BACK = ("", *_QKV)
_FLASH_ATTN = (*_QKV, "dropout", "scale", "causal")
_VARLEN = (*_QKV, "", "", "", "", "dropout", "scale", "causal")


def _backend(backend: Backend, arguments: tuple[str, ...], direction: Direction = Direction.FORWARD) -> AttentionOp:
    return AttentionOp(Kind.BACKEND, backend, direction, arguments)


def _of(kind: Kind, names: str, arguments: tuple[str, ...] = _QKV, direction: Direction = Direction.FORWARD) -> dict[str, AttentionOp]:
    return {name: AttentionOp(kind, None, direction, arguments) for name in names.split()}


_BACKWARD = Direction.BACKWARD
OPS: dict[str, AttentionOp] = {
    SDPA_OP: AttentionOp(Kind.SDPA, None, Direction.FORWARD, (*_QKV, "mask", "dropout", "causal", "scale", "gqa")),
    DISPATCHED[Backend.FLASH]: _backend(Backend.FLASH, (*_QKV, "dropout", "causal", "", "scale")),
    DISPATCHED[Backend.CPU_FLASH]: _backend(Backend.CPU_FLASH, (*_QKV, "dropout", "causal", "mask", "scale")),
    DISPATCHED[Backend.EFFICIENT]: _backend(Backend.EFFICIENT, (*_QKV, "mask", "", "dropout", "causal", "scale")),
    DISPATCHED[Backend.CUDNN]: _backend(Backend.CUDNN, (*_QKV, "mask", "", "dropout", "causal", "", "scale")),
    DISPATCHED[Backend.OVERRIDEABLE]: _backend(Backend.OVERRIDEABLE, (*_QKV, "mask", "dropout", "causal", "", "scale")),
    DISPATCHED[Backend.MATH]: _backend(Backend.MATH, (*_QKV, "mask", "dropout", "causal", "", "scale", "gqa")),
    "aten::_scaled_dot_product_attention_math_for_mps": _backend(Backend.MATH, (*_QKV, "mask", "dropout", "causal", "", "scale")),
    "aten::_flash_attention_forward": _backend(Backend.FLASH, _QKV),
    "aten::_efficient_attention_forward": _backend(Backend.EFFICIENT, (*_QKV, "mask")),
    "aten::_cudnn_attention_forward": _backend(Backend.CUDNN, (*_QKV, "mask")),
    "aten::_scaled_dot_product_flash_attention_backward": _backend(Backend.FLASH, _BACK, _BACKWARD),
    "aten::_scaled_dot_product_flash_attention_for_cpu_backward": _backend(Backend.CPU_FLASH, _BACK, _BACKWARD),
    "aten::_scaled_dot_product_efficient_attention_backward": _backend(Backend.EFFICIENT, (*_BACK, "mask"), _BACKWARD),
    "aten::_scaled_dot_product_cudnn_attention_backward": _backend(Backend.CUDNN, _BACK, _BACKWARD),
    "aten::_scaled_dot_product_fused_attention_overrideable_backward": _backend(Backend.OVERRIDEABLE, _BACK, _BACKWARD),
    "aten::_flash_attention_backward": _backend(Backend.FLASH, _BACK, _BACKWARD),
    "aten::_efficient_attention_backward": _backend(Backend.EFFICIENT, _BACK, _BACKWARD),
    "aten::_cudnn_attention_backward": _backend(Backend.CUDNN, _BACK, _BACKWARD),
    **_of(Kind.VARLEN, "torch_attn::_varlen_attn"),
    **_of(Kind.VARLEN, "torch_attn::_varlen_attn_backward", _BACK, _BACKWARD),
    **_of(Kind.FLASH_ATTN, "flash_attn::_flash_attn_forward", _FLASH_ATTN),
    **_of(Kind.FLASH_ATTN, "flash_attn::_flash_attn_varlen_forward", _VARLEN),
    **_of(Kind.FLASH_ATTN, "flash_attn_3::fwd flash_attn_3::_flash_attn_forward _diffusers_flash_attn_3::_flash_attn_forward flash_attn_4::_flash_attn_forward flash_attn_4::attn_fwd"),
    **_of(Kind.FLASH_ATTN, "FlashAttnFunc FlashAttnVarlenFunc FlashAttnQKVPackedFunc FlashAttnVarlenQKVPackedFunc FlashAttnKVPackedFunc FlashAttnVarlenKVPackedFunc", ()),
    **_of(Kind.FLASH_ATTN, "flash_attn_3::fwd_combine", ()),
    **_of(Kind.FLASH_ATTN, "flash_attn::_flash_attn_backward flash_attn::_flash_attn_varlen_backward flash_attn_3::bwd flash_attn_3::_flash_attn_backward flash_attn_4::attn_bwd", _BACK, _BACKWARD),
    **_of(Kind.FLASH_ATTN, "FlashAttnFuncBackward FlashAttnVarlenFuncBackward FlashAttnQKVPackedFuncBackward FlashAttnVarlenQKVPackedFuncBackward FlashAttnKVPackedFuncBackward "
          "FlashAttnVarlenKVPackedFuncBackward", (), _BACKWARD),
    **_of(Kind.XFORMERS, "xformers::efficient_attention_forward_cutlass xformers::efficient_attention_forward_ck xformers::efficient_attention_forward_decoder_splitk_ck "
          "xformers_flash::flash_fwd xformers_flash3::flash_fwd xformers::fmha_merge_attentions_varargs"),
    **_of(Kind.XFORMERS, "xformers::efficient_attention_backward_cutlass xformers::efficient_attention_backward_ck xformers_flash::flash_bwd xformers_flash3::flash_bwd "
          "xformers::merge_attentions_varargs_backward", _BACK, _BACKWARD),
    **_of(Kind.TRANSFORMER_ENGINE, "FusedAttnFunc FusedAttnFunc_qkvpacked FusedAttnFunc_kvpacked FusedAttentionWithScoreModFunc AttnFuncWithCPAndKVP2P AttnFuncWithCPAndKVAllGather "
          "AttnFuncWithCPAndQKVOA2A", ()),
    **_of(Kind.TRANSFORMER_ENGINE, "FusedAttnFuncBackward FusedAttnFunc_qkvpackedBackward FusedAttnFunc_kvpackedBackward FusedAttentionWithScoreModFuncBackward "
          "AttnFuncWithCPAndKVP2PBackward AttnFuncWithCPAndKVAllGatherBackward AttnFuncWithCPAndQKVOA2ABackward", (), _BACKWARD),
    **_of(Kind.VLLM, "vllm::unified_attention vllm::unified_attention_with_output _vllm_fa2_C::varlen_fwd _vllm_fa2_C::fwd_kvcache _vllm_fa3_C::fwd"),
    **_of(Kind.VLLM, "vllm::unified_mla_attention vllm::unified_mla_attention_with_output _C::merge_attn_states", ()),
    **_of(Kind.VLLM, "_C::paged_attention_v1 _C::paged_attention_v2 _rocm_C::paged_attention", ()),
    **_of(Kind.SGLANG, "sglang::unified_attention_with_output sgl_kernel::fwd"),
    **_of(Kind.SGLANG, "sgl_kernel::cutlass_mla_decode sgl_kernel::fwd_kvcache_mla sgl_kernel::merge_state sgl_kernel::merge_state_v2", ()),
    **_of(Kind.AITER, "aiter::mha_fwd aiter::fmha_v3_fwd aiter::wrapper_fmha_v3_fwd aiter::_flash_attn_forward", _FLASH_ATTN),
    **_of(Kind.AITER, "aiter::mha_varlen_fwd aiter::wrapper_mha_varlen_fwd aiter::fmha_v3_varlen_fwd aiter::wrapper_fmha_v3_varlen_fwd aiter::_flash_attn_varlen_forward aiter::mha_batch_prefill"),
    **_of(Kind.AITER, "aiter::mha_bwd aiter::fmha_v3_bwd aiter::wrapper_fmha_v3_bwd aiter::_flash_attn_backward aiter::mha_varlen_bwd aiter::wrapper_mha_varlen_bwd "
          "aiter::fmha_v3_varlen_bwd aiter::wrapper_fmha_v3_varlen_bwd aiter::_flash_attn_varlen_backward", _BACK, _BACKWARD),
    **_of(Kind.AITER, "aiter::mla_decode_stage1_asm_fwd aiter::mla_prefill_asm_fwd aiter::mla_prefill_ps_asm_fwd aiter::mla_reduce_v1 aiter::pa_fwd_asm aiter::pa_ps_fwd_asm aiter::pa_fwd_naive "
          "aiter::pa_decode_gluon aiter::paged_attention_v1 aiter::paged_attention_ragged aiter::paged_attention_rocm aiter::v4_attention_with_output", ()),
    **_of(Kind.FLASHINFER, "flashinfer::merge_state flashinfer::merge_state_in_place flashinfer::merge_states flashinfer::sparse_mla_sm120_paged_attention", ()),
    **_of(Kind.TENSORRT_LLM, "trtllm::attn_custom_op_inplace trtllm::attention trtllm::attention_inplace", ()),
}

_PATTERNS = (
    (re.compile(r"flashinfer::\w+?_(?:paged_|ragged_)?run"), AttentionOp(Kind.FLASHINFER)),
    (re.compile(r"sageattention\w*::qk_int8_sv_f\d+_\w*attn\w*"), AttentionOp(Kind.SAGE, arguments=_QKV)),
    (re.compile(r"sglang_profiler::attention_\w+"), AttentionOp(Kind.SGLANG)),
    (re.compile(r"_(?:vllm_)?flash_attn[23]?_\w+::(?:mha_)?(?:varlen_)?fwd(?:_kvcache)?"), AttentionOp(Kind.FLASH_ATTN, arguments=_QKV)),
    (re.compile(r"_(?:vllm_)?flash_attn[23]?_\w+::(?:mha_)?(?:varlen_)?bwd"), AttentionOp(Kind.FLASH_ATTN, direction=_BACKWARD, arguments=_BACK)),
)
"""Ops whose names hold a number of a build or a layer: FlashInfer's modules, Sage's kernels, what SGLang marks for the profiler, builds of flash-attn from a hub."""

CACHES = frozenset(("vllm::unified_kv_cache_update", "_C_cache_ops::reshape_and_cache", "_C_cache_ops::reshape_and_cache_flash", "_C_cache_ops::concat_and_cache_mla",
                    "sglang::store_cache", "sgl_kernel::store_kv_cache", "flashinfer::append_paged_kv_cache", "flashinfer::append_paged_mla_kv_cache"))
"""Ops that write keys and values into a cache: beside attention, not part of it."""


def find(name: str) -> AttentionOp | None:
    """What the op of this name computes, or `None` where it is not attention. Whole names only: a fused kernel's op is named after what stands beside it."""
    found = OPS.get(name)
    if found is None and "::" in name and not name.startswith("aten::"):
        return next((op for pattern, op in _PATTERNS if pattern.fullmatch(name)), None)
    return found
