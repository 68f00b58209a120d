"""Raw events → arrays: which are kept, and what of them. Knows Kineto's keys, as `kineto` does."""

from __future__ import annotations

import marshal
import re
from array import array
from collections.abc import Mapping
from typing import Any

from ..saying import signs
from .kineto import LATEST, LONGEST, OCCUPANCY_KEYS, number, whole
from .stream import Stream
from .whole import Activities, Lane, Raw, Resources, Thread, Work

_HOST_CALL = re.compile(r"(?:.*_)?(?:runtime|driver)")
_WORK = {"kernel": Work.KERNEL, "gpu_memcpy": Work.MEMCPY, "memcpy": Work.MEMCPY, "gpu_memset": Work.MEMSET, "memset": Work.MEMSET}
_HOST = {"cpu_op": Lane.OP, "operator": Lane.OP, "python_function": Lane.PYTHON, "user_annotation": Lane.NOTE}
_GPU = 16
_NEEDLESS_CALL = re.compile(r"(?:cuda|hip|cu)(?:Get|Func|Peek|Pointer|Device(?!Synchronize)|Driver|Occupancy|Event(?!Synchronize)|Malloc|Free|Host|Init"
                            r"|Stream(?!Synchronize)|Graph(?!Launch)|ThreadExchange|Runtime)")
"""Calls that queue nothing and that nothing waits for."""
_NEEDLESS_FRAME = re.compile(r"<built-in |(?:.*/)?(?:site-packages/|dist-packages/)?torch/(?!nn/functional\.py|nn/attention|nn/modules/activation\.py)")
"""Frames of Python that are nobody's source line; a model has a hundred thousand of them."""
_MODULE = "nn.Module: "
_WANTED = re.compile(r"aten::_?(?:.*attention|.*softmax|b?matmul|bmm|baddbmm|einsum|mul|div|add|masked_fill|where|copy|clone|contiguous|to_copy|to|expand|repeat"
                     r"|repeat_interleave|cat|pad|constant_pad_nd|tril|triu|full|full_like|zeros|ones|arange|scalar_tensor|eq|ge|le|lt|gt|logical_not|bitwise_not|dropout"
                     r"|native_dropout|reshape|transpose|unsqueeze|fused_sdp_choice)_?")
"""Ops whose arguments a rule asks for; all that is not torch's own is among them."""


MOST_PARTS, MOST_SIZES = 64, 16
"""Arguments of an op that are kept, and dimensions of one or tensors in a list: no rule asks for more."""


class Gathered:
    """What has been read so far."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.places: dict[str, int] = {}
        self.threads: dict[tuple[object, object], Thread] = {}
        self.activities = Activities()
        self.zeros: dict[Resources, list[float]] = {}
        self.call_thread, self.call_event, self.call_number = array("i"), array("i"), array("q")
        self.sequences: list[tuple[array[int], array[int], array[int]]] = []
        self.arguments: dict[Any, Raw] = {}
        self.odd = 0
        self.recognised = False


def _kind(category: object) -> int:
    """The lane of a category: of the host, `_GPU` and the work, or 0 for what is not kept."""
    if not isinstance(category, str):
        return 0
    category = category.lower()
    if category in _WORK:
        return _GPU + _WORK[category]
    if category in _HOST:
        return _HOST[category]
    return Lane.CALL if _HOST_CALL.fullmatch(category) else 0


def gather(stream: Stream, into: Gathered) -> None:
    """Takes every event of the stream. The loop runs for each of millions of events, so it calls as little as it can.

    Raises:
        stream.NoTrace: see `Stream.events`.
    """
    kinds: dict[Any, int] = {}
    threads = into.threads
    order: list[Thread] = []
    numbered: dict[int, int] = {}
    places: dict[str, int] = {}  # −1: not kept
    wanted: dict[int, bool] = {}
    sequences = into.sequences
    call_thread, call_event, call_number = into.call_thread, into.call_event, into.call_number
    last: tuple[object, object] | None = None
    thread: Thread
    index = 0
    for event in stream.events():
        try:
            kind = kinds[event["cat"]]
        except KeyError:
            category = event.get("cat")
            if category is None:
                continue
            kind = kinds[category] = _kind(category)
        except TypeError:
            continue
        if not kind or event.get("ph") != "X":
            continue
        try:
            name, start, duration = event["name"], event["ts"], event["dur"]
        except KeyError:
            into.odd += 1
            continue
        if not (type(start) in _NUMBERS and type(duration) in _NUMBERS and 0 <= start <= LATEST and 0 <= duration <= LONGEST and type(name) is str):
            found = _mended(name, start, duration)
            if found is None:
                into.odd += 1
                continue
            name, start, duration = found
        if kind >= _GPU:
            _activity(event, kind - _GPU, name, start, duration, into)
            continue
        place = places.get(name)
        if place is None:
            place = _place(name, kind, into, places)
        if place < 0:
            continue
        here = (event.get("pid"), event.get("tid"))
        if here != last:
            try:
                found_thread = threads.get(here)
            except TypeError:
                into.odd += 1
                continue
            if found_thread is None:
                here = (_plain(here[0]), _plain(here[1]))
                found_thread = threads.get(here)
                if found_thread is None:
                    found_thread = Thread(*here)
                    numbered[id(found_thread)] = len(order)
                    order.append(found_thread)
                    sequences.append((array("i"), array("q"), array("q")))
                threads[here] = threads[(event.get("pid"), event.get("tid"))] = found_thread
            thread, index = found_thread, numbered[id(found_thread)]
            last = (event.get("pid"), event.get("tid"))
        into.recognised = True
        at = len(thread.lane)
        thread.start.append(start)
        thread.duration.append(duration)
        thread.name.append(place)
        if kind == 1 and name.startswith(_MODULE):
            kind = 2
        thread.lane.append(kind)
        if kind < 4:
            continue
        args = event.get("args")
        if type(args) is not dict:
            continue
        if kind == 5:
            correlation = args.get("correlation")
            if type(correlation) is not int:
                correlation = whole(correlation) or 0
            if correlation and -_LARGEST < correlation < _LARGEST:
                call_thread.append(index)
                call_event.append(at)
                call_number.append(correlation)
            continue
        sequence = args.get("Sequence number")
        if type(sequence) is int and 0 <= sequence < _LARGEST:
            forward = args.get("Fwd thread id")
            numbers = sequences[index]
            numbers[0].append(at)
            numbers[1].append(sequence)
            numbers[2].append(forward if type(forward) is int and 0 <= forward < _LARGEST else 0)
        keep = wanted.get(place)
        if keep is None:
            keep = wanted[place] = _WANTED.fullmatch(name) is not None or not name.startswith("aten::")
        if keep and len(args) > 2:
            raw = _raw(args, into.arguments)
            if raw is not None:
                thread.args[at] = raw


_NUMBERS = (float, int)
_LARGEST = 2**63


def _mended(name: object, start: object, duration: object) -> tuple[str, float, float] | None:
    """Numbers that are written as text, and nothing else."""
    begin, length = number(start), number(duration)
    if not isinstance(name, str) or begin is None or length is None or not 0 <= begin <= LATEST or not 0 <= length <= LONGEST:
        return None
    return name, begin, length


def _plain(value: object) -> object:
    """`"25738"` and 25738 are one thread."""
    return int(value) if isinstance(value, str) and value.isdecimal() and len(value) < 20 else value


def _place(name: str, kind: int, into: Gathered, places: dict[str, int]) -> int:
    """The place of a host event's name, −1 where it is not kept. Names with an address in them are not remembered."""
    if kind == Lane.PYTHON and _NEEDLESS_FRAME.match(name):
        if name[0] != "<":
            places[name] = -1
        return -1
    if kind == Lane.CALL and _NEEDLESS_CALL.match(name):
        places[name] = -1
        return -1
    places[name] = place = _interned(name, into)
    return place


def _interned(name: str, into: Gathered) -> int:
    place = into.places.get(name)
    if place is None:
        place = into.places[name] = len(into.names)
        into.names.append(signs.name(name))
    return place


def _activity(event: Mapping[str, Any], work: int, name: str, start: float, duration: float, into: Gathered) -> None:
    if start == 0 and duration == 0:
        into.odd += 1  # the profiler recorded no time for it
        return
    into.recognised = True
    args = event.get("args")
    if type(args) is not dict:
        args = {}
    found = into.activities
    place = into.places.get(name)
    if place is None:
        place = _interned(name, into)
    device = _within(args.get("device"), 31)
    found.start.append(start)
    found.duration.append(duration)
    found.name.append(place)
    found.work.append(work)
    found.device.append(device)
    stream = args.get("stream")
    found.stream.append(_within(stream, 63) if stream is not None else _digits(event.get("tid")))
    found.bytes.append(max(0, _within(args.get("bytes", 0), 63)))
    found.correlation.append(max(0, _within(args.get("correlation", 0), 63)))
    if not work:
        for key in OCCUPANCY_KEYS:
            if key in args:
                if number(args[key]) == 0:
                    _zero(args, place, device, duration, into)
                break


def _within(value: object, bits: int) -> int:
    """A whole number that an array of this width holds; −1 for any other."""
    if type(value) is not int:
        value = whole(value)
        if value is None:
            return -1
    return value if -1 <= value < 1 << bits else -1


def _digits(text: object) -> int:
    digits = re.search(r"\d+", str(text))
    return _within(int(digits.group()[:19]), 63) if digits else -1


def _zero(args: Mapping[str, Any], place: int, device: int, duration: float, into: Gathered) -> None:
    grid, block = (tuple(_within(part, 63) for part in value) if isinstance(value, list) and len(value) == 3 else () for value in (args.get("grid"), args.get("block")))
    key = Resources(place, device, grid, block, _within(args.get("registers per thread"), 31), _within(args.get("shared memory"), 31))
    found = into.zeros.get(key)
    if found is None:
        into.zeros[key] = [1, duration]
    else:
        found[0] += 1
        found[1] += duration


def _raw(args: Mapping[str, Any], known: dict[Any, Raw]) -> Raw | None:
    """The arguments, one object for all calls that have the same."""
    found = (args.get("Input Dims") or args.get("Input dims"), args.get("Input type"), args.get("Input Strides"), args.get("Concrete Inputs"),
             args.get("Call stack"), args.get("Module Hierarchy"))
    key = marshal.dumps(found, 2)  # of equal values equal bytes, and sooner there than their text
    raw = known.get(key)
    if raw is None:
        dims, types, strides, values, stack, modules = found
        if not (dims or types or values or stack or modules):
            return None
        raw = known[key] = Raw(_sizes(dims), _texts(types), _sizes(strides), _texts(values), _text(stack), _text(modules))
    return raw


def _sizes(value: object) -> tuple[Any, ...]:
    return tuple(_size(part) for part in value[:MOST_PARTS]) if isinstance(value, list) else ()


def _size(value: object, depth: int = 0) -> Any:
    if isinstance(value, list):
        return tuple(_size(part, depth + 1) for part in value[:MOST_SIZES]) if depth < 3 else ()
    return _within(value, 63)


def _texts(value: object) -> tuple[str, ...]:
    return tuple(_text(part)[:1000] for part in value[:MOST_PARTS]) if isinstance(value, list) else ()


def _text(value: object) -> str:
    return signs.name(value) if isinstance(value, str) else "" if value is None else signs.name(str(value)[:1000])
