"""What the built site's tables get that Markdown cannot say: a caption, a box with a name, scopes, marks on cells."""

from __future__ import annotations

import re

import markdown
import pytest

from reportgen.saying.elements import styled

WIDE = "| " + " | ".join("abcdefgh") + " |\n|" + " --- |" * 8 + "\n| " + " | ".join("12345678") + " |\n"
NARROW = "| Variant | Time |\n| --- | ---: |\n| Naive | 1 ms |\n"


def built(text: str) -> str:
    return markdown.markdown(text, extensions=["tables", "md_in_html", "attr_list", "toc", "reportgen.saying.elements"])


def test_the_emphasised_paragraph_before_a_table_is_its_caption_and_its_boxs_name():
    html = built(f"## Times\n\n*What `x` takes.*\n\n{NARROW}")
    assert "<caption>What <code>x</code> takes.</caption>" in html
    assert '<div class="data-box" data-name="What x takes."><table class="data">' in html and "<p>" not in html


def test_a_sentence_under_a_chart_stays_the_charts():
    html = built(f"## Times\n\n![alt](a.svg)\n\n*The chart's sentence.*\n\n{NARROW}")
    assert "<caption>" not in html and "<p><em>The chart's sentence.</em></p>" in html and 'data-name="Times"' in html


def test_a_paragraph_with_more_than_an_emphasised_sentence_is_no_caption():
    assert "<caption>" not in built(f"*Look* here.\n\n{NARROW}")


def test_a_table_in_a_fold_is_named_by_the_folds_summary():
    html = built(f'## Evidence\n\n<details markdown="1">\n<summary>Every kernel</summary>\n\n{NARROW}\n</details>\n')
    assert 'data-name="Every kernel"' in html


def test_two_tables_of_one_name_are_told_apart():
    html = built(f"## Times\n\n{NARROW}\n\nand\n\n{NARROW}")
    assert re.findall(r'data-name="([^"]+)"', html) == ["Times", "Times (2)"]


@pytest.mark.parametrize("text, found", [(WIDE, True), (NARROW, False)], ids=["eight columns", "two columns"])
def test_a_table_that_a_screen_may_not_hold_is_reached_by_the_keyboard_without_a_script(text, found):
    html = built(f"## Times\n\n{text}")
    assert ('<div aria-label="Times" class="data-box" role="region" tabindex="0">' in html) is found
    assert ('class="data dense"' in html) is found


def test_heads_have_a_scope_and_cells_that_repeat_or_are_short_are_marked():
    html = built("| Variant | Note |\n| --- | --- |\n| Naive, written by hand | 58.6 µs |\n| Naive, written by hand | in every process |\n| Flash | — |\n")
    assert html.count('scope="col"') == 2
    assert re.findall(r"<td([^>]*)>", html) == ["", ' class="short"', ' class="again"', "", ' class="short"', ' class="short"']


def test_words_of_others_cannot_leave_the_boxs_name():
    html = built(f'## A " onfocus=alert(1) <b>\n\n{NARROW}')
    assert re.search(r'data-name="A &quot; onfocus=alert\(1\)[^"]*"><table', html)


SIX = "| Variant | GPU | Wall time | It's odd | Kernels | Peak memory |\n|" + " --- |" * 6 + "\n| Naive | 1 ms | 2 ms | no | 5 | 528 MiB |\n"


def test_a_table_wider_than_a_phone_carries_its_heads_so_that_its_rows_can_be_paragraphs_there():
    html = built(f"## Times\n\n{SIX}")
    assert '<table class="data stack" style="--h1:\'Variant\';--h2:\'GPU\';--h3:\'Wall time\';--h4:\'It\\\'s odd\';--h5:\'Kernels\';--h6:\'Peak memory\'">' in html


def test_a_table_that_a_phone_has_room_for_stays_a_table():
    assert '<table class="data">' in built(f"## Times\n\n{NARROW}")


def test_a_backslash_and_a_quote_in_a_head_cannot_end_its_string_in_the_style():
    assert styled(["a\\", "b';color:red"]) == "--h1:'a\\\\';--h2:'b\\';color:red'"


def test_the_heading_stands_before_the_comment_of_a_generated_page():
    """An engine takes a page's title from the heading only where nothing stands before it; what is no comment stays where it is."""
    heading = '<h1 id="a-title">A title</h1>'
    assert built("<!-- Generated. -->\n\n# A title\n\nWords.") == f"{heading}\n<!-- Generated. -->\n\n<p>Words.</p>"
    assert built("<!-- Generated. -->\n\nWords.\n\n# A title") == f"<!-- Generated. -->\n\n<p>Words.</p>\n{heading}"
    assert built("Words.\n\n# A title") == f"<p>Words.</p>\n{heading}"
    assert built("<div>x</div>\n\n# A title").index("<div>") < built("<div>x</div>\n\n# A title").index("<h1")
