"""What a perturbation is, and the list of them in the order of the files that declare them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .recorded import Traces

Change = Callable[[dict[str, Any], Traces], None]
Floor = Callable[[dict[str, Any]], None]


@dataclass(frozen=True)
class Perturbation:
    """One changed copy.

    change: edits run.json's content and the traces in place
    rows: rows of the review that it shows (`B2`), or of the ledger
    refused: the copy must be refused when it is loaded, by two lines
    contrived: no capture of today would write it; a hand or a damaged disk would
    floor: edits the same-code floor beside the run; `None` leaves it as recorded
    floored: the floor lies beside the copy at all (another device has none)
    older: an older program wrote the run, in schema 1; every other copy is a run made now
    """

    name: str
    what: str
    change: Change
    rows: tuple[str, ...]
    refused: bool = False
    contrived: bool = False
    floor: Floor | None = None
    floored: bool = True
    older: bool = False


PERTURBATIONS: dict[str, Perturbation] = {}


def perturbation(*rows: str, refused: bool = False, contrived: bool = False, floor: Floor | None = None, floored: bool = True,
                 older: bool = False) -> Callable[[Change], Change]:
    """Declares the function below as a perturbation of its own name; its docstring says what is otherwise."""
    def declare(change: Change) -> Change:
        name = change.__name__
        if name in PERTURBATIONS or not change.__doc__:
            raise ValueError(f"{name} is declared twice, or has no docstring")
        PERTURBATIONS[name] = Perturbation(name, change.__doc__, change, rows, refused, contrived or refused, floor, floored, older)
        return change

    return declare
