"""The command `why`: what torch picks for one call here, why not another backend, and what would be faster."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import ReportError
from ..run.layout import Layout
from .interruption import Stages

SECONDS = 600.0
DESCRIPTION = """Asks the torch of this machine about one call of scaled_dot_product_attention: what it picks with nothing pinned, what every backend
costs or why it refuses in torch's own words, and the change that gets a faster one. Every result is held beside FP64. It needs torch."""
TITLES = {"math": "math", "efficient": "efficient", "flash": "flash", "cudnn": "cuDNN"}


def register(commands: Any) -> None:
    """Adds the command to the subparsers of `cli.parser`."""
    from ..shapes import asked, call

    why = commands.add_parser("why", help="why not flash? what torch picks for one call here, prices and refusals (needs torch)", description=DESCRIPTION)
    for name, default, words in (("batch", 8, ""), ("heads", 16, "of q; "), ("kv-heads", None, "of k and v, as many as q has by default"), ("queries", 1024, ""),
                                 ("keys", None, "as many as queries by default"), ("head-dim", 64, ""), ("value-dim", None, "as the head dimension by default")):
        said = words if default is None else f"{words}{default} by default"
        why.add_argument(f"--{name}", type=_extent, default=default, metavar="N", help=said)
    why.add_argument("--dtype", choices=("bfloat16", "float16", "float32"), default="bfloat16")
    why.add_argument("--mask", choices=call.MASKS, default="causal")
    why.add_argument("--form", choices=asked.FORMS, default="plain", metavar="FORM", help=f"what the call has beside its sizes: {', '.join(asked.FORMS)}")
    why.add_argument("--layout", choices=("bhsd", "bshd"), default="bhsd", help="bshd: stored [batch, length, heads, dim] and transposed")
    why.add_argument("--grad", action="store_true", help="with gradients, forward and backward")
    why.add_argument("--dropout", type=_probability, default=0.0, metavar="P")
    why.add_argument("--device", choices=("cuda", "cpu"), help="the GPU where there is one, by default")
    why.add_argument("--json", action="store_true", help="one JSON object for other tools")
    why.set_defaults(command=_why)


def _extent(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= 2**24:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number, or not one that a tensor can have")
    return int(text)


def _probability(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no share that leaves something: a decimal below one")
    return value


def asked_for(chosen: argparse.Namespace) -> Any:
    """The `Asked` that the options describe.

    Raises:
        ReportError: they contradict each other.
    """
    from ..shapes import Call
    from ..shapes.asked import MASKED, Asked

    kv_heads, keys, value_dim = chosen.kv_heads or chosen.heads, chosen.keys or chosen.queries, chosen.value_dim or chosen.head_dim
    mask = MASKED.get(chosen.form, chosen.mask)
    if chosen.heads % kv_heads:
        raise ReportError(f"--kv-heads {kv_heads} does not divide --heads {chosen.heads}", cure="give a divisor of the heads")
    if mask == "causal" and chosen.queries != keys:
        raise ReportError(f"is_causal is aligned at the first key, and {chosen.queries} queries on {keys} keys rarely mean that",
                          cure="--mask bool is the triangle aligned at the last key")
    if mask in ("bool", "float", "window") and chosen.queries > keys and chosen.form == "plain":
        raise ReportError(f"of {chosen.queries} queries on {keys} keys some would see no key", cure="give at least as many keys as queries, or --mask none")
    if chosen.form == "three dimensions" and chosen.batch != 1:
        raise ReportError("three dimensions have no batch", cure="give a --batch of one")
    call = Call(chosen.batch, chosen.heads, kv_heads, chosen.queries, keys, chosen.head_dim, value_dim, chosen.dtype, mask, chosen.layout, chosen.grad)
    return Asked("your call", call, chosen.dropout, chosen.form)


def _why(chosen: argparse.Namespace, layout: Layout, stages: Stages) -> int:
    asked = asked_for(chosen)
    from ..capture import asking_session, session
    from ..run.decode import decode
    from ..saying.progress import Progress
    from ..shapes.answers import Answer

    shown = Progress(sys.stderr, safe_point=stages.check)
    try:
        survey = session.surveyed(chosen.device, None, shown)
        found = asking_session.one(survey["device"], asked, SECONDS, shown)
    finally:
        shown.end()
    described = survey["environment"]
    if chosen.json:
        told = {"device": described["device"]["name"], "software": described["software"], "answer": found}
        print(json.dumps(told, indent=1, ensure_ascii=False))
    else:
        print("\n".join(as_text(described, decode(Answer, found))))
    return 0


def as_text(described: Mapping[str, Any], answer: Any) -> list[str]:
    """The pick, each backend with its price or torch's words, and what is faster."""
    from ..saying.units import Seconds, text
    from ..shapes import answers

    software = described.get("software") or {}
    versions = ", ".join(f"{name} {software[name]}" for name in ("torch", "cudnn") if software.get(name))
    lines = [f"{described['device']['name']}, {versions}: {answer.asked.id}", ""]
    picked = TITLES.get(answer.picked, answer.picked) or "nothing"
    own = answers.price(answers.reading(answer.readings, answer.picked))
    lines.append(f"torch picks {picked}{f', {text(Seconds(own))} a call' if own else ''}.")
    width = max(len(title) for title in TITLES.values())
    for one in answer.readings:
        lines.append(f"  {TITLES[one.backend].ljust(width)}  {_told(one)}")
    return [*lines, "", *_faster(answer)]


def _told(one: Any) -> str:
    from ..saying.units import Seconds, text
    from ..shapes import answers

    if one.state == "wrong":
        return f"WRONG: relative error {'not finite' if one.error is None else f'{one.error:.2g}'} in the {one.tensor}, allowed {one.allowed:.2g}"
    price = answers.price(one)
    if price is not None:
        return text(Seconds(price))
    words = answers.own_words(one.backend, one.reason) or "was not timed"
    return words if one.state == "ok" else f"{one.state}: {words}"


def _faster(answer: Any) -> Sequence[str]:
    from variants.backends import BACKENDS

    from ..saying.units import Seconds, text
    from ..shapes import answers
    from ..shapes.change_words import WORDS

    found = answers.better(answer)
    if not found:
        return ["Nothing that was tried is faster than torch's own pick."]
    lines = ["Faster here:"]
    for one in found:
        if isinstance(one, answers.Changed):
            words, code = WORDS[one.change]
            after = answers.reading(one.readings, one.picked)
            lines += [f"  {text(Seconds(answers.price(after) or 0.0))}: {words}; torch then picks {TITLES.get(one.picked or '', one.picked)}", f"    {code}"]
        else:
            lines += [f"  {text(Seconds(answers.price(one) or 0.0))}: pin {TITLES[one.backend]}", f"    with sdpa_kernel({BACKENDS[one.backend].pin}):"]
    return lines
