"""Slices, reverses, concats and pads that do nothing, and chains of them that are one."""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from tilewright.dialects.attribute_facts import ints
from tilewright.dialects.index_expr import ONE, ZERO, Expr, parse_exprs
from tilewright.dialects.tw.creation import FullOp
from tilewright.dialects.tw.view import (
    ConcatOp,
    PadOp,
    ReshapeOp,
    ReverseOp,
    SliceOp,
    starts_and_steps,
)
from tilewright.dialects.types import element_type_of, sizes_of, tensor_type

from ..driver import Rewrite, Rules
from .splats import splat_of


def view_of_full(op: Operation, rw: Rewrite) -> SSAValue | None:
    """Any rearrangement of equal elements is those elements in the new shape."""
    inner = op.operands[0].owner
    if not isinstance(inner, FullOp):
        return None
    return rw.value(FullOp.create(result_types=[op.results[0].type], properties=inner.properties))


def same_type(op: Operation, rw: Rewrite) -> SSAValue | None:
    """A reshape, broadcast or slice that keeps the type keeps every element in place."""
    return op.operands[0] if op.operands[0].type == op.results[0].type else None


def slice_chain(op: Operation, rw: Rewrite) -> SSAValue | None:
    """A slice of a slice reads the first source; one that keeps the type reads everything."""
    assert isinstance(op, SliceOp)
    inner = op.source.owner
    if not isinstance(inner, SliceOp):
        return None
    (starts, steps), (first, strides) = starts_and_steps(op), starts_and_steps(inner)
    composed = [a + b * s for a, b, s in zip(first, starts, strides, strict=True)]
    products = [a * b for a, b in zip(steps, strides, strict=True)]
    return rw.value(SliceOp(inner.source, composed, sizes_of(op.result), products))


def slice_of_concat(op: Operation, rw: Rewrite) -> SSAValue | None:
    """A slice that lies within one part of a concat reads that part."""
    assert isinstance(op, SliceOp)
    inner = op.source.owner
    if not isinstance(inner, ConcatOp):
        return None
    dim, (starts, steps) = inner.dim.value.data, starts_and_steps(op)
    first = starts[dim]
    last = first + (sizes_of(op.result)[dim] - 1) * steps[dim]
    begin = ZERO
    for part in inner.inputs:
        end = begin + sizes_of(part)[dim]
        if _at_least(first, begin) and _at_least(end - 1, last):
            moved = [*starts[:dim], first - begin, *starts[dim + 1 :]]
            return rw.value(SliceOp(part, moved, sizes_of(op.result), steps))
        begin = end
    return None


def slice_of_interleaved(op: Operation, rw: Rewrite) -> SSAValue | None:
    """Every k-th element of what was joined from k tensors, element by element, is of one of them.

    Before: `stack((a, b), -1).flatten()[1::2]`
    After:  `stack((a, b), -1)[:, 1]`
    """
    assert isinstance(op, SliceOp)
    inner = op.source.owner
    if not isinstance(inner, ReshapeOp) or not isinstance(whole := inner.source.owner, ConcatOp):
        return None
    number, sizes = whole.dim.value.data, sizes_of(whole.result)
    count, dim = sizes[number].constant, number - 1
    if dim < 0 or count is None:
        return None
    if (*sizes[:dim], sizes[dim] * count, *sizes[number + 1 :]) != sizes_of(inner.result):
        return None
    starts, steps = starts_and_steps(op)
    start, step = starts[dim].constant, steps[dim].constant
    if start is None or step is None or step % count:
        return None
    places = [*starts[:dim], start // count, start % count, *starts[number:]]
    jumps = [*steps[:dim], step // count, 1, *steps[number:]]
    kept = sizes_of(op.result)
    one = SliceOp(whole.result, places, (*kept[:number], ONE, *kept[number:]), jumps)
    return rw.value(ReshapeOp(rw.value(one), kept))


def _at_least(a: Expr, b: Expr) -> bool:
    difference = (a - b).constant
    return difference is not None and difference >= 0


def reverse_chain(op: Operation, rw: Rewrite) -> SSAValue | None:
    """Reversing twice is not reversing; dimensions of size 1 have no order."""
    assert isinstance(op, ReverseOp)
    sizes = sizes_of(op.source)
    dims = [d for d in ints(op.dims) if sizes[d].constant != 1]
    if not dims:
        return op.source
    inner = op.source.owner
    if isinstance(inner, ReverseOp):
        both = sorted(set(dims) ^ set(ints(inner.dims)))
        return rw.value(ReverseOp(inner.source, both)) if both else inner.source
    return rw.value(ReverseOp(op.source, dims)) if len(dims) < len(ints(op.dims)) else None


def concat_parts(op: Operation, rw: Rewrite) -> SSAValue | None:
    """Empty parts go, nested concats along the same dim join in, a single part is the result."""
    assert isinstance(op, ConcatOp)
    dim = op.dim.value.data
    parts: list[SSAValue] = []
    for value in op.inputs:
        inner = value.owner
        if isinstance(inner, ConcatOp) and inner.dim.value.data == dim:
            parts.extend(inner.inputs)
        elif sizes_of(value)[dim].constant != 0:
            parts.append(value)
    if len(parts) == 1:
        return parts[0] if parts[0].type == op.result.type else None
    if not parts or len(parts) == len(op.inputs):
        return None
    return rw.value(ConcatOp(parts, dim))


def pad_known(op: Operation, rw: Rewrite) -> SSAValue | None:
    """A pad by nothing, and a pad of a full tensor by the same value."""
    assert isinstance(op, PadOp)
    if not any(parse_exprs(op.low.data)) and not any(parse_exprs(op.high.data)):
        return op.source
    scalar = splat_of(op.source)
    if scalar is not None and scalar == op.value.value.data and scalar != 0:
        return rw.value(
            FullOp.create(
                result_types=[tensor_type(element_type_of(op.result), sizes_of(op.result))],
                properties={"value": op.value},
            )
        )
    return None


SLICE_RULES: Rules = {
    SliceOp: (same_type, view_of_full, slice_chain, slice_of_concat, slice_of_interleaved),
    ReverseOp: (view_of_full, reverse_chain),
    ConcatOp: (concat_parts,),
    PadOp: (pad_known,),
}
