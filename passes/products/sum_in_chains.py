"""The `sum-in-chains` pass."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, OpResult
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.dialects.index_expr import Var, dim
from tilewright.dialects.tk.access import LoadOp
from tilewright.dialects.tk.domain import reduced_axes
from tilewright.dialects.tk.kernels import KernelOp

from ..fusion.join import Frame, join
from ..fusion.merge import put_behind, users_to_sink
from ..kernels.body import simplify_body
from ..kernels.chains import Chain, chains_of, find_chain
from ..rewrite import may_rewrite, skip, take_results


@dataclass(frozen=True)
class SumInChainsPass(ModulePass):
    """Sum rows in the chain of products that reads the sums, and what is summed.

    Before (the gradient of a query; %t is what its softmax subtracts):
        %t = tk.kernel [8, 5] ins(%g, %o) -> (tensor<8xf32>) {... tk.reduce add %2 over [1] ...}
        %gq = tk.kernel [8, 4, 9, 4, 5] ins(%q, %k, %v, %g, %l, %t) -> (tensor<8x4xf32>) {...}
        %gk = tk.kernel [9, 4, 8, 4, 5] ins(%q, %k, %v, %g, %l, %t) -> (tensor<9x4xf32>) {...}
    After:
        %t, %gq = tk.kernel [8, 4, 9, 4, 5] ins(%g, %o, %q, %k, %v, %l) -> (tensor<8xf32>, tensor<8x4xf32>) {
          ... tk.reduce add %2 over [4] ... tk.store %3, %a[d0] ...}
        %gk = tk.kernel [9, 4, 8, 4, 5] ins(%q, %k, %v, %g, %l, %t) -> (tensor<9x4xf32>) {...}

    A program of a chain holds whole rows of what it multiplies: a sum of such a row costs no memory, and one
    launch less. Others read what the chain stores. Left alone are sums of what the chain does not read, and
    chains that go along the rows themselves, which would need each sum again and again.
    """

    name = "sum-in-chains"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel, chain in chains_of(op):
            _take_sums(kernel, chain)


def _take_sums(kernel: KernelOp, chain: Chain) -> None:
    for value in list(kernel.operands):
        axis = _summed_axis(value.owner)
        if axis is None or not isinstance(value, OpResult):
            continue
        found = _joined(value, axis, kernel, chain)
        if isinstance(found, str):
            skip(kernel, f"rows are summed elsewhere: {found}", value)
        elif found is not None:
            kernel, chain = found


def _summed_axis(op: Operation | Block) -> int | None:
    """The one axis along which a kernel reduces, if that is all it does beside what is elementwise."""
    if not isinstance(op, KernelOp) or len(op.results) != 1:
        return None
    over = [axes for inner in op.body.block.ops if (axes := reduced_axes(inner))]
    return next(iter(over[0])) if len(over) == 1 and len(over[0]) == 1 else None


def _joined(
    value: OpResult, axis: int, kernel: KernelOp, chain: Chain
) -> tuple[KernelOp, Chain] | str | None:
    """Both kernels as one, put into place; or why not."""
    producer = value.op
    assert isinstance(producer, KernelOp)
    sunk = users_to_sink(producer, kernel)
    if isinstance(sunk, str):
        return sunk
    made = _made(value, axis, kernel, chain)
    if isinstance(made, str):
        return made
    if not may_rewrite(kernel, "sums rows that it reads"):
        made[0].erase()
        return None
    Rewriter.insert_op(made[0], InsertPoint.before(kernel))
    take_results(made[0], _kept(value, kernel))
    for op in (kernel, producer):
        Rewriter.erase_op(op)
    put_behind(sunk, made[0])
    return made


def _kept(value: OpResult, kernel: KernelOp) -> list[OpResult]:
    read = any(use.operation is not kernel for use in value.uses)
    return [*([value] if read else []), *kernel.results]


def _made(value: OpResult, axis: int, kernel: KernelOp, chain: Chain) -> tuple[KernelOp, Chain] | str:
    """The chain with the sum along one of the axes that its programs hold."""
    producer, why = value.op, "its programs hold no such rows"
    assert isinstance(producer, KernelOp)
    for held in chain.held:
        if kernel.space[held] != producer.space[axis]:
            continue
        frame = Frame(kernel)
        if (reason := frame.place_producer(value, kernel)) is not None:
            return reason
        frame.at[producer][Var("d", axis)] = dim(held)
        made = join((producer, kernel), _kept(value, kernel), frame)
        if isinstance(made, str):
            return made
        simplify_body(made)
        found = find_chain(made.body.block)
        if found is not None and _loads(made) < _loads(producer) + _loads(kernel) - 1:
            return made, found
        why = (
            "the chain goes along the rows"
            if found is None
            else "the chain reads nothing of what they are of"
        )
        made.erase()
    return why


def _loads(kernel: KernelOp) -> int:
    return sum(isinstance(op, LoadOp) for op in kernel.body.block.ops)
