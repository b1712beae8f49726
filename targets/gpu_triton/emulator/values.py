"""A Triton value of all programs at once, and its operators.

`Value.data` has one leading dimension more than the block in the text: one row per program,
or a single row where the value is the same in every program.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from typing import cast as typed

import torch

from .casts import cast_payload, widened
from .division import exact_fmod, truncated
from .dtypes import BadText, DType, Number, float32, float64, int1, promote, type_of_number

MOST_ELEMENTS = 1 << 22
"""A value beyond this size splits the programs into fewer at a time."""

_EMPTY_SLICE = slice(None)


class TooManyPrograms(Exception):
    """The programs that run at once need too much memory: run `count` at a time."""

    def __init__(self, count: int) -> None:
        super().__init__(count)
        self.count = count


class Diverged(Exception):
    """Programs disagree about control flow: `choice` has one number per program."""

    def __init__(self, choice: torch.Tensor) -> None:
        super().__init__()
        self.choice = choice


class Value:
    """A scalar or block, in every program; immutable."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, data: torch.Tensor, dtype: DType) -> None:
        if data.numel() > MOST_ELEMENTS and data.shape[0] > 1:
            raise TooManyPrograms(max(1, data.shape[0] * MOST_ELEMENTS // (2 * data.numel())))
        assert data.dtype == dtype.payload, (data.dtype, dtype)
        self.data = data
        self.dtype = dtype

    # What the text may ask

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.data.shape[1:])

    @property
    def is_block(self) -> bool:
        return self.data.dim() > 1

    @property
    def type(self) -> Value:
        return self

    @property
    def scalar(self) -> DType:
        return self.dtype

    @property
    def numel(self) -> int:
        return self.data.numel() // self.data.shape[0]

    def to(self, dtype: DType, fp_downcast_rounding: str | None = None, bitcast: bool = False) -> Value:
        if fp_downcast_rounding not in (None, "rtne"):
            raise BadText(f"rounding {fp_downcast_rounding} is not emulated")
        return reinterpreted(self, dtype) if bitcast else converted(self, dtype)

    cast = to

    def __getitem__(self, index: Any) -> Value:
        parts: tuple[Any, ...] = typed("Any", index) if isinstance(index, tuple) else (index,)
        if any(part is not None and part != _EMPTY_SLICE for part in parts):
            raise BadText("only `:` and `None` may stand in a subscript")
        if sum(part is not None for part in parts) != len(self.shape):
            raise BadText(f"a subscript of {len(parts)} for a block of rank {len(self.shape)}")
        return Value(self.data[(_EMPTY_SLICE, *parts)], self.dtype)

    # Control flow

    def __bool__(self) -> bool:
        return bool(self._uniform())

    def __index__(self) -> int:
        if not self.dtype.integer:
            raise BadText(f"{self.dtype} is no integer")
        return int(self._uniform())

    def _uniform(self) -> Number:
        if self.is_block:
            raise BadText("a block has no single value")
        first = self.data[0]
        if self.data.shape[0] > 1 and bool((self.data != first).any()):
            raise Diverged(self.data.to(torch.int64))
        return first.item()

    # Operators; a pointer on the right of `+` answers itself

    def __neg__(self) -> Value:
        """Triton 3.6 computes `0 - x`, which loses the sign of a zero; 3.9 keeps it: do not rely on it."""
        return arithmetic("sub", 0.0 if self.dtype.floating else 0, self)

    def __invert__(self) -> Value:
        if self.dtype.floating:
            raise BadText(f"~ of {self.dtype}")
        return Value(~self.data, self.dtype)

    def __add__(self, other: Any) -> Any:
        return arithmetic("add", self, other) if isinstance(other, Operand) else NotImplemented

    def __radd__(self, other: Number) -> Value:
        return arithmetic("add", other, self)

    def __sub__(self, other: Operand) -> Value:
        return arithmetic("sub", self, other)

    def __rsub__(self, other: Number) -> Value:
        return arithmetic("sub", other, self)

    def __mul__(self, other: Operand) -> Value:
        return arithmetic("mul", self, other)

    def __rmul__(self, other: Number) -> Value:
        return arithmetic("mul", other, self)

    def __truediv__(self, other: Operand) -> Value:
        return true_division(self, other)

    def __rtruediv__(self, other: Number) -> Value:
        return true_division(other, self)

    def __floordiv__(self, other: Operand) -> Value:
        return floor_division(self, other)

    def __rfloordiv__(self, other: Number) -> Value:
        return floor_division(other, self)

    def __mod__(self, other: Operand) -> Value:
        return modulo(self, other)

    def __rmod__(self, other: Number) -> Value:
        return modulo(other, self)

    def __and__(self, other: Operand) -> Value:
        return bitwise("and", self, other)

    def __rand__(self, other: Number) -> Value:
        return bitwise("and", other, self)

    def __or__(self, other: Operand) -> Value:
        return bitwise("or", self, other)

    def __ror__(self, other: Number) -> Value:
        return bitwise("or", other, self)

    def __xor__(self, other: Operand) -> Value:
        return bitwise("xor", self, other)

    def __rxor__(self, other: Number) -> Value:
        return bitwise("xor", other, self)

    def __lshift__(self, other: Operand) -> Value:
        return shift(self, other, left=True)

    def __rlshift__(self, other: Number) -> Value:
        return shift(other, self, left=True)

    def __rshift__(self, other: Operand) -> Value:
        return shift(self, other, left=False)

    def __rrshift__(self, other: Number) -> Value:
        return shift(other, self, left=False)

    def __lt__(self, other: Operand) -> Value:
        return compare("lt", self, other)

    def __le__(self, other: Operand) -> Value:
        return compare("le", self, other)

    def __gt__(self, other: Operand) -> Value:
        return compare("gt", self, other)

    def __ge__(self, other: Operand) -> Value:
        return compare("ge", self, other)

    def __eq__(self, other: object) -> Any:
        return compare("eq", self, other)

    def __ne__(self, other: object) -> Any:
        return compare("ne", self, other)


Operand = Value | bool | int | float


def as_value(operand: Any, dtype: DType | None = None) -> Value:
    """A number as a value of its own type, or of `dtype`."""
    if isinstance(operand, Value):
        return operand if dtype is None else converted(operand, dtype)
    if not isinstance(operand, bool | int | float):
        raise BadText(f"{operand!r} is no value")
    own = type_of_number(operand)
    if dtype is None or dtype == own:
        return Value(torch.tensor([_wrapped(operand, own)], dtype=own.payload), own)
    if dtype.floating:
        return converted(Value(torch.tensor([float(operand)], dtype=torch.float64), float64), dtype)
    return converted(Value(torch.tensor([_wrapped(operand, own)], dtype=own.payload), own), dtype)


def _wrapped(number: Number, dtype: DType) -> Number:
    """Unsigned numbers are held in signed tensors."""
    if dtype.kind == "uint" and number > (1 << (dtype.bits - 1)) - 1:
        return int(number) - (1 << dtype.bits)
    return number


def converted(value: Value, dtype: DType) -> Value:
    """What `.to(dtype)` gives."""
    if value.dtype == dtype:
        return value
    return Value(cast_payload(value.data, value.dtype, dtype), dtype)


def reinterpreted(value: Value, dtype: DType) -> Value:
    """The same bits as another type."""
    if max(value.dtype.bits, 8) != max(dtype.bits, 8):
        raise BadText(f"bitcast of {value.dtype} to {dtype}: their sizes differ")
    return Value(value.data.contiguous().view(dtype.payload), dtype)


def aligned(*values: Value) -> list[Value]:
    """Broadcast against each other, as Triton does: leading axes are added, then axes of one grow."""
    blocks = [v for v in values if v.is_block]
    rank = max((len(v.shape) for v in blocks), default=0)
    datas = [v.data.reshape(v.data.shape[0], *[1] * (rank - len(v.shape)), *v.shape) for v in values]
    shape: list[int] = []
    for axis in range(1, rank + 1):
        sizes = {data.shape[axis] for data in datas} - {1}
        if len(sizes) > 1:
            raise BadText(f"shapes {[v.shape for v in values]} do not broadcast")
        shape.append(sizes.pop() if sizes else 1)
    return [Value(data.expand(data.shape[0], *shape), v.dtype) for data, v in zip(datas, values, strict=True)]


def _in_range(number: Number, dtype: DType) -> None:
    if not dtype.floating and not dtype.limits[0] <= number <= dtype.limits[1]:
        raise BadText(f"{number} is out of the range of {dtype}")


def operands(a: Any, b: Any, division: bool = False) -> tuple[Value, Value]:
    """Both in their common type and shape."""
    a_number, b_number = not isinstance(a, Value), not isinstance(b, Value)
    a_type = type_of_number(a) if a_number else a.dtype
    b_type = type_of_number(b) if b_number else b.dtype
    common = promote(a_type, a_number, b_type, b_number, division)
    for operand in (a, b):
        if not isinstance(operand, Value):
            _in_range(operand, common)
    left, right = aligned(as_value(a, common), as_value(b, common))
    return left, right


_EXACT: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "add": torch.add,
    "sub": torch.sub,
    "mul": torch.mul,
}
_ON_BOOLEANS = {"add": torch.logical_xor, "sub": torch.logical_xor, "mul": torch.logical_and}


def arithmetic(name: str, a: Any, b: Any) -> Value:
    """Addition, subtraction, multiplication: integers wrap, halves round."""
    left, right = operands(a, b)
    table = _ON_BOOLEANS if left.dtype == int1 else _EXACT
    return Value(table[name](left.data, right.data), left.dtype)


def true_division(a: Any, b: Any) -> Value:
    """`/`: integers become float32."""
    left, right = operands(a, b, division=True)
    if not left.dtype.floating:
        left, right = converted(left, float32), converted(right, float32)
    return Value(torch.div(left.data, right.data), left.dtype)


def floor_division(a: Any, b: Any) -> Value:
    """`//`: of integers alone, truncating like C."""
    left, right = operands(a, b, division=True)
    if left.dtype.floating:
        raise BadText(f"// of {left.dtype}")
    return Value(truncated(left.data, right.data, left.dtype)[0], left.dtype)


def modulo(a: Any, b: Any) -> Value:
    """`%`: the remainder has the sign of the dividend."""
    left, right = operands(a, b, division=True)
    if left.dtype.floating:
        return Value(exact_fmod(left.data, right.data), left.dtype)
    return Value(truncated(left.data, right.data, left.dtype)[1], left.dtype)


_BITS = {"and": torch.bitwise_and, "or": torch.bitwise_or, "xor": torch.bitwise_xor}


def bitwise(name: str, a: Any, b: Any) -> Value:
    """`& | ^` of integers and booleans."""
    left, right = operands(a, b)
    if left.dtype.floating:
        raise BadText(f"bitwise {name} of {left.dtype}")
    return Value(_BITS[name](left.data, right.data), left.dtype)


def shift(a: Any, b: Any, left: bool) -> Value:
    """`<<` and `>>`: logical on unsigned integers; by the width or more, where C says nothing, 0."""
    value, count = operands(a, b)
    dtype = value.dtype
    if not dtype.integer or dtype == int1:
        raise BadText(f"shift of {dtype}")
    n = widened(count.data, dtype)
    fine = (n >= 0) & (n < dtype.bits)
    n = torch.where(fine, n, torch.zeros_like(n))
    if left:
        data = value.data << n.to(value.data.dtype)
    elif dtype.kind == "uint" and dtype.bits == 64:
        mask = torch.where(n == 0, torch.full_like(n, -1), (torch.ones_like(n) << (64 - n).clamp(max=63)) - 1)
        data = (value.data >> n) & mask
    else:
        data = (widened(value.data, dtype) >> n).to(dtype.payload)
    return Value(torch.where(fine, data, torch.zeros_like(data)), dtype)


_FLOAT_COMPARISONS: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "lt": torch.lt,
    "le": torch.le,
    "gt": torch.gt,
    "ge": torch.ge,
    "eq": torch.eq,
    "ne": torch.ne,
}


def compare(name: str, a: Any, b: Any) -> Value:
    """Comparisons; with NaN only `!=` holds."""
    left, right = operands(a, b)
    x, y = left.data, right.data
    if left.dtype.kind == "uint":
        low = torch.iinfo(x.dtype).min
        x, y = x ^ low, y ^ low  # the order of unsigned integers
    return Value(_FLOAT_COMPARISONS[name](x, y), int1)
