"""The command `probes`: its table, what it says of what reproduces, its exit status. From answers made up here, without torch."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from reportgen import probes
from reportgen.capture import assemble
from reportgen.commands import cli, probing

ROOT = Path(__file__).resolve().parents[2]
SURVEY = {"device": "cuda", "environment": {"device": {"name": "NVIDIA H200"}, "software": {"torch": "2.11.0+cu130", "cudnn": "9.19.0"}}}
ASKED = [probe for probe in probes.load() if probe.id in ("masked-backward", "causal-one-query", "expanded-kv")]


def tried(outcome: str, picked: str | None = None, reason: str | None = None, **compared: Any) -> dict[str, Any]:
    found = {"tensor": "output", "right": outcome == "right", "error": 0.002, "allowed": 0.005, "row_error": 0.002, "row_allowed": 0.01, "not_finite": 0, "hidden": 0, "elements": 4096}
    return {"outcome": outcome, "reason": reason, "picked": picked, "compared": [{**found, **compared}] if outcome in ("right", "reproduces") else []}


NO_MASK = "Flash Attention does not support non-null attn_mask."
NAN = {"tensor": "gradient of q", "not_finite": 45_056, "elements": 45_056, "error": None}
CURED = {**tried("right"), "choice": "default", "before": 0.000_081, "after": 0.000_209}


def answers(**changed: Any) -> dict[Any, dict[str, Any]]:
    """cuDNN is picked and wrong for the first probe; efficient is wrong for the last."""
    values = {
        "masked-backward default": {"tried": tried("reproduces", "cudnn", **NAN), "control": tried("right", "cudnn"), "cured": CURED},
        "masked-backward math": {"tried": tried("right")},
        "masked-backward flash": {"tried": tried("refused", reason=NO_MASK)},
        "masked-backward cudnn": {"tried": tried("reproduces", **NAN), "control": tried("right"), "cured": {**CURED, "choice": "cudnn"}},
        "causal-one-query default": {"tried": tried("reproduces", "cudnn", error=18.9, row_error=20.0), "control": None, "cured": {**CURED, "after": 0.000_030}},
        "expanded-kv default": {"tried": tried("right", "cudnn")},
        "expanded-kv efficient": {"tried": tried("reproduces", error=0.377, row_error=1.2)},
        **changed,
    }
    return {("probe", step): {"value": value, "status": "ok", "reason": None, "seconds": 0.25} for step, value in values.items()}


def text(found: Any, asked: Any = ASKED) -> str:
    return probing.as_text(SURVEY, found, asked)


def test_the_table_has_the_default_first_with_what_torch_picked() -> None:
    lines = text(assemble.correctness(answers())).splitlines()
    assert lines[0] == "NVIDIA H200, torch 2.11.0+cu130, cudnn 9.19.0"
    assert [re.split(r"  +", line.strip()) for line in lines[2:6]] == [
        ["default", "math", "efficient", "flash", "cuDNN"],
        ["masked-backward", "WRONG (cuDNN)", "right", "–", "refused", "WRONG"],
        ["causal-one-query", "trap (cuDNN)", "–", "–", "–", "–"],
        ["expanded-kv", "right (cuDNN)", "–", "WRONG", "–", "–"],
    ]


def test_what_reproduces_is_told_with_source_inputs_error_and_cure() -> None:
    told = text(assemble.correctness(answers()))
    assert "masked-backward: NaN gradients from a backward pass with a mask and logits far below 0 (wrong result)" in told
    assert "  pytorch#196678  https://github.com/pytorch/pytorch/issues/196678" in told
    assert "  default: the gradient of q has 45,056 of 45,056 values that are not finite" in told
    assert "  efficient: the output has a relative error of 0.38, allowed 0.005" in told
    assert "  with it (default): right; 81 µs a call before, 209 µs after" in told
    assert "(documented trap)" in told and "  default: the output has a relative error of 19, allowed 0.005" in told
    assert told.splitlines()[-1] == "The default choice gives a wrong result for masked-backward; a pinned backend does for expanded-kv."


def test_a_wrong_default_is_1_a_trap_and_a_pinned_backend_are_0() -> None:
    assert probing.status(assemble.correctness(answers()), ASKED) == 1
    right = assemble.correctness(answers(**{"masked-backward default": {"tried": tried("right", "cudnn")}}))
    assert probing.status(right, ASKED) == 0
    assert text(right).splitlines()[-1] == "The default choice gives no wrong result in 3 probes; a pinned backend does for masked-backward, expanded-kv."


def test_what_broke_off_is_told_and_is_no_wrong_result() -> None:
    broken = answers()
    broken["probe", "masked-backward default"] = {"value": None, "status": "failed", "reason": "the process was killed by SIGSEGV", "seconds": 1.0}
    found = assemble.correctness(broken)
    assert found["probes"]["masked-backward"]["tried"]["default"] == {"outcome": "failed", "reason": "the process was killed by SIGSEGV", "compared": [], "picked": None}
    assert "  default: the process was killed by SIGSEGV" in text(found) and probing.status(found, ASKED) == 0


def test_a_probe_that_does_not_fit_the_device_has_its_reason() -> None:
    reason = "it takes 20 GiB of GPU memory, and 3 GiB are free"
    absent = {f"expanded-kv {choice}": {"not_here": reason} for choice in ("default", "efficient")}
    found = assemble.correctness(answers(**absent))
    assert found["probes"]["expanded-kv"]["not_here"] == reason and found["probes"]["expanded-kv"]["tried"] == {}
    told = text(found)
    assert f"not tried here: expanded-kv, {reason}" in told
    assert told.splitlines()[-1] == "The default choice gives a wrong result for masked-backward."


def test_the_first_choice_that_reproduces_has_the_cure_and_the_seconds_add_up() -> None:
    found = assemble.correctness({**answers(), ("picks", None): {"value": [{"mask": "none"}], "status": "ok", "reason": None, "seconds": 0.5}})
    assert found["probes"]["masked-backward"]["cured"]["choice"] == "default"
    assert found["probes"]["masked-backward"]["control"] == {"default": tried("right", "cudnn"), "cudnn": tried("right")}
    assert found["probes"]["masked-backward"]["seconds"] == 1.0 and found["seconds"] == 0.25 * 7 + 0.5 and found["picks"] == [{"mask": "none"}]


def test_a_run_without_the_watch_says_so() -> None:
    assert assemble.correctness({("ceilings", None): {"value": None}}) == {"reason": "not tried in this run"}


def test_json_says_what_was_tried_and_what_came_out() -> None:
    told = json.loads(json.dumps(probing.as_json(SURVEY, assemble.correctness(answers()), ASKED)))
    assert told["status"] == 1 and told["device"] == "NVIDIA H200" and told["software"]["torch"] == "2.11.0+cu130"
    assert told["probes"]["causal-one-query"]["kind"] == "documented trap" and told["probes"]["expanded-kv"]["cure"]["words"] == "Copy k and v."
    assert told["correctness"]["probes"]["expanded-kv"]["tried"]["efficient"]["compared"][0]["error"] == 0.377


def test_an_unknown_probe_is_an_error_with_the_names_of_those_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["probes", "masked"]) == 2
    said = capsys.readouterr().err.splitlines()
    assert said[0] == "error: there is no probe 'masked'" and said[1].startswith("  what to do: the probes are masked-backward, ")


CRASHING = '''
"""Reproduces everywhere, and its cure ends the process where math is pinned."""

import os
import signal

from .making import qkv
from .model import Cure, Inputs, Kind, Needs, Probe, Report


def _make(device):
    q, k, v = qkv(device, "float16", 1, 1, 8, 8, 16)
    return Inputs(q, k, v, meant=Inputs(q, k, v * 2))


def _cure(inputs):
    import torch

    if not torch.backends.cuda.flash_sdp_enabled():
        os.kill(os.getpid(), signal.SIGSEGV)
    return inputs.v


PROBE = Probe("crashing", "it crashes", Kind.WRONG, (Report("x#1", "https://x", "1", "any", "all"),), frozenset({Needs.MASK}), "fp16", "the output", "it", _make,
              Cure("None.", "scaled_dot_product_attention\\n", _cure))
'''


@pytest.fixture(scope="module")
def checked(tmp_path_factory: pytest.TempPathFactory, capture_python: str) -> subprocess.CompletedProcess[str]:
    """The command on a CPU, in a copy of the program that has a crashing probe in front of another one."""
    tree = tmp_path_factory.mktemp("tree")
    for name in ("reportgen", "variants"):
        shutil.copytree(ROOT / name, tree / name, ignore=shutil.ignore_patterns("__pycache__"))
    room = tree / "reportgen" / "probes"
    (room / "crashing.py").write_text(CRASHING, encoding="utf-8")
    listing = (room / "__init__.py").read_text(encoding="utf-8")
    (room / "__init__.py").write_text(re.sub(r"^NAMES: .*?^\)", 'NAMES = ("crashing", "mask_type")', listing, count=1, flags=re.M | re.S), encoding="utf-8")
    return subprocess.run([capture_python, "-m", "reportgen", "probes", "--device", "cpu", "--json"], cwd=tree, capture_output=True, text=True, timeout=240,
                          env={key: value for key, value in os.environ.items() if key != "PYTHONPATH"})


def test_the_command_runs_with_torch_and_the_standard_library_alone(checked: subprocess.CompletedProcess[str]) -> None:
    assert checked.returncode == 1, checked.stderr
    told = json.loads(checked.stdout)
    outcomes = {choice: one["outcome"] for choice, one in told["correctness"]["probes"]["mask-type"]["tried"].items()}
    assert outcomes == {"default": "right", "math": "right", "efficient": "refused", "flash": "right", "cudnn": "refused"}
    assert len(told["correctness"]["picks"]) == 32


def test_a_crash_costs_the_choice_in_which_it_came(checked: subprocess.CompletedProcess[str]) -> None:
    run = json.loads(checked.stdout)["correctness"]["probes"]["crashing"]
    assert {choice: one["outcome"] for choice, one in run["tried"].items()} == {
        "default": "reproduces", "math": "failed", "efficient": "refused", "flash": "reproduces", "cudnn": "refused"}  # fmt: skip
    assert "SIGSEGV" in run["tried"]["math"]["reason"]
