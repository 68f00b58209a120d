"""Parts of a run that do not fit together, and values that no machine gives: two lines, file, field and cure."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from reportgen import run as run_room
from reportgen.errors import RunInvalid

RECORDED = Path(__file__).resolve().parents[1] / "data" / "run-schema-1" / "nvidia-h200" / "article"
CURE = "restore the file from version control, or record the run again"


def content() -> dict[str, Any]:
    return json.loads((RECORDED / "run.json").read_text(encoding="utf-8"))


def put(data: Any, path: str, value: Any) -> None:
    """Sets the value at a path with slashes; in a list a part is a position."""
    *above, last = path.split("/")
    for part in above:
        data = data[int(part)] if isinstance(data, list) else data[part]
    data[int(last) if isinstance(data, list) else last] = value


SEVEN = [1e-3] * 7


@pytest.mark.parametrize(("path", "value", "said"), [
    ("variants/sdpa_flash/samples/wall_time", [*SEVEN, 1e-3], "variants.sdpa_flash.samples.wall_time has 8 values, expected 7, one per process as in the others"),
    ("variants/naive/samples/gpu_time", [1e-3], "variants.naive.samples.gpu_time has 1 value, expected 7, one per process as in the others"),
    ("variants/naive_compiled/samples/host_time", SEVEN, "variants.naive_compiled.samples.host_time has 7 values, expected 1, one per process as in the others"),
    ("protocol/processes", 3, "protocol.processes is 3, and protocol.rounds_done has 7 values, expected one per process"),
    ("protocol/first_call_order", [["naive"]], "protocol.processes is 7, and protocol.first_call_order has 1 value, expected one per process"),
    ("probes/saving_accumulates/naive/24", SEVEN[1:], "probes.saving_accumulates.naive.24 has 6 values, expected 7, one per process as in the others"),
    ("probes/saving_accumulates/layers", [], "probes.saving_accumulates.layers is empty, expected the lengths of the chains that were timed"),
    ("probes/saving_accumulates/layers", [1, 12], "probes.saving_accumulates.naive.12 is missing"),
    ("probes/saving_accumulates/naive_inplace", {}, "probes.saving_accumulates.naive_inplace.1 is missing"),
    ("probes/autograd/minimal_refusal/message", None, "probes.autograd.minimal_refusal.message is missing, expected torch's words, since it refused"),
    ("counters/variants/naive/0/metrics/sm__maximum_warps_per_active_cycle_pct", 187.5,
     "counters.variants.naive[0].metrics.sm__maximum_warps_per_active_cycle_pct is 187.5, expected a percentage"),
    ("counters/variants/naive/0/metrics/dram__bytes_read.sum", 1e-300,
     "counters.variants.naive[0].metrics.dram__bytes_read.sum is 1e-300, expected a finite number, 0 or more"),
    ("counters/variants/naive/0/grid", [1, 2], "counters.variants.naive[0].grid is [1, 2], expected a list of 3"),
    ("counters/variants", ["naive"], "counters.variants is ['naive'], expected an object"),
    ("clocks/samples", {"variant": "naive"}, "clocks.samples is {'variant': 'naive'}, expected a list"),
    ("clocks/samples/0/sm_mhz", -1980, "clocks.samples[0].sm_mhz is -1980, expected megahertz from 0 to 10^6"),
    ("clocks/samples/0/throttle", "thermal", "clocks.samples[0].throttle is 'thermal', expected a list"),
    ("clocks/other_processes", "x", "clocks.other_processes is 'x', expected a whole number"),
    ("probes/default_backend", "flash", "probes.default_backend is 'flash', expected an object"),
    ("probes/autograd", 5, "probes.autograd is 5, expected an object"),
    ("probes/autograd/inplace_backward", "perhaps", "probes.autograd.inplace_backward is 'perhaps', expected one of ok, refused"),
    ("probes/occupancy_probe/2/profiler_occupancy", float("nan"), "probes.occupancy_probe.launches[2].profiler_occupancy is nan, expected a finite number"),
    ("settings/environment", 5, "settings.environment is 5, expected an object"),
    ("settings/float32_matmul_precision", 1, "settings.float32_matmul_precision is 1, expected text"),
    ("settings/mps", {"a": 1}, "settings.mps is {'a': 1}, expected true or false or a number or text or a list"),
    ("device/kind", "text", "device.kind is 'text', expected one of cuda, rocm, cpu"),
    ("device/compute_capability", "sm_90", "device.compute_capability is 'sm_90', expected a compute capability, as '9.0'"),
    ("device/l2_cache_bytes", 10**300, f"device.l2_cache_bytes is 1{'0' * 58}…, expected a whole number from 0 to 2^53"),
    ("device/name", "NVIDIA\nH200", "device.name is 'NVIDIA\\nH200', expected one line of text"),
    ("ceilings/copy_bytes_per_s", 7, "ceilings.copy_bytes_per_s is 7, expected a rate per second, 10^5 or more"),
    ("workload/sequence", 1024.5, "workload.sequence is 1024.5, expected a whole number"),
    ("workload/sequence", 2**40, "workload.sequence is 1099511627776, expected a whole number from 1 to 2^24"),
    ("workload/dtype", "float8", "workload.dtype is 'float8', expected one of bfloat16, float16, float32"),
    ("workload/dtype", None, "workload.dtype is missing"),
    ("variants/naive/relative_error", float("inf"), "variants.naive.relative_error is inf, expected a finite number"),
    ("variants/naive/relative_error", -0.1, "variants.naive.relative_error is -0.1, expected a finite number, 0 or more"),
    ("variants/naive/peak_memory_bytes", -1, "variants.naive.peak_memory_bytes is -1, expected a whole number from 0 to 2^53"),
    ("variants/naive/masked_row/outcome", "NaN", "variants.naive.masked_row.outcome is 'NaN', expected one of nan, infinite, zeros, other, refused, takes-no-mask"),
    ("variants/naive/training/wall_time", [0.0], "variants.naive.training.wall_time[0] is 0.0, expected seconds above 0"),
    ("variants/naive/prediction/0", ["matmul"], "variants.naive.prediction[0] is ['matmul'], expected a list of 2"),
    ("variants/naive/title", " ", "variants.naive.title is ' ', expected one line of text"),
    ("variants/naive/title", "\ud800", "variants.naive.title is '\\ud800', expected text"),
    ("variants/naive/samples/gpu_time", [], "variants.naive.samples.gpu_time is an empty list, expected one value per process"),
    ("variants/naive/samples/gpu_time", [-1e-3, *SEVEN[1:]], "variants.naive.samples.gpu_time[0] is -0.001, expected seconds above 0"),
    ("variants/naive/samples/gpu_time", [float("nan"), *SEVEN[1:]], "variants.naive.samples.gpu_time[0] is nan, expected seconds above 0"),
    ("phases/whole", -1, "phases.whole is -1, expected seconds, 0 or more"),
    ("schema_version", 0, "schema_version is 0, expected a whole number from 1 to 2^53"),
    ("software/torch", ["2.11"], "software.torch is ['2.11'], expected text"),
])  # fmt: skip
def test_a_value_that_no_run_can_have_is_named_with_what_was_expected(path, value, said):
    data = content()
    put(data, path, value)
    with pytest.raises(RunInvalid) as caught:
        run_room.from_json(data, RECORDED)
    assert str(caught.value) == f"{RECORDED / 'run.json'}: {said}\n  what to do: {CURE}"


def test_a_wrong_result_whose_error_is_allowed_contradicts_itself():
    data = content()
    data["schema_version"] = 2
    data["probes"].pop("occupancy_probe")
    data["variants"]["naive"].update(status="wrong", relative_error=0.004, allowed_error=0.005)
    with pytest.raises(RunInvalid) as caught:
        run_room.from_json(data, RECORDED)
    assert caught.value.problem == "variants.naive.status is 'wrong', and its error of 0.004 is not above the allowed 0.005"


def test_what_later_versions_may_add_is_no_complaint():
    data = content()
    for entry in (data, data["device"], data["probes"], data["protocol"], data["clocks"], data["clocks"]["samples"][0], data["variants"]["naive"],
                  data["variants"]["naive"]["samples"], data["variants"]["naive"]["training"], data["counters"], data["counters"]["variants"]["naive"][0]):
        entry["added_later"] = {"anything": [None]}
    before = run_room.from_json(content(), RECORDED)
    assert run_room.from_json(data, RECORDED) == before


@pytest.mark.parametrize(("text", "said"), [
    ("[]", "the whole file is [], expected an object"),
    ("null", "the whole file is None, expected an object"),
    ("5", "the whole file is 5, expected an object"),
    ("[" * 100_000, "not valid JSON (nested too deep)"),
    ("{\"schema_version\": 1" + "0" * 5000 + "}", "not valid JSON (Exceeds the limit (4300 digits) for integer string conversion: value has 5001 digits; "
                                                 "use sys.set_int_max_str_digits() to increase the limit)"),
    ("{", "not valid JSON (Expecting property name enclosed in double quotes: line 1 column 2 (char 1))"),
])  # fmt: skip
def test_a_file_that_is_no_run_at_all_is_two_lines(tmp_path, text, said):
    (tmp_path / "run.json").write_text(text, encoding="utf-8")
    with pytest.raises(RunInvalid) as caught:
        run_room.load(tmp_path)
    assert caught.value.problem == said and len(str(caught.value).split("\n")) == 2


def test_a_file_that_cannot_be_read_says_why(tmp_path):
    (tmp_path / "run.json").mkdir()
    with pytest.raises(RunInvalid) as caught:
        run_room.load(tmp_path)
    assert str(caught.value) == f"{tmp_path / 'run.json'}: cannot be read (Is a directory)\n  what to do: see who may read it, and whether it is a file"


def test_bytes_that_are_no_text_are_two_lines(tmp_path):
    (tmp_path / "run.json").write_bytes(b"\xff\xfe{}")
    with pytest.raises(RunInvalid) as caught:
        run_room.load(tmp_path)
    assert caught.value.problem.startswith("not valid JSON ('utf-8' codec can't decode byte 0xff") and len(str(caught.value).split("\n")) == 2
