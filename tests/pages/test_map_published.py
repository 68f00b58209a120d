"""A map beside the runs: found, copied with the evidence, its files written and taken away with it; a damaged one stops the pages."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import pytest
from map_doubles import point, shape_map, square

from reportgen import pages, run
from reportgen.errors import RunInvalid
from reportgen.pages import publish, tree
from reportgen.review import checks
from reportgen.run.layout import Layout
from reportgen.shapes import record

ROOT = Path(__file__).resolve().parents[2]
RUN = ROOT / "tests" / "data" / "run-schema-2" / "cpu-amd-epyc" / "custom-1x2x64x16-bfloat16+quick"
SLOT = "/".join(RUN.parts[-2:])


def write(root: Path, slug: str = "nvidia-h200") -> Path:
    file = root / slug / "map.jsonl"
    record.begin(file, asdict(shape_map().header))
    for n in (128, 512):
        one = point(square(n), "flash", math=900.0, flash=200.0, cudnn=100.0)
        record.append(file, {**asdict(one), "readings": [record.as_fields(reading) for reading in one.readings]})
    return file


def test_a_map_brings_its_files_and_takes_them_along(tmp_path: Path):
    recorded, out = run.load(RUN), tmp_path / "out"
    file = write(tmp_path / "runs")
    pages.render([recorded], out, SLOT, ROOT / "docs", [file])
    folder = out / "runs" / "nvidia-h200"
    assert (folder / "map.jsonl").read_bytes() == file.read_bytes() and "2 of 2 calls" in (out / "map.md").read_text(encoding="utf-8")
    assert {one.name for one in folder.iterdir() if one.is_file()} == {"map.jsonl", "map.svg", "map.csv", "policy.json", "best_sdpa.py"}
    files = pages.files([recorded], SLOT, [folder / "map.jsonl"])
    assert tree.differences(files, out) == [] and not [line for line in checks.strangers(out, files, "") if "map" in line or "policy" in line or "best_sdpa" in line]
    pages.render([recorded], out, SLOT, ROOT / "docs")
    assert not folder.exists() and "No map of" in (out / "map.md").read_text(encoding="utf-8")


def test_a_device_with_a_map_alone_is_in_order_and_a_damaged_map_is_named(tmp_path: Path):
    file = write(tmp_path / "docs" / "runs")
    assert checks.look(tmp_path / "docs").disorder == ()
    with file.open("a", encoding="utf-8") as opened:
        opened.write("{\n")
    assert checks.look(tmp_path / "docs").disorder == ("docs/runs/nvidia-h200/map.jsonl:4: is no JSON; continue or record it anew with `make map`, or restore the file from version control",)
    with pytest.raises(RunInvalid, match="is no JSON"):
        pages.files([], SLOT, [file])


def test_a_live_map_is_shown_where_none_is_recorded_and_left_out_where_it_cannot_be_read(tmp_path: Path):
    layout = Layout(tmp_path)
    recorded, other = write(layout.recorded), write(layout.live, "some-cpu")
    write(layout.live)
    assert publish.maps(layout) == [recorded, other]
    other.write_text("{\n", encoding="utf-8")
    assert publish.maps(layout) == [recorded]
