"""The `dce` pass."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Region
from xdsl.passes import ModulePass

from ..rewrite import is_removable, may_rewrite


@dataclass(frozen=True)
class DcePass(ModulePass):
    """Remove every op whose results nobody needs and which has no effect.

    Before:
        %a = tw.exp %x : tensor<8xf32>
        %b = tw.neg %a : tensor<8xf32>
        func.return %x : tensor<8xf32>
    After:
        func.return %x : tensor<8xf32>

    One backward walk, so chains of dead ops go at once. Draws from a random generator,
    mutating ATen calls and writes stay.
    """

    name = "dce"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for region in op.regions:
            _clean_region(region)


def _clean_region(region: Region) -> None:
    for block in reversed(region.blocks):
        _clean_block(block)


def _clean_block(block: Block) -> None:
    op = block.last_op
    while op is not None:
        before = op.prev_op
        unused = all(result.first_use is None for result in op.results)
        if unused and is_removable(op) and may_rewrite(op, "removed"):
            block.erase_op(op)
        else:
            for region in op.regions:
                _clean_region(region)
        op = before
