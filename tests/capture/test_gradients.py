"""Gradients of a variant: faults planted in one are found, and right ones are not cried about."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from reportgen.capture import gradients, training  # noqa: E402
from reportgen.run import OwnShape, Training  # noqa: E402
from reportgen.run.decode import decode  # noqa: E402
from reportgen.run.workload import PRESETS, Workload  # noqa: E402
from variants import Variant, load  # noqa: E402

TINY = Workload("tiny", 2, 4, 128, 64)
DTYPES = ("bfloat16", "float16", "float32")
(NAIVE, MATH, FLASH) = load(("naive", "sdpa_math", "sdpa_flash"))


class Backwards(torch.autograd.Function):
    """Hands a tensor on, and its gradient changed."""

    @staticmethod
    def forward(context: Any, tensor: Any, change: Callable[[Any], Any]) -> Any:
        context.change = change
        return tensor.view_as(tensor)

    @staticmethod
    def backward(context: Any, gradient: Any) -> Any:
        return context.change(gradient), None


def spoilt(position: int, change: Callable[[Any], Any]) -> Callable[..., Callable[..., Any]]:
    """A fault: the gradient of q, k or v (0, 1, 2) is changed."""

    def fault(function: Callable[..., Any]) -> Callable[..., Any]:
        def forward(*given: Any) -> Any:
            q, k, v, mask = given
            qkv = [Backwards.apply(one, change) if place == position else one for place, one in enumerate((q, k, v))]
            return function(*qkv, mask)

        return forward

    return fault


def zero_row(row: int) -> Callable[[Any], Any]:
    return lambda gradient: gradient.index_fill(-2, torch.tensor([row]), 0.0)


def one_nan(gradient: Any) -> Any:
    gradient = gradient.clone()
    gradient[0, 1, 5, 7] = float("nan")
    return gradient


FAULTS: dict[str, tuple[Callable[..., Any], set[str]]] = {
    "q 1 % too large": (spoilt(0, lambda gradient: gradient * 1.01), {"gradient of q"}),
    "k 1 % too large": (spoilt(1, lambda gradient: gradient * 1.01), {"gradient of k"}),
    "v 1 % too small": (spoilt(2, lambda gradient: gradient * 0.99), {"gradient of v"}),
    "a row of q is 0": (spoilt(0, zero_row(100)), {"gradient of q"}),
    "a row of k is 0": (spoilt(1, zero_row(64)), {"gradient of k"}),
    "the last row of v is 0": (spoilt(2, zero_row(127)), {"gradient of v"}),
    "NaN": (spoilt(1, one_nan), {"gradient of k"}),
    "two heads swapped": (lambda function: lambda q, k, v, mask: function(q, k, v, mask)[:, [1, 0, 2, 3]], {"output", "gradient of q", "gradient of k", "gradient of v"}),
}  # fmt: skip
"""Fault → how a forward gets it, and which tensors it spoils."""


def with_fault(variant: Variant, name: str) -> Variant:
    plant = FAULTS[name][0]
    return replace(variant, bare=plant(variant.bare), bare_masked=plant(variant.bare_masked))


def trained(variant: Variant, workload: Workload = TINY) -> Training:
    return decode(Training, training.measure(variant, "cpu", workload))


def masked(variant: Variant, workload: Workload = TINY) -> OwnShape:
    return decode(OwnShape, gradients.own_mask(variant, "cpu", workload))


def off(compared: Any) -> set[str]:
    return {one.tensor for one in compared if not one.right}


@pytest.fixture(autouse=True)
def _measured_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "REPETITIONS", 1)


class TestRight:
    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("name", ["naive", "naive_inplace", "sdpa_math", "sdpa_flash"])
    @pytest.mark.parametrize("shape", [(2, 4, 128, 64), (1, 1, 17, 16), (1, 2, 261, 80), (1, 2, 512, 128), (3, 1, 1, 64)], ids=str)
    def test_an_unpatched_variant_is_right(self, name: str, dtype: str, shape: tuple[int, int, int, int]) -> None:
        (variant,) = load((name,))
        found = trained(variant, Workload("custom", *shape, dtype=dtype))
        assert found.status == "ok", found.reason
        assert [one.tensor for one in found.compared] == ["gradient of q", "gradient of k", "gradient of v"] and off(found.compared) == set()
        assert found.wall_time is not None

    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("name", ["naive", "sdpa_math", "sdpa_flash"])
    def test_the_mask_handed_over_as_a_mask_gives_the_same(self, name: str, dtype: str) -> None:
        (variant,) = load((name,))
        found = masked(variant, replace(TINY, dtype=dtype))
        assert found.outcome == "right" and found.reason is None
        assert [one.tensor for one in found.compared] == ["output", "gradient of q", "gradient of k", "gradient of v"]

    def test_the_cpu_workload_is_right(self) -> None:
        for variant in (NAIVE, MATH, FLASH):
            assert trained(variant, PRESETS["small"]).status == "ok" and masked(variant, PRESETS["small"]).outcome == "right"


class TestPlantedFaults:
    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("variant", [NAIVE, MATH, FLASH], ids=lambda one: one.id)
    @pytest.mark.parametrize("name", FAULTS)
    def test_a_planted_fault_is_found_and_its_times_are_kept(self, variant: Variant, name: str, dtype: str) -> None:
        workload, spoils = replace(TINY, dtype=dtype), FAULTS[name][1]
        found = trained(with_fault(variant, name), workload)
        assert found.status == "wrong" and off(found.compared) == spoils - {"output"} and found.wall_time is not None
        own = masked(with_fault(variant, name), workload)
        assert own.outcome == "wrong" and off(own.compared) == spoils

    @pytest.mark.parametrize("variant", [NAIVE, MATH, FLASH], ids=lambda one: one.id)
    def test_a_dropped_mask_is_found(self, variant: Variant) -> None:
        dropped = replace(variant, bare_masked=lambda q, k, v, mask: variant.bare_masked(q, k, v, torch.zeros_like(mask)))
        assert trained(dropped).status == "ok"
        found = masked(dropped)
        assert found.outcome == "wrong" and off(found.compared) == {"output", "gradient of q", "gradient of k", "gradient of v"}

    def test_the_reason_has_the_numbers(self) -> None:
        found = trained(with_fault(FLASH, "NaN"))
        assert found.reason == "wrong result: the gradient of k has 1 of 16,384 values that are not finite"  # two heads of 128 · 64
        scaled = trained(replace(NAIVE, bare=spoilt(0, lambda gradient: gradient * 1.5)(NAIVE.bare)))
        assert scaled.reason is not None and scaled.reason.startswith("wrong result: the gradient of q has a relative error of 0.5, allowed 0.00")


class TestRefused:
    @pytest.mark.parametrize(("said", "outcome"), [
        ("No available kernel. Aborting execution.", "refused"),
        ("derivative for aten::something is not implemented", "failed"),
        ("CUDA out of memory. Tried to allocate 2 GiB", "failed"),
    ])  # fmt: skip
    def test_torchs_words_tell_a_refusal_from_a_failure(self, said: str, outcome: str) -> None:
        def raises(*_: Any) -> Any:
            raise RuntimeError(said)

        found = masked(replace(NAIVE, bare_masked=raises))
        assert found.outcome == outcome and said.rstrip(".") in (found.reason or "") and found.compared == ()

    def test_a_variant_without_a_mask_of_ones_own_takes_none(self) -> None:
        assert masked(replace(NAIVE, bare_masked=None)).outcome == "takes-no-mask"

    def test_a_reference_that_does_not_fit_is_no_ok(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def full(*_: Any, **__: Any) -> Any:
            raise RuntimeError("CUDA out of memory. Tried to allocate 2 GiB")

        gradients._expected.cache_clear()
        monkeypatch.setattr(gradients.comparing, "exact", full)
        found = trained(NAIVE)
        assert found.status == "failed" and found.reason == "its gradients could not be compared with FP64: CUDA out of memory. Tried to allocate 2 GiB."


def test_the_slice_alone_decides_its_gradients() -> None:
    """A fault in the last batch is not looked at: what is compared is the first two heads of the first."""

    def last_batch(gradient: Any) -> Any:
        gradient = gradient.clone()
        gradient[-1] = 0
        return gradient

    assert trained(replace(NAIVE, bare=spoilt(0, last_batch)(NAIVE.bare))).status == "ok"
