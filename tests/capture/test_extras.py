"""Attention beside SDPA's backends: small files, what is absent says what to install, and what runs is held beside FP64."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from reportgen.capture import beside, extras, map_inputs, mapping  # noqa: E402
from reportgen.capture.map_clock import CpuClock  # noqa: E402
from reportgen.shapes import Call  # noqa: E402

SMALL = Call(1, 2, 2, 160, 160, 16, 16)


class Mute:
    def at(self, subject: str, phase: str) -> None: ...


@pytest.mark.parametrize("name", extras.NAMES)
def test_an_extra_is_a_file_of_at_most_forty_lines(name: str):
    extra = extras.load(name)
    assert len(Path(extra.__file__).read_text(encoding="utf-8").splitlines()) <= 40  # type: ignore[attr-defined]
    assert extra.TITLE and extra.INSTALL


@pytest.mark.parametrize("name", [name for name in extras.NAMES if name != "flex"])
def test_what_needs_a_gpu_says_so_on_a_cpu(name: str):
    assert extras.load(name).missing("cpu") == "it needs a GPU"


def test_a_package_that_is_absent_is_named():
    assert extras.absent("no_such_package.inside", device="cuda") == "the package no_such_package is not installed"
    assert extras.absent("json", device="cuda") is None


@pytest.mark.parametrize("mask", ["none", "causal", "window"])
def test_flex_hides_the_same_keys_as_the_mask(monkeypatch: pytest.MonkeyPatch, mask: Any):
    from dataclasses import replace

    monkeypatch.setattr(torch, "compile", lambda function, **options: function)
    monkeypatch.setattr(map_inputs, "WINDOW", 32)
    monkeypatch.setattr(extras.load("flex"), "WINDOW", 32)
    tensors = map_inputs.make(replace(SMALL, mask=mask), "cpu")
    judged = map_inputs.Right(tensors).judged(extras.runner(extras.load("flex"), tensors)())
    assert judged["right"], judged


def test_a_point_has_the_fused_backends_and_every_extra_or_why_it_is_absent(monkeypatch: pytest.MonkeyPatch):
    class Own:
        TITLE, INSTALL = "own", "install it"

        @staticmethod
        def prepare(tensors: map_inputs.Tensors) -> Any:
            return lambda: torch.softmax(tensors.q.float() @ tensors.k.float().transpose(-2, -1) / 4, -1).to(tensors.v.dtype) @ tensors.v

    known = {"flex": Own, "fa3": Own}
    plan = mapping.Plan("cpu", (), 0.0, rounds=1)
    call = Call(1, 2, 2, 32, 32, 16, 16, mask="none")
    found = beside._point(Mute(), call, plan, CpuClock(), known, {"fa3": "it needs a GPU"})  # type: ignore[arg-type]
    told = {one["backend"]: one for one in found["readings"]}
    assert {name: one["state"] for name, one in told.items()} == {"efficient": "refused", "flash": "ok", "cudnn": "refused", "flex": "ok", "fa3": "refused"}
    assert told["fa3"]["reason"] == "it needs a GPU; install it" and told["flex"]["first"] > 0


def test_what_an_extra_does_not_take_is_refused_and_a_wrong_one_is_told():
    class Declines:
        TITLE = INSTALL = "x"

        @staticmethod
        def prepare(tensors: map_inputs.Tensors) -> Any:
            raise NotImplementedError("no windows")

    class Wrong(Declines):
        @staticmethod
        def prepare(tensors: map_inputs.Tensors) -> Any:
            return lambda: tensors.v * 0.5

    found = beside._point(Mute(), Call(1, 1, 1, 16, 16, 16, 16, mask="none"), mapping.Plan("cpu", (), 0.0, rounds=1), CpuClock(), {"flex": Declines, "varlen": Wrong}, {})  # type: ignore[arg-type, dict-item]
    told = {one["backend"]: one for one in found["readings"]}
    assert (told["flex"]["state"], told["flex"]["reason"]) == ("refused", "no windows.")
    assert told["varlen"]["state"] == "wrong" and "gpu" not in told["varlen"]
