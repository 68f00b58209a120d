"""Asks torch about one call: what it picks, what every backend costs or why it refuses, and the same for what can be written instead."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from variants.backends import BACKENDS

from ..shapes import Call, answers, record
from ..shapes.asked import MULTIPLE, Asked, changes
from . import map_inputs, mapping, operands
from .map_clock import CpuClock, GpuClock
from .map_inputs import Tensors
from .map_session import Work
from .processes import Report

PADDED = 10
"""One in so many keys is hidden by a padding mask, more in later entries of the batch."""


@dataclass(frozen=True)
class Questions:
    """asked: in order; until: `time.monotonic()` at which no further one is begun; skip: (id, backend, reason) that ended a process before"""

    device: str
    asked: tuple[Asked, ...]
    until: float
    skip: tuple[tuple[str, str, str], ...] = ()
    rounds: int = mapping.ROUNDS


def ask(report: Report, questions: Questions) -> bool:
    """Hands over each answer as it is given; true where all were."""
    operands.start(questions.device)
    clock = GpuClock(questions.device) if operands.is_gpu(questions.device) else CpuClock()
    for asked in questions.asked:
        if time.monotonic() >= questions.until:
            return False
        report.result(asked.id, answer(report, asked, questions, clock))
    return True


def answer(report: Report, asked: Asked, questions: Questions, clock: Any) -> dict[str, Any]:
    """The fields of `shapes.answers.Answer`."""
    found = {"asked": asdict(asked), **_readings(report, asked, questions, clock)}
    changed = []
    for change, other in changes(asked):
        after = _readings(report, other, questions, clock, asked.id)
        changed.append({"change": change, "asked": asdict(other), "picked": after["picked"], "readings": after["readings"]})
        found["seconds"] += after["seconds"]
    return {**found, "changed": changed}


def _readings(report: Report, asked: Asked, questions: Questions, clock: Any, subject: str | None = None) -> dict[str, Any]:
    """subject: of reports, the call whose change `asked` is: a backend that ends the process is then tried in neither"""
    subject = subject or asked.id
    dead = {backend: reason for name, backend, reason in questions.skip if name == subject}
    plan = mapping.Plan(questions.device, (), questions.until, rounds=questions.rounds)
    return mapping.readings(report, subject, asked.call, partial(make, asked, questions.device), plan, clock, dead)


@dataclass
class AskedTensors(Tensors):
    """The tensors of an `Asked`, and how they are handed over."""

    asked: Asked | None = None

    def run(self) -> tuple[Any, ...]:
        assert self.asked is not None
        return self._run(self.asked.dropout)

    def _run(self, dropout: float) -> tuple[Any, ...]:
        """The output, and the gradients of q, k and v."""
        import torch
        import torch.nn.functional as F

        asked = self.asked
        assert asked is not None
        options: dict[str, Any] = {"enable_gqa": True} if self.call.grouped and asked.written != "repeated" else {}
        if self.call.mask == "causal":
            options["is_causal"] = True
        if dropout:
            options["dropout_p"] = dropout
        if asked.written == "padded":
            options["scale"] = self.call.head_dim**-0.5
        with torch.set_grad_enabled(self.upstream is not None), deterministic() if asked.form == "deterministic" else nullcontext():
            output = F.scaled_dot_product_attention(*self._handed(), attn_mask=self.mask, **options)
            output = output[..., : self.call.value_dim] if asked.written == "padded" else output.unsqueeze(0) if asked.form == "three dimensions" else output
            if self.upstream is None:
                return (output,)
            return (output.detach(), *torch.autograd.grad(output, (self.q, self.k, self.v), self.upstream))

    def _handed(self) -> tuple[Any, Any, Any]:
        """q, k and v as SDPA gets them; what a change costs is part of its price."""
        import torch.nn.functional as F

        assert self.asked is not None
        q, k, v = self.q, self.k, self.v
        if self.asked.written == "padded":
            return tuple(F.pad(one, (0, -one.shape[-1] % MULTIPLE)) for one in (q, k, v))
        if self.asked.written == "repeated":
            share = self.call.heads // self.call.kv_heads
            return q, k.repeat_interleave(share, 1), v.repeat_interleave(share, 1)
        if self.asked.written == "contiguous":
            return q.contiguous(), k.contiguous(), v.contiguous()
        return (q[0], k[0], v[0]) if self.asked.form == "three dimensions" else (q, k, v)


@contextmanager
def deterministic() -> Iterator[None]:
    """`torch.use_deterministic_algorithms(True)`, and back."""
    import torch

    before = torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before)


def make(asked: Asked, device: str) -> AskedTensors:
    """The inputs of the map for its call, in the form that is asked about. Dropout is left out of what is held beside FP64."""
    plain = map_inputs.make(asked.call, device)
    q, k, v = (_placed(one, asked) for one in (plain.q, plain.k, plain.v))
    if asked.form == "expanded":
        k, v = (one[:, :1].detach().expand(one.shape).requires_grad_(asked.call.gradients) for one in (k, v))
    tensors = AskedTensors(asked.call, q, k, v, _mask(asked, plain.mask, device), plain.upstream, asked=asked)
    if asked.dropout:
        tensors.check = partial(tensors._run, 0.0)
    return tensors


def _placed(one: Any, asked: Asked) -> Any:
    """`one` with its last dimension apart in memory where that is asked about."""
    if asked.form != "strided":
        return one
    return one.detach().transpose(-2, -1).contiguous().transpose(-2, -1).requires_grad_(one.requires_grad)


def _mask(asked: Asked, plain: Any, device: str) -> Any:
    import torch

    call, form = asked.call, asked.form
    dtype = torch.float32 if form == "bias in fp32" else getattr(torch, call.dtype)
    if form.startswith("padding"):
        seen = _lengths(call, device)
        if form == "padding and causal":
            return seen & torch.ones(call.queries, call.keys, dtype=torch.bool, device=device).tril_(call.keys - call.queries)
        return seen if form == "padding" else torch.zeros(seen.shape, dtype=dtype, device=device).masked_fill_(~seen, float("-inf"))
    if form in ("bias per head", "bias in fp32", "learned bias"):
        generator = torch.Generator(device=device).manual_seed(map_inputs.SEED)
        bias = torch.randn(1, call.heads, call.queries, call.keys, device=device, dtype=dtype, generator=generator)
        return bias.requires_grad_(form == "learned bias")
    return plain


def _lengths(call: Call, device: str) -> Any:
    """`[batch, 1, 1, keys]`: true up to the length of an entry, which falls from all keys to all but one in `PADDED`."""
    import torch

    hidden = [call.keys * entry // (PADDED * max(1, call.batch - 1)) if call.batch > 1 else call.keys // PADDED for entry in range(call.batch)]
    lengths = torch.tensor([call.keys - less for less in hidden], device=device)
    return (torch.arange(call.keys, device=device) < lengths[:, None])[:, None, None, :]


def _there(file: Path) -> tuple[record.Header, set[Any]]:
    known = answers.read(file)
    return known.header, {answer.asked for answer in known.answers}


def _lost(asked: Asked, reason: str) -> dict[str, Any]:
    readings = [{"backend": name, "state": "failed", "reason": reason} for name in BACKENDS]
    return {"asked": asdict(asked), "picked": None, "readings": readings, "seconds": 0.0, "checked": [0, 1], "changed": []}


WHY = Work("why", "calls", ask, Questions, _there, _lost)
