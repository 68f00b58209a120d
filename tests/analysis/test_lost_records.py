"""What the profiler lost is never a fact: records taken out of recorded H200 traces, one way after another.

The profiler drops GPU records of the first iterations (pytorch#192021), of some kernels, or all of them. What is
left must not pass for what ran: no claim may hold or differ about it, and nothing may raise.
"""

from __future__ import annotations

import gzip
import json
import random
import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import variants
from reportgen import analysis, findings, readings, run, trace
from reportgen.commands import facts_json
from reportgen.commands.summary import summary
from reportgen.pages import readme, render_facts
from reportgen.questions import caveats
from reportgen.saying.units import listed

RECORDED = Path(__file__).resolve().parents[2] / "docs" / "runs" / "nvidia-h200" / "article"
GPU = ("kernel", "gpu_memcpy", "gpu_memset")
Events = list[dict[str, Any]]

COUNTS_THE_GPU_SIDE_OF = {
    "naive": ("memcpy-hidden", "memcpy-inplace-removes"),
    "naive_inplace": ("memcpy-hidden", "memcpy-inplace-removes", "math-20-kernels", "math-no-tensor-cores", "hbm-dominates"),
    "sdpa_math": ("math-20-kernels", "math-no-tensor-cores", "hbm-dominates"),
    "sdpa_efficient": ("efficient-one-kernel",),
    "sdpa_flash": ("flash-one-kernel", "flash-occupancy"),
    "sdpa_cudnn": ("cudnn-one-kernel", "cudnn-launch-api", "cudnn-zero-occupancy", "cudnn-zero-cause", "cudnn-real-occupancy"),
    "naive_compiled": (),
}
"""Variant → claims that cannot be decided on an H200 without its GPU records."""


def per_forward(events: Events) -> list[Events]:
    """The GPU records of each of the six forwards, in the order of their launches."""
    ranges = sorted((e["ts"], e["ts"] + e["dur"]) for e in events if e.get("name") == trace.FORWARD and e.get("cat") == "user_annotation")
    called = {e["args"]["correlation"]: e["ts"] for e in events if e.get("cat") in ("cuda_runtime", "cuda_driver")}
    records = sorted((e for e in events if e.get("cat") in GPU), key=lambda e: called[e["args"]["correlation"]])
    return [[e for e in records if begin <= called[e["args"]["correlation"]] <= end] for begin, end in ranges]


def first_forwards(count: int) -> Callable[[Events], Events]:
    return lambda events: [e for forward in per_forward(events)[:count] for e in forward]


def first_kernels(count: int) -> Callable[[Events], Events]:
    return lambda events: [e for forward in per_forward(events) for e in [e for e in forward if e["cat"] == "kernel"][:count]]


def all_records(events: Events) -> Events:
    return [e for forward in per_forward(events) for e in forward]


def of_kind(category: str) -> Callable[[Events], Events]:
    return lambda events: [e for e in all_records(events) if e["cat"] == category]


def calls(events: Events) -> Events:
    return [e for e in events if e.get("cat") in ("cuda_runtime", "cuda_driver")]


NO_FORWARD_IS_WHOLE: dict[str, Callable[[Events], Events]] = {
    "every forward": first_forwards(6),
    "the first kernel of each forward": first_kernels(1),
    "the first two kernels of each forward": first_kernels(2),
    "all but one record": lambda events: all_records(events)[1:],
    "all calls": calls,
}
ONE_FORWARD_IS_WHOLE = {f"the first {count} forwards": first_forwards(count) for count in (1, 2, 3, 4, 5)}
SOMETHING_IS_LEFT = {"only copies": of_kind("gpu_memcpy"), "all but the copies": lambda events: [e for e in all_records(events) if e["cat"] != "gpu_memcpy"], "only memsets": of_kind("gpu_memset"), "all but the last record": lambda events: all_records(events)[:-1],
                     "every second call": lambda events: calls(events)[::2]}


@cache
def recorded() -> run.Run:
    return run.load(RECORDED)


@cache
def document(name: str) -> dict[str, Any]:
    return json.loads(gzip.decompress(recorded().variants[name].trace_path.read_bytes()))


@cache
def whole(name: str) -> trace.Trace:
    return trace.parse(document(name))


def broken(name: str, loss: Callable[[Events], Events]) -> trace.Trace:
    lost = {id(e) for e in loss(document(name)["traceEvents"])}
    return trace.parse({**document(name), "traceEvents": [e for e in document(name)["traceEvents"] if id(e) not in lost]})


def facts_with(monkeypatch, **traces: trace.Trace) -> analysis.RunFacts:
    """The recorded run with these variants' traces in place of their own."""
    ours = {variant.trace_path: traces.get(name) or whole(name) for name, variant in recorded().variants.items()}
    monkeypatch.setattr(analysis.build.__globals__["trace_room"], "read", ours.__getitem__)
    return analysis.build(recorded())


@pytest.fixture(scope="module")
def normal() -> dict[str, findings.Outcome]:
    with pytest.MonkeyPatch.context() as patch:
        return findings.outcomes(facts_with(patch))


def decided(outcomes: dict[str, findings.Outcome]) -> dict[str, str]:
    return {claim: outcome.verdict for claim, outcome in outcomes.items() if outcome.verdict != "not measurable"}


def turned_over(outcomes: dict[str, findings.Outcome], normal: dict[str, findings.Outcome]) -> dict[str, str]:
    """Claims that are decided otherwise than with all records there."""
    return {claim: verdict for claim, verdict in decided(outcomes).items() if verdict != normal[claim].verdict}


@pytest.mark.parametrize("loss", NO_FORWARD_IS_WHOLE)
@pytest.mark.parametrize("name", COUNTS_THE_GPU_SIDE_OF)
def test_no_claim_is_decided_by_records_that_were_lost(monkeypatch, normal, name, loss):
    facts = facts_with(monkeypatch, **{name: broken(name, NO_FORWARD_IS_WHOLE[loss])})
    variant = facts.variants[name]
    assert (variant.kernels, variant.memcpys, variant.memsets, variant.activities, variant.trace_gpu_time) == (None, None, None, (), None)
    assert (variant.state, variant.op_count) == (analysis.State.LOST, OPS[name])
    outcomes = findings.outcomes(facts)
    assert turned_over(outcomes, normal) == {}
    assert [claim for claim in COUNTS_THE_GPU_SIDE_OF[name] if claim in decided(outcomes)] == []


OPS = {"naive": 39, "naive_inplace": 30, "sdpa_math": 75, "sdpa_efficient": 15, "sdpa_flash": 17, "sdpa_cudnn": 7, "naive_compiled": 8}
"""CPU ops of one forward: they are recorded by other means than the GPU's records, and stay."""


def test_the_profilers_own_words_are_the_reason_where_it_had_some(monkeypatch):
    said = "the profiler kept no GPU record, also when its trace was taken again; it said: CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"
    ours = {variant.trace_path: broken(name, all_records) if name == "sdpa_flash" else whole(name) for name, variant in recorded().variants.items()}
    monkeypatch.setattr(analysis.build.__globals__["trace_room"], "read", ours.__getitem__)
    facts = analysis.build(replace(recorded(), lost=(run.LostPart("records", said, "sdpa_flash"),)))
    assert findings.outcomes(facts)["flash-one-kernel"].headline == f"Not measurable: the GPU activities of SDPA flash cannot be counted: {said}."
    assert [caveats.said(one) for one in facts.caveats if one.kind is analysis.CaveatKind.RECORDS_LOST] == [
        f"Nothing that SDPA flash does on the GPU is counted here: {said}. Record the run again."]


@pytest.mark.parametrize("loss", ONE_FORWARD_IS_WHOLE)
@pytest.mark.parametrize("name", COUNTS_THE_GPU_SIDE_OF)
def test_one_whole_forward_is_enough_for_every_count(monkeypatch, normal, name, loss):
    facts = facts_with(monkeypatch, **{name: broken(name, ONE_FORWARD_IS_WHOLE[loss])})
    assert {claim: (outcome.verdict, outcome.case) for claim, outcome in findings.outcomes(facts).items()} == {
        claim: (outcome.verdict, outcome.case) for claim, outcome in normal.items()}


@pytest.mark.parametrize("loss", SOMETHING_IS_LEFT)
@pytest.mark.parametrize("name", COUNTS_THE_GPU_SIDE_OF)
def test_what_is_left_of_a_forward_turns_no_verdict(monkeypatch, normal, name, loss):
    assert turned_over(findings.outcomes(facts_with(monkeypatch, **{name: broken(name, SOMETHING_IS_LEFT[loss])})), normal) == {}


@pytest.mark.parametrize("seed", range(12))
def test_records_lost_at_random_in_all_variants_turn_no_verdict(monkeypatch, normal, seed):
    """Each record is lost with one chance of 2, 4, 8 or 16."""
    source, chance = random.Random(seed), 2 ** (1 + seed % 4)
    traces = {name: broken(name, lambda events: [e for e in all_records(events) if source.randrange(chance) == 0]) for name in COUNTS_THE_GPU_SIDE_OF}
    assert turned_over(findings.outcomes(facts_with(monkeypatch, **traces)), normal) == {}


def losing_ops(name: str, forwards: int) -> trace.Trace:
    """The last `forwards` forwards lack their last CPU op, their last two, their last three, …"""
    events = document(name)["traceEvents"]
    ranges = sorted((e["ts"], e["ts"] + e["dur"]) for e in events if e.get("name") == trace.FORWARD and e.get("cat") == "user_annotation")[-forwards:]
    ops = [sorted((e for e in events if e.get("cat") == "cpu_op" and begin <= e["ts"] < end), key=lambda e: e["ts"]) for begin, end in ranges]
    gone = {id(op) for number, inside in enumerate(ops) for op in inside[-1 - number:]}
    return trace.parse({**document(name), "traceEvents": [e for e in events if id(e) not in gone]})


def test_ops_that_two_of_five_forwards_lost_are_still_counted(monkeypatch, normal):
    facts = facts_with(monkeypatch, sdpa_efficient=losing_ops("sdpa_efficient", 2))
    assert (facts.variants["sdpa_efficient"].op_count, facts.variants["sdpa_efficient"].other_ops) == (15, 2)
    assert {claim: outcome.verdict for claim, outcome in findings.outcomes(facts).items()} == {claim: outcome.verdict for claim, outcome in normal.items()}


def test_where_no_list_of_ops_has_a_majority_none_is_counted(monkeypatch, normal):
    """Each of the five forwards has another list: nobody knows which list is whole, and no pin is called ignored."""
    facts = facts_with(monkeypatch, sdpa_efficient=losing_ops("sdpa_efficient", 5))
    variant = facts.variants["sdpa_efficient"]
    assert (variant.ops, variant.op_count, variant.transposes, variant.other_ops) == ((), None, None, 5)
    outcomes = findings.outcomes(facts)
    assert turned_over(outcomes, normal) == {}
    assert outcomes["sdpa-pin"].headline == "Not measurable: the CPU ops of SDPA efficient cannot be told: its 5 recorded forwards have different lists of them, and no list has a majority."
    assert "SDPA efficient: its 5 recorded forwards do not agree on a list of CPU ops, not even most of them, so none is counted here." in caveats.all_said(facts)
    assert render_facts([facts], facts.slot)


RECORDS = {"naive": (5, 1), "naive_inplace": (5, 0), "sdpa_math": (20, 0), "sdpa_efficient": (1, 0), "sdpa_flash": (1, 0), "sdpa_cudnn": (1, 0), "naive_compiled": (3, 0)}
"""Kernels and copies of one forward on the H200."""
LOST = [(name, f"the first {count} kernels of each forward", first_kernels(count)) for name, (kernels, _) in RECORDS.items() for count in range(1, kernels + 1)]
LOST += [(name, what, loss) for name in RECORDS for what, loss in {**ONE_FORWARD_IS_WHOLE, **NO_FORWARD_IS_WHOLE, **SOMETHING_IS_LEFT}.items()]


@pytest.mark.parametrize(("name", "loss"), [(name, loss) for name, _, loss in LOST], ids=[f"{name}, {what}" for name, what, _ in LOST])
def test_each_loss_of_each_variant_is_told_and_nothing_raises(monkeypatch, normal, name, loss):
    """Where every forward lacks a record of a kernel or a copy, nothing is decided that is counted on the GPU's side; everything can be said."""
    events = document(name)["traceEvents"]
    gone = {id(e) for e in loss(events)}
    lacking = [any(id(e) in gone and e["cat"] != "gpu_memset" for e in forward) for forward in per_forward(events)[-5:]]
    facts = facts_with(monkeypatch, **{name: broken(name, loss)})
    outcomes = findings.outcomes(facts)
    assert turned_over(outcomes, normal) == {}
    if all(lacking):
        assert [claim for claim in COUNTS_THE_GPU_SIDE_OF[name] if claim in decided(outcomes)] == []
        assert facts.variants[name].kernels is None and facts.variants[name].trace_loss is not None
    said = [outcome.headline for outcome in (*outcomes.values(), *readings.answers(facts).values())]
    said += [summary(facts, outcomes, {}, ""), readme.section(facts, outcomes)]
    assert not re.search(r"\b0 kernels|none at all|recorded before (?!the rightness)|\bnan\b|\bNone\b", "\n".join(said))
    json.dumps(facts_json.to_json(facts, outcomes), allow_nan=False)


@pytest.mark.parametrize("name", RECORDS)
def test_the_recorded_forward_has_these_records(name):
    kinds = [[e["cat"] for e in forward] for forward in per_forward(document(name)["traceEvents"])]
    assert {(kind.count("kernel"), kind.count("gpu_memcpy")) for kind in kinds if kind} == {RECORDS[name]}


def test_only_the_copy_of_naive_lost_is_no_proof_that_there_is_none(monkeypatch):
    """The launch `cudaMemcpyAsync` stands in all five forwards, 5 × 7 launches in all, and its record in none."""
    facts = facts_with(monkeypatch, naive=broken("naive", of_kind("gpu_memcpy")))
    assert facts.variants["naive"].trace_loss == trace.TraceLoss(trace.Loss.RECORDS, forwards=5, launches=35, recorded=30)
    assert findings.outcomes(facts)["memcpy-hidden"].headline == (
        "Not measurable: the GPU activities of Naive cannot be counted: the profiler kept GPU records of 30 of 35 launches, and all of them for none of 5 forwards.")


def test_a_launch_that_was_lost_with_its_record_is_missed_in_the_other_forwards(monkeypatch, normal):
    """Four forwards lack the record of one kernel each, and the fifth lacks a kernel and its launch: its 19 kernels are not math's 20."""
    events = document("sdpa_math")["traceEvents"]
    *others, last = [forward for forward in per_forward(events)[-5:]]
    call = next(e for e in calls(events) if e["args"]["correlation"] == last[3]["args"]["correlation"])
    gone = {id(e) for e in (*(forward[number] for number, forward in enumerate(others)), last[3], call)}
    facts = facts_with(monkeypatch, sdpa_math=trace.parse({**document("sdpa_math"), "traceEvents": [e for e in events if id(e) not in gone]}))
    assert facts.variants["sdpa_math"].trace_loss == trace.TraceLoss(trace.Loss.UNEQUAL, forwards=5, launches=99, recorded=95)
    assert findings.outcomes(facts)["math-20-kernels"].headline == (
        "Not measurable: the GPU activities of SDPA math cannot be counted: its 5 forwards have different launches, and none of which the profiler kept all has as many as another.")


def test_a_memset_that_never_left_a_record_leaves_the_kernels_countable(monkeypatch):
    """CUTLASS's memset calls leave none on some machines; how many ran is then unknown, and not 0."""
    variant = facts_with(monkeypatch, naive_inplace=broken("naive_inplace", of_kind("gpu_memset"))).variants["naive_inplace"]
    assert (variant.kernels, variant.memcpys, variant.memsets, variant.observed, variant.trace_loss) == (5, 0, None, None, None)


@pytest.mark.parametrize("names", [*((name,) for name in COUNTS_THE_GPU_SIDE_OF), tuple(COUNTS_THE_GPU_SIDE_OF)], ids="+".join)
def test_every_page_of_a_run_with_lost_records_is_made(monkeypatch, names):
    monkeypatch.setattr(variants, "VARIANTS", tuple(RECORDS))  # a variant that is newer than the run says so
    facts = facts_with(monkeypatch, **{name: broken(name, first_forwards(6)) for name in names})
    pages = {path: text for path, text in render_facts([facts], facts.slot).items() if isinstance(text, str)}
    run_page = pages[f"runs/{facts.slot}/index.md"]
    said = listed([facts.variants[name].title for name in facts.variants if name in names])
    assert f"Nothing that {said} {'does' if len(names) == 1 else 'do'} on the GPU is counted here: the profiler kept no GPU record of it." in run_page
    assert not re.search(r"\b0 kernels|none at all|recorded before (?!the rightness)", "".join(pages.values()))
