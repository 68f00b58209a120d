"""Damaged runs: whatever is done to `run.json` or the floor, the end is a page or an error of two lines, never a traceback.

`MUTATIONS=5000` tries so many and each kind of value in each field (a quarter of an hour on a quiet machine, charts drawn where pages are
rendered); without it about 300 are tried.
"""

from __future__ import annotations

import functools
import json
import os
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mutations import fields, mutated

from reportgen import analysis, findings, pages, readings, trace
from reportgen import run as run_room
from reportgen.commands import facts_json
from reportgen.commands.summary import summary
from reportgen.errors import ReportError
from reportgen.pages import charts, readme
from reportgen.review import diff
from reportgen.run import noise

ROOT = Path(__file__).resolve().parents[2]
TRIED = int(os.environ.get("MUTATIONS", "300"))
RENDERED = 40 if TRIED >= 5000 else 3
DRAWN = TRIED >= 5000
SOURCES = {
    "recorded": ROOT / "docs" / "runs" / "nvidia-h200" / "article",
    "schema 1": ROOT / "tests" / "data" / "run-schema-1" / "nvidia-h200" / "article",
    "schema 2": next((ROOT / "tests" / "data" / "run-schema-2").glob("*/*/run.json")).parent,
}
BLANK = b'<?xml version="1.0"?>\n<svg xmlns="http://www.w3.org/2000/svg"></svg>\n'


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A copy of each run to damage."""
    root = tmp_path_factory.mktemp("damaged")
    return {name: Path(shutil.copytree(folder, root / str(place), ignore=shutil.ignore_patterns("*.md", "charts")))
            for place, (name, folder) in enumerate(SOURCES.items())}


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Traces are whole, so each is parsed once."""
    monkeypatch.setattr(trace, "read", functools.cache(trace.read))
    if not DRAWN:
        monkeypatch.setattr(charts, "svg", lambda form, data, alt="": BLANK)
    yield


def told(folder: Path, content: Any, whole: diff.Side, render: bool, file: str = run_room.RUN_FILE) -> str:
    """What comes of it: `refused` with two lines, or `loaded`, with everything said that can be."""
    try:
        (folder / file).write_text(json.dumps(content), encoding="utf-8")
        run = run_room.load(folder)
        facts = analysis.build(run)
        noise.load(folder)
    except ReportError as error:
        lines = str(error).split("\n")
        assert len(lines) == 2 and lines[0].startswith(f"{folder}") and lines[1].startswith("  what to do: "), str(error)
        return "refused"
    outcomes = findings.outcomes(facts)
    readings.answers(facts)
    for finding in findings.FINDINGS:
        finding.evidence(facts)
    json.dumps(facts_json.to_json(facts, outcomes), allow_nan=False)
    summary(facts, outcomes, {}, "").encode()
    side = diff.Side(facts, outcomes, noise.current(run))
    diff.render.run_markdown(diff.compare(whole, side), "x").encode()
    diff.render.run_markdown(diff.compare(side, whole), "x").encode()
    if render:
        for text in pages.render_facts([facts], facts.slot).values():
            assert text.encode() if isinstance(text, str) else text
        readme.section(facts, outcomes).encode()
    return "loaded"


def content_of(folder: Path, file: str = run_room.RUN_FILE) -> Any:
    return json.loads((folder / file).read_text(encoding="utf-8"))


def counted(counts: Counter[str]) -> str:
    return ", ".join(f"{what} {number}" for what, number in sorted(counts.items()))


def test_a_damaged_run_gives_pages_or_two_lines(folders: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    contents = {name: content_of(folder) for name, folder in folders.items()}
    sides = {name: diff.load(folder) for name, folder in SOURCES.items()}
    counts: Counter[str] = Counter()
    for seed in range(TRIED):
        name = list(folders)[seed % 3]
        content, done = mutated(contents[name], seed)
        render = counts["loaded"] % max(1, TRIED // 3 // RENDERED) == 0
        try:
            ended = told(folders[name], content, sides[name], render)
        except Exception as error:
            raise AssertionError(f"seed {seed}, {name}: {'; '.join(done)}") from error
        counts.update((ended, f"{ended}: {name}", *(["rendered"] if render and ended == "loaded" else [])))
    with capsys.disabled():
        print(f"\n{TRIED} damaged runs: {counted(counts)}")
    assert counts["loaded"] > TRIED / 10 and counts["refused"] > TRIED / 10


def test_a_damaged_floor_gives_pages_or_two_lines(folders: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    folder, whole = folders["recorded"], diff.load(SOURCES["recorded"])
    shutil.copyfile(SOURCES["recorded"] / run_room.RUN_FILE, folder / run_room.RUN_FILE)
    floor = content_of(folder, noise.NOISE_FILE)
    counts: Counter[str] = Counter()
    for seed in range(TRIED // 10):
        content, done = mutated(floor, seed)
        try:
            counts[told(folder, content, whole, render=False, file=noise.NOISE_FILE)] += 1
        except Exception as error:
            raise AssertionError(f"seed {seed}: {'; '.join(done)}") from error
    shutil.copyfile(SOURCES["recorded"] / noise.NOISE_FILE, folder / noise.NOISE_FILE)
    with capsys.disabled():
        print(f"\n{TRIED // 10} damaged floors: {counted(counts)}")
    assert counts["loaded"] and counts["refused"]


@pytest.mark.skipif(not DRAWN, reason="minutes: MUTATIONS=5000 puts each kind of value into each field in turn")
@pytest.mark.parametrize("name", ["recorded", "schema 2"])
def test_each_field_in_turn_may_hold_anything(name: str, folders: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    content, whole = content_of(SOURCES[name]), diff.load(SOURCES[name])
    counts: Counter[str] = Counter()
    for damaged, done in fields(content):
        try:
            counts[told(folders[name], damaged, whole, render=False)] += 1
        except Exception as error:
            raise AssertionError(f"{name}: {done}") from error
    with capsys.disabled():
        print(f"\n{name}, each field: {counted(counts)}")


def test_the_same_seed_does_the_same_damage() -> None:
    content = content_of(SOURCES["schema 2"])
    assert json.dumps(mutated(content, 3)) == json.dumps(mutated(content, 3)) != json.dumps(mutated(content, 4))
