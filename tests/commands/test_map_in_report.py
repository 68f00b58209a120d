"""`make report MAP=1`: the run, then the map with what lies beside it, then the pages; and without it nothing of that."""

from __future__ import annotations

import json
import sys
import textwrap
from pathlib import Path

import pytest

from reportgen import run as run_room
from reportgen.commands import cli, reporting
from reportgen.pages import publish
from reportgen.run.layout import Layout
from reportgen.run.workload import PRESETS

TOLD = "MAP=1, but the map is not whole: its message is above; what was taken is kept, and `make map` goes on with it"


def small_run(root: Path, kind: str) -> Path:
    data = {"schema_version": 2, "recorded_on": "2026-11-01", "device": {"kind": kind, "name": "Some device", "slug": "some-device"}, "software": {"torch": "2.13.0"},
            "host": {}, "settings": {}, "workload": PRESETS["article"].to_json(), "label": None, "protocol": {}, "variants": {}}
    return run_room.save(data, {}, root)


class Report:
    """`report` in a checkout of its own, whose Python with torch writes down what it was asked, and ends as the test says."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
        self.layout, self.steps, self.asked = Layout(root / "checkout"), [], root / "asked"
        self.layout.recorded.mkdir(parents=True)
        self.python = root / "python"
        monkeypatch.setattr(cli, "ROOT", self.layout.root)
        monkeypatch.setattr(reporting, "_profile_elsewhere", lambda chosen, layout, into: self.done("profile", small_run(into, kind)))
        for name in ("render_recorded", "render_live"):
            monkeypatch.setattr(publish, name, lambda *given, name=name: self.done(name, []))
        monkeypatch.setattr(publish, "build_site", lambda *given: self.done("site", None))

    def done(self, step, value):
        asked = json.loads(self.asked.read_text()) if self.asked.exists() else None
        self.steps += ["map"] if asked and "map" not in self.steps else []
        self.steps.append(step)
        return value

    def __call__(self, *arguments: str, status: int = 0, says: str = "map.jsonl") -> int:
        self.python.write_text(f"#!{sys.executable}\n" + textwrap.dedent(f"""
            import json, sys
            json.dump(sys.argv[1:], open({str(self.asked)!r}, "w"))
            print({says!r})
            print("the map's own words", file=sys.stderr)
            sys.exit({status})
        """))
        self.python.chmod(0o755)
        return cli.main(["report", "--capture-python", str(self.python), *arguments])

    @property
    def arguments(self) -> list[str]:
        return json.loads(self.asked.read_text())


@pytest.fixture
def report(tmp_path, monkeypatch, request) -> Report:
    return Report(tmp_path, monkeypatch, getattr(request, "param", "cuda"))


def test_without_it_no_map_is_taken_and_nothing_said_of_one(report, capsys):
    assert report() == 0
    assert report.steps == ["profile", "render_recorded", "site"] and not report.asked.exists()
    assert "map" not in capsys.readouterr().out.replace("make serve", "")


def test_the_map_is_taken_after_the_run_and_before_the_pages(report, capsys):
    assert report("--map") == 0
    assert report.steps == ["profile", "map", "render_recorded", "site"]
    assert report.arguments == ["-m", "reportgen", "map", "--for-report"]
    said = capsys.readouterr().out
    assert ", the map " in said and TOLD not in said


def test_its_device_its_seconds_and_where_it_goes_are_the_reports(report):
    assert report("--switch", "MAP=yes", "--device", "cuda", "--map-seconds", "60", "--no-record") == 0
    assert report.arguments == ["-m", "reportgen", "map", "--for-report", "--device", "cuda", "--no-record", "--seconds", "60.0"]
    chosen = cli.parser().parse_args(report.arguments[2:])
    assert (chosen.parts, chosen.seconds, chosen.no_record, chosen.into, chosen.anew) == (("map", "why", "bill", "extras"), 60.0, True, None, False)


@pytest.mark.parametrize("report", ["cpu"], indirect=True)
def test_of_a_cpu_it_goes_where_the_run_went(report):
    assert report("--map") == 0
    assert report.arguments == ["-m", "reportgen", "map", "--for-report", "--no-record"] and report.steps[-2:] == ["render_live", "site"]


def test_a_map_that_was_refused_costs_the_map_alone_and_is_told(report, capsys):
    assert report("--map", status=2) == 0
    assert report.steps == ["profile", "map", "render_recorded", "site"]
    assert TOLD in capsys.readouterr().out


@pytest.mark.parametrize("status, says, told", [(7, "x", "7"), (0, "", "0")])
def test_a_map_that_ended_in_another_way_is_told_with_its_status(report, capsys, status, says, told):
    assert report("--map", status=status, says=says) == 0
    assert f"MAP=1, but the map ended with status {told}; what was taken is kept, and `make map` goes on with it" in capsys.readouterr().out


def test_ctrl_c_in_the_map_says_that_run_and_points_are_kept_and_makes_no_page(report, capsys):
    assert report("--map", status=130) == 130
    assert report.steps == ["profile"]
    assert capsys.readouterr().err.splitlines()[-1] == (
        "interrupted; the run is saved in docs/runs/some-device/article, and so is what was taken of the map; `make map` goes on with it, and `make render` and `make site` finish the pages")


def test_the_map_of_a_report_works_in_the_checkout_that_the_report_holds_and_leaves_interruptions_to_it(tmp_path, monkeypatch, capsys):
    from reportgen.company import lock

    monkeypatch.setattr(cli, "ROOT", tmp_path)
    monkeypatch.setattr("reportgen.capture.session.surveyed", lambda *given: (_ for _ in ()).throw(KeyboardInterrupt))
    with lock.held(Layout(tmp_path).lock, "make report", False, print):
        assert cli.main(["map", "--for-report"]) == 130
        assert capsys.readouterr().err.strip() == ""
        assert cli.main(["map"]) == 2 and "make report" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["0", "-1", "x", "nan", "1e9"])
def test_seconds_that_make_no_sense_are_refused_before_anything_runs(report, capsys, text):
    assert report("--map", f"--map-seconds={text}") == 2
    assert report.steps == [] and "what to do: " in capsys.readouterr().err
