"""The loop along chained products; those of its steps of which a mask hides nothing have one without it.

Of 512 keys, in blocks of 64, of which rows (128 from `d1` on) see none behind them:

    %1 = tk.for 3 = "0" to "min(512, d1)" step 64 iter(%a = %0 : ...) {...}        // without comparisons
    %2 = tk.for 3 = "min(512, d1)" to "min(512, d1 + 128)" step 64 iter(%b = %1 : ...) {...}

Where a chain goes along several batches, of 4 heads that share what is held of each row, say, one loop has
the steps of all of them: accumulators stay where matrix units add to them, and what compiles it can load the
next block while it multiplies this one.

    %1 = tk.for 5 = "0" to "32" step 1 iter(%a = %0 : ...) {
      %2 = tk.for 2 = "d5 floordiv 8" to "4" step 1 once iter(%b = %a : ...) {
        %3 = tk.for 3 = "(d5 mod 8)*64" to "512" step 64 once iter(%c = %b : ...) {...}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from xdsl.dialects import arith
from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Region, SSAValue

from tilewright.dialects.index_expr import ZERO, Expr, delinearize, dim, product
from tilewright.dialects.tk.loops import ForOp, YieldOp

from ...kernels.body import erase_unread
from ...kernels.chains import Chain, find_chain
from ...kernels.facts import Body
from ..chain_reach import Condition, clear_steps, reach, split_at
from ..writer import Scope
from .chain_step import ChainStep


def write_loops(
    step: ChainStep, scope: Scope, lefts: Sequence[SSAValue], starts: Sequence[SSAValue]
) -> Sequence[SSAValue]:
    """What the steps make of `starts`, with `lefts`; `scope` knows what is the same in each of them."""
    space = step.scores.space
    bounds = None if step.checks else reach(step.chain, step.blocks, space)
    if step.chain.around:
        return _one_loop(step, scope, lefts, starts, bounds or (ZERO, space[step.along]))
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


def _one_loop(
    step: ChainStep,
    scope: Scope,
    lefts: Sequence[SSAValue],
    starts: Sequence[SSAValue],
    bounds: tuple[Expr, Expr],
) -> Sequence[SSAValue]:
    """The steps of each batch around, one after the other."""
    writer, (first, end) = step.scores, bounds
    size, number = writer.block[step.along], dim(len(writer.space))
    steps = (end - first).ceildiv(size)
    if steps.constant == 0:
        return starts
    sizes = [writer.space[axis] for axis in step.chain.around]
    loop = ForOp.make(len(writer.space), 0, product(sizes) * steps, 1, starts)
    writer.put_loop(scope, loop)
    places = zip(step.chain.around, delinearize(number // steps, sizes), strict=True)
    nest, scope = [loop], scope.inner(loop.body.block)
    for axis, place in (*places, (step.along, first + number % steps * size)):
        once = ForOp.make(axis, place, writer.space[axis], writer.block[axis], nest[-1].body.block.args)
        once.properties["once"] = UnitAttr()
        if axis in writer.masked:
            once.properties["masked"] = UnitAttr()
        writer.put_loop(scope, once)
        nest, scope = [*nest, once], scope.inner(once.body.block)
    step.write(scope, lefts, scope.block.args)
    for outside, inside in pairwise(nest):
        outside.body.block.add_op(YieldOp.create(operands=list(inside.res)))
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
    if chain is None or _axes(chain) != _axes(old):
        return None
    if [o.reduce for o in chain.outer] != [new[o.reduce.result].owner for o in old.outer]:
        return None
    writer = step.scores.over(step.scores.frame)
    writer.full = Body.of(copy.block)
    cleared = ChainStep(chain, step.blocks, writer)
    cleared.outside = _translated(step.outside, new)
    return cleared


def _axes(chain: Chain) -> tuple[object, ...]:
    return chain.row, chain.along, chain.around, chain.held


def _translated(
    env: Mapping[SSAValue, SSAValue], new: Mapping[SSAValue, SSAValue]
) -> dict[SSAValue, SSAValue]:
    """What is known of the old body, as known of its copy."""
    return {new[value]: to for value, to in env.items() if value in new}
