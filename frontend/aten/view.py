"""ATen views and their inverses as tw ops; a view is a value like any other here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.fx.node import map_arg
from xdsl.dialects.builtin import i1, i8, i64
from xdsl.ir import BlockArgument, SSAValue

from tilewright.dialects import index_expr
from tilewright.dialects.index_expr import Expr, as_expr
from tilewright.dialects.tw.bits import BitcastOp
from tilewright.dialects.tw.creation import IotaOp
from tilewright.dialects.tw.elementwise_binary import CompareOp, SelectOp
from tilewright.dialects.tw.indexing import GatherOp, ScatterOp
from tilewright.dialects.tw.view import BroadcastOp, ConcatOp, PadOp, ReverseOp, SliceOp
from tilewright.dialects.tw.window import WindowOp
from tilewright.dialects.types import SAME_BITS, sizes_of, ui8
from tilewright.passes.tensor.splats import splat_of

from ..errors import Unsupported
from ..torch_internals import Operator, known_to_differ
from .builder import Builder, Row, axis, element_of, integer

_BYTES = (i8, ui8)


def _reshape(b: Builder, x: SSAValue, *_: object, **__: object) -> SSAValue:
    return b.reshape(x, b.sizes)


def _other_element(b: Builder, x: SSAValue, dtype: Any) -> SSAValue:
    """Bits as other numbers; a conversion of a byte to one keeps its bits."""
    if element_of(x) in (i1, *_BYTES) and b.element in _BYTES:
        return b.cast(x, b.element)
    if SAME_BITS.get(element_of(x)) != b.element:
        raise Unsupported(f"bits of {element_of(x)} read as {b.element}")
    return b.emit(BitcastOp(x))


def _permute(b: Builder, x: SSAValue, dims: Sequence[int]) -> SSAValue:
    rank = len(sizes_of(x))
    return b.transpose(x, [axis(d, rank) for d in dims])


def _swap(b: Builder, x: SSAValue, first: int, second: int) -> SSAValue:
    rank = len(sizes_of(x))
    perm = list(range(rank))
    if rank:
        i, j = axis(first, rank), axis(second, rank)
        perm[i], perm[j] = perm[j], perm[i]
    return b.transpose(x, perm)


def _matrix_transpose(b: Builder, x: SSAValue) -> SSAValue:
    return b.transpose(x, list(reversed(range(len(sizes_of(x))))))


def _expand(b: Builder, x: SSAValue, *_: object, **__: object) -> SSAValue:
    return b.broadcast(x, b.sizes)


def _broadcast_in_dim(b: Builder, x: SSAValue, shape: Any, dims: Sequence[int]) -> SSAValue:
    return b.emit(BroadcastOp(x, b.sizes, dims))


def _narrow(b: Builder, x: SSAValue, dim: int, start: Any, length: Any) -> SSAValue:
    return _slice(b, x, dim, start)


def _start(value: Any, size: Expr) -> Expr:
    """A slice's start as torch reads it: negative counts from the end, and it is clamped."""
    if value is None:
        return index_expr.ZERO
    return index_expr.minimum(index_expr.maximum(_from_the_start(value, size), 0), size)


def _from_the_start(value: Any, size: Expr) -> Expr:
    """A place, where a negative one counts from the end; symbols may have either sign."""
    place = as_expr(value)
    if index_expr.is_nonnegative(place):
        return place
    is_negative = index_expr.minimum(index_expr.maximum(-place, 0), 1)
    return place + is_negative * size


def take(b: Builder, x: SSAValue, dim: int, start: Expr | int, size: Expr | int, step: int = 1) -> SSAValue:
    """Elements `start, start + step, ...` (`size` of them) along `dim`."""
    sizes: list[Expr] = list(sizes_of(x))
    if as_expr(start) == index_expr.ZERO and as_expr(size) == sizes[dim] and step == 1:
        return x
    starts: list[Expr | int] = [0] * len(sizes)
    steps: list[Expr | int] = [1] * len(sizes)
    starts[dim], steps[dim], sizes[dim] = start, step, as_expr(size)
    return b.emit(SliceOp(x, starts, sizes, steps))


def _slice(
    b: Builder, x: SSAValue, dim: int = 0, start: Any = None, end: Any = None, step: int = 1
) -> SSAValue:
    sizes = sizes_of(x)
    d = axis(dim, len(sizes))
    return take(b, x, d, _start(start, sizes[d]), b.sizes[d], integer(step))


def _select(b: Builder, x: SSAValue, dim: int, index: Any) -> SSAValue:
    sizes = sizes_of(x)
    d = axis(dim, len(sizes))
    return b.reshape(take(b, x, d, _from_the_start(index, sizes[d]), 1), b.sizes)


def _of_view(view: Operator, row: Row) -> Row:
    """`row` writes to a view of its first argument: what is written has its shape, which ATen checks."""

    def checked(b: Builder, x: SSAValue, source: SSAValue, *place: Any, **named: Any) -> SSAValue:
        x_fake, _, *rest = map_arg(b.node.args, lambda node: node.meta["val"])
        wanted = view(x_fake, *rest, **map_arg(b.node.kwargs, lambda node: node.meta["val"])).shape
        if known_to_differ(b.input_fake(1).shape, wanted):
            raise Unsupported("what is written has another shape than what it replaces")
        return row(b, x, source, *place, **named)

    return checked


def _scatter_slice(
    b: Builder, x: SSAValue, source: SSAValue, dim: int = 0, start: Any = None, end: Any = None, step: int = 1
) -> SSAValue:
    """Replace a slice: without steps in it, join what stands before, the source and what stands behind."""
    source = b.cast(source, b.element)
    sizes = sizes_of(x)
    d = axis(dim, len(sizes))
    first, count = _start(start, sizes[d]), sizes_of(source)[d]
    if count == sizes[d]:
        return source
    if (stride := integer(step)) != 1:
        return _scatter_steps(b, x, source, d, first, stride)
    rest = sizes[d] - first - count
    parts = [source]
    if first != index_expr.ZERO:
        parts.insert(0, take(b, x, d, 0, first))
    if rest != index_expr.ZERO:
        parts.append(take(b, x, d, first + count, rest))
    return b.emit(ConcatOp(parts, d))


def _scatter_steps(b: Builder, x: SSAValue, source: SSAValue, d: int, first: Expr, step: int) -> SSAValue:
    """Replace every `step`-th element, beginning with `first`.

    The source is spread, which fuses with what makes it and with what reads it; unknown sizes scatter.
    """
    size, count = sizes_of(x)[d], sizes_of(source)[d]
    if first.constant is not None and count * step == size:
        return _interleave(b, x, source, d, first, step)
    spread = _spread(b, source, d, first, size, step)
    if spread is None:
        return _scatter_at(b, x, source, d, b.emit(IotaOp(i64, (count,), 0, first, step)))
    if splat_of(x) == 0:
        return spread
    written = _spread(b, b.full(True, i1, sizes_of(source)), d, first, size, step)
    assert written is not None
    return b.emit(SelectOp(written, spread, x))


def _interleave(b: Builder, x: SSAValue, source: SSAValue, d: int, first: Expr, step: int) -> SSAValue:
    """Replace every `step`-th element: in each group of so many, the one at `first`."""
    sizes, taken = sizes_of(x), sizes_of(source)
    groups = b.reshape(x, (*taken[: d + 1], as_expr(step), *sizes[d + 1 :]))
    one = b.reshape(source, (*taken[: d + 1], index_expr.ONE, *taken[d + 1 :]))
    return b.reshape(_scatter_slice(b, groups, one, d + 1, first), sizes)


def _spread(b: Builder, source: SSAValue, dim: int, first: Expr, size: Expr, step: int) -> SSAValue | None:
    """Zeros of `size` along `dim`, with a source at `first, first + step, ...`; None for unknown sizes."""
    sizes = list(sizes_of(source))
    count, start, end = sizes[dim].constant, first.constant, size.constant
    if count is None or start is None or end is None:
        return None
    apart = b.reshape(source, (*sizes[: dim + 1], index_expr.ONE, *sizes[dim + 1 :]))
    behind = [0] * (len(sizes) + 1)
    behind[dim + 1] = step - 1
    apart = b.emit(PadOp(apart, [0] * len(behind), behind, 0))
    sizes[dim] = as_expr(min(count * step, end - start))
    joined = take(b, b.reshape(apart, (*sizes[:dim], count * step, *sizes[dim + 1 :])), dim, 0, sizes[dim])
    low, high = ([0] * len(sizes) for _ in range(2))
    low[dim], high[dim] = start, end - start - min(count * step, end - start)
    return b.emit(PadOp(joined, low, high, 0)) if low[dim] or high[dim] else joined


def _scatter_at(b: Builder, x: SSAValue, source: SSAValue, dim: int, positions: SSAValue) -> SSAValue:
    return b.emit(ScatterOp(x, [positions], source, [dim], dim))


def _scatter_select(b: Builder, x: SSAValue, source: SSAValue, dim: int, index: Any) -> SSAValue:
    """Each element chooses by its position, as torch's decomposition of what is dense has it."""
    sizes = sizes_of(x)
    d = axis(dim, len(sizes))
    at = as_expr(index)
    if at.constant is not None and at.constant < 0:
        at = at + sizes[d]
    line = b.reshape(b.cast(source, b.element), (*sizes[:d], index_expr.ONE, *sizes[d + 1 :]))
    here = b.emit(CompareOp(b.emit(IotaOp(i64, sizes, d)), b.full(at, i64, sizes), "eq"))
    return b.emit(SelectOp(here, b.broadcast(line, sizes), x))


def _split(b: Builder, x: SSAValue, _: Any, dim: int = 0) -> tuple[SSAValue, ...]:
    d = axis(dim, len(sizes_of(x)))
    parts: list[SSAValue] = []
    start = index_expr.ZERO
    for fake in b.fake:
        size = b.symbols.expr(fake.shape[d])
        parts.append(take(b, x, d, start, size))
        start = start + size
    return tuple(parts)


def _unbind(b: Builder, x: SSAValue, dim: int = 0) -> tuple[SSAValue, ...]:
    d = axis(dim, len(sizes_of(x)))
    sizes = [size for i, size in enumerate(sizes_of(x)) if i != d]
    return tuple(b.reshape(take(b, x, d, i, 1), sizes) for i in range(len(b.fake)))


def _cat(b: Builder, tensors: Sequence[SSAValue], dim: int = 0) -> SSAValue:
    rank = len(b.sizes)
    kept = [t for t in tensors if not _is_legacy_empty(t, rank)]
    kept = [b.cast(t, b.element) for t in kept]
    if not kept:
        return b.full(0, b.element, b.sizes)
    return kept[0] if len(kept) == 1 else b.emit(ConcatOp(kept, axis(dim, rank)))


def _is_legacy_empty(value: SSAValue, rank: int) -> bool:
    """torch.cat ignores rank-1 tensors without elements."""
    sizes = sizes_of(value)
    return rank != 1 and len(sizes) == 1 and sizes[0].constant == 0


def _pad(b: Builder, x: SSAValue, pads: Sequence[Any], value: Any = 0) -> SSAValue:
    sizes = sizes_of(x)
    low = [index_expr.ZERO] * len(sizes)
    high = [index_expr.ZERO] * len(sizes)
    for i in range(len(pads) // 2):
        d = len(sizes) - 1 - i
        low[d], high[d] = as_expr(pads[2 * i]), as_expr(pads[2 * i + 1])
    x = _crop(b, x, low, high)
    low = [index_expr.maximum(n, 0) for n in low]
    high = [index_expr.maximum(n, 0) for n in high]
    if not any(low) and not any(high):
        return x
    if isinstance(value, bool | int | float):
        return b.emit(PadOp(x, low, high, value))
    inside = b.emit(PadOp(b.full(True, i1, sizes_of(x)), low, high, False))
    around = b.operand(value, b.element, b.sizes)
    return b.emit(SelectOp(inside, b.emit(PadOp(x, low, high, 0)), around))


def _crop(b: Builder, x: SSAValue, low: Sequence[Expr], high: Sequence[Expr]) -> SSAValue:
    """Negative padding removes elements."""
    for d, (before, after) in enumerate(zip(low, high, strict=True)):
        first = index_expr.maximum(-before, 0)
        last = index_expr.maximum(-after, 0)
        x = take(b, x, d, first, sizes_of(x)[d] - first - last)
    return x


def _flip(b: Builder, x: SSAValue, dims: Sequence[int]) -> SSAValue:
    rank = len(sizes_of(x))
    axes = sorted({axis(d, rank) for d in dims})
    return b.emit(ReverseOp(x, axes)) if axes and rank else x


def _repeat(b: Builder, x: SSAValue, repeats: Sequence[Any]) -> SSAValue:
    sizes = (index_expr.ONE,) * (len(repeats) - len(sizes_of(x))) + sizes_of(x)
    pairs: list[Expr] = []
    for count, size in zip(repeats, sizes, strict=True):
        pairs += [as_expr(count), size]
    dims = list(range(1, 2 * len(sizes), 2))
    spread = b.emit(BroadcastOp(b.reshape(x, sizes), pairs, dims))
    return b.reshape(spread, b.sizes)


def _diagonal_last(rank: int, dim1: int, dim2: int) -> list[int]:
    """The permutation that puts the dimensions of a diagonal last."""
    pair = [axis(dim1, rank), axis(dim2, rank)]
    return [*(d for d in range(rank) if d not in pair), *pair]


def _on_diagonal(b: Builder, count: Expr, offset: int) -> list[SSAValue]:
    """Row and column of each element of a diagonal."""
    return [b.emit(IotaOp(i64, (count,), 0, max(start, 0), 1)) for start in (-offset, offset)]


def _diagonal(b: Builder, x: SSAValue, offset: int = 0, dim1: int = 0, dim2: int = 1) -> SSAValue:
    rank = len(sizes_of(x))
    moved = b.transpose(x, _diagonal_last(rank, dim1, dim2))
    places = _on_diagonal(b, b.sizes[-1], offset)
    return b.emit(GatherOp(moved, places, [rank - 2, rank - 1], rank - 2))


def _scatter_diagonal(
    b: Builder, x: SSAValue, source: SSAValue, offset: int = 0, dim1: int = 0, dim2: int = 1
) -> SSAValue:
    """Elements are chosen by their place, which fuses; an argument is written to where it is."""
    rank = len(sizes_of(x))
    perm = _diagonal_last(rank, dim1, dim2)
    turned, source, length = b.transpose(x, perm), b.cast(source, b.element), sizes_of(source)[-1]
    if isinstance(x, BlockArgument):
        places = _on_diagonal(b, length, offset)
        filled = b.emit(ScatterOp(turned, places, source, [rank - 2, rank - 1], rank - 2))
    elif length == index_expr.ZERO:
        filled = turned
    else:
        sizes, first = sizes_of(turned), max(-offset, 0)
        behind = sizes[-2] - first - length
        rows = b.emit(PadOp(source, [0] * (rank - 2) + [first], [index_expr.ZERO] * (rank - 2) + [behind], 0))
        across = b.emit(BroadcastOp(rows, sizes, list(range(rank - 1))))
        filled = b.emit(SelectOp(_compared(b, sizes, offset, "eq"), across, turned))
    return b.transpose(filled, [perm.index(d) for d in range(rank)])


def _unfold(b: Builder, x: SSAValue, dim: int, size: int, step: int) -> SSAValue:
    sizes = sizes_of(x)
    if not sizes:
        return take(b, b.reshape(x, (1,)), 0, 0, as_expr(size))
    if size == 0:
        return b.full(0, b.element, b.sizes)
    return b.emit(WindowOp(x, [axis(dim, len(sizes))], [size], [step], [1]))


def _compared(b: Builder, sizes: Sequence[Expr], diagonal: int, predicate: str) -> SSAValue:
    """How columns stand to rows, of the last two dimensions, shifted by `diagonal`."""
    rows = b.emit(IotaOp(i64, sizes, len(sizes) - 2, diagonal, 1))
    columns = b.emit(IotaOp(i64, sizes, len(sizes) - 1, 0, 1))
    return b.emit(CompareOp(columns, rows, predicate))


def _triangle(predicate: str) -> Row:
    def row(b: Builder, x: SSAValue, diagonal: int = 0) -> SSAValue:
        kept = _compared(b, b.sizes, diagonal, predicate)
        return b.emit(SelectOp(kept, x, b.full(0, b.element, b.sizes)))

    return row


ROWS: dict[str, Row] = {
    "aten.view.dtype": _other_element,
    "aten.view_copy.dtype": _other_element,
    **dict.fromkeys(
        (
            "aten.view.default",
            "aten._unsafe_view.default",
            "aten.reshape.default",
            "aten._reshape_alias.default",
            "aten.unsqueeze.default",
            "aten.squeeze.default",
            "aten.squeeze.dim",
            "aten.squeeze.dims",
            "aten.view_copy.default",
        ),
        _reshape,
    ),
    "aten.permute.default": _permute,
    "aten.transpose.int": _swap,
    "aten.t.default": _matrix_transpose,
    "aten.numpy_T.default": _matrix_transpose,
    "aten.expand.default": _expand,
    "aten.expand_copy.default": _expand,
    "prims.broadcast_in_dim.default": _broadcast_in_dim,
    "aten.slice.Tensor": _slice,
    "aten.narrow.default": _narrow,
    "aten.select.int": _select,
    "aten.slice_scatter.default": _of_view(torch.ops.aten.slice.Tensor, _scatter_slice),
    "aten.select_scatter.default": _of_view(torch.ops.aten.select.int, _scatter_select),
    "aten.split.Tensor": _split,
    "aten.split_with_sizes.default": _split,
    "aten.unsafe_split.Tensor": _split,
    "aten.chunk.default": _split,
    "aten.unbind.int": _unbind,
    "aten.cat.default": _cat,
    "aten.constant_pad_nd.default": _pad,
    "aten.flip.default": _flip,
    "aten.repeat.default": _repeat,
    "aten.diagonal.default": _diagonal,
    "aten.diagonal_scatter.default": _of_view(torch.ops.aten.diagonal.default, _scatter_diagonal),
    "aten.unfold.default": _unfold,
    "aten.tril.default": _triangle("le"),
    "aten.triu.default": _triangle("ge"),
}
