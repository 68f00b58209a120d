"""Signs of others that are none: what steers a terminal, turns the order of reading, or ends a line where none ends.

They come with a run or a trace from elsewhere, and with compilers that colour their errors. A number that stands after a sign
that turns the order would be read backwards, so they are taken out where evidence is read, once for pages, charts and terminal.
"""

from __future__ import annotations

import re

LOST = "\ufffd"
"""What stands for a sign that cannot be shown."""
_COLOURS = re.compile(r"\x1b\[[0-9;:?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")
_HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def shown(text: str) -> str:
    """`text` with its lines and tabs, and without what steers; a terminal's colours go without a trace.

    >>> shown("\\x1b[31merror\\x1b[0m: \\u202e2 of 1\\r\\n\\tend\\x00")
    'error: �2 of 1\\n\\tend�'
    """
    if text.isprintable():
        return text
    return _HIDDEN.sub(LOST, _COLOURS.sub("", text.replace("\r\n", "\n")))


def name(text: str) -> str:
    """A name: `shown`, in one line, and without halves of surrogate pairs, which no file can hold.

    >>> name("half\\ud800 of\\na kernel")
    'half? of�a kernel'
    """
    if text.isprintable():
        return text
    return re.sub("[\n\t]", LOST, shown(text)).encode("utf-8", errors="replace").decode("utf-8")
