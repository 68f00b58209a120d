"""cuDNN by its own frontend, without torch's way into it. Forward only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...shapes.call import WINDOW
from ..map_inputs import Tensors
from . import absent

TITLE = "cuDNN frontend"
INSTALL = "`pip install nvidia-cudnn-frontend`"


def missing(device: str) -> str | None:
    return absent("cudnn", device=device)


def prepare(tensors: Tensors) -> Callable[[], Any]:
    """The graph is built once; a call fills it with the tensors."""
    import cudnn
    import torch

    q, k, v, call = tensors.q, tensors.k, tensors.v, tensors.call
    if call.gradients or call.mask not in ("none", "causal", "window"):
        raise NotImplementedError("only the forward without a mask of one's own is built here")
    kind = {"bfloat16": cudnn.data_type.BFLOAT16, "float16": cudnn.data_type.HALF}[call.dtype]
    graph = cudnn.pygraph(io_data_type=kind, intermediate_data_type=cudnn.data_type.FLOAT, compute_data_type=cudnn.data_type.FLOAT)
    inputs = [graph.tensor_like(one.detach()) for one in (q, k, v)]
    window = {"sliding_window_length": WINDOW} if call.mask == "window" else {}
    told, _ = graph.sdpa(*inputs, is_inference=True, attn_scale=call.head_dim**-0.5, use_causal_mask=call.mask != "none", name="sdpa", **window)
    output = torch.empty(call.batch, call.heads, call.queries, call.value_dim, dtype=q.dtype, device=q.device)
    told.set_output(True).set_dim(output.shape).set_stride(output.stride())
    graph.build([cudnn.heur_mode.A])
    room = torch.empty(max(1, graph.get_workspace_size()), dtype=torch.uint8, device=q.device)
    return lambda: (graph.execute({**dict(zip(inputs, (q, k, v))), told: output}, room), output)[1]
