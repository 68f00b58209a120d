"""The script beside a bar of the featured run: torch alone, a screen long, the same forward at the run's shape, timed as the bar was.

The text is this checkout's own, never the run's: a script is made only where the run recorded the same forward as the checkout has.
"""

from __future__ import annotations

import ast
import builtins

import variants
from variants import Variant
from variants.backends import BACKENDS

from ..analysis import RunFacts, VariantFacts
from .environment import environment
from .site import PYTHON_MARKER, Site

LONGEST = 25
"""Lines; a forward that needs more gets no script."""
FORWARDS = 20
"""Calls in a replay, where the run did not note how many it took."""
GPU_ONLY = ("efficient", "cudnn")
"""Backends that torch has no CPU kernel for."""
_KNOWN = {"torch", "F", *dir(builtins)}


def path(name: str) -> str:
    """Where the script of a variant lies, below the docs root."""
    return f"scripts/{name}.py"


def has(facts: RunFacts, name: str) -> bool:
    """Whether the run's bar of that variant has a script."""
    return text(facts, name) is not None


def render(site: Site) -> dict[str, bytes]:
    """The scripts of the featured run, by path: shared pages show its bars. They are code and no pages, so bytes, as charts are."""
    found = {name: text(site.featured, name) for name in site.featured.variants}
    return {path(name): script.encode() for name, script in found.items() if script is not None}


def text(facts: RunFacts, name: str) -> str | None:
    """The script, or `None`: the variant has no bar, is not what the checkout has, or cannot be told in so few lines."""
    ours = {variant.id: variant for variant in variants.load()}
    variant, recorded = ours.get(name), facts.variants.get(name)
    if variant is None or recorded is None or not recorded.ok or recorded.gpu_time is None or not _same(variant, recorded):
        return None
    compiled = _compiles_naive(variant)
    forward = _forward(ours["naive"] if compiled else variant)
    if forward is None or (compiled and not _same(ours["naive"], facts.variants.get("naive"))):
        return None
    calls = (facts.protocol.forwards_per_graph or {}).get(name, FORWARDS)
    written = _written(facts, variant, forward, calls, compiled)
    return written if written.count("\n") <= LONGEST else None


def _written(facts: RunFacts, variant: Variant, forward: ast.FunctionDef, calls: int, compiled: bool) -> str:
    backend = BACKENDS[variant.backend] if variant.backend else None
    imports = [line for node in forward.body if isinstance(node, (ast.Import, ast.ImportFrom)) and (line := ast.unparse(node)) != "import torch"]
    if backend:
        imports.append("from torch.nn.attention import SDPBackend, sdpa_kernel")
    return str(environment().get_template("script.py.j2").render(
        title=variant.title, marker=PYTHON_MARKER, imports=imports, gpu_only=backend.title if backend and variant.backend in GPU_ONLY else "",
        load=facts.workload, calls=calls, compiled=compiled, body=_body(forward), pin=backend.pin if backend else ""))


def _forward(variant: Variant) -> ast.FunctionDef | None:
    """The variant's forward, where it needs nothing but its arguments and torch."""
    found = _function(variant.source)
    if found is None or [argument.arg for argument in found.args.args] != ["q", "k", "v", "mask"]:
        return None
    names = [node for node in ast.walk(found) if isinstance(node, ast.Name)]
    own = {node.id for node in names if isinstance(node.ctx, ast.Store)} | {"q", "k", "v", "mask"}
    return found if all(node.id in own | _KNOWN for node in names) else None


def _function(source: str) -> ast.FunctionDef | None:
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return None
    return next((node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "forward"), None)


def _body(forward: ast.FunctionDef) -> list[str]:
    """Its statements, without docstring and imports, one line each."""
    kept = [node for node in forward.body if not isinstance(node, (ast.Import, ast.ImportFrom)) and not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))]
    return [line for node in kept for line in ast.unparse(node).splitlines()]


def _compiles_naive(variant: Variant) -> bool:
    return "torch.compile(naive, dynamic=False)" in variant.source


def _same(variant: Variant, recorded: VariantFacts | None) -> bool:
    """Whether the run timed what the checkout's file does; comments and docstrings aside."""
    if recorded is None:
        return False
    pair = [_without_words(source) for source in (variant.source, recorded.source)]
    return pair[0] is not None and pair[0] == pair[1]


def _without_words(source: str) -> str | None:
    """The code of a variant's functions, as a dump; `None` where it is no Python."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return None
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    for node in functions:
        node.body = [one for one in node.body if not (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))] or [ast.Pass()]
    return "\n".join(ast.dump(node) for node in tree.body if isinstance(node, ast.FunctionDef))
