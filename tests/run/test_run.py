"""Recorded runs: what is saved can be loaded, nothing private is saved, nothing half-written stays."""

import gzip
import json

import pytest

from reportgen import run as run_room
from reportgen.errors import RunInvalid


def minimal(slug="test-gpu", **changes):
    data = {
        "schema_version": 2, "recorded_on": "2026-11-30", "label": None,
        "device": {"kind": "cuda", "name": "Test GPU", "slug": slug, "compute_capability": "9.0"},
        "software": {"torch": "2.11.0"}, "host": {}, "settings": {}, "protocol": {"processes": 3},
        "workload": {"name": "article", "batch": 8, "heads": 16, "sequence": 1024, "head_dim": 64, "dtype": "bfloat16", "causal": True},
        "ceilings": None,
        "variants": {"naive": {"title": "Naive", "status": "ok", "samples": {"gpu_time": [1e-3, 2e-3, 3e-3]},
                               "prediction": [["matmul", "q · kᵀ"]]}},
    }
    return {**data, **changes}


def test_a_saved_run_comes_back_with_its_samples_and_trace(tmp_path):
    folder = run_room.save(minimal(), {"naive": {"traceEvents": []}}, tmp_path)
    loaded = run_room.load(folder)
    assert folder == tmp_path / "test-gpu" / "article"
    assert loaded.variants["naive"].samples["gpu_time"].median == 2e-3
    assert loaded.variants["naive"].prediction == (("matmul", "q · kᵀ"),)
    assert json.loads(gzip.decompress(loaded.variants["naive"].trace_path.read_bytes())) == {"traceEvents": []}


def test_a_number_that_is_not_finite_is_recorded_as_not_known_and_costs_no_run(tmp_path):
    """Gradients that are NaN have no difference, and a counter that overflowed has no value."""
    data = minimal(probes={"autograd": {"gradients_equal": False, "relative_difference": float("nan"), "inplace_backward": "ok"}},
                   counters={"tool": "t", "variants": {"naive": [{"kernel": "k", "metrics": {"a": float("inf"), "b": 1.0}}]}})
    folder = run_room.save(data, {}, tmp_path)
    loaded = run_room.load(folder)
    assert loaded.probes.autograd.relative_difference is None
    assert loaded.counters.variants["naive"][0].metrics == {"a": None, "b": 1.0}
    assert "NaN" not in (folder / "run.json").read_text() and "Infinity" not in (folder / "run.json").read_text()


def test_what_an_older_run_did_not_record_is_none(tmp_path):
    loaded = run_room.load(run_room.save(minimal(), {}, tmp_path))
    assert loaded.counters is None
    assert loaded.variants["naive"].training is None
    assert "gpu_time_cold" not in loaded.variants["naive"].samples


def test_the_label_is_part_of_the_slot(tmp_path):
    assert run_room.save(minimal(label="tf32"), {}, tmp_path) == tmp_path / "test-gpu" / "article+tf32"


def test_a_newer_schema_is_refused_and_the_cure_named(tmp_path):
    folder = run_room.save(minimal(), {}, tmp_path)
    (folder / "run.json").write_text(json.dumps(minimal(schema_version=3)))
    with pytest.raises(RunInvalid, match=r"schema 3.*reads up to 2(.|\n)*update this program"):
        run_room.load(folder)


@pytest.mark.parametrize(("content", "message"), [
    ("{", "not valid JSON"), ("{}", "schema_version is missing"), (json.dumps({"schema_version": 2}), "variants is missing"),
])
def test_a_damaged_run_names_its_file(tmp_path, content, message):
    (tmp_path / "run.json").write_text(content)
    with pytest.raises(RunInvalid, match=message) as caught:
        run_room.load(tmp_path)
    assert str(tmp_path / "run.json") in str(caught.value)


def test_a_missing_trace_is_an_error_that_names_it(tmp_path):
    folder = run_room.save(minimal(), {"naive": {"traceEvents": []}}, tmp_path)
    (folder / "naive.trace.json.gz").unlink()
    with pytest.raises(RunInvalid, match=r"naive names the trace naive\.trace\.json\.gz, which is not there"):
        run_room.load(folder)


def test_a_save_that_fails_leaves_the_former_run_untouched(tmp_path):
    folder = run_room.save(minimal(), {}, tmp_path)
    before = (folder / "run.json").read_bytes()
    broken = minimal()
    broken["variants"]["naive"]["status"] = "perhaps"
    with pytest.raises(RunInvalid, match="perhaps"):
        run_room.save(broken, {}, tmp_path)
    assert (folder / "run.json").read_bytes() == before
    assert [p.name for p in folder.parent.iterdir()] == ["article"]


def test_equal_traces_are_equal_files(tmp_path):
    for name in ("a", "b"):
        run_room.write_trace(tmp_path / name, {"traceEvents": [1, 2]})
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_discovery_ignores_recordings_under_way(tmp_path):
    run_room.save(minimal(), {}, tmp_path)
    run_room.save(minimal(slug="another"), {}, tmp_path)
    hidden = tmp_path / "test-gpu" / ".recording-x"
    hidden.mkdir()
    (hidden / "run.json").write_text("{}")
    assert [folder.parent.name for folder in run_room.discover(tmp_path)] == ["another", "test-gpu"]


def turned(place, value):
    """The smallest run with one field turned into `value`; place: the path to it."""
    data = minimal()
    data["variants"]["naive"].update(masked_row={"outcome": "nan"}, training={"status": "ok"})
    entry = data
    for name in place[:-1]:
        entry = entry[name]
    entry[place[-1]] = value
    return data


@pytest.mark.parametrize(("place", "value", "said"), [
    (("recorded_on",), 20261130, "recorded_on is 20261130, expected text"),
    (("device", "name"), 5, "device.name is 5, expected text"),
    (("device", "sm_count"), "132", "device.sm_count is '132', expected a whole number"),
    (("device", "memory_bytes"), True, "device.memory_bytes is True, expected a whole number"),
    (("device", "ecc"), "yes", "device.ecc is 'yes', expected true or false"),
    (("software", "torch"), 2.11, "software.torch is 2.11, expected text"),
    (("software",), ["torch"], "software is ['torch'], expected an object"),
    (("workload", "batch"), "8", "workload.batch is '8', expected a whole number"),
    (("protocol",), 7, "protocol is 7, expected an object"),
    (("label",), 1, "label is 1, expected text"),
    (("variants", "naive", "title"), None, "variants.naive.title is None, expected text"),
    (("variants", "naive", "peak_memory_bytes"), "1 MiB", "variants.naive.peak_memory_bytes is '1 MiB', expected a whole number"),
    (("variants", "naive", "samples", "gpu_time"), [1e-3, "2"], "variants.naive.samples.gpu_time is [0.001, '2'], expected a list of numbers"),
    (("variants", "naive", "samples", "gpu_time"), 1e-3, "variants.naive.samples.gpu_time is 0.001, expected a list of numbers"),
    (("variants", "naive", "masked_row", "outcome"), 0, "variants.naive.masked_row.outcome is 0, expected text"),
    (("variants", "naive", "training", "kernels"), "9", "variants.naive.training.kernels is '9', expected a whole number"),
    (("variants", "naive"), "x", "variants.naive is 'x', expected an object"),
    (("device",), "H200", "device is 'H200', expected an object"),
])  # fmt: skip
def test_a_field_of_another_type_is_named_with_what_it_should_be(tmp_path, place, value, said):
    with pytest.raises(RunInvalid) as caught:
        run_room.from_json(turned(place, value), tmp_path)
    assert str(caught.value) == f"{tmp_path / 'run.json'}: {said}\n  what to do: restore the file from version control, or record the run again"


def test_an_optional_field_may_be_null(tmp_path):
    assert run_room.from_json(turned(("device", "sm_count"), None), tmp_path).device.sm_count is None


def test_half_a_letter_in_a_reason_or_a_trace_does_not_cost_the_run(tmp_path):
    """Torch's words may hold one; no file can."""
    data = minimal()
    data["variants"]["naive"].update(status="failed", reason="broke off: \ud800")
    folder = run_room.save(data, {"naive": {"traceEvents": [{"name": "flash\udfff"}]}}, tmp_path)
    found = run_room.load(folder)
    assert (found.variants["naive"].reason, found.edited) == ("broke off: ?", ())
    assert b'"flash?"' in gzip.decompress((folder / "naive.trace.json.gz").read_bytes())
