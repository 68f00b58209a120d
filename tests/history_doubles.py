"""A repository with a made-up past: a slot recorded seven times, each time with one thing otherwise."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from run_builder import FORWARDS, TITLES, data, trace

from reportgen import run as run_room

SLOT = "docs/runs/nvidia-h200/article"
OLD = {"torch": "2.10.0", "cudnn": "9.10.2", "driver": "570.10"}
MIDDLE = {"torch": "2.11.0", "cudnn": "9.19.0", "driver": "570.10"}
NEW = {"torch": "2.11.0", "cudnn": "9.19.0", "driver": "580.20"}
OTHERWISE, RENAMED = "cudnn_kernel_of_9_19", "flash_by_another_name"


def git(root: Path, *arguments: str, when: str = "2026-01-01") -> str:
    stamp = {"GIT_AUTHOR_DATE": f"{when}T12:00:00Z", "GIT_COMMITTER_DATE": f"{when}T12:00:00Z", "PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(root)}
    done = subprocess.run(["git", "-c", "user.name=n", "-c", "user.email=e@example.org", "-c", "commit.gpgsign=false", *arguments], cwd=root, check=True, capture_output=True, env=stamp)
    return done.stdout.decode()


def begin(root: Path) -> Path:
    root.mkdir(parents=True)
    git(root, "init", "-q", "-b", "main")
    return root


def recorded(root: Path, when: str, *, kernel: Mapping[str, tuple[str, int | None]] | None = None, rounds: int = 3, change: Callable[[dict[str, Any]], None] | None = None, **options: Any) -> None:
    """Records a run as of a day. kernel: variant → new name of its last kernel, and its registers where it is launched otherwise as well"""
    content = data(**options)
    content["recorded_on"], content["protocol"]["rounds"] = f"{when}T10:00:00Z", rounds
    if change:
        change(content)
    traces = {name: trace(name, (kernel or {}).get(name, (None, None))[0]) for name in content["variants"] if name in FORWARDS}
    for name, (called, registers) in (kernel or {}).items():
        for event in traces[name]["traceEvents"]:
            if event["name"] == called and registers is not None:
                event["args"]["registers per thread"] = registers
    run_room.save(content, traces, root / "docs" / "runs")


def committed(root: Path, when: str, **options: Any) -> None:
    recorded(root, when, **options)
    git(root, "add", ".")
    git(root, "commit", "-qm", f"a run of {when}", when=when)


def unreadable(root: Path, when: str) -> None:
    """A state that a newer program recorded."""
    file = root / SLOT / "run.json"
    content = json.loads(file.read_text(encoding="utf-8"))
    file.write_text(json.dumps({**content, "schema_version": 99, "recorded_on": f"{when}T10:00:00Z"}), encoding="utf-8")
    git(root, "commit", "-qam", "from a newer program", when=when)


CUDNN = {"sdpa_cudnn": (OTHERWISE, 200)}


def past(root: Path) -> Path:
    """Seven states: the first; a torch whose cuDNN is faster; one of a newer program; another driver; another protocol; a kernel's other name; flash twice as fast."""
    begin(root)
    faster = {"sdpa_cudnn": {name: 0.8 for name in ("gpu_time", "gpu_time_cold", "wall_time")}}
    slower = {name: {quantity: 1.3 * faster.get(name, {}).get(quantity, 1.0) for quantity in ("gpu_time", "gpu_time_cold", "wall_time")} for name in TITLES}
    both = {**CUDNN, "sdpa_flash": (RENAMED, None)}
    last = {**slower, "sdpa_flash": {quantity: 0.4 for quantity in ("gpu_time", "gpu_time_cold", "wall_time")}}
    committed(root, "2026-01-10", seed=1, software=OLD)
    committed(root, "2026-02-10", seed=2, software=MIDDLE, scale=faster, kernel=CUDNN)
    unreadable(root, "2026-02-20")
    committed(root, "2026-03-10", seed=3, software=NEW, scale=faster, kernel=CUDNN)
    committed(root, "2026-04-10", seed=4, software=NEW, scale=slower, kernel=CUDNN, rounds=2)
    committed(root, "2026-05-10", seed=5, software=NEW, scale=slower, kernel=both, rounds=2)
    committed(root, "2026-06-10", seed=6, software=NEW, scale=last, kernel=both, rounds=2)
    return root
