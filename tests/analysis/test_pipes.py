"""Instructions and pipes: why one fused kernel is faster than another is said only where the counters show it."""

from __future__ import annotations

import re

import pytest
from builders import activity, facts, unavailable
from case_tables import outcome
from turned import counted, timed

from reportgen.analysis import CounterFacts, RunFacts, pipes
from reportgen.analysis.bounds import Bound, Limit
from reportgen.capture import counters
from reportgen.findings import fastest
from reportgen.questions import pipe_words
from reportgen.questions.evaluate import evaluate
from reportgen.readings import limits
from reportgen.saying.tables import markdown

# as one H200 counted them: (million warp instructions, issue slots, tensor pipe, XU, ALU in percent, 10⁹ operations)
H200 = {"sdpa_efficient": (92.9, 64, 24, 13, 48, 18.3), "sdpa_flash": (34.2, 47, 39, 27, 25, 19.3), "sdpa_cudnn": (21.8, 47, 40, 42, 25, 19.3)}


def run(**changes: tuple[float, ...]) -> RunFacts:
    """The synthetic H200 with these counters on its fused kernels."""
    built = facts()
    for name, (million, issue, tensor, xu, alu, giga) in {**H200, **changes}.items():
        built = counted(built, name, instructions=million * 1e6, issue_pct=issue, tensor_pct=tensor, xu_pct=xu, alu_pct=alu, tensor_core_flop=giga * 1e9)
    return built


def test_the_next_slower_one_is_told_apart_by_what_was_counted():
    """cuDNN 59 µs, flash 94, efficient 178 in these facts. cuDNN's pipe is as busy as flash's and does 1.6 times as much: wgmma."""
    told = [(pair.fast.variant, pair.slow.variant, pair.fewer, pair.busier, pair.denser is not None) for pair in pipes.contrasts(run())]
    assert told == [("sdpa_cudnn", "sdpa_flash", True, False, True), ("sdpa_flash", "sdpa_efficient", True, True, False)]
    first, second = pipe_words.why(run()).split("; ")
    assert first.startswith("SDPA cuDNN executes fewer warp instructions than SDPA flash (21.8 million against 34.2 million) and does 1.") and first.endswith(
        "× the matrix work per second, by the kernels alone in the trace, with the tensor pipe no busier (40 % against 39 %): its name says `wgmma`, and SDPA flash is written for `mma.sync`")
    assert second == ("SDPA flash executes fewer warp instructions than SDPA efficient (34.2 million against 92.9 million) and keeps the tensor pipe busier "
                      "(39 % of the time against 24 %)")


def test_of_pairs_that_the_counters_do_not_tell_apart_nothing_is_said():
    """5 % fewer instructions, a pipe as busy, as many operations a second: no reason."""
    alike = run(sdpa_flash=(21.0, 47, 40, 42, 25, 30.0), sdpa_efficient=(20.0, 64, 41, 13, 48, 60.0))
    assert pipes.contrasts(alike) == () and pipe_words.why(alike) == ""
    assert not any("counters" in line for line in outcome("flash-fastest", alike).because)


def test_more_instructions_are_no_reason_to_be_faster():
    more = run(sdpa_cudnn=(40, 47, 60, 42, 25, 19.3))
    first = pipe_words.why(more).split("; ")[0]
    assert first == "SDPA cuDNN keeps the tensor pipe busier than SDPA flash (60 % of the time against 39 %)"


def test_variants_that_tie_are_not_set_apart():
    level = timed(run(), "gpu_time", sdpa_flash=59.5, sdpa_cudnn=59)
    assert [(pair.fast.variant, pair.slow.variant) for pair in pipes.contrasts(level)] == [("sdpa_flash", "sdpa_efficient")]


def test_the_instructions_of_two_kernels_are_named_only_where_both_names_tell():
    """Under another name nobody knows what flash multiplies with."""
    from turned import renamed

    other = pipes.contrasts(renamed(run(), "sdpa_flash", "some_kernel"))[0]
    assert other.fewer and other.denser is None


def test_without_these_counters_nothing_is_said_and_no_table_is_shown():
    assert pipe_words.why(facts()) == pipe_words.shares(facts()) == "" and pipe_words.table(facts()) == ()
    older = counted(facts(), "sdpa_flash", achieved_pct=12.0)
    assert pipe_words.table(older) == ()


def test_the_table_has_the_fastest_first_and_whole_percent():
    rows = [line for line in markdown(pipe_words.table(unavailable(run(), "sdpa_efficient"))[0]).splitlines() if line.startswith("| SDPA")]
    assert [row.split(" | ")[0] for row in rows] == ["| SDPA cuDNN", "| SDPA flash"]
    assert rows[1].endswith("34.2 million | 47 % | 39 % | 27 % | 25 % |")
    assert any("keep busy" in table.caption for table in fastest.FINDING.evidence(run()).tables)


def test_the_finding_gives_the_counted_reason():
    because = outcome("flash-fastest", run()).because
    assert any(line.startswith("The counters tell more: SDPA cuDNN executes fewer warp instructions than SDPA flash (21.8 million") for line in because)


def reading(built: RunFacts, name: str):
    return evaluate(next(question for question in limits.READING.questions if question.id == name), built)


def test_what_is_counted_takes_the_place_of_what_is_not_known():
    counted_one, plain = reading(run(), "limits-fused"), reading(facts(), "limits-fused")
    assert "What each keeps busy, counted: SDPA cuDNN issue slots 47 %, tensor pipe 40 %, XU 42 %, ALU 25 %; SDPA flash issue slots 47 %" in " ".join(counted_one.because)
    assert not any("This run counts no stalls" in line for line in counted_one.caveats)
    assert any("This run counts no stalls" in line for line in plain.caveats)


@pytest.mark.parametrize(("counters", "found"), [
    ({"issue_pct": 79.0, "xu_pct": 48.0}, (pipes.Busy.ISSUE, 79.0)),
    ({"issue_pct": 61.0, "alu_pct": 70.0}, (pipes.Busy.ALU, 70.0)),
    ({"issue_pct": 59.9, "xu_pct": 48.0}, None),
    ({}, None),
])
def test_a_step_is_busy_with_what_it_uses_most_from_the_sites_border_on(counters, found):
    """60 % counts as reaching a limit, for memory and arithmetic as for these."""
    assert pipes.busy(activity(counters=CounterFacts(**counters))) == found
    assert pipes.busy(activity()) is None


def test_only_time_that_no_ceiling_explains_is_given_to_the_pipes():
    """Softmax takes 30 of 100 µs near no ceiling, with 79 % of the issue slots busy; a copy at copy speed takes the rest."""
    softmax = Bound(activity(us=30, counters=CounterFacts(issue_pct=79.0)), Limit.NEITHER)
    copy = Bound(activity(us=70, counters=CounterFacts(issue_pct=90.0)), Limit.HBM)
    assert pipes.kept_busy((softmax, copy)) == {pipes.Busy.ISSUE: pytest.approx(0.3)}
    assert pipe_words.busy_said({pipes.Busy.ISSUE: 0.3, pipes.Busy.XU: 0.401}) == "the XU pipe (exponentials) in 40.1 % of the GPU time and issuing instructions in 30 % of the GPU time"


def test_the_reading_says_what_the_steps_keep_busy():
    built = counted(facts(), "naive_inplace", issue_pct=65.0, dram_read_bytes=None)
    said = reading(built, "limits-steps").because
    assert any(line.startswith("Counted in those that run near neither ceiling, busy instead at 60 % or more: Naive in place issuing instructions in ") for line in said)
    assert not any("busy instead" in line for line in reading(facts(), "limits-steps").because)


def test_the_busiest_pipe_of_each_is_named_and_issue_slots_are_no_pipe():
    """Efficient's issue slots are busy 64 %, its highest pipe 48 %; with a tensor pipe at 60 % that one has reached a limit."""
    assert pipe_words.busiest_said(run()) == "SDPA cuDNN XU (42 %), SDPA flash tensor pipe (39 %) and SDPA efficient ALU (48 %); no pipe of them is above 48 %"
    near = pipe_words.busiest_said(run(sdpa_flash=(34.2, 47, 60, 27, 25, 19.3)))
    assert near.endswith("; SDPA flash keeps its busy 60 % of the time or more, which counts as a limit") and "no pipe" not in near
    assert pipe_words.busiest_said(facts()) == ""


def test_the_counters_stand_with_the_names_that_nsight_compute_has_for_them():
    """So that a reader can ask for them; each is one that the capture asks for."""
    said = next(line for line in reading(run(), "limits-fused").because if line.startswith("What each keeps busy"))
    names = re.findall(r"`(\w+(?:\.\w+)+)`", said)
    assert names == ["sm__inst_issued.avg.pct_of_peak_sustained_active", "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active",
                     "sm__inst_executed_pipe_xu.avg.pct_of_peak_sustained_active", "sm__inst_executed_pipe_alu.avg.pct_of_peak_sustained_active"]
    assert set(names) <= set(counters.PIPE_METRICS)
    assert pipe_words.table(run())[0].notes[-1].startswith("In Nsight Compute: issue slots `sm__inst_issued")
