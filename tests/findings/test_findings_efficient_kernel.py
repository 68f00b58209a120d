"""Efficient's one kernel: every case, every device, and what the page shows."""

from __future__ import annotations

from builders import facts, variant
from turned import counted, renamed, with_extra_kernel

from reportgen.findings.efficient_kernel import FINDING
from reportgen.questions.evaluate import evaluate

CLAIMS = {claim.id: claim for claim in FINDING.claims}

CASES_REACHED = {
    ("efficient-one-kernel", "one-kernel"): (
        lambda: facts(),
        "SDPA efficient is one kernel per forward: `fmha_cutlassF bf16 64x64 sm80`, in bfloat16 on Tensor Cores."),
    ("efficient-one-kernel", "other-count"): (
        lambda: with_extra_kernel(facts(), "sdpa_efficient", name="mask_pad"),
        "SDPA efficient launches 2 kernels per forward, not one: `fmha_cutlassF bf16 64x64 sm80` and `mask_pad`."),
    ("efficient-one-kernel", "cuda-cores"): (
        lambda: counted(facts(), "sdpa_efficient", tensor_core_flop=0),
        "SDPA efficient is one kernel per forward, `fmha_cutlassF bf16 64x64 sm80`, but not on Tensor Cores."),
    ("efficient-one-kernel", "other-type"): (
        lambda: renamed(facts(), "sdpa_efficient", "fmha_cutlassF_f16_aligned_64x64_rf_sm80"),
        "SDPA efficient is one kernel per forward, `fmha_cutlassF f16 64x64 sm80`, but its name says float16 and the inputs are "
        "bfloat16."),
    ("efficient-one-kernel", "name-is-silent"): (
        lambda: facts("mi300x"),
        "Not measurable in full: SDPA efficient is one kernel per forward, but its name, `attn_fwd`, does not say in which type "
        "it computes or whether it uses the matrix cores of this GPU (it has no Tensor Cores)."),
    ("efficient-one-kernel", "other-dtype"): (
        lambda: facts("t4"),
        "Not measurable: the claim is about bfloat16, and this run computes in float16; SDPA efficient launches 1 kernel per "
        "forward here."),
}

# claim → device → (verdict, case)
ON_DEVICES = {
    "efficient-one-kernel": {
        "h200": ("holds", "one-kernel"),
        "a100": ("holds", "one-kernel"),
        "t4": ("not measurable", "other-dtype"),
        "rtx4090": ("holds", "one-kernel"),
        "b200": ("holds", "one-kernel"),
        "mi300x": ("not measurable", "name-is-silent"),
        "cpu": ("not measurable", "unavailable"),
    },
}


def test_a_memset_beside_the_kernel_is_named_and_not_counted():
    """cuBLAS and cuDNN issue small memsets; the sentence about kernels must not hide them."""
    run = variant(facts(), "sdpa_efficient", memsets=2)
    outcome = evaluate(CLAIMS["efficient-one-kernel"], run)
    assert outcome.verdict == "holds"
    assert "one kernel per forward beside 2 memsets:" in outcome.headline


def test_counted_operations_outweigh_the_name():
    """The name says Tensor Cores; a counter that read 0 there decides against it."""
    assert evaluate(CLAIMS["efficient-one-kernel"], counted(facts(), "sdpa_efficient", tensor_core_flop=0)).verdict == "differs"
    outcome = evaluate(CLAIMS["efficient-one-kernel"], counted(facts(), "sdpa_efficient", tensor_core_flop=18_253_611_008))
    assert outcome.because[0] == "Tensor Cores: the hardware counted 18,253,611,008 operations there."


def test_the_chart_says_every_count():
    chart = FINDING.evidence(facts()).charts[0]
    assert chart.alt == "Kernels per forward: SDPA efficient 1; SDPA flash 1; SDPA cuDNN 1; Naive 5; Naive in place 5; SDPA math 20."
    assert chart.data["values"] == [1, 1, 1, 5, 5, 20]


def test_another_workload_is_named_in_a_caveat():
    """Counts may be judged on any workload, but the reader must know which."""
    from reportgen.run.workload import PRESETS

    outcome = evaluate(CLAIMS["efficient-one-kernel"], facts(workload=PRESETS["long"]))
    assert outcome.caveats == ("Judged on another workload than the article's: batch 2, heads 16, sequence 4,096, head dimension 64, bfloat16, causal.",)
