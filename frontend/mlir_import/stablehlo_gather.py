"""StableHLO's `dynamic_slice` and `gather` -> `tw.gather`; starts are held where the slice fits."""

from __future__ import annotations

import re
from collections.abc import Sequence

from xdsl.dialects.builtin import i64
from xdsl.ir import Operation, SSAValue

from tilewright.dialects.index_expr import Expr, as_expr
from tilewright.dialects.tw import creation, view
from tilewright.dialects.tw import elementwise_binary as bi
from tilewright.dialects.tw.indexing import GatherOp
from tilewright.dialects.types import sizes_of

from .builder import Builder, attribute, integers, required, shape_of, static_sizes
from .errors import cannot

_LISTS = re.compile(r"(\w+) = \[([\d, ]*)\]")
_VECTOR = re.compile(r"index_vector_dim = (\d+)")


def read_dynamic_slice(b: Builder, op: Operation, args: Sequence[SSAValue]) -> SSAValue:
    """Along each dimension that is not taken whole, positions from a start on."""
    value, *starts = args
    for d, (start, n) in enumerate(zip(starts, integers(required(op, "slice_sizes")), strict=True)):
        whole = _known(op, sizes_of(value)[d])
        if n == whole:
            continue
        first = b.broadcast(_held(b, start, whole - n), [as_expr(n)], ())
        place = b.add(bi.AddOp(b.add(creation.IotaOp(i64, [n], 0)), first))
        value = b.add(GatherOp(value, [place], [d], d, strict=True))
    return value


def read_gather(b: Builder, op: Operation, args: Sequence[SSAValue]) -> SSAValue:
    """One position per dimension of the operand and element of the result."""
    operand, starts = args
    numbers = str(attribute(op, "dimension_numbers"))
    lists = {k: [int(n) for n in v.split(",") if n.strip()] for k, v in _LISTS.findall(numbers)}
    found = _VECTOR.search(numbers)
    along = int(found[1]) if found is not None else 0
    if any(n < 0 for n in shape_of(op.results[0].type)):
        raise cannot(op, "a size of its result is not in its type")
    sizes, slices = static_sizes(op.results[0].type), integers(required(op, "slice_sizes"))
    offsets = lists.get("offset_dims", [])
    batch = [d for d in range(len(sizes)) if d not in offsets]
    stacked = dict(
        zip(lists.get("operand_batching_dims", []), lists.get("start_indices_batching_dims", []), strict=True)
    )
    inside = [d for d in range(len(slices)) if d not in {*lists.get("collapsed_slice_dims", []), *stacked}]
    parts: dict[int, list[SSAValue]] = {d: [] for d in range(len(slices))}
    for number, d in enumerate(lists.get("start_index_map", [])):
        limit = _known(op, sizes_of(operand)[d]) - slices[d]
        start = _held(b, _component(b, starts, along, number), limit)
        parts[d].append(b.broadcast(start, sizes, batch))
    for d, at in [
        *zip(inside, offsets, strict=True),
        *((d, batch[s - (s > along)]) for d, s in stacked.items()),
    ]:
        parts[d].append(b.add(creation.IotaOp(i64, sizes, at)))
    if not parts:
        return b.broadcast(operand, sizes, ())
    places = [_sum(b, values, sizes) for values in parts.values()]
    return b.add(GatherOp(operand, places, range(len(places)), strict=True))


def _held(b: Builder, start: SSAValue, limit: int) -> SSAValue:
    """A start between 0 and the last one at which a slice fits."""
    wide = b.cast(start, i64)
    return b.add(bi.MinimumOp(b.add(bi.MaximumOp(wide, b.like(wide, 0))), b.like(wide, limit)))


def _component(b: Builder, starts: SSAValue, along: int, number: int) -> SSAValue:
    """Number `number` of each vector of starts; they are numbers where the vectors have no dimension."""
    sizes = sizes_of(starts)
    if along == len(sizes):
        return starts
    begin = [number if d == along else 0 for d in range(len(sizes))]
    one = [as_expr(1) if d == along else n for d, n in enumerate(sizes)]
    cut = b.add(view.SliceOp(starts, begin, one))
    return b.reshape(cut, [n for d, n in enumerate(sizes) if d != along])


def _sum(b: Builder, values: Sequence[SSAValue], sizes: Sequence[Expr]) -> SSAValue:
    if not values:
        return b.full(0, i64, sizes)
    total = values[0]
    for value in values[1:]:
        total = b.add(bi.AddOp(total, value))
    return total


def _known(op: Operation, size: Expr) -> int:
    if size.constant is None:
        raise cannot(op, "a size of its operand is not in its type")
    return size.constant
