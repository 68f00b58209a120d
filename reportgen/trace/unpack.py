"""A trace file → the document in it, within limits: a few megabytes may unpack to more than the machine has."""

from __future__ import annotations

import gzip
import io
import json
import zlib
from pathlib import Path
from typing import Any

from ..errors import TraceMalformed
from .kineto import RECORD_AGAIN

MOST_BYTES = 256 * 2**20
"""Of unpacked JSON. A recorded trace of six forwards has 0.2 to 1 MB."""
MOST_VALUES = 4_000_000
"""Objects and lists in it; an event takes two. Python needs some hundred bytes for each."""
TOO_MUCH = f"a trace of six forwards is far smaller: {RECORD_AGAIN}"
POINTER = b"version https://git-lfs"


def document(file: Path) -> Any:
    """What the file (`.json` or `.json.gz`) holds.

    Raises:
        TraceMalformed: names the file, and where in it something is wrong.
    """
    where = str(file)
    text = _unpacked(_raw(file, where), where).decode("utf-8", errors="replace")  # a stray byte in a kernel's name is no reason to lose the trace
    if text.count("{") + text.count("[") > MOST_VALUES:
        raise TraceMalformed(f"it holds more than {MOST_VALUES:,} objects and lists", where=where, cure=TOO_MUCH)
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise TraceMalformed(f"not valid JSON: {error.msg} at line {error.lineno}, column {error.colno}, "
                             f"near {text[max(0, error.pos - 30):error.pos + 10]!r}", where=where, cure=_json_cure(error)) from None
    except RecursionError:
        raise TraceMalformed("not valid JSON: nested too deep", where=where, cure=RECORD_AGAIN) from None
    except ValueError:
        raise TraceMalformed("not valid JSON: a number with thousands of digits", where=where, cure=RECORD_AGAIN) from None


def _raw(file: Path, where: str) -> bytes:
    try:
        with open(file, "rb") as opened:
            raw = opened.read(MOST_BYTES + 1)
    except OSError as error:
        raise TraceMalformed(f"cannot be read ({error.strerror})", where=where, cure=RECORD_AGAIN) from None
    if raw.startswith(POINTER):
        raise TraceMalformed("this is Git LFS's pointer to a trace, and not the trace", where=where, cure="`git lfs pull` fetches it")
    return raw


def _unpacked(raw: bytes, where: str) -> bytes:
    if raw[:2] == b"\x1f\x8b":
        try:
            with gzip.GzipFile(fileobj=io.BytesIO(raw)) as packed:
                raw = packed.read(MOST_BYTES + 1)
        except (EOFError, zlib.error, gzip.BadGzipFile):
            raise TraceMalformed("the gzip stream ends early or is damaged", where=where, cure=RECORD_AGAIN) from None
    if len(raw) > MOST_BYTES:
        raise TraceMalformed(f"it unpacks to more than {MOST_BYTES // 2**20} MiB", where=where, cure=TOO_MUCH)
    return raw


def _json_cure(error: json.JSONDecodeError) -> str:
    if "escape" in error.msg:
        return "some torch versions write backslashes of Windows paths unescaped: export again with a newer torch"
    if "Expecting ',' delimiter" in error.msg:
        return "some torch versions write quotes inside names unescaped: export again with a newer torch, or record the run again"
    return RECORD_AGAIN
