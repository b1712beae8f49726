"""What reading bits as other numbers gives."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import f32, f64, i32, i64
from xdsl.ir import Attribute

from ..semantics import Args, Machine, Results, semantics
from ..types import element_type_of
from .bits import BitcastOp

_NAMES: Mapping[Attribute, str] = {f32: "float32", i32: "int32", f64: "float64", i64: "int64"}


@semantics(BitcastOp)
def run_bitcast(op: BitcastOp, args: Args, machine: Machine) -> Results:
    source, target = element_type_of(op.operand), element_type_of(op.result)
    bits = machine.arrays.cast(args[0], getattr(machine.xp, _NAMES[source]))
    return (machine.arrays.store(bits.view(getattr(machine.xp, _NAMES[target])), target),)
