"""Pass `share-draws`."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from tilewright.dialects.index_expr import Bounds, Expr, Var, as_expr, dim
from tilewright.dialects.ir_access import kinds_within
from tilewright.dialects.philox import WORDS
from tilewright.dialects.tk.access import IndexOp
from tilewright.dialects.tk.attributes import int64
from tilewright.dialects.tk.compute import QUADS, RandomOp
from tilewright.dialects.tk.kernels import FuncOp
from tilewright.dialects.tk.lanes import axes_of_lanes
from tilewright.dialects.tk.loops import ForOp
from tilewright.dialects.tk.scope import shape_of_lanes

from ..rewrite import may_rewrite, skip

_MOST_DIMENSIONS = 2
"""Of a tile that targets divide into fours."""


@dataclass(frozen=True)
class ShareDrawsPass(ModulePass):
    """Let four neighbours in a tile take their random numbers from one block of the generator.

    Before:
        tk.for 1 = "0" to "64" step 32 parallel {
          %1 = tk.index "d0*64 + d1" lanes 0, 1 : vector<32x32xi64>
          %2 = tk.random %seed, %1 : vector<32x32xf32>
    After:
        tk.for 1 = "0" to "64" step 32 parallel {
          %1 = tk.index "d0*64 + d1" lanes 0, 1 : vector<32x32xi64>
          %2 = tk.random %seed, %1 {tk.quads = 1 : i64} : vector<32x32xf32>

    A block of Philox has four words and costs some eighty instructions. Neighbours share one where their
    counters go up by one along a dimension, from multiples of four: all else in the counter is a multiple
    of four, whatever other axes and symbols are, and so is where the tile begins. Runs after
    `apply-schedule`, on tiles of one or two dimensions.
    """

    name = "share-draws"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for random in [inner for inner in kinds_within(op, RandomOp) if inner.quads is None]:
            _share(random)


def _share(op: RandomOp) -> None:
    shape = shape_of_lanes(op.counter.type)
    if not 1 <= len(shape) <= _MOST_DIMENSIONS:
        return skip(op, f"each number is a block: its tile has {len(shape)} dimensions")
    index = _position(op.counter)
    if index is None:
        return skip(op, "each number is a block: its counter is no position beside a multiple of four")
    for dimension in reversed(range(len(shape))):
        if shape[dimension] % WORDS == 0 and _goes_up(index, dimension):
            if may_rewrite(op, "drawn in fours"):
                op.attributes[QUADS] = int64(dimension)
            return None
    return skip(op, "each number is a block: no four neighbours are known to have the counters of one")


def _position(counter: SSAValue) -> IndexOp | None:
    """The index that is all of a counter but multiples of four."""
    owner = counter.owner
    if isinstance(owner, arith.ExtSIOp):  # of what `narrow-integers` has made narrow
        return _position(owner.input)
    if isinstance(owner, arith.AddiOp):
        for value, other in ((owner.lhs, owner.rhs), (owner.rhs, owner.lhs)):
            if _is_multiple(_of_all(other)) and (found := _position(value)) is not None:
                return found
    return owner if isinstance(owner, IndexOp) else None


def _of_all(value: SSAValue) -> SSAValue | None:
    """The number that all elements of a tile are, if they are known to be one."""
    owner = value.owner
    if not isinstance(owner, vector.BroadcastOp) or shape_of_lanes(owner.source.type):
        return None
    return owner.source


def _is_multiple(number: SSAValue | None) -> bool:
    """Whether a number is known to be a multiple of four."""
    match number.owner if number is not None else None:
        case arith.ConstantOp(value=IntegerAttr(value=value)):
            return value.data % WORDS == 0
        case arith.AndIOp(lhs=lhs, rhs=rhs) | arith.MuliOp(lhs=lhs, rhs=rhs):
            return _is_multiple(lhs) or _is_multiple(rhs)
        case _:
            return False


def _goes_up(index: IndexOp, dimension: int) -> bool:
    """Whether a position goes up by one along a dimension of its tile, from a multiple of four on."""
    axis = axes_of_lanes(index)[dimension]
    space = _space(index)
    # The axis is four times one axis and another below four: neighbours differ by the latter.
    number = len(space)
    four, near = dim(number), dim(number + 1)
    bounds = Bounds((*space, (space[axis] + (WORDS - 1)) // WORDS, as_expr(WORDS)))
    expr = bounds.simplify(index.expr.substitute({Var("d", axis): four * WORDS + near}))
    rest = expr - near
    return not rest.uses(Var("d", number + 1)) and _all_multiples(rest) and _begins_at_multiples(index, axis)


def _space(op: Operation) -> tuple[Expr, ...]:
    """The sizes of the axes of the function around an op."""
    parent = op.parent_op()
    while not isinstance(parent, FuncOp):
        assert parent is not None
        parent = parent.parent_op()
    return parent.space


def _all_multiples(expr: Expr) -> bool:
    return expr.exact_div(WORDS) is not None


def _begins_at_multiples(op: Operation, axis: int) -> bool:
    """Whether the loop around `op` that binds an axis is known to go from multiple to multiple of four."""
    parent = op.parent_op()
    while parent is not None and not (isinstance(parent, ForOp) and parent.axis.value.data == axis):
        parent = parent.parent_op()
    return parent is not None and _all_multiples(parent.bounds[0]) and parent.step.value.data % WORDS == 0
