"""Quantities print in one way everywhere."""

import doctest

import pytest

from reportgen.saying import units
from reportgen.saying.units import (
    Bytes,
    BytesPerSecond,
    Count,
    Flop,
    FlopPerSecond,
    Percent,
    Ratio,
    Seconds,
    difference,
    extent,
    listed,
    number_word,
    plural,
    text,
    verb,
)


def test_documented_examples():
    assert doctest.testmod(units).failed == 0


@pytest.mark.parametrize(("quantity", "expected"), [
    (Seconds(0.00105612), "1.06 ms"), (Seconds(59e-6), "59.0 µs"), (Seconds(0.0009999), "1.00 ms"), (Seconds(5), "5.00 s"), (Seconds(0), "0 µs"),
    (Seconds(2.5e-9), "2.50 ns"), (Bytes(4), "4 B"), (Bytes(49152), "48 KiB"), (Bytes(67108864), "64 MiB"), (Bytes(213188), "208 KiB"), (Bytes(19071), "18.6 KiB"),
    (BytesPerSecond(4.3e12), "4.30 TB/s"), (BytesPerSecond(320e9), "320 GB/s"), (Flop(34359738368), "34.4 GFLOP"), (FlopPerSecond(788e12), "788 TFLOP/s"),
    (Flop(0), "0 FLOP"), (Ratio(2.7731), "2.77×"), (Percent(12.5), "12.5 %"), (Percent(18.75), "18.75 %"), (Percent(100), "100 %"), (Count(131072), "131,072"),
])
def test_a_quantity_prints_with_its_unit(quantity, expected):
    assert str(quantity) == expected
    assert f"{quantity}" == expected


def test_unknown_prints_as_a_dash():
    assert text(None) == "—"


@pytest.mark.parametrize(("larger", "smaller", "expected"), [
    (0.0010548, 0.0009283, ("1,055 µs", "928 µs", "127 µs")), (0.0253253, 0.0222873, ("25.33 ms", "22.29 ms", "3.04 ms")),
    (0.00106, 0.00105951, ("1,060.0 µs", "1,059.5 µs", "0.5 µs")), (2.5, 1.25, ("2.50 s", "1.25 s", "1.25 s")), (1e-3, 1e-3, ("1.00 ms", "1.00 ms", "0 µs")),
    (0.0009, 0.0011, ("900 µs", "1,100 µs", "-200 µs")), (0.00105, 0.0000464, ("1,050.0 µs", "46.4 µs", "1,003.6 µs")),
    (0.0253253, 0.02532530001, ("25,325 µs", "25,325 µs", "0 µs")),
])
def test_a_difference_adds_up_as_printed(larger, smaller, expected):
    """A reader subtracts what stands there: 1.05 ms − 928 µs would not be 127 µs."""
    assert difference(larger, smaller) == expected


def test_numbers_and_verbs_in_prose():
    assert (number_word(0), number_word(1), number_word(7), number_word(12), number_word(13), number_word(1300)) == ("no", "one", "seven", "twelve", "13", "1,300")
    assert verb(1, "costs", "cost") == "costs" and verb(0, "has", "have") == "have" and verb(2, "has", "have") == "have"
    assert verb(["flash"], "beats", "beat") == "beats" and verb(("flash", "cuDNN"), "beats", "beat") == "beat"


def test_a_range_says_a_shared_unit_once():
    assert extent(2.45e-3, 3.96e-3) == "2.45 to 3.96 ms"
    assert extent(0.9e-3, 1.1e-3) == "900 µs to 1.10 ms"
    assert extent(5e-6, 5e-6) == "5.00 µs"


def test_lists_read_as_prose():
    assert listed(["a"]) == "a"
    assert listed(["a", "b"]) == "a and b"
    assert plural(1, "kernel") == "1 kernel"
    assert plural(20, "kernel") == "20 kernels"
