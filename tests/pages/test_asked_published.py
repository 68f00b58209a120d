"""What lies beside a map is found, copied with the evidence and taken away with it; a damaged file stops the pages and is named."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import folder_doubles
import pytest
from map_doubles import shape_map, square

from reportgen import pages, run
from reportgen.errors import RunInvalid
from reportgen.pages import publish, tree
from reportgen.review import checks
from reportgen.run.layout import Layout
from reportgen.shapes import bill, record

ROOT = Path(__file__).resolve().parents[2]
RUN = ROOT / "tests" / "data" / "run-schema-2" / "cpu-amd-epyc" / "custom-1x2x64x16-bfloat16+quick"
SLOT = "/".join(RUN.parts[-2:])


def write(root: Path, slug: str = "nvidia-h200") -> list[Path]:
    why, header = root / slug / "why.jsonl", asdict(shape_map().header)
    record.begin(why, header)
    record.append(why, asdict(folder_doubles.answer("a prompt", "cudnn", flash=57.0, cudnn=36.0)))
    bill.write(root / slug / "bill.json", {"header": header, "call": asdict(square(1024)), "rows": [asdict(folder_doubles.row("cudnn", 50.0, 40.0))]})
    return [root / slug / "bill.json", why]


def test_the_files_are_shown_copied_and_taken_along(tmp_path: Path):
    recorded, out = run.load(RUN), tmp_path / "out"
    written = write(tmp_path / "runs")
    pages.render([recorded], out, SLOT, ROOT / "docs", written)
    folder = out / "runs" / "nvidia-h200"
    assert {one.name for one in folder.iterdir()} == {"why.jsonl", "bill.json"}
    assert "**torch picks cuDNN for 1 of 1 call**" in (out / "why.md").read_text(encoding="utf-8") and "costs cuDNN 50.0 ms once" in (out / "bill.md").read_text(encoding="utf-8")
    files = pages.files([recorded], SLOT, [folder / "bill.json", folder / "why.jsonl"])
    assert tree.differences(files, out) == [] and not [line for line in checks.strangers(out, files, "") if "why" in line or "bill" in line]
    pages.render([recorded], out, SLOT, ROOT / "docs")
    assert not folder.exists() and "Nobody asked the torch of" in (out / "why.md").read_text(encoding="utf-8")


def test_a_device_with_these_files_alone_is_in_order_and_a_damaged_one_is_named(tmp_path: Path):
    bills, why = write(tmp_path / "docs" / "runs")
    assert checks.look(tmp_path / "docs").disorder == ()
    why.write_text(why.read_text(encoding="utf-8").replace('"picked":"cudnn"', '"picked":7'), encoding="utf-8")
    bills.write_text("[]", encoding="utf-8")
    found = checks.look(tmp_path / "docs").disorder
    assert [line.split(";")[0] for line in found] == ["docs/runs/nvidia-h200/bill.json: the whole file is [], expected an object",
                                                      "docs/runs/nvidia-h200/why.jsonl:2: picked is 7, expected text"]
    with pytest.raises(RunInvalid, match="picked is 7"):
        pages.files([], SLOT, [why])


def test_live_files_are_shown_where_none_are_recorded_and_left_out_where_they_cannot_be_read(tmp_path: Path):
    layout = Layout(tmp_path)
    recorded, (bills, why) = write(layout.recorded), write(layout.live, "some-cpu")
    write(layout.live)
    assert publish.maps(layout) == [*recorded, bills, why]
    why.write_text("{\n", encoding="utf-8")
    assert publish.maps(layout) == [*recorded, bills]
