"""No verdict, case, row, note, cause, caveat, cure or piece of advice is decided by reading one of our own sentences."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import rewording

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "tests" / "rewording.py"
EVERY = 9
"""Of the perturbed copies every so many are asked; all of them with PERTURBED=all."""
TELLING = ("cudnn_trace_lost", "old_wrong_default_not_finite", "old_default_not_asked", "hostile_reason")
"""These are asked always: each has shown code that read a sentence, or holds words of others."""


def asked(how: str, copies: list[str], folder: Path) -> dict[str, str]:
    out = folder / f"{how}.json"
    subprocess.run([sys.executable, "-E", str(SCRIPT), how, str(out), *copies], check=True)
    return json.loads(out.read_text(encoding="utf-8"))


def even(what: str, text: str) -> str:
    """Columns of the terminal are as wide as their words."""
    return re.sub(" +", " ", text) if what.endswith("terminal") else text


def test_every_sentence_reworded_says_the_same_in_other_words(tmp_path):
    """Pages, README, terminal, JSON, differences and refusals of recorded runs, made-up devices and perturbed copies, word by word."""
    from perturbed.catalogue import PERTURBATIONS

    names = list(PERTURBATIONS)
    copies = names if os.environ.get("PERTURBED") == "all" else sorted({*names[::EVERY], *TELLING}, key=names.index)
    plain, other = asked("plain", copies, tmp_path), asked("reworded", copies, tmp_path)
    differing = [f"{what}: {line!r} and then {then!r}" for what in plain
                 for line, then in zip(even(what, plain[what]).split("\n"), even(what, rewording.plain_again(other.get(what, ""))).split("\n")) if line != then]
    assert differing == [] and {what: len(text.split("\n")) for what, text in plain.items()} == {what: len(text.split("\n")) for what, text in other.items()}
    assert len(plain) > 900
    # most words of the pages are ours, and all of those are other words now
    front = other["recorded: index.md"]
    assert len(re.findall("[가-힣]", front)) > 1000 and plain["recorded: index.md"] != front


@pytest.mark.parametrize("text, then", [
    ("The grid is small: {blocks} blocks.", "The- grid- is- small-: {blocks} blocks-."),
    ("Not measurable: no `aten::add_` here", "Not- measurable-: no- `aten::add_` here-"),
    ("[the page](findings/fastest.md) has <b>it</b>", "[the- page-](findings/fastest.md) has- <b>it</b>"),
    (" of ", " of- "), ("#Kernels", "#Kernels-"), ("note: ", "note-: "),
    ("fused attention", "fused attention"), ("gpu_time", "gpu_time"), ("kernel", "kernel"),
])
def test_rewording_keeps_placeholders_code_and_names(text, then):
    assert re.sub("[가-힣]", "-", rewording.reworded(text)) == then
    assert rewording.plain_again(rewording.reworded(text)) == text


READERS = {
    "a beginning": ('SAID = "The grid is small: {}."\nfound = SAID.format(4).startswith("The grid is small")', True),
    "a piece": ('found = "nothing was merged: damaged".partition(": damaged")[1] != ""', True),
    "a head": ('from reportgen.saying.tables import columns\nfound = columns("Kernel", "Achieved, counted")[1].title in ("Kernel", "Achieved")', False),
    "a value": ('KIND = "within noise"\nfound = KIND == "within noise"', True),
    "a pattern": ('import re\nfound = bool(re.match("The grid is small", "The grid is small: 4."))', True),
}


@pytest.mark.parametrize("kind, then", [("a beginning", False), ("a piece", False), ("a head", False), ("a value", True), ("a pattern", False)])
def test_code_that_reads_its_own_sentence_decides_otherwise_when_reworded(kind, then):
    """What is compared as a whole stays equal; what is looked for inside a sentence is not found."""
    source, plainly = READERS[kind]
    plain: dict[str, object] = {}
    other: dict[str, object] = {}
    exec(source, plain)
    exec(compile(ast.fix_missing_locations(rewording.Rewording("m").visit(ast.parse(source))), "m", "exec"), other)
    assert (plain["found"], other["found"]) == (plainly, then)


def test_a_sentence_that_is_typed_in_two_modules_is_two_sentences():
    sentence = "compiling takes longer than the rest"
    assert rewording.reworded(sentence, "reportgen.one") != rewording.reworded(sentence, "reportgen.other")
    assert rewording.reworded("within noise", "reportgen.one") == rewording.reworded("within noise", "reportgen.other")


LOOKS = {"startswith", "endswith", "removeprefix", "removesuffix", "partition", "rpartition", "split", "rsplit", "index", "count", "find"}
OTHERS_WORDS = {
    ("capture/causes.py", "driver on your system is too old"): "torch's",
    ("capture/counter_report.py", "no data"): "Nsight Compute's",
    ("capture/refusal.py", "out of memory"): "torch's", ("capture/trying.py", "out of memory"): "torch's",
    ("capture/environment.py", "model name"): "the kernel's, in /proc/cpuinfo",
    ("fleet/jobs.py", "error: "): "the mark of a node's error, whose two lines are shown and not judged", ("fleet/jobs.py", "  what to do: "): "likewise",
    ("pages/charts/paint.py", "<svg "): "XML", ("pages/finish.py", "<svg "): "XML", ("pages/finish.py", '<svg class="chart"'): "XML",
    ("pages/slim.py", ' style="text-align: right;"'): "Python-Markdown's", ("pages/site.py", "<svg "): "XML", ("pages/slim.py", "<svg "): "XML",
    ("pages/scripts.py", "import torch"): "Python's",
    ("pages/publish.py", "Traceback (most recent call last)"): "Python's",
    ("review/diff/trees.py", "not a git repository"): "git's", ("review/diff/trees.py", "fatal: "): "git's",
    ("review/history/repository.py", "not a git repository"): "git's", ("review/history/repository.py", "fatal: "): "git's",
    ("run/upgrade.py", "not asked for in this run"): "recorded by schema 1",
    ("run/upgrade.py", "compiling takes longer than the rest of a CPU run; ask for this variant by name to have it"): "likewise",
    ("run/upgrade.py", "wrong result: "): "likewise",
    ("trace/unpack.py", "Expecting ',' delimiter"): "Python's",
}
"""Sentences that code may look for, since others wrote them → who. Those in `rewording.DATA` need no entry."""


def vocabulary() -> set[str]:
    """Values of `Literal` types and of `VERDICTS`: terms that a type checker knows."""
    from reportgen.questions.model import VERDICTS

    found = set(VERDICTS)
    for file in (ROOT / "reportgen").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id == "Literal":
                found |= {one.value for one in ast.walk(node.slice) if isinstance(one, ast.Constant) and isinstance(one.value, str)}
    return found


def looked_for(tree: ast.Module) -> list[str]:
    """Prose that code looks for in a text, takes off it, or compares one with."""
    named = {node.targets[0].id: node.value for node in tree.body if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)}

    def prose(*nodes: ast.expr) -> list[str]:
        nodes = tuple(named.get(node.id, node) if isinstance(node, ast.Name) else node for node in nodes)
        parts = [part for node in nodes for part in (node.elts if isinstance(node, (ast.Tuple, ast.List, ast.Set)) else [node])]
        return [one.value for one in parts if isinstance(one, ast.Constant) and isinstance(one.value, str) and " " in one.value and rewording.is_prose(one.value)]

    found: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in LOOKS:
            found += prose(*node.args)
        if isinstance(node, ast.Compare) and not isinstance(node.ops[0], (ast.Is, ast.IsNot)):
            found += prose(node.left, *node.comparators)
    return found


def test_no_code_looks_for_a_sentence_of_ours():
    """Also where no run of this test comes by: in the commands, and in what runs beside torch only."""
    terms = vocabulary()
    found = {(str(file.relative_to(ROOT / "reportgen")), text) for file in sorted((ROOT / "reportgen").rglob("*.py"))
             for text in looked_for(ast.parse(file.read_text(encoding="utf-8"))) if text not in terms}
    assert found - set(OTHERS_WORDS) == set()
    assert set(OTHERS_WORDS) - found == set(), "an entry that is no longer needed"
