"""The harness that every test of this folder shares, so that a copy is built and rendered once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from perturbed.harness import Harness


@pytest.fixture(scope="session")
def copies(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Harness]:
    yield Harness(tmp_path_factory.mktemp("perturbed"))
