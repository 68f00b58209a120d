"""The capture from end to end: which processes run, in which order, and what becomes of a failure."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from typing import Any

import variants as variant_room

from .. import __version__
from ..errors import CaptureFailed, DeviceUnavailable
from ..numbers.statistics import PROCESSES
from ..run.workload import ARTICLE, Workload, altered
from ..saying.progress import Progress, Silent
from . import assemble, cause_words, causes, chains, evidence, fork_server, limits, mask_step, neighbours, operands, patience, probes, processes, refusal, rounds, trying
from .agenda import Agenda
from .causes import Notice
from .counter_stage import CounterStage
from .evidence_stage import COMPILE_PATIENCE, EvidenceStage
from .faults import ChildFailed
from .journal import Journal
from .patience import Extent
from .reserve import Reserve
from .timing_stage import Shortened, TimingStage

ROUNDS = 3
GPU_SETTLE, CPU_SETTLE = 0.25, 0.03


@dataclass(frozen=True)
class CaptureRequest:
    """What to record.

    device: `cuda` or `cpu`; `None` takes CUDA where there is one
    workload: `None` takes the device's default (see `evidence.default_workload`)
    sizes: sizes and element type that replace the workload's (see `workload.altered`)
    processes: fresh timing processes; fewer than seven decide no claim
    variants: ids, or `None` for all
    counters: `auto`, `on` or `off`: hardware counters (see `counters.measure`)
    quick: one round, no chains, no forward-and-backward, nothing compiled: to see that the line works
    force: on a CPU, take as long as it takes (see `patience`)
    """

    device: str | None = None
    workload: Workload | None = None
    label: str | None = None
    processes: int = PROCESSES
    variants: tuple[str, ...] | None = None
    counters: str = "auto"
    quick: bool = False
    force: bool = False
    sizes: Mapping[str, Any] = field(default_factory=dict)


def capture(request: CaptureRequest, progress: Progress | None = None) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Captures a run in memory: the content of `run.json`, and variant id → Kineto trace.

    Raises:
        DeviceUnavailable: no torch, or no such device.
        CaptureFailed: nothing could be measured.
    """
    progress = progress or Silent()
    started = _Capture(request, progress)
    try:
        return started.run()
    finally:
        started.end()
        progress.end()


class _Capture:
    def __init__(self, request: CaptureRequest, progress: Progress) -> None:
        self.request, self.progress, self.journal = request, progress, Journal(progress)
        self.variants = variant_room.load()
        variant_room.load(request.variants)  # names that are unknown are refused before anything runs
        self.timed = assemble.Timed()
        self.answers: dict[evidence.Task, dict[str, Any]] = {}
        self.counting: CounterStage | None = None
        self.reserve: Reserve | None = None

    def end(self) -> None:
        """Ends what was begun and is not finished."""
        if self.counting is not None:
            self.counting.give_up()
        if self.reserve is not None:
            self.reserve.give_up()

    def run(self) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        began, started = time.perf_counter(), datetime.now(timezone.utc)
        self.progress.plan("survey", 1, 4.0)
        survey = self._survey()
        self.workload: Workload = survey["workload"]
        self.watch = neighbours.Watch(survey["identity"])
        self.watch.look("begin")
        self._announce(survey["device"], survey["workload"])
        self._say_what(survey)
        plan = self._plan(survey)
        timing = self._timing(survey["device"])
        self.timed = timing.run(plan)
        plan = replace(plan, no_graphs=timing.no_graphs)
        self.counting = CounterStage(self.journal, survey["device"], self.workload, self.request.counters)
        compiled, retaken = self._evidence(survey, plan, timing.extent)
        counted, uncounted = self._count(self.counting, survey["device"])
        self.watch.look("end")
        self.journal.phases["whole"] = time.perf_counter() - began
        data = {
            **assemble.document(survey, self.request.label, started.strftime("%Y-%m-%dT%H:%M:%SZ"), __version__),
            "protocol": assemble.protocol(plan, self.timed, fork_server.start_method(), timing.extent, retaken, _shortened(timing.shortened)),
            "ceilings": self._value("ceilings", None),
            "clocks": assemble.clocks(self.timed, self.watch),
            "noticed": assemble.noticed(survey["notices"]),
            "probes": self._probes(),
            "correctness": assemble.correctness(self.answers),
            "variants": self._entries(survey["device"], compiled),
            "phases": {name: round(seconds, 3) for name, seconds in self.journal.phases.items()},
            "counters": counted,
            "counters_reason": uncounted,
            "lost": self.journal.lost,
        }
        _refuse_if_nothing_ran(data["variants"])
        return data, {name: trace for name, entry in data["variants"].items()
                      if entry["status"] in assemble.RAN and (trace := self._value("trace", name))}

    def _probes(self) -> dict[str, Any]:
        """Probes by name; `traces_missing` says why a variant that ran has no trace."""
        lost = {name: answer["reason"] for (task, name), answer in self.answers.items() if task == "trace" and answer["status"] != "ok"}
        asked = self.answers.get(("probes", None), {})
        found = dict(asked.get("value") or {}) or {name: {"reason": asked.get("reason") or "the probe was not run"} for name in probes.PROBES}
        launches = found.pop("mask_kernels", {})
        masked = mask_step.assembled([process.get("mask_step") for process in self.timed.processes], {} if "reason" in launches else launches, self.workload)
        return {**found, "saving_accumulates": assemble.chains(self.timed), "mask_step": masked, **({"traces_missing": lost} if lost else {})}

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

    def _announce(self, device: str, workload: Workload) -> None:
        stages = {"timing": self.request.processes, "evidence": 1, "counters": 1 if self._counts(device) else 0}
        known = operands.is_gpu(device) and workload.score_elements <= patience.KNOWN_SIZE * ARTICLE.score_elements
        for kind, seconds in patience.GPU_SECONDS.items():
            self.progress.plan(kind, stages[kind], seconds if known else None)

    def _survey(self) -> dict[str, Any]:
        with self.journal.stage("survey", "importing torch, looking at the device"):
            found = surveyed(self.request.device, self.request.workload, self.progress)
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

    def _timing(self, device: str) -> TimingStage:
        trace = patience.LONG_TRACE if operands.is_gpu(device) else patience.CPU_TRACE
        asked = Extent(self.request.processes, 1 if self.request.quick else ROUNDS, not self.request.quick, trace)
        return TimingStage(self.journal, self.watch, asked, None if operands.is_gpu(device) or self.request.force else patience.CPU_SECONDS)

    def _plan(self, survey: dict[str, Any]) -> rounds.Plan:
        # on a CPU one processor is left to everything else: threads that wait for one that has been
        # taken off its processor make a forward many times slower
        device, skipped = survey["device"], self._skipped(survey["device"])
        gpu = device != "cpu"
        quick = self.request.quick
        names = tuple(variant.id for variant in self.variants if variant.id not in skipped and not variant.slow_start)
        settle = 0.05 if quick else GPU_SETTLE if gpu else CPU_SETTLE
        return rounds.Plan(device, survey["workload"], names, process=0, rounds=1 if quick else ROUNDS, settle_seconds=settle,
                           most_threads=None if gpu else max(1, limits.available_processors() - 1), chains=not quick, mask_step=not quick)

    def _skipped(self, device: str) -> dict[str, str]:
        """Variants that are not tried, with the reason."""
        asked = self.request.variants
        skipped: dict[str, str] = {}
        for variant in self.variants:
            if asked is not None and variant.id not in asked:
                skipped[variant.id] = assemble.NOT_ASKED
            elif variant.slow_start and asked is None and (device == "cpu" or self.request.quick):
                skipped[variant.id] = assemble.COMPILE_ON_CPU if device == "cpu" else assemble.NOT_ASKED
            elif variant.slow_start and asked is None and self.timed.out_of_memory(chains.CHAINED):
                skipped[variant.id] = assemble.COMPILE_NO_MEMORY
        return skipped

    def _evidence(self, survey: dict[str, Any], plan: rounds.Plan, extent: Extent) -> tuple[assemble.Timed, dict[str, str]]:
        """First what times nothing; beside it the next process imports what it needs, and the counters' tool starts. Then that process does the rest.

        Returns the timing of the slow starters, and which traces were taken twice.
        """
        device, gpu = survey["device"], operands.is_gpu(survey["device"])
        skipped = self._skipped(device)
        slow = tuple(variant.id for variant in self.variants if variant.slow_start and variant.id not in skipped)
        alive = [variant for variant in self.variants if variant.id in plan.variants and variant.id not in self.timed.failures]
        asked = Agenda(gpu, alive, slow, extent.training, self.request.quick)
        arguments = (device, survey["workload"], replace(plan, variants=slow, process=self.request.processes, chains=False, mask_step=False), extent.trace)
        stage = EvidenceStage(self.journal, device, arguments, patience.FORCED_SILENCE if self.request.force and not gpu else COMPILE_PATIENCE)
        self.reserve = Reserve(bool(slow), arguments)
        with self.journal.stage("evidence", "traces, accuracy, memory, ceilings"):
            self.reserve.begin()
            if self.counting is not None and self._counts(device):
                self.counting.begin(self._ran())
            self.answers = stage.run(asked.untimed())
            self.answers = stage.run(asked.timed(trying.cures(self.answers)), self.reserve)
        return self._compiled(slow), stage.retaken

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

    def _count(self, counting: CounterStage, device: str) -> tuple[Any, str | None]:
        """Hardware counters of the variants that ran, or why there are none."""
        if self.request.quick:
            return None, "not taken in a quick run"
        with self.journal.stage("counters", "hardware counters") if self._counts(device) else nullcontext():
            return counting.finish(self._ran())

    def _ran(self) -> tuple[str, ...]:
        """The variants whose kernels are counted: the article's, where their forwards were timed. Each kernel costs the tool about 0.2 s."""
        return tuple(variant.id for variant in self.variants if self.timed.samples(variant.id) and not variant.brief)


def surveyed(device: str | None, workload: Workload | None, progress: Progress) -> dict[str, Any]:
    """What `evidence.survey` says of a device that can be used.

    Raises:
        DeviceUnavailable: it cannot.
        CaptureFailed: it could not be looked at.
    """
    try:
        found: dict[str, Any] = processes.run(evidence.survey, (device, workload), at=progress.at)
    except ChildFailed as failure:
        raise CaptureFailed(f"the device could not be looked at ({failure.reason})", cure="`make doctor` says what it finds") from None
    if "device" not in found:
        raise _unavailable(found["notices"])
    return found


def watch(device: str | None, ids: Sequence[str], progress: Progress) -> tuple[dict[str, Any], dict[str, Any]]:
    """Tries correctness probes alone: what `surveyed` says, and the fields of `run.Correctness`. ids: of the probes, or none for all."""
    survey = surveyed(device, None, progress)
    own = survey["device"]
    threads = None if operands.is_gpu(own) else max(1, limits.available_processors() - 1)
    plan = rounds.Plan(own, survey["workload"], (), process=0, rounds=1, settle_seconds=0.0, most_threads=threads, chains=False)
    stage = EvidenceStage(Journal(progress), own, (own, survey["workload"], plan))
    return survey, assemble.correctness(stage.run(trying.cures(stage.run([("picks", None), *trying.steps(ids or None)]))))


def _unavailable(notices: Sequence[Notice]) -> DeviceUnavailable:
    """The reason why the device cannot be used, with its cure."""
    grave = next(notice for notice in notices if notice.effect is causes.Effect.NOTHING_MEASURED or notice.cause in causes.NO_DEVICE)
    elsewhere = "" if grave.effect is causes.Effect.NOTHING_MEASURED else "; DEVICE=cpu profiles the processor instead"
    return DeviceUnavailable(cause_words.sentence(grave), cure=f"{cause_words.cure(grave)}{elsewhere}")


def _shortened(cut: Shortened | None) -> dict[str, Any] | None:
    """The fields of `run.Shortened`."""
    if cut is None:
        return None
    return {"full_seconds": round(cut.full_seconds, 1), "processes_asked": cut.asked.processes, "left_out": list(cut.left_out)}


def _refuse_if_nothing_ran(variants: dict[str, Any]) -> None:
    if not any(entry["status"] in assemble.RAN for entry in variants.values()):
        reasons = "; ".join(f"{name}: {entry['reason']}" for name, entry in variants.items() if entry["status"] != "not-tried")
        raise CaptureFailed(f"no variant ran ({reasons})", cure="the former run is untouched; see the reasons above")
