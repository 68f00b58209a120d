"""A waterfall leads from one measured total to another: its steps add up, and what they leave over must be named."""

from __future__ import annotations

import pytest

from reportgen.questions.bar_charts import Step, Total, Waterfall, waterfall

START, END = Total("Naive in place", 936e-6, "naive_inplace"), Total("SDPA math", 2622e-6, "sdpa_math")


def test_steps_that_add_up_become_a_chart_in_microseconds() -> None:
    shown = Waterfall(START, (Step("matmuls in FP32", 1778e-6), Step("scale", -92e-6)), END)
    (chart,) = waterfall("why", shown, "alt", "caption")
    assert chart.form == "waterfall" and chart.data["unit"] == "µs"
    assert [(label, round(value, 6)) for label, value in chart.data["steps"]] == [("matmuls in FP32", 1778.0), ("scale", -92.0)]
    assert (chart.data["start"][0], round(chart.data["start"][1], 6), chart.data["start"][2]) == ("Naive in place", 936.0, "naive_inplace")


def test_a_step_that_is_missing_is_refused() -> None:
    """1,778 - 92 lead from 936 to 2,622; without the second the bars would end 92 µs beside the total."""
    with pytest.raises(ValueError, match="end 92.0 µs beside its end"):
        Waterfall(START, (Step("matmuls in FP32", 1778e-6),), END)
