"""The names that kernel text sees (`tl`, `triton`, `libdevice`, some builtins), for one group of programs."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any
from typing import cast as typed

import torch

from . import mathematics, random_numbers, reductions
from .dtypes import ALL, BadText, DType, Unknown, int32, int64, type_of_number
from .pointers import Access, Descriptor, Pointer, PointerType
from .values import Value, aligned, as_value


class Namespace(SimpleNamespace):
    """Attributes by name; what is missing is reported as such."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise Unknown(f"it has no `{name}`")


def _dimensions(shape: Sequence[Any]) -> list[int]:
    """A shape given as a list, or as separate arguments."""
    parts: Any = shape
    if len(shape) == 1 and isinstance(shape[0], list | tuple):
        parts = typed("Any", shape[0])
    return [int(n) for n in parts]


def _power_of_two(n: int) -> None:
    if n <= 0 or n & (n - 1):
        raise BadText(f"a block of {n} elements along an axis: no power of two")


def arange(start: Any, end: Any) -> Value:
    if not isinstance(start, int) or not isinstance(end, int):
        raise BadText("arange takes literals")
    _power_of_two(end - start)
    return Value(torch.arange(start, end, dtype=torch.int32).unsqueeze(0), int32)


def full(shape: Sequence[Any], value: Any, dtype: DType) -> Value:
    sizes = _dimensions([shape])
    for n in sizes:
        _power_of_two(n)
    scalar = as_value(value, dtype)
    return Value(scalar.data.reshape(-1, *[1] * len(sizes)).expand(-1, *sizes), dtype)


def zeros(shape: Sequence[Any], dtype: DType) -> Value:
    return full(shape, 0, dtype)


def zeros_like(input: Value) -> Value:
    return zeros(input.shape, input.dtype)


def broadcast_to(input: Any, *shape: Any) -> Any:
    if isinstance(input, Pointer):
        return Pointer(input.buffer, broadcast_to(input.offset, *shape))
    value, sizes = as_value(input), _dimensions(shape)
    if value.is_block and len(value.shape) != len(sizes):
        raise BadText(f"broadcast of {value.shape} to {sizes}: the ranks differ")
    data = value.data.reshape(-1, *[1] * len(sizes)) if not value.is_block else value.data
    if any(a not in (1, b) for a, b in zip(data.shape[1:], sizes, strict=True)):
        raise BadText(f"{value.shape} does not broadcast to {sizes}")
    return Value(data.expand(-1, *sizes), value.dtype)


def broadcast(input: Any, other: Any) -> tuple[Value, Value]:
    left, right = aligned(as_value(input), as_value(other))
    return left, right


def expand_dims(input: Any, axis: int | Sequence[int]) -> Any:
    if isinstance(input, Pointer):
        return Pointer(input.buffer, expand_dims(input.offset, axis))
    axes = [axis] if isinstance(axis, int) else list(axis)
    rank = len(input.shape) + len(axes)
    data = input.data
    for a in sorted(a % rank for a in axes):
        data = data.unsqueeze(a + 1)
    return Value(data, input.dtype)


def reshape(input: Value, *shape: Any, can_reorder: bool = False) -> Value:
    sizes = _dimensions(shape)
    if can_reorder:
        raise BadText("can_reorder gives elements no definite place")
    return Value(input.data.reshape(input.data.shape[0], *sizes), input.dtype)


def permute(input: Value, *dims: Any) -> Value:
    order = _dimensions(dims) if dims else list(range(len(input.shape)))[::-1]
    return Value(input.data.permute(0, *[1 + d for d in order]), input.dtype)


def trans(input: Value, *dims: Any) -> Value:
    if not dims and len(input.shape) != 2:
        raise BadText("trans of a block that is no matrix needs its axes")
    return permute(input, *dims) if dims else permute(input, 1, 0)


def join(a: Any, b: Any) -> Value:
    left, right = mathematics.operands(a, b)
    batch = max(left.data.shape[0], right.data.shape[0])
    parts = [v.data.expand(batch, *left.shape) for v in (left, right)]
    return Value(torch.stack(parts, -1), left.dtype)


def split(a: Value) -> tuple[Value, Value]:
    if not a.shape or a.shape[-1] != 2:
        raise BadText(f"split of {a.shape}: the last axis has not two elements")
    return Value(a.data[..., 0], a.dtype), Value(a.data[..., 1], a.dtype)


def interleave(a: Value, b: Value) -> Value:
    both = join(a, b)
    return reshape(both, [*both.shape[:-2], both.shape[-2] * 2])


def cat(input: Value, other: Value, can_reorder: bool = False, dim: int = 0) -> Value:
    if can_reorder:
        raise BadText("can_reorder gives elements no definite place")
    batch = max(input.data.shape[0], other.data.shape[0])
    parts = [v.data.expand(batch, *v.shape) for v in (input, other)]
    return Value(torch.cat(parts, dim + 1), input.dtype)


def flip(x: Value, dim: int | None = None) -> Value:
    rank = len(x.shape)
    return Value(x.data.flip(1 + (rank - 1 if dim is None else dim % rank)), x.dtype)


def swizzle2d(i: Any, j: Any, size_i: Any, size_j: Any, size_g: Any) -> tuple[Any, Any]:
    """Row-major (i, j) to the order that goes down groups of `size_g` rows."""
    linear = i * size_j + j
    group = linear // (size_g * size_j)
    first = group * size_g
    rows = mathematics.minimum(size_i - first, size_g)
    inside = linear % (size_g * size_j)
    return first + inside % rows, inside // rows


def static_assert(condition: Any, message: str = "") -> None:
    if not condition:
        raise BadText(f"static_assert: {message}")


def _ignored(*_args: Any, **_options: Any) -> None:
    """What does not concern results: hints, barriers, prints."""


def _same(value: Any, *_args: Any, **_options: Any) -> Any:
    """A hint to the compiler."""
    return value


def ravel(x: Value) -> Value:
    return reshape(x, [x.numel])


def cast(input: Any, dtype: DType, fp_downcast_rounding: str | None = None, bitcast: bool = False) -> Value:
    return as_value(input).to(dtype, fp_downcast_rounding, bitcast)


def load_descriptor(descriptor: Descriptor, offsets: Sequence[Any], **_hints: Any) -> Value:
    return descriptor.load(offsets)


def store_descriptor(descriptor: Descriptor, offsets: Sequence[Any], value: Value, **_hints: Any) -> None:
    descriptor.store(offsets, value)


_PLAIN: Mapping[str, Callable[..., Any]] = {
    **mathematics.TL,
    **random_numbers.TL,
    "arange": arange,
    "full": full,
    "zeros": zeros,
    "zeros_like": zeros_like,
    "broadcast_to": broadcast_to,
    "broadcast": broadcast,
    "expand_dims": expand_dims,
    "reshape": reshape,
    "view": reshape,
    "ravel": ravel,
    "permute": permute,
    "trans": trans,
    "join": join,
    "split": split,
    "interleave": interleave,
    "cat": cat,
    "flip": flip,
    "swizzle2d": swizzle2d,
    "cast": cast,
    "to_tensor": as_value,
    "dot": reductions.dot,
    "reduce": reductions.reduce,
    "associative_scan": reductions.associative_scan,
    "sum": reductions.sum_of,
    "max": reductions.max_of,
    "min": reductions.min_of,
    "argmax": reductions.argmax,
    "argmin": reductions.argmin,
    "xor_sum": reductions.xor_sum,
    "reduce_or": reductions.reduce_or,
    "cumsum": reductions.cumsum,
    "cumprod": reductions.cumprod,
    "sort": reductions.sort,
    "topk": reductions.topk,
    "histogram": reductions.histogram,
    "gather": reductions.gather,
    "static_assert": static_assert,
    "static_print": _ignored,
    "device_print": _ignored,
    "debug_barrier": _ignored,
    "assume": _ignored,
    "multiple_of": _same,
    "max_contiguous": _same,
    "max_constancy": _same,
    "constexpr": _same,
}

METHODS = (
    *("sum", "max", "min", "argmax", "argmin", "cumsum", "cumprod", "xor_sum", "sort", "reshape", "trans"),
    *("permute", "expand_dims", "broadcast_to", "split", "abs", "exp", "log", "sqrt", "sigmoid", "cdiv"),
    *("reduce", "associative_scan", "gather", "histogram", "ravel", "flip", "view"),
)
"""Functions of `tl` that are methods of blocks, too."""

for _name in METHODS:
    setattr(Value, _name, _PLAIN[_name])


def _numbers(bounds: Sequence[Any]) -> tuple[int, int, int]:
    numbers = [int(b) if isinstance(b, int) else b.__index__() for b in bounds]
    return (0, numbers[0], 1) if len(numbers) == 1 else (*numbers, 1)[:3]  # type: ignore[return-value]


def _loop(*bounds: Any, **_hints: Any) -> Iterator[Value]:
    """`range`: the variable is a scalar of the bounds' type."""
    start, end, step = _numbers(bounds)
    types = [b.dtype if isinstance(b, Value) else type_of_number(b) for b in bounds]
    dtype = int64 if int64 in types else int32
    for i in builtins.range(start, end, step):
        yield as_value(i, dtype)


def _static_loop(*bounds: Any) -> Iterator[int]:
    if not all(isinstance(b, int) for b in bounds):
        raise BadText("static_range takes literals")
    return iter(builtins.range(*bounds))


_Update = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


def _updates() -> dict[str, _Update]:
    return {
        "atomic_add": lambda old, new: old + new[0],
        "atomic_max": lambda old, new: torch.maximum(old, new[0]),
        "atomic_min": lambda old, new: torch.minimum(old, new[0]),
        "atomic_and": lambda old, new: old & new[0],
        "atomic_or": lambda old, new: old | new[0],
        "atomic_xor": lambda old, new: old ^ new[0],
        "atomic_xchg": lambda old, new: new[0],
    }


def _of_unsigned(combine: _Update) -> _Update:
    """An extreme of numbers that signed tensors hold: their order is that without the first bit."""

    def combined(old: torch.Tensor, new: torch.Tensor) -> torch.Tensor:
        first = torch.iinfo(old.dtype).min
        return combine(old ^ first, new ^ first) ^ first

    return combined


def _atomic(access: Access, name: str, combine: _Update) -> Callable[..., Value]:
    def call(pointer: Any, val: Any, mask: Any = None, sem: Any = None, scope: Any = None) -> Value:
        unsigned = isinstance(pointer, Pointer) and pointer.element.kind == "uint"
        if unsigned and name in ("atomic_max", "atomic_min"):
            return access.atomic(_of_unsigned(combine), pointer, [val], mask)
        return access.atomic(combine, pointer, [val], mask)

    return call


def language(programs: torch.Tensor, grid: tuple[int, int, int]) -> dict[str, Any]:
    """The globals of kernel text, for the programs with these linear numbers of a grid."""
    total = grid[0] * grid[1] * grid[2]
    access = Access(programs, total)
    ids = (programs % grid[0], programs // grid[0] % grid[1], programs // (grid[0] * grid[1]))

    def program_id(axis: int) -> Value:
        data = ids[axis] if grid[axis] > 1 else ids[axis][:1]
        return Value(data.to(torch.int32), int32)

    def num_programs(axis: int) -> Value:
        return as_value(grid[axis], int32)

    def make_tensor_descriptor(*args: Any, **options: Any) -> Descriptor:
        return Descriptor(access, *args, **options)

    def atomic_cas(pointer: Any, cmp: Any, val: Any, sem: Any = None, scope: Any = None) -> Value:
        return access.atomic(lambda old, new: torch.where(old == new[0], new[1], old), pointer, [cmp, val])

    tl = Namespace(
        **_PLAIN,
        **{dtype.name: dtype for dtype in ALL},
        **{name: _atomic(access, name, combine) for name, combine in _updates().items()},
        atomic_cas=atomic_cas,
        pointer_type=PointerType,
        program_id=program_id,
        num_programs=num_programs,
        load=access.load,
        store=access.store,
        make_tensor_descriptor=make_tensor_descriptor,
        load_tensor_descriptor=load_descriptor,
        store_tensor_descriptor=store_descriptor,
        range=_loop,
        static_range=_static_loop,
        PropagateNan=Namespace(ALL="all", NONE=None),
        math=Namespace(**mathematics.TL),
    )
    libdevice = Namespace(**mathematics.LIBDEVICE)
    tl.extra = Namespace(
        libdevice=libdevice, cuda=Namespace(libdevice=libdevice), hip=Namespace(libdevice=libdevice)
    )
    triton = Namespace(jit=_jit, language=tl, cdiv=mathematics.ceil_div, next_power_of_2=_next_power_of_two)
    return {"tl": tl, "triton": triton, "libdevice": libdevice, "range": _loop, "min": _least, "max": _most}


def _jit(function: Any = None, **_options: Any) -> Any:
    return function if function is not None else _jit


def _next_power_of_two(n: int) -> int:
    return 1 << (n - 1).bit_length()


def _least(*args: Any) -> Any:
    return _fold(builtins.min, mathematics.minimum, args)


def _most(*args: Any) -> Any:
    return _fold(builtins.max, mathematics.maximum, args)


def _fold(plain: Callable[..., Any], function: Callable[..., Any], args: Sequence[Any]) -> Any:
    if not any(isinstance(a, Value) for a in args):
        return plain(*args)
    result = args[0]
    for arg in args[1:]:
        result = function(result, arg)
    return result
