"""Hardware counters: the tool's table read, and every way in which it may fail to give one.

`ncu` is a stand-in program on the PATH; its table is the one that a real run on an H200 printed,
with the columns that nobody reads cut off.
"""

from __future__ import annotations

import csv
import os
import stat
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("torch")

from reportgen.capture import counter_report, counters  # noqa: E402
from reportgen.run.workload import ARTICLE  # noqa: E402

H200 = Path(__file__).resolve().parents[1] / "data" / "ncu_h200_raw.csv"
SIX = ("naive", "naive_inplace", "sdpa_math", "sdpa_efficient", "sdpa_flash", "sdpa_cudnn")
ALL = (*counters.METRICS, *counters.TENSOR_METRICS.values())
BF16 = "sm__ops_path_tensor_src_bf16_dst_fp32.sum"
READ, WRITTEN, DURATION = "dram__bytes_read.sum", "dram__bytes_write.sum", "gpu__time_duration.sum"


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Puts an `ncu` on the PATH that runs these lines of Python; `log`, `target` and `arguments` are there for it."""

    def install(*lines: str) -> Path:
        program = tmp_path / "bin" / "ncu"
        program.parent.mkdir(exist_ok=True)
        program.write_text("\n".join([
            f"#!{sys.executable}",
            "import sys, pathlib, time, os, subprocess",
            "arguments = sys.argv[1:]",
            "if '--version' in arguments: print('NVIDIA (R) Nsight Compute Command Line Profiler\\nVersion 2025.3.1.0 (build 1) (public-release)'); sys.exit()",
            "at = arguments.index('--log-file'); log = pathlib.Path(arguments[at + 1]); target = arguments[at + 2:]",
            *lines,
        ]))
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("PATH", str(program.parent), prepend=os.pathsep)
        return program

    return install


def measure(**options: object) -> counters.Outcome:
    return counters.measure(SIX, "cuda", ARTICLE, **{"limit_s": 20, **options})


@pytest.mark.parametrize(("dtype", "tf32", "expected"), [
    ("bfloat16", False, (BF16,)),
    ("bfloat16", True, (BF16, "sm__ops_path_tensor_src_tf32_dst_fp32.sum")),
    ("float16", False, ("sm__ops_path_tensor_src_fp16.sum",)),
    ("float32", False, ()),
])
def test_only_the_source_types_that_this_workload_can_feed_are_asked_for(dtype: str, tf32: bool, expected: tuple[str, ...]) -> None:
    """All three types at once cost five passes instead of one on an H200."""
    assert counters.tensor_metrics(replace(ARTICLE, dtype=dtype), tf32) == expected


class TestTable:
    def test_every_kernel_of_the_real_table_is_under_its_variant_in_launch_order(self) -> None:
        """The H200 launched 5, 5, 20, 1, 1 and 1 kernels; the first of naive is a matmul, the last one too."""
        variants = counter_report.parse(H200.read_text(), ALL)["variants"]
        assert {name: len(kernels) for name, kernels in variants.items()} == dict(zip(SIX, (5, 5, 20, 1, 1, 1)))
        assert variants["naive"][0]["kernel"].startswith("nvjet_sm90_tst_256x128")
        assert "softmax_warp_forward" in variants["naive"][3]["kernel"]

    def test_values_are_bytes_seconds_and_percent(self) -> None:
        """Read off the file by eye: the flash kernel's row."""
        (flash,) = counter_report.parse(H200.read_text(), ALL)["variants"]["sdpa_flash"]
        assert flash["grid"] == [8, 8, 16] and flash["block"] == [128, 1, 1]
        assert flash["metrics"][READ] == 50439168
        assert flash["metrics"][DURATION] == pytest.approx(95.456e-6)
        assert flash["metrics"]["sm__maximum_warps_per_active_cycle_pct"] == 12.5
        assert flash["metrics"]["launch__registers_per_thread"] == 255

    def test_tensor_core_operations_of_a_naive_matmul_are_two_b_h_s_squared_d(self) -> None:
        matmul = counter_report.parse(H200.read_text(), ALL)["variants"]["naive"][0]
        assert matmul["metrics"]["sm__ops_path_tensor_src_bf16_dst_fp32.sum"] == ARTICLE.matmul_flop == 17179869184

    def test_a_metric_that_the_chip_lacks_is_named_as_missing(self) -> None:
        table = counter_report.parse(H200.read_text(), ALL)
        assert table["missing"] == ["sm__ops_path_tensor_src_fp16.sum"]
        assert READ in table["metrics"]

    def test_a_cell_without_a_value_is_none_and_costs_no_other(self) -> None:
        text = H200.read_text().replace('"50,439,168"', '"n/a"')
        (flash,) = counter_report.parse(text, ALL)["variants"]["sdpa_flash"]
        assert flash["metrics"][READ] is None
        assert flash["metrics"][WRITTEN] == 27310080

    def test_a_share_of_more_than_all_is_no_value(self) -> None:
        """Seen on an H200: 107 % of the warps active, put together from replays that differ."""
        active = "sm__warps_active.avg.pct_of_peak_sustained_active"
        lines = H200.read_text().splitlines()
        row = next(index for index, line in enumerate(lines) if "attn_sdpa_flash" in line)
        head = next(csv.reader([next(line for line in lines if line.startswith('"ID"'))]))
        cells = next(csv.reader([lines[row]]))
        cells[head.index(active)] = "107.02"
        lines[row] = ",".join(f'"{cell}"' for cell in cells)
        (flash,) = counter_report.parse("\n".join(lines), ALL)["variants"]["sdpa_flash"]
        assert flash["metrics"][active] is None and flash["metrics"][WRITTEN] == 27310080

    def test_lines_of_the_tool_between_rows_are_skipped(self) -> None:
        lines = H200.read_text().splitlines()
        lines[8:8] = ["==WARNING== Something in the middle", "", "half a row of something else"]
        assert counter_report.parse("\n".join(lines), ALL) == counter_report.parse(H200.read_text(), ALL)

    @pytest.mark.parametrize("cells", [
        ('"50.439.168"', '"95.456"', '"12,5"'),
        ('"50\u202f439\u202f168"', '"95\u202f456"', '"12,5"'),
        ('"50\'439\'168"', '"95\'456"', '"12.5"'),
        ('"50439168"', '"95456"', '"12.5"'),
    ], ids=["points", "narrow spaces", "apostrophes", "nothing"])  # fmt: skip
    def test_other_locales_give_the_same_numbers(self, cells: tuple[str, str, str]) -> None:
        """50,439,168 bytes, 95,456 ns and 12.5 %, as other countries write them."""
        text = _table(['"byte"', '"ns"', '"%"'], [list(cells)])
        (kernel,) = counter_report.parse(text, _SMALL)["variants"]["sdpa_flash"]
        assert list(kernel["metrics"].values()) == [50439168, pytest.approx(95.456e-6), 12.5]

    def test_scaled_units_are_brought_back_to_bytes_and_seconds(self) -> None:
        """50.4 Mbyte and 95.456 us, the form in which the tool prints for people."""
        text = _table(['"Mbyte"', '"us"', '"%"'], [['"50.4"', '"95.456"', '"12.50"']])
        (kernel,) = counter_report.parse(text, _SMALL)["variants"]["sdpa_flash"]
        assert list(kernel["metrics"].values()) == [pytest.approx(50.4e6), pytest.approx(95.456e-6), 12.5]

    def test_a_table_with_semicolons_is_read(self) -> None:
        text = _table(['"byte"', '"ns"', '"%"'], [['"50439168"', '"95456"', '"12,5"']]).replace('","', '";"')
        (kernel,) = counter_report.parse(text, _SMALL)["variants"]["sdpa_flash"]
        assert kernel["metrics"][READ] == 50439168

    @pytest.mark.parametrize("text", ["", "==PROF== Connected\n", "\x00\xff rubbish \n1,2,3\n", '"ID","Kernel Name"\n'])
    def test_no_table_is_unreadable_and_nothing_else(self, text: str) -> None:
        with pytest.raises(counter_report.Unreadable):
            counter_report.parse(text, ALL)

    def test_kernels_outside_our_ranges_are_nobodys(self) -> None:
        with pytest.raises(counter_report.Unreadable, match="annotated forward"):
            counter_report.parse(H200.read_text().replace("attn_", "other_"), ALL)


_SMALL = (READ, DURATION, "sm__maximum_warps_per_active_cycle_pct")


def _table(units: list[str], rows: list[list[str]]) -> str:
    head = ['"ID"', '"thread Domain:Push/Pop_Range"', '"Kernel Name"', '"Block Size"', '"Grid Size"', *(f'"{name}"' for name in _SMALL)]
    fixed = ['"0"', '"658  ""<default domain>:attn_sdpa_flash:none"""', '"flash_fwd"', '"(128, 1, 1)"', '"(8, 8, 16)"']
    lines = [head, ['""'] * 5 + units, *([*fixed, *row] for row in rows)]
    return "\n".join(",".join(line) for line in lines)


class TestTool:
    def test_a_tool_that_works_gives_counters_and_its_version(self, stand_in) -> None:
        stand_in(f"log.write_text(pathlib.Path({str(H200)!r}).read_text())")
        found, reason = measure()
        assert reason is None
        assert found["tool"] == "Nsight Compute 2025.3.1.0"
        assert set(found) == {"tool", "metrics", "missing", "variants", "mask_step", "passes"}
        assert (found["mask_step"], found["passes"]) == ({}, None)
        assert len(found["variants"]["sdpa_math"]) == 20

    def test_clocks_and_caches_are_left_alone(self, tmp_path: Path) -> None:
        line = " ".join(counters.command("ncu", ["python", "x"], ALL, tmp_path / "log"))
        assert "--clock-control none --cache-control none" in line
        assert line.endswith("log python x")

    def test_the_target_is_our_module_with_device_workload_and_variants(self, stand_in, tmp_path: Path) -> None:
        stand_in(f"pathlib.Path({str(tmp_path / 'seen')!r}).write_text(chr(10).join(target))")
        measure(python="/bin/the-python")
        seen = (tmp_path / "seen").read_text().split("\n")
        assert seen[:4] == ["/bin/the-python", "-m", "reportgen.capture.counter_target", "cuda"]
        assert '"sequence": 1024' in seen[4]
        assert seen[5] == "-", "it waits for nothing"
        assert tuple(seen[6:]) == SIX

    def test_refused_counters_name_the_permission_and_the_cure(self, stand_in, monkeypatch: pytest.MonkeyPatch) -> None:
        stand_in("print('==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance Counters'); sys.exit(1)")
        monkeypatch.setattr(counters.libraries, "in_container", lambda: False)
        found, reason = measure()
        assert found is None
        assert "ERR_NVGPUCTRPERM" in reason and "NVreg_RestrictProfilingToAdminUsers=0" in reason

    def test_in_a_container_the_cure_is_the_containers(self, stand_in, monkeypatch: pytest.MonkeyPatch) -> None:
        stand_in("log.write_text('==ERROR== ERR_NVGPUCTRPERM'); sys.exit(1)")
        monkeypatch.setattr(counters.libraries, "in_container", lambda: True)
        assert "--cap-add=SYS_ADMIN" in measure()[1]

    @pytest.mark.parametrize(("printed", "expected"), [
        ("==ERROR== Profiling failed because a driver resource was unavailable. Ensure that no other tool (like DCGM) is concurrently collecting", "another profiler"),
        ("==ERROR== Profiling is not supported on MIG devices", "MIG instance"),
        ("==WARNING== No kernels were profiled.", "no kernel"),
        ("==ERROR== The application returned an error: frobnication", "frobnication"),
        ("Traceback (most recent call last): ModuleNotFoundError: No module named 'torch'", "COUNTERS=off"),
        ("==ERROR== Profiling is not supported on device 0 as it uses the Blackwell GPU architecture", "does not know the GPU or its driver"),
        ("ncu: libc.so.6: version `GLIBC_2.34' not found\n==PROF== Disconnected",
         "ended with status 3 and no table; its last line: ncu: libc.so.6: version `GLIBC_2.34' not found; run `ncu --version`"),
        ("", "status 3"),
    ])  # fmt: skip
    def test_each_refusal_has_its_reason(self, stand_in, printed: str, expected: str) -> None:
        stand_in(f"print({printed!r}); sys.exit(3)")
        found, reason = measure()
        assert found is None and expected in reason

    def test_a_tool_that_hangs_is_ended_with_all_that_it_started(self, stand_in, tmp_path: Path) -> None:
        """Its child would write a file after two seconds; it must not live that long."""
        late = tmp_path / "late"
        child = f"import time, pathlib; time.sleep(2); pathlib.Path({str(late)!r}).write_text('alive')"
        stand_in(f"subprocess.Popen([sys.executable, '-c', {child!r}]); time.sleep(60)")
        begin = time.monotonic()
        found, reason = measure(limit_s=0.5)
        assert time.monotonic() - begin < 5
        assert found is None and "did not finish within 0.5 s" in reason
        time.sleep(2.2)
        assert not late.exists()

    def test_with_a_gate_the_tool_starts_at_once_and_its_time_counts_from_when_it_is_open(self, stand_in, tmp_path: Path) -> None:
        gate, started = tmp_path / "gate", tmp_path / "started"
        stand_in(f"pathlib.Path({str(started)!r}).touch()", "while not pathlib.Path(target[5]).exists(): time.sleep(0.01)",
                 f"log.write_text(pathlib.Path({str(H200)!r}).read_text())")
        answers: list[counters.Outcome] = []
        waiting = threading.Thread(target=lambda: answers.append(measure(gate=gate, limit_s=1.0)))
        waiting.start()
        waiting.join(1.5)
        assert started.exists() and not answers, "longer than the limit, and not ended"
        gate.touch()
        waiting.join(5)
        assert answers and answers[0][1] is None

    def test_a_target_that_nobody_opens_the_gate_for_ends_with_whoever_started_it(self, tmp_path: Path) -> None:
        """Its parent starts it and ends; the target would wait for ever."""
        wait = f"from reportgen.capture import counter_target; counter_target._wait_for({str(tmp_path / 'gate')!r})"
        parent = f"import subprocess, sys; print(subprocess.Popen([sys.executable, '-c', {wait!r}]).pid, flush=True); __import__('time').sleep(1.5)"
        done = subprocess.run([sys.executable, "-c", parent], capture_output=True, text=True, timeout=30, cwd=Path(__file__).resolve().parents[2])
        child = int(done.stdout)
        deadline = time.monotonic() + 5
        while Path(f"/proc/{child}").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not Path(f"/proc/{child}").exists()

    def test_garbage_is_a_reason(self, stand_in) -> None:
        stand_in("log.write_bytes(bytes(range(256)) * 40)")
        found, reason = measure()
        assert found is None and "could not be read" in reason

    def test_a_metric_that_stops_the_tool_is_tried_without(self, stand_in) -> None:
        """An older tool refuses unknown names; the counters that every chip has are taken all the same."""
        stand_in("if 'ops_path_tensor' in ' '.join(arguments): print('==ERROR== Failed to find metric sm__ops_path_tensor'); sys.exit(1)",
                 f"log.write_text(pathlib.Path({str(H200)!r}).read_text())")
        found, reason = measure()
        assert reason is None
        assert BF16 in found["missing"] and READ in found["metrics"]

    @pytest.mark.parametrize(("refused", "asked"), [("pipe_xu", (True, False)), ("ops_path_tensor", (False, True)), ("pipe_xu|ops_path_tensor", (False, False))])
    def test_a_refused_pipe_costs_no_count_of_mathematics_and_the_other_way_round(self, stand_in, tmp_path: Path, refused: str, asked: tuple[bool, bool]) -> None:
        stand_in("import re", f"if re.search({refused!r}, ' '.join(arguments)): print('==ERROR== Failed to find metric'); sys.exit(1)",
                 f"pathlib.Path({str(tmp_path / 'seen')!r}).write_text(' '.join(arguments)); log.write_text(pathlib.Path({str(H200)!r}).read_text())")
        assert measure()[1] is None
        seen = (tmp_path / "seen").read_text()
        assert (BF16 in seen, "sm__inst_executed.sum" in seen) == asked

    def test_the_ops_of_the_mask_step_stand_beside_the_variants(self, stand_in) -> None:
        """Flash's range is renamed here: it is one kernel of 95.456 µs. The tool says that it took two replays for some kernel."""
        text = H200.read_text().replace("attn_sdpa_flash", "attn_mask_step_full")
        stand_in(f"log.write_text({text!r}); print('==PROF== Profiling \"mul\" - 3: 0%....50%....100% - 2 passes'); print('==PROF== Profiling \"a\": 100% - 1 pass')")
        found, reason = measure()
        assert reason is None and found["passes"] == 2
        assert list(found["variants"]) == [name for name in SIX if name != "sdpa_flash"]
        (kernel,) = found["mask_step"].pop("full")
        assert kernel["metrics"][DURATION] == pytest.approx(95.456e-6) and found["mask_step"] == {}

    @pytest.mark.parametrize("first", ["print('==ERROR== Profiling is not supported on device 0'); sys.exit(1)", "os.kill(os.getpid(), 11)"])
    def test_where_the_first_tool_does_not_know_the_gpu_or_breaks_the_next_one_is_tried(self, stand_in, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: str) -> None:
        newer = tmp_path / "toolkit" / "ncu"
        newer.parent.mkdir()
        stand_in(f"log.write_text(pathlib.Path({str(H200)!r}).read_text())").rename(newer)
        stand_in(first)
        monkeypatch.setattr(counters, "PLACES", (str(tmp_path / "*" / "ncu"),))
        assert counters.find() == (str(tmp_path / "bin" / "ncu"), str(newer))
        found, reason = measure()
        assert reason is None and len(found["variants"]) == 6

    def test_a_permission_is_the_same_for_every_tool_so_no_other_is_tried(self, stand_in, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        newer = tmp_path / "toolkit" / "ncu"
        newer.parent.mkdir()
        stand_in("pathlib.Path(sys.argv[0]).with_name('ran').touch()").rename(newer)
        stand_in("print('==ERROR== ERR_NVGPUCTRPERM'); sys.exit(1)")
        monkeypatch.setattr(counters, "PLACES", (str(tmp_path / "*" / "ncu"),))
        assert "ERR_NVGPUCTRPERM" in measure()[1]
        assert not (newer.parent / "ran").exists()

    def test_no_tool_is_a_reason(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setenv("PATH", str(tmp_path))
        monkeypatch.setattr(counters, "PLACES", ())
        found, reason = measure()
        assert found is None and "was not found" in reason

    def test_a_file_that_cannot_be_run_is_a_reason(self, stand_in) -> None:
        stand_in("pass").write_text("#!/nonexistent/interpreter\n")
        found, reason = measure()
        assert found is None and "could not be started" in reason

    def test_off_a_cpu_and_rocm_are_not_asked(self, stand_in, monkeypatch: pytest.MonkeyPatch) -> None:
        import torch

        stand_in(f"log.write_text(pathlib.Path({str(H200)!r}).read_text())")
        assert "turned off" in measure(mode="off")[1]
        assert "no GPU" in counters.measure(SIX, "cpu", ARTICLE)[1]
        monkeypatch.setattr(torch.version, "hip", "6.2")
        assert "ROCm" in measure()[1]


def test_the_target_runs_the_variants_it_can(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """On a CPU the fused GPU backends do not run; the others get their range all the same."""
    import torch

    from reportgen.capture import counter_target

    ranges: list[str] = []
    monkeypatch.setattr(torch.cuda.nvtx, "range_push", ranges.append)
    monkeypatch.setattr(torch.cuda.nvtx, "range_pop", lambda: ranges.append("end"))
    small = '{"name": "tiny", "batch": 1, "heads": 1, "sequence": 16, "head_dim": 16, "dtype": "float32"}'
    assert counter_target.main(["cpu", small, counter_target.NO_GATE, "naive", "sdpa_math", "sdpa_cudnn"]) == 0
    assert ranges == ["attn_naive", "end", "attn_sdpa_math", "end"]
