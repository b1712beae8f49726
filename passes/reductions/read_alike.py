"""Kernels that walk a tensor which a later one scatters from, as that one walks it."""

from __future__ import annotations

from collections.abc import Collection

from xdsl.ir import SSAValue

from tilewright.dialects.index_expr import ONE
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.dialects.types import sizes_of

from ..fusion.contents import Bodies
from ..fusion.cost import count
from ..fusion.stored_turned import subscripts_read
from ..kernels.body import plain_axis

_REACH = 64
"""Ops between two kernels: results of the first would wait for the second."""


def earlier_readers(kernel: KernelOp, values: Collection[SSAValue]) -> list[tuple[KernelOp, SSAValue]]:
    """Kernels before `kernel`, the nearest first, each with one of `values` that is most of what it walks."""
    found: list[tuple[KernelOp, SSAValue]] = []
    op = kernel.prev_op if values else None
    for _ in range(_REACH):
        if op is None:
            break
        if isinstance(op, KernelOp):
            large = [v for v in values if v in op.operands and 2 * count(sizes_of(v)) >= count(op.space)]
            found += [(op, value) for value in large[:1]]
        op = op.prev_op
    return found


def axes_read_alike(
    value: SSAValue, reader: KernelOp, kernel: KernelOp, bodies: Bodies
) -> dict[int, int] | None:
    """Which axis of `kernel` each axis of `reader` is, where both read `value` at one place for each point.

    All of them but those that `reader` reduces.
    """
    first, second = subscripts_read(value, reader), subscripts_read(value, kernel)
    if len(first) != 1 or len(second) != 1:
        return None
    axes: dict[int, int] = {}
    for mine, other in zip(*first, *second, strict=True):
        a, b = plain_axis(mine), plain_axis(other)
        if a is None or b is None:
            if mine != other:
                return None
        elif axes.setdefault(a, b) != b:
            return None
    free = {a for a, size in enumerate(reader.space) if size != ONE} - bodies.of(reader).reduced
    alike = all(reader.space[a] == kernel.space[b] for a, b in axes.items())
    return axes if alike and free <= axes.keys() and len({*axes.values()}) == len(axes) else None
