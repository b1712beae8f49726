"""One kernel of several, each of which reads the one before: what lies between is recomputed, sums and all.

Unlike `merge` this takes kernels that reduce over different axes: it is for those whose values tiles hold.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from xdsl.ir import Operation, OpResult, SSAValue

from tilewright.dialects.index_expr import Bounds, Expr, Var, dim
from tilewright.dialects.tk.access import LoadOp, StoreOp
from tilewright.dialects.tk.kernels import KernelOp

from .body import exprs_of, loads_of, plain_axis, reduced_axes, rename_axes, set_exprs, solve_axes, store_to
from .naming import NAME, fused_name


def join(kernels: Sequence[KernelOp], between: Sequence[SSAValue]) -> KernelOp | str:
    """The kernels, in order, as one that is in no block yet, or why they cannot be.

    `between` are the values that the first, the second, ... make for the next alone. The results are
    all others, in the order of the kernels.
    """
    *earlier, last = kernels
    space = list(last.space)
    axes: list[dict[Var, Expr]] = [{Var("d", a): dim(a) for a in range(len(space))}]
    for producer, reader, value in reversed(list(zip(earlier, kernels[1:], between, strict=True))):
        found = _axes(producer, reader, value, axes[0], space)
        if isinstance(found, str):
            return found
        axes.insert(0, found)
    kept = [r for kernel in kernels for r in kernel.results if r not in between]
    made = KernelOp.make(space, [v for k in kernels for v in k.operands], [r.type for r in kept])
    made.location = last.location
    made.attributes = {**last.attributes, NAME: fused_name(earlier[-1], last)}
    ends = iter(made.destinations)
    sources = iter(made.sources)
    values: dict[SSAValue, SSAValue] = {}
    for kernel, at in zip(kernels, axes, strict=True):
        values |= zip(kernel.sources, sources, strict=False)
        values |= {d: next(ends) for d, r in _ends(kernel) if r in kept}
        _append(kernel, made, values, at, between)
    return made


def _ends(kernel: KernelOp) -> Iterable[tuple[SSAValue, SSAValue]]:
    return zip(kernel.destinations, kernel.results, strict=True)


def _axes(
    producer: KernelOp, reader: KernelOp, value: SSAValue, at: Mapping[Var, Expr], space: list[Expr]
) -> dict[Var, Expr] | str:
    """Where each axis of `producer` runs in the kernel to be; those that it does not store along are new."""
    assert isinstance(value, OpResult)
    store = store_to(producer.destinations[value.index])
    loads = loads_of(reader.sources[list(reader.operands).index(value)])
    places = {tuple(exprs_of(load)) for load in loads}
    if store is None or len(places) != 1 or any(len(load.operands) > 1 for load in loads):
        return "it is read under a mask, or at several positions"
    values = solve_axes(store.subscripts, [e.substitute(at) for e in places.pop()], producer.space)
    if values is None:
        return "its store cannot be inverted"
    bounds = Bounds(tuple(space))
    found = {Var("d", axis): bounds.simplify(place) for axis, place in values.items()}
    for axis, size in enumerate(producer.space):
        if axis not in values:
            found[Var("d", axis)] = dim(len(space))
            space.append(size)
    reduced = {a for op in producer.body.block.ops for a in reduced_axes(op)}
    if any(plain_axis(found[Var("d", a)]) is None for a in reduced):
        return "it reduces along what is no axis of the reader"
    return found


def _append(
    kernel: KernelOp,
    made: KernelOp,
    values: dict[SSAValue, SSAValue],
    at: Mapping[Var, Expr],
    between: Sequence[SSAValue],
) -> None:
    """Copy the body of `kernel`; what is loaded from an earlier one is the value that it would store."""
    vanishing = {d: r for d, r in _ends(kernel) if r in between}
    known = {s: v for s, v in zip(kernel.sources, kernel.operands, strict=True) if v in between}
    bounds = Bounds(made.space)
    for op in kernel.body.block.ops:
        if isinstance(op, StoreOp) and op.buffer in vanishing:
            values[vanishing[op.buffer]] = values[op.value]
        elif isinstance(op, LoadOp) and op.buffer in known:
            values[op.result] = values[known[op.buffer]]
        else:
            _place(op, made, values, at, bounds)


def _place(
    op: Operation, made: KernelOp, values: dict[SSAValue, SSAValue], at: Mapping[Var, Expr], bounds: Bounds
) -> None:
    copy = op.clone(values)
    copy.location = op.location
    if exprs := exprs_of(op):
        set_exprs(copy, [bounds.simplify(e.substitute(at)) for e in exprs])
    if reduced := reduced_axes(op):
        plain = {a: plain_axis(at[Var("d", a)]) for a in reduced}
        rename_axes([copy], {a: (axis,) for a, axis in plain.items() if axis is not None})
    made.body.block.add_op(copy)
    values |= zip(op.results, copy.results, strict=True)
