"""Calls that people write, by name, and what one can write in their place: the rows of *Why not flash?*"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, get_args

from ..run.ranges import Line, Share
from .call import Call, Dtype, Mask

Form = Literal["plain", "padding", "padding and causal", "padding bias", "bias per head", "bias in fp32", "learned bias", "strided", "expanded",
               "three dimensions", "deterministic"]
"""What a call has beside its sizes:

padding: a bool mask `[batch, 1, 1, keys]` that hides the last keys of each entry; padding and causal: `[batch, 1, queries, keys]`
padding bias: the padding as numbers, 0 and −∞, in the type of q
bias per head: numbers `[1, heads, queries, keys]` in the type of q; learned: they want a gradient; in fp32: whatever the type of q
strided: q, k and v have their last dimension apart in memory; expanded: k and v are one head, shown for all with stride 0
three dimensions: `[heads, length, dim]`; deterministic: under `torch.use_deterministic_algorithms(True)`
"""
FORMS: tuple[Form, ...] = get_args(Form)
MASKED: dict[Form, Mask] = {"padding": "bool", "padding and causal": "bool", "padding bias": "float", "bias per head": "float", "bias in fp32": "float",
                            "learned bias": "float"}
"""The mask that a call of this form has."""
Change = Literal["as it is", "is_causal", "no mask", "bfloat16", "padded", "repeated", "contiguous", "four dimensions", "mask in the type of q", "detached bias",
                 "no dropout", "not deterministic"]
"""What is written in its place:

is_causal: `is_causal=True` for the triangle as a mask; no mask: one query at the end sees every key
padded: the head dimension filled up to a multiple of 8 with zeros, with the scale of the true one; repeated: k and v for every head of q
"""
CHANGES: tuple[Change, ...] = get_args(Change)
MULTIPLE = 8
"""Elements of 16 bits that the head dimension must be a multiple of."""


@dataclass(frozen=True)
class Asked:
    """name: as a page calls it; dropout: `dropout_p`; written: what the tensors of `call` go through before it, `as it is` where nothing"""

    name: Line
    call: Call
    dropout: Share = 0.0
    form: Form = "plain"
    written: Change = "as it is"

    @property
    def id(self) -> str:
        """All of it but the name: `b8-h16-q1024-k1024-d64-bf16-causal-drop0.1-strided`."""
        more = [*([f"drop{self.dropout:g}"] if self.dropout else []), *(one.replace(" ", "_") for one, plain in ((self.form, "plain"), (self.written, "as it is")) if one != plain)]
        return "-".join([self.call.id, *more])


def changes(asked: Asked) -> list[tuple[Change, Asked]]:
    """What can be written in the place of a call, one change each: the same result, but where a name says otherwise (type, dropout, bias)."""
    found: list[tuple[Change, Asked]] = []
    call, plain = asked.call, asked.form == "plain"
    triangle = plain and call.mask in ("bool", "float")

    def with_(change: Change, **changed: object) -> None:
        found.append((change, replace(asked, **changed)))  # type: ignore[arg-type]

    if triangle and call.queries == call.keys and call.queries > 1:
        with_("is_causal", call=replace(call, mask="causal"))
    if triangle and call.queries == 1:
        with_("no mask", call=replace(call, mask="none"))
    if call.dtype == "float32":
        with_("bfloat16", call=replace(call, dtype="bfloat16"), form="bias per head" if asked.form == "bias in fp32" else asked.form)
    if call.dtype != "float32" and (call.head_dim % MULTIPLE or call.value_dim % MULTIPLE):
        with_("padded", written="padded")
    if call.grouped:
        with_("repeated", written="repeated")
    if asked.form == "strided":
        with_("contiguous", written="contiguous")
    if asked.form == "three dimensions":
        with_("four dimensions", form="plain")
    if asked.form == "bias in fp32" and call.dtype != "float32":
        with_("mask in the type of q", form="bias per head")
    if asked.form == "learned bias":
        with_("detached bias", form="bias per head")
    if asked.form == "deterministic":
        with_("not deterministic", form="plain")
    if asked.dropout:
        with_("no dropout", dropout=0.0)
    return found


def calls(gpu: bool) -> list[Asked]:
    """The calls that are recorded, each once. On a CPU they are the same ones, made small."""
    every = list(_named())
    return every if gpu else [replace(one, call=small(one.call)) for one in every]


def small(call: Call) -> Call:
    """The same call with few tokens, for a CPU.

    >>> small(Call(8, 32, 8, 1024, 1024, 128, 128)).id, small(Call(1, 32, 8, 1, 4096, 64, 64, mask="none")).id
    ('b1-h4.1-q256-k256-d128-bf16-causal', 'b1-h4.1-q1-k256-d64-bf16-none')
    """
    share = call.heads // call.kv_heads
    heads = max(share, 4) if call.grouped else min(call.heads, 4)
    keys = min(call.keys, 256)
    return replace(call, batch=min(call.batch, 2 if call.batch > 8 else 1), heads=heads, kv_heads=heads // share, queries=min(call.queries, 256), keys=keys)


def _call(batch: int = 8, heads: int = 16, kv: int | None = None, q: int = 1024, k: int | None = None, d: int = 64, dv: int | None = None, dtype: Dtype = "bfloat16",
          mask: Mask = "causal", bshd: bool = False, grad: bool = False) -> Call:
    return Call(batch, heads, kv or heads, q, k or q, d, dv or d, dtype, mask, "bshd" if bshd else "bhsd", grad)


def _named() -> Iterator[Asked]:
    yield from _masks()
    yield from _types_and_dims()
    yield from _grouped_and_decoding()
    yield from _training()
    yield from _awkward()


def _masks() -> Iterator[Asked]:
    yield Asked("a prompt with is_causal", _call())
    yield Asked("a prompt with is_causal, head dimension 128", _call(d=128))
    yield Asked("an encoder without a mask", _call(mask="none"))
    yield Asked("an encoder without a mask, head dimension 128", _call(d=128, mask="none"))
    yield Asked("a prompt with the causal triangle as a bool mask", _call(mask="bool"))
    yield Asked("a prompt with the causal triangle as a float mask", _call(mask="float"))
    yield Asked("a prompt with the causal triangle as a bool mask, head dimension 128", _call(d=128, mask="bool"))
    yield Asked("an encoder with a padding mask", _call(mask="bool"), form="padding")
    yield Asked("an encoder with a padding mask as numbers", _call(mask="float"), form="padding bias")
    yield Asked("a padded prompt: padding and triangle in one mask", _call(mask="bool"), form="padding and causal")
    yield Asked("a bias for every head (ALiBi, relative positions)", _call(mask="float"), form="bias per head")
    yield Asked("a bias for every head, in fp32", _call(mask="float"), form="bias in fp32")
    yield Asked("a sliding window as a bool mask", _call(mask="window", q=2048, batch=4))
    yield Asked("a sliding window as a bool mask, head dimension 128", _call(mask="window", q=2048, batch=4, d=128))
    yield Asked("a long prompt with is_causal", _call(batch=1, q=8192, d=128))
    yield Asked("a long prompt with the triangle as a bool mask", _call(batch=1, q=8192, d=128, mask="bool"))
    yield Asked("cross-attention, 1,024 queries and 77 keys", _call(q=1024, k=77, mask="none"))
    yield Asked("cross-attention with a padding mask", _call(q=1024, k=128, mask="bool"), form="padding")
    yield Asked("a chunk of a prompt: 256 queries at the end of 4,096 keys, as a bool mask", _call(batch=1, heads=32, q=256, k=4096, d=128, mask="bool"))


def _types_and_dims() -> Iterator[Asked]:
    for dtype, words in (("float16", "fp16"), ("float32", "fp32")):
        yield Asked(f"a prompt with is_causal in {words}", _call(dtype=dtype))  # type: ignore[arg-type]
        yield Asked(f"a prompt with the triangle as a bool mask in {words}", _call(dtype=dtype, mask="bool"))  # type: ignore[arg-type]
    yield Asked("an encoder without a mask in fp32", _call(dtype="float32", mask="none"))
    for dim in (32, 60, 72, 80, 96, 100, 192, 256, 512):
        yield Asked(f"head dimension {dim}", _call(batch=4, heads=8, d=dim))
    yield Asked("head dimension 60 with a bool mask", _call(batch=4, heads=8, d=60, mask="bool"))
    yield Asked("head dimension 192, values of 128 (DeepSeek V3)", _call(batch=1, heads=32, q=2048, d=192, dv=128))
    yield Asked("head dimension 256 with a bool mask", _call(batch=4, heads=8, d=256, mask="bool"))
    yield Asked("577 tokens of a vision transformer", _call(batch=32, q=577, mask="none"))
    yield Asked("q, k and v transposed from [batch, length, heads, dim]", _call(bshd=True))


def _grouped_and_decoding() -> Iterator[Asked]:
    grouped = _call(batch=1, heads=32, kv=8, q=2048, d=128)
    yield Asked("a prompt with GQA, 32 heads on 8", grouped)
    yield Asked("a prompt with GQA in fp32", replace(grouped, dtype="float32"))
    yield Asked("a prompt with GQA and the triangle as a bool mask", replace(grouped, mask="bool"))
    yield Asked("a prompt with GQA at head dimension 256 (Gemma)", _call(batch=1, heads=16, kv=8, q=2048, d=256))
    yield Asked("one query on 4,096 keys", _call(batch=1, heads=32, q=1, k=4096, d=128, mask="none"))
    yield Asked("one query on 4,096 keys with GQA", _call(batch=1, heads=32, kv=8, q=1, k=4096, d=128, mask="none"))
    yield Asked("one query on 4,096 keys with GQA, batch 64", _call(batch=64, heads=32, kv=8, q=1, k=4096, d=128, mask="none"))
    yield Asked("one query on 32,768 keys with GQA", _call(batch=1, heads=32, kv=8, q=1, k=32_768, d=128, mask="none"))
    yield Asked("one query with a mask that hides nothing", _call(batch=1, heads=32, kv=8, q=1, k=4096, d=128, mask="bool"))
    yield Asked("one query on a padded cache", _call(batch=16, heads=32, kv=8, q=1, k=4096, d=128, mask="bool"), form="padding")
    yield Asked("16 queries (speculation) with a bool mask", _call(batch=1, heads=32, kv=8, q=16, k=4096, d=128, mask="bool"))
    yield Asked("16 queries and keys with is_causal", _call(batch=1, heads=32, q=16, d=128))


def _training() -> Iterator[Asked]:
    yield Asked("training with is_causal", _call(grad=True))
    yield Asked("training with is_causal, head dimension 128", _call(d=128, grad=True))
    yield Asked("training with the triangle as a bool mask", _call(mask="bool", grad=True))
    yield Asked("training with dropout 0.1", _call(grad=True), dropout=0.1)
    yield Asked("training with dropout 0.1 and a padding mask", _call(mask="bool", grad=True), dropout=0.1, form="padding")
    yield Asked("training with a learned bias for every head", _call(batch=4, mask="float", grad=True), form="learned bias")
    yield Asked("training with GQA, 32 heads on 8", _call(batch=2, heads=32, kv=8, q=2048, d=128, grad=True))
    yield Asked("training in fp32", _call(dtype="float32", grad=True))
    yield Asked("training at head dimension 256", _call(batch=4, heads=8, d=256, grad=True))
    yield Asked("training under deterministic algorithms", _call(grad=True), form="deterministic")


def _awkward() -> Iterator[Asked]:
    yield Asked("dropout 0.1 left on in inference", _call(), dropout=0.1)
    yield Asked("the last dimension apart in memory", _call(), form="strided")
    yield Asked("one head of k and v expanded to all", _call(mask="bool"), form="expanded")
    yield Asked("three dimensions, without a batch", _call(batch=1), form="three dimensions")
    yield Asked("inference under deterministic algorithms", _call(), form="deterministic")
