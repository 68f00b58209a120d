"""What became of a variant: wrong, refused, failed, not asked for, not timed, timed another way, not known yet."""

from __future__ import annotations

from typing import Any

from .. import samples, states
from ..recorded import COMPILED, Traces
from ..registry import perturbation


def _default(run: dict[str, Any], name: str, op: str | None = None) -> None:
    run["probes"]["default_backend"] = {"name": name, "op": op or f"aten::_scaled_dot_product_{name}_attention"}


@perturbation("B1")
def wrong_default(run: dict[str, Any], traces: Traces) -> None:
    """cuDNN, which torch picks unpinned, is off by 0.3 where 0.0048 is allowed."""
    states.wrong(run, traces, "sdpa_cudnn", 0.3)


@perturbation("B1")
def wrong_default_not_finite(run: dict[str, Any], traces: Traces) -> None:
    """cuDNN, which torch picks unpinned, gives NaN."""
    states.wrong(run, traces, "sdpa_cudnn", None)


@perturbation("B1")
def wrong_flash(run: dict[str, Any], traces: Traces) -> None:
    """Flash is off by 0.3; torch picks cuDNN, which is right."""
    states.wrong(run, traces, "sdpa_flash", 0.3)


@perturbation("B1")
def wrong_inplace(run: dict[str, Any], traces: Traces) -> None:
    """Naive in place is off by 0.3."""
    states.wrong(run, traces, "naive_inplace", 0.3)


@perturbation("B1", older=True)
def old_wrong_default(run: dict[str, Any], traces: Traces) -> None:
    """The same in the words of schema 1, where a wrong result was a failure with a reason."""
    states.wrong(run, traces, "sdpa_cudnn", 0.3, dropped=True)


@perturbation("B1", older=True)
def old_wrong_default_not_finite(run: dict[str, Any], traces: Traces) -> None:
    """Schema 1, and the output was not finite: there is no error to show, only the reason."""
    states.wrong(run, traces, "sdpa_cudnn", None, dropped=True)


@perturbation("B1", contrived=True)
def wrong_but_ok(run: dict[str, Any], traces: Traces) -> None:
    """cuDNN's status is `ok` although its error, 0.3, is beyond the 0.0048 that stands beside it."""
    run["variants"]["sdpa_cudnn"]["relative_error"] = 0.3


@perturbation("B2")
def untimed_winner(run: dict[str, Any], traces: Traces) -> None:
    """cuDNN has no GPU time; its eager loop takes 58.6 µs, less than flash's 92.1 µs on the GPU."""
    states.untimed(run, "sdpa_cudnn")


@perturbation("B2")
def untimed_flash(run: dict[str, Any], traces: Traces) -> None:
    """Flash has no GPU time."""
    states.untimed(run, "sdpa_flash")


@perturbation("B2")
def untimed_efficient(run: dict[str, Any], traces: Traces) -> None:
    """Efficient has no GPU time, and flash (40 µs) beats the rest."""
    samples.on_gpu(run, traces, sdpa_flash=40, sdpa_cudnn=60)
    states.untimed(run, "sdpa_efficient")


@perturbation("B2")
def untimed_loser(run: dict[str, Any], traces: Traces) -> None:
    """Math has no GPU time. Its wall time is 2.61 ms, but nothing says that its kernels take that long."""
    samples.on_gpu(run, traces, sdpa_flash=40, sdpa_cudnn=60)
    states.untimed(run, "sdpa_math")


@perturbation("B2")
def all_untimed(run: dict[str, Any], traces: Traces) -> None:
    """No variant has a GPU time: no graph could be captured, and every queue ran dry."""
    states.untimed(run, "naive", "naive_inplace", "sdpa_math", "sdpa_efficient", "sdpa_flash", "sdpa_cudnn", COMPILED)
    run["probes"]["saving_accumulates"] = {"reason": "chains of forwards could not be timed"}


@perturbation("B2", "C")
def mixed_timers(run: dict[str, Any], traces: Traces) -> None:
    """cuDNN is timed by queued events, everything else by graphs."""
    states.queued(run, "sdpa_cudnn")


@perturbation("B2")
def mixed_timers_flash_fastest(run: dict[str, Any], traces: Traces) -> None:
    """Flash (40 µs by graph) leads; cuDNN takes 60 µs by queued events."""
    samples.on_gpu(run, traces, sdpa_flash=40, sdpa_cudnn=60)
    states.queued(run, "sdpa_cudnn")


@perturbation("C")
def queued_events(run: dict[str, Any], traces: Traces) -> None:
    """Everything is timed by queued events."""
    states.queued(run, "naive", "naive_inplace", "sdpa_math", "sdpa_efficient", "sdpa_flash", "sdpa_cudnn", COMPILED)
    run["probes"]["saving_accumulates"] = {"reason": "chains of forwards could not be timed"}


@perturbation("A3")
def four_of_six(run: dict[str, Any], traces: Traces) -> None:
    """Torch refuses efficient and cuDNN; unpinned it picks flash."""
    states.not_run(run, traces, "sdpa_efficient", "sdpa_cudnn")
    _default(run, "flash")


@perturbation("B5")
def only_flash(run: dict[str, Any], traces: Traces) -> None:
    """`--variants sdpa_flash`: nothing else was asked for; torch picks cuDNN, which was never timed."""
    states.not_asked(run, traces, "naive", "naive_inplace", "sdpa_math", "sdpa_efficient", "sdpa_cudnn", COMPILED)


@perturbation("A4", "B5")
def default_not_asked(run: dict[str, Any], traces: Traces) -> None:
    """Everything but cuDNN was asked for; torch picks cuDNN."""
    states.not_asked(run, traces, "sdpa_cudnn")


@perturbation("A4", older=True)
def old_default_not_asked(run: dict[str, Any], traces: Traces) -> None:
    """Schema 1, where a variant that nobody asked for was unavailable, with that as reason."""
    states.not_asked(run, traces, "sdpa_cudnn")


@perturbation("B5")
def no_fused(run: dict[str, Any], traces: Traces) -> None:
    """Torch refuses the three fused backends and falls back to math."""
    states.not_run(run, traces, "sdpa_efficient", "sdpa_flash", "sdpa_cudnn")
    _default(run, "math", "aten::_scaled_dot_product_attention_math")


@perturbation("B5", "C")
def only_naive(run: dict[str, Any], traces: Traces) -> None:
    """Nothing but naive attention ran."""
    states.not_run(run, traces, "sdpa_math", "sdpa_efficient", "sdpa_flash", "sdpa_cudnn")
    states.failed(run, traces, "naive_inplace", reason="a view of a leaf Variable that requires grad is being used in an in-place operation.")
    states.not_run(run, traces, COMPILED, reason="Cannot find a working triton installation.")
    run["probes"]["default_backend"] = {"reason": states.NO_KERNEL}


@perturbation("A4", "B5", older=True)
def old_run_lacks_variant(run: dict[str, Any], traces: Traces) -> None:
    """Recorded before cuDNN was a variant: the run has no entry of it, and its probe says that torch picks it."""
    states.not_run(run, traces, "sdpa_cudnn")
    del run["variants"]["sdpa_cudnn"]


@perturbation("D")
def out_of_memory(run: dict[str, Any], traces: Traces) -> None:
    """Math ran out of memory; torch's words end with a full stop."""
    states.failed(run, traces, "sdpa_math", reason="CUDA out of memory.")


@perturbation("D")
def hostile_reason(run: dict[str, Any], traces: Traces) -> None:
    """The words of a refusal hold Markdown, HTML, a table's bar and a template's braces."""
    states.failed(run, traces, "sdpa_efficient", reason="see [x](y.md) | <b>bold</b> `code` *star* {ratio} _under_ ![z](w.png) # head.")


HOSTILE = "see [x](y.md) | <b>bold</b> *star* {ratio} _under_ ![z](w.png)"


@perturbation("D")
def hostile_everywhere(run: dict[str, Any], traces: Traces) -> None:
    """All that the machine, torch or another checkout put into words holds Markdown, HTML, a table's bar and a template's braces."""
    run["software"] |= {name: f"{version} {HOSTILE}" for name, version in run["software"].items() if version and name != "torch"}
    run["host"]["cpu"] = HOSTILE
    run["counters"]["tool"] = HOSTILE
    run["clocks"]["samples"], run["clocks"]["reason"] = [], HOSTILE
    run["probes"]["default_backend"] = {"reason": HOSTILE}
    run["probes"]["saving_accumulates"] = {"reason": HOSTILE}
    run["probes"]["occupancy_probe"] = {"reason": HOSTILE}
    run["probes"]["autograd"]["minimal_refusal"]["message"] = HOSTILE
    for name, entry in run["variants"].items():
        entry["title"] = f"{name} {HOSTILE}"
        entry["timer_note"] = HOSTILE
        entry["training"] = {**(entry["training"] or {"peak_memory_bytes": None}), "status": "failed", "reason": HOSTILE, "samples": {}, "kernels": None}
        entry["masked_row"] = {"outcome": "refused", "reason": f"mask {HOSTILE}"}
    states.failed(run, traces, "sdpa_efficient", reason=HOSTILE)


@perturbation("D")
def refused_with_echo(run: dict[str, Any], traces: Traces) -> None:
    """Torch's whole words for a refusal, which for the most part repeat the pin."""
    states.not_run(run, traces, "sdpa_flash", reason=(
        "No available kernel. Aborting execution. Memory efficient kernel not used because:. Memory Efficient attention has been runtime disabled. "
        "Flash attention kernel not used because:. Flash attention only supports gpu architectures in the range [sm80, sm121]. "
        "cuDNN attention kernel not used because:. cuDNN attention has been runtime disabled."))


@perturbation("default")
def default_probe_failed(run: dict[str, Any], traces: Traces) -> None:
    """What torch picks unpinned could not be seen."""
    run["probes"]["default_backend"] = {"reason": "an illegal memory access was encountered."}


@perturbation("default", older=True)
def default_not_recorded(run: dict[str, Any], traces: Traces) -> None:
    """Recorded before the probe for the default was made."""
    del run["probes"]["default_backend"]


@perturbation("default")
def default_is_slower(run: dict[str, Any], traces: Traces) -> None:
    """Unpinned torch picks flash; cuDNN is the fastest."""
    _default(run, "flash")


@perturbation("default")
def default_is_math(run: dict[str, Any], traces: Traces) -> None:
    """Unpinned torch runs the math composition; cuDNN is the fastest."""
    _default(run, "math", "aten::_scaled_dot_product_attention_math")


@perturbation("default")
def default_is_unknown(run: dict[str, Any], traces: Traces) -> None:
    """Unpinned torch runs a backend that is none of the variants."""
    _default(run, "overrideable", "aten::_scaled_dot_product_fused_attention_overrideable")


@perturbation("B6")
def pin_ignored(run: dict[str, Any], traces: Traces) -> None:
    """The call pinned to cuDNN dispatches flash's op, runs flash's kernel and takes flash's time."""
    samples.on_gpu(run, traces, sdpa_cudnn=1e6 * samples.middle(run, "sdpa_flash"))
    traces["sdpa_cudnn"] = traces["sdpa_flash"]
    counted = run["counters"]["variants"]
    counted["sdpa_cudnn"] = counted["sdpa_flash"]
    _default(run, "flash")


@perturbation("pin")
def pin_cannot_be_seen(run: dict[str, Any], traces: Traces) -> None:
    """The traces hold no CPU ops, so nobody can say which op a pinned call dispatched."""
    for name in traces:
        traces[name]["traceEvents"] = [event for event in traces[name]["traceEvents"] if event.get("cat") != "cpu_op"]
