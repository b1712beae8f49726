"""Two kernels made to walk one space: axes of one are split or exchanged until they are the other's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from xdsl.ir import SSAValue

from tilewright.dialects.index_expr import Expr, product
from tilewright.dialects.index_expr.shapes import reshape_groups
from tilewright.dialects.tk.kernels import KernelOp

from ..kernels.body import named_axes, permute_axes, plain_axis, remember_axes, split_axis
from .contents import Bodies
from .stored_turned import subscripts_read


def may_walk_alike(first: KernelOp, second: KernelOp) -> bool:
    """The cheap question, before `walk_alike` is asked about a tensor."""
    if len(first.space) == len(second.space):
        return first.space == second.space or Counter(first.space) == Counter(second.space)
    return any(_splits(first, second)) or any(_splits(second, first))


def walk_alike(value: SSAValue, first: KernelOp, second: KernelOp, bodies: Bodies) -> Callable[[], None]:
    """Let one of two kernels that read `value` walk the space of the other; what is returned takes that back.

    Axes are exchanged for targets whose lanes walk a tile in any order; loops are slower where one of them
    stores rows and columns.
    """
    for kernel, other in ((first, second), (second, first)):
        splits = _splits(kernel, other)
        order = _order_of(value, kernel, other) if bodies.scans_join and not splits else None
        if not splits and order is None:
            continue
        restore = remember_axes(kernel)
        if not _split(kernel, splits):
            restore()
            continue
        if order is not None:
            permute_axes(kernel, order)
        bodies.changed(kernel)

        def take_back(kernel: KernelOp = kernel, restore: Callable[[], None] = restore) -> None:
            restore()
            bodies.changed(kernel)

        return take_back
    return lambda: None


def _split(kernel: KernelOp, splits: Sequence[tuple[int, Expr]]) -> bool:
    """Split each axis in turn; False, with some of them split, where one cannot be.

    That is so where there would be one part, or parts of one element: `split_axis` makes no axes of size 1.
    """
    done = Counter[int]()
    for axis, inner in splits:
        if not split_axis(kernel, axis + done[axis], inner):
            return False
        done[axis] += 1
    return True


def _splits(kernel: KernelOp, other: KernelOp) -> list[tuple[int, Expr]]:
    """The axes of `kernel`, last first, to split so that it walks the space of the other one, and how."""
    rank = len(kernel.space)
    if rank >= len(other.space) or any(named_axes(op) for op in kernel.body.block.ops):
        return []
    groups = reshape_groups(kernel.space, other.space) or []
    if [mine.start for mine, _ in groups] != list(range(rank)) or not all(of for _, of in groups):
        return []
    return [
        (mine.start, product(other.space[axis + 1 : of.stop]))
        for mine, of in reversed(groups)
        for axis in of[:-1]
    ]


def _order_of(value: SSAValue, kernel: KernelOp, other: KernelOp) -> list[int] | None:
    """How to order the axes of a kernel that reads `value` out of order so that it walks as the other one."""
    mine, others = _axes_read(value, kernel), _axes_read(value, other)
    if mine is None or others is None or mine == sorted(mine) or mine == others:
        return None
    order = [mine[others.index(axis)] for axis in range(len(others))]
    return order if tuple(kernel.space[axis] for axis in order) == tuple(other.space) else None


def _axes_read(value: SSAValue, kernel: KernelOp) -> list[int] | None:
    """The axes along which a kernel reads each dimension of `value`; None if they are not all it has."""
    read = subscripts_read(value, kernel)
    axes = [plain_axis(expr) for expr in next(iter(read))] if len(read) == 1 else []
    found = [axis for axis in axes if axis is not None]
    whole = len(found) == len(axes) and sorted(found) == list(range(len(kernel.space)))
    return found if whole else None
