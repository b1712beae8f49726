"""Where values live: temporaries, the arena, results, views and tensor handles."""

from __future__ import annotations

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, MemRefType, StringAttr
from xdsl.irdl import (
    BaseAttr,
    IRDLOperation,
    eq,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ..index_expr import as_expr, is_negative_stride
from ..op_definition import op_definition
from ..verification import SelfContained
from .types import (
    ARENA_TYPE,
    TensorType,
    check_flat,
    element_of_handle,
    expr_of,
    exprs_of,
    is_memref,
    span,
)

_FLAT = BaseAttr(MemRefType)
_HANDLE = BaseAttr(TensorType)
_ANY = _FLAT | _HANDLE


@op_definition
class AllocOp(SelfContained, IRDLOperation):
    """A temporary of `size` elements, contents undefined; `plan-memory` gives it a place.

    %b = th.alloc "1024" : memref<1024xf32>
    """

    name = "th.alloc"

    size = prop_def(StringAttr)
    result = result_def(_FLAT)

    assembly_format = "$size attr-dict `:` type($result)"

    def verify_(self) -> None:
        check_flat(self.name, self.result, expr_of(self.name, "size", self.size))


@op_definition
class ArenaOp(SelfContained, IRDLOperation):
    """The one block of `size` bytes, 64-byte aligned, that holds every temporary of a call.

    %arena = th.arena "4096*s0" : memref<?xi8>

    It may be kept from call to call; its contents are undefined at the start of each.
    """

    name = "th.arena"

    size = prop_def(StringAttr)
    result = result_def(eq(ARENA_TYPE))

    assembly_format = "$size attr-dict `:` type($result)"

    def verify_(self) -> None:
        expr_of(self.name, "size", self.size)


@op_definition
class BufferOp(SelfContained, IRDLOperation):
    """`size` elements of the arena, from byte `offset` on. Buffers may overlap in time only.

    %b = th.buffer %arena at "64*s0" size "1024" : memref<1024xf32>
    """

    name = "th.buffer"

    arena = operand_def(eq(ARENA_TYPE))
    offset = prop_def(StringAttr)
    size = prop_def(StringAttr)
    result = result_def(_FLAT)

    traits = traits_def(Pure())
    assembly_format = "$arena `at` $offset `size` $size attr-dict `:` type($result)"

    def verify_(self) -> None:
        check_flat(self.name, self.result, expr_of(self.name, "size", self.size))
        offset = expr_of(self.name, "offset", self.offset)
        if offset % 64:
            raise VerifyException(f'{self.name}: offset "{offset}" is not a multiple of 64 bytes')


@op_definition
class EmptyOp(SelfContained, IRDLOperation):
    """A new tensor that the caller will own; the memref spans its elements.

    %o = th.empty sizes "8, s0" strides "s0, 1" : memref<?xf32>
    """

    name = "th.empty"

    sizes = prop_def(StringAttr)
    strides = prop_def(StringAttr)
    result = result_def(_FLAT)

    assembly_format = "`sizes` $sizes `strides` $strides attr-dict `:` type($result)"

    def verify_(self) -> None:
        sizes = exprs_of(self.name, "sizes", self.sizes)
        strides = exprs_of(self.name, "strides", self.strides)
        _check_ranks(self.name, len(sizes), len(strides))
        check_flat(self.name, self.result, span(sizes, strides))


@op_definition
class ConstantOp(SelfContained, IRDLOperation):
    """Read-only data, laid out row-major. May be placed once for all calls.

    %c = th.constant dense<[1.0, 2.0]> : tensor<2xf32> -> memref<2xf32>
    """

    name = "th.constant"

    value = prop_def(DenseIntOrFPElementsAttr)
    result = result_def(_FLAT)

    traits = traits_def(Pure())
    assembly_format = "$value attr-dict `->` type($result)"

    def verify_(self) -> None:
        numel = 1
        for size in self.value.get_shape():
            numel *= size
        check_flat(self.name, self.result, as_expr(numel))
        element = self.value.get_element_type()
        if element != element_of_handle(self.result.type):
            raise VerifyException(f"{self.name}: data is {element}, the buffer is {self.result.type}")


@op_definition
class ViewOp(SelfContained, IRDLOperation):
    """A strided tensor handle on a buffer or on another tensor (no copy); units are elements.

    %t = th.view %b offset "0" sizes "8, 128" strides "128, 1" : memref<1024xf32> -> !th.tensor<f32>

    Returned views keep what they view alive, so they are never views of the arena.
    """

    name = "th.view"

    source = operand_def(_ANY)
    offset = prop_def(StringAttr)
    sizes = prop_def(StringAttr)
    strides = prop_def(StringAttr)
    result = result_def(_HANDLE)

    traits = traits_def(Pure())
    assembly_format = (
        "$source `offset` $offset `sizes` $sizes `strides` $strides attr-dict"
        " `:` type($source) `->` type($result)"
    )

    def verify_(self) -> None:
        offset = expr_of(self.name, "offset", self.offset)
        sizes = exprs_of(self.name, "sizes", self.sizes)
        strides = exprs_of(self.name, "strides", self.strides)
        _check_ranks(self.name, len(sizes), len(strides))
        for stride in strides:
            if is_negative_stride(stride):
                raise VerifyException(f'{self.name}: ATen has no negative stride "{stride}"')
        have, want = element_of_handle(self.source.type), element_of_handle(self.result.type)
        if have != want:
            raise VerifyException(f"{self.name}: views {have} as {want}")
        if is_memref(self.source.type):
            (room,) = self.source.type.get_shape()
            last = (offset + span(sizes, strides)).constant
            if room >= 0 and last is not None and last > room:
                raise VerifyException(f"{self.name}: needs {last} elements, the buffer has {room}")


@op_definition
class DataOp(SelfContained, IRDLOperation):
    """The first `size` elements behind a tensor handle, as a kernel takes them.

    %b = th.data %t size "1024" : !th.tensor<f32> -> memref<1024xf32>
    """

    name = "th.data"

    source = operand_def(_HANDLE)
    size = prop_def(StringAttr)
    result = result_def(_FLAT)

    traits = traits_def(Pure())
    assembly_format = "$source `size` $size attr-dict `:` type($source) `->` type($result)"

    def verify_(self) -> None:
        check_flat(self.name, self.result, expr_of(self.name, "size", self.size))
        have, want = element_of_handle(self.source.type), element_of_handle(self.result.type)
        if have != want:
            raise VerifyException(f"{self.name}: reads {have} as {want}")


@op_definition
class FreeOp(SelfContained, IRDLOperation):
    """The tensor is not used any more: drop this plan's reference to it.

    th.free %t : !th.tensor<f32>
    """

    name = "th.free"

    source = operand_def(_HANDLE)

    assembly_format = "$source attr-dict `:` type($source)"


def _check_ranks(name: str, sizes: int, strides: int) -> None:
    if sizes != strides:
        raise VerifyException(f"{name}: {sizes} sizes but {strides} strides")
