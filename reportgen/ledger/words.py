"""All sentences of a ledger: what the terminal, the JSON and the page say. Plain text; names stand in `backticks`."""

from __future__ import annotations

from collections.abc import Sequence

from ..hardware.kernel_names import decode
from ..saying.units import Count, Percent, Seconds, listed, plural, significant, verb
from .model import Advice, Arguments, Backend, CallSite, Cause, Cure, Drag, DragKind, FalseZero, GpuTime, Kind, Ledger, Located, Modelled, Reason, Shape, Stretch, Tensor, Where

SMALL = 0.01
"""A share of the GPU time below which nothing is worth a word of its own."""
_TYPES = {"c10::BFloat16": "bf16", "c10::Half": "fp16", "float": "fp32", "double": "fp64", "c10::Float8_e4m3fn": "fp8 e4m3", "c10::Float8_e5m2": "fp8 e5m2",
          "unsigned char": "uint8", "signed char": "int8", "int": "int32", "long int": "int64", "long": "int64"}
_KINDS = {Kind.FLASH_ATTN: "flash-attn", Kind.XFORMERS: "xformers", Kind.TRANSFORMER_ENGINE: "TransformerEngine", Kind.VLLM: "vLLM", Kind.SGLANG: "SGLang", Kind.AITER: "AITER",
          Kind.FLASHINFER: "FlashInfer", Kind.TENSORRT_LLM: "TensorRT-LLM", Kind.SAGE: "SageAttention", Kind.VARLEN: "`varlen_attn`", Kind.FLEX: "flex_attention, not compiled",
          Kind.BY_HAND: "written by hand"}
_RECORD = "profile with `record_shapes=True, with_stack=True`"


def code(name: str) -> str:
    """A name as code: a backtick of its own would end that."""
    return f"`{name.replace('`', chr(0x2CB))}`"


def short(kernel: str) -> str:
    """A kernel's short name as code."""
    return code(decode(kernel).short)


def share(of: float) -> str:
    """A share from 0 to 1 as percent, three figures: `86.9 %`; what is less than a hundredth of a percent is said so."""
    return f"{significant(100 * of)} %" if of == 0 or of >= 0.0001 else "under 0.01 %"


def time(of: GpuTime) -> str:
    return str(Seconds(of.seconds))


def _clock(ledger: Ledger) -> str:
    return "CPU time" if ledger.host else "GPU time"


def whole(ledger: Ledger) -> float:
    """Seconds that shares are of."""
    return ledger.totals.span if ledger.host else ledger.totals.gpu.seconds


def headline(ledger: Ledger) -> str:
    """The answer in a sentence."""
    if not ledger.sites:
        return "No attention was found in this trace."
    total, of = whole(ledger), ledger.attention
    places = plural(len(ledger.sites), "place")
    if not total:
        return f"Attention is computed at {places}; the trace holds no time for it."
    against = f"the {Seconds(total)} that the trace spans" if ledger.host else f"{Seconds(total)} of {_clock(ledger)}"
    return f"Attention takes {Seconds(of.seconds)} of {against} ({share(of.seconds / total)}), at {places}."


_SLOW = (Kind.BY_HAND, Kind.FLEX)


def verdict(ledger: Ledger) -> str:
    """What is wrong, then what to do first, or that nothing is to be gained."""
    wrong = next((site for site in ledger.sites if site.wrong), None)
    parts = [f"{capital(where(wrong.where))}: {mistaken(wrong)}."] if wrong is not None else []
    if ledger.sites:
        parts.append(_gain(ledger))
    return " ".join(parts)


def _gain(ledger: Ledger) -> str:
    first = next((site for site in ledger.sites if site.advice and worth(site, ledger) >= SMALL), None)
    if first is not None:
        return f"Begin at {where(first.where)} ({kind(first)}, {share(first.share)}): {advice(first.advice[0])}"
    slow = next((site for site in ledger.sites if (site.kind in _SLOW or site.backend is Backend.MATH) and site.share >= SMALL), None)
    if slow is not None:
        return f"No fused kernel computes it at {where(slow.where)} ({kind(slow)}, {share(slow.share)})."
    most = max(ledger.sites, key=lambda site: beside(site, ledger))
    if beside(most, ledger) >= SMALL:
        largest = max((one for one in most.drags if not one.inside), key=lambda one: one.host or one.gpu.seconds)
        return f"No faster way than those taken is known. What costs most beside them is at {where(most.where)}: {drag(largest)}."
    open_ones = [site for site in ledger.sites if any(reason.cause in (Cause.NOT_SAID, Cause.NOT_RECORDED) for reason in site.reasons)]
    if open_ones:
        return f"Nothing to change is proved by what was recorded. At {plural(len(open_ones), 'place')} the trace does not say why no faster way was taken."
    nameless = [site for site in ledger.sites if site.kind in (Kind.KERNEL, Kind.UNKNOWN) and site.share >= SMALL]
    if nameless:
        return (f"At {plural(len(nameless), 'place')} only a kernel's name tells of attention, so whether a faster way was left out cannot be told there"
                f"{'; nothing to gain was found elsewhere' if len(nameless) < len(ledger.sites) else ''}.")
    small = f"{significant(100 * SMALL, 1)} %"
    if any(site.advice for site in ledger.sites):
        return f"Nothing to gain was found that is worth {small} of the {_clock(ledger)}."
    return f"Nothing to gain was found: no place for which a faster way is known, and nothing beside attention costs {small} of the {_clock(ledger)}."


TRAPS = ("causal-alignment", "dropout-eval")
"""Probes of what torch documents and many expect otherwise; the others are wrong results."""


def mistaken(site: CallSite) -> str:
    """Which probes of "Is it right?" its calls are like."""
    bad, traps = ([code(name) for name in site.wrong if (name in TRAPS) is trap] for trap in (False, True))
    parts = [*([f"calls like these gave wrong results on this device, see {listed(bad)}"] if bad else []),
             *([f"torch documents that such calls do something else than many expect, see {listed(traps)}"] if traps else [])]
    return "; ".join(parts)


def worth(site: CallSite, ledger: Ledger) -> float:
    """The share that a site has with what it drags along, of the GPU or of the host."""
    return site.share + beside(site, ledger)


def beside(site: CallSite, ledger: Ledger) -> float:
    """The share of what a site drags along: of the GPU's time, or of the host's where that is more."""
    total, span = whole(ledger), ledger.totals.span
    outside = [one for one in site.drags if not one.inside]
    return max(sum(one.gpu.seconds for one in outside) / total if total else 0.0, sum(one.host for one in outside) / span if span else 0.0)


def kind(site: CallSite) -> str:
    """How attention is computed at a place."""
    alone = ", backward without its forward" if site.calls and site.calls[0].alone else ""
    return f"{_kind(site)}{alone}"


def _kind(site: CallSite) -> str:
    if site.kind is Kind.SDPA:
        return f"SDPA, {site.backend.value}" if site.backend else "SDPA, backend not recorded"
    if site.kind is Kind.BACKEND:
        return f"SDPA's {site.backend.value} op, called by itself" if site.backend else code(site.op)
    if site.kind in (Kind.KERNEL, Kind.UNKNOWN):
        families = list(dict.fromkeys(kernel.family for kernel in site.kernels if kernel.family)) or ["attention"]
        return f"{listed(families)}, by its kernel's name" if site.kind is Kind.KERNEL else f"{listed(families)} under {code(site.op)}"
    return _KINDS.get(site.kind) or site.kind.value


def where(of: Where) -> str:
    """The place in the model, as short as it stays clear."""
    if of.located is Located.SOURCE and of.line:
        line = of.line.replace("\\", "/").rsplit("/", 1)[-1]
        kernel = f", kernel {short(of.kernel)}" if of.kernel else ""
        return code(line) + (f" in {code(of.module)}" if of.module and of.module not in line else "") + kernel
    if of.located is Located.MODULE and of.module:
        return code(of.module)
    if of.path:
        return code(" > ".join(of.path[-3:]))
    return short(of.kernel) if of.kernel else "a place that was not recorded"


def tensor(of: Tensor) -> str:
    return f"[{', '.join(map(str, of.dims))}] {_TYPES.get(of.type, of.type)}".strip()


def arguments(of: Arguments | None) -> str:
    """What a call was given: `q [1, 16, 576, 64], k and v [1, 16, 576, 64] bf16, no mask`."""
    if of is None or of.query is None:
        return "shapes not recorded"
    parts = [f"q {tensor(of.query)}"]
    if of.key is not None and of.value is not None and of.key == of.value:
        parts.append(f"k and v {tensor(of.key)}" if of.key != of.query else "k and v alike")
    else:
        parts += [f"{name} {tensor(one)}" for name, one in (("k", of.key), ("v", of.value)) if one is not None]
    if of.mask is not None:
        parts.append(f"mask {tensor(of.mask)}")
    elif of.mask_known and not of.causal:
        parts.append("no mask")
    parts += [text for text, told in ((f"dropout {of.dropout}", of.dropout), ("causal", of.causal), ("`enable_gqa`", of.gqa)) if told]
    return ", ".join(parts)


def shape(of: Shape) -> str:
    return f"{arguments(of.arguments)}: {plural(of.calls, 'call')}, {time(of.time)}"


_DRAGS = {DragKind.COPY: "copies that feed it", DragKind.RESULT: "copies of its result", DragKind.MASK: "a mask built for it", DragKind.PADDING: "padding", DragKind.REPEATED_KV: "K and V repeated in memory",
          DragKind.FIRST_CALL: "the first call of each new shape", DragKind.CAST: "casts inside it"}


def drag(of: Drag) -> str:
    """What calls drag along, with its cost and the ops that do it."""
    cost = f"{Seconds(of.host)} of the host" if of.host else time(of.gpu)
    inside = ", part of the time above" if of.inside else ""
    path = f", {code(' > '.join(of.path))}" if of.path else ""
    return f"{_DRAGS[of.kind]}: {cost} in {plural(of.calls, 'call')}{inside}{path}"


_CAUSES = {
    Cause.MASK: "a mask", Cause.TYPE: "the element type", Cause.STRIDE: "a last stride that is not 1", Cause.HEAD_DIM: "the head dimension", Cause.DROPOUT: "dropout",
    Cause.GQA_TYPE: "`enable_gqa` with this element type", Cause.WEIGHTS: "the weights are asked for",
    Cause.DIMENSIONS: "the number of dimensions", Cause.MASK_GRADIENT: "a mask that learns", Cause.MASK_TYPE: "a mask of another type than q",
    Cause.GQA: "fewer heads in k and v", Cause.CAUSAL_LENGTHS: "`is_causal` with another number of keys than queries", Cause.ONE_KEY: "a single key",
}
_OTHERS = {
    Cause.WEIGHTS: "The weights are asked for, and no fused way gives them",
    Cause.BY_HAND: "It is written by hand: scores, softmax and product are kernels of their own, and the scores pass through memory between them",
    Cause.NOT_COMPILED: "`flex_attention` runs without a compiler, as separate operations on whole score matrices",
    Cause.NEW_SHAPES: "Shapes that were not met before come again and again, and a plan is made for each",
    Cause.MASK_PER_LAYER: "The same mask is built again for each layer",
    Cause.REPEATED_KV: "K and V are written out once for every query head that shares them",
    Cause.COPIES: "What it is given is copied first",
    Cause.LAUNCH_BOUND: "The GPU waits for the host to launch",
    Cause.NOT_SAID: "The trace does not say why no faster way was taken",
    Cause.NOT_RECORDED: f"What would say why was not recorded; {_RECORD}",
}


def reason(of: Reason) -> str:
    """A cause with the recorded argument that proves it, quoted."""
    if of.cause in _OTHERS and not of.ruled_out:
        said = _OTHERS[of.cause]
    else:
        said = f"{capital(_CAUSES.get(of.cause, of.cause.value))} rules out {backends(of.ruled_out)}" if of.ruled_out else capital(_CAUSES.get(of.cause, of.cause.value))
    quoted = f": {code(of.argument)} is {code(of.value)}" if of.argument and of.value else f": {code(of.value)}" if of.value else ""
    calls = f" ({plural(of.calls, 'call')})" if of.calls else ""
    return f"{said}{quoted}{calls}."


def backends(of: Sequence[Backend]) -> str:
    return listed([one.value for one in of]) if of else "no backend"


_CURES = {
    Cure.CAUSAL_FLAG: "if the mask does nothing but hide the future, pass `is_causal=True` in its place", Cure.CALL_SDPA: "call `F.scaled_dot_product_attention`",
    Cure.SIXTEEN_BITS: "call it in bfloat16 or float16, if that is precise enough", Cure.CONTIGUOUS_HEADS: "lay q, k and v out so that the head dimension has stride 1",
    Cure.PAD_HEAD: "give it a head dimension that the faster backend takes", Cure.NO_DROPOUT: "where nothing is trained, call it with `dropout_p=0`",
    Cure.NO_WEIGHTS: "pass `need_weights=False`", Cure.ENABLE_GQA: "pass `enable_gqa=True` instead of repeating K and V", Cure.MASK_ONCE: "build the mask once and hand it to every layer",
    Cure.COMPILE_FLEX: "call `torch.compile(flex_attention)`", Cure.PIN_BACKEND: "pin another backend with `sdpa_kernel`",
    Cure.FIXED_SHAPES: "pad to a few lengths, so that few shapes are new", Cure.GRAPH: "launch it as one: `torch.compile(mode=\"reduce-overhead\")` or a CUDA graph",
    Cure.REPEAT_KV: "repeat k and v for every head of q, which keeps the element type", Cure.FOUR_DIMENSIONS: "give q, k and v four dimensions",
    Cure.FREEZE_MASK: "detach the mask, where it need not learn", Cure.MASK_TYPE: "give the mask the type of q", Cure.NO_COPIES: "leave the copies out: SDPA takes views",
    Cure.RECORD_MORE: _RECORD,
}


def advice(of: Advice) -> str:
    """What to do, and what a recorded run lets one expect of it."""
    return f"{_CURES.get(of.cure, of.cure.value)}{f'; {saving(of.saving)}' if of.saving else ''}."


def saving(of: Modelled) -> str:
    return f"modelled, not measured: saves about {Seconds(of.seconds)} ({share(of.share)} of the GPU time), scaled from this project's run on {of.device}"


def page_of(finding: str) -> str:
    """The page that explains a cure, in this project."""
    return f"docs/findings/{finding}.md"


def rest(ledger: Ledger) -> str:
    """The GPU time that is no attention, in one line."""
    if ledger.host or not ledger.totals.gpu.seconds:
        return ""
    of, total = ledger.rest, ledger.totals.gpu.seconds
    said = f"The rest of the GPU time is {time(of.time)} ({share(of.time.seconds / total)})"
    if not of.unnamed.activities:
        return f"{said}; the names of all its kernels are known."
    largest = f", the largest {short(of.largest_unnamed)}" if of.largest_unnamed else ""
    return f"{said}; {share(of.unnamed.seconds / total)} are kernels whose names are not known here{largest}."


def stretch(of: Stretch) -> str:
    """A time in which the GPU waits for the host."""
    return (f"From {Seconds(of.start)} on, for {Seconds(of.seconds)}, device {of.device}, stream {of.stream} has nothing to do for {Percent(round(100 * of.idle / of.seconds, 1))} of the time "
            f"while the host still launches ({plural(of.activities, 'activity', 'activities')}, {Count(of.attention)} of attention).") if of.seconds else ""


def stretches(ledger: Ledger) -> str:
    """All of them in one sentence; empty where there are none."""
    found = ledger.stretches
    if not found:
        return ""
    idle = sum(one.idle for one in found)
    return f"The GPU waits for the host in {plural(len(found), 'stretch', 'stretches')}, {Seconds(idle)} in all: there, launches cost more than the kernels do."


def false_zero(of: FalseZero) -> str:
    """Why the profiler writes an occupancy of 0 that is none."""
    name = short(of.kernel)
    low, high = of.occupancy
    allowed = f"{significant(high)} %" if significant(low) == significant(high) else f"{significant(low)} to {significant(high)} %"
    return f"{name} is written with an occupancy of 0 {_times(of.activities)} ({Seconds(of.seconds)}): {of.cause.value}; its resources allow {allowed}."


def false_zeros(ledger: Ledger) -> str:
    """All of them in one sentence; empty where there are none."""
    count = sum(one.activities for one in ledger.false_zeros)
    return f"The profiler writes an occupancy of 0 for {plural(count, 'kernel launch', 'kernel launches')} that ran all the same." if count else ""


def _times(count: int) -> str:
    return "once" if count == 1 else f"{Count(count)} times"


def caveats(ledger: Ledger) -> tuple[str, ...]:
    """What a reader must know before trusting a number; the gravest first."""
    of = ledger.integrity
    unrecorded = {name: count for name, count in of.unrecorded.items() if "emset" not in name}
    lost = sum(unrecorded.values())
    unlinked = sum(of.unlinked.values())
    said = [
        f"The file is not whole: {of.cut}. What it still holds is read." if of.cut else "",
        f"At {plural(of.damaged, 'place')} no event could be read." if of.damaged else "",
        f"{plural(of.odd, 'record')} without a usable time {verb(of.odd, 'was', 'were')} set aside." if of.odd else "",
        f"{plural(of.duplicates, 'record')} {verb(of.duplicates, 'stands', 'stand')} twice in the file and {verb(of.duplicates, 'is', 'are')} counted once." if of.duplicates else "",
        f"{plural(unlinked, 'GPU activity', 'GPU activities')} ({Seconds(of.unlinked_seconds)}) {verb(unlinked, 'has', 'have')} no launch in the trace, "
        f"as what was queued before it began: only names tell what {verb(unlinked, 'it is', 'they are')}." if unlinked else "",
        f"{plural(of.graph_launches, 'graph launch', 'graph launches')} queued {plural(of.graph_activities, 'activity', 'activities')}: no op stands around those, and only their names tell what they are."
        if of.graph_launches else "",
        f"{plural(lost, 'launch', 'launches')} left no GPU record ({listed([f'{Count(count)} {code(name)}' for name, count in unrecorded.items()])}): either nothing was to be done, or the profiler lost it."
        if lost else "",
        f"{plural(of.ambiguous, 'launch', 'launches')} {verb(of.ambiguous, 'shares', 'share')} a number with another." if of.ambiguous else "",
        f"{plural(of.early, 'activity', 'activities')} {verb(of.early, 'begins', 'begin')} before {verb(of.early, 'its', 'their')} launch: the clocks of host and GPU disagree." if of.early else "",
        f"{plural(of.overlapping, 'activity', 'activities')} {verb(of.overlapping, 'begins', 'begin')} before the one before on the same stream ends; sums count both." if of.overlapping else "",
        f"{plural(of.unpaired, 'backward pass', 'backward passes')} {verb(of.unpaired, 'has', 'have')} no forward in the trace." if of.unpaired else "",
        f"{Count(len(ledger.devices))} devices: times are sums over all of them." if len(ledger.devices) > 1 else "",
    ]
    return tuple(one for one in said if one)


def more(ledger: Ledger) -> tuple[str, ...]:
    """What was not recorded, what that costs, and how to record it."""
    of = ledger.recorded
    return tuple(text for missing, text in (
        (not of.gpu, "No GPU activity was recorded, so times are those of the CPU's ops: profile with `activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]`."),
        (not of.ops, "No ops were recorded, so only kernels' names tell of attention: profile with `ProfilerActivity.CPU` as well."),
        (of.ops and not of.shapes, "Shapes were not recorded, so no argument can prove a cause: profile with `record_shapes=True`."),
        (of.ops and of.shapes and not of.strides, "Strides were not recorded: a layout that rules a backend out cannot be told."),
        (of.ops and not of.stacks, "Python's stack was not recorded, so places are told by module or op: profile with `with_stack=True`."),
    ) if missing)


def sentences(ledger: Ledger) -> dict[str, object]:
    """Whatever is said of the ledger as a whole, by what it is about."""
    return {"headline": headline(ledger), "verdict": verdict(ledger), "caveats": list(caveats(ledger)), "rest": rest(ledger), "waiting": stretches(ledger),
            "false_zeros": false_zeros(ledger), "record_more": list(more(ledger)), "method": list(method(ledger))}


def plain(text: str) -> str:
    """A sentence for a terminal: names without their backticks."""
    return text.replace("`", "")


def method(ledger: Ledger) -> tuple[str, ...]:
    """What the numbers are, for whoever doubts one."""
    time_said = ("Times are those of the CPU's ops, with what lies inside them." if ledger.host else
                 "GPU time is the sum of the durations of kernels, copies and memsets, as the profiler wrote them; what runs at the same time on two streams counts twice.")
    sets = sum(count for name, count in ledger.integrity.unrecorded.items() if "emset" in name)
    memsets = (f"{plural(sets, 'memset')} left no GPU record: libraries ask for some that set nothing, so this is no loss.",) if sets else ()
    return (time_said, *memsets, "An activity belongs to the op around the host call that queued it, by its correlation number. A backward pass belongs to the forward with the same sequence number.",
            "Attention written by hand is a product of two batches of matrices, a softmax over what it made, and a product that takes what came out.",
            "A cause is named only where a recorded argument proves it. A saving is modelled from a recorded run of the same device, and marked so.")


def capital(text: str) -> str:
    """With a capital letter at its begin; a name in backticks stays as it is."""
    return text[:1].upper() + text[1:]
