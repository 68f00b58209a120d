"""The profiler's trace on its way from torch: a disk that took none is said to be the cause."""

from __future__ import annotations

import pytest

from reportgen.capture import profiling


class Profiler:
    def __init__(self, content: str | None) -> None:
        self.content = content

    def export_chrome_trace(self, file: str) -> None:
        if self.content is not None:
            with open(file, "w", encoding="utf-8") as out:
                out.write(self.content)


def test_a_trace_comes_back_as_a_document():
    assert profiling.export(Profiler('{"traceEvents": []}')) == {"traceEvents": []}


def test_a_trace_that_was_not_written_names_the_disk_and_its_room(monkeypatch):
    monkeypatch.setattr(profiling.shutil, "disk_usage", lambda folder: type("Usage", (), {"free": 12 << 10}))
    with pytest.raises(OSError, match=r"^the profiler wrote no trace; the disk of the temporary folder has room for 12 KiB$"):
        profiling.export(Profiler(None))
