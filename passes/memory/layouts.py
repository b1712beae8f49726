"""Arithmetic on (offset, sizes, strides): what views do to a layout, in index expressions.

Results are cached: the layers of a model repeat the same few layouts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from tilewright.dialects.index_expr import (
    ONE,
    ZERO,
    Expr,
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
    backwards: frozenset[int] = frozenset()
    """Dims whose strides are negative, which `s0 - s1` need not show."""

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
        return bool(self.backwards)


@_cached
def dense(sizes: Sizes) -> Layout:
    return Layout(ZERO, sizes, row_major_strides(sizes))


def same_strides(sizes: Sequence[Expr], a: Sequence[Expr], b: Sequence[Expr]) -> bool:
    """Equal strides, where they matter: not for sizes of 1, not for tensors without elements."""
    if static_product(sizes) == 0:
        return True
    return all(n.constant == 1 or x == y for n, x, y in zip(sizes, a, b, strict=True))


@_cached
def dense_order(layout: Layout) -> tuple[int, ...] | None:
    """All dimensions, outermost in memory first; None where there are gaps or overlaps, or may be."""
    left = [d for d, n in enumerate(layout.sizes) if n.constant != 1]
    order: list[int] = []
    step = ONE
    while left:
        inner = next((d for d in left if layout.strides[d] == step), None)
        if inner is None:
            return None
        left.remove(inner)
        order.append(inner)
        step = step * layout.sizes[inner]
    return (*(d for d, n in enumerate(layout.sizes) if n.constant == 1), *reversed(order))


def same_place(a: Layout, b: Layout) -> bool:
    return a.sizes == b.sizes and a.offset == b.offset and same_strides(a.sizes, a.strides, b.strides)


def same_places(one: Layout, other: Layout) -> bool:
    """Whether each element of one tensor lies where that of the other does."""
    alike = one.offset == other.offset and one.sizes == other.sizes
    return alike and same_strides(one.sizes, one.strides, other.strides)


def overlaps_itself(sizes: Sequence[Expr], strides: Sequence[Expr]) -> bool:
    """True where two subscripts may share an element: a zero stride, or strides too small."""
    dims = [(n, s) for n, s in zip(sizes, strides, strict=True) if n.constant != 1]
    return any(s.constant == 0 for _, s in dims)


# Views


@_cached
def transposed(layout: Layout, perm: tuple[int, ...]) -> Layout:
    sizes, strides = tuple(layout.sizes[p] for p in perm), tuple(layout.strides[p] for p in perm)
    return Layout(layout.offset, sizes, strides, _moved(layout, enumerate(perm)))


def _moved(layout: Layout, dims: Iterable[tuple[int, int]]) -> frozenset[int]:
    """The dims that are walked backwards, of such as have the stride of a dim of `layout`: (new, old)."""
    return frozenset(new for new, old in dims if old in layout.backwards)


@_cached
def inverse(perm: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(perm.index(i) for i in range(len(perm)))


def last_dims(layout: Layout, count: int) -> Layout:
    """The first of what the other dims count."""
    kept = range(len(layout.sizes) - count, len(layout.sizes))
    sizes, strides = layout.sizes[-count:], layout.strides[-count:]
    return Layout(layout.offset, sizes, strides, _moved(layout, enumerate(kept)))


@_cached
def broadcast(layout: Layout, dims: tuple[int, ...], sizes: Sizes) -> Layout:
    """Operand dim `i` becomes dim `dims[i]` of `sizes`; all other dims, and grown ones, repeat."""
    strides = [ZERO] * len(sizes)
    for i, target in enumerate(dims):
        if layout.sizes[i] == sizes[target]:
            strides[target] = layout.strides[i]
    moved = _moved(layout, ((target, i) for i, target in enumerate(dims) if strides[target]))
    return Layout(layout.offset, sizes, tuple(strides), moved)


@_cached
def sliced(layout: Layout, starts: Sizes, steps: Sizes, sizes: Sizes) -> Layout:
    strides = tuple(stride * step for stride, step in zip(layout.strides, steps, strict=True))
    return Layout(layout.flat(starts), sizes, strides, layout.backwards)


@_cached
def reversed_(layout: Layout, dims: tuple[int, ...]) -> Layout:
    offset, strides = layout.offset, list(layout.strides)
    for d in dims:
        offset = offset + (layout.sizes[d] - 1) * strides[d]
        strides[d] = -strides[d]
    turned = {d for d in dims if strides[d]}
    return Layout(offset, layout.sizes, tuple(strides), layout.backwards ^ turned)


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
    moved = _moved(layout, enumerate(dims, len(strides)))
    return Layout(layout.offset, sizes, (*strides, *inside), layout.backwards | moved)


@_cached
def reshaped(layout: Layout, sizes: Sizes) -> Layout | None:
    """The same elements under other sizes, None where no strides can say that."""
    if static_product(sizes) == 0:
        return Layout(layout.offset, sizes, row_major_strides(sizes))
    strides: list[Expr] = [ONE] * len(sizes)
    chunks = _chunks(layout)
    target = len(sizes) - 1
    backwards: set[int] = set()
    for numel, step, turned in chunks:
        taken = ONE
        while target >= 0 and (taken != numel or sizes[target].constant == 1):
            if numel.exact_div(taken * sizes[target]) is None:
                return None
            strides[target] = step * taken
            backwards |= {target} if turned else set()
            taken = taken * sizes[target]
            target -= 1
        if taken != numel:
            return None
    if product(sizes[: target + 1]) != ONE:
        return None
    return Layout(layout.offset, sizes, tuple(strides), frozenset(backwards))


def _chunks(layout: Layout) -> list[tuple[Expr, Expr, bool]]:
    """Runs of dims that are one dim in memory, as (elements, stride, whether backwards); last run first."""
    chunks: list[tuple[Expr, Expr, bool]] = []
    for dim in reversed(range(len(layout.sizes))):
        size, stride, turned = layout.sizes[dim], layout.strides[dim], dim in layout.backwards
        if size.constant == 1:
            continue
        if chunks and stride == chunks[-1][0] * chunks[-1][1] and turned == chunks[-1][2]:
            chunks[-1] = (chunks[-1][0] * size, *chunks[-1][1:])
        else:
            chunks.append((size, stride, turned))
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
