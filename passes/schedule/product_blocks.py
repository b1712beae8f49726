"""Blocks for matrix products: what one program computes, how deep it loops, in which order."""

from __future__ import annotations

from dataclasses import dataclass

from tilewright.dialects.tk.access import LoadOp
from tilewright.dialects.tk.contraction import Contraction
from tilewright.dialects.tk.domain import domains_of
from tilewright.dialects.tk.kernels import FuncOp

from ..rewrite import skip
from .blocks import Blocks, power_of_two
from .cost import estimate, is_expensive
from .descriptors import decide_descriptors
from .roles import has_half_factors

_WIDE = 144
"""KiB that three stages of a 128 x 256 tile of halves take."""
_LARGEST = 128 * 256
"""Elements of a tile that 8 warps hold while they do nothing costly with them."""
_LEAST = 16
"""Matrix units take no smaller sides."""


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


def product_blocks(func: FuncOp, product: Contraction, bits: int, limits: Limits) -> Blocks | None:
    """The blocks of a matrix product; None where a side is too short for matrix units."""
    if any(len(axes) != 1 for axes in (product.rows, product.columns, product.over)):
        skip(func, "a matrix product without tiles: run flatten-axes first")
        return None
    (row,), (column,), (depth,) = product.rows, product.columns, product.over
    sizes = [func.space[a].constant for a in (row, column, depth)]
    if any(n is not None and n < _LEAST // 2 for n in sizes):
        skip(func, f"a matrix product without tiles: of sizes {sizes}, one is below {_LEAST // 2}")
        return None
    half = has_half_factors(product)
    m, n = estimate(func.space[row]), estimate(func.space[column])
    batches = [a for a in range(len(func.space)) if a not in (row, column, depth)]
    count = 1
    for axis in batches:
        count *= estimate(func.space[axis])
    area = _LARGEST >> max(0, min(2, _held(func, {row, column}, depth) - 1))
    rows, columns = _sides(m, n, count, half, limits, area)
    deep = min(64 if half else 32, power_of_two(max(_LEAST, sizes[2] or 64)))
    warps = 8 if rows * columns >= min(area, 128 * 128) else 4
    found = Blocks(
        (*((a, 1) for a in batches), (row, rows), (column, columns), (depth, deep)),
        len(batches) + 2,
        warps=warps,
        stages=_stages((rows + columns) * deep * (2 if half else 4), limits.shared),
        index=bits,
        swizzle=8,
        product="tf32" if limits.tf32 and not half else "ieee",
        kind="product",
        varied=(row, column, depth),
    )
    return decide_descriptors(func, product, found) if limits.descriptors else found


def _stages(step: int, shared: int) -> int:
    """Steps of the sum that are loaded ahead: `step` bytes each, as many as fit, at most three."""
    return max(1, min(3, shared * 1024 // step))


def _held(func: FuncOp, tile: set[int], depth: int) -> int:
    """Tiles that are read after the sum, and twice the costly functions: what wants registers, too."""
    domains = domains_of(func.body.block)
    after = [op for op in func.body.block.ops if op.results and tile <= domains[op.results[0]]]
    after = [op for op in after if depth not in domains[op.results[0]]]
    return sum(2 if is_expensive(op) else isinstance(op, LoadOp) for op in after)


def _sides(m: int, n: int, batches: int, half: bool, limits: Limits, area: int) -> tuple[int, int]:
    """The largest tile, of at most `area` elements, that leaves a program to every multiprocessor."""
    top = 128 if half else 64
    rows = min(top, power_of_two(max(_LEAST, m)))
    columns = min(top * 2 if half and limits.shared >= _WIDE else top, power_of_two(max(_LEAST, n)))
    while rows * columns > area:
        rows, columns = (rows, columns // 2) if columns >= rows else (rows // 2, columns)
    while rows * columns > 32 * 32 and -(-m // rows) * -(-n // columns) * batches < limits.cores:
        if rows >= columns and rows > 32:
            rows //= 2
        elif columns > 32:
            columns //= 2
        else:
            break
    return rows, columns
