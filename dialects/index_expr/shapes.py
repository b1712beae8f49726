"""Sizes, strides and subscripts of row-major arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from .expr import ONE, ZERO, Expr
from .variables import Var


def row_major_strides(sizes: Sequence[Expr]) -> tuple[Expr, ...]:
    """Strides in elements of a row-major array of `sizes`; as in torch, one of 0 counts as 1."""
    strides: list[Expr] = []
    step = ONE
    for size in reversed(sizes):
        strides.append(step)
        step = step * size if size.constant != 0 else step
    return tuple(reversed(strides))


def linearize(subscripts: Sequence[Expr], strides: Sequence[Expr]) -> Expr:
    total = ZERO
    for subscript, stride in zip(subscripts, strides, strict=True):
        total = total + subscript * stride
    return total


def delinearize(flat: Expr, sizes: Sequence[Expr]) -> tuple[Expr, ...]:
    """Subscripts of element `flat` of a row-major array of `sizes`."""
    subscripts: list[Expr] = []
    for i, stride in enumerate(row_major_strides(sizes)):
        value = flat // stride
        subscripts.append(value if i == 0 else value % sizes[i])
    return tuple(subscripts)


def evaluate_all(values: Sequence[Expr], symbols: Mapping[Var, int]) -> list[int]:
    return [value.evaluate(symbols) for value in values]


def static_product(sizes: Sequence[Expr]) -> int | None:
    """The number of elements, None where it depends on a symbol (one size of 0 makes it 0)."""
    values = [size.constant for size in sizes]
    if 0 in values:
        return 0
    return None if None in values else prod(v for v in values if v is not None)


def is_negative_stride(stride: Expr) -> bool:
    """True where a stride is negative at large sizes: where all terms of the highest degree are.

    A dense stride is a product of sizes, and so never negative, which its terms alone need not show:
    `((s0 - 1) floordiv 2)*16 + 16`, `s1 - s0`.
    """
    degree = max((len(monomial) for monomial, _ in stride.terms), default=0)
    leading = [number for monomial, number in stride.terms if len(monomial) == degree]
    return bool(leading) and max(leading) < 0


def reshape_groups(source: tuple[Expr, ...], result: tuple[Expr, ...]) -> list[tuple[range, range]] | None:
    """Runs of dimensions of `source` and `result` with equal products, as short as possible.

    None where the products do not meet at the end (sizes that are equal for reasons that
    the expressions do not show).
    """
    groups: list[tuple[range, range]] = []
    ends = {str(p): i for i, p in reversed(list(enumerate(_prefix_products(result))))}
    begin_source = begin_result = 0
    for i, p in enumerate(_prefix_products(source)):
        end = ends.get(str(p))
        if i > begin_source and end is not None and end > begin_result:
            groups.append((range(begin_source, i), range(begin_result, end)))
            begin_source, begin_result = i, end
    rest_source, rest_result = range(begin_source, len(source)), range(begin_result, len(result))
    if any(source[i] != ONE for i in rest_source) or any(result[i] != ONE for i in rest_result):
        return None
    return [*groups, (rest_source, rest_result)] if rest_source or rest_result else groups


def _prefix_products(sizes: tuple[Expr, ...]) -> list[Expr]:
    products = [ONE]
    for size in sizes:
        products.append(products[-1] * size)
    return products
