"""Runs from other machines: all valid ones go in, or nothing changes; and what `make check` sees in docs/runs."""

import shutil

import pytest
from run_builder import record

from reportgen import run
from reportgen.errors import ReportError
from reportgen.review import checks, merge
from reportgen.run import slots, swap


def files(root):
    return {str(file.relative_to(root)): file.read_bytes() for file in sorted(root.rglob("*")) if file.is_file()}


@pytest.fixture
def runs(tmp_path):
    """docs/runs with one recorded run."""
    record(tmp_path / "docs" / "runs")
    (tmp_path / "docs" / "runs" / "FEATURED").write_text("nvidia-h200/article\n")
    return tmp_path / "docs" / "runs"


def test_folders_and_trees_of_runs_are_taken_in_each_into_its_slot(tmp_path, runs):
    alone = record(tmp_path / "one", slug="nvidia-a")
    record(tmp_path / "many" / "artifact-1", slug="nvidia-b")
    record(tmp_path / "many" / "artifact-2", slug="nvidia-c", label="tf32")
    taken = merge.merge([alone, tmp_path / "many"], runs)
    assert [(one.slot, one.state) for one in taken.runs] == [("nvidia-a/article", "new"), ("nvidia-b/article", "new"), ("nvidia-c/article+tf32", "new")]
    assert [folder.relative_to(runs).as_posix() for folder in run.discover(runs)] == [
        "nvidia-a/article", "nvidia-b/article", "nvidia-c/article+tf32", "nvidia-h200/article"]


def test_the_same_run_again_changes_nothing(tmp_path, runs):
    before = files(runs)
    shutil.copytree(runs / "nvidia-h200" / "article", tmp_path / "copy")
    assert [one.state for one in merge.merge([tmp_path / "copy"], runs).runs] == ["same"]
    assert files(runs) == before


def damage_json(folder):
    (folder / "run.json").write_text("{")


def damage_trace(folder):
    (folder / "naive.trace.json.gz").write_bytes(b"no gzip")


def lose_trace(folder):
    (folder / "naive.trace.json.gz").unlink()


@pytest.mark.parametrize("damage", [damage_json, damage_trace, lose_trace])
def test_one_damaged_run_keeps_all_out_and_nothing_is_lost(tmp_path, runs, damage):
    sources = [record(tmp_path / "good", slug="nvidia-a"), record(tmp_path / "bad", slug="nvidia-b")]
    damage(sources[1])
    before, given = files(runs), files(tmp_path / "good")
    with pytest.raises(ReportError, match=r"nothing was merged\n  .*bad.*: damaged: "):
        merge.merge(sources, runs)
    assert files(runs) == before and files(tmp_path / "good") == given


def test_a_different_run_of_a_recorded_slot_is_refused_unless_accepted(tmp_path, runs):
    other, before = record(tmp_path / "other", seed=1), files(runs)
    with pytest.raises(ReportError, match=r"would replace a different run of nvidia-h200/article\n  what to do: look at `make diff BASE=SLOT HEAD=RUN`, then replace it with `make merge … ACCEPT=1`"):
        merge.merge([other], runs)
    assert files(runs) == before
    assert [one.state for one in merge.merge([other], runs, accept=True).runs] == ["other"]
    assert files(runs) != before


def test_two_different_runs_of_one_slot_are_refused_even_if_accepted(tmp_path, runs):
    sources = [record(tmp_path / str(seed), slug="nvidia-a", seed=seed) for seed in (1, 2)]
    with pytest.raises(ReportError, match="another run of nvidia-a/article than"):
        merge.merge(sources, runs, accept=True)
    assert not (runs / "nvidia-a").exists()


def test_every_problem_is_listed_at_once(tmp_path, runs):
    bad = record(tmp_path / "bad", slug="nvidia-b")
    damage_json(bad)
    with pytest.raises(ReportError) as caught:
        merge.merge([bad, record(tmp_path / "other", seed=1)], runs)
    assert "damaged" in str(caught.value) and "would replace" in str(caught.value)


def test_a_folder_without_runs_is_an_error(tmp_path, runs):
    (tmp_path / "empty").mkdir()
    with pytest.raises(ReportError, match="holds no run and no map"):
        merge.merge([tmp_path / "empty"], runs)


# All or none, with their pages

@pytest.fixture
def checkout(tmp_path, runs, monkeypatch, capsys):
    """The same as a checkout with its pages; `merge` as a command, and what it said."""
    from reportgen.commands import cli
    from reportgen.pages import readme

    (tmp_path / "README.md").write_text(f"# Title\n\n{readme.BEGIN}\n{readme.END}\n")
    monkeypatch.setattr(cli, "ROOT", tmp_path)

    def command(*arguments):
        capsys.readouterr()
        status = cli.main([*arguments])
        said = capsys.readouterr()
        return status, said.out + said.err

    assert command("render")[0] == 0
    return command


def of_checkout(root):
    return {**files(root / "docs"), "README.md": (root / "README.md").read_bytes()}


def full_disk(*given, **named):
    raise OSError(28, "No space left on device", "a page")


def test_runs_whose_pages_cannot_be_rendered_are_not_merged(tmp_path, checkout, monkeypatch):
    before, monkey = of_checkout(tmp_path), ReportError("does not render", where="a page", cure="mend it")
    monkeypatch.setattr("reportgen.pages.publish.making.made", lambda *given: (_ for _ in ()).throw(monkey))
    sources = [record(tmp_path / "one", slug="nvidia-a"), record(tmp_path / "two", seed=1)]
    assert checkout("merge", "--accept", *map(str, sources)) == (2, "error: a page: nothing was merged: does not render\n  what to do: mend it\n")
    assert of_checkout(tmp_path) == before


@pytest.mark.parametrize("nth", [0, 1, 40])
def test_a_disk_that_is_full_while_pages_are_written_leaves_runs_and_pages_as_they_were(tmp_path, checkout, monkeypatch, nth):
    before, real, written = of_checkout(tmp_path), swap.write_whole, []

    def write(file, content):
        if "build" in file.parts:  # what is kept of pages is no page
            return real(file, content)
        if len(written) == nth:
            written.append("full")
            full_disk()
        written.append(file)
        real(file, content)

    monkeypatch.setattr(swap, "write_whole", write)
    sources = [record(tmp_path / "one", slug="nvidia-a"), record(tmp_path / "two", seed=1, scale={"naive": {"gpu_time": 2.0}})]
    assert checkout("merge", "--accept", *map(str, sources)) == (2, "error: a page: the disk is full; nothing was merged\n  what to do: make room on that disk\n")
    assert of_checkout(tmp_path) == before


def test_a_second_run_that_cannot_be_put_in_takes_the_first_along(tmp_path, checkout, monkeypatch):
    before, real = of_checkout(tmp_path), slots.shutil.copyfile
    monkeypatch.setattr(slots.shutil, "copyfile", lambda source, target: full_disk() if "two" in str(source) else real(source, target))
    sources = [record(tmp_path / "one", slug="nvidia-a"), record(tmp_path / "two", slug="nvidia-b")]
    status, said = checkout("merge", *map(str, sources))
    assert status == 2 and "nothing was merged" in said
    assert of_checkout(tmp_path) == before


def test_merged_runs_have_their_pages(tmp_path, checkout):
    assert checkout("merge", str(record(tmp_path / "one", slug="nvidia-a"))) == (0, "nvidia-a/article: new\n")
    assert checkout("render", "--check") == (0, "every committed page is what the recorded runs render to\n")


def test_a_merged_run_whose_seal_does_not_fit_is_taken_and_told(tmp_path, checkout):
    folder = record(tmp_path / "one", slug="nvidia-a")
    file = folder / "run.json"
    file.write_text(file.read_text().replace('"sm_count": 132', '"sm_count": 108'))
    assert checkout("merge", str(folder)) == (0, "nvidia-a/article: new; run.json changed after the run was saved: its seal does not fit\n")


# Checks

def test_a_sound_docs_folder_has_no_problem(runs):
    assert checks.look(runs.parent, "2.11.0") == checks.Looked((), ())


def test_pages_and_charts_of_a_removed_device_are_found(runs):
    (runs / "nvidia-gone" / "article").mkdir(parents=True)
    (runs / "nvidia-gone" / "article" / "index.md").write_text("x")
    (runs / "nvidia-empty").mkdir()
    assert checks.look(runs.parent).disorder == (
        "docs/runs/nvidia-gone/article: pages or charts of a run that is not there; remove the folder, or restore its run.json",
        "docs/runs/nvidia-empty: a device without any run; remove the folder")


def test_a_renamed_device_is_found(runs):
    (runs / "nvidia-h200").rename(runs / "h200")
    (runs / "FEATURED").write_text("h200/article\n")
    assert checks.look(runs.parent).disorder == ("docs/runs/h200/article: holds the run of nvidia-h200/article; move it there, or restore the folder's name",)


@pytest.mark.parametrize(("damage", "file", "message", "cure"), [
    (damage_json, "run.json", "not valid JSON", "restore the file from version control"),
    (damage_trace, "naive.trace.json.gz", "gzip", "record the run again"),
    (lose_trace, "run.json", "naive names the trace naive.trace.json.gz, which is not there", "restore the file from version control"),
])
def test_a_damaged_run_is_found_once_with_its_file_and_the_cure(runs, damage, file, message, cure):
    damage(runs / "nvidia-h200" / "article")
    found = checks.look(runs.parent).disorder
    assert len(found) == 1 and found[0].startswith(f"docs/runs/nvidia-h200/article/{file}: ")
    assert message in found[0] and cure in found[0]


def test_runs_without_a_featured_one_are_found(runs):
    (runs / "FEATURED").unlink()
    assert checks.look(runs.parent).disorder == ("docs/runs/FEATURED: is missing; write into it the run that the front page shows: nvidia-h200/article",)
    shutil.rmtree(runs / "nvidia-h200")
    assert checks.look(runs.parent).disorder == ()


def test_a_trace_that_no_run_names_and_a_featured_run_that_is_not_there_are_found(runs):
    (runs / "nvidia-h200" / "article" / "old.trace.json.gz").write_bytes(b"")
    (runs / "FEATURED").write_text("nvidia-gone/article\n")
    assert checks.look(runs.parent).disorder == ("docs/runs/nvidia-h200/article/old.trace.json.gz: a trace that run.json does not name; remove it",
                                             "docs/runs/FEATURED: names 'nvidia-gone/article', which has no run; name one that is there")


def test_another_torch_than_the_lock_is_a_note_and_the_build_suffix_does_not_matter(runs):
    assert checks.look(runs.parent, "2.11.0+cpu").notes == ()
    found = checks.look(runs.parent, "2.13.0")
    assert found.disorder == () and len(found.notes) == 1 and found.notes[0].startswith(
        "recorded with torch 2.11.0+cu130: nvidia-h200/article. requirements/capture.txt has 2.13.0, ")


def test_another_gpu_of_the_same_name_never_takes_the_place_of_the_recorded_one(tmp_path):
    """Also not when asked to replace: 48 GB beside the recorded 140 GiB is another card, not another run."""
    runs = tmp_path / "docs" / "runs"
    there = record(runs, seed=1)
    other = record(tmp_path / "other", seed=2, change=lambda data: data["device"].update(memory_bytes=48 * 2**30))
    before = (there / "run.json").read_bytes()
    for accept in (False, True):
        with pytest.raises(ReportError) as caught:
            merge.merge([other], runs, accept)
        assert str(caught.value) == (f"nothing was merged\n  {other}: another GPU than the one in nvidia-h200/article has that name (48gb)\n"
                                     "  what to do: record it in this checkout, where it gets a place of its own, or with a LABEL")
    assert (there / "run.json").read_bytes() == before


# Every file of docs/, and the README

def add(name, content=b"x"):
    def edit(root):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)
    return edit


def link(root):
    (root / "docs" / "index.md").rename(root / "elsewhere.md")
    (root / "docs" / "index.md").symlink_to(root / "elsewhere.md")


def second_table(root):
    readme = root / "README.md"
    readme.write_text(readme.read_text() + readme.read_text())


def lose(name):
    return lambda root: (root / name).unlink()


def typed(line):
    return lambda root: (root / "README.md").write_text((root / "README.md").read_text() + f"\n{line}\n")


NO_ONES = "no run renders to it, and it is no evidence; remove it"
HAND_EDITS = {
    "a page": (add("docs/extra.md"), f"docs/extra.md: {NO_ONES}"),
    "a chart": (add("docs/runs/nvidia-h200/article/charts/mine.svg", b"<svg/>"), f"docs/runs/nvidia-h200/article/charts/mine.svg: {NO_ONES}"),
    "a page of one's own": (add("docs/extra.html"), f"docs/extra.html: {NO_ONES}"),
    "a script": (add("docs/runs/nvidia-h200/article/x.js"), f"docs/runs/nvidia-h200/article/x.js: {NO_ONES}"),
    "data": (add("docs/runs/nvidia-h200/article/more.json", b"{}"), f"docs/runs/nvidia-h200/article/more.json: {NO_ONES}"),
    "a file among the runs": (add("docs/runs/foo"), f"docs/runs/foo: {NO_ONES}"),
    "a style sheet that nobody asks for": (add("docs/assets/other.css"), f"docs/assets/other.css: {NO_ONES}"),
    "an empty style sheet": (add("docs/assets/report.css", b""), "docs/assets/report.css: mkdocs.yml wants it, and it is empty; restore it from version control"),
    "no style sheet": (lose("docs/assets/report.css"), "docs/assets/report.css: mkdocs.yml wants it, and it is not there; restore it from version control"),
    "half a page": (add("docs/.index.md.new"), "docs/.index.md.new: left by a killed command; `make render` removes it"),
    "a link": (link, "docs/index.md:1: expected a generated file, found a link to "),
    "a second table": (second_table, "README.md: has the markers of the generated table more than once"),
    "a typed time": (typed("Flash takes 93 µs here."), "'93 µs' is typed and comes from no run; remove it, or let the generated table say it"),
    "a typed ratio": (typed("cuDNN is 1.57× as fast."), "'1.57×' is typed and comes from no run"),
    "a bad byte": (add("README.md", b"# Title \xff"), "README.md: is no UTF-8 text (byte 8)"),
}


@pytest.fixture
def styled(tmp_path, checkout):
    """A checkout with a style sheet that mkdocs.yml names."""
    add("docs/assets/report.css")(tmp_path)
    (tmp_path / "mkdocs.yml").write_text("extra_css:\n  - assets/report.css\n")
    return checkout


def test_every_file_of_docs_and_the_readme_is_looked_at(tmp_path, styled, monkeypatch):
    """One checkout and one rendering for all edits, each of which is taken back."""
    from reportgen.pages import publish

    rendered = publish.pages.files([run.load(tmp_path / "docs" / "runs" / "nvidia-h200" / "article")], "nvidia-h200/article")
    monkeypatch.setattr(publish.pages, "files", lambda runs, featured, maps: rendered)
    kept = tmp_path / "kept"
    for place in ("docs", "README.md"):
        (shutil.copytree if (tmp_path / place).is_dir() else shutil.copyfile)(tmp_path / place, (kept.mkdir(exist_ok=True) or kept) / place)
    assert styled("render", "--check")[0] == 0
    for name, (edit, line) in HAND_EDITS.items():
        edit(tmp_path)
        status, said = styled("render", "--check")
        assert status == 2 and line in said and "what to do: " in said, (name, said)
        shutil.rmtree(tmp_path / "docs")
        shutil.copytree(kept / "docs", tmp_path / "docs")
        shutil.copyfile(kept / "README.md", tmp_path / "README.md")


def test_rendering_puts_a_page_in_place_of_a_link_and_removes_half_a_page(tmp_path, styled):
    link(tmp_path)
    add("docs/.index.md.new")(tmp_path)
    assert styled("render")[0] == 0
    assert not (tmp_path / "docs" / "index.md").is_symlink() and (tmp_path / "elsewhere.md").exists()
    assert styled("render", "--check")[0] == 0


def test_a_file_of_the_system_that_is_not_published_is_nobodys_business(tmp_path, styled):
    add("docs/.DS_Store")(tmp_path)
    assert styled("render", "--check")[0] == 0


def test_a_folder_that_a_killed_command_left_is_named_and_never_to_be_removed_by_hand(runs):
    (runs / "nvidia-h200" / "article").rename(runs / "nvidia-h200" / ".replaced-x")
    assert checks.look(runs.parent).disorder[0] == "docs/runs/nvidia-h200/.replaced-x: left by a killed command; `make render` brings back the run in it, or removes it"
