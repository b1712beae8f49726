"""Where in a plan a launch may stand at the earliest: what it reads is written, what it writes is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.func import ReturnOp
from xdsl.ir import Operation, SSAValue

from tilewright.dialects.index_expr import Expr, Var
from tilewright.dialects.th.calls import CallOp, ExternOp, LaunchOp, TritonLaunchOp
from tilewright.dialects.th.memory import AllocOp, BufferOp, ConstantOp, DataOp, EmptyOp, ViewOp
from tilewright.dialects.tk.access import LoadOp, StoreOp
from tilewright.dialects.tk.kernels import FuncOp

Extent = Mapping[int, tuple[int, int]]
"""Periods, and between which remainders the elements of some memory lie: from the first to below the second.

Of the period 0 these are no remainders, but elements. What is not said of a period may lie anywhere.
"""
_SEEN_THROUGH = (ViewOp, DataOp, BufferOp)
MADE_ANYWHERE = (AllocOp, EmptyOp, ConstantOp, *_SEEN_THROUGH)
"""Ops that only name memory: they may stand as early as what they are made of."""
_START = -1


def memory_of(value: SSAValue) -> SSAValue:
    """What holds the elements of a buffer or handle. All parts of an arena are one."""
    while isinstance(value.owner, _SEEN_THROUGH):
        value = value.owner.operands[0]
    return value


@dataclass(frozen=True)
class Stretch:
    """Elements of some memory; all of it where nothing is said of them."""

    memory: SSAValue
    extent: Extent = field(default_factory=dict[int, tuple[int, int]])

    def meets(self, other: Stretch) -> bool:
        """Whether the two, of one memory, may have an element in common."""
        for period, (low, high) in self.extent.items():
            if (theirs := other.extent.get(period)) is not None and (theirs[0] >= high or low >= theirs[1]):
                return False
        return True


@dataclass(frozen=True)
class Touched:
    """The memory that an op reads or writes, and that which it writes. All of both where nobody knows."""

    all: frozenset[SSAValue]
    written: frozenset[SSAValue]

    @staticmethod
    def by(op: Operation) -> Touched | None:
        """What a launch or call may touch; None for other ops, of which nobody knows."""
        found = effects(op)
        return None if found is None else Touched(*map(_memories, found))

    def joined(self, other: Touched) -> Touched:
        """What either touches."""
        return Touched(self.all | other.all, self.written | other.written)

    def meets(self, other: Touched) -> bool:
        """Whether one may write what the other reads or writes."""
        return not (self.written.isdisjoint(other.all) and other.written.isdisjoint(self.all))


def _memories(values: Sequence[SSAValue]) -> frozenset[SSAValue]:
    return frozenset(memory_of(value) for value in values)


def effects(op: Operation) -> tuple[Sequence[SSAValue], Sequence[SSAValue]] | None:
    """What a launch or call may read or write, and what it may write; None for other ops."""
    match op:
        case LaunchOp() | ExternOp() | TritonLaunchOp():
            return op.operands, op.outs
        case CallOp():  # it may write what it is given
            return (given := (*op.operands, *op.results)), given
        case _:
            return None


def is_silent(op: Operation) -> bool:
    """Whether an op of a plan touches no elements."""
    return isinstance(op, (*MADE_ANYWHERE, ReturnOp))


@dataclass(frozen=True)
class _Last:
    """What was touched, and where in the plan."""

    stretch: Stretch
    position: int


@dataclass
class LaunchOrder:
    """The last positions at which each stretch of memory was read and written, while ops are walked."""

    functions: Mapping[str, FuncOp]
    _read: dict[SSAValue, list[_Last]] = field(default_factory=dict[SSAValue, list[_Last]])
    _written: dict[SSAValue, list[_Last]] = field(default_factory=dict[SSAValue, list[_Last]])
    _wall: int = _START
    """Nothing may move past the op there: nobody knows what it does."""
    _extents: dict[tuple[str, tuple[Expr, ...]], list[Extent]] = field(
        default_factory=dict[tuple[str, tuple[Expr, ...]], list[Extent]]
    )

    def last_conflict(self, op: LaunchOp) -> int:
        """The last position at which something stands that must come before `op`, -1 if nothing does."""
        touched = self._stretches(op)
        found = [_latest(self._written, stretch) for stretch in touched]
        found += [_latest(self._read, stretch) for stretch in touched[len(op.ins) :]]
        return max([self._wall, *found])

    def note(self, op: Operation, position: int) -> None:
        """Take account of an op that stands, or will stand, at `position`."""
        if isinstance(op, LaunchOp):  # of which more is known than the memory
            touched = self._stretches(op)
            self._touch(touched, touched[len(op.ins) :], position)
        elif (found := effects(op)) is not None:
            reads, writes = found
            self._touch(_whole(reads), _whole(writes), position)
        elif not is_silent(op):
            self._wall = max(self._wall, position)

    def _touch(self, reads: Sequence[Stretch], writes: Sequence[Stretch], position: int) -> None:
        for table, stretches in ((self._read, reads), (self._written, writes)):
            for stretch in stretches:
                last = table.setdefault(stretch.memory, [])
                latest = position
                if not stretch.extent:  # stands for all that was touched before
                    latest = max([position, *(one.position for one in last)])
                    last.clear()
                last.append(_Last(stretch, latest))

    def _stretches(self, op: LaunchOp) -> list[Stretch]:
        """What each operand of a launch stands for."""
        name, values = op.kernel.string_value(), tuple(op.symbol_values)
        if (name, values) not in self._extents:
            function = self.functions.get(name)
            count = len(op.operands)
            self._extents[name, values] = [{}] * count if function is None else extents(function, values)
        pairs = zip(op.operands, self._extents[name, values], strict=True)
        return [_stretch(value, extent) for value, extent in pairs]


def _latest(table: Mapping[SSAValue, Sequence[_Last]], stretch: Stretch) -> int:
    found = [one.position for one in table.get(stretch.memory, ()) if one.stretch.meets(stretch)]
    return max(found, default=_START)


def _stretch(value: SSAValue, extent: Extent) -> Stretch:
    return Stretch(value, extent) if memory_of(value) is value else Stretch(memory_of(value))


def _whole(values: Sequence[SSAValue]) -> list[Stretch]:
    return [Stretch(memory_of(value)) for value in values]


def extents(function: FuncOp, values: Sequence[Expr] = ()) -> list[Extent]:
    """The elements of each buffer that a function may touch, given the values of its symbols.

    A part of a concatenation lies between two elements of each row, whose length is a period.
    """
    found: list[Extent] = []
    known = {
        var: value
        for symbol, value in zip(function.symbols.exprs, values, strict=True)
        for var in symbol.variables()
    }
    space = [size.substitute(known) for size in function.space]
    for argument in function.body.block.args:
        first, *others = [_extent(use.operation, space, known) for use in argument.uses] or [{}]
        periods = [period for period in first if all(period in other for other in others)]
        found.append({p: _together([one[p] for one in (first, *others)]) for p in periods})
    return found


def _together(ranges: Sequence[tuple[int, int]]) -> tuple[int, int]:
    return min(low for low, _ in ranges), max(high for _, high in ranges)


def _extent(op: Operation, space: Sequence[Expr], known: Mapping[Var, Expr]) -> Extent:
    """Of the subscript of an access, if it is a sum of axes."""
    if not isinstance(op, LoadOp | StoreOp) or op.dynamic:
        return {}
    expr = op.subscripts[0].substitute(known)
    if not all(len(atoms) < 2 and all(_is_axis(atom) for atom in atoms) for atoms, _ in expr.terms):
        return {}
    periods = {abs(factor) for atoms, factor in expr.terms if atoms and abs(factor) > 1}
    found = {period: _range(expr, space, period) for period in (0, *sorted(periods))}
    return {period: one for period, one in found.items() if one is not None}


def _is_axis(atom: object) -> bool:
    return isinstance(atom, Var) and atom.kind == "d"


def _range(expr: Expr, space: Sequence[Expr], period: int) -> tuple[int, int] | None:
    """The least remainder and what is above all of them, of axes of known sizes; None if some wrap around."""
    low = high = 0
    for atoms, factor in expr.terms:
        if not atoms:
            low, high = low + factor, high + factor
        elif not period or factor % period:
            (axis,) = atoms
            size = space[axis.index].constant if isinstance(axis, Var) else None
            if size is None:
                return None
            far = factor * max(0, size - 1)
            low, high = low + min(0, far), high + max(0, far)
    if not period:
        return low, high + 1
    first = low % period
    return (first, first + high - low + 1) if first + high - low < period else None
