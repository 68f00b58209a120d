"""What ends a command otherwise than well, in two lines and an exit status: never a traceback for what a user can mend."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from ..errors import ReportError, Told
from . import terminal
from .interruption import Stages

PAGES_PACKAGES = ("tomllib", "jinja2", "matplotlib", "mkdocs")


class Parser(argparse.ArgumentParser):
    """Says what is wrong in the two lines of every other error, without the usage before it."""

    def error(self, message: str) -> NoReturn:
        raise ReportError(message, cure=f"`{self.prog} --help` lists what there is")


def contained(command: Callable[[Stages], int], root: Path) -> int:
    """Runs a command of the checkout `root` and returns the exit status: 0, 2 for an error of the user's, 130, 143 or 129 when interrupted."""
    terminal.prepare()
    with Stages() as stages:
        try:
            return command(stages)
        except Told:
            return 2
        except ReportError as error:
            return _error(str(error))
        except ModuleNotFoundError as error:
            if (error.name or "").split(".")[0] not in PAGES_PACKAGES:
                raise
            return _error(f"this Python ({sys.version_info[0]}.{sys.version_info[1]}) lacks {error.name}, which pages are made with\n"
                          "  what to do: use make (make report, make render, …), or .venv/bin/python -m reportgen; make has the environment made")
        except KeyboardInterrupt:
            if stages.message is not None:
                print(f"\ninterrupted{'; ' if stages.message else ''}{stages.message}", file=sys.stderr)
            return stages.status
        except BrokenPipeError:
            # The reader of our output (head, less) has left; there is nobody to tell.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0
        except OSError as error:
            from ..company import disk

            problem, cure = disk.explain(error, root)
            return _error(f"{problem}{'; ' if stages.message else ''}{stages.message or ''}\n  what to do: {cure}")


def _error(text: str) -> int:
    print(f"error: {text}", file=sys.stderr)
    return 2
