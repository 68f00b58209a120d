"""Names that have moved; this file goes with its last reader."""

from __future__ import annotations

from ..analysis.kernels import main_kernel
from ..questions.shared import OTHER_SHAPE, other_workload, software

__all__ = ["OTHER_SHAPE", "main_kernel", "other_workload", "software"]
