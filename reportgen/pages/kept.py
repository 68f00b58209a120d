"""What was made before, on disk, by what it was made of: nothing that did not change is made again.

The folder lies in build/ and may be deleted at any time. It is never believed without a look: each file begins with a digest of its
kind, its key and its content, and one that does not fit is as good as not there. What cannot be written is not kept.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from ..run import swap

DAYS = 30
"""After which something that nobody asked for is removed."""
Files = Mapping[str, str | bytes]


class Kept:
    """One folder of things by kind and key."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._asked: set[Path] = set()

    def get(self, kind: str, key: str) -> bytes | None:
        """What was kept under `key`, whole; `None` where there is nothing, or something else than was put there."""
        file = self._file(kind, key)
        self._asked.add(file)
        try:
            content = file.read_bytes()
        except OSError:
            return None
        head, _, body = content.partition(b"\n")
        return body if head == _seal(kind, key, body) else None

    def put(self, kind: str, key: str, body: bytes) -> None:
        """Keeps `body`, as a whole or not at all."""
        file = self._file(kind, key)
        with suppress(OSError):
            file.parent.mkdir(parents=True, exist_ok=True)
            swap.write_whole(file, _seal(kind, key, body) + b"\n" + body)

    def forget(self) -> None:
        """Removes what nobody asked for and is older than `DAYS`, and what a killed command left half written."""
        oldest = time.time() - DAYS * 86400
        with suppress(OSError):
            for folder, _, names in os.walk(self.folder):
                for file in (Path(folder, name) for name in names):
                    if file.name.endswith(swap.FRESH) or (file not in self._asked and file.stat().st_mtime < oldest):
                        file.unlink()

    def _file(self, kind: str, key: str) -> Path:
        return self.folder / kind / key[:2] / key[2:]


def _seal(kind: str, key: str, body: bytes) -> bytes:
    return hashlib.sha256(f"{kind} {key}\n".encode() + body).hexdigest().encode()


def packed(files: Files) -> bytes:
    """Generated files as one piece: a line that lists them, then their contents one behind the other."""
    contents = [(path, isinstance(content, str), content.encode("utf-8") if isinstance(content, str) else content) for path, content in files.items()]
    head = json.dumps([[path, is_text, len(data)] for path, is_text, data in contents], ensure_ascii=False)
    return b"".join([head.encode("utf-8"), b"\n", *(data for _, _, data in contents)])


def unpacked(body: bytes) -> dict[str, str | bytes]:
    """The files in a piece that `packed` made."""
    head, _, rest = body.partition(b"\n")
    found: dict[str, str | bytes] = {}
    at = 0
    for path, is_text, length in json.loads(head):
        data = rest[at: at + length]
        found[path] = data.decode("utf-8") if is_text else data
        at += length
    return found
