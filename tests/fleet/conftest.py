"""Whether there is a submitit; `make test` sees to it and says so."""

from __future__ import annotations

import importlib.util
import os

import pytest


@pytest.fixture(scope="session")
def submitit_here() -> None:
    """Skips without submitit, unless REQUIRE_SUBMITIT is set (as `make test` does)."""
    if importlib.util.find_spec("submitit") is None:
        if os.environ.get("REQUIRE_SUBMITIT"):
            pytest.fail("submitit is missing: requirements/environments.py fleet installs it")
        pytest.skip("no submitit here: run `make test`")
