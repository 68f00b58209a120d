"""What is typed in Python states no result either: titles, questions, captions, notes, advice and every other sentence.

The words that depend on a run come in through arguments. What must stand has an entry with its reason.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("questions", "findings", "readings", "pages", "commands", "analysis", "review")
RULES = {
    "device": re.compile(r"\b(?:[ABHLTV]\d{2,3}|GB\d{3}|RTX|GTX|MI\d{3}X?|Hopper|Ampere|Blackwell|Turing|Volta|GeForce|Tesla|Radeon|Instinct|Xeon|Epyc)\b"),
    "processes": re.compile(r"\b(?:all|the|seven|in seven) (?:seven )?processes agree\b|\bseven\b", re.I),
    "timer": re.compile(r"\b(?:medians of |come from )?(?:CUDA )?graph replays?\b", re.I),
    "figure": re.compile(r"(?<![\w.{])\d+(?:\.\d+)?\s?(?:%|×|µs|ms|TB/s|TFLOP/s|KiB|MiB)(?!\w)"),
    "six": re.compile(r"\bof the six\b"),
}
ALLOWED = {
    "48 KiB": "the profiler's own limit, the mechanism that the finding is about (`arch_limits.DEFAULT_SHARED_MEMORY`; a test holds the two together)",
    "0 %": "the reading that the claim is about",
    "12.5 %": "what the claim states, of the article",
    "±15 %": "the rule's tolerance; a test holds it and the constant together",
    "within 1 %": "`inplace.SAME_PEAK` and `safe_softmax.ONCE`",
    "flash is the fastest of the six": "what the claim states",
    "the only one of the six": "the six are who was asked, not who ran",
    "other kernel of the six": "the six are who was asked",
    "the kernels of the six": "likewise",
    "the forwards of the six": "likewise",
}


WHOLE = {"graph replays": "what a timer is called, where a run names it (`questions.ranked`)"}


def sentences(file: Path) -> list[tuple[int, str]]:
    """Every string of several words in a module, docstrings left out."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    documented = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)}
    return [(node.lineno, node.value) for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documented
            and re.search(r"[A-Za-z]{2,} [A-Za-z]{2,}", node.value)]


def stated(text: str) -> list[str]:
    if text in WHOLE:
        return []
    for constant in sorted(ALLOWED, key=len, reverse=True):
        text = re.sub(rf"(?<![\w.]){re.escape(constant)}", " ", text, flags=re.I)
    return [f"{what}: {match.group()!r}" for what, rule in RULES.items() for match in rule.finditer(re.sub(r"`[^`]*`|\{[^{}]*\}", " ", text))]


@pytest.mark.parametrize("room", ROOMS)
def test_no_sentence_of_python_states_a_figure_a_device_a_timer_or_a_number_of_processes(room):
    found = [f"{file.relative_to(ROOT)}:{line}: {what} in {text[:90]!r}" for file in sorted((ROOT / "reportgen" / room).rglob("*.py"))
             for line, text in sentences(file) for what in stated(text)]
    assert found == []


def test_every_exception_has_a_reason_and_is_still_needed():
    whole = "\n".join(text for room in ROOMS for file in (ROOT / "reportgen" / room).rglob("*.py") for _, text in sentences(file)).lower()
    assert [constant for constant, reason in ALLOWED.items() if not reason or constant.lower() not in whole] == []


@pytest.mark.parametrize("text", ["all seven processes agree", "Times are medians of graph replays.", "It reaches 60 % of the ceiling.", "On an H200 it is one kernel.", "the fastest of the six"])
def test_the_rule_finds_each_kind(text):
    assert stated(f"We say: {text}")
