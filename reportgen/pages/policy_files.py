"""What programs read of a map: `policy.json`, and `best_sdpa.py`, which needs torch alone and refuses another machine."""

from __future__ import annotations

import json
from typing import Any

from variants.backends import BACKENDS

from ..analysis.maps import MapFacts
from ..analysis.policy import FEATURES, Evidence, Policy, Rule, Span
from .environment import environment
from .site import PYTHON_MARKER

SCHEMA_VERSION = 1
POLICY_FILE, PYTHON_FILE = "policy.json", "best_sdpa.py"


def files(policy: Policy) -> dict[str, str]:
    """Path below the docs root → text; nothing of a map without a rule."""
    if not policy.rules:
        return {}
    folder = f"runs/{policy.facts.slug}"
    return {f"{folder}/{POLICY_FILE}": as_json(policy), f"{folder}/{PYTHON_FILE}": as_python(policy)}


def made_for(facts: MapFacts) -> dict[str, str | None]:
    """What must be the same for the rules to be believed: device, and the software whose kernels run."""
    device, software = facts.header.device, facts.header.software
    if device.kind == "cpu":
        return {"kind": device.kind, "torch": software.get("torch")}
    name = f"{device.name} MIG {device.mig_profile}" if device.mig_profile else device.name
    capability = {} if device.compute_capability is None else {"compute capability": device.compute_capability}
    return {"kind": "cuda", "torch": software.get("torch"), "device": " ".join(name.split()), **capability, "cudnn": software.get("cudnn")}


def as_python(policy: Policy) -> str:
    env = environment()
    members = [(name, backend.member) for name, backend in BACKENDS.items()]
    return str(env.get_template("best_sdpa.py.j2").render(marker=PYTHON_MARKER, made_for=made_for(policy.facts).items(), members=members,
                                                          rules=[_row(rule) for rule in policy.rules]))


def _row(rule: Rule) -> str:
    kind = rule.kind
    spans = [_pair(rule.dims), *(_pair(rule.spans.get(name, Span())) for name in FEATURES)]
    parts = [kind.mask, kind.bits, kind.gradients, kind.grouped, kind.square, kind.same_dims]
    return f"{', '.join(repr(part) for part in parts)}, ({', '.join(spans)}), {tuple(rule.order)!r}"


def _pair(span: Span) -> str:
    return "ANY" if span == Span() else repr((span.low if span.low is not None else 1, span.high))


def as_json(policy: Policy) -> str:
    facts = policy.facts
    content = {"schema_version": SCHEMA_VERSION, "generated": PYTHON_MARKER, "made_for": made_for(facts), "recorded_on": facts.header.recorded_on, "calls": len(facts.spots),
               "told_apart_beyond": round(facts.threshold, 4), "rules": [_rule(rule) for rule in policy.rules], "otherwise": []}
    return json.dumps(content, ensure_ascii=False, indent=1) + "\n"


def _rule(rule: Rule) -> dict[str, Any]:
    kind = rule.kind
    when = {"mask": kind.mask, "bits": kind.bits, "gradients": kind.gradients, "grouped": kind.grouped, "square": kind.square, "same_dims": kind.same_dims,
            "head_dim": _bounds(rule.dims), **{name: _bounds(span) for name, span in rule.spans.items()}}
    return {"when": when, "backends": list(rule.order), "evidence": _evidence(rule.evidence)}


def _bounds(span: Span) -> list[int | None]:
    return [span.low, span.high]


def _evidence(found: Evidence) -> dict[str, Any]:
    return {"calls": [spot.call.id for spot in found.spots], "default_takes_longer": {"mean": _share(found.default_mean), "worst": _share(found.default_worst)},
            "these_take_longer": {"mean": _share(found.own_mean), "worst": _share(found.own_worst)}, "host_is_the_limit_at": found.host_bound}


def _share(value: float | None) -> float | None:
    return None if value is None or value == float("inf") else round(value, 4)
