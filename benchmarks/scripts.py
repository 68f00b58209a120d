"""Runs every script of docs/scripts and holds what it prints against the featured run: within 5 % each.

    python3 benchmarks/scripts.py                    with this Python's torch, on the device of the featured run
    python3 benchmarks/scripts.py --python /opt/py   with another one

Standard library alone, so that it runs in a container that has nothing but torch. Status 1 where a script fails or is further off.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path
from statistics import median

DOCS = Path(__file__).resolve().parent.parent / "docs"
NEAR = 0.05
PATIENCE = 300.0


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", default=sys.executable, help="the Python that has torch")
    parser.add_argument("--docs", type=Path, default=DOCS)
    asked = parser.parse_args(arguments)
    recorded = featured(asked.docs)
    scripts = sorted((asked.docs / "scripts").glob("*.py"))
    if not scripts:
        print("there are no scripts in docs/scripts; `make render` writes them")
        return 1
    lines = [row(script.stem, recorded.get(script.stem), printed(script, asked.python)) for script in scripts]
    print(f"{'script':<18}{'page, µs':>10}{'script, µs':>12}{'off by':>9}")
    for text, _ in lines:
        print(text)
    bad = sum(not good for _, good in lines)
    print(f"{len(lines) - bad} of {len(lines)} within {NEAR:.0%}")
    return 1 if bad else 0


def featured(docs: Path) -> dict[str, float]:
    """Variant → µs on the page: the median over the processes of the featured run's GPU time."""
    slot = (docs / "runs" / "FEATURED").read_text(encoding="utf-8").strip()
    variants = json.loads((docs / "runs" / slot / "run.json").read_text(encoding="utf-8"))["variants"]
    return {name: median(entry["samples"]["gpu_time"]) * 1e6 for name, entry in variants.items() if entry["samples"].get("gpu_time")}


def printed(script: Path, python: str) -> float | str:
    """µs of GPU time as the script prints it, or its last words."""
    try:
        done = subprocess.run([python, str(script)], capture_output=True, text=True, errors="replace", timeout=PATIENCE)
    except (OSError, subprocess.TimeoutExpired) as problem:
        return str(problem)
    match = re.search(r": ([\d.]+) µs of GPU time", done.stdout)
    if done.returncode == 0 and match:
        return float(match[1])
    words = (done.stderr.strip() or done.stdout.strip() or f"status {done.returncode}").splitlines()
    return words[-1]


def row(name: str, page: float | None, script: float | str) -> tuple[str, bool]:
    """A line of the table, and whether it is near enough.

    >>> row("sdpa_flash", 92.4, 94.0)
    ('sdpa_flash              92.4        94.0    +1.7 %', True)
    """
    if page is None or isinstance(script, str):
        return f"{name:<18}{'—' if page is None else format(page, '.1f'):>10}  {script if isinstance(script, str) else 'no such bar in the featured run'}", False
    off = script / page - 1
    return f"{name:<18}{page:>10.1f}{script:>12.1f}{f'{100 * off:+.1f} %':>10}", abs(off) <= NEAR


if __name__ == "__main__":
    sys.exit(main())
