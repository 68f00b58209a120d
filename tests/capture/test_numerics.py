"""Numerics: which outputs count as right, and what a fully masked row becomes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from reportgen.capture import memory, numerics, operands  # noqa: E402
from reportgen.run import MaskedRow  # noqa: E402
from reportgen.run.workload import Workload  # noqa: E402
from variants import load, reference  # noqa: E402

TINY = Workload("tiny", 2, 3, 32, 16)


def stand_in(function: Callable[..., Any]) -> Any:
    return SimpleNamespace(id="stand_in", forward=function, masked=function)


def rounded(q: Any, k: Any, v: Any, mask: Any) -> Any:
    return reference.attention(q, k, v, mask).to(q.dtype)


class TestCheck:
    def test_the_rounded_reference_has_a_third_of_the_allowed_error(self) -> None:
        checked = numerics.check(stand_in(rounded), "cpu", TINY)
        assert checked["ok"]
        assert checked["allowed_error"] == pytest.approx(3 * checked["relative_error"])
        assert 0.001 < checked["relative_error"] < 2**-8

    @pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32"])
    @pytest.mark.parametrize("name", ["naive", "naive_inplace", "sdpa_math"])
    def test_right_variants_pass_in_every_dtype(self, name: str, dtype: str) -> None:
        (variant,) = load((name,))
        assert numerics.check(variant, "cpu", replace(TINY, dtype=dtype, sequence=256))["ok"]

    @pytest.mark.parametrize(("wrong", "least"), [
        (lambda q, k, v, mask: rounded(q, k, v, mask) * 1.02, 0.015),
        (lambda q, k, v, mask: rounded(q, k, v, torch.zeros_like(mask)), 0.1),
        (lambda q, k, v, mask: rounded(q * 1.5, k, v, mask), 0.05),
    ], ids=["two percent too large", "mask forgotten", "wrong scale"])  # fmt: skip
    def test_a_wrong_result_is_not_ok_and_tells_its_error(self, wrong: Callable[..., Any], least: float) -> None:
        checked = numerics.check(stand_in(wrong), "cpu", TINY)
        assert not checked["ok"]
        assert checked["relative_error"] > least

    def test_a_result_that_is_not_finite_is_not_ok_and_has_no_error(self) -> None:
        checked = numerics.check(stand_in(lambda q, k, v, mask: rounded(q, k, v, mask) / 0), "cpu", TINY)
        assert checked["ok"] is False and checked["relative_error"] is None


class TestMaskedRow:
    @pytest.mark.parametrize(("outcome", "value"), [("nan", float("nan")), ("zeros", 0.0), ("other", 0.25)])
    def test_the_outcome_is_what_stands_in_the_row(self, outcome: str, value: float) -> None:
        """Only the masked row is filled with the value; all others hold something else."""

        def masked(q: Any, k: Any, v: Any, mask: Any) -> Any:
            out = torch.ones_like(q)
            out[:, :, mask.all(dim=1)] = value
            return out

        assert MaskedRow(**numerics.masked_row(stand_in(masked), "cpu", TINY)) == MaskedRow(outcome)

    def test_naive_divides_nothing_by_nothing(self) -> None:
        (naive,) = load(("naive",))
        assert numerics.masked_row(naive, "cpu", TINY)["outcome"] == "nan"

    @pytest.mark.parametrize(("warned", "outcome"), [
        ("Flash Attention does not support non-null attn_mask. (Triggered internally at /pytorch/aten/sdp_utils.cpp:267.)", "takes-no-mask"),
        ("Flash attention requires q,k,v to be half precision. (Triggered internally at x.cpp:1.)", "refused"),
    ])  # fmt: skip
    def test_a_refusal_keeps_the_reason_that_torch_warns_of(self, warned: str, outcome: str) -> None:
        def masked(*_: Any) -> Any:
            import warnings

            warnings.warn(warned, UserWarning, stacklevel=1)
            raise RuntimeError("No available kernel. Aborting execution.\nmore")

        told = numerics.masked_row(stand_in(masked), "cpu", TINY)
        assert told["outcome"] == outcome
        assert told["reason"] == f"No available kernel. Aborting execution. {warned.split(' (')[0]}"

    def test_an_error_of_another_kind_is_refused_in_its_own_words(self) -> None:
        def masked(*_: Any) -> Any:
            raise RuntimeError("CUDA out of memory. Tried to allocate 2 GiB")

        assert numerics.masked_row(stand_in(masked), "cpu", TINY) == {
            "outcome": "refused", "reason": "CUDA out of memory. Tried to allocate 2 GiB."}  # fmt: skip


class TestOperands:
    def test_the_same_seed_gives_every_variant_the_same_inputs(self) -> None:
        first, again, other = operands.make("cpu", TINY), operands.make("cpu", TINY), operands.make("cpu", TINY, seed=1)
        assert all(torch.equal(a, b) for a, b in zip(first, again))
        assert not torch.equal(first[0], other[0])
        assert not torch.equal(first[0], first[1])

    def test_shapes_dtype_and_a_mask_that_hides_the_future(self) -> None:
        q, k, v, mask = operands.make("cpu", TINY)
        assert q.shape == k.shape == v.shape == (2, 3, 32, 16) and q.dtype == torch.bfloat16
        assert mask.dtype == torch.bool and mask[0].tolist() == [False] + [True] * 31 and not mask[31].any()


def test_a_cpu_has_no_peak_memory_count() -> None:
    assert memory.peak(stand_in(rounded), "cpu", TINY) is None


def test_an_infinite_row_is_not_called_finite():
    """Zeros, other finite values, infinities and NaN are four outcomes."""
    assert numerics._kind(torch.tensor([0.0, 0.0])) == "zeros"
    assert numerics._kind(torch.tensor([0.0, 1.5])) == "other"
    assert numerics._kind(torch.tensor([1.0, float("inf")])) == "infinite"
    assert numerics._kind(torch.tensor([float("inf"), float("nan")])) == "nan"
