"""Stands in for the Python that has torch: answers like `profile` in a second, with real child processes that do nothing.

    fake_capture.py -m reportgen profile --for-report --into DIR …

Each run is one of a synthetic H200 with the driver that FAKE_DRIVER names, so that it replaces the one before.
"""

from __future__ import annotations

import signal

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # as reportgen's own __main__ does

import os  # noqa: E402
import subprocess  # noqa: E402
import sys  # noqa: E402
import tempfile  # noqa: E402
import time  # noqa: E402
from pathlib import Path  # noqa: E402

STAGES = ("survey", "timing", "timing", "evidence", "counters")


def work(report, stage: str) -> None:
    """A child: a temporary folder with something in it, and for the counters a tool in a session of its own."""
    from reportgen.company import parents

    report.at("naive", stage)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "trace.json").write_text("{}")
        if stage == "counters":
            subprocess.Popen(["sleep", "60"], start_new_session=True, preexec_fn=parents.killed_with_parent)
        time.sleep(float(os.environ.get("FAKE_SECONDS", "0.15")))
        print("the library's words", file=sys.stderr)
    report.result(stage, 1)


def capture(request, progress):
    """`session.capture` without a device."""
    import fake_capture
    import run_builder

    from reportgen.capture import processes

    progress.note("NVIDIA stand-in")
    for stage in STAGES:
        progress.stage(stage, stage)
        processes.run(fake_capture.work, (stage,), at=progress.at)
        progress.done()
    data = run_builder.data(seed=1, software={"driver": os.environ.get("FAKE_DRIVER", "1")})
    return data, {name: run_builder.trace(name) for name in data["variants"]}


def main() -> int:
    tests = Path(__file__).resolve().parent
    sys.path[:0] = [str(tests.parent), str(tests)]
    from reportgen.capture import session
    from reportgen.commands import cli

    session.capture = capture
    return cli.main(sys.argv[3:])


if __name__ == "__main__":
    sys.exit(main())
