"""What sentences and tables show of a variant's kernels: names, parts of a name, what stands beside them."""

from __future__ import annotations

from typing import Any

from ..analysis import RunFacts, VariantFacts, published
from ..analysis.kernels import kernels, known_family, main_kernel
from ..saying.markup import code
from ..saying.tables import Code, Table, columns
from ..saying.units import Bytes, Count, Seconds, listed, plural
from .shared import other_workload, software


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


def kernel_args(facts: RunFacts, variant: VariantFacts, *libraries: str) -> dict[str, Any]:
    """What a sentence about a variant's one kernel may name; `kernel` and `family` are those of its longest, `None` without kernels."""
    kernel = main_kernel(variant)
    return {"software": software(facts, *libraries), "beside": beside(variant), "other_workload": other_workload(facts),
            "count": plural(variant.kernels or 0, "kernel"), "several": (variant.kernels or 0) > 1, "names": kernel_names(variant) or "none at all",
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
    """Kernels of one forward; `None` without a GPU lane."""
    return None if variant.kernels is None else Count(variant.kernels)
