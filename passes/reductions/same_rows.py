"""Kernels that walk the rows whose columns another one sums, though they do not make them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import Block, Operation

from tilewright.dialects.index_expr import Expr
from tilewright.dialects.tk.contraction import find_contraction
from tilewright.dialects.tk.domain import exprs_of
from tilewright.dialects.tk.kernels import KernelOp

from ..fusion.merge import users_to_sink
from ..fusion.repeats import size_in_bytes
from ..kernels.body import (
    loads_of,
    permute_axes,
    plain_axis,
    remember_axes,
    split_axis,
)

Subscripts = tuple[Expr, ...]
_NEAR = 16
"""How many ops apart the two may stand."""


def readers_of_rows(kernel: KernelOp) -> list[tuple[KernelOp, Subscripts]]:
    """Kernels near `kernel` over the same space that read most of its bytes, and where they read them.

    `kernel` can be moved behind each.
    """
    block = kernel.parent_block()
    assert block is not None
    near = _near(kernel, block)
    users = {use.operation for value in kernel.operands for use in value.uses}
    found: list[tuple[KernelOp, Subscripts]] = []
    for other in near:
        if not isinstance(other, KernelOp) or other not in users:
            continue
        if find_contraction(other.body.block) is not None or _one_reads(kernel, other):
            continue
        same = _as_cut(kernel, other)
        where = None if same is None else _read_alike(same, other)
        if same is not kernel and same is not None:
            same.erase()
        if where is not None and _may_follow(kernel, other, near):
            found.append((other, where))
    return found


def walk_as_it_lies(kernel: KernelOp) -> Callable[[], None] | None:
    """Put the axes of `kernel` in the order in which what it reads lies; returns what undoes that.

    A sum of columns that was rounded has their axis first.
    """
    order = _order_in_memory(kernel)
    if order is None or order == sorted(order):
        return None
    restore = remember_axes(kernel)
    permute_axes(kernel, order)
    return restore


def _order_in_memory(kernel: KernelOp) -> list[int] | None:
    """The axes along which some tensor is read, if those are all."""
    loads = [load for source in kernel.sources for load in loads_of(source) if not load.dynamic]
    axes = [[plain_axis(e) for e in load.subscripts] for load in loads]
    found = [[a for a in read if a is not None] for read in axes]
    return next((read for read in found if sorted(read) == list(range(len(kernel.space)))), None)


def _one_reads(kernel: KernelOp, other: KernelOp) -> bool:
    """Whether one needs what the other makes: the largest of each column, say, that it subtracts."""
    return any(v.owner is other for v in kernel.operands) or any(v.owner is kernel for v in other.operands)


def _as_cut(kernel: KernelOp, other: KernelOp) -> KernelOp | None:
    """`kernel`, or a copy of which one axis is cut as it is in `other`, so that both have equal spaces."""
    if other.space == kernel.space:
        return kernel
    axis = next((a for a, (x, y) in enumerate(zip(kernel.space, other.space, strict=False)) if x != y), None)
    if axis is None or len(other.space) != len(kernel.space) + 1:
        return None
    copy = kernel.clone()
    if split_axis(copy, axis, other.space[axis + 1]) and copy.space == other.space:
        return copy
    copy.erase()
    return None


def _near(kernel: KernelOp, block: Block) -> list[Operation]:
    """The ops around `kernel`, in order."""
    before: list[Operation] = []
    behind: list[Operation] = []
    for found, step in ((before, "prev_op"), (behind, "next_op")):
        op = getattr(kernel, step)
        while op is not None and len(found) < _NEAR:
            found.append(op)
            op = getattr(op, step)
    return [*reversed(before), kernel, *behind]


def _read_alike(kernel: KernelOp, other: KernelOp) -> Subscripts | None:
    """Where both read the largest tensor that they read alike, if these are at least half of all bytes."""
    shared: dict[int, Subscripts] = {}
    for index, (value, source) in enumerate(zip(kernel.operands, kernel.sources, strict=True)):
        if value in other.operands:
            theirs = other.sources[list(other.operands).index(value)]
            places = [exprs_of(load) for load in loads_of(theirs) if not load.dynamic]
            places = [p for p in places if p in [exprs_of(load) for load in loads_of(source)]]
            if places:
                shared[index] = tuple(places[0])
    sizes = [size_in_bytes(value) for value in kernel.operands]
    if not shared or 2 * sum(sizes[i] for i in shared) < sum(sizes):
        return None
    return shared[max(shared, key=sizes.__getitem__)]


def _may_follow(kernel: KernelOp, other: KernelOp, near: Sequence[Operation]) -> bool:
    """Whether `kernel` stands behind `other`, or can, with all between the two that needs it."""
    return near.index(other) < near.index(kernel) or isinstance(users_to_sink(kernel, other), list)


def later_of(kernel: KernelOp, other: KernelOp) -> tuple[Operation, Sequence[Operation]]:
    """What stands behind both, or `kernel` itself if that is the later one.

    And what must move there with `kernel`, which may follow `other`.
    """
    op: Operation | None = kernel
    while op is not None and op is not other:
        op = op.next_op
    if op is None:
        return kernel, ()
    assert op.next_op is not None
    waiting = users_to_sink(kernel, other)
    assert not isinstance(waiting, str)
    return op.next_op, waiting
