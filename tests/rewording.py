"""Imports the program with every one of its English sentences reworded, and counts what it then says.

    python tests/rewording.py plain     # as it is
    python tests/rewording.py reworded  # each word of three or more small letters has another ending

Prints one JSON object: per run and question verdict (as its place among the verdicts), case and numbers of causes,
caveats and pieces of advice; per finding the shapes of its tables; per page its rows, bullets, headings and quotes.
A program that decides nothing by reading a sentence prints the same both times.
"""

from __future__ import annotations

import ast
import importlib.abc
import importlib.machinery
import json
import re
import sys
import zlib
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DATA = {
    "registers per thread": "a key of Kineto's", "shared memory": "likewise", "est. achieved occupancy %": "likewise", "theoretical occupancy %": "likewise",
    "(anonymous namespace)": "C++ in kernel names", "(anonymous namespace)::": "likewise",
    "fused attention": "a role: recorded in predictions, and part of the vocabulary of run.json",
    "unsigned char": "a type of C++ in kernel names", "unsigned int": "likewise", "unsigned long": "likewise", "long long": "likewise",
    "unsigned short": "likewise", "unsigned long long": "likewise", "signed char": "likewise",
}
"""Literals of several words that are recorded data or other programs' words, not sentences of ours."""
_KEPT = re.compile(r"`[^`]*`|\{[^{}]*\}|[\w-]+[/\\_:.=<>(\[|]+[\w-][\w/\\_:.=<>()\[\]|-]*")
_WORD = re.compile(r"\b[a-z]{3,}\b")


def _ending(text: str) -> str:
    number = zlib.crc32(text.encode())
    return chr(97 + number % 26) + chr(97 + number // 26 % 26)


def reworded(text: str) -> str:
    """Another sentence with the same placeholders and code.

    The same text always becomes the same, and its beginning alone becomes something else: what is
    compared as a whole stays equal, what is looked for inside another sentence is not found.
    """
    if text in DATA or not re.search(r"[A-Za-z]{2,} [A-Za-z]{2,}", text):
        return text
    ending = _ending(text)
    out, last = [], 0
    for kept in _KEPT.finditer(text):
        out += [_WORD.sub(lambda word: word.group() + ending, text[last:kept.start()]), kept.group()]
        last = kept.end()
    return "".join([*out, _WORD.sub(lambda word: word.group() + ending, text[last:])])


class Rewording(ast.NodeTransformer):
    """Rewords string constants; patterns of regular expressions and docstrings stay."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        called = node.func
        if isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name) and called.value.id == "re":
            node.args = [node.args[0], *(self.visit(argument) for argument in node.args[1:])] if node.args else []
            return node
        return self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        return node if isinstance(node.value, ast.Constant) else self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        return ast.copy_location(ast.Constant(reworded(node.value)), node) if isinstance(node.value, str) else node


class Loader(importlib.machinery.SourceFileLoader):
    def source_to_code(self, data, path, *, _optimize=-1):  # type: ignore[no-untyped-def]
        tree = ast.fix_missing_locations(Rewording().visit(ast.parse(data)))
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


def counted() -> dict[str, object]:
    from builder_devices import DEVICES
    from builders import facts, no_lane
    from reportgen import analysis, findings, pages, readings
    from reportgen import run as run_room
    from reportgen.pages import site
    from reportgen.questions.model import VERDICTS

    site.charts.svg = lambda *_: b'<svg xmlns="x"></svg>'
    recorded = [analysis.build(run_room.load(folder)) for folder in run_room.discover(ROOT / "docs" / "runs")]
    runs = {run.slot: run for run in recorded} | {name: facts(name) for name in DEVICES} | {"no lane": no_lane(facts()), "no variants": replace(facts(), variants={})}
    out: dict[str, object] = {}
    for name, run in runs.items():
        found = findings.outcomes(run) | readings.answers(run)
        out[name] = {question: [VERDICTS.index(one.verdict) if one.verdict else None, one.case, len(one.because), len(one.caveats), len(one.pieces)] for question, one in found.items()}
        out[f"{name}: evidence"] = {page.slug: [[[len(table.columns), len(table.rows), len(table.notes)] for table in page.evidence(run).tables], len(page.evidence(run).charts)]
                                    for page in (*findings.FINDINGS, *readings.READINGS)}
    files = pages.render_facts(recorded, recorded[0].slot)
    out["pages"] = {path: [sum(line.startswith(mark) for line in text.splitlines()) for mark in ("|", "- ", "#", ">", "<small>", "!!!")]
                    for path, text in files.items() if isinstance(text, str)}
    return out


if __name__ == "__main__":
    sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
    sys.dont_write_bytecode = True
    if sys.argv[1] == "reworded":
        sys.meta_path.insert(0, Finder())
    print(json.dumps(counted()))
