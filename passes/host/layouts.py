"""Arithmetic on (offset, sizes, strides): what views do to a layout, in index expressions.

Results are cached: the layers of a model repeat the same few layouts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from tilewright.dialects.index_expr import (
    ONE,
    ZERO,
    Expr,
    is_negative_stride,
    product,
    row_major_strides,
    static_product,
)

Sizes = tuple[Expr, ...]
_cached = lru_cache(maxsize=16384)


@dataclass(frozen=True, slots=True)
class Layout:
    """Element `i` of a tensor of `sizes` lies `offset + sum(i_k * strides_k)` into its storage."""

    offset: Expr
    sizes: tuple[Expr, ...]
    strides: tuple[Expr, ...]

    def flat(self, subscripts: Sequence[Expr]) -> Expr:
        """Where the element at `subscripts` lies."""
        total = self.offset
        for subscript, stride in zip(subscripts, self.strides, strict=True):
            if subscript and stride:
                total = total + subscript * stride
        return total

    @property
    def is_dense(self) -> bool:
        """True for row-major data from offset 0 on."""
        return not self.offset and same_strides(self.sizes, self.strides, row_major_strides(self.sizes))

    @property
    def has_negative_stride(self) -> bool:
        return any(map(is_negative_stride, self.strides))


@_cached
def dense(sizes: Sizes) -> Layout:
    return Layout(ZERO, sizes, row_major_strides(sizes))


def same_strides(sizes: Sequence[Expr], a: Sequence[Expr], b: Sequence[Expr]) -> bool:
    """Equal strides, where they matter: not for sizes of 1, not for tensors without elements."""
    if static_product(sizes) == 0:
        return True
    return all(n.constant == 1 or x == y for n, x, y in zip(sizes, a, b, strict=True))


def same_place(a: Layout, b: Layout) -> bool:
    return a.sizes == b.sizes and a.offset == b.offset and same_strides(a.sizes, a.strides, b.strides)


def overlaps_itself(sizes: Sequence[Expr], strides: Sequence[Expr]) -> bool:
    """True where two subscripts may share an element: a zero stride, or strides too small."""
    dims = [(n, s) for n, s in zip(sizes, strides, strict=True) if n.constant != 1]
    return any(s.constant == 0 for _, s in dims)


# Views


@_cached
def transposed(layout: Layout, perm: tuple[int, ...]) -> Layout:
    return Layout(layout.offset, tuple(layout.sizes[p] for p in perm), tuple(layout.strides[p] for p in perm))


@_cached
def inverse(perm: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(perm.index(i) for i in range(len(perm)))


@_cached
def broadcast(layout: Layout, dims: tuple[int, ...], sizes: Sizes) -> Layout:
    """Operand dim `i` becomes dim `dims[i]` of `sizes`; all other dims, and grown ones, repeat."""
    strides = [ZERO] * len(sizes)
    for i, target in enumerate(dims):
        if layout.sizes[i] == sizes[target]:
            strides[target] = layout.strides[i]
    return Layout(layout.offset, sizes, tuple(strides))


@_cached
def sliced(layout: Layout, starts: Sizes, steps: Sizes, sizes: Sizes) -> Layout:
    strides = tuple(stride * step for stride, step in zip(layout.strides, steps, strict=True))
    return Layout(layout.flat(starts), sizes, strides)


@_cached
def reversed_(layout: Layout, dims: tuple[int, ...]) -> Layout:
    offset, strides = layout.offset, list(layout.strides)
    for d in dims:
        offset = offset + (layout.sizes[d] - 1) * strides[d]
        strides[d] = -strides[d]
    return Layout(offset, layout.sizes, tuple(strides))


@_cached
def windows(
    layout: Layout,
    dims: tuple[int, ...],
    window: tuple[int, ...],
    steps: tuple[int, ...],
    dilation: tuple[int, ...],
    sizes: Sizes,
) -> Layout:
    """Windows of `window` elements along `dims`, `steps` apart, with trailing dims inside of them."""
    strides = list(layout.strides)
    for d, step in zip(dims, steps, strict=True):
        strides[d] = strides[d] * step
    inside = (layout.strides[d] * n for d, n in zip(dims, dilation, strict=True))
    return Layout(layout.offset, sizes, (*strides, *inside))


@_cached
def reshaped(layout: Layout, sizes: Sizes) -> Layout | None:
    """The same elements under other sizes, None where no strides can say that."""
    if static_product(sizes) == 0:
        return Layout(layout.offset, sizes, row_major_strides(sizes))
    strides: list[Expr] = [ONE] * len(sizes)
    chunks = _chunks(layout)
    target = len(sizes) - 1
    for numel, step in chunks:
        taken = ONE
        while target >= 0 and (taken != numel or sizes[target].constant == 1):
            if numel.exact_div(taken * sizes[target]) is None:
                return None
            strides[target] = step * taken
            taken = taken * sizes[target]
            target -= 1
        if taken != numel:
            return None
    if product(sizes[: target + 1]) != ONE:
        return None
    return Layout(layout.offset, sizes, tuple(strides))


def _chunks(layout: Layout) -> list[tuple[Expr, Expr]]:
    """Runs of dims that are one dim in memory, as (elements, stride); last run first."""
    chunks: list[tuple[Expr, Expr]] = []
    for size, stride in zip(reversed(layout.sizes), reversed(layout.strides), strict=True):
        if size.constant == 1:
            continue
        if chunks and stride == chunks[-1][0] * chunks[-1][1]:
            chunks[-1] = (chunks[-1][0] * size, chunks[-1][1])
        else:
            chunks.append((size, stride))
    return chunks


@_cached
def coalesced(layouts: tuple[Layout, ...]) -> tuple[Layout, ...]:
    """The layouts with dims merged that are one dim in all of them, and dims of size 1 dropped.

    All layouts have the same sizes; so have the results.
    """
    sizes = layouts[0].sizes
    merged: list[tuple[Expr, list[Expr]]] = []
    for d in range(len(sizes)):
        steps = [layout.strides[d] for layout in layouts]
        if sizes[d].constant == 1:
            continue
        if merged and all(old == new * sizes[d] for old, new in zip(merged[-1][1], steps, strict=True)):
            merged[-1] = (merged[-1][0] * sizes[d], steps)
        else:
            merged.append((sizes[d], steps))
    out_sizes = tuple(size for size, _ in merged)
    return tuple(
        Layout(layout.offset, out_sizes, tuple(steps[i] for _, steps in merged))
        for i, layout in enumerate(layouts)
    )
