"""The same-code floor: six whole runs of one code, the largest shift per quantity, kept beside the run."""

import json

import pytest
from builders import facts
from run_builder import record

from reportgen import run
from reportgen.errors import ReportError, RunInvalid
from reportgen.run import noise
from reportgen.saying.tables import markdown


def six(root, **last):
    """Six runs; in run `i` naive's GPU time is i % slower, and everything else stays."""
    options = [dict(scale={"naive": {"gpu_time": 1 + i / 100}}) for i in range(6)]
    options[-1].update(last)
    return [run.load(record(root / str(i), traces=False, noise=0.0, **given)) for i, given in enumerate(options)]


def test_the_floor_is_the_largest_shift_between_any_two_runs(tmp_path):
    taken = noise.measure(six(tmp_path))
    assert (taken.runs, taken.pairs) == (6, 15)
    assert taken.floor("gpu_time") == pytest.approx(0.05)
    assert taken.floor("wall_time") == pytest.approx(0.0, abs=1e-6)
    assert taken.shifts["sdpa_flash"]["gpu_time"] == pytest.approx(0.0, abs=1e-6)


def test_a_first_call_has_no_floor(tmp_path):
    assert noise.measure(six(tmp_path)).floor("first_call") == 0


def test_five_runs_are_refused(tmp_path):
    with pytest.raises(ReportError, match="5 runs cannot tell how far the same code lies apart"):
        noise.measure(six(tmp_path)[:5])


@pytest.mark.parametrize(("last", "message"), [
    (dict(software={"torch": "2.12.0"}), "differs from the first run in torch"),
    (dict(settings={"cudnn_allow_tf32": False}), "differs from the first run in cudnn_allow_tf32"),
    (dict(slug="nvidia-b300"), "is a run of nvidia-b300/article"),
    (dict(change=lambda data: data["variants"]["naive"].update(source="other")), "from other variants"),
])
def test_runs_of_other_software_machine_or_code_are_refused(tmp_path, last, message):
    with pytest.raises(ReportError, match=message):
        noise.measure(six(tmp_path, **last))


def test_the_floor_comes_back_as_it_was_saved_and_holds_for_its_own_software_only(tmp_path):
    runs = six(tmp_path)
    taken = noise.measure(runs)
    assert noise.save(taken, runs[0].path).name == "noise.json"
    assert noise.current(runs[0]) == taken
    updated = run.load(record(tmp_path / "0", traces=False, software={"torch": "2.12.0"}))
    noise.save(taken, updated.path)
    assert noise.load(updated.path) == taken
    assert noise.current(updated) is None


def test_a_damaged_floor_names_its_file(tmp_path):
    (tmp_path / "noise.json").write_text(json.dumps({"schema_version": 1}))
    with pytest.raises(RunInvalid, match=r"noise.json: not a noise file"):
        noise.load(tmp_path)


def test_taking_the_floor_runs_six_times_and_writes_beside_the_recorded_run(tmp_path):
    recorded, passes = record(tmp_path / "docs", traces=False), []

    def capture(root):
        passes.append(root)
        return record(root, seed=len(passes), traces=False)

    file = noise.record(capture, tmp_path / "docs", tmp_path / "work", lambda line: None)
    assert file == recorded / "noise.json"
    assert len(passes) == len(set(passes)) == 6
    assert 0 < noise.load(recorded).floor("gpu_time") < 0.01


def test_a_floor_of_other_software_than_the_recorded_run_is_not_kept(tmp_path):
    recorded = record(tmp_path / "docs", traces=False)
    with pytest.raises(ReportError, match="other software or settings"):
        noise.record(lambda root: record(root, traces=False, software={"torch": "2.12.0"}), tmp_path / "docs", tmp_path / "work", lambda line: None)
    assert not (recorded / "noise.json").exists()


def test_an_environment_variable_that_only_one_run_had_is_another_setting_and_a_new_switch_is_not():
    old = {"tf32": False, "environment": {}}
    assert noise.other_settings(old, {"tf32": False, "environment": {"CUDA_LAUNCH_BLOCKING": "1"}}, "cuda") == ["CUDA_LAUNCH_BLOCKING"]
    assert noise.other_settings(old, {"tf32": False, "new_switch": True, "environment": {}}, "cuda") == []


def test_the_number_of_cpu_threads_matters_on_a_cpu_only():
    pair = {"torch_threads": 8}, {"torch_threads": 16}
    assert noise.other_settings(*pair, "cuda") == []
    assert noise.other_settings(*pair, "cpu") == ["torch_threads"]


def test_the_devices_page_says_what_could_have_been_detected_and_where_the_floor_comes_from():
    taken = noise.Noise(6, 15, {}, {}, {"sdpa_math": {"gpu_time": 0.031, "wall_time": 0.004}})
    shown = markdown(noise.table(facts(), taken))
    assert "| Variant | GPU time | GPU time, cold inputs | Wall time | Host time |" in shown
    assert "| SDPA flash | 3.1 % | 2 % | 2 % |" in shown  # the floor of its quantity, else two percent
    assert "any two of 6 whole runs (15 pairs): GPU time 3.1 %, Wall time 0.4 %" in shown


def test_without_a_floor_the_page_says_so():
    assert "No same-code floor is recorded for this run with its settings, so 2 % is the least that counts" in markdown(noise.table(facts(), None))


def test_what_slows_all_variants_alike_is_no_shift_of_their_ratio(tmp_path):
    """Run 5 has naive's and in place's host time twice as long: a floor of 100 %, and none for the ratio of the two."""
    runs = six(tmp_path, scale={name: {"host_time": 2.0} for name in ("naive", "naive_inplace")})
    taken = noise.measure(runs)
    assert taken.floor("host_time") == pytest.approx(1.0)
    assert taken.ratios["host_time"]["naive/naive_inplace"] == pytest.approx(0.0, abs=1e-6)
    assert taken.ratios["host_time"]["naive/sdpa_flash"] == pytest.approx(1.0)
    assert taken.ratios["gpu_time"]["naive/naive_inplace"] == pytest.approx(0.04)
