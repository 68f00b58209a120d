"""The pages of memory and arithmetic, from runs with counters and from every way to have none."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import counted
import pytest
from builders import facts, no_lane

from reportgen import analysis as facts_room
from reportgen import pages
from reportgen.findings import hidden_memcpy
from reportgen.readings import READINGS

SLUGS = ("bytes", "half-the-square", "roofline", "limits", "occupancy")


def render(*runs) -> dict[str, str]:
    files = pages.render_facts(runs, runs[0].slot, (hidden_memcpy.FINDING,))
    return {name: content if isinstance(content, str) else content.decode() for name, content in files.items()}


def hardware(files: dict[str, str]) -> dict[str, str]:
    return {slug: files[f"hardware/{slug}.md"] for slug in SLUGS}


def test_a_counted_run_has_every_page_with_its_chart_and_no_hedge():
    files = render(counted.h200())
    assert tuple(reading.slug for reading in READINGS) == SLUGS
    for slug, page in hardware(files).items():
        assert "Counted by Nsight Compute 2025.3.1.0" in page and "Modelled only" not in page and "not counted" not in page.split("## How it works")[0], slug
        assert "](../runs/nvidia-h200/article/charts/" in page, slug


def test_a_second_setting_answers_alike_only_where_the_same_facts_stand_behind_it():
    """In both the whole square is multiplied; in the second one math does so on Tensor Cores too, and a page that says "alike" would hide it."""
    run = counted.h200()
    math = run.variants["sdpa_math"]
    on_tensor = tuple(replace(a, counters=replace(a.counters, tensor_core_flop=17179869184.0)) if a.role == "matmul" else a for a in math.activities)
    again, other = (replace(run, label=name, slot=f"{run.slot}+{name}") for name in ("again", "other"))
    other = replace(other, variants={**run.variants, "sdpa_math": replace(math, activities=on_tensor)})
    files = render(run, again, other)
    pages_said = {slot: files[f"runs/{slot}/hardware.md"] for slot in (again.slot, other.slot)}
    assert "\n## Tensor Core work" not in pages_said[again.slot] and "\n## Tensor Core work" in pages_said[other.slot]
    assert "Naive, Naive in place and SDPA math 34.4 GFLOP on Tensor Cores" in pages_said[other.slot]
    rows = {line.split("](../runs/")[1].split("/hardware")[0]: line for line in files["hardware/half-the-square.md"].splitlines() if "/hardware.md#half-the-square)" in line}
    assert rows[again.slot].endswith("| same answers, other numbers |") and "SDPA math 34.4 GFLOP" in rows[other.slot]


@pytest.mark.parametrize(("reason", "said"), [
    ("Nsight Compute (ncu) was not found; install it with the CUDA toolkit and put it on the PATH",
     "Modelled only: this run has no hardware counters (Nsight Compute (ncu) was not found; install it with the CUDA toolkit and put it on the PATH)."),
    ("turned off; to take counters, leave COUNTERS at auto", "Modelled only: this run has no hardware counters (turned off; to take counters, leave COUNTERS at auto)."),
    (None, "Modelled only: this run was recorded before hardware counters were taken. `make report` on this machine records it anew"),
], ids=["refused", "turned off", "older"])  # fmt: skip
def test_without_counters_every_page_says_modelled_only_the_reason_and_the_cure(reason, said):
    """The pages are whole all the same: what can be modelled is shown, marked so."""
    files = render(facts(counters_reason=reason))
    for slug, page in hardware(files).items():
        assert said in page, slug
    assert "Requested bytes (modelled) of one forward" in files["hardware/bytes.md"]
    assert "| modelled only |" in files["hardware/bytes.md"]
    assert "Modelled: FLOP per requested byte" in files["hardware/roofline.md"]


def test_a_refused_run_on_disk_renders_with_its_reason(tmp_path: Path):
    def refused(content):
        content["counters"], content["counters_reason"] = None, "another profiler holds the counters; end it and record again"

    files = render(facts_room.build(counted.run(tmp_path, refused)))
    assert all("(another profiler holds the counters; end it and record again)." in page for page in hardware(files).values())


def test_a_mismatch_is_said_on_the_runs_page_and_on_every_page_that_needs_counters(tmp_path: Path):
    """Flash's counters are left out; the other five stay."""
    def another(content):
        content["counters"]["variants"]["sdpa_flash"].append(content["counters"]["variants"]["sdpa_flash"][0])

    files = render(facts_room.build(counted.run(tmp_path, another)))
    assert "- SDPA flash: its hardware counters are left out, because the trace shows 1 kernels, the counter tool 2." in files["runs/nvidia-h200/article/index.md"]
    for slug, page in hardware(files).items():
        assert "not counted: SDPA flash (the trace shows 1 kernels, the counter tool 2)" in page, slug
    assert "SDPA flash" not in re.search(r"DRAM traffic of one forward: [^\n]*", files["hardware/bytes.md"]).group()


def test_an_occupancy_that_the_counters_contradict_is_flagged_on_the_runs_page_and_in_the_table(tmp_path: Path):
    def contradicted(content):
        content["counters"]["variants"]["sdpa_flash"][0]["metrics"]["sm__maximum_warps_per_active_cycle_pct"] = 6.25

    files = render(facts_room.build(counted.run(tmp_path, contradicted)))
    assert "works out at 12.5 % from its launch here, and at 6.25 % in Nsight Compute (SDPA flash)" in files["runs/nvidia-h200/article/index.md"]
    assert "⚠ Not for 1 kernel" in files["hardware/occupancy.md"]
    assert re.search(r"^\| `flash_fwd D=64 128x128` \| 12\.5 % \| 13 % \| 6\.25 % \|.*⚠ Nsight Compute contradicts the arithmetic", files["hardware/occupancy.md"], re.M)


def test_metrics_that_are_missing_cost_only_what_needs_them(tmp_path: Path):
    """An older tool without Tensor Core counts: bytes and occupancy are counted, the work is not known."""
    def fewer(content):
        for kernels in content["counters"]["variants"].values():
            for kernel in kernels:
                kernel["metrics"] = {name: value for name, value in kernel["metrics"].items() if "ops_path" not in name}

    files = render(facts_room.build(counted.run(tmp_path, fewer)))
    assert "DRAM traffic of one forward: Naive" in files["hardware/bytes.md"]
    assert "Only hardware counters can tell, and this run has none for the fused kernels." in files["hardware/half-the-square.md"]


def test_other_devices_are_rows_that_link_into_their_folder():
    files = render(counted.h200(), facts("a100"), facts("cpu"))
    page = files["hardware/limits.md"]
    assert re.search(r"^\| \[NVIDIA A100-SXM4-80GB\]\(\.\./runs/[\w-]+/article/hardware\.md#limits\) \| article \| Modelled only", page, re.M)
    assert page.count("No variant of this run has a trace with GPU activities.") == 1, "said once for all questions"
    assert '<a id="limits"></a>' in files[f"runs/{facts('a100').slot}/hardware.md"]


def test_a_new_device_adds_rows_and_changes_none():
    before, after = render(counted.h200(), facts("b200")), render(counted.h200(), facts("b200"), facts("t4"))
    for slug in SLUGS:
        gone = [line for line in before[f"hardware/{slug}.md"].split("\n") if line not in after[f"hardware/{slug}.md"].split("\n")]
        assert gone == [], slug


def test_a_featured_run_without_a_gpu_lane_has_pages_without_charts():
    for run in (facts("cpu"), no_lane(facts()), replace(facts(), variants={})):
        for slug, page in hardware(render(run)).items():
            assert "![" not in page, slug
            assert "## Evidence" in page and page.index("- <a id=") < page.index("## How it works"), slug


def test_the_pages_follow_each_other_like_a_book():
    files = render(facts())
    for here, after in zip(SLUGS, SLUGS[1:]):
        assert f"]({after}.md)" in files[f"hardware/{here}.md"]
    assert "](../beyond.md)" in files["hardware/occupancy.md"]


def test_no_ratio_is_given_where_a_step_asks_for_next_to_nothing():
    """A fill of 4 bytes: whatever was counted beside it, a ratio in the hundreds would tell nothing."""
    page = render(counted.h200())["hardware/bytes.md"]
    fills = re.findall(r"^\| \d+ \| fill \| kernel \| 4 B \| .* \| .* \| (.*) \| .* \| (.*) \|$", page, re.M)
    assert fills and set(fills) == {("—", "counted")}
    assert "Counted ÷ requested is left out for steps that ask for less than 64 KiB." in page


def test_a_threshold_is_typed_in_one_place(monkeypatch):
    """The teaching pages follow the constants that the rules decide by."""
    from reportgen.analysis import bounds
    from reportgen.findings import FINDINGS
    from reportgen.numbers import ranks, statistics
    from reportgen.pages import environment, front, site

    monkeypatch.setattr(bounds, "ENOUGH", 0.65)
    monkeypatch.setattr(statistics, "MINIMUM_EFFECT", 0.03)
    monkeypatch.setattr(statistics, "MAGNITUDE_TOLERANCE", 0.17)
    monkeypatch.setattr(statistics, "PROCESSES", 9)
    monkeypatch.setattr(ranks, "ALPHA", 0.02)
    environment.environment.cache_clear()
    try:
        built = site.build([facts("h200")], facts("h200").slot, FINDINGS)
        pages = {name: front.reading(built, name) for name in ("method.md", "glossary.md", "reviewing.md")}
    finally:
        environment.environment.cache_clear()
    assert "65 % of the copy's rate" in pages["method.md"] and "reaches 65 % of the rate" in pages["glossary.md"]
    assert "the shift is at least 3 %" in pages["method.md"] and "within 17 % of" in pages["method.md"] and "Nine processes agree by chance once in 512" in pages["method.md"]
    assert "p < 0.02" in pages["reviewing.md"] and "from each of nine fresh processes" in pages["reviewing.md"]
    assert not any(old in text for text in pages.values() for old in ("60 %", "2 %, or", "within 15 %", "seven fresh", "p < 0.01"))
