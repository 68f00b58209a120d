"""What one math forward does beside its matmuls: casts, the mask's building, safe softmax; and which backend's op ran."""

from __future__ import annotations

from dataclasses import replace

from builders import facts, no_lane, variant
from turned import without_ops

from reportgen.analysis.mask_building import mask_building
from reportgen.analysis.pins import own_op, seen_ops
from reportgen.analysis.sdpa import launches_under_transpose, ops_below, sdpa_transposes
from reportgen.analysis.softmax import added_ops, calls_safe, under_safe
from reportgen.analysis.upcast import casts, input_casts

MATH_OP = "aten::_scaled_dot_product_attention_math"


def math(device="h200"):
    return facts(device).variants["sdpa_math"]


def renamed_ops(held, old, new):
    """A variant with one op under another name, in names and paths."""
    def swap(name):
        return new if name == old else name
    return replace(held, ops=tuple(replace(op, name=swap(op.name), path=tuple(map(swap, op.path))) for op in held.ops))


def test_math_casts_its_three_inputs_up_and_two_results_down_one_of_them_for_nothing():
    found = casts(math())
    assert (input_casts(math()), len(found.up), len(found.down)) == (3, 3, 2)
    assert found.wasted is found.down[0]


def test_another_backend_casts_nothing():
    flash = facts().variants["sdpa_flash"]
    assert (input_casts(flash), casts(flash).up, casts(flash).down, casts(flash).wasted) == (0, (), (), None)


def test_four_steps_build_the_mask_with_five_kernels_and_one_applies_it():
    found = mask_building(math())
    assert found.seen == (("aten::ones", "aten::fill_"), ("aten::tril",), ("aten::scalar_tensor", "aten::fill_"), ("aten::where",))
    assert (found.absent, found.unfilled) == ((), None)
    assert ([a.role for a in found.built], [a.role for a in found.applied]) == (["fill", "tril", "fill", "fill", "where"], ["add"])
    assert 0 < found.cpu_time < found.whole_cpu_time


def test_a_scalar_that_writes_its_value_itself_is_the_step_all_the_same():
    """As on a CPU, where one element needs no `fill_`."""
    bare = replace(math(), ops=tuple(op for op in math().ops if not ("aten::scalar_tensor" in op.path and op.name == "aten::fill_")))
    found = mask_building(bare)
    assert (found.absent, found.unfilled) == ((), "aten::scalar_tensor")
    assert mask_building(math("cpu")).unfilled == "aten::scalar_tensor"


def test_a_step_that_another_op_takes_is_absent():
    found = mask_building(renamed_ops(math(), "aten::tril", "aten::triangle"))
    assert found.absent == (("aten::tril",),)
    assert mask_building(facts().variants["naive"]).seen == ()


def test_safe_softmax_adds_kernels_to_the_softmax():
    found = under_safe(math())
    assert calls_safe(math())
    assert ([a.role for a in found.softmax], [a.role for a in found.kernels]) == (["softmax"], ["isneginf", "all", "fill", "where"])
    assert added_ops(math()) == ("aten::isneginf", "aten::all", "aten::scalar_tensor", "aten::where")


def test_without_safe_softmax_nothing_is_added():
    plain = renamed_ops(math(), "aten::_safe_softmax", "aten::softmax")
    assert (calls_safe(plain), added_ops(plain)) == (False, ())
    assert under_safe(facts().variants["naive"]).added == ()


def test_transposes_under_the_call_count_and_those_before_it_do_not():
    """Flash views q, k, v and the output; naive transposes k itself, and calls nothing."""
    six = facts().variants
    assert [sdpa_transposes(six[name]) for name in ("naive", "sdpa_flash", "sdpa_cudnn")] == [0, 4, 0]
    assert six["naive"].transposes == 1
    assert sdpa_transposes(without_ops(facts(), "sdpa_flash").variants["sdpa_flash"]) is None
    assert ops_below(six["sdpa_math"])[0] == MATH_OP
    assert not launches_under_transpose(six["sdpa_flash"]) and not launches_under_transpose(no_lane(facts()).variants["sdpa_flash"])


def test_the_pinned_backends_own_op_is_found_by_its_whole_name():
    six = facts().variants
    assert own_op(six["sdpa_math"]) == MATH_OP
    assert own_op(facts("cpu").variants["sdpa_flash"]) == "aten::_scaled_dot_product_flash_attention_for_cpu"
    other = variant(facts(), "sdpa_flash", ops=six["sdpa_cudnn"].ops).variants["sdpa_flash"]
    assert (own_op(other), seen_ops(other)) == (None, ("aten::_scaled_dot_product_cudnn_attention",))
    longer = renamed_ops(six["sdpa_flash"], "aten::_scaled_dot_product_flash_attention", "triton::aten::_scaled_dot_product_flash_attention_0")
    assert own_op(longer) is None
