"""A reduction in two kernels: along some of its axes first, then along the others."""

from __future__ import annotations

from collections.abc import Collection

from xdsl.ir import Operation, SSAValue

from tilewright.dialects.index_expr import Expr, Var, dim
from tilewright.dialects.tk.attributes import axes_attr
from tilewright.dialects.tk.compute import ReduceOp
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.dialects.types import tensor_type

from ..kernels.facts import Body
from ..kernels.kernel_builder import KernelBuilder
from ..kernels.naming import NAME
from .cut_levels import Env, copied, named, sources_of


def reduced_in_parts(kernel: KernelOp, inside: Collection[int]) -> tuple[KernelOp, KernelOp]:
    """The kernel that reduces along the axes `inside`, and one that reduces what it stores and does the rest.

    All reductions of `kernel` are `tk.reduce` over the same axes, of which these are some, or all.
    """
    body = Body.of(kernel.body.block)
    reductions = [op for op in body.ops if isinstance(op, ReduceOp)]
    kept = [a for a in range(len(kernel.space)) if a not in inside]
    parts = _parts(kernel, body, reductions, kept)
    return parts, _rest(kernel, body, reductions, kept, parts)


def _parts(kernel: KernelOp, body: Body, reductions: list[ReduceOp], kept: list[int]) -> KernelOp:
    ops = body.closure(reductions, frozenset[SSAValue]())
    used = sources_of(kernel, ops)
    sizes = [kernel.space[a] for a in kept]
    types = [tensor_type(op.result.type, sizes) for op in reductions]
    b = KernelBuilder(kernel.location, kernel.space, [kernel.operands[i] for i in used], types)
    inside = sorted(set(range(len(kernel.space))) - set(kept))
    env: Env = {kernel.sources[i]: new for i, new in zip(used, b.kernel.sources, strict=True)}
    for op in ops:
        new = _added(b, op, env, {})
        if isinstance(new, ReduceOp):
            new.properties["axes"] = axes_attr(*inside)
    for number, op in enumerate(reductions):
        b.location = op.location
        b.store(env[op.result], [dim(a) for a in kept], number)
    b.kernel.attributes[NAME] = named(kernel, "part")
    return b.kernel


def _rest(
    kernel: KernelOp, body: Body, reductions: list[ReduceOp], kept: list[int], parts: KernelOp
) -> KernelOp:
    done = {op.result for op in reductions}
    ops = [op for op in body.closure(body.sinks(), done) if op not in reductions]
    used = sources_of(kernel, ops)
    inputs = [*parts.results, *(kernel.operands[i] for i in used)]
    b = KernelBuilder(kernel.location, [kernel.space[a] for a in kept], inputs, kernel.result_types)
    number = {old: new for new, old in enumerate(kept)}
    env: Env = {kernel.sources[i]: b.kernel.sources[len(reductions) + n] for n, i in enumerate(used)}
    env.update(zip(kernel.destinations, b.kernel.destinations, strict=True))
    for i, op in enumerate(reductions):
        b.location = op.location
        part = b.load(i, b.axes)
        left = [number[a] for a in op.over if a in number]
        env[op.result] = b.add(ReduceOp.make(op.kind.data, part, left)).results[0] if left else part
    change = {Var("d", old): dim(new) for old, new in number.items()}
    for op in ops:
        _added(b, op, env, change)
    b.kernel.attributes.update(kernel.attributes)
    return b.kernel


def _added(b: KernelBuilder, op: Operation, env: Env, change: dict[Var, Expr]) -> Operation:
    new = copied(op, env, change)
    b.block.add_op(new)
    env.update(zip(op.results, new.results, strict=True))
    return new
