"""join-pieces: a sum of tensors that are zero elsewhere is a concatenation."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from tilewright.dialects.tw.creation import FullOp
from tilewright.dialects.tw.elementwise_binary import AddOp
from tilewright.dialects.tw.view import ConcatOp, ReshapeOp
from tilewright.dialects.types import element_type_of, is_float, sizes_of

from ..driver import Rewrite, apply_rules
from ..rewrite import skip
from .pieces import Piece, added, pieces_of
from .zero_signs import reads_signs_of_zeros


@dataclass(frozen=True)
class JoinPiecesPass(ModulePass):
    """Join what is added to zeros only, as gradients of slices and of selected rows are.

    Before:
        %a = tw.concat %q, %zeros dim 1 : (tensor<8x64xf32>, tensor<8x128xf32>) -> tensor<8x192xf32>
        %b = tw.pad %k low "0, 64" high "0, 64" value 0.0 : tensor<8x64xf32> -> tensor<8x192xf32>
        %c = tw.concat %zeros, %v dim 1 : (tensor<8x128xf32>, tensor<8x64xf32>) -> tensor<8x192xf32>
        %d = tw.add %a, %b : tensor<8x192xf32>
        %r = tw.add %d, %c : tensor<8x192xf32>
    After:
        %r = tw.concat %q, %k, %v dim 1 : (...) -> tensor<8x192xf32>

    A program that takes queries, keys and values out of one product by `qkv[..., :n]`, or as `qkv[0]`, gets
    the gradient that `chunk` and `unbind` have. What is selected by its position, with zeros elsewhere, is a
    piece of one element. Pieces at one place are added. `-0.0 + 0.0` is 0.0, which the pieces are not: a sum
    is left alone where somebody might see that (`reads_signs_of_zeros`); products and sums do not.
    """

    name = "join-pieces"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_rules(op, {AddOp: (_join,)}, self.name)


def _join(op: Operation, rw: Rewrite) -> SSAValue | None:
    assert isinstance(op, AddOp)
    lhs, rhs = pieces_of(op.lhs), pieces_of(op.rhs)
    if lhs is None or rhs is None or all(piece.values for piece in (*lhs[1], *rhs[1])):
        return None
    if lhs[0] != rhs[0]:
        return skip(op, "its pieces lie along different dimensions")
    pieces = added(lhs[1], rhs[1])
    if pieces is None:
        return skip(op, "its pieces overlap, or may do so")
    reader = reads_signs_of_zeros(op.result) if is_float(element_type_of(op.result)) else None
    if reader is not None:
        return skip(op, f"`{reader.name}` may see the signs of zeros")
    return rw.value(ConcatOp([_piece(op, piece, lhs[0], rw) for piece in pieces], lhs[0]))


def _piece(op: AddOp, piece: Piece, dim: int, rw: Rewrite) -> SSAValue:
    sizes = [piece.size if d == dim else size for d, size in enumerate(sizes_of(op.result))]
    if not piece.values:
        return rw.value(FullOp(0, element_type_of(op.result), sizes))
    values = [v if len(sizes_of(v)) == len(sizes) else rw.value(ReshapeOp(v, sizes)) for v in piece.values]
    return reduce(lambda a, b: rw.value(AddOp(a, b)), values)
