"""Which values are zero in inactive lanes as they are, so that sums need no mask."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType
from xdsl.ir import SSAValue

from tilewright.dialects.tk.access import LoadOp

from ...kernels.facts import Body

_KEEP_ZERO = (arith.ExtFOp, arith.TruncFOp, arith.SIToFPOp, arith.ExtSIOp, arith.ExtUIOp, arith.NegfOp)
_ALL_ZERO = (arith.MulfOp, arith.MuliOp, arith.AddfOp, arith.AddiOp, arith.SubfOp, arith.SubiOp)


def is_zero_when_inactive(value: SSAValue, axes: frozenset[int], body: Body) -> bool:
    """Whether `value` is (plus or minus) zero wherever a lane of any of `axes` is inactive.

    Loads give zero there; a value that does not vary over an axis may be anything.
    """
    op = value.owner
    if not axes <= body.domains.get(value, frozenset()):
        return False
    if isinstance(op, LoadOp):
        return op.mask is None
    if isinstance(op, arith.BitcastOp):  # of -0.0 the bits are not zero
        integer = isinstance(op.input.type, IntegerType)
        return integer and is_zero_when_inactive(op.input, axes, body)
    if isinstance(op, _KEEP_ZERO):
        return is_zero_when_inactive(op.operands[0], axes, body)
    return isinstance(op, _ALL_ZERO) and all(is_zero_when_inactive(v, axes, body) for v in op.operands)
