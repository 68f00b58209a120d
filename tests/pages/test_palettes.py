"""One colour has one meaning: the bars in tables have their variants' colours in charts, in both schemes."""

from __future__ import annotations

import re
from pathlib import Path

from reportgen.pages.cells import Bar
from reportgen.pages.charts.palettes import LOOKS

CSS = (Path(__file__).resolve().parents[2] / "docs" / "assets" / "report.css").read_text(encoding="utf-8")
FOUND = re.findall(r"\.bar\.([\w-]+) \{ --bar: (#[0-9a-f]{6}); \}", CSS)


def test_bars_in_tables_have_the_colours_of_the_charts():
    wanted = [look for key, look in LOOKS.items() if key.startswith(("variant:", "added:"))]
    assert FOUND == [(look.name, look.light) for look in wanted] + [(look.name, look.dark) for look in wanted]
    assert ("variant-sdpa-flash", "#0059a0") in FOUND and ("variant-sdpa-flash", "#4a9cf0") in FOUND


def test_an_added_variant_has_a_colour_of_its_own():
    assert str(Bar("naive_baddbmm", 1.0)).startswith('<span class="bar added-')
    assert str(Bar("sdpa_math", 1.0)).startswith('<span class="bar variant-sdpa-math"')
    assert str(Bar("naive_baddbmm", 1.0)) != str(Bar("naive_scaled_q", 1.0))
