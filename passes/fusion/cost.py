"""What fusing costs and saves, in one unit: the time of one cheap scalar operation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import i32, i64
from xdsl.ir import Operation

from tilewright.dialects.index_expr import Expr, Var
from tilewright.dialects.scalars import number_of
from tilewright.dialects.tk.access import LoadOp
from tilewright.dialects.tk.calls import CallOp
from tilewright.dialects.tk.compute import RandomOp

from ..kernels.body import subscripts_of_rows

SYMBOL_GUESS = 256
"""The size that a symbol is taken to have when costs are compared."""

BYTE_COST = 0.5
"""Moving one byte between a core and the cache level that holds an intermediate tensor."""

MEMORY_BYTE_COST = 16
"""Moving one byte between a GPU's memory and its cores: 60 T operations and 3 to 4 TB each second."""

NEAR_BYTE_COST = 8
"""Moving one byte between a GPU's cache and its cores: 60 T operations and 7 TB each second."""

_EXPENSIVE: Mapping[type[Operation], float] = {
    math.SqrtOp: 4,
    math.RsqrtOp: 4,
    arith.DivfOp: 4,
    arith.DivSIOp: 20,
    arith.RemSIOp: 20,
    math.PowFOp: 40,
    math.SinOp: 40,
    math.CosOp: 40,
    math.TanOp: 40,
    CallOp: 40,
    RandomOp: 60,
}
_DIVISIONS = (arith.DivSIOp, arith.RemSIOp)
_BY_NUMBER = 8
"""Dividing by a number multiplies by another one: the high half of that product."""
_BY_POWER_OF_TWO = 4
"""This shifts, corrected for what is negative."""
_TRANSCENDENTAL = 15.0
POSITIONS = (i64, i32)
"""Types of positions: what a few ops make of nothing else is computed again wherever it is needed."""
_FREE = frozenset[type[Operation]]((arith.ConstantOp, arith.ExtFOp, arith.TruncFOp, LoadOp))
_CHEAP = frozenset[type[Operation]](
    (math.AbsFOp, math.AbsIOp, math.FloorOp, math.CeilOp, math.TruncOp, math.RoundEvenOp)
)


def op_cost(op: Operation) -> float:
    """Cost of one execution of a scalar op; loads are counted as bytes elsewhere."""
    kind = type(op)
    if kind in _FREE:
        return 0
    if isinstance(op, _DIVISIONS) and (divisor := number_of(op.rhs)):
        return _BY_POWER_OF_TWO if abs(int(divisor)).bit_count() == 1 else _BY_NUMBER
    if (cost := _EXPENSIVE.get(kind)) is not None:
        return cost
    return _TRANSCENDENTAL if op.name.startswith("math.") and kind not in _CHEAP else 1


def body_cost(ops: Iterable[Operation]) -> float:
    return sum(op_cost(op) for op in ops)


def conversions(ops: Iterable[Operation]) -> int:
    """How many ops change the width of a float, which is free only beside a slow memory."""
    return sum(type(op) in (arith.ExtFOp, arith.TruncFOp) for op in ops)


def extent(size: Expr) -> int:
    """A size as a number; symbols count as SYMBOL_GUESS."""
    if size.constant is not None:
        return size.constant
    return max(1, size.evaluate({v: SYMBOL_GUESS for v in size.variables()}))


def count(sizes: Sequence[Expr]) -> int:
    total = 1
    for size in sizes:
        total *= extent(size)
    return total


def axes_read(subscripts: Sequence[Expr], space: Sequence[Expr]) -> set[int]:
    """The axes along which a value that is read at `subscripts` varies; gather indices may vary along all."""
    found = {v for e in subscripts for v in e.variables()}
    if any(v.kind == "i" for v in found):
        return set(range(len(space)))
    return {v.index for v in found if v.kind == "d"}


def evaluations(subscripts: Sequence[Expr], space: Sequence[Expr]) -> int:
    """How often a value that is read at `subscripts` is needed: once per point of its axes."""
    return count([space[a] for a in sorted(axes_read(subscripts, space))])


def is_contiguous(load: LoadOp, axis: int) -> bool:
    """True where the load's last subscript steps by one along `axis` and nothing else moves."""
    subscripts = subscripts_of_rows(load)
    if not subscripts:
        return False
    *others, last = subscripts
    var = Var("d", axis)
    step = last.coefficient(var)
    return step is not None and step.constant == 1 and not any(e.uses(var) for e in others)
