"""Executes a scheduled function as its loops say: the check that a schedule kept the meaning."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects import vector
from xdsl.dialects.builtin import VectorType, i32
from xdsl.ir import Block, Operation, SSAValue

from ..arrays import Array
from ..index_expr import Expr, Var
from ..semantics import Machine
from ..types import element_type, element_type_of
from .access import IndexOp, LoadOp, LocalOp, StoreOp
from .calls import AssertOp
from .compute import ActiveOp
from .halve import HalveOp, run_halve
from .interleave import DeinterleaveOp, InterleaveOp, run_deinterleave, run_interleave
from .lanes import axes_of_lanes, group_of
from .loops import ForOp, TailOp, YieldOp
from .memory import evaluate, failed, read, write
from .scope import shape_of_lanes
from .semantics_scalar import run_reduction, run_scalar
from .share import ShareOp
from .sort import ArrangeOp, OrderOp, run_sort
from .tile_semantics import run_tile_op
from .tiles import CollapseOp, CumulateOp, MmaOp
from .transpose import TransposeOp
from .turn import TurnOp, run_turn


def run_scheduled(block: Block, values: dict[SSAValue, Any], machine: Machine) -> None:
    """Execute a body; iterations of parallel loops run backwards, to show that order is free."""
    run = _Run(values, machine)
    run.block(block)
    if run.failure is not None:
        raise run.failure


class _Run:
    def __init__(self, values: dict[SSAValue, Any], machine: Machine) -> None:
        self.values = values
        self.machine = machine
        self.places: dict[Var, Any] = dict(machine.symbols)
        self.tails: dict[int, int] = {}
        """How many lanes are active in the tails around, by axis."""
        self.limits: dict[int, int] = {}
        """Upper bounds of the masked loops around, by axis."""
        self.failure: Exception | None = None

    def block(self, block: Block) -> Sequence[Any]:
        """Execute the ops; gives what is yielded."""
        for op in block.ops:
            if isinstance(op, YieldOp):
                return [self.values[v] for v in op.operands]
            for result, value in zip(op.results, self._run(op), strict=True):
                self.values[result] = value
        return ()

    def _run(self, op: Operation) -> Sequence[Any]:
        match op:
            case ForOp():
                return self._for(op)
            case TailOp():
                return self._tail(op)
            case LoadOp() | StoreOp():
                return self._access(op)
            case IndexOp():
                return (self._index(op),)
            case LocalOp():
                dtype = self.machine.arrays.dtype(element_type_of(op.result))
                return (self.machine.arrays.full([self._number(op.size.exprs[0])], 0, dtype),)
            case TurnOp():
                run_turn(op, self.values[op.source], self.values[op.target], self.places, self.machine)
                return ()
            case ArrangeOp():
                return run_sort(op, self.values[op.value], op.dim.value.data, self.machine.arrays)
            case OrderOp():
                self._order(op)
                return ()
            case AssertOp():
                self._assert(op)
                return ()
            case _:
                return self._values(op)

    def _values(self, op: Operation) -> Sequence[Any]:
        """The results of an op that only computes."""
        if isinstance(op, HalveOp):
            return run_halve(self.values[op.value])
        if isinstance(op, DeinterleaveOp):
            return run_deinterleave(self.values[op.value])
        return (self._value(op),)

    def _value(self, op: Operation) -> Array:
        """The result of an op that has one."""
        args = [self.values[v] for v in op.operands]
        match op:
            case ActiveOp():
                return self._active(axes_of_lanes(op), op.result.type.get_shape())
            case vector.BroadcastOp():
                return self._vector(args[0], op.vector.type.get_shape())
            case vector.ReductionOp():
                return run_reduction(op, args[0], self.machine)
            case ShareOp():
                return args[0]
            case TransposeOp():
                return args[0].T
            case InterleaveOp():
                return run_interleave(args[0], args[1], self.machine.arrays)
            case CollapseOp() | CumulateOp() | MmaOp():
                return run_tile_op(op, args, self.machine)
            case _:
                return run_scalar(op, args, self.machine)

    def _order(self, op: OrderOp) -> None:
        values, positions = self.values[op.values], self.values[op.positions]
        count = self._number(op.count.exprs[0])
        values[:count], positions[:count] = run_sort(op, values[:count], 0, self.machine.arrays)

    def _number(self, expr: Expr) -> int:
        return expr.evaluate(self.places)

    def _bind(self, op: ForOp | TailOp, carried: Sequence[Any], place: int) -> Sequence[Any]:
        self.places[Var("d", op.axis.value.data)] = place
        self.values.update(zip(op.body.block.args, carried, strict=True))
        return self.block(op.body.block)

    def _for(self, op: ForOp) -> Sequence[Any]:
        given = {Var("i", k): int(self.values[v]) for k, v in enumerate(op.dynamic)}
        lower, upper = (e.evaluate({**self.places, **given}) for e in op.bounds)
        carried: Sequence[Any] = [self.values[v] for v in op.inits]
        step = op.step.value.data
        places = range(lower, lower + step if op.once is not None else upper, step)
        around, limits = dict(self.places), dict(self.limits)  # a loop around may be along the same axis
        if op.masked is not None:
            self.limits[op.axis.value.data] = upper
        for place in reversed(places) if op.parallel is not None else places:
            carried = self._bind(op, carried, place)
        self.places, self.limits = around, limits
        return carried

    def _tail(self, op: TailOp) -> Sequence[Any]:
        carried: Sequence[Any] = [self.values[v] for v in op.inits]
        count = self._number(op.count.exprs[0])
        if count <= 0:
            return carried
        self.tails[op.axis.value.data] = count
        carried = self._bind(op, carried, self._number(op.start.exprs[0]))
        del self.tails[op.axis.value.data]
        self.places.pop(Var("d", op.axis.value.data), None)
        return carried

    def _vector(self, value: Array, shape: Sequence[int]) -> Array:
        if not value.shape:
            value = value.reshape([1] * len(shape))
        return self.machine.arrays.broadcast_to(value, shape)

    def _steps(self, dim: int, shape: Sequence[int], group: int = 1) -> Array:
        """0, 1, ... along one dimension of a tile, of whose rows `group` elements are at one place each."""
        ones = [n if i == dim else 1 for i, n in enumerate(shape)]
        each = group if dim == len(shape) - 1 else 1
        return self.machine.arrays.arange(shape[dim]).reshape(ones) // each

    def _active(self, axes: Sequence[int], shape: Sequence[int], group: int = 1) -> Array:
        """The lanes that are not cut off by a tail or by the limit of a masked loop."""
        active = self.machine.arrays.full(shape, True, self.machine.xp.bool)
        count = self.tails.get(axes[0]) if axes else next(reversed(self.tails.values()), None)
        if count is not None and len(shape) == 1:
            active = self.machine.arrays.arange(shape[0]) < count
        for dim, axis in enumerate(axes):
            if axis in self.limits:
                place = self.places[Var("d", axis)]
                active = active & (self._steps(dim, shape, group) + place < self.limits[axis])
        return active

    def _along(self, op: LoadOp | StoreOp | IndexOp, shape: Sequence[int], group: int = 1) -> dict[Var, Any]:
        """The places, with lanes along the axes of the access, `group` elements each."""
        axes = axes_of_lanes(op)
        if not axes or not shape:
            return self.places
        moved = {Var("d", axis): dim for dim, axis in enumerate(axes) if shape[dim] > 1}
        return {
            **self.places,
            **{axis: self.places[axis] + self._steps(dim, shape, group) for axis, dim in moved.items()},
        }

    def _index(self, op: IndexOp) -> Array:
        shape = shape_of_lanes(op.result.type)
        value = evaluate(op.expr, self._along(op, shape), self.machine.xp)
        dtype = self.machine.xp.int32 if element_type(op.result.type) == i32 else self.machine.xp.int64
        array = self.machine.arrays.asarray(value, dtype)
        return self._vector(array, shape) if shape else array

    def _access(self, op: LoadOp | StoreOp) -> Sequence[Any]:
        group = group_of(op)
        stored = op.value if isinstance(op, StoreOp) else op.result
        shape = shape_of_lanes(stored.type)
        places = {
            **self._along(op, shape, group),
            **{Var("i", n): self.values[v] for n, v in enumerate(op.dynamic)},
        }
        active = self._active(axes_of_lanes(op), shape, group)
        if op.mask is not None:
            active = active & self.values[op.mask]
        buffer = self.values[op.buffer]
        if isinstance(op, StoreOp):
            write(op, buffer, places, active, self.values[op.value], self.machine)
            return ()
        other = self.values[op.other] if op.other is not None else None
        return (read(op, buffer, places, active, other, self.machine),)

    def _assert(self, op: AssertOp) -> None:
        holds = self.values[op.condition]
        if isinstance(op.condition.type, VectorType):
            holds = holds | ~self._active((), holds.shape)
        if not bool(holds.all()) and self.failure is None:
            self.failure = failed(op, op.message.data)
