"""One ranking: winner or ties, who could win without a comparable time, who is wrong, one ratio for each pair."""

from __future__ import annotations

from dataclasses import replace

import pytest
from builders import estimate, facts, failed, probes, unavailable, variant
from turned import timed

from reportgen.analysis import SIX, State
from reportgen.analysis.ranking import DefaultIs, Standing, default, rank
from reportgen.numbers.statistics import Estimate
from reportgen.questions import lead


def wrong(run, name, error=0.3):
    return variant(run, name, state=State.WRONG, reason="wrong result", relative_error=error, allowed_error=0.0048)


def untimed(run, name, traced=None):
    """`run` where a variant ran and has no GPU time; `traced` microseconds stand in its trace."""
    return variant(run, name, gpu_time=None, timer=None, timer_note="the queue ran dry", trace_gpu_time=None if traced is None else traced * 1e-6)


def by_events(run, name, us, traced=None):
    return variant(run, name, gpu_time=estimate(us), timer="queued-events", trace_gpu_time=None if traced is None else traced * 1e-6)


def processes(run, count):
    return replace(run, variants={name: replace(held, times={key: Estimate(time.samples[:count]) for key, time in held.times.items()}) for name, held in run.variants.items()})


def bimodal(low, high):
    return Estimate(tuple(us * 1e-6 for us in (low, high, low, high, low, high, low)))


def test_one_is_faster_than_all_others():
    found = rank(facts())
    assert (found.standing, found.winner, found.leaders) == (Standing.ONE, "sdpa_cudnn", ("sdpa_cudnn",))
    assert found.order == ("sdpa_cudnn", "sdpa_flash", "sdpa_efficient", "naive_inplace", "naive", "sdpa_math")
    assert found.place("sdpa_flash").faster == ("sdpa_cudnn",) and len(found.place("sdpa_flash").slower) == 4


def test_the_ratio_of_a_pair_is_the_median_of_the_paired_ratios():
    """Process by process 2, 2, 2, 2, 1.5, 1.5, 1.5: the median is 2, though the medians divide to 200 ÷ 110 = 1.82."""
    fast = Estimate(tuple(us * 1e-6 for us in (100, 100, 100, 110, 120, 130, 140)))
    slow = Estimate(tuple(us * 1e-6 for us in (200, 200, 200, 220, 180, 195, 210)))
    run = variant(variant(facts(), "sdpa_flash", gpu_time=slow), "sdpa_cudnn", gpu_time=fast)
    assert rank(run).ratio("sdpa_flash", "sdpa_cudnn") == pytest.approx(2.0)
    assert "SDPA flash needs 200 µs, 2.00× as long" in lead.winner(timed(run, "gpu_time", sdpa_efficient=900))


def test_what_cannot_be_told_apart_ties_and_is_not_broken():
    found = rank(facts("rtx4090"))
    assert (found.standing, found.winner, found.leaders) == (Standing.TIE, None, ("sdpa_cudnn", "sdpa_flash"))


def test_a_competitor_without_a_time_may_be_the_fastest():
    """Nothing in the run says that cuDNN takes longer than flash's 93 µs."""
    found = rank(untimed(facts(), "sdpa_cudnn"))
    assert (found.standing, found.winner, [rival.variant for rival in found.open]) == (Standing.OPEN, None, ["sdpa_cudnn"])
    assert lead.winner(untimed(facts(), "sdpa_cudnn")) == (
        "Who is fastest here cannot be decided: SDPA cuDNN ran and has no GPU time (the queue ran dry). Of those that can be compared, SDPA flash needs least: "
        "93.0 µs of GPU time per forward.")


@pytest.mark.parametrize("traced, standing", [(99, Standing.OPEN), (100, Standing.ONE)])
def test_its_trace_may_exclude_it(traced, standing):
    """93 µs + 5 % for the timers + 2 % are 99.6 µs: what its activities take beyond that is too long to win."""
    assert rank(untimed(facts(), "sdpa_cudnn", traced)).standing is standing


def test_a_competitor_timed_in_another_way_may_be_the_fastest():
    """Events measure launching as well: 100 µs by events may be less than 59 µs of graph replay."""
    found = rank(by_events(facts(), "sdpa_flash", 100))
    assert (found.standing, found.mixed_timers, [rival.timer for rival in found.open]) == (Standing.OPEN, True, ["queued-events"])
    assert rank(by_events(facts(), "sdpa_flash", 100, traced=93)).standing is Standing.ONE


def test_a_wrong_result_wins_nothing_and_is_told_with_its_error():
    run = wrong(facts(), "sdpa_cudnn")
    found = rank(run)
    assert (found.winner, found.out) == ("sdpa_flash", {State.WRONG: ("sdpa_cudnn",)})
    assert lead.winner(run).endswith("Not ranked, because the result is wrong: SDPA cuDNN (relative error 30 %, allowed 0.48 %).")


def test_a_default_that_is_wrong_is_the_first_thing_said():
    assert lead.alarm(wrong(facts(), "sdpa_cudnn")) == (
        "**Unpinned, PyTorch picks SDPA cuDNN here, and its result is wrong**: SDPA cuDNN (relative error 30 %, allowed 0.48 %). Pin another backend until that is mended: "
        "`sdpa_kernel(SDPBackend.FLASH_ATTENTION)` gives a right result here.")
    assert lead.alarm(facts()) == "" and lead.alarm(wrong(facts(), "sdpa_flash")) == ""
    assert lead.default_backend(wrong(facts(), "sdpa_cudnn")) == ""


def test_four_of_six_are_ranked_and_the_others_stand_apart_by_their_state():
    run = failed(unavailable(facts(), "sdpa_flash"), "sdpa_math")
    found = rank(run)
    assert len(found.order) == 4 and found.out == {State.REFUSED: ("sdpa_flash",), State.FAILED: ("sdpa_math",)}


def test_processes_that_disagree_wildly_are_no_tie():
    run = variant(facts(), "sdpa_cudnn", gpu_time=bimodal(60, 36000))
    found = rank(run)
    assert found.standing is Standing.UNSTEADY and found.apart > 100
    assert lead.winner(run).startswith("Who is fastest here cannot be told: the processes disagree by up to ")
    assert "60.0 µs to 2.58 ms" in lead.winner(run) or "µs of GPU time" in lead.winner(run)


@pytest.mark.parametrize("count", [1, 3, 6])
def test_fewer_than_seven_processes_tell_nothing_apart(count):
    run = processes(facts(), count)
    assert rank(run).standing is Standing.FEW
    assert lead.winner(run).startswith(f"With {count} process{'es' if count > 1 else ''} for each variant nobody can be called the fastest; 7 are needed.")


def test_one_alone_and_nobody():
    alone = facts()
    for name in SIX[:-1]:
        alone = unavailable(alone, name)
    assert rank(alone).standing is Standing.ALONE
    assert lead.winner(alone) == "Only **SDPA cuDNN** ran here: 59.0 µs of GPU time per forward."
    assert rank(unavailable(alone, "sdpa_cudnn")).standing is Standing.NOBODY
    assert lead.winner(unavailable(alone, "sdpa_cudnn")) == "No variant ran on this device, so there is no winner."


def test_a_gpu_without_any_gpu_time_has_no_fastest_whatever_its_wall_times():
    """The claim says so, and so does the front page."""
    run = facts()
    for name in SIX:
        run = untimed(run, name)
    assert rank(run).standing is Standing.NOBODY
    assert lead.winner(run).startswith("Nobody can be called the fastest here: Naive ran and has no GPU time (the queue ran dry), ")


@pytest.mark.parametrize("change, standing", [
    (lambda run: run, DefaultIs.WINNER),
    (lambda run: timed(run, "gpu_time", sdpa_flash=59), DefaultIs.LEVEL),
    (lambda run: timed(run, "gpu_time", sdpa_flash=40), DefaultIs.SLOWER),
    (lambda run: wrong(run, "sdpa_cudnn"), DefaultIs.WRONG),
    (lambda run: unavailable(run, "sdpa_cudnn"), DefaultIs.UNRANKED),
    (lambda run: untimed(run, "sdpa_flash"), DefaultIs.OPEN),
    (lambda run: probes(run, default_backend=None), DefaultIs.UNKNOWN),
], ids=lambda value: value.name if isinstance(value, DefaultIs) else "")
def test_where_the_unpinned_choice_stands(change, standing):
    run = change(facts())
    assert default(run, rank(run)).standing is standing


def test_a_default_that_was_never_timed_is_no_reason_to_pin():
    assert lead.default_backend(unavailable(facts(), "sdpa_cudnn")) == "Unpinned, PyTorch picks SDPA cuDNN here, and this run has no GPU time of it to compare."


def test_costs_on_the_cpu_tie_pair_by_pair():
    """cuDNN and flash differ, efficient ties with both: no sentence says that all three cannot be told apart."""
    run = timed(facts(floors={"host_time sdpa_cudnn/sdpa_flash": 0.0, "host_time": 0.5}), "host_time", sdpa_efficient=40, sdpa_flash=43, sdpa_cudnn=47)
    assert lead.cpu_cost(run) == ("A call costs the CPU 40.0 µs for SDPA efficient, 43.0 µs for SDPA flash, 47.0 µs for SDPA cuDNN "
                                  "(SDPA efficient and SDPA flash; SDPA efficient and SDPA cuDNN cannot be told apart).")
