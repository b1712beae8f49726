"""Blocks for matrix products: what one program computes, how deep it loops, in which order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import f32
from xdsl.ir import Attribute

from tilewright.dialects.index_expr import Expr
from tilewright.dialects.tk.access import LoadOp
from tilewright.dialects.tk.compute import RandomOp
from tilewright.dialects.tk.contraction import Contraction
from tilewright.dialects.tk.domain import domains_of
from tilewright.dialects.tk.kernels import FuncOp
from tilewright.dialects.tk.moments import MomentsOp
from tilewright.dialects.types import bytes_of, element_type, is_float8, is_half

from ...kernels.running_products import running_sums
from ...rewrite import skip
from ..blocks import Blocks, power_of_two
from ..cost import estimate, is_expensive
from .descriptors import decide_descriptors
from .factors import factor_types, is_loaded
from .lanes import AWAITED, filled_warps

_WIDE = 144
"""KiB that three stages of a 128 x 256 tile of halves take."""
_LARGEST = 128 * 256
"""Elements of a tile that 8 warps hold while they do nothing costly with them."""
_MANY = 8
"""Tiles beside the sums that an eighth of it has room for, and no more of it."""
_LEAST, _NARROW = 16, 32
"""Matrix units take no smaller sides; tiles are not made smaller than that for more programs."""
_LINE = 128
"""Bytes of a factor along the sum that one step takes, where it has as many."""
_ACCESS = 16
"""Bytes that a lane loads at once: warps beyond those that do so with the larger factor would load less."""
_LARGE = 64
"""Rows of a factor, with as many elements each, that is worth tiles of which the other one fills a part."""
_MOST_STAGES = 6
"""Steps of a sum beyond which waiting for memory is no longer what a program does."""
_LOOPS = 2
"""Sums of one program, of which compilers hold all places to load from: with more, it has twice the warps."""
_LEAST_BYTES = 64
"""Of factors of one byte, of which they take 32 along the sum, and `variants` halves this."""


@dataclass(frozen=True)
class Limits:
    """What the device allows, and which precision the user does."""

    tf32: bool
    shared: int
    """KiB of shared memory per program."""
    cores: int
    """Multiprocessors, each of which wants a program."""
    descriptors: bool = False
    """Blocks of memory can be brought by tensor descriptor."""
    from_shared: bool = False
    """Matrix units read factors from shared memory: registers hold nothing but sums."""
    sums_apart: bool = False
    """Matrix units keep sums in memory of their own, which a program reads at once, all of its tile."""
    lanes: int = 32
    """Threads of a warp."""


def product_blocks(func: FuncOp, products: Sequence[Contraction], bits: int, limits: Limits) -> Blocks | None:
    """The blocks of matrix products of the same sides; None where one is too short for matrix units."""
    product = products[0]
    if any(len(axes) != 1 for p in products for axes in (p.rows, p.columns, p.over)):
        skip(func, "a matrix product without tiles: run flatten-axes first")
        return None
    (row,), (column,) = product.rows, product.columns
    depths = [axis for p in products for axis in p.over]
    types = [factor_types(p.reduce, p.left, p.right) for p in products]
    width = max(bytes_of(type_) for pair in types for type_ in pair)
    for depth in depths:
        sizes = [func.space[a].constant for a in (row, column, depth)]
        if (least := _least_sides(sizes, width)) > min(_LEAST if n is None else n for n in sizes):
            skip(func, f"a matrix product without tiles: of sizes {sizes}, one is below {least}")
            return None
    m, n = estimate(func.space[row]), estimate(func.space[column])
    batches = [a for a in range(len(func.space)) if a not in (row, column, *depths)]
    count = 1
    for axis in batches:
        count *= estimate(func.space[axis])
    held = _held(func, {row, column}, depths, limits) + 2 * (len(running_sums(products)) - 1)
    area = _LARGEST >> (3 if held > _MANY else max(0, min(2, held - 1)))
    tops = min(_tops(p, pair, limits) for p, pair in zip(products, types, strict=True))
    rows, columns = _tile(product, (m, n), count, tops, limits.cores, area)
    most = 8 if rows * columns >= min(area, 128 * 128) else 4
    deep = {depth: _deep(func.space[depth], width) for depth in depths}
    deepest = max(deep.values())
    warps = filled_warps(max(rows, columns) * deepest, _ACCESS // width, limits.lanes, most)
    if limits.from_shared and len(products) > _LOOPS:
        warps = min(8, 2 * warps)
    step = (rows + columns) * deepest * width
    steps = max(estimate(func.space[depth]) // deep[depth] for depth in depths)
    found = Blocks(
        (*((a, 1) for a in batches if a not in product.parts), *_grid(product, rows, columns), *deep.items()),
        len(batches) + 2,
        warps=warps,
        stages=_stages(step, steps, -(-m // rows) * -(-n // columns) * count, limits),
        index=bits,
        swizzle=8,
        product="tf32" if limits.tf32 and width == 4 else "ieee",
        kind="product",
        varied=tuple(a for a in (row, column, *depths) if a not in product.tile),
    )
    single = limits.descriptors and len(products) == 1
    return decide_descriptors(func, product, found) if single else found


def _deep(size: Expr, width: int) -> int:
    """How far a step goes along a sum of this size, of factors of `width` bytes."""
    least = _LEAST_BYTES if width == 1 else _LEAST
    return min(_LINE // width, power_of_two(max(least, size.constant or _LINE)))


def _least_sides(sizes: list[int | None], width: int) -> int:
    """The least size of rows, columns and sum that is worth tiles, of factors of `width` bytes.

    Few rows of halves, of which tiles are mostly masked, are: the other factor, a large one, is read once.
    """
    rows, columns, depth = (_LARGE if n is None else n for n in sizes)
    large = max(rows, columns)
    few = width <= 2 and depth >= _LEAST // 2 and large >= _LARGE and large * depth >= _LARGE * _LARGE
    return 2 if few else _LEAST // 2


def _stages(step: int, steps: int, programs: int, limits: Limits) -> int:
    """Steps of the sum, of `step` bytes, that are on their way or in use: three, or as many as fit.

    More of small ones, where programs are few: a multiprocessor has nothing else to wait with.
    """
    awaited = 1 + 2 * AWAITED // (step * max(1, programs // limits.cores))
    return max(1, min(max(3, min(awaited, steps, _MOST_STAGES)), limits.shared * 1024 // step))


def _held(func: FuncOp, tile: set[int], depths: Sequence[int], limits: Limits) -> int:
    """Tiles that are read after the sum, and twice the costly functions: what wants registers, too.

    Random numbers are the costliest, where registers also hold factors. A tile of sums that comes from
    elsewhere comes as one more. What is read of more than halves is as large as the sums: two tiles.
    Deviations from a mean want the tile until the mean is known.
    """
    domains = domains_of(func.body.block)
    after = [op for op in func.body.block.ops if op.results and tile <= domains[op.results[0]]]
    after = [op for op in after if domains[op.results[0]].isdisjoint(depths)]
    held = sum(2 if is_expensive(op) else isinstance(op, LoadOp) for op in after)
    held += sum(isinstance(op, RandomOp) for op in after) if not limits.from_shared else 0
    if any(isinstance(op, LoadOp) and bytes_of(element_type(op.buffer.type)) > 2 for op in after):
        held = max(held, 2)
    held += any(isinstance(op, MomentsOp) for op in func.body.block.ops)
    return held + 1 if held and limits.sums_apart else held


def _tops(product: Contraction, types: tuple[Attribute, Attribute], limits: Limits) -> tuple[int, int]:
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


def _tile(
    product: Contraction, sizes: tuple[int, int], batches: int, tops: tuple[int, int], cores: int, area: int
) -> tuple[int, int]:
    """Rows and columns of a tile; of the side that it reduces, all that the kernel's axis has."""
    m, n = sizes
    if not product.tile:
        return _sides(m, n, batches, tops, cores, area)
    if product.tile == product.rows:
        return power_of_two(m), _beside(power_of_two(m), n, batches, tops[1], cores, area)
    return _beside(power_of_two(n), m, batches, tops[0], cores, area), power_of_two(n)


def _grid(product: Contraction, rows: int, columns: int) -> tuple[tuple[int, int], ...]:
    """The blocks of rows and columns; last the two axes of which there are many, for the grouped order."""
    (row,), (column,), parts = product.rows, product.columns, tuple((a, 1) for a in product.parts)
    if product.tile == product.columns:
        return (column, columns), (row, rows), *parts
    return (row, rows), *parts, (column, columns)


def _sides(m: int, n: int, batches: int, tops: tuple[int, int], cores: int, area: int) -> tuple[int, int]:
    """The largest tile, of at most `area` elements, that leaves a program to every multiprocessor."""
    rows, columns = (
        min(top, power_of_two(max(_LEAST, size))) for top, size in zip(tops, (m, n), strict=True)
    )
    while rows * columns > area:
        rows, columns = (rows, columns // 2) if columns >= rows else (rows // 2, columns)
    while -(-m // rows) * -(-n // columns) * batches < cores:
        if rows >= columns and rows > _NARROW:
            rows //= 2
        elif columns > _NARROW:
            columns //= 2
        else:
            break
    return rows, columns


def _beside(fixed: int, size: int, batches: int, top: int, cores: int, area: int) -> int:
    """The side of a tile beside the one that is reduced, which has `fixed` rows or columns."""
    side = min(top, power_of_two(max(_LEAST, size)))
    while side > _NARROW and (fixed * side > area or -(-size // side) * batches < cores):
        side //= 2
    return side
