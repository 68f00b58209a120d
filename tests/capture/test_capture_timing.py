"""How much work a timed block holds, when a device has settled, and what is left of the time."""

from __future__ import annotations

import pytest

from reportgen.capture import inputs, rounds, timing
from reportgen.run.workload import ARTICLE, PRESETS, Workload


@pytest.mark.parametrize(("microseconds", "sets", "expected"), [
    (2580, 1, 8),     # 20 ms of work: 7.75 forwards
    (1056, 1, 19),    # 20 ms again: 18.9
    (400, 1, 20),     # 20 forwards are 8 ms
    (94, 1, 64),      # 6 ms, so that the replay's start does not show
    (5, 1, 1000),     # never more
    (2580, 4, 8),     # a multiple of the input sets
    (1056, 4, 20),
    (2580, 480, 480), # every set once
])  # fmt: skip
def test_forwards_per_graph(microseconds, sets, expected):
    assert timing.forwards_per_graph(microseconds * 1e-6, sets) == expected


@pytest.mark.parametrize(("microseconds", "expected"), [(60, 20), (500, 20), (900, 11), (2580, 10), (50_000, 2), (400_000, 1)])
def test_a_host_block_stays_within_500_launches_and_about_10_ms_of_work(microseconds, expected):
    """20 calls of a forward with 25 launches are 500; a slow forward gets fewer, ten at least unless they are more than 100 ms of work."""
    assert timing.calls_per_block(microseconds * 1e-6) == expected


def test_short_blocks_are_repeated_and_long_ones_are_not():
    assert [timing.repeats(seconds) for seconds in (0.0, 0.001, 0.006, 0.02)] == [5, 5, 2, 1]


def test_input_sets_overrun_the_cache_four_times():
    """Article: 64 MiB of operands against 4 × 60 MiB of cache is 3.75, so four sets; a big workload has two."""
    assert inputs.input_sets(ARTICLE.operand_bytes, 60 * 2**20) == 4
    assert inputs.input_sets(2**30, 60 * 2**20) == 2
    assert inputs.input_sets(PRESETS["small"].operand_bytes, 60 * 2**20) == 480


def test_a_cold_cache_is_not_claimed_where_it_cannot_be_had():
    assert inputs.input_sets(ARTICLE.operand_bytes, None) is None
    assert inputs.input_sets(1024, 60 * 2**20) is None


@pytest.mark.parametrize(("sequence", "expected"), [(1024, 768), (256, 192), (10, 11), (12, 8), (1, 2)])
def test_the_new_shape_is_new(sequence, expected):
    assert inputs.new_shape(Workload("w", 1, 1, sequence, 8)).sequence == expected


def test_settled_means_three_running_medians_within_one_percent():
    assert not timing.settled([1.0, 1.0, 1.0, 1.0])
    assert timing.settled([9.0, 1.0, 1.0, 1.009, 1.0])       # medians 1, 1, 1: one outlier does not count
    assert not timing.settled([1.05, 1.03, 1.02, 1.0, 1.0])  # 1.03, 1.02, 1.00
    assert timing.settled([2.0, 2.0, 1.0, 1.005, 1.0, 1.008, 1.0])


def test_warm_up_ends_when_settled_and_at_the_latest_after_its_time():
    falling = iter([8.0, 4.0, 2.0, 1.0, 1.0, 1.0, 1.0])
    assert timing.settle(lambda: next(falling), 100.0, clock=lambda: 0.0) is True
    assert list(falling) == []  # the running medians after six values are 2, 1, 1
    doubling, ticks = iter(2.0**n for n in range(99)), iter(range(99))
    assert timing.settle(lambda: next(doubling), 3.0, clock=lambda: float(next(ticks))) is False
    assert next(doubling) == 8.0


def test_the_order_differs_by_process_and_turn_and_is_the_same_in_every_run():
    six = ("a", "b", "c", "d", "e", "f")
    orders = {tuple(rounds.order(six, process, turn)) for process in range(7) for turn in range(3)}
    assert len(orders) > 15
    assert all(sorted(one) == list(six) for one in orders)
    assert rounds.order(six, 2, 1) == rounds.order(six, 2, 1)




def test_each_variant_makes_the_first_call_of_some_process():
    six = ("a", "b", "c", "d", "e", "f")
    orders = [rounds.first_order(six, process) for process in range(7)]
    assert [order[0] for order in orders] == ["a", "b", "c", "d", "e", "f", "a"]
    assert all(sorted(order) == list(six) for order in orders)
    assert rounds.first_order((), 3) == []




def rounds_of(seconds, one_clock: bool = False):
    """`_rounds` of two variants and an extra whose blocks take `seconds(number of blocks so far)`; the process, its values, and the blocks in order."""
    from contextlib import nullcontext
    from types import SimpleNamespace

    taken: list[str] = []
    process = object.__new__(rounds._Process)
    names = ("a", "b")
    process.variants = {name: SimpleNamespace(id=name, pinned=nullcontext, brief=name == "extra", slow_start=False) for name in (*names, "extra")}
    process.failures, process.phases, process.lap, process.began, process.medians, process.rounds_done = {}, {}, 0.0, rounds.time.perf_counter(), {}, 0
    process.first, process.settled, process.clocks = {}, {}, []
    process.report = SimpleNamespace(at=lambda *_: None)
    process.plan = rounds.Plan("cpu", SimpleNamespace(), (*names, "extra"), process=0, rounds=3, settle_seconds=0.0)
    process.sampler = SimpleNamespace(available=False)
    process.bench = SimpleNamespace(one_clock=one_clock)

    def block(name: str, quantity: str):
        def call() -> float:
            taken.append(f"{name} {quantity}")
            return seconds(len(taken))
        return call

    quantities = ("host_time",) if one_clock else ("wall_time", "host_time")
    process.prepared = {name: SimpleNamespace(blocks={q: block(name, q) for q in quantities}) for name in names}
    process.prepared["extra"] = SimpleNamespace(blocks={"wall_time": block("extra", "wall_time")})
    return process, process._rounds(), taken


def test_host_time_is_taken_in_many_short_blocks_with_the_variants_in_turn():
    """A processor that slows down for a while slows a few blocks of every variant, not all of one."""
    process, values, taken = rounds_of(lambda number: 0.1 * number)
    host = [entry for entry in taken if entry.endswith("host_time")]
    assert process.failures == {}
    assert len(values["a"]["host_time"]) == len(values["b"]["host_time"]) == 8
    assert set(values["extra"]) == {"wall_time"}, "of an extra no more than its deciding time is taken"
    assert all({host[i][0], host[i + 1][0]} == {"a", "b"} for i in range(0, 16, 2))


def test_rounds_end_when_they_agree():
    """Two rounds that say the same decide a process's median; a third is taken where they are more than half a per cent apart."""
    process, values, _ = rounds_of(lambda number: 0.1)
    assert process.rounds_done == 2
    assert len(values["a"]["host_time"]) == 8
    process, values, _ = rounds_of(lambda number: 0.1 if number < 15 else 0.1006)
    assert process.rounds_done == 3
    process, values, _ = rounds_of(lambda number: 0.1 if number < 15 else 0.1004)
    assert process.rounds_done == 2


def test_a_further_round_measures_what_the_others_left_open_and_nothing_else():
    """What is off is the first variant's first round of five short blocks; the third round is that variant's alone."""
    process, values, taken = rounds_of(lambda number: 0.102 if number <= 5 else 0.1)
    off = taken[0].split()[0]
    assert process.rounds_done == 3 and {name: len(values[name]["wall_time"]) for name in values} == {name: 15 if name == off else 10 for name in ("a", "b", "extra")}
    assert values[off]["wall_time"] == [0.102] * 5 + [0.1] * 10
    assert all(len(values[name]["host_time"]) == 8 for name in ("a", "b"))


def test_on_a_gpu_the_last_blocks_of_the_warm_up_are_the_first_round():
    """Four blocks: the last three agree within half a per cent. The second round takes five short ones, and agrees with them."""
    from types import SimpleNamespace

    taken = iter([130.0, 100.0, 100.2, 100.4, *[100.3] * 5])
    process = object.__new__(rounds._Process)
    process.plan, process.settled, process.first, process.medians, process.clocks = rounds.Plan("cuda", SimpleNamespace(), ("a",), 0, 3, 10.0), {}, {}, {}, []
    process.sampler = SimpleNamespace(available=True, sample=lambda: {"sm_mhz": 1980})
    block = lambda: next(taken)  # noqa: E731 - one block, twice
    process.prepared = {"a": SimpleNamespace(blocks={"gpu_time": block}, warm=block)}
    variant, values = SimpleNamespace(id="a"), {}
    process._settle(variant)
    assert process.settled == {"a": True} and len(process.clocks) == 1
    process._round(variant, values)
    assert values == {"gpu_time": [100.0, 100.2, 100.4]} and process._undecided("a") == ["gpu_time"] and len(process.clocks) == 1
    process._round(variant, values)
    assert process.medians["a", "gpu_time"][0] == 100.2 and process._undecided("a") == [] and len(process.clocks) == 2


def test_what_does_not_come_to_rest_is_measured_anew():
    from types import SimpleNamespace

    falling = iter(200.0 * 0.9**number for number in range(1000))
    process = object.__new__(rounds._Process)
    process.plan, process.settled, process.first, process.clocks = rounds.Plan("cuda", SimpleNamespace(), ("a",), 0, 3, 0.0), {}, {}, []
    process.sampler = SimpleNamespace(available=False)
    block = lambda: next(falling)  # noqa: E731
    process.prepared = {"a": SimpleNamespace(blocks={"gpu_time": block}, warm=block)}
    process._settle(SimpleNamespace(id="a"))
    assert process.settled == {"a": False} and process.first == {}


def test_where_a_call_returns_when_its_work_is_done_wall_time_is_host_time():
    process, values, taken = rounds_of(lambda number: 0.1 * number, one_clock=True)
    assert values["a"]["wall_time"] == values["a"]["host_time"] and len(values["a"]["wall_time"]) == 8
    assert len(taken) == len(values["extra"]["wall_time"]) + 16, "each block is measured once"
