"""The Jinja environment: strict, without autoescape, with the few filters that templates use."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from ..analysis import published
from ..analysis.pace import HOST_BOUND
from ..findings.safe_softmax import ROUNDINGS_ALLOWED, about_the_mask
from ..questions import thresholds
from ..run.workload import ARTICLE
from ..saying import markup, tables, units
from . import crowd
from .cells import Badge, error
from .site import MARKER, root
from .summaries import masked_row, why_not
from .trained import own_mask, wrong_gradients

TEMPLATES = Path(__file__).resolve().parent.parent / "templates"


def rules() -> dict[str, object]:
    """The constants that rules decide by, as the teaching pages name them."""
    return {**thresholds.rules(), "roundings": units.number_word(ROUNDINGS_ALLOWED["bfloat16"]), "host_bound": units.Percent(100 * HOST_BOUND)}


@cache
def environment() -> Environment:
    """One environment for all pages. A name that a template misspells is an error, never a blank."""
    env = Environment(loader=FileSystemLoader(TEMPLATES), undefined=StrictUndefined, autoescape=False,
                      trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True, newline_sequence="\n")
    env.filters.update(repr=repr, code=markup.code, fenced=markup.fenced, prose=tables.prose, text=units.text, table=tables.markdown, fleet=crowd.fleet,
                       badge=lambda verdict: str(Badge(verdict)), sentence=markup.sentence, heading=markup.heading, opening=markup.opening, emphasised=markup.emphasised, label=markup.label,
                       why_not=lambda variant: markup.sentence(why_not(variant)), masked_row=masked_row, wrong_gradients=wrong_gradients, own_mask=own_mask, error=error, mask_reason=about_the_mask, plural=units.plural,
                       seconds=lambda v: units.text(None if v is None else units.Seconds(v)),
                       bytes=lambda v: units.text(None if v is None else units.Bytes(v)),
                       percent=lambda v: units.text(None if v is None else units.Percent(v)),
                       ratio=lambda v: units.text(None if v is None else units.Ratio(v)))
    env.globals.update(published=published.load(), article=ARTICLE, marker=MARKER, rules=rules())
    return env


def page(template: str, path: str, **context: Any) -> str:
    """Renders `template` for the page at `path` (below the docs root); one newline at the end."""
    text = environment().get_template(template).render(path=path, root=root(path), **context)
    lines = [line.rstrip() if not line.endswith("  ") or not line.strip() else line.rstrip() + "  " for line in text.split("\n")]
    out: list[str] = []
    fence = ""
    for line in lines:
        if fence:
            fence = "" if line == fence else fence
        elif line.startswith("```"):
            fence = line[:len(line) - len(line.lstrip("`"))]
        if line or fence or (out and out[-1]):
            out.append(line)
    return "\n".join(out).strip("\n") + "\n"


