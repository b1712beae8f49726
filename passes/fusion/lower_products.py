"""Matrix products -> `tk.kernel`: for targets that multiply tiles, where no library does it better."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.ir import Operation

from tilewright.dialects.tk.compute import ReduceOp
from tilewright.dialects.tk.contraction import FACTORS
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.dialects.tw.linalg import MatmulOp
from tilewright.dialects.types import element_type_of, is_float, is_half, sizes_of

from .kernel_builder import KernelBuilder

CHOICES = ("none", "half", "all")
"""Which matrix products become kernels: of no type, of bf16 and f16, of f32 too."""


def becomes_kernel(op: Operation, choice: str) -> bool:
    """Whether `op` is a product that a kernel of ours is to do."""
    if not isinstance(op, MatmulOp) or choice == "none":
        return False
    element = element_type_of(op.lhs)
    return is_half(element) or (choice == "all" and is_float(element) and str(element) == "f32")


def lower_matmul(op: Operation) -> KernelOp:
    """Axes: batches, row, column, the sum's."""
    assert isinstance(op, MatmulOp)
    *batches, m, k = sizes_of(op.lhs)
    n = sizes_of(op.rhs)[-1]
    b = KernelBuilder(op.location, (*batches, m, n, k), op.operands, op.result_types)
    *batch, row, column, step = b.axes
    term = b.op(arith.MulfOp, b.load(0, (*batch, row, step)), b.load(1, (*batch, step, column)))
    reduce = ReduceOp.make("add", term, (len(batches) + 2,))
    if is_half(element := element_type_of(op.lhs)):
        reduce.attributes[FACTORS] = element
    total = b.add(reduce).results[0]
    if op.bias is not None:
        total = b.op(arith.AddfOp, total, b.load(2, (column,)))
    b.store(total, (*batch, row, column))
    return b.kernel
