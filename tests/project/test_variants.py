"""The six variants compute causal attention, and the list of variants is all that names them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import variants
from reportgen.errors import ReportError

ROOT = Path(__file__).resolve().parents[2]
ON_A_CPU = ("naive", "naive_inplace", "sdpa_math", "sdpa_flash")


def by_hand(q, k, v, hidden):
    """Attention row by row in FP64, with no softmax and no matmul of torch's: an independent way."""
    import torch

    out = torch.zeros(q.shape, dtype=torch.float64)
    for b in range(q.shape[0]):
        for h in range(q.shape[1]):
            for row in range(q.shape[2]):
                seen = [column for column in range(k.shape[2]) if not hidden[row, column]]
                dots = [sum(float(x) * float(y) for x, y in zip(q[b, h, row], k[b, h, column])) / 4.0 for column in seen]
                powers = [2.718281828459045 ** (dot - max(dots)) for dot in dots]
                for column, power in zip(seen, powers):
                    out[b, h, row] += v[b, h, column].double() * (power / sum(powers))
    return out


@pytest.fixture(scope="module")
def small():
    """q, k, v `[1, 2, 12, 16]` in fp32, the causal mask, and the output worked out by hand (√16 = 4)."""
    torch = pytest.importorskip("torch")
    generator = torch.Generator().manual_seed(3)
    q, k, v = (torch.randn(1, 2, 12, 16, generator=generator) for _ in range(3))
    mask = torch.ones(12, 12, dtype=torch.bool).triu(1)
    return q, k, v, mask, by_hand(q, k, v, mask)


def error(value, reference) -> float:
    return float((value.double() - reference).norm() / reference.norm())


@pytest.mark.parametrize("name", ON_A_CPU)
def test_a_variant_computes_causal_attention(small, name):
    """fp32 agrees with the row-by-row result to a millionth."""
    q, k, v, mask, expected = small
    variant = variants.load((name,))[0]
    assert error(variant.forward(q, k, v, mask), expected) < 1e-6
    with variant.pinned():
        assert error(variant.bare(q, k, v, mask), expected) < 1e-6


@pytest.mark.parametrize("name", ON_A_CPU)
def test_a_variant_obeys_a_mask_of_ones_own(small, name):
    """A window of three keys instead of all the earlier ones; True hides, also for SDPA, which wants the reverse."""
    q, k, v, mask, causal = small
    window = mask | mask.new_ones(12, 12).tril(-3)
    expected = by_hand(q, k, v, window)
    assert error(expected, causal) > 0.1  # the two masks differ in what comes out
    assert error(variants.load((name,))[0].masked(q, k, v, window), expected) < 1e-6


@pytest.mark.parametrize("name", ON_A_CPU)
def test_a_variant_leaves_its_inputs_alone(small, name):
    q, k, v, mask, _ = small
    before = [tensor.clone() for tensor in (q, k, v, mask)]
    variants.load((name,))[0].forward(q, k, v, mask)
    assert all(bool((now == then).all()) for now, then in zip((q, k, v, mask), before))


def test_the_reference_is_exact(small):
    """FP64 agrees with the row-by-row result to rounding."""
    from variants import reference

    q, k, v, mask, expected = small
    assert error(reference.attention(q, k, v, mask), expected) < 1e-14


def test_the_pin_decides_which_op_runs(small):
    """Unpinned, a CPU takes its fused kernel; pinned to math, it must not."""
    torch = pytest.importorskip("torch")
    from torch.profiler import ProfilerActivity, profile

    q, k, v, mask, _ = small
    ran = {}
    for name in ("sdpa_math", "sdpa_flash"):
        with torch.no_grad(), profile(activities=[ProfilerActivity.CPU]) as profiler:
            variants.load((name,))[0].forward(q, k, v, mask)
        ran[name] = {event.name for event in profiler.events()}
    assert "aten::_scaled_dot_product_attention_math" in ran["sdpa_math"]
    assert "aten::_scaled_dot_product_flash_attention_for_cpu" in ran["sdpa_flash"]
    assert "aten::_scaled_dot_product_attention_math" not in ran["sdpa_flash"]


def test_the_six_come_first_and_only_they_are_named():
    assert not any(variant.named for variant in variants.load()[6:])
    assert [(variant.id, variant.named) for variant in variants.load()][:6] == [
        ("naive", True), ("naive_inplace", True), ("sdpa_math", True), ("sdpa_efficient", True),
        ("sdpa_flash", True), ("sdpa_cudnn", True)]  # fmt: skip


def test_a_prediction_is_five_steps_or_one_fused_kernel():
    steps = {variant.id: [role for role, _ in variant.prediction] for variant in variants.load()}
    five = ["matmul", "scale", "mask", "softmax", "matmul"]
    assert steps["naive"] == steps["naive_inplace"] == steps["sdpa_math"] == five
    assert steps["sdpa_efficient"] == steps["sdpa_flash"] == steps["sdpa_cudnn"] == ["fused attention"]


def test_naive_and_in_place_differ_in_one_line():
    """What the article says: the mask line, and nothing else of the function."""
    body = {name: variants.load((name,))[0].source.split("def forward")[1].splitlines() for name in ("naive", "naive_inplace")}
    differing = [(a.strip(), b.strip()) for a, b in zip(body["naive"], body["naive_inplace"]) if a != b]
    assert differing == [('scores = scores.masked_fill(mask, float("-inf"))', 'scores.masked_fill_(mask, float("-inf"))')]


def test_an_unknown_variant_is_refused_with_the_choice():
    with pytest.raises(ReportError, match="no such variant: fast.*\n.*naive_inplace"):
        variants.load(("naive", "fast"))


@pytest.fixture
def added(tmp_path, monkeypatch):
    """Puts a variant `a_tests_own` with this source into the list, and one without a file for `None`."""
    def add(source):
        monkeypatch.setattr(variants, "VARIANTS", (*variants.SIX, "a_tests_own"))
        monkeypatch.setattr(variants, "__path__", [*variants.__path__, str(tmp_path)])
        if source is not None:
            (tmp_path / "a_tests_own.py").write_text(source, encoding="utf-8")

    yield add
    sys.modules.pop("variants.a_tests_own", None)


PARTS = 'TITLE = "Mine"\nCHANGED = "Nothing."\nPREDICTION = {prediction}\ndef forward(q, k, v, mask): return q\n'


@pytest.mark.parametrize(("source", "said"), [
    (None, "variants/a_tests_own.py: is in VARIANTS, and there is no such file\n  what to do: write it"),
    ("TITLE = 'x'\ndef forward(q, k:\n", "variants/a_tests_own.py:2: is not valid Python: "),
    ("import no_such_package\n", "variants/a_tests_own.py: cannot be imported (ModuleNotFoundError: No module named 'no_such_package')"),
    ("1 / 0\n", "variants/a_tests_own.py: cannot be imported (ZeroDivisionError: division by zero)"),
    (PARTS.format(prediction='(("mathmul", "q · kᵀ"),)'), "variants/a_tests_own.py: PREDICTION has the role 'mathmul', which is none\n  what to do: choose among matmul, scale, "),
    (PARTS.format(prediction='("matmul", "softmax")'), "variants/a_tests_own.py: PREDICTION is not a list of pairs"),
    ("TITLE = 'x'\n", "variants/a_tests_own.py: CHANGED is missing"),
])  # fmt: skip
def test_a_variant_of_ones_own_that_cannot_be_read_is_an_error_with_its_file(added, source, said):
    added(source)
    with pytest.raises(ReportError) as caught:
        variants.load()
    assert str(caught.value).startswith(said)


def test_a_variant_of_ones_own_that_is_whole_is_read(added):
    added(PARTS.format(prediction='(("fused attention", "all of it"),)'))
    assert [(variant.id, variant.title, variant.named) for variant in variants.load()[6:]] == [("a_tests_own", "Mine", False)]


def test_predictions_speak_the_words_that_the_steps_of_a_trace_have():
    """The list is told at the top of the file and in CONTRIBUTING.md as well."""
    from reportgen.analysis.patterns import roles

    told = {roles.role("kernel", "k", (op,)) for op in roles.OPS} | {roles.role("memset", "", ()), roles.role("memcpy", "", ()), roles.role("kernel", "k", ("aten::to", "aten::copy_")),
            roles.role("kernel", "flash_fwd_kernel<", ()), roles.role("kernel", "k", ())}
    assert told == set(variants.ROLES)
    for text in (variants.__doc__, (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")):
        words = " ".join(text.replace("`", "").split())
        assert ", ".join(variants.ROLES) in words


def test_reading_the_variants_does_not_import_torch():
    """Pages are rendered where there is no torch."""
    code = "import sys, variants; variants.load(); sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT).returncode == 0
