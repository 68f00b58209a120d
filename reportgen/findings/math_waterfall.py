"""Where math's extra GPU time goes, in words and as a table: the causes of its slowdown, ranked."""

from __future__ import annotations

from collections.abc import Sequence

from ..analysis import RunFacts
from ..analysis.bounds import WORTH_NAMING
from ..analysis.kernels import in_tf32, matmuls, tensor_cores
from ..analysis.upcast import input_casts
from ..analysis.waterfall import Group, Step, Waterfall, waterfall
from ..questions import bar_charts
from ..questions.model import Because, Chart
from ..questions.steps import share
from ..saying.tables import Link, Table, columns
from ..saying.units import Bytes, Percent, Ratio, Seconds, added, listed

PAIR = ("naive_inplace", "sdpa_math")
PASSES = (Group.SOFTMAX, Group.MASK_APPLIED)
"""The passes over the score matrix that both variants take; wider elements could lengthen them."""
MOST = 0.75
"""The causes that the answer names make up at least this part of the extra time."""
_PAGES = {Group.MATMULS: ("which unit", "math-cuda-cores"), Group.CASTS: ("the casts", "math-cuda-cores"), Group.DROPPED_CAST: ("the casts", "math-cuda-cores"),
          Group.SAFE_SOFTMAX: ("safe softmax", "safe-softmax"), Group.MASK_BUILT: ("the mask", "mask-rebuilt"), Group.MASK_APPLIED: ("the mask", "mask-rebuilt")}
"""Group → the finding that explains it."""

RANKED = (
    Because("ranked", "Where the extra {gap} goes, largest first: {ranked}."),
    Because("saved", "Math saves time on {saved}."),
    Because("mask_share", "The article also blames rebuilding the mask: that is {mask_share} of the extra time."),
)
WIDE = (
    Because("wide_free", "Wider elements are not the reason: {wide_free}."),
    Because("wide_paid", "Wider elements cost time: {wide_paid}."),
)
"""Whether the passes that both variants take last longer because each element has more bytes."""


def ranked_args(facts: RunFacts) -> dict[str, object]:
    """Arguments of `RANKED` and `WIDE`; none of them where math's trace is no longer than the naive one's, or either is not known."""
    found = waterfall(facts, *PAIR)
    if found is None or found.gap <= 0:
        return {}
    causes = [step for step in found.steps if step.extra > 0 and (found.share(step) or 0.0) >= WORTH_NAMING]
    saved = [step for step in reversed(found.steps) if -step.extra >= WORTH_NAMING * found.gap]
    built = next((step for step in found.steps if step.group is Group.MASK_BUILT), None)
    return {"gap": Seconds(found.gap), "most": _most(facts, found, causes), "ranked": listed([_cause(facts, found, step) for step in causes]),
            "saved": listed([f"{step.group.value} ({Seconds(-step.extra)})" for step in saved]),
            "mask_share": _share(found, built) if built else None, **wide_args(facts)}


def _most(facts: RunFacts, found: Waterfall, causes: Sequence[Step]) -> str:
    """The largest causes that together make up most of the extra time."""
    named: list[Step] = []
    for step in causes:
        named.append(step)
        if sum(found.share(one) or 0.0 for one in named) >= MOST:
            break
    return listed([f"{step.group.value}{_how(facts, step)} ({_share(found, step)})" for step in named])


def _how(facts: RunFacts, step: Step) -> str:
    unit = _unit(facts) if step.group is Group.MATMULS else None
    return f" {unit}" if unit else ""


def wide_args(facts: RunFacts) -> dict[str, object]:
    """Arguments of `WIDE`."""
    found = waterfall(facts, *PAIR)
    steps = [step for step in found.steps if step.group in PASSES and step.wider] if found else []
    return {"wide_free": _widened([step for step in steps if not step.paid]), "wide_paid": _widened([step for step in steps if step.paid])}


def _cause(facts: RunFacts, found: Waterfall, step: Step) -> str:
    how = f"{_unit(facts)}, " if step.group is Group.MATMULS and _unit(facts) else ""
    return f"{step.group.value} ({how}{added(step.extra)}, {_share(found, step)})"


def _share(found: Waterfall, step: Step) -> Percent:
    return share(step.extra, found.gap)


def _unit(facts: RunFacts) -> str | None:
    """How math multiplies, where its trace tells it for all its matmuls alike."""
    math = facts.variants["sdpa_math"]
    kernels = matmuls(math)
    if not kernels or not input_casts(math):
        return None
    if all(map(in_tf32, kernels)):
        return "in TF32"
    return "in FP32 without Tensor Cores" if all(tensor_cores(kernel) == "no" for kernel in kernels) else None


def _widened(steps: Sequence[Step]) -> str | None:
    parts = [f"{step.group.value} requests {Bytes(step.second_bytes or 0.0)} instead of {Bytes(step.first_bytes or 0.0)} and takes {Ratio(step.second / step.first)} the time" for step in steps]
    return listed(parts) or None


def table(facts: RunFacts) -> tuple[Table, ...]:
    """Each group with what it adds; nothing where either trace is missing."""
    found = waterfall(facts, *PAIR)
    if found is None:
        return ()
    longer = found.gap > 0
    rows = [(step.group.value, added(step.extra, unit=False), share(step.extra, found.gap) if longer else None, _us(step.first), _us(step.second), _page(step.group)) for step in found.steps]
    rows.append(("total", added(found.gap, unit=False), share(found.gap, found.gap) if longer else None, _us(found.start), _us(found.end), None))
    heads = ("Step", "#Extra (µs)", "#Share", f"#{found.first.title} (µs)", f"#{found.second.title} (µs)", "More")
    return (Table(columns(*heads), tuple(rows), f"Where the extra time of {found.second.title} over {found.first.title} goes, from both traces.",
                  ("Medians under the profiler, added up. Memsets and reductions that the matrix library launches count with its matmul.",)),)


def chart(facts: RunFacts) -> tuple[Chart, ...]:
    """The same as a picture, in the order of the table."""
    found = waterfall(facts, *PAIR)
    if found is None:
        return ()
    first, second = found.first, found.second
    steps = tuple(bar_charts.Step(step.group.value, step.extra) for step in found.steps)
    shown = bar_charts.Waterfall(bar_charts.Total(first.title, found.start, first.id), steps, bar_charts.Total(second.title, found.end, second.id))
    said = listed([f"{step.group.value} {added(step.extra)}" for step in found.steps])
    return bar_charts.waterfall("math-slowdown-waterfall", shown, f"From {first.title}, {Seconds(found.start)}, to {second.title}, {Seconds(found.end)}: {said}.",
                                f"From the GPU time of {first.title} to that of {second.title}, step by step, from both traces.")


def _page(group: Group) -> Link | None:
    return Link(_PAGES[group][0], f"findings/{_PAGES[group][1]}.md") if group in _PAGES else None


def _us(seconds: float) -> str | None:
    return Seconds(seconds).us() if seconds else None
