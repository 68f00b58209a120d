"""Attention in traces that others published: the families of its kernels, and what is written by hand. `PUBLIC_TRACES` names their folder.

The figures of attention by hand are those of an independent prototype that looked for the softmax ops of attention modules.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from reportgen.hardware import attention_ops
from reportgen.hardware.kernel_names import Stage, decode
from reportgen.ledger import by_hand
from reportgen.trace.whole import Work, read_whole

FOLDER = Path(os.environ["PUBLIC_TRACES"]) / "TraceLens" if os.environ.get("PUBLIC_TRACES") else None
pytestmark = pytest.mark.skipif(FOLDER is None, reason="PUBLIC_TRACES names no folder with the public traces")

FUSED = (
    "b200/eager_trace", "h100/Falconsai_nsfw_image_detection__1016002", "h100/Qwen_Qwen1.5-0.5B-Chat__1016005", "h100/gaunernst_bert-small-uncased__1016001",
    "inference/sglang_decode/sglang_Qwen3-8B_decode", "inference/sglang_prefilldecode/sglang_Qwen3-8B_prefilldecode", "inference/vllm_decode_full/graph_execution",
    "inference/vllm_prefilldecode_piecewise/graph_execution", "inference/xdit_flux.1/capture_traces/capture_trace_rank_0",
    "inference/xdit_flux.1_aiter_sage/capture_traces/capture_trace_rank_0", "inference/xdit_flux.1_aiter_sage/profile_trace_rank_0", "inference/xdit_sd_3.5/profile_trace_rank_0",
    "mi300/Falconsai_nsfw_image_detection__1016002", "mi300/Qwen_Qwen1.5-0.5B-Chat__1016005", "mi300/gaunernst_bert-small-uncased__1016001", "torch_compile_triton/trace",
)
"""The traces that have fused attention kernels."""
SPOKEN_OF = re.compile(r"attn|attention|fmha|flash_|flash::|sdpa|\bmla_|sage|paged|unified|Fmha", re.I)
"""A kernel whose name speaks of attention at all. Far wider than what the decoder knows."""


def read(name):
    return read_whole(FOLDER / f"{name}.json.gz")


def under_attention(trace, place):
    thread, event = trace.activities.thread[place], trace.activities.event[place]
    return event >= 0 and any(attention_ops.find(op) for op in trace.path(thread, event))


@pytest.mark.parametrize("name", FUSED)
def test_at_least_99_percent_of_attentions_gpu_time_has_a_family(name):
    """Attention's are the kernels under its ops that are no fills and writes to a cache, and those whose names speak of it and that torch.compile did not write around it."""
    trace = read(name)
    known = unknown = 0.0
    for place, (work, named) in enumerate(zip(trace.activities.work, trace.activities.name)):
        kernel = trace.names[named]
        if work != Work.KERNEL or kernel.startswith("triton_") or "tensorrt_llm::kernels::quantize" in kernel:
            continue
        found = decode(kernel)
        if found.implementation is not None and found.direction is not None:
            known += trace.activities.duration[place]
        elif found.stage is not Stage.CACHE and not found.family.startswith("ATen") and (SPOKEN_OF.search(kernel) or under_attention(trace, place)):
            unknown += trace.activities.duration[place]
    assert known > 0 and known / (known + unknown) >= 0.99


@pytest.mark.parametrize("name, chains, percent", [
    ("h100/google_owlv2-large-patch14-ensemble__1016001", 180, 86.9), ("mi300/google_owlv2-large-patch14-ensemble__1016001", 180, 75.6),
    ("h100/facebook_timesformer-base-finetuned-k400__1016002", 24, 85.0), ("mi300/facebook_timesformer-base-finetuned-k400__1016002", 24, 81.8),
    ("inference/xdit_flux.1/capture_traces/capture_trace_rank_0", 24, 8.0), ("inference/xdit_sd_3.5/profile_trace_rank_0", 48, 0.5),
])
def test_attention_by_hand_is_found_whole(name, chains, percent):
    """204 of 204 in the image models, and every block of T5 in the others: the one that builds its bias between, too."""
    trace = read(name)
    found = by_hand.find(trace)
    own = {(part.thread, event) for one in found for part in one.parts for event in range(part.event, trace.threads[part.thread].behind(part.event))}
    activities = trace.activities
    spent = sum(duration for thread, event, duration in zip(activities.thread, activities.event, activities.duration) if (thread, event) in own)
    assert len(found) == chains
    assert round(100 * spent / sum(activities.duration), 1) == percent


def test_no_other_trace_has_attention_by_hand():
    files = [file for file in FOLDER.parent.rglob("*.json*") if not any(word in str(file) for word in ("owlv2", "timesformer", "xdit", "execution_details", "cpu_op_map", "_et."))
             and file.name.endswith((".json", ".json.gz"))]
    assert len(files) > 30
    assert {file.name for file in files if by_hand.find(read_whole(file))} == set()
