"""What did not change is not made again, and what is there afterwards is what a whole rendering gives, whatever was kept from before."""

from __future__ import annotations

import ast
import json
import os
import random
import shutil
import signal
from collections.abc import Callable, Iterator
from dataclasses import asdict
from enum import Enum
from pathlib import Path

import pytest
from map_doubles import point, shape_map, square
from run_builder import record

from reportgen import analysis, pages
from reportgen.errors import RunInvalid
from reportgen.pages import kept, keys, making, publish, readme, tree, workers
from reportgen.run.layout import Layout
from reportgen.run.source import Source
from reportgen.saying.units import Percent, Seconds
from reportgen.shapes import record as maps

ROOT = Path(__file__).resolve().parents[2]
FEATURED, LABELLED, OTHER = "nvidia-h200/article", "nvidia-h200/article+tf32", "nvidia-b300/article"


class Checkout:
    """Three runs of two devices, and a count of what is made of them. Pictures are texts of what they would show."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.layout, self.drawn, self.built = Layout(root), 0, 0
        record(self.runs)
        record(self.runs, label="tf32", seed=1)
        record(self.runs, slug="nvidia-b300", scale={"sdpa_flash": {"gpu_time": 2.0}})
        self.layout.readme.write_text(f"# Title\n\n{readme.BEGIN}\n{readme.END}\n", encoding="utf-8")
        self.feature(FEATURED)
        build = analysis.build

        def counted(run):
            self.built += 1
            return build(run)

        def picture(form: str, data: object, alt: str) -> bytes:
            self.drawn += 1
            return f"<?xml?>\n<svg xmlns=\"x\"><!-- {form} {data} {alt} -->\n</svg>".encode()

        monkeypatch.setattr(pages.site.charts, "svg", picture)
        monkeypatch.setattr(analysis, "build", counted)
        monkeypatch.setattr(workers, "cores", lambda: 1)

    @property
    def runs(self) -> Path:
        return self.layout.recorded

    def feature(self, slot: str) -> None:
        (self.runs / "FEATURED").write_text(f"{slot}\n", encoding="utf-8")

    def edit(self, slot: str, change: Callable[[dict], None]) -> None:
        file = self.runs / slot / "run.json"
        content = json.loads(file.read_text(encoding="utf-8"))
        change(content)
        file.write_text(json.dumps(content), encoding="utf-8")

    def same(self) -> tuple[int, int]:
        """Renders with what is kept, holds docs/ and README beside a whole rendering; returns how many pictures and runs that took."""
        self.drawn = self.built = 0
        publish.render_recorded(self.layout)
        took = self.drawn, self.built
        whole = publish.rendered(self.layout, whole=True)
        assert tree.differences(whole.files, self.layout.docs) == []
        assert self.layout.readme.read_text(encoding="utf-8") == whole.readme
        return took

    def kept(self) -> list[Path]:
        return sorted(file for file in self.layout.made.rglob("*") if file.is_file())


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Checkout:
    return Checkout(tmp_path, monkeypatch)


def slower(content: dict) -> None:
    content["variants"]["naive"]["samples"]["gpu_time"] = [value * 1.5 for value in content["variants"]["naive"]["samples"]["gpu_time"]]


def test_where_nothing_changed_nothing_is_read_or_drawn(checkout: Checkout):
    assert checkout.same()[0] > 30
    assert checkout.same() == (0, 0)


def test_an_edited_run_costs_its_own_pages_and_the_shared_ones(checkout: Checkout):
    checkout.same()
    others = {file: file.stat().st_mtime_ns for file in (checkout.runs / LABELLED).rglob("*.md")}
    checkout.edit(OTHER, slower)
    drawn, built = checkout.same()
    assert 0 < drawn < 20  # of its pictures those that show the naive variant's time
    assert built == 4  # the run for its row and for its pages, the featured one, and the labelled one that the page about reviewing compares with it
    assert {file: file.stat().st_mtime_ns for file in others} == others


def test_the_featured_runs_pages_of_another_device_are_made_anew_only_where_they_say_so(checkout: Checkout):
    checkout.same()
    pieces = {file.name for file in checkout.kept() if "pages" in file.parts}
    checkout.edit(FEATURED, lambda content: content["host"].update(cpu="another CPU"))
    checkout.same()
    new = {file.name for file in checkout.kept() if "pages" in file.parts} - pieces
    assert len(new) == 3  # the shared pages, those of the maps and those of the same device; the B300 says nothing of the H200's host


@pytest.mark.parametrize("change", [
    lambda checkout: shutil.rmtree(checkout.runs / OTHER),
    lambda checkout: shutil.rmtree(checkout.runs / LABELLED),
    lambda checkout: record(checkout.runs, slug="nvidia-l4", seed=3),
    lambda checkout: checkout.feature(OTHER),
    lambda checkout: checkout.edit(FEATURED, slower),
    lambda checkout: checkout.edit(LABELLED, lambda content: content["variants"].pop("sdpa_flash")),
    lambda checkout: checkout.edit(OTHER, lambda content: content["variants"].update(own={**content["variants"]["naive"], "title": "Own", "trace": None})),
    lambda checkout: (checkout.runs / OTHER / "naive.trace.json.gz").write_bytes((checkout.runs / OTHER / "sdpa_math.trace.json.gz").read_bytes()),
], ids=["run removed", "labelled run removed", "run added", "another is featured", "featured run edited", "variant gone", "variant that only one run has", "another trace"])
def test_after_a_change_it_is_as_rendered_whole(checkout: Checkout, change: Callable[[Checkout], object]):
    checkout.same()
    change(checkout)
    checkout.same()


def test_a_map_that_comes_changes_and_goes(checkout: Checkout):
    checkout.same()
    file = checkout.runs / "nvidia-h200" / "map.jsonl"
    maps.begin(file, asdict(shape_map().header))
    for n in (128, 512):
        one = point(square(n), "flash", math=900.0, flash=200.0, cudnn=100.0)
        maps.append(file, {**asdict(one), "readings": [maps.as_fields(reading) for reading in one.readings]})
        checkout.same()
    file.unlink()
    checkout.same()


def test_what_was_kept_may_be_deleted(checkout: Checkout):
    checkout.same()
    shutil.rmtree(checkout.layout.made)
    assert checkout.same()[0] > 30


def _flip(content: bytes) -> bytes:
    return content[:-1] + bytes([content[-1] ^ 1])


@pytest.mark.parametrize("spoil", [_flip, lambda content: content[:-20], lambda content: b"", lambda content: content + b" ", lambda content: b"\xff" * 300],
                         ids=["a bit", "cut", "empty", "longer", "noise"])
def test_what_was_kept_and_spoilt_is_made_anew(checkout: Checkout, spoil: Callable[[bytes], bytes]):
    checkout.same()
    for file in checkout.kept():
        file.write_bytes(spoil(file.read_bytes()))
    assert checkout.same()[0] > 30


def test_what_was_kept_under_another_key_is_made_anew(checkout: Checkout):
    checkout.same()
    for kind in ("row", "pages", "chart"):
        files = [file for file in checkout.kept() if kind in file.parts]
        contents = [file.read_bytes() for file in files]
        for file, content in zip(files, contents[1:] + contents[:1]):
            file.write_bytes(content)
    checkout.edit(OTHER, slower)
    assert checkout.same()[0] > 30


def test_a_look_at_the_whole_believes_nothing_that_was_kept(checkout: Checkout):
    """Even a piece that somebody sealed anew: `make render` would take it, and `make check` says so."""
    checkout.same()
    store = kept.Kept(checkout.layout.made)
    piece = next(file for file in checkout.kept() if "pages" in file.parts and b"# Devices side by side" in file.read_bytes())
    files = kept.unpacked(piece.read_bytes().partition(b"\n")[2])
    store.put("pages", piece.parent.name + piece.name, kept.packed({**files, "compare.md": f"{pages.site.MARKER}\nforged\n"}))
    publish.render_recorded(checkout.layout)
    whole = publish.rendered(checkout.layout, whole=True)
    assert [line.rpartition("docs/")[2][:13] for line in tree.differences(whole.files, checkout.layout.docs)] == ["compare.md:2:"]


def test_a_folder_that_cannot_be_written_keeps_nothing_and_costs_nothing(checkout: Checkout):
    checkout.layout.made.parent.mkdir()
    checkout.layout.made.write_text("a file where the folder would be", encoding="utf-8")
    assert checkout.same()[0] > 30 and checkout.same()[0] > 30


def test_another_program_makes_everything_anew_and_draws_nothing_twice(checkout: Checkout, monkeypatch: pytest.MonkeyPatch):
    checkout.same()
    monkeypatch.setattr(making, "CODE", "another")
    monkeypatch.setattr(keys, "code", lambda: "another")
    drawn, built = checkout.same()
    assert drawn == 0 and built > 5


def test_a_program_that_changed_since_it_was_loaded_keeps_and_takes_nothing(checkout: Checkout, monkeypatch: pytest.MonkeyPatch):
    """A checkout during a long report: nobody knows which of the two made a page."""
    checkout.same()
    before = {file: file.read_bytes() for file in checkout.kept() if "chart" not in file.parts}
    monkeypatch.setattr(keys, "code", lambda: "edited meanwhile")
    checkout.edit(OTHER, slower)
    assert checkout.same()[1] > 5
    assert {file: file.read_bytes() for file in checkout.kept() if "chart" not in file.parts} == before


def test_a_run_that_changes_while_it_is_rendered_is_not_kept(checkout: Checkout, monkeypatch: pytest.MonkeyPatch):
    shared = pages.shared
    monkeypatch.setattr(pages, "shared", lambda *given: [checkout.edit(OTHER, slower), shared(*given)][1])
    publish.render_recorded(checkout.layout)
    assert [file for file in checkout.kept() if "chart" not in file.parts] == []


def test_random_edits_one_after_another_leave_what_a_whole_rendering_gives(checkout: Checkout):
    chance = random.Random(14)
    for number in range(12):
        slots = sorted(f"{file.parent.parent.name}/{file.parent.name}" for file in checkout.runs.glob("*/*/run.json"))
        slot = chance.choice(slots)
        match chance.choice(("slower", "device", "add", "remove", "feature", "recorded", "status", "spoil")):
            case "slower":
                checkout.edit(slot, slower)
            case "device":
                checkout.edit(slot, lambda content: content["device"].update(name=f"NVIDIA number {chance.randrange(9)}"))
            case "add":
                record(checkout.runs, slug=f"nvidia-{chance.choice('ab')}", seed=number, label=chance.choice((None, "tf32")))
            case "remove":
                if len(slots) > 2:
                    shutil.rmtree(checkout.runs / slot)
                    checkout.feature(chance.choice([one for one in slots if one != slot]))
            case "feature":
                checkout.feature(slot)
            case "recorded":
                checkout.edit(slot, lambda content: content.update(recorded_on=f"2026-10-{chance.randrange(1, 29):02}"))
            case "status":
                checkout.edit(slot, lambda content: content["variants"]["sdpa_cudnn"].update(status="unavailable", reason="no such kernel"))
            case "spoil":
                for file in chance.sample(checkout.kept(), 5):
                    file.write_bytes(_flip(file.read_bytes()))
        if not (checkout.runs / checkout.layout.named).is_dir():
            checkout.feature(slots[0] if (checkout.runs / slots[0]).is_dir() else slots[1])
        checkout.same()


def test_what_nobody_asked_for_goes_after_a_month(checkout: Checkout):
    checkout.same()
    old, left = checkout.layout.made / "pages" / "00" / "old", checkout.layout.made / "pages" / "00" / ".x.new"
    old.parent.mkdir(parents=True, exist_ok=True)
    for file in (old, left):
        file.write_bytes(b"x")
    os.utime(old, (0, 0))
    checkout.edit(OTHER, slower)
    checkout.same()
    assert not old.exists() and not left.exists() and len(checkout.kept()) > 30


# --- keys ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program's files once more."""
    root = tmp_path_factory.mktemp("program")
    for name in ("reportgen", "variants"):
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    return root


@pytest.mark.parametrize(("file", "pages_anew", "pictures_anew"), [
    ("reportgen/templates/index.md.j2", True, False), ("reportgen/findings/inplace.py", True, False), ("reportgen/analysis/published.toml", True, False),
    ("variants/naive.py", True, False), ("reportgen/errors.py", True, False), ("reportgen/pages/charts/bars.py", True, True), ("reportgen/saying/units.py", True, True),
    ("reportgen/capture/timing.py", False, False), ("reportgen/commands/cli.py", False, False),
])
def test_what_makes_pages_and_pictures_anew(program: Path, file: str, pages_anew: bool, pictures_anew: bool):
    before = keys.code(program), keys.drawing(program)
    content = (program / file).read_bytes()
    (program / file).write_bytes(content + b"\n")
    after = keys.code(program), keys.drawing(program)
    (program / file).write_bytes(content)
    assert (after[0] != before[0], after[1] != before[1]) == (pages_anew, pictures_anew)
    assert (keys.code(program), keys.drawing(program)) == before


def test_another_library_makes_everything_anew(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    before = keys.code(), keys.drawing()
    (tmp_path / "matplotlib-99.dist-info").mkdir()
    monkeypatch.syspath_prepend(str(tmp_path))
    assert keys.code() != before[0] and keys.drawing() != before[1]


def test_pictures_are_drawn_by_what_their_key_is_made_of():
    """A chart that asked another room would not be drawn anew when that room changes."""
    def named(file: Path) -> Iterator[str]:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.level:
                yield "." * node.level + (node.module or "")
            elif isinstance(node, (ast.Import, ast.ImportFrom)):
                yield from (alias.name for alias in node.names if alias.name.startswith(("reportgen", "variants")))

    charts = {name for file in (ROOT / "reportgen" / "pages" / "charts").glob("*.py") for name in named(file) if not name.startswith(".") or name.startswith("..")}
    saying = {name for file in (ROOT / "reportgen" / "saying").glob("*.py") for name in named(file) if not name.startswith(".") or name.startswith("..")}
    assert charts == {"...saying.units"} and saying == set()


def test_values_that_print_alike_have_texts_of_their_own():
    class Kind(Enum):
        ONE = "1"

    alike = (1, 1.0, True, "1", Seconds(1.0), Percent(1.0), Seconds(1.0000001), Kind.ONE, (1,), [1], {"a": 1}, {"a": 1.0}, None, "None", {1: "a"}, {"1": "a"})
    assert len({keys.text(value) for value in alike}) == len(alike)
    assert keys.text({"a": Seconds(0.1), "b": (1, None)}) == keys.text({"a": Seconds(0.1), "b": (1, None)})
    assert keys.text(["a, str 'b'"]) != keys.text(["a", "b"])
    with pytest.raises(keys.Unknown):
        keys.text({"a": object()})


def test_parts_of_a_key_do_not_run_together():
    assert len({keys.key("ab", "c"), keys.key("a", "bc"), keys.key("abc"), keys.key("abc", ""), keys.key("", "abc")}) == 5


def test_files_come_out_of_a_piece_as_they_went_in():
    files = {"a.md": "Ünicode\n", "b.svg": b"\x00\n\xff", "c.md": "", "d\"e.md": "x\n\ny"}
    assert kept.unpacked(kept.packed(files)) == files


# --- processes -----------------------------------------------------------------------------------------


def _double(value: int) -> int:
    return 2 * value


def _refuse(value: int) -> int:
    raise RunInvalid(f"{value} is wrong", where="a file", cure="mend it")


def _die(parent: int) -> int:
    if os.getpid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)
    return 7


@pytest.fixture
def two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "cores", lambda: 2)
    monkeypatch.setattr(workers, "_can_copy", lambda: True)


@pytest.mark.parametrize("number", [0, 1, 2, 9])
def test_work_comes_back_in_order_however_many_pieces_there_are(two_cores: None, number: int):
    with workers.at_work(number) as start:
        results = [start(_double, value) for value in range(number)]
        assert [result() for result in results] == [2 * value for value in range(number)]


def test_an_error_of_a_process_keeps_its_two_lines(two_cores: None):
    with pytest.raises(RunInvalid) as caught, workers.at_work(2) as start:
        for result in [start(_refuse, 1), start(_refuse, 2)]:
            result()
    assert str(caught.value) == "a file: 1 is wrong\n  what to do: mend it" and caught.value.cure == "mend it"


def test_work_of_a_process_that_was_killed_is_done_here(two_cores: None):
    with workers.at_work(2) as start:
        assert [result() for result in [start(_die, os.getpid()), start(_die, os.getpid())]] == [7, 7]


def test_several_processes_make_what_one_makes(checkout: Checkout, two_cores: None):
    publish.render_recorded(checkout.layout)
    by_two = {file: file.read_bytes() for file in checkout.layout.docs.rglob("*.md")}
    making_alone = publish.rendered(checkout.layout, whole=True)
    assert tree.differences(making_alone.files, checkout.layout.docs) == [] and len(by_two) > 50


def test_a_damaged_run_is_told_in_two_lines_also_beside_what_was_kept(checkout: Checkout):
    checkout.same()
    (checkout.runs / OTHER / "run.json").write_text("{", encoding="utf-8")
    with pytest.raises(RunInvalid, match="not valid JSON"):
        publish.render_recorded(checkout.layout)
    with pytest.raises(RunInvalid, match="not valid JSON"):
        making.made([Source.of(checkout.runs / OTHER)], making.Choice(lambda slots: slots[0]))
