"""The history of a slot, from a repository with a made-up past: what each step says, what a shallow clone lacks, and what nobody can read."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from history_doubles import NEW, SLOT, begin, committed, git, past, recorded

from reportgen.commands import cli
from reportgen.commands.interruption import Stages
from reportgen.errors import ReportError
from reportgen.review.history import Cause, FlipCause, Gathered, Judged, Standing, gather, judged, words
from reportgen.run import history
from reportgen.run.layout import Layout

SLUG = "nvidia-h200"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return past(tmp_path_factory.mktemp("past") / "whole")


@pytest.fixture(scope="module")
def whole(root: Path) -> Gathered:
    return gather(root, SLUG, None)


@pytest.fixture(scope="module")
def steps(whole: Gathered) -> tuple[Judged, ...]:
    return judged(whole.history.slots["article"])


# What each step says

def test_every_content_of_the_run_is_a_state_in_the_order_of_commits(steps):
    assert [(one.number, one.state.day[:10], one.state.committed) for one in steps] == [
        (1, "2026-01-10", "2026-01-10"), (2, "2026-02-10", "2026-02-10"), (3, "2026-02-20", "2026-02-20"), (4, "2026-03-10", "2026-03-10"),
        (5, "2026-04-10", "2026-04-10"), (6, "2026-05-10", "2026-05-10"), (7, "2026-06-10", "2026-06-10")]
    assert [one.standing for one in steps] == [Standing.FIRST, Standing.CHANGED, Standing.UNREADABLE, Standing.QUIET, Standing.APART, Standing.CHANGED, Standing.CHANGED]


def test_a_torch_with_a_faster_cudnn_is_told_with_the_kernel_that_carries_it(steps):
    step = steps[1]
    assert words.came(step) == "torch 2.10.0 → 2.11.0, cuDNN 9.10.2 → 9.19.0"
    assert words.headline(step) == "2 deciding times shorter (SDPA cuDNN); what ran is otherwise for SDPA cuDNN"
    assert [(move.variant, move.quantity, move.cause) for move in step.moves] == [("sdpa_cudnn", "gpu_time", Cause.KERNELS), ("sdpa_cudnn", "gpu_time_cold", Cause.KERNELS)]
    assert words.why(step, step.moves[0]) == "fused attention replaced: `cudnn sdpa flash_fprop 64x128x64` → `cudnn_kernel_of_9_19`"
    assert 0.79 < step.moves[0].ratio < 0.81 and step.moves[0].low < 0.8 < step.moves[0].high


def test_another_driver_alone_is_noise_and_is_compared_over_the_state_that_cannot_be_read(steps):
    step = steps[3]
    assert (step.since, words.came(step), step.moves, step.exact, step.flips) == (2, "driver 570.10 → 580.20", (), (), ())
    assert words.headline(step) == "nothing but noise over an unreadable state, beside state 2: what ran is the same, and no deciding time moved (2 % would have counted)"


def test_a_state_of_a_newer_program_says_why_it_is_left_out(steps):
    assert words.headline(steps[2]) == "cannot be read, so it is compared with nothing: recorded with schema 99, and this program reads up to 2"
    assert steps[2].state.variants == {} and steps[2].state.before is None


def test_times_of_another_protocol_are_not_compared_though_all_of_them_are_a_third_longer(steps):
    step = steps[4]
    assert step.state.variants["naive"].times["gpu_time"].median > 1.25 * steps[3].state.variants["naive"].times["gpu_time"].median
    assert step.moves == () and words.headline(step) == "no time is compared with state 4: protocol rounds 3 → 2"
    assert {cause for _, cause in step.flips} == {FlipCause.APART}


def test_a_kernel_under_another_name_is_told_apart_from_another_kernel(steps):
    step = steps[5]
    assert [(one.variant, one.renamed) for one in step.exact] == [("sdpa_flash", True)] and step.moves == ()
    assert words.headline(step) == "no deciding time moved beyond noise; a kernel of SDPA flash has another name and is launched alike"
    assert words.exact(step.exact[0]).endswith(" → `flash_by_another_name`, launched alike")


def test_a_verdict_turns_with_a_time_that_nothing_recorded_explains(steps):
    step = steps[6]
    assert ("flash-fastest", "differs", "holds", FlipCause.CHANGED) in [(flip.claim, flip.old, flip.new, cause) for flip, cause in step.flips]
    assert {move.variant: move.cause for move in step.moves} == {"sdpa_flash": Cause.NOTHING}
    assert words.why(step, step.moves[0]) == "nothing that is recorded changed with it" and words.size(step.moves[0]).startswith("−69")


def test_the_answer(steps):
    said = words.answer("article", steps)
    assert said.startswith("**`article`: seven states, recorded from 10 Jan 2026 to 10 Jun 2026; deciding times moved in two of five steps.** State 7, SDPA flash: GPU time 121 µs → 37.")
    assert ("State 2, SDPA cuDNN: GPU time 58.9 µs → 47.3 µs (−19.8 %); fused attention replaced: `cudnn sdpa flash_fprop 64x128x64` → `cudnn_kernel_of_9_19` "
            "(torch 2.10.0 → 2.11.0, cuDNN 9.10.2 → 9.19.0). State 4: driver 570.10 → 580.20 changed nothing beyond noise.") in said
    assert said.endswith("3 verdicts turned, 1 of them between states that were measured otherwise. 2 verdicts are another because what they need can be told on one side alone. State 3 cannot be read.")


# What a cause is, the most direct first

def cause(steps, **changes):
    """The cause of the cuDNN's move where the step has other changes than it has."""
    old, new = steps[0].state, steps[1].state
    step = replace(new.before, **{"around": (), "conditions": (), "exact": (), **{name: value for name, value in changes.items() if name in ("around", "conditions", "exact")}})
    held = replace(new.variants["sdpa_cudnn"], **changes.get("held", {}))
    (_, one) = judged([old, replace(new, before=step, variants={**new.variants, "sdpa_cudnn": held})])
    return one.moves[0].cause if one.moves else one.untold, one


def of(kind, what="x", **more):
    return history.Exact("sdpa_cudnn", kind, what, "a", "b", **more)


DRIVER = history.Around("software", "driver", "driver", "570", "580", True)
SLOWER_CLOCK = history.Condition("clock", "SM clock, median", "1,980 MHz", "1,755 MHz")


@pytest.mark.parametrize(("changes", "expected", "said"), [
    ({"exact": (of("source"), of("replaced"))}, Cause.CODE, "the variant's own code is another"),
    ({"held": {"state": "wrong result"}}, Cause.STATE, "its state is now: wrong result"),
    ({"held": {"backend": "flash"}, "exact": (of("replaced", "fused attention"),)}, Cause.BACKEND, "another backend runs: fused attention replaced: `a` → `b`"),
    ({"exact": (of("replaced"), of("replaced", renamed=True), of("launch"))}, Cause.KERNELS, "x replaced: `a` → `b`"),
    ({"exact": (of("launch", "grid", subject="k"),), "around": (DRIVER,)}, Cause.LAUNCH, "same kernels, launched otherwise: grid of `k`: a → b"),
    ({"exact": (of("replaced", renamed=True),), "around": (DRIVER,)}, Cause.RENAMED, "no cause seen beside another name: x replaced: `a` → `b`, launched alike"),
    ({"held": {"seen": False}, "around": (DRIVER,)}, Cause.NOT_SEEN, "not known: on one side nobody saw what ran"),
    ({"exact": (of("count", "CPU ops"),)}, Cause.OPS, "same kernels; CPU ops: a → b"),
    ({"conditions": (SLOWER_CLOCK,), "around": (DRIVER,)}, Cause.CLOCK, "same kernels, other clocks: SM clock, median: 1,980 MHz → 1,755 MHz"),
    ({"conditions": (history.Condition("neighbours", "other processes on the GPU", "0", "2"),)}, Cause.NEIGHBOURS, "same kernels, other company: other processes on the GPU: 0 → 2"),
    ({"around": (history.Around("setting", "tf32", "setting tf32", "False", "True", True), DRIVER)}, Cause.SETTING, "same kernels; with it came setting tf32 False → True"),
    ({"around": (history.Around("device", "power_limit_watts", "power limit (W)", "700", "500", True),)}, Cause.DEVICE, "same kernels; with it came power limit (W) 700 → 500"),
    ({"around": (DRIVER,)}, Cause.SOFTWARE, "same kernels, launched alike; with it came driver 570 → 580"),
    ({"around": (history.Around("host", "cpu", "host cpu", "a", "b"),)}, Cause.NOTHING, "nothing that is recorded changed with it"),
])
def test_the_most_direct_change_is_the_one_that_is_named(steps, changes, expected, said):
    found, one = cause(steps, **changes)
    assert (found, words.why(one, one.moves[0])) == (expected, said)


@pytest.mark.parametrize("around", [
    history.Around("workload", "workload", "workload", "a", "b", True), history.Around("protocol", "processes", "protocol processes", "7", "5"),
    history.Around("device", "name", "device", "NVIDIA H200", "NVIDIA H100", True)])
def test_what_is_no_measurement_of_the_same_thing_is_not_compared(steps, around):
    _, one = cause(steps, around=(around,), exact=(of("replaced"),))
    assert one.standing is Standing.APART and one.moves == ()
    assert bool(one.exact) is (around.part == "protocol"), "what ran may be told beside another protocol, and on another chip or shape not"


def test_times_of_a_result_that_is_wrong_on_both_sides_are_not_compared(steps):
    wrong = {"sdpa_cudnn": replace(steps[0].state.variants["sdpa_cudnn"], state="wrong result")}
    old = replace(steps[0].state, variants={**steps[0].state.variants, **wrong})
    (_, one) = judged([old, replace(steps[1].state, variants={**steps[1].state.variants, "sdpa_cudnn": replace(steps[1].state.variants["sdpa_cudnn"], state="wrong result")})])
    assert one.moves == () and [each.variant for each in one.exact] == ["sdpa_cudnn"]


def test_another_timer_of_one_variant_takes_its_gpu_time_out_and_no_other(steps):
    found, one = cause(steps, held={"timer": "queued-events"})
    assert found == ("sdpa_cudnn",) and one.moves == () and one.standing is Standing.QUIET
    assert words.headline(one).endswith("; the GPU time of SDPA cuDNN was taken by another timer, and is not compared")


def test_torch_that_picks_another_backend_unpinned_is_a_change(steps):
    (_, one) = judged([replace(steps[0].state, default_backend="flash"), replace(steps[1].state, before=history.Step(steps[0].state.blob), default_backend="cudnn")])
    assert one.standing is Standing.CHANGED and words.headline(one) == "no deciding time moved beyond noise; unpinned, torch picks cuDNN instead of flash"


def test_nothing_is_called_the_same_where_nobody_saw_what_ran(steps):
    variants = {name: replace(held, seen=name != "naive") for name, held in steps[3].state.variants.items()}
    (_, one) = judged([steps[1].state, replace(steps[3].state, variants=variants)])
    assert "what ran is the same as far as both sides saw it (not of Naive)" in words.headline(one)


def test_one_state_is_compared_with_nothing(steps):
    assert words.answer("article", steps[:1]) == "**`article`: one state, recorded on 10 Jan 2026.** Nothing is compared yet."


# What git has

def test_the_file_reads_as_it_was_written_and_is_not_written_twice(whole, tmp_path):
    file = tmp_path / history.HISTORY_FILE
    assert history.write(file, whole.history) is True and history.write(file, whole.history) is False
    assert history.read(file) == whole.history


def test_reading_again_gives_the_same_bytes_whatever_the_file_had(root, whole):
    assert gather(root, SLUG, whole.history).history == whole.history


def shallow(root: Path, folder: Path, depth: int) -> Path:
    git(folder, "clone", "-q", "--depth", str(depth), root.as_uri(), "shallow")
    return folder / "shallow"


def test_a_shallow_clone_keeps_what_the_file_has_and_says_what_it_lacks(root, whole, tmp_path):
    clone = shallow(root, tmp_path, 2)
    found = gather(clone, SLUG, whole.history)
    assert (found.read, found.kept, found.cut) == ({"article": 2}, {"article": 5}, ("article",))
    assert found.history == whole.history


def test_a_shallow_clone_without_a_file_begins_where_it_begins(root, tmp_path):
    clone = shallow(root, tmp_path, 2)
    found = gather(clone, SLUG, None)
    first, last = judged(found.history.slots["article"])
    assert (found.read, found.kept, first.standing, last.since) == ({"article": 2}, {"article": 0}, Standing.CUT, 1)
    assert words.headline(first) == "the first state that was read: the clone did not go back to what the slot held before"
    assert words.answer("article", (first, last)).endswith("What came before the first of them was not in the clone that this was read from.")


def test_a_shallow_clone_does_not_compare_over_what_it_lacks(root, whole, tmp_path):
    """The file ends at state 4, the clone begins at state 6: nobody knows state 5, and nothing is said of a step to 6."""
    clone = shallow(root, tmp_path, 2)
    known = replace(whole.history, states=whole.history.states[:4])
    steps = judged(gather(clone, SLUG, known).history.slots["article"])
    assert [one.standing for one in steps][3:] == [Standing.QUIET, Standing.CUT, Standing.CHANGED] and steps[4].since is None


def run(root: Path, capsys, *arguments: str) -> list[str]:
    chosen = cli.parser().parse_args(["history", *arguments])
    assert chosen.command(chosen, Layout(root), Stages()) == 0
    return capsys.readouterr().out.splitlines()


def test_the_command_says_in_two_lines_what_a_shallow_clone_lacks(root, whole, tmp_path, capsys):
    clone = shallow(root, tmp_path, 2)
    file = clone / "docs" / "runs" / SLUG / history.HISTORY_FILE
    assert run(clone, capsys) == [
        "docs/runs/nvidia-h200/history.jsonl: 2 states of 1 slot",
        "this clone is shallow and does not go back to what article held first; the file has none of it",
        "  what to do: git fetch --unshallow, then make history", "`make render` writes the pages that show it"]
    history.write(file, whole.history)
    assert run(clone, capsys)[:2] == ["docs/runs/nvidia-h200/history.jsonl: 7 states of 1 slot, as it was",
                                      "this clone is shallow and does not go back to what article held first; 5 states that the file has are kept as they were"]
    git(clone, "fetch", "-q", "--unshallow")
    assert run(clone, capsys) == ["docs/runs/nvidia-h200/history.jsonl: 7 states of 1 slot, as it was", "`make render` writes the pages that show it"]


def test_a_damaged_file_is_read_anew_by_a_whole_clone_and_refused_by_a_shallow_one_which_has_no_other(root, whole, tmp_path, capsys):
    clone = shallow(root, tmp_path, 2)
    file = clone / "docs" / "runs" / SLUG / history.HISTORY_FILE
    history.write(file, whole.history)
    file.write_text(file.read_text(encoding="utf-8").replace('"slot":"article","blob"', '"slot":"article","blub"', 1), encoding="utf-8")
    with pytest.raises(ReportError, match=r"history\.jsonl:2: blob is missing"):
        run(clone, capsys)
    git(clone, "fetch", "-q", "--unshallow")
    assert run(clone, capsys)[0] == "docs/runs/nvidia-h200/history.jsonl is damaged, and read anew from git: blob is missing"
    assert history.read(file) == whole.history
    file.write_text('{"schema_version":2,"device":"x"}\n', encoding="utf-8")
    with pytest.raises(ReportError, match="was written by a newer version"):
        run(clone, capsys)


def test_the_run_in_the_work_tree_is_the_last_state_and_one_in_no_commit_goes_again(root, whole, tmp_path, capsys):
    git(tmp_path, "clone", "-q", root.as_uri(), "clone")
    clone = tmp_path / "clone"
    recorded(clone, "2026-07-10", seed=7, software=NEW)
    found = gather(clone, SLUG, whole.history)
    assert (found.history.states[-1].recorded_on, found.history.states[-1].committed, len(found.history.states)) == ("2026-07-10T10:00:00Z", None, 8)
    history.write(clone / "docs" / "runs" / SLUG / history.HISTORY_FILE, found.history)
    git(clone, "checkout", "-q", "--", SLOT)
    assert run(clone, capsys)[:2] == ["docs/runs/nvidia-h200/history.jsonl: 7 states of 1 slot", "1 state of article that the file had is in no commit, and left out"]


def test_a_second_setting_that_begins_as_a_copy_has_a_past_of_its_own(tmp_path):
    root = begin(tmp_path / "r")
    committed(root, "2026-01-10", seed=1)
    committed(root, "2026-02-10", seed=1, label="tf32")
    slots = gather(root, SLUG, None).history.slots
    assert {slot: [one.day[:10] for one in states] for slot, states in slots.items()} == {"article": ["2026-01-10"], "article+tf32": ["2026-02-10"]}


def test_a_floor_that_came_later_belongs_to_the_state_that_it_lies_beside(tmp_path):
    from reportgen.run.noise import Noise, save

    root = begin(tmp_path / "r")
    committed(root, "2026-01-10", seed=1)
    run_now = cli_run(root)
    save(Noise(6, 15, run_now.software, run_now.settings, {"naive": {"gpu_time": 0.3}}), root / SLOT)
    git(root, "add", ".")
    git(root, "commit", "-qm", "the floor")
    shutil.copy(root / SLOT / "noise.json", tmp_path)
    committed(root, "2026-02-10", seed=2, scale={"naive": {"gpu_time": 1.2}})
    (_, one) = judged(gather(root, SLUG, None).history.slots["article"])
    assert one.moves == () and "no deciding time moved (30 % would have counted)" in words.headline(one)


def cli_run(root: Path):
    from reportgen.run import load

    return load(root / SLOT)


def test_outside_of_a_checkout_it_is_two_lines(tmp_path, monkeypatch):
    recorded(tmp_path, "2026-01-10")
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    with pytest.raises(ReportError) as caught:
        gather(tmp_path, SLUG, None)
    assert str(caught.value).splitlines() == ["this is no git checkout, and only git knows what a slot held before",
                                              "  what to do: run it in a clone of the report's repository; the pages are made from history.jsonl as it is"]
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ReportError, match="git is not installed, and only git knows what a slot held before"):
        gather(tmp_path, SLUG, None)


def test_before_the_first_commit_the_work_tree_is_all_there_is(tmp_path):
    root = begin(tmp_path / "r")
    recorded(root, "2026-01-10")
    found = gather(root, SLUG, None)
    assert (found.read, [one.standing for one in judged(found.history.states)]) == ({"article": 1}, [Standing.FIRST])
    assert found.history.header.device == "NVIDIA nvidia-h200"


def test_a_device_without_a_run_is_named(root, capsys):
    with pytest.raises(ReportError, match="docs/runs has no device 'nvidia-b300' with a run"):
        run(root, capsys, "nvidia-b300")
