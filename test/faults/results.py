"""What came of each bug: a small file per bug, so that several runs can share a folder."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
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


class Memory:
    """What the last report says, in one file of the repository: a checkout knows which test to ask first."""

    def __init__(self, path: Path) -> None:
        self.path = path
        known: dict[str, dict[str, str]] = json.loads(path.read_text()) if path.exists() else {}
        self._known = {name: Result(seconds=0.0, **entry) for name, entry in known.items()}

    def of(self, fault: Fault) -> Result | None:
        return _of_now(self._known.get(fault.name), fault)

    def test(self, fault: Fault) -> list[str]:
        """The test that caught this bug; none where nothing did."""
        found = self.of(fault)
        return [found.test] if found is not None and found.caught else []

    def write(self, faults: Sequence[Fault], results: Results) -> None:
        """Everything that is known of these bugs, without times."""
        entries = {
            fault.name: {"digest": found.digest, "stage": found.stage, "test": found.test}
            for fault in faults
            if (found := results.of(fault)) is not None
        }
        self.path.write_text(json.dumps(entries, indent=1, sort_keys=True) + "\n")


class Results:
    """Results in a folder, else those remembered; those of bugs that were changed since do not count."""

    def __init__(self, folder: Path, memory: Memory) -> None:
        self.folder = folder
        self.memory = memory
        folder.mkdir(parents=True, exist_ok=True)

    def of(self, fault: Fault) -> Result | None:
        path = self.folder / f"{fault.name}.json"
        found = Result(**json.loads(path.read_text())) if path.exists() else None
        return _of_now(found, fault) or self.memory.of(fault)

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


def _of_now(found: Result | None, fault: Fault) -> Result | None:
    return found if found is not None and found.digest == fault.digest else None


def _alive(pid: str) -> bool:
    try:
        os.kill(int(pid or 0), 0)
    except (OSError, ValueError):
        return False
    return True
