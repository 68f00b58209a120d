"""What differs between two recorded runs, or between two states of all runs: as data, Markdown and JSON."""

from .compare import compare, present
from .model import EnvironmentChange, RunDiff, Side, StructureChange, TimingChange, VerdictChange
from .sides import load, side

__all__ = ["EnvironmentChange", "RunDiff", "Side", "StructureChange", "TimingChange", "VerdictChange", "compare", "load", "present", "side"]
