"""Does the recorded bill of a new shape predict a loop of calls at random lengths?

    python -m benchmarks.bill --seed 4711 --runs docs/runs/nvidia-h200

It needs torch. Each row that has seconds is a loop of its own, split over fresh processes that take turns with those of the other rows, as the bill was
taken; lengths are drawn between the bill's shortest and longest.
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


def parts(drawn: Sequence[int], count: int) -> list[tuple[int, ...]]:
    """`drawn` in so many parts, one after the other.

    >>> parts((1, 2, 3, 4, 5), 2)
    [(1, 2, 3), (4, 5)]
    """
    size = -(-len(drawn) // count)
    return [tuple(drawn[at:at + size]) for at in range(0, len(drawn), size)]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bill", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--runs", type=Path, required=True, help="the device's folder with bill.json")
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--processes", type=int, default=3, help="the steps are split over so many, which take turns with those of the other rows")
    parser.add_argument("--rows", help="these rows alone, by number from 0, with commas between")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--out", type=Path, help="keep every step of every loop in this folder, as each process ends")
    chosen = parser.parse_args()
    from reportgen.capture import bill as taking
    from reportgen.capture import processes

    known = bill.read(chosen.runs / bill.BILL_FILE)
    rows = {str(number): row for number, row in enumerate(known.rows) if row.first and (chosen.rows is None or str(number) in chosen.rows.split(","))}
    split = {number: parts(lengths(chosen.seed + int(number), chosen.steps, row.lengths), chosen.processes) for number, row in rows.items()}
    loops: dict[str, list[list[float]]] = {number: [] for number in rows}
    for turn in range(chosen.processes):
        for number, row in rows.items():
            empty = replace(row, lengths=(), first=(), later=(), gpu=(), passes=(), begun=())
            loops[number].append(processes.run(taking.loop, (taking.Task(chosen.device, known.call, empty, split[number][turn]),))["steps"])
            if chosen.out:
                chosen.out.mkdir(parents=True, exist_ok=True)
                told = {one: [list(zip(own, steps)) for own, steps in zip(split[one], loops[one])] for one in rows}
                (chosen.out / f"bill-{chosen.seed}.json").write_text(json.dumps(told) + "\n", encoding="utf-8")
    for number, row in rows.items():
        print(compared(row, split[number], loops[number]), flush=True)


def compared(row: bill.Row, drawn: Sequence[Sequence[int]], loops: Sequence[Sequence[float]]) -> str:
    """A line: the seconds of the loops beside what the bill predicts for them, and at the pace of each of its processes."""
    measured, predicted = sum(map(sum, loops)), sum(bill.predict(row, own) for own in drawn)
    alone = [sum(found) for found in zip(*(bill.paces(row, own) for own in drawn))]
    return (f"{row.id:46} {sum(len(set(own)) for own in drawn):4} new lengths  predicted {predicted:8.3f} s ({min(alone):.3f} to {max(alone):.3f})  measured {measured:8.3f} s "
            f"({', '.join(f'{sum(one):.3f}' for one in loops)})  {predicted / measured - 1:+.1%}")


if __name__ == "__main__":
    main()
