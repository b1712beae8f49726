"""What reading bits as other numbers gives."""

from __future__ import annotations

from ..semantics import Args, Machine, Results, semantics
from ..types import element_type_of
from .bits import BitcastOp


@semantics(BitcastOp)
def run_bitcast(op: BitcastOp, args: Args, machine: Machine) -> Results:
    source, target = element_type_of(op.operand), element_type_of(op.result)
    return (machine.arrays.store(machine.arrays.reinterpreted(args[0], source, target), target),)
