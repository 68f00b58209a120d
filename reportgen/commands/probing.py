"""The command `probes`: public reports of wrong attention results, tried on the machine at hand."""

from __future__ import annotations

import argparse
import json
import sys
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import ReportError
from ..run.correctness import CHOICES, DEFAULT
from ..run.layout import Layout
from ..saying.units import plural
from .interruption import Stages

SCHEMA_VERSION = 1
DESCRIPTION = """Tries public reports of wrong results of torch's scaled_dot_product_attention on this machine: with nothing pinned, and with each
backend pinned, the output and the gradients beside FP64. It needs torch and nothing else, and takes seconds.

Exit status: 1 if the default choice gives a wrong result for one of them; 0 if not (what torch documents, a trap, does not count,
nor does a call that torch refuses); 2 for errors."""
WORDS = {"right": "right", "reproduces": "WRONG", "refused": "refused", "failed": "broke off"}
TITLES = {DEFAULT: "default", "math": "math", "efficient": "efficient", "flash": "flash", "cudnn": "cuDNN"}


def register(commands: Any) -> None:
    """Adds the command to the subparsers of `cli.parser`."""
    probes = commands.add_parser("probes", help="does attention give right results here? tries public reports of wrong ones (needs torch)",
                                 description=DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter)
    probes.add_argument("ids", metavar="ID", nargs="*", help="these probes alone; all of them by default")
    probes.add_argument("--device", choices=("cuda", "cpu"), help="the GPU where there is one, by default")
    probes.add_argument("--json", action="store_true", help="one JSON object for other tools")
    probes.set_defaults(command=_probes)


def _probes(chosen: argparse.Namespace, layout: Layout, stages: Stages) -> int:
    from .. import probes
    from ..capture import session
    from ..saying.progress import Progress

    known = {probe.id: probe for probe in probes.load()}
    for name in chosen.ids:
        if name not in known:
            raise ReportError(f"there is no probe {name!r}", cure=f"the probes are {', '.join(known)}")
    shown = Progress(sys.stderr, safe_point=stages.check)
    try:
        survey, found = session.watch(chosen.device, chosen.ids, shown)
    finally:
        shown.end()
    asked = [known[name] for name in found["probes"]]
    print(json.dumps(as_json(survey, found, asked), indent=1, ensure_ascii=False) if chosen.json else as_text(survey, found, asked))
    return status(found, asked)


def status(found: Mapping[str, Any], asked: Sequence[Any]) -> int:
    """1 where the default choice gives a wrong result that torch does not document."""
    from ..probes import Kind

    return int(any(probe.kind is Kind.WRONG and _outcome(found, probe.id, DEFAULT) == "reproduces" for probe in asked))


def _outcome(found: Mapping[str, Any], name: str, choice: str) -> str | None:
    tried = found["probes"][name]["tried"].get(choice)
    return tried["outcome"] if tried else None


def as_json(survey: Mapping[str, Any], found: Mapping[str, Any], asked: Sequence[Any]) -> dict[str, Any]:
    """What was found, beside what was tried."""
    told = {probe.id: {"title": probe.title, "kind": probe.kind.value, "reports": [{"name": report.name, "url": report.url} for report in probe.reports],
                       "inputs": probe.inputs, "compared": probe.compared, "needs": sorted(need.value for need in probe.needs),
                       "cure": {"words": probe.cure.words, "code": probe.cure.code} if probe.cure else None} for probe in asked}
    described = survey["environment"]
    return {"schema_version": SCHEMA_VERSION, "status": status(found, asked), "device": described["device"]["name"], "software": described.get("software"),
            "probes": told, "correctness": found}


def as_text(survey: Mapping[str, Any], found: Mapping[str, Any], asked: Sequence[Any]) -> str:
    """The table, then what reproduces, and how many of which."""
    lines = [f"{survey['environment']['device']['name']}, {_software(survey)}", "", *_table(found, asked)]
    for probe in asked:
        if any(_outcome(found, probe.id, choice) in ("reproduces", "failed") for choice in CHOICES):
            lines += ["", *_details(found["probes"][probe.id], probe)]
    return "\n".join([*lines, "", _verdict(found, asked)])


def _software(survey: Mapping[str, Any]) -> str:
    software = survey["environment"].get("software") or {}
    named = [f"{name} {software[name]}" for name in ("torch", "cudnn") if software.get(name)]
    return ", ".join(named) or "torch"


def _table(found: Mapping[str, Any], asked: Sequence[Any]) -> list[str]:
    """Probe × choice, the default choice first, with the backend that torch picked."""
    rows = [["", *(TITLES[choice] for choice in CHOICES)], *([probe.id, *(_cell(found["probes"][probe.id], probe, choice) for choice in CHOICES)] for probe in asked)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
    absent = [(probe.id, found["probes"][probe.id]["not_here"]) for probe in asked if found["probes"][probe.id]["not_here"]]
    return lines + [f"not tried here: {name}, {reason}" for name, reason in absent]


def _cell(run: Mapping[str, Any], probe: Any, choice: str) -> str:
    from ..probes import Kind

    if choice not in run["tried"]:
        return "–"
    tried = run["tried"][choice]
    word = "trap" if tried["outcome"] == "reproduces" and probe.kind is Kind.TRAP else WORDS[tried["outcome"]]
    return f"{word} ({TITLES.get(tried['picked'], tried['picked'])})" if tried["picked"] else word


def _details(run: Mapping[str, Any], probe: Any) -> list[str]:
    """What a probe is, what came out with each choice, and what to write instead."""
    from ..probes import comparing

    lines = [f"{probe.id}: {probe.title} ({probe.kind.value})"]
    lines += [f"  {report.name}  {report.url}" for report in probe.reports]
    lines += [f"  inputs: {probe.inputs}", f"  compared: {probe.compared}"]
    for choice, tried in run["tried"].items():
        if tried["outcome"] in ("reproduces", "failed"):
            said = "; ".join(comparing.errors_in_words(one) for one in tried["compared"] if not one["right"]) or tried["reason"]
            lines.append(f"  {TITLES[choice]}: {said}")
    if probe.cure:
        lines += [f"  instead: {probe.cure.words}", *textwrap.indent(probe.cure.code.rstrip(), "    ").splitlines()]
    return lines + ([f"  {_cured(run['cured'])}"] if run["cured"] else [])


def _cured(cured: Mapping[str, Any]) -> str:
    with_it = f"with it ({TITLES[cured['choice']]})"
    if cured["outcome"] in ("refused", "failed"):
        return f"{with_it}: {WORDS[cured['outcome']]}: {cured['reason']}"
    came = "right" if cured["outcome"] == "right" else "still wrong"
    return f"{with_it}: {came}; {cured['before'] * 1e6:,.0f} µs a call before, {cured['after'] * 1e6:,.0f} µs after"


def _verdict(found: Mapping[str, Any], asked: Sequence[Any]) -> str:
    from ..probes import Kind

    tried = [probe for probe in asked if found["probes"][probe.id]["tried"]]
    wrong = [probe.id for probe in tried if probe.kind is Kind.WRONG and _outcome(found, probe.id, DEFAULT) == "reproduces"]
    others = [probe.id for probe in tried if probe.id not in wrong and probe.kind is Kind.WRONG
              and any(_outcome(found, probe.id, choice) == "reproduces" for choice in CHOICES)]
    said = f"The default choice gives a wrong result for {', '.join(wrong)}" if wrong else f"The default choice gives no wrong result in {plural(len(tried), 'probe')}"
    return said + (f"; a pinned backend does for {', '.join(others)}." if others else ".")
