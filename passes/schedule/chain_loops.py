"""The loop along chained products; those of its steps of which a mask hides nothing have one without it.

Of 512 keys, in blocks of 64, of which rows (128 from `d1` on) see none behind them:

    %1 = tk.for 3 = "0" to "min(512, d1)" step 64 iter(%a = %0 : ...) {...}        // without comparisons
    %2 = tk.for 3 = "min(512, d1)" to "min(512, d1 + 128)" step 64 iter(%b = %1 : ...) {...}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects import arith
from xdsl.ir import Region, SSAValue

from tilewright.dialects.index_expr import Expr

from ..fusion.body import erase_unread
from .body import Body
from .chain_reach import Condition, clear_steps, reach, split_at
from .chain_step import ChainStep
from .chains import find_chain
from .writer import Scope


def write_loops(
    step: ChainStep, scope: Scope, lefts: Sequence[SSAValue], starts: Sequence[SSAValue]
) -> Sequence[SSAValue]:
    """What the steps make of `starts`, with `lefts`; `scope` knows what is the same in each of them."""
    space = step.scores.space
    bounds = None if step.checks else reach(step.chain, step.blocks, space)
    clear = None if step.checks else clear_steps(step.chain, step.blocks, space)
    if bounds is None or clear is None:
        return _loop(step, scope, lefts, starts, bounds)
    new = dict[SSAValue, SSAValue]()
    if (cleared := _without(step, clear.conditions, new)) is None:
        return _loop(step, scope, lefts, starts, bounds)
    known = scope.knowing(_translated(scope.env, new))
    first, end = bounds
    middle = split_at(clear.at, bounds, space)
    pieces = [(first, middle), (middle, end)]
    carried = starts
    for piece, is_clear in zip(pieces, (clear.first, not clear.first), strict=True):
        if is_clear:
            carried = _loop(cleared, known, lefts, carried, piece)
        else:
            carried = _loop(step, scope, lefts, carried, piece)
    return carried


def _loop(
    step: ChainStep,
    scope: Scope,
    lefts: Sequence[SSAValue],
    carried: Sequence[SSAValue],
    bounds: tuple[Expr, Expr] | None,
) -> Sequence[SSAValue]:
    loop = step.scores.loop(scope, step.along, carried, bounds)
    inner = scope.inner(loop.body.block)
    step.write(inner, lefts, inner.block.args)
    return loop.res


def _without(
    step: ChainStep, conditions: Sequence[Condition], new: dict[SSAValue, SSAValue]
) -> ChainStep | None:
    """The same step where these conditions hold; `new` gets its values of those of `step`.

    None where it is no step of a chain then: where a condition alone tells rows from each other.
    """
    block = step.body.ops[0].parent_block()
    assert block is not None
    region = block.parent
    assert region is not None
    copy = Region()
    region.clone_into(copy, value_mapper=new)
    for condition, wanted in conditions:
        for use in list(new[condition].uses):
            if isinstance(op := use.operation, arith.SelectOp) and use.index == 0:
                op.result.replace_all_uses_with(op.lhs if wanted else op.rhs)
    erase_unread(copy.block)
    chain = find_chain(copy.block)
    old = step.chain
    if chain is None or (chain.row, chain.along, chain.held) != (old.row, old.along, old.held):
        return None
    if [o.reduce for o in chain.outer] != [new[o.reduce.result].owner for o in old.outer]:
        return None
    writer = step.scores.over(step.scores.frame)
    writer.full = Body.of(copy.block)
    cleared = ChainStep(chain, step.blocks, writer)
    cleared.outside = _translated(step.outside, new)
    return cleared


def _translated(
    env: Mapping[SSAValue, SSAValue], new: Mapping[SSAValue, SSAValue]
) -> dict[SSAValue, SSAValue]:
    """What is known of the old body, as known of its copy."""
    return {new[value]: to for value, to in env.items() if value in new}
