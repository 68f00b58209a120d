"""Charts: the same data give the same bytes, every label is there, and nothing is clipped."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree

import pytest

from reportgen.pages import charts
from reportgen.pages.charts import palettes, style

LONG = "a label that is far too long for one line of a narrow picture, and goes on and on"
SVG = "{http://www.w3.org/2000/svg}"

DATA: dict[str, Any] = {
    "bars": {"labels": ["Naive", "SDPA flash", "SDPA cuDNN"], "ids": ["naive", "sdpa_flash", "sdpa_cudnn"], "unit": "µs",
             "values": [1056.0, 93.44, None], "low": [1050.0, 93.0, None], "high": [1060.0, 94.0, None], "reference": [None, 146.8, 186.3]},
    "stacked": {"labels": ["Naive", "Naive in place"], "series": [("matmul", [166, 166]), ("copy", [126, None])], "unit": "µs"},
    "curve": {"sizes": [128, 512, 16384], "size": "length", "series": [("flash", "sdpa_flash", [90.0, 210.0, 340.0]), ("cuDNN", "sdpa_cudnn", [127.0, None, 632.0])], "unit": "TFLOP/s"},
    "history": {"rows": [("SDPA flash", "sdpa_flash", "92.4 µs", [(0.0, -0.004, 0.004, "state 1"), None, (-0.2, -0.21, -0.19, "state 3")], [])], "states": ["1", "2", "3"], "breaks": [], "marks": [2],
                "least": 0.02, "keys": ["upright line: other software"]},
    "waterfall": {"start": ("Naive in place", 936.0, "naive_inplace"), "steps": [("matmuls in FP32", 794.0), ("scale", -92.0)], "end": ("SDPA math", 1638.0, "sdpa_math"), "unit": "µs"},
    "forwards": {"forwards": [("Naive", "2 activities, 216 µs", [("matmul", 0.0, 90.0), ("copy", 95.0, 126.0)]), ("SDPA flash", "1 activity, 92.4 µs", [("fused attention", 0.0, 92.4)])]},
    "memory": {"levels": [("Registers", "33 MiB", "the scores of one tile"), ("HBM", "unknown", "Q, K, V and the output")]},
    "tiling": {"sequence": 1024, "queries": 128, "keys": 128, "causal": True},
    "slots": {"panels": [("SDPA flash", "sdpa_flash", 4, 2, 64, "8 of 64 warp slots", [("registers", 1.0), ("shared memory", None)])]},
    "lanes": {"ops": [("aten::matmul", 0, 200, 0), ("aten::bmm", 20, 150, 1)], "launches": [60.0, 150.0],
              "activities": [("memset", "memset", 70, 1, 60), ("matmul", "kernel", 160, 90, 150)]},
    "roofline": {"ceiling_bytes": 4.3e12, "ceilings_flop": [("bf16 matmul", 788e12)], "points": [("fused kernel", "sdpa_flash", 512.0, 2e14)]},
}
SAID = {
    "bars": ["Naive", "SDPA flash", "1,060 µs", "93.4 µs", "not measured", "the article"],
    "stacked": ["Naive", "Naive in place", "matmul", "copy", "292 µs", "166 µs"],
    "curve": ["flash", "cuDNN", "128", "512", "16,384", "length", "up: TFLOP/s", "600"],
    "history": ["SDPA flash", "92.4 µs", "+3 %", "−21 %", "state", "1", "2", "3", "upright line: other software"],
    "waterfall": ["Naive in place", "936 µs", "matmuls in FP32", "+794 µs", "−92.0 µs", "SDPA math", "1,640 µs"],
    "forwards": ["Naive", "2 activities, 216 µs", "SDPA flash", "1 activity, 92.4 µs", "matmul", "copy", "fused attention"],
    "memory": ["Registers", "33 MiB", "the scores of one tile", "HBM", "unknown"],
    "tiling": ["36 of 64 tiles hold a pair that counts", "K, V: 8 tiles of 128 keys →"],
    "slots": ["SDPA flash", "8 of 64 warp slots", "registers", "100 %", "shared memory", "unknown"],
    "lanes": ["matmul", "bmm", "1 memset  ·  2 matmul", "kernel", "memset"],
    "roofline": ["1 fused kernel", "bf16 matmul", "PFLOP/s", "FLOP per byte (arithmetic intensity)"],
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
    """On a phone of 390 px a picture of 440 px is 358 px wide: type of 14 px is read at 11.4."""
    text = charts.svg(form, DATA[form]).decode()
    sizes = {float(size) for size in re.findall(r"font(?:-size)?:\s*(?:bold |italic |\d{3} )*([0-9.]+)px", text)}
    assert sizes and min(sizes) * 358 / 440 >= 11
    assert re.search(r'<svg [^>]*width="440" ', text)


@pytest.mark.parametrize("form, path", [("bars", "labels"), ("stacked", "labels")])
def test_a_long_label_is_cut_with_an_ellipsis_not_clipped(form: str, path: str) -> None:
    """The widest font of the stack decides; the cut is visible."""
    data = {**DATA[form], path: [LONG, *DATA[form][path][1:]]}
    cut = next(text for text in texts(form, data) if text.startswith("a label"))
    assert cut.endswith("…")
    assert style.text_width(cut) <= 440 - 2 * 14


def test_a_small_change_moves_no_axis() -> None:
    """Limits are round steps: one changed bar changes a handful of lines, not the picture."""
    before = charts.svg("bars", DATA["bars"]).decode().split("\n")
    after = charts.svg("bars", {**DATA["bars"], "values": [1058.0, 93.44, None]}).decode().split("\n")
    assert len(before) == len(after)
    assert 0 < sum(a != b for a, b in zip(before, after)) <= 9


def test_a_reference_mark_does_not_strike_the_value() -> None:
    """Where the mark would run through the number, the number moves behind it."""
    def x_of_value(reference: float | None) -> float:
        root = ElementTree.fromstring(charts.svg("bars", {"labels": ["a", "b"], "values": [930.0, 2580.0], "unit": "µs", "reference": [reference, 2600.0]}))
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
    ("forwards", {"forwards": []}),
    ("memory", {"levels": []}),
    ("slots", {"panels": []}),
])
def test_nothing_to_draw_is_still_a_picture(form: str, data: Any) -> None:
    """A run that lacks everything must not stop the pages."""
    assert ElementTree.fromstring(charts.svg(form, data)).tag == f"{SVG}svg"


@pytest.mark.parametrize("value, above", [(1056, 1200), (93.4, 100), (2580, 3000), (1, 1), (0.061, 0.08)])
def test_limits_are_round_steps(value: float, above: float) -> None:
    assert style.step_above(value) == pytest.approx(above)


def test_each_variant_has_one_colour_everywhere() -> None:
    """Seven variants, seven colours: none shared."""
    colours = [palettes.of_variant(name).light for name in ("naive", "naive_inplace", "sdpa_math", "sdpa_efficient", "sdpa_flash", "sdpa_cudnn", "naive_compiled")]
    assert len(set(colours)) == 7 and palettes.of_variant("somebody's").name == "added-other"


def test_a_ceilings_name_makes_way_for_a_point() -> None:
    """A mark just above the lower ceiling's right end: the name goes below its line; the other name stays above."""
    from reportgen.pages.charts.roofline import roofline

    def sides(intensity: float) -> list[bool]:
        data = {"ceiling_bytes": 4e12, "ceilings_flop": [("bf16 matmul", 8e14), ("FP32 matmul", 5e13)], "points": [("flash", "sdpa_flash", intensity, 6e13)]}
        ax = roofline(data).axes[0]
        heights = {text.get_text(): text.get_position()[1] for text in ax.texts}
        lines = {str(one.get_gid()).split(":")[1]: one.get_ydata()[0] for one in ax.lines if "matmul" in str(one.get_gid())}
        return [bool(heights[name] < lines[name]) for name in ("bf16 matmul", "FP32 matmul")]

    assert sides(400.0) == [True, False]
    assert sides(5.0) == [True, True]


def test_a_count_has_no_decimals_and_a_time_keeps_three_figures() -> None:
    assert "7 activities" in texts("stacked", {"labels": ["Naive"], "series": [("as predicted", [5]), ("seen", [2])], "unit": "activities"})
    assert "1 activity" in texts("stacked", {"labels": ["Naive"], "series": [("as predicted", [1])], "unit": "activities"})
    assert "2.53 GiB" in texts("bars", {"labels": ["Naive"], "values": [2590.0], "unit": "MiB"}), "as the tables say it"
    assert "15 ops" in texts("bars", {"labels": ["SDPA flash"], "values": [15.0], "unit": "ops"})
    assert "7.00 µs" in texts("stacked", {"labels": ["Naive"], "series": [("matmul", [5.0]), ("copy", [2.0])], "unit": "µs"})


def test_a_long_values_text_stays_inside_the_picture() -> None:
    """The longest bar ends where its text still fits: `3.82 thousandths` is wider than the usual room."""
    from reportgen.pages.charts.bars import bars

    figure = bars({"labels": ["Naive", "SDPA math"], "values": [3.82, 1.6], "unit": "thousandths"})
    (value,) = [text for text in figure.axes[0].texts if text.get_text() == "3.82 thousandths"]
    assert value.get_position()[0] + style.text_width(value.get_text()) * 1.12 <= 440
    wide = bars({"labels": ["Naive"], "values": [4.0], "unit": "thousandths"})
    (end,) = [text for text in wide.axes[0].texts if text.get_text() == "4.00 thousandths"]
    assert end.get_position()[0] + style.text_width(end.get_text()) * 1.12 <= 440


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


def drawn(form: str, data: Any) -> str:
    return charts.svg(form, data).decode()


def test_no_two_meanings_share_a_colour_in_either_scheme() -> None:
    """Variants, roles, limits, kinds and parts have palettes of their own: 50 looks and more, each colour once."""
    for scheme in ("light", "dark"):
        colours = [getattr(one, scheme) for one in palettes.EVERY]
        assert len(colours) > 50 and sorted(colours) == sorted(set(colours))
    names = [one.name for one in palettes.EVERY]
    assert len(set(names)) == len(names) and all(re.fullmatch(r"[A-Za-z0-9-]+", name) for name in names)


def luminance(colour: str) -> float:
    """Relative luminance by WCAG 2."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_white_on_black_has_a_contrast_of_21() -> None:
    assert contrast("#ffffff", "#000000") == pytest.approx(21.0)


@pytest.mark.parametrize("key", palettes.LOOKS)
def test_a_fill_stands_out_from_the_paper_of_both_schemes(key: str) -> None:
    """WCAG asks 3 to 1 of what must be seen; the dark paper is the theme's."""
    one = palettes.look(key)
    assert contrast(one.light, "#ffffff") >= 3 and contrast(one.dark, "#1f2129") >= 3


@pytest.mark.parametrize("one", [palettes.INK, palettes.MUTED])
def test_letters_can_be_read_in_both_schemes(one: palettes.Look) -> None:
    assert contrast(one.light, "#ffffff") >= 4.5 and contrast(one.dark, "#1f2129") >= 4.5


def test_two_categories_in_one_colour_are_refused() -> None:
    data = {"labels": ["a"], "series": [("matmul", [1.0]), ("the same again", [2.0])], "keys": ["role:matmul", "role:matmul"]}
    with pytest.raises(ValueError, match="two categories in one colour: 'role:matmul' and 'role:matmul'"):
        charts.svg("stacked", data)


def test_more_parts_than_colours_are_refused() -> None:
    """Eleven parts took ten colours once, and two of them looked alike."""
    with pytest.raises(ValueError, match="7 parts and 6 colours"):
        charts.svg("stacked", {"labels": ["a"], "series": [(f"part {index}", [1.0]) for index in range(7)]})


def test_a_meaning_without_a_colour_is_refused() -> None:
    with pytest.raises(ValueError, match="'role:guess' has no colour"):
        charts.svg("stacked", {"labels": ["a"], "series": [("guess", [1.0])], "keys": ["role:guess"]})


def test_bars_on_a_logarithmic_axis_are_refused() -> None:
    with pytest.raises(ValueError, match="no logarithmic axis"):
        charts.svg("bars", {"labels": ["a"], "values": [1.0], "log": True})


@pytest.mark.parametrize("form", charts.FORMS)
def test_a_picture_alone_follows_the_readers_scheme(form: str) -> None:
    """Its sheet gives light values, dark ones where these are preferred, and a plain colour to what knows no variables."""
    text = drawn(form, DATA[form])
    assert "--c-ink:#1b1b1b" in text and "@media (prefers-color-scheme:dark){svg{" in text and "--c-ink:#e8e8ea" in text
    assert ".f-ink{fill:#1b1b1b;fill:var(--c-ink)}" in text
    body = text.split("</style>")[1]
    assert not re.search(r"#[0-9a-f]{6}\b", body), "every colour is a class"


@pytest.mark.parametrize("form, title", [
    ("bars", "Naive: 1,060 µs (1,050 µs to 1,060 µs over the processes)"), ("stacked", "Naive, copy: 126 µs"), ("waterfall", "matmuls in FP32: +794 µs (113% of the difference)"),
    ("lanes", "2 matmul (kernel): 90.0 µs"), ("forwards", "Naive, copy: 126 µs"), ("roofline", "fused kernel: 512 FLOP per byte, 200 TFLOP/s"), ("memory", "Registers: 33 MiB"),
    ("tiling", "36 of 64 tiles hold a pair that counts"), ("slots", "block 2: 4 warps"),
])
def test_a_mark_says_its_value(form: str, title: str) -> None:
    """Each mark is a group whose title a reader sees over it."""
    titles = [element.text for group in ElementTree.fromstring(charts.svg(form, DATA[form])).iter(f"{SVG}g") if (element := group.find(f"{SVG}title")) is not None]
    assert title in titles


def test_words_of_others_stay_words_in_a_title() -> None:
    """A label with marks and quotes neither ends the title nor opens an element."""
    root = ElementTree.fromstring(charts.svg("bars", {"labels": ['<b onload="x">&'], "values": [1.0], "unit": "µs"}))
    assert [element.text for element in root.iter(f"{SVG}title")] == ['<b onload="x">&: 1.00 µs']


@pytest.mark.parametrize("label", ['a\'" onload="x\' <g id=\'title:b\'>', "two\nlines", ' style="fill: #123456"', ' id="patch_1" url(#x)', "]]>&amp; --> <!-- x"])
def test_no_label_is_taken_for_a_part_of_the_file(label: str) -> None:
    """Neither ids nor styles nor ends of comments in the words of others count."""
    root = ElementTree.fromstring(charts.svg("bars", {"labels": [label], "values": [1.0], "unit": "µs"}))
    assert [element.text for element in root.iter(f"{SVG}title")] == [f"{' '.join(label.split())}: 1.00 µs"]
    assert any(label.split()[-1] in "".join(element.itertext()) for element in root.iter(f"{SVG}text"))


@pytest.mark.parametrize("form", charts.FORMS)
def test_a_picture_says_what_it_shows_and_where(form: str) -> None:
    found = texts(form, {**DATA[form], "title": "GPU time of one forward", "foot": "NVIDIA H200 · batch 8"})
    assert "GPU time of one forward" in found and "NVIDIA H200 · batch 8" in found


def test_the_articles_value_stands_beside_and_stretches_no_axis() -> None:
    """7,240 µs once set an axis of 10,000 on which 58.6 µs were three pixels: now the axis ends at 3,000, and the value is said."""
    data = {"labels": ["SDPA flash", "SDPA math"], "values": [92.0, 2580.0], "unit": "µs", "reference": [None, 7240.0], "reference_label": "the article", "reference_as": "beside"}
    found = texts("bars", data)
    assert "7,240 µs" in found and "In grey: the article" in found and "3,000" in found and "4,000" not in found


def test_a_mark_beyond_the_axis_is_an_arrow() -> None:
    data = {"labels": ["SDPA flash"], "values": [28.7], "unit": "µs", "reference": [92.4], "reference_label": "GPU time"}
    assert "<title>mark: 92.4 µs</title>" in drawn("bars", data) and "80" not in texts("bars", data)
    assert "100" in texts("bars", {**data, "reference_as": "axis"}), "a ceiling is what the bars are compared with"


def test_slivers_are_drawn_again_on_an_axis_of_their_own() -> None:
    """58.6 and 92.4 beside 2,580: an axis of 100 instead of 3,000 is 30 times as long."""
    data = {"labels": ["cuDNN", "flash", "math"], "values": [58.6, 92.4, 2580.0], "unit": "µs"}
    assert "The shortest again, 30 times as long:" in texts("bars", data) and texts("bars", data).count("92.4 µs") == 2
    assert texts("bars", {"labels": ["a", "b", "c"], "values": [1.0, 1.0, 20.0], "unit": "kernels"}).count("1 kernel") == 2, "what is alike needs no second look"


def test_the_total_behind_a_bar_is_the_callers_where_parts_are_no_sum() -> None:
    """Two lines were predicted and not seen: 20 activities ran, not 22."""
    data = {"labels": ["SDPA math"], "series": [("as predicted", [3]), ("seen, not predicted", [17]), ("predicted, not seen", [2])], "totals": ["20 activities"], "unit": "lines"}
    found = texts("stacked", data)
    assert "20 activities" in found and "22 lines" not in found


def test_a_picture_carries_its_numbers_as_csv() -> None:
    """In full, as they were measured; what was not measured is empty."""
    root = ElementTree.fromstring(charts.svg("bars", DATA["bars"]))
    metadata = root.find(f"{SVG}metadata")
    assert metadata is not None and metadata.text == (
        ",value (µs),low (µs),high (µs),reference (µs)\nNaive,1056.0,1050.0,1060.0,\nSDPA flash,93.44,93.0,94.0,146.8\nSDPA cuDNN,,,,186.3\n")


@pytest.mark.parametrize("form, head", [
    ("stacked", ",matmul (µs),copy (µs)"), ("waterfall", "step,change (µs),total (µs)"), ("lanes", "lane,name,kind or depth,start (µs),duration (µs),launched (µs)"),
    ("forwards", "forward,role,start (µs),duration (µs)"), ("roofline", "what,FLOP per byte,FLOP per second"), ("memory", "memory,size,holds"),
    ("tiling", "sequence,queries per tile,keys per tile,causal"), ("slots", "kernel,warps per block,blocks,slots,resource,share held"),
])
def test_every_form_has_a_table(form: str, head: str) -> None:
    metadata = ElementTree.fromstring(charts.svg(form, DATA[form])).find(f"{SVG}metadata")
    assert metadata is not None and (metadata.text or "").splitlines()[0] == head


def test_every_role_and_every_limit_has_a_colour() -> None:
    """A word that a trace may bring in must not stop a page."""
    from reportgen.analysis.bounds import Limit
    from variants import ROLES

    assert len(palettes.distinct([f"role:{role}" for role in ROLES])) == 15
    assert len(palettes.distinct([f"limit:{limit.value}" for limit in Limit])) == 4


def test_variants_that_were_added_have_colours_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """By their place at the end of the list; the seventh and later share a grey, with their names beside the bars."""
    import variants

    monkeypatch.setattr(variants, "VARIANTS", ("naive", "einsum", "other_way", *(f"more_{index}" for index in range(6))))
    assert [palettes.of_variant(name).name for name in ("naive", "einsum", "other_way", "more_3", "more_4", "more_5")] == ["variant-naive", "added-1", "added-2", "added-6", "added-other", "added-other"]
