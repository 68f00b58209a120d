"""What the processes found, brought into the form of `run.json`. Pure: no torch, no clock."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from variants import Variant

from .. import probes as probe_room
from ..run import QUANTITIES, SCHEMA_VERSION
from ..run.correctness import CHOICES
from . import cause_words, causes, inputs, neighbours, rounds
from . import chains as room
from .patience import Extent

NOT_ASKED = "not asked for in this run"
NO_CHAINS = "chains of forwards were not asked for in this run"
RAN = ("ok", "wrong")
"""What gave a result, right or wrong: its times and its trace are recorded, and a wrong one is ranked nowhere."""
NO_PROBES = "not tried in this run"
COMPILE_ON_CPU = "compiling takes longer than the rest of a CPU run; ask for this variant by name to have it"

COMPILE_NO_MEMORY = "written by hand it ran out of memory at this size, and the compiler would spend a minute on trying; ask for this variant by name to have it"


@dataclass
class Timed:
    """Timing processes gathered: one result of `rounds.measure` per process, and who dropped out.

    failures: variant → `{"status", "reason"}`, perhaps with `out_of_memory`; a variant that failed in one process is out of all
    """

    processes: list[dict[str, Any]] = field(default_factory=list)
    failures: dict[str, dict[str, Any]] = field(default_factory=dict)

    def samples(self, variant: str) -> dict[str, list[float]]:
        """quantity → one value per process; a quantity that a process lacks is left out whole."""
        found = [process["samples"][variant] for process in self.processes if variant in process["samples"]]
        if not found or variant in self.failures:
            return {}
        return {quantity: [one[quantity] for one in found] for quantity in QUANTITIES
                if all(quantity in one for one in found)}

    def out_of_memory(self, variants: Sequence[str]) -> bool:
        """Whether every one of these ran out of memory."""
        return all(self.failures.get(name, {}).get("out_of_memory", False) for name in variants)

    def notes(self, variant: str) -> list[dict[str, Any]]:
        return [process["notes"][variant] for process in self.processes if variant in process["notes"]]


Answers = Mapping[tuple[str, "str | None"], Mapping[str, Any]]


def variant_entry(variant: Variant, timed: Timed, answers: Answers, skipped: str | None) -> dict[str, Any]:
    """One entry of `run.json`'s variants; skipped: why it was not even tried."""
    def value(task: str) -> Any:
        return answers.get((task, variant.id), {}).get("value")

    numerics = value("numerics") or {}
    status, reason = ("not-tried", skipped) if skipped else _status(variant.id, timed, answers)
    timer, timer_note = _timer(timed.notes(variant.id))
    return {
        "title": variant.title,
        "status": status,
        "reason": reason,
        "source": variant.source,
        "prediction": [list(step) for step in variant.prediction],
        "named": variant.named,
        "samples": timed.samples(variant.id) if status in RAN else {},
        "timer": timer if status in RAN else None,
        "timer_note": timer_note,
        "trace": None,
        "peak_memory_bytes": value("memory"),
        "relative_error": numerics.get("relative_error"),
        "allowed_error": numerics.get("allowed_error"),
        "masked_row": value("masked_row"),
        "own_mask": _own_mask(variant.id, answers),
        "training": _training(variant.id, answers),
    }


def _timer(notes: list[dict[str, Any]]) -> tuple[str | None, str | None]:
    """How GPU time was taken: the weaker way if the processes differ, and the first reason for it."""
    used = {note["timer"] for note in notes}
    timer = next((way for way in (None, "queued-events", "cuda-graph") if way in used), None)
    return timer, next((note["note"] for note in notes if note["note"]), None)


def _status(variant: str, timed: Timed, answers: Answers) -> tuple[str, str | None]:
    """`ok`, or the first thing that went wrong: timing, then numerics (see `run.VariantRun`)."""
    if variant in timed.failures:
        return timed.failures[variant]["status"], timed.failures[variant]["reason"]
    checked = answers.get(("numerics", variant))
    if checked is None:
        return ("ok", None) if timed.samples(variant) else ("failed", "it was never timed")
    if checked["status"] != "ok":
        return checked["status"], checked["reason"]
    numbers = checked["value"]
    if numbers["ok"]:
        return "ok", None
    error = numbers["relative_error"]
    found = "the output is not finite" if error is None else f"relative error {error:.2g}"
    return "wrong", f"wrong result: {found}, allowed {numbers['allowed_error']:.2g}"


def _own_mask(variant: str, answers: Answers) -> dict[str, Any] | None:
    answer = answers.get(("own_mask", variant))
    if answer is None:
        return None
    found: dict[str, Any] = answer["value"] if answer["status"] == "ok" else {"outcome": "failed", "reason": answer["reason"]}
    return found


def _training(variant: str, answers: Answers) -> dict[str, Any] | None:
    answer = answers.get(("training", variant))
    if answer is None:
        return None
    if answer["status"] != "ok":
        return {"status": answer["status"], "reason": answer["reason"]}
    kernels = answers.get(("training_kernels", variant), {}).get("value")
    return {**answer["value"], "kernels": kernels if answer["value"]["status"] in ("ok", "wrong") else None}


def chains(timed: Timed) -> dict[str, Any]:
    """The probe `saving_accumulates`: seconds for 1 and 24 chained forwards, one value per process."""
    taken = [process["chains"] or {"reason": NO_CHAINS} for process in timed.processes] or [{"reason": NO_CHAINS}]
    reason = next((one["reason"] for one in taken if "reason" in one), None)
    if reason:
        return {"reason": reason}
    timers = {note["timer"] for process in timed.processes for name in room.CHAINED for note in [process["notes"][name]]}
    result: dict[str, Any] = {"layers": list(room.LAYERS), "timer": "cuda-graph" if timers == {"cuda-graph"} else "wall"}
    for name in room.CHAINED:
        result[name] = {str(layers): [one[name][str(layers)] for one in taken] for layers in room.LAYERS}
    return result


def correctness(answers: Answers) -> dict[str, Any]:
    """What the watch found (the fields of `run.Correctness`), from the answers to `trying.steps`, `trying.cures` and `picks`."""
    found: dict[str, dict[str, Any]] = {}
    for step in sorted((step for task, step in answers if task == "probe" and step), key=_as_shown):
        answer, (name, choice) = answers["probe", step], step.split()
        probe = found.setdefault(name, {"tried": {}, "control": {}, "cured": None, "not_here": None, "seconds": 0.0})
        value = answer["value"] or {"tried": {"outcome": "failed", "reason": answer["reason"], "compared": [], "picked": None}}
        probe["seconds"] += answer["seconds"]
        probe["not_here"] = probe["not_here"] or value.get("not_here")
        for part in ("tried", "control"):
            if value.get(part):
                probe[part][choice] = value[part]
        cost = answers.get(("cure", step), {})
        probe["seconds"] += cost.get("seconds", 0.0)
        probe["cured"] = probe["cured"] or (value.get("cured") and {**value["cured"], **(cost.get("value") or {})})
    if not found:
        return {"reason": NO_PROBES}
    picks = answers.get(("picks", None), {})
    seconds = sum(probe["seconds"] for probe in found.values()) + picks.get("seconds", 0.0)
    return {"probes": found, "picks": picks.get("value") or [], "seconds": seconds, "reason": None}


def _as_shown(step: str) -> tuple[int, int]:
    """Places of its probe and its choice: what was tried first is nothing to record."""
    name, choice = step.split()
    ids = [probe.id for probe in probe_room.load()]
    return ids.index(name) if name in ids else len(ids), CHOICES.index(choice) if choice in CHOICES else len(CHOICES)


def clocks(timed: Timed, watch: neighbours.Watch) -> dict[str, Any]:
    samples = [sample for process in timed.processes for sample in process["clocks"]]
    reason = None if samples else next((process["clocks_reason"] for process in timed.processes if process["clocks_reason"]), None)
    return {"available": bool(samples), "reason": reason, "samples": samples, "other_processes": watch.most(), "looks": watch.looks}


def noticed(notices: Sequence[causes.Notice]) -> list[dict[str, str]]:
    """What kept the report from being whole, as `run.json` has it; counters have a reason of their own."""
    return [{"cause": notice.cause.value, "said": cause_words.sentence(notice)} for notice in notices if notice.cause not in causes.ABOUT_COUNTERS]


def protocol(plan: rounds.Plan, timed: Timed, method: str, extent: Extent, retaken: Mapping[str, str], shortened: Mapping[str, Any] | None) -> dict[str, Any]:
    """How the numbers were taken; seconds and counts.

    Args:
        extent: how much of the protocol was carried out.
        retaken: variant → what its first trace lacked.
        shortened: the fields of `run.Shortened`, or `None`.
    """
    first = timed.processes[0] if timed.processes else {"notes": {}, "input_sets": None, "warmed": [], "threads": None}
    gpu = plan.device != "cpu"
    forwards = {name: note["forwards"] for name, note in first["notes"].items()}
    return {
        "processes": len(timed.processes),
        "start_method": method,
        "seed": rounds.SEED,
        "rounds": plan.rounds,
        "rounds_done": [process["rounds"] for process in timed.processes],
        "timer": sorted({note["timer"] for note in first["notes"].values() if note["timer"]}) if gpu else None,
        "forwards_per_graph": {name: count["gpu_time"] for name, count in forwards.items() if "gpu_time" in count} if gpu else None,
        "forwards_per_wall_block": {name: count["wall_time"] for name, count in forwards.items() if "wall_time" in count},
        "calls_per_host_block": {name: count["host_time"] for name, count in forwards.items() if "host_time" in count},
        "input_sets": first["input_sets"],
        "warmed_first": first["warmed"],
        "first_call_order": [process["first_order"] for process in timed.processes],
        "settle_seconds": plan.settle_seconds,
        "settled": {name: sum(note["settled"] for note in timed.notes(name)) for name in forwards},
        "new_shape": inputs.new_shape(plan.workload).to_json(),
        "trace_steps": {"wait": extent.trace.wait, "warm_up": extent.trace.warm_up, "active": extent.trace.active},
        "traces_retaken": dict(retaken) or None,
        "threads": first["threads"],
        "pinned": gpu and bool(timed.processes) and all(process["pinned"] for process in timed.processes),
        "shortened": shortened,
    }


def document(survey: Mapping[str, Any], label: str | None, recorded_on: str, version: str) -> dict[str, Any]:
    """The part of `run.json` that is known before anything is timed."""
    return {
        "schema_version": SCHEMA_VERSION,
        "recorded_on": recorded_on,
        "capture_version": version,
        **survey["environment"],
        "workload": survey["workload"].to_json(),
        "label": label,
    }
