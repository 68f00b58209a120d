"""Where what lies beside SDPA's backends is measured: a few calls, in a file of their own with the form of the map's."""

from __future__ import annotations

from collections.abc import Iterator

from .call import Call, Mask

EXTRAS_FILE = "extras.jsonl"
MASKS: tuple[Mask, ...] = ("causal", "window", "none")


def points(gpu: bool) -> list[Call]:
    """Every call once, the most telling ones first. A CPU gets two small ones."""
    return list(_on_a_gpu() if gpu else (Call(1, 4, 4, 256, 256, 64, 64, mask=mask) for mask in ("causal", "none")))


def _on_a_gpu() -> Iterator[Call]:
    for length, batch in ((2048, 8), (8192, 2)):
        for head_dim in (128, 64):
            yield from (Call(batch, 2048 // head_dim, 2048 // head_dim, length, length, head_dim, head_dim, mask=mask) for mask in MASKS)
    yield from (Call(8, 16, 16, 2048, 2048, 128, 128, mask=mask, gradients=True) for mask in MASKS)
