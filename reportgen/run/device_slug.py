"""A device's folder below `docs/runs/`: what it is called, and what tells it from another of that name.

The slug follows from the device alone, so that one machine has one place. Two different GPUs that are sold under one name
get two places: the one that is recorded keeps the plain one, and `distinct` names what the other has instead.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

LONGEST = 64
STOCK_MEMORY_GIB = {
    "NVIDIA GeForce RTX 2080 Ti": 11,
    "NVIDIA GeForce RTX 3050": 8,
    "NVIDIA GeForce RTX 3060": 12,
    "NVIDIA GeForce RTX 3080": 10,
    "NVIDIA GeForce RTX 4060 Ti": 8,
    "NVIDIA GeForce RTX 4080 SUPER": 16,
    "NVIDIA GeForce RTX 4090": 24,
    "NVIDIA GeForce RTX 5060 Ti": 16,
    "NVIDIA H20": 96,
}
"""Products known with several memory sizes under one name, and the size that the slug leaves out."""
SAME_MEMORY = 0.1
"""Relative difference of memory that one GPU shows: ECC takes a sixteenth of it, drivers some MiB."""
_MOBILE = re.compile(r"laptop|max-q|mobile", re.IGNORECASE)


def words(text: str) -> str:
    """`text` as lower-case words with dashes between them, at most 64 characters; empty where nothing is left.

    >>> words("NVIDIA GeForce RTX 4060 Ti"), words("測試卡"), words("..")
    ('nvidia-geforce-rtx-4060-ti', '', '')
    """
    return re.sub(r"[^a-z0-9.]+", "-", text.lower()).strip("-.")[:LONGEST].strip("-.")


def gpu_slug(
    name: str,
    kind: str = "cuda",
    *,
    compute_capability: str | None = None,
    gfx: str | None = None,
    sm_count: int | None = None,
    memory_bytes: int | None = None,
    power_limit_watts: float | None = None,
    default_power_limit_watts: float | None = None,
    mig: str | None = None,
) -> str:
    """A GPU's slug: its name, and what is not stock.

    A name without a digit (`AMD Radeon Graphics`) is no product, so the architecture and the number of multiprocessors are
    added; an empty one, or one without Latin letters, is `gpu` with them. Memory is named only for a product that is sold with several sizes, when
    it is not the usual one; the power limit that somebody has set when it is more than 1 W from the default, but never of a
    laptop's GPU, whose limit moves by itself; a MIG profile always.

    >>> gpu_slug("NVIDIA H200", power_limit_watts=600, default_power_limit_watts=700)
    'nvidia-h200-600w'
    """
    known = words(name)
    parts = [known or f"gpu-{kind}"]
    if not re.search(r"\d", known):
        parts += [*([words(gfx or compute_capability or "")] if gfx or compute_capability else []), *([f"{sm_count}sm"] if sm_count else [])]
    stock = STOCK_MEMORY_GIB.get(name)
    if mig is None and memory_bytes is not None and stock is not None and abs(memory_bytes / 2**30 / stock - 1) > SAME_MEMORY:
        parts.append(f"{round(memory_bytes / 2**30)}gb")
    if power_limit_watts is not None and default_power_limit_watts is not None and not moving_limit(name) \
            and abs(power_limit_watts - default_power_limit_watts) > 1:
        parts.append(f"{round(power_limit_watts)}w")
    if mig is not None:
        parts.append(f"mig-{words(mig)}")
    return "-".join(parts)


def moving_limit(name: str) -> bool:
    """True for a GPU whose power limit the driver moves with the load, as in laptops."""
    return bool(_MOBILE.search(name))


def cpu_slug(name: str) -> str:
    """`cpu-` and the processor's name without trade marks, clock and core count.

    >>> cpu_slug("Intel(R) Xeon(R) Platinum 8480C CPU @ 2.00GHz"), cpu_slug("AMD EPYC 9654 96-Core Processor")
    ('cpu-intel-xeon-platinum-8480c', 'cpu-amd-epyc-9654')
    """
    plain = re.sub(r"\((?:R|TM|C)\)|\bCPU\b|@.*$|\b\d+-Core\b|\bProcessor\b|\bwith\b.*$", " ", name, flags=re.IGNORECASE)
    return f"cpu-{words(plain) or 'unknown'}"


def distinct(device: Mapping[str, Any], recorded: Iterable[Mapping[str, Any]]) -> str:
    """The slug of `device` beside the GPUs that are recorded: its own, or with what it has instead of the one there.

    Args:
        device, recorded: the fields of `run.DeviceRecord`.

    >>> stock = {"kind": "cuda", "slug": "nvidia-x1", "name": "NVIDIA X1", "memory_bytes": 24 * 2**30, "sm_count": 128}
    >>> distinct({**stock, "memory_bytes": 48 * 2**30}, [stock])
    'nvidia-x1-48gb'
    """
    slug = str(device["slug"])
    holder = next((other for other in recorded if other["slug"] == slug), None)
    if holder is None or device.get("mig_profile"):
        return slug
    return "-".join([slug, *differing(device, holder)])


def differing(device: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """What tells `device` from `other` as another GPU: `['gfx1151', '48gb', '114sm']`; what one side does not know is no difference.

    An APU's memory is a share of the host's and is left aside, as `gpu_slug` does where the name is no product.
    """
    parts: list[str] = []
    if device["kind"] == "cpu":
        return parts
    for field in ("gfx", "compute_capability"):
        if _told(device, other, field) and device[field] != other[field]:
            parts.append(words(str(device[field])) if field == "gfx" else f"cc{device[field]}")
    shared = device["kind"] == "rocm" and not re.search(r"\d", device["name"])
    if not shared and _told(device, other, "memory_bytes") and abs(device["memory_bytes"] / other["memory_bytes"] - 1) > SAME_MEMORY:
        parts.append(f"{round(device['memory_bytes'] / 2**30)}gb")
    if _told(device, other, "sm_count") and device["sm_count"] != other["sm_count"]:
        parts.append(f"{device['sm_count']}sm")
    return parts


def _told(device: Mapping[str, Any], other: Mapping[str, Any], field: str) -> bool:
    return bool(device.get(field)) and bool(other.get(field))
