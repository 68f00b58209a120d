"""No verdict, case, row, note, cause, caveat or piece of advice is decided by reading one of our own sentences."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import rewording

SCRIPT = Path(__file__).resolve().parents[1] / "rewording.py"


def asked(how: str) -> dict:
    done = subprocess.run([sys.executable, str(SCRIPT), how], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_every_sentence_reworded_decides_the_same():
    """Causes, headers, reasons, captions, states, standings: all words of three letters and more are other words, and what comes out is the same."""
    plain, other = asked("plain"), asked("reworded")
    differing = [f"{run}: {what}: {value} and then {other[run].get(what)}" for run, found in plain.items() for what, value in found.items() if other[run].get(what) != value]
    assert differing == []
    assert sum(len(found) for found in plain.values()) > 700


@pytest.mark.parametrize("text, then", [
    ("The grid is small: {blocks} blocks.", "The gridre is smallre: {blocks} blocksre."),
    ("Not measurable: no `aten::add_` here", "Not measurableus: no `aten::add_` hereus"),
    ("fused attention", "fused attention"),
    ("gpu_time", "gpu_time"),
])
def test_rewording_keeps_placeholders_code_and_names(text, then):
    assert rewording.reworded(text) == then


def test_the_rewording_would_find_code_that_reads_its_own_sentence():
    """A beginning that is searched in another sentence becomes another beginning, and a pattern stays what it is."""
    import ast

    tree = rewording.Rewording().visit(ast.parse('import re\nfound = re.match("The grid is small", why)\nsaid = "The grid is small"\n'))
    assert "'The grid is small'" in ast.unparse(tree) and rewording.reworded("The grid is small") in ast.unparse(tree)
    assert not rewording.reworded("The grid is small: so it is.").startswith(rewording.reworded("The grid is small"))
