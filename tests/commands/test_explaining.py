"""`python -m reportgen explain`: in the terminal, as JSON, as a page; from a file or the standard input; what is no trace in two lines."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TRACE = ROOT / "tests" / "data" / "planted" / "by_hand.json.gz"


def explain(*arguments: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([sys.executable, "-m", "reportgen", "explain", *arguments], cwd=ROOT, input=given, capture_output=True, timeout=60)


def test_the_terminal_answers_first():
    done = explain(str(TRACE))
    lines = done.stdout.decode().splitlines()
    assert done.returncode == 0 and done.stderr == b""
    assert lines[0] == "Attention in by_hand.json.gz"
    assert lines[3] == "Attention takes 93.0 ms of 100 ms of GPU time (92.6 %), at 1 place."
    assert lines[4].startswith("Begin at planted_models.py(156): attend in WrittenAttention (written by hand, 92.6 %): call")
    assert max(map(len, lines)) <= 120
    assert "`" not in done.stdout.decode()


def test_the_standard_input_is_a_trace_as_well_packed_or_not():
    packed, plain = explain("-", given=TRACE.read_bytes()), explain("-", given=gzip.decompress(TRACE.read_bytes()))
    assert packed.stdout == plain.stdout
    assert packed.stdout.decode().splitlines()[0] == "Attention in standard input"


def test_json_has_typed_values_and_the_sentences():
    found = json.loads(explain(str(TRACE), "--json").stdout)
    site = found["sites"][0]
    assert (found["format"], site["kind"], site["backend"], site["calls"]) == (1, "by_hand", None, 9)
    assert site["reasons"][0]["cause"] == "by_hand" and site["advice"][0]["cure"] == "call_sdpa"
    assert site["time"]["seconds"] == pytest.approx(0.0930, abs=5e-5) and site["share"] == pytest.approx(0.926, abs=5e-4)
    assert site["reasons_text"][0].startswith("It is written by hand")


@pytest.mark.parametrize("name, begins", [("page.html", "<!doctype html>"), ("page.md", "# Attention in by_hand.json.gz")])
def test_a_page_is_written_beside_the_report(tmp_path, name, begins):
    done = explain(str(TRACE), "-o", str(tmp_path / name))
    assert done.returncode == 0 and done.stdout.decode().splitlines()[-1] == f"written: {tmp_path / name}"
    text = (tmp_path / name).read_text(encoding="utf-8")
    assert text.startswith(begins) and "http" not in text.replace("http-equiv", "")


def test_a_file_that_was_cut_is_read_and_says_so_first(tmp_path):
    (tmp_path / "cut.json.gz").write_bytes(TRACE.read_bytes()[:40_000])
    lines = explain(str(tmp_path / "cut.json.gz")).stdout.decode().splitlines()
    assert lines[3].startswith("! The file is not whole: ")


@pytest.mark.parametrize("arguments, said", [
    ((str(ROOT / "README.md"),), "this is no trace of torch.profiler: it begins with '# What attention doe'"),
    ((str(TRACE.parent / "manifest.json"),), "none of its events is an op, a call of the runtime or a kernel"),
    (("nowhere.json",), "nowhere.json: cannot be read (No such file or directory)"),
    ((str(TRACE), "-o", "page.pdf"), "expected a name that ends in .html or .md, found 'page.pdf'"),
    ((str(TRACE), "-o", "no/such/folder/page.md"), "there is no folder 'no/such/folder' to write into"),
])
def test_bad_input_is_two_lines(arguments, said):
    done = explain(*arguments)
    lines = done.stderr.decode().splitlines()
    assert done.returncode == 2 and done.stdout == b""
    assert len(lines) == 2 and said in lines[0] and lines[1].startswith("  what to do: ")
