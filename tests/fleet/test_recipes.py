"""The recipes are files that nothing of ours runs: each parses, and the commands in it are ours as they are today."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from reportgen.commands import cli

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).resolve().parents[2]
RECIPES = ROOT / "recipes"


def test_the_recipes_are_those_that_their_page_names():
    named = re.findall(r"`(?:recipes/)?([\w-]+\.(?:toml|yaml))`", (RECIPES / "README.md").read_text())
    assert sorted(file.name for file in RECIPES.iterdir()) == ["README.md", "fleet.toml", "kubernetes-job.yaml", "skypilot.yaml"]
    assert set(named) == {"fleet.toml", "kubernetes-job.yaml", "skypilot.yaml"}
    assert (ROOT / ".github" / "workflows" / "gpu.yml").is_file()


def test_every_target_that_a_recipe_makes_exists():
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.M))
    used = {target for file in RECIPES.iterdir() for target in re.findall(r"\bmake ([a-z]+)", file.read_text())}
    assert used == {"fleet", "merge", "profile", "site"} and {"fleet", "merge", "profile", "site"} <= targets


def test_skypilot_takes_one_gpu_and_profiles_into_a_folder_of_its_own():
    task = yaml.safe_load((RECIPES / "skypilot.yaml").read_text())
    assert (task["num_nodes"], task["workdir"], task["resources"]) == (1, ".", {"accelerators": "H200:1", "use_spot": False})
    (command,) = [line for line in task["run"].splitlines() if not line.startswith("#")]
    assert shlex.split(command) == ["make", "profile", "DEVICE=cuda", "ARGS=--into $HOME/reportgen-runs"]
    chosen = cli.parser().parse_args(["profile", "--device", "cuda", "--into", "x"])
    assert (chosen.device, chosen.into) == ("cuda", Path("x"))


def test_a_job_of_kubernetes_has_a_whole_gpu_is_tried_once_and_runs_a_command_of_ours():
    job = yaml.safe_load((RECIPES / "kubernetes-job.yaml").read_text())
    pod = job["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert (job["kind"], job["apiVersion"], job["spec"]["backoffLimit"], pod["restartPolicy"]) == ("Job", "batch/v1", 0, "Never")
    assert container["resources"] == {"limits": {"nvidia.com/gpu": 1}}
    (apart,) = pod["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert apart == {"labelSelector": {"matchLabels": job["spec"]["template"]["metadata"]["labels"]}, "topologyKey": "kubernetes.io/hostname"}
    assert container["command"][:3] == ["python3", "-m", "reportgen"]
    chosen = cli.parser().parse_args(container["command"][3:])
    assert (chosen.writes, chosen.device, chosen.into) == ("profile", "cuda", Path("/runs/l4"))
    assert {mount["name"] for one in (*pod["initContainers"], container) for mount in one["volumeMounts"]} == {volume["name"] for volume in pod["volumes"]}
