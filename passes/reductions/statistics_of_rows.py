"""A kernel in two: one that reduces rows, and one that makes the rest of what these are reduced to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import IndexType
from xdsl.ir import Operation, OpResult, SSAValue

from tilewright.dialects.index_expr import Expr, dim
from tilewright.dialects.tk.access import StoreOp
from tilewright.dialects.tk.domain import Along, Axes, Reduction
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.dialects.types import tensor_type

from ..kernels.body import store_to
from ..kernels.facts import Body
from ..kernels.kernel_builder import KernelBuilder
from ..kernels.naming import NAME
from .cut_levels import Env, copied, named, sources_of


def statistics_of(body: Body, stores: Sequence[StoreOp]) -> list[SSAValue] | str:
    """What `stores` need of reductions, each the same along all that is reduced; or why that is not all."""
    behind = _reduced_behind(body)
    found: list[SSAValue] = []
    todo: list[SSAValue] = [store.value for store in stores]
    seen: set[SSAValue] = set()
    while todo:
        value = todo.pop()
        owner = value.owner
        if value in seen or not isinstance(owner, Operation):
            continue
        seen.add(value)
        if _is_stored(value) and value in behind and body.domains[value].isdisjoint(behind[value]):
            found.append(value)
        elif isinstance(owner, Reduction | Along):
            return "more than elementwise ops lie behind what is reduced"
        else:
            todo += owner.operands
    return sorted(found, key=lambda value: _order(body, value))


def _is_stored(value: SSAValue) -> bool:
    """Tensors have no positions; the number that one is made of is stored in its place."""
    return not isinstance(value.type, IndexType)


def _reduced_behind(body: Body) -> dict[SSAValue, Axes]:
    """Of each value that depends on reductions: the axes of these."""
    behind: dict[SSAValue, Axes] = {}
    for op in body.ops:
        axes = body.over.get(op, frozenset()).union(*(behind.get(v, frozenset()) for v in op.operands))
        if axes:
            behind.update((result, axes) for result in op.results)
    return behind


def _order(body: Body, value: SSAValue) -> tuple[int, int]:
    assert isinstance(value, OpResult)
    return body.position[value.op], value.index


def divided(
    kernel: KernelOp, body: Body, stores: Sequence[StoreOp], found: Sequence[SSAValue]
) -> tuple[KernelOp, KernelOp]:
    """A kernel with the results of `kernel` that are not stored by `stores`, and one with those that are.

    Results are in the order of those of `kernel`; in the first one comes behind them what of `found` is none
    of them.
    """
    apart = {store.buffer for store in stores}
    stays = [d for d in kernel.destinations if d not in apart]
    wide = [(r, d) for r, d in zip(kernel.results, kernel.destinations, strict=True) if d in apart]
    plain = [store for d in stays if (store := store_to(d)) is not None]
    kept = {store.value: store for store in plain if body.runs[store] == body.domains[store.value]}
    new = [value for value in found if value not in kept]
    at = {value: [dim(a) for a in sorted(body.domains[value])] for value in new}
    first = _first(kernel, body, stores, at)
    ops = body.closure(stores, frozenset(found))
    used = sources_of(kernel, ops)
    numbers = [stays.index(kept[v].buffer) if v in kept else len(stays) + new.index(v) for v in found]
    inputs = [*(first.results[n] for n in numbers), *(kernel.operands[i] for i in used)]
    b = KernelBuilder(kernel.location, kernel.space, inputs, [r.type for r, _ in wide])
    env: Env = {kernel.sources[i]: b.kernel.sources[len(found) + n] for n, i in enumerate(used)}
    env.update((d, new) for (_, d), new in zip(wide, b.kernel.destinations, strict=True))
    for i, value in enumerate(found):
        b.location = stores[0].location
        env[value] = b.load(i, kept[value].subscripts if value in kept else at[value])
    _copy(b, ops, env)
    b.kernel.attributes.update(kernel.attributes)
    return first, b.kernel


def _first(
    kernel: KernelOp,
    body: Body,
    stores: Sequence[StoreOp],
    at: Mapping[SSAValue, Sequence[Expr]],
) -> KernelOp:
    apart = {store.buffer for store in stores}
    stays = [(r, d) for r, d in zip(kernel.results, kernel.destinations, strict=True) if d not in apart]
    made = [v.op for v in at if isinstance(v, OpResult)]
    sinks = [op for op in body.sinks() if op not in stores]
    ops = body.closure([*sinks, *made], frozenset[SSAValue]())
    used = sources_of(kernel, ops)
    types = [tensor_type(v.type, [kernel.space[a] for a in sorted(body.domains[v])]) for v in at]
    operands = [kernel.operands[i] for i in used]
    b = KernelBuilder(kernel.location, kernel.space, operands, [*(r.type for r, _ in stays), *types])
    env: Env = {kernel.sources[i]: b.kernel.sources[n] for n, i in enumerate(used)}
    env.update((d, new) for (_, d), new in zip(stays, b.kernel.destinations, strict=False))
    _copy(b, ops, env)
    for i, (value, subscripts) in enumerate(at.items()):
        b.store(env[value], subscripts, len(stays) + i)
    b.kernel.attributes.update(kernel.attributes)
    b.kernel.attributes[NAME] = named(kernel, "statistics")
    return b.kernel


def _copy(b: KernelBuilder, ops: Sequence[Operation], env: Env) -> None:
    for op in ops:
        new = copied(op, env, {})
        b.block.add_op(new)
        env.update(zip(op.results, new.results, strict=True))
