"""What is true of one run: samples and traces brought together, each fact with its origin."""

from .build import build
from .model import FUSED, SIX, ActivityFacts, CounterFacts, OpFacts, Origin, RunFacts, VariantFacts
from .traffic import Best, Traffic, Work

__all__ = ["FUSED", "SIX", "ActivityFacts", "Best", "CounterFacts", "OpFacts", "Origin", "RunFacts", "Traffic", "VariantFacts", "Work", "build"]
