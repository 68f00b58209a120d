"""What shared pages do where there are many runs: the same evidence, in rows that stay readable and bytes that do not grow with the square."""

from __future__ import annotations

from .site import Site

FEW = 12
"""So many runs, or devices with a map, have a place each in the navigation and a column each in the matrix of claims; with more a screen of 1,440 px is full."""


def many(site: Site) -> bool:
    """Whether shared pages count runs and let the reader choose, where they name each one otherwise."""
    return max(len(site.rows), len({*(one.slug for one in site.maps), *(one.slug for one in site.folders)})) > FEW
