"""Which variant is fastest here, where cuDNN stands, and whether each backend can be pinned."""

from __future__ import annotations

from statistics import median

from variants.backends import title

from ..analysis import ActivityFacts, RunFacts, State, VariantFacts
from ..analysis.kernels import implementation, main_kernel
from ..analysis.pins import PINNED
from ..analysis.ranking import Default, DefaultIs, Ranking, Standing, deciding, default, rank
from ..hardware.kernel_names import Implementation
from ..numbers.statistics import MINIMUM_EFFECT, PROCESSES
from ..questions import lead
from ..questions.model import Advice, Because, Case, Decision, Finding, Leads, Question, answer, claim, decide, not_measurable
from ..questions.needs import compared, ran, timed, unmet
from ..questions.pipe_words import why
from ..questions.ranked import disagreement, rivals_said, states_said, times_said, titles_said, wrong_said
from ..questions.right_words import PLAIN, marked
from ..questions.shared import OTHER_SHAPE, other_workload, software
from ..run import DEFAULT
from ..saying.markup import code
from ..saying.units import Count, Flop, Ratio, Seconds, extent, listed, plural, significant, verb
from .fastest_evidence import evidence
from .pinning import OBEYED, PIN_CASES, pin_rule

FLASH = "sdpa_flash"
_CAVEATS = (
    Because("not_everywhere", "{not_everywhere}"),
    Because("wrong", "Not ranked, because the result is wrong: {wrong}."),
    Because("absent", "Not ranked: {absent}."),
    Because("slower_rivals", "Timed differently, and slower by the sum of their traced activities: {slower_rivals}."),
    Because("cold", "With cold caches {cold} is faster than {first}: {cold_times}."),
    Because("wall", "In an eager loop {wall} is faster than {first}: {wall_times}."),
    Because("front_ties", "{winner} cannot be told apart from {front_ties}."),
    OTHER_SHAPE,
)
_COUNTED = Because("counters", "The counters tell more: {counters}.")
_SHARED = Advice("Time your own shapes before you pin: the order of backends depends on sequence length, head dimension and library versions.")
_UNPINNED = "no `attn_mask`, no gradients"
_OBEYED = (OBEYED,)
_ADVICE = (
    Advice(f"Leave `scaled_dot_product_attention` unpinned for this shape: PyTorch picks {{winner}} by itself ({_UNPINNED}).", needs="by_default", when=_OBEYED,
           leads=Leads(DEFAULT, PLAIN, this_shape=True)),
    Advice(f"Pin the winner for this shape (`sdpa_kernel({{winner_pin}})`) and check its accuracy: by default PyTorch picks {{instead_of}} ({_UNPINNED}).", needs="instead_of", when=_OBEYED, leads=Leads("winner_backend", this_shape=True)),
    Advice(f"Pin one of the leaders for this shape ({{leading_pins}}): by default PyTorch picks {{instead_of_leaders}} ({_UNPINNED}).", needs="instead_of_leaders", when=_OBEYED, leads=Leads("leading_backends", this_shape=True)),
    Advice("Pin the winner for this shape (`sdpa_kernel({winner_pin})`), unless your trace shows that an unpinned call gets it anyway (this run did not try).",
           needs="unprobed", when=_OBEYED, leads=Leads("winner_backend", this_shape=True)),
    Advice("{winner} wins, and no pin selects it: it is written in PyTorch operations. Call it in place of `scaled_dot_product_attention` for this shape, "
           "if you can spare the memory it needs.", needs="unpinnable"),
    Advice("At a new shape the first call of {winner} takes {new_shape} longer than that of {runner_up}. At this run's saving per call ({saved} of {quantity}) "
           "that pays off after {earned_after} calls, so with many shapes {many_shapes}.", needs="earned_after", leads=Leads("runner_up_backend")),
    _SHARED,
)

FASTEST_CASES: dict[str, Case] = {
    "flash-wins": Case(
        "holds",
        "Flash is the fastest by {quantity}: {flash_time} per forward; {next} is next with {next_time} ({ratio}).",
        because=(_COUNTED,),
        caveats=_CAVEATS, advice=_ADVICE),
    "other-wins": Case(
        "differs",
        "Flash is not the fastest by {quantity}: {winner} takes {winner_time} per forward, flash {flash_time} ({ratio}).",
        because=(Because("winner_instruction", "The names show one difference: {winner_kernel} uses `wgmma`, issued by four warps together and reading shared memory directly; "
                                               "flash is FlashAttention-2, written for the older single-warp `mma.sync`."),
                 Because("also", "Also: {also}."),
                 _COUNTED,
                 Because("winner_flop", "Counted on Tensor Cores: {winner_flop} in the winner's kernel, {flash_flop} in flash's{amount}.")),
        caveats=_CAVEATS, advice=_ADVICE),
    "tie": Case(
        "within noise",
        "Whether flash is the fastest by {quantity} cannot be told: it ties with {ties} at {flash_time} per forward.",
        caveats=_CAVEATS, advice=(Advice("Choose between them by what else they cost: CPU time, first call, accuracy."), _SHARED)),
    "unsteady": Case(
        "within noise",
        "Whether flash is the fastest by {quantity} cannot be told: the processes disagree by up to {apart} about {about}.",
        caveats=_CAVEATS),
    "open": not_measurable("{open}, and nothing in this run shows that it is slower than {first}."),
    "few": Case(
        "within noise",
        "Whether flash is the fastest by {quantity} cannot be told: this run has {processes} per variant, and {needed} are needed.",
        caveats=_CAVEATS),
    "alone": not_measurable("flash is the only one of the six with a right result and a time."),
}


def fastest_rule(facts: RunFacts) -> Decision:
    quantity = deciding(facts)
    blocked = unmet(facts, timed(quantity.name, FLASH))
    if blocked:
        return blocked
    ranking = rank(facts)
    place = ranking.place(FLASH)
    words = "wall time on the CPU" if facts.device.kind == "cpu" else quantity.label
    own = facts.variants[FLASH].times[quantity.name]
    args = {"quantity": words, "counters": why(facts), "flash_time": Seconds(own.median), "software": software(facts, "torch", "cudnn"), "first": facts.variants[ranking.order[0]].title,
            "ties": times_said(facts, ranking, place.ties), "open": rivals_said(facts, ranking, ranking.open), "other_workload": other_workload(facts), "not_everywhere": marked(facts, ranking.leaders).strip(), **_company(facts, ranking)}
    if place.faster:
        winner = next(name for name in ranking.order if name in place.faster)
        return decide("other-wins", **args, **_winner(facts, ranking, winner, place.faster), **_what_to_pin(facts, ranking, winner))
    if any(rival.variant != FLASH for rival in ranking.open):
        return decide("open", **args)
    if not (place.slower or place.ties):
        return decide("alone", **args)
    if ranking.processes < PROCESSES:
        return decide("few", **args, processes=plural(ranking.processes, "process", "processes"), needed=Count(PROCESSES))
    if place.ties:
        apart = disagreement([ranking.pair(FLASH, other) for other in place.ties])
        about = listed([f"flash ({args['flash_time']} in the middle)", *(times_said(facts, ranking, [name]) for name in place.ties)])
        return decide("unsteady" if apart else "tie", **args, apart=apart, about=about)
    second = next(name for name in ranking.order if name in place.slower)
    return decide("flash-wins", **args, next=facts.variants[second].title, next_time=_time(facts, ranking, second), ratio=_ratio(ranking, second, FLASH), **_what_to_pin(facts, ranking, FLASH))


def _time(facts: RunFacts, ranking: Ranking, name: str) -> Seconds:
    return Seconds(facts.variants[name].times[ranking.quantity.name].median)


def _ratio(ranking: Ranking, slow: str, fast: str) -> Ratio | None:
    ratio = ranking.ratio(slow, fast)
    return None if ratio is None else Ratio(ratio)


def _company(facts: RunFacts, ranking: Ranking) -> dict[str, object]:
    """Who is not ranked and why, and who leads by another clock, where that is somebody else beyond noise."""
    absent = [name for state, names in ranking.out.items() if state is not State.WRONG for name in names]
    out: dict[str, object] = {"absent": states_said(facts, absent), "wrong": listed([wrong_said(facts.variants[name]) for name in ranking.out.get(State.WRONG, ())]),
                              "slower_rivals": rivals_said(facts, ranking, tuple(rival for rival in ranking.rivals if not rival.could_win))}
    for clock, quantity in (("cold", "gpu_time_cold"), ("wall", "wall_time")):
        if quantity == ranking.quantity.name:
            continue
        other = rank(facts, quantity)
        ahead = other.order and ranking.order[0] in other.order and other.order[0] != ranking.order[0] and other.pair(other.order[0], ranking.order[0]).winner == other.order[0]
        out[clock] = facts.variants[other.order[0]].title if ahead else None
        out[f"{clock}_times"] = times_said(facts, other, other.order[:3], brackets=False) if ahead else None
    return out


def _winner(facts: RunFacts, ranking: Ranking, winner: str, faster: tuple[str, ...]) -> dict[str, object]:
    """The quickest of those that beat flash, and what the two kernels show of why."""
    kernel, beaten = main_kernel(facts.variants[winner]), main_kernel(facts.variants[FLASH])
    names_wgmma = bool(kernel and kernel.decoded and kernel.decoded.instruction == "wgmma")
    is_fa2 = implementation(beaten) is Implementation.FLASH_2
    others = [name for name in faster if name != winner]
    return {"winner_time": _time(facts, ranking, winner), "ratio": _ratio(ranking, FLASH, winner), "winner_kernel": code(kernel.short) if kernel else None,
            "winner_instruction": names_wgmma and is_fa2, "also": f"{titles_said(facts, others)} {verb(others, 'beats', 'beat')} flash too" if others else None,
            **_counted(kernel, beaten)}


def _what_to_pin(facts: RunFacts, ranking: Ranking, winner: str) -> dict[str, object]:
    """What an unpinned call gets, whether a pin reaches the winner, and when its plans have paid for themselves.

    Nobody is told to pin a winner that is not told apart from another variant, or that a variant without a time could beat.
    """
    chosen, pin, alone = default(facts, ranking), _pin(winner), ranking.winner == winner
    slower = _slower_default(chosen)
    pins = [f"`{one}`" for one in map(_pin, ranking.leaders) if one]
    return {"winner": facts.variants[winner].title, "winner_pin": pin, "winner_backend": _backend(winner), "leading_backends": tuple(name for name in map(_backend, ranking.leaders) if name), "front_ties": titles_said(facts, ranking.place(winner).ties),
            "by_default": alone and chosen.variant == winner, "unpinnable": alone and pin is None, "instead_of": slower if alone and pin else None,
            "unprobed": alone and pin is not None and chosen.standing is DefaultIs.UNKNOWN,
            "leading_pins": listed(pins, "or"), "instead_of_leaders": slower if ranking.standing is Standing.TIE and pins else None,
            **_earned_back(facts, ranking, winner)}


def _slower_default(chosen: Default) -> str | None:
    """The name of what an unpinned call gets, where it is known to be slower or wrong."""
    return title(chosen.name) if chosen.name and chosen.standing in (DefaultIs.SLOWER, DefaultIs.WRONG) else None


def _pin(variant: str) -> str | None:
    """What holds an unpinned call to the variant's backend; `None` where no pin reaches it."""
    return PINNED[variant].pin if variant in PINNED else None


def _backend(variant: str) -> str | None:
    return variant.removeprefix("sdpa_") if variant in PINNED else None


FEW_CALLS = 10
"""A new shape that is paid for within so many calls is not worth a sentence."""


def _earned_back(facts: RunFacts, ranking: Ranking, winner: str) -> dict[str, object]:
    """Calls at one shape after which the winner's lead over the next has paid for its dearer first call there.

    Process by process: (its first call at a new shape − the next one's) ÷ what it saves per call at the run's own
    shape, for nobody timed a steady state at the new one. Nothing is earned back where the wall times of the two cannot be told apart.
    """
    runner_up = next((name for name in ranking.order if name != winner), None)
    if runner_up is None or runner_up not in ranking.place(winner).slower or not _faster_in_a_loop(facts, ranking, winner, runner_up):
        return {"earned_after": None}
    first, second = facts.variants[winner], facts.variants[runner_up]
    if not first.first_call_new_shape or not second.first_call_new_shape:
        return {"earned_after": None}
    extra = [a - b for a, b in zip(first.first_call_new_shape.samples, second.first_call_new_shape.samples)]
    saved = [b - a for a, b in zip(_samples(first, ranking), _samples(second, ranking))]
    calls = [more / less for more, less in zip(extra, saved) if less > 0]
    if not calls or min(extra) <= 0 or min(calls) < FEW_CALLS:
        return {"earned_after": None}
    pin, few = _pin(runner_up), "round the lengths up to a few"
    low, high = (significant(number, 2) for number in (min(calls), max(calls)))
    return {"earned_after": low if low == high else f"{low} to {high}", "new_shape": extent(min(extra), max(extra)), "saved": Seconds(median(_samples(second, ranking)) - median(_samples(first, ranking))), "runner_up": second.title,
            "runner_up_backend": _backend(runner_up), "many_shapes": f"pin {second.title} (`{pin}`) or {few}" if pin else few}


def _faster_in_a_loop(facts: RunFacts, ranking: Ranking, winner: str, runner_up: str) -> bool:
    found = facts.compare("wall_time", winner, runner_up)
    return ranking.quantity.name == "wall_time" or found is None or found.winner == "first"


def _samples(variant: VariantFacts, ranking: Ranking) -> tuple[float, ...]:
    return variant.times[ranking.quantity.name].samples


def _counted(winner: ActivityFacts | None, flash: ActivityFacts | None) -> dict[str, object]:
    first, second = (kernel.counters.tensor_core_flop if kernel and kernel.counters else None for kernel in (winner, flash))
    if first is None or second is None:
        return {"winner_flop": None}
    same = abs(first - second) <= MINIMUM_EFFECT * max(first, second)
    return {"winner_flop": Flop(first), "flash_flop": Flop(second), "amount": ": the same amount, so that is not what makes the difference" if same else ""}


BETWEEN_CASES: dict[str, Case] = {
    "between": Case(
        "holds", "cuDNN's GPU time lies between flash's and efficient's: {times}.",
        caveats=(Because("reversed", "The order is the other way round than in the article: there flash is the faster of the two."), OTHER_SHAPE),
        advice=(_SHARED,)),
    "below-both": Case(
        "differs", "cuDNN's GPU time lies below both flash's and efficient's: {times}.", caveats=(OTHER_SHAPE,), advice=(_SHARED,)),
    "above-both": Case(
        "differs", "cuDNN's GPU time lies above both flash's and efficient's: {times}.", caveats=(OTHER_SHAPE,), advice=(_SHARED,)),
    "tie": Case(
        "within noise", "Whether cuDNN's GPU time lies between flash's and efficient's cannot be told: it ties with {ties} ({times}).",
        caveats=(OTHER_SHAPE,), advice=(_SHARED,)),
    "unsteady": Case(
        "within noise",
        "Whether cuDNN's GPU time lies between flash's and efficient's cannot be told: the processes disagree by up to {apart} about {about} ({times}).",
        caveats=(OTHER_SHAPE,)),
}
BETWEEN = ("sdpa_cudnn", "sdpa_flash", "sdpa_efficient")


def between_rule(facts: RunFacts) -> Decision:
    ranking = rank(facts, "gpu_time", BETWEEN)
    place = ranking.place("sdpa_cudnn")
    args = {"times": times_said(facts, ranking, ranking.order, brackets=False), "ties": titles_said(facts, place.ties), "software": software(facts, "torch", "cudnn"),
            "other_workload": other_workload(facts), "reversed": "sdpa_flash" in place.slower}
    apart = [name for name in place.ties if not ranking.pair("sdpa_cudnn", name).comparable]
    if apart:
        return decide("mixed-timers", mixed=titles_said(facts, ["sdpa_cudnn", *apart]))
    if place.ties:
        unsteady = disagreement([ranking.pair("sdpa_cudnn", name) for name in place.ties])
        return decide("unsteady" if unsteady else "tie", **args, apart=unsteady, about=listed(["cuDNN", *(facts.variants[name].title for name in place.ties)]))
    return decide("between" if place.slower and place.faster else "below-both" if place.slower else "above-both", **args)


ANSWERS: dict[str, Case] = {"said": answer("{said}")}


def answer_rule(facts: RunFacts) -> Decision:
    """Who leads and by how much."""
    return decide("said", said=lead.leader(facts).replace("**", ""))


FINDING = Finding(
    slug="fastest",
    title="Who is fastest here",
    question="Six ways to the same result: which is fastest on this device, and does that depend on how one measures?",
    questions=(
        claim("flash-fastest", "Flash is the fastest of the six.", fastest_rule, FASTEST_CASES, needs=(ran(FLASH),)),
        claim("cudnn-gpu-between", "cuDNN's GPU time lies between flash's and efficient's.", between_rule, BETWEEN_CASES, needs=(compared("gpu_time", *BETWEEN),)),
        claim("sdpa-pin", "SDPA dispatches to four backends, and each can be pinned.", pin_rule, PIN_CASES),
    ),
    evidence=evidence,
    answer=Question("fastest-answer", "Who is the fastest here, and by how much?", answer_rule, ANSWERS),
)
