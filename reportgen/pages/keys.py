"""What a page depends on beside its runs, as one text: the program's own files, and the libraries that it uses."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import Path

PROGRAM = Path(__file__).resolve().parents[2]
ELSEWHERE = ("capture", "commands", "company")
"""Rooms of `reportgen` that no page is made by (see the table of rooms)."""
DRAWING = ("reportgen/pages/charts", "reportgen/saying/__init__.py", "reportgen/saying/units.py")
"""What a picture is drawn by."""


def key(*parts: str) -> str:
    """One digest of several texts, whatever is in them."""
    whole = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", errors="surrogatepass")
        whole.update(f"{len(data)}:".encode() + data)
    return whole.hexdigest()


def code(program: Path = PROGRAM) -> str:
    """A digest of every file that a page may be made by, and of the libraries."""
    package = program / "reportgen"
    rooms = sorted(entry for entry in package.iterdir() if entry.name not in ELSEWHERE)
    return key(libraries(), *_contents([*rooms, program / "variants"], program))


def drawing(program: Path = PROGRAM) -> str:
    """The same of what pictures are drawn by."""
    return key(libraries(), *_contents([program / folder for folder in DRAWING], program))


def _contents(places: Iterable[Path], program: Path) -> list[str]:
    files = [file for place in places for file in ([place] if place.is_file() else sorted(place.rglob("*"))) if file.is_file() and file.suffix != ".pyc"]
    return [text for file in files for text in (file.relative_to(program).as_posix(), hashlib.sha256(file.read_bytes()).hexdigest())]


def libraries() -> str:
    """The Python, and the name and version of each package that it finds."""
    folders = (Path(entry) for entry in sys.path if entry)
    found = {info.name for folder in folders if folder.is_dir() for info in folder.glob("*.dist-info")}
    return "\n".join([sys.version, sys.platform, *sorted(found)])


class Unknown(TypeError):
    """A value of a kind that has no text of its own."""


def text(value: object) -> str:
    """A text that two values share only if they are equal in kind and content.

    Raises:
        Unknown: the value, or one in it, is of a kind that is not known here.
    """
    if value is None or isinstance(value, (bool, str)):
        return f"{type(value).__name__} {value!r}"
    if isinstance(value, (int, float)):
        plain = int(value).__repr__() if isinstance(value, int) else float(value).hex()
        return f"{type(value).__name__} {plain}"
    if isinstance(value, Enum):
        return f"{type(value).__qualname__}.{value.name}"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{text(name)}: {text(item)}' for name, item in value.items())}}}"
    if isinstance(value, (list, tuple)):
        return f"{type(value).__name__} [{', '.join(text(item) for item in value)}]"
    if is_dataclass(value) and not isinstance(value, type):
        return f"{type(value).__qualname__}({', '.join(text(getattr(value, field.name)) for field in fields(value))})"
    raise Unknown(type(value).__qualname__)
