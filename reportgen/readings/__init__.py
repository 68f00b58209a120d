"""What counters, ceilings and launches show where the article claims nothing: pages without verdicts, in reading order.

A reading is one file with its questions, rules and answers, one template below `templates/readings/`,
and one line in `READINGS`. Pages and `facts --json` show the same answers.
"""

from __future__ import annotations

from ..analysis import RunFacts
from ..questions.evaluate import outcomes
from ..questions.model import Finding, Outcome, Question
from . import limits, roofline, square, three_ways, traffic
from .counting import COUNTING

READINGS: tuple[Finding, ...] = (traffic.READING, square.READING, roofline.READING, limits.READING, three_ways.READING)


def questions() -> tuple[Question, ...]:
    """Every question, in page order; whether this run counted comes first."""
    return (COUNTING, *(question for reading in READINGS for question in reading.questions))


def answers(facts: RunFacts) -> dict[str, Outcome]:
    """Question id → its answer on one run, in page order."""
    return outcomes(questions(), facts)


__all__ = ["COUNTING", "READINGS", "answers", "questions"]
