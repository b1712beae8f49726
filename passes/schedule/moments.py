"""Joins the moments of two groups of numbers, and of all lanes: the arithmetic of `tk.moments`.

Groups a, b of `n` numbers with mean `m` and squared deviations `q` make, with `r = n_b / (n_a + n_b)`,

    m = m_a + (m_b - m_a) * r
    q = q_a + q_b + (m_b - m_a)**2 * n_a * r

(Chan, Golub and LeVeque 1979; Welford's update where b is one number). Equal numbers have exactly their mean.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloat, FloatAttr
from xdsl.ir import Operation, SSAValue

from tilewright.dialects.tk.arith import CONTRACTED
from tilewright.dialects.tk.scope import shape_of_lanes
from tilewright.dialects.types import element_type

from ..kernels.combine import Emit, combine

_NO_FLAGS = arith.FastMathFlagsAttr("none")
Parts = tuple[SSAValue, SSAValue, SSAValue]


@dataclass(frozen=True)
class Moments:
    """Writes the arithmetic; `spread` brings a value to a shape of lanes."""

    emit: Emit
    constant: Callable[[FloatAttr[AnyFloat]], SSAValue]
    spread: Callable[[SSAValue, tuple[int, ...]], SSAValue]
    numbers: bool
    """Whether what is added is one number, or none, at a time."""

    def join(self, acc: Sequence[SSAValue], new: Sequence[SSAValue]) -> Parts:
        """Two groups as one."""
        (mean_a, squares_a, count_a), (mean_b, squares_b, count_b) = acc, new
        count = self._op(arith.AddfOp, count_a, count_b)
        share = self._of_each(count_b, count)
        apart = self._op(arith.SubfOp, mean_b, mean_a)
        moved = self._op(arith.MulfOp, apart, share)
        squares = self._op(arith.MulfOp, apart, self._op(arith.MulfOp, moved, count_a))
        squares = self._op(arith.AddfOp, squares_a, squares)
        if not self.numbers:
            squares = self._op(arith.AddfOp, squares, squares_b)
        return self._op(arith.AddfOp, mean_a, moved), squares, count

    def whole(
        self,
        parts: Sequence[SSAValue],
        total: Callable[[SSAValue], SSAValue],
        *,
        joined: bool = True,
        held: Callable[[SSAValue], SSAValue] = lambda value: value,
    ) -> Parts:
        """The moments of all lanes, from those of each; `total` sums over lanes.

        What rounding left in their mean is the mean of the deviations from it, which corrects both (Chan,
        Golub and LeVeque 1983, "corrected two-pass algorithm").
        Lanes that nothing was `joined` to yet may still hold one number each; `held` is a value where they
        do, else 0, unless counts say so.
        A number that is not finite makes the mean of its lane and that of all so, and their difference NaN.
        """
        single = self.numbers and not joined
        means, squares, counts = parts
        count = total(counts)
        mean = self._of_each(total(means if single else self._op(arith.MulfOp, means, counts)), count)
        apart = held(self._op(arith.SubfOp, means, mean))
        weighed = self._op(arith.MulfOp, apart, counts)
        inside = self._op(arith.MulfOp, apart, weighed)
        if not single:
            inside = self._op(arith.AddfOp, inside, squares)
        left = total(weighed)
        error = self._of_each(left, count)
        less = self._op(arith.SubfOp, total(inside), self._op(arith.MulfOp, left, error))
        return self._op(arith.AddfOp, mean, error), self._not_negative(less), count

    def _of_each(self, total: SSAValue, count: SSAValue) -> SSAValue:
        return self._op(arith.DivfOp, total, self._at_least_one(count))

    def _not_negative(self, squares: SSAValue) -> SSAValue:
        zero = self.constant(FloatAttr(0.0, cast(AnyFloat, element_type(squares.type))))
        return combine("max", squares, self.spread(zero, shape_of_lanes(squares.type)), self.emit)

    def _one(self, like: SSAValue) -> SSAValue:
        return self.constant(FloatAttr(1.0, cast(AnyFloat, element_type(like.type))))

    def _at_least_one(self, count: SSAValue) -> SSAValue:
        if isinstance(count.owner, arith.ConstantOp):
            return count  # the length of a row, which is not empty
        one = self.spread(self._one(count), shape_of_lanes(count.type))
        return combine("max", count, one, self.emit)

    def _op(self, kind: type[Operation], lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        """`lhs kind rhs`, on as many lanes as the two have together."""
        left, right = shape_of_lanes(lhs.type), shape_of_lanes(rhs.type)
        shape = (
            tuple(max(n, m) for n, m in zip(left, right, strict=True)) if left and right else left or right
        )
        lhs, rhs = self.spread(lhs, shape), self.spread(rhs, shape)
        flags = CONTRACTED if kind in (arith.AddfOp, arith.SubfOp) else _NO_FLAGS
        return self.emit(
            kind.create(operands=[lhs, rhs], result_types=[lhs.type], properties={"fastmath": flags})
        )
