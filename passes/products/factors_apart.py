"""Factors of products that tiles would read element by element, and what that costs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from tilewright.dialects.tk.access import LoadOp
from tilewright.dialects.tk.contraction import FACTORS, find_contraction
from tilewright.dialects.tk.domain import Axes
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.dialects.types import sizes_of

from ..fusion.cost import MEMORY_BYTE_COST, count, extent
from ..fusion.repeats import size_in_bytes
from ..kernels.body import plain_axis
from ..kernels.dense_order import accessed
from ..memory.memory_order import layout_of

APART = 12
"""What it costs more to load an element by itself: its address, the load, to put it beside its neighbours."""
_VECTOR = 8
"""Halves of 16 bytes."""


@dataclass(frozen=True)
class Side:
    """A factor of a product, the axes of its rows, or columns, and of the sum; steps are in elements."""

    kernel: KernelOp
    load: LoadOp
    own: Axes
    over: Axes
    steps: Mapping[int, int]

    @property
    def tensor(self) -> SSAValue:
        return accessed(self.kernel, self.load)

    @property
    def places(self) -> tuple[int, ...] | None:
        """The axis of each dimension, if each has one, and all of it is read."""
        found = [axis for e in self.load.subscripts if (axis := plain_axis(e)) is not None]
        whole = tuple(self.kernel.space[axis] for axis in found) == sizes_of(self.tensor)
        return tuple(found) if whole and frozenset(found) == self.own | self.over else None

    @property
    def order(self) -> tuple[int, ...]:
        """Its axes as tiles walk them, slowest first."""
        return (*sorted(self.own), *sorted(self.over))

    @property
    def results(self) -> int:
        """Elements of the product."""
        space = self.kernel.space
        return count([space[axis] for axis in range(len(space)) if axis not in self.over])

    def loaded(self, tile: int) -> int:
        """What it costs more to load it as it lies, by each tile of the other factor."""
        space = self.kernel.space
        others = count([n for axis, n in enumerate(space) if axis not in self.own | self.over])
        return APART * count([space[axis] for axis in sorted(self.own | self.over)]) * -(-others // tile)

    @property
    def copied(self) -> float:
        """What a copy costs."""
        return inf if self.places is None else 2 * size_in_bytes(self.tensor) * MEMORY_BYTE_COST


def factors_apart(kernel: KernelOp) -> Iterator[Side]:
    """The factors of a product of halves whose tiles have no neighbours of memory beside each other."""
    product = find_contraction(kernel.body.block)
    if product is None or FACTORS not in product.reduce.attributes:
        return
    for factor, own in ((product.left, product.rows), (product.right, product.columns)):
        load = _loaded(factor)
        if load is None or (steps := _steps(kernel, load)) is None or steps.keys() != own | product.over:
            continue
        if not any(in_reach(kernel, sorted(side), steps) for side in (own, product.over)):
            yield Side(kernel, load, own, product.over, steps)


def _steps(kernel: KernelOp, load: LoadOp) -> dict[int, int] | None:
    """From one element to the next along each axis; None where that changes on the way, or with a symbol."""
    flat = layout_of(accessed(kernel, load)).flat(load.subscripts)
    steps = {var.index: flat.coefficient(var) for var in flat.variables() if var.kind == "d"}
    known = {axis: step.constant for axis, step in steps.items() if step and step.constant is not None}
    return known if len(known) == len(flat.variables()) else None


def in_reach(kernel: KernelOp, axes: Sequence[int], steps: Mapping[int, int]) -> bool:
    """Whether the elements of a tile along `axes`, the last one first, lie together by vectors."""
    run = 1
    for axis in reversed(axes):
        if (size := extent(kernel.space[axis])) > 1:
            if steps[axis] != run:
                break
            run *= size
    return run >= min(_VECTOR, count([kernel.space[axis] for axis in axes]))


def _loaded(factor: SSAValue) -> LoadOp | None:
    """The load that gives it, of halves that are widened."""
    widened = factor.owner
    load = widened.input.owner if isinstance(widened, arith.ExtFOp) else None
    return load if isinstance(load, LoadOp) and not load.dynamic and load.mask is None else None
