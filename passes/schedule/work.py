"""What a nest of loops must get done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.ir import Operation, SSAValue

from tilewright.dialects.tk.compute import ScanOp

from .body import Reduction


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


@dataclass
class Work:
    """Effects to have, reductions to grow, values to keep."""

    effects: list[Operation] = field(default_factory=list[Operation])
    carries: list[Carry] = field(default_factory=list[Carry])
    keeps: list[Keep] = field(default_factory=list[Keep])

    def ops(self) -> list[Operation]:
        return [*self.effects, *(c.op for c in self.carries), *(k.op for k in self.keeps)]

    def __bool__(self) -> bool:
        return bool(self.effects or self.carries or self.keeps)

    def with_carries(self, carries: Sequence[Carry]) -> Work:
        return Work(self.effects, list(carries), self.keeps)

    def joined(self, other: Work) -> Work:
        return Work(self.effects + other.effects, self.carries + other.carries, self.keeps + other.keeps)

    def singles(self) -> list[Work]:
        """One piece of work per op."""
        return [
            *(Work([op]) for op in self.effects),
            *(Work([], [carry]) for carry in self.carries),
            *(Work([], [], [keep]) for keep in self.keeps),
        ]
