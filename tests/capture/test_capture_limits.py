"""Workloads that do not fit: a warning on a GPU, a refusal on a host; and what a CPU's refusals mean."""

from __future__ import annotations

from dataclasses import replace

import pytest

import variants
from reportgen.capture import limits, refusal
from reportgen.errors import CaptureFailed
from reportgen.run.workload import ARTICLE

GIB = 2**30
GPU = {"kind": "cuda", "name": "A GPU", "memory_bytes": 8 * GIB}
HOST = {"kind": "cpu", "name": "A CPU", "memory_bytes": 8 * GIB}
LONG = replace(ARTICLE, name="custom", sequence=2048)  # 2 GiB of scores in FP32, 16 GiB at most at once
ALL = variants.load(variants.SIX)
FUSED = variants.load(("sdpa_flash", "sdpa_cudnn"))


@pytest.mark.parametrize("device", [GPU, HOST])
def test_a_workload_that_fits_is_let_through(device):
    """The article's needs 4 GiB of 8."""
    assert limits.memory(device, ARTICLE, ALL) is None


def test_a_gpu_warns_for_there_an_allocation_fails_and_costs_one_variant():
    said = limits.memory(GPU, LONG, ALL)
    assert said.startswith("warning: the score matrix of custom takes 1 GiB, and profiling naive, naive_inplace, sdpa_math may need 16 GiB; A GPU has 8 GiB")


def test_a_host_refuses_with_a_cure(monkeypatch):
    monkeypatch.setattr(limits, "available_memory", lambda physical: physical)
    with pytest.raises(CaptureFailed, match="may need 16 GiB; A CPU has 8 GiB\n  what to do: give a smaller --sequence"):
        limits.memory(HOST, LONG, ALL)


@pytest.mark.parametrize("device", [GPU, HOST])
def test_variants_that_never_write_the_scores_are_let_through(device):
    assert limits.memory(device, LONG, FUSED) is None


def test_a_device_of_unknown_memory_is_let_through():
    assert limits.memory({"kind": "cuda", "name": "A GPU", "memory_bytes": None}, LONG, ALL) is None


@pytest.mark.parametrize(("content", "physical", "found"), [("max", 8, 8), ("4", 8, 4), ("16", 8, 8), ("4", None, 4), (None, 8, 8)])
def test_a_containers_limit_counts_where_it_is_lower(tmp_path, content, physical, found):
    file = tmp_path / "memory.max"
    if content:
        file.write_text(f"{content}\n")
    assert limits.available_memory(physical, file) == found


NO_BACKEND = "No viable backend for scaled_dot_product_attention was found. This is likely due to turning off both the math kernel and the fused kernels."


@pytest.mark.parametrize(("backend", "reason", "expected"), [
    ("cudnn", NO_BACKEND, f"torch has this backend on GPUs only: {NO_BACKEND}"),
    ("efficient", NO_BACKEND, f"torch has this backend on GPUs only: {NO_BACKEND}"),
    ("flash", NO_BACKEND, NO_BACKEND),
    ("cudnn", "not asked for in this run", "not asked for in this run"),
    ("cudnn", None, None),
    (None, NO_BACKEND, NO_BACKEND),
])
def test_a_backend_that_only_gpus_have_is_called_so_with_torchs_words_behind(backend, reason, expected):
    assert refusal.on_a_cpu(backend, reason) == expected
