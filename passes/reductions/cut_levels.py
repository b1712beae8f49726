"""Cuts a kernel behind its first reductions: what meets their results again becomes a second kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation, OpResult, SSAValue

from tilewright.dialects.index_expr import Expr, Var, dim
from tilewright.dialects.tk.access import StoreOp
from tilewright.dialects.tk.attributes import axes_attr
from tilewright.dialects.tk.domain import Axes, exprs_of
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.dialects.types import tensor_type

from ..kernels.body import set_exprs, store_to
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


@dataclass(frozen=True)
class _Cut:
    """What goes with the first reductions of a kernel, and what the rest takes over from there."""

    reductions: tuple[Splittable, ...]
    stores: list[StoreOp]
    """Those that need nothing but results of these."""
    handed_on: list[OpResult]
    """What is stored for the rest besides."""
    loaded: dict[SSAValue, tuple[int, tuple[Expr, ...]]]
    """What the rest reads: of which result, those of `stores` first, then those `handed_on`, and where."""
    rest: list[Operation]

    @staticmethod
    def behind(kernel: KernelOp, body: Body, reductions: tuple[Splittable, ...]) -> _Cut:
        over = frozenset(reductions[0].over)
        needed = [value for op in reductions for value in op.results if value.first_use is not None]
        found = (store_to(d) for d in kernel.destinations)
        stores = [op for op in found if op is not None and _is_made_of(needed, op, body, over)]
        plain: dict[SSAValue, tuple[int, tuple[Expr, ...]]] = {}
        for number, op in enumerate(stores):
            if body.runs[op] == body.domains[op.value]:
                plain.setdefault(op.value, (number, op.subscripts))
        known = frozenset[SSAValue]((*needed, *plain))
        ops = body.closure([op for op in body.sinks() if op not in stores], known)
        rest = [op for op in ops if known.isdisjoint(op.results)]
        read = {operand for op in rest for operand in op.operands}
        handed_on = [value for value in needed if value in read and value not in plain]
        kept = tuple(dim(a) for a in range(len(kernel.space)) if a not in over)
        loaded = {value: where for value, where in plain.items() if value in read}
        loaded |= {value: (number, kept) for number, value in enumerate(handed_on, start=len(stores))}
        return _Cut(reductions, stores, handed_on, loaded, rest)


def _is_made_of(needed: Sequence[SSAValue], store: StoreOp, body: Body, over: Axes) -> bool:
    """Whether nothing that `store` needs runs along `over`, but for what makes `needed`."""
    ops = body.closure([store], frozenset(needed))
    return all(body.runs[op].isdisjoint(over) for op in ops)


def cut(
    kernel: KernelOp, body: Body, reductions: tuple[Splittable, ...]
) -> tuple[KernelOp, KernelOp, list[SSAValue]]:
    """One kernel of `reductions`, and one of the rest, which loads their results.

    With what takes the place of the results of `kernel`. What is stored of the reductions alone, the first
    one stores: so it is with a mean that is returned.
    """
    plan = _Cut.behind(kernel, body, reductions)
    first = _first(kernel, body, plan)
    read = [first.results[number] for number, _ in plan.loaded.values()]
    used = sources_of(kernel, plan.rest)
    early = {op.buffer: result for op, result in zip(plan.stores, first.results, strict=False)}
    late = [d for d in kernel.destinations if d not in early]
    types = [r.type for r, d in zip(kernel.results, kernel.destinations, strict=True) if d not in early]
    b = KernelBuilder(kernel.location, kernel.space, [*read, *(kernel.operands[i] for i in used)], types)
    env: Env = {kernel.sources[i]: b.kernel.sources[len(read) + n] for n, i in enumerate(used)}
    env.update(zip(late, b.kernel.destinations, strict=True))
    for i, (value, (_, at)) in enumerate(plan.loaded.items()):
        assert isinstance(value, OpResult)
        b.location = value.op.location
        env[value] = b.load(i, at)
    for op in plan.rest:
        new = copied(op, env, {})
        b.block.add_op(new)
        env.update(zip(op.results, new.results, strict=True))
    b.kernel.attributes.update(kernel.attributes)
    by_destination = early | dict(zip(late, b.kernel.results, strict=True))
    return first, b.kernel, [by_destination[d] for d in kernel.destinations]


def _first(kernel: KernelOp, body: Body, plan: _Cut) -> KernelOp:
    over = plan.reductions[0].over
    kept = [a for a in range(len(kernel.space)) if a not in over]
    order = [*kept, *over]
    ops = body.closure([*plan.reductions, *plan.stores], frozenset[SSAValue]())
    used = sources_of(kernel, ops)
    sizes = [kernel.space[a] for a in kept]
    by_destination = dict(zip(kernel.destinations, kernel.result_types, strict=True))
    types = [by_destination[op.buffer] for op in plan.stores]
    types += [tensor_type(value.type, sizes) for value in plan.handed_on]
    operands = [kernel.operands[i] for i in used]
    b = KernelBuilder(kernel.location, [kernel.space[a] for a in order], operands, types)
    env: Env = {kernel.sources[i]: b.kernel.sources[n] for n, i in enumerate(used)}
    env.update(zip((op.buffer for op in plan.stores), b.kernel.destinations, strict=False))
    change = {Var("d", a): dim(i) for i, a in enumerate(order)}
    for op in ops:
        new = copied(op, env, change)
        if isinstance(new, Splittable):
            new.properties["axes"] = axes_attr(*range(len(kept), len(order)))
        b.block.add_op(new)
        env.update(zip(op.results, new.results, strict=True))
    for i, value in enumerate(plan.handed_on, start=len(plan.stores)):
        b.location = value.op.location
        b.store(env[value], [dim(a) for a in range(len(kept))], i)
    b.kernel.attributes[NAME] = named(kernel, "statistics")
    return b.kernel
