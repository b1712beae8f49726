"""`tw.cond`, `tw.while` and `tw.scan`: their functions are run by the interpreter that met them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from ..arrays import Array
from ..control_flow import Function, run_control
from ..interpreter import run_function
from ..semantics import FUNCTIONS, Args, Machine, Results, semantics
from ..types import element_type_of, sizes_of
from .control_flow import CondOp, ControlOp, ScanOp, WhileOp


@semantics(CondOp, WhileOp, ScanOp)
def run_control_op(op: ControlOp, args: Args, machine: Machine) -> Results:
    inside = replace(machine, observe=None)  # what is observed is one value per op
    numbers = machine.sizes(op.symbol_values)

    def function(name: str) -> Function:
        return lambda given: run_function(machine.state[FUNCTIONS][name], [*given, *numbers], inside)

    calls = [function(name.string_value()) for name in op.functions]
    counts = (op.carried, op.scanned, len(op.outputs))
    return run_control(op.KIND, calls, args, *counts, partial(_stack, op, machine))


def _stack(op: ControlOp, machine: Machine, index: int, rows: Sequence[Array]) -> Array:
    if rows:
        return machine.xp.stack(tuple(rows))
    result: Any = op.outputs[index]
    sizes = machine.sizes(sizes_of(result))
    return machine.arrays.full(sizes, 0, machine.arrays.dtype(element_type_of(result)))
