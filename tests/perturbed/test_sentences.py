"""What pages of copies say: no holes, nobody crowned who did not win, and `sentences`, one test for each entry and copy.

`PERTURBED=all` renders every copy, without it those that `sentences` names.
"""

from __future__ import annotations

import re

import pytest

from perturbed import oracle
from perturbed.catalogue import PERTURBATIONS
from perturbed.harness import Harness
from perturbed.sentences import MUST, NEVER, Entry
from perturbed.test_copies import EVERYTHING, GOOD, holes

NAMED = {copy for entry in (*NEVER, *MUST) for copy in entry.copies.split()} | {"probe_on_default", "wrong_gradients", "no_gpu_lane", "all_traces_lost", "forwards_differ"}
RENDERED = [name for name in GOOD if EVERYTHING or name in NAMED]
_CROWNED = re.compile(r"(Naive, compiled|Naive in place|Naive|SDPA \w+)(?:\*\*)?(?: is the fastest (?:here|of the)|, the fastest here)")


def _cases(entries: tuple[Entry, ...]) -> list[object]:
    return [pytest.param(copy, entry, id=f"{entry.row}-{copy}-{entry.place}-{number}") for number, entry in enumerate(entries) for copy in entry.copies.split()]


def test_every_entry_names_copies_that_there_are():
    named = {copy for entry in (*NEVER, *MUST) for copy in entry.copies.split()}
    assert named - set(PERTURBATIONS) == set()


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


@pytest.mark.parametrize("name", RENDERED)
def test_no_page_prints_none_or_a_hole_of_a_format(name: str, copies: Harness):
    """Whole pages, README and terminal."""
    copy = copies[name]
    for path, text in {**copy.pages, "README": copy.readme, "terminal": copy.terminal}.items():
        if path.endswith((".py", ".json")):  # code and data have braces and None of their own
            continue
        prose = re.sub(r"```.*?```|`[^`]*`|<script.*?</script>", "", text, flags=re.S)
        assert not holes(prose), path


@pytest.mark.parametrize("name", RENDERED)
def test_nobody_is_called_the_fastest_who_does_not_beat_all_others(name: str, copies: Harness):
    """On the front page, in alt texts, on the hardware pages, in README and terminal: one ranking everywhere."""
    copy = copies[name]
    first = oracle.fastest(copy.content, copy.noise)
    title = copy.content["variants"][first]["title"] if first else None
    assert set(_CROWNED.findall(copy.on("everywhere"))) - {title} == set()
