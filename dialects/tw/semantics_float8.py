"""What the ops on floats of 8 bits compute."""

from __future__ import annotations

from xdsl.dialects.builtin import f32

from ..float8 import FORMATS, decoded, encoded
from ..semantics import Args, Machine, Results, semantics
from .float8 import DecodeFloat8Op, EncodeFloat8Op


@semantics(DecodeFloat8Op)
def run_decode(op: DecodeFloat8Op, args: Args, machine: Machine) -> Results:
    return (decoded(machine.arrays, args[0], FORMATS[op.type_], machine.arrays.dtype(f32)),)


@semantics(EncodeFloat8Op)
def run_encode(op: EncodeFloat8Op, args: Args, machine: Machine) -> Results:
    return (encoded(machine.arrays, args[0], FORMATS[op.type_], clamped=op.clamped is not None),)
