"""The command `compare`: two sides take turns, what is doubtful is timed again, a crash costs its call, and what was taken is kept. Without torch."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from upgrade_doubles import CALLS, FakeSide

from benchmarks import upgrade as simulation
from reportgen.commands import cli, comparing
from reportgen.commands.two_sides import Started, Taking
from reportgen.errors import CaptureFailed, ReportError
from reportgen.review import upgrade as judging
from reportgen.run.decode import decode
from reportgen.saying.progress import Silent
from reportgen.shapes import upgrade
from reportgen.shapes.upgrade import Upgrade


def taking(a: FakeSide, b: FakeSide, **more: Any) -> Taking:
    return Taking({"a": a, "b": b}, lambda gpu: CALLS, 7, Silent(), {"a": {}, "b": {"X": "1"}}, **more)


def taken(a: FakeSide, b: FakeSide, **more: Any) -> Upgrade:
    found: Upgrade = decode(Upgrade, json.loads(json.dumps(taking(a, b, **more).run())))
    return found


def test_sides_take_turns_and_both_of_a_pair_call_in_one_order():
    log: list[tuple[Any, ...]] = []
    found = taken(FakeSide("a", log), FakeSide("b", log))
    timed = [line for line in log if line[1] == "time"]
    assert "".join(line[0] for line in timed) == "abbaabbaabbaab"
    assert all(first[2:] == second[2:] for first, second in zip(timed[::2], timed[1::2])) and len({line[2:] for line in timed}) > 1
    assert [one.side for one in found.ran] == [line[0] for line in timed] and not any(one.again for one in found.ran)
    assert found.b.variables == {"X": "1"} and [len(one.a.times["gpu_time"].samples) for one in found.pairs] == [7, 7, 7]


def test_only_what_came_out_changed_is_timed_again():
    log: list[tuple[Any, ...]] = []
    found = taken(FakeSide("a", log), FakeSide("b", log, {"a prompt": (104.0, 104.0), "a long prompt": (104.0, 100.0)}))
    again = [line for line in log if line[1] == "time"][14:]
    assert len(again) == 14 and {frozenset(line[2:]) for line in again} == {frozenset({"a prompt", "a long prompt"})}
    assert [one.pair.asked.name for one in judging.judged(found) if one.worse] == ["a prompt"]
    assert [one.pair.asked.name for one in judging.judged(found) if one.unconfirmed] == ["a long prompt"]


def test_a_crash_costs_its_call_and_nothing_else():
    log: list[tuple[Any, ...]] = []
    found = taken(FakeSide("a", log, dies=(("time", "a prompt"),)), FakeSide("b", log, dies=(("show", "a long prompt"),)))
    short, prompt, long = found.pairs
    assert long.b.state == "failed" and long.b.reason == "the process was killed by SIGSEGV"
    assert long.a.state == "ok" and not long.a.times, "a call that fails on one side is timed on neither"
    assert prompt.a.untimed == prompt.b.untimed == "side A: the process was killed by SIGSEGV" and not prompt.b.times
    assert len(short.a.times["gpu_time"].samples) == len(short.b.times["gpu_time"].samples) == 7


def test_a_device_that_is_lost_ends_it():
    sides = (FakeSide("a", [], dies=(("show", "a prompt"),) * 13), FakeSide("b", []))
    never = taking(*sides)
    never._crashes = 12
    with pytest.raises(CaptureFailed, match="side A: the process was killed by SIGSEGV"):
        never.run()


def test_what_was_taken_is_kept_and_gone_on_from():
    states: list[dict[str, Any]] = []
    log: list[tuple[Any, ...]] = []

    def stop(state: dict[str, Any]) -> None:
        states.append(json.loads(json.dumps(state)))
        if len(state["done"]) == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        taken(FakeSide("a", log), FakeSide("b", log), save=stop)
    before = len(log)
    found = taken(FakeSide("a", log), FakeSide("b", log), before=states[-1])
    assert [line[:2] for line in log[before:]] == [(side, "time") for side in "bbaabbaab"], "nothing is looked at twice, and the sixth process is the first"
    assert "".join(one.side for one in found.ran) == "abbaabbaabbaab"


def test_what_was_kept_of_another_torch_is_not_gone_on_from():
    states: list[dict[str, Any]] = []
    log: list[tuple[Any, ...]] = []
    taken(FakeSide("a", log), FakeSide("b", log), save=lambda state: states.append(json.loads(json.dumps(state))))
    before = len(log)
    taken(FakeSide("a", log), FakeSide("c", log), before=states[-1])
    assert len(log) - before == 2 + 14


def test_two_devices_are_not_compared():
    with pytest.raises(ReportError) as error:
        taken(FakeSide("a", []), FakeSide("b", [], name="NVIDIA L4"))
    assert str(error.value).split("\n") == ["side A computes on NVIDIA H200 and side B on NVIDIA L4", "  what to do: give both sides the same device: DEVICE=cuda or DEVICE=cpu"]


@pytest.mark.parametrize(("given", "expected"), [("", {}), ("A=1", {"A": "1"}), ('A=1 B="two words" C=', {"A": "1", "B": "two words", "C": ""})])
def test_variables_are_read_as_a_shell_would(given: str, expected: dict[str, str]):
    assert comparing.variables(given) == expected


@pytest.mark.parametrize(("options", "said"), [
    (["--env-a", "A"], "'A' sets no environment variable"), (["--env-b", "1=2"], "'1=2' sets no environment variable"), (["--env-a", "A='x"], "No closing quotation"),
    (["--processes", "0"], "'0' is no number of processes"), (["--device", "tpu"], "there is no device 'tpu'"),
])
def test_what_makes_no_sense_is_two_lines(capsys: pytest.CaptureFixture[str], options: list[str], said: str):
    assert cli.main(["compare", *options]) == 2
    error = capsys.readouterr().err.strip().split("\n")
    assert said in error[0] and error[1].startswith("  what to do: ") and len(error) == 2


def test_a_python_that_does_not_run_is_two_lines(tmp_path: Path):
    with pytest.raises(CaptureFailed, match=r"side B: .*nowhere cannot be run"):
        Started("b", str(tmp_path / "nowhere"), {}, tmp_path)
    silent = Started("a", sys.executable, {}, tmp_path)  # no reportgen there, so it ends at once
    with pytest.raises(CaptureFailed, match="side A ended with status 1"):
        silent.ask({"do": "survey", "device": None}, lambda *_: None, lambda *_: None)
    silent.close()


def test_no_call_holds_the_words():
    with pytest.raises(ReportError, match="no call holds 'tea'"):
        comparing._chosen_calls(lambda gpu: CALLS, "tea")(True)
    assert [one.name for one in comparing._chosen_calls(lambda gpu: CALLS, "LONG")(True)] == ["a long prompt"]


def test_a_file_is_written_scrubbed_and_read_again(tmp_path: Path):
    content = taking(FakeSide("a", []), FakeSide("b", [])).run()
    content["pairs"][0]["a"] = {"state": "failed", "reason": f"could not open /{'home'}/jane/secret.so", "error": float("nan")}
    upgrade.write(tmp_path / "d" / "upgrade.json", content)
    found = upgrade.read(tmp_path / "d" / "upgrade.json")
    assert found.pairs[0].a.reason == "could not open <path>" and found.pairs[0].a.error is None and len(found.pairs) == 3


@pytest.mark.parametrize(("edit", "said"), [
    (lambda data: data.pop("pairs"), "pairs is missing"), (lambda data: data.update(schema_version=2), "newer version (schema 2"),
    (lambda data: data["pairs"][0]["a"]["times"].update(gpu_time=[-1.0]), "times.gpu_time[0] is -1.0, expected seconds above 0"),
    (lambda data: data["pairs"][0]["a"].update(state="odd"), "'odd'"),
])
def test_a_damaged_file_names_the_field(tmp_path: Path, edit: Any, said: str):
    content = json.loads(json.dumps(taking(FakeSide("a", []), FakeSide("b", [])).run()))
    edit(content)
    (tmp_path / "upgrade.json").write_text(json.dumps(content))
    with pytest.raises(ReportError) as error:
        upgrade.read(tmp_path / "upgrade.json")
    assert said in str(error.value) and str(error.value).count("\n") == 1


def test_a_planted_slowdown_of_3_percent_is_found_in_95_of_100_comparisons():
    told = simulation.simulate(100, 0.03, simulation.spreads())
    assert told["found"] >= 95 and told["false"] <= 1


def test_the_same_code_is_called_changed_in_less_than_1_comparison_of_100():
    told = simulation.simulate(100, 0.0, simulation.spreads())
    assert told["false"] == 0 and told["calls"] == 0
