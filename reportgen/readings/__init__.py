"""What counters, ceilings and launches show where the article claims nothing: pages without verdicts, in reading order.

A reading is one file with its questions, rules and answers, one template below `templates/readings/`,
and one line in `READINGS`. Pages and `facts --json` show the same answers.
"""

from __future__ import annotations

from ..analysis import RunFacts
from . import limits, roofline, square, three_ways, traffic
from .base import Answered, Question, Reading, answer
from .counting import COUNTING

READINGS: tuple[Reading, ...] = (traffic.READING, square.READING, roofline.READING, limits.READING, three_ways.READING)


def questions() -> tuple[Question, ...]:
    """Every question, in page order; whether this run counted comes first."""
    return (COUNTING, *(question for reading in READINGS for question in reading.questions))


def answers(facts: RunFacts) -> dict[str, Answered]:
    """Question id → its answer on one run, in page order."""
    return {question.id: answer(question, facts) for question in questions()}


__all__ = ["COUNTING", "READINGS", "Answered", "Question", "Reading", "answer", "answers", "questions"]
