"""Blocks for chained products: the rows of one program, how many keys it takes at a time."""

from __future__ import annotations

from collections.abc import Mapping
from math import gcd, inf

from xdsl.dialects.builtin import i1

from tilewright.dialects.index_expr import Expr
from tilewright.dialects.tk.access import LoadOp
from tilewright.dialects.tk.domain import axes_of_exprs
from tilewright.dialects.tk.kernels import FuncOp

from ...kernels.chains import Chain
from ...kernels.facts import Body
from ...kernels.listed import find_listing
from ...rewrite import skip
from ..blocks import Blocks, power_of_two
from ..cost import estimate, is_expensive
from .chain_memory import MOST_STAGES, in_shared, stages_in_shared
from .chain_room import ChainRoom, columns, draws, widest
from .lanes_needed import lanes_needed
from .limits import Limits

LEAST = 16
"""Matrix units take no smaller sides."""
DEEPEST = 256
"""Elements that a program can hold of each of its rows, along an axis beside the chain."""
DEEPEST_GRAD = 128
"""The same for gradients of what a library knows as attention, where f32 has two products and two sums."""
PROGRAMS = 128
"""So many keep a GPU busy."""
_BEFORE = 64
"""Rows of a program, as far as one can say before there are blocks: with more, it has twice the warps."""

_TILES = ((128, 64), (128, 32), (64, 64), (64, 32), (64, 16), (32, 32), (32, 16), (16, 16))
"""Rows, and how far a step goes: of halves, the best first."""
_OF_GROUPS = ((128, 128), *_TILES)
"""The same where four warps multiply 64 rows at once, with sums in registers. Where what is held of each row
is short, and no factor is computed, programs of 64 rows are better, of which a multiprocessor has several."""
_SHORT = 64
_TOGETHER = 3
"""So many programs of a multiprocessor, with all their stages."""
_MOST_WARPS = 8
_VECTORS = 4
"""Vectors along the chain where warps have 64 lanes: gradients of attention have two, a mask is one more."""
_TRUTHS = 64
"""Scalar registers for the truth values of a step, of 102: in warps of 64 lanes each takes a pair."""


def keep_busy(batches: int, rows: Expr) -> bool:
    """Whether a chain has enough programs for a GPU, with so many batches of `rows`."""
    return batches * -(-estimate(rows) // _BEFORE) >= PROGRAMS


def chain_blocks(func: FuncOp, chain: Chain, bits: int, limits: Limits) -> Blocks | None:
    """The blocks of chained products; None where a program cannot hold what it must."""
    held: dict[int, int] = {}
    for axis in chain.held:
        size = func.space[axis].constant
        if size is None or size > DEEPEST:
            skip(func, f"chained products without tiles: axis {axis} of size {func.space[axis]} is not held")
            return None
        held[axis] = power_of_two(max(LEAST, size))
    half = chain.multiplies_halves
    rows, step = (_of_halves if half else _of_floats)(func, chain, held, limits)
    listing = find_listing(func.body.block.ops, chain.along)
    lists = () if listing is None else ((listing.axis, 1),)
    if listing is not None:  # a block that is listed holds whole ones of rows and of steps
        rows, step = gcd(rows, *listing.rows(chain.row)), gcd(step, listing.size)
    largest = rows * max(step, widest(chain, held))
    warps = _warps_of_halves(largest) if half else _warps_of_floats(largest, chain, limits.lanes)
    if half and limits.lanes > 32:
        truths = 2 * _truths(func, {**held, **dict(lists), chain.row: rows, chain.along: step}, chain)
        while step > LEAST and truths * rows * step > _TRUTHS * warps * limits.lanes:
            step //= 2
    loops = (*((a, 1) for a in chain.around), *lists, (chain.along, step))
    inside = {chain.row, *held, *dict(loops)}
    batches = [a for a in range(len(func.space)) if a not in inside]
    return Blocks(
        (*((a, 1) for a in batches), (chain.row, rows), *held.items(), *loops),
        len(batches) + 1,
        warps=warps,
        stages=stages_in_shared(func, chain, held, (rows, step), limits) if half else 1,
        index=bits,
        product="tf32" if limits.tf32 and not half else "ieee",
        kind="chain",
        varied=() if lists else (chain.row, chain.along),
    )


def _of_halves(func: FuncOp, chain: Chain, held: dict[int, int], limits: Limits) -> tuple[int, int]:
    """Rows, and a step along the chain: the largest tile of scores that has room.

    What is done once per row, or once per step, is then shared by more.
    """
    sizes = func.space[chain.row], func.space[chain.along]
    wide, outer, side = limits.lanes > 32, columns(chain, held), widest(chain, held)
    registers = ChainRoom(func, chain, held, limits)
    rows = step = LEAST
    short = limits.of_groups and not registers.computed and side <= _SHORT
    tiles = [t for t in _OF_GROUPS if not short or t[0] <= _SHORT] if limits.of_groups else _TILES
    for tile in tiles:
        if wide and tile[1] > LEAST and _loads_crowd(func, chain, held, *tile, limits.shared):
            continue
        rows, step = (_limited(n, size) for n, size in zip(tile, sizes, strict=True))
        lanes = _warps_of_halves(rows * max(step, side)) * limits.lanes
        # two sums of more than 128 columns each: products of 64 rows and two groups of warps take more
        crowded = outer > DEEPEST and (step > LEAST or (draws(func) and rows > 32))
        programs, stages = (_TOGETHER, MOST_STAGES) if short else (1, 2)
        shared = programs * in_shared(func, chain, held, (rows, step), stages, limits)
        if registers.taken(rows, step, lanes) <= registers.room and not crowded and shared <= _shared(limits):
            break
    return rows, step


def _loads_crowd(
    func: FuncOp, chain: Chain, held: Mapping[int, int], rows: int, step: int, shared: int
) -> bool:
    """Whether a step of more than 16 takes too many registers where loads do not wait in shared memory.

    Each lane has 16 of a vector along the chain then, as matrix units spread them.
    """
    outer = columns(chain, held)
    several = len(chain.scores) > 1 and outer > 128
    vectors = len(_vectors(func, chain, held)) > _VECTORS
    return step > 32 or several or vectors or 2 * (rows + step) * sum(held.values()) > shared * 1024


def _vectors(func: FuncOp, chain: Chain, held: Mapping[int, int]) -> list[LoadOp]:
    """What is loaded for each step, for all rows alike."""
    loads = [op for op in func.body.block.ops if isinstance(op, LoadOp)]
    axes = {op: axes_of_exprs(op.subscripts) for op in loads}
    return [op for op, used in axes.items() if chain.along in used and used.isdisjoint({chain.row, *held})]


def _warps_of_halves(largest: int) -> int:
    return _MOST_WARPS if largest >= 128 * 64 else 4


def _shared(limits: Limits) -> float:
    """Bytes of shared memory, where loads wait for their turn there."""
    return limits.shared * 1024 if limits.lanes == 32 else inf


def _of_floats(func: FuncOp, chain: Chain, held: dict[int, int], limits: Limits) -> tuple[int, int]:
    """The same of f32, for which there is no matrix unit: each thread holds what it multiplies."""
    side, alone = widest(chain, held), len(chain.scores) == 1
    rows = 32 if side <= 128 and alone else 16
    outer = columns(chain, held)
    step = 32 if alone or outer <= 128 else LEAST
    if side > 64 or (side == 64 and (alone or chain.sums)):
        step = LEAST  # what a thread multiplies is as long as a head; beside it stand numbers, rows to sum
    while step > LEAST and (rows + step) * sum(held.values()) * 4 > limits.shared * 1024:
        step //= 2
    return _limited(rows, func.space[chain.row]), _limited(step, func.space[chain.along])


def _warps_of_floats(largest: int, chain: Chain, lanes: int) -> int:
    """More threads where each would hold too much of the largest tile; whatever the lanes of a warp."""
    most = 32 * 128 if len(chain.scores) == 1 else 16 * 64
    return max(4, 256 // lanes) if largest >= most else 4


def _truths(func: FuncOp, blocks: Mapping[int, int], chain: Chain) -> int:
    """How many truth values there are of each row and element of a step, what leads to a list's apart.

    A function that costs much asks for one more: it is computed by cases.
    """
    body = Body.of(func.body.block)
    needed = lanes_needed(body, blocks, func.space)
    single = {axis for axis, size in blocks.items() if size == 1}
    tests = [op for op in body.ops if any(result.type == i1 for result in op.results)]
    own = sum({chain.row, chain.along} <= needed[op] and single.isdisjoint(needed[op]) for op in tests)
    functions = [op for op in body.ops if op.name.startswith("math.") and is_expensive(op)]
    return own + sum(chain.along in needed[op] for op in functions)


def _limited(block: int, size: Expr) -> int:
    return block if size.constant is None else min(block, power_of_two(max(LEAST, size.constant)))
