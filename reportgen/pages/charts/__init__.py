"""A few chart forms: data in, SVG bytes out. Equal data give equal bytes.

Forms and their data (lists may be tuples; numbers are in the unit that `unit` names):

| form | data |
|---|---|
| `bars` | `labels`, `values`, `unit`; optional `low`, `high`, `ids` (variant ids, for colour), `reference` (a mark per bar, or `None`), `reference_label`, `log` |
| `dots` | as `bars`, drawn as points with intervals; for ratios `log` is usual |
| `stacked` | `labels`, `series` = `[(name, [value per label])]`, `unit`; a missing part is 0 or `None` |
| `lanes` | `ops` = `[(name, start, duration, depth)]`, `launches` = `[start]`, `activities` = `[(label, kind, start, duration, launch)]`, all in µs |
| `roofline` | `ceiling_bytes` (bytes/s), `ceilings_flop` = `[(name, FLOP/s)]`, `points` = `[(label, id, FLOP per byte, FLOP/s)]` |
| `curve` | `series` = `[(label, id, [x], [y])]`, `x`, `y` (axis names with units); optional `log_x`, `log_y` |
| `grid` | `rows`, `columns` (labels), `cells` = one list of verdicts per row |

A value of `None` draws no bar and says `not measured`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Callable

FORMS = ("bars", "dots", "stacked", "lanes", "roofline", "curve", "grid")


def svg(form: str, data: Any, alt: str = "") -> bytes:
    """The chart as SVG bytes, with `alt` as its title.

    Raises:
        ValueError: `form` is not one of `FORMS`.
        KeyError: `data` lacks a field that the form needs.
    """
    from . import bars, curve, grid, lanes, roofline, stacked
    from .style import to_svg

    forms: dict[str, Callable[[Any], Any]] = {
        "bars": bars.bars, "dots": bars.dots, "stacked": stacked.stacked, "lanes": lanes.lanes,
        "roofline": roofline.roofline, "curve": curve.curve, "grid": grid.grid,
    }
    if form not in forms:
        raise ValueError(f"chart form {form!r} is not one of {', '.join(FORMS)}")
    return to_svg(lambda: forms[form](data), alt)


def draw(form: str, data: Any, path: Path, alt: str = "") -> None:
    """Writes the chart to `path`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(svg(form, data, alt))
