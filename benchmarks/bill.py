"""Does the recorded bill of a new shape predict a loop of calls at random lengths?

    python -m benchmarks.bill --seed 4711 --runs docs/runs/nvidia-h200

It needs torch. Each row that has seconds is a loop of its own, in a fresh process, with lengths drawn between the bill's shortest and longest.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from reportgen.shapes import bill

STEPS = 380


def lengths(seed: int, steps: int, of: Sequence[int]) -> tuple[int, ...]:
    """`steps` lengths between the shortest and the longest of `of`, some of them often."""
    draw = random.Random(seed)
    return tuple(draw.randint(min(of), max(of)) for _ in range(steps))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bill", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--runs", type=Path, required=True, help="the device's folder with bill.json")
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--rows", help="these rows alone, by number from 0, with commas between")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--out", type=Path, help="keep every step of every loop in this folder, as each loop ends")
    chosen = parser.parse_args()
    from reportgen.capture import bill as taking
    from reportgen.capture import processes

    known = bill.read(chosen.runs / bill.BILL_FILE)
    rows = [row for number, row in enumerate(known.rows) if row.first and (chosen.rows is None or str(number) in chosen.rows.split(","))]
    found = []
    for row in rows:
        drawn = lengths(chosen.seed, chosen.steps, row.lengths)
        empty = replace(row, lengths=(), first=(), later=(), gpu=())
        looped = processes.run(taking.loop, (taking.Task(chosen.device, known.call, empty, drawn),))
        predicted, measured = bill.predict(row, drawn), looped["seconds"]
        found.append({"row": row.id, "steps": len(drawn), "lengths": len(set(drawn)), "predicted": predicted, "measured": measured, "off": predicted / measured - 1,
                      "loop": [[length, round(seconds, 9)] for length, seconds in zip(drawn, looped["steps"])]})
        if chosen.out:
            chosen.out.mkdir(parents=True, exist_ok=True)
            (chosen.out / f"bill-{chosen.seed}.json").write_text(json.dumps(found) + "\n", encoding="utf-8")
        print(f"{row.id:42} {len(set(drawn)):4} lengths  predicted {predicted:8.3f} s  measured {measured:8.3f} s  {predicted / measured - 1:+.1%}", flush=True)


if __name__ == "__main__":
    main()
