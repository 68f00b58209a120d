"""Maps from other machines, and what lies beside them: all or none as runs are, and nothing that says less than what is recorded."""

from __future__ import annotations

import shutil
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from folder_doubles import answer, asked, row
from folder_doubles import bill as billed
from map_doubles import point, shape_map, square
from run_builder import record as recorded

from reportgen.errors import ReportError
from reportgen.review import merge
from reportgen.review.merge_maps import State
from reportgen.run import swap
from reportgen.shapes import bill, record
from reportgen.shapes.record import Header, Point

POINTS = [point(square(n), "flash", flash=100.0, cudnn=150.0) for n in (128, 512, 1024)]


def header(**more: object) -> Header:
    """of: the device's slug; torch: its version; memory: bytes"""
    found = shape_map().header
    device = replace(found.device, slug=more.get("of", "nvidia-h200"), memory_bytes=more.get("memory", 140 * 2**30))
    return replace(found, device=device, software={**found.software, "torch": more.get("torch", "2.11.0")})  # type: ignore[dict-item]


def write_map(root: Path, points: list[Point], name: str = "map.jsonl", **more: object) -> Path:
    file = root / str(more.get("of", "nvidia-h200")) / name
    record.begin(file, asdict(header(**more)))
    for one in points:
        record.append(file, {**asdict(one), "readings": [record.as_fields(reading) for reading in one.readings]})
    return file


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """docs/runs with one run and its map."""
    recorded(tmp_path / "docs" / "runs")
    (tmp_path / "docs" / "runs" / "FEATURED").write_text("nvidia-h200/article\n")
    write_map(tmp_path / "docs" / "runs", POINTS[:2])
    return tmp_path / "docs" / "runs"


def states(merged: merge.Merged) -> list[tuple[str, str]]:
    return [(one.place, one.state.name) for one in merged.maps]


def files(root: Path) -> dict[str, bytes]:
    return {str(file.relative_to(root)): file.read_bytes() for file in sorted(root.rglob("*")) if file.is_file()}


def test_a_run_and_all_that_lies_beside_it_go_in_together(tmp_path: Path, runs: Path):
    other = tmp_path / "other"
    recorded(other, slug="nvidia-a")
    of_a = {"of": "nvidia-a"}
    given = [write_map(other, POINTS, **of_a), write_map(other, POINTS[:1], "extras.jsonl", **of_a)]
    asked_ = asked(answer("a prompt", "flash", flash=50.0)).answers
    assert asked_ is not None
    why = other / "nvidia-a" / "why.jsonl"
    record.begin(why, asdict(header(**of_a)))
    record.append(why, {**asdict(asked_.answers[0]), "readings": [record.as_fields(one) for one in asked_.answers[0].readings]})
    priced = billed(row("cudnn", 43.0, 50.0)).bill
    assert priced is not None
    bill.write(other / "nvidia-a" / "bill.json", asdict(replace(priced, header=header(**of_a))))
    merged = merge.merge([other], runs)
    assert [(one.slot, one.state) for one in merged.runs] == [("nvidia-a/article", "new")]
    assert sorted(states(merged)) == [("nvidia-a/bill.json", "NEW"), ("nvidia-a/extras.jsonl", "NEW"), ("nvidia-a/map.jsonl", "NEW"), ("nvidia-a/why.jsonl", "NEW")]
    assert all((runs / "nvidia-a" / file.name).read_bytes() == file.read_bytes() for file in (*given, why, other / "nvidia-a" / "bill.json"))
    assert not [entry.name for entry in runs.rglob(".*")]


def test_the_same_again_changes_nothing_and_a_map_that_goes_on_is_taken(tmp_path: Path, runs: Path):
    shutil.copytree(runs, tmp_path / "same")
    before = files(runs)
    assert states(merge.merge([tmp_path / "same"], runs)) == [("nvidia-h200/map.jsonl", "SAME")] and files(runs) == before
    longer = write_map(tmp_path / "longer", POINTS)
    assert states(merge.merge([longer.parent], runs)) == [("nvidia-h200/map.jsonl", "CONTINUED")]
    assert (runs / "nvidia-h200" / "map.jsonl").read_bytes() == longer.read_bytes()


def test_other_times_of_the_same_calls_are_another_map_and_want_to_be_accepted(tmp_path: Path, runs: Path):
    other = write_map(tmp_path / "other", [point(square(n), "flash", flash=90.0, cudnn=150.0) for n in (128, 512)])
    before = files(runs)
    with pytest.raises(ReportError) as caught:
        merge.merge([other.parent], runs)
    assert str(caught.value) == (f"nothing was merged\n  {other}: would replace another nvidia-h200/map.jsonl\n"
                                 "  what to do: replace a map, or what lies beside it, with `make merge … ACCEPT=1`")
    assert files(runs) == before
    assert states(merge.merge([other.parent], runs, accept=True)) == [("nvidia-h200/map.jsonl", "OTHER")]


@pytest.mark.parametrize("accept", [False, True])
def test_a_shorter_one_of_other_software_replaces_nothing_also_if_accepted_and_stays_where_it_is(tmp_path: Path, runs: Path, accept: bool):
    shorter = write_map(tmp_path / "shorter", POINTS[:1], torch="2.14.0")
    recorded(tmp_path / "shorter", slug="nvidia-b")
    before = (runs / "nvidia-h200" / "map.jsonl").read_bytes()
    merged = merge.merge([tmp_path / "shorter"], runs, accept)
    assert [(one.place, one.state, one.count, one.recorded) for one in merged.maps] == [("nvidia-h200/map.jsonl", State.SHORTER, 1, 2)]
    assert (runs / "nvidia-h200" / "map.jsonl").read_bytes() == before and (runs / "nvidia-b" / "article").is_dir() and shorter.is_file()


def test_one_of_other_software_that_is_as_long_replaces_it_where_that_is_accepted(tmp_path: Path, runs: Path):
    as_long = write_map(tmp_path / "newer", POINTS[:2], torch="2.14.0")
    assert states(merge.merge([as_long.parent], runs, accept=True)) == [("nvidia-h200/map.jsonl", "OTHER")]
    assert record.read(runs / "nvidia-h200" / "map.jsonl").header.software["torch"] == "2.14.0"


def test_a_bill_with_fewer_prices_of_other_software_stays_out(tmp_path: Path, runs: Path):
    def write(root: Path, version: str, *rows: bill.Row) -> Path:
        found = billed(*rows).bill
        assert found is not None
        bill.write(root / "nvidia-h200" / "bill.json", asdict(replace(found, header=header(torch=version))))
        return root

    write(runs, "2.11.0", row("cudnn", 43.0, 50.0), row("flash", 0.1, 50.0))
    fewer = write(tmp_path / "fewer", "2.14.0", row("cudnn", 43.0, 50.0), row("flash", 0.0, 0.0, reason="it declines"))
    assert states(merge.merge([fewer], runs, accept=True)) == [("nvidia-h200/bill.json", "SHORTER")]


def test_another_gpu_of_the_same_name_never_takes_its_place(tmp_path: Path, runs: Path):
    other = write_map(tmp_path / "other", POINTS, memory=48 * 2**30)
    for accept in (False, True):
        with pytest.raises(ReportError, match=r"another GPU than that of the recorded nvidia-h200/map.jsonl has that name \(48gb\)"):
            merge.merge([other.parent], runs, accept)


def test_one_damaged_map_keeps_all_out(tmp_path: Path, runs: Path):
    recorded(tmp_path / "other", slug="nvidia-a")
    bad = write_map(tmp_path / "other", POINTS, of="nvidia-a")
    with bad.open("a", encoding="utf-8") as opened:
        opened.write("{\n")
    before = files(runs)
    with pytest.raises(ReportError, match=r"nothing was merged\n  .*map.jsonl:5: damaged: is no JSON\n  what to do: fetch what is damaged again"):
        merge.merge([tmp_path / "other"], runs)
    assert files(runs) == before


def test_two_maps_of_one_device_are_refused(tmp_path: Path, runs: Path):
    for number in (1, 2):
        write_map(tmp_path / str(number), POINTS[:number], of="nvidia-a")
    with pytest.raises(ReportError, match="another map.jsonl of nvidia-a than "):
        merge.merge([tmp_path / "1", tmp_path / "2"], runs, accept=True)


@pytest.mark.parametrize("slug", ["../x", "a/b", ""])
def test_a_slug_that_leads_elsewhere_is_refused(tmp_path: Path, runs: Path, slug: str):
    file = write_map(tmp_path / "other", POINTS)
    file.write_text(file.read_text().replace('"slug":"nvidia-h200"', f'"slug":"{slug}"', 1))
    with pytest.raises(ReportError, match="damaged"):
        merge.merge([tmp_path / "other"], runs)


def test_what_is_kept_aside_or_hidden_is_not_taken(tmp_path: Path, runs: Path):
    write_map(tmp_path / "other" / "nvidia-h200" / "aside", POINTS)
    write_map(tmp_path / "other" / ".placing-x", POINTS)
    with pytest.raises(ReportError, match="holds no run and no map"):
        merge.merge([tmp_path / "other"], runs)


@pytest.mark.parametrize("fails", ["then", "last"])
def test_what_fails_after_they_went_in_takes_them_back(tmp_path: Path, runs: Path, fails: str):
    """The former map is back, the new device gone, and nothing is left beside them."""
    write_map(tmp_path / "other", POINTS)
    write_map(tmp_path / "other", POINTS, of="nvidia-a")
    before, seen = files(runs), []

    def then(merged: merge.Merged):
        seen.append(len(record.read(runs / "nvidia-h200" / "map.jsonl").points))
        if fails == "then":
            raise ReportError("does not render")
        return lambda: (_ for _ in ()).throw(OSError(28, "full"))

    with pytest.raises((ReportError, OSError)):
        merge.merge([tmp_path / "other"], runs, then=then)
    assert seen == [3] and files(runs) == before and not (runs / "nvidia-a").exists()


def test_a_kill_in_the_middle_is_put_right_at_the_next_start(tmp_path: Path, runs: Path, monkeypatch: pytest.MonkeyPatch):
    """As if the process had died after the files went in: nothing of the end of the block ran."""
    write_map(tmp_path / "other", POINTS)
    write_map(tmp_path / "other", POINTS, of="nvidia-a")
    before = files(runs)
    with monkeypatch.context() as patched:
        patched.setattr(merge.slots.swap, "heal", lambda root: [])
        with pytest.raises(KeyboardInterrupt):
            merge.merge([tmp_path / "other"], runs, then=lambda merged: (_ for _ in ()).throw(KeyboardInterrupt))
    assert files(runs) != before
    assert sorted(swap.heal(runs)) == ["nvidia-a/map.jsonl: a merge was broken off; what it had put there is taken back",
                                       "nvidia-h200/map.jsonl: a merge was broken off; the former file is back"]
    assert files(runs) == before


def test_the_command_says_what_became_of_each_and_makes_the_pages(tmp_path: Path, runs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    from reportgen.commands import cli
    from reportgen.pages import readme

    (tmp_path / "README.md").write_text(f"# Title\n\n{readme.BEGIN}\n{readme.END}\n")
    monkeypatch.setattr(cli, "ROOT", tmp_path)
    assert cli.main(["render"]) == 0
    write_map(tmp_path / "other", POINTS)
    capsys.readouterr()
    assert cli.main(["merge", str(tmp_path / "other")]) == 0
    assert capsys.readouterr().out == "nvidia-h200/map.jsonl: goes on with the recorded one (3 instead of 2)\n"
    assert "3 calls" in (tmp_path / "docs" / "map.md").read_text() and (runs / "nvidia-h200" / "best_sdpa.py").is_file()
    assert cli.main(["render", "--check"]) == 0
