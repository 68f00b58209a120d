"""Quantities print in one way everywhere."""

import doctest

import pytest

from reportgen import units
from reportgen.units import Bytes, BytesPerSecond, Count, Flop, FlopPerSecond, Percent, Ratio, Seconds, listed, plural, text


def test_documented_examples():
    assert doctest.testmod(units).failed == 0


@pytest.mark.parametrize(("quantity", "expected"), [
    (Seconds(0.00105612), "1.06 ms"), (Seconds(59e-6), "59.0 µs"), (Seconds(0.0009999), "1.00 ms"), (Seconds(5), "5.00 s"), (Seconds(0), "0 µs"),
    (Seconds(2.5e-9), "2.50 ns"), (Bytes(4), "4 B"), (Bytes(49152), "48 KiB"), (Bytes(67108864), "64 MiB"), (Bytes(213188), "208 KiB"), (Bytes(19071), "18.6 KiB"),
    (BytesPerSecond(4.3e12), "4.30 TB/s"), (BytesPerSecond(320e9), "320 GB/s"), (Flop(34359738368), "34.4 GFLOP"), (FlopPerSecond(788e12), "788 TFLOP/s"),
    (Ratio(2.7731), "2.77×"), (Percent(12.5), "12.5 %"), (Percent(18.75), "18.75 %"), (Percent(100), "100 %"), (Count(131072), "131,072"),
])
def test_a_quantity_prints_with_its_unit(quantity, expected):
    assert str(quantity) == expected
    assert f"{quantity}" == expected


def test_unknown_prints_as_a_dash():
    assert text(None) == "—"


def test_lists_read_as_prose():
    assert listed(["a"]) == "a"
    assert listed(["a", "b"]) == "a and b"
    assert plural(1, "kernel") == "1 kernel"
    assert plural(20, "kernel") == "20 kernels"
