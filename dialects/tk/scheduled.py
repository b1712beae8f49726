"""Executes a scheduled function as its loops say: the check that a schedule kept the meaning."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects import vector
from xdsl.dialects.builtin import VectorType
from xdsl.ir import Block, Operation, SSAValue

from ..arrays import Array
from ..index_expr import Expr, Var
from ..semantics import Machine
from ..types import element_type_of
from .access import IndexOp, LoadOp, LocalOp, StoreOp
from .calls import AssertOp
from .compute import ActiveOp
from .loops import ForOp, TailOp, YieldOp
from .memory import evaluate, failed, read, write
from .scope import lanes_of
from .semantics_scalar import run_reduction, run_scalar


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
        self.count: int | None = None
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
            case ActiveOp():
                return (self._active(op.result.type.get_shape()[0]),)
            case AssertOp():
                self._assert(op)
                return ()
            case vector.BroadcastOp():
                return (self._vector(self.values[op.source], lanes_of(op.vector.type)),)
            case vector.ReductionOp():
                return (run_reduction(op, self.values[op.vector], self.machine),)
            case _:
                args = [self.values[v] for v in op.operands]
                return (run_scalar(op, args, self.machine),)

    def _number(self, expr: Expr) -> int:
        return expr.evaluate(self.places)

    def _bind(self, op: ForOp | TailOp, carried: Sequence[Any], place: int) -> Sequence[Any]:
        self.places[Var("d", op.axis.value.data)] = place
        self.values.update(zip(op.body.block.args, carried, strict=True))
        return self.block(op.body.block)

    def _for(self, op: ForOp) -> Sequence[Any]:
        lower, upper = (self._number(e) for e in op.bounds)
        carried: Sequence[Any] = [self.values[v] for v in op.inits]
        places = range(lower, upper, op.step.value.data)
        for place in reversed(places) if op.parallel is not None else places:
            carried = self._bind(op, carried, place)
        self.places.pop(Var("d", op.axis.value.data), None)
        return carried

    def _tail(self, op: TailOp) -> Sequence[Any]:
        carried: Sequence[Any] = [self.values[v] for v in op.inits]
        count = self._number(op.count.exprs[0])
        if count <= 0:
            return carried
        outside, self.count = self.count, count
        carried = self._bind(op, carried, self._number(op.start.exprs[0]))
        self.count = outside
        self.places.pop(Var("d", op.axis.value.data), None)
        return carried

    def _vector(self, value: Array, lanes: int | None) -> Array:
        return self.machine.arrays.broadcast_to(value.reshape([1]), [lanes or 1])

    def _active(self, lanes: int) -> Array:
        return self.machine.arrays.arange(lanes) < (lanes if self.count is None else self.count)

    def _along(self, op: LoadOp | StoreOp | IndexOp, lanes: int | None) -> dict[Var, Any]:
        """The places, with lanes along the axis of the access."""
        if lanes is None or op.lanes is None:
            return self.places
        axis = Var("d", op.lanes.value.data)
        return {**self.places, axis: self.places[axis] + self.machine.arrays.arange(lanes)}

    def _index(self, op: IndexOp) -> Array:
        lanes = lanes_of(op.result.type)
        value = evaluate(op.expr, self._along(op, lanes), self.machine.xp)
        array = self.machine.arrays.asarray(value, self.machine.xp.int64)
        return array if lanes is None or array.shape else self._vector(array, lanes)

    def _groups(self, op: LoadOp, group: int) -> Array:
        """Every lane reads `group` neighbours: the first ones of all lanes, then the next."""
        arrays, lanes = self.machine.arrays, (lanes_of(op.result.type) or group) // group
        places = self._along(op, lanes)
        (start,) = (
            arrays.asarray(evaluate(e, places, self.machine.xp), self.machine.xp.int64) for e in op.subscripts
        )
        index = start.reshape([-1, 1]) + arrays.arange(group).reshape([1, -1])
        return self.values[op.buffer][index.reshape([-1])]

    def _access(self, op: LoadOp | StoreOp) -> Sequence[Any]:
        if isinstance(op, LoadOp) and op.group is not None:
            return (self._groups(op, op.group.value.data),)
        stored = op.value if isinstance(op, StoreOp) else op.result
        lanes = lanes_of(stored.type)
        places = {
            **self._along(op, lanes),
            **{Var("i", n): self.values[v] for n, v in enumerate(op.dynamic)},
        }
        active = self.machine.arrays.full([] if lanes is None else [lanes], True, self.machine.xp.bool_)
        if lanes is not None:
            active = self._active(lanes)
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
            holds = holds | ~self._active(holds.shape[0])
        if not bool(holds.all()) and self.failure is None:
            self.failure = failed(op, op.message.data)
