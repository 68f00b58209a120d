"""Imports the program with every one of its English sentences reworded, and prints all that it then says.

    python tests/rewording.py plain OUT     # as it is
    python tests/rewording.py reworded OUT  # each word has another ending

Writes one JSON object to OUT: what is said where (pages, README, terminal, JSON, differences, refusals) → the text. The
endings are Hangul syllables, which the program uses nowhere, so `plain_again` takes them off. A program that decides
nothing by reading a sentence then says the same, letter for letter, both times.

An ending depends on the whole literal: what is compared as a whole stays equal, what is looked for inside another sentence
is not found. A sentence of `SENTENCE` words or more also has the ending of its module: typed twice, it is two sentences.
"""

from __future__ import annotations

import ast
import functools
import importlib.abc
import importlib.machinery
import json
import re
import sys
import tempfile
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SENTENCE = 5
"""Words from which a literal is a sentence and no term."""
DATA = {
    "registers per thread": "a key of Kineto's", "shared memory": "likewise", "est. achieved occupancy %": "likewise", "theoretical occupancy %": "likewise",
    "(anonymous namespace)": "C++ in kernel names", "(anonymous namespace)::": "likewise", "void ": "likewise",
    "unsigned char": "a type of C++ in kernel names", "unsigned int": "likewise", "unsigned long": "likewise", "long long": "likewise",
    "unsigned short": "likewise", "unsigned long long": "likewise", "signed char": "likewise",
    "Fill": "a functor in kernel names", "Binary": "likewise", "Load": "likewise", "Compare": "likewise",
    "No available kernel": "torch's words for a refusal", "Aborting execution": "likewise",
    **dict.fromkeys(("gradient of q", "gradient of k", "gradient of v", "gradient of the mask", "output of a second call with the same seed"), "a tensor: part of the vocabulary of run.json"),
    "fused attention": "a role: recorded in predictions, and part of the vocabulary of run.json",
}
"""Literals that are recorded data or other programs' words, not sentences of ours → why."""
MODULES = {"reportgen.hardware.peaks": "names of products, as a driver gives them", "reportgen.run.upgrade": "what older programs recorded"}
"""Modules whose literals are all of that kind → why."""
_KEPT = re.compile(r"`[^`]*`|\{[^{}]*\}|<[^<>]*>|\]\([^)]*\)|[\w-]+[/\\_:.=<>(\[|]+[\w-][\w/\\_:.=<>()\[\]|-]*")
_WORD = re.compile(r"\b[A-Z]?[a-z]{2,}\b")
_ENDINGS = re.compile("[가-힣]+")
FIRST, COUNT = ord("가"), ord("힣") - ord("가") + 1


def plain_again(text: str) -> str:
    return _ENDINGS.sub("", text)


def is_prose(text: str) -> bool:
    """Whether a literal has a word and a blank beside it (a sentence, or a piece of one), or is a word with a capital (a head, a label)."""
    phrase = " " in text and _WORD.search(_KEPT.sub("", text))
    return text not in DATA and bool(phrase or re.fullmatch("#?[A-Z][a-z]{2,}[.:]?", text))


def reworded(text: str, where: str = "") -> str:
    """Another sentence with the same placeholders and code. `where`: the module or template that holds it."""
    if not is_prose(text) or where in MODULES:
        return text
    ending = chr(FIRST + zlib.crc32((text + (where if len(text.split()) >= SENTENCE else "")).encode()) % COUNT)
    out, last = [], 0
    for kept in _KEPT.finditer(text):
        out += [_WORD.sub(lambda word: word.group() + ending, text[last:kept.start()]), kept.group()]
        last = kept.end()
    return "".join([*out, _WORD.sub(lambda word: word.group() + ending, text[last:])])


class Rewording(ast.NodeTransformer):
    """Rewords string constants; patterns of regular expressions and docstrings stay."""

    def __init__(self, where: str = "") -> None:
        self._where = where

    def visit_Call(self, node: ast.Call) -> ast.AST:
        called = node.func
        if isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name) and called.value.id == "re":
            node.args = [node.args[0], *(self.visit(argument) for argument in node.args[1:])] if node.args else []
            return node
        return self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        return node if isinstance(node.value, ast.Constant) else self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        return ast.copy_location(ast.Constant(reworded(node.value, self._where)), node) if isinstance(node.value, str) else node


class Loader(importlib.machinery.SourceFileLoader):
    def source_to_code(self, data, path, *, _optimize=-1):  # type: ignore[no-untyped-def]
        tree = ast.fix_missing_locations(Rewording(self.name).visit(ast.parse(data)))
        return compile(tree, path, "exec", dont_inherit=True, optimize=_optimize)

    def get_code(self, fullname):  # type: ignore[no-untyped-def]
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)


class Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):  # type: ignore[no-untyped-def]
        if name.split(".")[0] != "reportgen":
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec is not None and spec.origin and spec.origin.endswith(".py"):
            spec.loader = Loader(name, spec.origin)
        return spec


def templates_too() -> None:
    """What stands between the tags of a template is reworded as well, and so are the strings within them."""
    import jinja2

    read = jinja2.FileSystemLoader.get_source
    lexer = jinja2.Environment()

    @functools.wraps(read)
    def get_source(self: Any, environment: Any, template: str) -> tuple[str, str | None, Callable[[], bool] | None]:
        source, file, fresh = read(self, environment, template)
        return "".join(reworded(value, template) if kind in ("data", "string") else value for _, kind, value in lexer.lex(source)), file, fresh

    jinja2.FileSystemLoader.get_source = get_source  # type: ignore[method-assign]


def said(copies: list[str]) -> dict[str, str]:
    """Everything that the program says about the recorded runs, the made-up devices and the named copies."""
    from builder_devices import DEVICES
    from builders import facts, no_lane

    from reportgen import analysis, findings
    from reportgen import run as run_room
    from reportgen.commands import summary
    from reportgen.pages import site
    from reportgen.questions import evaluate

    evaluate.CONTAIN = False
    site.charts.svg = lambda *_: b'<svg xmlns="x"></svg>'
    summary.WIDTH = 10**9  # lines are broken by length, which is no decision
    recorded = [analysis.build(run_room.load(folder)) for folder in run_room.discover(ROOT / "docs" / "runs")]
    out = _said_of("recorded", recorded)
    for name, run in {**{name: facts(name) for name in DEVICES}, "no lane": no_lane(facts()), "no variants": replace(facts(), variants={})}.items():
        out |= _said_of(name, [run], rendered=name != "no variants")
    out |= _of_review(recorded, findings)
    out |= _of_copies(copies)
    return out


def _said_of(name: str, runs: list[Any], rendered: bool = True) -> dict[str, str]:
    from reportgen import findings, pages
    from reportgen.commands import facts_json, summary
    from reportgen.pages import readme

    out: dict[str, str] = {}
    if rendered:
        out |= {f"{name}: {path}": text for path, text in pages.render_facts(runs, runs[0].slot).items() if isinstance(text, str)}
    for run in runs:
        outcomes = findings.outcomes(run)
        out[f"{name}: {run.slot}: README"] = readme.section(run, outcomes)
        out[f"{name}: {run.slot}: terminal"] = summary.summary(run, outcomes, {"profile": 60.0}, "here")
        out[f"{name}: {run.slot}: JSON"] = json.dumps(facts_json.to_json(run, outcomes), indent=1, ensure_ascii=False, default=str)
    return out


def _of_review(recorded: list[Any], findings: Any) -> dict[str, str]:
    """Each recorded run against each other, and a folder of runs that cannot be merged."""
    from reportgen.errors import ReportError
    from reportgen.review import diff, merge
    from reportgen.review.diff import as_json, gates, render
    from reportgen.review.diff.trees import compare_trees, slots

    sides = [diff.Side(run, findings.outcomes(run)) for run in recorded]
    out = {}
    for one in sides:
        for other in sides:
            compared = diff.compare(one, other)
            out[f"{one.facts.slot} against {other.facts.slot}"] = render.run_markdown(compared, "title") + json.dumps(as_json.run_json(compared), ensure_ascii=False, indent=1, default=str)
    held = slots(ROOT / "docs" / "runs")
    turned = dict(zip(held, reversed(held.values())))
    trees = compare_trees("old", held, "new", turned)
    out["trees"] = render.tree_markdown(trees, limit=10**9) + "\n".join(gates.failed(trees, gates.GATES))
    with tempfile.TemporaryDirectory() as folder:
        damaged = Path(folder) / "damaged"
        damaged.mkdir()
        (damaged / "run.json").write_text("{", encoding="utf-8")
        for name, sources in {"damaged": [damaged], "nothing": [Path(folder) / "none"], "other": [ROOT / "tests" / "data" / "run-schema-1"]}.items():
            try:
                out[f"merge {name}"] = "\n".join(one.state for one in merge.survey(merge.find(sources), ROOT / "docs" / "runs"))
            except ReportError as error:
                out[f"merge {name}"] = f"{error}".replace(folder, "")
    return out


def _of_copies(copies: list[str]) -> dict[str, str]:
    from perturbed.catalogue import PERTURBATIONS
    from perturbed.harness import Copy

    out = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in copies:
            copy = Copy(PERTURBATIONS[name], Path(folder) / name)
            if refusal := copy.refusal:
                out[f"{name}: refused"] = refusal.replace(folder, "")
            else:
                out |= _said_of(name, [copy.facts])
    return out


if __name__ == "__main__":
    sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
    sys.dont_write_bytecode = True
    if sys.argv[1] == "reworded":
        sys.meta_path.insert(0, Finder())
        templates_too()
    Path(sys.argv[2]).write_text(json.dumps(said(sys.argv[3:]), ensure_ascii=False), encoding="utf-8")
