"""Half the square: how much of the score matrix's work is done at all."""

from __future__ import annotations

from collections.abc import Sequence

from ..analysis import FUSED, RunFacts, VariantFacts
from ..analysis.kernels import main_kernel, readable
from ..analysis.patterns.tiles import SIDES, fitting, tiled_flop
from ..analysis.traffic import needed_flop, tensor_core_flop
from ..hardware.kernel_names import Tile
from ..questions import needs
from ..questions.bar_charts import number_bars
from ..questions.model import Because, Case, Chart, Decision, Evidence, Finding, Question, answer, decide
from ..saying.tables import Table, columns
from ..saying.units import Count, Flop, Percent, Ratio, Seconds, listed, verb
from .base import percent

GIGA = 1e9
SLACK = 0.01
"""Counts this far below the visible pairs' mean that the counter missed work, not that the kernel saved it."""

_CEILING = Because("saved_time", "At this run's matmul ceiling the skipped work would take {saved_time} or more.")
_TILES = (Because("exact", "The count equals the one predicted from the tile in the name: {exact}."),
          Because("fits", "So the tile is consistent with the count, not proved. Of tiles with sides of {sides}, these give the same number: {fits}. All others are excluded."),
          Because("not_exact", "The tile in the name predicts another number: {not_exact}."))

FUSED_ANSWERS: dict[str, Case] = {
    "no-fused": answer("No fused backend gave a right result here."),
    "not-causal": answer("This workload has no causal mask, so there is nothing to skip."),
    "all-skip": answer(
        "The fused kernels skip masked tiles: on Tensor Cores {done}. The whole square is {full}, the unmasked pairs {needed}.",
        because=(*_TILES, _CEILING)),
    "some-skip": answer(
        "Not all of them skip masked tiles. {skipping}; {whole} the whole square or nearly so. The whole square is {full}, the unmasked pairs {needed}.",
        because=(*_TILES, _CEILING)),
    "none-skips": answer("No fused kernel skips masked tiles: {done}. The whole square is {full}, the unmasked pairs {needed}.", because=_TILES),
    "too-few": answer("Not known: {short} were counted, less than the unmasked pairs need ({needed}), so the counter misses work."),
}


def _counted(facts: RunFacts) -> list[tuple[VariantFacts, float]]:
    known = [(facts.variants[name], tensor_core_flop(facts.variants[name])) for name in FUSED if facts.ok(name)]
    return [(variant, flop) for variant, flop in known if flop is not None]


def fused_rule(facts: RunFacts) -> Decision:
    if not facts.workload.causal:
        return decide("not-causal")
    if not any(facts.ok(name) for name in FUSED):
        return decide("no-fused")
    found, needed, full = _counted(facts), needed_flop(facts), facts.workload.full_flop
    if not found:
        return decide("not-counted", what="the fused kernels")
    args = {"needed": Flop(needed), "full": Flop(full), "done": _said(found)}
    short = [(variant, flop) for variant, flop in found if flop < (1 - SLACK) * needed]
    if short:
        return decide("too-few", **args, short=listed([f"{Flop(flop)} for {variant.title}" for variant, flop in short]))
    skipping = [(variant, flop) for variant, flop in found if flop < (needed + full) / 2]
    whole = [variant.title for variant, flop in found if (variant, flop) not in skipping]
    most = max((flop for _, flop in skipping), default=full)
    ceiling = facts.ceilings.matmul_flop_per_s if facts.ceilings else None
    args |= {**_foretold(facts, found), "skipping": _said(skipping), "whole": f"{listed(whole)} {verb(whole, 'does', 'do')}",
             "saved_time": Seconds((full - most) / ceiling) if ceiling and skipping else None}
    return decide("all-skip" if not whole else "some-skip" if skipping else "none-skips", **args)


def _said(found: list[tuple[VariantFacts, float]]) -> str:
    return listed([f"{variant.title} does {Flop(flop)}" if not index else f"{variant.title} {Flop(flop)}" for index, (variant, flop) in enumerate(found)])


def _foretold(facts: RunFacts, found: list[tuple[VariantFacts, float]]) -> dict[str, object]:
    """Whether counting the tiles that hold a visible pair gives the hardware's number."""
    told = [(variant, flop, size) for variant, flop in found if (size := _tile(variant))]
    exact = [f"{v.title} {size.queries} × {size.keys}" for v, flop, size in told if tiled_flop(facts.workload, size) == flop]
    other = [f"{v.title} {size.queries} × {size.keys} would do {Flop(tiled_flop(facts.workload, size))}" for v, flop, size in told if tiled_flop(facts.workload, size) != flop]
    fits = [f"{v.title} {_sizes(also)}" for v, flop, size in told if tiled_flop(facts.workload, size) == flop and (also := [tile for tile in fitting(facts.workload, flop) if tile != size])]
    return {"exact": listed(exact), "not_exact": listed(other), "fits": "; ".join(fits), "sides": listed([str(side) for side in SIDES])}


def _sizes(tiles: Sequence[Tile]) -> str:
    return listed([f"{tile.queries} × {tile.keys}" for tile in tiles])


def _tile(variant: VariantFacts) -> Tile | None:
    kernel = main_kernel(variant)
    return kernel.decoded.tile if kernel and kernel.decoded else None


STEP_ANSWERS: dict[str, Case] = {
    "whole": answer("The step-by-step variants multiply the whole square: {whole} on Tensor Cores, of which the mask lets {needed} through.",
                    because=(Because("elsewhere", "{elsewhere} multiplies elsewhere: nothing was counted on Tensor Cores."),)),
    "elsewhere": answer("Nothing was counted on Tensor Cores for {elsewhere}: it multiplies elsewhere."),
    "otherwise": answer("The step-by-step variants' operations differ from the square's ({full}): {done} on Tensor Cores."),
}


def step_rule(facts: RunFacts) -> Decision:
    counts = [(v, flop) for v in readable(facts) if v.id not in FUSED and (flop := tensor_core_flop(v)) is not None]
    if not counts:
        return decide("not-counted", what="the step-by-step variants")
    some = [(v, flop) for v, flop in counts if flop]
    args = {"needed": percent(needed_flop(facts), facts.workload.full_flop), "full": Flop(facts.workload.full_flop), "done": _said(some),
            "whole": listed([v.title for v, _ in some]) + f" {Flop(facts.workload.full_flop)}", "elsewhere": listed([v.title for v, flop in counts if not flop])}
    if not some:
        return decide("elsewhere", **args)
    return decide("whole" if all(flop == facts.workload.full_flop for _, flop in some) else "otherwise", **args)


def evidence(facts: RunFacts) -> Evidence:
    shown = [(variant, tensor_core_flop(variant)) for variant in readable(facts)]
    if not any(flop is not None for _, flop in shown):
        return Evidence()
    return Evidence(tables=(_table(facts, shown),), charts=_chart(facts, shown))


def _table(facts: RunFacts, shown: list[tuple[VariantFacts, float | None]]) -> Table:
    rows = []
    for variant, flop in shown:
        size = _tile(variant) if variant.id in FUSED else None
        rows.append((variant.title, None if flop is None else Count(round(flop)), percent(flop, facts.workload.full_flop),
                     Ratio(flop / needed_flop(facts)) if flop else None, f"{size.queries} × {size.keys}" if size else None,
                     Count(tiled_flop(facts.workload, size)) if size else None))
    notes = (f"The whole square: {Count(facts.workload.full_flop)}. The pairs that the mask leaves: {Count(needed_flop(facts))}. One multiplication and one addition are two operations.",
             "From the tile: all tiles that hold at least one visible pair, each computed whole. cuDNN's tile is inferred from its name.")
    return Table(columns("Variant", "#Operations on Tensor Cores", "#Of the whole square", "#÷ visible pairs", "Tile in the name (queries × keys)", "#From the tile"),
                 tuple(rows), "Operations that Tensor Cores did in one forward, counted.", notes)


def _chart(facts: RunFacts, shown: list[tuple[VariantFacts, float | None]]) -> tuple[Chart, ...]:
    needed, known = needed_flop(facts), [(variant, flop) for variant, flop in shown if flop is not None]
    said = listed([f"{variant.title} {Flop(flop)} ({Percent(round(100 * flop / facts.workload.full_flop))} of the square)" for variant, flop in known])
    return number_bars("square-work", [(variant, flop / GIGA) for variant, flop in known], "GFLOP",
                       alt=f"Operations on Tensor Cores in one forward: {said}; the visible pairs need {Flop(needed)}.",
                       caption="Operations on Tensor Cores in one forward, counted. The mark is what the visible pairs need.",
                       reference=[needed / GIGA] * len(known), reference_label=f"the pairs that the mask leaves, {Flop(needed)}")


READING = Finding(
    slug="half-the-square",
    title="Tensor Core work: half the square",
    question="What a mask hides counts for nothing. Who computes it all the same?",
    questions=(
        Question("square-fused", "Do the fused kernels compute what the mask hides?", fused_rule, FUSED_ANSWERS, needs=(needs.kernels(),)),
        Question("square-steps", "And the step-by-step variants?", step_rule, STEP_ANSWERS, needs=(needs.kernels(),)),
    ),
    evidence=evidence,
    section="readings",
)
