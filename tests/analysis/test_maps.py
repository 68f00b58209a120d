"""Who wins a point of a map, what torch's default loses, where the winner changes and where the host is the limit."""

from __future__ import annotations

import pytest
from map_doubles import STEADY, built, point, reading, square

from reportgen.analysis import maps
from reportgen.analysis.map_series import Along, crossovers, host_limits, models, series
from reportgen.analysis.maps import Default, Standing
from reportgen.shapes import Call
from reportgen.shapes.presets import PRESETS


def spot(picked: str | None = "cudnn", **told: object) -> maps.Spot:
    return built(point(square(1024), picked, **told)).spots[0]  # type: ignore[arg-type]


def test_the_winner_is_ahead_in_every_round_and_by_more_than_three_percent():
    found = spot(math=900.0, efficient=300.0, flash=150.0, cudnn=100.0)
    assert found.standing is Standing.WINNER and found.winner == "cudnn" and found.leaders == ("cudnn",)
    assert found.margin == pytest.approx(0.5) and [one.backend for one in found.order] == ["cudnn", "flash", "efficient", "math"]
    assert found.default is Default.BEST and found.loss == 0.0 and found.lost == 0.0


@pytest.mark.parametrize("flash, leaders", [
    (102.9, ("cudnn", "flash")),                          # within 3 %
    (103.2, ("cudnn",)),                                  # just beyond
    ((110.0, 110.0, 110.0, 110.0, 99.0), ("cudnn", "flash")),  # 10 % by the median, and one round the other way round
])
def test_a_tie_is_one_that_a_round_or_three_percent_leaves_open(flash, leaders):
    found = spot(picked="flash", flash=flash, cudnn=100.0)
    assert found.leaders == leaders and found.standing is (Standing.TIE if len(leaders) == 2 else Standing.WINNER)
    assert found.default is (Default.BEST if len(leaders) == 2 else Default.LOSES)
    assert (found.margin is None) == (len(leaders) == 2)


def test_a_map_whose_rounds_spread_wider_tells_less_apart():
    wide = tuple(100.0 * one for one in (1.0, 1.1, 1.0, 1.1, 1.05))  # (110 − 100) ÷ 105 = 9.5 %
    noisy = built(*(point(square(length), "cudnn", flash=tuple(1.08 * one for one in wide), cudnn=wide) for length in (128, 256, 512)))
    assert noisy.floor == pytest.approx(0.0952, abs=1e-4) and noisy.threshold == noisy.floor
    assert [one.standing for one in noisy.spots] == [Standing.TIE] * 3
    assert built(point(square(128), "cudnn", flash=108.0, cudnn=100.0)).threshold == 0.03


@pytest.mark.parametrize("state", ["wrong", "refused", "failed", "no memory"])
def test_what_is_wrong_or_did_not_run_wins_nothing(state):
    found = spot(picked="flash", flash=150.0, efficient=300.0, cudnn=state)
    assert found.winner == "flash" and found.timed("cudnn") is None
    assert found.wrong == (("cudnn",) if state == "wrong" else ())


def test_a_wrong_default_is_told_apart_from_a_slow_one():
    assert spot(picked="cudnn", flash=150.0, cudnn="wrong").default is Default.WRONG
    assert spot(picked="cudnn", flash=150.0, cudnn="wrong").loss is None
    assert spot(picked=None, flash="refused").default is Default.NOTHING


def test_a_right_one_without_a_time_leaves_the_point_open():
    found = spot(flash=150.0, efficient=300.0, cudnn="untimed")
    assert found.standing is Standing.UNDECIDED and found.winner is None and found.untimed == ("cudnn",)
    assert found.default is Default.UNTIMED and found.margin is None


def test_one_that_was_timed_once_loses_only_where_it_is_far_behind():
    far, near = spot(math=(600.0,), cudnn=100.0), spot(math=(200.0,), cudnn=100.0)
    assert far.standing is Standing.WINNER and far.margin == pytest.approx(5.0)
    assert near.standing is Standing.UNDECIDED and near.untimed == ("math",)


def test_alone_and_nobody():
    assert spot(picked="math", math=3000.0, flash="refused").standing is Standing.ALONE
    assert spot(picked="math", math=3000.0, flash="refused").winner == "math"
    nobody = spot(picked=None, math="no memory", flash="refused")
    assert nobody.standing is Standing.NOBODY and nobody.best is None and nobody.host_bound is None and nobody.leaders == ()


def test_fewer_than_five_rounds_tell_nothing_apart():
    assert spot(flash=(150.0,) * 4, cudnn=(100.0,) * 4).standing is Standing.NOBODY


def test_a_backend_that_torch_has_no_name_for_is_never_ranked():
    found = built(point(square(1024), "cudnn", cudnn=100.0, flex=50.0)).spots[0]
    assert found.winner == "cudnn" and found.standing is Standing.ALONE


def test_the_default_s_regret_is_the_mean_over_the_points_with_both_times():
    found = built(point(square(128), "flash", flash=120.0, cudnn=100.0), point(square(256), "cudnn", flash=120.0, cudnn=100.0), point(square(512), "cudnn", flash=120.0, cudnn="wrong"))
    assert found.regret == pytest.approx(0.1)
    assert [one.call.keys for one in found.default_is(Default.LOSES)] == [128]
    assert built(point(square(512), None, flash="refused")).regret is None


def test_series_share_all_but_the_length():
    found = built(*(point(square(length, **more), "cudnn", cudnn=100.0, flash=200.0) for length in (512, 128, 2048) for more in ({}, {"batch": 1})),
                  *(point(Call(4, 32, 8, 1, keys, 128, 128, mask="none"), "cudnn", cudnn=50.0, flash=70.0) for keys in (1024, 4096)))
    told = [(one.along, one.fixed, [spot.call.keys for spot in one.spots]) for one in series(found)]
    assert told == [(Along.TOKENS, 4096, [128, 512, 2048]), (Along.BATCH, 1, [128, 512, 2048]), (Along.CACHE, 4, [1024, 4096])]


def test_a_crossover_passes_over_ties():
    times = {128: (150.0, 100.0), 256: (101.0, 100.0), 512: (100.0, 150.0), 1024: (100.0, 160.0)}
    found = crossovers(series(built(*(point(square(length), "cudnn", flash=flash, cudnn=cudnn) for length, (flash, cudnn) in times.items()))))
    assert [(one.before.call.keys, one.before.winner, one.after.call.keys, one.after.winner) for one in found] == [(128, "cudnn", 512, "flash")]


def test_the_host_is_the_limit_from_the_shortest_length_up_to_one():
    found = built(*(point(square(length), "cudnn", host=30.0, flash=2 * gpu, cudnn=gpu) for length, gpu in ((128, 10.0), (256, 30.0), (512, 31.0), (1024, 20.0))))
    limits = host_limits(series(found))
    assert [(one.until.call.keys, one.whole) for one in limits] == [(256, False)]
    assert [one.host_bound for one in found.spots] == [True, True, False, True]
    assert host_limits(series(built(*(point(square(length), "flash", host=None, flash=5.0) for length in (128, 256)), kind="cpu"))) == ()


def test_a_model_s_call_that_is_not_measured_yet_stays_empty():
    llama = PRESETS[0]
    found = models(built(point(llama.calls[0], "cudnn", flash=150.0, cudnn=100.0)))
    assert [one.preset.name for one in found] == ["Llama 3 8B"]
    assert [spot is not None for _, spot in found[0].spots] == [True, False, False]


def test_a_map_without_a_point_says_nothing():
    empty = built()
    assert empty.floor == 0.0 and empty.regret is None and series(empty) == () and models(empty) == ()


def test_the_floor_is_taken_of_whole_readings_alone():
    assert maps.spread([reading("flash", (100.0, 200.0))]) == 0.0
    assert maps.spread([reading("flash", tuple(100.0 * one for one in STEADY))]) == pytest.approx(0.004)
