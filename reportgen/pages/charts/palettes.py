"""One colour per meaning, in both schemes: variants, roles, limits, kinds of activities and parts have palettes of their own.

A look is asked for by key (`variant:naive`, `role:softmax`). No two keys share a colour, so a colour in a file of ours means one thing.
Fills have a contrast of 3 to 1 or more to the paper of their scheme; letters have 4.5. Hatches carry the difference without colour.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Look:
    """A fill in the light and in the dark scheme, and a hatch in matplotlib's signs."""

    name: str
    light: str
    dark: str
    hatch: str = ""


def _named(prefix: str, rows: dict[str, tuple[str, ...]]) -> dict[str, Look]:
    return {f"{prefix}:{key}": Look("-".join([prefix, *re.findall(r"\w+", key.replace("_", " "))]), *row) for key, row in rows.items()}


PAPER = Look("paper", "#ffffff", "#1f2129")
INK = Look("ink", "#1b1b1b", "#e8e8ea")
MUTED = Look("muted", "#5a5a5a", "#a9adb8")
GRID = Look("grid", "#dddddd", "#3d404c")
OUTLINE = Look("outline", "#8b8b8b", "#7d8190")
"""The border of what is empty: a free slot, a part of a memory that is not used."""
HATCHING = Look("hatching", "#fefefe", "#20222a")
"""Lines of a hatch: the paper's colour, but for a digit, so that the two can be told apart in a file."""
BASIC = (PAPER, INK, MUTED, GRID, OUTLINE, HATCHING)

LOOKS: dict[str, Look] = {
    **_named("variant", {
        "naive": ("#c44e00", "#ff8a4c"),
        "naive_inplace": ("#a87400", "#f2b632"),
        "sdpa_math": ("#b0508e", "#e58cc4"),
        "sdpa_efficient": ("#2a88c4", "#6cc0f5"),
        "sdpa_flash": ("#0059a0", "#4a9cf0"),
        "sdpa_cudnn": ("#007f5f", "#2fc79a"),
        "naive_compiled": ("#7b4fb5", "#b794f0"),
    }),
    # variants that somebody adds, in the order of `variants.VARIANTS`
    **_named("added", {
        "1": ("#007c88", "#3fd0dc"),
        "2": ("#7a4a2a", "#c99a78"),
        "3": ("#b3003c", "#ff6b8f"),
        "4": ("#56677b", "#a3b4c9"),
        "5": ("#5a7a00", "#a7d03a"),
        "6": ("#3d3daf", "#9595f5"),
        "other": ("#777777", "#9b9b9b"),
    }),
    **_named("role", {
        "matmul": ("#34495e", "#8fa9c4"),
        "fused attention": ("#1f6f78", "#5fb8c2", "||"),
        "softmax": ("#8e3b46", "#e08a96", "xx"),
        "mask": ("#b86428", "#f0a878", "//"),
        "scale": ("#5f7f1e", "#a9cf5a", "--"),
        "copy": ("#9c5ba8", "#cf98da", "++"),
        "cast": ("#4470a0", "#8fbdeb", "\\\\"),
        "fill": ("#7c7f2f", "#c3c672", ".."),
        "tril": ("#946c30", "#d9b06e", "||"),
        "where": ("#4f7c6a", "#93c4b1", "//"),
        "add": ("#a4551c", "#e59a63"),
        "isneginf": ("#75638a", "#b8a6d0", "xx"),
        "all": ("#ab5270", "#e597b2", "\\\\"),
        "memset": ("#6f6f6f", "#b0b0b0", "++"),
        "other": ("#858585", "#8e8e8e"),
        "the rest": ("#7f7a72", "#a49f96", "--"),
    }),
    **_named("limit", {
        "HBM": ("#6a1b4d", "#d98cbc"),
        "arithmetic": ("#1b6a3a", "#7fcf9c", "//"),
        "neither": ("#8a7f5c", "#c4b98f", "xx"),
        "unknown": ("#80868e", "#8d939c", ".."),
    }),
    **_named("kind", {
        "kernel": ("#3a6ea5", "#7fb2e8"),
        "memcpy": ("#cc5200", "#ff9450", "//"),
        "memset": ("#8c7a00", "#d8c53e", "xx"),
    }),
    **_named("part", {
        "measure": ("#4a5a8a", "#93a3d6"),
        "more": ("#b4372f", "#f2857d"),
        "less": ("#2e7d4f", "#74cc95", "//"),
        "as predicted": ("#4b8b6f", "#8fd0b3"),
        "seen, not predicted": ("#c7541e", "#f79a6b", "//"),
        "predicted, not seen": ("#75758c", "#b3b3ca", "xx"),
        "build the mask": ("#a03d6b", "#e889b4"),
        "apply the mask": ("#b86a10", "#f0ad5c", "//"),
        "everything else": ("#6b7280", "#a5acb9", "xx"),
        "memory": ("#5d6f8f", "#8a9cbd"),
        "tile": ("#24618f", "#6fb0e0"),
        "in work": ("#c2571a", "#f5a05f", "//"),
        "skipped": ("#7d7f86", "#9a9ca4", "xx"),
    }),
}
"""Key → look. Two keys with one colour are a defect, which a test finds."""

JOINTS = ".chart *{stroke-linejoin:round;stroke-linecap:butt}"
OPS = (Look("op-0", "#cfe8f7", "#1f4258"), Look("op-1", "#e3f1fa", "#28475a"), Look("op-2", "#f1f8fc", "#30485a"))
"""Bars of CPU ops by depth: letters stand on them, so they are pale, with a border."""
OP_BORDER = Look("op-border", "#4b7fa3", "#7fb0d2")
EVERY: tuple[Look, ...] = (*BASIC, *LOOKS.values(), *OPS, OP_BORDER)


def look(key: str) -> Look:
    """The look of a meaning.

    Raises:
        ValueError: the key is in no palette; add it there, with a colour of its own.
    """
    found = LOOKS.get(key)
    if found is None:
        raise ValueError(f"{key!r} has no colour; add it to `pages/charts/palettes.py`")
    return found


def of_variant(name: str | None) -> Look:
    """A variant's own look: one of the seven's, one for variants that were added, or the grey of those beyond these."""
    from variants import VARIANTS

    known = LOOKS.get(f"variant:{name}")
    if known:
        return known
    added = [each for each in VARIANTS if f"variant:{each}" not in LOOKS]
    place = added.index(name) + 1 if name in added else 0
    return LOOKS.get(f"added:{place}", LOOKS["added:other"])


def distinct(keys: Sequence[str]) -> list[Look]:
    """The looks of categories that are told apart by their colour.

    Raises:
        ValueError: two of them would have one colour.
    """
    looks = [look(key) for key in keys]
    for index, one in enumerate(looks):
        if one in looks[:index]:
            raise ValueError(f"two categories in one colour: {keys[looks.index(one)]!r} and {keys[index]!r}")
    return looks


def variables(root: str, used: Sequence[Look], scheme: str) -> str:
    """A rule that gives each look's variable its value in a scheme (`light` or `dark`)."""
    return f"{root}{{{';'.join(f'--c-{one.name}:{getattr(one, scheme)}' for one in used)}}}"


def rules(used: Iterable[tuple[str, Look]]) -> str:
    """The class of each fill (`f-…`) and line (`s-…`); what knows no variables takes the light colour."""
    what = {"f": "fill", "s": "stroke"}
    return "\n".join(f".{kind}-{one.name}{{{what[kind]}:{one.light};{what[kind]}:var(--c-{one.name})}}" for kind, one in used)


def of_a_file(used: Sequence[tuple[str, Look]]) -> str:
    """The sheet of one file that stands alone: it follows what the reader's system prefers."""
    looks = list(dict.fromkeys(one for _, one in used))
    dark = f"@media (prefers-color-scheme:dark){{{variables('svg', looks, 'dark')}}}"
    return "\n".join([variables("svg", looks, "light"), dark, JOINTS, rules(used)])


def of_a_site(paper: str = "var(--md-default-bg-color)") -> str:
    """The sheet of pages that hold pictures: it follows the scheme that the reader chose there. paper: the page's background."""
    light, dark = variables(".chart", EVERY, "light"), variables('[data-md-color-scheme="slate"] .chart', EVERY, "dark")
    every = [(kind, one) for one in EVERY for kind in ("f", "s")]
    on_screen = f'@media screen{{{dark}\n.chart{{--c-paper:{paper}}}}}'
    return "\n".join([light, on_screen, JOINTS, rules(every)])
