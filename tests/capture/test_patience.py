"""How long a capture takes, judged by the first calls, and what is left out. Worked out by hand from the counts of calls."""

from __future__ import annotations

from math import inf

import pytest

from reportgen.capture import patience
from reportgen.capture.patience import SHORT_TRACE, Extent

WHOLE = Extent(processes=7)


def test_a_process_takes_its_first_calls_and_what_fits_into_ten_seconds():
    """1 s a forward: 0.6 to start, 3.5625 of first calls, 1 to warm up, 1 of host time are 6.1625; of 13 more only 4.4375 fit into 10. 8.7 s a forward: nothing more."""
    assert patience.process_seconds({"naive": 1.0}, 3) == pytest.approx(10.6)
    assert patience.process_seconds({"naive": 8.7}, 3) == pytest.approx(48.99375)


def test_the_whole_is_the_processes_and_the_evidence():
    """1 s a forward: 7 × 10.6 and 2.5 + 63.2 + 8; without forward and backward, which is 16 × 3 of the 63.2, 48 s less."""
    assert patience.seconds({"naive": 1.0}, WHOLE) == pytest.approx(147.9)
    assert patience.seconds({"naive": 1.0}, Extent(7, training=False)) == pytest.approx(99.9)


def test_what_decides_no_claim_is_left_out_first():
    cut = patience.choose({"naive": 1.0}, WHOLE, 120.0)
    assert (cut.extent, cut.fits(120.0)) == (Extent(7, training=False), True)
    assert (cut.seconds, cut.full_seconds) == (pytest.approx(99.9), pytest.approx(147.9))
    assert patience.choose({"naive": 1.0}, WHOLE, 95.0).extent == Extent(7, training=False, trace=SHORT_TRACE)
    assert patience.choose({"naive": 1.0}, WHOLE, 85.0).extent == Extent(6, training=False, trace=SHORT_TRACE)
    assert patience.choose({"naive": 1e-3}, WHOLE, 120.0).extent == WHOLE
    assert patience.choose({"naive": 8.7}, WHOLE, inf).extent == WHOLE


def test_where_not_even_the_shortest_fits_that_is_told():
    """8.7 s a forward, as `long` took on one thread: the whole takes 965 s, one process and short traces still 191."""
    found = patience.choose({"naive": 8.7}, WHOLE, 120.0)
    assert not found.fits(120.0)
    assert (found.full_seconds, found.shortest_seconds) == (pytest.approx(964.90, abs=0.01), pytest.approx(190.69, abs=0.01))


@pytest.mark.parametrize(("forward", "turns"), [(0.0001, 5), (0.001, 5), (0.01, 1), (0.03, 0), (8.7, 0)])
def test_chains_are_repeated_only_as_far_as_their_seconds_go(forward, turns):
    """54 forwards to prepare and 50 a turn, in 1.5 s: of 10 ms each one turn fits, of 30 ms none."""
    assert patience.chain_turns(forward, per_turn=50, once=54, most=5) == turns
