"""A few chart forms: data in, SVG bytes out. Equal data give equal bytes.

Forms and their data (lists may be tuples; numbers are in the unit that `unit` names). Every form draws `title` above and `foot`
below the picture where its data have them.

| form | data |
|---|---|
| `bars` | `labels`, `values`, `unit`; optional `low`, `high`, `ids` (variants, for colour) or `keys` (into `palettes`), `reference` (a value per bar, or `None`), `reference_label`, `reference_as` (`mark` on the bar's row, an arrow where it lies beyond the axis; `axis`, which it stretches; or in words `beside` the label) |
| `stacked` | `labels`, `series` = `[(name, [value per label])]`, `unit`; optional `keys` (into `palettes`, one per part), `totals` (what stands behind each bar, in words); a missing part is 0 or `None` |
| `curve` | `sizes` (rising), `size` (what they are), `series` = `[(label, variant, [value or None per size])]`, `unit` |
| `history` | `rows` = `[(label, variant, what is said beside it, [(change, low, high, title) or None per state], [where its own stretch begins])]`, `states`, `breaks` and `marks` (places), `least` (what does not count), `keys` (lines below) |
| `waterfall` | `start` and `end` = `(label, value, variant or None)`, `steps` = `[(label, change)]`, `unit` |
| `lanes` | `ops` = `[(name, start, duration, depth)]`, `launches` = `[start]`, `activities` = `[(label, kind, start, duration, launch)]`, all in µs |
| `forwards` | `forwards` = `[(label, what is said beside it, [(role, start, duration)])]`, in µs |
| `roofline` | `ceiling_bytes` (bytes/s), `ceilings_flop` = `[(name, FLOP/s)]`, `points` = `[(label, id, FLOP per byte, FLOP/s)]` |
| `memory` | `levels` = `[(name, size in words, what it holds)]`, nearest first |
| `tiling` | `sequence`, `queries` and `keys` (of a tile), `causal` |
| `slots` | `panels` = `[(label, variant or None, warps per block, blocks, slots, what is said, [(resource, share or None)])]` |

A value of `None` draws no bar and says `not measured`. A form refuses to take two categories in one colour.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

FORMS = ("bars", "stacked", "curve", "history", "waterfall", "lanes", "forwards", "roofline", "memory", "tiling", "slots")


def svg(form: str, data: Any, alt: str = "") -> bytes:
    """The chart as SVG bytes, with `alt` as its title and its numbers as CSV in its metadata.

    Raises:
        ValueError: `form` is not one of `FORMS`, or two categories would have one colour.
        KeyError: `data` lacks a field that the form needs.
    """
    from . import bars, curve, forwards, history, lanes, memory, numbers, roofline, slots, stacked, tiling, waterfall
    from .style import to_svg

    forms: dict[str, Callable[[Any], Any]] = {
        "bars": bars.bars, "stacked": stacked.stacked, "curve": curve.curve, "history": history.history, "waterfall": waterfall.waterfall, "lanes": lanes.lanes, "forwards": forwards.forwards,
        "roofline": roofline.roofline, "memory": memory.memory, "tiling": tiling.tiling, "slots": slots.slots,
    }
    if form not in forms:
        raise ValueError(f"chart form {form!r} is not one of {', '.join(FORMS)}")
    return to_svg(lambda: forms[form](data), alt, numbers.table(form, data))
