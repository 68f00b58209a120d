"""`dropout_p` outside training: the function does not know of a module's mode."""

from __future__ import annotations

from .making import attend, qkv
from .model import Cure, Inputs, Kind, Needs, Probe, Report


def _make(device: str) -> Inputs:
    q, k, v = qkv(device, "bfloat16", 1, 2, 128, 128, 64)
    return Inputs(q, k, v, options={"dropout_p": 0.1}, meant=Inputs(q, k, v))


PROBE = Probe(
    id="dropout-eval",
    title="Dropout is applied in evaluation as well",
    kind=Kind.TRAP,
    reports=(Report("pytorch#124464", "https://github.com/pytorch/pytorch/issues/124464", "torch 2.2", "any", "all"),
             Report("torch's documentation", "https://docs.pytorch.org/docs/2.15/generated/torch.nn.functional.scaled_dot_product_attention.html", "2.15", "any",
                    "all: the function always applies dropout")),
    needs=frozenset({Needs.DROPOUT}),
    inputs="bf16 `[1, 2, 128, 64]`, `dropout_p=0.1`, gradients off",
    compared="the output, with that without dropout",
    avoid="a `dropout_p` that does not depend on the module's mode",
    make=_make,
    cure=Cure("Pass 0 outside training.", "out = F.scaled_dot_product_attention(q, k, v, dropout_p=self.p if self.training else 0.0)\n",
              lambda inputs: attend(inputs.q, inputs.k, inputs.v, dropout_p=0.0)),
)
