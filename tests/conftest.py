"""What all tests share: they never write docs/, and they find the Python that has torch."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

# A background job of a script, or one under nohup, ignores these, and what it starts does too.
for _number, _usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGTERM, signal.SIG_DFL), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, _usual)

# `make test` hands these on, and a make that a test starts would take itself for a part of it.
for _variable in ("MAKEFLAGS", "MFLAGS", "MAKEOVERRIDES", "MAKELEVEL"):
    os.environ.pop(_variable, None)


def _state(folder: Path) -> dict[str, tuple[int, int]]:
    """Every file below `folder` with its size and time of change."""
    return {str(file): (file.stat().st_size, file.stat().st_mtime_ns) for file in sorted(folder.rglob("*")) if file.is_file()}


@pytest.fixture(scope="session", autouse=True)
def faults_are_not_contained():
    """A rule that raises must fail its test; in a report it costs its own claim only."""
    try:
        from reportgen.questions import evaluate
    except ImportError:  # the Python that has torch has no need of the pages
        yield
        return
    evaluate.CONTAIN = False
    yield


@pytest.fixture(scope="session", autouse=True)
def docs_stay_as_they_are():
    """Tests never write docs/. Checked where nobody else is at work in the tree."""
    before = _state(ROOT / "docs")
    yield
    if os.environ.get("CI"):
        assert _state(ROOT / "docs") == before, "a test wrote into docs/"


@pytest.fixture(scope="session")
def capture_python() -> str:
    """A Python that has torch: the one `make test` names, or the environment that `make` made."""
    named = os.environ.get("CAPTURE_PYTHON")
    own = ROOT / ".venv-capture" / "bin" / "python"
    if not named and not own.exists():
        pytest.skip("no Python with torch is known here: run `make test`, or set CAPTURE_PYTHON")
    return named or str(own)


@pytest.fixture(scope="session")
def chromium() -> str:
    """The browser; skips without one, unless REQUIRE_CHROMIUM is set (as .ci/run does)."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not found:
        if os.environ.get("REQUIRE_CHROMIUM"):
            pytest.fail("chromium is required here and not installed")
        pytest.skip("no chromium here: `apt-get install chromium` runs this test as well")
    return found
