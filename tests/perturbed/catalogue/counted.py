"""Hardware counters, memory and ceilings: other amounts, halves, none."""

from __future__ import annotations

from typing import Any

from .. import states
from ..recorded import FUSED, Traces
from ..registry import perturbation

READ, WRITTEN, TENSOR = "dram__bytes_read.sum", "dram__bytes_write.sum", "sm__ops_path_tensor_src_bf16_dst_fp32.sum"


def _rows(run: dict[str, Any], *names: str) -> list[dict[str, Any]]:
    return [row for name in names for row in run["counters"]["variants"][name]]


def _score_bytes(run: dict[str, Any]) -> int:
    sizes = run["workload"]
    return 2 * sizes["batch"] * sizes["heads"] * sizes["sequence"] ** 2


@perturbation("counters")
def no_counters(run: dict[str, Any], traces: Traces) -> None:
    """The driver keeps hardware counters to administrators."""
    states.no_counters(run, "the driver keeps hardware counters to administrators (ERR_NVGPUCTRPERM); run as root")


@perturbation("counters")
def half_the_counters(run: dict[str, Any], traces: Traces) -> None:
    """The counter tool saw nothing of math, efficient and cuDNN."""
    for name in ("sdpa_math", "sdpa_efficient", "sdpa_cudnn"):
        del run["counters"]["variants"][name]


@perturbation("counters")
def counters_of_other_kernels(run: dict[str, Any], traces: Traces) -> None:
    """The counter tool saw another kernel of flash's than the trace."""
    for row in _rows(run, "sdpa_flash"):
        row["kernel"] = "void pytorch_flash::another_kernel<int>(int)"


@perturbation("counters")
def counters_without_operations(run: dict[str, Any], traces: Traces) -> None:
    """This chip has no counter for operations on Tensor Cores."""
    for row in _rows(run, *run["counters"]["variants"]):
        row["metrics"][TENSOR] = None
    run["counters"]["missing"] = [TENSOR]


@perturbation("B6", "C")
def flash_allocates_scores(run: dict[str, Any], traces: Traces) -> None:
    """Flash's peak memory is the operands and the whole score matrix, and its kernel writes that much to DRAM."""
    run["variants"]["sdpa_flash"]["peak_memory_bytes"] += _score_bytes(run)
    for row in _rows(run, "sdpa_flash"):
        row["metrics"][WRITTEN] += _score_bytes(run)
        row["metrics"][READ] += _score_bytes(run)


@perturbation("C")
def flash_moves_as_much_as_naive(run: dict[str, Any], traces: Traces) -> None:
    """Flash allocates no score matrix, and its kernel moves as much through DRAM as naive's five do."""
    rows = _rows(run, "naive")
    for row in _rows(run, "sdpa_flash"):
        row["metrics"][READ] = sum(each["metrics"][READ] for each in rows)
        row["metrics"][WRITTEN] = sum(each["metrics"][WRITTEN] for each in rows)


@perturbation("C")
def fused_do_the_square(run: dict[str, Any], traces: Traces) -> None:
    """The fused kernels compute the whole square, tiles that the mask removes included."""
    sizes = run["workload"]
    for row in _rows(run, *FUSED):
        row["metrics"][TENSOR] = 4 * sizes["batch"] * sizes["heads"] * sizes["sequence"] ** 2 * sizes["head_dim"]


@perturbation("C")
def one_does_the_square(run: dict[str, Any], traces: Traces) -> None:
    """Efficient computes the whole square; flash and cuDNN skip what the mask removes."""
    sizes = run["workload"]
    for row in _rows(run, "sdpa_efficient"):
        row["metrics"][TENSOR] = 4 * sizes["batch"] * sizes["heads"] * sizes["sequence"] ** 2 * sizes["head_dim"]


@perturbation("C")
def no_ceilings(run: dict[str, Any], traces: Traces) -> None:
    """Neither copy nor matmul ceilings could be measured."""
    run["ceilings"] = None


@perturbation("D", contrived=True)
def ceilings_too_low(run: dict[str, Any], traces: Traces) -> None:
    """Another process slowed the ceilings down: steps of the run reach several times as much."""
    run["ceilings"].update(copy_bytes_per_s=4e11, matmul_flop_per_s=4e13, fp32_flop_per_s=2e12)


@perturbation("A4")
def no_peak_memory(run: dict[str, Any], traces: Traces) -> None:
    """No variant's peak memory could be read, in a run made now."""
    for entry in run["variants"].values():
        entry["peak_memory_bytes"] = None


@perturbation("A4")
def memory_probe_failed(run: dict[str, Any], traces: Traces) -> None:
    """Flash's and in place's peak memory could not be read; the others' could."""
    for name in ("sdpa_flash", "naive_inplace"):
        run["variants"][name]["peak_memory_bytes"] = None


@perturbation("ledger inplace-memory")
def inplace_saves_memory(run: dict[str, Any], traces: Traces) -> None:
    """In place holds one score matrix less."""
    run["variants"]["naive"]["peak_memory_bytes"] = 3 * _score_bytes(run)
    run["variants"]["naive_inplace"]["peak_memory_bytes"] = 2 * _score_bytes(run)


@perturbation("hbm")
def cache_unknown(run: dict[str, Any], traces: Traces) -> None:
    """Nobody tells how large the L2 is."""
    run["device"]["l2_cache_bytes"] = None
