"""What reads a part of each row can walk whole rows, under a mask, in the kernel that makes them."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import LocationAttr, i64
from xdsl.dialects.func import ReturnOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.dialects.index_expr import ZERO, Expr, Var, dim
from tilewright.dialects.ir_access import ops_of
from tilewright.dialects.tk.access import IndexOp, LoadOp, StoreOp
from tilewright.dialects.tk.arith import SelectOp
from tilewright.dialects.tk.attributes import map_attr
from tilewright.dialects.tk.calls import AssertOp
from tilewright.dialects.tk.compute import ReduceOp, ScanOp
from tilewright.dialects.tk.domain import is_along, runs_and_domains
from tilewright.dialects.tk.kernels import KernelOp

from ..kernels.body import combined_axes, rewrite_exprs
from ..kernels.combine import constant, identity
from ..kernels.scalar_builder import ScalarBuilder, constant_op
from .contents import Bodies
from .match import axes_read, links
from .merge_matched import merge_matched

_ROW = 2048
"""Elements of a row, at most: what a program of a GPU holds."""


@dataclass(frozen=True)
class _Part:
    """What a consumer reads along one of its axes: as many elements as that has, from `start` on."""

    axis: int
    start: Expr
    row: Expr


def merge_stretched(
    producer: KernelOp,
    consumer: KernelOp,
    bodies: Bodies,
    too_big: Callable[[KernelOp, KernelOp], str | None],
) -> KernelOp | None:
    """Both as one, where the consumer reads a part of the rows that the producer sorts or scans.

    Of rows that it reduces, each element can be computed wherever it is read. Where other kernels read the
    rows, too, they are stored anyway: nothing is won by what reduces nothing.
    """
    read = {v for v in consumer.operands if v.owner is producer}
    others = {use.operation for value in read for use in value.uses} - {consumer}
    reduces = any(combined_axes(op) for op in ops_of(consumer.body.block))
    if not reduces and not all(isinstance(other, ReturnOp) for other in others):
        return None
    part = _part_read(producer, consumer)
    if part is None or not _may_stretch(consumer, part):
        return None
    before, space = consumer.body.clone(), consumer.properties["sizes"]
    made = {s for s, v in zip(consumer.sources, consumer.operands, strict=True) if v.owner is producer}
    _stretch(consumer, made, part)
    bodies.changed(consumer)
    merged = too_big(producer, consumer) or merge_matched(producer, consumer, bodies)
    if not isinstance(merged, str):
        return merged
    consumer.detach_region(consumer.body)
    consumer.add_region(before)
    consumer.properties["sizes"] = space
    bodies.changed(consumer)
    return None


def _part_read(producer: KernelOp, consumer: KernelOp) -> _Part | None:
    """The one axis of the consumer along which it reads a part of rows; it reads all along others."""
    if isinstance(linked := links(producer, consumer), str):
        return None
    walked, parts, rows = set[int](), set[_Part](), _rows_of(producer)
    for load, store in linked:
        if (values := axes_read(load, store, producer)) is None:
            return None
        for axis, value in values.items():
            if (size := producer.space[axis]).constant == 1:
                continue
            if (found := _walked(value)) is None:
                return None
            walked.add(found)
            if size != consumer.space[found]:
                if axis not in rows or (size.constant or _ROW + 1) > _ROW:
                    return None
                parts.add(_Part(found, value - dim(found), size))
    whole = all(n.constant == 1 or axis in walked for axis, n in enumerate(consumer.space))
    return parts.pop() if len(parts) == 1 and whole else None


def _rows_of(producer: KernelOp) -> set[int]:
    """The axes that are sorted or scanned: a program holds all along them."""
    return {op.along for op in ops_of(producer.body.block) if is_along(op)}


def _walked(value: Expr) -> int | None:
    """The axis that `value` is, but for a number."""
    axes = [v.index for v in value.variables() if v.kind == "d"]
    return axes[0] if len(axes) == 1 and (value - dim(axes[0])).constant is not None else None


def _may_stretch(consumer: KernelOp, part: _Part) -> bool:
    """Whether what stands beside the part can be kept out of all that is computed of it."""
    ops = list(consumer.body.block.ops)
    along = [op for op in ops if part.axis in combined_axes(op)]
    scans = (ReduceOp, ScanOp) if part.start == ZERO else ReduceOp
    return all(isinstance(op, scans) for op in along) and not any(isinstance(op, AssertOp) for op in ops)


def _stretch(consumer: KernelOp, made: Collection[SSAValue], part: _Part) -> None:
    """Walk whole rows: beside the part nothing is stored or reduced, and nothing loaded but `made`."""
    block = consumer.body.block
    runs = runs_and_domains(block)[0]
    sizes = list(consumer.space)
    inside = _inside(block, part, sizes[part.axis], consumer.location)
    if part.start != ZERO:
        moved = {Var("d", part.axis): dim(part.axis) - part.start}
        rewrite_exprs(runs, lambda e: e.substitute(moved))
    sizes[part.axis] = part.row
    consumer.properties["sizes"] = map_attr(sizes)
    for op in (op for op, axes in runs.items() if part.axis in axes):
        if isinstance(op, StoreOp) or (isinstance(op, LoadOp) and op.buffer not in made):
            _mask(op, inside)
        elif isinstance(op, ReduceOp):
            nothing = constant(identity(op.kind.data, op.value.type))
            operands = [inside, op.value, nothing.results[0]]
            chosen = SelectOp.create(operands=operands, result_types=[op.value.type])
            _put_before(op, nothing, chosen)
            op.operands[0] = chosen.results[0]


def _inside(block: Block, part: _Part, count: Expr, location: LocationAttr) -> SSAValue:
    """Whether an element of a row is one of the part."""
    b = ScalarBuilder(aside := Block(), location)
    place = b.add(IndexOp.make(dim(part.axis))).results[0]
    if part.start != ZERO:
        place = b.op(arith.SubiOp, place, _number(part.start, b))
    result = b.compare_int("slt", place, _number(count, b))
    if part.start != ZERO:
        result = b.op(arith.AndIOp, b.compare_int("sge", place, b.constant(0, i64)), result)
    made = [*aside.ops]
    for op in made:
        op.detach()
    assert block.first_op is not None
    block.insert_ops_before(made, block.first_op)
    return result


def _number(value: Expr, b: ScalarBuilder) -> SSAValue:
    if value.constant is None:
        return b.add(IndexOp.make(value)).results[0]
    return b.constant(value.constant, i64)


def _mask(op: LoadOp | StoreOp, inside: SSAValue) -> None:
    """Let it be done only there, too; what a load gives elsewhere is 0."""
    new, both = list[Operation](), inside
    if op.mask is not None:
        new.append(arith.AndIOp.create(operands=[inside, op.mask], result_types=[inside.type]))
        both = new[-1].results[0]
    if isinstance(op, LoadOp):
        if (other := op.other) is None:
            new.append(constant_op(0, op.result.type))
            other = new[-1].results[0]
        masked = LoadOp.make(op.buffer, op.subscripts, op.dynamic, both, other, op.result.type)
    else:
        combine = None if op.combine is None else op.combine.data
        masked = StoreOp.make(op.value, op.buffer, op.subscripts, op.dynamic, both, combine, over=op.over)
    masked.attributes.update(op.attributes)
    _put_before(op, *new, masked)
    for old, result in zip(op.results, masked.results, strict=True):
        old.replace_all_uses_with(result)
    Rewriter.erase_op(op)


def _put_before(op: Operation, *new: Operation) -> None:
    for each in new:
        each.location = op.location
    Rewriter.insert_op(new, InsertPoint.before(op))
