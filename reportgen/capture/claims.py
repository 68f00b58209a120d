"""Two processes share the probes: who takes one first does it, with every choice of backend."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Claims:
    """folder: where a file stands for what was taken; who: takes it."""

    folder: Path
    who: str

    def mine(self, what: str) -> bool:
        """Whether this is ours, from now on; what we had taken before stays ours."""
        taken, own = self.folder / what, self.folder / f".{self.who}"
        own.write_text(self.who, encoding="ascii")
        try:
            os.link(own, taken)  # there, with its content, at once
        except FileExistsError:
            return taken.read_text(encoding="ascii") == self.who
        except OSError:
            return self.who == FIRST  # a disk that knows no links: nothing is shared
        return True

    def any(self) -> bool:
        """Whether anybody has taken anything."""
        return any(not one.name.startswith(".") for one in self.folder.iterdir())

    def taken(self) -> set[str]:
        """What is ours."""
        return {one.name for one in self.folder.iterdir() if not one.name.startswith(".") and one.read_text(encoding="ascii") == self.who}


FIRST, RESERVE = "first", "reserve"
