"""Which recorded argument ruled a faster way out, by torch's own checks (`hardware.declined`). What the trace does not prove is not said."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from ..hardware.declined import Given, declined
from ..trace.whole import Lane, Thread, WholeTrace
from . import devices
from .model import Arguments, Backend, Call, CallSite, Cause, DragKind, Kind, Reason, Tensor

TYPES = {"c10::BFloat16": "bfloat16", "c10::Half": "float16", "float": "float32", "double": "float64"}
ASKED = {
    "Element types": (Cause.TYPE, "query"), "Head dimension": (Cause.HEAD_DIM, "query"), "`attn_mask`": (Cause.MASK, "mask"),
    "Last stride of q, k, v and the mask": (Cause.STRIDE, "query"),
    "Dimensions of q, k and v": (Cause.DIMENSIONS, "query"), "Fewer heads in k and v (`enable_gqa=True`)": (Cause.GQA, "key"),
    "`is_causal` with another number of keys than queries": (Cause.CAUSAL_LENGTHS, "causal"), "A single key": (Cause.ONE_KEY, "key"),
}
"""Row of the table of conditions → the cause, and the argument that fails it."""
ORDER = tuple(Cause)
SMALL = 0.01
"""Of the site's own time: what costs less is a drag, and no cause."""
_DISPATCHED = (Kind.SDPA, Kind.BACKEND)
_WEIGHTS = re.compile(r"(?:.*/)?torch/nn/functional\.py\(\d+\): multi_head_attention_forward")
_NATIVE = "aten::_native_multi_head_attention"
_NEED_WEIGHTS = 10
"""Its place among the arguments of the native op."""


def find(trace: WholeTrace, site: CallSite) -> tuple[Reason, ...]:
    """What made this site's calls what they are, what rules out most before the rest. Reads the site's drags."""
    found: Counter[Reason] = Counter()
    if site.kind in _DISPATCHED and not on_rocm(trace):
        capability = _capability(trace)
        for shape in site.shapes:
            if shape.arguments is not None:
                learns = site.backward.activities > 0 and _learns(trace, site, shape.arguments)
                for reason in of_arguments(shape.arguments, site.backend, capability, learns):
                    found[reason] += shape.calls
    elif site.kind not in _DISPATCHED:
        for reason in _written(trace, site):
            found[reason] += len(site.calls)
    for reason, calls in _dragged(trace, site):
        found[reason] += calls
    reasons = [Reason(one.cause, one.argument, one.value, one.ruled_out, calls) for one, calls in found.items()]
    before = _before(site.backend, _capability(trace))
    reasons.sort(key=lambda one: (-len(set(one.ruled_out).intersection(before)), ORDER.index(one.cause)))
    return tuple(reasons) or _unsaid(site)


def of_arguments(given: Arguments, backend: Backend | None, capability: tuple[int, int] | None, learns: bool = False) -> Iterator[Reason]:
    """The reasons in one call's arguments. backend: that ran; only what torch tries before it can have been ruled out."""
    if backend in (Backend.CPU_FLASH, Backend.OVERRIDEABLE) or given.query is None or given.key is None or given.value is None:
        return
    before = _before(backend, capability)
    ruled: dict[tuple[Cause, str], list[Backend]] = {}
    for one in declined(_given(given, learns)):
        cause, argument = ASKED[one.asks]
        if cause is Cause.MASK and one.backend is Backend.EFFICIENT:
            cause = Cause.MASK_TYPE  # it takes masks, of the type of q
        if one.backend in before and one.backend not in ruled.setdefault((cause, argument), []):
            ruled[(cause, argument)].append(one.backend)
    if (Cause.TYPE, "query") in ruled and ruled.get((Cause.GQA, "key")):
        outs = ruled.pop((Cause.TYPE, "query")) + ruled.pop((Cause.GQA, "key"))
        yield Reason(Cause.GQA_TYPE, *_quote(given, "key"), tuple(outs))
    if learns and given.mask is not None:
        outs = ruled.pop((Cause.MASK, "mask"), [])
        yield Reason(Cause.MASK_GRADIENT, *_quote(given, "mask"), tuple(outs))
    elif given.mask is not None and not ruled.get((Cause.MASK, "mask")):
        ruled[(Cause.MASK, "mask")] = [Backend.FLASH]
    for (cause, argument), outs in ruled.items():
        if outs:
            yield Reason(cause, *_quote(given, _strided(given) if cause is Cause.STRIDE else argument), tuple(outs))
    if given.dropout:
        yield Reason(Cause.DROPOUT, "dropout_p", given.quoted.get("dropout", str(given.dropout)))


def given_of(given: Arguments) -> Given | None:
    """What torch's checks look at; `None` where shapes are missing."""
    return None if given.query is None or given.key is None or given.value is None else _given(given, False)


def _given(given: Arguments, learns: bool) -> Given:
    query, key, value = given.query, given.key, given.value
    assert query is not None and key is not None and value is not None
    mask = given.mask
    kind = TYPES.get(query.type)
    alike = len({query.type, key.type, value.type}) == 1
    return Given(query.dims, key.dims, value.dims, kind if alike else None, _last(query, key, value, mask), () if mask is None else mask.dims,
                 None if mask is None else TYPES.get(mask.type, mask.type), learns, given.causal)


def _last(*tensors: Tensor | None) -> tuple[int, ...] | None:
    """The last strides, as far as recorded; a dimension of one element has any."""
    known = [one.strides[-1] for one in tensors if one is not None and one.strides and one.dims[-1] > 1]
    return tuple(known) or None


def _strided(given: Arguments) -> str:
    for name, one in (("query", given.query), ("key", given.key), ("value", given.value), ("mask", given.mask)):
        if one is not None and one.strides and one.strides[-1] != 1 and one.dims[-1] > 1:
            return name
    return "query"


def _quote(given: Arguments, argument: str) -> tuple[str, str | None]:
    """The argument by the name that a caller knows, and what the trace holds for it."""
    return {"mask": "attn_mask", "causal": "is_causal"}.get(argument, argument), given.quoted.get(argument)


def _before(backend: Backend | None, capability: tuple[int, int] | None) -> tuple[Backend, ...]:
    """What is faster than this backend where it takes the call. cuDNN is ahead of flash on compute capability 9 and 10 alone."""
    ahead = capability is not None and capability[0] in (9, 10)
    order = (Backend.CUDNN, Backend.FLASH, Backend.EFFICIENT) if ahead else (Backend.FLASH, Backend.CUDNN, Backend.EFFICIENT)
    if backend is None or backend is Backend.MATH:
        return order if backend else ()
    return order[:order.index(backend)] if backend in order else ()


def _capability(trace: WholeTrace) -> tuple[int, int] | None:
    """The compute capability of the trace's devices, where they have one in common."""
    found = {devices.capability(entry) for entry in devices.properties(trace).values()}
    return found.pop() if len(found) == 1 else None


def on_rocm(trace: WholeTrace) -> bool:
    """The conditions of SDPA's backends are those that torch checks on NVIDIA's GPUs; ROCm has others, and no cuDNN."""
    return any(name.startswith("hip") and "Launch" in name for name in trace.names)


def _learns(trace: WholeTrace, site: CallSite, given: Arguments) -> bool:
    """Whether the mask's gradient was worked out: autograd ran the backward of the op that spread the mask over the batch."""
    if given.mask is None:
        return False
    for call in site.calls:
        if call.arguments == given and call.place is not None:
            thread = trace.threads[call.place.thread]
            for event in range(call.place.event + 1, thread.behind(call.place.event)):
                raw = thread.args.get(event)
                if raw is not None and raw.dims and raw.dims[0] == given.mask.dims and trace.names[thread.name[event]] == "aten::expand" and event in thread.sequence:
                    return _undone(trace, thread.sequence[event])
    return False


def _undone(trace: WholeTrace, sequence: int) -> bool:
    return any(number == sequence and trace.names[thread.name[event]] == "autograd::engine::evaluate_function: ExpandBackward0"
               for thread in trace.threads for event, number in thread.sequence.items())


def _written(trace: WholeTrace, site: CallSite) -> Iterator[Reason]:
    """Of attention that no fused op computes."""
    if site.kind is Kind.FLEX and site.calls[0].parts:
        yield Reason(Cause.NOT_COMPILED)
    elif site.kind is Kind.BY_HAND:
        yield next((reason for call in site.calls[:1] for reason in _weights(trace, call)), Reason(Cause.BY_HAND))


def _weights(trace: WholeTrace, call: Call) -> Iterator[Reason]:
    """torch's own MultiheadAttention takes these steps only where its weights are wanted."""
    if call.place is None:
        return
    thread = trace.threads[call.place.thread]
    for around in thread.around(call.place.event):
        name = trace.names[thread.name[around]]
        if thread.lane[around] == Lane.PYTHON and _WEIGHTS.fullmatch(name):
            yield Reason(Cause.WEIGHTS, "need_weights", "True")
        elif name == _NATIVE and _native(thread, around):
            yield Reason(Cause.WEIGHTS, "need_weights", "True")


def _native(thread: Thread, event: int) -> bool:
    raw = thread.args.get(event)
    return raw is not None and raw.values[_NEED_WEIGHTS:_NEED_WEIGHTS + 1] == ("True",)


def _dragged(trace: WholeTrace, site: CallSite) -> Iterator[tuple[Reason, int]]:
    """What the drags are a cause of themselves."""
    for drag in site.drags:
        if drag.inside or max(drag.gpu.seconds, drag.host) < SMALL * site.time.seconds:
            continue
        path = " > ".join(drag.path) or None
        if drag.kind is DragKind.REPEATED_KV:
            yield Reason(Cause.REPEATED_KV, None, path), drag.calls
        elif drag.kind is DragKind.FIRST_CALL and drag.calls > 1:
            yield Reason(Cause.NEW_SHAPES, None, f"{len(site.shapes)} shapes in {len(site.calls)} calls"), drag.calls
        elif drag.kind is DragKind.MASK and 2 * drag.calls > len(site.calls) > 1:
            yield Reason(Cause.MASK_PER_LAYER, None, path), drag.calls
        elif drag.kind is DragKind.COPY and site.kind in _DISPATCHED and _needless(trace, drag.activities):
            yield Reason(Cause.COPIES, None, path), drag.calls


def _needless(trace: WholeTrace, activities: tuple[int, ...]) -> bool:
    """Whether all these copies keep the element type, and begin with the last dimension contiguous as SDPA wants it. What was not recorded proves nothing."""
    for one in activities:
        thread = trace.threads[trace.activities.thread[one]]
        event = trace.activities.event[one]
        raw = next((thread.args[around] for around in (event, *thread.around(event)) if around in thread.args and trace.names[thread.name[around]] == "aten::copy_"), None)
        if raw is None or len(raw.strides) < 2 or not raw.strides[1] or raw.strides[1][-1] != 1 or len(set(raw.types[:2])) != 1:
            return False
    return bool(activities)


def _unsaid(site: CallSite) -> tuple[Reason, ...]:
    """Where a slower backend ran and nothing that was recorded says why."""
    if site.kind not in _DISPATCHED or site.backend not in (Backend.MATH, Backend.EFFICIENT) or site.forward.activities == 0:
        return ()
    given = next((shape.arguments for shape in site.shapes if shape.arguments is not None), None)
    complete = given is not None and given.query is not None and given.query.strides is not None
    return (Reason(Cause.NOT_SAID if complete else Cause.NOT_RECORDED, calls=len(site.calls)),)

