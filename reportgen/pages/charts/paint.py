"""What matplotlib writes, made to follow the scheme: colours become classes, marks get titles, counted ids go."""

from __future__ import annotations

import html
import re
from functools import cache

from .palettes import EVERY, HATCHING, Look, of_a_file

MARK = "title:"
"""An artist's gid that begins so is the words that a reader sees over it."""
TAG = re.compile(r"<[^<>]+>")
"""An element's begin or end, and no word of a label: those have their signs escaped."""
_STYLE = re.compile(r' style="([^"]*)"')
_COLOUR = re.compile(r"(fill|stroke): (#[0-9a-f]{6})(?:; )?")
_COUNTED = re.compile(r' id="(?:figure|axes|patch|text|line2d|legend|matplotlib\.axis|[xy]tick|[A-Za-z]+Collection)_\d+"')
_PATTERN = re.compile(r'<pattern id="(\w+)"[^>]*>\s*<rect[^>]* fill="(#[0-9a-f]{6})"/>.*?</pattern>', re.S)
HATCHES = {"//": "M0 8L8 0M-2 2L2 -2M6 10L10 6", "\\\\": "M0 0L8 8M-2 6L2 10M6 -2L10 2", "xx": "M0 0L8 8M0 8L8 0", "||": "M4 0V8", "--": "M0 4H8", "++": "M4 0V8M0 4H8",
           "..": "M3 4H5"}
"""Hatch → its lines in a tile of 8 × 8 px: matplotlib's own take a kilobyte each."""
_GROUP = re.compile(rf"<g id=([\"'])(?:{MARK})(.*?)\1>")


@cache
def _names() -> dict[str, Look]:
    return {one.light: one for one in EVERY}


def painted(text: str, alt: str, table: str) -> str:
    """The SVG in both schemes, as one file that needs nothing else.

    Args:
        text: SVG as matplotlib writes it, in the light colours of `palettes`.
        alt: the picture's title.
        table: the picture's numbers as CSV, which the file carries along.

    Raises:
        ValueError: a colour is in no palette.
    """
    head, start, rest = text.partition("<svg ")
    tag, end, body = rest.partition(">")
    tag = re.sub(r'(width|height)="([0-9.]+)pt"', r'\1="\2"', tag)
    body = re.sub(r"\n *<defs>\n *<style type=\"text/css\">[^<]*</style>\n *</defs>", "", body, count=1)
    body = re.sub(r"\n *<metadata>.*?</metadata>", "", body, count=1, flags=re.S)
    body = _GROUP.sub(lambda found: f"<g>\n<title>{found[2]}</title>", body)
    used: set[str] = set()
    body = _PATTERN.sub(lambda found: _tile(found[1], _look(found[2]), used), body)
    body = TAG.sub(lambda found: _STYLE.sub(lambda style: _classes(style[1], used), _COUNTED.sub("", found[0])), body)
    ordered = [(kind, one) for one in EVERY for kind in ("f", "s") if f"{kind}-{one.name}" in used]
    title = f"\n <title>{html.escape(alt, quote=False)}</title>" if alt else ""
    carried = f"\n <metadata>{html.escape(table, quote=False)}</metadata>" if table else ""
    sheet = f"\n <style>\n{of_a_file(ordered)}\n </style>"
    whole = f'{head}{start}class="chart" role="img" {tag}{end}{title}{carried}{sheet}{body}'
    return "\n".join(line.rstrip() for line in whole.split("\n"))


def _classes(declared: str, used: set[str]) -> str:
    """The attributes for a style: a class for each colour, and the rest as it was."""
    names = [f"{what[0]}-{_look(value).name}" for what, value in _COLOUR.findall(declared)]
    used.update(names)
    rest = _COLOUR.sub("", declared).strip("; ")
    return (f' class="{" ".join(names)}"' if names else "") + (f' style="{rest}"' if rest else "")


def _look(colour: str) -> Look:
    if colour not in _names():
        raise ValueError(f"the colour {colour} of a chart is in no palette")
    return _names()[colour]


def _tile(name: str, one: Look, used: set[str]) -> str:
    """A hatch as a small tile that is repeated."""
    used.update((f"f-{one.name}", f"s-{HATCHING.name}"))
    return (f'<pattern id="{name}" patternUnits="userSpaceOnUse" width="8" height="8"><rect width="8" height="8" class="f-{one.name}"/>'
            f'<path d="{HATCHES[one.hatch]}" class="s-{HATCHING.name}" fill="none" stroke-width="{2 if one.hatch == ".." else 1}"/></pattern>')
