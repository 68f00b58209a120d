"""Attention beside the four backends: one small file each. They take part in no claim, and are held beside FP64 like the rest.

A file has `TITLE`, `INSTALL` (what to do where it is absent), `missing(device)` (why it is, or `None`) and `prepare(tensors)`, which gives a function
without arguments from the tensors of a call to the output `[batch, heads, queries, dim]`, with autograd where the call has gradients.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module, util
from typing import Any, Protocol

from ..map_inputs import Tensors
from ..operands import is_gpu

NAMES = ("flex", "varlen", "fa3", "fa4", "cudnn_frontend", "xformers")


class Extra(Protocol):
    TITLE: str
    INSTALL: str

    def missing(self, device: str) -> str | None: ...
    def prepare(self, tensors: Tensors) -> Callable[[], Any]: ...


def load(name: str) -> Extra:
    """The extra in `<name>.py`."""
    return import_module(f".{name}", __name__)


def absent(*packages: str, device: str) -> str | None:
    """Why something that needs a GPU and these packages is not there. None of them is imported."""
    if not is_gpu(device):
        return "it needs a GPU"
    for package in packages:
        try:
            there = util.find_spec(package) is not None
        except (ImportError, ValueError):
            there = False
        if not there:
            return f"the package {package.split('.')[0]} is not installed"
    return None


def cannot_swap() -> str | None:
    """Why no other flash attention can be put in the place of torch's own, or `None`."""
    from torch.nn import attention

    return None if hasattr(attention, "activate_flash_attention_impl") else "this torch cannot put it in"


def swapped(name: str, tensors: Tensors) -> Callable[[], Any]:
    """SDPA's flash backend with another one in its place, put in around each call, so that flash itself stays torch's own. name: as torch calls it."""
    import torch.nn.functional as F
    from torch.nn import attention

    if tensors.mask is not None:
        raise NotImplementedError("SDPA hands no mask on to flash attention")

    def run() -> Any:
        attention.activate_flash_attention_impl(name)
        try:
            with attention.sdpa_kernel(attention.SDPBackend.FLASH_ATTENTION):
                return F.scaled_dot_product_attention(tensors.q, tensors.k, tensors.v, is_causal=tensors.call.mask == "causal", enable_gqa=tensors.call.grouped)
        finally:
            attention.restore_flash_attention_impl()

    return run


def runner(extra: Extra, tensors: Tensors) -> Callable[[], tuple[Any, ...]]:
    """As `Tensors.run`; it is prepared, and compiled, by the first call."""
    known: list[Callable[[], Any]] = []

    def run() -> tuple[Any, ...]:
        import torch

        if not known:
            known.append(extra.prepare(tensors))
        with torch.set_grad_enabled(tensors.upstream is not None):
            output = known[0]()
        if tensors.upstream is None:
            return (output,)
        return (output.detach(), *torch.autograd.grad(output, (tensors.q, tensors.k, tensors.v), tensors.upstream))

    return run
