"""Charts: the same data give the same bytes, every label is there, and nothing is clipped."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree

import pytest

from reportgen.pages import charts
from reportgen.pages.charts import style

LONG = "a label that is far too long for one line of a narrow picture, and goes on and on"
SVG = "{http://www.w3.org/2000/svg}"

DATA: dict[str, Any] = {
    "bars": {"labels": ["Naive", "SDPA flash", "SDPA cuDNN"], "ids": ["naive", "sdpa_flash", "sdpa_cudnn"], "unit": "µs",
             "values": [1056.0, 93.44, None], "low": [1050.0, 93.0, None], "high": [1060.0, 94.0, None], "reference": [None, 146.8, 186.3]},
    "stacked": {"labels": ["Naive", "Naive in place"], "series": [("matmul", [166, 166]), ("copy", [126, None])], "unit": "µs"},
    "lanes": {"ops": [("aten::matmul", 0, 200, 0), ("aten::bmm", 20, 150, 1)], "launches": [60.0, 150.0],
              "activities": [("memset", "memset", 70, 1, 60), ("matmul", "kernel", 160, 90, 150)]},
    "roofline": {"ceiling_bytes": 4.3e12, "ceilings_flop": [("bf16 matmul", 788e12)], "points": [("fused kernel", "sdpa_flash", 512.0, 2e14)]},
}
SAID = {
    "bars": ["Naive", "SDPA flash", "1,060 µs", "93.4 µs", "not measured", "the article"],
    "stacked": ["Naive", "Naive in place", "matmul", "copy", "292 µs", "166 µs"],
    "lanes": ["matmul", "bmm", "1 memset  ·  2 matmul", "kernel", "memset"],
    "roofline": ["fused kernel", "bf16 matmul", "1 PFLOP/s", "FLOP per byte (arithmetic intensity)"],
}


def texts(form: str, data: Any) -> list[str]:
    return [" ".join(element.itertext()) for element in ElementTree.fromstring(charts.svg(form, data)).iter(f"{SVG}text")]


def test_every_form_is_drawn_by_a_test() -> None:
    """The table of data above covers all forms."""
    assert set(DATA) == set(SAID) == set(charts.FORMS)


@pytest.mark.parametrize("form", charts.FORMS)
def test_two_draws_are_equal_bytes(form: str) -> None:
    """No date, no random id, no version gets into a picture."""
    assert charts.svg(form, DATA[form], "alt") == charts.svg(form, DATA[form], "alt")


@pytest.mark.parametrize("form", charts.FORMS)
def test_a_draw_does_not_depend_on_what_was_drawn_before(form: str) -> None:
    """Settings of one picture do not leak into the next."""
    import matplotlib

    first = charts.svg(form, DATA[form])
    matplotlib.rcParams["font.size"] = 40
    matplotlib.rcParams["svg.fonttype"] = "path"
    try:
        assert charts.svg(form, DATA[form]) == first
    finally:
        matplotlib.rcdefaults()


@pytest.mark.parametrize("form", charts.FORMS)
def test_labels_and_values_are_text(form: str) -> None:
    """Text stays text (searchable, and half the size), with every label and value of the data."""
    found = texts(form, DATA[form])
    assert [wanted for wanted in SAID[form] if wanted not in found] == []


@pytest.mark.parametrize("form", charts.FORMS)
def test_alt_text_is_the_title(form: str) -> None:
    """A picture opened alone still says what it shows; markup in it is escaped."""
    root = ElementTree.fromstring(charts.svg(form, DATA[form], "flash < naive & more"))
    title = root.find(f"{SVG}title")
    assert title is not None and title.text == "flash < naive & more"


@pytest.mark.parametrize("form", charts.FORMS)
def test_type_is_large_and_the_picture_narrow(form: str) -> None:
    """On a phone of 390 px the picture shrinks to two thirds: no type under 13 px, no width over 560."""
    text = charts.svg(form, DATA[form]).decode()
    sizes = {float(size) for size in re.findall(r"font(?:-size)?:\s*(?:bold |italic |\d{3} )*([0-9.]+)px", text)}
    assert sizes and min(sizes) >= 13
    assert re.search(r'<svg [^>]*width="560" ', text)


@pytest.mark.parametrize("form, path", [("bars", "labels"), ("stacked", "labels")])
def test_a_long_label_is_cut_with_an_ellipsis_not_clipped(form: str, path: str) -> None:
    """The widest font of the stack decides; the cut is visible."""
    data = {**DATA[form], path: [LONG, *DATA[form][path][1:]]}
    cut = next(text for text in texts(form, data) if text.startswith("a label"))
    assert cut.endswith("…")
    assert style.text_width(cut) <= style.WIDTH - 2 * style.MARGIN


def test_a_small_change_moves_no_axis() -> None:
    """Limits are round steps: one changed bar changes a handful of lines, not the picture."""
    before = charts.svg("bars", DATA["bars"]).decode().split("\n")
    after = charts.svg("bars", {**DATA["bars"], "values": [1058.0, 93.44, None]}).decode().split("\n")
    assert len(before) == len(after)
    assert 0 < sum(a != b for a, b in zip(before, after)) <= 8


def test_a_reference_mark_does_not_strike_the_value() -> None:
    """Where the mark would run through the number, the number moves behind it."""
    def x_of_value(reference: float | None) -> float:
        root = ElementTree.fromstring(charts.svg("bars", {"labels": ["a", "b"], "values": [930.0, 2580.0], "unit": "µs", "reference": [reference, 7239.0]}))
        text = next(e for e in root.iter(f"{SVG}text") if "".join(e.itertext()) == "930 µs")
        position = re.search(r"translate\(([0-9.]+)", text.get("transform", "")) or re.search(r"([0-9.]+)", text.get("x", ""))
        assert position
        return float(position[1])

    assert x_of_value(1200.0) > x_of_value(None)


def test_an_unknown_form_is_refused() -> None:
    with pytest.raises(ValueError, match="chart form 'pie' is not one of bars"):
        charts.svg("pie", {})


def test_a_missing_field_is_an_error_not_a_blank_picture() -> None:
    with pytest.raises(KeyError, match="values"):
        charts.svg("bars", {"labels": ["a"]})


@pytest.mark.parametrize("form, data", [
    ("bars", {"labels": ["a"], "values": [None]}),
    ("stacked", {"labels": [], "series": []}),
    ("lanes", {"ops": [], "launches": [], "activities": []}),
    ("roofline", {"ceiling_bytes": 1e12, "ceilings_flop": [], "points": []}),
])
def test_nothing_to_draw_is_still_a_picture(form: str, data: Any) -> None:
    """A run that lacks everything must not stop the pages."""
    assert ElementTree.fromstring(charts.svg(form, data)).tag == f"{SVG}svg"


@pytest.mark.parametrize("value, above", [(1056, 1200), (93.4, 100), (2580, 3000), (1, 1), (0.061, 0.08)])
def test_limits_are_round_steps(value: float, above: float) -> None:
    assert style.step_above(value) == pytest.approx(above)


def test_each_variant_has_one_colour_everywhere() -> None:
    """Seven variants, seven colours: none shared."""
    colours = [fill for fill, _ in style.VARIANTS.values()]
    assert len(set(colours)) == len(colours) == 7


def test_a_ceilings_name_makes_way_for_a_point() -> None:
    """A mark just above the lower ceiling's right end: the name goes below its line; the other name stays above."""
    from reportgen.pages.charts.roofline import roofline

    def sides(intensity: float) -> list[str]:
        data = {"ceiling_bytes": 4e12, "ceilings_flop": [("bf16 matmul", 8e14), ("FP32 matmul", 5e13)], "points": [("flash", "sdpa_flash", intensity, 6e13)]}
        return [text.get_va() for text in roofline(data).axes[0].texts]

    assert sides(400.0) == ["bottom", "top"]
    assert sides(5.0) == ["bottom", "bottom"]


def test_a_count_has_no_decimals_and_a_time_keeps_three_figures() -> None:
    assert "7 activities" in texts("stacked", {"labels": ["Naive"], "series": [("as predicted", [5]), ("seen", [2])], "unit": "activities"})
    assert "15 ops" in texts("bars", {"labels": ["SDPA flash"], "values": [15.0], "unit": "ops"})
    assert "7.00 µs" in texts("stacked", {"labels": ["Naive"], "series": [("matmul", [5.0]), ("copy", [2.0])], "unit": "µs"})


def test_a_long_values_text_stays_inside_the_picture() -> None:
    """The longest bar ends where its text still fits: `3.82 thousandths` is wider than the usual room."""
    from reportgen.pages.charts.bars import bars

    figure = bars({"labels": ["Naive", "SDPA math"], "values": [3.82, 1.6], "unit": "thousandths"})
    (value,) = [text for text in figure.axes[0].texts if text.get_text() == "3.82 thousandths"]
    assert value.get_position()[0] + style.text_width(value.get_text()) * 1.12 <= style.WIDTH
    wide = bars({"labels": ["Naive"], "values": [4.0], "unit": "thousandths"})
    (end,) = [text for text in wide.axes[0].texts if text.get_text() == "4.00 thousandths"]
    assert end.get_position()[0] + style.text_width(end.get_text()) * 1.12 <= style.WIDTH


OF_THE_WORLD = "測試卡 한국어 🚀 עברית e\u0301 \ufffd $\\frac{$"


@pytest.mark.parametrize(("form", "data"), [
    ("bars", {"labels": [OF_THE_WORLD], "values": [1.0], "unit": "µs", "reference": [1.0], "reference_label": OF_THE_WORLD}),
    ("stacked", {"labels": [OF_THE_WORLD], "series": [(OF_THE_WORLD, [1.0])], "unit": "µs"}),
    ("lanes", {"ops": [(OF_THE_WORLD, 0.0, 900.0, 0)], "launches": [1.0], "activities": [(OF_THE_WORLD, "kernel", 2.0, 500.0, 1.0)]}),
    ("roofline", {"ceiling_bytes": 1e12, "ceilings_flop": [(OF_THE_WORLD, 1e14)], "points": [(OF_THE_WORLD, "naive", 10.0, 1e12)]}),
])
def test_letters_that_our_font_lacks_are_drawn_without_a_word(form: str, data: Any, recwarn: pytest.WarningsRecorder) -> None:
    """A variant of one's own may have a title in any script; the reader's browser has the font."""
    drawn = charts.svg(form, data, OF_THE_WORLD)
    ElementTree.fromstring(drawn)
    assert OF_THE_WORLD[:3].encode() in drawn and [str(one.message) for one in recwarn] == []
