"""A capture from end to end on the CPU: what is recorded, and what a failing, wrong or crashing variant costs."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

import variants
from reportgen import run

ROOT = Path(__file__).resolve().parents[2]
NAIVE = (ROOT / "variants" / "naive.py").read_text(encoding="utf-8")
RETURN = "return torch.matmul(weights, v)"
ADDED = {
    "of_ones_own": NAIVE.replace('TITLE = "Naive"', 'TITLE = "Of one\'s own"'),
    "broken": NAIVE.replace(RETURN, 'raise ValueError("this one is broken\\nsecond line")'),
    "wrong": NAIVE.replace(RETURN, "return torch.matmul(weights, v) * 1.05"),
    "an_extra": NAIVE.replace("BACKEND = None", "BACKEND = None\nBRIEF = True"),
    "crashing": NAIVE.replace(RETURN, "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"),
}
SCRIPT = """
import sys
from pathlib import Path
from reportgen.saying.progress import Progress
from reportgen.capture.session import CaptureRequest, capture
from reportgen.run import save
from reportgen.run.workload import Workload

if __name__ == "__main__":
    asked = tuple(sys.argv[1].split(","))
    request = CaptureRequest("cpu", Workload("tiny", 1, 2, 32, 16), "test", int(sys.argv[2]), asked, "off", quick=True)
    print(save(*capture(request, Progress()), Path("runs")))
"""


@pytest.fixture(scope="module")
def tree(tmp_path_factory, capture_python) -> Path:
    """A copy of the variants with four more, and none that the user added: one file and one word in the list each."""
    folder = tmp_path_factory.mktemp("tree")
    shutil.copytree(ROOT / "variants", folder / "variants", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "reportgen").symlink_to(ROOT / "reportgen")
    listing = folder / "variants" / "__init__.py"
    names = (*variants.SIX, "naive_compiled", *ADDED)
    listing.write_text(re.sub(r"^VARIANTS = \(.*?^\)", f"VARIANTS = {names!r}", listing.read_text(encoding="utf-8"), count=1, flags=re.M | re.S), encoding="utf-8")
    for name, source in ADDED.items():
        (folder / "variants" / f"{name}.py").write_text(source, encoding="utf-8")
    (folder / "capture.py").write_text(SCRIPT, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def recorded(tree, capture_python) -> run.Run:
    asked = "naive,sdpa_efficient,of_ones_own,broken,wrong,an_extra,crashing"
    done = subprocess.run([capture_python, "capture.py", asked, "2"], cwd=tree, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return run.load(tree / done.stdout.strip())


def test_a_variant_of_ones_own_appears_after_the_six(recorded):
    """Measured and traced like the others, with its source and title, and in no verdict."""
    assert list(recorded.variants)[6:] == ["naive_compiled", "of_ones_own", "broken", "wrong", "an_extra", "crashing"]
    own = recorded.variants["of_ones_own"]
    assert (own.title, own.status, own.named) == ("Of one's own", "ok", False)
    assert own.source == ADDED["of_ones_own"]
    assert own.trace_path.is_file()


def test_each_fresh_process_gives_one_sample(recorded):
    """On a CPU there is no GPU time, and no wall time is made up for it."""
    samples = recorded.variants["naive"].samples
    assert {quantity: len(found.samples) for quantity, found in samples.items()} == {
        "wall_time": 2, "host_time": 2, "first_call": 2, "first_call_new_shape": 2}  # fmt: skip
    assert all(0 < value < 10 for found in samples.values() for value in found.samples)


def test_of_an_extra_the_deciding_time_its_error_and_a_trace_are_taken(recorded):
    extra = recorded.variants["an_extra"]
    assert {quantity: len(found.samples) for quantity, found in extra.samples.items()} == {"wall_time": 2}
    assert (extra.status, extra.training, extra.own_mask) == ("ok", None, None)
    assert extra.relative_error == recorded.variants["of_ones_own"].relative_error and extra.trace_path.is_file()
    assert recorded.protocol.first_call_order is not None and all("an_extra" not in order for order in recorded.protocol.first_call_order)


def test_a_variant_that_raises_costs_itself_only(recorded):
    broken = recorded.variants["broken"]
    assert (broken.status, broken.reason, dict(broken.samples), broken.trace_path) == ("failed", "this one is broken.", {}, None)


def test_a_variant_that_kills_its_process_costs_itself_only(recorded):
    crashing = recorded.variants["crashing"]
    assert (crashing.status, dict(crashing.samples)) == ("failed", {})
    assert crashing.reason == "the process was killed by SIGSEGV (while: first call)"
    assert recorded.variants["naive"].status == "ok"


def test_a_wrong_result_is_wrong_however_fast(recorded):
    """5 % too much is a relative error of 0.05. Its two processes were timed, and its trace is there to find out why."""
    wrong = recorded.variants["wrong"]
    assert (wrong.status, len(wrong.samples["wall_time"].samples)) == ("wrong", 2)
    assert wrong.trace_path.is_file()
    assert wrong.reason.startswith("wrong result: relative error 0.05, allowed 0.00")
    assert wrong.relative_error == pytest.approx(0.05, rel=0.02)


def test_a_backend_that_is_not_there_is_unavailable_in_torchs_words(recorded):
    refused = recorded.variants["sdpa_efficient"]
    assert refused.status == "unavailable"
    assert refused.reason.startswith("torch has this backend on GPUs only: No viable backend for scaled_dot_product_attention")


def test_a_variant_that_was_not_asked_for_says_so(recorded):
    math = recorded.variants["sdpa_math"]
    assert (math.status, math.reason) == ("not-tried", "not asked for in this run")


def test_the_trace_holds_the_annotated_forwards(recorded):
    """Six active steps, of which the reader drops the first."""
    from reportgen import trace

    read = trace.read(recorded.variants["naive"].trace_path)
    assert (len(read.forwards), read.has_gpu_lane, read.integrity.dropped_forwards) == (5, False, 1)
    assert [op.name for op in read.forwards[0].ops if op.name == "aten::softmax"] == ["aten::softmax"]


def test_the_run_says_how_it_was_taken(recorded):
    protocol = recorded.protocol
    assert (protocol.processes, protocol.rounds, protocol.timer, protocol.input_sets) == (2, 1, None, None)
    assert protocol.start_method in ("forkserver", "spawn")
    assert protocol.threads >= 1
    assert recorded.counters_reason == "not taken in a quick run"
    assert recorded.phases["whole"] > recorded.phases["timing"] > 0


@pytest.mark.parametrize(("workload", "sizes", "name"), [
    ("None", {"sequence": 48}, "custom-1x4x48x64-bfloat16"), ("None", {"dtype": "float32"}, "small-float32"),
    ("PRESETS['wide']", {"batch": 1, "sequence": 32}, "custom-1x16x32x128-bfloat16"),
])
def test_own_sizes_change_the_workload_of_the_device_that_is_there(tree, capture_python, workload, sizes, name):
    """Without a preset that is `small` on a CPU, though no device was named; it is told before anything is timed."""
    code = ("import sys\nfrom reportgen.saying.progress import Progress\nfrom reportgen.capture.session import CaptureRequest, capture\n"
            "from reportgen.run.workload import PRESETS\n"
            "if __name__ == '__main__':\n"
            f"    data, _ = capture(CaptureRequest(None, {workload}, sizes={sizes!r}, processes=1, variants=('naive',), quick=True), Progress())\n"
            "    print(data['workload']['name'])\n")
    (tree / "sized.py").write_text(code, encoding="utf-8")
    done = subprocess.run([capture_python, "sized.py"], cwd=tree, capture_output=True, text=True, timeout=240, env={**os.environ, "CUDA_VISIBLE_DEVICES": ""})
    assert done.stdout.strip() == name, done.stderr
    lines = done.stderr.splitlines()
    assert lines[0] == "importing torch, looking at the device"
    assert f": workload {name}, batch " in lines[1]
    assert any(line.startswith("[2/3] timing, process 1 of 1") for line in lines) and any(line.startswith("[3/3] traces, ") for line in lines)
    assert not any(" left)" in line for line in lines if "timing, process 1" in line), "nobody knows before the first calls"
    assert "hardware counters" not in done.stderr


def test_a_cpu_that_is_taken_by_default_says_why_there_is_no_gpu(tree, capture_python):
    """Also in the run: the cause and the sentence."""
    code = ("import sys\nfrom reportgen.saying.progress import Progress\nfrom reportgen.capture.session import CaptureRequest, capture\n"
            "from reportgen.run.workload import Workload\n"
            "if __name__ == '__main__':\n"
            "    data, _ = capture(CaptureRequest(None, Workload('tiny', 1, 2, 32, 16), processes=1, variants=('naive',), quick=True), Progress())\n"
            "    print(data['noticed'][0]['cause'])\n")
    (tree / "default.py").write_text(code, encoding="utf-8")
    done = subprocess.run([capture_python, "default.py"], cwd=tree, capture_output=True, text=True, timeout=240, env={**os.environ, "CUDA_VISIBLE_DEVICES": ""})
    assert done.stdout.strip() in ("no-gpu", "torch-without-cuda", "hidden"), done.stderr
    notes = [number for number, line in enumerate(done.stderr.splitlines()) if line.startswith("note: ")]
    assert notes and done.stderr.splitlines()[notes[0] + 1].startswith("  what to do: ")


def test_who_else_was_at_work_is_recorded_from_begin_to_end(recorded):
    """On a CPU that is the load, and what other processes took of the processors while each timing process ran."""
    assert [look.when for look in recorded.clocks.looks] == ["begin", "process 1", "process 2", "end"]
    assert all(look.load is not None and look.processes is None for look in recorded.clocks.looks)
    assert all(look.others_cpu_share is None or 0 <= look.others_cpu_share <= 1 for look in recorded.clocks.looks)
    assert recorded.clocks.other_processes is None
    assert recorded.protocol.pinned is False


def test_ctrl_c_leaves_the_former_run_and_no_process(tree, recorded, capture_python):
    """Interrupted while a process is being timed: nothing is written, everything that was started ends."""
    before = {file.name: file.read_bytes() for file in recorded.path.iterdir()}
    child = subprocess.Popen([capture_python, "capture.py", "naive", "500"], cwd=tree, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True, start_new_session=True)
    while "timing, process 2" not in child.stderr.readline():
        assert child.poll() is None
    os.killpg(child.pid, signal.SIGINT)
    _, said = child.communicate(timeout=30)
    assert child.returncode not in (0, None)
    assert said.count("Traceback") == 1  # the parent's own; the command line shows none at all
    assert {file.name: file.read_bytes() for file in recorded.path.iterdir()} == before
    assert [entry.name for entry in recorded.path.parent.iterdir()] == [recorded.path.name]
    assert _running_in_group(child.pid) == []


def _running_in_group(group: int, patience: float = 5.0) -> list[str]:
    """Commands of the processes of a group that still run after a short while (zombies do not)."""
    if not Path("/proc/self/stat").exists():
        pytest.skip("no /proc to look for processes in")
    end = time.monotonic() + patience
    while True:
        found = []
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                state, _, process_group = stat.read_text().rpartition(")")[2].split()[:3]
            except OSError:
                continue
            if process_group == str(group) and state not in "ZX":
                found.append(stat.parent.name)
        if not found or time.monotonic() > end:
            return found
        time.sleep(0.1)


def test_a_device_that_is_not_there_is_refused_with_a_cure(tree, capture_python):
    code = ("from reportgen.capture.session import CaptureRequest, capture\n"
            "from reportgen.errors import DeviceUnavailable\n"
            "if __name__ == '__main__':\n"
            "    try:\n        capture(CaptureRequest('cuda'))\n"
            "    except DeviceUnavailable as error:\n        print(error)\n")
    (tree / "refused.py").write_text(code, encoding="utf-8")
    done = subprocess.run([capture_python, "refused.py"], cwd=tree, capture_output=True, text=True, timeout=240,
                          env={**os.environ, "CUDA_VISIBLE_DEVICES": ""})
    problem, cure = done.stdout.strip().splitlines()
    assert cure.startswith("  what to do: ") and cure.endswith("; DEVICE=cpu profiles the processor instead")
    assert re.search("GPU|torch", problem)
