"""One side of a comparison: a process that stays, with one Python and one environment, and does what it is told, one thing at a time.

It is told by lines of JSON on standard input and answers by lines on standard output: `at` and `result` while it works, then one of
`done`, `failed` (a process of its died) or `error` (something that a person can mend). It holds no GPU context itself.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from typing import Any, TextIO

from ..errors import ReportError
from ..run.decode import decode
from ..saying.progress import Silent
from ..shapes.asked import Asked
from . import calling, processes, session
from .evidence import plain
from .faults import ChildFailed

WORK: dict[str, Callable[..., Any]] = {"time": calling.measure, "show": calling.show}


def stay() -> None:
    """Answers until standard input ends. What libraries print goes to standard error."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    serve(sys.stdin, answers)


def serve(told: TextIO, answers: TextIO) -> None:
    """As `stay`, on any two streams."""
    def say(**line: Any) -> None:
        answers.write(json.dumps(line) + "\n")
        answers.flush()

    for line in told:
        try:
            say(done=plain(_do(json.loads(line), say)))
        except ChildFailed as failure:
            say(failed={"subject": failure.subject, "phase": failure.phase, "reason": failure.reason})
        except ReportError as error:
            say(error={"problem": error.problem, "cure": error.cure})


def _do(task: dict[str, Any], say: Callable[..., None]) -> Any:
    if task["do"] == "survey":
        found = session.surveyed(task["device"], None, Silent())
        return {"chosen": found["device"], **found["environment"]}
    plan = calling.Plan(task["device"], tuple(decode(Asked, one) for one in task["asked"]))
    return processes.run(WORK[task["do"]], (plan,), at=lambda subject, phase: say(at=[subject, phase]), result=lambda key, value: say(result=[key, plain(value)]))
