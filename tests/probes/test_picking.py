"""Which backend torch picks, seen at the op that is dispatched."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from reportgen.capture import picking  # noqa: E402
from reportgen.run import Pick  # noqa: E402
from reportgen.run.decode import decode  # noqa: E402
from reportgen.run.workload import Workload  # noqa: E402

TINY = Workload("tiny", 1, 2, 32, 16)


def test_every_kind_of_call_is_asked_about_once() -> None:
    found = picking.picks("cpu", TINY)
    kinds = {(one["mask"], one["gradients"], one["grouped"], one["queries"], one["keys"]) for one in found}
    assert len(found) == len(kinds) == 4 * 2 * 2 * 2
    assert {one["queries"] for one in found} == {1, 256} and {one["keys"] for one in found} == {256}
    assert all(decode(Pick, one, "run.json").backend in ("flash", "math") for one in found)


def test_a_pin_is_seen_and_a_refusal_is_told_with_its_reason() -> None:
    from torch.nn.attention import SDPBackend, sdpa_kernel

    with sdpa_kernel(SDPBackend.MATH):
        assert {(one["backend"], one["reason"]) for one in picking.picks("cpu", TINY)} == {("math", None)}
    with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
        refused = picking.picks("cpu", TINY)
    assert {one["backend"] for one in refused} == {None} and all(one["reason"].startswith("No ") for one in refused)


def test_a_call_that_is_stopped_at_its_op_runs_no_kernel() -> None:
    q = torch.zeros(1, 1, 4, 8)
    with pytest.raises(picking._Seen), picking.listener(stop=True) as seen:
        torch.nn.functional.scaled_dot_product_attention(q, q, q)
    assert picking.backend(seen.ops) == ("flash", "aten::_scaled_dot_product_flash_attention_for_cpu")


def test_a_call_without_a_product_was_run_by_no_backend() -> None:
    assert picking.backend(["aten::zeros", "aten::sum"]) is None
    assert picking.backend(["aten::mul", "aten::bmm"]) == ("math", "aten::_scaled_dot_product_attention_math")
