"""The two kernels of a split reduction: one reduces the parts, the other one what they hand on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects import arith
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.dialects.index_expr import Bounds, Expr, Var, dim
from tilewright.dialects.index_expr.shapes import static_product
from tilewright.dialects.tk.access import LoadOp, StoreOp
from tilewright.dialects.tk.attributes import axes_attr
from tilewright.dialects.tk.compute import ReduceOp
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.dialects.tk.moments import MomentsOp
from tilewright.dialects.types import tensor_type

from ..kernels.body import rename_axes, rewrite_exprs
from ..kernels.combine import constant, identities
from ..kernels.facts import Body
from ..kernels.kernel_builder import KernelBuilder
from ..kernels.naming import NAME
from ..rewrite import replace_results
from .cut_levels import copied, named, sources_of
from .parts_of_sums import Split


def split(kernel: KernelOp, body: Body, plan: Split) -> tuple[KernelOp, KernelOp]:
    """Put two kernels where one was: one reduces the parts, the other one their results."""
    beside = {op.buffer for op in plan.beside}
    stored = [d in beside for d in kernel.destinations]
    numbers = _numbers(kernel, plan)
    handed_on = [v for op in plan.reductions for v in op.results if v not in numbers]
    parts = _PartsBuilder(kernel, body, plan, handed_on, stored).build()
    rest = _whole(kernel, body, plan, parts, handed_on, numbers, stored)
    of_parts, of_rest = iter(parts.results[len(handed_on) :]), iter(rest.results)
    return put_in_place(kernel, parts, rest, [next(of_parts if early else of_rest) for early in stored])


def put_in_place(
    kernel: KernelOp, first: KernelOp, second: KernelOp, results: Sequence[SSAValue]
) -> tuple[KernelOp, KernelOp]:
    """Put two kernels where one was, whose results are `results` now."""
    Rewriter.insert_op([first, second], InsertPoint.before(kernel))
    replace_results(kernel.results, results)
    Rewriter.erase_op(kernel)
    return first, second


class _PartsBuilder:
    """Builds the kernel that reduces the parts.

    Its axes are the kept ones, the part, the place in it, others that are reduced, and those that a
    product is summed along. Its results are what parts hand on, then those of `kernel` that are `stored`.
    """

    def __init__(
        self,
        kernel: KernelOp,
        body: Body,
        plan: Split,
        handed_on: Sequence[SSAValue],
        stored: Sequence[bool],
    ) -> None:
        self.kernel, self.body, self.plan = kernel, body, plan
        self.kept = [kernel.space[a] for a in plan.kept]
        self.ops = body.closure((*plan.reductions, *plan.beside), frozenset[SSAValue]())
        self.stored = [i for i, early in enumerate(stored) if early]
        self.handed_on = handed_on
        self.used = sources_of(kernel, self.ops)
        self.chosen: dict[tuple[SSAValue, Attribute], SSAValue] = {}
        """Values, with such a number beyond the end."""
        within = (kernel.space[a] for a in (*plan.others, *plan.walked))
        sizes = (*self.kept, plan.count, plan.length, *within)
        self.b = KernelBuilder(
            kernel.location,
            sizes,
            [kernel.operands[i] for i in self.used],
            [
                *(tensor_type(v.type, (plan.count, *self.kept)) for v in self.handed_on),
                *(kernel.result_types[i] for i in self.stored),
            ],
        )

    def build(self) -> KernelOp:
        plan, b, rank = self.plan, self.b, len(self.kept)
        place = dim(rank) * plan.length + dim(rank + 1)
        at = {a: (i,) for i, a in enumerate(plan.kept)} | {plan.axis: (rank, rank + 1)}
        at |= {a: (rank + 2 + i,) for i, a in enumerate((*plan.others, *plan.walked))}
        change = {Var("d", a): place if a == plan.axis else dim(new[0]) for a, new in at.items()}
        sources = zip(self.used, b.kernel.sources, strict=True)
        env = {self.kernel.sources[i]: new for i, new in sources}
        beside = b.kernel.destinations[len(self.handed_on) :]
        env.update((self.kernel.destinations[i], new) for i, new in zip(self.stored, beside, strict=True))
        inside: SSAValue | None = None
        if not plan.even:
            inside = b.compare_int("slt", b.index(place), b.index(self.kernel.space[plan.axis]))
        for op in self.ops:
            b.location = op.location
            new = copied(op, env, change)
            rename_axes([new], at)
            if op in plan.reductions:
                if inside is not None:
                    new.operands = self._or_identities(new, inside)
                new.properties["axes"] = axes_attr(*sorted(at[a][-1] for a in plan.reductions[0].over))
            elif isinstance(new, LoadOp) and inside is not None and plan.axis in self.body.runs[op]:
                new = self._masked(new, inside)
            elif isinstance(new, StoreOp) and inside is not None:
                new = self._masked_store(new, inside)
            b.block.add_op(new)
            env.update(zip(op.results, new.results, strict=True))
        for i, value in enumerate(self.handed_on):
            b.store(env[value], _place_of_part(rank), i)
        rewrite_exprs(b.block.ops, Bounds(b.kernel.space).simplify)
        b.kernel.attributes[NAME] = named(self.kernel, "part")
        return b.kernel

    def _or_identities(self, op: Operation, inside: SSAValue) -> list[SSAValue]:
        """What `op` combines: nothing beyond the end, which for each operand is a number of its own."""
        found: list[SSAValue] = []
        for value, none in zip(op.operands, identities(op), strict=True):
            known = isinstance(owner := value.owner, arith.ConstantOp) and owner.value == none
            if not known and (value, none) not in self.chosen:
                nothing = self.b.add(constant(none)).results[0]
                self.chosen[value, none] = self.b.select(inside, value, nothing)
            found.append(value if known else self.chosen[value, none])
        return found

    def _masked(self, load: LoadOp, inside: SSAValue) -> Operation:
        """Nothing is read beyond the end."""
        b, other = self.b, load.other
        mask = inside if load.mask is None else b.op(arith.AndIOp, load.mask, inside)
        if other is None:
            other = b.constant(0, load.result.type)
        new = LoadOp.make(load.buffer, load.subscripts, load.dynamic, mask, other, load.result.type)
        new.location = load.location
        load.erase()
        return new

    def _masked_store(self, store: StoreOp, inside: SSAValue) -> Operation:
        """Nor stored there."""
        mask = inside if store.mask is None else self.b.op(arith.AndIOp, store.mask, inside)
        new = StoreOp.make(store.value, store.buffer, store.subscripts, mask=mask)
        new.location = store.location
        store.erase()
        return new


def _whole(
    kernel: KernelOp,
    body: Body,
    plan: Split,
    parts: KernelOp,
    handed_on: Sequence[SSAValue],
    numbers: Mapping[SSAValue, float],
    stored: Sequence[bool],
) -> KernelOp:
    """The kernel that reduces the results of the parts, and does the rest."""
    kept = [kernel.space[a] for a in plan.kept]
    rank = len(kept)
    done = frozenset(value for op in plan.reductions for value in op.results)
    sinks = [op for op in body.sinks() if op not in plan.beside]
    ops = [op for op in body.closure(sinks, done) if op not in plan.reductions]
    used = sources_of(kernel, ops)
    inputs = [*parts.results[: len(handed_on)], *(kernel.operands[i] for i in used)]
    types = [kernel.result_types[i] for i, early in enumerate(stored) if not early]
    b = KernelBuilder(kernel.location, (*kept, plan.count), inputs, types)
    change = {Var("d", a): dim(i) for i, a in enumerate(plan.kept)}
    env = {kernel.sources[i]: b.kernel.sources[len(handed_on) + n] for n, i in enumerate(used)}
    rest = [d for d, early in zip(kernel.destinations, stored, strict=True) if not early]
    env.update(zip(rest, b.kernel.destinations, strict=True))
    for op in plan.reductions:
        b.location = op.location
        values = [
            b.constant(numbers[value], value.type)
            if value in numbers
            else b.load(handed_on.index(value), _place_of_part(rank))
            for value in op.results
        ]
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


def _numbers(kernel: KernelOp, plan: Split) -> dict[SSAValue, float]:
    """How many numbers each part has, where all have as many: no part hands that on."""
    size = static_product((plan.length, *(kernel.space[a] for a in plan.others)))
    moments = [op for op in plan.reductions if isinstance(op, MomentsOp) and op.of_numbers]
    if not plan.even or size is None:
        return {}
    return {op.number: float(size) for op in moments if isinstance(op.count.owner, arith.ConstantOp)}


def _place_of_part(rank: int) -> list[Expr]:
    """Subscripts of results of parts, the part first: what lies along columns stays contiguous."""
    return [dim(rank), *(dim(a) for a in range(rank))]
