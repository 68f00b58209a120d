"""The tables of all `test_findings_*.py` together, and what a claim comes out as.

CASES_REACHED: (claim, case) → (factory of facts, headline typed by hand)
ON_DEVICES: claim → synthetic device → (verdict, case)
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from reportgen.analysis import RunFacts
from reportgen.findings import claims
from reportgen.questions.evaluate import evaluate
from reportgen.questions.model import Outcome

CLAIMS = {claim.id: claim for claim in claims()}


def outcome(claim: str, run: RunFacts) -> Outcome:
    """What the claim of that id comes out as."""
    return evaluate(CLAIMS[claim], run)


def together(table: str) -> dict[Any, Any]:
    """The dictionaries called `table` of all the test files as one. Every file has one; no key stands in two of them."""
    found: dict[Any, Any] = {}
    for file in sorted((Path(__file__).parent / "findings").glob("test_findings_*.py")):
        own = getattr(importlib.import_module(file.stem), table)
        twice = found.keys() & own.keys()
        if twice:
            raise ValueError(f"{file.name}: {table} repeats {sorted(twice)} of another file")
        found |= own
    return found
