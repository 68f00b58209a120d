"""What is typed in Python states no result either: titles, questions, captions, notes, advice and every other sentence.

The words that depend on a run come in through arguments. The thresholds that rules decide by come in from their
constants: as `{rules[…]}` from `questions/thresholds.py`, or as an argument where one rule alone has the constant. What
must stand has an entry with its reason.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from builders import facts
from case_tables import outcome
from template_rules import FRACTION, NAMES
from turned import counted

from reportgen.analysis import bounds, round_trips, traffic
from reportgen.findings import inplace, math_cuda_cores, safe_softmax
from reportgen.hardware import arch_limits
from reportgen.numbers import ranks, statistics
from reportgen.pages import environment
from reportgen.questions.evaluate import fill
from reportgen.questions.thresholds import rules

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("questions", "findings", "readings", "pages", "commands", "analysis", "review")
NO_SENTENCES = {"pages/charts/paint.py": "SVG: paths and patterns of it"}
RULES = {
    "device": re.compile(r"\b(?:[ABHLTV]\d{2,3}|GB\d{3}|RTX|GTX|MI\d{3}X?|Hopper|Ampere|Blackwell|Turing|Volta|GeForce|Tesla|Radeon|Instinct|Xeon|Epyc)\b"),
    "processes": re.compile(r"\b(?:all|the|seven|in seven) (?:seven )?processes agree\b|\bseven\b", re.I),
    "timer": re.compile(r"\b(?:medians of |come from )?(?:CUDA )?graph replays?\b", re.I),
    "number": re.compile(r"(?<![\w.·=-])\d(?:[\d.,]*\d)?(?!·)(?:\s?(?:%|×|µs|ms|TB/s|TFLOP/s|KiB|MiB)(?!\w))?"),
    "border": FRACTION,
    "six": re.compile(r"\bof the six\b"),
}
ALLOWED = {
    "0 %": "the reading that the claim is about",
    "predicts 0 for": "likewise",
    "read 0:": "likewise",
    "a 0 in that column": "likewise",
    "and shows 0.": "likewise",
    "rounds to 0": "what rounding gives",
    "12.5 %": "what the claim states, of the article",
    "2 blocks of 4 warps": "likewise",
    "doubles the bytes": "likewise",
    "flash is the fastest of the six": "what the claim states",
    "the only one of the six": "the six are who was asked, not who ran",
    "other kernel of the six": "the six are who was asked",
    "the kernels of the six": "likewise",
    "issued by four warps together": "what the vendor defines `wgmma` by",
    "moves twice the bytes": "an element of FP32 beside one of 16 bits",
    "half the square": "above the diagonal: the name of a page",
    "0.0 %": "what a small share must not be rounded to",
    "exit status 1 if": "what a shell reads",
    "Exit status: 1 if": "likewise", "of them; 0 if not": "likewise", "refuses); 2 for errors": "likewise",
    "{}:1:": "the first line of a file",
    "half written": "of pages",
    "with status 1": "of a process", "Exit status: 0 nothing": "likewise", "way, 1 something": "likewise", "report, 2 nothing": "likewise", "exit with 2": "likewise",
    "--sequence 2048": "an example of a command",
    "localhost:8000": "where a server listens",
}


WHOLE = {"graph replays": "what a timer is called, where a run names it (`questions.ranked`)"}


def sentences(file: Path) -> list[tuple[int, str]]:
    """Every string of several words in a module, docstrings left out; of one with values in it the words, with `{}` for each value."""
    return typed(ast.parse(file.read_text(encoding="utf-8")))


def typed(tree: ast.Module) -> list[tuple[int, str]]:
    documented = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)}
    joined = [node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)]
    specs = [value.format_spec for node in joined for value in node.values if isinstance(value, ast.FormattedValue) and value.format_spec]
    parts = documented | {id(part) for node in joined for part in node.values} | {id(node) for node in specs}
    found = [(node.lineno, "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)) for node in joined if id(node) not in parts]
    found += [(node.lineno, node.value) for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts]
    return [(line, text) for line, text in found if " " in text.strip()]


def stated(text: str) -> list[str]:
    if text in WHOLE or text.startswith(("<script>", "import ")):  # code for a browser, or for another Python
        return []
    for constant in sorted(ALLOWED, key=len, reverse=True):
        text = re.sub(rf"(?<![\w.]){re.escape(constant)}", " ", text, flags=re.I)
    text = NAMES.sub(" ", re.sub(r"`[^`]*`|\{[^{}]*\}|<[^<>]*>", " ", text))
    return [f"{what}: {match.group()!r}" for what, rule in RULES.items() for match in rule.finditer(text)]


@pytest.mark.parametrize("room", ROOMS)
def test_no_sentence_of_python_states_a_number_a_border_a_device_a_timer_or_a_number_of_processes(room):
    found = [f"{file.relative_to(ROOT)}:{line}: {what} in {text[:90]!r}" for file in sorted((ROOT / "reportgen" / room).rglob("*.py"))
             if file.relative_to(ROOT / "reportgen").as_posix() not in NO_SENTENCES for line, text in sentences(file) for what in stated(text)]
    assert found == []


def test_every_exception_has_a_reason_and_is_still_needed():
    whole = "\n".join(text for room in ROOMS for file in (ROOT / "reportgen" / room).rglob("*.py") for _, text in sentences(file)).lower()
    assert [constant for constant, reason in ALLOWED.items() if not reason or constant.lower() not in whole] == []


@pytest.mark.parametrize("text", ["all seven processes agree", "Times are medians of graph replays.", "It reaches 60 % of the ceiling.", "On an H200 it is one kernel.", "the fastest of the six",
                                  "more than 48 KiB of shared memory", "above 49,152 B", "apart by more than a tenth", "±15 % of the article's", "by more than half a point", "in a hundredth of the time",
                                  "smaller than twice the cache", "smaller than four times the cache", "less than half of it", "two thirds of the time", "a multiple of 8 in 16 bits", "within five points"])
def test_the_rule_finds_each_kind(text):
    assert stated(f"We say: {text}")


@pytest.mark.parametrize("text", ["a 16-bit type, in FP32 or bf16", "more than {rules[apart]} of it", "`x > 48` is code", "give ACCEPT=1", "FlashAttention-2 has 2·B·H·S²·D", "half precision", "give two runs"])
def test_the_rule_lets_names_code_and_arguments_pass(text):
    assert stated(f"We say: {text}") == []


@pytest.mark.parametrize("source, words", [
    ('head = f"Above 48 KiB of {x}"', ["Above 48 KiB of {}"]),
    ('head = f"{x:.1f} is {f(\'more than a tenth\')}"', ["{} is {}", "more than a tenth"]),
    ('"""A docstring of 7 words."""\nname = "word"', []),
])
def test_a_sentence_is_read_as_a_whole_with_its_values_left_out(source, words):
    assert [text for _, text in typed(ast.parse(source))] == words


CONSTANTS = [
    (bounds, "ENOUGH", 0.65, "enough", "65 %"), (round_trips, "HALF", 0.4, "half", "40 %"), (round_trips, "SLACK", 0.08, "slack", "8 %"), (statistics, "MINIMUM_EFFECT", 0.03, "effect", "3 %"), (statistics, "MAGNITUDE_TOLERANCE", 0.17, "magnitude", "17 %"),
    (ranks, "ALPHA", 0.02, "alpha", "0.02"), (statistics, "PROCESSES", 9, "processes", "nine"), (statistics, "PROCESSES", 9, "chance", "512"),
    (bounds, "AGREEMENT", 0.2, "apart", "20 %"), (traffic, "SPILL", 0.25, "spill", "25 %"), (traffic, "OPERANDS_BEYOND_CACHE", 5, "beyond_cache", "five times"),
    (bounds, "CACHES_FULL", 3, "caches_full", "three times"), (bounds, "WORTH_NAMING", 0.02, "weighty", "2 %"),
    (arch_limits, "DEFAULT_SHARED_MEMORY", 65536, "default_shared", "64 KiB"), (arch_limits, "DEFAULT_SHARED_MEMORY", 65536, "default_shared_exact", "65,536"),
]


@pytest.mark.parametrize("room, constant, value, name, said", CONSTANTS, ids=lambda value: value if isinstance(value, str) else "")
def test_a_sentence_says_the_constant_that_decides(monkeypatch, room, constant, value, name, said):
    assert fill(f"<{{rules[{name}]}}>", {}) != f"<{said}>"
    monkeypatch.setattr(room, constant, value)
    assert fill(f"<{{rules[{name}]}}>", {}) == f"<{said}>"


@pytest.mark.parametrize("room, constant, value, claim, said", [
    (inplace, "SAME_PEAK", 0.02, "inplace-memory", "the output of 16 MiB, within 2 %."),
    (safe_softmax, "ONCE", 0.05, "math-accurate", "within 5 %), so no"),
    (math_cuda_cores, "EIGHT", 7, "math-no-tensor-cores", "in 16 bits, sizes must be multiples of 7"),
])
def test_a_claim_says_the_constant_that_it_alone_decides_by(monkeypatch, room, constant, value, claim, said):
    def told() -> str:
        found = outcome(claim, counted(facts("h200"), "naive_inplace", tensor_core_flop=0.0) if room is math_cuda_cores else facts("h200"))
        return " ".join((found.said, *found.because, *(piece.says for piece in found.pieces)))

    assert said not in told()
    monkeypatch.setattr(room, constant, value)
    assert said in told()


def test_every_threshold_is_tried_above_and_asked_for_by_a_sentence():
    asked = {".py": r"\brules(?:\(\))?\[[\"']?(\w+)", ".j2": r"\brules\.(\w+)"}
    used = {name for file in (ROOT / "reportgen").rglob("*") if file.suffix in asked for name in re.findall(asked[file.suffix], file.read_text(encoding="utf-8"))}
    assert {name for *_, name, _ in CONSTANTS} == set(rules())
    assert used == set(environment.rules())
