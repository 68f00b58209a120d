"""The run's caveats in words: each kind has its sentence here and nowhere else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..analysis import Caveat, CaveatKind, RunFacts
from ..saying.units import listed, plural, significant

_Args = Mapping[str, Any]


def said(caveat: Caveat) -> str:
    """The caveat as a sentence."""
    return _SENTENCES[caveat.kind](caveat.args)


def all_said(facts: RunFacts) -> tuple[str, ...]:
    """Every caveat of the run, most serious first."""
    return tuple(said(caveat) for caveat in facts.caveats)


def travelling(facts: RunFacts) -> tuple[str, ...]:
    """Those that make the run's numbers suspect as a whole: every page that shows such numbers says them first."""
    return tuple(said(caveat) for caveat in facts.caveats if caveat.travels)


def _throttled(a: _Args) -> str:
    clocks = f"; the SM clock ran between {a['lowest']} MHz and {a['highest']} MHz" if a["lowest"] is not None else ""
    return f"The clocks were held back ({listed(a['reasons'])}) in {a['held']} of {a['samples']} samples{clocks}."


def _clocks_apart(a: _Args) -> str:
    return (f"The SM clock differed between variants (median {significant(a['slow_mhz'], 4)} MHz during {a['slow']}, {significant(a['fast_mhz'], 4)} MHz during {a['fast']}); "
            f"margins smaller than {significant(a['spread'] * 100, 2)} % are treated as noise.")


def _records_lost(a: _Args) -> str:
    return f"Nothing that {listed(a['titles'])} {'does' if len(a['titles']) == 1 else 'do'} on the GPU is counted here: {a['reason']}. Record the run again."


def _watched(a: _Args) -> str:
    names = f" ({listed(a['names'])})" if a["names"] else ""
    return f"A profiler or a sanitizer watched this run{names}, so every time here is its as well, and nothing is concluded from host time."


def _launches_wait(a: _Args) -> str:
    return (f"{listed(a['names'])} made every launch wait for the GPU, so host times here have the GPU's in them, and nothing is concluded from them; "
            "wall times are longer as well.")


def _part_lost(a: _Args) -> str:
    part = f"{a['part'][:1].upper()}{a['part'][1:]}"
    return f"{part}{' of ' + listed(a['titles']) if a['titles'] else ''} could not be taken: {a['reason']}."


_SENTENCES: Mapping[CaveatKind, Callable[[_Args], str]] = {
    CaveatKind.EDITED: lambda a: (f"{listed(a['files'])} of this run {'is' if len(a['files']) == 1 else 'are'} not as recorded: the seal does not fit, "
                                  "so a number here may have been typed and not measured."),
    CaveatKind.NEIGHBOURS: lambda a: f"{plural(a['others'], 'other compute process', 'other compute processes')} used this GPU during the run, so every time here is suspect.",
    CaveatKind.GPU_BUSY: lambda a: f"The GPU was computing {a['busy']} of the time before this run began, and nobody says for whom, so every time here is suspect.",
    CaveatKind.BUSY_CPU: lambda a: f"Other processes took up to {a['share']} of the processors while this run was timed, so every time here is suspect.",
    CaveatKind.BUSY_HOST: lambda a: f"Other processes took up to {a['share']} of the processors while this run was timed, so host times are longer and unsteady.",
    CaveatKind.WATCHED: _watched,
    CaveatKind.LAUNCHES_WAIT: _launches_wait,
    CaveatKind.THROTTLED: _throttled,
    CaveatKind.CLOCKS_APART: _clocks_apart,
    CaveatKind.RECORDS_LOST: _records_lost,
    CaveatKind.PART_LOST: _part_lost,
    CaveatKind.FORWARDS_LOST: lambda a: (f"{a['title']}: the profiler lost GPU records of {plural(a['forwards'], 'recorded forward')}, "
                                         f"which {'was' if a['forwards'] == 1 else 'were'} left out."),
    CaveatKind.MEMSETS_LOST: lambda a: f"{a['title']}: its memset calls left no GPU record, so memsets are not counted and their time is missing.",
    CaveatKind.ABOVE_WALL: lambda a: (f"{a['title']}: its GPU time ({a['gpu']}) is above the wall time of the same work ({a['wall']}), "
                                      "which cannot be: one of the two was disturbed while it was taken."),
    CaveatKind.BEYOND_CEILINGS: lambda a: (f"The GPU time of {listed(a['titles'])} is below what this run's own ceilings allow ({a['least']}), which cannot be: "
                                           "a ceiling was measured too low, or a time is wrong."),
    CaveatKind.TIMER_NOTE: lambda a: f"GPU time of {listed(a['titles'])}: {a['note']}.",
    CaveatKind.TIMERS_DISAGREE: lambda a: (f"{a['title']}: the activities in the trace add up to {a['traced']}, {a['ratio']} the {a['timed']} per forward of the timed replay; "
                                           "the replay is the number that decides claims."),
    CaveatKind.FORWARDS_DIFFER: lambda a: (f"{a['title']}: {plural(a['forwards'], 'recorded forward')} ran a different list of activities than the others and was left out of the medians."),
    CaveatKind.OPS_DIFFER: lambda a: (f"{a['title']}: {plural(a['forwards'], 'recorded forward')} dispatched another list of CPU ops than the {a['ops']} that are counted here." if a["ops"] is not None else
                                       f"{a['title']}: its {a['forwards']} recorded forwards do not agree on a list of CPU ops, not even most of them, so none is counted here."),
    CaveatKind.UNCOUNTED: lambda a: f"{a['title']}: its hardware counters are left out, because {a['reason']}.",
    CaveatKind.OCCUPANCY_CONTRADICTED: lambda a: (f"The occupancy of `{a['kernel']}` works out at {a['here']} from its launch here, and at {a['there']} in Nsight Compute ({listed(a['titles'])}): "
                                                  "trust Nsight Compute, and mistrust the arithmetic here for this kernel."),
    CaveatKind.NOTICED: lambda a: f"Noticed before it began: {a['said']}.",
}
