"""pack-weights: matrix products with a frozen right operand read it in packed panels."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from tilewright.dialects.tw.linalg import MatmulOp
from tilewright.dialects.tw.packing import PackedMatmulOp, PackOp
from tilewright.dialects.types import element_type_of, sizes_of

from ..rewrite import skip
from .frozen import frozen_values

VECTORS = (3, 4, 2, 1)
"""Vectors in the width of a panel, best first: 3 by 8 rows fill 24 of AVX-512's 32 registers."""


@dataclass(frozen=True)
class PackWeightsPass(ModulePass):
    """Rewrite `tw.matmul` by a frozen matrix into `tw.pack` and `tw.packed_matmul`.

    Before:
        %r = tw.matmul %x, %w : (tensor<8x64xf32>, tensor<64x96xf32>) -> tensor<8x96xf32>
    After:
        %p = tw.pack %w width 48 : tensor<64x96xf32> -> tensor<2x64x48xf32>
        %r = tw.packed_matmul %x, %p : (tensor<8x64xf32>, tensor<2x64x48xf32>) -> tensor<8x96xf32>

    `hoist-frozen` then moves the packing out of the call. Only f32, where our register
    tiles beat the library, and only where a whole number of vectors makes a row.
    """

    name = "pack-weights"

    vector_bits: int = 512

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.ops:
            if isinstance(function, FuncOp):
                frozen = frozen_values(function)
                for inner in list(function.body.block.ops):
                    if isinstance(inner, MatmulOp) and inner.rhs in frozen:
                        _pack(inner, self.vector_bits // 32)


def _pack(op: MatmulOp, lanes: int) -> None:
    if element_type_of(op.lhs) != f32 or len(sizes_of(op.lhs)) != 2:
        return skip(op, "not packed: only products of f32 matrices have register tiles")
    columns = sizes_of(op.rhs)[1].constant
    if columns is None or columns % lanes or not columns:
        return skip(op, f"not packed: {columns} columns are no whole number of {lanes}-lane vectors")
    width = lanes * next(v for v in VECTORS if columns % (v * lanes) == 0)
    pack = PackOp(op.rhs, width)
    product = PackedMatmulOp(op.lhs, pack.result, op.bias)
    block = op.parent_block()
    assert block is not None
    for new in (pack, product):
        new.location = op.location
        block.insert_op_before(new, op)
    product.attributes = dict(op.attributes)
    product.result.name_hint = op.result.name_hint
    op.result.replace_all_uses_with(product.result)
    block.erase_op(op)
    return None
