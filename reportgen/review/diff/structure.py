"""Exact differences of one variant: kernels, counts, launches, occupancy, peak bytes, code."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from difflib import SequenceMatcher, unified_diff

from ...analysis import ActivityFacts, VariantFacts
from ...analysis.correctness import Gradients, masked_gradients, own_gradients
from ...run import Training
from .model import Status, StructureChange

_COUNTS = {"kernels": "kernels", "memcpys": "memcpys", "memsets": "memsets", "op_count": "CPU ops", "transposes": "transposes"}
_LAUNCH = {"launch_api": "launch API", "grid": "grid", "block": "block", "registers": "registers per thread",
           "shared_memory": "shared memory (bytes)", "bytes": "bytes", "profiler_occupancy": "profiler occupancy (%)"}


def structure(old: VariantFacts, new: VariantFacts) -> tuple[StructureChange, ...]:
    """All exact differences, the gravest first. Timings are not looked at."""
    if old.state != new.state:
        return (*_source(old, new), StructureChange(old.id, "status", "status", _status(old), _status(new)))
    changes = [*_source(old, new)]
    if bool(old.activities) == bool(new.activities):
        changes += _activities(old, new)
    changes += [StructureChange(old.id, "count", label, before, after) for field, label in _COUNTS.items()
                if (before := getattr(old, field)) != (after := getattr(new, field))]
    if old.peak_memory_bytes != new.peak_memory_bytes:
        changes.append(StructureChange(old.id, "memory", "peak memory above the inputs", old.peak_memory_bytes, new.peak_memory_bytes))
    return (*changes, *_others(old, new))


def _status(variant: VariantFacts) -> Status:
    return Status(variant.state, None if variant.ok else variant.reason)


def _source(old: VariantFacts, new: VariantFacts) -> list[StructureChange]:
    """The variant's file differs: other code ran, whatever the numbers say."""
    if old.source == new.source:
        return []
    lines = [line for line in unified_diff(old.source.splitlines(), new.source.splitlines(), n=0, lineterm="") if line[:3] not in ("+++", "---")]
    plus, minus = (sum(line.startswith(sign) for line in lines) for sign in "+-")
    return [StructureChange(old.id, "source", "source", None, f"+{plus} −{minus} lines")]


def _others(old: VariantFacts, new: VariantFacts) -> Iterator[StructureChange]:
    """What the masked row gave and what training launched, where both sides recorded them."""
    if old.masked_row and new.masked_row and old.masked_row.outcome != new.masked_row.outcome:
        yield StructureChange(old.id, "masked row", "a fully masked row gives", old.masked_row.outcome, new.masked_row.outcome)
    if old.training and new.training:
        for name, before, after in (("status", _trained(old, old.training), _trained(new, new.training)), ("kernels", old.training.kernels, new.training.kernels)):
            if before != after:
                yield StructureChange(old.id, "training", f"training {name}", before, after)
    masked, again = masked_gradients(old), masked_gradients(new)
    if masked is not again and old.own_mask and new.own_mask:
        yield StructureChange(old.id, "training", "output and gradients under a mask of its own", masked.value, again.value)


def _trained(variant: VariantFacts, training: Training) -> str:
    return "wrong" if own_gradients(variant) is Gradients.WRONG else training.status


def _activities(old: VariantFacts, new: VariantFacts) -> list[StructureChange]:
    """Activities aligned by name and order: removed, added, replaced (same role), launched otherwise."""
    before, after = old.activities, new.activities
    found: Counter[StructureChange] = Counter()
    matcher = SequenceMatcher(None, [a.name for a in before], [a.name for a in after], autojunk=False)
    for tag, i, j, k, m in matcher.get_opcodes():
        if tag == "equal":
            for one, other in zip(before[i:j], after[k:m]):
                found.update(_launch(old.id, one, other))
        else:
            found.update(_exchanged(old.id, before[i:j], after[k:m]))
    order = ("replaced", "removed", "added", "launch")
    return [replace(change, times=times) for change, times in sorted(found.items(), key=lambda item: order.index(item[0].kind))]


def _exchanged(variant: str, before: Sequence[ActivityFacts], after: Sequence[ActivityFacts]) -> list[StructureChange]:
    """Pairs what has the same role, in order; the rest went away or came."""
    out, left = [], list(after)
    for one in before:
        other = next((candidate for candidate in left if candidate.role == one.role), None)
        if other is None:
            out.append(StructureChange(variant, "removed", one.role, one.name, None))
        else:
            left.remove(other)
            out.append(StructureChange(variant, "replaced", one.role, one.name, other.name))
    return out + [StructureChange(variant, "added", other.role, None, other.name) for other in left]


def _launch(variant: str, one: ActivityFacts, other: ActivityFacts) -> list[StructureChange]:
    told: list[tuple[str, object, object]] = [(label, getattr(one, field), getattr(other, field)) for field, label in _LAUNCH.items()]
    told.append(("theoretical occupancy (%)", _occupancy(one), _occupancy(other)))
    return [StructureChange(variant, "launch", label, before, after, subject=one.name) for label, before, after in told if before != after]


def _occupancy(activity: ActivityFacts) -> float | None:
    return activity.occupancy.theoretical if activity.occupancy else None
