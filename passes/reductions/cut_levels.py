"""Cuts a kernel behind its first reductions: what meets their results again becomes a second kernel."""

from __future__ import annotations

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation, OpResult, SSAValue

from tilewright.dialects.index_expr import Expr, Var, dim
from tilewright.dialects.tk.attributes import axes_attr
from tilewright.dialects.tk.domain import exprs_of
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.dialects.types import tensor_type

from ..kernels.body import set_exprs
from ..kernels.facts import Body
from ..kernels.kernel_builder import KernelBuilder
from ..kernels.naming import NAME
from .parts_of_sums import Splittable

Env = dict[SSAValue, SSAValue]


def copied(op: Operation, env: Env, change: dict[Var, Expr]) -> Operation:
    """`op` with other operands and axes; its location stays."""
    new = op.clone(dict(env))
    if exprs := exprs_of(new):
        set_exprs(new, [e.substitute(change) for e in exprs])
    return new


def sources_of(kernel: KernelOp, ops: list[Operation]) -> list[int]:
    """The inputs that `ops` read."""
    arguments = {v for op in ops for v in op.operands}
    return [i for i, arg in enumerate(kernel.sources) if arg in arguments]


def named(kernel: KernelOp, suffix: str) -> StringAttr:
    name = kernel.attributes.get(NAME)
    return StringAttr(f"{name.data}-{suffix}" if isinstance(name, StringAttr) else suffix)


def cut(kernel: KernelOp, body: Body, reductions: tuple[Splittable, ...]) -> tuple[KernelOp, KernelOp]:
    """One kernel of `reductions`, over the same axes, and one of the rest, which loads their results."""
    over = reductions[0].over
    kept = [a for a in range(len(kernel.space)) if a not in over]
    first = _first(kernel, body, reductions, kept)
    found = _needed(reductions)
    done = frozenset(found)
    ops = [op for op in body.closure(body.sinks(), done) if op not in reductions]
    used = sources_of(kernel, ops)
    inputs = [*first.results, *(kernel.operands[i] for i in used)]
    b = KernelBuilder(kernel.location, kernel.space, inputs, kernel.result_types)
    env: Env = {kernel.sources[i]: b.kernel.sources[len(first.results) + n] for n, i in enumerate(used)}
    env.update(zip(kernel.destinations, b.kernel.destinations, strict=True))
    for i, value in enumerate(found):
        b.location = value.op.location
        env[value] = b.load(i, [dim(a) for a in kept])
    for op in ops:
        new = copied(op, env, {})
        b.block.add_op(new)
        env.update(zip(op.results, new.results, strict=True))
    b.kernel.attributes.update(kernel.attributes)
    return first, b.kernel


def _needed(reductions: tuple[Splittable, ...]) -> list[OpResult]:
    """The results that somebody reads."""
    return [value for op in reductions for value in op.results if value.first_use is not None]


def _first(kernel: KernelOp, body: Body, reductions: tuple[Splittable, ...], kept: list[int]) -> KernelOp:
    over = reductions[0].over
    order = [*kept, *over]
    ops = body.closure(reductions, frozenset[SSAValue]())
    used = sources_of(kernel, ops)
    sizes = [kernel.space[a] for a in kept]
    b = KernelBuilder(
        kernel.location,
        [kernel.space[a] for a in order],
        [kernel.operands[i] for i in used],
        [tensor_type(value.type, sizes) for value in _needed(reductions)],
    )
    env: Env = {kernel.sources[i]: b.kernel.sources[n] for n, i in enumerate(used)}
    change = {Var("d", a): dim(i) for i, a in enumerate(order)}
    for op in ops:
        new = copied(op, env, change)
        if isinstance(new, Splittable):
            new.properties["axes"] = axes_attr(*range(len(kept), len(order)))
        b.block.add_op(new)
        env.update(zip(op.results, new.results, strict=True))
    for i, value in enumerate(_needed(reductions)):
        b.location = value.op.location
        b.store(env[value], [dim(a) for a in range(len(kept))], i)
    b.kernel.attributes[NAME] = named(kernel, "statistics")
    return b.kernel
