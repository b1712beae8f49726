"""Writes the page: what was collected, as JSON inside one HTML file with its styles and scripts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..dump import versions
from . import layout
from .measure import Machine, machine
from .plan import Plan, Step, plan_of
from .remarks import Note, notes_of_breaks, notes_of_copies, notes_of_fallbacks, notes_of_remarks
from .stages import Place, Stage

if TYPE_CHECKING:
    from .session import GraphRecord, ReportRecord

_HERE = Path(__file__).parent
_SCRIPTS = ("listing.js", "code.js", "pictures.js", "tables.js", "page.js")
_LARGEST_FILE = 4000
"""Lines of a source file that are shown whole; of a longer one, those around the lines that matter."""
_AROUND = 40
_COPY = frozenset({"copy", "copy_in", "copy_out"})


@dataclass
class _Tables:
    """Texts and places by number: each stands once in the page."""

    texts: dict[str, int] = field(default_factory=dict[str, int])
    places: dict[Place, int] = field(default_factory=dict[Place, int])

    def text(self, text: str) -> int:
        return self.texts.setdefault(text, len(self.texts))

    def place(self, place: Place | None) -> int:
        return -1 if place is None else self.places.setdefault(place, len(self.places))


def page(record: ReportRecord) -> str:
    """The whole page."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    loader = Environment(
        loader=FileSystemLoader(_HERE), autoescape=True, undefined=StrictUndefined, keep_trailing_newline=True
    )
    content = data(record)
    return loader.get_template("page.html.jinja").render(
        title=content["title"],
        versions=content["versions"],
        data=_inline(content),
        style=_asset("page.css"),
        script="\n".join(map(_asset, _SCRIPTS)),
    )


def _inline(content: Mapping[str, Any]) -> str:
    """JSON that cannot end the script element it stands in."""
    return json.dumps(content, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")


@cache
def _asset(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")


def data(record: ReportRecord) -> dict[str, Any]:
    """Everything that the page shows."""
    tables = _Tables()
    graphs = [_graph(one, tables) for one in record.graphs_seen]
    notes = [_note(note, tables) for note in notes_of_breaks(record.breaks)]
    measured = any(one.measured is not None for one in record.graphs_seen)
    names = _title(record.graphs_seen)
    return {
        "title": names,
        "versions": versions(),
        "machine": _machine(machine()) if measured else None,
        "graphs": graphs,
        "breaks": notes,
        "files": _files(tables.places),
        "places": [[place.file, place.line] for place in tables.places],
        "texts": list(tables.texts),
    }


def _title(graphs: Sequence[GraphRecord]) -> str:
    """The file from which most lines come."""
    counts: dict[str, int] = {}
    for one in graphs:
        for file, _ in one.places():
            counts[file] = counts.get(file, 0) + 1
    return Path(max(counts, key=lambda file: counts[file])).name if counts else "no graph"


def _machine(found: Machine) -> dict[str, Any]:
    return {"copies": list(found.copies.items()), "flops": found.flops}


def _graph(one: GraphRecord, tables: _Tables) -> dict[str, Any]:
    graph, trace = one.trace.graph, one.trace
    plan = Plan()
    symbols = dict(one.symbols)
    if graph is not None and trace.by_aten is None:
        for var, _ in graph.symbols:
            symbols.setdefault(var, _GUESS)
        plan = plan_of(graph.module, one.works, symbols)
    times = one.measured.steps if one.measured is not None else ()
    spots = layout.place([step.after for step in plan.steps])
    timed = len(times) == len(plan.steps)
    return {
        "kind": trace.kind,
        "by_aten": None if trace.by_aten is None else str(trace.by_aten),
        "stages": [_stage(stage, tables) for stage in one.stages],
        "stage_seconds": trace.stages(),
        "steps": [_step(step, times[i] if timed else None, tables) for i, step in enumerate(plan.steps)],
        "call_seconds": None if one.measured is None else one.measured.call,
        "not_measured": "" if timed and one.measured is not None else one.not_measured,
        "guessed": bool(symbols) and not one.symbols,
        "symbols": {str(var): value for var, value in symbols.items()},
        "kernels": _kernels(one, plan),
        "layout": asdict(spots),
        "blocks": [asdict(block) for block in plan.blocks],
        "arena": plan.arena,
        "requested": plan.requested,
        "notes": [_note(note, tables) for note in _notes(one, plan)],
    }


_GUESS = 256
"""The size that a symbol is taken to have where no call said more."""


def _notes(one: GraphRecord, plan: Plan) -> Iterable[Note]:
    yield from notes_of_fallbacks(one.trace.graph.fallbacks if one.trace.graph is not None else ())
    copies = [s for s in plan.steps if s.kind == "kernel" and s.name.rstrip("_0123456789") in _COPY]
    yield from notes_of_copies((s.name, s.places[0] if s.places else None, s.bytes) for s in copies)
    yield from notes_of_remarks(one.remarks)


def _note(note: Note, tables: _Tables) -> dict[str, Any]:
    return {**asdict(note), "place": tables.place(note.place)}


def _stage(stage: Stage, tables: _Tables) -> dict[str, Any]:
    return {
        "name": stage.name,
        "kind": stage.kind,
        "seconds": stage.seconds,
        "removed": stage.removed,
        "ops": stage.ops,
        "texts": [tables.text(line.text) for line in stage.lines],
        "places": [tables.place(line.place) for line in stage.lines],
        "changed": [i for i, line in enumerate(stage.lines) if line.changed],
        "starts": _functions(stage),
    }


def _functions(stage: Stage) -> dict[str, int]:
    """Where each function of emitted text starts."""
    return {line.op: i for i, line in enumerate(stage.lines) if line.op and stage.kind == "code"}


def _step(step: Step, seconds: float | None, tables: _Tables) -> dict[str, Any]:
    return {
        "name": step.name,
        "kind": step.kind,
        "places": [tables.place(place) for place in step.places],
        "after": step.after,
        "flops": step.flops,
        "bytes": step.bytes,
        "seconds": seconds,
    }


def _kernels(one: GraphRecord, plan: Plan) -> list[dict[str, Any]]:
    """Each kernel and library call once, with the steps that run it."""
    found: dict[tuple[str, str], list[int]] = {}
    for step in plan.steps:
        found.setdefault((step.kind, step.name), []).append(step.number)
    return [
        {"name": name, "kind": kind, "steps": steps, "schedule": one.schedules.get(name, {})}
        for (kind, name), steps in found.items()
    ]


def _files(places: Iterable[Place]) -> list[dict[str, Any]]:
    """The user's files, those with most lines in the graphs first."""
    lines: dict[str, list[int]] = {}
    for place in places:
        lines.setdefault(place.file, []).append(place.line)
    return [_file(name, lines[name]) for name in sorted(lines, key=lambda name: (-len(lines[name]), name))]


def _file(name: str, used: Sequence[int]) -> dict[str, Any]:
    try:
        text = Path(name).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return {"name": name, "first": 1, "lines": [], "missing": True}
    first = 1
    if len(text) > _LARGEST_FILE:
        first, last = max(min(used) - _AROUND, 1), max(used) + _AROUND
        text = text[first - 1 : last]
    return {"name": name, "first": first, "lines": text, "missing": False}
