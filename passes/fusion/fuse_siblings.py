"""fuse-siblings: kernels that read the same tensor read it once."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from tilewright.dialects.tk.kernels import KernelOp
from tilewright.dialects.types import sizes_of

from ..rewrite import may_rewrite, skip
from .body import exprs_of, loads_of, simplify_body
from .cost import count
from .merge import Match, complete_match, merge, users_to_sink


@dataclass(frozen=True)
class FuseSiblingsPass(ModulePass):
    """Merge kernels over equal iteration spaces that load one large tensor at equal subscripts.

    Before:
        %a = tk.kernel [64, 8] ins(%x : tensor<64x8xf32>) -> (tensor<8xf32>) {... tk.reduce add ... over [0]}
        %b = tk.kernel [64, 8] ins(%x : tensor<64x8xf32>) -> (tensor<8xf32>) {... tk.reduce max ... over [0]}
    After:
        %a, %b = tk.kernel [64, 8] ins(%x : tensor<64x8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {...}

    Neither reads the other's result (that is what `fuse` handles). A tensor that is small
    against the iteration space is cheap to read twice and is no reason to merge.
    """

    name = "fuse-siblings"

    max_ops: int = 256

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.ops:
            if isinstance(function, FuncOp) and not function.is_declaration:
                _fuse_block(function.body.block, self.max_ops)


def _fuse_block(block: Block, max_ops: int) -> None:
    op = block.first_op
    while op is not None:
        if isinstance(op, KernelOp):
            op = _absorb_earlier(op, max_ops)
        op = op.next_op


def _absorb_earlier(kernel: KernelOp, max_ops: int) -> KernelOp:
    """Merge every earlier sibling into `kernel`; returns the kernel that stands there then."""
    order: dict[Operation, int] = {op: i for i, op in enumerate(_earlier(kernel))}
    for value in list(kernel.operands):
        siblings = {u.operation for u in value.uses if u.operation in order}
        for sibling in sorted(siblings, key=lambda op: order[op]):
            if not isinstance(sibling, KernelOp) or sibling.parent is None:
                continue
            if (found := _sibling_match(value, sibling, kernel, max_ops)) is None:
                continue
            sunk = users_to_sink(sibling, kernel)
            if isinstance(sunk, str):
                skip(kernel, f"not fused with a sibling kernel: {sunk}")
                continue
            if not may_rewrite(kernel, "fused with a sibling kernel"):
                return kernel
            kernel = merge(sibling, kernel, found, sunk)
            simplify_body(kernel)
    return kernel


def _earlier(kernel: KernelOp) -> list[KernelOp]:
    """Kernels before this one that share an operand with it, in order of appearance."""
    readers = {u.operation for v in kernel.operands for u in v.uses if isinstance(u.operation, KernelOp)}
    found: list[KernelOp] = []
    op = kernel.prev_op
    while op is not None and len(found) < len(readers) - 1:
        if op in readers and isinstance(op, KernelOp):
            found.append(op)
        op = op.prev_op
    return list(reversed(found))


def _sibling_match(value: SSAValue, first: KernelOp, second: KernelOp, max_ops: int) -> Match | None:
    """The common space, None where the two do not walk `value` in the same way."""
    if first.space != second.space or any(v.owner is first for v in second.operands):
        return None
    if 2 * count(sizes_of(value)) < count(first.space):
        return None
    if _subscripts(value, first).isdisjoint(_subscripts(value, second)):
        return None
    if len(first.body.block.ops) + len(second.body.block.ops) > max_ops:
        skip(second, f"not fused with a sibling kernel: more than {max_ops} ops")
        return None
    found = complete_match(first, second, {i: i for i in range(len(first.space))})
    if isinstance(found, str):
        skip(second, f"not fused with a sibling kernel: {found}")
        return None
    return found


def _subscripts(value: SSAValue, kernel: KernelOp) -> set[tuple[object, ...]]:
    source = kernel.sources[list(kernel.operands).index(value)]
    return {exprs_of(load) for load in loads_of(source) if not load.dynamic}
