"""Names that become folders: what a device is called here, and that no name of a run leads out of the folder of the runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from run_builder import record

from reportgen import run as run_room
from reportgen.commands import cli
from reportgen.errors import ReportError, RunInvalid
from reportgen.pages import tree
from reportgen.review import merge
from reportgen.run import device_slug, names, slots
from reportgen.run.layout import Layout

GIB = 2**30


@pytest.mark.parametrize(("name", "extra", "slug"), [
    ("NVIDIA H200", {}, "nvidia-h200"),
    ("NVIDIA A100-SXM4-80GB", {"memory_bytes": 79 * GIB}, "nvidia-a100-sxm4-80gb"),
    ("Tesla T4", {"power_limit_watts": 70.0, "default_power_limit_watts": 70.0}, "tesla-t4"),
    ("NVIDIA H200", {"power_limit_watts": 600.0, "default_power_limit_watts": 700.0}, "nvidia-h200-600w"),
    ("NVIDIA H200", {"power_limit_watts": 699.2, "default_power_limit_watts": 700.0}, "nvidia-h200"),
    ("NVIDIA H200", {"power_limit_watts": 600.0, "default_power_limit_watts": None}, "nvidia-h200"),
    ("NVIDIA H200", {"mig": "1g.18gb", "memory_bytes": 16 * GIB}, "nvidia-h200-mig-1g.18gb"),
    ("NVIDIA H200", {"mig": "1g.18gb+me.all"}, "nvidia-h200-mig-1g.18gb-me.all"),
    ("NVIDIA GeForce RTX 4060 Ti", {"memory_bytes": int(7.7 * GIB)}, "nvidia-geforce-rtx-4060-ti"),
    ("NVIDIA GeForce RTX 4060 Ti", {"memory_bytes": int(15.7 * GIB)}, "nvidia-geforce-rtx-4060-ti-16gb"),
    ("NVIDIA GeForce RTX 4090", {"memory_bytes": int(23.6 * GIB)}, "nvidia-geforce-rtx-4090"),
    ("NVIDIA GeForce RTX 4090", {"memory_bytes": int(47.4 * GIB)}, "nvidia-geforce-rtx-4090-47gb"),
    ("NVIDIA GeForce RTX 2080 Ti", {"memory_bytes": int(21.7 * GIB)}, "nvidia-geforce-rtx-2080-ti-22gb"),
    ("AMD Instinct MI300X", {"memory_bytes": 192 * GIB, "kind": "rocm", "gfx": "gfx942", "sm_count": 304}, "amd-instinct-mi300x"),
    ("AMD Radeon Graphics", {"kind": "rocm", "gfx": "gfx1103", "sm_count": 6}, "amd-radeon-graphics-gfx1103-6sm"),
    ("AMD Radeon Graphics", {"kind": "rocm", "gfx": "gfx1151", "sm_count": 20}, "amd-radeon-graphics-gfx1151-20sm"),
    ("NVIDIA Graphics Device", {"compute_capability": "12.0", "sm_count": 170}, "nvidia-graphics-device-12.0-170sm"),
    ("", {"kind": "rocm", "gfx": "gfx942", "sm_count": 304}, "gpu-rocm-gfx942-304sm"),
    ("", {"compute_capability": "9.0"}, "gpu-cuda-9.0"),
    ("", {}, "gpu-cuda"),
    ("測試卡", {"compute_capability": "8.9"}, "gpu-cuda-8.9"),
    ("®™", {"compute_capability": "8.9"}, "gpu-cuda-8.9"),
    ("..", {"compute_capability": "8.9"}, "gpu-cuda-8.9"),
    ("/", {}, "gpu-cuda"),
    ("../../etc/passwd 1", {}, "etc-passwd-1"),
    ("NVIDIA A100/../../x", {}, "nvidia-a100-..-..-x"),
    ("<script>alert(1)</script>", {}, "script-alert-1-script"),
    ("[x](javascript:alert(1))", {}, "x-javascript-alert-1"),
    ("A\x00B\n1", {}, "a-b-1"),
    ("GRID T4-2Q", {}, "grid-t4-2q"),
    ("x" * 200 + "1", {"compute_capability": "9.0"}, "x" * 64 + "-9.0"),
    ("CON", {"compute_capability": "9.0"}, "con-9.0"),
])  # fmt: skip
def test_a_gpus_slug_is_its_name_and_what_is_not_stock(name, extra, slug):
    assert device_slug.gpu_slug(name, **extra) == slug
    assert names.fits(slug)


@pytest.mark.parametrize("enforced", [80.0, 95.0, 115.0, 130.0])
def test_a_laptops_limit_moves_and_its_place_does_not(enforced):
    assert device_slug.gpu_slug("NVIDIA GeForce RTX 4070 Laptop GPU", power_limit_watts=enforced, default_power_limit_watts=115.0) == "nvidia-geforce-rtx-4070-laptop-gpu"


@pytest.mark.parametrize(("name", "slug"), [
    ("Intel(R) Xeon(R) Platinum 8480C CPU @ 2.00GHz", "cpu-intel-xeon-platinum-8480c"),
    ("AMD EPYC 9654 96-Core Processor", "cpu-amd-epyc-9654"),
    ("AMD Ryzen 9 7940HS w/ Radeon 780M Graphics", "cpu-amd-ryzen-9-7940hs-w-radeon-780m-graphics"),
    ("Apple M3 Pro", "cpu-apple-m3-pro"),
    ("Intel(R) Xeon(R) Processor", "cpu-intel-xeon"),
    ("", "cpu-unknown"), ("龍芯", "cpu-unknown"), ("../..", "cpu-unknown"),
])  # fmt: skip
def test_a_processors_slug_has_no_trade_marks_clock_or_core_count(name, slug):
    assert device_slug.cpu_slug(name) == slug
    assert names.fits(slug)


STOCK = {"kind": "cuda", "name": "NVIDIA X1", "slug": "nvidia-x1", "compute_capability": "8.9", "sm_count": 128, "memory_bytes": 24 * GIB, "gfx": None}


@pytest.mark.parametrize(("change", "slug"), [
    ({}, "nvidia-x1"),
    ({"memory_bytes": 48 * GIB}, "nvidia-x1-48gb"),
    ({"memory_bytes": int(22.5 * GIB)}, "nvidia-x1"),  # ECC takes a sixteenth
    ({"sm_count": 114}, "nvidia-x1-114sm"),
    ({"sm_count": 114, "memory_bytes": 48 * GIB}, "nvidia-x1-48gb-114sm"),
    ({"sm_count": None, "memory_bytes": None}, "nvidia-x1"),
    ({"compute_capability": "9.0"}, "nvidia-x1-cc9.0"),
    ({"slug": "nvidia-x1-300w", "sm_count": 114}, "nvidia-x1-300w"),
    ({"kind": "cpu", "memory_bytes": 48 * GIB}, "nvidia-x1"),
])
def test_another_gpu_of_a_recorded_name_gets_a_place_of_its_own(change, slug):
    assert device_slug.distinct({**STOCK, **change}, [STOCK]) == slug


def test_an_apus_share_of_the_hosts_memory_makes_no_second_device():
    apu = {**STOCK, "kind": "rocm", "name": "AMD Radeon Graphics", "gfx": "gfx1103", "compute_capability": None}
    assert device_slug.distinct({**apu, "memory_bytes": 48 * GIB}, [apu]) == "nvidia-x1"
    assert device_slug.distinct({**apu, "gfx": "gfx1151", "memory_bytes": 48 * GIB}, [apu]) == "nvidia-x1-gfx1151"


def test_the_recorded_devices_of_a_checkout_are_found_past_a_run_that_cannot_be_read(tmp_path):
    record(tmp_path / "docs" / "runs", slug="nvidia-a")
    broken = record(tmp_path / "docs" / "runs", slug="nvidia-b")
    (broken / "run.json").write_text("{")
    assert [device["slug"] for device in Layout(tmp_path).recorded_devices()] == ["nvidia-a"]


def changed(place, value):
    """An edit of a run's content: the field at `place` becomes `value`."""
    def edit(data):
        entry = data
        for name in place[:-1]:
            entry = entry[name]
        if place == ("variants",):
            data["variants"] = {value: data["variants"]["naive"]}
        else:
            entry[place[-1]] = value
    return edit


HOSTILE = [
    (("device", "slug"), "../../../escaped"), (("device", "slug"), "/somewhere/else"), (("device", "slug"), ""), (("device", "slug"), "a/b/c"),
    (("device", "slug"), ".hidden"), (("device", "slug"), "a\0b"), (("device", "slug"), "x" * 300), (("device", "slug"), "a\\b"), (("device", "slug"), "con"),
    (("device", "slug"), "<img src=x>"), (("device", "slug"), ".."), (("device", "slug"), "a "), (("device", "slug"), "ü"),
    (("workload", "name"), "../../../../escaped"), (("workload", "name"), ""), (("workload", "name"), "a+b"), (("workload", "name"), "a/b"),
    (("label",), "/../../../x"), (("label",), ""), (("label",), "a b"), (("label",), "a+b"), (("label",), "x."),
    (("variants",), "../../../evilvariant"), (("variants",), ""), (("variants",), "a/b"), (("variants",), "<b>"),
]


@pytest.mark.parametrize(("place", "value"), HOSTILE)
def test_a_name_that_is_a_path_is_refused_where_it_is_saved_and_nothing_is_written(tmp_path, place, value):
    runs = tmp_path / "deep" / "docs" / "runs"
    runs.mkdir(parents=True)
    with pytest.raises(RunInvalid) as caught:
        record(runs, traces=False, change=changed(place, value))
    assert str(caught.value).count("\n") == 1 and "cannot name a folder" in str(caught.value)
    assert [entry.relative_to(tmp_path).as_posix() for entry in sorted(tmp_path.rglob("*")) if entry.is_file()] == []


@pytest.mark.parametrize(("place", "value"), HOSTILE)
def test_a_name_that_is_a_path_is_refused_where_it_is_loaded_placed_and_merged(tmp_path, place, value):
    import json

    source = record(tmp_path / "elsewhere", traces=False)
    data = json.loads((source / "run.json").read_text())
    changed(place, value)(data)
    (source / "run.json").write_text(json.dumps(data))
    before = sorted(tmp_path.rglob("*"))
    for attempt in (lambda: run_room.load(source), lambda: slots.place(source, tmp_path / "runs"), lambda: merge.merge([source], tmp_path / "runs")):
        with pytest.raises(ReportError) as caught:
            attempt()
        assert "cannot name a folder" in str(caught.value) and "what to do: " in str(caught.value)
    assert [entry for entry in sorted(tmp_path.rglob("*")) if entry.name != "runs"] == before


@pytest.mark.parametrize("trace", ["/etc/passwd", "../naive.trace.json.gz", "naive.html", "sdpa_math.trace.json.gz", ""])
def test_a_trace_has_the_name_of_its_variant(tmp_path, trace):
    import json

    source = record(tmp_path)
    data = json.loads((source / "run.json").read_text())
    data["variants"]["naive"]["trace"] = trace
    (source / "run.json").write_text(json.dumps(data))
    with pytest.raises(RunInvalid) as caught:
        run_room.load(source)
    assert f"variants.naive.trace is {trace!r}, and it can only be 'naive.trace.json.gz'" in str(caught.value)


def test_the_sentence_of_a_refused_name():
    with pytest.raises(RunInvalid) as caught:
        names.slot("../x", "article", None)
    assert str(caught.value) == (
        "device.slug is '../x', which cannot name a folder (it takes letters, digits, dots, dashes and underscores, at most 80, with a letter, digit or underscore first and no dot last)\n"
        "  what to do: restore the file from version control, or record the run again; a run from elsewhere must keep to these names")


def test_a_slot_that_is_a_link_out_of_the_runs_is_not_followed(tmp_path):
    (tmp_path / "runs").mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / "runs" / "nvidia-h200").symlink_to(tmp_path / "outside", target_is_directory=True)
    with pytest.raises(RunInvalid, match="which is outside of"):
        record(tmp_path / "runs", traces=False)
    assert list((tmp_path / "outside").iterdir()) == []


@pytest.mark.parametrize("page", ["../escaped.md", "runs/../../escaped.md", "."])
def test_no_page_is_written_outside_of_the_folder_that_is_rendered(tmp_path, page):
    with pytest.raises(RunInvalid, match="which is outside of"):
        tree.write({page: "text"}, tmp_path / "docs")
    assert not (tmp_path / "escaped.md").exists()


@pytest.mark.parametrize("label", ["x/y", ".hidden", "-x", "a+b", "x" * 81, "nul"])
def test_a_label_given_by_hand_follows_the_same_grammar(label):
    with pytest.raises(ReportError) as caught:
        cli.checked_label(label)
    assert str(caught.value).splitlines()[1] == "  what to do: use letters, digits, dots, dashes and underscores, at most 80, with a letter, digit or underscore first and no dot last"


def test_every_recorded_slot_follows_the_grammar():
    runs = Path(__file__).resolve().parents[2] / "docs" / "runs"
    for folder in run_room.discover(runs):
        assert names.fits(folder.parent.name) and all(names.fits(part) for part in folder.name.split("+"))
