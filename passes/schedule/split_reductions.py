"""Pass `split-reductions`."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.passes import ModulePass

from tilewright.dialects.index_expr import Expr, Var, dim
from tilewright.dialects.tk.access import LoadOp
from tilewright.dialects.tk.attributes import axes_attr
from tilewright.dialects.tk.compute import ReduceOp
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.dialects.tk.moments import MomentsOp
from tilewright.dialects.types import tensor_type

from ..fusion.kernel_builder import KernelBuilder
from ..fusion.naming import NAME
from ..rewrite import may_rewrite, skip
from .body import Body, Reduction
from .combine import identities
from .cut_levels import Env, copied, cut, named, sources_of
from .parts_of_sums import Split, Splittable, first_reductions, split_of


@dataclass(frozen=True)
class SplitReductionsPass(ModulePass):
    """Reduce long rows in two kernels, where there are too few rows to keep a GPU busy.

    Before:
        %r = tk.kernel [1048576] ins(%x : tensor<1048576xf32>) -> (tensor<f32>) {
          %0 = tk.load %a[d0] : tensor<1048576xf32> -> f32
          %1 = tk.reduce add %0 over [0] : f32
          tk.store %1, %o[] : f32, tensor<f32>
        }
    After:
        %p = tk.kernel [256, 4096] ins(%x : tensor<1048576xf32>) -> (tensor<256xf32>) {
          %0 = tk.load %a[d0*4096 + d1] : tensor<1048576xf32> -> f32
          %1 = tk.reduce add %0 over [1] : f32
          tk.store %1, %o[d0] : f32, tensor<256xf32>
        }
        %r = tk.kernel [256] ins(%p : tensor<256xf32>) -> (tensor<f32>) {
          %0 = tk.load %a[d0] : tensor<256xf32> -> f32
          %1 = tk.reduce add %0 over [0] : f32
          tk.store %1, %o[] : f32, tensor<f32>
        }

    What meets a result of a long reduction again (a variance, a normalisation) is cut off as a
    kernel of its own first. The sum of a matrix product is split likewise ("split-k"). All in a
    fixed order, so that results repeat; parts of unequal length are masked.
    """

    name = "split-reductions"

    programs: int = 256

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.ops:
            if isinstance(function, FuncOp) and not function.is_declaration:
                for kernel in [k for k in function.body.block.ops if isinstance(k, KernelOp)]:
                    _split(kernel, self.programs)


def _split(kernel: KernelOp, programs: int) -> None:
    if not any(isinstance(op, Reduction) for op in kernel.body.block.ops):
        return
    body = Body.of(kernel.body.block)
    if isinstance(early := first_reductions(kernel, body, programs), tuple):
        if may_rewrite(kernel, "it was cut behind its first reductions"):
            for part in _replaced(kernel, *cut(kernel, body, early)):
                _split(part, programs)
        return
    plan = early if isinstance(early, str) else split_of(kernel, body, programs)
    if isinstance(plan, str):
        return skip(kernel, f"not split: {plan}")
    if may_rewrite(kernel, "its reductions were split"):
        first = _Parts(kernel, body, plan).build()
        _replaced(kernel, first, _whole(kernel, body, plan, first))


def _replaced(kernel: KernelOp, first: KernelOp, second: KernelOp) -> tuple[KernelOp, KernelOp]:
    """Put two kernels where one was; the second has its results."""
    block = kernel.parent
    assert block is not None
    block.insert_ops_before([first, second], kernel)
    for old, new in zip(kernel.results, second.results, strict=True):
        old.replace_all_uses_with(new)
        new.name_hint = old.name_hint
    block.erase_op(kernel)
    return first, second


class _Parts:
    """Builds the kernel that reduces the parts: axes are the kept ones, the part, the place in it, others."""

    def __init__(self, kernel: KernelOp, body: Body, plan: Split) -> None:
        self.kernel, self.body, self.plan = kernel, body, plan
        self.kept = [kernel.space[a] for a in plan.kept]
        self.ops = body.closure(plan.reductions, frozenset[SSAValue]())
        self.used = sources_of(kernel, self.ops)
        sizes = (*self.kept, plan.count, plan.length, *(kernel.space[a] for a in plan.others))
        self.b = KernelBuilder(
            kernel.location,
            sizes,
            [kernel.operands[i] for i in self.used],
            [tensor_type(v.type, (plan.count, *self.kept)) for v in _partial(plan)],
        )

    def build(self) -> KernelOp:
        plan, b, rank = self.plan, self.b, len(self.kept)
        place = dim(rank) * plan.length + dim(rank + 1)
        change = {Var("d", plan.axis): place}
        change.update((Var("d", a), dim(i)) for i, a in enumerate(plan.kept))
        change.update((Var("d", a), dim(rank + 2 + i)) for i, a in enumerate(plan.others))
        sources = zip(self.used, b.kernel.sources, strict=True)
        env = {self.kernel.sources[i]: new for i, new in sources}
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
            b.block.add_op(new)
            env.update(zip(op.results, new.results, strict=True))
        for i, value in enumerate(_partial(plan)):
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


def _whole(kernel: KernelOp, body: Body, plan: Split, parts: KernelOp) -> KernelOp:
    """The kernel that reduces the results of the parts, and does the rest."""
    kept = [kernel.space[a] for a in plan.kept]
    rank = len(kept)
    done = frozenset(_partial(plan))
    ops = [op for op in body.closure(body.sinks(), done) if op not in plan.reductions]
    used = sources_of(kernel, ops)
    inputs = [*parts.results, *(kernel.operands[i] for i in used)]
    b = KernelBuilder(kernel.location, (*kept, plan.count), inputs, kernel.result_types)
    change = {Var("d", a): dim(i) for i, a in enumerate(plan.kept)}
    env = {kernel.sources[i]: b.kernel.sources[len(parts.results) + n] for n, i in enumerate(used)}
    env.update(zip(kernel.destinations, b.kernel.destinations, strict=True))
    parts_of = iter(range(len(parts.results)))
    for op in plan.reductions:
        b.location = op.location
        values = [b.load(next(parts_of), _place_of_part(rank)) for _ in op.results]
        if isinstance(op, MomentsOp):
            new = b.add(MomentsOp.make(values, (rank,)))
        else:
            new = b.add(ReduceOp.make(op.kind.data, values[0], (rank,)))
        env.update(zip(op.results, new.results, strict=True))
    for op in ops:
        new = copied(op, env, change)
        b.block.add_op(new)
        env.update(zip(op.results, new.results, strict=True))
    b.kernel.attributes.update(kernel.attributes)
    return b.kernel


def _partial(plan: Split) -> list[OpResult]:
    """What each part hands on."""
    return [value for op in plan.reductions for value in op.results]


def _place_of_part(rank: int) -> list[Expr]:
    """Subscripts of results of parts, the part first: what lies along columns stays contiguous."""
    return [dim(rank), *(dim(a) for a in range(rank))]
