"""Pass `sum-at-source`."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import OpResult
from xdsl.passes import ModulePass

from tilewright.dialects.index_expr import ONE, as_expr
from tilewright.dialects.ir_access import defined_functions
from tilewright.dialects.tk.domain import reduced_axes
from tilewright.dialects.tk.kernels import KernelOp

from ..fusion.body import remember_axes, split_axis, store_to
from ..fusion.contents import Bodies
from ..fusion.match import Complete, Match, Undo, match
from ..fusion.merge import merge, users_to_sink
from ..rewrite import may_rewrite, skip, take_results
from .column_sums import HELD, row_length, summed_axes
from .partial_sums import reduced_in_parts
from .same_rows import later_of, readers_of_rows, walk_as_it_lies

_PARTS = (64, 32, 16, 8, 4)
"""Rows of a part: powers of two, which blocks cover. With fewer rows sums cost as much as they save."""
_ROWS = _PARTS[0]
_COLUMNS = 64
"""Columns of one program where rows are not reduced."""


@dataclass(frozen=True)
class SumAtSourcePass(ModulePass):
    """Sum columns in the kernel that makes the rows, in parts; a second kernel adds up the parts.

    Before:
        %y = tk.kernel [1024, 768] ins(%x : ...) -> (tensor<1024x768xf32>) {... tk.store %v, %o[d0, d1] ...}
        %s = tk.kernel [1024, 768] ins(%y : ...) -> (tensor<768xf32>) {... tk.reduce add %0 over [0] ...}
    After:
        %y, %p = tk.kernel [16, 64, 768] ins(%x : ...) -> (tensor<1024x768xf32>, tensor<16x768xf32>)
            {... tk.store %v, %o[d0*64 + d1, d2] ... tk.reduce add %v over [1] ...}
        %s = tk.kernel [16, 768] ins(%p : ...) -> (tensor<768xf32>) {... tk.reduce add %0 over [0] ...}

    So are gradients of biases, and of the weights of norms, whose kernels reduce each row as well: a program
    then holds whole rows. Rows that no kernel makes are summed by one that reads them, too. `programs` is how
    many are wanted at least. All in a fixed order.
    """

    name = "sum-at-source"

    programs: int = 128
    max_inputs: int = 32

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in defined_functions(op):
            for kernel in [k for k in function.body.block.ops if isinstance(k, KernelOp)]:
                if kernel.parent is not None:  # else it is part of another by now
                    _Sum(kernel, self.programs, self.max_inputs).move()


@dataclass
class _Sum:
    kernel: KernelOp
    programs: int
    max_inputs: int
    bodies: Bodies = field(default_factory=Bodies)

    def move(self) -> None:
        """Into the first producer that takes it."""
        over = summed_axes(self.kernel)
        if not over:
            return
        for value in list(self.kernel.operands):
            if not isinstance(value, OpResult) or not isinstance(value.op, KernelOp):
                continue
            why = self._into(value, over)
            if why is None:
                return
            skip(self.kernel, f"not summed where the rows are made: {why}", value)
        self._where_read()

    def _where_read(self) -> None:
        """Into the first kernel that takes it of those that read the same rows."""
        restore = walk_as_it_lies(self.kernel)
        self.bodies.changed(self.kernel)
        over = summed_axes(self.kernel)
        for reader, where in readers_of_rows(self.kernel):
            why = self._in_parts(reader, row_length(reader, where), over, made=False)
            if why is None:
                return
            skip(self.kernel, f"not summed where the rows are read: {why}", reader.results[0])
        if restore is not None:
            restore()

    def _into(self, value: OpResult, over: tuple[int, ...]) -> str | None:
        """Sum where `value` is made; why not."""
        producer = value.op
        assert isinstance(producer, KernelOp)
        store = store_to(producer.destinations[value.index])
        held = None if store is None else row_length(producer, store.subscripts)
        return self._in_parts(producer, held, over, made=True)

    def _in_parts(
        self, producer: KernelOp, held: int | None, over: tuple[int, ...], *, made: bool
    ) -> str | None:
        """Sum in the kernel that makes the rows, or reads them as well; why not."""
        kernel = self.kernel
        if len({*producer.operands, *kernel.operands}) > self.max_inputs:
            return "one kernel would read too many tensors"
        part = self._part(held, over)
        if part is None:
            return "no number of rows divides them into enough parts, which hold few enough"
        axis, rows = part
        split = kernel.clone()
        place = axis + split_axis(split, axis, as_expr(rows))
        parts, rest = reduced_in_parts(split, place)
        split.erase()
        block = kernel.parent
        assert block is not None
        block.insert_ops_before([parts, rest], later_of(kernel, producer))
        undo: Undo = {}
        complete = _complete(parts, rest, place)
        if made:
            found = match(producer, parts, self.bodies, undo, complete)
        else:
            found = self._alike(producer, parts, (axis, rows), undo, complete)
        sunk = found if isinstance(found, str) else users_to_sink(producer, parts)
        if isinstance(found, Match) and not isinstance(sunk, str) and may_rewrite(kernel, "summed in parts"):
            take_results(rest, kernel.results)
            block.erase_op(kernel)
            merge(producer, parts, self.bodies, found, sunk)
            return None
        for unused in (rest, parts):
            block.erase_op(unused)
        for changed, restore in undo.items():
            restore()
            self.bodies.changed(changed)
        return sunk if isinstance(sunk, str) else "left alone"

    def _alike(
        self, reader: KernelOp, parts: KernelOp, part: tuple[int, int], undo: Undo, complete: Complete
    ) -> Match | str:
        """Let `reader` walk the same parts, if it does not yet."""
        axis, rows = part
        if reader.space == self.kernel.space:
            undo[reader] = remember_axes(reader)
            if not split_axis(reader, axis, as_expr(rows)):
                return "its axis cannot be split"
            self.bodies.changed(reader)
        if reader.space != parts.space:
            return "it walks other parts"
        self.bodies.of(parts)  # `merge` adds up what is known of both
        return complete(reader, parts, self.bodies, {a: a for a in range(len(reader.space))})

    def _part(self, held: int | None, over: tuple[int, ...]) -> tuple[int, int] | None:
        """Which summed axis is cut, and the rows of a part; a program holds so many elements of each."""
        sizes = [size.constant for size in self.kernel.space]
        if None in sizes:
            return None
        known = [size for size in sizes if size is not None]
        rows = prod(known[a] for a in over)
        columns = prod(n for a, n in enumerate(known) if a not in over)
        beside = max(1, columns // _COLUMNS) if held is None else 1
        most = min(_ROWS, rows * beside // self.programs, _ROWS if held is None else HELD // held)
        for axis in reversed(over):
            part = next((n for n in _PARTS if n <= most and known[axis] % n == 0), None)
            if part is not None and part < rows:
                return axis, part
        return None


def _complete(parts: KernelOp, rest: KernelOp, place: int) -> Complete:
    """The producer has no axes of its own but of size 1, and reduces rows, or the rows of the same parts."""
    rank = len(parts.space)
    kept = [a for a in range(rank) if a != place]
    summed = {place, *(kept[a] for op in rest.body.block.ops for a in reduced_axes(op))}

    def complete(producer: KernelOp, consumer: KernelOp, bodies: Bodies, axes: dict[int, int]) -> Match | str:
        if len(consumer.space) != rank:
            return "their axes do not line up"
        own = [a for a in range(len(producer.space)) if a not in axes]
        if any(producer.space[a] != ONE for a in own):
            return "one of its axes is not read"
        axes |= {a: rank + i for i, a in enumerate(own)}
        of_p = bodies.of(producer)
        if of_p.scans or of_p.sorts or any(op.scatters for op in of_p.stores):
            return "it scans or scatters"
        for over in of_p.over:
            mapped = {axes[a] for a in over}
            if mapped != {place} and not mapped.isdisjoint(summed):
                return "it reduces along what is summed"
        return Match(axes, (*consumer.space, *(ONE for _ in own)), frozenset((place,)))

    return complete
