"""write-slices: of an argument of which slices are assigned, only these are written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass

from tilewright.dialects.index_expr import ZERO
from tilewright.dialects.tw.aten import WriteOp
from tilewright.dialects.tw.elementwise_binary import SelectOp
from tilewright.dialects.tw.view import ConcatOp, ReshapeOp, SliceOp
from tilewright.dialects.types import sizes_of

from ..driver import Rewrite, Rules, apply_rules
from ..memory.stated import layout_of_argument
from ..memory.views import behind, view_layout
from ..rewrite import skip
from .assigned_slices import MOST, Assigned, assigned, selected

_JOINS = (ConcatOp, ReshapeOp, SelectOp)


@dataclass(frozen=True)
class WriteSlicesPass(ModulePass):
    """Write to the slice of an argument what is joined with the rest of it.

    Before:
        %r = tw.slice %x starts "2, 0" steps "1, 1" : tensor<9x4xf32> -> tensor<7x4xf32>
        %c = tw.concat %v, %r dim 0 : (tensor<2x4xf32>, tensor<7x4xf32>) -> tensor<9x4xf32>
        tw.write %c into %x : tensor<9x4xf32>
    After:
        %s = tw.slice %x starts "0, 0" steps "1, 1" : tensor<9x4xf32> -> tensor<2x4xf32>
        tw.write %v into %s : tensor<2x4xf32>

    What computes `%v` stores there, perhaps in place of what it reads. Left alone is what others read as a
    whole (`scatter-slices` stores the new elements before they do), and what has more than four parts.
    """

    name = "write-slices"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_rules(op, _RULES, self.name)


def _write_parts(op: Operation, rw: Rewrite) -> Sequence[SSAValue] | None:
    assert isinstance(op, WriteOp)
    if not isinstance(op.target, BlockArgument) or not isinstance(op.value.owner, _JOINS):
        return None
    if _is_read(op.value):
        return skip(op, "what is written is read as a whole, too")
    if (found := _parts(op, rw)) is None:
        return skip(op, "not a few slices of it are assigned")
    whole, parts = found
    for part in parts:
        sizes = sizes_of(part.value)
        starts = [part.starts.get(d, ZERO) for d in range(len(sizes))]
        rw.insert(WriteOp(part.value, rw.value(SliceOp(whole, starts, sizes))))
    return ()


def _is_read(value: SSAValue) -> bool:
    """By more than the one write."""
    inner = value.owner
    if isinstance(inner, ReshapeOp) and _is_read(inner.source):
        return True
    return len(list(value.uses)) > 1


def _parts(op: WriteOp, rw: Rewrite) -> tuple[SSAValue, Sequence[Assigned]] | None:
    """What is assigned, and to what: the argument, or a reshape of it that is a view."""
    x, value = op.target, op.value.owner
    if isinstance(value, SelectOp):
        one = selected(value, x, rw)
        return None if one is None else (x, [one])
    if isinstance(value, ReshapeOp) and isinstance(value.source.owner, ConcatOp):
        shown = _reshaped(value.source.owner, x)
        if shown is None:
            return None
        x, value = shown, value.source.owner
    if not isinstance(value, ConcatOp):
        return None
    found = assigned(value, x, {})
    parts = _pieces(value) if found is None else found.parts
    return (x, parts) if 0 < len(parts) <= MOST else None


def _pieces(whole: ConcatOp) -> list[Assigned]:
    """All that is joined, if all of it is computed: halves of a row, say, each of both of them before."""
    if any(isinstance(behind(piece)[0], BlockArgument) for piece in whole.inputs):
        return []
    dim, pieces = whole.dim.value.data, zip(whole.inputs, whole.starts, strict=True)
    return [Assigned(piece, {dim: start}) for piece, start in pieces]


def _reshaped(whole: ConcatOp, x: SSAValue) -> SSAValue | None:
    """The view of `x`, in the shape of `whole`, of which pieces stand there: of every other row, say."""
    for piece in whole.inputs:
        source = piece.owner.source if isinstance(piece.owner, SliceOp) else None
        view = None if source is None else source.owner
        if isinstance(view, ReshapeOp) and view.source is x and view.result.type == whole.result.type:
            assert isinstance(x, BlockArgument)
            return view.result if view_layout(view, layout_of_argument(x)) is not None else None
    return None


_RULES: Rules = {WriteOp: (_write_parts,)}
