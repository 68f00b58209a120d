"""One run takes the place of another: whole at every step, whatever ends the process there."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from run_builder import record

from reportgen import run
from reportgen.run import slots, swap

SLOT = "nvidia-h200/article"


def steps_of(way: str, wanted: int, number: int, work: Callable[[], None]) -> tuple[int, int]:
    """Does `work` in a process of its own, which sends itself a signal before or after step `wanted` (0: never).

    A step is a rename, an exchange, or a removal. way: whether the file system exchanges at once.
    Returns how the process ended (0, or minus the signal) and how many steps it came to.
    """
    read, write = os.pipe()
    child = os.fork()
    if not child:
        status = 1
        try:
            _patched(way, wanted, number, write)
            work()
            status = 0
        except KeyboardInterrupt:
            status = 130
        finally:
            os._exit(status)
    os.close(write)
    with os.fdopen(read, "rb") as line:
        steps = len(line.read())
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), steps


def _patched(way: str, wanted: int, number: int, write: int) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    taken = 0

    def stop() -> None:
        nonlocal taken
        taken += 1
        os.write(write, b".")
        if taken == wanted:
            os.kill(os.getpid(), number)

    def around(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any, **named: Any) -> Any:
            stop()
            try:
                return real(*given, **named)
            finally:
                stop()
        return call

    swap._at_once = around(swap._at_once if way == "at once" else lambda one, other: False)
    os.replace, shutil.rmtree = around(os.replace), around(shutil.rmtree)


def put_in(root: Path, *runs: Path) -> Callable[[], None]:
    """Puts one run into its slot, or several together."""
    def together() -> None:
        with slots.all_or_none(root) as batch:
            for one in runs:
                batch.place(one)

    return together if len(runs) > 1 else lambda: slots.place(runs[0], root) and None


def digests(root: Path) -> dict[str, str | None]:
    return {folder.relative_to(root).as_posix(): swap.digest(folder) for folder in run.discover(root)}


def clean(root: Path) -> list[str]:
    return [str(entry) for entry in root.rglob(".*")]


@pytest.fixture
def former(tmp_path):
    """A recorded run with a page beside it, and a fresh one for the same slot."""
    root = tmp_path / "runs"
    (record(root) / "index.md").write_text("a page")
    return root, record(tmp_path / "fresh", seed=1)


@pytest.mark.parametrize("way", ["at once", "two renames"])
def test_the_new_run_is_in_its_slot_and_the_page_beside_it_stays(former, way):
    root, fresh = former
    assert steps_of(way, 0, 0, put_in(root, fresh))[0] == 0
    assert digests(root) == {SLOT: swap.digest(fresh)} and clean(root) == []
    assert (root / SLOT / "index.md").read_text() == "a page"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL], ids=lambda number: number.name)
@pytest.mark.parametrize("way", ["at once", "two renames"])
def test_a_signal_at_any_step_leaves_the_former_run_or_the_new_one(former, tmp_path, way, number):
    root, fresh = former
    whole = {swap.digest(root / SLOT), swap.digest(fresh)}
    steps = steps_of(way, 0, 0, put_in(root, fresh))[1]
    assert steps >= 4
    for step in range(1, steps + 1):
        swap.drop(swap.exchange(record(tmp_path / f"again-{step}"), root / SLOT))
        assert steps_of(way, step, number, put_in(root, fresh))[0] == (130 if number == signal.SIGINT else -number), step
        if number == signal.SIGINT:  # handled: nothing is left to put right
            assert clean(root) == [], step
        swap.heal(root)
        assert set(digests(root)) == {SLOT} and swap.digest(root / SLOT) in whole, step
        assert clean(root) == [], step
        assert run.load(root / SLOT).slot == SLOT
        slots.place(fresh, root)  # the next one works
        assert digests(root) == {SLOT: swap.digest(fresh)}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=lambda number: number.name)
@pytest.mark.parametrize("way", ["at once", "two renames"])
def test_of_two_runs_that_go_together_both_are_in_or_none(former, tmp_path, way, number):
    root, fresh = former
    other = record(tmp_path / "other", slug="nvidia-b", seed=2)
    recorded = record(tmp_path / "kept")
    before, after = {SLOT: swap.digest(recorded)}, {SLOT: swap.digest(fresh), "nvidia-b/article": swap.digest(other)}
    steps = steps_of(way, 0, 0, put_in(root, fresh, other))[1]
    assert digests(root) == after and steps >= 8
    seen = set()
    for step in range(1, steps + 1):
        for slot in digests(root):
            shutil.rmtree(root / slot)
        slots.place(recorded, root)
        assert steps_of(way, step, number, put_in(root, fresh, other))[0] == (130 if number == signal.SIGINT else -number), step
        swap.heal(root)
        found = digests(root)
        assert found in (before, after), step
        assert clean(root) == [], step
        seen.add(len(found))
    assert seen == {1, 2}


def test_a_run_that_an_interrupted_command_had_taken_away_comes_back_and_is_named(former):
    root, fresh = former
    left = root / "nvidia-h200" / ".replaced-abc"
    left.mkdir()
    os.replace(root / SLOT, left / "run")
    assert swap.heal(root) == ["nvidia-h200/article: an interrupted command had taken this run out of its place; it is back"]
    assert (root / SLOT / "index.md").read_text() == "a page" and clean(root) == []


def test_what_was_replaced_is_removed_where_the_new_run_is_in_its_place(former):
    root, fresh = former
    left = root / "nvidia-h200" / ".replaced-abc"
    shutil.copytree(fresh, left / "run")
    before = swap.digest(root / SLOT)
    assert swap.heal(root) == [] and swap.digest(root / SLOT) == before and clean(root) == []


@pytest.mark.parametrize("slot", ["../../outside", "/outside", "nvidia-h200/..", "a/b/c"])
def test_a_journal_that_names_a_place_outside_touches_nothing(former, tmp_path, slot):
    root, _ = former
    (tmp_path / "outside").mkdir()
    swap.write_journal(root, {slot: None})
    before = digests(root)
    assert swap.heal(root) == [] and digests(root) == before and (tmp_path / "outside").is_dir()


def test_a_device_into_which_nothing_could_be_put_leaves_no_folder(tmp_path, monkeypatch):
    fresh = record(tmp_path / "fresh")
    monkeypatch.setattr(slots.shutil, "copyfile", lambda *given: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(OSError, match="No space left"):
        slots.place(fresh, tmp_path / "runs")
    assert list((tmp_path / "runs").iterdir()) == []
