"""What a nest of loops must get done."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from xdsl.ir import Operation, SSAValue

from tilewright.dialects.tk.compute import ScanOp
from tilewright.dialects.tk.domain import Reduction


@dataclass
class Carry:
    """A reduction or scan under way; a position travels with its value."""

    op: Reduction | ScanOp
    values: tuple[SSAValue, ...]


@dataclass(frozen=True)
class Keep:
    """A value to be written to scratch."""

    op: Operation
    local: SSAValue
    axes: tuple[int, ...]


@dataclass(frozen=True)
class Grow:
    """A reduction under way in scratch, with an accumulator per element of its result."""

    op: Reduction
    local: SSAValue
    axes: tuple[int, ...]
    rows: tuple[int, int] = (0, 1)
    """An axis, and how many steps along it are added at once."""


@dataclass
class Work:
    """Effects to have, reductions to grow, values to keep."""

    effects: list[Operation] = field(default_factory=list[Operation])
    carries: list[Carry] = field(default_factory=list[Carry])
    keeps: list[Keep] = field(default_factory=list[Keep])
    grows: list[Grow] = field(default_factory=list[Grow])

    def ops(self) -> list[Operation]:
        states = (*self.carries, *self.keeps, *self.grows)
        return [*self.effects, *(state.op for state in states)]

    def __bool__(self) -> bool:
        return bool(self.effects or self.carries or self.keeps or self.grows)

    def with_carries(self, carries: Sequence[Carry]) -> Work:
        return Work(self.effects, list(carries), self.keeps, self.grows)

    def part(self, wanted: Callable[[Operation], bool]) -> Work:
        """The work whose ops are `wanted`."""
        return Work(
            [op for op in self.effects if wanted(op)],
            [carry for carry in self.carries if wanted(carry.op)],
            [keep for keep in self.keeps if wanted(keep.op)],
            [grow for grow in self.grows if wanted(grow.op)],
        )

    def add(self, other: Work) -> None:
        self.effects = self.effects + other.effects
        self.carries = self.carries + other.carries
        self.keeps = self.keeps + other.keeps
        self.grows = self.grows + other.grows

    def joined(self, other: Work) -> Work:
        both = Work()
        both.add(self)
        both.add(other)
        return both

    def singles(self) -> list[Work]:
        """One piece of work per op."""
        return [
            *(Work([op]) for op in self.effects),
            *(Work([], [carry]) for carry in self.carries),
            *(Work([], [], [keep]) for keep in self.keeps),
            *(Work([], [], [], [grow]) for grow in self.grows),
        ]
