"""Every command that reads a damaged run ends with status 2 and two lines, or names the run and goes on; nothing is written."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reportgen.commands import cli
from reportgen.review import checks

DATA = Path(__file__).resolve().parents[1] / "data" / "run-schema-1" / "nvidia-h200" / "article"
SLOT = "nvidia-h200/article"


def setting(*path: str, to: Any) -> Callable[[dict[str, Any]], None]:
    def change(data: Any) -> None:
        for part in path[:-1]:
            data = data[part]
        data[path[-1]] = to

    return change


DAMAGE: dict[str, tuple[Callable[[dict[str, Any]], None], str]] = {
    "a probe": (setting("probes", "autograd", to=5), "probes.autograd is 5, expected an object"),
    "clocks": (setting("clocks", "samples", to=5), "clocks.samples is 5, expected a list"),
    "counters": (setting("counters", "variants", to=[]), "counters.variants is [], expected an object"),
    "a setting": (setting("settings", "environment", to=5), "settings.environment is 5, expected an object"),
    "NaN": (setting("variants", "naive", "relative_error", to=float("nan")), "variants.naive.relative_error is nan, expected a finite number"),
    "zero": (setting("variants", "naive", "samples", "gpu_time", to=[0.0] * 7), "variants.naive.samples.gpu_time[0] is 0.0, expected seconds above 0"),
    "unequal": (setting("variants", "naive", "samples", "wall_time", to=[1e-3] * 8),
                "variants.naive.samples.wall_time has 8 values, expected 7, one per process as in the others"),
}


@pytest.fixture(params=DAMAGE)
def damaged(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, str]:
    """A checkout whose only run is damaged, and what is wrong with it."""
    change, said = DAMAGE[request.param]
    folder = Path(shutil.copytree(DATA, tmp_path / "docs" / "runs" / SLOT))
    data = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    change(data)
    (folder / "run.json").write_text(json.dumps(data), encoding="utf-8")
    (tmp_path / "docs" / "runs" / "FEATURED").write_text(SLOT + "\n", encoding="utf-8")
    (tmp_path / "README.md").write_text("", encoding="utf-8")
    monkeypatch.setattr(cli, "ROOT", tmp_path)
    return folder, said


def files(root: Path) -> dict[str, bytes]:
    return {str(file): file.read_bytes() for file in sorted(root.rglob("*")) if file.is_file()}


@pytest.mark.parametrize("command", [["facts", SLOT], ["facts", SLOT, "--json"], ["render"], ["diff", SLOT]], ids=" ".join)
def test_a_command_ends_with_two_lines(damaged, command, capsys, tmp_path):
    folder, said = damaged
    before = files(tmp_path / "docs")
    assert cli.main(command) == 2
    assert capsys.readouterr().err == f"error: {folder / 'run.json'}: {said}\n  what to do: restore the file from version control, or record the run again\n"
    assert files(tmp_path / "docs") == before


def test_a_damaged_run_is_not_merged_and_nothing_is_written(damaged, capsys, tmp_path):
    folder, said = damaged
    incoming = Path(shutil.move(folder, tmp_path / "incoming"))
    before = files(tmp_path / "docs")
    assert cli.main(["merge", str(incoming)]) == 2
    assert capsys.readouterr().err == f"error: nothing was merged\n  {incoming / 'run.json'}: damaged: {said}\n  what to do: fetch what is damaged again\n"
    assert files(tmp_path / "docs") == before


def test_check_and_the_look_before_profiling_name_it(damaged, tmp_path):
    _, said = damaged
    assert checks.readable(tmp_path / "docs") == (
        [], [f"docs/runs/{SLOT}/run.json: {said}; restore the file from version control, or record the run again"])
