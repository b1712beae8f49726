"""A deliberate bug: one line of the sources, changed as a person might get it wrong."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path


@dataclass(frozen=True)
class Fault:
    """`old` occurs exactly once in `file`; with `new` in its place the compiler is wrong."""

    name: str
    file: str
    old: str
    new: str
    bug: str
    """What the bug is, in one line."""

    @property
    def digest(self) -> str:
        """Changes with the fault, not with the code around it."""
        return sha256("\0".join((self.file, self.old, self.new)).encode()).hexdigest()[:12]

    def text(self, root: Path) -> str:
        """The file with the bug; ValueError where the old text is not there once."""
        text = (root / self.file).read_text()
        if (count := text.count(self.old)) != 1:
            raise ValueError(f"{self.name}: its old text occurs {count} times in {self.file}")
        return text.replace(self.old, self.new)
