"""What a command that writes does before anything else: nobody else is at work here, and what was left is put right."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..company import belongings, lock, parents
from ..errors import ReportError
from ..run import swap
from ..run.layout import Layout

WRITES = {"report": "make report", "noise": "make noise", "profile": "make profile", "map": "make map", "compare": "make compare", "fleet": "make fleet",
          "history": "make history", "merge": "make merge", "render": "make render", "site": "make site"}
"""The commands that one checkout has one of at a time, as the user calls them."""


YES, NO = ("1", "yes", "true", "on", "y"), ("0", "no", "false", "off", "n")
SWITCHES = {"ACCEPT": ("accept", True), "FORCE": ("force", True), "MAP": ("map", True), "RECORD": ("no_record", False), "WAIT": ("wait", True)}
"""A variable of make's → the option that it sets, and the word that sets it."""


def register(command: argparse.ArgumentParser) -> None:
    """The options of a command in `WRITES`."""
    command.add_argument("--wait", action="store_true", help="wait for another command that is at work in this checkout, instead of ending")
    command.add_argument("--switch", action=_Switch, help=argparse.SUPPRESS)


class _Switch(argparse.Action):
    """`--switch RECORD=false`: a variable of make's, in whatever word for yes or no; one that means neither is refused."""

    def __call__(self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option_string: str | None = None) -> None:
        variable, _, word = str(values).partition("=")
        option, meaning = SWITCHES[variable]
        said = word.strip().lower()
        if said not in (*YES, *NO):
            raise ReportError(f"{variable}={word} is neither yes nor no", cure=f"give {variable}=1 or {variable}=0, or leave it out")
        if (said in YES) == meaning:
            setattr(namespace, option, True)


@contextmanager
def at_work(chosen: argparse.Namespace, layout: Layout) -> Iterator[None]:
    """Holds the checkout for a command that writes; other commands just run.

    Raises:
        ReportError: another command is at work here, or one that was killed cannot be ended.
    """
    parents.follow()
    name = getattr(chosen, "writes", None)
    if name is None or getattr(chosen, "check", False):
        yield
    elif getattr(chosen, "for_report", False):
        with belongings.own(layout.root):
            yield
    else:
        with lock.held(layout.lock, WRITES[name], chosen.wait, say):
            belongings.sweep()
            belongings.end_survivors(layout.root, say)
            for line in (*swap.heal(layout.recorded), *swap.heal(layout.live)):
                say(line)
            with belongings.own(layout.root):
                yield


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
