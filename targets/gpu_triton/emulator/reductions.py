"""Reductions, scans, sorts and products of blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from .dtypes import FLOAT8, BadText, DType, bfloat16, float16, float32, float64, int8, int32, uint32
from .mathematics import maximum, minimum, where
from .values import Value, aligned, as_value, compare, converted

Blocks = tuple[Value, ...]


class DependsOnOrder(Exception):
    """Two orders of a reduction gave different integers."""


def _axis(axis: int | None, value: Value) -> int:
    """The dimension of the data that a block's axis is."""
    rank = len(value.shape)
    if axis is None:
        raise BadText("an axis is needed")
    if not -rank <= axis < rank:
        raise BadText(f"axis {axis} of a block of rank {rank}")
    return 1 + axis % rank


def flattened(value: Value) -> Value:
    return Value(value.data.reshape(value.data.shape[0], -1), value.dtype)


def reduce(input: Any, axis: int | None, combine_fn: Callable[..., Any], keep_dims: bool = False) -> Any:
    """Combine along an axis. Two orders are tried: whole numbers that differ have no right value."""
    single = isinstance(input, Value)
    values: Blocks = (input,) if single else tuple(input)
    if axis is None:
        values, axis, keep_rank = tuple(flattened(v) for v in values), 0, len(values[0].shape)
    else:
        keep_rank = 0
    at = _axis(axis, values[0])
    values = tuple(aligned(*values))
    results = _tree(values, at, combine_fn, neighbours=False)
    others = _tree(values, at, combine_fn, neighbours=True)
    for result, other in zip(results, others, strict=True):
        if result.dtype.integer and bool((result.data != other.data).any()):
            raise DependsOnOrder
    dropped = tuple(
        _restored(v, at, keep_rank) if keep_dims else Value(v.data.squeeze(at), v.dtype) for v in results
    )
    return dropped[0] if single else dropped


def _restored(value: Value, at: int, rank: int) -> Value:
    if not rank:
        return value
    return Value(value.data.reshape(value.data.shape[0], *[1] * rank), value.dtype)


def _tree(values: Blocks, at: int, combine: Callable[..., Any], neighbours: bool) -> Blocks:
    """Pairwise until one is left along dimension `at`: halves, or neighbours the other way round."""
    while (size := values[0].data.shape[at]) > 1:
        half = size // 2
        if neighbours:
            low = [slice_of(v, at, slice(0, size, 2)) for v in values]
            high = [slice_of(v, at, slice(1, size, 2)) for v in values]
            low, high = high, low
        else:
            low = [slice_of(v, at, slice(0, half)) for v in values]
            high = [slice_of(v, at, slice(half, size)) for v in values]
        values = combined(combine, low, high)
    return values


def slice_of(value: Value, at: int, part: slice) -> Value:
    return Value(value.data[(slice(None),) * at + (part,)], value.dtype)


def combined(combine: Callable[..., Any], low: Sequence[Value], high: Sequence[Value]) -> Blocks:
    """One application of a combining function, whose results keep the operands' types."""
    result = combine(*low, *high)
    parts = (result,) if isinstance(result, Value) else tuple(result)
    for part, operand in zip(parts, low, strict=True):
        if part.dtype != operand.dtype:
            raise BadText(f"a combining function of {operand.dtype} gives {part.dtype}")
    return tuple(aligned(*parts)) if len(parts) > 1 else parts


def _summed_type(value: Value, dtype: DType | None) -> DType:
    if dtype is not None:
        return dtype
    if value.dtype.integer and value.dtype.bits < 32:
        return int32 if value.dtype.kind == "int" else uint32
    return value.dtype


def _add(a: Any, b: Any) -> Any:
    return a + b


def _multiply(a: Any, b: Any) -> Any:
    return a * b


def _xor(a: Any, b: Any) -> Any:
    return a ^ b


def _or(a: Any, b: Any) -> Any:
    return a | b


def sum_of(
    input: Value, axis: int | None = None, keep_dims: bool = False, dtype: DType | None = None
) -> Value:
    value = converted(input, _summed_type(input, dtype))
    if value.dtype.floating and value.dtype.bits < 32:
        return reduce(value, axis, _add, keep_dims)
    rank = len(value.shape)
    at = _axis(0 if axis is None else axis, flattened(value) if axis is None else value)
    data = flattened(value).data if axis is None else value.data
    total = data.sum(at, keepdim=keep_dims, dtype=data.dtype)
    if axis is None and keep_dims:
        total = total.reshape(total.shape[0], *[1] * rank)
    return Value(total, value.dtype)


def _extreme_of(name: str) -> Callable[..., Any]:
    combine = maximum if name == "max" else minimum

    def call(
        input: Value,
        axis: int | None = None,
        return_indices: bool = False,
        return_indices_tie_break_left: bool = True,
        keep_dims: bool = False,
    ) -> Any:
        if return_indices:
            return _with_index(name, input, axis, return_indices_tie_break_left, keep_dims)
        value = input
        if value.dtype.bits < 32:
            value = converted(value, float32 if value.dtype.floating else int32)
        return reduce(value, axis, combine, keep_dims)

    return call


def _with_index(name: str, value: Value, axis: int | None, leftmost: bool, keep_dims: bool) -> Any:
    if value.dtype.floating and bool(value.data.isnan().any()):
        raise DependsOnOrder  # a NaN is never greater or less: it loses on the left and wins on the right
    block = flattened(value) if axis is None else value
    at = _axis(0 if axis is None else axis, block)
    lanes = torch.arange(block.data.shape[at], dtype=torch.int32)
    index = Value(lanes.reshape(*[1] * at, -1, *[1] * (block.data.dim() - at - 1)), int32)
    better = "gt" if name == "max" else "lt"

    def combine(v1: Value, i1: Value, v2: Value, i2: Value) -> tuple[Value, Value]:
        first = compare(better, v1, v2)
        if leftmost:
            first = first | (compare("eq", v1, v2) & compare("lt", i1, i2))
        return where(first, v1, v2), where(first, i1, i2)

    if block.dtype.bits < 32:
        block = converted(block, float32 if block.dtype.floating else int32)
    return reduce((block, index), 0 if axis is None else axis, combine, keep_dims)


max_of = _extreme_of("max")
min_of = _extreme_of("min")


def argmax(input: Value, axis: int | None, tie_break_left: bool = True, keep_dims: bool = False) -> Value:
    return max_of(input, axis, True, tie_break_left, keep_dims)[1]


def argmin(input: Value, axis: int | None, tie_break_left: bool = True, keep_dims: bool = False) -> Value:
    return min_of(input, axis, True, tie_break_left, keep_dims)[1]


def xor_sum(input: Value, axis: int | None = None, keep_dims: bool = False) -> Value:
    return reduce(input, axis, _xor, keep_dims)


def reduce_or(input: Value, axis: int | None, keep_dims: bool = False) -> Value:
    return reduce(input, axis, _or, keep_dims)


def associative_scan(input: Any, axis: int, combine_fn: Callable[..., Any], reverse: bool = False) -> Any:
    """Running combination along an axis, one element after the other."""
    single = isinstance(input, Value)
    values: Blocks = tuple(aligned(*((input,) if single else tuple(input))))
    at = _axis(axis, values[0])
    if reverse:
        values = tuple(Value(v.data.flip(at), v.dtype) for v in values)
    size, step = values[0].data.shape[at], 1
    while step < size:  # after each round an element holds its last 2*step elements
        low = [slice_of(v, at, slice(0, size - step)) for v in values]
        high = [slice_of(v, at, slice(step, size)) for v in values]
        tails = combined(combine_fn, low, high)
        values = tuple(
            Value(torch.cat([h.data, t.data.expand(_same_but(t.data, h.data, at))], at), t.dtype)
            for h, t in zip([slice_of(v, at, slice(0, step)) for v in values], tails, strict=True)
        )
        step *= 2
    if reverse:
        values = tuple(Value(v.data.flip(at), v.dtype) for v in values)
    return values[0] if single else values


def _same_but(data: torch.Tensor, like: torch.Tensor, at: int) -> list[int]:
    return [n if i == at else max(n, like.shape[i]) for i, n in enumerate(data.shape)]


def cumsum(input: Value, axis: int = 0, reverse: bool = False, dtype: DType | None = None) -> Value:
    value = converted(input, _summed_type(input, dtype))
    return associative_scan(value, axis, _add, reverse)


def cumprod(input: Value, axis: int = 0, reverse: bool = False, dtype: DType | None = None) -> Value:
    value = converted(input, _summed_type(input, dtype))
    return associative_scan(value, axis, _multiply, reverse)


def sort(x: Value, dim: int | None = None, descending: bool = False) -> Value:
    """Along the last axis alone, as Triton does; NaN has no place in the order that it computes."""
    at = _axis(-1 if dim is None else dim, x)
    if at != len(x.shape):
        raise BadText("sort works along the last axis")
    if x.dtype.floating and bool(x.data.isnan().any()):
        raise DependsOnOrder
    flip = torch.iinfo(x.data.dtype).min if x.dtype.kind == "uint" else 0
    keys = x.data ^ flip if flip else x.data
    ordered = torch.sort(keys, at, descending=bool(descending)).values
    return Value(ordered ^ flip if flip else ordered, x.dtype)


def topk(x: Value, k: int, dim: int | None = None, descending: bool = True) -> Value:
    return slice_of(sort(x, dim, descending), len(x.shape), slice(0, k))


_DOT_TYPES = (int8, float16, bfloat16, float32, float64, *FLOAT8)


def dot(
    input: Value,
    other: Value,
    acc: Value | None = None,
    input_precision: str | None = None,
    allow_tf32: bool | None = None,
    max_num_imprecise_acc: int | None = None,
    out_dtype: DType | None = None,
) -> Value:
    """`input @ other + acc`; f32 operands are rounded to tf32 unless `input_precision` says otherwise."""
    _check_dot(input, other)
    exact = input_precision in ("ieee", "tf32x3", "bf16x6") or (
        input_precision is None and allow_tf32 is False
    )
    result_type = out_dtype or float32
    if acc is not None and acc.dtype != result_type:  # refused by Triton 3.6 and 3.7; 3.9 looks at `acc`
        raise BadText(f"an accumulator of {acc.dtype} for {result_type}: say out_dtype")
    if input.dtype == int8:
        product, result_type = (input.data.to(torch.int32), other.data.to(torch.int32)), int32
    elif input.dtype == float64:
        product, result_type = (input.data, other.data), float64
    else:
        product = (input.data.to(torch.float32), other.data.to(torch.float32))
        if input.dtype == float32 and not exact:
            product = (_tf32(product[0]), _tf32(product[1]))
    batch = max(p.shape[0] for p in product)
    left, right = (p.expand(batch, *p.shape[1:]) if p.dim() > 3 else p for p in product)
    total = torch.matmul(left, right)
    if acc is None:
        return Value(total.to(result_type.payload), result_type)
    if acc.shape != tuple(total.shape[1:]):
        raise BadText(f"an accumulator {acc.shape} for {tuple(total.shape[1:])}")
    return Value((acc.data.to(total.dtype) + total).to(result_type.payload), result_type)


def _check_dot(left: Value, right: Value) -> None:
    float8 = left.dtype in FLOAT8 and right.dtype in FLOAT8
    if not float8 and (left.dtype != right.dtype or left.dtype not in _DOT_TYPES):
        raise BadText(f"dot of {left.dtype} and {right.dtype}")
    if len(left.shape) != len(right.shape) or len(left.shape) not in (2, 3):
        raise BadText(f"dot of shapes {left.shape} and {right.shape}")
    least = 32 if left.dtype.bits == 8 else 1
    if left.shape[-1] != right.shape[-2] or left.shape[-1] < least:
        raise BadText(f"dot of shapes {left.shape} and {right.shape} of {left.dtype}")


def _tf32(data: torch.Tensor) -> torch.Tensor:
    """10 bits of mantissa, to nearest."""
    bits = data.contiguous().view(torch.int32)
    rounded = ((bits + 0x1000) & ~0x1FFF).view(torch.float32)
    return torch.where(data.isfinite(), rounded, data)


def histogram(input: Value, num_bins: int, mask: Value | None = None) -> Value:
    """How often each of `num_bins` numbers occurs."""
    on = as_value(True) if mask is None else mask
    value, on = aligned(input, on)
    hits = value.data.unsqueeze(-1) == torch.arange(num_bins)
    return Value((hits & on.data.unsqueeze(-1)).sum(1).to(torch.int32), int32)


def gather(src: Value, index: Value, axis: int) -> Value:
    at = _axis(axis, src)
    batch = max(src.data.shape[0], index.data.shape[0])
    source = src.data.expand(batch, *src.shape)
    where_ = index.data.to(torch.int64).expand(batch, *index.shape)
    return Value(torch.gather(source, at, where_), src.dtype)
