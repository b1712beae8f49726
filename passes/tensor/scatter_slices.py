"""scatter-slices: an argument of which a slice is assigned is written to there alone."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, i64
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass

from tilewright.dialects.index_expr import ZERO
from tilewright.dialects.tw.aten import WriteOp
from tilewright.dialects.tw.creation import IotaOp
from tilewright.dialects.tw.elementwise_binary import SelectOp
from tilewright.dialects.tw.indexing import ScatterOp
from tilewright.dialects.tw.view import BroadcastOp, ConcatOp, SliceOp
from tilewright.dialects.types import sizes_of

from ..driver import Rewrite, Rules, apply_rules
from .assigned_slices import MOST, Assigned, assigned, selected


@dataclass(frozen=True)
class ScatterSlicesPass(ModulePass):
    """Scatter into an argument what is joined with the rest of it and written back.

    Before:
        %r = tw.slice %x starts "2, 0" steps "1, 1" : tensor<9x4xf32> -> tensor<7x4xf32>
        %c = tw.concat %v, %r dim 0 : (tensor<2x4xf32>, tensor<7x4xf32>) -> tensor<9x4xf32>
        tw.write %c into %x : tensor<9x4xf32>
    After:
        %i = tw.iota dim 0 start "0" step "1" -> tensor<2xi64>
        %c = tw.scatter %v into %x[%i] dims [0] at 0 strict : ... -> tensor<9x4xf32>
        tw.write %c into %x : tensor<9x4xf32>

    A scatter into an argument stores the new elements only (`drop-self-copies`): of a cache of keys, those of
    the new tokens. Slices of slices are one scatter; up to four slices are one each.
    """

    name = "scatter-slices"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_rules(op, _RULES, self.name)


def _scatter_joined(op: Operation, rw: Rewrite) -> SSAValue | None:
    """Of a concatenation with what stands before and behind."""
    assert isinstance(op, ConcatOp)
    x = _written_to(op.result)
    found = None if x is None else assigned(op, x, {})
    if x is None or found is None or len(found.parts) > MOST:
        return None
    result = x
    for part in found.parts:
        result = _scatter(part, result, rw)
    for whole in found.wholes:
        _read_there(whole, op, result, rw)
    return result


def _scatter_selected(op: Operation, rw: Rewrite) -> SSAValue | None:
    """Of a select where the position along one dimension is a certain one."""
    assert isinstance(op, SelectOp)
    x = _written_to(op.result)
    found = None if x is None else selected(op, x, rw)
    return None if x is None or found is None else _scatter(found, x, rw)


def _written_to(value: SSAValue) -> SSAValue | None:
    """The one argument that `value` is written to."""
    targets = [use.operation.target for use in value.uses if isinstance(use.operation, WriteOp)]
    return targets[0] if len(targets) == 1 and isinstance(targets[0], BlockArgument) else None


def _scatter(found: Assigned, x: SSAValue, rw: Rewrite) -> SSAValue:
    dims = range(min(found.starts), max(found.starts) + 1)
    sizes = [sizes_of(found.value)[d] for d in dims]
    indices: list[SSAValue] = []
    for number, d in enumerate(dims):
        positions = rw.value(IotaOp(i64, (sizes[number],), 0, found.starts.get(d, ZERO)))
        if len(sizes) > 1:
            positions = rw.value(BroadcastOp(positions, sizes, [number]))
        indices.append(positions)
    return rw.value(ScatterOp(x, indices, found.value, list(dims), dims[0], strict=True))


def _read_there(part: Assigned, op: ConcatOp, result: SSAValue, rw: Rewrite) -> None:
    """Let what comes after `op` and reads a part read it of the whole."""
    uses = [use for use in part.value.uses if op.is_before_in_block(use.operation)]
    if uses:
        sizes = sizes_of(part.value)
        starts = [part.starts.get(d, ZERO) for d in range(len(sizes))]
        piece = rw.value(SliceOp(result, starts, sizes))
        for use in uses:
            use.operation.operands[use.index] = piece


_RULES: Rules = {ConcatOp: (_scatter_joined,), SelectOp: (_scatter_selected,)}
