"""cuDNN's kernel: every case, every device, and what counts as a transpose."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from builders import facts, no_lane, unavailable, variant
from turned import renamed, with_extra_kernel

from reportgen.analysis import OpFacts, published
from reportgen.findings.cudnn_kernel import FINDING
from reportgen.hardware.backends import conditions
from reportgen.pages.environment import environment
from reportgen.questions.evaluate import evaluate

CLAIMS = {claim.id: claim for claim in FINDING.claims}
SDPA = "aten::scaled_dot_product_attention"


def transposed(run, name, count):
    """`run` where a variant's forward has `count` transposes under its SDPA op and one before it."""
    ops = [OpFacts("aten::transpose", ("aten::transpose",), 0.0, 1e-6, 1e-6), OpFacts(SDPA, (SDPA,), 1e-6, 9e-6, 1e-6)]
    ops += [OpFacts("aten::transpose", (SDPA, "aten::transpose"), 2e-6, 1e-6, 1e-6)] * count
    return variant(run, name, ops=tuple(ops), op_count=len(ops), transposes=count + 1)


CASES_REACHED = {
    ("cudnn-one-kernel", "one-generated"): (
        lambda: facts(),
        "SDPA cuDNN is one kernel per forward beside 1 memset (4 B), generated for this problem: `cudnn sdpa flash_fprop "
        "64x128x64`."),
    ("cudnn-one-kernel", "other-count"): (
        lambda: with_extra_kernel(facts(), "sdpa_cudnn", name="convert_layout"),
        "SDPA cuDNN launches 2 kernels per forward beside 1 memset (4 B), not one: `cudnn sdpa flash_fprop 64x128x64` and "
        "`convert_layout`."),
    ("cudnn-one-kernel", "not-generated"): (
        lambda: renamed(facts(), "sdpa_cudnn", "fmha_cutlassF_bf16_aligned_64x64_rf_sm80"),
        "SDPA cuDNN is one kernel per forward beside 1 memset (4 B), but its name does not say that it was generated: "
        "`fmha_cutlassF bf16 64x64 sm80` (memory-efficient attention)."),
    ("cudnn-one-kernel", "unknown-name"): (
        lambda: renamed(facts(), "sdpa_cudnn", "mystery_kernel"),
        "Not measurable in full: SDPA cuDNN is one kernel per forward beside 1 memset (4 B), but its name, `mystery_kernel`, "
        "does not say where it comes from."),
    ("cudnn-no-transposes", "none-and-four"): (
        lambda: facts(),
        "cuDNN's forward has no `aten::transpose`; flash's has 4, efficient's 4."),
    ("cudnn-no-transposes", "others-not-four"): (
        lambda: transposed(facts(), "sdpa_flash", 3),
        "cuDNN's forward has no `aten::transpose`, but the others do not have 4 each: flash's has 3, efficient's 4."),
    ("cudnn-no-transposes", "cudnn-transposes"): (
        lambda: transposed(facts(), "sdpa_cudnn", 2),
        "cuDNN's forward has 2 `aten::transpose`; flash's has 4, efficient's 4."),
}

# claim → device → (verdict, case)
ON_DEVICES = {
    "cudnn-one-kernel": {
        "h200": ("holds", "one-generated"),
        "a100": ("holds", "one-generated"),
        "t4": ("not measurable", "unavailable"),
        "rtx4090": ("holds", "one-generated"),
        "b200": ("holds", "one-generated"),
        "mi300x": ("not measurable", "unavailable"),
        "cpu": ("not measurable", "unavailable"),
    },
    "cudnn-no-transposes": {
        "h200": ("holds", "none-and-four"),
        "a100": ("holds", "none-and-four"),
        "t4": ("not measurable", "unavailable"),
        "rtx4090": ("holds", "none-and-four"),
        "b200": ("holds", "none-and-four"),
        "mi300x": ("not measurable", "unavailable"),
        "cpu": ("not measurable", "unavailable"),
    },
}


def test_only_transposes_under_the_sdpa_op_count():
    """One that the caller wrote in front of SDPA is not SDPA's."""
    run = transposed(facts(), "sdpa_cudnn", 0)
    assert run.variants["sdpa_cudnn"].transposes == 1
    assert evaluate(CLAIMS["cudnn-no-transposes"], run).case == "none-and-four"


def test_transposes_are_called_views_only_where_the_trace_shows_that_none_launched():
    """Without a GPU lane nobody saw that they launch nothing; the count of ops stands."""
    assert evaluate(CLAIMS["cudnn-no-transposes"], facts()).because == (
        "They are views: CPU ops that write new strides and launch no kernel here.",)
    outcome = evaluate(CLAIMS["cudnn-no-transposes"], no_lane(facts()))
    assert (outcome.verdict, outcome.because) == ("holds", ())


def test_the_missing_backend_is_named_with_torchs_reason():
    outcome = evaluate(CLAIMS["cudnn-no-transposes"], unavailable(facts(), "sdpa_flash", "no kernel for this head dimension"))
    assert outcome.headline == "Not measurable: SDPA flash did not run here (no kernel for this head dimension)."


def test_the_ops_table_counts_ops_and_transposes():
    table = FINDING.evidence(facts()).tables[-1]
    assert [(row[0], row[1], row[2]) for row in table.rows] == [("SDPA efficient", 15, 4), ("SDPA flash", 17, 4), ("SDPA cuDNN", 7, 0)]
    assert FINDING.evidence(facts()).charts[0].alt == (
        "CPU ops per forward: SDPA efficient 15 (4 transposes); SDPA flash 17 (4 transposes); SDPA cuDNN 7 (0 transposes).")


@pytest.mark.parametrize(("slug", "name"), [("cudnn-kernel", "sdpa_cudnn"), ("efficient-kernel", "sdpa_efficient")])
def test_a_name_that_the_mechanism_takes_apart_is_the_articles_and_says_so(slug, name):
    """Another architecture stands in the name of the kernel that ran here, so a reader must know whose name it is."""
    text = environment().get_template(f"findings/{slug}.md.j2").blocks["mechanism"]
    said = "".join(text(environment().get_template(f"findings/{slug}.md.j2").new_context({"path": "x", "root": "../"})))
    kernel = published.of(name, "kernel_name")
    pieces = re.findall(r"^\| `([^`]+)` \|", said, re.M) or next(line for line in said.splitlines() if line.startswith("fmha")).split(" _ ")
    assert len(pieces) >= 7 and all(piece in kernel for piece in pieces)
    assert "the article's" in said.split(pieces[0])[0] and "A100-SXM4-80GB" in said.split(pieces[0])[0]


def test_what_the_page_says_of_strides_is_what_the_table_of_conditions_says():
    """Torch's check asks for a last stride of 1 of every fused backend."""
    row = next(row for row in conditions().rows if row.asks.startswith("Last stride"))
    assert {row.cells[name] for name in ("efficient", "flash", "cudnn")} == {"1"}
    text = (Path(__file__).resolve().parents[2] / "reportgen" / "templates" / "findings" / "cudnn-kernel.md.j2").read_text(encoding="utf-8")
    assert "only the last dimension must be contiguous, as for every fused backend" in text and "any strides" not in text
