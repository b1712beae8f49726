"""copy-where-read: what is copied to be returned is stored by a kernel that reads it anyway."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from tilewright.dialects.index_expr import ONE
from tilewright.dialects.ir_access import defined_functions
from tilewright.dialects.tk.access import LoadOp
from tilewright.dialects.tk.kernels import KernelOp

from ..kernels.body import combined_axes, loads_of
from ..kernels.dense_order import dense_order
from ..memory.returned import Returned, returned_by
from ..memory.views import keeps_elements
from ..rewrite import may_rewrite, skip
from ..schedule.collisions import scatters
from .second_stores import is_copied, stored_where_loaded, take_operands, viewed


@dataclass(frozen=True)
class CopyWhereReadPass(ModulePass):
    """Let a kernel that reads a tensor store the copy of it that is returned, as its transpose lies, say.

    Before:
        %y = tk.kernel [8, 6] ins(%x : tensor<8x6xf32>) -> (tensor<8x6xf32>) {... tk.load %a[d0, d1] ...}
        %t = tw.transpose %x by [1, 0] : tensor<8x6xf32> -> tensor<6x8xf32>
        func.return %y, %t    // both row-major
    After:
        %y, %c = tk.kernel [8, 6] ins(%x : tensor<8x6xf32>) -> (tensor<8x6xf32>, tensor<8x6xf32>)
            {%0 = tk.load %a[d0, d1] ... tk.store %0, %p[d0, d1] ...}
        %t = tw.transpose %c by [1, 0] : tensor<8x6xf32> -> tensor<6x8xf32>
        func.return %y, %t    // %c is laid out for it

    `bufferize` would read it again. For targets whose tiles store rows and columns alike. Left alone is what
    a kernel stores (`duplicate-results`), what is copied in part or repeated, and what is read by kernels
    alone that reduce, scatter (to where it is, perhaps), or read an element several times or not at all.
    """

    name = "copy-where-read"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in defined_functions(op):
            for root, results in returned_by(function).items():
                groups: dict[tuple[SSAValue, int | None], list[Returned]] = {}
                for result in results:
                    if not isinstance(root.owner, KernelOp) and is_copied(result):
                        groups.setdefault((result.value, result.memory), []).append(result)
                for group in groups.values():
                    _copy(function, group)


def _copy(function: FuncOp, results: list[Returned]) -> None:
    """`results`: one value, returned so often as one memory."""
    ret, first = function.body.block.last_op, results[0]
    assert isinstance(ret, ReturnOp)
    if not all(map(keeps_elements, first.views)):
        return skip(ret, "a result is copied alone: it is part of a tensor, or repeats some", first.root)
    load = _load_of(first.root, function)
    if load is None:
        return skip(ret, "a result is copied alone: no kernel has each of its elements once", first.root)
    if not may_rewrite(ret, "a result is copied where it is read"):
        return None
    kernel = load.parent_op()
    assert isinstance(kernel, KernelOp)
    copy = viewed(stored_where_loaded(kernel, load), first.views, ret)
    taken = {result.position for result in results}
    take_operands(ret, [copy if i in taken else value for i, value in enumerate(ret.operands)])
    return None


def _load_of(root: SSAValue, function: FuncOp) -> LoadOp | None:
    """Of a kernel that neither reduces nor scatters, what loads an element of `root` for each point."""
    for kernel in function.body.block.ops:
        if not isinstance(kernel, KernelOp) or root not in kernel.operands:
            continue
        if any(combined_axes(op) or scatters(op) for op in kernel.body.block.ops):
            continue
        axes = {axis for axis, size in enumerate(kernel.space) if size != ONE}
        for load in loads_of(kernel.sources[list(kernel.operands).index(root)]):
            if (order := dense_order(kernel, load)) is not None and {*order} == axes:
                return load
    return None
