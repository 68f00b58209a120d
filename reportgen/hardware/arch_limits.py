"""What one streaming multiprocessor (SM) can hold, per compute capability.

Sources. Warps, blocks and shared memory per SM, registers and the reserved kilobyte:
`cuda/__device/arch_traits.h` of NVIDIA's CCCL 3.3 (Apache-2.0, wheel `nvidia-cuda-cccl`).
The same values, and the largest shared memory a block may ask for: CUDA C++ Programming Guide,
"Compute Capabilities", table "Technical Specifications per Compute Capability". Allocation units
(registers in 256s per warp, shared memory in 128s or 256s of bytes, four SM sub-partitions):
CUDA occupancy calculator, as documented in the Nsight Compute guide; Nsight Compute's own
`launch__*` metrics confirm them on compute capability 9.0.

ROCm devices may report a capability that looks like one of these. The table is NVIDIA's only.
"""

from __future__ import annotations

from dataclasses import dataclass

KIB = 1024
WARP = 32
"""Threads of a warp."""
DEFAULT_SHARED_MEMORY = 48 * KIB
"""Bytes of shared memory that a block may use without opting in to more."""
CCCL = "CCCL cuda/__device/arch_traits.h"


@dataclass(frozen=True)
class SmLimits:
    """One SM's room. Sizes in bytes; registers are 32-bit.

    shared_memory: per SM, at its largest carve-out; shared_memory_optin: the most one block may use
    reserved_shared_memory: kept by the driver per block, on top of what the kernel asks for
    shared_memory_unit, register_unit: allocation granularity, bytes per block and registers per warp
    partitions: sub-partitions that share the registers evenly and take whole warps
    """

    compute_capability: str
    warps: int
    blocks: int
    shared_memory: int
    shared_memory_optin: int
    reserved_shared_memory: int
    shared_memory_unit: int
    registers: int = 65536
    registers_per_block: int = 65536
    registers_per_thread: int = 255
    register_unit: int = 256
    partitions: int = 4
    threads_per_block: int = 1024
    source: str = CCCL


def _row(capability: str, warps: int, blocks: int, shared_kib: int, *, optin_kib: int | None = None, reserved: int = KIB, unit: int = 128) -> SmLimits:
    """Since 8.0 a block may use all shared memory but the reserved kilobyte."""
    optin = shared_kib - reserved // KIB if optin_kib is None else optin_kib
    return SmLimits(capability, warps, blocks, shared_kib * KIB, optin * KIB, reserved, unit)


LIMITS: dict[str, SmLimits] = {
    row.compute_capability: row
    for row in (
        _row("7.0", 64, 32, 96, reserved=0, unit=256),
        _row("7.5", 32, 16, 64, reserved=0, unit=256),
        _row("8.0", 64, 32, 164),
        _row("8.6", 48, 16, 100),
        _row("8.7", 48, 16, 164),
        _row("8.8", 48, 16, 100),
        _row("8.9", 48, 24, 100),
        _row("9.0", 64, 32, 228),
        _row("10.0", 64, 32, 228),
        _row("10.3", 64, 32, 228),
        _row("10.7", 32, 16, 228),
        _row("11.0", 48, 24, 228),
        _row("12.0", 48, 24, 100),
        _row("12.1", 48, 24, 100),
    )
}


def limits(compute_capability: str | None) -> SmLimits | None:
    """The SM of `9.0`, or `None` where this table does not know it."""
    return LIMITS.get(compute_capability) if compute_capability else None
