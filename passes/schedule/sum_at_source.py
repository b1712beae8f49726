"""Pass `sum-at-source`."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import OpResult
from xdsl.passes import ModulePass

from tilewright.dialects.index_expr import ONE, Var, as_expr
from tilewright.dialects.tk.access import LoadOp
from tilewright.dialects.tk.calls import AssertOp
from tilewright.dialects.tk.compute import ReduceOp
from tilewright.dialects.tk.contraction import find_contraction
from tilewright.dialects.tk.domain import Along, levels_of, reduced_axes
from tilewright.dialects.tk.kernels import KernelOp

from ..fusion.body import split_axis, store_to
from ..fusion.contents import Bodies
from ..fusion.match import Complete, Match, Undo, match
from ..fusion.merge import merge, users_to_sink
from ..rewrite import may_rewrite, skip, take_results
from .blocks import power_of_two
from .body import Body
from .partial_sums import reduced_in_parts

_PARTS = (64, 32, 16, 8, 4)
"""Rows of a part: powers of two, which blocks cover. With fewer rows sums cost as much as they save."""
_ROWS = _PARTS[0]
_HELD = 8192
"""Elements of the rows of a part where each row is reduced as well, and stays in registers for it."""
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
    then holds whole rows. `programs` is how many are wanted at least. All in a fixed order.
    """

    name = "sum-at-source"

    programs: int = 128
    max_inputs: int = 32

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.ops:
            if isinstance(function, FuncOp) and not function.is_declaration:
                for kernel in [k for k in function.body.block.ops if isinstance(k, KernelOp)]:
                    _Sum(kernel, self.programs, self.max_inputs).move()


@dataclass
class _Sum:
    kernel: KernelOp
    programs: int
    max_inputs: int
    bodies: Bodies = field(default_factory=Bodies)

    def move(self) -> None:
        """Into the first producer that takes it."""
        over = _summed_axes(self.kernel)
        if not over:
            return
        for value in list(self.kernel.operands):
            if not isinstance(value, OpResult) or not isinstance(value.op, KernelOp):
                continue
            why = self._into(value, over)
            if why is None:
                return
            skip(self.kernel, f"not summed where the rows are made: {why}", value)

    def _into(self, value: OpResult, over: tuple[int, ...]) -> str | None:
        """Sum where `value` is made; why not."""
        kernel, producer = self.kernel, value.op
        assert isinstance(producer, KernelOp)
        if len({*producer.operands, *kernel.operands}) > self.max_inputs:
            return "one kernel would read too many tensors"
        part = self._part(value, over)
        if part is None:
            return "no number of rows divides them into enough parts, which hold few enough"
        axis, rows = part
        split = kernel.clone()
        place = axis + split_axis(split, axis, as_expr(rows))
        parts, rest = reduced_in_parts(split, place)
        split.erase()
        block = kernel.parent
        assert block is not None
        block.insert_ops_before([parts, rest], kernel)
        undo: Undo = {}
        found = match(producer, parts, self.bodies, undo, _complete(parts, rest, place))
        sunk = found if isinstance(found, str) else users_to_sink(producer, parts)
        if isinstance(found, Match) and not isinstance(sunk, str) and may_rewrite(kernel, "summed in parts"):
            take_results(rest, kernel.results)
            block.erase_op(kernel)
            merge(producer, parts, self.bodies, found, sunk)
            return None
        for made in (rest, parts):
            block.erase_op(made)
        for restore in undo.values():
            restore()
        return sunk if isinstance(sunk, str) else "left alone"

    def _part(self, value: OpResult, over: tuple[int, ...]) -> tuple[int, int] | None:
        """Which summed axis is cut, and the rows of a part."""
        sizes = [size.constant for size in self.kernel.space]
        if None in sizes:
            return None
        known = [size for size in sizes if size is not None]
        rows = prod(known[a] for a in over)
        columns = prod(n for a, n in enumerate(known) if a not in over)
        held = _row_length(value)
        beside = max(1, columns // _COLUMNS) if held is None else 1
        most = min(_ROWS, rows * beside // self.programs, _ROWS if held is None else _HELD // held)
        for axis in reversed(over):
            part = next((n for n in _PARTS if n <= most and known[axis] % n == 0), None)
            if part is not None and part < rows:
                return axis, part
        return None


def _summed_axes(kernel: KernelOp) -> tuple[int, ...]:
    """The axes along which `kernel` sums columns and does nothing else; none where it is no such sum."""
    if find_contraction(kernel.body.block) is not None:
        return ()
    body = Body.of(kernel.body.block)
    reductions = [op for op in body.ops if reduced_axes(op)]
    if not reductions or not all(isinstance(op, ReduceOp) for op in reductions):
        return ()
    over = reductions[0].over if isinstance(reductions[0], ReduceOp) else ()
    if any(set(reduced_axes(op)) != set(over) for op in reductions):
        return ()
    if any(isinstance(op, LoadOp) and _is_along(op, over) for op in body.ops):
        return ()
    if any(isinstance(op, AssertOp | Along) or body.runs[op] & set(over) for op in body.sinks()):
        return ()
    if any(level > 1 for level in levels_of(kernel.body.block).values()):
        return ()
    return tuple(sorted(over))


def _is_along(load: LoadOp, axes: tuple[int, ...]) -> bool:
    """Whether neighbours in memory are loaded along one of the axes."""
    return bool(load.subscripts) and any(load.subscripts[-1].uses(Var("d", a)) for a in axes)


def _row_length(value: OpResult) -> int | None:
    """Elements that a program holds of each row, where the kernel that makes `value` reduces rows."""
    producer = value.op
    assert isinstance(producer, KernelOp)
    store = store_to(producer.destinations[value.index])
    if store is None or not store.subscripts:
        return None
    along = [a for a in range(len(producer.space)) if store.subscripts[-1].uses(Var("d", a))]
    found = [axes for op in producer.body.block.ops if not (axes := {*reduced_axes(op)}).isdisjoint(along)]
    lengths = [prod(power_of_two(producer.space[a].constant or _HELD) for a in axes) for axes in found]
    return max(lengths, default=None)


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
