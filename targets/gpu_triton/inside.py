"""Which values need no line of their own in Triton text, and are written inside of what reads them.

    %7 = tk.load %a[d0] lanes 0 : memref<1000xbf16> -> vector<128xbf16>
    %8 = arith.extf %7 : vector<128xbf16> to vector<128xf32>
    %9 = arith.subf %8, %m : vector<128xf32>
    %10 = arith.mulf %9, %r : vector<128xf32>

becomes

    v7 = tl.load(a0 + x0, mask=m0, other=0.0).to(tl.float32)
    v8 = (v7 - v5) * v6
"""

from __future__ import annotations

from xdsl.dialects import arith, vector
from xdsl.ir import Operation, SSAValue

from tilewright.dialects.tk.access import LoadOp, StoreOp
from tilewright.dialects.tk.arith import IndexCastOp
from tilewright.dialects.tk.calls import AssertOp
from tilewright.dialects.tk.loops import YieldOp
from tilewright.dialects.tk.sort import ArrangeOp
from tilewright.dialects.tk.tiles import MmaOp

from .spelling import dtype

WIDTH = 100
"""Columns of a line with something inside, at most."""
_LONGEST = 48
"""Columns of what is written inside of something, at most, but for loads."""
_MOVED = (
    StoreOp,
    arith.BitcastOp,
    arith.ExtFOp,
    arith.ExtSIOp,
    arith.ExtUIOp,
    arith.SIToFPOp,
    arith.TruncFOp,
    arith.UIToFPOp,
)
"""What may have a load inside."""


def writes_nothing(op: Operation) -> bool:
    """Whether the result has the text of the operand."""
    if isinstance(op, vector.BroadcastOp):
        return True
    return isinstance(op, IndexCastOp) and dtype(op.input.type) == dtype(op.result.type)


def read_once_by(value: SSAValue) -> Operation | None:
    """The op in whose text that of `value` stands, if there is only one, once."""
    while True:
        uses = list(value.uses)
        if len(uses) != 1:
            return None
        op = uses[0].operation
        if not writes_nothing(op):
            return op
        value = op.results[0]


def stays_inside(op: Operation, text: str) -> bool:
    """Whether the only result of `op` may be written inside of what reads it.

    Loads have lines of their own, widened or not, unless they are copied; products, unless they are added up.
    """
    reader = read_once_by(op.results[0])
    if reader is None or reader.parent is not op.parent or reader.regions:
        return False
    if isinstance(reader, AssertOp | ArrangeOp):  # write it more than once, or by its name
        return False
    if isinstance(reader, YieldOp):
        return len(reader.values) == 1
    if _brings(op):
        return isinstance(reader, _MOVED)
    return not isinstance(op, MmaOp) and len(text) <= _LONGEST


def _brings(op: Operation) -> bool:
    """Whether the line of `op` is that of a load."""
    if isinstance(op, _MOVED) and read_once_by(op.operands[0]) is op:
        source = op.operands[0].owner
        return isinstance(source, Operation) and _brings(source)
    return isinstance(op, LoadOp)
