"""A run's folder, known by what is in its files: the run is read only where something must be made of it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from . import Run, load
from .model import RUN_FILE
from .noise import NOISE_FILE

_TRACES = "*.trace.json.gz"


@dataclass(frozen=True)
class Source:
    """A recorded run. digest: over the names and the bytes of its evidence."""

    path: Path
    digest: str

    @classmethod
    def of(cls, folder: Path) -> Source:
        return cls(folder, digest(evidence(folder)))

    @property
    def unchanged(self) -> bool:
        """Whether the files are still what the digest says."""
        return digest(evidence(self.path)) == self.digest

    def load(self) -> Run:
        """Raises `RunInvalid` (see `run.load`)."""
        return load(self.path)


def evidence(folder: Path) -> list[Path]:
    """The files in a run's folder that a run may be read from, whether it names them or not."""
    found = [*(folder / name for name in (RUN_FILE, NOISE_FILE)), *sorted(folder.glob(_TRACES))]
    return [file for file in found if file.is_file()]


def digest(files: list[Path]) -> str:
    """SHA-256 over the names and the bytes of files; of one that cannot be read, over the reason."""
    whole = hashlib.sha256()
    for file in files:
        try:
            content = file.read_bytes()
        except OSError as error:
            content = f"cannot be read: {error.errno}".encode()
        whole.update(f"{file.name}\0{len(content)}\0".encode() + hashlib.sha256(content).digest())
    return whole.hexdigest()
