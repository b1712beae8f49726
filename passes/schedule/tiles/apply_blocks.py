"""Makes the blocks of one function explicit: what `apply-schedule` does where `schedule-gpu` decided."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.dialects.tk.domain import Axes
from tilewright.dialects.tk.kernels import FuncOp

from ...kernels.chains import find_chain
from ...kernels.facts import Body
from ..blocks import Blocks
from ..work import Work
from ..writer import Scope
from .chain_writer import ChainWriter
from .product_writer import ProductWriter
from .tile_nest import TileNest, held_axes
from .tile_writer import TileWriter


def tile_writer(func: FuncOp, blocks: Blocks, body: Body) -> TileWriter:
    """What writes the ops of `func` on tiles."""
    return TileWriter(blocks, func.space, body, sorted(a for a, n in blocks.sizes if n > 1))


def apply_blocks(func: FuncOp, writer: TileWriter, body: Body, scope: Scope, work: Sequence[Work]) -> None:
    """Write `work` into `scope`."""
    blocks = writer.blocks
    if blocks.product is not None and (chain := find_chain(func.body.block)) is not None:
        ChainWriter(chain, blocks, writer).write(scope)
        return
    if blocks.product is not None:
        ProductWriter(func, blocks, writer, body).write(scope)
        return
    bound = frozenset(a for a, _ in blocks.sizes[: blocks.grid]) | frozenset(held_axes(blocks, func.space))
    TileNest(func.space, blocks, writer, without(body, bound)).function(scope, work)


def without(body: Body, axes: Axes) -> Body:
    """What is left to loop over where `axes` are bound as a whole."""
    return Body(
        body.ops,
        body.position,
        {op: found - axes for op, found in body.runs.items()},
        {value: found - axes for value, found in body.domains.items()},
        {op: found - axes for op, found in body.over.items()},
    )
