"""What torch checks on NVIDIA's GPUs rules nothing out on AMD's."""

from __future__ import annotations

import json

import pytest

from reportgen.ledger.build import build
from reportgen.ledger.model import Backend, Cause
from reportgen.trace.whole import read_pieces

SIZES = [1, 1, 64, 512]


def sites(launch, op, properties):
    """One call with a head dimension of 512 under a backend's op."""
    given = {"Input Dims": [SIZES, SIZES, SIZES, [], [], [], [], []], "Input type": ["c10::BFloat16"] * 3 + ["", "Scalar", "Scalar", "", "Scalar"],
             "Input Strides": [[32768, 32768, 512, 1]] * 3 + [[]] * 5, "Concrete Inputs": ["", "", "", "", "0.", "False", "", "False"]}
    events = [
        {"ph": "X", "cat": "cpu_op", "name": "aten::scaled_dot_product_attention", "pid": 1, "tid": 1, "ts": 10, "dur": 100, "args": given},
        {"ph": "X", "cat": "cpu_op", "name": op, "pid": 1, "tid": 1, "ts": 11, "dur": 90, "args": {"x": 1}},
        {"ph": "X", "cat": "cuda_runtime", "name": launch, "pid": 1, "tid": 1, "ts": 12, "dur": 5, "args": {"correlation": 7}},
        {"ph": "X", "cat": "kernel", "name": "attn_fwd", "pid": 0, "tid": 7, "ts": 30, "dur": 40, "args": {"correlation": 7, "device": 0, "stream": 7}},
    ]
    return build(read_pieces([json.dumps({"deviceProperties": properties, "traceEvents": events})], "made up")).sites


NVIDIA = [{"id": 0, "name": "NVIDIA H100", "computeMajor": 9, "computeMinor": 0, "warpSize": 32}]
AMD = [{"id": 0, "name": "", "computeMajor": 9, "computeMinor": 4, "warpSize": 64}]


@pytest.mark.parametrize("launch, properties, ruled_out", [("cudaLaunchKernel", NVIDIA, [(Backend.CUDNN,)]), ("hipLaunchKernel", AMD, [])])
def test_cudnn_is_ruled_out_where_there_is_one(launch, properties, ruled_out):
    (site,) = sites(launch, "aten::_scaled_dot_product_flash_attention", properties)
    assert [reason.ruled_out for reason in site.reasons] == ruled_out


def test_that_math_ran_is_told_without_a_cause():
    (site,) = sites("hipLaunchKernel", "aten::_scaled_dot_product_attention_math", AMD)
    assert [reason.cause for reason in site.reasons] == [Cause.NOT_SAID]
