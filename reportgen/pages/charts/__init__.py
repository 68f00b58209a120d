"""A few chart forms: data in, SVG bytes out. Equal data give equal bytes.

Forms and their data (lists may be tuples; numbers are in the unit that `unit` names):

| form | data |
|---|---|
| `bars` | `labels`, `values`, `unit`; optional `low`, `high`, `ids` (variant ids, for colour), `reference` (a mark per bar, or `None`), `reference_label`, `log` |
| `stacked` | `labels`, `series` = `[(name, [value per label])]`, `unit`; a missing part is 0 or `None` |
| `lanes` | `ops` = `[(name, start, duration, depth)]`, `launches` = `[start]`, `activities` = `[(label, kind, start, duration, launch)]`, all in µs |
| `roofline` | `ceiling_bytes` (bytes/s), `ceilings_flop` = `[(name, FLOP/s)]`, `points` = `[(label, id, FLOP per byte, FLOP/s)]` |

A value of `None` draws no bar and says `not measured`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

FORMS = ("bars", "stacked", "lanes", "roofline")


def svg(form: str, data: Any, alt: str = "") -> bytes:
    """The chart as SVG bytes, with `alt` as its title.

    Raises:
        ValueError: `form` is not one of `FORMS`.
        KeyError: `data` lacks a field that the form needs.
    """
    from . import bars, lanes, roofline, stacked
    from .style import to_svg

    forms: dict[str, Callable[[Any], Any]] = {
        "bars": bars.bars, "stacked": stacked.stacked, "lanes": lanes.lanes, "roofline": roofline.roofline,
    }
    if form not in forms:
        raise ValueError(f"chart form {form!r} is not one of {', '.join(FORMS)}")
    return to_svg(lambda: forms[form](data), alt)
