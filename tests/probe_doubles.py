"""Probes and what a run recorded of them, made up: what pages say does not depend on which probes there are.

    tried(facts(), {"mask-in-fp32": {"default": wrong("output", error=0.3, picked="cudnn"), "cudnn": wrong("output", error=0.3)}})

A choice that is not named gave a right result; a probe that is not named was right everywhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from reportgen.analysis import RunFacts, watch
from reportgen.probes import Cure, Kind, Needs, Probe, Report
from reportgen.run import CHOICES, Compared, Correctness, Cured, OwnShape, Pick, ProbeRun, Tried


def _report(name: str) -> Report:
    owner = {"pytorch": "pytorch/pytorch", "cudnn-frontend": "NVIDIA/cudnn-frontend"}[name.split("#")[0]]
    return Report(name, f"https://github.com/{owner}/issues/{name.split('#')[1]}", "a version", "a device", "a backend")


def _probe(id: str, title: str, needs: set[Needs], avoid: str, *reports: str, kind: Kind = Kind.WRONG, words: str = "", code: str = "") -> Probe:
    cure = Cure(words, code, lambda inputs: None) if words else None
    return Probe(id, title, kind, tuple(_report(name) for name in reports), frozenset(needs), "fp16 [2,4,128,64]", "the output", avoid, lambda device: None, cure)  # type: ignore[arg-type]


MASK = _probe("mask-in-fp32", "An additive mask in FP32 beside queries in FP16", {Needs.MASK, Needs.OTHER_TYPE}, "a mask of floats in another type than q", "pytorch#191612",
              words="Cast the mask to the type of q.", code="F.scaled_dot_product_attention(q, k, v, attn_mask=mask.to(q.dtype))")
LOGITS = _probe("far-logits", "Gradients where all logits are far below 0", {Needs.GRADIENTS, Needs.LARGE_LOGITS, Needs.ONE_QUERY}, "gradients of one query whose logits are far from 0", "cudnn-frontend#1072")
STRIDES = _probe("shared-heads", "Keys and values shared by all heads through a stride of 0", {Needs.STRIDES, Needs.MASK}, "keys expanded over heads", "pytorch#191937", "pytorch#1",
                 words="Make k and v contiguous.", code="F.scaled_dot_product_attention(q, k.contiguous(), v.contiguous(), attn_mask=mask)")
TRAP = _probe("one-query-causal", "`is_causal` with one query sees one key", {Needs.UNEQUAL_LENGTHS, Needs.ONE_QUERY}, "`is_causal` with a cache", kind=Kind.TRAP,
              words="Align the mask with the last key.", code="F.scaled_dot_product_attention(q, k, v, attn_mask=causal_lower_right(*shape))")
KNOWN = (MASK, LOGITS, STRIDES, TRAP)

RIGHT = Tried("right")
REFUSED = Tried("refused", "No available kernel. Aborting execution.")
BROKE = Tried("failed", "CUDA error: an illegal memory access was encountered")


def wrong(tensor: str = "output", error: float | None = 0.377, picked: str | None = None) -> Tried:
    """A result that is off: by a relative error, or not finite in all of its 512 values."""
    return Tried("reproduces", None, (compared(tensor, error),), picked)


def compared(tensor: str = "output", error: float | None = 0.377, allowed: float = 0.0065) -> Compared:
    return Compared(tensor, error is not None and error <= allowed, error, allowed, not_finite=0 if error is not None else 512, elements=512)  # type: ignore[arg-type]


def cured(outcome: str = "right", before: float | None = 80e-6, after: float | None = 92e-6, **more: Any) -> Cured:
    return Cured(outcome, before=before, after=after, **more)  # type: ignore[arg-type]


def default_on(backend: str, outcome: str = "right") -> Tried:
    return Tried(outcome, picked=backend)  # type: ignore[arg-type]


def recorded(found: Mapping[str, Mapping[str, Tried] | ProbeRun] | None = None, cures: Mapping[str, Cured] | None = None, left_out: tuple[str, ...] = (),
             picks: tuple[Pick, ...] = (), default: str = "cudnn") -> Correctness:
    """What a run holds of `KNOWN`. default: the backend that runs where nothing is pinned and nothing else is said."""
    out: dict[str, ProbeRun] = {}
    for probe in KNOWN:
        if probe.id in left_out:
            continue
        given = (found or {}).get(probe.id, {})
        if isinstance(given, ProbeRun):
            out[probe.id] = given
            continue
        choices = {choice: given.get(choice, replace(RIGHT, picked=default if choice == "default" else None)) for choice in CHOICES}
        out[probe.id] = ProbeRun(choices, {}, (cures or {}).get(probe.id))
    return Correctness(out, picks)


def tried(run: RunFacts, found: Mapping[str, Mapping[str, Tried] | ProbeRun] | None = None, **more: Any) -> RunFacts:
    """`run` in which the probes of `KNOWN` were tried."""
    return replace(run, watch=watch.build(recorded(found, **more), KNOWN))


def everywhere(outcome: Tried) -> dict[str, Tried]:
    return dict.fromkeys(CHOICES, outcome)


def as_json(correctness: Correctness) -> dict[str, Any]:
    """The part of `run.json` that holds it."""
    return asdict(correctness)


def trained(run: RunFacts, wrong_ones: Mapping[str, Compared] | None = None, masked: Mapping[str, OwnShape] | None = None) -> RunFacts:
    """`run` whose gradients were compared: right, but for those of `wrong_ones`; `masked` holds what came out under a mask, right where it is silent."""
    variants = {}
    for name, variant in run.variants.items():
        bad = (wrong_ones or {}).get(name)
        right = tuple(compared(f"gradient of {one}", 0.003) for one in "qkv")
        training = variant.training and replace(variant.training, status="wrong" if bad else "ok", compared=(bad, *right[1:]) if bad else right)
        own = (masked or {}).get(name, OwnShape("right", None, (compared("output", 0.002), *right)))
        variants[name] = replace(variant, training=training, own_mask=own) if variant.ok else variant
    return replace(run, variants=variants)
