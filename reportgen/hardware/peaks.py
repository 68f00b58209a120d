"""Datasheet peaks by exact product name, each with its source. Limits per architecture are in `arch_limits`."""

from __future__ import annotations

from dataclasses import dataclass

from ..run import DeviceRecord


@dataclass(frozen=True)
class Peaks:
    """What the vendor's datasheet promises: dense, FP32 accumulate, boost clock.

    matmul_flop_per_s: 16-bit Tensor Core (Matrix Core) rate, FLOP/s
    fp32_flop_per_s: FP32 outside Tensor Cores, FLOP/s
    memory_bytes_per_s: bytes/s
    """

    matmul_flop_per_s: float
    fp32_flop_per_s: float
    memory_bytes_per_s: float
    source: str


def _peaks(matmul_tflops: float, fp32_tflops: float, memory_gb_s: float, source: str) -> Peaks:
    return Peaks(matmul_tflops * 1e12, fp32_tflops * 1e12, memory_gb_s * 1e9, source)


PEAKS: dict[str, Peaks] = {
    "Tesla T4": _peaks(65, 8.1, 320, "NVIDIA T4 datasheet"),
    "Tesla V100-SXM2-16GB": _peaks(125, 15.7, 900, "NVIDIA V100 datasheet"),
    "Tesla V100-SXM2-32GB": _peaks(125, 15.7, 900, "NVIDIA V100 datasheet"),
    "NVIDIA A100-SXM4-40GB": _peaks(312, 19.5, 1555, "NVIDIA A100 datasheet"),
    "NVIDIA A100-SXM4-80GB": _peaks(312, 19.5, 2039, "NVIDIA A100 datasheet"),
    "NVIDIA A100 80GB PCIe": _peaks(312, 19.5, 1935, "NVIDIA A100 datasheet"),
    "NVIDIA L4": _peaks(121, 30.3, 300, "NVIDIA L4 datasheet, without sparsity"),
    "NVIDIA L40S": _peaks(362, 91.6, 864, "NVIDIA L40S datasheet, without sparsity"),
    "NVIDIA GeForce RTX 4090": _peaks(165.2, 82.6, 1008, "NVIDIA Ada GPU architecture whitepaper, FP16 with FP32 accumulate"),
    "NVIDIA H100 80GB HBM3": _peaks(989.4, 66.9, 3352, "NVIDIA H100 datasheet (SXM), without sparsity"),
    "NVIDIA H100 PCIe": _peaks(756, 51.2, 2039, "NVIDIA H100 datasheet (PCIe), without sparsity"),
    "NVIDIA H200": _peaks(989.4, 66.9, 4800, "NVIDIA H200 datasheet (SXM), without sparsity"),
    "NVIDIA B200": _peaks(2250, 75, 8000, "NVIDIA Blackwell architecture brief, without sparsity"),
    "AMD Instinct MI300X": _peaks(1307.4, 163.4, 5300, "AMD Instinct MI300X datasheet, without sparsity"),
}


def peaks(device: DeviceRecord) -> Peaks | None:
    """The datasheet's rates, or `None` for an unknown name or a slice of a device (MIG)."""
    return None if device.mig_profile else PEAKS.get(device.name)
