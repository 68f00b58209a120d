"""What a recorded value may be beside its type: ranges and grammars, as metadata of a field's type.

    sm_count: Size | None          # a whole number, 1 or more
    gpu_time: Times                # one time per process, each above 0

A range is generous: it keeps out what no measurement can give (NaN, a negative time, a cache of 10^300
bytes), not what is unlikely.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Union

from ..numbers.statistics import Estimate

LARGEST = 2.0**53
"""No count of bytes, blocks or calls is larger; up to here a float holds every whole number."""


@dataclass(frozen=True)
class Within:
    """A number from `least` to `most`, both included. words: what was expected, for the message."""

    least: float
    most: float
    words: str

    def admits(self, value: Any) -> bool:
        return bool(self.least <= value <= self.most)


@dataclass(frozen=True)
class Grammar:
    """A text that `pattern` matches as a whole. words: what was expected, for the message."""

    pattern: str
    words: str

    def admits(self, value: Any) -> bool:
        return re.fullmatch(self.pattern, value) is not None


@dataclass(frozen=True)
class Known:
    """The names of a mapping that are kept; others are somebody else's and are left out in silence."""

    names: tuple[str, ...]


_TIME = Within(1e-12, 1e6, "seconds above 0")

Count = Annotated[int, Within(0, LARGEST, "a whole number from 0 to 2^53")]
Size = Annotated[int, Within(1, LARGEST, "a whole number from 1 to 2^53")]
Extent = Annotated[int, Within(1, 2**24, "a whole number from 1 to 2^24")]
"""One side of a tensor, so that products of five of them stay within a float."""
Number = Annotated[float, Within(-1e30, 1e30, "a finite number")]
Amount = Annotated[float, Within(0, 1e30, "a finite number, 0 or more")]
Rate = Annotated[float, Within(1.0, 1e30, "a rate per second, 1 or more")]
Share = Annotated[float, Within(0, 1e6, "a share, 0 or more")]
Seconds = Annotated[float, Within(0, 1e6, "seconds, 0 or more")]
Times = Annotated[Estimate, _TIME]
Capability = Annotated[str, Grammar(r"\d{1,3}\.\d{1,2}", "a compute capability, as '9.0'")]
Triple = tuple[Count, Count, Count]
Leaf = Union[None, bool, Number, str]
Setting = Union[None, bool, Number, str, tuple[Leaf, ...]]
Dtype = Literal["bfloat16", "float16", "float32"]
