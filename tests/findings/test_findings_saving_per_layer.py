"""Saving per layer: every way in which its claim can come out, with the evidence turned round."""

from __future__ import annotations

from dataclasses import replace

import pytest
from builders import activities, estimate, facts, probes
from case_tables import outcome
from turned import timed

from reportgen.findings.saving_per_layer import FINDING
from reportgen.numbers.statistics import Estimate
from reportgen.run import Chains


def chain(deep_us, single_us=1056.0, deep_samples=None):
    """The probe with other times for naive: one forward, and 24 chained ones (in-place: 930 and 22,320 µs)."""
    deep = Estimate(tuple(deep_samples)) if deep_samples else estimate(deep_us)
    return probes(facts(), saving_accumulates=replace(facts().probes.saving_accumulates, naive={"1": estimate(single_us), "24": deep}))


def scattered():
    """Per-layer savings from about 0.7 to 1.3 of the single one."""
    inplace = facts().probes.saving_accumulates.naive_inplace["24"].samples
    savings = (0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3)
    return chain(0, deep_samples=[t + 24 * 126e-6 * part for t, part in zip(inplace, savings)])


CASES_REACHED = {
    ("saving-accumulates", "probe-failed"): (
        lambda: probes(facts(), saving_accumulates=Chains(reason="chains of forwards could not be timed")),
        "Not measurable: the saving over a chain of forwards was not recorded (chains of forwards could not be timed)."),
    ("saving-accumulates", "no-copy"): (
        lambda: activities(facts(), "naive", lambda a: None if a.role == "copy" else a),
        "Not measurable: naive shows no copy under `masked_fill` here, so there is no saving to add up."),
    ("saving-accumulates", "adds-up"): (
        facts,
        "The saving adds up: 24 chained forwards save 3.024 ms, 126 µs each, which is 1.00× what a chain of one saves (126 µs; in every process)."),
    ("saving-accumulates", "adds-up-less"): (
        lambda: chain(23832),
        "The saving adds up only in part: 24 chained forwards save 1.512 ms, 63.0 µs each, which is 0.500× what a chain of one saves (126 µs; in every process)."),
    ("saving-accumulates", "adds-up-more"): (
        lambda: chain(26856),
        "The saving more than adds up: 24 chained forwards save 4.536 ms, 189 µs each, which is 1.50× what a chain of one saves (126 µs; in every process)."),
    ("saving-accumulates", "costs-deep"): (
        lambda: chain(21600),
        "The saving does not add up: a single forward saves 126 µs, but 24 chained forwards take 720 µs longer in place, 30.0 µs "
        "each (in every process -0.238× the single saving)."),
    ("saving-accumulates", "straddles"): (
        scattered,
        "24 chained forwards save 126 µs each and a single one 126 µs, but the processes (0.700× to 1.30×) straddle ±15 %."),
    ("saving-accumulates", "no-saving"): (
        lambda: chain(22560, single_us=940.0),
        "There is nothing to add up: this run cannot tell a single forward in place (930 µs) from one out of place (940 µs)."),
    ("saving-accumulates", "costs"): (
        lambda: chain(21600, single_us=900.0),
        "There is no saving to add up: a single forward takes longer in place, 930 µs instead of 900 µs."),
}

# claim → device → (verdict, case)
ON_DEVICES = {
    "saving-accumulates": {
        "h200": ("holds", "adds-up"),
        "a100": ("holds", "adds-up"),
        "t4": ("holds", "adds-up"),
        "rtx4090": ("holds", "adds-up"),
        "b200": ("holds", "adds-up"),
        "mi300x": ("holds", "adds-up"),
        "cpu": ("not measurable", "no-gpu-lane"),
    },
}


@pytest.mark.parametrize("part, case", [(0.84, "adds-up-less"), (0.86, "adds-up"), (1.14, "adds-up"), (1.16, "adds-up-more")])
def test_adding_up_has_borders_at_fifteen_percent(part, case):
    """126 µs are saved by one forward; in-place takes 22,320 µs for 24."""
    assert outcome("saving-accumulates", chain(22320 + 24 * 126 * part)).case == case


def test_the_saving_is_put_into_proportion():
    assert outcome("saving-accumulates", facts()).because == (
        "24 layers take 25.344 ms with the copy and 22.320 ms without: 11.9 % less. A layer here is attention only, without projections and MLP.",)


def test_the_evidence_shows_both_chains():
    table = FINDING.evidence(facts()).tables[0]
    assert [[str(cell) for cell in row] for row in table.rows] == [["1", "1,056.0 µs", "930.0 µs", "126.0 µs", "126 µs"], ["24", "25.344 ms", "22.320 ms", "3.024 ms", "126 µs"]]


def test_what_costs_time_is_not_called_a_saving():
    """21,600 µs for 24 out of place and 22,320 in place: 720 more. There is nothing to draw either."""
    shown = FINDING.evidence(chain(21600))
    assert [[str(cell) for cell in row] for row in shown.tables[0].rows] == [
        ["1", "1,056.0 µs", "930.0 µs", "126.0 µs", "126 µs"], ["24", "21,600 µs", "22,320 µs", "nothing: 720 µs more", "nothing: 30.0 µs more"]]
    assert shown.charts == ()
    assert outcome("saving-accumulates", chain(21600)).because == ()
    lying_across = [t - 24 * 126e-6 * part for t, part in zip(facts().probes.saving_accumulates.naive_inplace["24"].samples, (-1.0, 0.1, 0.1, 0.1, 0.2, 0.2, 0.1))]
    assert outcome("saving-accumulates", chain(0, deep_samples=lying_across)).headline.startswith("24 chained forwards cost 14.1 µs more each in place, while a single one saves 126 µs, but")


def test_what_the_processes_do_not_tell_apart_is_no_saving_in_the_table_and_is_not_drawn():
    """One of seven chains is slower in place by 1 %: the medians differ by 3,024 µs, and nobody may call that a saving."""
    run = facts()
    deep = list(run.probes.saving_accumulates.naive["24"].samples)
    lower = [22320e-6] * 6 + [deep[6] * 1.01]
    shown = FINDING.evidence(chain(0, deep_samples=lower))
    assert [str(cell) for cell in shown.tables[0].rows[1]][3:] == ["not told apart", "not told apart"]
    assert [str(cell) for cell in shown.tables[0].rows[0]][3:] == ["126.0 µs", "126 µs"]
    assert shown.charts == ()


def test_the_timer_of_the_chains_is_said():
    assert FINDING.evidence(facts()).tables[0].caption == "Time of the whole chain: median over the processes, by a CUDA graph."
    assert FINDING.evidence(facts("cpu")).tables[0].caption == "Time of the whole chain: median over the processes, by the wall clock."


def test_chains_of_three_processes_tell_nothing():
    probe = facts().probes.saving_accumulates
    short = {name: {layers: Estimate(time.samples[:3]) for layers, time in getattr(probe, name).items()} for name in ("naive", "naive_inplace")}
    assert outcome("saving-accumulates", probes(facts(), saving_accumulates=replace(probe, **short))).case == "few"


def test_the_sentence_and_the_table_round_one_saving_in_one_way():
    run = facts()
    said, row = outcome("saving-accumulates", run).headline, FINDING.evidence(run).tables[0].rows[1]
    assert f"save {row[3]}," in said and str(row[3]) == "3.024 ms"


def test_a_second_measurement_of_the_saving_is_named_as_one():
    """A chain of one saves 126 µs; the forwards timed for the other pages 1,056 − 930 µs, and then 1,056 − 925 µs."""
    assert not any("Timed apart" in line for line in outcome("saving-accumulates", facts()).because)
    other = outcome("saving-accumulates", timed(facts(), "gpu_time", naive_inplace=925)).because
    assert "Timed apart from the chains, in one forward replayed by itself, in place saves 131 µs: another measurement of the same." in other
