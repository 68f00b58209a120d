"""Every perturbation. A file is a kind; importing it declares what is in it."""

from __future__ import annotations

from ..registry import PERTURBATIONS, Perturbation
from . import accuracy, counted, devices, gaps, launches, measured, refused, right, steps, suspect, times, unlike  # noqa: F401 - they declare

__all__ = ["PERTURBATIONS", "Perturbation"]
