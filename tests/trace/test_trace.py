"""Kineto documents, real and synthetic, become forwards with the right activities."""

from __future__ import annotations

import gzip
import json
import random
import re
from collections import Counter
from copy import deepcopy
from pathlib import Path

import pytest
from trace_builder import H200, TraceBuilder, naive

from reportgen import trace
from reportgen.errors import TraceMalformed
from reportgen.trace import Loss, TraceLoss

DATA = Path(__file__).resolve().parents[1] / "data" / "h200-probe"

# Kernels, memcpys and memsets of one forward on an H200 with torch 2.11, listed from the raw files.
H200_COUNTS = {
    "naive": (5, 1, 1), "naive_inplace": (5, 0, 1), "sdpa_math": (20, 0, 0),
    "sdpa_efficient": (1, 0, 0), "sdpa_flash": (1, 0, 0), "sdpa_cudnn": (1, 0, 1),
}


def counts(forward):
    kinds = Counter(activity.kind for activity in forward.activities)
    return kinds["kernel"], kinds["memcpy"], kinds["memset"]


@pytest.mark.parametrize("variant", H200_COUNTS)
def test_recorded_traces_count_what_the_device_did(variant):
    """Every kept forward of a real trace has the literal number of kernels, memcpys and memsets."""
    read = trace.read(DATA / f"{variant}.trace.json.gz")
    assert [counts(forward) for forward in read.forwards] == [H200_COUNTS[variant]] * 5
    assert read.integrity.dropped_forwards == 1
    assert read.integrity.unattributed == {} and read.integrity.differing == ()
    assert read.device["name"] == "NVIDIA H200"


def test_recorded_naive_trace_in_full():
    """Order, op paths, launch calls, shapes and sizes of a real forward."""
    forward = trace.read(DATA / "naive.trace.json.gz").forwards[0]
    assert [(a.kind, a.op_path, a.launch_api) for a in forward.activities] == [
        ("memset", ("aten::matmul", "aten::bmm"), "cudaMemsetAsync"),
        ("kernel", ("aten::matmul", "aten::bmm"), "cuLaunchKernelEx"),
        ("kernel", ("aten::mul",), "cudaLaunchKernel"),
        ("memcpy", ("aten::masked_fill", "aten::clone", "aten::copy_"), "cudaMemcpyAsync"),
        ("kernel", ("aten::masked_fill", "aten::masked_fill_"), "cudaLaunchKernel"),
        ("kernel", ("aten::softmax", "aten::_softmax"), "cudaLaunchKernel"),
        ("kernel", ("aten::matmul", "aten::bmm"), "cuLaunchKernelEx"),
    ]
    matmul, copy = forward.activities[1], forward.activities[3]
    assert (matmul.grid, matmul.block, matmul.registers, matmul.shared_memory, matmul.profiler_occupancy) == ((2, 66, 1), (384, 1, 1), 168, 213188, 0)
    assert (copy.bytes, copy.grid, copy.registers) == (268435456, None, None)
    assert matmul.duration == pytest.approx(83.2e-6, rel=0.02)
    assert len(forward.ops) == 39


def test_times_count_from_the_forwards_own_start_in_seconds():
    """A launch 4 µs into the forward and a kernel of 10 µs keep those numbers whatever the epoch."""
    builder = TraceBuilder(start=5_000_000.0)
    with builder.forward():
        with builder.op("aten::mul"):
            builder.now += 2
            builder.kernel(duration=10.0)
    activity = trace.parse(builder.document()).forwards[0].activities[0]
    assert activity.launch.start == pytest.approx(4e-6)
    assert activity.launch.duration == pytest.approx(2e-6)
    assert activity.start == pytest.approx(7e-6)
    assert activity.duration == pytest.approx(10e-6)


def test_activities_leaked_from_the_warm_up_are_counted_apart():
    """A kernel whose launch is not in the file belongs to no forward, even if it ran during one."""
    builder = TraceBuilder()
    builder.activity("kernel", "leaked", 7, 50.0)
    builder.activity("gpu_memcpy", "leaked", 8, 50.0)
    builder.activity("kernel", "no correlation", None, 50.0)
    for _ in range(3):
        naive(builder)
        builder.activity("kernel", "leaked late", 9, 5.0)
    read = trace.parse(builder.document())
    assert read.integrity.unattributed == {"kernel": 5, "memcpy": 1}
    assert [counts(forward) for forward in read.forwards] == [(5, 1, 0)] * 2


def test_a_launch_outside_every_forward_is_unattributed():
    """Work between two annotated forwards is no part of either."""
    builder = TraceBuilder()
    naive(builder)
    builder.kernel("between")
    naive(builder)
    assert trace.parse(builder.document()).integrity.unattributed == {"kernel": 1}


def test_an_activity_that_ends_after_its_forward_still_belongs_to_it():
    """The GPU runs behind: the launch decides, not the activity's own time."""
    builder = TraceBuilder()
    for _ in range(2):
        with builder.forward(), builder.op("aten::mul"):
            builder.kernel(duration=500.0)
    read = trace.parse(builder.document())
    assert [len(forward.activities) for forward in read.forwards] == [1]
    assert read.forwards[0].activities[0].start > read.forwards[0].duration


def test_external_ids_are_not_believed():
    """An External id that names another op does not move the kernel; nesting by time decides."""
    builder = TraceBuilder()
    with builder.forward():
        with builder.op("aten::add") as wrong:
            wrong["args"]["External id"] = 5
        with builder.op("aten::mul") as right:
            right["args"]["External id"] = 6
            builder.kernel()["args"]["External id"] = 5
    assert trace.parse(builder.document()).forwards[0].activities[0].op_path == ("aten::mul",)


def test_the_first_forward_is_dropped_only_where_another_is_left():
    one, three = TraceBuilder(), TraceBuilder()
    naive(one)
    for _ in range(3):
        naive(three)
    assert (len(trace.parse(one.document()).forwards), trace.parse(one.document()).integrity.dropped_forwards) == (1, 0)
    kept = trace.parse(three.document())
    assert ([forward.index for forward in kept.forwards], kept.integrity.dropped_forwards) == ([1, 2], 1)


def test_a_forward_that_lost_a_kernel_is_named_and_set_aside():
    """A launch without a record: the profiler lost it (pytorch#192021), so that forward shows too little."""
    builder = TraceBuilder()
    for _ in range(4):
        naive(builder)
    builder.events.remove(kernels_of(builder)[3 * 5 + 2])
    read = trace.parse(builder.document())
    assert (read.integrity.lost, read.integrity.differing, read.integrity.launches_without_activity) == ((3,), (), 1)
    assert [counts(forward) for forward in read.forwards] == [(5, 1, 0), (5, 1, 0), (4, 1, 0)]
    assert [forward.index for forward in read.whole] == [1, 2] and read.loss is None


def kernels_of(builder):
    return [event for event in builder.events if event.get("cat") == "kernel"]


def test_a_trace_of_which_no_forward_is_whole_says_how_much_is_left():
    """Of 3 × 6 launches in the kept forwards three left no record, one in each."""
    builder = TraceBuilder()
    for _ in range(4):
        naive(builder)
    for record in [kernels_of(builder)[forward * 5 + 3] for forward in (1, 2, 3)]:
        builder.events.remove(record)
    read = trace.parse(builder.document())
    assert read.whole == () and read.integrity.lost == (1, 2, 3)
    assert read.loss == TraceLoss(Loss.RECORDS, forwards=3, launches=18, recorded=15)


def test_launches_without_any_gpu_record_are_a_loss_and_not_a_cpu_run():
    builder = TraceBuilder()
    for _ in range(3):
        naive(builder)
    builder.events = [event for event in builder.events if event.get("cat") not in ("kernel", "gpu_memcpy")]
    assert trace.parse(builder.document()).loss == TraceLoss(Loss.NO_LANE, forwards=2, launches=12, recorded=0)


def test_a_record_whose_call_is_lost_spoils_its_forward():
    """Six records of which one has no launch: its number lies between those of the launches around it."""
    builder = TraceBuilder()
    for _ in range(3):
        naive(builder)
    launch = [event for event in builder.events if event["name"] == "cudaLaunchKernel"][5 + 2]
    builder.events.remove(launch)
    read = trace.parse(builder.document())
    assert read.integrity.lost == (1,) and [counts(forward) for forward in read.whole] == [(5, 1, 0)]


def test_records_without_any_call_are_a_loss():
    builder = TraceBuilder()
    for _ in range(3):
        naive(builder)
    builder.events = [event for event in builder.events if event.get("cat") != "cuda_runtime"]
    assert trace.parse(builder.document()).loss == TraceLoss(Loss.CALLS, forwards=2, launches=0, recorded=0)


def test_a_forward_with_another_grid_differs():
    builder = TraceBuilder()
    for size in (1, 1, 2, 1):
        naive(builder, bias=1024 * size)
    assert trace.parse(builder.document()).integrity.differing == (2,)


def test_launches_without_an_activity_are_normal_and_counted():
    """A memset call that leaves no record; queries that launch nothing are no launches."""
    builder = TraceBuilder()
    for _ in range(2):
        with builder.forward(), builder.op("aten::bmm"):
            builder.launch("cudaMemsetAsync")
            builder.launch("cudaStreamIsCapturing")
            builder.launch("cudaFuncSetAttribute")
            builder.kernel(api="cuLaunchKernelEx")
    read = trace.parse(builder.document())
    assert read.integrity.launches_without_activity == 1
    assert [launch.api for launch in read.forwards[0].launches] == ["cudaMemsetAsync", "cuLaunchKernelEx"]
    assert read.integrity.launch_apis == {"cuLaunchKernelEx": 1}
    assert (len(read.whole), read.memsets_known, read.loss) == (1, False, None)


def test_one_graph_launch_may_queue_many_activities():
    builder = TraceBuilder()
    with builder.forward():
        correlation = builder.launch("cudaGraphLaunch")
        for name in ("first", "second"):
            builder.activity("kernel", name, correlation, 3.0)
    assert [a.name for a in trace.parse(builder.document()).forwards[0].activities] == ["first", "second"]


def test_epoch_time_stamps_as_doubles_do_not_break_nesting():
    """Epoch microseconds step by a quarter: a launch may stick out of its op by a hair."""
    builder = TraceBuilder(start=1.7e15)
    with builder.forward(), builder.op("aten::bmm") as outer, builder.op("aten::mm") as inner:
        builder.kernel()
    inner["dur"] = outer["ts"] + outer["dur"] - inner["ts"] + 0.25
    assert trace.parse(builder.document()).forwards[0].activities[0].op_path == ("aten::bmm", "aten::mm")


def test_work_of_another_process_or_before_the_range_is_not_the_forwards():
    builder, other = TraceBuilder(), TraceBuilder(process=999)
    with builder.forward():
        other.now = builder.now + 0.1
        other.correlation = 900
        other.kernel("foreign")
        builder.now = other.now
    builder.events += other.events
    read = trace.parse(builder.document())
    assert read.forwards[0].activities == () and read.integrity.unattributed == {"kernel": 1}


def test_a_launch_on_another_thread_of_the_process_belongs_to_the_forward():
    """Ops of the launching thread come along; ops of threads that launch nothing do not."""
    builder = TraceBuilder()
    with builder.forward():
        builder.thread = 451
        with builder.op("aten::mul"):
            builder.kernel()
        builder.thread = 452
        builder.ops("aten::empty")
        builder.thread = 450
    forward = trace.parse(builder.document()).forwards[0]
    assert forward.activities[0].op_path == ("aten::mul",)
    assert [op.name for op in forward.ops] == ["aten::mul"]


def test_self_time_excludes_the_direct_children():
    builder = TraceBuilder()
    with builder.forward(), builder.op("aten::matmul"), builder.op("aten::bmm"):
        builder.now += 5
    outer, inner = trace.parse(builder.document()).forwards[0].ops
    assert (outer.path, inner.path) == (("aten::matmul",), ("aten::matmul", "aten::bmm"))
    assert inner.self_duration == inner.duration == pytest.approx(7e-6)
    assert outer.self_duration == pytest.approx(outer.duration - 7e-6)


def test_a_trace_without_a_gpu_lane_says_so():
    """On a CPU there is nothing to count: no activities, and the lane is marked as absent."""
    builder = TraceBuilder(device=None)
    for _ in range(2):
        with builder.forward():
            builder.ops("aten::matmul", "aten::bmm")
    read = trace.parse(builder.document())
    assert read.has_gpu_lane is False and read.device is None
    assert read.forwards[0].activities == () and [op.name for op in read.forwards[0].ops] == ["aten::matmul", "aten::bmm"]


def test_a_gpu_lane_with_leaked_kernels_only_is_still_a_gpu_lane():
    builder = TraceBuilder()
    builder.activity("kernel", "leaked", 1, 5.0)
    with builder.forward():
        pass
    assert trace.parse(builder.document()).has_gpu_lane is True


@pytest.mark.parametrize("written, read_as", [(13, 13.0), (0, 0.0), (-99, -99.0), (-100, -100.0), ("13", 13.0), ("inf", None)])
def test_the_profilers_occupancy_is_kept_as_written(written, read_as):
    builder = TraceBuilder()
    with builder.forward():
        builder.kernel(occupancy=written)
    assert trace.parse(builder.document()).forwards[0].activities[0].profiler_occupancy == read_as


def test_older_and_other_spellings_are_read():
    """`theoretical occupancy %`, `computeProperties`, tid `stream 7`, zero length, text instead of numbers."""
    builder = TraceBuilder(device=None)
    with builder.forward():
        event = builder.kernel(duration=0.0, **{"theoretical occupancy %": 25})
    del event["args"]["est. achieved occupancy %"], event["args"]["stream"]
    event["tid"] = "stream 23"
    event["args"] |= {"blocks per SM": "inf", "warps per SM": "inf", "registers per thread": "40"}
    read = trace.parse(builder.document(computeProperties=[H200]))
    activity = read.forwards[0].activities[0]
    assert (activity.profiler_occupancy, activity.stream, activity.duration, activity.registers) == (25, 23, 0, 40)
    assert read.device["name"] == "NVIDIA H200"


@pytest.mark.parametrize("entry", [None, {"id": 0, "name": "", "computeMajor": 9, "computeMinor": 0}])
def test_a_rocm_device_without_entry_or_name_is_no_cuda_device(entry):
    """ROCm reports capability 9.0 without a name; that must not look like Hopper."""
    builder = TraceBuilder(device=entry)
    with builder.forward():
        builder.kernel("Cijk_Alik_Bljk_BBS_BH", api="hipExtModuleLaunchKernel", category="cuda_runtime")
    read = trace.parse(builder.document())
    assert read.device is None and read.has_gpu_lane
    assert read.integrity.launch_apis == {"hipExtModuleLaunchKernel": 1}


def test_the_device_is_the_one_that_the_activities_name():
    builder = TraceBuilder()
    with builder.forward():
        builder.kernel()["args"]["device"] = 1
    document = builder.document(deviceProperties=[{"id": 0, "name": "first"}, {"id": 1, "name": "second"}])
    assert trace.parse(document).device["name"] == "second"


def test_records_without_an_end_or_a_time_are_left_out_and_counted():
    """`dur` −1 (unfinished), and a kernel at time 0 for 0 µs: the profiler knows nothing of them."""
    builder = TraceBuilder()
    for _ in range(2):
        with builder.forward(), builder.op("aten::mul"):
            builder.kernel("timeless")
            builder.kernel("whole")
    for event in builder.events:
        if event["name"] == "timeless":
            event |= {"ts": 0, "dur": 0}
    builder.events.append({"ph": "X", "cat": "cpu_op", "name": "unfinished", "pid": 450, "tid": 450, "ts": builder.now, "dur": -1})
    read = trace.parse(builder.document())
    assert [a.name for a in read.forwards[0].activities] == ["whole"]
    assert read.integrity.incomplete == 3 and read.integrity.launches_without_activity == 1


def test_other_events_may_be_as_odd_as_they_like():
    """Metadata, counters and categories that nobody asked for are not looked into."""
    builder = TraceBuilder()
    naive(builder)
    builder.events += [{"ph": "M"}, {"ph": "X", "cat": "python_function", "ts": "late"}, {"ph": "C", "args": 3}]
    assert len(trace.parse(builder.document()).forwards[0].activities) == 6


def test_an_event_without_a_time_is_named():
    builder = TraceBuilder()
    naive(builder)
    builder.events[4]["ts"] = None
    with pytest.raises(TraceMalformed, match=r"odd\.json: event 4 \('cudaLaunchKernel'\) has ts None, expected a number of microseconds"):
        trace.parse(builder.document(), "odd.json")


ODD = [None, True, -1, 0, 1e308, -1e308, float("inf"), float("nan"), 10**400, "", "x", "inf", [], {}, [0, 0, 0], {"a": 1}, "\ud800", 1.5, -5, 2**70]


@pytest.mark.parametrize("seed", range(10))
def test_a_trace_with_odd_values_is_read_or_refused_in_two_lines(seed):
    """90 copies of a real trace, in each of which a few fields hold something else."""
    source, given = random.Random(seed), json.loads(gzip.decompress((DATA / "naive.trace.json.gz").read_bytes()))
    for _ in range(90):
        events = list(given["traceEvents"])
        for place in source.sample(range(len(events)), source.choice((1, 1, 5))):
            changed = events[place] = deepcopy(events[place])
            inside = changed["args"] if changed.get("args") and source.random() < 0.5 else changed
            inside[source.choice(list(inside))] = source.choice(ODD)
        try:
            trace.parse({**given, "traceEvents": events, source.choice(("deviceProperties", "displayTimeUnit")): source.choice(ODD)}, "odd.json")
        except TraceMalformed as refused:
            assert re.fullmatch(r"odd\.json: .+\n  what to do: .+", str(refused))


def test_a_name_that_no_file_can_hold_is_mended():
    builder = TraceBuilder()
    with builder.forward(), builder.op("aten::mul"):
        builder.kernel("half\ud800")
    assert trace.parse(builder.document()).whole[0].activities[0].name == "half?"


def test_sizes_that_cannot_be_are_unknown():
    """A grid of 0 blocks, a block of -1 threads, -5 registers and -1 bytes: no arithmetic may start from them."""
    builder = TraceBuilder()
    with builder.forward(), builder.op("aten::mul"):
        builder.kernel(grid=(0, 1, 1), block=(-1, 1, 1), registers=-5)
        builder.memcpy(-1)
    kernel, copy = trace.parse(builder.document()).whole[0].activities
    assert (kernel.grid, kernel.block, kernel.registers, copy.bytes) == (None, None, None, None)


@pytest.mark.parametrize("document", [{}, [], {"traceEvents": None}, {"traceEvents": {}}])
def test_a_document_that_is_no_kineto_trace_is_refused(document):
    with pytest.raises(TraceMalformed, match="traceEvents"):
        trace.parse(document)


def test_an_event_that_is_no_object_is_named_by_its_place():
    with pytest.raises(TraceMalformed, match="event 1 is int"):
        trace.parse({"traceEvents": [{"ph": "M"}, 3]})


def test_a_trace_without_the_range_says_how_to_make_one():
    builder = TraceBuilder()
    builder.kernel()
    with pytest.raises(TraceMalformed, match="attention_forward") as caught:
        trace.parse(builder.document())
    assert "record_function" in caught.value.cure


def test_an_annotation_of_the_gpu_lane_is_no_forward():
    """`gpu_user_annotation` repeats the range on the GPU's clock."""
    builder = TraceBuilder()
    naive(builder)
    builder.events.append({"ph": "X", "cat": "gpu_user_annotation", "name": "attention_forward", "pid": 0, "tid": 7, "ts": 1000.0, "dur": 500.0})
    assert len(trace.parse(builder.document()).forwards) == 1


def test_plain_and_gzipped_files_read_alike(tmp_path):
    builder = TraceBuilder()
    naive(builder)
    text = json.dumps(builder.document())
    (tmp_path / "t.json").write_text(text)
    (tmp_path / "t.json.gz").write_bytes(gzip.compress(text.encode()))
    assert trace.read(tmp_path / "t.json").forwards == trace.read(tmp_path / "t.json.gz").forwards


BROKEN = {
    "truncated gzip": (gzip.compress(b'{"traceEvents": []}' * 50)[:40], "gzip stream ends early", "record the run again"),
    "not JSON": (b"<html>", "not valid JSON", "record the run again"),
    "a Windows path": (rb'{"traceEvents": [{"name": "C:\dir"}]}', "escape at line 1", "backslashes"),
    "Git LFS's pointer": (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9155\n", "not the trace", "git lfs pull"),
    "lists without end": (b"[" * 100_000, "nested too deep", "record the run again"),
    "a number without end": (b'{"traceEvents": [' + b"7" * 5000 + b"]}", "thousands of digits", "record the run again"),
    "a quote in a name": (b'{"traceEvents": [{"name": "a "b""}]}', "near", "quotes"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_file_is_named_with_a_cure(tmp_path, case):
    content, problem, cure = BROKEN[case]
    file = tmp_path / "broken.trace.json.gz"
    file.write_bytes(content)
    with pytest.raises(TraceMalformed, match=problem) as caught:
        trace.read(file)
    assert str(file) in str(caught.value) and cure in caught.value.cure


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(TraceMalformed, match="No such file"):
        trace.read(tmp_path / "nowhere.json")


def test_unpacking_has_a_limit(tmp_path, monkeypatch):
    """4 MiB of blanks in 4 kB: refused without unpacking them all, and before any object is made of it."""
    monkeypatch.setattr(trace.unpack, "MOST_BYTES", 2**20)
    file = tmp_path / "bomb.trace.json.gz"
    with gzip.open(file, "wb", compresslevel=9) as packed:
        for _ in range(4):
            packed.write(b" " * 2**20)
    with pytest.raises(TraceMalformed, match=r"bomb\.trace\.json\.gz: it unpacks to more than 1 MiB") as caught:
        trace.read(file)
    assert "record the run again" in caught.value.cure


def test_a_trace_of_millions_of_events_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(trace.unpack, "MOST_VALUES", 1000)
    (tmp_path / "t.json").write_text(json.dumps({"traceEvents": [{}] * 1000}))
    with pytest.raises(TraceMalformed, match="more than 1,000 objects and lists"):
        trace.read(tmp_path / "t.json")


def test_a_module_of_this_package_takes_no_functions_place():
    """Importing `reportgen.trace.whole` binds that name in the package; a function of the same name was gone after it."""
    import reportgen.trace.whole  # noqa: F401

    assert trace.read(DATA / "naive.trace.json.gz").forwards[0].activities


RECORDED = sorted([*Path(__file__).resolve().parents[2].glob("docs/runs/*/*/*.trace.json.gz"), *Path(__file__).resolve().parents[1].glob("data/**/*.trace.json.gz")])


@pytest.mark.parametrize("file", RECORDED, ids=lambda file: "-".join(file.parts[-3:]))
def test_a_recorded_trace_read_event_by_event_is_what_the_whole_document_says(file, monkeypatch):
    expected = trace.parse(trace.unpack.document(file), str(file))
    monkeypatch.setattr(trace.unpack, "document", None)  # nothing holds the whole text of a file that is in order
    assert trace.read(file) == expected


def test_there_are_recorded_traces():
    assert len(RECORDED) >= 35


def test_lists_without_end_in_an_event_are_refused_before_they_are_made(tmp_path, monkeypatch):
    monkeypatch.setattr(trace.unpack, "MOST_VALUES", 1000)
    (tmp_path / "t.json").write_text(json.dumps({"traceEvents": [{"ph": "X", "args": {"Input Dims": [[]] * 2000}}]}))
    with pytest.raises(TraceMalformed, match="more than 1,000 objects and lists"):
        trace.read(tmp_path / "t.json")


@pytest.mark.parametrize("changed, problem", [
    (lambda text: text[:-200], "not valid JSON"),
    (lambda text: text + text, "not valid JSON: Extra data"),
    (lambda text: text[:60] + "}" + text[60:], "not valid JSON"),
    (lambda text: text.replace('"traceEvents": [', '"traceEvents": [7, ', 1), "event 0 is int, expected an object"),
])
def test_a_recorded_trace_that_is_not_whole_is_no_evidence(tmp_path, changed, problem):
    """`explain` reads what is left of such a file; a run is not rendered from a part of it."""
    builder = TraceBuilder()
    naive(builder)
    (tmp_path / "t.json").write_text(changed(json.dumps(builder.document())))
    with pytest.raises(TraceMalformed, match=problem):
        trace.read(tmp_path / "t.json")
