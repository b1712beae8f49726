"""How wide offsets into buffers must be."""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Attribute, SSAValue

from tilewright.dialects.index_expr import Bounds, Call, Expr, as_expr
from tilewright.dialects.th.types import is_memref
from tilewright.dialects.tk.domain import exprs_of
from tilewright.dialects.tk.kernels import FuncOp
from tilewright.dialects.types import bytes_of, element_type

LIMIT = 2**31 - 2**16
"""What is below fits in 32 bits: blocks may hang over the end by less than what is missing to 2**31."""


MOST = "tk.most"
"""Attribute of a `tk.func` of one axis, a symbol: neither that nor a buffer is larger than this."""


def known_space(func: FuncOp) -> tuple[Expr, ...]:
    """The sizes of the axes, or what they are at most where that is known."""
    most = func.attributes.get(MOST)
    return (as_expr(most.value.data),) if isinstance(most, IntegerAttr) else func.space


def index_bits(func: FuncOp) -> int:
    """32 where no buffer, axis or divided expression can reach 2**31."""
    counts = [count for arg in func.body.block.args for count in shape_of_buffer(arg)]
    extents = [-1 if size.constant is None else size.constant for size in func.space]
    known = MOST in func.attributes
    if not all(0 <= n < LIMIT or (n < 0 and known) for n in (*counts, *extents)):
        return 64
    bounds = Bounds(func.space)
    whole = all(_divides_small(e, bounds) for op in func.body.block.ops for e in exprs_of(op))
    return 32 if whole else 64


def _divides_small(expr: Expr, bounds: Bounds) -> bool:
    """Whether what `floordiv` and `mod` divide stays small, which the size of a buffer does not say."""
    for atom in expr.atoms():
        if not isinstance(atom, Call):
            continue
        upper = bounds.upper(atom.lhs)
        if upper is not None and (upper.constant is None or upper.constant >= LIMIT):
            return False
        if not _divides_small(atom.lhs, bounds) or not _divides_small(atom.rhs, bounds):
            return False
    return True


def is_small(buffer: SSAValue) -> bool:
    """Whether 31 bits count all bytes of a buffer, whatever the symbols are."""
    shape = shape_of_buffer(buffer)
    return min(shape, default=0) >= 0 and prod(shape) * bytes_of(element_type(buffer.type)) < 2**31


def shape_of_buffer(value: SSAValue) -> tuple[int, ...]:
    """The shape of a memref, -1 where it is not known."""
    type_: Attribute = value.type
    return type_.get_shape() if is_memref(type_) else ()
