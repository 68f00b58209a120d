"""Ledgers made by hand, for tests of what is said of them."""

from __future__ import annotations

from reportgen.hardware.attention_ops import Backend, Direction, Kind
from reportgen.hardware.occupancy import Cause as ZeroCause
from reportgen.ledger.model import (
    Advice,
    Arguments,
    Call,
    CallSite,
    Cause,
    Cure,
    Device,
    Drag,
    DragKind,
    FalseZero,
    GpuTime,
    Integrity,
    KernelTime,
    Ledger,
    Located,
    Modelled,
    Place,
    Reason,
    Recorded,
    Rest,
    Shape,
    Stretch,
    Tensor,
    Totals,
    Where,
)

FLASH = "void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4, false, false, cutlass::bfloat16_t>, false>(pytorch_flash::Flash_fwd_params)"
Q = Tensor((2, 16, 576, 64), "c10::BFloat16", (589824, 36864, 64, 1))
MASK = Tensor((2, 1, 576, 576), "c10::BFloat16")
GIVEN = Arguments(Q, Q, Q, MASK, True, 0.0, False)
ALL = Recorded(True, True, True, True, True, True, True)
WHOLE = Integrity({}, 0.0, {"cudaLaunchKernel": 100}, 0, 0, {})


def site(line="models/eyes.py(41): forward", module="EyeAttention", kind=Kind.BY_HAND, backend=None, seconds=0.4, total=1.0, calls=24, arguments=GIVEN, op="", **parts):
    time = GpuTime(seconds, 5 * calls)
    one = Call(kind, backend, op, Place(0, 1), 0.0, GpuTime(seconds / calls, 5), arguments=arguments)
    where = parts.pop("where", None) or Where(Located.SOURCE, line, module)
    kernels = parts.pop("kernels", (KernelTime(FLASH, "FlashAttention-2", Direction.FORWARD, time),))
    return CallSite(where, kind, backend, op, (one,) * calls, parts.pop("forward", time), parts.pop("backward", GpuTime()), seconds / total, (Shape(arguments, calls, time),), kernels, **parts)


def by_hand():
    reason = Reason(Cause.BY_HAND, calls=24)
    advice = Advice(Cure.CALL_SDPA, reason, "by-hand", Modelled(0.32, 0.32, "NVIDIA H200", "nvidia-h200/article"))
    copies = Drag(DragKind.COPY, GpuTime(0.02, 24), 0.0, ("aten::contiguous", "aten::clone", "aten::copy_"), 24)
    return site(reasons=(reason,), advice=(advice,), drags=(copies,))


def flash(seconds=0.1, **parts):
    return site("models/ears.py(7): forward", "EarAttention", Kind.SDPA, Backend.FLASH, seconds, op="aten::scaled_dot_product_attention",
                arguments=Arguments(Q, Q, Q, None, True, 0.0, True), **parts)


def masked():
    reason = Reason(Cause.MASK, "mask", "[2, 1, 576, 576] c10::BFloat16", (Backend.FLASH,), 12)
    return site("models/nose.py(3): forward", "NoseAttention", Kind.SDPA, Backend.EFFICIENT, 0.05, calls=12, reasons=(reason,), advice=(Advice(Cure.CAUSAL_FLAG, reason),))


def ledger(*sites, **parts):
    attention = sum(one.time.seconds for one in sites)
    given = {"integrity": WHOLE, "recorded": ALL, "host": False, "stretches": (), "false_zeros": (), "devices": (Device(0, "NVIDIA H100", (9, 0), GpuTime(1.0, 900)),)} | parts
    total = GpuTime(0.0, 0) if given["host"] else GpuTime(1.0, 900)
    return Ledger("runs/eyes.json.gz", given["devices"], given["recorded"], given["integrity"], Totals(total, 0.9, 2.0, {}), tuple(sites),
                  given.get("rest", Rest(GpuTime(1.0 - attention, 500), GpuTime(0.05, 20), "CatArrayBatchedCopy")), given["stretches"], given["false_zeros"], given["host"])


def full():
    """One of everything."""
    stretch = Stretch(0, 7, 0.5, 0.2, 0.15, 40, 8)
    zero = FalseZero("nvjet_tst_128x256_64x4_1x2_h_bz_coopA_TNT", ZeroCause.OVER_DEFAULT, 48, 0.03, (18.75, 18.75), 231424)
    torn = Integrity({"kernel": 9}, 0.004, {"cudaLaunchKernel": 100}, 2, 421, {"cudaMemsetAsync": 305, "cudaLaunchKernel": 3}, cut="the file ends within an event", odd=1)
    return ledger(by_hand(), flash(), masked(), stretches=(stretch,), false_zeros=(zero,), integrity=torn, recorded=Recorded(True, True, True, True, True, False, True))
