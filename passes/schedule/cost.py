"""What a function costs under a choice of loops: counts of ops and the strides of accesses."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TypeGuard

from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloat, IndexType, IntegerType, i1
from xdsl.ir import Attribute, Operation, SSAValue

from tilewright.dialects.index_expr import ONE, Expr, Var, product
from tilewright.dialects.tk.access import IndexOp, LoadOp, StoreOp
from tilewright.dialects.tk.calls import CallOp
from tilewright.dialects.tk.compute import RandomOp, ScanOp
from tilewright.dialects.tk.domain import Reduction, reduced_axes
from tilewright.dialects.tk.sort import SortOp

from ..kernels.facts import Body
from .collisions import goes_apart, scatters

_GUESS = 128
"""A size that is only known at run time."""
_FEW = 16
"""Where that leaves fewer elements (frames of samples), a larger one is guessed."""
_DOUBLINGS = 12

SCRATCH = 16_384  # elements that still lie in the nearest caches
_LEAST_ROW = 8  # shorter rows are read lane by lane

_FAR = 12
"""What it takes to read one lane anywhere in memory: of scalars, a processor does so many ops at once."""

_PERMUTED = (-2, -1, 2)
"""Strides along which lanes are read as two vectors, which are then permuted."""

MOST_WOVEN = 4
"""Of so many rows, which lie in memory one element of each at a time, vectors are permuted."""

EXPENSIVE = 12
"""What a function of `math` costs."""
_SORT = 24
"""Of each element of a row, whatever its length."""
_CHEAP = frozenset(
    ("math.absf", "math.sqrt", "math.floor", "math.ceil", "math.trunc", "math.fma", "math.absi")
)


def op_cost(op: Operation) -> int:
    """Cycles of one scalar or vector op, roughly."""
    return _cost_of(type(op))


@cache
def _cost_of(kind: type[Operation]) -> int:
    if kind is arith.ConstantOp:
        return 0
    if kind in (RandomOp, CallOp):
        return 40
    if kind.name.startswith("math.") and kind.name not in _CHEAP:
        return EXPENSIVE
    if kind is SortOp:
        return _SORT
    return 4 if kind is arith.DivfOp else 1


def _is_loaded(position: SSAValue) -> bool:
    """Whether a position comes from memory: what is computed from axes stays close together."""
    todo, seen = [position], {position}
    while todo:
        owner = todo.pop().owner
        if isinstance(owner, LoadOp):
            return True
        if isinstance(owner, Operation):
            todo += [value for value in owner.operands if value not in seen]
            seen.update(owner.operands)
    return False


def is_expensive(op: Operation) -> bool:
    """Whether reading a value back from scratch beats computing it again."""
    return op_cost(op) >= EXPENSIVE


def computes_wide(body: Body, space: Sequence[Expr]) -> bool:
    """Whether most of what is computed has 64 bits: a vector of these is a register with half as many lanes.

    Vectors of two registers live in memory. Where most is narrower, as many lanes as that has are worth it.
    What runs less often than the rest, such as positions of whole rows, does not count.
    """
    times = {op: product(space[a] for a in sorted(body.runs[op])) for op in body.ops}
    most = max(map(estimate, times.values()), default=0)
    computed = [
        op
        for op in body.ops
        if not isinstance(op, arith.ConstantOp | IndexOp | LoadOp) and estimate(times[op]) == most
    ]
    bits = [size_of_element(r.type) for op in computed for r in op.results if r.type not in (i1, IndexType())]
    return 2 * sum(n == 64 for n in bits) > len(bits)


def size_of_element(type_: Attribute) -> int:
    """Bits of a number."""
    return type_.bitwidth if isinstance(type_, IntegerType | AnyFloat) else 64


def estimate(size: Expr) -> int:
    """The size, or a guess, which is positive: there are as many samples as a few frames take."""
    if size.constant is not None:
        return size.constant
    guesses = [size.evaluate(dict.fromkeys(size.variables(), _GUESS))]
    while guesses[-1] < _FEW and len(guesses) <= _DOUBLINGS:
        guesses.append(size.evaluate(dict.fromkeys(size.variables(), _GUESS << len(guesses))))
    return guesses[-1] if guesses[-1] >= _FEW else max(1, guesses[0])


@dataclass(frozen=True)
class Costs:
    """Questions about one function."""

    body: Body
    space: Sequence[Expr]
    lanes: int
    scanned: int | None = None
    """The axis of short running sums: what is contiguous along it turns, where lanes are rows."""

    @cached_property
    def inner(self) -> set[int]:
        """The axes that something reduces, or sorts along."""
        return {axis for op in self.body.ops for axis in reduced_axes(op)} | sorted_axes(self.body)

    @cached_property
    def scans(self) -> set[int]:
        """The axes of running sums."""
        return {op.along for op in self.body.ops if isinstance(op, ScanOp)}

    def trips(self, axes: Iterable[int]) -> int:
        total = 1
        for axis in axes:
            total *= estimate(self.space[axis])
        return total

    def total(self, vector: int | None) -> float:
        """Cycles of the whole function with lanes along `vector`."""
        wide = self._with_lanes(vector)
        return sum(self._of(op, vector if op in wide else None) for op in self.body.ops)

    def _with_lanes(self, vector: int | None) -> Container[Operation]:
        """What stands in loops with lanes: not what serves stores that have none."""
        if not any(goes_apart(self.body, op, vector) for op in self.body.ops):
            return self.body.position
        stores = [op for op in self.body.ops if isinstance(op, StoreOp)]
        return set(self.body.closure([op for op in stores if not goes_apart(self.body, op, vector)], ()))

    def _of(self, op: Operation, vector: int | None) -> float:
        runs = self.body.runs[op]
        trips, cost = self._iterations(op, vector), op_cost(op)
        if vector is None or vector not in runs:
            return trips * cost
        size = estimate(self.space[vector])
        speedup = size / -(-size // self.lanes) if size else 1
        if isinstance(op, LoadOp | StoreOp):
            return trips * self._access(op, vector, speedup)
        total = trips * cost / speedup
        if isinstance(op, Reduction) and vector in op.over:
            total += 8 * self.trips(runs.difference(op.over))  # the sum over lanes
        return total

    def _access(self, op: LoadOp | StoreOp, vector: int, speedup: float) -> float:
        axis = Var("d", vector)
        strides = [e.coefficient(axis) for e in op.map.exprs]
        moving = any(vector in self.body.domains[v] for v in op.dynamic)
        if not moving and all(s is not None and s.constant in (0, 1) for s in strides):
            return 1 / speedup
        if moving and any(_is_loaded(v) for v in op.dynamic):
            return _FAR
        if isinstance(op, LoadOp) and op.mask is None and not moving:
            if all(s is not None and s.constant in _PERMUTED for s in strides):
                return 3 / speedup
        if self.scanned is not None and turns(op, self.scanned, vector):
            return 0.5
        if any(weaves(op, across, vector, self.space) for across in range(len(self.space))):
            return 4 / speedup
        missing = self.lanes / speedup  # a vector takes its time, however few of its lanes are in use
        return (2.5 if isinstance(op, StoreOp) else 1.5) * missing

    def _iterations(self, op: Operation, vector: int | None) -> int:
        """How often `op` runs: in the loop over the last of its axes, and in those around it."""
        order, runs = self.order(vector), self.body.runs[op]
        last = max((number for number, axis in enumerate(order) if axis in runs), default=-1)
        return self.trips(axis for axis in order[: last + 1] if axis in self._around[op])

    @cached_property
    def _around(self) -> Mapping[Operation, frozenset[int]]:
        """The axes along which an op runs, or something for which it is computed."""
        found: dict[Operation, frozenset[int]] = {}
        for op in reversed(self.body.ops):
            users = {use.operation for result in op.results for use in result.uses}
            axes = (found[user] for user in users if user in found)
            found[op] = frozenset(self.body.runs[op]).union(*axes)
        return found

    def order(self, vector: int | None) -> tuple[int, ...]:
        """Outer axes, then reduced ones, then scanned ones; the vector axis last of its kind."""

        def place(axis: int) -> tuple[bool, bool, bool]:
            return axis in self.scans, axis in self.inner, axis == vector

        return tuple(sorted(range(len(self.space)), key=place))

    def work(self, vector: int | None) -> Expr:
        """Cycles times lanes, as an expression of the symbols."""
        total = Expr(())
        for op in self.body.ops:
            runs = self.body.runs[op]
            scale = 1 if vector in runs and not isinstance(op, SortOp) else self.lanes
            total = total + product(self.space[a] for a in sorted(runs)) * (op_cost(op) * scale)
        return total


def turns(op: Operation, across: int, vector: int) -> TypeGuard[LoadOp | StoreOp]:
    """Whether an access is contiguous along `across` and strides along the lanes."""
    if not isinstance(op, LoadOp | StoreOp) or op.dynamic or op.mask is not None or scatters(op):
        return False
    (expr,) = op.map.exprs
    stride = expr.coefficient(Var("d", vector))
    if stride is None or stride.constant in (0, 1) or any(v.kind != "s" for v in stride.variables()):
        return False
    return expr.coefficient(Var("d", across)) == ONE


def weaves(op: Operation, across: int, vector: int, space: Sequence[Expr]) -> bool:
    """Whether an access turns, and the few elements along `across` lie next to those of the next lane."""
    size = space[across].constant
    if size is None or not 1 < size <= MOST_WOVEN or not turns(op, across, vector):
        return False
    stride = op.map.exprs[0].coefficient(Var("d", vector))
    return stride is not None and stride.constant == size


def sorted_axes(body: Body) -> set[int]:
    """The axes of rows that are sorted."""
    return {op.along for op in body.ops if isinstance(op, SortOp)}


def scanned_axis(body: Body, space: Sequence[Expr], lanes: int) -> int | None:
    """The axis of running sums in lanes of their own: short enough that a row per lane fits scratch."""
    along = {op.along for op in body.ops if isinstance(op, ScanOp)}
    if len(along) != 1 or any(isinstance(op, Reduction) for op in body.ops):
        return None
    (axis,) = along
    size = space[axis].constant
    return axis if size is not None and _LEAST_ROW <= size <= SCRATCH // lanes else None
