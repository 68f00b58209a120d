"""Efficient: one fused kernel, in bf16 on Tensor Cores?"""

from __future__ import annotations

from variants.backends import BACKENDS, title

from ..analysis import SIX, ActivityFacts, RunFacts
from ..analysis.kernels import element_type, main_kernel, tensor_cores
from ..analysis.masking import picked_with_mask
from ..analysis.ranking import faster
from ..questions import needs
from ..questions.kernel_tables import activity_table, kernel_args, kernel_count, parts_table
from ..questions.model import Advice, Because, Case, Chart, Decision, Evidence, Finding, Leads, claim, decide, not_measurable
from ..questions.shared import OTHER_SHAPE, matrix_unit
from ..run import DEFAULT
from ..saying.units import listed, plural
from .pinning import OBEYED

EFFICIENT = "efficient"
_TYPE = "Keep q, k and v in a 16-bit type: the kernel computes in the type it is given."
_ADVICE = (
    Advice(f"Call `scaled_dot_product_attention` and let it fall back to this backend where flash cannot run. {_TYPE}", needs="falls_here", when=(OBEYED,), leads=Leads("falls_here")),
    Advice(f"Where flash cannot run (an `attn_mask`), {{picked}}pin this backend (`sdpa_kernel({BACKENDS[EFFICIENT].pin})`) to get its kernel. {_TYPE}", needs="pinned_here",
           when=(OBEYED,), leads=Leads("pinned_here")),
)
"""Where it is faster than math. Only where torch was seen to pick it for a mask does a call fall back to it; a call that follows either ends with this backend."""
EIGHT = 8
"""The head dimension is to be a multiple of it, or no Tensor Core kernel can read a row."""
_UNIT = Because("why_unit", "Tensor Cores: {why_unit}.")

EFFICIENT_CASES: dict[str, Case] = {
    "one-kernel": Case(
        "holds",
        "SDPA efficient is one kernel per forward{beside}: {kernel}, in {type} on Tensor Cores.",
        because=(_UNIT, Because("math_count", "SDPA math launches {math_count} for the same work.")),
        caveats=(OTHER_SHAPE,),
        advice=_ADVICE,
    ),
    "other-count": Case(
        "differs",
        "SDPA efficient launches {count} per forward{beside}, not one: {names}.",
        caveats=(OTHER_SHAPE,),
        advice=(Advice("Read the list: whatever runs beside the attention kernel is work that your call asked for, such as a padded "
                "mask or a layout copy.", needs="several", when=(OBEYED,)),),
    ),
    "cuda-cores": Case(
        "differs",
        "SDPA efficient is one kernel per forward{beside}, {kernel}, but not on Tensor Cores.",
        because=(_UNIT,),
        caveats=(OTHER_SHAPE,),
        advice=(Advice("Check the type of q, k and v and the alignment of the head dimension: CUTLASS needs both for a Tensor Core "
                "kernel.", needs="odd_shape", when=(OBEYED,)),),
    ),
    "other-type": Case(
        "differs",
        "SDPA efficient is one kernel per forward{beside}, {kernel}, but its name says {type} and the inputs are {dtype}.",
        caveats=(OTHER_SHAPE,),
        advice=(Advice("Look for a cast before the call (`.float()`, autocast): the kernel computes in the type that reaches it.", when=(OBEYED,)),),
    ),
    "name-is-silent": not_measurable(
        "SDPA efficient is one kernel per forward{beside}, but its name, {kernel}, does not say {silent}.", partly=True),
    "other-dtype": not_measurable(
        "the claim is about bfloat16, and this run computes in {dtype}; SDPA efficient launches {count} per forward{beside} here."),
}


def efficient_rule(facts: RunFacts) -> Decision:
    variant = facts.variants["sdpa_efficient"]
    math = facts.variants.get("sdpa_math")
    args: dict[str, object] = {**kernel_args(facts, variant, "torch"), "dtype": facts.workload.dtype, "odd_shape": facts.workload.head_dim % EIGHT != 0,
                               **_ends(facts)}
    kernel = main_kernel(variant)
    if variant.kernels != 1 or kernel is None:
        return decide("other-count", **args)
    if facts.workload.dtype != "bfloat16":
        return decide("other-dtype", **args)
    unit, element = tensor_cores(kernel), element_type(kernel)
    args |= {"type": element, "why_unit": _why_unit(kernel),
             "math_count": plural(math.kernels, "kernel") if math and math.kernels else None}
    if unit == "no":
        return decide("cuda-cores", **args)
    if element not in (None, facts.workload.dtype):
        return decide("other-type", **args)
    silent = [what for what, known in (("in which type it computes", element), (f"whether it uses {matrix_unit(facts)}", unit != "unknown")) if not known]
    if silent:
        return decide("name-is-silent", **args, silent=" or ".join(silent))
    return decide("one-kernel", **args)


def _ends(facts: RunFacts) -> dict[str, object]:
    """What a call with a mask ends with: by itself, or under a pin; nothing where this backend is not faster than math."""
    if "sdpa_efficient" not in faster(facts, "sdpa_math"):
        return {"falls_here": None, "pinned_here": None, "picked": ""}
    found = picked_with_mask(facts)
    falls = found == (EFFICIENT,)
    instead = [title(name) for name in found if name != EFFICIENT]
    return {"falls_here": (DEFAULT, EFFICIENT) if falls else None, "pinned_here": None if falls else EFFICIENT, "picked": f"torch picks {listed(instead, 'or')} here: " if instead else ""}


def _why_unit(kernel: ActivityFacts) -> str | None:
    counted = kernel.counters.tensor_core_flop if kernel.counters else None
    if counted is not None:
        return f"the hardware counted {plural(int(counted), 'operation')} there"
    return kernel.decoded.tensor_cores_why.rstrip(".") if kernel.decoded else None


def evidence(facts: RunFacts) -> Evidence:
    variant = facts.variants.get("sdpa_efficient")
    tables = (activity_table(variant), *parts_table(variant)) if variant and variant.activities else ()
    return Evidence(tables=tables, charts=_count_chart(facts))


def _count_chart(facts: RunFacts) -> tuple[Chart, ...]:
    shown = [(name, facts.variants[name]) for name in SIX if name in facts.variants and facts.variants[name].kernels is not None]
    if not shown:
        return ()
    shown.sort(key=lambda pair: pair[1].kernels or 0)
    said = "; ".join(f"{variant.title} {kernel_count(variant)}" for _, variant in shown)
    data = {"labels": [variant.title for _, variant in shown], "values": [float(variant.kernels or 0) for _, variant in shown],
            "low": None, "high": None, "unit": "kernels", "ids": [name for name, _ in shown], "reference": None}
    return (Chart("efficient-kernel-counts", "bars", data, alt=f"Kernels per forward: {said}.",
                  caption="Kernels per forward; copies and memsets are not counted."),)


FINDING = Finding(
    slug="efficient-kernel",
    title="Efficient: one kernel, read by its name",
    question="What does the efficient backend's single kernel do, and what does its name tell?",
    questions=(
        claim("efficient-one-kernel", "The efficient backend is one fused kernel, in bf16 on Tensor Cores.", efficient_rule, EFFICIENT_CASES, needs=(needs.lane("sdpa_efficient"),)),
    ),
    evidence=evidence,
)
