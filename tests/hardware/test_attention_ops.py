"""Ops by whole name: whose they are, which pass, and what their places are called."""

from __future__ import annotations

import pytest

from reportgen.hardware.attention_ops import DISPATCHED, OPS, Backend, Direction, Kind, find
from variants.backends import BACKENDS, BY_OP

F, B = Direction.FORWARD, Direction.BACKWARD


@pytest.mark.parametrize("name, kind, backend, direction", [
    ("aten::scaled_dot_product_attention", Kind.SDPA, None, F),
    ("aten::_scaled_dot_product_flash_attention", Kind.BACKEND, Backend.FLASH, F),
    ("aten::_efficient_attention_backward", Kind.BACKEND, Backend.EFFICIENT, B),
    ("aten::_scaled_dot_product_cudnn_attention_backward", Kind.BACKEND, Backend.CUDNN, B),
    ("aten::_scaled_dot_product_attention_math", Kind.BACKEND, Backend.MATH, F),
    ("torch_attn::_varlen_attn_backward", Kind.VARLEN, None, B),
    ("flash_attn::_flash_attn_varlen_forward", Kind.FLASH_ATTN, None, F),
    ("FlashAttnFuncBackward", Kind.FLASH_ATTN, None, B),
    ("_flash_attn2_588b404::varlen_fwd", Kind.FLASH_ATTN, None, F),
    ("xformers_flash::flash_bwd", Kind.XFORMERS, None, B),
    ("FusedAttnFunc", Kind.TRANSFORMER_ENGINE, None, F),
    ("vllm::unified_attention_with_output", Kind.VLLM, None, F),
    ("sglang_profiler::attention_paged_attention_ragged_100", Kind.SGLANG, None, F),
    ("aiter::fmha_v3_fwd", Kind.AITER, None, F),
    ("aiter::mha_bwd", Kind.AITER, None, B),
    ("flashinfer::batch_prefill_with_kv_cache_dtype_q_bf16_paged_run", Kind.FLASHINFER, None, F),
    ("sageattention::qk_int8_sv_f16_accum_f32_attn", Kind.SAGE, None, F),
    ("trtllm::attn_custom_op_inplace", Kind.TENSORRT_LLM, None, F),
])
def test_whose_op_and_which_pass(name, kind, backend, direction):
    found = find(name)
    assert (found.kind, found.backend, found.direction) == (kind, backend, direction)


@pytest.mark.parametrize("name", [
    "triton_poi_fused__scaled_dot_product_flash_attention_cat_transpose_view_10", "aten::softmax", "aten::_fused_sdp_choice", "vllm::unified_kv_cache_update",
    "flashinfer::rmsnorm", "aiter::fused_qk_rope_concat_and_cache_mla", "xaten::scaled_dot_product_attention", "vllm::gdn_attention_core", "",
])
def test_what_is_beside_attention_is_not_attention(name):
    assert find(name) is None


def test_the_places_of_sdpa_are_those_of_its_schema():
    assert OPS["aten::scaled_dot_product_attention"].arguments == ("query", "key", "value", "mask", "dropout", "causal", "scale", "gqa")
    assert OPS["aten::_scaled_dot_product_efficient_attention"].arguments.index("dropout") == 5


def test_a_backends_op_is_written_down_once():
    assert [BACKENDS[name].ops[0] for name in ("math", "efficient", "flash", "cudnn")] == [
        "aten::_scaled_dot_product_attention_math", "aten::_scaled_dot_product_efficient_attention",
        "aten::_scaled_dot_product_flash_attention", "aten::_scaled_dot_product_cudnn_attention"]
    assert set(BY_OP) == set(DISPATCHED.values()) and all(op in OPS for op in BY_OP)


SCHEMA = {"query": "query", "key": "key", "value": "value", "attn_mask": "mask", "attn_bias": "mask", "bias": "mask", "dropout_p": "dropout", "is_causal": "causal", "scale": "scale", "enable_gqa": "gqa"}


@pytest.mark.parametrize("name", [name for name in OPS if name.startswith("aten::") and "mps" not in name])
def test_the_places_are_those_of_torchs_own_schema(name):
    torch = pytest.importorskip("torch")
    overloads = torch._C._jit_get_schemas_for_operator(name)
    if not overloads:
        pytest.skip("this torch has no such op")
    places = [SCHEMA.get(argument.name, "") for argument in overloads[0].arguments]
    told = list(OPS[name].arguments)
    assert [given for given, place in zip(told, places) if given] == [place for given, place in zip(told, places) if given]
