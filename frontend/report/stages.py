"""Every form that a graph takes, line by line, each line with its place in the user's source."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from io import StringIO

from torch.fx import GraphModule
from xdsl.dialects.builtin import FileLineColLoc, LocationAttr, ModuleOp, NameLoc
from xdsl.ir import Operation
from xdsl.printer import Printer

from ..fx.locations import location_of

_VALUE = re.compile(r"%[\w$.-]+")
_COMMENT = re.compile(r"(?://|#)\s*(?:\[[^\]]*\]\s*)?(.+):(\d+)(?: \(.*\))?\s*$")
_FUNCTION = re.compile(r"^(?:static .*|def )\b([A-Za-z_]\w*)\(")
_LONGEST = 600
"""Characters of a line of IR; longer ones hold constants that nobody reads."""


@dataclass(frozen=True)
class Place:
    """A line of the user's source."""

    file: str
    line: int


@dataclass(frozen=True)
class Line:
    """One line of one stage."""

    text: str
    place: Place | None = None
    op: str = ""
    """The operation that starts here; empty on any other line."""
    changed: bool = False
    """The operation is new or has another text than in the stage before."""


@dataclass(frozen=True)
class Stage:
    """A graph in one form."""

    name: str
    kind: str
    """`fx`, `mlir` or `code`."""
    lines: tuple[Line, ...]
    seconds: float | None = None
    removed: int = 0
    """Operations of the stage before that are gone."""

    @property
    def ops(self) -> int:
        return sum(1 for line in self.lines if line.op)

    @property
    def changed(self) -> int:
        return sum(1 for line in self.lines if line.changed)


def place_in(location: LocationAttr) -> Place | None:
    """The user's line behind a location, if any."""
    match location:
        case NameLoc(location=FileLineColLoc() as inner):
            return place_in(inner)
        case FileLineColLoc(filename=file, line=line):
            return Place(file.data, line.data)
        case _:
            return None


class _LinePrinter(Printer):
    """Notes on which line each operation starts."""

    def __init__(self, stream: StringIO) -> None:
        super().__init__(stream)
        self._text = stream
        self._line = 0
        self._counted = 0
        self.starts: dict[int, Operation] = {}

    def print_op(self, op: Operation) -> None:
        self._text.seek(self._counted)
        self._line += self._text.read().count("\n")
        self._counted = self._text.tell()
        self.starts[self._line] = op
        super().print_op(op)


def stage_of(
    module: ModuleOp, name: str, seconds: float | None, before: Mapping[Operation, str] | None
) -> tuple[Stage, dict[Operation, str]]:
    """The module as a stage, and the text of each op, to compare the next stage with."""
    stream = StringIO()
    printer = _LinePrinter(stream)
    printer.print_op(module)
    lines: list[Line] = []
    texts: dict[Operation, str] = {}
    for number, text in enumerate(stream.getvalue().splitlines()):
        op = printer.starts.get(number)
        if op is None:
            lines.append(Line(_short(text)))
            continue
        plain = texts[op] = _VALUE.sub("%", text)
        changed = before is not None and before.get(op) != plain and op is not module
        lines.append(Line(_short(text), place_in(op.location), op.name, changed))
    removed = sum(1 for op in before if op not in texts) if before is not None else 0
    return Stage(name, "mlir", tuple(lines), seconds, removed), texts


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} ... ({len(text)} characters)"


def fx_stage(gm: GraphModule, name: str) -> Stage:
    """An FX graph as a stage."""
    lines: list[Line] = []
    for node in gm.graph.nodes:
        text = node.format_node()
        if text is None:  # torch prints no placeholder by itself
            text = f"%{node.name} : {node.op}"
        lines.append(Line(_short(str(text)), place_in(location_of(node)), str(node.target)))
    return Stage(name, "fx", tuple(lines))


@dataclass
class _Reader:
    """Where the text of a target stands: its comments name the user's lines."""

    places: Mapping[tuple[str, int], Place]
    here: Place | None = None
    lines: list[Line] = field(default_factory=list[Line])

    def read(self, text: str) -> None:
        place = self._named(text)
        alone = text.lstrip().startswith(("//", "#"))
        if place is not None and alone:
            self.here = place
        starts = _FUNCTION.match(text)
        op = starts.group(1) if starts is not None and not text.endswith(";") else ""
        self.lines.append(Line(_short(text), place or (self.here if text.strip() else None), op))
        if text.startswith("}") or (not text and self.here is not None):
            self.here = None

    def _named(self, text: str) -> Place | None:
        found = _COMMENT.search(text) if ":" in text else None
        return None if found is None else self.places.get((found.group(1), int(found.group(2))))


def code_stage(text: str, name: str, places: Mapping[tuple[str, int], Place]) -> Stage:
    """What a target emitted; `places` are the user's lines that other stages know."""
    reader = _Reader(places)
    for line in text.splitlines():
        reader.read(line)
    return Stage(name, "code", tuple(reader.lines))
