"""Small synthetic Kineto documents: what torch.profiler would export, event by event.

A host clock and a GPU clock run along; nothing is random. Times are microseconds, as in the file.

    trace = TraceBuilder()
    for _ in range(3):
        with trace.forward(), trace.op("aten::mul"):
            trace.kernel("mul_kernel", duration=10)
    document = trace.document()
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

H200 = {"id": 0, "name": "NVIDIA H200", "computeMajor": 9, "computeMinor": 0, "numSms": 132, "sharedMemPerBlock": 49152}


class TraceBuilder:
    """Collects events. `start` is the first time stamp; `device` the entry of `deviceProperties`, or `None`."""

    def __init__(self, start: float = 1000.0, device: dict[str, Any] | None = H200, process: int = 450) -> None:
        self.now = start
        self.gpu_now = start
        self.correlation = 100
        self.thread = process
        self.process = process
        self.device = device
        self.events: list[dict[str, Any]] = [{"ph": "M", "name": "process_name", "pid": process, "tid": 0, "args": {"name": "python"}}]

    @contextmanager
    def span(self, category: str, name: str) -> Iterator[dict[str, Any]]:
        event: dict[str, Any] = {"ph": "X", "cat": category, "name": name, "pid": self.process, "tid": self.thread, "ts": self.now, "args": {}}
        self.events.append(event)
        self.now += 1
        yield event
        self.now += 1
        event["dur"] = self.now - event["ts"]
        self.now += 1

    def forward(self, name: str = "attention_forward"):
        return self.span("user_annotation", name)

    def op(self, name: str):
        return self.span("cpu_op", name)

    def ops(self, *names: str) -> None:
        """Ops inside one another that launch nothing."""
        if names:
            with self.op(names[0]):
                self.ops(*names[1:])

    def launch(self, api: str = "cudaLaunchKernel", category: str | None = None) -> int:
        """The host call alone; returns its correlation."""
        self.correlation += 1
        category = category or ("cuda_runtime" if api.startswith("cuda") else "cuda_driver")
        self.events.append({"ph": "X", "cat": category, "name": api, "pid": self.process, "tid": self.thread, "ts": self.now, "dur": 2.0,
                            "args": {"correlation": self.correlation}})
        self.now += 3
        return self.correlation

    def kernel(self, name: str = "some_kernel", *, duration: float = 10.0, api: str = "cudaLaunchKernel", grid: Any = (1024, 1, 1), block: Any = (128, 1, 1),
               registers: int = 32, shared: int = 0, occupancy: Any = 100, category: str | None = None, **more: Any) -> dict[str, Any]:
        args = {"registers per thread": registers, "shared memory": shared, "grid": list(grid), "block": list(block),
                "blocks per SM": 7.75, "warps per SM": 31.0, "est. achieved occupancy %": occupancy, **more}
        return self.activity("kernel", name, self.launch(api, category), duration, args)

    def memcpy(self, size: int, duration: float = 10.0) -> dict[str, Any]:
        return self.activity("gpu_memcpy", "Memcpy DtoD (Device -> Device)", self.launch("cudaMemcpyAsync"), duration, {"bytes": size})

    def memset(self, size: int = 4, duration: float = 1.0) -> dict[str, Any]:
        return self.activity("gpu_memset", "Memset (Device)", self.launch("cudaMemsetAsync"), duration, {"bytes": size})

    def activity(self, category: str, name: str, correlation: int | None, duration: float, args: dict[str, Any] | None = None) -> dict[str, Any]:
        """A GPU record; with a correlation that no launch has it is one that leaked from the warm-up."""
        self.gpu_now = max(self.gpu_now, self.now)
        event = {"ph": "X", "cat": category, "name": name, "pid": 0, "tid": 7, "ts": self.gpu_now, "dur": duration,
                 "args": {"device": 0, "context": 1, "stream": 7, "correlation": correlation, **(args or {})}}
        self.events.append(event)
        self.gpu_now += duration
        return event

    def document(self, **more: Any) -> dict[str, Any]:
        return {"schemaVersion": 1, "deviceProperties": [self.device] if self.device else [], "displayTimeUnit": "ms",
                "traceEvents": self.events, **more}


def naive(trace: TraceBuilder, *, out_of_place: bool = True, copy_as: str = "memcpy", bias: int = 1024) -> None:
    """One naive forward of five steps; out of place with the clone, as a memcpy or as a kernel."""
    with trace.forward():
        with trace.op("aten::matmul"), trace.op("aten::bmm"):
            trace.kernel("ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn")
        with trace.op("aten::mul"):
            trace.kernel("void at::native::vectorized_elementwise_kernel<8, at::native::MulFunctor<float> >(int)", grid=(bias, 1, 1))
        if out_of_place:
            with trace.op("aten::masked_fill"):
                with trace.op("aten::clone"), trace.op("aten::copy_"):
                    trace.memcpy(4096) if copy_as == "memcpy" else trace.kernel("copy_kernel")
                with trace.op("aten::masked_fill_"):
                    trace.kernel("masked_fill_kernel")
        else:
            with trace.op("aten::masked_fill_"):
                trace.kernel("masked_fill_kernel")
        with trace.op("aten::softmax"), trace.op("aten::_softmax"):
            trace.kernel("softmax_warp_forward")
        with trace.op("aten::matmul"), trace.op("aten::bmm"):
            trace.kernel("ampere_bf16_s16816gemm_bf16_64x64_ldg8_f2f_stages_64x6_nn")
