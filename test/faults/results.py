"""What came of each bug: a small file per bug, so that several runs can share a folder."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from fault import Fault


@dataclass(frozen=True)
class Result:
    """The first test that failed, empty if none did; the CPU time until then."""

    digest: str
    test: str
    stage: str
    seconds: float

    @property
    def caught(self) -> bool:
        return bool(self.test)


class Results:
    """Results in a folder; those of bugs that were changed since do not count."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def of(self, fault: Fault) -> Result | None:
        path = self.folder / f"{fault.name}.json"
        if not path.exists():
            return None
        found = Result(**json.loads(path.read_text()))
        return found if found.digest == fault.digest else None

    def put(self, fault: Fault, result: Result) -> None:
        path = self.folder / f"{fault.name}.json"
        part = path.with_suffix(f".{os.getpid()}")
        part.write_text(json.dumps(asdict(result)))
        part.replace(path)

    @contextmanager
    def claim(self, fault: Fault) -> Iterator[bool]:
        """Gives False where another process that is still alive tries this bug."""
        path = self.folder / f"{fault.name}.claim"
        mine = self._take(path)
        try:
            yield mine
        finally:
            if mine:
                path.unlink(missing_ok=True)

    def _take(self, path: Path) -> bool:
        try:
            with path.open("x") as file:
                file.write(str(os.getpid()))
            return True
        except FileExistsError:
            if _alive(path.read_text()):
                return False
            path.write_text(str(os.getpid()))
            return True


def _alive(pid: str) -> bool:
    try:
        os.kill(int(pid or 0), 0)
    except (OSError, ValueError):
        return False
    return True
