"""Loads and stores of neighbours in memory: each place along an axis has all of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from xdsl.ir import Operation

from tilewright.dialects.index_expr import Atom, Call, Expr, Var, dim
from tilewright.dialects.ir_access import ops_of
from tilewright.dialects.tk.access import LoadOp, StoreOp
from tilewright.dialects.tk.domain import REDUCTIONS_AND_SCANS
from tilewright.dialects.tk.interleave import at_elements
from tilewright.dialects.tk.kernels import FuncOp
from tilewright.dialects.tk.lanes import axes_of_lanes

from .roles import transposed_axes

GROUPS = (4, 2)
"""How many neighbours there may be: so many that lanes can hold them side by side."""
_RUN = 16
"""Elements that lie in a row, at least: fewer of them fill no lanes."""


@dataclass(frozen=True)
class Neighbours:
    """Accesses to the elements of groups that lie in a row along `axis`, in the order of memory."""

    axis: int
    ops: Sequence[LoadOp] | Sequence[StoreOp]


def find_neighbours(ops: Iterable[Operation], counts: Sequence[int] = GROUPS) -> list[Neighbours]:
    """Groups of so many among the loads and stores of a block, scheduled or not, that have flat buffers.

    Of `%a[d0*2]` and `%a[d0*2 + 1]`, of `%a[d0*4]` to `%a[d0*4 + 3]`. None of a buffer that is both loaded
    and stored, nor of one that is stored twice: what is stored last is to stay.
    """
    accesses = [op for op in ops if isinstance(op, LoadOp | StoreOp)]
    loaded = {op.buffer for op in accesses if isinstance(op, LoadOp)}
    stored = {op.buffer for op in accesses if isinstance(op, StoreOp)}
    rows: dict[tuple[object, ...], dict[int, LoadOp | StoreOp]] = {}
    twice: set[tuple[object, ...]] = set()
    for op in accesses:
        if op.buffer in loaded & stored or not _is_plain(op):
            continue
        (at,) = op.subscripts
        first = _constant(at)
        key = (type(op), op.buffer, at - first, axes_of_lanes(op), _stored_type(op))
        if rows.setdefault(key, {}).setdefault(first, op) is not op and isinstance(op, StoreOp):
            twice.add(key)
    return [found for key, row in rows.items() if key not in twice for found in _groups(row, counts)]


def neighbours_of(func: FuncOp) -> list[Neighbours]:
    """Those of a function that is not scheduled, of whose tiles all have one dimension.

    It neither reduces nor scans, where lanes share more than neighbours, nor has tiles for a transpose.
    """
    ops = ops_of(func.body.block)
    rows = any(type(op) in REDUCTIONS_AND_SCANS for op in ops)
    return [] if rows or transposed_axes(func) != (None, None) else find_neighbours(ops)


def _is_plain(op: LoadOp | StoreOp) -> bool:
    plain = not op.dynamic and op.mask is None and op.group is None
    return plain and len(op.subscripts) == 1 and not (isinstance(op, StoreOp) and op.combine is not None)


def _stored_type(op: LoadOp | StoreOp) -> object:
    return op.value.type if isinstance(op, StoreOp) else op.result.type


def _constant(expr: Expr) -> int:
    return next((factor for atoms, factor in expr.terms if not atoms), 0)


def _groups(row: dict[int, LoadOp | StoreOp], counts: Sequence[int]) -> list[Neighbours]:
    """The groups of accesses that differ in the constants, which `row` has them by."""
    left, found = dict(row), list[Neighbours]()
    for count in counts:
        for first in sorted(left):
            places = range(first, first + count)
            if first % count or not all(place in left for place in places):
                continue
            ops = [left[place] for place in places]
            if (axis := _axis(ops[0], count)) is None:
                break
            found.append(Neighbours(axis, ops))  # pyright: ignore
            for place in places:
                del left[place]
    return found


def _axis(op: LoadOp | StoreOp, count: int) -> int | None:
    """The axis along which groups of `count`, of which `op` is at the first, lie in a row."""
    (at,) = op.subscripts
    along = axes_of_lanes(op) or sorted({v.index for v in at.variables() if v.kind == "d"})
    return next((axis for axis in along if lie_in_row(at, axis, count)), None)


def lie_in_row(at: Expr, axis: int, count: int) -> bool:
    """Whether groups of `count` elements at `at` are neighbours along `axis`, at multiples of `count`."""
    d, elements = Var("d", axis), at_elements(at, axis, count)
    in_row = False
    for atoms, factor in elements.terms:
        if factor == 1 and len(atoms) == 1 and not in_row and _runs(atoms[0], d, count):
            in_row = True
        elif factor % count:
            return False
    return in_row


def _runs(atom: Atom, d: Var, count: int) -> bool:
    """Whether `atom` is a place along an axis, or along rows of it that are not short."""
    if not isinstance(atom, Call):
        return atom == d
    run = atom.rhs.constant or 0
    return atom.name == "mod" and atom.lhs == dim(d.index) and run % count == 0 and run >= _RUN
