"""Tables and chart of the cuDNN launch page."""

from __future__ import annotations

from ..analysis import SIX, RunFacts
from ..analysis.kernels import main_kernel
from ..analysis.launches import Launches, library_launches
from ..analysis.witnesses import Fit, fit, telling
from ..hardware.arch_limits import DEFAULT_SHARED_MEMORY
from ..questions.bar_charts import number_bars
from ..questions.model import Chart, Evidence
from ..questions.residency import NO_VALUE, steps_table
from ..questions.thresholds import rules
from ..saying.tables import Code, Table, columns
from ..saying.units import Bytes, Count, Percent
from .launches import LIBRARY_APIS, library


def evidence(facts: RunFacts) -> Evidence:
    cudnn = facts.variants.get("sdpa_cudnn")
    kernel = main_kernel(cudnn)
    steps = steps_table(cudnn, kernel) if cudnn and kernel else ()
    return Evidence(tables=(*_api_table(facts), *_witness_table(facts), *steps), charts=_chart(facts))


def _api_table(facts: RunFacts) -> tuple[Table, ...]:
    of_six = {_key(group): len(group.kernels) for group in library_launches(facts, SIX)}
    rows = tuple((library(group), Code(group.api), Count(of_six.get(_key(group), 0)), Count(len(group.kernels)),
                  _range([k.shared_memory for k in group.kernels], Bytes), _fields([k.profiler_occupancy for k in group.kernels])) for group in _groups(facts))
    if not rows:
        return ()
    return (Table(columns("Library", "Launched by", "#Kernels per forward, the six", "#All variants", "#Shared memory", "#Profiler's occupancy"), rows,
                  caption="Which library launches through which host call: totals over one forward of each variant.",
                  notes=(f"The article: cuDNN through `{LIBRARY_APIS['cudnn']}`, all others through `{LIBRARY_APIS['others']}`.",)),)


def _groups(facts: RunFacts) -> tuple[Launches, ...]:
    return library_launches(facts, tuple(facts.variants))


def _key(group: Launches) -> tuple[str, str, bool]:
    return library(group), group.api, group.variant_is_cudnn


def _range(values: list[float | None] | list[int | None], unit: type) -> str | None:
    known = [value for value in values if value is not None]
    if not known:
        return None
    low, high = min(known), max(known)
    return str(unit(low)) if low == high else f"{unit(low)} to {unit(high)}"


def _fields(readings: list[float | None]) -> str | None:
    """The readings of some kernels as a range; those below 0 are no values."""
    known = [reading for reading in readings if reading is None or reading >= 0]
    return NO_VALUE if readings and not known else _range(known, Percent)


def _witness_table(facts: RunFacts) -> tuple[Table, ...]:
    """One line for each kernel that could tell the two causes apart: driver-launched, above the default limit, or a probe."""
    limit = rules()["default_shared"]
    rows = tuple((Code(one.who), Code(one.api), Bytes(one.shared_memory), "yes" if one.large else "no", Percent(one.field), _FITS[fit(one)])
                 for one in telling(facts))
    if not rows:
        return ()
    return (Table(columns("Kernel", "Launched by", "#Shared memory", f"Above {limit}", "#Profiler's occupancy", "Fits"), rows,
                  caption=f"Kernels that can tell the driver call from the {limit} rule.",
                  notes=(f"The driver call predicts 0 for every launch by `cuLaunchKernel…`. The {limit} rule predicts 0 for every kernel above {rules()['default_shared_exact']} B.",)),)


_FITS = {
    Fit.DRIVER_CALL: "only the driver call",
    Fit.SHARED_MEMORY: f"only the {Bytes(DEFAULT_SHARED_MEMORY)} rule",
    Fit.BOTH: "both",
    Fit.NEITHER: "neither",
    Fit.TOO_SMALL: "neither: its grid is too small to show anything",
}


def _chart(facts: RunFacts) -> tuple[Chart, ...]:
    shown = [(facts.variants[name], kernel) for name in SIX if name in facts.variants for kernel in [main_kernel(facts.variants[name])] if kernel and kernel.occupancy]
    marks = [kernel.profiler_occupancy if (kernel.profiler_occupancy or 0) >= 0 else None for _, kernel in shown]
    marked = any(mark is not None for mark in marks)
    said = "; ".join(f"{variant.title} " + (f"{Percent(mark)} in the profiler, " if mark is not None else "") + f"{Percent(kernel.occupancy.theoretical)} by arithmetic"
                     for (variant, kernel), mark in zip(shown, marks) if kernel.occupancy)
    return number_bars("cudnn-launch-occupancy", [(variant, kernel.occupancy.theoretical if kernel.occupancy else None) for variant, kernel in shown], "%",
                       alt=f"Occupancy of each variant's longest kernel: {said}.",
                       caption="Occupancy of each variant's longest kernel" + (": from the launch (bars) and in the profiler's field (marks)." if marked else ", from the launch."),
                       reference=marks if marked else None, reference_label="the profiler's field" if marked else None) if shown else ()
