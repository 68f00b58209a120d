"""Math on CUDA cores: every way in which its claims can come out, with the evidence turned round."""

from __future__ import annotations

from dataclasses import replace

import pytest
from builders import activities, facts, variant
from case_tables import outcome
from counted import h200 as counters_h200

from reportgen.analysis import CounterFacts
from reportgen.findings.math_cuda_cores import FINDING
from reportgen.hardware import kernel_names


def counted(run, name, flop):
    """The hardware counted `flop` Tensor Core operations in each matmul of a variant."""
    return activities(run, name, lambda a: replace(a, counters=CounterFacts(tensor_core_flop=flop)) if a.role == "matmul" else a)


def no_casts(run):
    ops = tuple(op for op in run.variants["sdpa_math"].ops if op.name != "aten::_to_copy")
    return variant(run, "sdpa_math", ops=ops)


def named(run, name):
    """`run` whose math matmuls carry another name."""
    return activities(run, "sdpa_math", lambda a: replace(a, name=name, decoded=kernel_names.decode(name)) if a.role == "matmul" else a)


def tf32():
    return counted(facts(settings={"float32_matmul_precision": "high"}), "sdpa_math", 2.0**34)


CASES_REACHED = {
    ("math-no-tensor-cores", "as-said"): (
        facts,
        "Math's matmuls run in FP32 without Tensor Cores (`xmma gemm FP32 128x128x8 (FMA)` and `xmma gemm FP32 64x64x8 (FMA)`), the naive ones in bfloat16 on Tensor Cores (`nvjet bf16 256x128 TNT` and `nvjet bf16 64x512 NNT`)."),
    ("math-no-tensor-cores", "math-on-tensor-cores"): (
        tf32,
        "Math's matmuls do run on Tensor Cores: `xmma gemm FP32 128x128x8 (FMA)` and `xmma gemm FP32 64x64x8 (FMA)`."),
    ("math-no-tensor-cores", "math-not-fp32"): (
        lambda: no_casts(facts()),
        "Math does not cast its inputs up, so its matmuls are not FP32 (`xmma gemm FP32 128x128x8 (FMA)` and `xmma gemm FP32 64x64x8 (FMA)`); they still run without Tensor Cores."),
    ("math-no-tensor-cores", "naive-without-tensor-cores"): (
        lambda: counted(facts(), "naive_inplace", 0.0),
        "The naive matmuls run without Tensor Cores too (`nvjet bf16 256x128 TNT` and `nvjet bf16 64x512 NNT`), like math's (`xmma gemm FP32 128x128x8 (FMA)` and `xmma gemm FP32 64x64x8 (FMA)`)."),
    ("math-no-tensor-cores", "contradicted"): (
        lambda: counted(named(facts(), "cutlass_80_tensorop_s1688gemm_256x128_16x3_tn_align4"), "sdpa_math", 0.0),
        "Not measurable: the name of `cutlass tensorop 256x128` says TF32, but none of its operations was counted on Tensor Cores, so its unit is unknown."),
    ("math-no-tensor-cores", "the-other-way-round"): (
        lambda: counted(tf32(), "naive_inplace", 0.0),
        "It is the other way round: math's matmuls run on Tensor Cores (`xmma gemm FP32 128x128x8 (FMA)` and `xmma gemm FP32 64x64x8 (FMA)`), the naive ones do not (`nvjet bf16 256x128 TNT` and `nvjet bf16 64x512 NNT`)."),
    ("math-no-tensor-cores", "no-matmul"): (
        lambda: activities(facts(), "sdpa_math", lambda a: None if a.role == "matmul" else a),
        "Not measurable: the trace of SDPA math shows no matmul."),
    ("math-no-tensor-cores", "unknown"): (
        lambda: facts("mi300x"),
        "Not measurable: the name of `Tensile fp32 128x128x16` does not say whether it uses the matrix cores of this GPU (it has no Tensor Cores), and no counters were recorded."),
    ("math-upcast", "upcast"): (
        facts,
        "Math first casts its bfloat16 inputs to FP32: 3 casts per forward, each from 16 MiB to 32 MiB."),
    ("math-upcast", "no-upcast"): (
        lambda: no_casts(facts()),
        "Math computes in bfloat16: there is no cast before its first matmul."),
}

# claim → device → (verdict, case)
ON_DEVICES = {
    "math-no-tensor-cores": {
        "h200": ("holds", "as-said"),
        "a100": ("holds", "as-said"),
        "t4": ("not measurable", "other-dtype"),
        "rtx4090": ("holds", "as-said"),
        "b200": ("holds", "as-said"),
        "mi300x": ("not measurable", "unknown"),
        "cpu": ("not measurable", "no-gpu-lane"),
    },
    "math-upcast": {
        "h200": ("holds", "upcast"),
        "a100": ("holds", "upcast"),
        "t4": ("not measurable", "other-dtype"),
        "rtx4090": ("holds", "upcast"),
        "b200": ("holds", "upcast"),
        "mi300x": ("holds", "upcast"),
        "cpu": ("holds", "upcast"),
    },
}


def test_a_count_outweighs_a_name():
    """Where operations were counted, the name's reason is not given as one."""
    said = outcome("math-no-tensor-cores", counted(facts(), "sdpa_math", 0.0))
    assert (said.verdict, said.case) == ("holds", "as-said")
    assert said.because[0] == "Math, counted: no operation on Tensor Cores."
    assert said.because[1].startswith("Naive in place, from the names `nvjet bf16 256x128 TNT`")


def test_the_tf32_switch_is_named_only_where_it_is_on():
    sentence = "FP32 matmuls may use TF32 in this run (`float32_matmul_precision` is `high`)."
    assert sentence in outcome("math-no-tensor-cores", tf32()).because
    assert sentence not in outcome("math-no-tensor-cores", counted(facts(), "sdpa_math", 2.0**34)).because


def test_the_cast_that_is_dropped_is_found_between_softmax_and_the_last_matmul():
    assert outcome("math-upcast", facts()).because == (
        "The casts up take 76.1 µs of 2.58 ms GPU time in the trace; a score matrix is then 512 MiB instead of 256 MiB, so a pass that reads it and writes it moves twice the bytes.",
        "Casts back down take 196 µs more.",
        "One of those (184 µs) casts all attention weights back for a second result that `scaled_dot_product_attention` drops.",
        "Wider elements are not the reason: applying the mask requests 1 GiB instead of 513 MiB and takes 1.10× the time and softmax requests 1 GiB instead of 512 MiB "
        "and takes 0.983× the time.")


def test_what_was_not_measured_is_left_to_the_reader():
    assert outcome("math-upcast", facts()).advice == (
        "`torch.backends.cuda.allow_fp16_bf16_reduction_math_sdp(True)` keeps math in 16 bits; check speed and accuracy. A fused "
        "backend needs no such choice: it accumulates in FP32 on chip.")


def test_without_a_gpu_lane_the_casts_are_seen_as_ops():
    said = outcome("math-upcast", facts("cpu"))
    assert said.headline == "Math first casts its bfloat16 inputs to FP32: 3 casts per forward, each from 128 KiB to 256 KiB."
    assert said.because == ()
    assert said.caveats[0] == "Without a GPU lane the casts appear as CPU ops only, without their GPU time."


def test_rates_stand_beside_the_ceiling_of_their_own_type():
    """2 · 8 · 16 · 1024² · 64 FLOP ÷ 82.7 µs ≈ 208 TFLOP/s; ceilings 788 and 50 TFLOP/s."""
    chart = FINDING.evidence(facts()).charts[0]
    assert chart.data["reference"] == [50.0, 50.0, 788.0, 788.0]
    assert chart.data["values"][3] == pytest.approx(208, rel=0.01)
    assert "Naive in place: q · kᵀ 208 TFLOP/s, 26 % of its ceiling" in chart.alt


def test_casts_of_scalars_are_no_casts_of_the_inputs():
    """On a CPU `mul` casts its scalar as well: five `_to_copy` before the first matmul, of which three cast q, k and v."""
    ops = facts("cpu").variants["sdpa_math"].ops
    before = [op.name for op in ops][:[op.name for op in ops].index("aten::bmm")]
    assert before.count("aten::_to_copy") == 5
    assert "3 casts per forward" in outcome("math-upcast", facts("cpu")).headline


def test_counted_bytes_show_what_the_cast_costs():
    """The first matmul writes 512 MiB of FP32 scores beside 256 MiB of bf16 ones; read from the recorded table."""
    said = outcome("math-upcast", counters_h200())
    assert said.because[3].startswith("Counted: math's first matmul writes 507 MiB to DRAM, that of naive in place 251 MiB (2.02×).")
    assert said.because[4] == "Counted over the whole forward: 5.90 GiB of DRAM traffic in math, 2.01 GiB in naive in place."
    assert not any("ounted" in sentence for sentence in outcome("math-upcast", facts()).because)


def test_an_exact_count_is_called_exact_and_any_other_is_not():
    said = outcome("math-no-tensor-cores", counters_h200())
    assert said.because == ("Math, counted: no operation on Tensor Cores.", "Naive in place, counted: 34.4 GFLOP on Tensor Cores.",
                            "That is 17.2 GFLOP per naive matmul, exactly 2·B·H·S²·D.")
    assert not any("last operation" in sentence for sentence in outcome("math-no-tensor-cores", counted(facts(), "naive_inplace", 2.0**33)).because)
