"""Whether two kernels that walk one space read an element of a tensor at the same point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.ir import Operation, SSAValue

from tilewright.dialects.tk.access import LoadOp
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.dialects.types import sizes_of

from ..kernels.body import loads_of
from .cost import count, evaluations
from .sizes import computed_of

_Key = tuple[object, ...]


def read_together(value: SSAValue, first: KernelOp, second: KernelOp) -> bool:
    """Whether both load much of an operand at places that are the same, or computed of the same data.

    What is small against the space they walk is cheap to read twice, but where each point reads elsewhere.
    """
    numbers: dict[_Key, int] = {}
    one = _Places(first, numbers).of(_large_loads(value, first))
    return bool(one) and not one.isdisjoint(_Places(second, numbers).of(_large_loads(value, second)))


def _large_loads(value: SSAValue, kernel: KernelOp) -> list[LoadOp]:
    loads = loads_of(kernel.sources[list(kernel.operands).index(value)])
    points = count(kernel.space)
    if 2 * count(sizes_of(value)) >= points:
        return loads
    return [op for op in loads if op.dynamic and 2 * evaluations(op.subscripts, kernel.space) >= points]


@dataclass
class _Places:
    """What positions of a kernel are computed of: what is equal in two kernels has one number."""

    kernel: KernelOp
    numbers: dict[_Key, int]
    known: dict[SSAValue, object] = field(default_factory=dict[SSAValue, object])

    def of(self, loads: Sequence[LoadOp]) -> set[_Key]:
        """Where these load."""
        if any(load.dynamic for load in loads):
            self.known.update(zip(self.kernel.sources, self.kernel.operands, strict=True))
        return {(load.map, *map(self._number, load.dynamic)) for load in loads}

    def _number(self, value: SSAValue) -> object:
        if value not in self.known:
            owner = value.owner
            assert isinstance(owner, Operation), "arguments of the body are known"
            key = computed_of(owner, [self._number(operand) for operand in owner.operands])
            self.known[value] = self.numbers.setdefault(key, len(self.numbers))
        return self.known[value]
