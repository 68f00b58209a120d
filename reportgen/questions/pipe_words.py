"""What the SMs did, in words: why one fused kernel is faster than another, and what a step keeps busy that no ceiling explains."""

from __future__ import annotations

from collections.abc import Mapping

from ..analysis import CounterFacts, RunFacts
from ..analysis.bounds import ENOUGH
from ..analysis.counters import METRICS
from ..analysis.pipes import Busy, Contrast, busiest, contrasts, fused
from ..saying.markup import code
from ..saying.tables import Table, columns
from ..saying.units import Percent, Ratio, Seconds, listed, significant, verb

BUSY = {Busy.ISSUE: "issuing instructions", Busy.TENSOR: "the tensor pipe", Busy.XU: "the XU pipe (exponentials)", Busy.ALU: "the ALU pipe"}
_SHORT = {Busy.ISSUE: "issue slots", Busy.TENSOR: "tensor pipe", Busy.XU: "XU", Busy.ALU: "ALU"}


def why(facts: RunFacts) -> str:
    """`SDPA cuDNN executes fewer warp instructions than SDPA flash (…); …`: a part for each neighbouring pair that the counters tell apart; else empty."""
    return "; ".join(_why(facts, pair) for pair in contrasts(facts))


def _why(facts: RunFacts, pair: Contrast) -> str:
    fast, slow = (facts.variants[one.variant].title for one in (pair.fast, pair.slow))
    parts = []
    if pair.fewer:
        parts.append(f"executes fewer warp instructions than {slow} ({millions(pair.fast.instructions)} million against {millions(pair.slow.instructions)} million)")
    if pair.busier:
        beside = f" than {slow}" if not parts else ""
        parts.append(f"keeps the tensor pipe busier{beside} ({whole(pair.fast.counters.tensor_pct)} of the time against {whole(pair.slow.counters.tensor_pct)})")
    if pair.denser is not None:
        parts.append(f"does {Ratio(pair.denser)} the matrix work per second, by the kernels alone in the trace, with the tensor pipe no busier ({whole(pair.fast.counters.tensor_pct)} against {whole(pair.slow.counters.tensor_pct)}): "
                     f"its name says `wgmma`, and {slow} is written for `mma.sync`")
    return f"{fast} {listed(parts)}"


def shares(facts: RunFacts) -> str:
    """`SDPA flash issue slots 47 %, tensor pipe 39 %, XU 27 %, ALU 25 %; …`; empty where nothing was counted."""
    return "; ".join(f"{facts.variants[one.variant].title} {said}" for one in fused(facts) if (said := _counted(one.counters)))


def _counted(counters: CounterFacts) -> str:
    return ", ".join(f"{_SHORT[part]} {whole(value)}" for part in Busy if (value := getattr(counters, part.value)) is not None)


def busiest_said(facts: RunFacts) -> str:
    """`SDPA cuDNN XU (42 %) and SDPA flash tensor pipe (39 %); no pipe of them is above 42 %`: the highest of each, and of all; empty where no pipe was counted."""
    found = [(facts.variants[one.variant].title, *top) for one in fused(facts) if (top := busiest(one))]
    if not found:
        return ""
    highest = max(value for _, _, value in found)
    near = [title for title, _, value in found if value >= 100 * ENOUGH]
    rest = (f"{listed(near)} {verb(near, 'keeps its', 'keep theirs')} busy {Percent(100 * ENOUGH)} of the time or more, which counts as a limit" if near
            else f"no pipe of them is above {whole(highest)}")
    return f"{listed([f'{title} {_SHORT[part]} ({whole(value)})' for title, part, value in found])}; {rest}"


def metrics_said() -> str:
    """What Nsight Compute calls the four counts."""
    return listed([f"{_SHORT[part]} {code(METRICS[part.value])}" for part in Busy])


def busy_said(found: Mapping[Busy, float]) -> str:
    """`51.3 % of the time issuing instructions`, the largest share first."""
    return listed([f"{BUSY[part]} in {Percent(round(100 * share, 1))} of the GPU time" for part, share in sorted(found.items(), key=lambda pair: -pair[1])])


def table(facts: RunFacts) -> tuple[Table, ...]:
    """A row per fused kernel whose instructions were counted, the fastest first."""
    rows = tuple((facts.variants[one.variant].title, Seconds(one.kernel.duration), f"{millions(one.instructions)} million", *(whole(getattr(one.counters, part.value)) for part in Busy))
                 for one in fused(facts))
    if not rows:
        return ()
    notes = ("Issue slots: of those in which an SM could have issued an instruction. Tensor pipe: of its cycles. XU (exponentials, conversions) and ALU (integers, comparisons): of the instructions that the pipe could have started.",
             f"In Nsight Compute: {metrics_said()}.")
    return (Table(columns("Variant", "#Kernel time", "#Warp instructions", "#Issue slots busy", "#Tensor pipe", "#XU", "#ALU"), rows, caption="What the fused kernels keep busy, counted.", notes=notes),)


def millions(number: float) -> str:
    return significant(number / 1e6)


def whole(value: float | None) -> Percent | None:
    """A counter in whole percent: no more is known of one kernel that was counted once."""
    return None if value is None else Percent(round(value))
