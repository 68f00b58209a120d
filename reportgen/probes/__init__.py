"""Correctness probes: public reports of wrong SDPA results, one small file each, tried on the device at hand.

To add one: write `reportgen/probes/<name>.py` with a `PROBE` and put `<name>` into `NAMES`. torch is imported inside
functions only, so that pages can be rendered where there is no torch.
"""

from __future__ import annotations

import importlib
from functools import cache

from .model import Cure, Inputs, Kind, Needs, NotHere, Probe, Report

__all__ = ["NAMES", "Cure", "Inputs", "Kind", "Needs", "NotHere", "Probe", "Report", "load"]

NAMES: tuple[str, ...] = ("masked_backward", "mask_type", "causal_one_query")
"""The files of this room, in the order in which pages show them: what the default may meet first."""


@cache
def load() -> tuple[Probe, ...]:
    """Every probe, in the order of `NAMES`."""
    return tuple(importlib.import_module(f"{__name__}.{name}").PROBE for name in NAMES)
