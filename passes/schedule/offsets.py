"""How wide offsets into buffers must be."""

from __future__ import annotations

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.hints import isa

from tilewright.dialects.tk.kernels import FuncOp


def index_bits(func: FuncOp) -> int:
    """32 where every buffer is known to have less than 2**31 elements."""
    counts = [count for arg in func.body.block.args for count in shape_of_buffer(arg)]
    extents = [-1 if size.constant is None else size.constant for size in func.space]
    return 32 if all(0 <= n < 2**31 - 2**16 for n in (*counts, *extents)) else 64


def shape_of_buffer(value: SSAValue) -> tuple[int, ...]:
    """The shape of a memref, -1 where it is not known."""
    type_: Attribute = value.type
    return type_.get_shape() if isa(type_, MemRefType[Attribute]) else ()
