"""Points of an axis that are written out: those of a reduction over a few elements, or several at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from math import prod

from xdsl.ir import Operation, SSAValue

from tilewright.dialects.index_expr import ONE, Expr, Var, as_expr
from tilewright.dialects.ir_access import ops_of
from tilewright.dialects.tk.access import StoreOp
from tilewright.dialects.tk.attributes import map_attr
from tilewright.dialects.tk.compute import ReduceOp
from tilewright.dialects.tk.contraction import find_contraction
from tilewright.dialects.tk.domain import axes_of_op, domains_of, exprs_of
from tilewright.dialects.tk.kernels import FuncOp, KernelOp

from .body import combined_axes, set_exprs
from .combine import Emit, combine

_FEW = 9
"""Terms of one result: a window of 3 x 3."""


def few_terms(kernel: KernelOp | FuncOp) -> tuple[int, ...] | None:
    """The axes of few points over which `kernel` reduces; None where it does more along them."""
    ops = ops_of(kernel.body.block)
    over = {axes for op in ops if (axes := combined_axes(op))}
    if len(over) != 1:
        return None
    (axes,) = over
    terms = prod(kernel.space[a].constant or 0 for a in axes)
    if not 0 < terms <= _FEW or find_contraction(kernel.body.block) is not None:
        return None
    domains = domains_of(kernel.body.block)
    if any(not isinstance(op, ReduceOp) for op in ops if combined_axes(op)) or any(
        not axes_of_op(op, domains).isdisjoint(axes) for op in ops if isinstance(op, StoreOp)
    ):
        return None
    return axes


def ops_unrolled(kernel: KernelOp | FuncOp, axes: Sequence[int]) -> int:
    """How many ops there will be of those that vary along `axes`."""
    domains = domains_of(kernel.body.block)
    repeated = [axes_of_op(op, domains).intersection(axes) for op in ops_of(kernel.body.block)]
    return sum(prod(kernel.space[a].constant or 0 for a in along) for along in repeated if along)


def unroll(kernel: KernelOp | FuncOp, axes: Sequence[int]) -> None:
    """Every op that varies along `axes` once per point of them, which then have the size 1.

    What is reduced over others, too, is reduced over these once per point.
    """
    ranges = [range(kernel.space[a].constant or 0) for a in axes]
    points = [{Var("d", a): as_expr(i) for a, i in zip(axes, p, strict=True)} for p in product(*ranges)]

    def reduced(op: ReduceOp, terms: Sequence[SSAValue], emit: Emit) -> SSAValue:
        if rest := [a for a in op.over if a not in axes]:
            terms = [emit(_reduced(op, term, rest)) for term in terms]
        return _combined(op, terms, emit)

    _repeat(kernel, axes, points, reduced)
    sizes = [ONE if a in axes else size for a, size in enumerate(kernel.space)]
    kernel.properties["sizes"] = map_attr(sizes)


def fold(kernel: KernelOp, axis: int, places: Sequence[Expr]) -> None:
    """Let a point of `axis` do what several did, at `places` in terms of it, so that fewer are left.

    Together the places are all that there were; what reduces, reduces all.
    """

    def reduced(op: ReduceOp, terms: Sequence[SSAValue], emit: Emit) -> SSAValue:
        return emit(_reduced(op, _combined(op, terms, emit), op.over))

    _repeat(kernel, (axis,), [{Var("d", axis): place} for place in places], reduced)
    sizes = list(kernel.space)
    sizes[axis] = sizes[axis] // len(places)
    kernel.properties["sizes"] = map_attr(sizes)


def _repeat(
    kernel: KernelOp | FuncOp,
    axes: Sequence[int],
    points: Sequence[Mapping[Var, Expr]],
    reduced: Callable[[ReduceOp, Sequence[SSAValue], Emit], SSAValue],
) -> None:
    """Every op that varies along `axes` once for each of `points`; `reduced` makes one of what is reduced."""
    block = kernel.body.block
    domains = domains_of(block)
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
            terms = [known.get(op.value, op.value) for known in values]
            op.result.replace_all_uses_with(reduced(op, terms, emit))
            continue
        for point, known in zip(points, values, strict=True):
            one = op.clone(known)
            if exprs := exprs_of(one):
                set_exprs(one, [e.substitute(point) for e in exprs])
            block.insert_op_before(one, op)
    for op in reversed(replaced):
        block.erase_op(op)


def _combined(op: ReduceOp, terms: Sequence[SSAValue], emit: Emit) -> SSAValue:
    first, *others = terms
    for other in others:
        first = combine(op.kind.data, first, other, emit)
    return first


def _reduced(op: ReduceOp, term: SSAValue, over: Sequence[int]) -> ReduceOp:
    made = ReduceOp.make(op.kind.data, term, over)
    made.attributes.update(op.attributes)
    return made
