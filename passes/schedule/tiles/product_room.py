"""What wants registers beside the sums of a matrix product: what is read and computed after them."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import f32
from xdsl.ir import Attribute, Operation

from tilewright.dialects.tk.access import LoadOp
from tilewright.dialects.tk.compute import RandomOp
from tilewright.dialects.tk.contraction import Contraction
from tilewright.dialects.tk.domain import domains_of
from tilewright.dialects.tk.kernels import FuncOp
from tilewright.dialects.tk.moments import MomentsOp
from tilewright.dialects.types import bytes_of, element_type, is_float8, is_half

from ...kernels.facts import Body
from ..cost import is_expensive
from .factors import is_loaded
from .limits import Limits

_WIDE = 144
"""KiB that three stages of a 128 x 256 tile of halves take."""


def tiles_held(func: FuncOp, tile: set[int], depths: Sequence[int], limits: Limits) -> int:
    """Tiles that are read after the sum, and twice the costly functions: what wants registers, too.

    Random numbers are the costliest, where registers also hold factors. A tile of sums that comes from
    elsewhere comes as one more. What is read of more than halves is as large as the sums: two tiles.
    Deviations from a mean want the tile until the mean is known.
    """
    after = ops_after(func, tile, depths)
    held = sum(2 if is_expensive(op) else isinstance(op, LoadOp) for op in after)
    held += sum(isinstance(op, RandomOp) for op in after) if not limits.from_shared else 0
    if any(isinstance(op, LoadOp) and bytes_of(element_type(op.buffer.type)) > 2 for op in after):
        held = max(held, 2)
    held += any(isinstance(op, MomentsOp) for op in func.body.block.ops)
    return held + 1 if held and limits.sums_apart else held


def lies_in_columns(func: FuncOp, product: Contraction) -> bool:
    """Whether all that is stored lies along the columns, nothing is reduced along them, and no random
    numbers are made: registers have no room for these beside the other half."""
    body = Body.of(func.body.block)
    (column,) = product.columns
    reduced = any(not axes.isdisjoint(product.rows | product.columns) for axes in body.over.values())
    draws = any(isinstance(op, RandomOp) for op in body.ops)
    return (
        not reduced and not draws and not product.tile and all(column in body.runs[op] for op in body.sinks())
    )


def ops_after(func: FuncOp, tile: set[int], depths: Sequence[int]) -> list[Operation]:
    """What is read or computed of each element of a tile, once its sums are known."""
    domains = domains_of(func.body.block)
    of_tile = [op for op in func.body.block.ops if op.results and tile <= domains[op.results[0]]]
    return [op for op in of_tile if domains[op.results[0]].isdisjoint(depths)]


def most_sides(product: Contraction, types: tuple[Attribute, Attribute], limits: Limits) -> tuple[int, int]:
    """The most rows and columns of a tile.

    Registers have no room for the sums of a wide one beside bytes, or what is computed, on the way to a
    matrix unit that takes factors from them, nor beside the sums of one step of 8-bit floats.
    """
    if f32 in types:
        return 64, 64
    loaded = all(
        is_half(t) and is_loaded(v, t) for v, t in zip((product.left, product.right), types, strict=True)
    )
    room = loaded or (limits.from_shared and not any(map(is_float8, types)))
    return 128, 256 if room and limits.shared >= _WIDE else 128
