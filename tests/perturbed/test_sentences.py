"""What `sentences` says about pages, one test for each entry and copy; entries that are still open may fail."""

from __future__ import annotations

import re

import pytest

from perturbed.catalogue import PERTURBATIONS
from perturbed.harness import Harness
from perturbed.sentences import ALL, MUST, NEVER, Entry


def _cases(entries: tuple[Entry, ...]) -> list[object]:
    return [pytest.param(copy, entry, id=f"{entry.row}-{copy}-{entry.place}-{number}",
                         marks=[pytest.mark.xfail(reason=f"truth.md {entry.row}", strict=False)] if entry.is_open(copy) else [])
            for number, entry in enumerate(entries) for copy in entry.copies.split()]


def test_every_entry_names_copies_that_there_are():
    named = {copy for entry in (*NEVER, *MUST) for copy in (*entry.copies.split(), *(() if entry.open == ALL else entry.open.split()))}
    assert named - set(PERTURBATIONS) == set()
    assert [entry for entry in (*NEVER, *MUST) if entry.open not in ("", ALL) and not set(entry.open.split()) < set(entry.copies.split())] == []


@pytest.mark.parametrize("copy, entry", _cases(NEVER))
def test_a_page_does_not_say(copy: str, entry: Entry, copies: Harness):
    text = copies[copy].on(entry.place)
    assert text.strip()
    for pattern in entry.patterns:
        found = re.search(pattern, text)
        assert found is None, text[max(0, found.start() - 100):found.end() + 60]


@pytest.mark.parametrize("copy, entry", _cases(MUST))
def test_a_page_says(copy: str, entry: Entry, copies: Harness):
    text = copies[copy].on(entry.place)
    for pattern in entry.patterns:
        assert re.search(pattern, text), f"{pattern} is not said: {text[:400]}"
