"""The capture from end to end: which processes run, in which order, and what becomes of a failure."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from typing import Any

import variants as variant_room

from .. import __version__
from ..errors import CaptureFailed, DeviceUnavailable
from ..numbers.statistics import PROCESSES
from ..run.workload import Workload, altered
from . import assemble, cause_words, causes, evidence, limits, neighbours, operands, processes, refusal, rounds
from .causes import Notice
from .processes import ChildFailed
from .progress import Progress, Silent

ROUNDS = 3
GPU_SETTLE, CPU_SETTLE = 0.25, 0.15
COMPILE_PATIENCE = 300.0
EXPECTED_SECONDS = {"cuda": {"timing": 3.5, "evidence": 25.0, "counters": 12.0},
                    "cpu": {"timing": 1.0, "evidence": 3.0, "counters": 0.0}}
"""What a stage takes on a fast GPU and on a laptop; only the progress line uses them."""


@dataclass(frozen=True)
class CaptureRequest:
    """What to record.

    device: `cuda` or `cpu`; `None` takes CUDA where there is one
    workload: `None` takes the device's default (see `evidence.default_workload`)
    sizes: sizes and element type that replace the workload's (see `workload.altered`)
    processes: fresh timing processes; fewer than seven decide no claim
    variants: ids, or `None` for all
    counters: `auto`, `on` or `off`: hardware counters (see `counters.measure`)
    quick: one round, no forward-and-backward, nothing compiled: to see that the line works
    """

    device: str | None = None
    workload: Workload | None = None
    label: str | None = None
    processes: int = PROCESSES
    variants: tuple[str, ...] | None = None
    counters: str = "auto"
    quick: bool = False
    sizes: Mapping[str, Any] = field(default_factory=dict)


def capture(request: CaptureRequest, progress: Progress | None = None) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Captures a run in memory: the content of `run.json`, and variant id → Kineto trace.

    Raises:
        DeviceUnavailable: no torch, or no such device.
        CaptureFailed: nothing could be measured.
    """
    progress = progress or Silent()
    try:
        return _Capture(request, progress).run()
    finally:
        progress.end()


class _Capture:
    def __init__(self, request: CaptureRequest, progress: Progress) -> None:
        self.request, self.progress = request, progress
        self.variants = variant_room.load()
        variant_room.load(request.variants)  # names that are unknown are refused before anything runs
        self.phases: dict[str, float] = {}
        self.timed = assemble.Timed()
        self.answers: dict[tuple[str, str | None], dict[str, Any]] = {}

    def run(self) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        began, started = time.perf_counter(), datetime.now(timezone.utc)
        survey = self._survey()
        self.watch = neighbours.Watch(survey["identity"])
        self.watch.look("begin")
        self._announce(survey["device"])
        self._say_what(survey)
        plan = self._plan(survey)
        self._time(plan)
        compiled = self._evidence(survey, plan)
        counted, uncounted = self._count(survey, plan)
        self.watch.look("end")
        self.phases["whole"] = time.perf_counter() - began
        data = {
            **assemble.document(survey, self.request.label, started.strftime("%Y-%m-%dT%H:%M:%SZ"), __version__),
            "protocol": assemble.protocol(plan, self.timed, processes.start_method()),
            "ceilings": self._value("ceilings", None),
            "clocks": assemble.clocks(self.timed, self.watch),
            "noticed": assemble.noticed(survey["notices"]),
            "probes": self._probes(),
            "variants": self._entries(survey["device"], compiled),
            "phases": {name: round(seconds, 3) for name, seconds in self.phases.items()},
            "counters": counted,
            "counters_reason": uncounted,
        }
        _refuse_if_nothing_ran(data["variants"])
        return data, {name: trace for name, entry in data["variants"].items()
                      if entry["status"] == "ok" and (trace := self._value("trace", name))}

    def _probes(self) -> dict[str, Any]:
        """Probes by name; `traces_missing` says why a variant that ran has no trace."""
        lost = {name: answer["reason"] for (task, name), answer in self.answers.items() if task == "trace" and answer["status"] != "ok"}
        return {**(self._value("probes", None) or {}), "saving_accumulates": assemble.chains(self.timed),
                **({"traces_missing": lost} if lost else {})}

    def _entries(self, device: str, compiled: assemble.Timed) -> dict[str, dict[str, Any]]:
        skipped = self._skipped(device)
        entries = {variant.id: assemble.variant_entry(variant, compiled if variant.slow_start else self.timed, self.answers, skipped.get(variant.id))
                   for variant in self.variants}
        if not operands.is_gpu(device):
            for variant in self.variants:
                entries[variant.id]["reason"] = refusal.on_a_cpu(variant.backend, entries[variant.id]["reason"])
        return entries

    def _value(self, task: str, variant: str | None) -> Any:
        return self.answers.get((task, variant), {}).get("value")

    def _announce(self, device: str) -> None:
        stages = {"timing": self.request.processes, "evidence": 1, "counters": 1 if self._counts(device) else 0}
        for kind, seconds in EXPECTED_SECONDS["cpu" if device == "cpu" else "cuda"].items():
            self.progress.plan(kind, stages[kind], seconds)

    @contextmanager
    def _stage(self, name: str, title: str) -> Iterator[None]:
        self.progress.stage(name, title)
        began = time.perf_counter()
        yield
        self.phases[name] = self.phases.get(name, 0.0) + time.perf_counter() - began
        self.progress.done()

    def _survey(self) -> dict[str, Any]:
        with self._stage("survey", "importing torch, looking at the device"):
            try:
                found = processes.run(evidence.survey, (self.request.device, self.request.workload), at=self.progress.at)
            except ChildFailed as failure:
                raise CaptureFailed(f"the device could not be looked at ({failure.reason})", cure="`make doctor` says what it finds") from None
        if "device" not in found:
            raise _unavailable(found["notices"])
        found["workload"] = altered(found["workload"], self.request.sizes)
        return found

    def _say_what(self, survey: dict[str, Any]) -> None:
        """Shows the device and the workload that were settled on; see `limits.memory` for what is refused."""
        workload = survey["workload"]
        self.progress.note(f"{survey['environment']['device']['name']}: workload {workload.name}, {workload.describe()}")
        for notice in survey["notices"]:
            if notice.cause not in causes.ABOUT_COUNTERS:  # the counters' own stage says what becomes of them
                self.progress.note(f"note: {cause_words.sentence(notice)}\n  what to do: {cause_words.cure(notice)}")
        skipped = self._skipped(survey["device"])
        warning = limits.memory(survey["environment"]["device"], workload, [variant for variant in self.variants if variant.id not in skipped])
        if warning:
            self.progress.note(warning)

    def _counts(self, device: str) -> bool:
        """Whether counters are tried for, which takes time."""
        return operands.is_gpu(device) and self.request.counters != "off" and not self.request.quick

    def _plan(self, survey: dict[str, Any]) -> rounds.Plan:
        # on a CPU one processor is left to everything else: threads that wait for one that has been
        # taken off its processor make a forward many times slower
        device, skipped = survey["device"], self._skipped(survey["device"])
        gpu = device != "cpu"
        quick = self.request.quick
        names = tuple(variant.id for variant in self.variants if variant.id not in skipped and not variant.slow_start)
        settle = 0.05 if quick else GPU_SETTLE if gpu else CPU_SETTLE
        return rounds.Plan(device, survey["workload"], names, process=0, rounds=1 if quick else ROUNDS, settle_seconds=settle,
                           most_threads=None if gpu else max(1, limits.available_processors() - 1))

    def _skipped(self, device: str) -> dict[str, str]:
        """Variants that are not tried, with the reason."""
        asked = self.request.variants
        skipped: dict[str, str] = {}
        for variant in self.variants:
            if asked is not None and variant.id not in asked:
                skipped[variant.id] = assemble.NOT_ASKED
            elif variant.slow_start and asked is None and (device == "cpu" or self.request.quick):
                skipped[variant.id] = assemble.COMPILE_ON_CPU if device == "cpu" else assemble.NOT_ASKED
        return skipped

    def _time(self, plan: rounds.Plan) -> None:
        """The timing processes one after another; a variant that fails in one is left out of the rest."""
        for number in range(self.request.processes if plan.variants else 0):
            with self._stage("timing", f"timing, process {number + 1} of {self.request.processes}"):
                self.timed.processes.append(self._one_process(replace(plan, process=number)))
                self.watch.look(f"process {number + 1}", self.timed.processes[-1]["neighbours"])

    def _one_process(self, plan: rounds.Plan) -> dict[str, Any]:
        while True:
            alive = tuple(name for name in plan.variants if name not in self.timed.failures)
            try:
                result = processes.run(rounds.measure, (replace(plan, variants=alive),), at=self.progress.at)
            except ChildFailed as failure:
                if failure.subject not in alive:
                    raise CaptureFailed(f"a timing process failed before any variant ran: {failure.reason}",
                                        cure="`make doctor` says what it finds; the former run is untouched") from None
                self.timed.failures[failure.subject] = {"status": "failed", "reason": f"{failure.reason} (while: {failure.phase})"}
                continue
            self.timed.failures.update(result["failures"])
            for phase, seconds in result["phases"].items():
                self.phases[f"timing: {phase}"] = self.phases.get(f"timing: {phase}", 0.0) + seconds
            return result

    def _tasks(self, device: str, plan: rounds.Plan) -> list[evidence.Task]:
        """What is left to do, in an order that starts the profiler after everything that is timed."""
        slow = [variant.id for variant in self.variants if variant.slow_start and variant.id not in self._skipped(device)]
        named = [name for name in plan.variants if name not in self.timed.failures]
        tasks: list[evidence.Task] = [("ceilings", None)]
        if not self.request.quick:
            tasks += [("training", name) for name in named]
        tasks += [(task, name) for name in named for task in ("numerics", "masked_row", "memory")]
        tasks += [("profiler", None), *(("trace", name) for name in named)]
        if device != "cpu" and not self.request.quick:
            tasks += [("training_kernels", name) for name in named]
        tasks += [("probes", None)]
        return tasks + [(task, name) for name in slow for task in ("compiled", "numerics", "masked_row", "memory", "trace")]

    def _evidence(self, survey: dict[str, Any], plan: rounds.Plan) -> assemble.Timed:
        """Tasks in one process, and in another one after a crash; returns the timing of the slow starters."""
        device = survey["device"]
        tasks = self._tasks(device, plan)
        slow = tuple(dict.fromkeys(name for task, name in tasks if task == "compiled" and name is not None))
        arguments = (device, survey["workload"], replace(plan, variants=slow, process=self.request.processes, chains=False))
        with self._stage("evidence", "traces, accuracy, memory, ceilings"):
            self._do(tasks, arguments)
        return self._compiled(slow)

    def _do(self, tasks: list[evidence.Task], arguments: tuple[Any, ...]) -> None:
        """Answers every task: a task during which the process dies gets that as its answer."""
        while left := [task for task in tasks if task not in self.answers]:
            try:
                processes.run(evidence.work, (tuple(left), *arguments), at=self.progress.at, result=self._answered,
                              patience=COMPILE_PATIENCE)
            except ChildFailed as failure:
                unanswered = [task for task in left if task not in self.answers]
                if unanswered and len(unanswered) == len(left) or failure.reason.split(":")[0] != "Poisoned":
                    for task in unanswered[:1]:
                        self._answered(task, {"value": None, "status": "failed", "reason": failure.reason, "seconds": 0.0})

    def _answered(self, task: evidence.Task, answer: dict[str, Any]) -> None:
        self.answers[task] = answer
        self.phases[f"evidence: {task[0]}"] = self.phases.get(f"evidence: {task[0]}", 0.0) + answer["seconds"]

    def _compiled(self, slow: tuple[str, ...]) -> assemble.Timed:
        timed = assemble.Timed()
        for name in slow:
            answer = self.answers["compiled", name]
            if answer["status"] != "ok":
                timed.failures[name] = {"status": answer["status"], "reason": answer["reason"]}
            else:
                timed.processes = [answer["value"]]
                timed.failures.update(answer["value"]["failures"])
        return timed

    def _count(self, survey: dict[str, Any], plan: rounds.Plan) -> tuple[Any, str | None]:
        """Hardware counters of the variants that ran, or why there are none."""
        if self.request.quick:
            return None, "not taken in a quick run"
        ran = tuple(name for name in plan.variants if self.timed.samples(name))
        with self._stage("counters", "hardware counters") if self._counts(survey["device"]) else nullcontext():
            try:
                return processes.run(evidence.count, (ran, survey["device"], survey["workload"], self.request.counters), at=self.progress.at)
            except ChildFailed as failure:
                return None, f"taking them failed: {failure.reason}"


def _unavailable(notices: Sequence[Notice]) -> DeviceUnavailable:
    """The reason why the device cannot be used, with its cure."""
    grave = next(notice for notice in notices if notice.effect is causes.Effect.NOTHING_MEASURED or notice.cause in causes.NO_DEVICE)
    elsewhere = "" if grave.effect is causes.Effect.NOTHING_MEASURED else "; DEVICE=cpu profiles the processor instead"
    return DeviceUnavailable(cause_words.sentence(grave), cure=f"{cause_words.cure(grave)}{elsewhere}")


def _refuse_if_nothing_ran(variants: dict[str, Any]) -> None:
    if not any(entry["status"] == "ok" for entry in variants.values()):
        reasons = "; ".join(f"{name}: {entry['reason']}" for name, entry in variants.items() if entry["status"] != "not-tried")
        raise CaptureFailed(f"no variant ran ({reasons})", cure="the former run is untouched; see the reasons above")
