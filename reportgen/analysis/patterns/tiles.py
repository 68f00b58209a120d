"""How many FLOP a fused kernel does that skips the tiles which lie wholly behind the causal mask.

Such a kernel walks, for each tile of queries, over the tiles of keys up to the diagonal. The tiles on the
diagonal are computed whole, masked pairs included, so the count lies a little above that of the visible
pairs, the more so the larger the tile.
"""

from __future__ import annotations

from math import ceil

from ...hardware.kernel_names import Tile
from ...run.workload import Workload


def tiled_flop(workload: Workload, size: Tile) -> int:
    """FLOP of both matmuls over every tile that holds at least one visible pair.

    >>> from reportgen.run.workload import ARTICLE
    >>> tiled_flop(ARTICLE, Tile(128, 128)), tiled_flop(ARTICLE, Tile(64, 64))
    (19327352832, 18253611008)
    """
    rows, keys = size
    length = workload.sequence
    blocks = range(ceil(length / rows))
    columns = [ceil(min((block + 1) * rows, length) / keys) if workload.causal else ceil(length / keys) for block in blocks]
    return 4 * workload.batch * workload.heads * workload.head_dim * rows * keys * sum(columns)


SIDES = (32, 64, 128, 256)
"""Rows and keys of the tiles that `fitting` tries."""


def fitting(workload: Workload, flop: float) -> tuple[Tile, ...]:
    """The tiles (each side one of `SIDES`) whose count is exactly this.

    >>> from reportgen.run.workload import ARTICLE
    >>> [(tile.queries, tile.keys) for tile in fitting(ARTICLE, 19327352832)]
    [(32, 128), (64, 128), (128, 32), (128, 64), (128, 128)]
    """
    return tuple(size for size in (Tile(rows, keys) for rows in SIDES for keys in SIDES) if tiled_flop(workload, size) == flop)
