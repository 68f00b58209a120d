"""Runs in which every text is somebody else's: each field that takes any text holds it, found by the types of the run."""

from __future__ import annotations

import collections.abc
import json
import shutil
from dataclasses import fields, is_dataclass
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from perturbed import recorded, states
from perturbed.recorded import Traces

from reportgen import run as run_room
from reportgen.run.model import Run

NAMES = {("device", "slug"), ("workload", "name"), ("label",), ("path",), ("edited",)}
"""Where the grammar of names holds (`NAMES` of `words` is for these), and what is not in the file."""
DECIDE = {"timer", "variant", "first_call_order", "warmed_first", "launch_api", "kernel", "metrics", "op", "layers", "name", "tool", "code"}
"""What rules read; where a hostile word stands in its place, less is said. It is replaced in the run that is hostile everywhere."""
PARTS: dict[str, dict[str, Any]] = {
    "lost": {"what": "", "reason": "", "variant": "naive"}, "noticed": {"cause": "", "said": ""}, "shortened": {"full_seconds": 9.0, "processes_asked": 7, "left_out": [""]},
    "throttle": {}, "traces_retaken": {"naive": ""}, "traces_missing": {},
}


def everywhere(content: dict[str, Any], text: str, gently: bool = False) -> int:
    """Puts `text` into each text field of a run's content, in place; returns into how many. gently: not into those that rules read."""
    content.update(lost=[dict(PARTS["lost"])], noticed=[dict(PARTS["noticed"])])
    content["protocol"].update(shortened=dict(PARTS["shortened"]), traces_retaken=dict(PARTS["traces_retaken"]))
    content["clocks"]["samples"][0]["throttle"] = [""]
    return _Filler(text, gently).record(Run, content, ())


class _Filler:
    def __init__(self, text: str, gently: bool) -> None:
        self.text, self.gently = text, gently

    def record(self, kind: Any, entry: dict[str, Any], place: tuple[str, ...]) -> int:
        hints, count = get_type_hints(kind, include_extras=True), 0
        for field in fields(kind):
            inside = (*place, field.name)
            if inside in NAMES or field.name in ("id", "trace_path") or (self.gently and field.name in DECIDE and inside != ("device", "name")):
                continue
            if field.name in entry or _takes_text(hints[field.name]):
                entry[field.name], more = self.value(hints[field.name], entry.get(field.name), inside)
                count += more
        return count

    def value(self, kind: Any, value: Any, place: tuple[str, ...]) -> tuple[Any, int]:
        """What comes in its place, and how many texts are new."""
        origin, inside = get_origin(kind), get_args(kind)
        if kind is str or (origin is Annotated and inside[0] is str and "one line" in inside[1].words):
            return self._line(kind), 1
        if origin in (Union, UnionType):
            fitting = next((one for one in inside if one is not type(None) and _form(one) is (str if value is None else type(value))), None)
            return self.value(fitting, value, place) if fitting else (value, 0)
        if is_dataclass(kind) and isinstance(value, dict):
            return value, self.record(kind, value, place)
        if origin is tuple and isinstance(value, list):
            done = [self.value(inside[0], one, place) for one in value]
            return [one for one, _ in done], sum(count for _, count in done)
        if origin is collections.abc.Mapping and isinstance(value, dict):
            return self._mapping(inside[1], value, place)
        return value, 0

    def _mapping(self, kind: Any, value: dict[str, Any], place: tuple[str, ...]) -> tuple[dict[str, Any], int]:
        done = {name: self.value(kind, one, place) for name, one in value.items()}
        found = {name: one for name, (one, _) in done.items()}
        if _takes_text(kind) and get_origin(kind) is not Annotated and place not in (("variants",),):
            found[self.text] = self.text
        return found, sum(count for _, count in done.values())

    def _line(self, kind: Any) -> str:
        return self.text if kind is str else " ".join(part for part in "".join(sign if sign >= " " else " " for sign in self.text).split() if part)


def _form(kind: Any) -> type:
    plain = get_args(kind)[0] if get_origin(kind) is Annotated else kind
    origin = get_origin(plain)
    return list if origin is tuple else dict if origin is collections.abc.Mapping or is_dataclass(plain) else plain


def _takes_text(kind: Any) -> bool:
    if kind is str:
        return True
    if get_origin(kind) is Annotated:
        return get_args(kind)[0] is str and "one line" in getattr(get_args(kind)[1], "words", "")
    return get_origin(kind) in (Union, UnionType) and any(_takes_text(one) for one in get_args(kind))


def traces_with(traces: Traces, text: str) -> None:
    """Each kernel, op, launch and copy is called something and then `text`."""
    for name in traces:
        for event in traces[name]["traceEvents"]:
            if event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset", "cpu_op", "cuda_runtime", "cuda_driver"):
                event["name"] = f"{event['name']} {text}"
        for device in traces[name].get("deviceProperties", ()):
            device["name"] = text


def _in_words(run: dict[str, Any], traces: Traces, text: str) -> None:
    everywhere(run, text, gently=True)


def _in_all(run: dict[str, Any], traces: Traces, text: str) -> None:
    traces_with(traces, text)
    everywhere(run, text)


def _refused(run: dict[str, Any], traces: Traces, text: str) -> None:
    """What is said where something is missing."""
    everywhere(run, text, gently=True)
    states.not_run(run, traces, "sdpa_flash", reason=text)
    states.failed(run, traces, "sdpa_efficient", "naive", reason=text)
    states.wrong(run, traces, "sdpa_math", None)
    run["variants"]["sdpa_math"]["reason"] = text
    states.lose_trace(run, traces, "naive_inplace", reason=text)
    states.untimed(run, "sdpa_cudnn", note=text)
    states.no_counters(run, text)
    run["clocks"].update(samples=[], available=False, reason=text)
    run["ceilings"] = None
    run["probes"].update({name: {"reason": text} for name in ("default_backend", "saving_accumulates", "occupancy_probe")})
    run["probes"]["autograd"].update(inplace_backward="refused", reason=text, minimal_refusal={"refused": True, "code": text, "message": text})
    for entry in run["variants"].values():
        if entry["status"] == "ok":
            entry["training"] = {"status": "failed", "reason": text}
            entry["masked_row"] = {"outcome": "refused", "reason": text}


SHAPES = {"words": _in_words, "everything": _in_all, "refusals": _refused}
"""Three runs of one device: what a person wrote is hostile, all is, and what stands where something is missing."""


def written(root: Path, shape: str, text: str) -> Path:
    """Writes such a run below `root`, in the slot `nvidia-h200/article+<shape>`; returns its folder."""
    run, traces = recorded.now(), recorded.Traces()
    SHAPES[shape](run, traces, text)
    run["label"] = shape
    folder = root / "nvidia-h200" / f"article+{shape}"
    folder.mkdir(parents=True)
    for name in traces:
        file = folder / f"{name}.trace.json.gz"
        if traces.edited(name):
            run_room.write_trace(file, traces[name])
        else:
            shutil.copyfile(recorded.RECORDED / file.name, file)
    (folder / run_room.RUN_FILE).write_text(json.dumps(run), encoding="utf-8")
    return folder
