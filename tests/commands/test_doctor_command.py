"""`doctor` as it is called: with a Python that has torch, and with one that has none."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HIDDEN = {**os.environ, "CUDA_VISIBLE_DEVICES": "", "HIP_VISIBLE_DEVICES": ""}


def run(python: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([python, "-m", "reportgen", "doctor", *arguments], cwd=ROOT, capture_output=True, text=True, timeout=120, env=HIDDEN)


def test_without_torch_it_says_so_and_ends_with_2():
    pytest.importorskip("jinja2")  # so that this Python is the one of the pages, which has no torch
    done = run(sys.executable)
    assert done.returncode == 2, done.stderr
    assert "Nothing can be measured here:\n- this Python has no torch\n  what to do: activate the environment that has it" in done.stdout
    assert done.stderr == ""


def test_on_a_cpu_it_says_what_can_be_measured_and_ends_with_1(capture_python):
    done = run(capture_python, "--json")
    told = json.loads(done.stdout)
    assert (done.returncode, told["status"], told["measurable"]["wall_and_host_time"], told["measurable"]["gpu_time"]) == (1, 1, True, False)
    assert {"no-gpu", "torch-without-cuda", "torch-without-rocm", "hidden"} & {one["cause"] for one in told["causes"]}
    assert [place["name"] for place in told["seen"]["places"]] == ["docs/runs", "build", "the folder for temporary files"]


def test_make_finds_the_python_to_ask_without_making_one(tmp_path):
    """The one that is named, also without torch, since saying so is the answer."""
    done = subprocess.run([sys.executable, "requirements/environments.py", "there"], cwd=ROOT, capture_output=True, text=True, env={**os.environ, "PYTHON": sys.executable}, timeout=120)
    assert Path(done.stdout.strip()).resolve() == Path(sys.executable).resolve()
    missing = subprocess.run([sys.executable, "requirements/environments.py", "there"], cwd=ROOT, capture_output=True, text=True, env={**os.environ, "PYTHON": str(tmp_path / "none")}, timeout=120)
    assert (missing.returncode, missing.stderr) == (2, f"error: PYTHON={tmp_path / 'none'} does not run\n  what to do: name a Python that does, or leave PYTHON out\n")
