"""In which order a kernel addresses all of a tensor."""

from __future__ import annotations

from xdsl.ir import BlockArgument, SSAValue

from tilewright.dialects.index_expr import ONE, ZERO, Var, dim, product
from tilewright.dialects.index_expr.shapes import linearize, row_major_strides
from tilewright.dialects.tk.access import LoadOp, StoreOp
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.dialects.types import sizes_of


def dense_order(kernel: KernelOp, access: LoadOp | StoreOp) -> tuple[int, ...] | None:
    """The axes along which all of a tensor is addressed once, slowest first, without those of one element."""
    if access.dynamic or access.mask is not None:
        return None
    tensor = accessed(kernel, access)
    ones = {Var("d", axis): ZERO for axis, size in enumerate(kernel.space) if size == ONE}
    flat = linearize(access.map.exprs, row_major_strides(sizes_of(tensor))).substitute(ones)
    steps: dict[int, int] = {}
    for var in flat.variables():
        step = flat.coefficient(var)
        if var.kind != "d" or step is None or step.constant is None:
            return None
        steps[var.index] = step.constant
    order = tuple(sorted(steps, key=lambda axis: -steps[axis]))
    sizes = [kernel.space[axis] for axis in order]
    whole = linearize([dim(axis) for axis in order], row_major_strides(sizes))
    return order if flat == whole and product(sizes) == product(sizes_of(tensor)) else None


def accessed(kernel: KernelOp, access: LoadOp | StoreOp) -> SSAValue:
    """What is outside of the kernel the tensor that is accessed."""
    assert isinstance(access.buffer, BlockArgument)
    return (*kernel.operands, *kernel.results)[access.buffer.index]
