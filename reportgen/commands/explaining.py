"""The command `explain`: what attention did in a trace of any model."""

from __future__ import annotations

import argparse
import gc
import json
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .contained import Parser, contained
from .interruption import Stages

if TYPE_CHECKING:
    from ..run.layout import Layout

ROOT = Path(__file__).resolve().parents[2]

DESCRIPTION = """Reads a trace that torch.profiler wrote (export_chrome_trace; .json, .json.gz or - for the standard input), of whatever model, and tells
what attention did in it: one row per call site, what it cost and drags along, which recorded argument ruled a faster way out, and what to do.
It needs no torch and no GPU."""

FORMS = {".html": "html", ".md": "markdown"}


def register(commands: Any) -> None:
    """Adds the command to the subparsers of `cli.parser`."""
    explain = commands.add_parser("explain", help="what attention did in a trace of your own model", description=DESCRIPTION)
    explain.add_argument("trace", metavar="TRACE", type=Path, help="the trace: .json, .json.gz, or - for the standard input")
    explain.add_argument("-o", dest="out", metavar="FILE", type=_out, help="write one self-contained page (.html) or Markdown (.md) as well")
    explain.add_argument("--json", action="store_true", help="one JSON object for other tools, instead of the report")
    explain.set_defaults(command=_explain)


def main(arguments: Sequence[str] | None = None) -> int:
    """`python -m reportgen explain …` without the modules of the other commands, which take a tenth of a second to import: it needs no run, no lock, no device.

    Returns the exit status, as `cli.main` does.
    """
    def run(stages: Stages) -> int:
        alone = Parser(prog="python -m reportgen")
        register(alone.add_subparsers(required=True, metavar="COMMAND"))
        status = _told(alone.parse_args(arguments), ROOT / "docs" / "runs")
        sys.stdout.flush()
        stages.check()
        return status

    return contained(run, ROOT)


def _explain(chosen: argparse.Namespace, layout: Layout, stages: Stages) -> int:
    return _told(chosen, layout.recorded)


def _told(chosen: argparse.Namespace, runs: Path) -> int:
    gc.disable()  # nothing here makes cycles worth looking for, and a ledger is all that this process makes
    from ..ledger.build import build
    from ..trace.whole import read_whole

    ledger = build(read_whole(chosen.trace), runs)
    if chosen.out is not None:
        form = import_module(f"reportgen.explained.{FORMS[chosen.out.suffix.lower()]}")
        chosen.out.write_text(form.page(ledger), encoding="utf-8")
    if chosen.json:
        from ..ledger.as_json import as_json

        json.dump(as_json(ledger), sys.stdout, indent=1, ensure_ascii=False)
        print()
        return 0
    from ..explained import terminal

    print(terminal.page(ledger))
    if chosen.out is not None:
        print(f"\nwritten: {chosen.out}")
    return 0


def _out(name: str) -> Path:
    """A file that one of the forms is written to."""
    if Path(name).suffix.lower() not in FORMS:
        raise argparse.ArgumentTypeError(f"expected a name that ends in {' or '.join(FORMS)}, found {name!r}")
    if not Path(name).absolute().parent.is_dir():
        raise argparse.ArgumentTypeError(f"there is no folder {str(Path(name).parent)!r} to write into")
    return Path(name)
