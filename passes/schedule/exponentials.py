"""Joins sums of exponentials of two groups, and of all lanes: the arithmetic of `tk.sumexp`.

Groups a, b with largest exponents `m` and sums `s` relative to them make, with `m_a >= m_b`,

    m = m_a,  s = s_a + s_b * exp(m_b - m_a)

(Milakov and Gimelshein 2018), one exponential for two groups. Equal infinities have no distance: both
count whole.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import arith, math
from xdsl.ir import Operation, SSAValue

from ..kernels.combine import Emit, combine, compare, select

_NO_FLAGS = arith.FastMathFlagsAttr("none")
Group = tuple[SSAValue, SSAValue]


def join(acc: Sequence[SSAValue], new: Sequence[SSAValue], emit: Emit) -> Group:
    """Two groups as one; NaN spreads."""
    best, low = combine("max", acc[0], new[0], emit), combine("min", acc[0], new[0], emit)
    first = compare("oge", acc[0], new[0], emit)
    whole, less = select(first, acc[1], new[1], emit), select(first, new[1], acc[1], emit)
    return best, combine("add", whole, _relative(low, less, best, emit), emit)


def over_all(
    group: Sequence[SSAValue],
    over: Callable[[str, SSAValue], SSAValue],
    spread: Callable[[SSAValue], SSAValue],
    emit: Emit,
) -> Group:
    """The groups of all lanes as one; `over` combines lanes, `spread` gives each what they share."""
    best = over("max", group[0])
    return best, over("add", _relative(group[0], group[1], spread(best), emit))


def _relative(low: SSAValue, total: SSAValue, high: SSAValue, emit: Emit) -> SSAValue:
    """`total * exp(low - high)`, where `low <= high`; `total` where they are equal."""

    def op(cls: type[Operation], *operands: SSAValue) -> SSAValue:
        return emit(
            cls.create(operands=operands, result_types=[low.type], properties={"fastmath": _NO_FLAGS})
        )

    scaled = op(arith.MulfOp, total, op(math.ExpOp, op(arith.SubfOp, low, high)))
    return select(compare("oeq", low, high, emit), total, scaled, emit)
