"""Attention written by hand, done better: every way in which its claims come out, with the evidence turned round."""

from __future__ import annotations

from dataclasses import replace

import pytest
from builder_devices import DEVICES
from builders import activity, estimate, facts, variant
from case_tables import outcome

from reportgen.analysis import RunFacts, State, VariantFacts
from reportgen.findings.by_hand import FINDING
from reportgen.numbers.statistics import Estimate
from reportgen.pages import front, glance, site
from reportgen.saying.tables import markdown

TITLES = {"naive_scaled_q": "Naive with scaled q", "naive_baddbmm": "Naive with baddbmm", "naive_compiled": "Naive, compiled"}


def extra(name: str, us: float, run: RunFacts | None = None, samples: tuple[float, ...] = (), **changes: object) -> RunFacts:
    """A run that has this extra, with so many µs of GPU time; in place takes 930 µs there, naive 1,056 µs."""
    run = run or facts()
    time = Estimate(tuple(one * 1e-6 for one in samples)) if samples else estimate(us)
    made = VariantFacts(name, TITLES[name], False, State.OK, times={"gpu_time": time}, timer="cuda-graph", relative_error=0.0029, allowed_error=0.0048)
    return replace(run, variants={**run.variants, name: replace(made, **changes)})


EIGHT = tuple(range(820, 828))

CASES_REACHED = {
    **{(claim, "unpaired"): (lambda name=name: extra(name, 0, samples=EIGHT), f"Not measurable: {TITLES[name]} and Naive in place were timed in different numbers of processes and cannot be compared.")
       for claim, name in (("scaled-q-faster", "naive_scaled_q"), ("baddbmm-faster", "naive_baddbmm"))},
    ("compiled-faster", "unpaired"): (
        lambda: extra("naive_compiled", 0, samples=EIGHT),
        "Not measurable: Naive, compiled and Naive were timed in different numbers of processes and cannot be compared."),
    ("scaled-q-faster", "faster"): (
        lambda: extra("naive_scaled_q", 820),
        "Scaling the queries instead of the scores makes hand-written attention faster: 820 µs instead of 930 µs (0.882×; in every process)."),
    ("scaled-q-faster", "same"): (
        lambda: extra("naive_scaled_q", 925),
        "Scaling the queries instead of the scores makes no measurable difference: 925 µs against 930 µs (ratio in every process)."),
    ("scaled-q-faster", "slower"): (
        lambda: extra("naive_scaled_q", 1000),
        "Scaling the queries instead of the scores makes hand-written attention slower: 1.00 ms instead of 930 µs (1.08×; in every process)."),
    ("baddbmm-faster", "faster"): (
        lambda: extra("naive_baddbmm", 780),
        "Folding scale and mask into the first matmul makes hand-written attention faster: 780 µs instead of 930 µs (0.839×; in every process)."),
    ("baddbmm-faster", "same"): (
        lambda: extra("naive_baddbmm", 935),
        "Folding scale and mask into the first matmul makes no measurable difference: 935 µs against 930 µs (ratio in every process)."),
    ("baddbmm-faster", "slower"): (
        lambda: extra("naive_baddbmm", 1200),
        "Folding scale and mask into the first matmul makes hand-written attention slower: 1.20 ms instead of 930 µs (1.29×; in every process)."),
    ("compiled-faster", "faster"): (
        lambda: extra("naive_compiled", 324),
        "`torch.compile` makes hand-written attention faster: 324 µs instead of 1.06 ms (0.307×; in every process)."),
    ("compiled-faster", "same"): (
        lambda: extra("naive_compiled", 1050),
        "`torch.compile` makes no measurable difference: 1.05 ms against 1.06 ms (ratio in every process)."),
    ("compiled-faster", "slower"): (
        lambda: extra("naive_compiled", 2000),
        "`torch.compile` makes hand-written attention slower: 2.00 ms instead of 1.06 ms (1.89×; in every process)."),
    ("compiled-faster", "too-few-less"): (
        lambda: extra("naive_compiled", 0, samples=(324,)),
        "`torch.compile` was timed in 1 process only, too few to judge: 324 µs with it, 1.06 ms without (at least 1.05 ms in every process)."),
    ("compiled-faster", "too-few"): (
        lambda: extra("naive_compiled", 0, samples=(1040,)),
        "`torch.compile` was timed in 1 process only, too few to judge: 1.04 ms with it, 1.06 ms without."),
}

# claim → device → (verdict, case); the made-up devices are older than the extras
ON_DEVICES = {claim: dict.fromkeys(DEVICES, ("not measurable", "before-variant")) for claim in ("scaled-q-faster", "baddbmm-faster", "compiled-faster")}


@pytest.mark.parametrize(("claim", "run", "saves"), [
    ("scaled-q-faster", lambda: extra("naive_scaled_q", 820), "110 µs per forward (12 % of Naive in place)"),
    ("baddbmm-faster", lambda: extra("naive_baddbmm", 780), "150 µs per forward (16 % of Naive in place)"),
    ("compiled-faster", lambda: extra("naive_compiled", 324), "732 µs per forward (69 % of Naive)"),
    ("compiled-faster", lambda: extra("naive_compiled", 0, samples=(324,)), "732 µs per forward (69 % of Naive)"),
])
def test_each_change_says_what_it_saves(claim, run, saves):
    (advice,) = outcome(claim, run()).pieces
    assert str(advice.saves) == saves
    assert advice.more == ("" if claim == "compiled-faster" else "A fused SDPA backend is faster still.")


def test_what_a_compiler_takes_at_first_is_said_beside_it():
    run = extra("naive_compiled", 324)
    compiled = run.variants["naive_compiled"]
    slow = replace(run, variants={**run.variants, "naive_compiled": replace(compiled, times={**compiled.times, "first_call": Estimate((3.58,))})})
    assert outcome("compiled-faster", slow).pieces[0].says == "If attention must be written by hand, use `torch.compile` (compiling at the first call took 3.58 s here)."


def test_a_saving_without_a_verdict_says_so_in_the_sentence_that_the_front_page_shows():
    """One process says too little to judge; seven of them need no such word."""
    once, often = (outcome("compiled-faster", run).pieces[0] for run in (extra("naive_compiled", 0, samples=(324,)), extra("naive_compiled", 324)))
    assert once.says == "If attention must be written by hand, use `torch.compile` (timed in 1 process only, too few to judge)."
    assert often.says == "If attention must be written by hand, use `torch.compile`."


def test_the_same_is_said_of_it_wherever_it_stands():
    """Beside the bars, behind the verdict and on the page beyond the article; a variant with as many processes as the others is not named."""
    run = extra("naive_compiled", 0, samples=(324,))
    words = "timed in 1 process only, too few to judge"
    assert glance.table(run).notes[0] == f"Naive, compiled: {words}. The others: medians over 7 fresh processes."
    assert words in outcome("compiled-faster", run).headline
    beyond = front.beyond(site.build([run], run.slot, []))
    assert f"It was {words}." in beyond and "no verdict" not in beyond
    judged = extra("naive_compiled", 324)
    assert not any("processes" in note for note in glance.table(judged).notes) and words not in front.beyond(site.build([judged], judged.slot, []))


@pytest.mark.parametrize("run", [lambda: extra("naive_scaled_q", 925), lambda: extra("naive_scaled_q", 1000)])
def test_nothing_is_advised_that_saves_nothing(run):
    assert outcome("scaled-q-faster", run()).pieces == ()


def test_a_single_process_near_naives_quickest_advises_nothing():
    """Naive's quickest process took 1,053.9 µs; 2 % below are 1,033 µs."""
    assert outcome("compiled-faster", extra("naive_compiled", 0, samples=(1034,))).pieces == ()
    assert outcome("compiled-faster", extra("naive_compiled", 0, samples=(1030,))).pieces != ()


def test_a_wrong_or_missing_extra_is_judged_nowhere():
    wrong = extra("naive_scaled_q", 820, state=State.WRONG, relative_error=0.3, allowed_error=0.0048)
    assert outcome("scaled-q-faster", wrong).case == "wrong-result"
    assert outcome("scaled-q-faster", extra("naive_scaled_q", 820, timer="queued-events")).case == "other-timers"
    assert outcome("scaled-q-faster", extra("naive_scaled_q", 0, samples=(820, 821))).verdict != "holds"


def test_steps_and_errors_stand_behind_the_verdict():
    run = extra("naive_baddbmm", 780, kernels=5, memcpys=0, memsets=1)
    assert outcome("baddbmm-faster", run).because[0] == "GPU activities: 6, in Naive in place 6."
    assert outcome("baddbmm-faster", run).because[-1] == "Relative error against FP64: 0.29 %; Naive in place: 0.37 %."


def test_the_table_says_which_steps_went():
    acts = (activity(role="scale", us=8), activity(role="matmul", us=90), activity(role="mask", us=358))
    table = markdown(FINDING.evidence(extra("naive_scaled_q", 820, activities=acts)).tables[0])
    heads, row = (line.split(" | ") for line in (table.splitlines()[next(i for i, line in enumerate(table.splitlines()) if line.startswith("| Variant"))],
                                                 next(line for line in table.splitlines() if line.startswith("| Naive with scaled q"))))
    assert (row[1], row[heads.index("Scale")], row[heads.index("Copy")]) == ("456 µs", "8.00 µs", "—")


def test_too_few_processes_of_all_are_the_shared_gate():
    """Compiled and naive in three processes each: nothing is told apart, and nothing advised."""
    run = extra("naive_compiled", 0, samples=(324, 325, 326))
    few = replace(run.variants["naive"], times={"gpu_time": Estimate((1056e-6,) * 3)})
    said = outcome("compiled-faster", replace(run, variants={**run.variants, "naive": few}))
    assert (said.case, said.verdict, said.pieces) == ("few", "within noise", ())


def test_alone_there_is_nothing_to_compare():
    alone = variant(facts(), "naive", gpu_time=None)
    assert FINDING.evidence(replace(alone, variants={"naive": alone.variants["naive"]})).tables == ()
