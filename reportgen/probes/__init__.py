"""Correctness probes: public reports of wrong SDPA results, one small file each, tried on the device at hand.

To add one: write `reportgen/probes/<name>.py` with a `PROBE` and put `<name>` into `NAMES`. torch is imported inside
functions only, so that pages can be rendered where there is no torch.
"""

from __future__ import annotations

import importlib
from functools import cache

from .model import KEYS_AT_ONCE, TILE, Cure, Inputs, Kind, Needs, NotHere, Probe, Report

__all__ = ["KEYS_AT_ONCE", "NAMES", "TILE", "Cure", "Inputs", "Kind", "Needs", "NotHere", "Probe", "Report", "load"]

NAMES: tuple[str, ...] = (
    "masked_backward", "one_query_backward", "mask_type", "empty_rows", "causal_one_query", "expanded_kv", "few_kv_heads",
    "grouped_backward", "odd_length", "upstream_layout", "value_layout", "mask_layout", "expanded_views", "strided_channels",
    "causal_alignment", "finite_mask", "masked_leak", "masked_nan", "nan_hidden", "large_logits", "value_head_dim", "large_head_dim",
    "long_cache", "dropout_backward", "dropout_eval", "empty_batch", "huge_batch", "mask_offsets", "mask_gradient",
)
"""The files of this room that are probes, in the order in which pages show them: what the default may meet first. The last was
reported to leave the device unusable, which then costs no other."""


@cache
def load() -> tuple[Probe, ...]:
    """Every probe, in the order of `NAMES`."""
    return tuple(importlib.import_module(f"{__name__}.{name}").PROBE for name in NAMES)
