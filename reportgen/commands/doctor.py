"""The command `doctor`: why there is no GPU, why not this one, and what can be measured here."""

from __future__ import annotations

import argparse
import json
import platform
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ..run.layout import Layout
from ..saying.units import Bytes, listed
from .interruption import Stages

SCHEMA_VERSION = 1
HEADS = {0: "Nothing stands in the way of a whole report.", 1: "A report can be made, and it is limited:", 2: "Nothing can be measured here:"}


def register(commands: Any) -> None:
    """Adds the command to the subparsers of `cli.parser`."""
    doctor = commands.add_parser("doctor", help="why no GPU, why not this GPU, what can be measured here (needs no torch to say so)",
                                 description="Looks at the driver, torch, the GPU, the counters, the disk and the processors. Exit status: 0 nothing stands in the way, "
                                             "1 something limits the report, 2 nothing can be measured.")
    doctor.add_argument("--json", action="store_true", help="one JSON object for other tools")
    doctor.set_defaults(command=_doctor)


def _doctor(chosen: argparse.Namespace, layout: Layout, stages: Stages) -> int:
    from ..capture import causes, evidence, machine, processes
    from ..capture.faults import ChildFailed

    places = (("docs/runs", layout.recorded), ("build", layout.root / "build"), ("the folder for temporary files", Path(tempfile.gettempdir())))
    try:
        seen = processes.run(evidence.examine, (places,))
    except ChildFailed as failure:
        seen = machine.Machine((sys.version_info[0], sys.version_info[1]), platform.system(), machine.Torch(error=failure.reason))
    notices = causes.diagnose(seen)
    if chosen.json:
        print(json.dumps(as_json(seen, notices), indent=1, ensure_ascii=False))
    else:
        print(as_text(seen, notices))
    return causes.status(notices)


def as_text(seen: Any, notices: Any) -> str:
    """What a person reads: what is here, what can be measured, what stands in the way and what to do."""
    from ..capture import cause_words, causes

    status, can = causes.status(notices), causes.measurable(seen, notices)
    lines = [*(f"{name:<12}{text}" for name, text in _here(seen).items()), ""]
    for head, wanted in (("measurable", True), ("not", False)):
        names = [cause_words.MEASURES[name] for name, yes in can.items() if yes is wanted]
        lines += [f"{head:<12}{', '.join(names)}"] if names else []
    lines += ["", HEADS[status]]
    for notice in notices:
        mark = "-" if notice.effect is not causes.Effect.TOLD else "·"
        lines += [f"{mark} {cause_words.sentence(notice)}", f"  what to do: {cause_words.cure(notice)}"]
    return "\n".join(lines)


def _here(seen: Any) -> dict[str, str]:
    """What is here, a line each."""
    torch, driver, device = seen.torch, seen.driver, seen.device
    built = f"CUDA {torch.cuda}" if torch.cuda else f"ROCm {torch.hip}" if torch.hip else "the CPU"
    version = driver.version or driver.kernel
    found: dict[str, str] = {
        "Python": "{}.{}, {}".format(*seen.python, seen.system),
        "torch": f"{torch.version}, built for {built}" if torch.version else torch.error or "none",
        "kernels": " ".join(torch.architectures) if torch.architectures else "",
        "driver": (f"NVIDIA {version}" if version else "NVIDIA" if driver.library else "AMD" if driver.amd else "none") + (f", CUDA up to {driver.cuda}" if driver.cuda else ""),
        "GPUs": listed([gpu.name or "unnamed" for gpu in driver.gpus]),
        "used": _used(device) if torch.version else "",
        "visible": ", ".join(f"{name}={value}" for name, value in seen.visible.items()),
        "disk": ", ".join(f"{place.name} {Bytes(place.free)} free" for place in seen.places if place.free is not None),
    }
    return {name: text for name, text in found.items() if text}


def _used(device: Any) -> str:
    if device is None:
        return "the CPU"
    kind = device.gfx or ("sm_{}{}".format(*device.capability) if device.capability else "")
    memory = f"{Bytes(device.memory_free)} of {Bytes(device.memory_total)} free" if device.memory_total and device.memory_free is not None else ""
    return ", ".join(filter(None, (device.name or "unnamed GPU", kind, memory)))


def as_json(seen: Any, notices: Any) -> dict[str, Any]:
    """`seen`, `measurable`, and each cause with its values, sentence and cure; without UUIDs and paths, as it may end in an issue."""
    from ..capture import cause_words, causes
    from ..run import scrub

    shown = asdict(seen)
    for entry in (*shown["driver"]["gpus"], *([shown["device"]] if shown["device"] else [])):
        entry.pop("uuid", None)
    shown["counter_tool"] = seen.counter_tool is not None
    told = {
        "schema_version": SCHEMA_VERSION,
        "status": causes.status(notices),
        "measurable": causes.measurable(seen, notices),
        "causes": [{"cause": notice.cause.value, "effect": notice.effect.name.lower().replace("_", "-"), "values": dict(notice.values),
                    "sentence": cause_words.sentence(notice), "cure": cause_words.cure(notice)} for notice in notices],
        "seen": shown,
    }
    return {name: scrub.sentences(value) for name, value in told.items()}
