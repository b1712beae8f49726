"""Blocks for chained products: the rows of one program, how many keys it takes at a time."""

from __future__ import annotations

from collections.abc import Mapping
from math import gcd

from xdsl.dialects.builtin import i1

from tilewright.dialects.index_expr import Expr
from tilewright.dialects.tk.compute import RandomOp
from tilewright.dialects.tk.contraction import FACTORS
from tilewright.dialects.tk.kernels import FuncOp

from ..rewrite import skip
from .blocks import Blocks, power_of_two
from .body import Body
from .chains import Chain, Factors
from .cost import is_expensive
from .lanes_needed import lanes_needed
from .listed import find_listing
from .live import live_bits
from .product_blocks import Limits

_LEAST = 16
"""Matrix units take no smaller sides."""
DEEPEST = 256
"""Elements that a program can hold of each of its rows, along an axis beside the chain."""
DEEPEST_GRAD = 128
"""The same where it holds two products and two sums: for gradients."""


_REGISTERS = 256
"""Of a lane: as many as instructions can name."""
_MOST_WARPS = 8
_TRUTHS = 64
"""Scalar registers for the truth values of a step, of 102: in warps of 64 lanes each takes a pair."""


def chain_blocks(func: FuncOp, chain: Chain, bits: int, limits: Limits) -> Blocks | None:
    """The blocks of chained products; None where a program cannot hold what it must."""
    held: dict[int, int] = {}
    for axis in chain.held:
        size = func.space[axis].constant
        if size is None or size > DEEPEST:
            skip(func, f"chained products without tiles: axis {axis} of size {func.space[axis]} is not held")
            return None
        held[axis] = power_of_two(max(_LEAST, size))
    half = all(FACTORS in f.reduce.attributes for f in _products(chain))
    rows, step = _sides(func, chain, held, half, limits.shared)
    listing = find_listing(func.body.block.ops, chain.along)
    lists = () if listing is None else ((listing.axis, 1),)
    if listing is not None:  # a block that is listed holds whole ones of rows and of steps
        rows, step = gcd(rows, *listing.rows(chain.row)), gcd(step, listing.size)
    warps = _warps(chain, rows * max(step, *held.values()), half, limits.lanes)
    if half:
        warps, step = _with_room(func, chain, held, (rows, step), warps, limits.lanes)
    if half and limits.lanes > 32:
        truths = 2 * _truths(func, {**held, **dict(lists), chain.row: rows, chain.along: step}, chain)
        while step > _LEAST and truths * rows * step > _TRUTHS * warps * limits.lanes:
            step //= 2
    batches = [a for a in range(len(func.space)) if a not in (chain.row, chain.along, *held, *dict(lists))]
    loaded = step * sum(held[f.axis] for f in _products(chain)) * (2 if half else 4)
    kept = rows * sum(held[f.axis] for f in chain.inner) * (2 if half else 4)
    return Blocks(
        (*((a, 1) for a in batches), (chain.row, rows), *held.items(), *lists, (chain.along, step)),
        len(batches) + 1,
        warps=warps,
        stages=max(1, min(2, (limits.shared * 1024 - kept) // loaded)) if half else 1,
        index=bits,
        product="tf32" if limits.tf32 and not half else "ieee",
        kind="chain",
        varied=() if lists else (chain.row, chain.along),
    )


def _products(chain: Chain) -> list[Factors]:
    return [*chain.inner, *(o.factors for o in chain.outer if o.factors is not None)]


def _sides(func: FuncOp, chain: Chain, held: dict[int, int], half: bool, shared: int) -> tuple[int, int]:
    """Rows, and steps along the chain: what sm_80, sm_90, sm_100 and gfx942 do without spilling registers."""
    widest, width = max(held.values()), 2 if half else 4
    outer = sum(held[o.factors.axis] for o in chain.outer if o.factors is not None)
    rows = 128 if outer <= 128 else 64
    if not half:  # no matrix unit: each thread holds what it multiplies
        rows = 32 if widest <= 128 and len(chain.inner) == 1 else 16
    step = _LEAST if len(chain.inner) > 1 and outer > 128 else 32
    crowded = bool(chain.sums) or (widest > 64 and _draws(func))
    if not half and widest >= 64 and (len(chain.inner) == 1 or crowded):
        step = _LEAST  # what a thread multiplies is as long as a head; beside it stand numbers, rows to sum
    while step > _LEAST and (rows + step) * sum(held.values()) * width > shared * 1024:
        step //= 2
    return _limited(rows, func.space[chain.row]), _limited(step, func.space[chain.along])


def _with_room(
    func: FuncOp, chain: Chain, held: dict[int, int], tile: tuple[int, int], warps: int, lanes: int
) -> tuple[int, int]:
    """More warps, or shorter steps, where sums and what is live of scores are more than registers hold."""
    live = live_bits(Body.of(func.body.block), frozenset((chain.row, chain.along)))
    sums = 32 * sum(held[o.factors.axis] for o in chain.outer if o.factors is not None)
    rows, step = tile
    while rows * (live * step + sums) > _REGISTERS * 32 * warps * lanes:
        if warps < _MOST_WARPS and warps * _LEAST < rows:
            warps *= 2
        elif step > _LEAST:
            step //= 2
        else:
            break
    return warps, step


def _truths(func: FuncOp, blocks: Mapping[int, int], chain: Chain) -> int:
    """How many truth values there are of each row and element of a step, what leads to a list's apart.

    A function that costs much asks for one more: it is computed by cases.
    """
    body = Body.of(func.body.block)
    needed = lanes_needed(body, blocks)
    single = {axis for axis, size in blocks.items() if size == 1}
    tests = [op for op in body.ops if any(result.type == i1 for result in op.results)]
    own = sum({chain.row, chain.along} <= needed[op] and single.isdisjoint(needed[op]) for op in tests)
    functions = [op for op in body.ops if op.name.startswith("math.") and is_expensive(op)]
    return own + sum(chain.along in needed[op] for op in functions)


def _draws(func: FuncOp) -> bool:
    return any(isinstance(op, RandomOp) for op in func.body.block.ops)


def _warps(chain: Chain, tile: int, half: bool, lanes: int) -> int:
    """More threads where each would hold too much of the largest tile, of f32 of several tiles at a time.

    Matrix units take their tiles by warps, whatever the lanes of one; f32 is loaded by 16 bytes of each lane.
    """
    if half:
        return _MOST_WARPS if tile >= 128 * 64 else 4
    most = 32 * 128 if len(chain.inner) == 1 else 16 * 64
    return max(4, 256 // lanes) if tile >= most else 4


def _limited(block: int, size: Expr) -> int:
    return block if size.constant is None else min(block, power_of_two(max(_LEAST, size.constant)))
