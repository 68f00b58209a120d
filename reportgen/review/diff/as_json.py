"""A comparison as JSON: times in microseconds, shares as ratios, `null` for unknown."""

from __future__ import annotations

from typing import Any

from ...questions.model import Outcome
from . import beside, maps
from .model import RunDiff, Status, TimingChange
from .trees import TreeDiff

SCHEMA_VERSION = 1


def tree_json(diff: TreeDiff) -> dict[str, Any]:
    """The object that `python -m reportgen diff --json` prints."""
    return {
        "schema_version": SCHEMA_VERSION, "old": diff.old, "new": diff.new,
        "changed": {slot: run_json(run) for slot, run in diff.changed.items()},
        "added": {slot: {claim: outcome.verdict for claim, outcome in side.outcomes.items()} for slot, side in diff.added.items()},
        "removed": list(diff.removed), "same": list(diff.same), "unreadable": dict(diff.unreadable),
        "maps": {slug: maps.as_json(one) for slug, one in diff.maps.items()}, "new_maps": dict(diff.new_maps),
        "beside": {slug: beside.as_json(one) for slug, one in diff.beside.items()},
    }


def run_json(diff: RunDiff) -> dict[str, Any]:
    return {
        "old": diff.old.facts.slot, "new": diff.new.facts.slot, "new_baseline": diff.new_baseline, "unchanged": diff.unchanged,
        "probes": [{"probe": c.probe.probe.id, "choice": c.choice, "old": c.old, "new": c.new, "worse": c.worse} for c in diff.probes],
        "environment": [{"name": c.name, "old": c.old, "new": c.new, "baseline": c.baseline} for c in diff.environment],
        "conditions": [{"name": c.name, "old": c.old, "new": c.new, "worse": c.lack is not None, "why": c.why} for c in diff.conditions],
        "verdicts": [{"claim": c.claim, "flipped": c.flipped, "old": _outcome(c.old), "new": _outcome(c.new)} for c in diff.verdicts],
        "structure": [{"variant": c.variant, "kind": c.kind, "what": c.of_what, "old": _exact(c.old), "new": _exact(c.new), "times": c.times} for c in diff.structure],
        "timings": [_timing(c) for c in diff.timings],
        "added_variants": list(diff.added), "removed_variants": list(diff.removed),
    }


def _exact(value: object) -> object:
    return str(value) if isinstance(value, Status) else value


def _outcome(outcome: Outcome) -> dict[str, str | None]:
    return {"verdict": outcome.verdict, "case": outcome.case, "headline": outcome.headline}


def _timing(change: TimingChange) -> dict[str, Any]:
    return {
        "variant": change.variant, "quantity": change.quantity, "old_us": round(change.old.median * 1e6, 4), "new_us": round(change.new.median * 1e6, 4),
        "ratio": round(change.ratio, 6), "interval": [round(bound, 6) for bound in change.interval] if change.interval else None,
        "threshold": change.threshold, "significant": change.significant, "decides": change.decides,
    }
