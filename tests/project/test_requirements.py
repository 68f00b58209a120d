"""Finding and making the two environments, without installing anything."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

from reportgen.run.workload import PRESETS

ROOT = Path(__file__).resolve().parents[2]
_spec = importlib.util.spec_from_file_location("environments", ROOT / "requirements" / "environments.py")
environments = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(environments)


def fake(folder: Path, name: str, version: str = "3.12", torch: str = "None") -> str:
    """An executable that answers the probe like a Python of this version with this torch."""
    script = folder / name
    script.write_text(f"#!/bin/sh\necho {script} {version.replace('.', ' ')} {torch}\n")
    script.chmod(0o755)
    return str(script)


@pytest.fixture
def only(tmp_path, monkeypatch):
    """A PATH that holds just what the test puts there."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    return folder


@pytest.fixture
def nothing_installed(monkeypatch):
    """Records which environments would be made and with which pip arguments."""
    calls = []

    def create(folder, found):
        calls.append(("create", folder.name, found.version))
        (folder / "bin").mkdir(parents=True, exist_ok=True)
        (folder / "bin" / "python").touch()
        return ["pip"]

    monkeypatch.setattr(environments, "create", create)
    monkeypatch.setattr(environments, "pip", lambda command, *arguments: calls.append(("pip", *arguments)) or True)
    monkeypatch.setattr(environments, "attempt", lambda command, *arguments: calls.append(("pip", *arguments)))
    return calls


def test_the_active_python_is_used_where_it_has_torch(only, tmp_path, nothing_installed):
    active = fake(only, "python3", "3.12", "2.11.0+cu130")
    assert environments.capture(None, tmp_path / ".venv-capture", None) == active
    assert nothing_installed == []


def test_without_torch_and_driver_the_cpu_build_is_installed_once(only, tmp_path, nothing_installed, monkeypatch):
    fake(only, "python3", "3.12")
    monkeypatch.setattr(environments, "has_nvidia_driver", lambda: False)
    folder = tmp_path / ".venv-capture"
    for _ in range(2):
        assert environments.capture(None, folder, None) == str(folder / "bin" / "python")
    assert nothing_installed == [("create", ".venv-capture", (3, 12)), ("pip", "torch==2.13.0+cpu")]


def test_where_there_is_no_cpu_build_the_plain_one_is_taken(only, tmp_path, nothing_installed, monkeypatch, capsys):
    fake(only, "python3", "3.12")
    monkeypatch.setattr(environments, "has_nvidia_driver", lambda: False)
    tried = []
    monkeypatch.setattr(environments, "attempt", lambda command, *arguments: tried.append(arguments) or "ERROR: No matching distribution found for torch==2.13.0+cpu")
    monkeypatch.setattr(environments, "pip", lambda command, *arguments: tried.append(arguments) or True)
    environments.capture(None, tmp_path / ".venv-capture", "file:///an/index")
    assert tried == [("--extra-index-url", "file:///an/index", "torch==2.13.0+cpu"),
                     ("--extra-index-url", "file:///an/index", "-r", str(environments.CAPTURE))]
    said = capsys.readouterr().err
    assert "no CPU build" in said and "2.7 GB" in said and "TORCH_INDEX=" in said


def test_without_a_network_nothing_is_said_about_builds_and_the_plain_one_is_not_tried(only, tmp_path, nothing_installed, monkeypatch, capsys):
    fake(only, "python3", "3.12")
    monkeypatch.setattr(environments, "has_nvidia_driver", lambda: False)
    monkeypatch.setattr(environments, "attempt", lambda command, *arguments: (
        "WARNING: Retrying (Retry(total=0)) after connection broken by 'NewConnectionError(...): Failed to establish a new connection'\n"
        "ERROR: Could not find a version that satisfies the requirement torch==2.13.0+cpu (from versions: none)"))
    with pytest.raises(SystemExit) as ended:
        environments.capture(None, tmp_path / ".venv-capture", None)
    said = capsys.readouterr().err
    assert ended.value.code == 2
    assert "pip could not reach a package index" in said and "no CPU build" not in said
    assert "torch is never in it" in said
    assert [call[0] for call in nothing_installed] == ["create"]


def test_pips_words_for_a_missing_version_are_no_lost_connection():
    assert not environments.unreached("ERROR: Could not find a version that satisfies the requirement torch==2.13.0+cpu (from versions: 2.13.0)\n"
                                      "ERROR: ResolutionImpossible")
    assert not environments.unreached("WARNING: Retrying after connection broken by 'ReadTimeoutError'\n"
                                      "ERROR: Could not find a version that satisfies the requirement torch==2.13.0+cpu (from versions: 2.12.0, 2.13.0)")


def test_with_a_driver_the_cpu_build_is_not_tried(only, tmp_path, nothing_installed, monkeypatch):
    fake(only, "python3", "3.12")
    monkeypatch.setattr(environments, "has_nvidia_driver", lambda: True)
    environments.capture(None, tmp_path / ".venv-capture", None)
    assert [call[1:] for call in nothing_installed if call[0] == "pip"] == [("-r", str(environments.CAPTURE))]


@pytest.mark.parametrize("version, torch, said", [
    ("3.12", "None", "Python 3.12 with torch missing"),
    ("3.12", "2.4.1", "Python 3.12 with torch 2.4.1"),
    ("3.9", "2.8.0", "Python 3.9 with torch 2.8.0"),
])
def test_a_python_named_by_hand_that_cannot_profile_is_refused(only, tmp_path, capsys, version, torch, said):
    python = fake(only, "mine", version, torch)
    with pytest.raises(SystemExit) as ended:
        environments.capture(python, tmp_path / ".venv-capture", None)
    assert ended.value.code == 2
    message = capsys.readouterr().err
    assert said in message and "what to do: " in message


def test_an_old_torch_in_the_active_python_is_not_used(only, tmp_path, nothing_installed, monkeypatch, capsys):
    fake(only, "python3", "3.12", "2.4.1")
    monkeypatch.setattr(environments, "has_nvidia_driver", lambda: True)
    assert environments.capture(None, tmp_path / ".venv-capture", None) == str(tmp_path / ".venv-capture" / "bin" / "python")
    assert "2.4.1 is older than 2.5" in capsys.readouterr().err


def test_pages_use_a_newer_python_where_the_active_one_is_too_old(only, tmp_path, nothing_installed):
    fake(only, "python3", "3.10", "2.8.0")
    fake(only, "python3.12", "3.12")
    fake(only, "python3.13", "3.9")
    environments.pages(None, tmp_path / ".venv", tmp_path / "wheelhouse")
    assert nothing_installed[0] == ("create", ".venv", (3, 12))


def test_pages_are_installed_with_hashes_and_again_only_when_the_lock_changes(only, tmp_path, nothing_installed, monkeypatch):
    fake(only, "python3", "3.12")
    lock = tmp_path / "pages.txt"
    lock.write_text("a==1")
    monkeypatch.setattr(environments, "LOCK", lock)
    for content in ("a==1", "a==1", "a==2"):
        lock.write_text(content)
        environments.pages(None, tmp_path / ".venv", tmp_path / "wheelhouse")
    installs = [call for call in nothing_installed if call[0] == "pip"]
    assert len(installs) == 2
    assert "--require-hashes" in installs[0] and "--no-index" not in installs[0]


@pytest.mark.parametrize("wheel, used", [("x-1-cp312-cp312-linux_x86_64.whl", True), ("x-1-cp311-cp311-linux_x86_64.whl", False)])
def test_a_wheelhouse_is_used_where_it_has_wheels_for_this_python(only, tmp_path, nothing_installed, wheel, used):
    fake(only, "python3", "3.12")
    (tmp_path / "wheelhouse").mkdir()
    (tmp_path / "wheelhouse" / wheel).touch()
    environments.pages(None, tmp_path / ".venv", tmp_path / "wheelhouse")
    (install,) = [call for call in nothing_installed if call[0] == "pip"]
    assert ("--no-index" in install) is used


@pytest.mark.parametrize(("wheel", "source"), [(None, ()), ("submitit-1.5.4-py3-none-any.whl", ("--no-index", "--find-links", "WHEELHOUSE"))])
def test_what_sends_jobs_is_added_to_the_pages_once_with_hashes(only, tmp_path, nothing_installed, monkeypatch, wheel, source):
    fake(only, "python3", "3.12")
    wheelhouse, lock = tmp_path / "wheelhouse", tmp_path / "fleet.txt"
    wheelhouse.mkdir()
    if wheel:
        (wheelhouse / wheel).touch()
    monkeypatch.setattr(environments, "FLEET", lock)
    for content in ("a==1", "a==1", "a==2"):
        lock.write_text(content)
        assert environments.fleet(None, tmp_path / ".venv", wheelhouse) == str(tmp_path / ".venv" / "bin" / "python")
    assert [call[0] for call in nothing_installed] == ["create", "pip", "pip", "pip"]
    assert [str(one).replace(str(wheelhouse), "WHEELHOUSE") for one in nothing_installed[2]] == [
        "pip", "--quiet", *source, "--require-hashes", "--no-deps", "--only-binary", ":all:", "-r", str(lock)]


def test_the_lock_of_the_fleet_is_three_packages_that_the_pages_do_not_pin():
    names = [set(re.findall(r"^([a-z0-9-]+)==", (ROOT / "requirements" / f"{name}.txt").read_text(), re.M)) for name in ("fleet", "pages")]
    assert names[0] == {"cloudpickle", "submitit", "typing-extensions"} and not names[0] & names[1]


def test_a_python_with_wheels_beside_a_newer_one_is_taken(only, tmp_path, nothing_installed):
    fake(only, "python3", "3.15")
    fake(only, "python3.12", "3.12")
    environments.pages(None, tmp_path / ".venv", tmp_path)
    assert nothing_installed[0] == ("create", ".venv", (3, 12))


def test_a_newer_python_that_stands_alone_is_taken_and_told(tmp_path, monkeypatch, nothing_installed, capsys):
    monkeypatch.setattr(environments, "look", lambda name: environments.Found(name, (3, 15), None) if name == "python3" else None)
    environments.pages(None, tmp_path / ".venv", tmp_path)
    assert nothing_installed[0] == ("create", ".venv", (3, 15))
    assert capsys.readouterr().err.splitlines()[0] == ("Python 3.15 is newer than the wheels are made for, and there is no older one beside it; if the installation "
                                                       "fails, install Python 3.14 or name one: make PAGES_PYTHON=/where/it/is …")


def test_a_newer_python_that_was_asked_for_is_taken(only, tmp_path, nothing_installed):
    fake(only, "python3", "3.12")
    environments.pages(fake(only, "mine", "3.15"), tmp_path / ".venv", tmp_path)
    assert nothing_installed[0] == ("create", ".venv", (3, 15))


def test_the_cure_of_a_failed_installation_under_a_newer_python_names_the_variable(tmp_path, monkeypatch, nothing_installed, capsys):
    monkeypatch.setattr(environments, "look", lambda name: environments.Found(name, (3, 15), None) if name == "python3" else None)
    monkeypatch.setattr(environments, "pip", lambda *given: False)
    with pytest.raises(SystemExit):
        environments.pages(None, tmp_path / ".venv", tmp_path)
    assert capsys.readouterr().err.splitlines()[-1].endswith("; or name an older Python, which has wheels: make PAGES_PYTHON=/where/3.14/is …")


MAKER = """
import importlib.util, sys, time
from pathlib import Path
spec = importlib.util.spec_from_file_location("environments", sys.argv[1])
environments = importlib.util.module_from_spec(spec)
spec.loader.exec_module(environments)
environments.LOCKED = Path(sys.argv[2]) / "lock"
folder = Path(sys.argv[2]) / ".venv"

def make(*given):
    print("making", flush=True)
    time.sleep(0.5)
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "python").touch()

environments.make_pages = make
print(environments.pages(None, folder, folder))
"""


def test_two_makes_at_once_make_one_environment(tmp_path):
    both = [subprocess.Popen([sys.executable, "-c", MAKER, str(ROOT / "requirements" / "environments.py"), str(tmp_path)],
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    said = [maker.communicate(timeout=30) for maker in both]
    python = f"{tmp_path}/.venv/bin/python"
    assert sorted(out.split() for out, _ in said) == [[python], ["making", python]]
    assert sorted(err for _, err in said) == ["", "another make is making an environment; waiting for it\n"]


def test_a_containers_constraints_do_not_reach_pip(monkeypatch):
    for name in ("PIP_CONSTRAINT", "PIP_TARGET", "PYTHONPATH"):
        monkeypatch.setenv(name, "/x")
    monkeypatch.setenv("PIP_INDEX_URL", "file:///kept")
    environment = environments.clean_environment()
    assert not {"PIP_CONSTRAINT", "PIP_TARGET", "PYTHONPATH"} & set(environment)
    assert environment["PIP_INDEX_URL"] == "file:///kept"


def test_a_python_that_can_make_no_environment_is_told_the_cure(only, tmp_path, capsys):
    python = only / "python3"
    python.write_text(f'#!/bin/sh\n[ "$1" = -c ] && echo {python} 3 12 None\n')
    python.chmod(0o755)
    with pytest.raises(SystemExit):
        environments.create(tmp_path / "env", environments.look(str(python)))
    assert "apt-get install python3.12-venv" in capsys.readouterr().err


def test_an_older_machine_accepts_every_older_tag():
    tags = environments.platform_tags("manylinux_2_17_x86_64")
    assert tags[0] == "manylinux_2_17_x86_64"
    assert "manylinux_2_5_x86_64" in tags and "manylinux2014_x86_64" in tags
    assert "manylinux_2_28_x86_64" not in tags


def test_every_package_of_the_lock_has_hashes_and_an_exact_version():
    blocks = [block for block in (ROOT / "requirements" / "pages.txt").read_text().replace("\\\n", " ").splitlines() if block.strip()]
    assert len(blocks) > 30
    assert [block.split()[0] for block in blocks if "==" not in block.split()[0] or "--hash=sha256:" not in block] == []


def test_make_explains_itself():
    shown = subprocess.run(["make"], cwd=ROOT, capture_output=True, text=True).stdout
    for target in ("report", "test", "profile", "render", "site", "serve", "check", "wheelhouse", "clean", "help"):
        assert f"\n{target} " in f"\n{shown}"
    assert re.findall(r"^(.*):$", shown, re.M) == ["Start here", "Recorded runs", "Pages", "The program itself"]
    assert shown.split("Start here:\n")[1].startswith("report ")
    assert f"WORKLOAD={'|'.join(PRESETS)} " in shown


@pytest.mark.parametrize("paper", ["README.md", "CONTRIBUTING.md", "DESIGN.md"])
def test_every_target_that_a_paper_names_is_in_the_makefile(paper):
    targets = set(re.findall(r"^([a-z]+):.*## ", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M))
    named = set(re.findall(r"(?:`|^)make ([a-z]+)", (ROOT / paper).read_text(encoding="utf-8"), re.M))
    assert named and named <= targets


def test_a_python_that_does_not_run_is_refused_by_make_with_a_cure():
    done = subprocess.run(["make", "profile", "PYTHON=/nope/python"], cwd=ROOT, capture_output=True, text=True)
    assert done.stderr.splitlines()[0] == "error: PYTHON=/nope/python cannot profile: it does not run"
    assert done.stderr.splitlines()[1].startswith("  what to do: ")


def test_the_probe_sees_this_python():
    found = environments.look(sys.executable)
    assert found.version == sys.version_info[:2]
    assert (found.torch is not None) == (importlib.util.find_spec("torch") is not None)
