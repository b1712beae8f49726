"""What the lanes of a warp have to do at once: warps of any length are given enough, and not more of them."""

from __future__ import annotations

from tilewright.dialects.tk.access import LoadOp, StoreOp
from tilewright.dialects.tk.kernels import FuncOp
from tilewright.dialects.types import bytes_of, element_type

from ..blocks import power_of_two
from ..roles import contiguous_axis

AWAITED = 16384
"""Bytes on their way for each program that keeps half of a multiprocessor: what memory delivers to one while
the first of them are awaited, some 700 ns."""


def elements_of_lane(func: FuncOp) -> int:
    """How many neighbours a lane reads or writes by whole instructions of 16 bytes: 4 or, of halves, 8.

    (Of bytes too: 16 neighbours would be four instructions for each f32 beside them.)
    """
    accesses = [op for op in func.body.block.ops if isinstance(op, LoadOp | StoreOp)]
    found = [bytes_of(element_type(op.buffer.type)) for op in accesses if contiguous_axis(op) is not None]
    return 8 if min(found, default=4) <= 2 else 4


def filled_warps(elements: int, each: int, lanes: int, most: int) -> int:
    """How many warps have `each` elements for each of their lanes; at least one, at most `most`."""
    return power_of_two(max(1, min(most, elements // (each * lanes))))
