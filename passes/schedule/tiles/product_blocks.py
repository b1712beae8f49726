"""Blocks for matrix products: what one program computes, how deep it loops, in which order."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import prod

from tilewright.dialects.index_expr import Expr
from tilewright.dialects.tk.access import LoadOp
from tilewright.dialects.tk.contraction import Contraction
from tilewright.dialects.tk.domain import Axes
from tilewright.dialects.tk.kernels import FuncOp
from tilewright.dialects.types import bytes_of, element_type

from ...kernels.facts import Body
from ...kernels.running_sums import running_sums
from ...rewrite import skip
from ..blocks import Blocks, power_of_two
from ..cost import estimate, is_expensive
from .descriptors import decide_descriptors
from .factors import factor_types
from .lanes import filled_warps
from .lanes_needed import lanes_needed
from .limits import Limits
from .product_room import lies_in_columns, most_sides, ops_after, tiles_held
from .product_time import Work

_LARGEST = 128 * 256
"""Elements of a tile that 8 warps hold while they do nothing costly with them."""
_HALVED = 4
"""Tiles beside the sums that it has room for if each is of half of the columns, one half after the other."""
_MANY = 8
"""Tiles beside the sums that an eighth of it has room for, and no more of it."""
_LEAST, _NARROW = 16, 32
"""Matrix units take no smaller sides; tiles are not made smaller than that for more programs."""
_OF_GROUPS = 64
"""Rows that matrix units which read shared memory multiply at once: fewer are done by others, and slower."""
_LINE = 128
"""Bytes of a factor along the sum that one step takes, where it has as many."""
_ACCESS = 16
"""Bytes that a lane loads at once: warps beyond those that do so with the larger factor would load less."""
_LARGE = 64
"""Rows of a factor, with as many elements each, that is worth tiles of which the other one fills a part."""
_LOOPS = 2
"""Sums of one program, of which compilers hold all places to load from: with more, tiles of 64 columns have
twice the warps."""
_LEAST_BYTES = 64
"""Of factors of one byte, of which they take 32 along the sum, and `variants` halves this."""


def product_blocks(func: FuncOp, products: Sequence[Contraction], bits: int, limits: Limits) -> Blocks | None:
    """The blocks of matrix products of the same sides; None where one is too short for matrix units."""
    product = products[0]
    if any(len(axes) != 1 for p in products for axes in (p.rows, p.columns, p.over)):
        skip(func, "a matrix product without tiles: run flatten-axes first")
        return None
    (row,), (column,) = product.rows, product.columns
    depths = list(dict.fromkeys(axis for p in products for axis in p.over))
    types = [factor_types(p.reduce, p.left, p.right) for p in products]
    width = max(bytes_of(type_) for pair in types for type_ in pair)
    for depth in depths:
        sizes = [func.space[a].constant for a in (row, column, depth)]
        if (least := _least_sides(sizes, width)) > min(_LEAST if n is None else n for n in sizes):
            skip(func, f"a matrix product without tiles: of sizes {sizes}, one is below {least}")
            return None
    batches = [a for a in range(len(func.space)) if a not in (row, column, *depths)]
    sums = Counter(depth for p in products for depth in p.over)
    deep = {depth: _deep(func.space[depth], width, sums[depth]) for depth in depths}
    work = Work(
        rows=estimate(func.space[row]),
        columns=estimate(func.space[column]),
        depth=sum(estimate(func.space[depth]) for depth in depths),
        batches=prod(estimate(func.space[axis]) for axis in batches),
        width=width,
        brought=_brought(func, products, deep),
        deep=max(deep.values()),
        costly=sum(map(is_expensive, ops_after(func, {row, column}, depths))),
        sums=len(depths),
        cores=limits.cores,
        shared=limits.shared * 1024,
    )
    held = tiles_held(func, {row, column}, depths, limits) + 2 * (len(running_sums(products)) - 1)
    halvable = (
        limits.from_shared and held <= _HALVED and len(products) == 1 and lies_in_columns(func, product)
    )
    whole = _LARGEST >> (3 if held > _MANY else max(0, min(2, held - 1)))
    area = min(_LARGEST, 2 * whole) if halvable else whole

    def warps_of(rows: int, columns: int) -> int:
        most = 8 if rows * columns >= min(whole, 128 * 128) else 4
        return filled_warps(max(rows, columns) * max(deep.values()), _ACCESS // width, limits.lanes, most)

    tops = min(most_sides(p, pair, limits) for p, pair in zip(products, types, strict=True))
    narrow = _OF_GROUPS if limits.from_shared else _NARROW, _NARROW
    tiles = list(_tiles(product, work, narrow, tops))
    tiles = [tile for tile in tiles if prod(tile) <= area] or tiles[:1]
    rows, columns = min(tiles, key=lambda tile: (work.microseconds(*tile, warps_of(*tile)), tile))
    warps = warps_of(rows, columns)
    longer = _longer(func, products, work, deep, (rows, columns))
    if min((work, *longer), key=lambda w: w.microseconds(rows, columns, warps)) is not work:
        work, deep = longer[0], _doubled(deep)
    if limits.from_shared and len(depths) > _LOOPS and columns >= _OF_GROUPS:
        warps = min(8, 2 * warps)
    found = Blocks(
        (*((a, 1) for a in batches if a not in product.parts), *_grid(product, rows, columns), *deep.items()),
        len(batches) + 2,
        warps=warps,
        stages=work.stages(rows, columns),
        index=bits,
        swizzle=8,
        product="tf32" if limits.tf32 and width == 4 else "ieee",
        halves=halvable and rows * columns > whole,
        kind="product",
        varied=tuple(a for a in (row, column, *depths) if a not in product.tile),
    )
    single = limits.descriptors and len(products) == 1
    return decide_descriptors(func, product, found, untimed=limits.sums_apart) if single else found


def _doubled(deep: Mapping[int, int]) -> dict[int, int]:
    return {depth: 2 * size for depth, size in deep.items()}


def _longer(
    func: FuncOp, products: Sequence[Contraction], work: Work, deep: Mapping[int, int], tile: tuple[int, int]
) -> list[Work]:
    """Steps that are twice as long; none where a step has a line of the larger factor, where scales would not
    be one value for it any more, where too few steps would be left to wait for each other's loads, and where
    tiles are so large that registers have no room for what is computed on the way."""
    if min(tile) > _NARROW or not work.is_narrow:
        return []
    longer = replace(work, deep=2 * work.deep, brought=_brought(func, products, _doubled(deep)))
    left = work.depth // longer.deep > work.stages(*tile)
    return [longer] if longer.is_narrow and left else []


def _deep(size: Expr, width: int, sums: int) -> int:
    """How far a step goes along so many sums of this size, of factors of `width` bytes.

    Of numbers that were packed it takes two lines: each of their factors is computed.
    """
    least = _LEAST_BYTES if width == 1 else _LEAST
    most = max(least, 2 * _LINE // width // max(2, sums))
    return min(most, power_of_two(max(least, size.constant or _LINE)))


def _least_sides(sizes: list[int | None], width: int) -> int:
    """The least size of rows, columns and sum that is worth tiles, of factors of `width` bytes.

    Few rows of halves, of which tiles are mostly masked, are: the other factor, a large one, is read once.
    """
    rows, columns, depth = (_LARGE if n is None else n for n in sizes)
    large = max(rows, columns)
    few = width <= 2 and depth >= _LEAST // 2 and large >= _LARGE and large * depth >= _LARGE * _LARGE
    return 2 if few else _LEAST // 2


def _brought(func: FuncOp, products: Sequence[Contraction], deep: Mapping[int, int]) -> tuple[int, int]:
    """Bytes that are loaded for each element of the factors, of the product for which these are most.

    Of the axes of a sum what is one value for a step, as the scale of a group, is next to nothing.
    """
    loads = [op for op in func.body.block.ops if isinstance(op, LoadOp)]
    axes = lanes_needed(Body.of(func.body.block), deep, func.space)

    def of_side(product: Contraction, side: Axes) -> int:
        along = [
            op for op in loads if not axes[op].isdisjoint(product.over) and not axes[op].isdisjoint(side)
        ]
        return sum(bytes_of(element_type(op.buffer.type)) for op in along)

    pairs = [(of_side(p, p.rows), of_side(p, p.columns)) for p in products]
    return max(1, *(left for left, _ in pairs)), max(1, *(right for _, right in pairs))


def _tiles(
    product: Contraction, work: Work, narrow: tuple[int, int], tops: tuple[int, int]
) -> Iterator[tuple[int, int]]:
    """Rows and columns that a tile may have, the smallest first; of the side that it reduces, all that the
    kernel's axis has."""
    rows = _sides(work.rows, narrow[0], tops[0], whole=product.tile == product.rows)
    columns = _sides(work.columns, narrow[1], tops[1], whole=product.tile == product.columns)
    return itertools.product(rows, columns)


def _sides(size: int, narrow: int, top: int, *, whole: bool) -> Sequence[int]:
    if whole:
        return (power_of_two(size),)
    longest = power_of_two(max(_LEAST, size))
    sides = (1 << n for n in range(_LEAST.bit_length() - 1, _LARGEST.bit_length()))
    return [side for side in sides if min(narrow, longest) <= side <= min(top, longest)]


def _grid(product: Contraction, rows: int, columns: int) -> tuple[tuple[int, int], ...]:
    """The blocks of rows and columns; last the two axes of which there are many, for the grouped order."""
    (row,), (column,), parts = product.rows, product.columns, tuple((a, 1) for a in product.parts)
    if product.tile == product.columns:
        return (column, columns), (row, rows), *parts
    return (row, rows), *parts, (column, columns)
