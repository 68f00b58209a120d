"""What standard output can show: its colours, and its encoding, where what it has no sign for is written in plainer ones, never an error after a good run."""

from __future__ import annotations

import codecs
import os
import sys

HANDLER = "reportgen-plain"
PLAIN = {"µ": "u", "×": "x", "÷": "/", "—": "-", "–": "-", "−": "-", "…": "...", "→": "->", "·": "*", "±": "+-", "≥": ">=", "≤": "<=", "≈": "~",
         "²": "2", "‖": "|", "“": '"', "”": '"', "‘": "'", "’": "'", "ᵀ": "T", "\u00a0": " ", "\u202f": " "}


def plain(error: UnicodeError) -> tuple[str | bytes, int]:
    """The codec's error handler: a plain spelling, the byte that a file's name really has, or a question mark."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start:error.end]
    if all("\udc80" <= sign <= "\udcff" for sign in text):
        return bytes(ord(sign) - 0xDC00 for sign in text), error.end
    return "".join(PLAIN.get(sign, "?") for sign in text), error.end


def coloured() -> bool:
    """Whether standard output is a terminal that shows colours, and nobody asked for none (`NO_COLOR`)."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM", "dumb") != "dumb"


def prepare() -> None:
    """Has standard output and standard error use it."""
    codecs.register_error(HANDLER, plain)
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors=HANDLER)
