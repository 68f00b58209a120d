"""Asking torch about calls on a CPU: every form of call is right where it runs, and what can be written instead is asked about too."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from reportgen.capture import asking, asking_session, processes  # noqa: E402
from reportgen.capture.faults import Cause, ChildFailed, Fault  # noqa: E402
from reportgen.capture.map_clock import CpuClock  # noqa: E402
from reportgen.run.decode import decode  # noqa: E402
from reportgen.saying.progress import Silent  # noqa: E402
from reportgen.shapes import Call, answers  # noqa: E402
from reportgen.shapes.asked import FORMS, MASKED, Asked  # noqa: E402

SMALL = Call(2, 2, 2, 32, 32, 16, 16)


class Mute:
    def at(self, subject: str, phase: str) -> None: ...
    def result(self, key: Any, value: Any) -> None: ...


def asked(one: Asked) -> answers.Answer:
    found = asking.answer(Mute(), one, asking.Questions("cpu", (one,), 0.0, rounds=1), CpuClock())  # type: ignore[arg-type]
    answer: answers.Answer = decode(answers.Answer, json.loads(json.dumps(found)))
    return answer


@pytest.mark.parametrize("form", FORMS)
def test_math_is_right_for_every_form_of_call_with_gradients(form: Any):
    call = replace(SMALL, batch=1 if form == "three dimensions" else 2, mask=MASKED.get(form, "causal"), gradients=True)
    answer = asked(Asked("x", call, form=form))
    math = answers.reading(answer.readings, "math")
    assert math is not None and (math.state, math.reason) == ("ok", None) and answers.price(math)


@pytest.mark.parametrize("call, change", [(replace(SMALL, mask="bool"), "is_causal"), (replace(SMALL, head_dim=12, value_dim=12), "padded"),
                                          (replace(SMALL, heads=4), "repeated"), (replace(SMALL, queries=1, mask="bool"), "no mask"), (replace(SMALL, dtype="float32"), "bfloat16")])
def test_what_can_be_written_instead_is_run_and_right(call: Call, change: str):
    answer = asked(Asked("x", call))
    after = next(one for one in answer.changed if one.change == change)
    assert after.picked in ("flash", "math")
    assert {one.backend: one.state for one in after.readings if one.backend in ("math", "flash")} == {"math": "ok", "flash": "ok"}


def test_torch_says_why_flash_cannot_do_dropout_on_a_cpu():
    answer = asked(Asked("x", SMALL, dropout=0.1))
    flash = answers.reading(answer.readings, "flash")
    assert answer.picked == "math" and flash is not None and flash.state == "refused"
    assert "dropout" in (answers.own_words("flash", flash.reason) or "")
    assert answers.reading(answer.readings, "math").state == "ok"  # type: ignore[union-attr]  # held beside FP64 without dropout


def test_a_padding_mask_hides_more_keys_in_later_entries():
    tensors = asking.make(Asked("x", replace(SMALL, batch=3, keys=30, queries=30, mask="bool"), form="padding"), "cpu")
    assert tensors.mask.shape == (3, 1, 1, 30) and tensors.mask.sum(-1).flatten().tolist() == [30, 29, 27]


def test_a_backend_that_ends_the_process_is_left_out_the_next_time(monkeypatch: pytest.MonkeyPatch):
    one, plans = Asked("x", SMALL), []

    def run(target: Any, args: Any, at: Any, result: Any, patience: float) -> bool:
        plans.append(args[0].skip)
        if len(plans) == 1:
            raise ChildFailed(Fault(Cause.KILLED, "killed by SIGSEGV"), one.id, "flash")
        result(one.id, {"there": True})
        return True

    monkeypatch.setattr(processes, "run", run)
    assert asking_session.one("cpu", one, 10.0, Silent()) == {"there": True}
    assert plans == [(), ((one.id, "flash", "killed by SIGSEGV"),)]
