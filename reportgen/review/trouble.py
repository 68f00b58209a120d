"""Why something from elsewhere cannot be merged."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from ..errors import ReportError


class Trouble(Enum):
    """The value is what to do about it, in the order in which it is said."""

    DAMAGED = "fetch what is damaged again"
    ANOTHER_RUN = "give one run per slot (`LABEL=` keeps a second one)"
    ANOTHER_MAP = "give one map per device"
    ANOTHER_GPU = "record it in this checkout, where it gets a place of its own, or with a LABEL"
    WOULD_REPLACE = "look at `make diff BASE=SLOT HEAD=RUN`, then replace it with `make merge … ACCEPT=1`"
    WOULD_REPLACE_MAP = "replace a map, or what lies beside it, with `make merge … ACCEPT=1`"


class NothingMerged(ReportError):
    """Something cannot be merged, so nothing was; each has its line."""

    def __init__(self, problems: Sequence[tuple[Trouble, str]]) -> None:
        kinds = {trouble for trouble, _ in problems}
        super().__init__("\n  ".join(["nothing was merged", *(line for _, line in problems)]), cure="; ".join(one.value for one in Trouble if one in kinds))
