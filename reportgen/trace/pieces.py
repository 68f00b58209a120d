"""A file, packed or not, as text in pieces: what it holds is read up to where it ends or breaks, and never more than a limit."""

from __future__ import annotations

import codecs
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from ..errors import TraceMalformed
from .unpack import POINTER

PIECE = 2**20
"""Bytes of text in a piece."""
MOST_BYTES = 16 * 2**30
"""Of unpacked text. Event by event this costs time and no memory; a file of zeros can pack a thousand times more than it is."""
AGAIN = "export it again with torch.profiler's export_chrome_trace"


class Pieces:
    """The text of a file.

    broken: how the file ended before its text did, in words, or `None`; known when the last piece has been taken
    size: bytes of text so far
    """

    def __init__(self, opened: BinaryIO, where: str, most: int = MOST_BYTES) -> None:
        self.broken: str | None = None
        self.size = 0
        self._opened, self._where, self._most = opened, where, most

    def __iter__(self) -> Iterator[str]:
        """Pieces of about a mebibyte; a stray byte in a name becomes a sign of its own.

        Raises:
            TraceMalformed: it cannot be read, is Git LFS's pointer, or unpacks to more than the limit.
        """
        decoder = codecs.getincrementaldecoder("utf-8-sig")(errors="replace")
        for raw in self._unpacked():
            self.size += len(raw)
            if self.size > self._most:
                raise TraceMalformed(f"it holds more than {self._most // 2**20:,} MiB of text", where=self._where, cure="record fewer steps, or a part of the model")
            text = decoder.decode(raw)
            if text:
                yield text
        rest = decoder.decode(b"", final=True)
        if rest:
            yield rest

    def _unpacked(self) -> Iterator[bytes]:
        first = self._read()
        if first.startswith(POINTER):
            raise TraceMalformed("this is Git LFS's pointer to a trace, and not the trace", where=self._where, cure="`git lfs pull` fetches it")
        if first[:2] != b"\x1f\x8b":
            while first:
                yield first
                first = self._read()
            return
        yield from self._members(first)

    def _members(self, packed: bytes) -> Iterator[bytes]:
        """The members of a gzip file, one after the other, until one is damaged or cut short."""
        unpacker = zlib.decompressobj(31)
        while True:
            try:
                text = unpacker.decompress(packed, PIECE)
            except zlib.error:
                self.broken = "its gzip stream is damaged"
                return
            if text:
                yield text
            packed = unpacker.unconsumed_tail
            if unpacker.eof:
                packed = unpacker.unused_data or self._read()
                if packed[:2] != b"\x1f\x8b":
                    return  # the end, or padding
                unpacker = zlib.decompressobj(31)
            elif not packed:
                packed = self._read()
                if not packed:
                    self.broken = "its gzip stream ends early"
                    return

    def _read(self) -> bytes:
        try:
            return self._opened.read(PIECE)
        except OSError as error:
            raise TraceMalformed(f"cannot be read ({error.strerror})", where=self._where, cure=AGAIN) from None


def opened(file: Path) -> BinaryIO:
    """The file, for reading.

    Raises:
        TraceMalformed: it cannot be opened.
    """
    try:
        return open(file, "rb")
    except OSError as error:
        raise TraceMalformed(f"cannot be read ({error.strerror})", where=str(file), cure="name a trace that torch.profiler exported (.json or .json.gz)") from None
