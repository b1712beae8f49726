"""`th.control`: the functions of the plan are run as the plan is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from ..arrays import Array
from ..control_flow import Function, run_control
from ..semantics import FUNCTIONS, Args, Machine, Results, semantics
from .control_flow import ControlOp
from .run import run_plan_function
from .semantics import as_stated
from .types import element_of_handle, exprs_of


@semantics(ControlOp)
def run_control_op(op: ControlOp, args: Args, machine: Machine) -> Results:
    inside = replace(machine, observe=None)  # what is observed is one value per op
    numbers = machine.sizes(op.symbol_values)

    def function(name: str) -> Function:
        called = machine.state[FUNCTIONS][name]
        return lambda given: run_plan_function(called, [*given, *numbers], inside)

    operands = [arg.array(machine.xp) for arg in args]
    calls = [function(name) for name in op.function_names]
    arrays = run_control(op.kind.data, calls, operands, *op.counts, partial(_stack, op, machine))
    return as_stated(op, arrays, machine)


def _stack(op: ControlOp, machine: Machine, index: int, rows: Sequence[Array]) -> Array:
    if rows:
        return machine.xp.stack(tuple(rows))
    sizes = machine.sizes(exprs_of(op.name, "sizes", op.sizes.data[index]))
    return machine.arrays.full(sizes, 0, machine.arrays.dtype(element_of_handle(op.outs[index].type)))
