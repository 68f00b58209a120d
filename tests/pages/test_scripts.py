"""The scripts beside the bars: short, torch alone, the recorded forward, and each runs or says what it needs."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from builders import facts, variant

import variants
from benchmarks import scripts as driver
from reportgen.analysis import VariantFacts
from reportgen.pages import scripts
from reportgen.run import Protocol
from reportgen.run.workload import Workload

TINY = Workload("tiny", 1, 2, 16, 8, "float32")
ALL = ("naive", "naive_inplace", "sdpa_math", "sdpa_efficient", "sdpa_flash", "sdpa_cudnn", "naive_compiled", "naive_scaled_q", "naive_baddbmm")
ON_A_CPU = ("naive", "naive_inplace", "sdpa_math", "sdpa_flash", "naive_scaled_q", "naive_baddbmm")


def run(workload: Workload = TINY):
    """A run with a bar for every variant of the checkout, each with the checkout's own source."""
    built = facts("h200", workload=workload, protocol=Protocol(processes=7, forwards_per_graph={"sdpa_cudnn": 104}))
    time = built.variants["naive"].times
    every = {one.id: replace(built.variants.get(one.id) or VariantFacts(one.id, one.title, False, built.variants["naive"].state, times=time), source=one.source) for one in variants.load()}
    return replace(built, variants=every)


@pytest.mark.parametrize("name", ALL)
def test_a_script_is_valid_short_and_needs_torch_alone(name):
    text = scripts.text(run(), name)
    tree = ast.parse(text)
    assert len(text.splitlines()) <= 25 and max(map(len, text.splitlines())) <= 200
    imported = {alias.name.split(".")[0] for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    imported |= {node.module.split(".")[0] for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert imported == {"statistics", "time", "torch"}


def test_it_is_the_runs_shape_and_the_calls_of_its_replays():
    text = scripts.text(run(Workload("w", 2, 3, 40, 24, "float16", causal=False)), "sdpa_cudnn")
    assert "(2, 3, 40, 24), dict(dtype=torch.float16" in text and "torch.ones(40, 40" in text and ".zero_()" in text
    assert "calls, times, wait = 104 if gpu" in text and "sdpa_kernel(SDPBackend.CUDNN_ATTENTION)" in text
    assert "calls, times, wait = 20 if gpu" in scripts.text(run(), "naive")


def test_a_variant_that_differs_from_the_recorded_one_has_none():
    """Comments and docstrings may; the code may not, for then the bar is another forward's. A run's own text is never put into a script."""
    built = run()
    assert scripts.text(variant(built, "naive", source=built.variants["naive"].source.replace('"""q, k, v', '"""Q, K, V')), "naive") is not None
    assert scripts.text(variant(built, "naive", source=built.variants["naive"].source.replace("-0.5", "-0.6")), "naive") is None
    assert scripts.text(variant(built, "naive", source="import os; os.system('x')"), "naive") is None
    assert scripts.text(variant(built, "naive", source="not ( python"), "naive") is None
    assert scripts.text(variant(built, "naive", source=built.variants["naive"].source.replace("-0.5", "-0.6")), "naive_compiled") is None


def test_without_a_bar_there_is_no_script():
    assert scripts.text(variant(run(), "naive", gpu_time=None), "naive") is None
    assert scripts.text(run(), "of_ones_own") is None
    assert scripts.path("naive") == "scripts/naive.py"


@pytest.mark.parametrize("name", ON_A_CPU)
def test_each_runs_on_a_cpu_and_says_that_this_is_no_gpu_time(name, tmp_path, capture_python):
    (tmp_path / "script.py").write_text(scripts.text(run(), name), encoding="utf-8")
    done = subprocess.run([capture_python, "-W", "ignore", "script.py"], cwd=tmp_path, capture_output=True, text=True, timeout=120, env={"CUDA_VISIBLE_DEVICES": "", "PATH": "/usr/bin:/bin"})
    assert done.returncode == 0, done.stderr
    assert "µs of wall time on the CPU per forward" in done.stdout and "GPU time" not in done.stdout


@pytest.mark.parametrize(("name", "backend"), [("sdpa_efficient", "efficient"), ("sdpa_cudnn", "cuDNN")])
def test_one_that_needs_a_gpu_says_so_in_a_line(name, backend, tmp_path, capture_python):
    (tmp_path / "script.py").write_text(scripts.text(run(), name), encoding="utf-8")
    done = subprocess.run([capture_python, "-W", "ignore", "script.py"], cwd=tmp_path, capture_output=True, text=True, timeout=120, env={"CUDA_VISIBLE_DEVICES": "", "PATH": "/usr/bin:/bin"})
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.strip().splitlines()[-1] == f"the {backend} backend needs a GPU, and torch sees none here"


def committed(folder: Path, printed: dict[str, str]) -> Path:
    """A docs folder with a featured run of flash at 100 µs and scripts that print these lines."""
    place = folder / "runs" / "gpu" / "article"
    place.mkdir(parents=True)
    (folder / "runs" / "FEATURED").write_text("gpu/article\n")
    (place / "run.json").write_text(json.dumps({"variants": {name: {"samples": {"gpu_time": [90e-6, 100e-6, 130e-6]}} for name in ("sdpa_flash", "naive")}}))
    (folder / "scripts").mkdir()
    for name, line in printed.items():
        (folder / "scripts" / f"{name}.py").write_text(line)
    return folder


@pytest.mark.parametrize(("line", "status", "said"), [
    ("print('SDPA flash: 104.9 µs of GPU time per forward')", 0, "+4.9 %"),
    ("print('SDPA flash: 94.9 µs of GPU time per forward')", 1, "-5.1 %"),
    ("print('SDPA flash: 100.0 µs of wall time on the CPU per forward')", 1, "wall time on the CPU"),
    ("raise SystemExit('it needs a GPU')", 1, "it needs a GPU"),
])
def test_the_driver_holds_each_script_against_the_page(line, status, said, tmp_path, capsys):
    docs = committed(tmp_path, {"sdpa_flash": line})
    assert driver.main(["--docs", str(docs), "--python", sys.executable]) == status
    out = capsys.readouterr().out
    assert said in out and f"{1 - status} of 1 within 5%" in out


def test_a_script_without_a_bar_and_a_folder_without_scripts_are_told(tmp_path, capsys):
    docs = committed(tmp_path, {"other": "print('x: 1.0 µs of GPU time per forward')"})
    assert driver.main(["--docs", str(docs)]) == 1
    assert "no such bar in the featured run" in capsys.readouterr().out
    (docs / "scripts" / "other.py").unlink()
    assert driver.main(["--docs", str(docs)]) == 1
    assert "there are no scripts" in capsys.readouterr().out
