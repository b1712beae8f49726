"""The store of compiled artefacts: content-addressed, and safe against crashes, races and damage.

    root/3f/3f9a.../        an entry, named by the hash of everything that determines it
        manifest            what it is, and the checksum of each file: `library\\n<sha256>  graph.so\\n`
        graph.so, ...

An entry is written under a temporary name and renamed, so that readers see all of it or
nothing. Checksums are verified when it is read; a damaged entry is removed and built anew.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from tilewright.dialects.diagnostics import warn_user

from .errors import CacheUnwritable

MANIFEST = "manifest"
_MAKING = ".making-"
_ABANDONED_SECONDS = 3600
"""Nothing takes this long to build: what is older was left by a process that died."""


@dataclass(frozen=True)
class Entry:
    """One artefact in the store."""

    folder: Path
    kind: str
    """What it holds, as its maker says: `library`, `cubin`, ..."""

    @property
    def key(self) -> str:
        return self.folder.name

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.stat().st_size for file in self.folder.iterdir())

    @property
    def last_used(self) -> float:
        """Seconds since the epoch."""
        return (self.folder / MANIFEST).stat().st_mtime


@dataclass(frozen=True)
class Store:
    """A folder of entries; `open_store` makes sure that it can be written."""

    root: Path

    def folder(self, key: str) -> Path:
        """Where the entry of that key lives, or would."""
        return self.root / key[:2] / key

    def find(self, key: str) -> Path | None:
        """The folder of an undamaged entry; removes it where it is damaged."""
        folder = self.folder(key)
        if is_whole(folder):
            os.utime(folder / MANIFEST)  # `prune` removes what was used longest ago
            return folder
        shutil.rmtree(folder, ignore_errors=True)
        return None

    def make(self, key: str, kind: str, write: Callable[[Path], None]) -> Path:
        """Have `write` fill a new entry; of several makers at once the first one wins.

        Raises CacheUnwritable, and whatever `write` raises; then nothing is left behind.
        """
        folder = self.folder(key)
        try:
            folder.parent.mkdir(parents=True, exist_ok=True)
            work = Path(tempfile.mkdtemp(dir=folder.parent, prefix=_MAKING))
        except OSError as error:
            raise CacheUnwritable(folder=folder.parent, reason=str(error)) from error
        try:
            write(work)
            (work / MANIFEST).write_text(_manifest(work, kind))
            try:
                work.rename(folder)
            except OSError:
                if not is_whole(folder):
                    raise
            return folder
        except OSError as error:
            raise CacheUnwritable(folder=folder.parent, reason=str(error)) from error
        finally:
            shutil.rmtree(work, ignore_errors=True)

    def entries(self) -> Iterator[Entry]:
        """Every entry, damaged ones included (their kind is `damaged`), by key."""
        for folder in sorted(self.root.glob("[0-9a-f][0-9a-f]/*")):
            if folder.is_dir() and not folder.name.startswith(_MAKING):
                yield Entry(folder, _kind(folder))

    def remove_abandoned(self) -> int:
        """Remove what processes that died left half written; returns how many."""
        found = 0
        for folder in self.root.glob(f"[0-9a-f][0-9a-f]/{_MAKING}*"):
            if time.time() - folder.stat().st_mtime > _ABANDONED_SECONDS:
                shutil.rmtree(folder, ignore_errors=True)
                found += 1
        return found


@lru_cache(maxsize=64)
def open_store(root: Path) -> Store:
    """The store in `root` if that can be written, else one in a temporary folder, with a warning."""
    reason = _unwritable(root)
    if reason is None:
        return Store(root)
    other = Path(tempfile.gettempdir()) / f"tilewright-{os.getuid()}"
    second = _unwritable(other)
    if second is not None:
        raise CacheUnwritable(folder=root, reason=f"{reason}; {second}")
    warn_user(f"{CacheUnwritable(folder=root, reason=reason)}\n  until then, {other} is used")
    return Store(other)


def is_whole(folder: Path) -> bool:
    """True where every file is there with the checksum that it was stored with."""
    try:
        return (folder / MANIFEST).read_text() == _manifest(folder, _kind(folder))
    except (OSError, UnicodeDecodeError):
        return False


def _kind(folder: Path) -> str:
    try:
        kind, _, files = (folder / MANIFEST).read_text().partition("\n")
    except (OSError, UnicodeDecodeError):
        return "damaged"
    return kind if files else "damaged"


def _manifest(folder: Path, kind: str) -> str:
    files = sorted(file for file in folder.iterdir() if file.name != MANIFEST)
    sums = [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}" for file in files]
    return "".join(f"{line}\n" for line in [kind, *sums])


def _unwritable(folder: Path) -> str | None:
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.TemporaryFile(dir=folder):
            return None
    except OSError as error:
        return str(error)
