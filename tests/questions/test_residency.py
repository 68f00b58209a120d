"""Why two occupancies differ, in words: each cause has its sentence, and no verdict hangs on how it is worded."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from builders import facts, variant

from reportgen import analysis
from reportgen import run as run_room
from reportgen.hardware.occupancy import Cause, Difference, Launch
from reportgen.questions import residency
from reportgen.questions.residency import explain, kernels_table
from reportgen.readings import answers

RECORDED = Path(__file__).resolve().parents[1] / "data" / "run-schema-1" / "nvidia-h200" / "article"


def said(cause, reported, *, grid=(4096, 1, 1), threads=128, shared=0, resident=16, capability="9.0"):
    return explain(Difference(cause, reported, Launch(grid, threads, 32, shared), resident, 132, capability))


@pytest.mark.parametrize("cause, given, sentence", [
    (Cause.OVER_DEFAULT, dict(reported=0, shared=134144),
     "The profiler assumes the default limit of 49,152 B of shared memory per block. This kernel uses 134,144 B, so the profiler concludes that no block fits and shows 0."),
    (Cause.SMALL_GRID, dict(reported=0, grid=(1, 1, 1)),
     "The grid is small: 1 block over 132 SMs is 0.00758 per SM, fewer than the 16 that fit. The profiler counts these, which rounds to 0."),
    (Cause.NOT_FILLED, dict(reported=24, grid=(512, 1, 1)),
     "The grid is small: 512 blocks over 132 SMs is 3.88 per SM, fewer than the 16 that fit. The profiler counts these, so it shows 24 %."),
    (Cause.UNKNOWN_ARCHITECTURE, dict(reported=-99, capability="12.0"),
     "The profiler's occupancy calculator does not know compute capability 12.0; it writes -99 instead."),
    (Cause.PARTIAL_WARP, dict(reported=74, threads=48),
     "The profiler counts threads, the hardware whole warps: 48 threads do not fill their last warp."),
    (Cause.UNEXPLAINED, dict(reported=42), "The profiler shows 42 %, which its known formula does not give for this launch."),
])
def test_each_cause_has_its_sentence(cause, given, sentence):
    assert said(cause, **given) == sentence


def test_recorded_zeros_have_one_of_two_causes():
    """Read by hand from the first trace of that machine: 18.75 % by the arithmetic above 48 KiB, 100 % with a single block."""
    six = analysis.build(run_room.load(RECORDED)).variants
    zeros = {name: [(a.occupancy_cause.cause, a.occupancy.theoretical) for a in held.activities if a.kind == "kernel" and a.profiler_occupancy == 0]
             for name, held in six.items()}
    assert zeros["naive"] == [(Cause.OVER_DEFAULT, 18.75)] * 2
    assert zeros["sdpa_cudnn"] == [(Cause.OVER_DEFAULT, 18.75)]
    assert zeros["sdpa_math"] == [(Cause.SMALL_GRID, 100.0)] * 3
    assert zeros["sdpa_flash"] == []


def test_rewording_the_cause_removes_no_sentence(monkeypatch):
    """The reading counts small grids by their cause; what the table says of them is another matter."""
    run = analysis.build(run_room.load(RECORDED))
    before = answers(run)["occupancy-field"].because
    monkeypatch.setattr(residency, "explain", lambda found: "Something else entirely.")
    assert answers(run)["occupancy-field"].because == before
    assert any("have a grid too small to fill the device" in sentence for sentence in before)
    (table,) = kernels_table(run)
    assert "Something else entirely." in {row[-1] for row in table.rows}


def test_the_notes_of_the_table_follow_its_kernels():
    """48 KiB and one byte, read as 0: the note on the default limit is there. One byte less: it is not."""
    def notes(shared):
        only = replace(facts(), variants={"sdpa_flash": facts().variants["sdpa_flash"]})
        kernel = replace(only.variants["sdpa_flash"].activities[0], shared_memory=shared, profiler_occupancy=0.0)
        (table,) = kernels_table(variant(only, "sdpa_flash", activities=(kernel,)))
        return table.notes

    assert notes(49153)[0].startswith("More than 48 KiB of shared memory: the profiler assumes the default limit of 49,152 B per block")
    assert not any(note.startswith("More than 48 KiB") for note in notes(49152))
