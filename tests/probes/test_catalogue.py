"""The probes as a collection: each is complete, and its sources are addresses that fit their names. Without torch."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from reportgen import probes
from reportgen.probes import Kind, Needs

ROOT = Path(__file__).resolve().parents[2]
NOT_PROBES = {"__init__", "model", "making", "comparing"}
REPOSITORIES = {
    "pytorch": "pytorch/pytorch", "ROCm/pytorch": "ROCm/pytorch", "TheRock": "ROCm/TheRock", "trl": "huggingface/trl", "xformers": "facebookresearch/xformers",
    "flash-attention": "Dao-AILab/flash-attention", "cudnn-frontend": "NVIDIA/cudnn-frontend", "TransformerEngine": "NVIDIA/TransformerEngine",
    "FlagGems": "flagos-ai/FlagGems",
}  # fmt: skip


def test_every_file_of_the_room_is_a_probe_that_is_listed() -> None:
    files = {file.stem for file in (ROOT / "reportgen" / "probes").glob("*.py")} - NOT_PROBES
    assert files == set(probes.NAMES)
    assert [probe.id for probe in probes.load()] == [name.replace("_", "-") for name in probes.NAMES]


def test_there_are_as_many_as_were_promised_and_what_torch_documents_is_told_apart() -> None:
    assert len(probes.load()) >= 18
    assert [probe.id for probe in probes.load() if probe.kind is Kind.TRAP] == ["empty-rows", "causal-one-query", "masked-nan", "dropout-eval"]


@pytest.mark.parametrize("probe", probes.load(), ids=lambda probe: probe.id)
def test_a_probe_says_what_it_is(probe: probes.Probe) -> None:
    assert probe.title and not probe.title.endswith(".") and probe.inputs and probe.compared and probe.avoid and probe.needs
    if probe.cure:
        compile(probe.cure.code, probe.id, "exec")
        assert probe.cure.words.endswith(".") and "scaled_dot_product_attention" in probe.cure.code


@pytest.mark.parametrize("probe", probes.load(), ids=lambda probe: probe.id)
def test_a_source_has_the_address_that_its_name_says(probe: probes.Probe) -> None:
    assert probe.reports
    for report in probe.reports:
        if report.name == "torch's documentation":
            assert report.url.startswith("https://docs.pytorch.org/docs/")
            continue
        name, _, number = report.name.rpartition("#")
        assert re.fullmatch(rf"https://github\.com/{re.escape(REPOSITORIES[name])}/(issues|pull)/{number}", report.url)
        assert report.versions and report.devices and report.backends


def test_what_the_watch_must_cover_is_covered() -> None:
    covered = set().union(*(probe.needs for probe in probes.load()))
    assert covered >= {Needs.OTHER_TYPE, Needs.STRIDES, Needs.ODD_LENGTH, Needs.ONE_QUERY, Needs.GROUPED, Needs.UNEQUAL_LENGTHS, Needs.EMPTY_ROWS, Needs.LARGE_LOGITS,
                       Needs.DROPOUT, Needs.EXTREME_BATCH, Needs.GRADIENTS, Needs.LARGE_TENSORS, Needs.OTHER_HEAD_DIM, Needs.MASK_GRADIENT, Needs.NAN}  # fmt: skip
