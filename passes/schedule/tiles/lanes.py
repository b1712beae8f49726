"""What the lanes of a warp have to do at once: warps of any length are given enough, and not more of them."""

from __future__ import annotations

from math import prod

from tilewright.dialects.tk.access import LoadOp, StoreOp
from tilewright.dialects.tk.domain import Axes
from tilewright.dialects.tk.kernels import FuncOp
from tilewright.dialects.types import bytes_of, element_type

from ...kernels.facts import Body
from ..blocks import block_sizes, power_of_two
from ..live import ROOM_OF_FEW, is_scattered, live_bits
from ..neighbours import neighbours_of
from ..roles import contiguous_axis

AWAITED = 16384
"""Bytes on their way for each program that keeps half of a multiprocessor: what memory delivers to one while
the first of them are awaited, some 700 ns."""
_MOVED = 16
"""Bytes of an instruction."""
_ELEMENTS, _LOADS = 8, 256
"""The most elements that a lane has, and loads of these that leave it registers: it has 255 of them."""


def elements_of_lane(func: FuncOp) -> int:
    """How many neighbours a lane reads or writes by whole instructions of 16 bytes: 4 or, of halves, 8.

    (Of bytes too: 16 neighbours would be four instructions for each f32 beside them.) Of groups of neighbours
    what `_groups_of_lane` says.
    """
    if (groups := _groups_of_lane(func)) is not None:
        return groups
    accesses = [op for op in func.body.block.ops if isinstance(op, LoadOp | StoreOp)]
    found = [bytes_of(element_type(op.buffer.type)) for op in accesses if contiguous_axis(op) is not None]
    return 8 if min(found, default=4) <= 2 else 4


def _groups_of_lane(func: FuncOp) -> int | None:
    """As many groups of neighbours as one instruction of the widest access moves; None where there are none.

    With more, that access has several instructions where another one has one, and between them Triton has
    elements of lanes change places through shared memory.
    """
    sizes = [
        bytes_of(element_type(found.ops[0].buffer.type)) * len(found.ops) for found in neighbours_of(func)
    ]
    return max(1, _MOVED // max(sizes)) if sizes else None


def most_of_lane(func: FuncOp) -> int:
    """The most elements that a lane has, of which all loads are on their way at once: compilers put them
    first."""
    if (groups := _groups_of_lane(func)) is not None:
        return groups
    loads = sum(isinstance(op, LoadOp) for op in func.body.block.ops)
    return power_of_two(max(1, min(_ELEMENTS, _LOADS // max(1, loads))))


def most_scattered(func: FuncOp, axes: Axes) -> int:
    """The most elements along `axes` that a lane has, where each of them is a load of its own: compilers put
    those first of rows, too."""
    loads = sum(isinstance(op, LoadOp) and is_scattered(op, axes) for op in func.body.block.ops)
    most = min(_ELEMENTS, _LOADS // max(1, loads))
    return power_of_two(most // 2 + 1) if most else 1


def least_warps(func: FuncOp, lanes: int) -> int:
    """The least warps whose registers have room for what a function with its blocks keeps."""
    sizes = block_sizes(func)
    held, axes = prod(sizes.values()), frozenset(axis for axis, size in sizes.items() if size > 1)
    room = ROOM_OF_FEW // max(1, live_bits(Body.of(func.body.block), axes))
    if (most := most_scattered(func, axes)) < _ELEMENTS:
        room = min(room, most)
    return filled_warps(held, max(1, room), lanes, most=held)


def filled_warps(elements: int, each: int, lanes: int, most: int) -> int:
    """How many warps have `each` elements for each of their lanes; at least one, at most `most`."""
    return power_of_two(max(1, min(most, elements // (each * lanes))))
