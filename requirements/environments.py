"""Makes and finds the two environments; called by the Makefile, needs only the standard library.

Capture runs on a Python that already has torch, or on `.venv-capture`; pages run on `.venv`. Both
commands print the path of the Python to use on standard output and everything else on standard
error. Runs on Python 3.8 so that an older one can say what it lacks.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn, Optional

ROOT = Path(__file__).resolve().parent.parent
LOCKED = ROOT / "build" / "environments.lock"
LOCK = ROOT / "requirements" / "pages.txt"
LINT = ROOT / "requirements" / "lint.txt"
FLEET = ROOT / "requirements" / "fleet.txt"
CAPTURE = ROOT / "requirements" / "capture.txt"
PAGES_PYTHON = (3, 11)
CAPTURE_PYTHON = (3, 10)
NEWEST = (3, 14)  # a newer Python has few wheels; one beside it that has them is taken first
OLDEST_TORCH = (2, 5)
PIP_WITH_TARGET = (22, 3)  # first pip that has --python
TEST_TOOLS = ("pytest", "_pytest", "py.py", "pluggy", "iniconfig", "packaging", "pygments")
NO_NETWORK = ("activate a Python that has torch, or name it: PYTHON=…; wheelhouse/ helps with the pages' packages only, "
              "torch is never in it")
PURE = ("fonttools",)  # has a wheel for any platform, a fifth of the compiled one's size

PROBE = """
import importlib.util, sys
from importlib import metadata
version = None
if importlib.util.find_spec("torch"):
    try:
        version = metadata.version("torch")
    except metadata.PackageNotFoundError:
        import torch
        version = torch.__version__
print(sys.executable, *sys.version_info[:2], version)
"""


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def stop(problem: str, cure: str) -> NoReturn:
    say(f"error: {problem}\n  what to do: {cure}")
    raise SystemExit(2)


class Found:
    """A Python on this machine: its executable, `(major, minor)`, and its torch's version or `None`."""

    def __init__(self, executable: str, version: tuple[int, int], torch: Optional[str]) -> None:
        self.executable = executable
        self.version = version
        self.torch = torch


def look(python: str) -> Optional[Found]:
    """What `python` is; `None` if it does not run. Does not import torch where metadata tells its version."""
    try:
        done = subprocess.run([python, "-c", PROBE], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    fields = done.stdout.decode(errors="replace").split()
    if done.returncode or len(fields) < 4:
        return None
    torch = None if fields[-1] == "None" else fields[-1]
    return Found(" ".join(fields[:-3]), (int(fields[-3]), int(fields[-2])), torch)


def recent(torch: str) -> bool:
    """True if torch's version is one that capture supports."""
    major, minor = torch.split(".")[:2]
    return (int(major), int(minor)) >= OLDEST_TORCH


def first(candidates: tuple[str, ...], oldest: tuple[int, int]) -> Optional[Found]:
    """The first that is neither too old nor newer than what wheels are made for, else the first that is not too old."""
    newer = None
    for name in candidates:
        found = look(name) if name else None
        if found and oldest <= found.version <= NEWEST:
            return found
        newer = newer or (found if found and found.version > NEWEST else None)
    return newer


def base(python: Optional[str], oldest: tuple[int, int], variable: str) -> Found:
    """The Python to make an environment from: the one asked for, the active one, or a newer one beside it."""
    names = tuple(f"python3.{minor}" for minor in (13, 12, 11, 14, 10))
    asked = look(python) if python else None  # who asks for a newer one gets it
    found = asked if asked and asked.version >= oldest else first(("python3", *names), oldest)
    if found is None:
        wanted = ".".join(map(str, oldest))
        stop(f"no Python {wanted} or newer was found", f"install one, or name it: make {variable}=/where/it/is …")
    if found.version > NEWEST:
        say(f"Python {found.version[0]}.{found.version[1]} is newer than the wheels are made for, and there is no older one beside it; "
            f"if the installation fails, install Python {NEWEST[0]}.{NEWEST[1]} or name one: make {variable}=/where/it/is …")
    return found


@contextlib.contextmanager
def alone() -> Iterator[None]:
    """One process at a time makes environments in this checkout: `make -j`, or two terminals."""
    try:
        import fcntl

        LOCKED.parent.mkdir(exist_ok=True)
        file = open(LOCKED, "w")
    except (ImportError, OSError):
        yield
        return
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            say("another make is making an environment; waiting for it")
            with contextlib.suppress(OSError):  # the file system has no locks
                fcntl.flock(file, fcntl.LOCK_EX)
        yield


def clean_environment() -> dict[str, str]:
    """The environment for pip: without what a container sets for its own packages."""
    drop = ("PIP_CONSTRAINT", "PIP_TARGET", "PIP_PREFIX", "PIP_USER", "PIP_REQUIRE_VIRTUALENV", "PYTHONPATH", "PYTHONHOME")
    return {**{key: value for key, value in os.environ.items() if key not in drop}, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}


def host_pip(python: str) -> bool:
    """True if this Python has a pip that can install into another environment."""
    done = subprocess.run([python, "-m", "pip", "--version"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        major, minor = done.stdout.split()[1].split(b".")[:2]
        return not done.returncode and (int(major), int(minor)) >= PIP_WITH_TARGET
    except (IndexError, ValueError):
        return False


def create(folder: Path, found: Found) -> list[str]:
    """Makes an empty environment and returns the pip command that installs into it."""
    say(f"making {folder.name} with Python {found.version[0]}.{found.version[1]}")
    python = str(folder / "bin" / "python")
    borrowed = host_pip(found.executable)
    command = [found.executable, "-m", "venv", "--clear", *(["--without-pip"] if borrowed else []), str(folder)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=clean_environment())
    if done.returncode:
        shutil.rmtree(folder, ignore_errors=True)
        version = f"{found.version[0]}.{found.version[1]}"
        stop(f"{found.executable} cannot make an environment: it has neither pip nor ensurepip",
             f"install them (Debian and Ubuntu: apt-get install python{version}-venv), or name another Python: make PYTHON=…")
    return [found.executable, "-m", "pip", "--python", python] if borrowed else [python, "-m", "pip"]


def pip(command: list[str], *arguments: str) -> bool:
    """Runs `pip install`; its output goes to standard error."""
    return not subprocess.run([*command, "install", *arguments], stdout=sys.stderr, stderr=sys.stderr, env=clean_environment()).returncode


def attempt(command: list[str], *arguments: str) -> Optional[str]:
    """Runs `pip install` without showing what it says: `None` if it worked, else its output."""
    done = subprocess.run([*command, "install", *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=clean_environment())
    return done.stdout.decode(errors="replace") if done.returncode else None


def unreached(output: str) -> bool:
    """True if pip failed because it came to no index: it lost connections, and has seen no version at all."""
    return "connection broken by" in output and "(from versions: none)" in output


def stamped(folder: Path, stamp: str) -> bool:
    """True if the environment is whole and was made from the same requirements."""
    return (folder / "bin" / "python").exists() and there_already(folder / ".made-from", stamp)


def pages(python: Optional[str], folder: Path, wheelhouse: Path, lock: Optional[Path] = None, what: str = "pages") -> str:
    """`.venv` with exactly the locked packages; with another lock the environment of the code's checkers."""
    lock = lock or LOCK
    stamp = hashlib.sha256(lock.read_bytes()).hexdigest()
    if not stamped(folder, stamp):
        with alone():
            if not stamped(folder, stamp):  # the one that was waited for may have made it
                make_pages(python, folder, wheelhouse, lock, what)
                (folder / ".made-from").write_text(stamp)
    return str(folder / "bin" / "python")


def make_pages(python: Optional[str], folder: Path, wheelhouse: Path, lock: Path, what: str) -> None:
    found = base(python, PAGES_PYTHON, "PAGES_PYTHON")
    command = create(folder, found)
    tag = f"-cp{found.version[0]}{found.version[1]}-"
    local = any(tag in file.name for file in wheelhouse.glob("*.whl"))
    source = ["--no-index", "--find-links", str(wheelhouse)] if local else []
    say(f"installing the {what} environment from {wheelhouse.name if local else 'the package index'}")
    if not pip(command, "--quiet", *source, "--require-hashes", "--no-deps", "--only-binary", ":all:", "-r", str(lock)):
        stop(f"the {what} environment could not be installed",
             "see pip's message above; without a network, carry wheelhouse/ here (make wheelhouse on another machine, for this Python)"
             + ("" if found.version <= NEWEST else f"; or name an older Python, which has wheels: make PAGES_PYTHON=/where/{NEWEST[0]}.{NEWEST[1]}/is …"))


def fleet(python: Optional[str], folder: Path, wheelhouse: Path) -> str:
    """The pages' environment, and in it what sends jobs to a cluster: `make fleet` and the tests ask for it."""
    made = pages(python, folder, wheelhouse)
    stamp, file = hashlib.sha256(FLEET.read_bytes()).hexdigest(), folder / ".fleet-from"
    if not there_already(file, stamp):
        with alone():
            if not there_already(file, stamp):
                host = base(python, PAGES_PYTHON, "PAGES_PYTHON").executable
                command = [host, "-m", "pip", "--python", made] if host_pip(host) else [made, "-m", "pip"]
                source = ["--no-index", "--find-links", str(wheelhouse)] if any(wheelhouse.glob("submitit-*.whl")) else []
                if not pip(command, "--quiet", *source, "--require-hashes", "--no-deps", "--only-binary", ":all:", "-r", str(FLEET)):
                    stop("what sends jobs to a cluster could not be installed",
                         "see pip's message above; without a network, carry wheelhouse/ here (make wheelhouse on another machine, for this Python)")
                file.write_text(stamp)
    return made


def there_already(file: Path, stamp: str) -> bool:
    """True if `file` says that what it stands for was made from the same requirements."""
    return file.is_file() and file.read_text() == stamp


def has_nvidia_driver() -> bool:
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return shutil.which("nvidia-smi") is not None
    return True


def capture(python: Optional[str], folder: Path, index: Optional[str]) -> str:
    """A Python with torch: the one named, the active one, or else `.venv-capture`."""
    found = look(python or "python3")
    if python and (found is None or found.version < CAPTURE_PYTHON or not found.torch or not recent(found.torch)):
        have = "it does not run" if found is None else f"it is Python {found.version[0]}.{found.version[1]} with torch {found.torch or 'missing'}"
        stop(f"PYTHON={python} cannot profile: {have}", "name a Python 3.10 or newer that has torch 2.5 or newer, or leave PYTHON out")
    if found and found.version >= CAPTURE_PYTHON and found.torch:
        if recent(found.torch):
            return found.executable
        say(f"the active Python's torch {found.torch} is older than 2.5; another one is used")
    stamp = CAPTURE.read_text()
    if not stamped(folder, stamp):
        with alone():
            if not stamped(folder, stamp):
                command = create(folder, base(None, CAPTURE_PYTHON, "PYTHON"))
                install_torch(command, index)
                (folder / ".made-from").write_text(stamp)
    return str(folder / "bin" / "python")


def there(python: Optional[str], folder: Path) -> str:
    """The Python that `capture` would take, but nothing is made: where none has torch, one that can say so."""
    found = look(python or "python3")
    if python and found is None:
        stop(f"PYTHON={python} does not run", "name a Python that does, or leave PYTHON out")
    own = folder / "bin" / "python"
    if python is None and own.exists() and not (found and found.version >= CAPTURE_PYTHON and found.torch):
        return str(own)
    return found.executable if found and found.version >= CAPTURE_PYTHON else base(python, CAPTURE_PYTHON, "PYTHON").executable


def install_torch(command: list[str], index: Optional[str]) -> None:
    """The pinned torch: the CPU build where there is no NVIDIA driver and pip can find one."""
    pin = next(line for line in CAPTURE.read_text().splitlines() if line.startswith("torch=="))
    extra = ["--extra-index-url", index] if index else []
    if not has_nvidia_driver():
        say(f"installing {pin}, CPU build: there is no torch in the active Python and no NVIDIA driver")
        refused = attempt(command, *extra, f"{pin}+cpu")
        if refused is None:
            return
        if unreached(refused):
            stop("torch is missing, and pip could not reach a package index", NO_NETWORK)
        say("pip found no CPU build, so the plain torch is taken: about 2.7 GB to fetch, 4.7 GB on disk "
            "(Ctrl-C, and TORCH_INDEX=<an index with CPU builds>, spares most of it)")
    else:
        say(f"installing {pin} for CUDA, about 2.7 GB to fetch: there is no torch in the active Python")
    if not pip(command, *extra, "-r", str(CAPTURE)):
        stop("torch could not be installed", f"see pip's message above; without a network, {NO_NETWORK}")


def test_tools(pages_python: str, capture_python: str, folder: Path) -> str:
    """A folder for PYTHONPATH that gives the capture Python a pytest, empty where it has its own.

    The packages are pure Python and copied from the pages environment, so nothing is installed
    into a Python that is not ours.
    """
    has = subprocess.run([capture_python, "-c", "import pytest"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if not has.returncode:
        return ""
    where = subprocess.run([pages_python, "-E", "-c", "import pytest, pathlib; print(pathlib.Path(pytest.__file__).parent.parent)"],
                           stdout=subprocess.PIPE, check=True)
    source = Path(where.stdout.decode().strip())
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    metadata = [path.name for path in source.glob("*.dist-info") if path.name.split("-")[0] in TEST_TOOLS]
    for name in (*TEST_TOOLS, *metadata):
        if (source / name).is_file():
            shutil.copy(source / name, folder)
        else:
            shutil.copytree(source / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    return str(folder)


def collect(pages_python: str, folder: Path, version: Optional[str], platform: Optional[str]) -> None:
    """Downloads the locked wheels, for this machine or for another Python and platform."""
    found = base(pages_python, PAGES_PYTHON, "PAGES_PYTHON")
    version = version or f"{found.version[0]}.{found.version[1]}"
    tags = [argument for tag in platform_tags(platform) for argument in ("--platform", tag)]
    target = ["--python-version", version, "--implementation", "cp", *tags] if platform or version else []
    host = found.executable if host_pip(found.executable) else sys.executable
    shutil.rmtree(folder, ignore_errors=True)
    command = [host, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:", "--dest", str(folder)]
    wanted = [line.split()[0] for line in LOCK.read_text().splitlines() if line.startswith(tuple(f"{name}==" for name in PURE))]
    done = subprocess.run([*command, *target, "--require-hashes", "-r", str(LOCK), "-r", str(FLEET)], stdout=sys.stderr, env=clean_environment())
    if done.returncode:
        stop("the wheels could not be collected", "see pip's message above; WHEELHOUSE_PYTHON and WHEELHOUSE_PLATFORM must be ones that have wheels")
    for name in PURE:
        for wheel in folder.glob(f"{name}-*.whl"):
            wheel.unlink()
    subprocess.run([*command, "--python-version", version, "--platform", "any", *wanted], check=True, stdout=sys.stderr, env=clean_environment())
    wheels = list(folder.glob("*.whl"))
    size = sum(wheel.stat().st_size for wheel in wheels) / 1e6
    say(f"{len(wheels)} wheels for Python {version}, {size:.0f} MB, in {folder.name}/: carry it into the checkout on the other machine")


def platform_tags(platform: Optional[str]) -> list[str]:
    """`manylinux_2_28_x86_64` and every older tag that such a machine accepts as well."""
    if not platform or not platform.startswith("manylinux_2_"):
        return [platform] if platform else []
    minor, machine = platform[len("manylinux_2_"):].split("_", 1)
    tags = [f"manylinux_2_{older}_{machine}" for older in range(int(minor), 4, -1)]
    return [*tags, f"manylinux2014_{machine}", f"manylinux2010_{machine}", f"manylinux1_{machine}", f"linux_{machine}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("pages", "fleet", "lint", "capture", "there", "test-tools", "wheelhouse"))
    setting = {name: os.environ.get(name) or None for name in
               ("PYTHON", "PAGES_PYTHON", "TORCH_INDEX", "WHEELHOUSE_PYTHON", "WHEELHOUSE_PLATFORM")}
    what = parser.parse_args().what
    pages_python = setting["PAGES_PYTHON"] or setting["PYTHON"]
    wheelhouse = ROOT / "wheelhouse"
    if what == "pages":
        print(pages(pages_python, ROOT / ".venv", wheelhouse))
    elif what == "fleet":
        print(fleet(pages_python, ROOT / ".venv", wheelhouse))
    elif what == "lint":
        print(pages(pages_python, ROOT / ".venv-lint", ROOT / "no-wheelhouse", LINT, "lint"))
    elif what == "capture":
        print(capture(setting["PYTHON"], ROOT / ".venv-capture", setting["TORCH_INDEX"]))
    elif what == "there":
        print(there(setting["PYTHON"], ROOT / ".venv-capture"))
    elif what == "test-tools":
        own = capture(setting["PYTHON"], ROOT / ".venv-capture", setting["TORCH_INDEX"])
        print(test_tools(pages(pages_python, ROOT / ".venv", wheelhouse), own, ROOT / "build" / "test-tools"))
    else:
        collect(pages_python or "", wheelhouse, setting["WHEELHOUSE_PYTHON"], setting["WHEELHOUSE_PLATFORM"])


if __name__ == "__main__":
    main()
