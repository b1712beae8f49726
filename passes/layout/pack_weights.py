"""pack-weights: matrix products with a frozen right operand read it in packed panels."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, bf16, f32
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from tilewright.dialects.ir_access import defined_functions
from tilewright.dialects.tw.base import STRIDES
from tilewright.dialects.tw.linalg import MatmulOp
from tilewright.dialects.tw.packing import PackedMatmulOp, PackOp
from tilewright.dialects.tw.view import SliceOp
from tilewright.dialects.types import element_type_of, is_half, numel_of, sizes_of

from ..rewrite import may_rewrite, skip
from .frozen import LARGEST, frozen_values
from .replacement import Replacement

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

    `hoist-frozen` then moves the packing out of the call. Halves stay halves in memory:

    - bf16, on a machine that multiplies pairs of it (`bf16-dot`), is packed in pairs:
        %p = tw.pack %w width 48 group 2 : tensor<64x96xbf16> -> tensor<2x32x48x2xbf16>
      after both operands got a row or column of zeros if k is odd;
    - otherwise the left operand is widened once, which its producer can do, and a register
      tile widens a vector of the right one for all its rows:
        %l = tw.cast %x : tensor<8x64xf16> -> tensor<8x64xf32>
        %t = tw.packed_matmul %l, %p : (tensor<8x64xf32>, tensor<2x64x48xf16>) -> tensor<8x96xf32>
        %r = tw.cast %t : tensor<8x96xf32> -> tensor<8x96xf16>

    A row that is no whole number of vectors gets columns of zeros, up to as many as it has, and
    the result is cut: `tw.pad` of the right operand and of the bias, `tw.slice` of the result.
    """

    name = "pack-weights"

    vector_bits: int = 512
    bf16_dot: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in defined_functions(op):
            frozen = frozen_values(function)
            for inner in list(function.body.block.ops):
                if isinstance(inner, MatmulOp) and inner.rhs in frozen:
                    if (width := _width(inner, self.vector_bits // 32)) is None:
                        continue
                    if may_rewrite(inner, "packed"):
                        _Rewrite(inner).by_packed(width, self.bf16_dot)


def _width(op: MatmulOp, lanes: int) -> int | None:
    """Columns in a panel; None, with a reason, where the product stays as it is."""
    element = element_type_of(op.lhs)
    if not (element == f32 or is_half(element)) or len(sizes_of(op.lhs)) != 2:
        return skip(op, "not packed: only products of f32 and half matrices have register tiles")
    columns = sizes_of(op.rhs)[1].constant
    if not columns or columns < lanes // 2 or (columns % lanes and STRIDES in op.attributes):
        return skip(op, f"not packed: {columns} columns are too few for {lanes}-lane vectors")
    if (numel_of(op.rhs) or 0) > LARGEST:
        return skip(op, f"not packed: {numel_of(op.rhs)} elements would be kept for ever")
    if columns % lanes == 0:  # nothing to cut off: what reads the result can be fused
        return lanes * next(v for v in VECTORS if columns % (v * lanes) == 0)
    return lanes * next(v for v in VECTORS if -columns % (v * lanes) <= max(columns // 64, -columns % lanes))


class _Rewrite(Replacement[MatmulOp]):
    """Puts a packed product in the place of a product."""

    def by_packed(self, width: int, bf16_dot: bool) -> None:
        op, element = self.op, element_type_of(self.op.lhs)
        lhs, rhs, bias, group = op.lhs, op.rhs, op.bias, None
        more = -(sizes_of(rhs)[1].constant or 0) % width
        if more:
            rhs = self.padded(rhs, [0, 0], [0, more])
            bias = self.padded(bias, [0], [more]) if bias is not None else None
        if element == bf16 and bf16_dot:
            group = 2
            if (sizes_of(rhs)[0] % 2).constant != 0:
                lhs, rhs = self.padded(lhs, [0, 0], [0, 1]), self.padded(rhs, [0, 0], [1, 0])
        elif is_half(element):
            lhs = self.cast(lhs, f32)
            bias = self.cast(bias, f32) if bias is not None else None
        packed = self.put(PackOp(rhs, width, group))
        result = self.put(PackedMatmulOp(lhs, packed, bias))
        result = self.cast(result, element)
        if more:
            result = self.put(SliceOp(result, [0, 0], sizes_of(op.result), [1, 1]))
        assert isinstance(result.owner, Operation)
        result.owner.attributes.update(op.attributes)
        self.finish(result)
