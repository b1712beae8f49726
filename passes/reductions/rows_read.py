"""What is made with the result of a reduction, element by element, and which slices of that are read."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, field

from xdsl.ir import Operation, OpResult, SSAValue

from tilewright.dialects.index_expr import ONE, ZERO, Expr, Var, dim
from tilewright.dialects.ir_access import ops_of
from tilewright.dialects.tk.access import LoadOp, StoreOp
from tilewright.dialects.tk.compute import ReduceOp
from tilewright.dialects.tk.contraction import find_contraction
from tilewright.dialects.tk.domain import REDUCTIONS_AND_SCANS, axes_of_exprs
from tilewright.dialects.tk.kernels import KernelOp

from ..fusion.stored_turned import loads_read
from ..kernels.body import one_store_to

_MOST_SLICES = 4
_SHORTEST = 8
"""Elements of a slice: fewer are no vector."""


@dataclass(frozen=True)
class Slice:
    """What one load reads of a row: `count` elements, `step` apart, from `start` on."""

    load: LoadOp
    value: OpResult
    axis: int
    """Along which its kernel walks the slice."""
    count: int
    step: int
    start: int


@dataclass
class RowsRead:
    """Kernels that make elements of rows, each of `length`, with what a reduction of rows gives."""

    length: int
    most: int
    """Kernels that make them."""
    whole: Container[KernelOp] = ()
    """Reductions that are known to read whole rows."""
    along: dict[SSAValue, int | None] = field(default_factory=lambda: dict[SSAValue, int | None]())
    """Which dimension of a tensor is the row; None of what is one number for each row."""
    walked: dict[KernelOp, int] = field(default_factory=lambda: dict[KernelOp, int]())
    """Kernels that make whole rows, and the axis that does."""
    reducers: dict[KernelOp, int] = field(default_factory=lambda: dict[KernelOp, int]())
    """Kernels that reduce whole rows of what is made, as a variance does behind a mean, and the axis."""
    slices: list[Slice] = field(default_factory=lambda: list[Slice]())

    def follow(self, results: Sequence[SSAValue]) -> str | None:
        """Find all that is made with `results`; why the first that is read otherwise than by slices is.

        Nothing is followed further then, and not too far: behind a norm of a long graph may be all of it.
        """
        self.along.update(dict.fromkeys(results))
        todo = list(results)
        for value in todo:
            for reader in dict.fromkeys(use.operation for use in value.uses):
                found = self._made(value, reader)
                if isinstance(found, str):
                    return found
                todo += found
            if len(self.walked) > self.most:
                return f"more than {self.most} kernels make rows with it"
        whole = self.walked.keys() | self.reducers.keys()
        if any(slice_.load.parent_op() in whole for slice_ in self.slices):
            return "one kernel reads whole rows and slices"
        return None

    def _made(self, value: SSAValue, reader: Operation) -> list[SSAValue] | str:
        """What `reader` makes of `value` that was not known yet, or why that is no way to read it."""
        more = isinstance(reader, KernelOp) and _does_more(reader)
        if not isinstance(reader, KernelOp) or (more and self._reads_whole(reader)):
            return [] if self.along[value] is None else f"{reader.name} reads whole rows"
        axis = self._axis(value, reader)
        if isinstance(axis, str):
            return axis
        if more:
            return self._reduced(value, reader, axis)
        if axis is not None and axis != _SLICES and self.walked.setdefault(reader, axis) != axis:
            return "rows are read along several axes"
        new: list[SSAValue] = []
        for result in reader.results if axis != _SLICES else ():
            made = None if axis is None else _stored_along(reader, result, axis)
            if made == _OTHERWISE:
                return f"{reader.name} stores rows in another order"
            if result not in self.along or (made is not None and self.along[result] is None):
                self.along[result] = made
                new.append(result)
        return new

    def _reads_whole(self, kernel: KernelOp) -> bool:
        """Of a kernel that does more than to make elements."""
        return kernel in self.whole or reduced_axis(kernel) is None

    def _reduced(self, value: SSAValue, reader: KernelOp, axis: int | None) -> list[SSAValue] | str:
        """What a reduction of rows gives, one number for each; what reduces slices is read by slices."""
        if axis == _SLICES or (axis is None and self.along[value] is None):
            return []
        if axis is None or axis != reduced_axis(reader):
            return f"{reader.name} reads whole rows"
        self.reducers[reader] = axis
        new: list[SSAValue] = [result for result in reader.results if result not in self.along]
        self.along.update(dict.fromkeys(new))
        return new

    def places(self, axis: int) -> list[Expr] | None:
        """The element of each slice at a point of `axis`, if slices are equal parts of a row."""
        kinds = {(s.count, s.step) for s in self.slices}
        if len(kinds) != 1:
            return None
        ((count, step),) = kinds
        parts = self.length // count
        apart = count if step == 1 else 1
        starts = sorted({s.start for s in self.slices})
        if parts > _MOST_SLICES or starts != [i * apart for i in range(parts)]:
            return None
        return [dim(axis) * step + start for start in starts]

    def read_by_reducers(self) -> None:
        """Note the slices that reductions of rows read, which are folded."""
        for reducer, axis in self.reducers.items():
            for value in dict.fromkeys(reducer.operands):
                if self.along.get(value) is not None:
                    reads = [self._read(value, load, reducer) for load in loads_read(value, reducer)]
                    assert set(reads) == {_SLICES}, f"{reducer.name} reads rows along axis {axis} otherwise"

    def _axis(self, value: SSAValue, reader: KernelOp) -> int | str | None:
        """The axis of `reader` that walks rows; None where it has none, `_SLICES` where slices are read."""
        found = {self._read(value, load, reader) for load in loads_read(value, reader)}
        if len(found) != 1:
            return "rows are read along several axes"
        (axis,) = found
        if axis == _OTHERWISE:
            return "elements of rows are read in another order"
        return axis

    def _read(self, value: SSAValue, load: LoadOp, reader: KernelOp) -> int | None:
        row, single = self.along[value], {Var("d", a): ZERO for a, n in enumerate(reader.space) if n == ONE}
        subscripts = [e.substitute(single) for e in load.subscripts]
        if row is None:
            free = set(range(len(reader.space))) - axes_of_exprs(subscripts)
            spread = [a for a in free if reader.space[a] != ONE]
            if all(reader.space[a].constant != self.length for a in spread):
                return _SLICES if spread else None
            return spread[0] if len(spread) == 1 else _OTHERWISE
        others = [e for d, e in enumerate(subscripts) if d != row]
        axes = axes_of_exprs((subscripts[row],))
        if len(axes) != 1 or not axes.isdisjoint(axes_of_exprs(others)):
            return _OTHERWISE
        (axis,) = axes
        count = reader.space[axis].constant
        if count == self.length:
            return axis if subscripts[row] == dim(axis) else _OTHERWISE
        if count is None or count < _SHORTEST or self.length % count:
            return _OTHERWISE
        for step in (1, self.length // count):
            start = (subscripts[row] - dim(axis) * step).constant
            if start is not None:
                assert isinstance(value, OpResult)
                self.slices.append(Slice(load, value, axis, count, step, start))
                return _SLICES
        return _OTHERWISE


_SLICES, _OTHERWISE = -1, -2
"""What is read of rows: no whole ones, or none in the order that is looked for."""


def _does_more(kernel: KernelOp) -> bool:
    """Whether a kernel does not compute each element from others at its own place alone."""
    ops = ops_of(kernel.body.block)
    scatters = any(isinstance(op, StoreOp) and (op.dynamic or op.combine is not None) for op in ops)
    gathers = any(isinstance(op, LoadOp) and op.dynamic for op in ops)
    return scatters or gathers or any(type(op) in REDUCTIONS_AND_SCANS for op in ops)


def _stored_along(kernel: KernelOp, result: OpResult, axis: int) -> int:
    """The dimension of a result that an axis of its kernel walks."""
    store = one_store_to(kernel.destinations[result.index])
    subscripts = () if store is None else store.subscripts
    found = [d for d, e in enumerate(subscripts) if axis in axes_of_exprs((e,))]
    return found[0] if len(found) == 1 and subscripts[found[0]] == dim(axis) else _OTHERWISE


def reduced_axis(kernel: KernelOp) -> int | None:
    """The one axis that a kernel reduces, once, if it stores nothing along it."""
    ops = ops_of(kernel.body.block)
    over = [op for op in ops if type(op) in REDUCTIONS_AND_SCANS]
    if len(over) != 1 or not isinstance(over[0], ReduceOp) or len(over[0].over) != 1:
        return None
    (axis,) = over[0].over
    stores = [op for op in ops if isinstance(op, StoreOp)]
    plain = all(not s.dynamic and axis not in axes_of_exprs(s.subscripts) for s in stores)
    return axis if plain and find_contraction(kernel.body.block) is None else None
