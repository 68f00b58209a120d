"""Who else is at work is looked for from a run's begin to its end; what nobody tells is unknown, never zero."""

from __future__ import annotations

import pytest
from fake_nvml import GIB, FakeGpu, FakeNvml

from reportgen.capture import assemble, neighbours
from reportgen.capture.sampler import Identity, Sampler


def watch(*gpus: FakeGpu, waited: list[float] | None = None, **options) -> neighbours.Watch:
    """A watch whose library shows one GPU after another, an opening each; the last one stays."""
    shown = list(gpus)

    def opened(device: str, known: Identity) -> Sampler:
        gpu = shown.pop(0) if len(shown) > 1 else shown[0]
        return Sampler(device, known, load=lambda name: FakeNvml(gpu, **options))

    return neighbours.Watch(Identity(FakeGpu().uuid), open_sampler=opened, wait=lambda seconds: (waited if waited is not None else []).append(seconds))


@pytest.fixture(autouse=True)
def quiet(monkeypatch):
    monkeypatch.setattr(neighbours, "load", lambda: 1.5)


def test_a_neighbour_that_comes_later_is_seen():
    seen = watch(FakeGpu(free=140 * GIB), FakeGpu(pids=(7,)), FakeGpu())
    for when in ("begin", "process 1", "end"):
        seen.look(when)
    assert [(look["when"], look["processes"]) for look in seen.looks] == [("begin", 0), ("process 1", 1), ("end", 0)]
    assert seen.looks[0] == {"when": "begin", "load": 1.5, "processes": 0, "graphics_processes": 0, "gpu_busy_percent": 0, "gpu_memory_used_bytes": 0}
    assert seen.most() == 1


def test_what_a_process_saw_while_it_ran_counts_as_well():
    seen = watch(FakeGpu())
    seen.look("process 1", {"processes": 2, "others_cpu_share": 0.25})
    assert (seen.looks[0]["processes"], seen.looks[0]["others_cpu_share"], seen.most()) == (2, 0.25, 2)


def test_a_process_that_stays_is_waited_for_once():
    waited: list[float] = []
    seen = watch(FakeGpu(pids=(7,)), waited=waited)
    seen.look("begin")
    assert (sum(waited), seen.most()) == (2.5, 1)
    seen.look("process 1")
    assert sum(waited) == 2.5


def test_a_process_of_ours_that_is_just_leaving_is_no_neighbour():
    """The driver lists it until its context is taken apart, here for half a second more."""
    gpus, waited = [FakeGpu(pids=(7,))], []

    def wait(seconds: float) -> None:
        waited.append(seconds)
        if sum(waited) >= 0.5:
            gpus[0] = FakeGpu()

    class Shown(FakeNvml):
        gpus = property(lambda self: gpus, lambda self, given: None)

    seen = neighbours.Watch(Identity(FakeGpu().uuid), open_sampler=lambda device, known: Sampler(device, known, load=lambda name: Shown()), wait=wait)
    seen.look("process 1")
    assert (waited, seen.most()) == ([0.25, 0.25], 0)


def test_where_nobody_tells_neighbours_are_unknown_and_not_none():
    seen = watch(FakeGpu(), refuses=("nvmlDeviceGetComputeRunningProcesses_v3",))
    seen.look("begin", {"processes": None, "others_cpu_share": None})
    assert seen.looks[0]["processes"] is None and seen.most() is None
    alone = neighbours.Watch(None)
    alone.look("begin")
    assert alone.looks == [{"when": "begin", "load": 1.5}] and alone.most() is None
    assert assemble.clocks(assemble.Timed(), alone) == {"available": False, "reason": None, "samples": [], "other_processes": None, "looks": alone.looks}


STAT = "cpu  {user} 0 0 {idle} 0 0 0 {steal} 0 0\ncpu0 0 0 0 0 0 0 0 0 0 0\n"


@pytest.mark.parametrize(("user", "idle", "steal", "own", "share"), [
    (1000, 1000, 0, 10.0, 0.0),  # in hundredths of a second: 20 s passed on both processors, 10 of them busy and all ours
    (1500, 500, 0, 10.0, 0.25),  # 15 s busy, 10 ours
    (1000, 500, 500, 10.0, 0.25),  # 5 s stolen by another virtual machine
    (2000, 0, 0, 0.0, 1.0),
    (900, 1100, 0, 10.0, 0.0),  # clocks of two kinds may disagree a little
    (20, 20, 0, 0.0, None),  # too short to tell
])
def test_the_share_of_others_is_what_was_busy_and_not_ours(tmp_path, monkeypatch, user, idle, steal, own, share):
    monkeypatch.setattr("os.sysconf", lambda name: 100)
    file, clock = tmp_path / "stat", iter((5.0, 5.0 + own))
    file.write_text(STAT.format(user=0, idle=0, steal=0))
    processors = neighbours.Processors(file, own=lambda: next(clock))
    file.write_text(STAT.format(user=user, idle=idle, steal=steal))
    assert processors.others() == share


@pytest.mark.parametrize("content", [None, "", "cpu 1 2", "cpu a b c d e f g h"])
def test_a_kernel_that_does_not_tell_leaves_the_share_unknown(tmp_path, content):
    if content is not None:
        (tmp_path / "stat").write_text(content)
    assert neighbours.Processors(tmp_path / "stat").others() is None
