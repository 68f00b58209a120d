"""Pictures of how a thing works, with a run's sizes: worked out by hand, unknown where nobody knows them, and nothing without a GPU."""

from __future__ import annotations

from dataclasses import replace

import pytest
from builder_devices import DEVICES
from builders import activities, facts, no_lane

from reportgen.analysis.kernels import main_kernel
from reportgen.analysis.room import Level, held, rooms
from reportgen.findings import FINDINGS
from reportgen.hardware.occupancy import occupancy
from reportgen.pages import charts
from reportgen.questions import drawings

KIB, MIB = 1024, 1024**2


def device(run, **changes):
    return replace(run, device=replace(run.device, **changes))


def test_room_is_what_one_sm_has_times_the_sms():
    """Compute capability 9.0: 65,536 registers of 4 bytes are 256 KiB, 132 of them 33 MiB; 132 × 228 KiB of shared memory are 29.4 MiB."""
    run = device(facts("h200"), compute_capability="9.0", sm_count=132, l2_cache_bytes=60 * MIB, memory_bytes=140 * KIB * MIB)
    assert {room.level: (room.total, room.per_sm) for room in rooms(run)} == {
        Level.REGISTERS: (34_603_008, 262_144), Level.SHARED: (30_818_304, 233_472), Level.CACHE: (62_914_560, None), Level.MAIN: (150_323_855_360, None)}
    (chart,) = drawings.memory("m", run)
    sizes = [size for _, size, _ in chart.data["levels"]]
    assert sizes[:3] == ["132 × 256 KiB = 33 MiB", "132 × 228 KiB = 29.4 MiB", "60 MiB"] and sizes[3].startswith("140 GiB, copied at ")


def test_what_nobody_knows_is_unknown():
    """An architecture that the table does not have, and a driver that does not tell its cache."""
    (chart,) = drawings.memory("m", device(facts("h200"), compute_capability="99.0", l2_cache_bytes=None))
    assert [size for _, size, _ in chart.data["levels"]][:3] == ["size unknown"] * 3
    (chart,) = drawings.memory("m", device(facts("h200"), compute_capability="9.0", sm_count=None))
    assert [size for _, size, _ in chart.data["levels"]][:2] == ["256 KiB per SM", "228 KiB per SM"]


def test_flash_holds_all_registers_of_an_sm_and_less_of_its_shared_memory():
    """2 blocks × 4 warps × 8,192 registers are all 65,536; 2 × (48 KiB + 1 KiB) of 228 KiB are 43.0 %."""
    kernel = main_kernel(facts("h200").variants["sdpa_flash"])
    kernel = replace(kernel, block=(128, 1, 1), registers=255, shared_memory=48 * KIB)
    found = held(replace(kernel, occupancy=occupancy("9.0", 128, 255, 48 * KIB)), "9.0")
    assert found is not None and (found.warps_per_block, found.registers) == (4, 1.0) and found.shared_memory == pytest.approx(98 / 228)
    assert held(kernel, "99.0") is None and held(None, "9.0") is None


def test_the_slots_say_what_fills_them():
    (chart,) = drawings.slots("s", facts("h200"))
    panel = chart.data["panels"][0]
    assert panel[:6] == ("SDPA flash", "sdpa_flash", 4, 2, 64, "2 blocks, 8 of 64 slots (12.5 %); limit: registers")
    assert [label for label, *_ in chart.data["panels"]] == ["SDPA flash", "SDPA cuDNN", "mul, which scales the scores"]


def test_the_tiles_have_the_size_in_the_kernels_name():
    """A name without a tile gives no picture: no size is guessed."""
    (chart,) = drawings.tiling("t", facts("h200"))
    assert (chart.data["queries"], chart.data["keys"], chart.data["sequence"], chart.data["causal"]) == (128, 128, 1024, True)
    assert drawings.tiling("t", activities(facts("h200"), "sdpa_flash", lambda one: replace(one, decoded=None))) == ()


def test_lanes_begin_with_the_first_activity_and_never_overlap():
    run = facts("h200")
    (chart,) = drawings.forwards("f", list(run.six), "caption")
    assert [label for label, _, _ in chart.data["forwards"]] == ["Naive", "Naive in place", "SDPA math", "SDPA efficient", "SDPA flash", "SDPA cuDNN"]
    for _, _, steps in chart.data["forwards"]:
        assert steps[0][1] == 0.0
        assert all(begin + duration <= after + 1e-6 for (_, begin, duration), (_, after, _) in zip(steps, steps[1:]))
    said = {label: words for label, words, _ in chart.data["forwards"]}
    assert said["SDPA flash"].startswith("1 activity, ") and said["SDPA math"].startswith("20 activities, ")


def test_without_a_gpu_lane_there_is_nothing_to_draw():
    run = no_lane(facts("h200"))
    assert drawings.forwards("f", list(run.six), "caption") == () and drawings.slots("s", run) == () and drawings.tiling("t", run) == ()


@pytest.mark.parametrize("name", DEVICES)
def test_every_picture_can_be_drawn_on_every_device(name):
    run = facts(name)
    found = [chart for finding in FINDINGS for chart in finding.evidence(run).pictures]
    assert len({chart.name for chart in found}) == len(found)
    for chart in found:
        assert charts.svg(chart.form, {**chart.data, "title": chart.title}, chart.alt).startswith(b"<?xml") and "None" not in chart.alt
