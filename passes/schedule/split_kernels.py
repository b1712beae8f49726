"""The two kernels of a split reduction: one reduces the parts, the other one what they hand on."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.ir import Operation, OpResult, SSAValue

from tilewright.dialects.index_expr import Expr, Var, dim
from tilewright.dialects.tk.access import LoadOp, StoreOp
from tilewright.dialects.tk.attributes import axes_attr
from tilewright.dialects.tk.compute import ReduceOp
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.dialects.types import tensor_type

from ..fusion.kernel_builder import KernelBuilder
from ..fusion.naming import NAME
from .body import Body
from .combine import identities
from .cut_levels import Env, copied, named, sources_of
from .parts_of_sums import Split, Splittable


class PartsBuilder:
    """Builds the kernel that reduces the parts: axes are the kept ones, the part, the place in it, others.

    Its results are the parts, then those of `kernel` that are `stored` beside.
    """

    def __init__(self, kernel: KernelOp, body: Body, plan: Split, stored: Sequence[bool]) -> None:
        self.kernel, self.body, self.plan = kernel, body, plan
        self.kept = [kernel.space[a] for a in plan.kept]
        self.ops = body.closure((*plan.reductions, *plan.beside), frozenset[SSAValue]())
        self.stored = [i for i, early in enumerate(stored) if early]
        self.used = sources_of(kernel, self.ops)
        sizes = (*self.kept, plan.count, plan.length, *(kernel.space[a] for a in plan.others))
        self.b = KernelBuilder(
            kernel.location,
            sizes,
            [kernel.operands[i] for i in self.used],
            [
                *(tensor_type(v.type, (plan.count, *self.kept)) for v in partial_results(plan)),
                *(kernel.result_types[i] for i in self.stored),
            ],
        )

    def build(self) -> KernelOp:
        plan, b, rank = self.plan, self.b, len(self.kept)
        place = dim(rank) * plan.length + dim(rank + 1)
        change = {Var("d", plan.axis): place}
        change.update((Var("d", a), dim(i)) for i, a in enumerate(plan.kept))
        change.update((Var("d", a), dim(rank + 2 + i)) for i, a in enumerate(plan.others))
        sources = zip(self.used, b.kernel.sources, strict=True)
        env = {self.kernel.sources[i]: new for i, new in sources}
        beside = b.kernel.destinations[len(partial_results(plan)) :]
        env.update((self.kernel.destinations[i], new) for i, new in zip(self.stored, beside, strict=True))
        inside: SSAValue | None = None
        if not plan.even:
            inside = b.compare_int("slt", b.index(place), b.index(self.kernel.space[plan.axis]))
        axes = [rank + 1, *range(rank + 2, rank + 2 + len(plan.others))]
        for op in self.ops:
            b.location = op.location
            if op in plan.reductions and inside is not None:
                self._or_identities(op, env, inside)
            new = copied(op, env, change)
            if isinstance(new, Splittable):
                new.properties["axes"] = axes_attr(*axes)
            elif isinstance(new, LoadOp) and inside is not None and plan.axis in self.body.runs[op]:
                new = self._masked(new, inside)
            elif isinstance(new, StoreOp) and inside is not None:
                new = self._masked_store(new, inside)
            b.block.add_op(new)
            env.update(zip(op.results, new.results, strict=True))
        for i, value in enumerate(partial_results(plan)):
            b.store(env[value], _place_of_part(rank), i)
        b.kernel.attributes[NAME] = named(self.kernel, "part")
        return b.kernel

    def _or_identities(self, op: Operation, env: Env, inside: SSAValue) -> None:
        """Beyond the end nothing is combined."""
        for operand, none in zip(op.operands, identities(op), strict=True):
            if isinstance(owner := operand.owner, arith.ConstantOp) and owner.value == none:
                continue
            nothing = self.b.add(
                arith.ConstantOp.create(result_types=[none.type], properties={"value": none})
            )
            env[operand] = self.b.select(inside, env[operand], nothing.results[0])

    def _masked(self, load: LoadOp, inside: SSAValue) -> Operation:
        """Nothing is read beyond the end."""
        b, other = self.b, load.other
        mask = inside if load.mask is None else b.op(arith.AndIOp, load.mask, inside)
        if other is None:
            other = b.constant(0, load.result.type)
        new = LoadOp.make(load.buffer, load.subscripts, load.dynamic, mask, other, load.result.type)
        new.location = load.location
        return new

    def _masked_store(self, store: StoreOp, inside: SSAValue) -> Operation:
        """Nor stored there."""
        mask = inside if store.mask is None else self.b.op(arith.AndIOp, store.mask, inside)
        new = StoreOp.make(store.value, store.buffer, store.subscripts, mask=mask)
        new.location = store.location
        return new


def whole(kernel: KernelOp, body: Body, plan: Split, parts: KernelOp, stored: Sequence[bool]) -> KernelOp:
    """The kernel that reduces the results of the parts, and does the rest."""
    kept = [kernel.space[a] for a in plan.kept]
    rank = len(kept)
    done = frozenset(partial_results(plan))
    sinks = [op for op in body.sinks() if op not in plan.beside]
    ops = [op for op in body.closure(sinks, done) if op not in plan.reductions]
    used = sources_of(kernel, ops)
    inputs = [*parts.results[: len(done)], *(kernel.operands[i] for i in used)]
    types = [kernel.result_types[i] for i, early in enumerate(stored) if not early]
    b = KernelBuilder(kernel.location, (*kept, plan.count), inputs, types)
    change = {Var("d", a): dim(i) for i, a in enumerate(plan.kept)}
    env = {kernel.sources[i]: b.kernel.sources[len(done) + n] for n, i in enumerate(used)}
    rest = [d for d, early in zip(kernel.destinations, stored, strict=True) if not early]
    env.update(zip(rest, b.kernel.destinations, strict=True))
    parts_of = iter(range(len(parts.results)))
    for op in plan.reductions:
        b.location = op.location
        values = [b.load(next(parts_of), _place_of_part(rank)) for _ in op.results]
        if isinstance(op, ReduceOp):
            new = b.add(ReduceOp.make(op.kind.data, values[0], (rank,)))
        else:
            new = b.add(op.make(values, (rank,)))
        env.update(zip(op.results, new.results, strict=True))
    for op in ops:
        new = copied(op, env, change)
        b.block.add_op(new)
        env.update(zip(op.results, new.results, strict=True))
    b.kernel.attributes.update(kernel.attributes)
    return b.kernel


def partial_results(plan: Split) -> list[OpResult]:
    """What each part hands on."""
    return [value for op in plan.reductions for value in op.results]


def _place_of_part(rank: int) -> list[Expr]:
    """Subscripts of results of parts, the part first: what lies along columns stays contiguous."""
    return [dim(rank), *(dim(a) for a in range(rank))]
