"""Physical layouts of tensors as Dynamo traced them, in the words of `tw.strides`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from tilewright.dialects.index_expr import (
    ONE,
    ZERO,
    Expr,
    format_exprs,
    is_nonnegative,
    maximum,
    row_major_strides,
)
from tilewright.passes.memory import layouts

from .dtypes import CARRIERS
from .symbols import Symbols


@dataclass(frozen=True)
class Layout:
    """How the elements of a tensor lie in memory."""

    sizes: tuple[Expr, ...]
    strides: tuple[Expr, ...]
    outermost_first: tuple[int, ...]
    """All dimensions, by their strides: by what these were when symbolic ones were traced."""

    @property
    def is_row_major(self) -> bool:
        """Dimensions of size 1 may have any stride, and so has a tensor without elements."""
        if any(size.constant == 0 for size in self.sizes):
            return True
        expected = row_major_strides(self.sizes)
        return all(
            n.constant == 1 or s == e for n, s, e in zip(self.sizes, self.strides, expected, strict=True)
        )

    @property
    def repeated(self) -> tuple[int, ...]:
        """Dimensions along which every element is the same one (stride 0)."""
        return tuple(
            d
            for d, (n, s) in enumerate(zip(self.sizes, self.strides, strict=True))
            if s.constant == 0 and n.constant not in (0, 1)
        )

    @property
    def is_dense(self) -> bool:
        """True where the elements fill their memory in some order of dimensions."""
        return self.dense_order is not None

    @property
    def dense_order(self) -> tuple[int, ...] | None:
        """All dimensions, outermost in memory first; None where there are gaps or overlaps, or may be."""
        return layouts.dense_order(layouts.Layout(ZERO, self.sizes, self.strides))

    @property
    def is_apart(self) -> bool:
        """True where no two elements share memory, whatever lies between them; False if that is unknown."""
        reach = ONE
        for d in reversed(self.outermost_first):
            if self.sizes[d].constant == 1:
                continue
            if not is_nonnegative(self.strides[d] - reach):
                return False
            reach = reach + (self.sizes[d] - 1) * self.strides[d]
        return True

    @property
    def without_gaps(self) -> Layout:
        """Dense, dimensions in the order of this; where that is row-major, those of size 1 in theirs, too."""
        strides, step = list(self.strides), ONE
        for d in reversed(self.outermost_first):
            strides[d] = step
            step = step * self.sizes[d]
        made = replace(self, strides=tuple(strides))
        rows = Layout(self.sizes, row_major_strides(self.sizes), tuple(range(len(strides))))
        return rows if made.is_row_major else made

    @property
    def text(self) -> str:
        return format_exprs(self.strides)


def layout_of(tensor: torch.Tensor, symbols: Symbols) -> Layout:
    """Sizes and strides, where `max(1, n)` counts as the size `n`: torch says that where `n` may be 0.

    A tensor without elements may have any strides.
    """
    sizes = symbols.exprs(tensor.shape)
    strides = tuple(_without_floors(stride, sizes) for stride in symbols.exprs(tensor.stride()))
    return Layout(sizes, strides, _outermost_first(strides, symbols))


def _outermost_first(strides: Sequence[Expr], symbols: Symbols) -> tuple[int, ...]:
    """Dimensions by their traced strides; where data decide some, by how these are written.

    No guard holds this for other sizes, and none is made, as `torch_internals.memory_order` may: it is the
    order in which a copy lies, and that in which gaps are looked for.
    """
    traced = [symbols.traced_value(stride) for stride in strides]
    known = [number for number in traced if number is not None]
    if len(known) == len(traced):
        return tuple(sorted(range(len(known)), key=lambda d: known[d], reverse=True))
    return tuple(sorted(range(len(strides)), key=lambda d: _weight(strides[d]), reverse=True))


def _weight(stride: Expr) -> tuple[int, int, str]:
    """A total order in which a stride stands above those that divide it."""
    degree = max((len(monomial) for monomial, _ in stride.terms), default=0)
    lead = max((abs(c) for m, c in stride.terms if len(m) == degree), default=0)
    return degree, lead, str(stride)


def _without_floors(stride: Expr, sizes: Sequence[Expr]) -> Expr:
    for n in sizes:
        floor = maximum(1, n)
        if floor != n and n.constant is None and (rest := stride.exact_div(floor)) is not None:
            stride = rest * n
    return stride


def kept_layout(tensor: torch.Tensor, symbols: Symbols) -> str | None:
    """`tw.strides` of a result: None for row-major, and where the traced layout has gaps."""
    if tensor.is_contiguous():
        return None
    layout = layout_of(tensor, symbols)
    return layout.text if layout.is_dense and not layout.is_row_major else None


def argument_layout(tensor: torch.Tensor, symbols: Symbols) -> str | None:
    """`tw.strides` of an argument: None for row-major."""
    layout = layout_of(tensor, symbols)
    return None if layout.is_row_major else layout.text


def operand_layout(tensor: Any, symbols: Symbols) -> str:
    """The strides of an operand of a call; empty where elements overlap, or nothing is known."""
    if not isinstance(tensor, torch.Tensor) or tensor.dtype in CARRIERS:
        return ""
    if not all(symbols.knows(n) for n in (*tensor.shape, *tensor.stride())):
        return ""
    layout = layout_of(tensor, symbols)
    return layout.text if layout.is_apart else ""


Strides = tuple[int | torch.SymInt, ...]


def dense_strides(sizes: Sequence[int | torch.SymInt], order: Sequence[int]) -> Strides:
    """Strides of a tensor of torch's (perhaps symbolic) sizes without gaps; `order` is outermost first."""
    strides: list[int | torch.SymInt] = [1] * len(sizes)
    step: int | torch.SymInt = 1
    for d in reversed(order):
        strides[d] = step
        step = step * sizes[d]
    return tuple(strides)


def lying_as(value: Any, strides: Strides | None) -> Any:
    """The traced tensor with the strides that it has, where it was traced with others."""
    if strides is None or not isinstance(value, torch.Tensor) or tuple(value.stride()) == strides:
        return value
    return value.new_empty_strided(value.shape, strides)
