"""Attention that is written by hand, found by its structure: a product that makes scores, a softmax over them, a product that takes what comes out.

What proves the structure are recorded shapes: the softmax works on as many numbers as the first product made, and the second takes as many. Where shapes
were not recorded, only steps that are known to stand between may stand between. A loss, a router or a sampler has a softmax too, but no second product of
its numbers, or picks among them first; a product with a weight (`linear`) makes no scores of attention.
"""

from __future__ import annotations

import math
import re
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..hardware import attention_ops
from ..hardware.attention_ops import Kind
from ..trace.whole import Lane, Raw, Thread, WholeTrace
from .model import Arguments, Place, Tensor

REACH = 160
"""Most ops that are looked at on each side of a softmax: a model that builds its bias between needs some forty."""
PASSED = 12
"""Most products with matrices or weights among them: one that works its bias out with a small network needs a few."""

_SOFTMAX = re.compile(r"(?!.*(?:log_?softmax|backward|topk|top_k|_moe_|sampling|cross_entropy)).*softmax.*", re.I)
_PRODUCT = re.compile(r"aten::(?:bmm|baddbmm|matmul|einsum)|triton_tem_fused_\w*?b(?:add)?bmm\w*")
_INNER = re.compile(r"aten::(?:bmm|baddbmm|mm|addmm)|triton_tem_fused_\w*?b(?:add)?bmm\w*")
_WEIGHED = re.compile(r"aten::(?:linear|addmm|mm|_?convolution\w*|native_layer_norm|layer_norm|rms_norm)")
_PICKS = re.compile(r"aten::(?:topk|sort|argsort|multinomial|argmax|nll_loss\w*|cross_entropy\w*|one_hot|scatter\w*|_log_softmax|log_softmax|log|cumsum|histc|bincount|nonzero)_?")
"""What nobody does with the weights of attention between the softmax and the product."""
_VIEW = r"view|reshape|_reshape_alias|_unsafe_view|expand|expand_as|permute|transpose|t|unsqueeze|squeeze|slice|select|as_strided|contiguous|clone|copy|to|_to_copy|type_as|float|half|detach|alias"
_BETWEEN = re.compile(rf"aten::(?:{_VIEW}|mul|div|add|sub|masked_fill|where|empty|empty_like|zeros|ones|full|full_like|scalar_tensor|eq|ne|lt|le|gt|ge|logical_not|logical_and|bitwise_not"
                      r"|bitwise_and|rsub|tanh|clamp|maximum|minimum|max|fill|tril|triu|arange|item|is_nonzero|result_type|lift_fresh|type_as)_?|triton_(?:poi|per|red)_\w+")
_AFTER = re.compile(rf"aten::(?:{_VIEW}|dropout|native_dropout|feature_dropout|bernoulli|empty|empty_like|mul|div|masked_fill|where|nan_to_num|fill)_?|triton_(?:poi|per|red)_\w+")
"""Where shapes were not recorded: what stands between scores and softmax, and between softmax and product."""
_FLEX = re.compile(r"(?:.*/)?torch/nn/attention/flex_attention\.py\(")


@dataclass(frozen=True)
class Chain:
    """One attention that is written by hand.

    kind: `FLEX` where it is what flex_attention does without a compiler, else `BY_HAND`
    parts: its ops in order, all of one thread and none inside another
    scores, softmax, values: the three of them that prove it
    arguments: one object for all chains that were given the same; `None` where shapes were not recorded
    """

    kind: Kind
    parts: tuple[Place, ...]
    scores: Place
    softmax: Place
    values: Place
    arguments: Arguments | None


class _Product(NamedTuple):
    """A batched product of matrices `[batch, m, k] × [batch, k, n]`; sizes are `None` where not recorded."""

    event: int
    inner: int
    batch: int | None = None
    m: int = 0
    k: int = 0
    n: int = 0


class _Weights(NamedTuple):
    """What the softmax works on. numbers: how many; keys: along which length, `None` where that is not recorded; sizes: of each tensor it was given."""

    numbers: frozenset[int]
    keys: int | None


def find(trace: WholeTrace) -> list[Chain]:
    """Every chain of the trace, by thread and begin. What an attention's own op does inside (the math backend) is that op's, not a chain."""
    kinds = _Names(trace.names)
    if not kinds.softmax:
        return []
    known: dict[object, Arguments] = {}
    return [chain for index, lane in enumerate(trace.threads) for chain in _Search(trace, index, lane, kinds, known).chains()]


class _Names:
    """Which of the trace's names are what; looked up by their place, for a place is met thousands of times."""

    def __init__(self, names: list[str]) -> None:
        self.names = names
        self.softmax = frozenset(place for place, name in enumerate(names) if "oftmax" in name and _SOFTMAX.fullmatch(name))
        self.product = frozenset(place for place, name in enumerate(names) if "m" in name and _PRODUCT.fullmatch(name))
        self.inner = frozenset(place for place, name in enumerate(names) if "mm" in name and _INNER.fullmatch(name))
        self.passed = self.product | self.softmax | frozenset(place for place, name in enumerate(names) if _WEIGHED.fullmatch(name))
        self.picks = frozenset(place for place, name in enumerate(names) if _PICKS.fullmatch(name))
        self.attention = frozenset(place for place, name in enumerate(names) if attention_ops.find(name))
        self.flex = frozenset(place for place, name in enumerate(names) if "flex_attention.py" in name and _FLEX.match(name))


class _Search:
    """The chains of one thread."""

    def __init__(self, trace: WholeTrace, index: int, lane: Thread, kinds: _Names, known: dict[object, Arguments]) -> None:
        self.index, self.lane, self.kinds, self.names, self.known = index, lane, kinds, trace.names, known
        self.taken: set[int] = set()
        self.beside: dict[int, list[int]] = {}

    def chains(self) -> Iterator[Chain]:
        names, lanes = self.kinds.softmax, self.lane.lane
        softmaxes = [event for event, place in enumerate(self.lane.name) if place in names and lanes[event] == Lane.OP]
        if not softmaxes:
            return
        around = self._around()
        self.beside = self._beside(around, {around[event] for event in softmaxes})
        for event in softmaxes:
            found = self._chain(event, around[event])
            if found:
                self.taken.update(part.event for part in found.parts)
                yield found

    def _around(self) -> array[int]:
        """The innermost op around each event, −1 where there is none."""
        lanes, found = self.lane.lane, array("i")
        keep = found.append
        for parent in self.lane.parent:
            keep(parent if parent < 0 or lanes[parent] == Lane.OP else found[parent])
        return found

    def _beside(self, around: array[int], levels: set[int]) -> dict[int, list[int]]:
        """The ops that lie beside each other: the op around them → all of them in order."""
        found: dict[int, list[int]] = {level: [] for level in levels}
        for event, (level, lane) in enumerate(zip(around, self.lane.lane)):
            if level in found and lane == Lane.OP:
                found[level].append(event)
        return found

    def _chain(self, event: int, level: int) -> Chain | None:
        """The chain around a softmax, or `None` where it is another op's, or none of attention."""
        flex = False
        for around in self.lane.around(event):
            place = self.lane.name[around]
            if self.lane.lane[around] == Lane.OP:
                if place in self.kinds.attention or place in self.kinds.softmax:
                    return None
            elif place in self.kinds.flex:
                flex = True
        weights = self._weights(event)
        scores, before = self._scores(event, level, weights)
        if scores is None:
            return None
        values, after = self._values(event, level, weights, scores)
        if values is None:
            return None
        between = [one for one in (*reversed(before), *after) if self._touches(one, weights, scores, flex)]
        events = sorted({scores.event, *between, event, values.event})
        arguments = self._arguments(scores, values, weights, [one for one in before if one in events])
        return Chain(Kind.FLEX if flex else Kind.BY_HAND, tuple(self._place(one) for one in events), self._place(scores.event), self._place(event),
                     self._place(values.event), arguments)

    def _place(self, event: int) -> Place:
        return Place(self.index, event)

    def _scores(self, event: int, level: int, weights: _Weights) -> tuple[_Product | None, list[int]]:
        """The product that made what the softmax works on, and the steps from it to the softmax, last first."""
        steps: list[int] = []
        for step in self._near(event, level, -1):
            product = self._product(step)
            if product is not None and step not in self.taken and _makes(product, weights):
                return product, steps
            if not weights.numbers and (product is not None or not _BETWEEN.fullmatch(self._name(step))):
                break
            steps.append(step)
        return None, []

    def _values(self, event: int, level: int, weights: _Weights, scores: _Product) -> tuple[_Product | None, list[int]]:
        """The product that takes what comes out of the softmax, and the steps up to it."""
        steps: list[int] = []
        for step in self._near(event, level, 1):
            if self.lane.name[step] in self.kinds.picks:
                break
            product = self._product(step)
            if product is not None and step not in self.taken and _takes(product, weights, scores):
                return product, steps
            if not weights.numbers and (product is not None or not _AFTER.fullmatch(self._name(step))):
                break
            steps.append(step)
        return None, []

    def _near(self, event: int, level: int, step: int) -> Iterator[int]:
        """The ops beside it, away from it to either side: as many as a chain may reach over, and no more products than it may pass."""
        beside = self.beside[level]
        at, passed = bisect_left(beside, event) + step, 0
        for _ in range(REACH):
            if not 0 <= at < len(beside) or passed > PASSED:
                return
            passed += self.lane.name[beside[at]] in self.kinds.passed
            yield beside[at]
            at += step

    def _name(self, event: int) -> str:
        return self.names[self.lane.name[event]]

    def _weights(self, event: int) -> _Weights:
        """What a softmax was given. A kernel that torch.compile wrote has several operands: any may be it."""
        raw = self._raw(event)
        if raw is None:
            return _Weights(frozenset(), None)
        if not self._name(event).startswith("aten::"):
            return _Weights(frozenset(math.prod(sizes) for sizes in _tensors(raw) if len(sizes) > 1), None)
        sizes = raw.dims[0] if raw.dims and _flat(raw.dims[0]) else ()
        if len(sizes) < 2:
            return _Weights(frozenset(), None)
        return _Weights(frozenset((math.prod(sizes),)), sizes[_dimension(raw, len(sizes))])

    def _raw(self, event: int) -> Raw | None:
        """The arguments of an op, or of the first op inside it that has some."""
        for one in range(event, self.lane.behind(event)):
            raw = self.lane.args.get(one)
            if raw is not None and raw.dims:
                return raw
        return None

    def _product(self, event: int) -> _Product | None:
        """A product of two batches of matrices; `None` for one with a weight, which `matmul` makes a product of two matrices of."""
        if self.lane.name[event] not in self.kinds.product:
            return None
        for one in range(event, self.lane.behind(event)):
            if self.lane.name[one] not in self.kinds.inner:
                continue
            name, raw = self._name(one), self.lane.args.get(one)
            first = 1 if name.endswith("baddbmm") else 0
            operands = [sizes for sizes in _tensors(raw) if len(sizes) == 3] if name.startswith("triton_") and raw else list(raw.dims[first: first + 2]) if raw else []
            if name in ("aten::mm", "aten::addmm"):
                return self._of_matrices(event, one)
            if len(operands) < 2 or not all(_flat(sizes) and len(sizes) == 3 for sizes in operands[:2]):
                return _Product(event, one)
            (batch, m, k), (_, _, n) = operands[:2]
            return _Product(event, one, batch, m, k, n)
        return None

    def _of_matrices(self, event: int, inner: int) -> _Product | None:
        """One head alone: `matmul` of two matrices, which a linear layer never calls."""
        raw = self.lane.args.get(event)
        if self._name(event) != "aten::matmul" or raw is None or len(raw.dims) < 2 or not all(_flat(sizes) and len(sizes) == 2 for sizes in raw.dims[:2]):
            return None
        (m, k), (_, n) = raw.dims[:2]
        return _Product(event, inner, 1, m, k, n)

    def _touches(self, step: int, weights: _Weights, scores: _Product, flex: bool) -> bool:
        """Does the step work on the scores? Where shapes were not recorded, and in flex_attention's own code, whatever stands between does."""
        if step in self.taken or self.lane.name[step] in self.kinds.product:
            return False
        if flex or not weights.numbers or scores.batch is None:
            return True
        made = scores.batch * scores.m * scores.n
        raw = self._raw(step)
        return raw is not None and any(math.prod(sizes) == made and {scores.m, scores.n} & set(sizes) for sizes in _tensors(raw) if len(sizes) > 1)

    def _arguments(self, scores: _Product, values: _Product, weights: _Weights, before: list[int]) -> Arguments | None:
        """Query, key and value as the products were given them; the mask as it was put on the scores."""
        if scores.batch is None or values.batch is None:
            return None
        keys = weights.keys if weights.keys in (scores.m, scores.n) else scores.n
        first, second = self._operands(scores)
        query, key = (first, _turned(second)) if keys == scores.n else (_turned(second), first)
        third, fourth = self._operands(values)
        value = fourth if values.k == keys and values.batch * values.m * values.k in (weights.numbers or {0}) else _turned(third)
        mask, quoted = self._mask(before, scores)
        return self.known.setdefault((query, key, value, mask), Arguments(query, key, value, mask, True, quoted=quoted))

    def _operands(self, product: _Product) -> tuple[Tensor | None, Tensor | None]:
        """As `matmul` was given them, with batch and heads apart; else as `bmm` was."""
        outer = self.lane.args.get(product.event)
        if self._name(product.event) == "aten::matmul" and outer is not None and len(outer.dims) > 1 and all(_flat(sizes) for sizes in outer.dims[:2]):
            return _tensor(outer, 0), _tensor(outer, 1)
        raw = self.lane.args.get(product.inner)
        first = 1 if self._name(product.inner).endswith("baddbmm") else 0
        return (_tensor(raw, first), _tensor(raw, first + 1)) if raw is not None else (None, None)

    def _mask(self, before: list[int], scores: _Product) -> tuple[Tensor | None, Mapping[str, str]]:
        """What is added to the scores or hides some of them."""
        made = (scores.m, scores.n)
        for step in before:
            name, raw = self._name(step).removesuffix("_"), self.lane.args.get(step)
            if name not in ("aten::add", "aten::masked_fill", "aten::where") or raw is None:
                continue
            place = 0 if name == "aten::where" else 1
            mask = _tensor(raw, place)
            if mask is not None and len(mask.dims) > 1 and mask.dims[-1] in made:
                return mask, {"mask": f"{self._name(step)} with {list(mask.dims)}, {mask.type}"}
        return None, {}


def _makes(product: _Product, weights: _Weights) -> bool:
    """Could the softmax work on what this product makes?"""
    if product.batch is None or not weights.numbers:
        return product.batch is None and not weights.numbers
    return product.batch * product.m * product.n in weights.numbers and (weights.keys is None or weights.keys in (product.m, product.n))


def _takes(product: _Product, weights: _Weights, scores: _Product) -> bool:
    """Could this product take what comes out of the softmax?"""
    if product.batch is None or scores.batch is None or not weights.numbers:
        return product.batch is None and not weights.numbers
    numbers = scores.batch * scores.m * scores.n
    if product.batch * product.m * product.k == numbers:
        return product.k in (scores.m, scores.n) and (weights.keys is None or product.k == weights.keys)
    return product.batch * product.k * product.n == numbers and product.k in (scores.m, scores.n) and (weights.keys is None or product.k == weights.keys)


def _flat(sizes: Any) -> bool:
    return isinstance(sizes, tuple) and len(sizes) > 0 and all(type(size) is int and size >= 0 for size in sizes)


def _tensors(raw: Raw) -> Iterator[tuple[int, ...]]:
    """The sizes of all tensors, those in lists too."""
    for sizes in raw.dims:
        if _flat(sizes):
            yield sizes
        elif isinstance(sizes, tuple):
            yield from (one for one in sizes if _flat(one))


def _dimension(raw: Raw, sizes: int) -> int:
    """Along which dimension a softmax works; the last where it was not recorded."""
    text = raw.values[1] if len(raw.values) > 1 else ""
    found = int(text) if re.fullmatch(r"-?\d{1,3}", text) else -1
    return found if -sizes <= found < sizes else -1


def _tensor(raw: Raw, place: int) -> Tensor | None:
    if place >= len(raw.dims) or not _flat(raw.dims[place]):
        return None
    strides = raw.strides[place] if place < len(raw.strides) and _flat(raw.strides[place]) else None
    return Tensor(raw.dims[place], raw.types[place] if place < len(raw.types) else "", strides)


def _turned(tensor: Tensor | None) -> Tensor | None:
    """The last two dimensions the other way round."""
    if tensor is None or len(tensor.dims) < 2:
        return tensor
    strides = tensor.strides
    return Tensor((*tensor.dims[:-2], tensor.dims[-1], tensor.dims[-2]), tensor.type, (*strides[:-2], strides[-1], strides[-2]) if strides else None)
