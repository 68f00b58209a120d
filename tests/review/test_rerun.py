"""Quiet reruns: when a fresh run replaces the recorded one, and that nothing is lost when it does not."""

import os
from dataclasses import replace
from pathlib import Path

import pytest
from run_builder import TITLES, data, record

from reportgen import run
from reportgen.commands import cli, reporting
from reportgen.commands.interruption import Stages
from reportgen.errors import ReportError
from reportgen.review import diff, rerun
from reportgen.review.diff import sides
from reportgen.run import noise, slots, swap
from reportgen.run.layout import Layout
from reportgen.saying.units import Seconds

ROOT = Path(__file__).resolve().parents[2]
MATH_SLOWER = {"sdpa_math": {"gpu_time": 1.1}}


class Machine:
    """A machine whose passes are given: settle() returns what came of the first one."""

    def __init__(self, root, *passes, accept=False, recorded=None):
        self.root, self.passes, self.accept, self.lines, self.taken = root, list(passes), accept, [], 0
        self.runs = root / "docs" / "runs"
        if recorded is not None:
            self.slot = record(self.runs, **recorded)
            (self.slot / "index.md").write_text("a page")
        self.before = self.files()

    def capture(self):
        self.taken += 1
        return record(self.root / f"pass-{self.taken}", **self.passes[self.taken - 1])

    def settle(self):
        return rerun.settle(self.capture(), self.capture, self.runs, self.lines.append, self.accept, self.root / "aside")

    def files(self):
        return {str(file.relative_to(self.root)): file.read_bytes() for file in sorted(self.runs.rglob("*")) if file.is_file()}


def test_the_first_run_of_a_slot_is_recorded(tmp_path):
    machine = Machine(tmp_path, {})
    folder, decision = machine.settle()
    assert decision.outcome == "first" and folder == machine.runs / "nvidia-h200" / "article"
    assert run.load(folder).slot == "nvidia-h200/article"


def test_a_rerun_within_noise_confirms_and_changes_no_file(tmp_path):
    machine = Machine(tmp_path, dict(seed=1), recorded={})
    folder, decision = machine.settle()
    assert decision.outcome == "confirmed" and folder == machine.slot
    assert machine.files() == machine.before and machine.taken == 1
    assert machine.lines == ["confirmed: same structure, and no timing beyond noise"]


@pytest.mark.parametrize("quantity", ["host_time", "first_call", "first_call_new_shape"])
def test_host_time_and_first_calls_never_cause_a_replacement(tmp_path, quantity):
    machine = Machine(tmp_path, dict(seed=1, scale={"naive": {quantity: 1.5}}), recorded={})
    assert machine.settle()[1].outcome == "confirmed" and machine.files() == machine.before


def test_a_change_that_a_second_pass_repeats_replaces_the_whole_run_by_the_second_pass(tmp_path):
    machine = Machine(tmp_path, dict(seed=1, scale=MATH_SLOWER), dict(seed=2, scale=MATH_SLOWER), recorded={})
    folder, decision = machine.settle()
    assert decision.outcome == "changed" and machine.taken == 2
    second = data(seed=2, scale=MATH_SLOWER)
    kept = run.load(folder)
    assert {name: list(v.samples["gpu_time"].samples) for name, v in kept.variants.items()} == {
        name: entry["samples"]["gpu_time"] for name, entry in second["variants"].items()}
    assert any("| `sdpa_math` | GPU time | 2.58 ms | 2.84 ms |" in line for line in machine.lines)
    assert "changed: 1 timing slower, in two passes" in machine.lines


def test_a_change_that_the_second_pass_does_not_repeat_changes_no_file(tmp_path):
    machine = Machine(tmp_path, dict(seed=1, scale=MATH_SLOWER), dict(seed=2), recorded={})
    _, decision = machine.settle()
    assert decision.outcome == "not repeated" and machine.files() == machine.before
    assert machine.lines[-1] == "confirmed: 1 timing slower in the first pass and not in the second"


@pytest.mark.parametrize("second", [{"sdpa_math": {"gpu_time": 0.9}}, {"naive": {"gpu_time": 1.1}}, {"sdpa_math": {"wall_time": 1.1}}])
def test_another_change_in_the_second_pass_is_not_the_same_change(tmp_path, second):
    """The other direction, another variant, another quantity."""
    machine = Machine(tmp_path, dict(seed=1, scale=MATH_SLOWER), dict(seed=2, scale=second), recorded={})
    assert machine.settle()[1].outcome == "not repeated" and machine.files() == machine.before


def test_a_kernel_that_two_passes_show_replaces_the_run_though_no_timing_moved(tmp_path):
    machine = Machine(tmp_path, dict(seed=1, kernel={"sdpa_math": "other"}), dict(seed=2, kernel={"sdpa_math": "other"}), recorded={})
    assert machine.settle()[1].outcome == "changed"
    machine = Machine(tmp_path / "b", dict(seed=1, kernel={"sdpa_math": "other"}), dict(seed=2, kernel={"sdpa_math": "third"}), recorded={})
    assert machine.settle()[1].outcome == "not repeated"


# A worse run never replaces a good one

SAMPLES = [{"variant": "naive", "sm_mhz": 1980, "throttle": []}] * 3
WORSE = {
    "traces": (dict(traces=False), "no trace of naive, naive_inplace, sdpa_math, sdpa_efficient, sdpa_flash and sdpa_cudnn"),
    "one trace, with its reason": (dict(change=lambda d: d.update(probes={"traces_missing": {"naive": "OSError: No space left on device"}}), untraced=("naive",)),
                                   "no trace of naive (OSError: No space left on device)"),
    "GPU lane": (dict(lost=dict.fromkeys(TITLES, 99)), "no GPU records of naive, naive_inplace, sdpa_math, sdpa_efficient, sdpa_flash and sdpa_cudnn (the profiler kept no GPU record of it)"),
    "a kernel of math": (dict(lost={"sdpa_math": 1}),
                         "no GPU records of sdpa_math (the profiler kept GPU records of 57 of 60 launches, and all of them for none of 3 forwards)"),
    "a variant": (dict(change=lambda d: d["variants"]["sdpa_math"].update(status="failed", reason="OutOfMemoryError: CUDA out of memory.", samples={})),
                  "no right result of sdpa_math (OutOfMemoryError: CUDA out of memory)"),
    "a wrong variant": (dict(change=lambda d: d["variants"]["naive"].update(status="wrong", reason="wrong result: relative error 0.71", relative_error=0.71, samples={})),
                        "no right result of naive (wrong result: relative error 0.71)"),
    "GPU time": (dict(change=lambda d: d["variants"]["naive"].update(timer_note="the graph could not be captured", samples={
        name: values for name, values in d["variants"]["naive"]["samples"].items() if not name.startswith("gpu_")})),
        "no GPU time of naive and GPU time, cold inputs of naive (the graph could not be captured)"),
    "the timer": (dict(change=lambda d: d["variants"]["naive"].update(timer="queued-events", timer_note="the graph could not be captured")),
                  "a less exact timer for naive (the graph could not be captured)"),
    "a ceiling": (dict(change=lambda d: d["ceilings"].update(copy_bytes_per_s=None)), "no copy ceiling"),
    "neighbours": (dict(scale={name: {"gpu_time": 1.3} for name in ("naive", "sdpa_math")}, change=lambda d: d.update(clocks={"available": True, "samples": SAMPLES, "other_processes": 2})),
                   "2 other processes on the GPU"),
    "throttling": (dict(change=lambda d: d.update(clocks={"available": True, "samples": [{**SAMPLES[0], "throttle": ["too hot"]}, *SAMPLES[1:]], "other_processes": 0})),
                   "clocks that were held back (too hot)"),
}


@pytest.mark.parametrize("software", [{}, {"driver": "590.1"}], ids=["same software", "another driver"])
@pytest.mark.parametrize(("options", "reason"), WORSE.values(), ids=WORSE)
def test_a_worse_run_is_kept_aside_with_the_reason_and_replaces_nothing(tmp_path, options, reason, software):
    good = dict(change=lambda d: d.update(clocks={"available": True, "samples": SAMPLES, "other_processes": 0}))
    machine = Machine(tmp_path, dict(seed=1, software=software, **options), recorded=good)
    folder, decision = machine.settle()
    assert decision.outcome == "partial" and machine.taken == 1
    found = decision.reason.removeprefix("the fresh run is worse evidence than the recorded one: ").split("; ")
    assert reason in found, found
    assert machine.files() == machine.before
    aside = tmp_path / "aside" / "nvidia-h200" / "article"
    assert machine.lines[-1] == f"the recorded run stays; the fresh one lies in {aside}, and `make merge DIRS={aside} ACCEPT=1` takes it in all the same"
    assert run.load(aside).slot == "nvidia-h200/article"


def looks(share):
    return {"available": True, "samples": SAMPLES, "other_processes": 0, "looks": [{"when": f"process {number}", "others_cpu_share": share} for number in (1, 2, 3)]}


def test_busy_processors_are_in_the_comparison_and_keep_nothing_back(tmp_path):
    """What is counted and timed on the GPU is as good as before."""
    machine = Machine(tmp_path, dict(seed=1, scale=MATH_SLOWER, change=lambda d: d.update(clocks=looks(0.62))), dict(seed=2, scale=MATH_SLOWER, change=lambda d: d.update(clocks=looks(0.62))),
                      recorded=dict(change=lambda d: d.update(clocks=looks(0.03))))
    assert machine.settle()[1].outcome == "changed"
    shown = next(line for line in machine.lines if "#### Conditions" in line)
    assert "| processors taken by others, at most | 3 % | 62 % | — |" in shown.splitlines()


def test_accept_takes_a_worse_run_all_the_same(tmp_path):
    machine = Machine(tmp_path, dict(seed=1, traces=False), recorded={}, accept=True)
    assert machine.settle()[1].outcome == "accepted" and machine.files() != machine.before


def test_a_second_pass_that_is_worse_replaces_nothing_either(tmp_path):
    machine = Machine(tmp_path, dict(seed=1, scale=MATH_SLOWER), dict(seed=2, scale=MATH_SLOWER, traces=False), recorded={})
    _, decision = machine.settle()
    assert decision.reason.startswith("the second pass is worse evidence than the recorded one: no trace of naive, ")
    assert machine.files() == machine.before
    assert run.load(tmp_path / "aside" / "nvidia-h200" / "article").variants["naive"].trace_path is None


def test_a_better_run_is_not_called_worse(tmp_path):
    """The neighbours are gone, the trace is there again."""
    bad = dict(traces=False, change=lambda d: d.update(clocks={"available": True, "samples": SAMPLES, "other_processes": 2}))
    machine = Machine(tmp_path, dict(seed=1), dict(seed=2), recorded=bad)
    assert machine.settle()[1].outcome == "changed"


def test_the_printed_comparison_has_the_conditions(tmp_path):
    machine = Machine(tmp_path, dict(seed=1, change=lambda d: d.update(clocks={"available": True, "samples": [{**SAMPLES[0], "sm_mhz": 1700}], "other_processes": 1})),
                      recorded=dict(change=lambda d: d.update(clocks={"available": True, "samples": SAMPLES, "other_processes": 0})))
    machine.settle()
    section = machine.lines[0].split("#### Conditions\n\n")[1].split("\n\n")[0].splitlines()
    assert section[2:] == ["| other processes on the GPU | 0 | 1 | worse |", "| SM clock, median | 1,980 MHz | 1,700 MHz | — |"]


@pytest.mark.parametrize(("options", "cause"), [
    (dict(software={"torch": "2.12.0"}), "torch"), (dict(software={"driver": "590.1"}), "driver"), (dict(settings={"cudnn_allow_tf32": False}), "setting cudnn_allow_tf32"),
    (dict(change=lambda d: d["variants"]["naive"].update(source="new code")), "the code of naive"),
    (dict(change=lambda d: d["variants"].update(mine={**d["variants"]["naive"], "title": "Mine"})), "the new variant mine"),
    (dict(change=lambda d: d["variants"].pop("sdpa_cudnn")), "sdpa_cudnn is gone"),
])
def test_other_software_settings_or_code_is_a_new_baseline_without_a_second_pass_and_the_diff_is_printed(tmp_path, options, cause):
    machine = Machine(tmp_path, dict(seed=1, **options), recorded={})
    folder, decision = machine.settle()
    assert decision.outcome == "new baseline" and machine.taken == 1
    assert machine.lines[-1] == f"new baseline: {cause}" and machine.lines[0].startswith("### `nvidia-h200/article`")
    assert run.load(folder).variants["sdpa_flash"].samples["gpu_time"].samples[0] == data(seed=1)["variants"]["sdpa_flash"]["samples"]["gpu_time"][0]


def test_a_quantity_that_the_recorded_run_lacks_is_a_new_baseline(tmp_path):
    def old(content):
        for entry in content["variants"].values():
            del entry["samples"]["gpu_time_cold"]

    _, decision = Machine(tmp_path, dict(seed=1), recorded=dict(change=old)).settle()
    assert decision.reason == "new baseline: GPU time, cold inputs was not recorded before"


def test_another_python_or_host_confirms(tmp_path):
    machine = Machine(tmp_path, dict(seed=1, software={"python": "3.13.0"}, change=lambda d: d["host"].update(cpu="another")), recorded={})
    assert machine.settle()[1].outcome == "confirmed"


def test_accept_replaces_whatever_the_comparison_says(tmp_path):
    machine = Machine(tmp_path, dict(seed=1), recorded={}, accept=True)
    folder, decision = machine.settle()
    assert decision.outcome == "accepted" and machine.taken == 1 and machine.files() != machine.before


def three_processes(data):
    data["protocol"]["processes"] = 3
    for entry in data["variants"].values():
        entry["samples"] = {quantity: values[:3] for quantity, values in entry["samples"].items()}


@pytest.mark.parametrize(("change", "words"), [
    (lambda d: d["variants"]["naive"].update(status="not-tried", reason="not asked for in this run", samples={}), "left out naive"),
    (three_processes, "fewer than 7 processes"),
])
def test_a_run_of_some_variants_or_few_processes_never_replaces_a_whole_one(tmp_path, change, words):
    machine = Machine(tmp_path, dict(seed=1, scale=MATH_SLOWER, change=change), recorded={})
    _, decision = machine.settle()
    assert decision.outcome == "partial" and words in decision.reason and machine.files() == machine.before
    assert machine.lines[-1].startswith("the recorded run stays; the fresh one lies in ")


def test_a_recorded_run_that_cannot_be_read_is_an_error_that_loses_nothing(tmp_path):
    machine = Machine(tmp_path, dict(seed=1), recorded={})
    (machine.slot / "run.json").write_text("{")
    before = machine.files()
    with pytest.raises(ReportError, match=r"replaced nothing(.|\n)*not valid JSON(.|\n)*ACCEPT=1"):
        machine.settle()
    assert machine.files() == before
    assert run.load(tmp_path / "pass-1" / "nvidia-h200" / "article").slot == "nvidia-h200/article"


def test_a_trace_that_cannot_be_read_is_such_an_error_too_and_accept_overrides_it(tmp_path):
    machine = Machine(tmp_path, dict(seed=1), recorded={})
    (machine.slot / "naive.trace.json.gz").write_bytes(b"no gzip")
    with pytest.raises(ReportError, match="cannot be read"):
        machine.settle()
    machine.taken, machine.accept = 0, True
    assert machine.settle()[1].outcome == "accepted"
    assert diff.load(machine.slot).facts.variants["naive"].kernels == 5


# Placing

def test_pages_beside_the_evidence_stay_and_traces_that_the_new_run_lacks_go(tmp_path):
    machine = Machine(tmp_path, recorded={})
    slots.place(record(tmp_path / "new", seed=1, change=lambda d: d["variants"].pop("sdpa_cudnn")), machine.runs)
    names = {file.name for file in machine.slot.iterdir()}
    assert "index.md" in names and "sdpa_flash.trace.json.gz" in names and "sdpa_cudnn.trace.json.gz" not in names


def test_the_floor_stays_for_the_same_software_and_goes_with_another(tmp_path):
    machine = Machine(tmp_path, recorded={})
    recorded = run.load(machine.slot)
    noise.save(noise.Noise(6, 15, recorded.software, recorded.settings, {}), machine.slot)
    slots.place(record(tmp_path / "same", seed=1), machine.runs)
    assert (machine.slot / "noise.json").is_file()
    slots.place(record(tmp_path / "other", software={"torch": "2.12.0"}), machine.runs)
    assert not (machine.slot / "noise.json").exists()


def test_an_interrupted_placing_leaves_the_former_run(tmp_path, monkeypatch):
    machine = Machine(tmp_path, recorded={})
    fresh = record(tmp_path / "new", seed=1)
    real = os.replace

    def broken(source, target):
        if ".placing-" in str(source):
            raise OSError("disk full")
        real(source, target)

    monkeypatch.setattr(swap, "_at_once", lambda one, other: False)
    monkeypatch.setattr(os, "replace", broken)
    with pytest.raises(OSError, match="disk full"):
        slots.place(fresh, machine.runs)
    assert machine.files() == machine.before


# The command

@pytest.fixture
def report(tmp_path, monkeypatch):
    """`report`'s capture with given runs in place of the Python that has torch; returns the folder it shows."""
    def captured(*passes, arguments=()):
        left = list(passes)
        monkeypatch.setattr(reporting, "_profile_elsewhere", lambda chosen, layout, into: record(into, **left.pop(0)))
        layout = Layout(tmp_path)
        layout.recorded.mkdir(parents=True, exist_ok=True)
        return reporting._captured(cli.parser().parse_args(["report", *arguments]), layout, Stages()).folder.relative_to(tmp_path).as_posix()

    return captured


def test_report_records_a_new_slot_and_features_the_first(tmp_path, report):
    assert report({}) == "docs/runs/nvidia-h200/article"
    assert (tmp_path / "docs" / "runs" / "FEATURED").read_text() == "nvidia-h200/article\n"


def test_report_on_a_recorded_slot_says_confirmed_and_leaves_docs_as_they_are(tmp_path, report, capsys):
    report({})
    files = {file: file.read_bytes() for file in (tmp_path / "docs").rglob("*") if file.is_file()}
    assert report(dict(seed=1)) == "docs/runs/nvidia-h200/article"
    assert "confirmed" in capsys.readouterr().out
    assert {file: file.read_bytes() for file in (tmp_path / "docs").rglob("*") if file.is_file()} == files


def test_a_confirmed_rerun_prints_what_was_measured_now_beside_the_recorded_values_and_its_own_stage_times(tmp_path, monkeypatch, capsys):
    from reportgen.pages import publish

    runs = [dict(change=lambda d: d.update(phases={"timing": 11.0})), dict(seed=1, change=lambda d: d.update(phases={"timing": 22.0}))]
    medians = [sorted(data(**options)["variants"]["naive"]["samples"]["gpu_time"])[3] for options in runs]
    monkeypatch.setattr(cli, "ROOT", tmp_path)
    monkeypatch.setattr(reporting, "_profile_elsewhere", lambda chosen, layout, into: record(into, **runs.pop(0)))
    monkeypatch.setattr(publish, "render_recorded", lambda layout: [run.slot for run in layout.recorded_runs()])
    monkeypatch.setattr(publish, "build_site", lambda *given: None)
    (tmp_path / "docs").mkdir()
    assert cli.main(["report"]) == 0
    assert "  timing    11.0 s" in capsys.readouterr().out.splitlines()
    assert cli.main(["report"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "  timing    22.0 s" in lines
    begin = lines.index("measured now beside the recorded run, which stays; verdicts and pages are the recorded run's")
    assert lines[begin + 1].split("  ")[0] == "variant" and lines[begin + 2].split()[:5] == ["naive", *str(Seconds(medians[1])).split(), *str(Seconds(medians[0])).split()]
    assert medians[0] != medians[1]


def test_report_takes_the_second_pass_itself_and_accept_spares_it(report, capsys):
    report({})
    report(dict(seed=1, scale=MATH_SLOWER), dict(seed=2, scale=MATH_SLOWER))
    assert "changed: 1 timing slower, in two passes" in capsys.readouterr().out
    report(dict(seed=3), arguments=["--accept"])
    assert "replaced as asked (ACCEPT=1)" in capsys.readouterr().out


@pytest.mark.parametrize(("options", "arguments"), [
    (dict(change=lambda d: d["device"].update(kind="cpu")), []), ({}, ["--no-record"]), ({}, ["--quick"]),
])
def test_a_cpu_run_and_one_that_is_not_to_be_recorded_go_below_build(tmp_path, report, options, arguments):
    assert report(options, arguments=arguments) == "build/runs/nvidia-h200/article"
    assert list((tmp_path / "docs" / "runs").iterdir()) == []


def test_extras_whose_kernels_are_no_longer_counted_are_no_worse_evidence():
    """The recorded H200 run has them counted; a named variant that the tool saw nothing of is worse."""
    recorded = run.load(ROOT / "docs" / "runs" / "nvidia-h200" / "article")
    old = sides.side(recorded)

    def without(*names: str):
        kept = {name: rows for name, rows in recorded.counters.variants.items() if name not in names}
        return sides.side(replace(recorded, counters=replace(recorded.counters, variants=kept)))

    extras = without("naive_scaled_q", "naive_baddbmm")
    assert [extras.facts.variants[name].counters_reason for name in ("naive_scaled_q", "naive")] == ["kernels of extras are not counted", None]
    assert rerun.decide(old, extras, lambda: extras).outcome == "confirmed"
    worse = without("naive")
    assert rerun.decide(old, worse, lambda: worse).reason == (
        "the fresh run is worse evidence than the recorded one: no hardware counters of naive (the counter tool saw no kernel of it)")
