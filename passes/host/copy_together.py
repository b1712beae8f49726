"""copy-together: results that are copied, of equal sizes, are copied by one kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from tilewright.dialects.index_expr import Expr, dim
from tilewright.dialects.ir_access import defined_functions
from tilewright.dialects.tk.access import LoadOp, StoreOp
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.dialects.types import sizes_of

from ..fusion.absorb_views import absorb_views
from ..memory.returned import Returned, returned_by
from ..rewrite import may_rewrite, skip
from .second_stores import is_copied, take_operands


@dataclass(frozen=True)
class CopyTogetherPass(ModulePass):
    """Copy what is returned with other strides, or repeated, in one launch for all of the same sizes.

    Before (the parts of a product of a library, of which each result is a tensor of its own):
        %q = tw.slice %m starts "0, 0" steps "1, 1" : tensor<8x6xf32> -> tensor<8x3xf32>
        %k = tw.slice %m starts "0, 3" steps "1, 1" : tensor<8x6xf32> -> tensor<8x3xf32>
        func.return %q, %k
    After:
        %q, %k = tk.kernel [8, 3] ins(%m : tensor<8x6xf32>) -> (tensor<8x3xf32>, tensor<8x3xf32>) {
          %0 = tk.load %a[d0, d1]
          tk.store %0, %o[d0, d1]
          %1 = tk.load %a[d0, d1 + 3]
          tk.store %1, %p[d0, d1]
        }
        func.return %q, %k

    `bufferize` would copy each by a launch of its own. What it copies alone is left to it, and so is what a
    kernel stores as a whole: that goes where it is returned from.
    """

    name = "copy-together"

    most: int = 16
    """Tensors of one launch."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in defined_functions(op):
            _copy_together(function, self.most)


def _copy_together(function: FuncOp, most: int) -> None:
    groups: dict[tuple[Expr, ...], list[Returned]] = {}
    for results in returned_by(function).values():
        for result in results:
            if is_copied(result):
                groups.setdefault(sizes_of(result.value), []).append(result)
    order = {op: number for number, op in enumerate(function.body.block.ops)}
    for group in groups.values():
        for first in range(0, len(group), most):
            _copy(function, group[first : first + most], order)


def _copy(function: FuncOp, results: Sequence[Returned], order: dict[Operation, int]) -> None:
    ret = function.body.block.last_op
    assert isinstance(ret, ReturnOp)
    values = list(dict.fromkeys(result.value for result in results))
    if len(values) < 2:
        return skip(ret, "a result is copied alone: no other of its sizes is")
    if not may_rewrite(ret, "copies results together"):
        return None
    kernel = _kernel(values)
    made = [op for value in values if isinstance(op := value.owner, Operation)]
    block: Block = function.body.block
    if made:
        block.insert_op_after(kernel, max(made, key=order.__getitem__))
    else:
        assert block.first_op is not None
        block.insert_op_before(kernel, block.first_op)
    copies = dict(zip(values, kernel.results, strict=True))
    chosen = {result.position: copies[result.value] for result in results}
    absorb_views(kernel)
    take_operands(ret, [chosen.get(i, value) for i, value in enumerate(ret.operands)])
    return None


def _kernel(values: Sequence[SSAValue]) -> KernelOp:
    sizes = sizes_of(values[0])
    kernel = KernelOp.make(sizes, values, [value.type for value in values])
    kernel.location = next(
        (v.owner.location for v in values if isinstance(v.owner, Operation)), kernel.location
    )
    here = [dim(axis) for axis in range(len(sizes))]
    for source, destination in zip(kernel.sources, kernel.destinations, strict=True):
        load = LoadOp.make(source, here)
        kernel.body.block.add_ops([load, StoreOp.make(load.result, destination, here)])
    for op in kernel.body.block.ops:
        op.location = kernel.location
    return kernel
