"""What surrounds the timed blocks of one process."""

from __future__ import annotations

import gc
import os

import pytest

from reportgen.capture.undisturbed import undisturbed

pytestmark = pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system has no affinity")


def test_on_a_gpu_the_launching_thread_stays_on_one_processor_and_gets_the_others_back():
    before = os.sched_getaffinity(0)
    with undisturbed("cuda") as pinned:
        assert pinned and len(os.sched_getaffinity(0)) == 1 and not gc.isenabled()
    assert os.sched_getaffinity(0) == before and gc.isenabled()


def test_a_system_that_refuses_the_pin_costs_the_pin_only(monkeypatch):
    """EINVAL, as in some containers."""
    def refuses(*_: object) -> None:
        raise OSError(22, "Invalid argument")

    monkeypatch.setattr(os, "sched_setaffinity", refuses)
    with undisturbed("cuda") as pinned:
        assert pinned is False and not gc.isenabled()
    monkeypatch.setattr(os, "sched_getaffinity", refuses)
    with undisturbed("cuda") as pinned:
        assert pinned is False
    assert gc.isenabled()


def test_on_a_cpu_nothing_is_pinned():
    """torch's worker threads would share the one processor."""
    before = os.sched_getaffinity(0)
    with undisturbed("cpu") as pinned:
        assert pinned is False and os.sched_getaffinity(0) == before
