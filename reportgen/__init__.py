"""Turns profiled attention variants into a site that is true of the device they ran on.

The rooms, in the order in which they may import one another, are listed in DESIGN.md.
"""

__version__ = "0.1.0"
