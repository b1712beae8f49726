"""Kernels that walk a tensor which a later one scatters from, as that one walks it."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from xdsl.ir import SSAValue

from tilewright.dialects.index_expr import ONE, Var, dim
from tilewright.dialects.tk.domain import axes_of_exprs
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

    All of them but those that `reader` reduces: what `value` does not vary along, as the choices of which
    each reads a row of it, both may read something else by.
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
    if any(reader.space[a] != kernel.space[b] for a, b in axes.items()):
        return None
    for axis in sorted(free - axes.keys()):
        if (other := _counterpart(axis, axes, reader, kernel)) is None:
            return None
        axes[axis] = other
    return axes if len({*axes.values()}) == len(axes) else None


def _counterpart(axis: int, axes: Mapping[int, int], reader: KernelOp, kernel: KernelOp) -> int | None:
    """The axis of `kernel` that `axis` of `reader` is where both read one more tensor at one place."""
    both = [v for v in dict.fromkeys(reader.inputs) if v in kernel.inputs]
    reads = [(subscripts_read(v, reader), subscripts_read(v, kernel)) for v in both]
    pairs = [(*first, *second) for first, second in reads if len(first) == len(second) == 1]
    for other, size in enumerate(kernel.space):
        if size != reader.space[axis] or other in axes.values():
            continue
        known = {**axes, axis: other}
        renamed = {Var("d", a): dim(b) for a, b in known.items()}
        for first, second in pairs:
            read = axes_of_exprs(first)
            if axis in read <= known.keys() and [e.substitute(renamed) for e in first] == list(second):
                return other
    return None
