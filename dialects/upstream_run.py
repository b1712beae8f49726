"""Executes linalg text with upstream's own passes and JIT: the judge of what we export.

Nothing of ours takes part between the text and the numbers.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache
from typing import Any, ClassVar

import numpy as np
from xdsl.dialects.builtin import FunctionType, IndexType, TensorType, bf16
from xdsl.ir import Attribute

from .arrays import Arrays
from .types import element_type, rank_of_type
from .upstream import Invoke, compile_upstream

LOWERING = (
    "one-shot-bufferize{bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map}",
    "func.func(convert-linalg-to-loops)",
    "expand-strided-metadata",
    "lower-affine",
    "arith-expand{include-bf16=true}",
    "convert-math-to-funcs",
    "convert-scf-to-cf",
    "convert-math-to-llvm",
    "convert-math-to-libm",
    "convert-cf-to-llvm",
    "finalize-memref-to-llvm",
    "convert-func-to-llvm",
    "convert-arith-to-llvm",
    "reconcile-unrealized-casts",
)
"""From linalg on tensors to the llvm dialect, by passes of upstream."""


def run_linalg(text: str, name: str, type_: FunctionType, args: Sequence[Any]) -> list[Any]:
    """The results of `@name` on NumPy arrays (bf16 as rounded f32), sizes as integers.

    `type_` is the type of the function before the export. What the code allocates is not freed.
    """
    return call_linalg(compile_linalg(text), name, type_, args)


def compile_linalg(text: str) -> Invoke:
    """Code for the functions of a module on tensors that have `llvm.emit_c_interface`."""
    return compile_upstream(text, LOWERING, {"memrefCopy": _COPY})


def call_linalg(invoke: Invoke, name: str, type_: FunctionType, args: Sequence[Any]) -> list[Any]:
    """One call of compiled code, as `run_linalg` makes it."""
    outputs = list(type_.outputs)
    frame = _frame(outputs)()
    kept = [_argument(t, value) for t, value in zip(type_.inputs, args, strict=True)]
    result = [ctypes.pointer(ctypes.pointer(frame))] if outputs else []
    invoke(name, [*result, *(pointer for pointer, _ in kept)])
    return [_result(getattr(frame, f"r{i}"), t) for i, t in enumerate(outputs)]


def _is_tensor(type_: Attribute) -> bool:
    return isinstance(type_, TensorType)


@cache
def _descriptor(rank: int) -> type[Any]:
    """Upstream's memref in C: pointers, offset, sizes, strides."""
    fields: list[tuple[str, Any]] = [
        ("allocated", ctypes.c_void_p),
        ("aligned", ctypes.c_void_p),
        ("offset", ctypes.c_int64),
    ]
    if rank:
        fields += [("sizes", ctypes.c_int64 * rank), ("strides", ctypes.c_int64 * rank)]
    return type("Descriptor", (ctypes.Structure,), {"_fields_": fields})


def _frame(outputs: Sequence[Attribute]) -> type[Any]:
    """What the results are written into: one after the other."""
    fields = [(f"r{i}", _native(t)) for i, t in enumerate(outputs)]
    return type("Frame", (ctypes.Structure,), {"_fields_": fields})


def _native(type_: Attribute) -> Any:
    return _descriptor(rank_of_type(type_)) if _is_tensor(type_) else ctypes.c_int64


def _argument(type_: Attribute, value: Any) -> tuple[Any, Any]:
    """(pointer to pass, what it points into); tensors are passed by a pointer to a pointer."""
    if isinstance(type_, IndexType):
        number = ctypes.c_int64(int(value))
        return ctypes.pointer(number), number
    stored = np.array(_to_memory(value, element_type(type_)), order="C", copy=True)
    found = _descriptor(stored.ndim)()
    found.allocated = found.aligned = stored.ctypes.data
    for i in range(stored.ndim):
        found.sizes[i] = stored.shape[i]
        found.strides[i] = stored.strides[i] // stored.itemsize
    return ctypes.pointer(ctypes.pointer(found)), stored


def _to_memory(value: Any, element: Attribute) -> Any:
    if element == bf16:
        bits: Any = np.array(value, dtype=np.float32, order="C").view(np.uint32)
        return (bits >> 16).astype(np.uint16)
    return np.array(value, dtype=Arrays(np).dtype(element))


def _result(found: Any, type_: Attribute) -> Any:
    if not _is_tensor(type_):
        return int(found)
    element = element_type(type_)
    dtype = np.dtype(np.uint16 if element == bf16 else Arrays(np).dtype(element))
    value = _memory(found, rank_of_type(type_), dtype).copy()
    return (value.astype(np.uint32) << 16).view(np.float32) if element == bf16 else value


def _memory(found: Any, rank: int, dtype: Any) -> Any:
    """The elements that a descriptor stands for, as they lie."""
    sizes = list(found.sizes) if rank else []
    strides = [s * dtype.itemsize for s in found.strides] if rank else []
    if 0 in sizes:
        return np.empty(sizes, dtype)
    span = dtype.itemsize + sum((n - 1) * s for n, s in zip(sizes, strides, strict=True))
    memory: Any = (ctypes.c_char * span).from_address(found.aligned + found.offset * dtype.itemsize)
    return np.ndarray(sizes, dtype, memory, strides=strides)


class _Unranked(ctypes.Structure):
    """Upstream's memref of unknown rank in C."""

    _fields_: ClassVar = [("rank", ctypes.c_int64), ("descriptor", ctypes.c_void_p)]


def _copy(size: int, source: Any, target: Any) -> None:
    """`memrefCopy` of upstream's run-time library, which the wheel lacks: a strided copy."""
    views: list[Any] = []
    for unranked in (source[0], target[0]):
        found = _descriptor(unranked.rank).from_address(unranked.descriptor)
        views.append(_memory(found, unranked.rank, np.dtype(f"V{size}")))
    views[1][...] = views[0]


_COPY = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.POINTER(_Unranked), ctypes.POINTER(_Unranked))(_copy)
