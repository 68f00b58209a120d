"""Traces that others published, read and counted twice. They are not part of the repository; `PUBLIC_TRACES` names the folder that holds them.

TraceLens (tests/traces), HolisticTraceAnalysis (tests/data), kineto (tb_plugin/samples, before commit 94979607), param (et_replay/tests/inputs, its
archives unpacked).
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest
from second_count import BACKENDS, Count, backend_of, is_trace, load

from reportgen.errors import TraceMalformed
from reportgen.trace.whole import WORK_NAMES, Lane, Work, read_whole

HERE = Path(__file__).resolve().parents[2]
RECORDED = sorted([*HERE.glob("docs/runs/*/*/*.trace.json.gz"), *HERE.glob("tests/data/**/*.trace.json.gz"), *HERE.glob("tests/data/planted/*.json.gz")])
FOLDER = Path(os.environ["PUBLIC_TRACES"]) if os.environ.get("PUBLIC_TRACES") else None
FILES = sorted(file for file in FOLDER.rglob("*") if file.name.endswith((".json", ".json.gz"))) if FOLDER else []
elsewhere = pytest.mark.skipif(FOLDER is None, reason="PUBLIC_TRACES names no folder with the public traces")

NO_TRACES = {"benchmark_simple_add_et", "execution_details", "cpu_op_map", "cpu_op_map_trace1", "cpu_op_map_trace2", "resnet_1gpu_et", "resnet_2gpu_et", "linear_et", "resnet_et"}
"""JSON that is no trace: execution graphs and tables of other tools."""


def named(file):
    return file.name.removesuffix(".gz").removesuffix(".json")


@elsewhere
def test_the_folder_holds_what_the_other_tests_are_about():
    """44 traces and 8 files that are none are the least."""
    traces = [file for file in FILES if named(file) not in NO_TRACES]
    assert len(traces) >= 44 and len(FILES) - len(traces) >= 8


@elsewhere
@pytest.mark.parametrize("file", [file for file in FILES if named(file) in NO_TRACES], ids=lambda file: "-".join(file.parts[-3:]))
def test_what_is_no_trace_is_refused_in_two_lines(file):
    assert not is_trace(load(file))
    with pytest.raises(TraceMalformed) as refused:
        read_whole(file)
    assert "no trace of torch.profiler" in str(refused.value) and "export_chrome_trace" in str(refused.value)


def test_the_recorded_traces_are_among_them():
    assert sum("nvidia-h200" in str(file) for file in RECORDED) >= 20 and sum(file.parent.name == "planted" for file in RECORDED) >= 30


@pytest.mark.parametrize("file", RECORDED, ids=lambda file: "-".join(file.parts[-4:]))
def test_a_recorded_trace_is_read_as_a_second_count_has_it(file):
    compare(file)


@elsewhere
@pytest.mark.parametrize("file", [file for file in FILES if named(file) not in NO_TRACES], ids=lambda file: "-".join(file.parts[-3:]))
def test_a_public_trace_is_read_as_a_second_count_has_it(file):
    compare(file)


def compare(file):
    counted, read = Count(load(file)), read_whole(file)
    assert seen(read) == (dict(counted.activities), dict(counted.unlinked), dict(counted.apis))
    assert owners(read) == counted.owners
    assert sdpa_calls(read) == counted.calls
    for kind, seconds in counted.seconds.items():
        durations = [duration for duration, work in zip(read.activities.duration, read.activities.work) if WORK_NAMES[Work(work)] == kind]
        assert sum(durations) * 1e-6 == pytest.approx(seconds, rel=1e-5)


def seen(read):
    """Activities by kind, those without a host call, and by the name of the host call."""
    found = read.activities
    kinds = [WORK_NAMES[Work(work)] for work in found.work]
    calls = [read.names[read.threads[thread].name[event]] for thread, event in zip(found.thread, found.event) if event >= 0]
    return dict(Counter(kinds)), dict(Counter(kind for kind, event in zip(kinds, found.event) if event < 0)), dict(Counter(calls))


def owners(read):
    """The innermost op around the host call of each device-to-device copy."""
    found: Counter[str] = Counter()
    for number, work in enumerate(read.activities.work):
        name = read.names[read.activities.name[number]]
        if work == Work.MEMCPY and ("DtoD" in name or "DeviceToDevice" in name):
            thread, event = read.activities.thread[number], read.activities.event[number]
            path = read.path(thread, event) if event >= 0 else ()
            found[path[-1] if path else ""] += 1
    return found


def sdpa_calls(read):
    """SDPA ops by the first backend op inside each, and backend ops outside of one."""
    found: Counter[str] = Counter()
    for lane in read.threads:
        for event, name in enumerate(lane.name):
            if lane.lane[event] != Lane.OP:
                continue
            op = read.names[name]
            if op == "aten::scaled_dot_product_attention":
                inside = [backend_of(read.names[lane.name[one]]) for one in range(event + 1, lane.behind(event)) if lane.lane[one] == Lane.OP]
                found[f"sdpa {next((backend for backend in inside if backend), 'unknown')}"] += 1
            elif (backend := backend_of(op)) and not any(read.names[lane.name[one]] == "aten::scaled_dot_product_attention" for one in lane.around(event)):
                found[f"alone {backend}"] += 1
    return found


LITERAL = {"xdit_sd_3.5/profile_trace_rank_0": ({"sdpa flash": 89, "alone flash": 152}, 0), "h100/Qwen_Qwen1.5-0.5B-Chat__1016005": ({"sdpa flash": 24}, 509),
           "mi300/resnet_act_checkpoint": ({}, 968), "torch_compile_triton/trace": ({"alone flash": 1}, 0)}
"""SDPA calls and activities without a launch of four files, as an independent count had them before this reader was written."""


@elsewhere
@pytest.mark.parametrize("name", LITERAL)
def test_four_public_traces_hold_what_their_text_says(name):
    read = read_whole(next(file for file in FILES if str(file).endswith(f"{name}.json.gz")))
    assert (sdpa_calls(read), sum(seen(read)[1].values())) == LITERAL[name]


def test_the_second_count_knows_a_backend_by_its_ops_whole_name():
    assert [backend_of(name) for name in ("aten::_scaled_dot_product_flash_attention", "aten::_scaled_dot_product_flash_attention_backward",
                                          "triton_scaled_dot_product_flash_attention_0", "aten::_scaled_dot_product_attention_math")] == ["flash", None, None, "math"]
    assert len(BACKENDS) == 5
