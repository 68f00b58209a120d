"""Comparing runs: what counts as a change, how it reads in a pull request, and which gates catch it."""

import json
import subprocess
from dataclasses import replace

import pytest
from builders import activities, estimate, facts, unavailable, variant, without
from run_builder import record

from reportgen import run as run_room
from reportgen.analysis import State
from reportgen.commands import cli
from reportgen.commands.interruption import Stages
from reportgen.questions.model import Outcome
from reportgen.review import diff
from reportgen.review.diff import Side, compare, gates, render, trees, words
from reportgen.run import Host
from reportgen.run.layout import Layout
from reportgen.run.noise import Noise, save

MATH_GEMM = "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x128x8_stage3_warpsize2x2x1_ffma_aligna4_alignc4_execute_kernel__5x_cublas"


def between(old, new, before=None, after=None):
    """The comparison of two facts; `before` and `after` are outcomes."""
    return compare(Side(old, before or {}), Side(new, after or {}))


def timing(seen, name, quantity):
    return next(change for change in seen.timings if (change.variant, change.quantity) == (name, quantity))


def kinds(seen):
    return [(change.variant, change.kind, change.what) for change in seen.structure]


# Timings

def test_the_same_run_shows_nothing():
    seen = between(facts(), facts())
    assert seen.unchanged and seen.significant == () and seen.environment == ()


def test_five_percent_with_seven_separate_medians_is_significant_and_its_interval_leaves_out_one():
    change = timing(between(facts(), variant(facts(), "sdpa_flash", gpu_time=estimate(93 * 1.05))), "sdpa_flash", "gpu_time")
    assert change.significant and change.decides and change.slower
    assert change.ratio == pytest.approx(1.05)
    assert 1.04 < change.interval[0] < 1.05 < change.interval[1] < 1.06


def test_a_shift_below_two_percent_is_noise_however_steady():
    seen = between(facts(), variant(facts(), "sdpa_flash", gpu_time=estimate(93 * 1.019, spread=1e-4)))
    assert seen.significant == ()


def test_a_shift_below_the_same_code_floor_is_noise():
    floor = Noise(6, 15, {}, {}, {"naive": {"gpu_time": 0.06}})
    old, new = facts(), variant(facts(), "sdpa_flash", gpu_time=estimate(93 * 1.05))
    assert compare(Side(old, {}, floor), Side(new, {})).significant == ()
    assert compare(Side(old, {}, replace(floor, shifts={"naive": {"wall_time": 0.06}})), Side(new, {})).significant != ()


def test_overlapping_processes_are_noise_even_at_ten_percent():
    seen = between(variant(facts(), "sdpa_flash", gpu_time=estimate(93, spread=0.5)), variant(facts(), "sdpa_flash", gpu_time=estimate(102, spread=0.5)))
    assert not timing(seen, "sdpa_flash", "gpu_time").significant


@pytest.mark.parametrize("quantity", ["host_time", "first_call", "first_call_new_shape"])
def test_host_time_and_first_calls_are_shown_and_never_decide(quantity):
    seen = between(facts(), variant(facts(), "sdpa_flash", **{quantity: estimate(1e6)}))
    assert timing(seen, "sdpa_flash", quantity).significant
    assert seen.decisive == () and seen.unchanged
    assert "never replace a run: 1</summary>" in render.run_markdown(seen, "x")


def test_a_wall_time_that_is_the_hosts_does_not_decide_on_a_gpu_and_does_on_a_cpu():
    bound = dict(host_time=estimate(95))
    seen = between(variant(facts(), "sdpa_flash", **bound), variant(facts(), "sdpa_flash", wall_time=estimate(120), **bound))
    assert timing(seen, "sdpa_flash", "wall_time").significant and seen.decisive == ()
    on_cpu = between(facts("cpu"), variant(facts("cpu"), "naive", wall_time=estimate(1e6)))
    assert [change.quantity for change in on_cpu.decisive] == ["wall_time"]


# Structure

def test_a_replaced_kernel_is_named_with_its_role():
    seen = between(facts(), activities(facts(), "sdpa_math", lambda a: replace(a, name="sm90_gemm") if a.name == MATH_GEMM else a))
    assert kinds(seen) == [("sdpa_math", "replaced", "matmul")]
    assert (seen.structure[0].old, seen.structure[0].new) == (MATH_GEMM, "sm90_gemm")
    assert "matmul replaced: " in words.structure(seen.structure[0]) and "→ `sm90_gemm`" in words.structure(seen.structure[0])


def test_a_kernel_that_went_away_is_removed_and_the_count_follows():
    seen = between(facts(), activities(facts(), "naive", lambda a: None if a.kind == "memcpy" else a))
    assert kinds(seen) == [("naive", "removed", "copy"), ("naive", "count", "memcpys")]
    assert words.structure(seen.structure[1]) == "memcpys: 1 → 0"


@pytest.mark.parametrize(("change", "line"), [
    (dict(launch_api="cuLaunchKernelEx"), "launch API of "), (dict(registers=128), "registers per thread of "), (dict(shared_memory=1024), "shared memory (bytes) of "),
    (dict(profiler_occupancy=0.5), "profiler occupancy (%) of "), (dict(grid=(1, 2, 3)), "grid of "), (dict(occupancy=None), "theoretical occupancy (%) of "),
])
def test_a_kernel_launched_otherwise_is_a_structural_change(change, line):
    seen = between(facts(), activities(facts(), "sdpa_flash", lambda a: replace(a, **change)))
    assert [c.kind for c in seen.structure] == ["launch"]
    assert words.structure(seen.structure[0]).startswith(line)


def test_kernels_that_changed_alike_make_one_line():
    seen = between(facts(), activities(facts(), "sdpa_math", lambda a: replace(a, launch_api="cuLaunchKernel") if a.role == "cast" else a))
    casts = sum(a.role == "cast" for a in facts().variants["sdpa_math"].activities)
    assert sum(change.times for change in seen.structure) == casts > len(seen.structure)
    assert any(line.endswith(" times)") for line in map(words.structure, seen.structure))


def test_peak_memory_code_and_status_are_structure():
    seen = between(facts(), variant(variant(facts(), "naive", peak_memory_bytes=1024), "sdpa_math", source="TITLE = 'SDPA math'\nnew line\n"))
    assert kinds(seen) == [("naive", "memory", "peak memory above the inputs"), ("sdpa_math", "source", "source")]
    assert words.structure(seen.structure[0]) == "peak memory above the inputs: 528 MiB → 1 KiB"
    assert words.structure(seen.structure[1]) == "source changed (+2 −1 lines)"
    gone = between(facts(), unavailable(facts(), "sdpa_cudnn", "no cuDNN"))
    assert words.structure(gone.structure[0]) == "status: ok → refused (no cuDNN)"


def test_a_variant_that_one_run_lacks_stands_apart_and_is_compared_with_nothing():
    seen = between(without(facts(), "sdpa_cudnn"), facts())
    assert seen.added == ("sdpa_cudnn",) and seen.structure == () and not seen.unchanged
    assert "#### New variants, compared with nothing\n\n| Variant | Status | GPU time | Wall time | Kernels |" in render.run_markdown(seen, "x")
    assert between(facts(), without(facts(), "sdpa_cudnn")).removed == ("sdpa_cudnn",)


def test_a_variant_that_was_not_asked_for_is_absent_and_not_broken():
    seen = between(facts(), variant(facts(), "naive", state=State.NOT_TRIED, reason="for whatever reason"))
    assert seen.structure == () and seen.removed == ("naive",)


# Environment

def test_another_torch_or_setting_is_a_new_baseline_and_another_python_or_host_is_not():
    def with_software(**changes):
        return replace(facts(), software={**facts().software, **changes})

    assert between(facts(), with_software(torch="2.12.0")).new_baseline
    assert between(facts(), replace(facts(), settings={**facts().settings, "float32_matmul_precision": "high"})).new_baseline
    other = between(facts(), replace(with_software(python="3.13.0"), host=Host("another", 64)))
    assert [change.name for change in other.environment] == ["python", "host cpu", "host logical_cpus"] and not other.new_baseline


def test_a_version_that_was_not_recorded_is_no_new_baseline():
    old = replace(facts(), software={**facts().software, "triton": None})
    assert not between(old, replace(facts(), software={**facts().software, "triton": "3.6.0"})).new_baseline


# Markdown

def flash(verdict, headline):
    return {"flash-fastest": Outcome("flash-fastest", verdict, "a" if verdict == "holds" else "b", headline)}


def test_the_first_screen_has_environment_then_flipped_verdicts_then_kernels_then_timings():
    new = activities(facts(), "sdpa_math", lambda a: replace(a, name="sm90_gemm") if a.name == MATH_GEMM else a)
    new = replace(variant(new, "sdpa_math", gpu_time=estimate(2000)), software={**facts().software, "torch": "2.12.0"})
    text = render.run_markdown(between(facts(), new, before=flash("differs", "Flash is beaten | by cuDNN"), after=flash("holds", "Flash wins")), "`slot`")
    order = ["### `slot`", "**1 verdict flipped, structure of 1 variant changed, 1 timing changed (0 slower, 1 faster).** New baseline (torch)",
             "| torch | 2.11.0+cu130 | 2.12.0 |", "- **flash-fastest**: differs → **holds**\n    - old: Flash is beaten &#124; by cuDNN\n    - new: Flash wins",
             "    - matmul replaced:", "| `sdpa_math` | GPU time | 2.58 ms | 2.00 ms | −22.5 % | −22.7 % … −22.3 % |", "<details", "| ~ |"]
    places = [text.index(part) for part in order]
    assert places == sorted(places)


def test_the_same_verdict_by_another_case_is_no_flip_and_is_folded():
    old, new = ({"c": Outcome("c", "differs", case, case)} for case in ("one", "other"))
    seen = between(facts(), facts(), old, new)
    assert seen.flipped == ()
    assert "Same verdict, another case:\n\n- c (differs): one → other" in render.run_markdown(seen, "x").split("<details")[1]


def test_changes_carry_their_sign():
    assert [words.signed(value) for value in (0.042, -0.12, 0.0, 99.0)] == ["+4.2 %", "−12 %", "+0 %", "100×"]


# Trees, refs, gates

@pytest.fixture
def checkout(tmp_path):
    """A repository with one recorded run, committed on main."""
    root = tmp_path / "repository"
    record(root / "docs" / "runs")
    for arguments in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-qm", "a run"]):
        git(root, *arguments)
    return root


def git(root, *arguments):
    subprocess.run(["git", "-c", "user.name=n", "-c", "user.email=e@example.org", *arguments], cwd=root, check=True, capture_output=True)


def run_diff(root, *arguments, capsys):
    chosen = cli.parser().parse_args(["diff", *arguments])
    status = chosen.command(chosen, Layout(root), Stages())
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def test_an_untouched_tree_has_the_same_evidence_byte_for_byte(checkout, capsys):
    status, text, _ = run_diff(checkout, "main", capsys=capsys)
    assert status == 0
    assert "- 1 slot with the same evidence, byte for byte: `nvidia-h200/article`" in text


def test_against_a_ref_new_changed_and_removed_slots_are_told_apart(checkout, capsys):
    runs = checkout / "docs" / "runs"
    record(runs, slug="nvidia-old")
    git(checkout, "add", ".")
    git(checkout, "commit", "-qm", "another")
    record(runs, seed=1, scale={"sdpa_math": {"gpu_time": 1.2}})
    record(runs, slug="nvidia-new")
    (runs / "nvidia-old" / "article" / "run.json").unlink()
    status, text, _ = run_diff(checkout, "HEAD", capsys=capsys)
    assert status == 0
    assert "| `nvidia-h200/article` | rerun |" in text
    assert "- New slot `nvidia-new/article`: NVIDIA nvidia-new, torch 2.11.0+cu130; " in text
    assert "- Removed slot `nvidia-old/article`" in text
    assert "| `sdpa_math` | GPU time | 2.58 ms | 3.09 ms | +20" in text


def test_a_ref_means_the_commit_where_the_branches_parted(checkout, capsys):
    """What others merged meanwhile is not this branch's doing."""
    git(checkout, "checkout", "-qb", "mine")
    git(checkout, "checkout", "-q", "main")
    record(checkout / "docs" / "runs", slug="nvidia-theirs")
    git(checkout, "add", ".")
    git(checkout, "commit", "-qm", "theirs")
    git(checkout, "checkout", "-q", "mine")
    assert "nvidia-theirs" not in run_diff(checkout, "main", capsys=capsys)[1]


def test_a_ref_without_any_run_makes_every_run_new(tmp_path, capsys):
    root = tmp_path / "r"
    root.mkdir()
    (root / "README.md").write_text("x")
    for arguments in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-qm", "x"]):
        git(root, *arguments)
    record(root / "docs" / "runs")
    assert "- New slot `nvidia-h200/article`" in run_diff(root, "main", capsys=capsys)[1]


def test_what_is_no_run_and_no_commit_is_an_error_with_a_cure(checkout):
    from reportgen.errors import ReportError

    with pytest.raises(ReportError, match="'nowhere' is neither a run, nor a folder of runs, nor a commit"):
        run_diff(checkout, "nowhere", capsys=None)


def refused(root, ref):
    from reportgen.errors import ReportError

    with pytest.raises(ReportError) as caught:
        run_diff(root, ref, capsys=None)
    return str(caught.value).splitlines()


def test_another_owners_checkout_is_told_in_gits_own_words_with_gits_cure(checkout, tmp_path, monkeypatch):
    said = ["fatal: detected dubious ownership in repository at 'the folder'", "To add an exception for this directory, call:", "",
            "\tgit config --global --add safe.directory 'the folder'"]
    stand_in = tmp_path / "bin" / "git"
    stand_in.parent.mkdir()
    stand_in.write_text("#!/bin/sh\ncat >&2 <<'END'\n" + "\n".join(said) + "\nEND\nexit 128\n")
    stand_in.chmod(0o755)
    monkeypatch.setenv("PATH", f"{stand_in.parent}:/usr/bin:/bin")
    assert refused(checkout, "main") == ["'main' cannot be looked up; git says: detected dubious ownership in repository at 'the folder'",
                                         "  what to do: tell git that the checkout is yours: git config --global --add safe.directory 'the folder'"]


def test_an_unpacked_archive_is_no_checkout(tmp_path, monkeypatch):
    record(tmp_path / "docs" / "runs")
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert refused(tmp_path, "origin/main") == ["'origin/main' is no run and no folder of runs, and this is no git checkout that could have it as a commit",
                                                "  what to do: give two runs, or two folders of runs: make diff BASE=… HEAD=…"]


def test_without_git_that_is_said(checkout, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert refused(checkout, "main") == ["git is not installed, and only it knows the runs of a commit", "  what to do: install git, or give two runs or folders of runs"]


def test_a_shallow_clone_that_does_not_know_where_the_branches_parted_says_how_to_fetch_the_rest(checkout, tmp_path):
    (checkout / "more").write_text("x")
    git(checkout, "checkout", "-qb", "mine")
    git(checkout, "add", ".")
    git(checkout, "commit", "-qm", "mine")
    git(checkout, "checkout", "-q", "main")
    (checkout / "other").write_text("x")
    git(checkout, "add", ".")
    git(checkout, "commit", "-qm", "theirs")
    git(tmp_path, "clone", "-q", "--depth", "1", "--no-single-branch", "-b", "mine", checkout.as_uri(), "shallow")
    assert refused(tmp_path / "shallow", "origin/main") == ["this clone is shallow and does not go back to where 'origin/main' and HEAD parted",
                                                            "  what to do: fetch the rest: git fetch --unshallow"]


def test_two_runs_are_compared_whatever_their_slots(checkout, tmp_path, capsys):
    record(checkout / "docs" / "runs", label="tf32", settings={"cudnn_allow_tf32": False})
    status, text, _ = run_diff(checkout, "nvidia-h200/article", "nvidia-h200/article+tf32", capsys=capsys)
    assert status == 0 and "### `nvidia-h200/article+tf32`" in text and "| setting cudnn_allow_tf32 | True | False |" in text


def test_a_run_from_elsewhere_is_compared_with_the_recorded_one_of_its_slot(checkout, tmp_path, capsys):
    folder = record(tmp_path / "elsewhere", seed=3)
    record(checkout / "docs" / "runs", slug="nvidia-other")
    text = run_diff(checkout, str(folder), capsys=capsys)[1]
    assert "### `nvidia-h200/article`" in text and "nvidia-other" not in text


def test_a_damaged_run_is_named_and_the_others_are_compared_all_the_same(checkout, capsys):
    runs = checkout / "docs" / "runs"
    record(runs, slug="nvidia-new")
    (runs / "nvidia-h200" / "article" / "run.json").write_text("{")
    status, text, err = run_diff(checkout, "main", "--fail-on", "verdict", capsys=capsys)
    assert "**Could not be compared**: `nvidia-h200/article`: not valid JSON" in text and "New slot `nvidia-new/article`" in text
    assert status == 1 and "unreadable: nvidia-h200/article" in err


@pytest.mark.parametrize(("options", "gate", "caught"), [
    (dict(scale={"sdpa_math": {"gpu_time": 1.2}}), "slower", True), (dict(scale={"sdpa_math": {"gpu_time": 0.8}}), "slower", False),
    (dict(scale={"sdpa_math": {"host_time": 1.2}}), "slower", False), (dict(kernel={"sdpa_math": "other"}), "structure", True),
    (dict(scale={"sdpa_math": {"gpu_time": 1.2}}), "structure", False), (dict(scale={"sdpa_flash": {"gpu_time": 0.5}}), "verdict", True),
    (dict(seed=1), "verdict", False),
])
def test_a_gate_ends_with_status_1_on_its_own_kind_of_difference(checkout, capsys, options, gate, caught):
    record(checkout / "docs" / "runs", **{"seed": 1, **options})
    status, _, err = run_diff(checkout, "main", "--fail-on", gate, capsys=capsys)
    assert status == int(caught) and (f"caught by --fail-on {gate}: nvidia-h200/article" in err) == caught


def test_json_says_the_same_in_microseconds(checkout, capsys):
    record(checkout / "docs" / "runs", seed=1, scale={"sdpa_math": {"gpu_time": 1.2}}, kernel={"sdpa_cudnn": "other"})
    seen = json.loads(run_diff(checkout, "main", "--json", capsys=capsys)[1])["changed"]["nvidia-h200/article"]
    slower = [t for t in seen["timings"] if t["significant"]]
    assert [(t["variant"], t["quantity"]) for t in slower] == [("sdpa_math", "gpu_time")]
    assert slower[0]["old_us"] == pytest.approx(2580, rel=0.01) and slower[0]["ratio"] == pytest.approx(1.2, rel=0.01)
    assert seen["structure"][0] | {"old": None} == {"variant": "sdpa_cudnn", "kind": "replaced", "what": "fused attention", "old": None, "new": "other", "times": 1}


def test_a_text_too_long_for_a_comment_drops_the_folded_parts_then_whole_slots_and_names_them(tmp_path):
    for root, seed in ((tmp_path / "a", 0), (tmp_path / "b", 1)):
        for number in range(3):
            record(root, seed=seed + 10 * number, slug=f"nvidia-{number}", scale={"sdpa_math": {"gpu_time": 1 + seed}})
    seen = trees.compare_trees("a", trees.slots(tmp_path / "a"), "b", trees.slots(tmp_path / "b"))
    full = render.tree_markdown(seen)
    short = render.tree_markdown(seen, limit=len(full) - 1)
    assert "within noise</summary>" in full and "within noise</summary>" not in short and "### `nvidia-2/article`" in short
    shorter = render.tree_markdown(seen, limit=len(short) - 300)
    assert "### `nvidia-2/article`" not in shorter and "Left out for length: `nvidia-2/article`" in shorter and len(shorter) <= len(short) - 300


def test_gates_without_a_name_catch_nothing():
    assert gates.failed(trees.TreeDiff("a", "b", {}, {}, (), (), {"slot": "damaged"}), []) == []


def test_load_reads_facts_outcomes_and_floor(tmp_path):
    side = diff.load(record(tmp_path))
    assert side.facts.slot == "nvidia-h200/article" and side.outcomes["memcpy-hidden"].verdict == "holds" and side.noise is None


def test_without_a_recorded_floor_the_comparison_says_how_to_take_one(tmp_path):
    old, new = record(tmp_path / "a"), record(tmp_path / "b", seed=1)
    said = "No same-code floor is recorded for `nvidia-h200/article`; `make noise` takes one."

    def shown():
        return render.tree_markdown(trees.compare_trees("old", trees.slots(tmp_path / "a"), "new", trees.slots(tmp_path / "b"))).splitlines()

    assert shown().count(said) == 1
    kept = run_room.load(old)
    save(Noise(6, 15, kept.software, kept.settings, {}), new)
    assert said not in shown()


def test_a_status_is_the_same_change_whatever_number_its_reason_holds():
    """A second pass fails alike with another count of bytes; it would not be alike if it were refused for another variant."""
    (first,), (second,) = (between(facts(), unavailable(facts(), "sdpa_math", f"out of memory (tried {size} GiB)")).structure for size in ("2.00", "2.01"))
    assert str(first.new) == "refused (out of memory (tried 2.00 GiB))"
    assert first.key == second.key == ("sdpa_math", "status", "status", "ok", "refused")
    assert first != second


def test_what_surrounds_a_run_says_which_part_of_it_differs():
    other = replace(facts(), settings={**facts().settings, "float32_matmul_precision": "high"}, software={**facts().software, "torch": "2.99.0"},
                    device=replace(facts().device, name="NVIDIA H900"))
    seen = between(facts(), other)
    assert [(change.part, change.key, change.name) for change in seen.environment] == [
        ("device", "name", "device"), ("software", "torch", "torch"), ("setting", "float32_matmul_precision", "setting float32_matmul_precision")]
