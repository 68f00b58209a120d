"""Runs of schema 1 come out as the current schema would have recorded them; their files stay as they are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reportgen import analysis
from reportgen import run as run_room
from reportgen.errors import RunInvalid
from reportgen.run import OccupancyProbe, ProbeLaunch

DATA = Path(__file__).resolve().parents[1] / "data"
FIRST = DATA / "run-schema-1" / "nvidia-h200" / "article"
SECOND = DATA / "run-schema-2" / "cpu-amd-epyc" / "custom-1x2x64x16-bfloat16+quick"


def loaded(tmp_path: Path, version: int, **changes: object) -> run_room.VariantRun:
    """Naive of a run of that schema, with these fields, loaded."""
    data = {"schema_version": version, "recorded_on": "2026-11-30", "label": None, "device": {"kind": "cpu", "name": "a CPU", "slug": "cpu-a"},
            "software": {}, "host": {}, "settings": {}, "protocol": {}, "workload": {"name": "w", "batch": 1, "heads": 1, "sequence": 8, "head_dim": 8, "dtype": "float32", "causal": True},
            "variants": {"naive": {"title": "Naive", "status": "ok", **changes}}}
    return run_room.from_json(data, tmp_path).variants["naive"]


@pytest.mark.parametrize(("status", "reason", "error", "expected"), [
    ("ok", None, 0.004, "ok"),
    ("ok", None, None, "ok"),
    ("ok", None, 0.3, "wrong"),
    ("failed", "wrong result: relative error 0.3, allowed 0.0048", 0.3, "wrong"),
    ("failed", "wrong result: the output is not finite, allowed 0.0048", None, "wrong"),
    ("failed", "another reason", 0.3, "wrong"),
    ("failed", "CUDA out of memory.", None, "failed"),
    ("unavailable", "No available kernel. Aborting execution.", None, "unavailable"),
    ("unavailable", "not asked for in this run", None, "not-tried"),
    ("unavailable", "compiling takes longer than the rest of a CPU run; ask for this variant by name to have it", None, "not-tried"),
    ("failed", "not asked for in this run", None, "failed"),
])  # fmt: skip
def test_a_status_of_schema_1_becomes_what_is_recorded_today(tmp_path, status, reason, error, expected):
    """The error that was allowed is 0.0048."""
    found = loaded(tmp_path, 1, status=status, reason=reason, relative_error=error, allowed_error=0.0048)
    assert (found.status, found.reason) == (expected, reason)


@pytest.mark.parametrize(("status", "reason", "error", "expected"), [
    ("not-tried", "not asked for in this run", None, "not-tried"),
    ("wrong", "wrong result: the output is not finite, allowed 0.0048", None, "wrong"),
    ("unavailable", "not asked for in this run", None, "unavailable"),
    ("failed", "wrong result: as somebody says", None, "failed"),
    ("ok", None, 0.0049, "wrong"),
    ("ok", None, 0.0048, "ok"),
])  # fmt: skip
def test_schema_2_says_it_by_status_and_no_sentence_is_read(tmp_path, status, reason, error, expected):
    assert loaded(tmp_path, 2, status=status, reason=reason, relative_error=error, allowed_error=0.0048).status == expected


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("status", ["skipped", "OK", "", "recorded before"])
def test_a_status_that_nobody_records_is_refused(tmp_path, version, status):
    with pytest.raises(RunInvalid) as caught:
        loaded(tmp_path, version, status=status)
    assert caught.value.problem == f"variants.naive.status is {status!r}, expected one of ok, wrong, unavailable, failed, not-tried"


def test_the_launches_of_the_occupancy_probe_have_a_name_now():
    probe = run_room.load(FIRST).probes.occupancy_probe
    assert [(launch.name, launch.launch_api, launch.profiler_occupancy) for launch in probe.launches] == [
        ("occupancy_probe_16_kib", "cuLaunchKernel", 81), ("occupancy_probe_16_kib", "cudaLaunchKernel", 81),
        ("occupancy_probe_52_kib", "cuLaunchKernel", 0), ("occupancy_probe_52_kib", "cudaLaunchKernel", 0)]
    assert probe.launches[0] == ProbeLaunch("occupancy_probe_16_kib", "cuLaunchKernel", 16384, 81, (8448, 1, 1), (128, 1, 1), 16)


def test_a_run_knows_whether_it_is_older_and_its_file_stays_as_it_is():
    before = (FIRST / "run.json").read_bytes()
    first, second = run_room.load(FIRST), run_room.load(SECOND)
    assert (first.schema_version, first.older, second.schema_version, second.older) == (1, True, 2, False)
    assert (analysis.build(first).older, analysis.build(second).older) == (True, False)
    assert (FIRST / "run.json").read_bytes() == before


def test_a_real_run_of_the_second_schema_says_who_was_not_tried_and_who_was_refused():
    """A quick run on a CPU with torch 2.13: no GPU backends there, nothing compiled, no training."""
    run = run_room.load(SECOND)
    assert {name: variant.status for name, variant in run.variants.items()} == {
        "naive": "ok", "naive_inplace": "ok", "sdpa_math": "ok", "sdpa_efficient": "unavailable", "sdpa_flash": "ok", "sdpa_cudnn": "unavailable",
        "naive_compiled": "not-tried"}
    assert run.probes.occupancy_probe == OccupancyProbe(reason="there is no GPU")
    assert json.loads((SECOND / "run.json").read_text())["variants"]["naive_compiled"]["status"] == "not-tried"
    assert all(variant.training is None for variant in run.variants.values())
