"""The code that the finding pages and the guides show runs as it stands, on a CPU."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

TEMPLATES = Path(__file__).resolve().parents[2] / "reportgen" / "templates" / "findings"
GUIDES = [TEMPLATES.parent / name for name in ("sdpa.md.j2", "which_limit.md.j2", "profile_your_model.md.j2")]
_FENCE = re.compile(r"^```python\n(.*?)^```", re.S | re.M)
SNIPPETS = [(f"{file.name.removesuffix('.md.j2')}-{place}", text)
            for file in [*sorted(TEMPLATES.glob("*.md.j2")), *GUIDES] for place, text in enumerate(_FENCE.findall(file.read_text(encoding="utf-8")), start=1)]


def test_every_finding_shows_code():
    """A page that says what to do also shows it."""
    with_code = {name.rsplit("-", 1)[0] for name, _ in SNIPPETS}
    assert {file.name.removesuffix(".md.j2") for file in [*TEMPLATES.glob("*.md.j2"), *GUIDES]} == with_code


@pytest.mark.parametrize("text", [text for _, text in SNIPPETS], ids=[name for name, _ in SNIPPETS])
def test_a_snippet_runs(text: str, capture_python: str, tmp_path: Path):
    """In a fresh interpreter, so that no snippet leans on another, and its assertions hold."""
    assert "{{" not in text and "{%" not in text, "a snippet shows code as it is, without template variables"
    done = subprocess.run([capture_python, "-W", "ignore", "-c", text], capture_output=True, text=True, timeout=300, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
