"""The CI recipes: least permissions, pinned actions, targets that exist, and scripts that do what they say."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from run_builder import record

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
WRITES = {("check.yml", "comment"): {"pull-requests": "write"},
          ("gpu.yml", "collect"): {"contents": "write", "pull-requests": "write"},
          ("pages.yml", "deploy"): {"pages": "write", "id-token": "write"}}


def jobs():
    return [(file, name, job) for file in FILES for name, job in yaml.safe_load(file.read_text())["jobs"].items()]


def scripts():
    return [(file, step["run"]) for file, _, job in jobs() for step in job["steps"] if "run" in step]


def test_there_are_three_recipes():
    assert [file.name for file in FILES] == ["check.yml", "gpu.yml", "pages.yml"]


@pytest.mark.skipif(not shutil.which("actionlint"), reason="actionlint is not installed here")
def test_actionlint_finds_nothing():
    done = subprocess.run(["actionlint", "-no-color"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_every_action_is_pinned_by_commit_with_its_version_beside_it(file):
    used = re.findall(r"uses: (.*)", file.read_text())
    assert used and all(re.fullmatch(r"actions/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line) for line in used)


def test_an_action_has_one_pin_in_all_files():
    pins = {}
    for file in FILES:
        for name, pin in re.findall(r"uses: ([\w/-]+)@(.*)", file.read_text()):
            pins.setdefault(name, set()).add(pin)
    assert {name: len(found) for name, found in pins.items()} == {name: 1 for name in pins}


def test_a_workflow_may_read_and_only_the_named_jobs_may_write():
    for file in FILES:
        assert yaml.safe_load(file.read_text())["permissions"] == {"contents": "read"}
    assert {(file.name, name): job["permissions"] for file, name, job in jobs() if "permissions" in job} == WRITES


def test_a_job_that_may_write_to_a_pull_request_runs_none_of_its_code():
    comment = next(job for file, name, job in jobs() if name == "comment")
    assert [step["uses"].split("@")[0] for step in comment["steps"] if "uses" in step] == ["actions/download-artifact"]
    assert not any("make" in step.get("run", "") for step in comment["steps"])


def test_runners_of_ones_own_are_never_started_by_a_pull_request():
    gpu = yaml.safe_load((ROOT / ".github" / "workflows" / "gpu.yml").read_text())
    assert set(gpu[True]) <= {"workflow_dispatch", "schedule"}  # YAML reads `on` as true


def test_no_script_has_an_expression_in_it():
    """What a stranger may have typed reaches a script through the environment only."""
    assert [(file.name, script) for file, script in scripts() if "${{" in script] == []


def test_every_target_that_a_recipe_makes_exists():
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.M))
    used = {target for _, script in scripts() for target in re.findall(r"\bmake ([a-z]+)", script)}
    assert used == {"test", "check", "lint", "site", "diff", "report", "merge"} and used <= targets


def test_every_job_has_a_time_limit():
    assert all(job.get("timeout-minutes") for _, _, job in jobs())


def git(root, *arguments):
    subprocess.run(["git", "-c", "user.name=n", "-c", "user.email=e@example.org", *arguments], cwd=root, check=True, capture_output=True)


def test_a_machine_gathers_the_runs_that_are_new_or_changed_without_their_pages_and_no_other(tmp_path):
    runs = tmp_path / "docs" / "runs"
    for slug in ("nvidia-same", "nvidia-changed"):
        (record(runs, slug=slug) / "index.md").write_text("a page")
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-qm", "x"]):
        git(tmp_path, *arguments)
    script = next(script for _, script in scripts() if "gathered" in script)

    def gather():
        subprocess.run(["bash", "-e", "-c", script], cwd=tmp_path, check=True)
        return sorted(str(file.relative_to(tmp_path / "gathered")) for file in (tmp_path / "gathered").rglob("*") if file.is_file())

    assert gather() == []  # a confirmed rerun
    record(runs, slug="nvidia-changed", seed=1, traces=False)
    record(runs, slug="nvidia-new", label="tf32", traces=False)
    (runs / "nvidia-new" / "article+tf32" / "index.md").write_text("a page")
    assert gather() == ["nvidia-changed/article/run.json", "nvidia-new/article+tf32/run.json"]
