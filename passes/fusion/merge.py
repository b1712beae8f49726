"""Make one kernel of two that share an iteration space: the consumer reads the producer's scalars."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence, Set

from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.dialects.index_expr import Var, dim
from tilewright.dialects.ir_access import operands_of, ops_of
from tilewright.dialects.tk.access import LoadOp, StoreOp
from tilewright.dialects.tk.attributes import map_attr
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.dialects.tw.base import is_pure

from ..kernels.body import merge_equal_inputs, rename_axes, rewrite_exprs
from ..kernels.naming import NAME, fused_name
from ..rewrite import insert_arguments, take_results
from .contents import Bodies
from .match import Match, links

_FEW = 64
"""Ops before a kernel that are looked at for a path to it: the longer walk finds it anyway."""


def users_to_sink(producer: KernelOp, consumer: KernelOp) -> list[Operation] | str:
    """The ops between the two that must move behind the merged kernel, or why they cannot."""
    another = "another path leads from it to the consumer"
    if _is_near(producer, consumer):
        return another
    moved = dependents(producer, consumer, {producer})
    if isinstance(moved, str):
        return moved
    behind = {*moved}
    return another if any(v.owner in behind for v in consumer.operands) else moved


def _is_near(producer: KernelOp, consumer: KernelOp) -> bool:
    """Whether something that leads to `consumer` by a few ops reads what `producer` makes.

    Many may stand between the two: of a training step, all behind a layer and before its gradient.
    """
    todo = deque(v.owner for v in consumer.operands if v.owner is not producer)
    for _ in range(_FEW):
        if not todo:
            return False
        if (op := todo.popleft()) is producer:
            return True
        if isinstance(op, Operation):
            todo += [v.owner for v in operands_of(op)]
    return False


def dependents(first: Operation, end: Operation, made: Set[Operation]) -> list[Operation] | str:
    """The ops from `first` to `end`, but `made`, that need what these make; or why they cannot move."""
    dependent = {*made}
    moved: list[Operation] = []
    op = first.next_op
    while op is not None and op is not end:
        if op not in made and any(v.owner in dependent for v in operands_of(op)):
            if not is_pure(op) and not isinstance(op, KernelOp):
                return "an op with effects stands between them"
            dependent.add(op)
            moved.append(op)
        op = op.next_op
    return "the consumer does not come later" if op is None else moved


def put_behind(moved: Sequence[Operation], anchor: Operation) -> None:
    """Move ops behind `anchor`, in the order that they have."""
    for op in moved:
        op.detach()
    Rewriter.insert_op(moved, InsertPoint.after(anchor))


def merge(
    producer: KernelOp, consumer: KernelOp, bodies: Bodies, m: Match, sunk: Sequence[Operation]
) -> KernelOp:
    """Replace both by one kernel at the consumer's place; `sunk` moves behind it.

    The producer's body is reused, so a long chain costs no more than its last links.
    """
    scalars = {load: store.value for load, store in _linked(producer, consumer)}
    internal = {r for r in producer.results if all(u.operation is consumer for u in r.uses)}
    kept = [r for r in producer.results if r not in internal]
    gone = [*scalars, *drop_destinations(producer, internal)]
    _rename_body(producer, m)
    outside = [v for v in consumer.operands if v.owner is not producer]
    body = producer.detach_region(producer.body)
    merged = KernelOp.create(
        operands=[*producer.operands, *outside],
        result_types=[*(r.type for r in kept), *(r.type for r in consumer.results)],
        properties={"sizes": map_attr(m.space)},
        attributes={**producer.attributes, **consumer.attributes, NAME: fused_name(producer, consumer)},
        regions=[body],
    )
    merged.location = consumer.location
    _add_arguments(body.block, len(producer.operands), [v.type for v in outside], consumer.result_types)
    Rewriter.insert_op(merged, InsertPoint.before(consumer))
    _move_consumer(consumer, producer, merged, scalars, len(kept))
    take_results(merged, [*kept, *consumer.results])
    for op in (consumer, producer):
        Rewriter.erase_op(op, safe_erase=False)
    put_behind(sunk, merged)
    merge_equal_inputs(merged)
    bodies.merged((producer, consumer), merged, gone, m.reduced)
    return merged


def _linked(producer: KernelOp, consumer: KernelOp) -> list[tuple[LoadOp, StoreOp]]:
    found = links(producer, consumer)
    assert not isinstance(found, str)
    return found


def drop_destinations(producer: KernelOp, internal: set[OpResult]) -> list[Operation]:
    """Remove the block arguments of results that only the consumer reads, and the stores (returned)."""
    block, gone = producer.body.block, list[Operation]()
    for destination, result in list(zip(producer.destinations, producer.results, strict=True)):
        if result not in internal:
            continue
        for store in [use.operation for use in destination.uses]:
            assert isinstance(store, StoreOp), f"{store.name} reads what is dropped"
            Rewriter.erase_op(store)
            gone.append(store)
        assert isinstance(destination, BlockArgument)
        block.erase_arg(destination)
    return gone


def _rename_body(producer: KernelOp, m: Match) -> None:
    if all(p == c for p, c in m.axes.items()):
        return
    body = producer.body.block
    rename = {Var("d", p): dim(c) for p, c in m.axes.items()}
    rewrite_exprs(body.ops, lambda e: e.substitute(rename))
    rename_axes(body.ops, {p: (c,) for p, c in m.axes.items()})


def _add_arguments(
    block: Block, first_input: int, inputs: Sequence[Attribute], results: Sequence[Attribute]
) -> None:
    """Block arguments for the consumer's inputs (behind the producer's) and results (at the end)."""
    insert_arguments(block, first_input, inputs)
    insert_arguments(block, len(block.args), results)


def _move_consumer(
    consumer: KernelOp,
    producer: KernelOp,
    merged: KernelOp,
    scalars: Mapping[LoadOp, SSAValue],
    first_result: int,
) -> None:
    """Append the consumer's ops; its loads of the producer become the producer's scalars."""
    for load, value in scalars.items():
        load.result.replace_all_uses_with(value)
        Rewriter.erase_op(load)
    targets = iter(merged.sources[len(producer.operands) :])
    for operand, source in zip(list(consumer.operands), list(consumer.sources), strict=True):
        if operand.owner is not producer:
            source.replace_all_uses_with(next(targets))
    for old, new in zip(consumer.destinations, merged.destinations[first_result:], strict=True):
        old.replace_all_uses_with(new)
    target = merged.body.block
    for op in ops_of(consumer.body.block):
        op.detach()
        target.add_op(op)
