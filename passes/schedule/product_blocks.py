"""Blocks for matrix products: what one program computes, how deep it loops, in which order."""

from __future__ import annotations

from tilewright.dialects.tk.contraction import Contraction
from tilewright.dialects.tk.kernels import FuncOp

from ..rewrite import skip
from .blocks import Blocks, power_of_two
from .cost import estimate
from .roles import has_half_factors

_PROGRAMS = 132
_LEAST = 16
"""Matrix units take no smaller sides."""


def product_blocks(func: FuncOp, product: Contraction, bits: int, *, tf32: bool) -> Blocks | None:
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
    rows, columns = _sides(m, n, count, half)
    deep = min(64 if half else 32, power_of_two(max(_LEAST, sizes[2] or 64)))
    warps = 8 if rows * columns >= 128 * 128 else 4
    return Blocks(
        (*((a, 1) for a in batches), (row, rows), (column, columns), (depth, deep)),
        len(batches) + 2,
        warps=warps,
        stages=3,
        index=bits,
        swizzle=8,
        product="tf32" if tf32 and not half else "ieee",
    )


def _sides(m: int, n: int, batches: int, half: bool) -> tuple[int, int]:
    """The largest tile that leaves a program to every multiprocessor."""
    top = 128 if half else 64
    rows = min(top, power_of_two(max(_LEAST, m)))
    columns = min(top, power_of_two(max(_LEAST, n)))
    while rows * columns > 32 * 32 and -(-m // rows) * -(-n // columns) * batches < _PROGRAMS:
        if rows >= columns and rows > 32:
            rows //= 2
        elif columns > 32:
            columns //= 2
        else:
            break
    return rows, columns
