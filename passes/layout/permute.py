"""Ops on permuted operands: a row per op that a transpose can move below.

`perm` is that of a `tw.transpose` before the op: dimension `i` of what the op reads is
dimension `perm[i]` of what it shall read. A row gives the op on the latter and the
permutation that brings its result back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from xdsl.ir import Operation, SSAValue

from tilewright.dialects.attribute_facts import ints
from tilewright.dialects.index_expr import Expr, parse_exprs
from tilewright.dialects.index_expr.shapes import reshape_groups
from tilewright.dialects.tw.base import STRIDES, Elementwise
from tilewright.dialects.tw.creation import FullOp
from tilewright.dialects.tw.indexing import GatherOp
from tilewright.dialects.tw.reduction import (
    AllOp,
    AnyOp,
    MaxOp,
    MinOp,
    MomentsOp,
    ProdOp,
    ReduceOp,
    SumOp,
)
from tilewright.dialects.tw.view import (
    BroadcastOp,
    ConcatOp,
    PadOp,
    ReshapeOp,
    SliceOp,
    TransposeOp,
    starts_and_steps,
)
from tilewright.dialects.tw.window import WindowOp
from tilewright.dialects.types import element_type_of, sizes_of, tensor_type

from ..memory.layouts import inverse

Perm = tuple[int, ...]
Sources = Sequence[SSAValue]
Row = Callable[[Any, Sources, Perm], tuple[Operation, Perm]]
"""(op, operands to read, perm) -> (new op, permutation of its results)."""

T = TypeVar("T")


def is_identity(perm: Perm) -> bool:
    return perm == tuple(range(len(perm)))


def _back(values: Sequence[T], perm: Perm) -> list[T]:
    """What belongs to the dimensions that are read, in the order of the source's."""
    return [values[i] for i in inverse(perm)]


# Rows


def _elementwise(op: Operation, sources: Sources, perm: Perm) -> tuple[Operation, Perm]:
    sizes = _back(sizes_of(op.results[0]), perm)
    new = type(op).create(
        operands=sources,
        result_types=[tensor_type(element_type_of(op.results[0]), sizes)],
        properties=op.properties,
        attributes=op.attributes,
    )
    return new, perm


def _broadcast(op: BroadcastOp, sources: Sources, perm: Perm) -> tuple[Operation, Perm]:
    """Dimensions of the source stay in their order, where they were in the result; the others stay."""
    back, sizes = _broadcast_perm(op, perm), sizes_of(op.result)
    return BroadcastOp(sources[0], _back(sizes, back), ints(op.dims)), back


def _broadcast_perm(op: BroadcastOp, perm: Perm) -> Perm:
    dims = ints(op.dims)
    moved = {d: dims[place] for d, place in zip(dims, perm, strict=True)}
    return tuple(moved.get(d, d) for d in range(len(sizes_of(op.result))))


def _concat(op: ConcatOp, sources: Sources, perm: Perm) -> tuple[Operation, Perm]:
    return ConcatOp(sources, perm[op.dim.value.data]), perm


def _pad(op: PadOp, sources: Sources, perm: Perm) -> tuple[Operation, Perm]:
    low, high = (_back(parse_exprs(text.data), perm) for text in (op.low, op.high))
    return PadOp(sources[0], low, high, op.value.value.data), perm


def _reshape(op: ReshapeOp, sources: Sources, perm: Perm) -> tuple[Operation, Perm]:
    order = _reshaped_order(op, perm)
    assert order is not None
    sizes = sizes_of(op.result)
    return ReshapeOp(sources[0], [sizes[d] for d in order]), inverse(order)


def _reshaped_order(op: ReshapeOp, perm: Perm) -> Perm | None:
    """Dimensions of the result in the order of what is to be read.

    None where the reshape merges or splits across dimensions that are not neighbours there.
    Dimensions of size 1 may go anywhere.
    """
    source, result = sizes_of(op.source), sizes_of(op.result)
    if (groups := reshape_groups(source, result)) is None:
        return None
    read = [d for d in inverse(perm) if source[d].constant != 1]
    runs = [[d for d in before if source[d].constant != 1] for before, _ in groups]
    first = [read.index(run[0]) if run else -1 for run in runs]
    if any(read[at : at + len(run)] != run for at, run in zip(first, runs, strict=True) if run):
        return None
    order = sorted(range(len(groups)), key=first.__getitem__)
    return tuple(d for number in order for d in groups[number][1])


def _gather(op: GatherOp, sources: Sources, perm: Perm) -> tuple[Operation, Perm]:
    at, found = _gathered(op, perm)
    dims, strict = [perm[d] for d in ints(op.dims)], op.strict is not None
    return GatherOp(sources[0], sources[1:], dims, at, strict=strict), found


def _gathered(op: GatherOp, perm: Perm) -> tuple[int, Perm]:
    """Where the dimensions of the indices go, and the permutation of the result."""
    dims, at, rank = ints(op.dims), op.at.value.data, len(sizes_of(op.indices[0]))
    kept = [perm[d] for d in range(len(perm)) if d not in dims]
    first = sum(p < min(perm[d] for d in dims) for p in kept)
    order = sorted(kept)
    places = [i if (i := order.index(p)) < first else i + rank for p in kept]
    return first, (*places[:at], *range(first, first + rank), *places[at:])


def _slice(op: SliceOp, sources: Sources, perm: Perm) -> tuple[Operation, Perm]:
    starts, steps = starts_and_steps(op)
    sizes = sizes_of(op.result)
    return SliceOp(sources[0], _back(starts, perm), _back(sizes, perm), _back(steps, perm)), perm


def _window(op: WindowOp, sources: Sources, perm: Perm) -> tuple[Operation, Perm]:
    dims = [perm[d] for d in ints(op.dims)]
    order = sorted(range(len(dims)), key=dims.__getitem__)
    columns = (dims, ints(op.sizes), ints(op.strides), ints(op.dilation))
    new = WindowOp(sources[0], *([column[i] for i in order] for column in columns))
    return new, result_perm(op, perm)


def _reduce(op: ReduceOp | MomentsOp, sources: Sources, perm: Perm) -> tuple[Operation, Perm]:
    return type(op)(sources[0], sorted(perm[a] for a in ints(op.axes))), result_perm(op, perm)


_ROWS: Mapping[type[Operation], Row] = {
    BroadcastOp: _broadcast,
    ConcatOp: _concat,
    GatherOp: _gather,
    PadOp: _pad,
    ReshapeOp: _reshape,
    SliceOp: _slice,
    WindowOp: _window,
    **dict.fromkeys((SumOp, ProdOp, MaxOp, MinOp, AnyOp, AllOp, MomentsOp), _reduce),
}


def _row(op: Operation) -> Row | None:
    return _elementwise if op.has_trait(Elementwise) else _ROWS.get(type(op))


# What the pass asks


def has_row(op: Operation) -> bool:
    """Whether `op` may have a form for permuted operands; a layout that someone asked for stays."""
    return _row(op) is not None and STRIDES not in op.attributes


def can_permute(op: Operation, perm: Perm) -> bool:
    """Whether an op with a row has a form for operands permuted by `perm`."""
    return not isinstance(op, ReshapeOp) or _reshaped_order(op, perm) is not None


def permuted(op: Operation) -> Sequence[SSAValue]:
    """The operands whose dimensions a permutation is about: not the indices of a gather."""
    return op.operands[:1] if isinstance(op, GatherOp) else op.operands


def result_perm(op: Operation, perm: Perm) -> Perm:
    """How the results of the op on permuted operands are to be transposed."""
    if isinstance(op, ReduceOp | MomentsOp):
        kept = [p for d, p in enumerate(perm) if d not in ints(op.axes)]
        return tuple(sorted(kept).index(p) for p in kept)
    if isinstance(op, GatherOp):
        return _gathered(op, perm)[1]
    if isinstance(op, ReshapeOp):
        order = _reshaped_order(op, perm)
        assert order is not None
        return inverse(order)
    if isinstance(op, BroadcastOp):
        return _broadcast_perm(op, perm)
    if isinstance(op, WindowOp):
        dims = [perm[d] for d in ints(op.dims)]
        return (*perm, *(len(perm) + sorted(dims).index(d) for d in dims))
    return perm


def is_free(value: SSAValue, perm: Perm) -> bool:
    """Whether `value` can be had in the source's order without a transpose."""
    owner = value.owner
    if isinstance(owner, BroadcastOp):
        dims = [perm[d] for d, _ in _repeated(owner)]
        return dims == sorted(dims)
    return isinstance(owner, FullOp)


def _repeated(op: BroadcastOp) -> list[tuple[int, Expr]]:
    """(dimension of the result, size) for each dimension of the source that is not 1."""
    return [(d, n) for d, n in zip(ints(op.dims), sizes_of(op.source), strict=True) if n.constant != 1]


def permute(op: Operation, perm: Perm) -> tuple[list[Operation], list[SSAValue]]:
    """Ops that compute `op` from the sources of its transposed operands, and what stands for its results."""
    new: list[Operation] = []
    sources: list[SSAValue] = []
    data = permuted(op)
    for number, value in enumerate(op.operands):
        owner = value.owner
        if number >= len(data):
            sources.append(value)
        elif isinstance(owner, TransposeOp) and ints(owner.perm) == perm:
            sources.append(owner.source)
        else:
            new += _reordered(value, perm)
            sources.append(new[-1].results[0])
    row = _row(op)
    assert row is not None
    moved, back = row(op, sources, perm)
    moved.attributes = dict(op.attributes)
    new.append(moved)
    if is_identity(back):
        return new, list(moved.results)
    turned = [TransposeOp(result, back) for result in moved.results]
    return [*new, *turned], [op.result for op in turned]


def _reordered(value: SSAValue, perm: Perm) -> list[Operation]:
    """`value` in the order of the transposed operands' sources; the last op gives it."""
    owner, sizes = value.owner, _back(sizes_of(value), perm)
    if isinstance(owner, BroadcastOp) and is_free(value, perm):
        kept = _repeated(owner)
        dims = [perm[d] for d, _ in kept]
        if len(kept) == len(sizes_of(owner.source)):
            return [BroadcastOp(owner.source, sizes, dims)]
        squeezed = ReshapeOp(owner.source, [n for _, n in kept])
        return [squeezed, BroadcastOp(squeezed.result, sizes, dims)]
    if isinstance(owner, FullOp):
        type_ = tensor_type(element_type_of(value), sizes)
        return [FullOp.create(result_types=[type_], properties=owner.properties)]
    return [TransposeOp(value, inverse(perm))]
