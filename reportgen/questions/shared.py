"""What sentences of many findings name: the software, the workload, the unit that multiplies."""

from __future__ import annotations

from ..analysis import RunFacts, published
from ..saying.units import listed
from .model import Because

LIBRARIES = {"torch": "torch", "cudnn": "cuDNN", "cublas": "cuBLAS", "cuda": "CUDA"}
OTHER_SHAPE = Because("other_workload", "Judged on another workload than the article's: {other_workload}.")
"""A caveat for claims about a direction or a count, which may be judged on any workload but must name it."""


MASKED_ROW = {"nan": "NaN", "zeros": "zeros", "other": "other values", "infinite": "infinite values", "refused": "refused",
              "takes-no-mask": "takes no `attn_mask`"}
"""What comes out for a query that may see no key, in words."""


def software(facts: RunFacts, *names: str) -> str:
    """`torch 2.11.0 and cuDNN 9.19.0`: a kernel count belongs to software, so its sentence names it."""
    known = [f"{LIBRARIES[name]} {facts.software[name]}" for name in names if facts.software.get(name)]
    return listed(known) or "software whose versions were not recorded"


def other_workload(facts: RunFacts) -> str | None:
    """The workload in words where it is not the article's own, else `None`."""
    return None if published.same_workload(facts) else facts.workload.describe()


def multipliers(facts: RunFacts) -> tuple[str, str]:
    """What multiplies matrices on this device, and what does all other arithmetic, as a table calls them."""
    return ("matrix cores", "vector units") if facts.device.kind == "rocm" else ("Tensor Cores", "CUDA cores")


def matrix_unit(facts: RunFacts) -> str:
    """What the unit that multiplies matrices is called on this device."""
    return "the matrix cores of this GPU (it has no Tensor Cores)" if facts.device.kind == "rocm" else "Tensor Cores"
