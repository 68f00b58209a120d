"""cuDNN: one kernel generated for the problem, and no transposes in front of it?"""

from __future__ import annotations

from ..analysis import FUSED, RunFacts, VariantFacts, published
from ..analysis.first_calls import dear
from ..analysis.kernels import main_kernel
from ..analysis.sdpa import launches_under_transpose, ops_below, sdpa_transposes
from ..questions import needs
from ..questions.bar_charts import number_bars
from ..questions.kernel_tables import activity_table, kernel_args, parts_table
from ..questions.model import Advice, Because, Case, Chart, Decision, Evidence, Finding, claim, decide, not_measurable
from ..questions.shared import OTHER_SHAPE, other_workload, software
from ..saying.tables import Table, columns
from ..saying.units import Count, plural
from .pinning import OBEYED

GENERATED = "cudnn_generated"

CUDNN_CASES: dict[str, Case] = {
    "one-generated": Case(
        "holds",
        "SDPA cuDNN is one kernel per forward{beside}, generated for this problem: {kernel}.",
        because=(Because("engine", "The name begins with `cudnn_generated`, as precompiled kernels' names do not."),),
        caveats=(OTHER_SHAPE,),
        advice=(Advice("Keep the number of shapes small, for example by padding lengths to a few values: cuDNN builds one plan per shape and "
                "thread.", needs="dear_shapes", when=(OBEYED,)),)),
    "other-count": Case(
        "differs",
        "SDPA cuDNN launches {count} per forward{beside}, not one: {names}.",
        caveats=(OTHER_SHAPE,),
        advice=(Advice("Read the list: a plan may convert layouts around its attention kernel. Contiguous q, k and v can avoid that.",
                       needs="several", when=(OBEYED,)),)),
    "not-generated": Case(
        "differs",
        "SDPA cuDNN is one kernel per forward{beside}, but its name does not say that it was generated: {kernel} ({family}).",
        caveats=(OTHER_SHAPE,),
        advice=(Advice("Nothing to change: a precompiled kernel saves generating one.", when=(OBEYED,)),)),
    "unknown-name": not_measurable(
        "SDPA cuDNN is one kernel per forward{beside}, but its name, {kernel}, does not say where it comes from.", partly=True),
}


def cudnn_rule(facts: RunFacts) -> Decision:
    variant = facts.variants["sdpa_cudnn"]
    args = {**kernel_args(facts, variant, "torch", "cudnn"), "dear_shapes": dear(variant, "first_call_new_shape")}
    kernel = main_kernel(variant)
    if variant.kernels != 1 or kernel is None:
        return decide("other-count", **args)
    if kernel.name.startswith(GENERATED):
        return decide("one-generated", **args, engine=True)
    return decide("unknown-name" if args["family"] is None else "not-generated", **args)


_TRANSPOSE_CAVEATS = (OTHER_SHAPE,)
_NO_KERNELS = Because("views", "They are views: CPU ops that write new strides and launch no kernel here.")

TRANSPOSE_CASES: dict[str, Case] = {
    "none-and-four": Case(
        "holds",
        "cuDNN's forward has no `aten::transpose`; flash's has {flash}, efficient's {efficient}.",
        because=(_NO_KERNELS,), caveats=_TRANSPOSE_CAVEATS,
        advice=(Advice("Do not change your layout to avoid them: a view costs a little CPU time and no GPU time.", needs="views"),)),
    "others-not-four": Case(
        "differs",
        "cuDNN's forward has no `aten::transpose`, but the others do not have {published} each: flash's has {flash}, efficient's {efficient}.",
        because=(_NO_KERNELS,), caveats=_TRANSPOSE_CAVEATS,
        advice=(Advice("Nothing to change: how often a backend views its inputs is a detail of this PyTorch version.", needs="views"),)),
    "cudnn-transposes": Case(
        "differs",
        "cuDNN's forward has {cudnn} `aten::transpose`; flash's has {flash}, efficient's {efficient}.",
        because=(_NO_KERNELS,), caveats=_TRANSPOSE_CAVEATS,
        advice=(Advice("Check the strides of q, k and v: the path into cuDNN transposes them here.", when=(OBEYED,)),)),
}


def transposes_rule(facts: RunFacts) -> Decision:
    counts = {name: sdpa_transposes(facts.variants[name]) for name in FUSED}
    if None in counts.values():
        return needs.older(facts, needs.OPS_LIST)
    four = published.of("sdpa_flash", "transposes")
    args = {"cudnn": Count(counts["sdpa_cudnn"] or 0), "flash": Count(counts["sdpa_flash"] or 0), "efficient": Count(counts["sdpa_efficient"] or 0),
            "software": software(facts, "torch"), "other_workload": other_workload(facts), "published": Count(four), "views": _only_views(facts)}
    if counts["sdpa_cudnn"]:
        return decide("cudnn-transposes", **args)
    if counts["sdpa_flash"] == counts["sdpa_efficient"] == four:
        return decide("none-and-four", **args)
    return decide("others-not-four", **args)


def _only_views(facts: RunFacts) -> bool:
    """True if the trace shows GPU activities for the three, and none of them was launched under a transpose."""
    three = [facts.variants[name] for name in FUSED]
    return any(variant.activities for variant in three) and not any(launches_under_transpose(variant) for variant in three)


def evidence(facts: RunFacts) -> Evidence:
    cudnn = facts.variants.get("sdpa_cudnn")
    tables = (activity_table(cudnn), *parts_table(cudnn)) if cudnn and cudnn.activities else ()
    return Evidence(tables=(*tables, *_ops_table(facts)), charts=_ops_chart(facts))


def _fused(facts: RunFacts) -> list[VariantFacts]:
    return [facts.variants[name] for name in FUSED if name in facts.variants and facts.variants[name].op_count is not None]


def _ops_table(facts: RunFacts) -> tuple[Table, ...]:
    rows = tuple((variant.title, Count(variant.op_count or 0), Count(sdpa_transposes(variant) or 0), ", ".join(ops_below(variant))) for variant in _fused(facts))
    return (Table(columns("Variant", "#CPU ops", "#of them `aten::transpose`", "Under the SDPA op"), rows, caption="CPU ops of one forward.",
                  notes=(f"The article: {_published_transposes()}.",)),) if rows else ()


def _published_transposes() -> str:
    return ", ".join(f"{name.removeprefix('sdpa_').replace('cudnn', 'cuDNN')} {plural(published.of(name, 'transposes'), 'transpose')}" for name in FUSED)


def _ops_chart(facts: RunFacts) -> tuple[Chart, ...]:
    shown = _fused(facts)
    said = "; ".join(f"{variant.title} {variant.op_count} ({plural(sdpa_transposes(variant) or 0, 'transpose')})" for variant in shown)
    return number_bars("cudnn-kernel-ops", [(variant, float(variant.op_count or 0)) for variant in shown], "ops",
                       alt=f"CPU ops per forward: {said}.", caption="CPU ops of one forward.")


FINDING = Finding(
    slug="cudnn-kernel",
    title="cuDNN: a kernel generated for the problem",
    question="What does cuDNN run on the GPU for one attention, and which ops does it avoid on the CPU?",
    questions=(
        claim("cudnn-one-kernel", "The cuDNN backend is one generated kernel.", cudnn_rule, CUDNN_CASES, needs=(needs.lane("sdpa_cudnn"),)),
        claim("cudnn-no-transposes", "cuDNN inserts no transposes; flash and efficient insert four each.", transposes_rule, TRANSPOSE_CASES, needs=(needs.ran(*reversed(FUSED)),)),
    ),
    evidence=evidence,
)
