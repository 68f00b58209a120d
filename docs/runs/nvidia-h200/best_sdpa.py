"""scaled_dot_product_attention with the backends that one measured machine showed to be the fastest right ones.

    from best_sdpa import best_sdpa
    out = best_sdpa(q, k, v, is_causal=True)

It refuses a device and versions other than those it was made for. A call that was not measured, or for which torch's own pick is as fast,
goes to torch as it is. `order` alone needs no torch. Generated from the recorded runs by `make render`.
"""

from __future__ import annotations

import functools

MADE_FOR = {
    'kind': 'cuda',
    'torch': '2.11.0+cu130',
    'device': 'NVIDIA H200',
    'compute capability': '9.0',
    'cudnn': '9.19.0',
}
ANY = (1, None)
MEMBERS = {
    'math': 'MATH',
    'efficient': 'EFFICIENT_ATTENTION',
    'flash': 'FLASH_ATTENTION',
    'cudnn': 'CUDNN_ATTENTION',
}
RULES = (
    # mask, bits, gradients, grouped, square, v as wide as q; head dim, keys, queries, batch * heads, each from-to; backends, none: leave it to torch
    ('causal', 16, False, False, True, True, ((65, 128), ANY, ANY, ANY), ()),
    ('causal', 16, False, False, True, True, ((1, 64), ANY, ANY, ANY), ()),
    ('none', 16, False, False, True, True, ((65, 128), ANY, ANY, ANY), ()),
    ('none', 16, False, False, True, True, ((1, 64), ANY, ANY, ANY), ()),
    ('bool', 16, False, False, True, True, ((65, 128), ANY, ANY, ANY), ()),
    ('bool', 16, False, False, True, True, ((1, 64), ANY, ANY, ANY), ()),
    ('causal', 16, False, True, True, True, ((65, 128), ANY, ANY, ANY), ()),
    ('causal', 16, True, True, True, True, ((65, 128), ANY, ANY, ANY), ()),
    ('none', 16, False, True, False, True, ((65, 128), ANY, ANY, ANY), ()),
    ('causal', 16, False, False, True, False, ((129, 192), ANY, ANY, ANY), ()),
    ('causal', 16, True, False, True, False, ((129, 192), ANY, ANY, ANY), ()),
    ('none', 16, False, False, False, False, ((129, 192), ANY, ANY, ANY), ('efficient', 'cudnn', 'math')),
    ('causal', 16, False, True, True, True, ((1, 64), ANY, ANY, ANY), ()),
    ('causal', 16, True, True, True, True, ((1, 64), ANY, ANY, ANY), ()),
    ('none', 16, False, True, False, True, ((1, 64), ANY, ANY, ANY), ()),
    ('causal', 16, False, True, True, True, ((193, 256), ANY, ANY, ANY), ()),
    ('causal', 16, True, True, True, True, ((193, 256), ANY, ANY, ANY), ()),
    ('none', 16, False, True, False, True, ((193, 256), (1, 1448), ANY, (1, 64)), ('flash', 'cudnn', 'math')),
    ('none', 16, False, True, False, True, ((193, 256), (1449, None), ANY, (1, 64)), ()),
    ('none', 16, False, True, False, True, ((193, 256), (1, 1448), ANY, (65, None)), ()),
    ('none', 16, False, True, False, True, ((193, 256), (1449, None), ANY, (65, None)), ('flash', 'cudnn', 'math')),
    ('none', 16, True, False, True, True, ((1, 64), ANY, ANY, ANY), ()),
    ('causal', 16, True, False, True, True, ((65, 128), ANY, ANY, ANY), ()),
    ('causal', 16, True, False, True, True, ((1, 64), ANY, ANY, ANY), ()),
    ('none', 16, True, False, True, True, ((65, 128), ANY, ANY, ANY), ()),
    ('bool', 16, True, False, True, True, ((65, 128), ANY, ANY, ANY), ()),
    ('bool', 16, True, False, True, True, ((1, 64), ANY, ANY, ANY), ()),
    ('bool', 16, False, True, False, True, ((65, 128), ANY, ANY, ANY), ()),
    ('none', 16, False, False, False, True, ((65, 128), ANY, ANY, ANY), ()),
    ('bool', 16, False, False, False, True, ((65, 128), ANY, ANY, ANY), ()),
    ('none', 16, False, False, False, True, ((193, 256), ANY, ANY, ANY), ('flash', 'cudnn', 'efficient', 'math')),
    ('bool', 16, False, False, False, True, ((193, 256), ANY, ANY, ANY), ('efficient', 'cudnn', 'math')),
    ('bool', 16, False, True, False, True, ((193, 256), ANY, ANY, ANY), ()),
    ('none', 16, False, False, False, True, ((1, 64), ANY, ANY, ANY), ()),
    ('bool', 16, False, False, False, True, ((1, 64), ANY, ANY, ANY), ()),
    ('bool', 16, False, True, False, True, ((1, 64), ANY, ANY, ANY), ()),
    ('bool', 16, False, True, True, True, ((65, 128), ANY, ANY, ANY), ()),
    ('bool', 16, False, False, True, False, ((129, 192), ANY, ANY, ANY), ()),
    ('causal', 16, False, False, True, True, ((193, 256), ANY, ANY, ANY), ()),
    ('bool', 16, False, False, True, True, ((193, 256), ANY, ANY, ANY), ()),
    ('causal', 16, False, False, True, True, ((257, 512), ANY, ANY, ANY), ()),
    ('bool', 16, False, False, True, True, ((257, 512), ANY, ANY, ANY), ()),
    ('bool', 16, True, True, True, True, ((65, 128), ANY, ANY, ANY), ()),
    ('bool', 16, True, False, True, False, ((129, 192), ANY, ANY, ANY), ()),
    ('causal', 16, True, False, True, True, ((193, 256), ANY, ANY, ANY), ()),
    ('bool', 16, True, False, True, True, ((193, 256), ANY, ANY, ANY), ()),
    ('causal', 16, True, False, True, True, ((257, 512), ANY, ANY, ANY), ()),
    ('bool', 16, True, False, True, True, ((257, 512), (1, 1024), ANY, ANY), ()),
    ('bool', 16, True, False, True, True, ((257, 512), (1025, None), ANY, ANY), ('math', 'efficient')),
    ('causal', 32, True, False, True, True, ((193, 256), ANY, ANY, ANY), ()),
    ('none', 32, True, False, True, True, ((193, 256), ANY, ANY, ANY), ('math', 'efficient')),
    ('bool', 32, True, False, True, True, ((193, 256), ANY, ANY, ANY), ('math', 'efficient')),
    ('float', 32, True, False, True, True, ((193, 256), ANY, ANY, ANY), ('math', 'efficient')),
    ('causal', 32, True, False, True, True, ((65, 128), ANY, ANY, ANY), ()),
    ('none', 32, True, False, True, True, ((65, 128), ANY, ANY, ANY), ('math', 'efficient')),
    ('bool', 32, True, False, True, True, ((65, 128), ANY, ANY, ANY), ('math', 'efficient')),
    ('float', 32, True, False, True, True, ((65, 128), ANY, ANY, ANY), ('math', 'efficient')),
    ('causal', 32, True, False, True, True, ((1, 64), ANY, ANY, ANY), ()),
    ('none', 32, True, False, True, True, ((1, 64), ANY, ANY, ANY), ()),
    ('bool', 32, True, False, True, True, ((1, 64), ANY, ANY, ANY), ()),
    ('float', 32, True, False, True, True, ((1, 64), ANY, ANY, ANY), ()),
    ('causal', 32, False, False, True, True, ((193, 256), ANY, ANY, ANY), ()),
    ('float', 16, False, False, True, True, ((65, 128), ANY, ANY, ANY), ()),
    ('float', 16, True, False, True, True, ((65, 128), ANY, ANY, ANY), ()),
    ('float', 16, False, False, True, True, ((1, 64), ANY, ANY, ANY), ()),
    ('float', 16, True, False, True, True, ((1, 64), ANY, ANY, ANY), ()),
    ('causal', 32, False, False, True, True, ((65, 128), ANY, ANY, ANY), ()),
    ('causal', 32, False, False, True, True, ((1, 64), ANY, ANY, ANY), ()),
)


class NotThisMachine(RuntimeError):
    """The rules were measured on another device or with other versions."""


def order(batch, heads, kv_heads, queries, keys, head_dim, value_dim, bits, mask, gradients):
    """Backends for a call, first to last; empty: leave it to torch.

    bits: of an element of q, 16 or 32; mask: `none`, `causal` (`is_causal=True`), `bool` or `float`
    """
    kind = (mask, bits, bool(gradients), kv_heads != heads, queries == keys, value_dim == head_dim)
    sizes = (head_dim, keys, queries, batch * heads)
    for *wanted, spans, backends in RULES:
        if tuple(wanted) == kind and all(low <= size and (high is None or size <= high) for size, (low, high) in zip(sizes, spans)):
            return backends
    return ()


def best_sdpa(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, **more):
    """As torch.nn.functional.scaled_dot_product_attention.

    Raises:
        NotThisMachine: see `MADE_FOR`.
    """
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.nn.functional import scaled_dot_product_attention as sdpa

    refuse(query.device.type, query.device.index)
    found = () if dropout_p or query.dim() != 4 or query.is_nested else _order(torch, query, key, value, attn_mask, is_causal)
    if not found:
        return sdpa(query, key, value, attn_mask, dropout_p, is_causal, **more)
    with sdpa_kernel([getattr(SDPBackend, MEMBERS[name]) for name in found], set_priority=True):
        return sdpa(query, key, value, attn_mask, dropout_p, is_causal, **more)


def _order(torch, query, key, value, attn_mask, is_causal):
    batch, heads, queries, head_dim = query.shape
    mask = "causal" if is_causal else "none" if attn_mask is None else "bool" if attn_mask.dtype == torch.bool else "float"
    gradients = torch.is_grad_enabled() and any(one.requires_grad for one in (query, key, value))
    return order(batch, heads, key.shape[1], queries, key.shape[2], head_dim, value.shape[3], 8 * query.element_size(), mask, gradients)


@functools.lru_cache(maxsize=None)
def refuse(kind, index=None):
    """Looks once per device whether the rules are of this machine.

    Raises:
        NotThisMachine: with what is here and what the rules are of.
    """
    here = _here(kind, index)
    other = [f"{name} {here.get(name)!r} instead of {value!r}" for name, value in MADE_FOR.items() if here.get(name) != value]
    if other:
        raise NotThisMachine("these rules were measured elsewhere: " + ", ".join(other) + "; `make map` makes yours")


def _here(kind, index):
    import torch

    found = {"kind": kind, "torch": torch.__version__}
    if kind == "cuda":
        device = torch.cuda.get_device_properties(index if index is not None else torch.cuda.current_device())
        number = None if torch.version.hip else torch.backends.cudnn.version()
        size = 10000 if number is not None and number >= 90000 else 1000
        found["device"] = " ".join(device.name.split())
        found["compute capability"] = f"{device.major}.{device.minor}"
        found["cudnn"] = None if number is None else f"{number // size}.{number % size // 100}.{number % 100}"
    return found
