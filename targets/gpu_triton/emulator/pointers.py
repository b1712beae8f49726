"""Pointers, and what the text does through them: loads, stores, atomic operations, descriptors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from .dtypes import BadText, DType, Unknown, int1, int64
from .memory import SEVERAL, Buffer, poison
from .values import Value, aligned, arithmetic, as_value, converted


class Pointer:
    """Addresses in one buffer, in elements from its start."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, buffer: Buffer, offset: Value) -> None:
        self.buffer = buffer
        self.offset = offset

    @property
    def shape(self) -> tuple[int, ...]:
        return self.offset.shape

    @property
    def is_block(self) -> bool:
        return self.offset.is_block

    @property
    def element(self) -> DType:
        return self.buffer.dtype

    @property
    def dtype(self) -> Pointer:
        return self

    @property
    def type(self) -> Pointer:
        return self

    @property
    def element_ty(self) -> DType:
        return self.buffer.dtype

    def __add__(self, other: Any) -> Pointer:
        steps = as_value(other)
        if not steps.dtype.integer:
            raise BadText(f"a pointer plus {steps.dtype}")
        return Pointer(self.buffer, arithmetic("add", self.offset, converted(steps, int64)))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Pointer:
        return self + converted(as_value(other), int64) * -1

    def __getitem__(self, index: Any) -> Pointer:
        return Pointer(self.buffer, self.offset[index])

    def to(self, dtype: PointerType | DType, bitcast: bool = False) -> Pointer:
        """The same addresses, of elements of another type and the same width."""
        if not isinstance(dtype, PointerType):
            raise Unknown("it has no addresses as numbers")
        return Pointer(self.buffer.read_as(dtype.element), self.offset)


@dataclass(frozen=True)
class PointerType:
    """`tl.pointer_type(element)`."""

    element: DType


def _joint(a: torch.Size, b: torch.Size) -> torch.Size:
    """The shape of two equal ones but for the number of programs."""
    assert a[1:] == b[1:], (a, b)
    return torch.Size([max(a[0], b[0]), *a[1:]])


class Access:
    """Loads and stores of one group of programs: `programs` are their linear numbers."""

    def __init__(self, programs: torch.Tensor, total: int) -> None:
        self.programs = programs.to(torch.int32)
        self._alone = total == 1

    def _pid(self, batch: int, shape: torch.Size) -> torch.Tensor:
        """The program of each lane; where all programs do the same, it is one or several of them."""
        if batch == 1 and (len(self.programs) > 1 or not self._alone):
            who = self.programs if len(self.programs) == 1 else torch.tensor([SEVERAL], dtype=torch.int32)
        else:
            who = self.programs
        return who.reshape(-1, *[1] * (len(shape) - 1)).expand(shape)

    def load(self, pointer: Any, mask: Any = None, other: Any = None, **_hints: Any) -> Value:
        """Lanes whose mask is off have `other`; without one they are undefined, which poison shows."""
        where = self._lanes(pointer, mask)
        offset, active = where[0], where[1]
        buffer: Buffer = pointer.buffer
        shape = offset.data.shape
        pid = self._pid(shape[0], shape)
        if active is None:
            return Value(buffer.read(offset.data.reshape(-1), pid.reshape(-1)).reshape(shape), buffer.dtype)
        on = active.data
        if other is None:
            result = poison(1, buffer.flat.dtype).expand(shape).clone(memory_format=torch.contiguous_format)
        else:
            filled = aligned(_fitting(other, buffer.dtype, pointer), offset)[0].data
            shape = _joint(filled.shape, shape)
            result = filled.expand(shape).clone(memory_format=torch.contiguous_format)
            on, pid = on.expand(shape), self._pid(shape[0], shape)
        lanes = _lanes_of(on)
        found = buffer.read(_at(offset.data.expand(shape), lanes), _at(pid, lanes))
        if lanes is None:
            return Value(found.reshape(shape), buffer.dtype)
        result.view(-1)[lanes] = found
        return Value(result, buffer.dtype)

    def _lanes(self, pointer: Any, mask: Any) -> tuple[Value, Value | None]:
        if not isinstance(pointer, Pointer):
            raise BadText("this is no pointer")
        if mask is None:
            return pointer.offset, None
        condition = as_value(mask)
        if condition.dtype != int1:
            raise BadText(f"a mask of {condition.dtype}")
        if condition.is_block and not pointer.is_block:
            raise BadText("a mask of a block for a pointer to a scalar")
        if condition.is_block and _grows(condition.shape, pointer.shape):
            raise BadText(f"a mask of {condition.shape} for addresses of {pointer.shape}")
        offset, on = aligned(pointer.offset, condition)
        batch = max(offset.data.shape[0], on.data.shape[0])
        return (
            Value(offset.data.expand(batch, *offset.shape), int64),
            Value(on.data.expand(batch, *on.shape), int1),
        )

    def store(self, pointer: Any, value: Any, mask: Any = None, **_hints: Any) -> None:
        """`value` is converted to the element type, and repeated to the shape of the addresses."""
        offset, on = self._lanes(pointer, mask)
        data = aligned(_fitting(value, pointer.element, pointer), offset)[0].data
        shape = _joint(data.shape, offset.data.shape)
        pid, where, data = self._pid(shape[0], shape), offset.data.expand(shape), data.expand(shape)
        lanes = None if on is None else _lanes_of(on.data.expand(shape))
        pointer.buffer.write(_at(where, lanes), _at(data, lanes), _at(pid, lanes))

    def atomic(
        self,
        combine: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
        pointer: Any,
        values: Sequence[Any],
        mask: Any = None,
    ) -> Value:
        """Read, combine and write back at once; gives what was read."""
        offset, on = self._lanes(pointer, mask)
        parts = [aligned(_fitting(v, pointer.element, pointer), offset)[0].data for v in values]
        count = len(self.programs)
        shape = torch.Size([count, *offset.shape])
        where, active = offset.data.expand(shape), (None if on is None else on.data.expand(shape))
        lanes = torch.ones(shape, dtype=torch.bool) if active is None else active
        operands = torch.stack([part.expand(shape)[lanes] for part in parts])
        pid = self._pid(count, shape)[lanes]
        old = poison(1, pointer.buffer.flat.dtype).expand(shape).clone()

        def step(before: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
            return combine(before, operands[:, at])

        old[lanes] = pointer.buffer.update(where[lanes], pid, step)
        return Value(old, pointer.element)


def _lanes_of(on: torch.Tensor) -> torch.Tensor | None:
    """The numbers of the lanes whose mask is on; nothing if all are."""
    flat = on.reshape(-1)
    return None if bool(flat.all()) else flat.nonzero().squeeze(1)


def _at(data: torch.Tensor, lanes: torch.Tensor | None) -> torch.Tensor:
    """The elements of these lanes, or of all."""
    return data.reshape(-1) if lanes is None else data.reshape(-1)[lanes]


def _grows(shape: tuple[int, ...], to: tuple[int, ...]) -> bool:
    """Whether broadcasting `shape` against `to` would give more than `to`."""
    return len(shape) > len(to) or any(
        a not in (1, b) for a, b in zip(reversed(shape), reversed(to), strict=False)
    )


def _fitting(value: Any, dtype: DType, pointer: Pointer) -> Value:
    """A value to go with the lanes of `pointer`."""
    result = as_value(value, dtype)
    if result.is_block and _grows(result.shape, pointer.shape):
        raise BadText(f"a value of {result.shape} for addresses of {pointer.shape}")
    return result


_GRAIN = 16
"""Bytes that addresses and strides of a descriptor are multiples of."""


class Descriptor:
    """A tensor descriptor: blocks of a strided tensor; beyond its shape loads give zero, stores nothing.

    What the copy engine does not take is refused: it would read something else, or trap.
    """

    def __init__(
        self,
        access: Access,
        base: Pointer,
        shape: Sequence[Any],
        strides: Sequence[Any],
        block_shape: Sequence[int],
        padding_option: str = "zero",
    ) -> None:
        if not len(shape) == len(strides) == len(block_shape):
            raise BadText("shape, strides and block_shape of a descriptor differ in length")
        if isinstance(strides[-1], int) and strides[-1] != 1:
            raise BadText("the last stride of a descriptor is 1")
        self._access, self._base = access, base
        self._padding = float("nan") if padding_option == "nan" else 0
        self._shape = [converted(as_value(n), int64) for n in shape]
        self._strides = [converted(as_value(n), int64) for n in strides]
        self.block_shape = [int(n) for n in block_shape]
        self._check()

    def _check(self) -> None:
        width = self.dtype.payload.itemsize
        if any(n <= 0 or n & (n - 1) for n in self.block_shape) or self.block_shape[-1] * width < _GRAIN:
            raise BadText(f"a descriptor of blocks {self.block_shape} of {width} bytes per element")
        if bool((self._base.offset.data * width % _GRAIN != 0).any()):
            raise BadText(f"a descriptor whose base is no multiple of {_GRAIN} bytes")
        if any(bool((s.data * width % _GRAIN != 0).any()) for s in self._strides[:-1]):
            raise BadText(f"a descriptor with a stride that is no multiple of {_GRAIN} bytes")
        if any(bool(((n.data < 1) | (n.data >= 2**31)).any()) for n in self._shape):
            raise BadText("a descriptor of a size below 1 or above 2**31 - 1")

    @property
    def dtype(self) -> DType:
        return self._base.element

    def _lanes(self, offsets: Sequence[Any]) -> tuple[Pointer, Value]:
        rank = len(self.block_shape)
        if len(offsets) != rank:
            raise BadText(f"{len(offsets)} offsets for a descriptor of rank {rank}")
        pointer, mask = self._base, as_value(True)
        for axis, (start, size) in enumerate(zip(offsets, self.block_shape, strict=True)):
            if isinstance(start, Value) and start.dtype == int64:
                raise BadText("the places of a descriptor have 32 bits")
            lane = torch.arange(size).reshape(1, *[-1 if i == axis else 1 for i in range(rank)])
            position = converted(as_value(start), int64) + Value(lane, int64)
            pointer = pointer + position * self._strides[axis]
            mask = mask & (position >= 0) & (position < self._shape[axis])
        return pointer, mask

    def load(self, offsets: Sequence[Any], **_hints: Any) -> Value:
        pointer, mask = self._lanes(offsets)
        return self._access.load(pointer, mask, other=self._padding)

    def store(self, offsets: Sequence[Any], value: Value, **_hints: Any) -> None:
        pointer, mask = self._lanes(offsets)
        self._access.store(pointer, converted(value, self.dtype), mask)
