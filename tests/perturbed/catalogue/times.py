"""Other times: ties, other winners, borders. Everything else is as recorded."""

from __future__ import annotations

from typing import Any

from .. import recorded, samples, shapes
from ..recorded import SIX, Traces
from ..registry import perturbation
from ..samples import US, around

BACKWARD = tuple(reversed(samples.WIGGLE))
"""The same seven processes in another order: beside `WIGGLE` they lie on both sides of one."""


def _alike(run: dict[str, Any], traces: Traces, us: float, *names: str) -> None:
    """The same GPU time; ratios lie on both sides of one."""
    samples.on_gpu(run, traces, **dict.fromkeys(names, us))
    for place, name in enumerate(names):
        shifts = [samples.WIGGLE, BACKWARD, samples.WIGGLE[3:] + samples.WIGGLE[:3]][place % 3]
        samples.of(run, name)["gpu_time"] = around(us, shifts)


@perturbation("baseline", older=recorded.run()["schema_version"] == 1)
def as_recorded(run: dict[str, Any], traces: Traces) -> None:
    """Nothing is changed."""


@perturbation("B5", "B6")
def all_equal(run: dict[str, Any], traces: Traces) -> None:
    """All six take 500 µs on the GPU and 20 µs on the CPU."""
    _alike(run, traces, 500, *SIX)
    samples.host(run, **dict.fromkeys(SIX, 20))
    for place, name in enumerate(SIX):
        samples.of(run, name)["host_time"] = around(20, BACKWARD if place % 2 else samples.WIGGLE)


@perturbation("B5")
def fused_tied(run: dict[str, Any], traces: Traces) -> None:
    """The three fused backends take 90 µs each."""
    _alike(run, traces, 90, "sdpa_efficient", "sdpa_flash", "sdpa_cudnn")


@perturbation("B5")
def flash_cudnn_tied(run: dict[str, Any], traces: Traces) -> None:
    """Flash and cuDNN take 92 µs each; efficient takes 177 µs."""
    _alike(run, traces, 92, "sdpa_flash", "sdpa_cudnn")


@perturbation("A1")
def two_dots_near(run: dict[str, Any], traces: Traces) -> None:
    """Flash takes 92 µs, efficient 95 µs: two points that nearly cover each other in the roofline, with numbers of their own."""
    samples.on_gpu(run, traces, sdpa_flash=92, sdpa_efficient=95)


@perturbation("B5")
def winner_tied_with_efficient(run: dict[str, Any], traces: Traces) -> None:
    """Efficient's median lies 0.2 µs below cuDNN's, which torch picks: too little to tell."""
    samples.on_gpu(run, traces, sdpa_efficient=58.4, sdpa_cudnn=58.6)


@perturbation("ledger flash-fastest")
def flash_fastest(run: dict[str, Any], traces: Traces) -> None:
    """Flash takes 40 µs and cuDNN 60 µs, as the article has it; torch still picks cuDNN."""
    samples.on_gpu(run, traces, sdpa_flash=40, sdpa_cudnn=60)


@perturbation("B6", "D")
def naive_fastest(run: dict[str, Any], traces: Traces) -> None:
    """Naive, copy and all, takes 20 µs: less than everything, in place (900 µs) included."""
    samples.on_gpu(run, traces, naive=20, naive_inplace=900)
    samples.host(run, naive=15)


@perturbation("B6", "D")
def inplace_slower(run: dict[str, Any], traces: Traces) -> None:
    """In place takes 1,200 µs, naive 1,050 µs."""
    samples.on_gpu(run, traces, naive=1050, naive_inplace=1200)


@perturbation("ledger memcpy-inplace-removes")
def inplace_tied(run: dict[str, Any], traces: Traces) -> None:
    """Naive and naive in place take 1,000 µs each, although the copy is gone."""
    _alike(run, traces, 1000, "naive", "naive_inplace")


@perturbation("B5", "B6")
def fused_slower_than_naive(run: dict[str, Any], traces: Traces) -> None:
    """Naive takes 40 µs, in place 36 µs; every SDPA backend takes longer."""
    samples.on_gpu(run, traces, naive=40, naive_inplace=36)
    samples.host(run, naive=25, naive_inplace=22)


@perturbation("C", "ledger math-slower")
def math_faster(run: dict[str, Any], traces: Traces) -> None:
    """Math takes 500 µs, in place 928 µs."""
    samples.on_gpu(run, traces, sdpa_math=500, naive_inplace=928)


@perturbation("ledger math-3.7x")
def math_as_published(run: dict[str, Any], traces: Traces) -> None:
    """Math takes 3.7 times what in place takes."""
    samples.on_gpu(run, traces, naive_inplace=928, sdpa_math=3433.6)


@perturbation("ledger math-3.7x")
def math_across_the_border(run: dict[str, Any], traces: Traces) -> None:
    """The ratio runs from 4.1 to 4.4 over the processes; 3.7 + 15 % is 4.255."""
    samples.on_gpu(run, traces, naive_inplace=1000, sdpa_math=4250)
    samples.of(run, "naive_inplace")["gpu_time"] = [1000 * US] * 7
    samples.of(run, "sdpa_math")["gpu_time"] = [us * US for us in (4100, 4200, 4250, 4300, 4400, 4240, 4260)]


@perturbation("ledger cudnn-gpu-between")
def cudnn_between(run: dict[str, Any], traces: Traces) -> None:
    """Flash 92 µs, cuDNN 130 µs, efficient 177 µs: the article's order."""
    samples.on_gpu(run, traces, sdpa_flash=92, sdpa_cudnn=130, sdpa_efficient=177)


@perturbation("ledger cudnn-gpu-between")
def cudnn_above_both(run: dict[str, Any], traces: Traces) -> None:
    """cuDNN takes 250 µs, more than flash and efficient."""
    samples.on_gpu(run, traces, sdpa_flash=92, sdpa_efficient=177, sdpa_cudnn=250)


@perturbation("ledger cudnn-cpu-cost")
def cudnn_cheapest_call(run: dict[str, Any], traces: Traces) -> None:
    """A call of cuDNN costs the CPU 10 µs, less than the other two."""
    samples.host(run, sdpa_cudnn=10, sdpa_efficient=15, sdpa_flash=21)


@perturbation("D")
def two_cost_more(run: dict[str, Any], traces: Traces) -> None:
    """Flash and efficient both cost the CPU more than cuDNN."""
    samples.host(run, sdpa_cudnn=20, sdpa_efficient=40, sdpa_flash=45)


@perturbation("A2")
def ratios_of_medians(run: dict[str, Any], traces: Traces) -> None:
    """cuDNN and flash drift together: the median of the paired ratios is 1.50, the ratio of the medians 1.67."""
    samples.on_gpu(run, traces, sdpa_cudnn=70, sdpa_flash=117)
    samples.of(run, "sdpa_cudnn")["gpu_time"] = [us * US for us in (40, 50, 60, 70, 80, 90, 100)]
    samples.of(run, "sdpa_flash")["gpu_time"] = [us * US for us in (120, 140, 90, 112, 112, 117, 120)]


@perturbation("A2")
def math_ratio_of_medians(run: dict[str, Any], traces: Traces) -> None:
    """The same for math and in place: the paired ratios' median is 4.00, the ratio of the medians 5.00."""
    samples.on_gpu(run, traces, naive_inplace=1000, sdpa_math=5000)
    samples.of(run, "naive_inplace")["gpu_time"] = [us * US for us in (700, 800, 900, 1000, 1250, 1500, 1600)]
    samples.of(run, "sdpa_math")["gpu_time"] = [us * US for us in (7000, 7200, 3600, 4000, 5000, 4500, 6400)]


@perturbation("B4")
def bimodal(run: dict[str, Any], traces: Traces) -> None:
    """Another tenant takes the GPU away for whole processes: those of one variant lie up to 600 times apart."""
    slowed = {"naive_inplace": (60, 60, 60, 60, 1, 600, 60), "sdpa_efficient": (60, 60, 60, 60, 1, 1, 600),
              "sdpa_flash": (1, 1, 600, 1, 600, 600, 1), "sdpa_cudnn": (600, 600, 60, 60, 60, 1, 1)}
    for name, factors in slowed.items():
        for quantity in ("gpu_time", "gpu_time_cold", "wall_time", "host_time"):
            found = samples.of(run, name)
            found[quantity] = [seconds * factor for seconds, factor in zip(found[quantity], factors)]


def _loose_ends(noise: dict[str, Any]) -> None:
    noise["ratios"]["host_time"]["sdpa_cudnn/sdpa_efficient"] = 0.9


@perturbation("B4", floor=_loose_ends)
def host_pair_floor(run: dict[str, Any], traces: Traces) -> None:
    """Efficient and cuDNN move by 90 % against each other between runs; flash and cuDNN, and flash and efficient, do not."""
    samples.host(run, sdpa_efficient=15, sdpa_flash=20, sdpa_cudnn=26)


@perturbation("D", contrived=True)
def below_the_floor(run: dict[str, Any], traces: Traces) -> None:
    """cuDNN takes 10 µs, less than the operands need at this run's own copy ceiling (16 µs): one of the two is wrong."""
    samples.on_gpu(run, traces, sdpa_cudnn=10)
    samples.host(run, sdpa_cudnn=8)


@perturbation("B5")
def compiled_fastest(run: dict[str, Any], traces: Traces) -> None:
    """The compiled variant, which is in no verdict, takes 30 µs."""
    samples.on_gpu(run, traces, naive_compiled=30)


@perturbation("A5", "B6", "C")
def launch_bound(run: dict[str, Any], traces: Traces) -> None:
    """A small workload: the GPU is done before Python has queued the next call, so every eager loop takes 100 µs."""
    shapes.workload(run, traces, "small", batch=1, heads=4, sequence=256, head_dim=64)
    samples.on_gpu(run, traces, naive=25, naive_inplace=20, sdpa_math=60, sdpa_efficient=8, sdpa_flash=6, sdpa_cudnn=5, naive_compiled=10)
    samples.host(run, **dict.fromkeys(SIX, 100))
    for place, name in enumerate(SIX):
        samples.of(run, name)["wall_time"] = around(101, BACKWARD if place % 2 else samples.WIGGLE)


@perturbation("front page, other clocks")
def wall_order_differs(run: dict[str, Any], traces: Traces) -> None:
    """cuDNN leads on the GPU; called from Python it takes 150 µs, because a call keeps the CPU that long."""
    samples.host(run, sdpa_cudnn=149)


@perturbation("front page, other clocks")
def cold_order_differs(run: dict[str, Any], traces: Traces) -> None:
    """With cold caches flash takes 60 µs and cuDNN 100 µs."""
    samples.of(run, "sdpa_flash")["gpu_time_cold"] = around(60)
    samples.of(run, "sdpa_cudnn")["gpu_time_cold"] = around(100)


def _chains(run: dict[str, Any], naive: tuple[float, float], inplace: tuple[float, float]) -> None:
    """Microseconds of 1 and 24 chained forwards."""
    for name, (one, many) in (("naive", naive), ("naive_inplace", inplace)):
        run["probes"]["saving_accumulates"][name] = {"1": around(one), "24": around(many)}


@perturbation("D")
def saving_negative_deep(run: dict[str, Any], traces: Traces) -> None:
    """One layer in place saves 127 µs; in a chain of 24 in place is 30 µs a layer slower."""
    _chains(run, (1055, 24000), (928, 24720))


@perturbation("ledger saving-accumulates")
def saving_less_deep(run: dict[str, Any], traces: Traces) -> None:
    """One layer in place saves 127 µs; in a chain of 24 it saves 60 µs a layer."""
    _chains(run, (1055, 25000), (928, 23560))


@perturbation("ledger saving-accumulates")
def chains_not_timed(run: dict[str, Any], traces: Traces) -> None:
    """No chain of forwards could be captured."""
    run["probes"]["saving_accumulates"] = {"reason": "chains of forwards could not be timed"}
