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


COMPARES = next(text for name, text in SNIPPETS if name.startswith("is-it-right") and "the plain formula by" in text)


@pytest.mark.parametrize(("said", "instead"), [
    ("return F.scaled_dot_product_attention(q, k, v, is_causal=True) ", "return F.scaled_dot_product_attention(q, k.detach() if k.dtype is torch.bfloat16 else k, v, is_causal=True) + 0 * k.sum()  #"),
    ("return F.scaled_dot_product_attention(q, k, v, is_causal=True) ", "return F.scaled_dot_product_attention(q, k, v, is_causal=True) * (float('nan') if torch.backends.cuda.flash_sdp_enabled() and q.dtype is torch.bfloat16 else 1)  #"),
], ids=["gradient lost", "not finite"])
def test_the_snippet_that_compares_gradients_finds_wrong_ones(said: str, instead: str, capture_python: str):
    """A call that loses the gradient of k, and one whose gradients are NaN unless math is pinned; as it stands it needs torch alone and at most 25 lines."""
    assert said in COMPARES and len(COMPARES.splitlines()) <= 25
    assert {line.split()[1].split(".")[0] for line in COMPARES.splitlines() if line.startswith(("import", "from"))} == {"torch"}
    done = subprocess.run([capture_python, "-W", "ignore", "-c", COMPARES.replace(said, instead)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 1 and "is wrong" in done.stderr, done.stderr


@pytest.mark.parametrize("text", [text for _, text in SNIPPETS], ids=[name for name, _ in SNIPPETS])
def test_a_snippet_runs(text: str, capture_python: str, tmp_path: Path):
    """In a fresh interpreter, so that no snippet leans on another, and its assertions hold."""
    assert "{{" not in text and "{%" not in text, "a snippet shows code as it is, without template variables"
    done = subprocess.run([capture_python, "-W", "ignore", "-c", text], capture_output=True, text=True, timeout=300, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
