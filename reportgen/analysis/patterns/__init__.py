"""Diagnoses that need only a trace, one per file. Pure functions on activities, ops and forwards.

They take a trace's `Activity` and a run's `ActivityFacts` alike (see `shapes.Shown`).
"""
