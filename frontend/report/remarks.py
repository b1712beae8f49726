"""Remarks of passes and fall-backs as a reader wants them: where, what it costs, what to do."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tilewright.passes.rewrite import Remark

from ..dynamo_internals import GraphBreak
from ..fx.graph import Fallback
from ..fx.locations import readable_places
from .stages import Place

_LOCATION = re.compile(r'"([^"]+)":(\d+):\d+')
_TYPE = re.compile(r"tensor<((?:\d+x)+)([a-z]+)(\d+)")
_LIBRARY = "TW1100"
"""Calls that a library always runs: no fall-back."""

REMEDIES: Sequence[tuple[str, str]] = (
    (r"recomputing it costs", "expected: computing it twice would cost more than the memory traffic saved"),
    (
        r"it is read with a stride or an offset",
        "read whole rows: contiguous(), or another dim",
    ),
    (
        r"it is a reduction|both reduce",
        "a kernel reduces over one set of axes: reduce the same dims in both",
    ),
    (r"another path leads", "the value in between has another reader: compute that one from the result"),
    (r"more than \d+ ops", "split the expression, or raise the limit: fuse{max-ops=...} in the pipeline"),
    (r"not packed: .* columns", "make the feature count a multiple of the vector width"),
    (
        r"would be kept for ever",
        "none needed: the weight is used as it is; freeze=False packs nothing",
    ),
    (r"not packed: only products", "compute the product in float32, bfloat16 or float16"),
    (r"not sunk", "transpose all operands alike, or none"),
    (r"not parallel", "put an independent dimension first, such as the batch"),
    (r"gets no lanes|no axis gets lanes", "make the last dimension the long, independent one"),
    (r"too many for scratch", "smaller rows would stay in cache: split the reduced dimension"),
    (r"without (?:register )?tiles", "make both operands contiguous and no dimension tiny"),
    (r"not decomposed", "windows that divide the input (or adaptive pooling to a divisor) become kernels"),
    (r"constant", "compute it outside of the model, once"),
)
"""Pattern of a reason -> what the user can do. A new `skip` that a user can act on gets a row."""
_NO_REMEDY = "nothing to do in the model: the pass judged this form to be the better one"


@dataclass(frozen=True)
class Note:
    """Something to know about one line."""

    kind: str
    """`missed` optimisation, `fall-back`, `copy`, `library` call or graph `break`."""
    what: str
    place: Place | None
    bytes: int | None = None
    """Moved because of it, estimated; None where that is not known."""
    remedy: str = _NO_REMEDY


def notes_of_remarks(remarks: Iterable[Remark]) -> list[Note]:
    """Equal remarks once: passes try again after each change, so how often says nothing."""
    return [_note(remark) for remark in dict.fromkeys(remarks)]


def _note(remark: Remark) -> Note:
    what = f"{remark.op}: {readable_places(remark.why)}"
    # A sibling would have read what it shares once; any other value is written and read.
    moved = _bytes(remark.moved, 1 if "sibling" in remark.why else 2)
    return Note("missed", what, _place(remark.location), moved, _remedy(remark.why))


def _place(location: str) -> Place | None:
    found = _LOCATION.search(location)
    return None if found is None else Place(found.group(1), int(found.group(2)))


def _remedy(why: str) -> str:
    return next((remedy for pattern, remedy in REMEDIES if re.search(pattern, why)), _NO_REMEDY)


def _bytes(type_: str, times: int) -> int | None:
    """Of a tensor that goes through memory so often; None where a size is symbolic."""
    found = _TYPE.match(type_)
    if found is None:
        return None
    elements = 1
    for size in found.group(1).rstrip("x").split("x"):
        elements *= int(size)
    return times * elements * max(int(found.group(3)) // 8, 1)


def notes_of_fallbacks(fallbacks: Iterable[Fallback]) -> list[Note]:
    """Operations that ATen runs."""
    found: list[Note] = []
    for fallback in fallbacks:
        library = fallback.code == _LIBRARY
        remedy = (
            "nothing: this library is the fastest known implementation"
            if library
            else f"docs/errors.md, {fallback.code}; tilewright.register_row imports it as ops of yours"
        )
        what = f"{fallback.code}: {fallback.op} runs through ATen: {fallback.reason}"
        file, _, rest = fallback.place.rpartition(":")
        line = re.match(r"\d+", rest)
        place = Place(file, int(line.group())) if line is not None else None
        found.append(Note("library" if library else "fall-back", what, place, remedy=remedy))
    return found


def notes_of_breaks(breaks: Iterable[GraphBreak]) -> list[Note]:
    """Places where TorchDynamo split the function."""
    found: list[Note] = []
    for one in breaks:
        file, _, line = one.place.rpartition(":")
        place = Place(file, int(line)) if line.isdigit() else None
        what = f"graph break: {one.reason}" if one.place else str(one)
        remedy = "see the reason: avoid Python side effects and data-dependent control flow here"
        found.append(Note("break", what, place, remedy=remedy))
    return found


def notes_of_copies(steps: Iterable[tuple[str, Place | None, int | None]]) -> list[Note]:
    """Kernels that only move elements to another layout: (name, place, bytes)."""
    remedy = "use the layout that the reader wants: avoid contiguous(), and transposes before matrix products"
    return [
        Note("copy", f"{name} copies a tensor to another layout", place, moved, remedy)
        for name, place, moved in steps
    ]


def by_place(notes: Iterable[Note]) -> Mapping[Place | None, list[Note]]:
    found: dict[Place | None, list[Note]] = {}
    for note in notes:
        found.setdefault(note.place, []).append(note)
    return found
