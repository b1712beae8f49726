"""Decompositions of operators for which torch has none, or none that compiles well: as one table.

Written with tensor functions, which AOTAutograd traces in their place; NotImplemented leaves one whole.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from string import ascii_lowercase
from typing import Any, cast

import torch
from torch import Tensor
from torch._ops import OperatorBase
from torch.nn import functional

from tilewright.passes.memory.layouts import inverse

from ..torch_internals import guarded_truth, memory_order

MOST_COMPARED = 64
"""Among so many numbers `isin` and searches look by comparing with each."""
LONGEST_SEARCH = 40
"""Steps of a search by halves where the length is a symbol."""


def _addbmm(x: Tensor, first: Tensor, second: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """The sum of a batch of products is one product, over the batch too."""
    rows = first.transpose(0, 1).flatten(1)
    return torch.addmm(x, rows, second.flatten(0, 1), beta=beta, alpha=alpha)


def _trilinear(
    first: Tensor,
    second: Tensor,
    third: Tensor,
    expand1: Sequence[int],
    expand2: Sequence[int],
    expand3: Sequence[int],
    sumdim: Sequence[int],
    unroll_dim: int = 1,
) -> Tensor:
    """The sum of products (`nn.Bilinear`) as two products of matrices."""
    letters = ascii_lowercase[: first.dim() + len(expand1)]
    names = ["".join(c for d, c in enumerate(letters) if d not in e) for e in (expand1, expand2, expand3)]
    result = "".join(c for d, c in enumerate(letters) if d not in sumdim)
    if not set(letters) <= set("".join(names)):
        return NotImplemented
    between = "".join(c for c in letters if c in names[0] + names[1] and c in result + names[2])
    product = torch.einsum(f"{names[0]},{names[1]}->{between}", first, second)
    return torch.einsum(f"{between},{names[2]}->{result}", product, third)


def _angle(x: Tensor) -> Tensor:
    if x.is_complex():
        real, imaginary = torch.view_as_real(x).unbind(-1)
        return torch.atan2(imaginary, real)
    value = x if x.is_floating_point() else x.to(torch.get_default_dtype())
    turned = torch.where(value < 0, math.pi, torch.zeros_like(value))
    return torch.where(value.isnan(), value, turned)


def _broadcast(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    shape = cast("torch.Size", torch.broadcast_shapes(x.shape, y.shape))  # pyright: ignore[reportUnknownMemberType]
    return x.expand(shape), y.expand(shape)


def _taken(mask: Tensor, beyond: int) -> Tensor:
    """For each element of a mask which element of a source it takes, and `beyond` where it takes none."""
    flat = mask.reshape(-1)
    return torch.where(flat, flat.to(torch.int64).cumsum(0) - 1, beyond)


def _lying_as(x: Tensor, made: Tensor) -> Tensor:
    """`made`, in memory in the order of `x`, whose sizes it has."""
    order = memory_order(x)
    return made.permute(order).contiguous().permute(inverse(order))


def _masked_scatter(x: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    some: Any = source.numel() > 0
    if not (guarded_truth(some) if isinstance(some, torch.SymBool) else some):
        return NotImplemented
    x, mask = _broadcast(x, mask)
    found = source.reshape(-1)[_taken(mask, 0)].view(mask.shape)
    return torch.where(mask, found, x).contiguous()


def _masked_scatter_backward(gradient: Tensor, mask: Tensor, sizes: Sequence[int]) -> Tensor:
    count = math.prod(sizes)
    values, mask = _broadcast(gradient, mask)
    room = gradient.new_zeros(count + 1)
    filled = room.scatter(0, _taken(mask, count), values.reshape(-1))
    return filled[:count].reshape(tuple(sizes))


def _nonzero_static(x: Tensor, *, size: int, fill_value: int = -1) -> Tensor:
    """Each of the first so many gets its place in the list by a running count."""
    if not x.numel():
        return torch.full((size, x.dim()), fill_value, dtype=torch.int64, device=x.device)
    flat = (x != 0).reshape(-1)
    place = torch.where(flat, _taken(flat, size), size).clamp(max=size)
    numbers = torch.where(flat, torch.arange(1, flat.shape[0] + 1, device=x.device), 0)
    room = torch.zeros(size + 1, dtype=torch.int64, device=x.device).scatter_add(0, place, numbers)
    position = room[:size] - 1
    columns: list[Tensor] = []
    for n in reversed(x.shape):
        columns.append(torch.where(position < 0, fill_value, position % n))
        position = torch.where(position < 0, position, position // n)
    return torch.stack(columns[::-1], 1) if columns else position.new_empty((size, 0))


def _take(x: Tensor, index: Tensor) -> Tensor:
    """Row-major, however positions lie: what ATen's `index` makes lies as they do, its trace may not."""
    return x.reshape(-1)[index.contiguous()]


def _put(x: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    flat = x.reshape(-1).index_put((index.reshape(-1),), source.reshape(-1), accumulate)
    return _lying_as(x, flat.reshape(x.shape))


def _index_fill(x: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    """Torch's own makes what it returns row-major and then not, which release 2.11 cannot trace."""
    if not x.dim():
        return _index_fill(x.unsqueeze(0), 0, index, value).reshape(())
    element = value.to(x.dtype) if isinstance(value, Tensor) else x.new_full((), value)
    places: list[Tensor | None] = [None] * (dim % x.dim())
    return torch.ops.aten.index_put.default(x, [*places, index.reshape(-1)], element)


def _frac(x: Tensor) -> Tensor:
    """0.0 of -0.0, unlike torch's own up to release 2.11."""
    return x - x.trunc()


def _isin(x: Tensor, among: Tensor, *, assume_unique: bool = False, invert: bool = False) -> Tensor:
    """Row-major, whatever `x` is; torch's trace says otherwise."""
    few = isinstance(among.numel(), int) and among.numel() <= MOST_COMPARED  # pyright: ignore[reportUnnecessaryIsInstance]
    if not few:
        if memory_order(x) == tuple(range(x.dim())):
            return NotImplemented
        return torch.isin(x.contiguous(), among, assume_unique=assume_unique, invert=invert)
    values = among.reshape(-1)
    found = (x.unsqueeze(-1) == values).any(-1)
    return ~found if invert else found


def _isin_number(x: Tensor, number: float, *, assume_unique: bool = False, invert: bool = False) -> Tensor:
    return (x != number if invert else x == number).contiguous()


def _weight_norm_backward(
    gradient: Tensor, v: Tensor, g: Tensor, norms: Tensor, dim: int
) -> tuple[Tensor, Tensor]:
    """Gradients of `g * v / norm(v)`, where norms are over all dimensions but one."""
    others = [d for d in range(v.dim()) if d != dim]
    slope, direction = gradient.to(norms.dtype), v.to(norms.dtype) / norms
    along = (slope * direction).sum(others, keepdim=True)
    across = (slope - direction * along) * (g.to(norms.dtype) / norms)
    return across.to(v.dtype), along.to(g.dtype)


def _eye(
    rows: int,
    columns: int | None = None,
    *,
    dtype: torch.dtype | None = None,
    layout: torch.layout | None = None,
    device: torch.device | None = None,
    **_: object,
) -> Tensor:
    """Torch's own compares positions as uint16 where they fit, of which ATen's CPU makes no range."""
    if layout not in (None, torch.strided):
        return NotImplemented
    down = torch.arange(rows, device=device).unsqueeze(-1)
    across = torch.arange(rows if columns is None else columns, device=device)
    return (down == across).to(dtype or torch.get_default_dtype())


def _roll(x: Tensor, shifts: Sequence[int], dims: Sequence[int] = ()) -> Tensor:
    """A part of two copies behind each other: views of one tensor, instead of torch's table of positions."""
    if not dims:
        return _roll(x.reshape(-1), shifts, (0,)).reshape(x.shape)
    for shift, dim in zip(shifts, dims, strict=True):
        size = x.shape[dim]
        place = dim % x.dim()
        if size:
            twice = x.unsqueeze(place).expand(*x.shape[:place], 2, *x.shape[place:]).flatten(place, place + 1)
            x = twice.narrow(place, (size - shift) % size, size)
    return x.clone(memory_format=torch.contiguous_format)


def _padded(wide: Tensor, d: int, size: Any, low: int, high: int) -> tuple[Any, Any, Tensor]:
    """Along dimension `-d`, padded or cut: how many elements are padding before and behind, and the rest.

    The rest has the `size` that there was before, with zeros where elements were cut off: maybe all of them,
    so that there is nothing but padding.
    """
    room = wide.shape[-d]
    before = low if low <= 0 or high >= 0 else min(low, room)
    behind = high if high <= 0 or low >= 0 else min(high, room)
    before, behind = max(before, 0), max(behind, 0)
    rest = wide.narrow(-d, before, room - before - behind)
    if low < 0 or high < 0:
        cut = min(max(-low, 0), size)
        rest = functional.pad(rest, [*_behind(d), cut, size - cut - rest.shape[-d]])
    return before, behind, rest


def _behind(d: int) -> list[int]:
    """Nothing for the dimensions behind `-d`, whose pairs come first in a list of padding."""
    return [0, 0] * (d - 1)


def _replication_pad_backward(gradient: Tensor, x: Tensor, padding: Sequence[int]) -> Tensor:
    """The first and the last element along each dimension had copies, whose gradients they get too."""
    wide = gradient.to(torch.promote_types(x.dtype, torch.float32))
    for d, (low, high) in enumerate(zip(padding[::2], padding[1::2], strict=True), start=1):
        size, room = x.shape[-d], wide.shape[-d]
        before, behind, whole = _padded(wide, d, size, low, high)
        if low > 0:
            first = wide.narrow(-d, 0, before).sum(-d, keepdim=True)
            whole = whole + functional.pad(first, [*_behind(d), 0, size - 1])
        if high > 0:
            last = wide.narrow(-d, room - behind, behind).sum(-d, keepdim=True)
            whole = whole + functional.pad(last, [*_behind(d), size - 1, 0])
        wide = whole
    return wide.to(x.dtype)


def _reflection_pad_backward(gradient: Tensor, x: Tensor, padding: Sequence[int]) -> Tensor:
    """What follows the first element along each dimension was read before it, too, in reverse; so at the end.

    torch's own reads each of nine areas of an image at computed positions.
    """
    wide = gradient.to(torch.promote_types(x.dtype, torch.float32))
    for d, (low, high) in enumerate(zip(padding[::2], padding[1::2], strict=True), start=1):
        size, room = x.shape[-d], wide.shape[-d]
        before, behind, whole = _padded(wide, d, size, low, high)
        if low > 0:
            first = wide.narrow(-d, 0, before).flip(-d)
            whole = whole + functional.pad(first, [*_behind(d), 1 + low - before, size - 1 - low])
        if high > 0:
            last = wide.narrow(-d, room - behind, behind).flip(-d)
            whole = whole + functional.pad(last, [*_behind(d), size - 1 - high, 1 + high - behind])
        wide = whole
    return wide.to(x.dtype)


def searched(
    sorted_sequence: Tensor,
    values: Tensor | float,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Tensor | None = None,
) -> Tensor:
    """How many numbers of a sorted row come before each value; all come before NaN."""
    count = sorted_sequence.shape[-1] if sorted_sequence.dim() else 1
    known = isinstance(count, int)  # pyright: ignore[reportUnnecessaryIsInstance]
    x = values if isinstance(values, Tensor) else torch.full((), values, device=sorted_sequence.device)
    if sorter is not None:
        sorted_sequence = sorted_sequence.gather(-1, sorter)
    after = torch.gt if right or side == "right" else torch.ge
    result = torch.int32 if out_int32 else torch.int64
    if known and count <= MOST_COMPARED:
        rows = sorted_sequence if sorted_sequence.dim() == 1 else sorted_sequence.unsqueeze(-2)
        return (~after(rows, x.unsqueeze(-1))).sum(-1, dtype=result)
    flat = x if sorted_sequence.dim() > 1 else x.reshape(-1)
    found = torch.zeros_like(flat, dtype=torch.int64)
    if known:
        for step in _halves(count):
            later = found + step
            found = torch.where(after(sorted_sequence.gather(-1, later - 1), flat), found, later)
    else:
        for bit in reversed(range(LONGEST_SEARCH)):
            later = found + (1 << bit)
            number = sorted_sequence.gather(-1, later.clamp(max=count) - 1)
            found = torch.where((later > count) | after(number, flat), found, later)
    return found.reshape(x.shape).to(result)


def _halves(count: int) -> Iterator[int]:
    """Steps whose sums are all numbers up to `count`, of which none leads beyond it."""
    while count > 1:
        yield count // 2
        count -= count // 2
    yield 1


def _bucketize(
    values: Tensor | float, boundaries: Tensor, *, out_int32: bool = False, right: bool = False
) -> Tensor:
    return searched(boundaries, values, out_int32=out_int32, right=right)


def _repeated_places(repeats: Tensor, *, output_size: int | None = None) -> Tensor:
    """The number of each place as often as it says; how many that are has to be told."""
    if output_size is None:
        return NotImplemented
    places = torch.arange(output_size, device=repeats.device)
    return searched(repeats.cumsum(0), places, right=True).to(repeats.dtype)


def composites() -> dict[OperatorBase, Callable[..., Any]]:
    """What replaces each of these operators, whatever torch's tables say."""
    aten = torch.ops.aten
    table: dict[Any, Callable[..., Any]] = {
        aten.addbmm.default: _addbmm,
        aten._trilinear.default: _trilinear,
        aten.angle.default: _angle,
        aten.masked_scatter.default: _masked_scatter,
        aten.masked_scatter_backward.default: _masked_scatter_backward,
        aten.nonzero_static.default: _nonzero_static,
        aten.put.default: _put,
        aten.take.default: _take,
        aten.eye.default: _eye,
        aten.eye.m: _eye,
        aten.frac.default: _frac,
        aten.index_fill.int_Scalar: _index_fill,
        aten.index_fill.int_Tensor: _index_fill,
        aten.isin.Tensor_Tensor: _isin,
        aten.isin.Tensor_Scalar: _isin_number,
        aten.reflection_pad1d_backward.default: _reflection_pad_backward,
        aten.reflection_pad2d_backward.default: _reflection_pad_backward,
        aten.reflection_pad3d_backward.default: _reflection_pad_backward,
        aten.replication_pad1d_backward.default: _replication_pad_backward,
        aten.replication_pad2d_backward.default: _replication_pad_backward,
        aten.replication_pad3d_backward.default: _replication_pad_backward,
        aten.repeat_interleave.Tensor: _repeated_places,
        aten.roll.default: _roll,
        aten.searchsorted.Tensor: searched,
        aten.searchsorted.Scalar: searched,
        aten.bucketize.Tensor: _bucketize,
        aten.bucketize.Scalar: _bucketize,
        aten._weight_norm_interface_backward.default: _weight_norm_backward,
    }
    return cast("dict[OperatorBase, Callable[..., Any]]", table)
