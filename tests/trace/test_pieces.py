"""Packed, unpacked, cut, damaged, padded and endless files as pieces of text."""

from __future__ import annotations

import gzip
import io
import tracemalloc
from pathlib import Path

import pytest

from reportgen.errors import TraceMalformed
from reportgen.trace.pieces import Pieces, opened

TEXT = ('{"name": "é", "n": 1}\n' * 200_000)


def read(raw: bytes, most: int = 2**40) -> tuple[str, Pieces]:
    pieces = Pieces(io.BytesIO(raw), "file", most)
    return "".join(pieces), pieces


@pytest.mark.parametrize("raw", [TEXT.encode(), b"\xef\xbb\xbf" + TEXT.encode(), gzip.compress(TEXT.encode()), gzip.compress(TEXT[:100].encode()) + gzip.compress(TEXT[100:].encode()),
                                 gzip.compress(TEXT.encode()) + b"\0" * 512])
def test_plain_packed_with_a_mark_in_members_and_padded(raw: bytes):
    text, pieces = read(raw)
    assert text == TEXT and pieces.broken is None


def test_a_cut_stream_gives_what_it_holds():
    packed = gzip.compress(TEXT.encode())
    text, pieces = read(packed[: len(packed) // 2])
    assert TEXT.startswith(text) and len(text) > len(TEXT) // 4 and pieces.broken == "its gzip stream ends early"
    text, pieces = read(packed[:-8])
    assert text == TEXT and pieces.broken == "its gzip stream ends early"


def test_a_damaged_stream_gives_what_comes_before():
    packed = bytearray(gzip.compress(TEXT.encode()))
    packed[len(packed) // 2: len(packed) // 2 + 40] = b"\xff" * 40
    text, pieces = read(bytes(packed))
    assert pieces.broken is not None and text


def test_what_unpacks_to_more_than_the_limit_is_refused_in_little_memory():
    packed = gzip.compress(b" " * 300_000_000, 9)
    tracemalloc.start()
    with pytest.raises(TraceMalformed, match="more than 200 MiB of text"):
        for _ in Pieces(io.BytesIO(packed), "bomb.json.gz", 200 * 2**20):
            pass
    assert tracemalloc.get_traced_memory()[1] < 20 * 2**20
    tracemalloc.stop()


def test_a_stray_byte_is_no_reason_to_lose_the_trace():
    assert read(b'{"name": "\xff"}')[0] == '{"name": "\ufffd"}'


def test_a_pointer_and_a_missing_file_say_what_to_do(tmp_path: Path):
    with pytest.raises(TraceMalformed, match="git lfs pull"):
        read(b"version https://git-lfs.github.com/spec/v1\n")
    with pytest.raises(TraceMalformed, match="No such file"):
        opened(tmp_path / "none.json")
