"""draw-together: one call of the generator draws every seed of a graph."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.dialects.ir_access import defined_functions
from tilewright.dialects.tw.base import is_pure
from tilewright.dialects.tw.creation import RngSeedOp
from tilewright.dialects.tw.view import ReshapeOp, SliceOp
from tilewright.dialects.types import sizes_of

from ..rewrite import carry_location, may_rewrite, skip


@dataclass(frozen=True)
class DrawTogetherPass(ModulePass):
    """Draw all seeds at once, where each call is a launch.

    Before:
        %a = tw.rng_seed : tensor<2xi64>
        ...
        %b = tw.rng_seed : tensor<i64>
    After:
        %s = tw.rng_seed : tensor<3xi64>
        %a = tw.slice %s starts "0" steps "1" : tensor<3xi64> -> tensor<2xi64>
        ...
        %c = tw.slice %s starts "2" steps "1" : tensor<3xi64> -> tensor<1xi64>
        %b = tw.reshape %c : tensor<1xi64> -> tensor<i64>

    The generator gives the same numbers in the same order. Seeds between which something else has an effect,
    which may be to draw numbers as well, are drawn apart.
    """

    name = "draw-together"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in defined_functions(op):
            for seeds in _runs(function.body.block):
                _merge(seeds)


def _runs(block: Block) -> Iterable[Sequence[RngSeedOp]]:
    """Seeds between which nothing else has an effect, two at least."""
    found: list[RngSeedOp] = []
    for op in list(block.ops):
        if isinstance(op, RngSeedOp):
            found.append(op)
        elif found and op is not block.last_op and not is_pure(op):
            skip(op, "seeds before it are drawn apart from those behind it: it has effects")
            yield from [found] if len(found) > 1 else []
            found = []
    yield from [found] if len(found) > 1 else []


def _merge(seeds: Sequence[RngSeedOp]) -> None:
    first = seeds[0]
    if not may_rewrite(first, "drawn together with others"):
        return
    counts = [_count(op) for op in seeds]
    drawn = RngSeedOp(sum(counts))
    drawn.location = first.location
    Rewriter.insert_op(drawn, InsertPoint.before(first))
    start = 0
    for op, number in zip(seeds, counts, strict=True):
        parts: list[Operation] = [SliceOp(drawn.result, (start,), (number,))]
        if not sizes_of(op.result):
            parts.append(ReshapeOp(parts[0].results[0], ()))
        start += number
        carry_location(op, parts)
        Rewriter.insert_op(parts, InsertPoint.before(op))
        op.result.replace_all_uses_with(parts[-1].results[0])
        Rewriter.erase_op(op)


def _count(op: RngSeedOp) -> int:
    """How many numbers it draws."""
    sizes = sizes_of(op.result)
    number = sizes[0].constant if sizes else 1
    assert number is not None, "verified: so many numbers are drawn"
    return number
