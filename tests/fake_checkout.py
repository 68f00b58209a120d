"""A checkout with one recorded run, in which `report` takes three seconds (see `fake_capture`, `fake_report`)."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from run_builder import record

from reportgen import run

ROOT = Path(__file__).resolve().parents[1]
SLOT = "nvidia-h200/article"


class Checkout:
    """Where it lies, how a report in it is started, and what is left of one."""

    def __init__(self, root: Path) -> None:
        self.root, self.tmp, self.mark = root / "checkout", root / "tmp", f"{root.name}-{os.getpid()}"
        self.tmp.mkdir(parents=True)
        self.slot = record(self.root / "docs" / "runs", software={"driver": "0"})
        (self.root / "docs" / "runs" / "FEATURED").write_text(f"{SLOT}\n")
        self.python = root / "python"
        self.python.write_text(f"#!/bin/sh\nexec {sys.executable} -E {ROOT / 'tests' / 'fake_capture.py'} \"$@\"\n")
        self.python.chmod(0o755)
        self.reports = 0

    def environment(self, driver: str, seconds: float = 0.15) -> dict[str, str]:
        """seconds: how long each of the five children works."""
        return {**os.environ, "TMPDIR": str(self.tmp), "FAKE_ROOT": str(self.root), "FAKE_DRIVER": driver, "KILL_MARK": self.mark, "FAKE_SECONDS": str(seconds)}

    def start(self, seconds: float = 0.15) -> subprocess.Popen:
        """`make report`, in a session of its own."""
        self.reports += 1
        environment = self.environment(str(self.reports), seconds)
        command = ["make", "-f", str(ROOT / "Makefile"), "report", f"PAGES=$(FOLLOW) {sys.executable} {ROOT / 'tests' / 'fake_report.py'}", f"CAPTURE=capture={self.python}"]
        return subprocess.Popen(command, cwd=self.root, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
                                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))

    def alive(self) -> dict[int, str]:
        """What was started here and still runs: number → command."""
        found = {}
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                if f"KILL_MARK={self.mark}".encode() in (entry / "environ").read_bytes().split(b"\0") and "Z" != (entry / "stat").read_text().rpartition(")")[2].split()[0]:
                    found[int(entry.name)] = (entry / "cmdline").read_text().replace("\0", " ")
            except OSError:
                continue
        return found

    def whole(self) -> str:
        """The driver of the recorded run, which reads whole with its traces and has no stranger beside it."""
        assert [folder.relative_to(self.root / "docs" / "runs").as_posix() for folder in run.discover(self.root / "docs" / "runs")] == [SLOT]
        kept = run.load(self.slot)
        assert all(variant.trace_path is not None and variant.trace_path.stat().st_size > 500 for variant in kept.variants.values())
        return kept.software["driver"]

    def leftovers(self) -> list[str]:
        return [str(entry) for place in (self.tmp, self.root) for entry in place.rglob("*") if entry.parent == self.tmp or entry.name.startswith(".")]
