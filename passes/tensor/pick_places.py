"""pick-places: one element of each row of a scan or a sort is a reduction of the row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, i64
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from tilewright.dialects.attribute_facts import ints
from tilewright.dialects.index_expr import ONE, ZERO
from tilewright.dialects.ir_access import ops_within
from tilewright.dialects.tw.creation import FullOp, IotaOp
from tilewright.dialects.tw.elementwise_binary import CompareOp, SelectOp
from tilewright.dialects.tw.indexing import GatherAlongOp, SortOp
from tilewright.dialects.tw.reduction import CumulativeOp, LinearScanOp, MaxOp
from tilewright.dialects.tw.view import (
    BroadcastOp,
    ConcatOp,
    ReshapeOp,
    SliceOp,
    TransposeOp,
    starts_and_steps,
)
from tilewright.dialects.types import element_type_of, sizes_of

from ..driver import Rewrite, apply_rules
from ..rewrite import skip
from .select_in_parts import last_in_order

_Rows = SortOp | CumulativeOp | LinearScanOp

_MOST = 4
"""Places of one row."""
_LONGEST = 8192
"""Elements of a row that one kernel makes and reduces, however few rows there are."""


@dataclass(frozen=True)
class PickPlacesPass(ModulePass):
    """Take an element of each row that a kernel sorts, or scans, where the row is: by a reduction.

    Before (the median of rows of five):
        %v, %i = tw.sort %x dim 1 : tensor<8x5xf32> -> tensor<8x5xf32>, tensor<8x5xi64>
        %m = tw.slice %v starts "0, 2" steps "1, 1" : tensor<8x5xf32> -> tensor<8x1xf32>
    After:
        %v, %i = tw.sort %x dim 1 : tensor<8x5xf32> -> tensor<8x5xf32>, tensor<8x5xi64>
        %p = tw.iota dim 1 start "0" step "1" -> tensor<8x5xi64>
        %k = tw.compare eq %p, %two : tensor<8x5xi64> -> tensor<8x5xi1>
        %s = tw.select %k, %v, %lowest : tensor<8x5xi1>, tensor<8x5xf32>
        %r = tw.max %s over [1] : tensor<8x5xf32> -> tensor<8xf32>
        %m = tw.reshape %r : tensor<8xf32> -> tensor<8x1xf32>

    The largest of that one element and of nothing else is the element, NaN and the zeros included. The kernel
    that makes the rows reduces them, too, and need not store them; else they would be written as a whole
    before one element is read. Of long rows, and of more than four places, each is read from memory.
    """

    name = "pick-places"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        chosen = {
            pick: dim for rows in ops_within(op) if isinstance(rows, _Rows) for pick, dim in _picks(rows)
        }

        def rule(pick: Operation, rw: Rewrite) -> SSAValue | None:
            if (dim := chosen.get(pick)) is None:
                return None
            return _of_slice(pick, dim, rw) if isinstance(pick, SliceOp) else _of_gather(pick, rw)

        apply_rules(op, {SliceOp: (rule,), GatherAlongOp: (rule,)}, self.name)


def _picks(rows: _Rows) -> Sequence[tuple[Operation, int]]:
    """What reads a few places of each row, and the dimension that goes along rows there."""
    shown = [each for result in rows.results for each in _shown(result, rows.dim.value.data)]
    reads = {(use.operation, dim): value for value, dim in shown for use in value.uses}
    places = {read: number for read, value in reads.items() if (number := _places(*read, value))}
    length, number = sizes_of(rows.results[0])[rows.dim.value.data], sum(places.values())
    if places and (length.constant or _LONGEST + 1) > _LONGEST:
        skip(rows, f"rows of {length} elements may be reduced by other kernels than make them")
        return ()
    if number > _MOST:
        skip(rows, f"{number} places of each row are read")
        return ()
    return tuple(places)


def _shown(value: SSAValue, dim: int) -> Iterator[tuple[SSAValue, int]]:
    """The rows along `dim`, and views of them with other dimensions of one element, or another order."""
    yield value, dim
    for use in value.uses:
        if isinstance(view := use.operation, TransposeOp):
            yield from _shown(view.result, ints(view.perm).index(dim))
        elif isinstance(view, ReshapeOp) and (to := _kept(view, dim)) is not None:
            yield from _shown(view.result, to)


def _kept(view: ReshapeOp, dim: int) -> int | None:
    """Where that dimension is behind a view that adds or drops others of one element."""
    before, after = ([d for d, n in enumerate(sizes_of(v)) if n != ONE] for v in (view.source, view.result))
    sizes = [[sizes_of(v)[d] for d in dims] for v, dims in ((view.source, before), (view.result, after))]
    return after[before.index(dim)] if dim in before and sizes[0] == sizes[1] else None


def _places(reader: Operation, dim: int, rows: SSAValue) -> int:
    """How many of each row it reads, and nothing else; 0 where that is not known."""
    sizes = sizes_of(rows)
    if isinstance(reader, SliceOp):
        return int(sizes_of(reader.result)[dim] == ONE != sizes[dim])
    if not isinstance(reader, GatherAlongOp) or reader.source is not rows:
        return 0
    found = sizes_of(reader.index)
    along = reader.dim.value.data == dim and found[:dim] + found[dim + 1 :] == sizes[:dim] + sizes[dim + 1 :]
    return found[dim].constant or 0 if along else 0


def _of_slice(op: SliceOp, dim: int, rw: Rewrite) -> SSAValue:
    starts, steps = starts_and_steps(op)
    place = starts[dim].constant
    sought = rw.value(FullOp(starts[dim] if place is None else place, i64, [ONE] * len(starts)))
    begin = [ZERO if d == dim else start for d, start in enumerate(starts)]
    return rw.value(SliceOp(_element(op.source, sought, dim, rw), begin, sizes_of(op.result), steps))


def _of_gather(op: Operation, rw: Rewrite) -> SSAValue:
    """The index, and whether it is one, is asked of the positions."""
    assert isinstance(op, GatherAlongOp)
    dim, found = op.dim.value.data, sizes_of(op.index)
    counted = rw.value(IotaOp(i64, sizes_of(op.source), dim))
    places = rw.value(GatherAlongOp(counted, op.index, dim))
    one = [ONE if d == dim else n for d, n in enumerate(found)]
    count = found[dim].constant
    assert count is not None
    firsts = ([number if d == dim else 0 for d in range(len(found))] for number in range(count))
    each = [_element(op.source, rw.value(SliceOp(places, first, one)), dim, rw) for first in firsts]
    return each[0] if count == 1 else rw.value(ConcatOp(each, dim))


def _element(rows: SSAValue, place: SSAValue, dim: int, rw: Rewrite) -> SSAValue:
    """That of each row at `place`, whose sizes are the same, or 1, and 1 along the row, as the result's."""
    sizes, element = sizes_of(rows), element_type_of(rows)
    varies = [d for d, n in enumerate(sizes_of(place)) if n == sizes[d]]
    sought = rw.value(ReshapeOp(place, [sizes[d] for d in varies]))
    here = CompareOp(rw.value(IotaOp(i64, sizes, dim)), rw.value(BroadcastOp(sought, sizes, varies)), "eq")
    nothing = FullOp(last_in_order(element, descending=True), element, sizes)
    alone = SelectOp(rw.value(here), rows, rw.value(nothing))
    found = rw.value(MaxOp(rw.value(alone), [dim]))
    return rw.value(ReshapeOp(found, [ONE if d == dim else n for d, n in enumerate(sizes)]))
