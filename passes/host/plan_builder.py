"""The th function while it is written: memory, handles, copies, launches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseIntOrFPElementsAttr,
    LocationAttr,
    StringAttr,
    SymbolRefAttr,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue

from tilewright.dialects.index_expr import ZERO, Expr, format_exprs
from tilewright.dialects.th.calls import LaunchOp
from tilewright.dialects.th.memory import AllocOp, ConstantOp, DataOp, EmptyOp, ViewOp
from tilewright.dialects.th.types import TensorType, span
from tilewright.dialects.tk.attributes import segments
from tilewright.dialects.tk.kernels import FuncOp
from tilewright.dialects.tw.base import exprs_attr, text
from tilewright.dialects.types import element_type_of, flat_memref

from ..memory.layouts import Layout, dense, same_place, same_strides
from .copies import copy_function
from .outline import Names
from .storage import Place, Storage


@dataclass
class PlanBuilder:
    """Appends th ops to `block` and kernels to `functions`; every op carries `location`."""

    block: Block
    location: LocationAttr
    names: Names = field(default_factory=Names)
    functions: list[FuncOp] = field(default_factory=list[FuncOp])
    _views: dict[tuple[Storage, Layout], SSAValue] = field(
        default_factory=dict["tuple[Storage, Layout]", SSAValue]
    )

    def add(self, op: Operation) -> Operation:
        op.location = self.location
        self.block.add_op(op)
        return op

    def _make(
        self, cls: type[Operation], source: SSAValue | None, type_: Attribute, **properties: Attribute
    ) -> SSAValue:
        operands = () if source is None else (source,)
        return self.add(cls.create(operands=operands, result_types=[type_], properties=properties)).results[0]

    # Memory

    def temporary(self, element: Attribute, layout: Layout) -> Place:
        size = span(layout.sizes, layout.strides)
        buffer = self._make(AllocOp, None, flat_memref(element, size), size=text(str(size)))
        return Place(Storage("temporary", element, layout, size, buffer), layout)

    def result(self, element: Attribute, sizes: Sequence[Expr], strides: Sequence[Expr]) -> Place:
        layout = Layout(ZERO, tuple(sizes), tuple(strides))
        size = span(layout.sizes, layout.strides)
        buffer = self._make(
            EmptyOp,
            None,
            flat_memref(element, size),
            sizes=text(format_exprs(sizes)),
            strides=text(format_exprs(strides)),
        )
        return Place(Storage("result", element, layout, size, buffer), layout)

    def constant(self, value: DenseIntOrFPElementsAttr, sizes: Sequence[Expr]) -> Place:
        layout = dense(tuple(sizes))
        size = span(layout.sizes, layout.strides)
        element = value.get_element_type()
        buffer = self._make(ConstantOp, None, flat_memref(element, size), value=value)
        return Place(Storage("constant", element, layout, size, buffer), layout)

    def buffer_of(self, storage: Storage) -> SSAValue:
        """The flat buffer, for kernels."""
        if storage.buffer is None:
            assert storage.handle is not None
            type_ = flat_memref(storage.element, storage.size)
            storage.buffer = self._make(DataOp, storage.handle, type_, size=text(str(storage.size)))
        return storage.buffer

    def handle_of(self, place: Place) -> SSAValue:
        """A tensor handle on a value, for ATen and for returns; negative strides are copied away."""
        storage = place.storage
        if storage.handle is not None and place.is_whole:
            return storage.handle
        if place.layout.has_negative_stride:
            return self.handle_of(self.copied(place))
        key = (storage, place.layout)
        if key not in self._views:
            source = storage.buffer if storage.handle is None else storage.handle
            self._views[key] = self._make(
                ViewOp,
                source,
                TensorType(storage.element),
                offset=text(str(place.layout.offset)),
                sizes=exprs_attr(place.layout.sizes),
                strides=exprs_attr(place.layout.strides),
            )
        return self._views[key]

    # Kernels, and calls of what allocates its results

    def call(
        self,
        kind: type[Operation],
        ins: Sequence[SSAValue],
        properties: Mapping[str, Attribute],
        results: Sequence[SSAValue],
        layouts: Sequence[Layout],
    ) -> dict[SSAValue, Place]:
        """Where `results` are: tensors that an op of this kind makes, in `layouts`, which it states."""
        stated = {
            "sizes": ArrayAttr([exprs_attr(layout.sizes) for layout in layouts]),
            "strides": ArrayAttr([exprs_attr(layout.strides) for layout in layouts]),
        }
        types = [TensorType(element_type_of(result)) for result in results]
        made = kind.create(operands=ins, result_types=types, properties={**properties, **stated})
        self.add(made)
        places: dict[SSAValue, Place] = {}
        for result, handle, layout in zip(results, made.results, layouts, strict=True):
            size = span(layout.sizes, layout.strides)
            storage = Storage("call", element_type_of(result), layout, size, handle=handle)
            places[result] = Place(storage, layout)
        return places

    def launch(
        self,
        function: FuncOp,
        ins: Sequence[SSAValue],
        outs: Sequence[SSAValue],
    ) -> None:
        properties: dict[str, Attribute] = {
            "kernel": SymbolRefAttr(function.sym_name),
            "operandSegmentSizes": segments(len(ins), len(outs)),
        }
        if function.symbols.exprs:
            properties["symbols"] = StringAttr(function.symbols.text.data)
        self.add(LaunchOp.create(operands=[*ins, *outs], properties=properties))
        self.functions.append(function)

    def copy(self, source: Place, target: Place) -> None:
        """Copy the elements of `source` to `target`, unless they are the same."""
        if source.storage is target.storage and same_place(source.layout, target.layout):
            return
        buffers = (self.buffer_of(source.storage), self.buffer_of(target.storage))
        types = [buffer.type for buffer in buffers]
        name = self.names.fresh("copy")
        function = copy_function(name, source.layout, target.layout, types, self.location)
        self.launch(function, buffers[:1], buffers[1:])

    def lying(self, place: Place, strides: Sequence[Expr]) -> Place:
        """`place`, or a copy of it where that has other strides."""
        sizes = place.layout.sizes
        if same_strides(sizes, place.layout.strides, strides):
            return place
        return self.copied(place, Layout(ZERO, sizes, tuple(strides)))

    def copied(self, source: Place, layout: Layout | None = None) -> Place:
        """A temporary with the elements of `source`, row-major or as `layout` says."""
        target = self.temporary(source.storage.element, layout or dense(source.layout.sizes))
        self.copy(source, target)
        return target
