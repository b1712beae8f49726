"""One face for the array namespaces that reference semantics run on: NumPy and torch.

The caller passes the module; nothing here imports it. Names that both share (`exp`,
`where`, `matmul`, ...) are taken from `Arrays.xp`; the rest are methods below.

Half types: torch has bf16, NumPy has not, so under NumPy a bf16 tensor is an f32 array
whose values are rounded. With `float64` every float type is f64 and nothing is rounded.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import bf16, f16, f32, f64, i1, i8, i16, i32, i64
from xdsl.ir import Attribute

from .types import FLOAT8, is_float, is_half, ui8

Array = Any
"""An array of the namespace: `numpy.ndarray` or `torch.Tensor`."""

_NAMES: dict[Attribute, str] = {
    f64: "float64",
    f32: "float32",
    f16: "float16",
    bf16: "bfloat16",
    i64: "int64",
    i32: "int32",
    i16: "int16",
    i8: "int8",
    ui8: "uint8",
    i1: "bool",
    **dict.fromkeys(FLOAT8.values(), "float32"),
}
_ACCUMULATED = {
    "cumsum": "add",
    "cumprod": "multiply",
    "cummax": "maximum",
    "cummin": "minimum",
    "logcumsumexp": "logaddexp",
}
"""NumPy's functions of two arrays that these apply along an axis."""

_UPDATES = {
    "add": ("add", "sum"),
    "mul": ("multiply", "prod"),
    "max": ("maximum", "amax"),
    "min": ("minimum", "amin"),
}
"""How elements are updated: NumPy's function of two arrays, and torch's name of it."""


class Arrays:
    """Array operations on `xp`, which is `numpy` or `torch`."""

    def __init__(self, xp: Any, *, float64: bool = False) -> None:
        self.xp = xp
        self.float64 = float64
        self.is_numpy = not hasattr(xp, "Tensor")

    # Types

    def dtype(self, element: Attribute) -> Any:
        """The dtype that stores `element`."""
        if is_float(element) and self.float64:
            return self.xp.float64
        name = _NAMES[element]
        if self.is_numpy and name == "bfloat16":
            name = "float32"
        return getattr(self.xp, name)

    def reinterpreted(self, value: Array, source: Attribute, target: Attribute) -> Array:
        """The bits of elements of type `source`, read as `target`, which has as many; f32 is f32 here."""
        return self.cast(value, getattr(self.xp, _NAMES[source])).view(getattr(self.xp, _NAMES[target]))

    def compute_dtype(self, element: Attribute) -> Any:
        """The dtype in which ops on `element` compute: f32 for the half types."""
        return self.dtype(f32 if is_half(element) else element)

    def store(self, value: Array, element: Attribute) -> Array:
        """Convert to the stored form of `element`, rounding to nearest even."""
        if element == bf16 and self.is_numpy and not self.float64:
            return self._round_bf16(self.cast(value, self.xp.float32))
        return self.cast(value, self.dtype(element))

    def _round_bf16(self, value: Array) -> Array:
        bits = self.xp.ascontiguousarray(value).view(self.xp.uint32)
        rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000
        kept = self.xp.where(self.xp.isnan(value), value, rounded.view(self.xp.float32).reshape(value.shape))
        return self.xp.asarray(kept, dtype=self.xp.float32)

    def cast(self, value: Array, dtype: Any) -> Array:
        """Convert to a dtype of the namespace."""
        if self.is_numpy:
            with self.xp.errstate(all="ignore"):
                return self.xp.asarray(value).astype(dtype)
        return value.to(dtype)

    # Creation

    def asarray(self, value: Any, dtype: Any) -> Array:
        if self.is_numpy:
            return self.xp.asarray(value, dtype=dtype)
        return self.xp.as_tensor(value, dtype=dtype)

    def full(self, sizes: Sequence[int], value: float | int, dtype: Any) -> Array:
        return self.xp.full(tuple(sizes), value, dtype=dtype)

    def arange(self, count: int) -> Array:
        return self.xp.arange(count, dtype=self.xp.int64)

    def copy(self, value: Array) -> Array:
        return value.copy() if self.is_numpy else value.clone()

    # Shape

    def permute(self, value: Array, perm: Sequence[int]) -> Array:
        return value.transpose(tuple(perm)) if self.is_numpy else value.permute(tuple(perm))

    def broadcast_to(self, value: Array, sizes: Sequence[int]) -> Array:
        return self.xp.broadcast_to(value, tuple(sizes))

    def concat(self, values: Sequence[Array], dim: int) -> Array:
        return self.xp.concatenate(tuple(values), dim)

    def flip(self, value: Array, dims: Sequence[int]) -> Array:
        return self.xp.flip(value, tuple(dims))

    # Reductions (`dims` may be empty; they are dropped)

    def reduce(self, name: str, value: Array, dims: Sequence[int]) -> Array:
        """`name` is sum, prod, amax, amin, any or all; keeps the dtype."""
        if not dims:
            return value
        if self.is_numpy:
            options = {"dtype": value.dtype} if name in ("sum", "prod") else {}
            return self.xp.asarray(getattr(self.xp, name)(value, axis=tuple(dims), **options))
        if name == "sum":
            return self.xp.sum(value, dim=tuple(dims), dtype=value.dtype)
        if name in ("amax", "amin"):
            return getattr(self.xp, name)(value, dim=tuple(dims))
        options = {"dtype": value.dtype} if name == "prod" else {}
        for dim in sorted(dims, reverse=True):
            value = getattr(self.xp, name)(value, dim=dim, **options)
        return value

    def arg_reduce(self, name: str, value: Array, dim: int) -> Array:
        """First position of the extreme along `dim`; `name` is argmax or argmin."""
        if self.is_numpy:
            return self.xp.asarray(getattr(self.xp, name)(value, axis=dim), dtype=self.xp.int64)
        return getattr(self.xp, name)(value, dim=dim)

    def sorted_along(self, value: Array, dim: int, *, descending: bool) -> tuple[Array, Array]:
        """Elements along `dim` in order, and their positions: equal ones keep theirs, NaN is the largest."""
        if not self.is_numpy:
            found = self.xp.sort(value, dim=dim, descending=descending, stable=True)
            return found.values, found.indices
        if descending:  # the last of equals first, then all of it the other way round
            back = self.xp.argsort(self.xp.flip(value, dim), axis=dim, kind="stable")
            order = value.shape[dim] - 1 - self.xp.flip(back, dim)
        else:
            order = self.xp.argsort(value, axis=dim, kind="stable")
        return self.xp.take_along_axis(value, order, axis=dim), order

    def cumulate(self, name: str, value: Array, dim: int) -> Array:
        """`cumsum`, `cumprod`, `cummax`, `cummin` or `logcumsumexp`; of sums none is -0.0, as in ATen."""
        if self.is_numpy:
            found = getattr(self.xp, _ACCUMULATED[name]).accumulate(value, axis=dim, dtype=value.dtype)
            return found + value.dtype.type(0) if "sum" in name else found
        if name in ("cummax", "cummin"):
            return getattr(self.xp, name)(value, dim=dim)[0]
        if name == "logcumsumexp":
            return self.xp.logcumsumexp(value, dim=dim)
        return getattr(self.xp, name)(value, dim=dim, dtype=value.dtype)

    # Indexing

    def combine_at(self, kind: str, target: Array, index: tuple[Array, ...], values: Array) -> None:
        """`target[index] = kind(target[index], values)` for each in turn; writes into `target`.

        `kind` is add, mul, max or min; of the latter two NaN is the result where it is met.
        """
        if self.is_numpy:
            getattr(self.xp, _UPDATES[kind][0]).at(target, index, values)
        elif kind == "add":
            target.index_put_(index, values, accumulate=True)
        else:
            flat, place = target.reshape(-1), self.asarray(0, self.xp.int64)
            for size, at in zip(target.shape, index, strict=True):
                place = place * size + at
            found = flat.scatter_reduce(0, place.reshape(-1), values.reshape(-1), _UPDATES[kind][1])
            target.copy_(found.reshape(target.shape))
