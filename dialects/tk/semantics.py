"""What kernels compute: unscheduled ones over the whole grid at once, scheduled ones loop by loop."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from math import inf
from typing import Any

from xdsl.dialects import arith
from xdsl.dialects.builtin import i32
from xdsl.ir import Block, Operation, SSAValue

from ..arrays import Array
from ..index_expr import Var
from ..semantics import Args, Machine, Results, semantics
from ..types import element_type, element_type_of, is_float, sizes_of_type
from .access import IndexOp, LoadOp, StoreOp
from .calls import AssertOp
from .compute import LOG_ADD_EXP, ArgReduceOp, ReduceOp, ScanOp
from .domain import axes_of_exprs
from .group import GroupOp
from .kernels import FuncOp, KernelOp
from .memory import evaluate, failed, loaded_dtype, read, visited, write
from .moments import MomentsOp
from .scheduled import run_scheduled
from .semantics_scalar import COMBINE, run_scalar
from .sort import SortOp, run_sort
from .sumexp import SumExpOp

_LAST = 2**63 - 1


class Grid:
    """Executes a body for all points of the iteration space at once.

    Every value is an array with one dimension per axis, of size 1 along the axes that
    the value does not vary over.
    """

    def __init__(self, sizes: Sequence[int], machine: Machine) -> None:
        self.sizes = sizes
        self.machine = machine
        self.rank = len(sizes)
        self.places: dict[Var, Any] = dict(machine.symbols)
        for axis, size in enumerate(sizes):
            shape = [1] * self.rank
            shape[axis] = size
            self.places[Var("d", axis)] = machine.arrays.arange(size).reshape(shape)

    def run(self, block: Block, values: dict[SSAValue, Any]) -> None:
        """Execute the ops; `values` holds the buffers by block argument."""
        failure: Exception | None = None
        for op in block.ops:
            args = [values[operand] for operand in op.operands]
            if isinstance(op, AssertOp):
                if not bool(args[0].all()) and failure is None and 0 not in self.sizes:
                    failure = failed(op, op.message.data)
                continue
            for result, value in zip(op.results, self._run(op, args), strict=True):
                values[result] = value
        if failure is not None:
            raise failure

    def _run(self, op: Operation, args: list[Any]) -> Sequence[Any]:
        arrays = self.machine.arrays
        match op:
            case LoadOp():
                return (self._load(op, args),)
            case StoreOp():
                self._store(op, args)
                return ()
            case IndexOp():
                value = evaluate(op.expr, self.places, self.machine.xp)
                dtype = self.machine.xp.int32 if op.result.type == i32 else self.machine.xp.int64
                return (self._full_rank(arrays.asarray(value, dtype)),)
            case ReduceOp():
                return (self._reduce(op, args[0]),)
            case ArgReduceOp():
                return self._arg_reduce(op, *args)
            case MomentsOp() | SumExpOp():
                return self._join_groups(op, args)
            case ScanOp():
                return (self._scan(op, *args),)
            case SortOp():
                return run_sort(op, self._spread(args[0], (op.along,)), op.along, arrays)
            case arith.ConstantOp():
                return (self._full_rank(run_scalar(op, args, self.machine)),)
            case _:
                return (run_scalar(op, args, self.machine),)

    def _full_rank(self, value: Array) -> Array:
        return value.reshape([1] * self.rank) if len(value.shape) != self.rank else value

    def _with_dynamic(self, dynamic: Sequence[Array]) -> dict[Var, Any]:
        return {**self.places, **{Var("i", n): value for n, value in enumerate(dynamic)}}

    def _points(self, axes: Collection[int], operands: Sequence[Array]) -> list[int]:
        """The shape of all points that an access visits."""
        shape = [self.sizes[a] if a in axes else 1 for a in range(self.rank)]
        for operand in operands:
            shape = [max(n, m) if m != 1 else n for n, m in zip(shape, operand.shape, strict=True)]
        return shape

    def _active(self, points: Sequence[int], mask: Array | None) -> Array:
        everywhere = self.machine.arrays.full(points, True, self.machine.xp.bool)
        return everywhere if mask is None else everywhere & mask

    def _load(self, op: LoadOp, args: list[Any]) -> Array:
        count = len(op.dynamic)
        dynamic, rest = args[1 : 1 + count], args[1 + count :]
        points = self._points(axes_of_exprs(op.map.exprs), [*dynamic, *rest])
        if not rest and 0 not in points:
            view = visited(op, args[0], points, self.machine)
            if view is not None:
                with self.machine.quiet():
                    return view.astype(loaded_dtype(op, self.machine), order="C")
        mask, other = (rest[0], rest[1]) if rest else (None, None)
        active = self._active(points, mask)
        return read(op, args[0], self._with_dynamic(dynamic), active, other, self.machine)

    def _store(self, op: StoreOp, args: list[Any]) -> None:
        count = len(op.dynamic)
        dynamic, mask = args[2 : 2 + count], args[2 + count : 2 + count + (op.mask is not None)]
        points = self._points(axes_of_exprs(op.map.exprs).union(op.over), [args[0], *dynamic, *mask])
        if not mask and op.combine is None and 0 not in points:
            view = visited(op, args[1], points, self.machine)
            if view is not None and all(n == 1 or step for n, step in zip(points, view.strides, strict=True)):
                view[...] = self.machine.arrays.cast(args[0], args[1].dtype)
                return
        active = self._active(points, mask[0] if mask else None)
        write(op, args[1], self._with_dynamic(dynamic), active, args[0], self.machine)

    def _spread(self, value: Array, axes: Sequence[int]) -> Array:
        """`value` with its full size along `axes`."""
        shape = [self.sizes[a] if a in axes else n for a, n in enumerate(value.shape)]
        return self.machine.arrays.broadcast_to(value, shape)

    def _reduce(self, op: ReduceOp, value: Array) -> Array:
        arrays, kind = self.machine.arrays, op.kind.data
        value = self._spread(value, op.over)
        kept = [1 if a in op.over else n for a, n in enumerate(value.shape)]
        count = 1
        for axis in op.over:
            count *= self.sizes[axis]
        if count == 0:
            return arrays.full(kept, _identity(op), value.dtype)
        if kind in ("add", "mul", "max", "min"):
            name = {"add": "sum", "mul": "prod", "max": "amax", "min": "amin"}[kind]
            with self.machine.quiet():
                return arrays.reduce(name, value, op.over).reshape(kept)
        for axis in op.over:
            parts = [self._at(value, axis, i) for i in range(self.sizes[axis])]
            value = parts[0]
            for part in parts[1:]:
                value = COMBINE[kind](self.machine, value, part)
        return value

    def _at(self, value: Array, axis: int, i: int) -> Array:
        return value[(slice(None),) * axis + (slice(i, i + 1),)]

    def _arg_reduce(self, op: ArgReduceOp, value: Array, index: Array) -> Sequence[Array]:
        xp, arrays = self.machine.xp, self.machine.arrays
        value, index = self._spread(value, op.over), self._spread(index, op.over)
        kept = [1 if a in op.over else n for a, n in enumerate(value.shape)]
        if 0 in [self.sizes[a] for a in op.over]:
            return arrays.full(kept, _identity(op), value.dtype), arrays.full(kept, _LAST, xp.int64)
        best = arrays.reduce("amax" if op.kind.data == "max" else "amin", value, op.over).reshape(kept)
        match = (value == best) | (value != value)
        places = xp.where(match, index, arrays.asarray(_LAST, xp.int64))
        return best, arrays.reduce("amin", places, op.over).reshape(
            [1 if a in op.over else n for a, n in enumerate(places.shape)]
        )

    def _join_groups(self, op: MomentsOp | SumExpOp, args: Sequence[Array]) -> Sequence[Array]:
        arrays = self.machine.arrays
        shape = [max(sizes) if 0 not in sizes else 0 for sizes in zip(*(a.shape for a in args), strict=True)]
        shape = [self.sizes[a] if a in op.over else n for a, n in enumerate(shape)]
        kept = [1 if a in op.over else n for a, n in enumerate(shape)]
        parts = [arrays.broadcast_to(value, shape) for value in args]

        def over(kind: str, value: Array) -> Array:
            return arrays.reduce(kind, value, op.over).reshape(kept)

        with self.machine.quiet():
            if isinstance(op, MomentsOp):
                return self._moments(parts, over)
            if 0 in [self.sizes[a] for a in op.over]:
                return arrays.full(kept, -inf, args[0].dtype), arrays.full(kept, 0.0, args[1].dtype)
            return self._sum_exp(parts, over)

    def _moments(self, parts: Sequence[Array], over: Callable[[str, Array], Array]) -> Sequence[Array]:
        """The mean of all first, then deviations from it, which correct both: the most exact order."""
        xp, (means, squares, counts) = self.machine.xp, parts
        count = over("sum", counts)
        number = xp.where(count == 0, xp.ones_like(count), count)
        mean = over("sum", means * counts) / number
        apart = means - mean
        left = over("sum", counts * apart)
        inside = over("sum", squares + counts * apart * apart) - left * left / number
        return mean + left / number, xp.where(inside < 0, xp.zeros_like(inside), inside), count

    def _sum_exp(self, parts: Sequence[Array], over: Callable[[str, Array], Array]) -> Sequence[Array]:
        """The largest of all first, then the sums relative to it."""
        xp, (largest, sums) = self.machine.xp, parts
        best = over("amax", largest)
        return best, over("sum", xp.where(largest == best, sums, sums * xp.exp(largest - best)))

    def _scan(self, op: ScanOp, value: Array, *factors: Array) -> Array:
        if factors:
            return self._linear(op.along, value, *factors)
        value = self._spread(value, (op.along,))
        parts: list[Array] = []
        for i in range(self.sizes[op.along]):
            part = self._at(value, op.along, i)
            before = parts[-1] if parts else self.machine.arrays.full(part.shape, _identity(op), part.dtype)
            parts.append(COMBINE[op.kind.data](self.machine, before, part))
        return self.machine.arrays.concat(parts, op.along) if parts else value

    def _linear(self, axis: int, value: Array, factor: Array) -> Array:
        value, factor = (self._spread(v, (axis,)) for v in (value, factor))
        parts: list[Array] = []
        with self.machine.quiet():
            for i in range(self.sizes[axis]):
                part, times = self._at(value, axis, i), self._at(factor, axis, i)
                parts.append(times * (parts[-1] if parts else 0) + part)
        return self.machine.arrays.concat(parts, axis) if parts else value


def _identity(op: ReduceOp | ArgReduceOp | ScanOp) -> float | int:
    element = element_type(op.operands[0].type)
    kind = op.kind.data
    if kind in ("max", "min", LOG_ADD_EXP) and is_float(element):
        return inf if kind == "min" else -inf
    bits = {"i64": 64, "i32": 32}.get(str(element), 1)
    extreme = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if bits > 1 else (0, 1)
    return {"add": 0, "mul": 1, "and": 1 if bits == 1 else -1, "or": 0, "max": extreme[0], "min": extreme[1]}[
        kind
    ]


@semantics(KernelOp)
def run_kernel(op: KernelOp, args: Args, machine: Machine) -> Results:
    """A kernel on arrays; elements that nothing stores to stay zero."""
    outputs = [
        machine.arrays.full(
            machine.sizes(sizes_of_type(result.type)), 0, machine.arrays.dtype(element_type_of(result))
        )
        for result in op.results
    ]
    block = op.body.block
    values: dict[SSAValue, Any] = dict(zip(block.args, [*args, *outputs], strict=True))
    Grid(machine.sizes(op.space), machine).run(block, values)
    return outputs


def run_func(func: FuncOp, buffers: Sequence[Array], symbols: Mapping[Var, int], machine: Machine) -> None:
    """Launch a function, scheduled or not, on flat arrays, which it writes to."""
    machine = Machine(machine.arrays, symbols=dict(symbols))
    values: dict[SSAValue, Any] = dict(zip(func.body.block.args, buffers, strict=True))
    if func.scheduled is not None:
        run_scheduled(func.body.block, values, machine)
    else:
        Grid(machine.sizes(func.space), machine).run(func.body.block, values)


def run_group(
    group: GroupOp,
    functions: Mapping[str, FuncOp | GroupOp],
    buffers: Sequence[Array],
    symbols: Mapping[Var, int],
    machine: Machine,
) -> None:
    """Launch the parts of a group, the last one first, to show that order is free."""
    values: dict[SSAValue, Array] = dict(zip(group.body.block.args, buffers, strict=True))
    for part in reversed(group.parts):
        function = functions[part.kernel.string_value()]
        assert isinstance(function, FuncOp), "parts are functions"
        found = [e.evaluate(symbols) for e in part.symbol_values]
        own = {var: n for e, n in zip(function.symbols.exprs, found, strict=True) for var in e.variables()}
        run_func(function, [values[v] for v in part.arguments], own, machine)
