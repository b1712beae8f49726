"""fuse-siblings: kernels that read the same tensor read it once."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, SSAValue
from xdsl.passes import ModulePass

from tilewright.dialects.ir_access import defined_functions, operands_of
from tilewright.dialects.tk.domain import Reduction
from tilewright.dialects.tk.kernels import KernelOp

from ..rewrite import may_rewrite, remarks_wanted, skip
from .contents import Bodies
from .match import Match, complete_match
from .merge import merge, users_to_sink
from .read_together import read_together
from .sibling_scatters import scatter_together, scattered_match
from .sizes import KernelSizes
from .stored_turned import stores_turned
from .walked_alike import may_walk_alike, walk_alike


@dataclass(frozen=True)
class FuseSiblingsPass(ModulePass):
    """Merge kernels over equal iteration spaces that load one large tensor at the same places.

    Before:
        %a = tk.kernel [64, 8] ins(%x : tensor<64x8xf32>) -> (tensor<8xf32>) {... tk.reduce add ... over [0]}
        %b = tk.kernel [64, 8] ins(%x : tensor<64x8xf32>) -> (tensor<8xf32>) {... tk.reduce max ... over [0]}
    After:
        %a, %b = tk.kernel [64, 8] ins(%x : tensor<64x8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {...}

    Neither reads the other's result (that is what `fuse` handles). A tensor that is small against the
    iteration space is cheap to read twice, unless each point gathers its own element, and is no reason to
    merge. Nor is one that a kernel sums and the other one stores with its dimensions exchanged: tiles that
    turn have no room for sums. With `scans`, for targets that hold rows, what scans rows is merged with
    others, too. One of two kernels may walk its space as the other one does: that of 65536 elements in 1024
    parts of 64, where it only computes elements, or columns before rows. With `scatters`, for targets that
    combine in memory, one kernel walks a list for several that scatter it.
    """

    name = "fuse-siblings"

    max_ops: int = 256
    reach: int = 64
    """How many ops apart siblings may stand: what is read again much later has left the cache, and
    the results of the first would have to wait for the second."""
    scans: bool = False
    scatters: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in defined_functions(op):
            sizes = KernelSizes(self.max_ops, Bodies(scans_join=self.scans, scatters_join=self.scatters))
            _fuse_block(function.body.block, sizes, self.reach)


def _fuse_block(block: Block, sizes: KernelSizes, reach: int) -> None:
    op = block.first_op
    while op is not None:
        if isinstance(op, KernelOp):
            op = _absorb_earlier(op, sizes, reach)
        op = op.next_op
    sizes.tidy_all()


def _absorb_earlier(kernel: KernelOp, sizes: KernelSizes, reach: int) -> KernelOp:
    """Merge every earlier sibling into `kernel`; returns the kernel that stands there then."""
    earlier = [sibling for sibling in _earlier(kernel, reach) if _may_match(sibling, kernel, sizes)]
    for value in list(kernel.operands):
        for sibling in earlier:
            if sibling.parent is None or value not in sibling.operands:
                continue
            restore = walk_alike(value, sibling, kernel, sizes.bodies)
            if (found := _sibling_match(value, sibling, kernel, sizes)) is None:
                restore()
                continue
            sunk = users_to_sink(sibling, kernel)
            if isinstance(sunk, str):
                skip(kernel, f"not fused with a sibling kernel: {sunk}", value)
                restore()
                continue
            if not may_rewrite(kernel, "fused with a sibling kernel"):
                return kernel
            merged = merge(sibling, kernel, sizes.bodies, found, sunk)
            sizes.replaced(sibling, kernel, merged)
            kernel = merged
    return kernel


def _earlier(kernel: KernelOp, reach: int) -> list[KernelOp]:
    """Kernels within reach before this one that share an operand with it, in order of appearance."""
    shared = set(map(id, operands_of(kernel)))
    found: list[KernelOp] = []
    op = kernel.prev_op
    for _ in range(reach):
        if op is None:
            break
        if type(op) is KernelOp and not shared.isdisjoint(map(id, operands_of(op))):
            found.append(op)
        op = op.prev_op
    return found[::-1]


def _may_match(first: KernelOp, second: KernelOp, sizes: KernelSizes) -> bool:
    """The cheapest questions, which do not depend on the value; only the last of all gives its reason.

    Kernels that are full stay within reach of many others: nothing else is asked about them.
    """
    return may_walk_alike(first, second) and (remarks_wanted() or not sizes.exceeded_by(first, second))


def _sibling_match(value: SSAValue, first: KernelOp, second: KernelOp, sizes: KernelSizes) -> Match | None:
    """The common space, None where the two do not walk `value` in the same way."""
    if first.space != second.space:
        return None
    listed = scatter_together(value, first, second, sizes.bodies)
    if not listed and not read_together(value, first, second):
        return None
    if any(v.owner is first for v in second.operands):
        return None
    if sizes.exceeded_by(first, second):
        skip(second, f"not fused with a sibling kernel: more than {sizes.max_ops} ops", value)
        return None
    if (_sums(first) and stores_turned(second, value)) or (_sums(second) and stores_turned(first, value)):
        skip(second, "not fused with a sibling kernel: one sums what the other one stores turned", value)
        return None
    same = {i: i for i in range(len(first.space))}
    if listed:
        found = scattered_match(first, second, sizes.bodies, same)
    else:
        found = complete_match(first, second, sizes.bodies, same)
    if isinstance(found, str):
        skip(second, f"not fused with a sibling kernel: {found}", value)
        return None
    return found


def _sums(kernel: KernelOp) -> bool:
    return any(isinstance(op, Reduction) for op in kernel.body.block.ops)
