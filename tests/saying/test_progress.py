"""What is said while one waits: the stage and its number, the time gone, the time left, and a sign of life."""

from __future__ import annotations

import io

import pytest

from reportgen.saying.progress import Progress, Silent, clock_time


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    """Seconds that a test sets."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_time_left_follows_the_stages_that_have_ended():
    """Planned 7 × 3 s + 20 s; the first took 5 s, so six more take 30, and one second of it is gone."""
    clock, stream = Clock(), io.StringIO()
    progress = Progress(stream, clock=clock)
    progress.plan("timing", 7, 3.0)
    progress.plan("evidence", 1, 20.0)
    assert progress.seconds_left() == 41.0
    progress.stage("timing", "timing, process 1 of 7")
    clock.now = 5.0
    progress.done()
    progress.stage("timing", "timing, process 2 of 7")
    clock.now = 6.0
    assert progress.seconds_left() == 49.0
    assert stream.getvalue() == "[1/2] timing, process 1 of 7 (about 41 s left)\n[1/2] timing, process 2 of 7 (5 s gone, about 50 s left)\n"


def test_a_sign_of_life_after_a_stage_has_ended_keeps_its_number():
    clock, stream = Clock(), io.StringIO()
    progress = Progress(stream, clock=clock)
    progress.plan("timing", 1, 3.0)
    progress.plan("evidence", 1, 40.0)
    progress.stage("timing", "timing, process 1 of 1")
    progress.done()
    progress.stage("evidence", "traces")
    clock.now = 40.0
    progress.done()
    progress.at("naive", "trace")
    assert stream.getvalue().splitlines()[2:] == ["[2/2] traces: naive, trace (40 s gone)"]


def test_no_time_left_is_named_while_a_stage_is_of_unknown_length():
    """2 × 4 s for timing and at least 30 s for evidence, once the first calls have told; then 2 s of the first are gone."""
    clock, stream = Clock(), io.StringIO()
    progress = Progress(stream, clock=clock)
    progress.plan("timing", 2, None)
    progress.plan("evidence", 1, None)
    progress.stage("timing", "timing, process 1 of 2")
    assert progress.seconds_left() is None and stream.getvalue() == "[1/2] timing, process 1 of 2\n"
    progress.expect("timing", 4.0, 2)
    assert progress.seconds_left() is None
    progress.at_least("evidence", 30.0)
    progress.at_least("evidence", 20.0)
    clock.now = 2.0
    assert progress.seconds_left() == 36.0


def test_a_stage_that_will_not_be_may_be_of_unknown_length():
    progress = Progress(io.StringIO(), clock=Clock())
    progress.plan("timing", 1, 4.0)
    progress.plan("counters", 0, None)
    assert progress.seconds_left() == 4.0


def test_a_terminal_has_one_line_that_renews_itself_once_a_second():
    screen, clock = Screen(), Clock()
    progress = Progress(screen, clock=clock)
    progress.plan("timing", 1, 3.0)
    progress.plan("evidence", 1, 0.0)
    progress.stage("timing", "timing")
    clock.now = 0.9
    progress.at("naive", "round 1 of 3")
    clock.now = 1.0
    progress.at("sdpa_flash", "round 1 of 3")
    progress.end()
    assert [line.rstrip() for line in screen.getvalue().split("\r") if line.strip()] == [
        "[1/2] timing (about 3 s left)", "[1/2] timing: sdpa_flash, round 1 of 3 (1 s gone, about 2 s left)"]
    assert "\n" not in screen.getvalue()
    assert screen.getvalue().endswith("\r")


@pytest.mark.parametrize(("columns", "line"), [
    (90, "[1/2] timing, process 2 of 7: naive_inplace, warming up (61 s gone, about 30 s left)"),
    (72, "[1/2] timing, process 2 of 7 (61 s gone, about 30 s left)"),
    (50, "[1/2] timing, process 2 of 7"),
])
def test_a_narrow_terminal_loses_whole_parts_of_the_line(monkeypatch, columns, line):
    monkeypatch.setenv("COLUMNS", str(columns))
    screen, clock = Screen(), Clock()
    progress = Progress(screen, clock=clock)
    progress.plan("timing", 1, 31.0)
    progress.plan("evidence", 1, 0.0)
    clock.now = 60.0
    progress.stage("timing", "timing, process 2 of 7")
    clock.now = 61.0
    progress.at("naive_inplace", "warming up")
    assert [drawn.strip() for drawn in screen.getvalue().split("\r") if drawn.strip()][-1] == line


def test_without_a_terminal_a_long_stage_gives_a_sign_of_life_every_half_minute():
    clock, stream = Clock(), io.StringIO()
    progress = Progress(stream, clock=clock)
    progress.plan("timing", 1, None)
    progress.plan("evidence", 1, None)
    progress.stage("timing", "timing, process 1 of 1")
    for second in range(1, 100):
        clock.now = float(second)
        progress.at("naive", "first call")
    assert stream.getvalue().splitlines() == ["[1/2] timing, process 1 of 1", *(
        f"[1/2] timing, process 1 of 1: naive, first call ({gone} gone)" for gone in ("30 s", "60 s", "1:30 min"))]


def test_before_the_device_is_known_there_is_neither_a_number_nor_an_estimate():
    """Notes keep their own lines."""
    stream = io.StringIO()
    progress = Progress(stream, clock=Clock())
    progress.plan("survey", 1, 4.0)
    progress.stage("survey", "importing torch")
    progress.done()
    progress.note("a CPU: workload small")
    progress.plan("timing", 1, 3.0)
    progress.stage("timing", "timing, process 1 of 1")
    assert stream.getvalue().splitlines() == ["importing torch", "a CPU: workload small", "[2/2] timing, process 1 of 1 (about 3 s left)"]


def test_what_others_do_afterwards_counts():
    """A capture of 3 s whose pages take 4 s: the number and the time left are those of the whole report."""
    stream = io.StringIO()
    progress = Progress(stream, clock=Clock(), after=[("rendering", 2.5), ("site", 1.5)])
    progress.plan("survey", 1, 0.0)
    progress.plan("timing", 1, 3.0)
    progress.stage("survey", "looking")
    progress.done()
    progress.stage("timing", "timing")
    assert stream.getvalue().splitlines()[-1] == "[2/4] timing (about 7 s left)"


def test_another_process_counts_on():
    stream = io.StringIO()
    progress = Progress(stream, clock=Clock())
    progress.resume(["survey", "timing", "evidence"])
    progress.plan("rendering", 1, 2.5)
    progress.plan("site", 1, 1.5)
    progress.stage("rendering", "rendering the pages")
    progress.done()
    progress.stage("site", "building the site")
    assert stream.getvalue().splitlines() == ["[4/5] rendering the pages (about 4 s left)", "[5/5] building the site (about 2 s left)"]


def test_every_stage_and_step_of_the_progress_is_a_safe_point():
    asked = []
    progress = Progress(io.StringIO(), safe_point=lambda: asked.append(1))
    progress.stage("timing", "timing")
    progress.at("naive", "rounds")
    assert len(asked) == 2


@pytest.mark.parametrize(("seconds", "words"), [(0.4, "0 s"), (89.4, "89 s"), (90, "1:30 min"), (125, "2:05 min"), (5399, "89:59 min"), (5400, "1:30 h"), (9000, "2:30 h")])
def test_a_time_is_said_as_one_reads_a_clock(seconds, words):
    assert clock_time(seconds) == words


def test_silence():
    stream = io.StringIO()
    progress = Silent(stream)
    progress.stage("timing", "timing")
    progress.at("naive", "rounds")
    progress.note("a note")
    progress.done()
    progress.end()
    assert stream.getvalue() == ""
