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
    """A number from `least` to `most`, both included, or 0 where `zero` says so. words: what was expected, for the message."""

    least: float
    most: float
    words: str
    zero: bool = False

    def admits(self, value: Any) -> bool:
        return bool(self.least <= value <= self.most or (self.zero and value == 0))


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


_LEAST = 1e-12
"""Nothing that a clock, a counter or an error gives is smaller but 0; so no quotient of two of them overflows."""

Count = Annotated[int, Within(0, LARGEST, "a whole number from 0 to 2^53")]
Size = Annotated[int, Within(1, LARGEST, "a whole number from 1 to 2^53")]
Few = Annotated[int, Within(0, 2**31, "a whole number from 0 to 2^31")]
Extent = Annotated[int, Within(1, 2**24, "a whole number from 1 to 2^24")]
"""One side of a tensor, so that products of five of them stay within a float."""
Number = Annotated[float, Within(-1e30, 1e30, "a finite number")]
Amount = Annotated[float, Within(_LEAST, 1e30, "a finite number, 0 or more", zero=True)]
Watts = Annotated[float, Within(0, 1e6, "watts from 0 to 10^6")]
Megahertz = Annotated[float, Within(0, 1e6, "megahertz from 0 to 10^6")]
Celsius = Annotated[float, Within(-274, 1e4, "a temperature in °C")]
Percentage = Annotated[float, Within(-1000, 1000, "a percentage")]
"""An occupancy as the profiler writes it: below 0 it has none, and above 100 it errs."""
Rate = Annotated[float, Within(1e5, 1e30, "a rate per second, 10^5 or more")]
Share = Annotated[float, Within(0, 1e6, "a share, 0 or more")]
Seconds = Annotated[float, Within(0, 1e6, "seconds, 0 or more")]
Times = Annotated[Estimate, Within(_LEAST, 1e6, "seconds above 0")]
Line = Annotated[str, Grammar(r"[^\x00-\x1f]*[^\x00-\x1f\s][^\x00-\x1f]*", "one line of text")]
Capability = Annotated[str, Grammar(r"\d{1,3}\.\d{1,2}", "a compute capability, as '9.0'")]
Triple = tuple[Few, Few, Few]
Leaf = Union[None, bool, Number, str]
Setting = Union[None, bool, Number, str, tuple[Leaf, ...]]
Dtype = Literal["bfloat16", "float16", "float32"]
