"""One comparison for variants and probes: what FP64 says of a call, and which errors are accepted."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from reportgen.probes import comparing  # noqa: E402


def tensors(*, heads: int = 4, kv_heads: int = 4, queries: int = 33, keys: int = 45, dtype: Any = torch.float64) -> list[Any]:
    """q, k, v and the gradient of the output."""
    generator = torch.Generator().manual_seed(0)
    shapes = [(2, heads, queries, 16), (2, kv_heads, keys, 16), (2, kv_heads, keys, 16), (2, heads, queries, 16)]
    return [torch.randn(shape, dtype=torch.float64, generator=generator).to(dtype) for shape in shapes]


MASKS = {
    "none": lambda: None,
    "bool": lambda: torch.arange(33 * 45).reshape(33, 45) % 7 != 3,
    "float, one for all rows": lambda: torch.linspace(-2, 2, 2 * 45, dtype=torch.float64).reshape(2, 1, 1, 45).requires_grad_(),
    "float, one for all batches": lambda: torch.linspace(-2, 2, 33 * 45, dtype=torch.float64).reshape(33, 45).requires_grad_(),
}


@pytest.mark.parametrize("kv_heads", [4, 2, 1])
@pytest.mark.parametrize("kind", [*MASKS, "causal"])
@pytest.mark.parametrize("chunk", [2**25, 2000], ids=["at once", "in pieces"])
def test_fp64_is_what_autograd_makes_of_the_math_backend(monkeypatch: pytest.MonkeyPatch, kind: str, kv_heads: int, chunk: int) -> None:
    """Autograd and our derivatives are two ways to the same numbers."""
    from torch.nn import functional as F
    from torch.nn.attention import SDPBackend, sdpa_kernel

    monkeypatch.setattr(comparing, "CHUNK", chunk)
    *qkv, upstream = tensors(kv_heads=kv_heads)
    mask = MASKS.get(kind, MASKS["none"])()
    for one in qkv:
        one.requires_grad_()
    with sdpa_kernel(SDPBackend.MATH):
        out = F.scaled_dot_product_attention(*qkv, attn_mask=mask, is_causal=kind == "causal", enable_gqa=kv_heads < 4, scale=0.3)
    wanted = qkv if mask is None or not mask.requires_grad else [*qkv, mask]
    expected = [out.detach(), *torch.autograd.grad(out, wanted, upstream)]
    found = comparing.exact(*qkv, mask, is_causal=kind == "causal", scale=0.3, upstream=upstream)
    assert list(found) == ["output", "gradient of q", "gradient of k", "gradient of v", "gradient of the mask"][: len(expected)]
    for one, other in zip(found.values(), expected):
        assert one.shape == other.shape
        assert torch.allclose(one, other, rtol=0, atol=1e-13)


def test_a_row_without_keys_gives_zeros_and_no_gradient() -> None:
    q, k, v, upstream = tensors()
    mask = torch.ones(33, 45, dtype=torch.bool)
    mask[7] = False
    for given in (mask, torch.zeros(33, 45).masked_fill(~mask, float("-inf"))):
        found = comparing.exact(q, k, v, given, upstream=upstream)
        assert not found["output"][:, :, 7].any() and not found["gradient of q"][:, :, 7].any()
        assert all(bool(torch.isfinite(one).all()) for one in found.values())


def test_two_keys_by_hand() -> None:
    """Scores ln 3 and 0, so weights ¾ and ¼; of the weights 4 and 0, so of the scores 4 · ¾ · ¼ = ¾ and −¾."""
    q, k, v = torch.tensor([[1.0]]), torch.tensor([[3.0], [1.0]]).log(), torch.tensor([[4.0], [0.0]])
    found = comparing.exact(q, k, v, upstream=torch.tensor([[1.0]]))
    assert found["output"].item() == pytest.approx(3.0)
    assert found["gradient of q"].item() == pytest.approx(0.75 * 1.0986123)
    assert found["gradient of k"].flatten().tolist() == pytest.approx([0.75, -0.75])
    assert found["gradient of v"].flatten().tolist() == pytest.approx([0.75, 0.25])


class TestCompare:
    def compared(self, value: Any, plain: Any = None, dtype: Any = torch.bfloat16) -> dict[str, Any]:
        exact = torch.linspace(1, 2, 4096, dtype=torch.float64).reshape(1, 64, 64)
        return comparing.compare("gradient of k", value(exact).to(dtype), exact, plain(exact) if plain else None)

    def test_one_rounding_is_right_and_a_third_of_what_is_allowed(self) -> None:
        found = self.compared(lambda exact: exact)
        assert found["right"] and found["allowed"] == pytest.approx(3 * found["error"])
        assert found["tensor"] == "gradient of k" and found["elements"] == 4096 and found["not_finite"] == 0

    def test_one_percent_is_wrong_in_every_type(self) -> None:
        for dtype in (torch.bfloat16, torch.float16, torch.float32):
            found = self.compared(lambda exact: exact * 1.01, dtype=dtype)
            assert not found["right"] and found["error"] == pytest.approx(0.01, rel=0.1)

    def test_what_the_plain_formula_gets_wrong_is_allowed_twice(self) -> None:
        found = self.compared(lambda exact: exact * 1.01, lambda exact: exact * 1.006)
        assert found["right"] and found["allowed"] == pytest.approx(0.012)

    def test_a_plain_formula_that_overflows_allows_nothing_more(self) -> None:
        assert not self.compared(lambda exact: exact * 1.01, lambda exact: exact / 0)["right"]

    def test_one_broken_row_is_wrong_though_the_whole_is_not(self) -> None:
        def one_off(exact: Any) -> Any:
            exact = exact.clone()
            exact[:, 40] *= 1.02
            return exact

        found = self.compared(one_off)
        assert found["error"] < found["allowed"] and not found["right"] and found["row_error"] == pytest.approx(0.02, rel=0.1)

    def test_a_short_row_that_was_left_out_is_wrong(self) -> None:
        """The last key's row is a fiftieth of the others: as nothing it is off by 2 % of one of them, which rounding may be too."""
        exact = torch.linspace(1, 2, 4096, dtype=torch.float64).reshape(1, 64, 64)
        exact[:, 63] /= 100
        value = exact.to(torch.bfloat16)
        coarse = exact.clone()
        coarse[:, 40] *= 1.01
        assert comparing.compare("gradient of v", value, exact, coarse)["right"]
        value[:, 63] = 0
        found = comparing.compare("gradient of v", value, exact, coarse)
        assert not found["right"] and found["row_error"] == 1.0 and found["error"] < found["allowed"]
        assert comparing.compare("gradient of v", value, exact, coarse.index_fill(1, torch.tensor([63]), 0.0))["right"]

    def test_values_that_are_not_finite_are_counted_and_have_no_error(self) -> None:
        def broken(exact: Any) -> Any:
            exact = exact.clone()
            exact[0, 0, :3] = torch.tensor([float("nan"), float("inf"), float("-inf")])
            return exact

        found = self.compared(broken)
        assert not found["right"] and found["not_finite"] == 3 and found["error"] is None and found["row_error"] is None

    def test_noise_where_the_exact_gradient_is_nothing_is_right(self) -> None:
        exact = torch.zeros(1, 8, 64, dtype=torch.float64)
        assert comparing.compare("gradient of q", torch.full((1, 8, 64), 1e-6), exact)["right"]
        assert not comparing.compare("gradient of q", torch.full((1, 8, 64), 1e-4), exact)["right"]


def test_a_product_in_16_bits_on_a_cpu_is_summed_wide_and_rounded_once():
    """128 twice and 1 255 times are 511, which is rounded to 512. Partial sums in bf16 would stay at 256, for it has no 257."""
    left = torch.ones(1, 257, dtype=torch.bfloat16)
    right = torch.ones(257, 1, dtype=torch.bfloat16)
    right[:2] = 128.0  # 128 + 128 + 255 = 511, which bf16 rounds to 512
    assert comparing._product(left, right).item() == 512.0 and comparing._product(left, right).dtype is torch.bfloat16
    assert comparing._product(left.double(), right.double()).dtype is torch.float64
