"""What is true of one run: samples and traces brought together, each fact with its origin."""

from variants import SIX

from .build import build
from .model import FUSED, ActivityFacts, Caveat, CaveatKind, CounterFacts, OpFacts, RunFacts, VariantFacts
from .states import Lost, State
from .traffic import Best, Traffic, Work

__all__ = ["FUSED", "SIX", "ActivityFacts", "Best", "Caveat", "CaveatKind", "CounterFacts", "Lost", "OpFacts", "RunFacts", "State", "Traffic", "VariantFacts", "Work", "build"]
