"""Recompute an elementwise producer where its consumer loads it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import i1
from xdsl.ir import Block, Operation, OpResult, SSAValue
from xdsl.rewriter import Rewriter

from tilewright.dialects.index_expr import ONE, ZERO, Bounds, Expr, Var, gathered
from tilewright.dialects.ir_access import operands_of, ops_of
from tilewright.dialects.tk.access import IndexOp, LoadOp
from tilewright.dialects.tk.arith import IndexCastOp, SelectOp
from tilewright.dialects.tk.calls import AssertOp
from tilewright.dialects.tk.domain import axes_of, axes_of_exprs, exprs_of
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.dialects.types import sizes_of

from ..kernels.body import combined_axes, set_exprs, solve_axes, store_to, used_indices
from ..kernels.scalar_builder import ScalarBuilder, constant_op


@dataclass(frozen=True)
class Producer:
    """One result of a kernel that can be recomputed anywhere: no reduction, one plain store."""

    kernel: KernelOp
    value: SSAValue
    stored_at: tuple[Expr, ...]
    ops: tuple[Operation, ...]
    """The ops that compute `value`, in order."""


def producer_of(value: SSAValue) -> Producer | str:
    """How to recompute a kernel's result, or why that is impossible."""
    kernel = value.owner
    assert isinstance(kernel, KernelOp)
    assert isinstance(value, OpResult)
    store = store_to(kernel.destinations[value.index])
    if store is None:
        return "it is not written by one plain store"
    ops: list[Operation] = []
    wanted: set[SSAValue] = {store.value}
    for op in reversed(ops_of(kernel.body.block)):
        if not wanted.isdisjoint(op.results) or type(op) is AssertOp:
            if combined_axes(op):
                return "it is a reduction"
            wanted.update(operands_of(op))
            ops.append(op)
    return Producer(kernel, store.value, store.subscripts, tuple(reversed(ops)))


def axis_values(
    producer: Producer, load: LoadOp, space: tuple[Expr, ...], *, checks: bool
) -> dict[int, Expr] | str:
    """The producer's axes at `load`, or why the load cannot be replaced; `checks` may move under masks."""
    values = solve_axes(producer.stored_at, load.subscripts, producer.kernel.space)
    if values is None:
        return "its store cannot be inverted"
    bounds = Bounds(space)
    values = {axis: bounds.simplify(value) for axis, value in values.items()}
    if any(
        isinstance(op, IndexOp) and not _is_linear(op.expr.substitute(_at(values))) for op in producer.ops
    ):
        return "it depends on its position and is read at gathered positions"
    if any(isinstance(op, AssertOp) for op in producer.ops):
        if not checks and load.mask is not None:
            return "it checks indices and is read under a mask"
        if not axes_of_exprs(e for op in producer.ops for e in exprs_of(op)) <= values.keys():
            return "it checks what varies along axes that its result lacks"
    return values


def _at(values: Mapping[int, Expr]) -> dict[Var, Expr]:
    return {Var("d", axis): value for axis, value in values.items()}


def _is_linear(position: Expr) -> bool:
    """Whether gather indices are only multiplied by what is none, and added: scalar ops do that, too."""
    gathered_at = [v for v in position.variables() if v.kind == "i"]
    factors = [position.coefficient(v) for v in gathered_at]
    return all(f is not None and f.variables().isdisjoint(gathered_at) for f in factors)


def inline_at(consumer: KernelOp, load: LoadOp, producer: Producer, values: Mapping[int, Expr]) -> None:
    """Replace `load` by a copy of the producer's ops."""
    block = consumer.body.block
    copies: dict[SSAValue, SSAValue] = {}
    for operand, source in zip(producer.kernel.operands, producer.kernel.sources, strict=True):
        if source.first_use is not None:
            copies[source] = input_of(consumer, operand)
    for op in producer.ops:
        copy = op.clone(copies)
        block.insert_op_before(copy, load)
        if isinstance(copy, AssertOp) and load.mask is not None:
            _check_where(load.mask, copy)
        placed = _move_to(consumer, copy, load, values)
        copies.update(zip(op.results, placed.results, strict=True))
    value = copies.get(producer.value, producer.value)
    if load.mask is not None and load.other is not None:
        select = SelectOp.create(
            operands=[load.mask, value, load.other], result_types=[value.type], properties={}
        )
        select.location = load.location
        block.insert_op_before(select, load)
        value = select.results[0]
    load.result.replace_all_uses_with(value)
    Rewriter.erase_op(load)


def _check_where(mask: SSAValue, check: AssertOp) -> None:
    """Let a check hold where the mask is false."""
    block = check.parent_block()
    assert block is not None
    true = constant_op(1, i1)
    outside = arith.XOrIOp.create(operands=[mask, true.result], result_types=[i1])
    either = arith.OrIOp.create(operands=[check.condition, outside.result], result_types=[i1])
    for op in (true, outside, either):
        op.location = check.location
        block.insert_op_before(op, check)
    check.operands[0] = either.result


def input_of(kernel: KernelOp, value: SSAValue) -> SSAValue:
    """The block argument of an operand, which is added if it is new."""
    operands = list(kernel.operands)
    if value in operands:
        return kernel.sources[operands.index(value)]
    argument = kernel.body.block.insert_arg(value.type, len(operands))
    kernel.operands = [*operands, value]
    return argument


def _move_to(consumer: KernelOp, copy: Operation, load: LoadOp, values: Mapping[int, Expr]) -> Operation:
    """Let a copied op stand at the load's position: its axes, gather indices and mask."""
    if not (exprs := exprs_of(copy)):
        return copy
    own = len(copy.dynamic) if isinstance(copy, LoadOp) else 0
    shift = {Var("i", k): gathered(k + own) for k in range(len(load.dynamic))}
    at = {var: value.substitute(shift) for var, value in _at(values).items()}
    bounds = Bounds(consumer.space)
    moved = [bounds.simplify(e.substitute(at)) for e in exprs]
    if isinstance(copy, LoadOp) and (load.dynamic or load.mask is not None):
        return _replace_load(consumer, copy, moved, load)
    if isinstance(copy, IndexOp) and any(v.kind == "i" for v in moved[0].variables()):
        return _replace_index(consumer, copy, moved[0], load)
    set_exprs(copy, moved)
    return copy


def _replace_index(consumer: KernelOp, copy: IndexOp, position: Expr, load: LoadOp) -> Operation:
    """The position that gather indices make, by scalar ops."""
    aside, type_ = Block(), copy.result.type
    b = ScalarBuilder(aside, copy.location)
    rest = position.substitute({Var("i", n): ZERO for n in range(len(load.dynamic))})
    total = b.add(IndexOp.make(rest, type_)).results[0] if rest else None
    for n, value in enumerate(load.dynamic):
        factor = position.coefficient(Var("i", n))
        if factor:
            place = b.op(IndexCastOp, value, type_=type_)
            if factor != ONE:
                place = b.op(arith.MuliOp, place, b.add(IndexOp.make(factor, type_)).results[0])
            total = place if total is None else b.op(arith.AddiOp, total, place)
    made = list(aside.ops)
    for op in made:
        op.detach()
        consumer.body.block.insert_op_before(op, copy)
    copy.result.replace_all_uses_with(made[-1].results[0])
    Rewriter.erase_op(copy)
    return made[-1]


def _replace_load(consumer: KernelOp, copy: LoadOp, moved: list[Expr], load: LoadOp) -> LoadOp:
    """A load with the gather indices and the mask of the load that it serves."""
    block = consumer.body.block
    mask, other = copy.mask, copy.other
    extra: list[Operation] = []
    if load.mask is not None and mask is not None:
        both = arith.AndIOp.create(operands=[mask, load.mask], result_types=[mask.type])
        extra.append(both)
        mask = both.results[0]
    elif load.mask is not None and not _may_be_read_always(copy, moved, load.mask, consumer.space):
        zero = constant_op(0, copy.result.type)
        extra.append(zero)
        mask, other = load.mask, zero.results[0]
    dynamic, moved = used_indices([*copy.dynamic, *load.dynamic], moved)
    new = LoadOp.make(copy.buffer, moved, dynamic, mask, other)
    for op in (*extra, new):
        op.location = copy.location
        block.insert_op_before(op, copy)
    copy.result.replace_all_uses_with(new.result)
    Rewriter.erase_op(copy)
    return new


def _may_be_read_always(copy: LoadOp, moved: list[Expr], mask: SSAValue, space: tuple[Expr, ...]) -> bool:
    """Whether a load needs no mask, as nobody sees what is made of it elsewhere, and is better off without.

    It lies in its tensor at all points, and is the same for some that the mask tells apart: what belongs to a
    channel is read once, not by each element of a window that may hang over the edge.
    """
    if axes_of_exprs(moved) >= axes_of(mask):
        return False
    bounds = Bounds(space)
    within = zip(moved, sizes_of(copy.buffer), strict=True)
    return all(bounds.is_nonnegative(at) and bounds.is_below(at, size) for at, size in within)
