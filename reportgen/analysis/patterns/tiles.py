"""How many FLOP a fused kernel does that skips the tiles which lie wholly behind the causal mask.

Such a kernel walks, for each tile of queries, over the tiles of keys up to the diagonal. The tiles on the
diagonal are computed whole, masked pairs included, so the count lies a little above that of the visible
pairs, the more so the larger the tile.
"""

from __future__ import annotations

import re
from math import ceil

from ...hardware.kernel_names import KernelName
from ...run.workload import Workload

Tile = tuple[int, int]
_ONE = re.compile(r"tile:? (\d+)(?: queries)? × (\d+)")


def tile(name: KernelName | None) -> Tile | None:
    """(queries, keys) of a tile as the kernel's name tells them, or `None` where it does not."""
    if name is None:
        return None
    named = {part.meaning: part.text for part in name.parts}
    if {"query rows in a tile", "keys in a tile"} <= named.keys():
        return int(named["query rows in a tile"]), int(named["keys in a tile"])
    found = next((match for part in name.parts if (match := _ONE.match(part.meaning))), None)
    return (int(found[1]), int(found[2])) if found else None


def tiled_flop(workload: Workload, size: Tile) -> int:
    """FLOP of both matmuls over every tile that holds at least one visible pair.

    >>> from reportgen.run.workload import ARTICLE
    >>> tiled_flop(ARTICLE, (128, 128)), tiled_flop(ARTICLE, (64, 64))
    (19327352832, 18253611008)
    """
    rows, keys = size
    length = workload.sequence
    blocks = range(ceil(length / rows))
    columns = [ceil(min((block + 1) * rows, length) / keys) if workload.causal else ceil(length / keys) for block in blocks]
    return 4 * workload.batch * workload.heads * workload.head_dim * rows * keys * sum(columns)
