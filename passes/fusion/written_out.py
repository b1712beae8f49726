"""Reductions over a few elements, written out: without any, what reads a kernel can compute it again."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod

from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.dialects.index_expr import ONE, Var, as_expr
from tilewright.dialects.ir_access import ops_of
from tilewright.dialects.tk.access import StoreOp
from tilewright.dialects.tk.attributes import map_attr
from tilewright.dialects.tk.compute import ReduceOp
from tilewright.dialects.tk.contraction import find_contraction
from tilewright.dialects.tk.domain import axes_of_op, domains_of
from tilewright.dialects.tk.kernels import KernelOp

from ..kernels.body import exprs_of, reduced_axes, set_exprs
from ..kernels.combine import combine

_FEW = 9
"""Terms of one result: a window of 3 x 3."""
_MOST_OPS = 192


def written_out(kernel: KernelOp) -> KernelOp | None:
    """A copy of `kernel` without its reductions, which stands before it, if there is one.

    All reductions must be over the same few elements.
    """
    ops = ops_of(kernel.body.block)
    over = {axes for op in ops if (axes := reduced_axes(op))}
    if len(over) != 1:
        return None
    (axes,) = over
    sizes = [kernel.space[a].constant for a in axes]
    terms = prod(size or 0 for size in sizes)
    if not 0 < terms <= _FEW or find_contraction(kernel.body.block) is not None:
        return None
    domains = domains_of(kernel.body.block)
    repeated = [along for op in ops if (along := axes_of_op(op, domains).intersection(axes))]
    if sum(prod(kernel.space[a].constant or 0 for a in along) for along in repeated) > _MOST_OPS:
        return None
    if any(not isinstance(op, ReduceOp) for op in ops if reduced_axes(op)) or any(
        not axes_of_op(op, domains).isdisjoint(axes) for op in ops if isinstance(op, StoreOp)
    ):
        return None
    copy = kernel.clone()
    _write_out(copy, axes, [range(size or 0) for size in sizes])
    Rewriter.insert_op(copy, InsertPoint.before(kernel))
    return copy


def use_results(used: KernelOp, instead_of: KernelOp) -> None:
    """Let all that read one of two equal kernels read the other."""
    for old, new in zip(instead_of.results, used.results, strict=True):
        old.replace_all_uses_with(new)


def _write_out(kernel: KernelOp, axes: Sequence[int], ranges: Sequence[range]) -> None:
    """Every op that varies along `axes` once per point of them, which then have the size 1."""
    block = kernel.body.block
    domains = domains_of(block)
    points = [{Var("d", a): as_expr(i) for a, i in zip(axes, p, strict=True)} for p in product(*ranges)]
    values: list[dict[SSAValue, SSAValue]] = [{} for _ in points]
    replaced: list[Operation] = []
    for op in ops_of(block):
        if axes_of_op(op, domains).isdisjoint(axes):
            continue
        replaced.append(op)

        def emit(new: Operation, op: Operation = op) -> SSAValue:
            new.location = op.location
            block.insert_op_before(new, op)
            return new.results[0]

        if isinstance(op, ReduceOp):
            first, *others = [known.get(op.value, op.value) for known in values]
            for other in others:
                first = combine(op.kind.data, first, other, emit)
            op.result.replace_all_uses_with(first)
            continue
        for point, known in zip(points, values, strict=True):
            one = op.clone(known)
            if exprs := exprs_of(one):
                set_exprs(one, [e.substitute(point) for e in exprs])
            block.insert_op_before(one, op)
    for op in reversed(replaced):
        block.erase_op(op)
    sizes = [ONE if a in axes else size for a, size in enumerate(kernel.space)]
    kernel.properties["sizes"] = map_attr(sizes)
