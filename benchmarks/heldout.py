"""Shapes that the map never saw: what torch's default loses there to the best right backend, and what the written policy loses.

    python -m benchmarks.heldout --seed 4711 --policy docs/runs/nvidia-h200/best_sdpa.py

It needs torch. The shapes are drawn from the seed, so a seed chosen after the policy was written makes a fair test. They are measured as the map
is: every backend, held beside FP64, in shuffled rounds. Regret is (time ÷ best time − 1); the mean over shapes, the worst, and the share of all time.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import random
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from reportgen.shapes import Call, answers, grid, record
from reportgen.shapes.call import BYTES

DIMS = ((64, 64),) * 4 + ((128, 128),) * 4 + ((80, 80), (96, 96), (192, 128), (256, 256))
"""Head dimension of q and k, and of v, as often as they are drawn."""
MASKS = ("causal", "causal", "causal", "none", "none", "bool", "bool", "float", "window")
MOST_TOKENS, SHORTEST, LONGEST = 16_384, 128, 12_288
Order = Callable[[Call], Sequence[str]]
"""A call → backends, the first that takes it is used; none: it is left to torch."""


def drawn(seed: int, count: int, known: frozenset[Call] = frozenset(), gpu: bool = True) -> list[Call]:
    """`count` calls that differ from each other and are not in `known`."""
    source, found = _calls(random.Random(seed), gpu), {}
    while len(found) < count:
        call = next(source)
        if call not in known:
            found[call] = None
    return list(found)


def _calls(draw: random.Random, gpu: bool) -> Iterator[Call]:
    while True:
        head_dim, value_dim = draw.choice(DIMS)
        length = _length(draw) if gpu else draw.randrange(64, 300)
        share = draw.choice((1, 1, 1, 4, 8))
        heads = max(share, draw.choice((8, 12, 16, 24, 32)) // share * share) if gpu else share * 2
        most = max(1, MOST_TOKENS // length) if gpu else 1
        batch = draw.choice((1, most, draw.randint(1, most)))
        if gpu and draw.random() < 0.15:
            yield Call(draw.choice((1, 4, 16, 64)), heads, heads // share, 1, _length(draw), head_dim, value_dim, mask="none")
            continue
        gradients = draw.random() < 0.4
        dtype = "float32" if draw.random() < 0.05 else "float16" if draw.random() < 0.1 else "bfloat16"
        layout = "bshd" if draw.random() < 0.25 else "bhsd"
        yield Call(batch, heads, heads // share, length, length, head_dim, value_dim, dtype, draw.choice(MASKS), layout, gradients)  # type: ignore[arg-type]


def _length(draw: random.Random) -> int:
    """Evenly spread over the scale of logarithms; one in three is no multiple of 8."""
    length = round(SHORTEST * (LONGEST / SHORTEST) ** draw.random())
    return length if draw.random() < 1 / 3 else length // 8 * 8


@dataclass(frozen=True)
class Lost:
    """One call: the best right backend, torch's pick and the policy's, and what the two lose. `None` where it gives no right result or has no time."""

    call: Call
    best: str
    seconds: float
    picked: str | None
    default: float | None
    chosen: str | None
    advised: float | None


def lost(point: record.Point, order: Order) -> Lost | None:
    """`None` where nothing right was timed."""
    best = answers.best(point.readings)
    if best is None:
        return None
    least = answers.price(best) or 0.0
    picked = point.picked
    chosen = next((name for name in order(point.call) if _takes(point, name)), None) if order(point.call) else picked
    default, advised = (None if price is None else price / least - 1 for price in (answers.price(answers.reading(point.readings, name)) for name in (picked, chosen)))
    return Lost(point.call, best.backend, least, picked, default, chosen, advised)


def _takes(point: record.Point, backend: str) -> bool:
    reading = answers.reading(point.readings, backend)
    return reading is not None and reading.state != "refused"


def summary(found: Sequence[Lost], which: str) -> dict[str, Any]:
    """`{"mean", "worst", "of_all_time", "without"}`: regrets, and how many calls had none because the choice gives no right time. which: `default` or `advised`."""
    known = [(one.seconds, value) for one in found if (value := getattr(one, which)) is not None]
    if not known:
        return {"mean": None, "worst": None, "of_all_time": None, "without": len(found)}
    best = sum(seconds for seconds, _ in known)
    return {"mean": fmean(value for _, value in known), "worst": max(value for _, value in known),
            "of_all_time": sum(seconds * value for seconds, value in known) / best, "without": len(found) - len(known)}


def policy(file: Path | None) -> Order:
    """The `order` of a written `best_sdpa.py`; without a file everything is left to torch."""
    if file is None:
        return lambda call: ()
    spec = importlib.util.spec_from_file_location("best_sdpa_tested", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    def order(call: Call) -> Sequence[str]:
        mask = "bool" if call.mask == "window" else call.mask
        ordered: Sequence[str] = module.order(call.batch, call.heads, call.kv_heads, call.queries, call.keys, call.head_dim, call.value_dim, 8 * BYTES[call.dtype], mask,
                                              call.gradients)
        return ordered

    return order


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.heldout", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--policy", type=Path, help="best_sdpa.py; without it everything is left to torch")
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=400.0)
    parser.add_argument("--device", choices=("cuda", "cpu"))
    parser.add_argument("--out", type=Path, help="keep what was measured and what came out in this folder")
    parser.add_argument("--record", type=Path, metavar="RUNS", help="keep what was measured as unseen.jsonl in the device's folder there (docs/runs), from which the map's page says the regret")
    chosen = parser.parse_args()
    from reportgen.capture import map_session, session
    from reportgen.saying.progress import Progress

    shown = Progress(sys.stderr)
    survey = session.surveyed(chosen.device, None, shown)
    gpu = map_session.gpu(survey["device"])
    calls = drawn(chosen.seed, chosen.count, frozenset(grid.points(gpu)), gpu)
    with tempfile.TemporaryDirectory() as scratch:
        file = (chosen.out or Path(scratch)) / f"heldout-{chosen.seed}.jsonl"
        taken = map_session.take(survey, calls, file, survey["environment"]["device"].get("slug") or "here", chosen.seconds, shown)
        order = policy(chosen.policy)
        found = [one for point in record.read(file).points if (one := lost(point, order))]
        if chosen.record:
            shutil.copyfile(file, chosen.record / survey["environment"]["device"]["slug"] / record.UNSEEN_FILE)
    result = {"seed": chosen.seed, "asked": chosen.count, "measured": len(found), "left": taken.left, "default": summary(found, "default"), "advised": summary(found, "advised")}
    for one in sorted(found, key=lambda each: -(each.advised or 0.0)):
        print(f"{one.call.id:48} best {one.best:9} default {one.picked or '–':9} {_share(one.default)}  advice {one.chosen or '–':9} {_share(one.advised)}")
    print(json.dumps(result, indent=1))
    if chosen.out:
        (chosen.out / f"heldout-{chosen.seed}.json").write_text(json.dumps({**result, "calls": [asdict(one) for one in found]}, indent=1) + "\n", encoding="utf-8")


def _share(value: float | None) -> str:
    return "  none " if value is None else f"{value:6.1%}"


if __name__ == "__main__":
    main()
