"""cuDNN's launch and its zero: which host call, what the profiler shows, why, and what is really resident."""

from __future__ import annotations

from ..analysis import SIX, ActivityFacts, RunFacts, published
from ..analysis.kernels import main_kernel
from ..analysis.launches import library_launches
from ..analysis.residency import field_disagrees, occupancy_disagrees, opted_in
from ..hardware.occupancy import agree
from ..questions import needs
from ..questions.model import Advice, Because, Case, Decision, Finding, Question, answer, answers, claim, decide, not_measurable
from ..questions.needs import unmet
from ..questions.residency import achieved, residency_args
from ..questions.shared import OTHER_SHAPE, other_workload, software
from ..saying.units import Bytes, Percent, listed
from .cudnn_launch_evidence import evidence
from .launches import LIBRARY_APIS, group_words, library
from .zero_cause import CAUSE_CASES, cause_rule

_LIBRARIES_ADVICE = (Advice("Identify a library by its kernel's name, not by the launch call, and do not read a driver call as "
    "slow.", needs="shared_by"),)

API_CASES: dict[str, Case] = {
    "as-published": Case(
        "holds",
        "cuDNN's kernel is launched by {cudnn}, every other kernel of the six by {others}.",
        caveats=(OTHER_SHAPE,)),
    "others-too": Case(
        "differs",
        "cuDNN's kernel is launched by {cudnn}, but it is not the only exception among the kernels of the six: {odd}; the rest by `cudaLaunchKernel`.",
        because=(Because("shared_by", "The launch call depends on the library and its version: {shared_by} use cuDNN's call here."),),
        caveats=(OTHER_SHAPE,), advice=_LIBRARIES_ADVICE),
    "cudnn-otherwise": Case(
        "differs",
        "cuDNN's kernel is launched by {cudnn}, not by `cuLaunchKernelEx`; every other kernel of the six by {others}.",
        caveats=(OTHER_SHAPE,), advice=_LIBRARIES_ADVICE),
    "both-otherwise": Case(
        "differs",
        "cuDNN's kernel is launched by {cudnn}, not by `cuLaunchKernelEx`, and not all others by `cudaLaunchKernel`: {odd}.",
        caveats=(OTHER_SHAPE,), advice=_LIBRARIES_ADVICE),
}


def api_rule(facts: RunFacts) -> Decision:
    groups = library_launches(facts, SIX)
    cudnn = [group for group in groups if group.variant_is_cudnn]
    others = [group for group in groups if not group.variant_is_cudnn]
    if not cudnn:
        return decide("no-kernel", missing="SDPA cuDNN")
    cudnn_apis = {group.api for group in cudnn}
    odd = [group for group in others if group.api != LIBRARY_APIS["others"]]
    right = cudnn_apis == {LIBRARY_APIS["cudnn"]}
    args = {"software": software(facts, "torch", "cublas", "cudnn"), "other_workload": other_workload(facts),
            "cudnn": listed([f"`{api}`" for api in sorted(cudnn_apis)]), "others": f"`{LIBRARY_APIS['others']}`", "odd": group_words(odd),
            "shared_by": listed(sorted({f"kernels of {library(group)}" for group in others if group.api in cudnn_apis}))}
    if odd:
        return decide("others-too" if right else "both-otherwise", **args)
    if not right:
        return decide("cudnn-otherwise", **args)
    # "everything else" is only seen whole when all six ran
    return unmet(facts, needs.lane(*SIX)) or decide("as-published", **args)


ZERO_CASES: dict[str, Case] = {
    "zero": Case(
        "holds",
        "The profiler shows {field} occupancy for cuDNN's kernel.",
        because=(Because("real", "The real occupancy of this launch is {real}{and_achieved}."),),
        caveats=(OTHER_SHAPE,),
        advice=(Advice("Never read a 0 in that column as an idle GPU.",
                "Calculate the occupancy from registers, threads and shared memory, which the trace has.", more_needs="real"),)),
    "above-zero": Case(
        "differs",
        "The profiler shows {field} occupancy for cuDNN's kernel, not 0 %.",
        because=(Because("small", "The kernel uses {small} of shared memory, within the {rules[default_shared]} that the profiler assumes."),),
        caveats=(OTHER_SHAPE,),
        advice=(Advice("For this kernel the field can be trusted; check it against the arithmetic once.", needs="sound"),)),
    "unknown-device": Case(
        "differs",
        "The profiler shows no value for cuDNN's kernel, not 0 %: its occupancy calculator does not know this compute capability.",
        caveats=(OTHER_SHAPE,),
        advice=(Advice("Calculate the occupancy from registers, threads and shared memory, or use a newer PyTorch whose profiler knows the "
                "device.", needs="real"), Advice("Use a newer PyTorch whose profiler knows the device.", needs="no_arithmetic"))),
    "no-field": not_measurable("the trace has no occupancy field for cuDNN's kernel."),
}


def zero_rule(facts: RunFacts) -> Decision:
    kernel = main_kernel(facts.variants["sdpa_cudnn"])
    if kernel is None or kernel.profiler_occupancy is None:
        return decide("no-field")
    field, shared = kernel.profiler_occupancy, kernel.shared_memory
    args = {"field": Percent(field), "software": software(facts, "torch", "cudnn"), "other_workload": other_workload(facts),
            "real": Percent(kernel.occupancy.theoretical) if kernel.occupancy else None,
            "and_achieved": f" (theoretical; measured: {achieved(kernel)} on average)" if achieved(kernel) is not None else "",
            "no_arithmetic": kernel.occupancy is None, "sound": kernel.occupancy is not None and not field_disagrees(kernel),
            "small": Bytes(shared) if shared is not None and not opted_in(kernel) else None}
    if field < 0:
        return decide("unknown-device", **args)
    return decide("zero" if field == 0 else "above-zero", **args)


_REAL = (Because("limiters", "Limited by {limiters}: {registers} registers × {threads} threads and {shared} of shared memory leave room for {blocks} of {warps} per SM."),
         Because("counted", "Nsight Compute calculates {counted} as well."),
         Because("achieved", "Measured: {achieved} of the warp slots were occupied on average."))
_REAL_ADVICE = (Advice("Compare kernels by time, not by occupancy: it says how full an SM is, not how well it works."),)

REAL_CASES: dict[str, Case] = {
    "like-flash": Case(
        "holds",
        "cuDNN's kernel has an occupancy of {value} ({blocks} of {warps}), like flash's {flash}.",
        because=_REAL, advice=_REAL_ADVICE),
    "other-value": Case(
        "differs",
        "cuDNN's kernel has an occupancy of {value} ({blocks} of {warps}), not about {claimed}; flash's has {flash}.",
        because=_REAL, advice=_REAL_ADVICE),
    "disagrees": Case(
        "differs",
        "The arithmetic gives {value} for cuDNN's kernel, but Nsight Compute calculates {reading}.",
        because=(_REAL[0], _REAL[2]), caveats=(OTHER_SHAPE,),
        advice=(Advice("Trust Nsight Compute over this page's arithmetic: a limit that the trace does not record must be at "
                "work."),)),
    "unlike-flash": Case(
        "differs",
        "cuDNN's kernel has an occupancy of {value} ({blocks} of {warps}), unlike flash's {flash}.",
        because=_REAL, caveats=(OTHER_SHAPE,), advice=_REAL_ADVICE),
}


def real_rule(facts: RunFacts) -> Decision:
    kernel, claimed = main_kernel(facts.variants["sdpa_cudnn"]), published.of("sdpa_cudnn", "occupancy")
    if kernel is None or kernel.occupancy is None:
        return decide("no-arithmetic", what="SDPA cuDNN", device=facts.device.name)
    flash = main_kernel(facts.variants.get("sdpa_flash"))
    beside = flash.occupancy.theoretical if flash and flash.occupancy else None
    value = kernel.occupancy.theoretical
    args = {**residency_args(kernel), "claimed": Percent(claimed), "flash": Percent(beside) if beside is not None else "no value here",
            "software": software(facts, "torch", "cudnn"), "other_workload": other_workload(facts), **_counted(kernel)}
    if occupancy_disagrees(kernel):
        return decide("disagrees", **args)
    if other_workload(facts) is None and not agree(value, claimed):
        return decide("other-value", **args)
    if beside is not None and not agree(value, beside):
        return decide("unlike-flash", **args)
    if other_workload(facts):
        return decide("other-workload", workload=facts.workload.describe())
    if beside is None:
        return unmet(facts, needs.lane("sdpa_flash")) or decide("no-arithmetic", what="SDPA flash", device=facts.device.name)
    return decide("like-flash", **args)


def _counted(kernel: ActivityFacts) -> dict[str, object]:
    """What the counters say of a kernel: theoretical (twice: as a value, and where it confirms) and achieved occupancy."""
    reading = kernel.counters.theoretical_pct if kernel.counters else None
    value = None if reading is None else Percent(reading)
    return {"reading": value, "counted": None if occupancy_disagrees(kernel) else value, "achieved": achieved(kernel)}


ANSWERS: dict[str, Case] = {
    "worked-out": answer("The profiler shows {field} occupancy for cuDNN's kernel; its launch works out at {real}{and_achieved}."),
    **answers(ZERO_CASES),
}


def answer_rule(facts: RunFacts) -> Decision:
    """The field beside what the launch works out at, where the field is 0 and the launch can be worked out."""
    found = zero_rule(facts)
    return decide("worked-out", **found.args) if found.case == "zero" and found.args["real"] is not None else found


FINDING = Finding(
    slug="cudnn-launch",
    title="cuDNN: the launch call and the zero",
    question="Why does the profiler show an occupancy of zero for cuDNN's kernel, and what is it really?",
    questions=(
        claim("cudnn-launch-api", "cuDNN launches through `cuLaunchKernelEx`, everything else through `cudaLaunchKernel`.", api_rule, API_CASES, needs=(needs.lane("sdpa_cudnn"),)),
        claim("cudnn-zero-occupancy", "The profiler shows 0 % occupancy for cuDNN's kernel.", zero_rule, ZERO_CASES, needs=(needs.lane("sdpa_cudnn"),)),
        claim("cudnn-zero-cause", "It shows 0 % because CUPTI cannot attribute occupancy to a launch through the driver's API.", cause_rule, CAUSE_CASES, needs=(needs.lane("sdpa_cudnn"),)),
        claim("cudnn-real-occupancy", "cuDNN's real occupancy is about 12.5 %, like flash's.", real_rule, REAL_CASES, needs=(needs.lane("sdpa_cudnn"),)),
    ),
    evidence=evidence,
    answer=Question("cudnn-launch-answer", "What does the profiler show, and what is so?", answer_rule, ANSWERS, needs=(needs.lane("sdpa_cudnn"),)),
)
