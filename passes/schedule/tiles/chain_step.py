"""One step of chained products on tiles: what a block of the chain adds is added at once.

A sum of `exp(x - m) * y`, with `m` the maximum of all `x`, is kept for the maximum so far, and multiplied
by `exp(old m - new m)` when a block raises that ("online softmax").
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import FloatAttr, f32
from xdsl.ir import Attribute, Operation, SSAValue

from tilewright.dialects.tk.domain import Axes
from tilewright.dialects.tk.loops import YieldOp
from tilewright.dialects.tk.scope import shape_of_lanes
from tilewright.dialects.tk.share import SHARED
from tilewright.dialects.tk.tiles import CollapseOp, MmaOp

from ...kernels.chains import Chain, Factors, Outer, Shift
from ...kernels.combine import combine, identity
from ..blocks import Blocks
from ..writer import Known, Scope
from .factors import factor, factor_type
from .lanes_needed import lanes_needed
from .tile_writer import TileWriter
from .zeros import is_zero_when_inactive

_NO_FLAGS = arith.FastMathFlagsAttr("none")
_Left = tuple[SSAValue, Attribute, Axes]
"""A factor, the type that a product takes it in, and the axes beyond whose end it is zero."""


class ChainStep:
    """Writes one block of a chain: tiles of rows (`row`) and of elements of the chain (`along`)."""

    def __init__(self, chain: Chain, blocks: Blocks, writer: TileWriter) -> None:
        assert blocks.product is not None
        self.chain = chain
        self.blocks = blocks
        self.precision = blocks.product
        self.body = writer.full
        self.row, self.along = chain.row, chain.along
        self.checks = [op for op in self.body.sinks() if self.along in self.body.runs[op]]
        self.scores = writer
        writer.lanes = lanes_needed(self.body, writer.block, writer.space)
        writer.frame = (self.row, self.along)
        self.outside: dict[SSAValue, SSAValue] = {}
        """What is known around all loops, and no tile of rows and the chain."""

    def fresh(self, scope: Scope) -> Scope:
        """A scope at the same place that knows of no tiles: those of other axes have other shapes."""
        return scope.knowing(self.outside)

    def write(self, scope: Scope, lefts: Sequence[SSAValue], carried: Iterable[SSAValue]) -> None:
        """One block of the chain: products, maxima, then sums of what depends on these.

        `lefts` are the factors of the products that each step has again, `carried` what is added to.
        """
        left = dict(zip(self.chain.inner, lefts, strict=True))
        for total, products in self.chain.scores.items():
            scope.env[total] = self._inner(scope, [(f, left[f]) for f in products])
        old = dict(zip(self.chain.outer, carried, strict=True))
        new: dict[Outer, SSAValue] = {}
        for outer in self.chain.outer:
            if outer.reduce.kind.data == "max":
                new[outer] = scope.env[outer.reduce.result] = self._raise(scope, outer, old[outer])
        peaks = {outer.reduce: value for outer, value in old.items() if outer in new}
        scales: dict[Shift, SSAValue] = {}
        left_of: dict[_Left, SSAValue] = {}
        for outer in self.chain.outer:
            if outer in new:
                continue
            value = old[outer]
            if outer.shift is not None:
                if outer.shift not in scales:
                    scales[outer.shift] = self._scale(scope, outer.shift, peaks[outer.shift.peak])
                scale = self.scores.stretch(scope, scales[outer.shift], shape_of_lanes(value.type))
                value = self._emit(scope, arith.MulfOp, value, scale)
            new[outer] = self._add(scope, outer, value, left_of)
        for op in self.body.closure(self.checks, Known(scope)):
            self.scores.copy(scope, op)
        self.scores.put(scope, YieldOp.create(operands=[new[outer] for outer in self.chain.outer]))

    def _inner(self, scope: Scope, products: Iterable[tuple[Factors, SSAValue]]) -> SSAValue:
        """A product of its own, or the sum of several; each with its left factor."""
        zero = self.scores.constant(FloatAttr(0.0, f32))
        shape = (self.scores.block[self.row], self.scores.block[self.along])
        total: SSAValue | None = None
        for f, left in products:
            right = self.scores.over((f.axis, self.along))
            type_ = factor_type(f.reduce, f.left, f.right)
            factor_ = self._right(scope, f, right, type_, frozenset((f.axis,)))
            self.scores.location = f.reduce.location
            start = self.scores.stretch(scope, zero, shape) if total is None else total
            total = self.scores.put(scope, MmaOp.make(start, left, factor_, self.precision))
        assert total is not None
        return total

    def _right(self, scope: Scope, f: Factors, writer: TileWriter, type_: Attribute, over: Axes) -> SSAValue:
        """The factor that each step has another block of."""
        return factor(self.fresh(scope), writer, f.right, type_, over, shared=SHARED in f.reduce.attributes)

    def _compute(self, scope: Scope, value: SSAValue) -> SSAValue:
        """`value` as a tile of rows and the chain."""
        if value not in scope.env:
            assert isinstance(value.owner, Operation)
            for op in self.body.closure((value.owner,), Known(scope)):
                self.scores.copy(scope, op)
        return scope.env[value]

    def _raise(self, scope: Scope, outer: Outer, old: SSAValue) -> SSAValue:
        """The maximum with this block; what hangs over counts as -inf from here on."""
        value = outer.reduce.value
        tile = self._whole(scope, self._compute(scope, value))
        self.scores.location = outer.reduce.location
        nothing = self.scores.constant(identity("max", f32))
        tile = self.scores.masked_out(scope, tile, nothing, frozenset((self.along,)))
        scope.env[value] = tile
        best = self.scores.put(scope, CollapseOp.make("max", tile, [1]))
        return combine("max", old, best, lambda op: self.scores.put(scope, op))

    def _scale(self, scope: Scope, shift: Shift, old: SSAValue) -> SSAValue:
        """What sums for the old maximum are multiplied with: 0 where there was none."""
        difference = self._emit(scope, arith.SubfOp, old, self._compute(scope, shift.value))

        def constant(rate: float) -> SSAValue:
            value = self.scores.constant(FloatAttr(rate, f32))
            return self.scores.stretch(scope, value, shape_of_lanes(difference.type))

        return shift.decay(difference, constant, partial(self._emit, scope))

    def _add(self, scope: Scope, outer: Outer, total: SSAValue, left_of: dict[_Left, SSAValue]) -> SSAValue:
        """`total` and what this block adds; `left_of` has the left factors of products before."""
        over, value = frozenset((self.along,)), outer.reduce.value
        if (f := outer.factors) is not None:
            type_ = factor_type(outer.reduce, f.left, f.right)
            self._compute(scope, f.left)
            cut = frozenset[int]() if self._vanishes(outer, f.left) else over
            if (wanted := (f.left, type_, cut)) not in left_of:
                left_of[wanted] = factor(scope, self.scores, f.left, type_, cut)
            right = self._right(scope, f, self.scores.over((self.along, f.axis)), type_, over)
            self.scores.location = outer.reduce.location
            return self.scores.put(scope, MmaOp.make(total, left_of[wanted], right, self.precision))
        tile = self._whole(scope, self._compute(scope, value))
        self.scores.location = outer.reduce.location
        if not self._vanishes(outer, value):
            tile = self.scores.masked_out(scope, tile, self.scores.constant(FloatAttr(0.0, f32)), over)
        part = self.scores.put(scope, CollapseOp.make("add", tile, [1]))
        return combine("add", total, part, lambda op: self.scores.put(scope, op))

    def _vanishes(self, outer: Outer, value: SSAValue) -> bool:
        """Whether `value` is zero beyond the end of the chain: there, exponents are -inf."""
        exponential = outer.shift is not None and isinstance(value.owner, math.ExpOp | math.Exp2Op)
        return exponential or is_zero_when_inactive(value, frozenset((self.along,)), self.body)

    def _whole(self, scope: Scope, tile: SSAValue) -> SSAValue:
        shape = (self.scores.block[self.row], self.scores.block[self.along])
        return self.scores.stretch(scope, tile, shape)

    def _emit(self, scope: Scope, op: type[Operation], *operands: SSAValue) -> SSAValue:
        return self.scores.put(
            scope,
            op.create(operands=operands, result_types=[operands[0].type], properties={"fastmath": _NO_FLAGS}),
        )
