"""Where in a plan a launch may stand at the earliest: what it reads is written, what it writes is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.func import ReturnOp
from xdsl.ir import Operation, SSAValue

from tilewright.dialects.index_expr import Expr, Var
from tilewright.dialects.th.calls import CallOp, ExternOp, LaunchOp
from tilewright.dialects.th.memory import AllocOp, BufferOp, ConstantOp, DataOp, EmptyOp, ViewOp
from tilewright.dialects.tk.access import LoadOp, StoreOp
from tilewright.dialects.tk.kernels import FuncOp

Extent = tuple[int, int] | None
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
    """Elements of some memory, from `start` to below `end`; all of it where nobody knows."""

    memory: SSAValue
    start: int = 0
    end: int | None = None

    def meets(self, other: Stretch) -> bool:
        """Whether the two, of one memory, may have an element in common."""
        after = self.end is not None and other.start >= self.end
        return not after and not (other.end is not None and self.start >= other.end)


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
    _extents: dict[str, list[Extent]] = field(default_factory=dict[str, list[Extent]])

    def last_conflict(self, op: LaunchOp) -> int:
        """The last position at which something stands that must come before `op`, -1 if nothing does."""
        touched = self._stretches(op)
        found = [_latest(self._written, stretch) for stretch in touched]
        found += [_latest(self._read, stretch) for stretch in touched[len(op.ins) :]]
        return max([self._wall, *found])

    def note(self, op: Operation, position: int) -> None:
        """Take account of an op that stands, or will stand, at `position`."""
        match op:
            case LaunchOp():
                touched = self._stretches(op)
                self._touch(touched, touched[len(op.ins) :], position)
            case ExternOp():
                self._touch(_whole(op.operands), _whole(op.outs), position)
            case CallOp():  # it may write what it is given
                touched = _whole((*op.operands, *op.results))
                self._touch(touched, touched, position)
            case _:
                if not isinstance(op, (*MADE_ANYWHERE, ReturnOp)):
                    self._wall = max(self._wall, position)

    def _touch(self, reads: Sequence[Stretch], writes: Sequence[Stretch], position: int) -> None:
        for table, stretches in ((self._read, reads), (self._written, writes)):
            for stretch in stretches:
                last = table.setdefault(stretch.memory, [])
                latest = position
                if stretch.end is None:  # stands for all that was touched before
                    latest = max([position, *(one.position for one in last)])
                    last.clear()
                last.append(_Last(stretch, latest))

    def _stretches(self, op: LaunchOp) -> list[Stretch]:
        """What each operand of a launch stands for."""
        name = op.kernel.string_value()
        if name not in self._extents:
            function = self.functions.get(name)
            count = len(op.operands)
            self._extents[name] = [None] * count if function is None else extents(function)
        pairs = zip(op.operands, self._extents[name], strict=True)
        return [_stretch(value, extent) for value, extent in pairs]


def _latest(table: Mapping[SSAValue, Sequence[_Last]], stretch: Stretch) -> int:
    found = [one.position for one in table.get(stretch.memory, ()) if one.stretch.meets(stretch)]
    return max(found, default=_START)


def _stretch(value: SSAValue, extent: Extent) -> Stretch:
    if extent is None or memory_of(value) is not value:
        return Stretch(memory_of(value))
    return Stretch(value, *extent)


def _whole(values: Sequence[SSAValue]) -> list[Stretch]:
    return [Stretch(memory_of(value)) for value in values]


def extents(function: FuncOp) -> list[Extent]:
    """The elements of each buffer that a function may touch; None where the subscripts do not say."""
    found: list[Extent] = []
    for argument in function.body.block.args:
        ranges = [_range(use.operation, function.space) for use in argument.uses]
        known = [one for one in ranges if one is not None]
        whole = len(known) < len(ranges) or not known
        found.append(None if whole else (min(low for low, _ in known), max(high for _, high in known)))
    return found


def _range(op: Operation, space: Sequence[Expr]) -> tuple[int, int] | None:
    """The least subscript of an access and what is above all of them, of sums of axes of known sizes."""
    if not isinstance(op, LoadOp | StoreOp) or op.dynamic:
        return None
    (expr,) = op.subscripts
    low = high = 0
    for atoms, factor in expr.terms:
        if not atoms:
            low, high = low + factor, high + factor
            continue
        (atom, *others) = atoms
        size = space[atom.index].constant if isinstance(atom, Var) and atom.kind == "d" else None
        if others or size is None:
            return None
        far = factor * max(0, size - 1)
        low, high = low + min(0, far), high + max(0, far)
    return low, high + 1
