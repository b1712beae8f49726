"""Matrix products -> `tk.kernel`: for targets that multiply tiles, where no library does it better."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from xdsl.dialects import arith
from xdsl.dialects.builtin import f16, f32, f64, i8
from xdsl.ir import Attribute, Operation, SSAValue

from tilewright.dialects.index_expr import ONE, ZERO
from tilewright.dialects.tk.compute import ReduceOp
from tilewright.dialects.tk.contraction import FACTORS
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.dialects.tw.elementwise_binary import CastOp
from tilewright.dialects.tw.float8 import DecodeFloat8Op
from tilewright.dialects.tw.linalg import MatmulOp
from tilewright.dialects.tw.view import BroadcastOp, ReshapeOp, ReverseOp, SliceOp, TransposeOp
from tilewright.dialects.types import compute_type, element_type_of, is_half, sizes_of

from ..kernels.kernel_builder import KernelBuilder

Products = Literal["none", "vectors", "half", "all"]
"""Which matrix products become kernels: none; those of a matrix and a vector, of f32 and f64; also those of
bf16 and f16 and what is narrower; of f32 too."""
LARGEST_MATRIX = 1 << 20
"""Elements of a matrix that is multiplied by a vector: libraries read larger ones in a better order."""
VIEWS = (BroadcastOp, ReshapeOp, ReverseOp, SliceOp, TransposeOp)


def products_of(ops: Iterable[Operation], choice: Products) -> dict[Operation, Attribute]:
    """The products that kernels of ours are to do, each with the type that its factors have.

    That is a half also where both factors were widened, as in `q.float() @ k.float().T`: such products are
    exact, and sums are in f32 anyway. So are those of 8-bit floats, which halves hold.
    """
    if choice == "none":
        return {}
    chosen: dict[Operation, Attribute] = {}
    for op in ops:
        if isinstance(op, MatmulOp):
            type_ = factors_of(op)
            vector = type_ in (f32, f64) and _is_vector(op)
            narrow = choice != "vectors" and _is_narrow(type_)
            if vector or narrow or (choice == "all" and type_ == f32):
                chosen[op] = type_
    return chosen


def _is_vector(op: MatmulOp) -> bool:
    """Whether a factor is one row or column: a library, too, reads each element of the other one once."""
    m, n, k = (size.constant for size in (*sizes_of(op.result)[-2:], sizes_of(op.lhs)[-1]))
    if m is None or n is None or k is None:
        return False
    return 1 in (m, n) and max(m, n) * k <= LARGEST_MATRIX


def _is_narrow(factors: Attribute) -> bool:
    return is_half(factors) or factors == i8


def factors_of(op: MatmulOp) -> Attribute:
    """The type that the factors of a product have in the program: a half also where both were widened."""
    element, (left, right) = element_type_of(op.lhs), map(_before_widening, (op.lhs, op.rhs))
    if element == i8:
        return i8 if op.widens else compute_type(element)
    return left if left == right and element == f32 else element


def _before_widening(value: SSAValue) -> Attribute:
    """The element type of `value`, or the half from which it was widened, or could be; under views or not."""
    owner = value.owner
    while isinstance(owner, VIEWS):
        owner = owner.source.owner
    if isinstance(owner, DecodeFloat8Op):
        return f16
    narrow = element_type_of(owner.operand) if isinstance(owner, CastOp) else None
    return narrow if narrow is not None and is_half(narrow) else element_type_of(value)


def lower_matmul(op: Operation, factors: Attribute) -> KernelOp:
    """Axes: batches, row, column, the sum's.

    One row or one column has no axis: such a product reads each element of a matrix once, as what else
    reduces rows does, and is taken for that.
    """
    assert isinstance(op, MatmulOp)
    *batches, m, k = sizes_of(op.lhs)
    n = sizes_of(op.rhs)[-1]
    narrow = _is_narrow(factors)
    sides = [size for size in (m, n) if size != ONE]
    b = KernelBuilder(op.location, (*batches, *sides, k), op.operands, op.result_types)
    batch, step, walked = b.axes[: len(batches)], b.axes[-1], iter(b.axes[len(batches) : -1])
    row, column = (next(walked) if size in sides else ZERO for size in (m, n))
    multiply, add = (arith.MuliOp, arith.AddiOp) if op.widens else (arith.MulfOp, arith.AddfOp)
    term = b.op(multiply, b.load(0, (*batch, row, step)), b.load(1, (*batch, step, column)))
    reduce = ReduceOp.make("add", term, (len(b.axes) - 1,))
    if narrow and len(sides) == 2:
        reduce.attributes[FACTORS] = factors
    total = b.add(reduce).results[0]
    if op.bias is not None:
        total = b.op(add, total, b.load(2, (column,)))
    b.store(total, (*batch, row, column))
    return b.kernel
