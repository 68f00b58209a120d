"""What the three "one fused kernel" claims share: the kernel to read, its company, its name's parts."""

from __future__ import annotations

import re

from ..analysis import published
from ..analysis import ActivityFacts, RunFacts, VariantFacts
from ..saying.tables import Code, Table, code, columns
from ..saying.units import Bytes, Count, Seconds, listed, plural
from ..run.workload import ARTICLE
from ..questions.model import NO_GPU_LANE, NOT_RECORDED, UNAVAILABLE, Because, Case, Decision, decide, missing_variant, not_recorded

LIBRARIES = {"torch": "torch", "cudnn": "cuDNN", "cublas": "cuBLAS", "cuda": "CUDA"}
NO_TRACE: dict[str, Case] = {**UNAVAILABLE, **NO_GPU_LANE, **NOT_RECORDED}
"""Cases of a claim that reads the kernels of a variant (see `unread`)."""

OTHER_SHAPE = Because("other_workload", "Judged on another workload than the article's: {other_workload}.")
"""A caveat for claims about a direction or a count, which may be judged on any workload but must name it."""

_ELEMENT_TYPE = re.compile(r"(?:^|_)(bf16|f16|f32)(?=_|$)")
_TYPE_NAMES = {"bf16": "bfloat16", "f16": "float16", "f32": "float32"}


def software(facts: RunFacts, *names: str) -> str:
    """`torch 2.11.0 and cuDNN 9.19.0`: a kernel count belongs to software, so its sentence names it."""
    known = [f"{LIBRARIES[name]} {facts.software[name]}" for name in names if facts.software.get(name)]
    return listed(known) or "software whose versions were not recorded"


def other_workload(facts: RunFacts) -> str | None:
    """The workload in words where it is not the article's own, else `None`."""
    return None if facts.workload.same_shape(ARTICLE) else facts.workload.describe()


def unread(facts: RunFacts, *names: str) -> Decision | None:
    """Why the kernels of `names` cannot be read in this run, or `None` where they can."""
    missing = missing_variant(facts, *names)
    if missing:
        return missing
    if not facts.has_gpu_lane:
        return decide("no-gpu-lane")
    if any(facts.variants[name].kernels is None for name in names):
        return not_recorded(facts, "the GPU side of this variant's trace")
    return None


def kernels(variant: VariantFacts) -> tuple[ActivityFacts, ...]:
    return tuple(activity for activity in variant.activities if activity.kind == "kernel")


def main_kernel(variant: VariantFacts | None) -> ActivityFacts | None:
    """The kernel that takes most of a forward's GPU time; `None` without kernels."""
    return max(kernels(variant), key=lambda kernel: kernel.duration, default=None) if variant else None


def beside(variant: VariantFacts) -> str:
    """` beside 1 memset (4 B)`: what else a forward queues on the GPU; empty where there is nothing else.

    Memsets and copies are no kernels and count for no claim about kernels, but a reader of the trace sees them.
    """
    said = []
    for kind, count in (("memset", variant.memsets), ("memcpy", variant.memcpys)):
        if count:
            sizes = [activity.bytes for activity in variant.activities if activity.kind == kind and activity.bytes]
            said.append(plural(count, kind, "memcpys" if kind == "memcpy" else None) + (f" ({Bytes(sum(sizes))})" if sizes else ""))
    return f" beside {listed(said)}" if said else ""


def kernel_names(variant: VariantFacts, most: int = 4) -> str:
    """Short kernel names in launch order, as code; a long list ends with how many more there are."""
    names = [code(kernel.short) for kernel in kernels(variant)]
    return listed(names) if len(names) <= most else f"{', '.join(names[:most])} and {len(names) - most} more"


def tensor_cores(kernel: ActivityFacts) -> str:
    """`yes`, `no` or `unknown`: by counted Tensor Core operations where there are any, else by the name."""
    if kernel.counters and kernel.counters.tensor_core_flop is not None:
        return "yes" if kernel.counters.tensor_core_flop > 0 else "no"
    return kernel.decoded.tensor_cores if kernel.decoded else "unknown"


def in_tf32(kernel: ActivityFacts) -> bool:
    """Whether a Tensor Core kernel's name says that it multiplies FP32 operands as TF32. Its ceiling is another than that of 16-bit types, and is not measured."""
    name = kernel.name.lower()
    return tensor_cores(kernel) == "yes" and ("tf32" in name or "tensorop_s1688gemm_" in name)


def tf32_setting(facts: RunFacts) -> str | None:
    """What `float32_matmul_precision` is in this run where it lets FP32 matmuls use TF32."""
    precision = facts.settings.get("float32_matmul_precision")
    return precision if facts.device.kind == "cuda" and precision not in (None, "highest") else None


def matrix_unit(facts: RunFacts) -> str:
    """What the unit that multiplies matrices is called on this device."""
    return "the matrix cores of this GPU (it has no Tensor Cores)" if facts.device.kind == "rocm" else "Tensor Cores"


def element_type(kernel: ActivityFacts) -> str | None:
    """The element type that the kernel's own name states (`bf16` → `bfloat16`), or `None` where it is silent."""
    for part in kernel.decoded.parts if kernel.decoded else ():
        found = _ELEMENT_TYPE.search(part.text)
        if found:
            return _TYPE_NAMES[found[1]]
    return None


def known_family(kernel: ActivityFacts) -> str | None:
    return None if kernel.decoded is None or kernel.decoded.family == "unknown" else kernel.decoded.family


def kernel_args(facts: RunFacts, variant: VariantFacts, *libraries: str) -> dict[str, str | None]:
    """What a sentence about a variant's one kernel may name; `kernel` and `family` are those of its longest, `None` without kernels."""
    kernel = main_kernel(variant)
    return {"software": software(facts, *libraries), "beside": beside(variant), "other_workload": other_workload(facts),
            "count": plural(variant.kernels or 0, "kernel"), "names": kernel_names(variant) or "none at all",
            "kernel": code(kernel.short) if kernel else None, "family": known_family(kernel) if kernel else None}


def activity_table(variant: VariantFacts) -> Table:
    """Every GPU activity of one forward with who launched it."""
    rows = tuple((activity.kind, Code(activity.short), Seconds(activity.duration).us(), Code(activity.launch_api), Code(activity.op or "—"))
                 for activity in variant.activities)
    return Table(columns("Kind", "Name", "#Time (µs)", "Launched by", "Under the op"), rows,
                 caption=f"GPU activities of one forward of {variant.title}, in launch order.")


def parts_table(variant: VariantFacts) -> tuple[Table, ...]:
    """The name of the variant's main kernel, part by part; nothing where there is no kernel."""
    kernel = main_kernel(variant)
    if kernel is None or kernel.decoded is None or not kernel.decoded.parts:
        return ()
    rows = tuple((Code(part.text), part.meaning, part.source) for part in kernel.decoded.parts)
    notes = [f"Tensor Cores by the name: {kernel.decoded.tensor_cores} ({kernel.decoded.tensor_cores_why})."]
    if published.of(variant.id, "kernel_name"):
        notes.append(f"The article's kernel, on one {published.load()['device']['name']}: {code(published.of(variant.id, 'kernel_name'))}.")
    return (Table(columns("Part", "Meaning", "Source"), rows, caption=f"The kernel name of {variant.title}, part by part.", notes=tuple(notes)),)


def kernel_count(variant: VariantFacts) -> Count | None:
    return None if variant.kernels is None else Count(variant.kernels)
