"""Whether two kernels that walk one space read an element of a tensor at the same point."""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.ir import Operation, SSAValue

from tilewright.dialects.tk.access import LoadOp
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.dialects.types import sizes_of

from ..kernels.body import loads_of
from .cost import count, evaluations

_Key = tuple[object, ...]


def read_together(value: SSAValue, first: KernelOp, second: KernelOp) -> bool:
    """Whether both load much of an operand at places that are the same, or computed of the same data.

    What is small against the space they walk is cheap to read twice, but where each point reads elsewhere.
    """
    numbers: dict[_Key, int] = {}
    one, other = _Places(first, numbers).of(value), _Places(second, numbers).of(value)
    points = count(first.space)
    small = 2 * count(sizes_of(value)) < points
    return any(
        not small or (load.dynamic and 2 * evaluations(load.subscripts, first.space) >= points)
        for place, load in one.items()
        if place in other
    )


@dataclass
class _Places:
    """What positions of a kernel are computed of: what is equal in two kernels has one number."""

    kernel: KernelOp
    numbers: dict[_Key, int]
    known: dict[SSAValue, object] = field(default_factory=dict[SSAValue, object])

    def of(self, value: SSAValue) -> dict[_Key, LoadOp]:
        """The places at which an operand is read, each with a load."""
        self.known.update(zip(self.kernel.sources, self.kernel.operands, strict=True))
        source = self.kernel.sources[list(self.kernel.operands).index(value)]
        return {(load.map, *map(self._number, load.dynamic)): load for load in loads_of(source)}

    def _number(self, value: SSAValue) -> object:
        if value not in self.known:
            owner = value.owner
            assert isinstance(owner, Operation), "arguments of the body are known"
            operands = tuple(map(self._number, owner.operands))
            key = (type(owner), operands, frozenset(owner.properties.items()), value.type)
            self.known[value] = self.numbers.setdefault(key, len(self.numbers))
        return self.known[value]
