"""What is said of a change to a call: a line for a person, and the code. `options`: what else the call was given, a mask or `is_causal`."""

from __future__ import annotations

from .asked import Change

WORDS: dict[Change, tuple[str, str]] = {
    "as it is": ("as it is", "F.scaled_dot_product_attention(q, k, v, **options)"),
    "is_causal": ("say `is_causal=True` instead of passing the triangle as a mask", "F.scaled_dot_product_attention(q, k, v, is_causal=True)"),
    "no mask": ("leave out the mask, which hides nothing from the last query", "F.scaled_dot_product_attention(q, k, v)"),
    "bfloat16": ("use bfloat16 instead of fp32; the result is rounded to 8 bits", "q, k, v = (t.bfloat16() for t in (q, k, v))"),
    "padded": ("pad the head dimension with zeros to a multiple of 8, and give the scale of the true one",
               "F.scaled_dot_product_attention(*(F.pad(t, (0, -t.shape[-1] % 8)) for t in (q, k, v)), scale=q.shape[-1] ** -0.5, **options)[..., :v.shape[-1]]"),
    "repeated": ("repeat k and v for every head of q, instead of `enable_gqa`",
                 "n = q.shape[1] // k.shape[1]; F.scaled_dot_product_attention(q, k.repeat_interleave(n, 1), v.repeat_interleave(n, 1), **options)"),
    "contiguous": ("make q, k and v contiguous first", "q, k, v = (t.contiguous() for t in (q, k, v))"),
    "four dimensions": ("give q, k and v a batch dimension", "F.scaled_dot_product_attention(q[None], k[None], v[None], **options)[0]"),
    "mask in the type of q": ("give the mask in the type of q", "attn_mask=mask.to(q.dtype)"),
    "detached bias": ("detach the bias, where it need not learn", "attn_mask=bias.detach()"),
    "no dropout": ("give `dropout_p=0.0` where nothing is trained: `model.eval()` does not reach it", "dropout_p=p if self.training else 0.0"),
    "not deterministic": ("lift `torch.use_deterministic_algorithms(True)` around the call, where equal bits are not needed", "torch.use_deterministic_algorithms(False)"),
}
