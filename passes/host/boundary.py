"""The edge of a plan: arguments, results and writes into arguments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, StringAttr, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Region, SSAValue

from tilewright.dialects.index_expr import ZERO, Expr, parse_exprs, row_major_strides
from tilewright.dialects.th.types import span
from tilewright.dialects.tw.aten import WriteOp
from tilewright.dialects.tw.base import exprs_attr
from tilewright.dialects.types import element_type_of, flat_memref, sizes_of, sizes_of_type

from .layouts import Layout, overlaps_itself, same_strides
from .plan_builder import PlanBuilder
from .storage import Place, Storage

OWNED = "tw.owned"


class Boundary:
    """Arguments and results of one function, before and after."""

    def __init__(self, function: FuncOp) -> None:
        self.function = function
        old = function.body.block
        self.arg_attrs = _attributes(function.arg_attrs, len(old.args))
        self.result_attrs = result_attributes(function)
        self.layouts: dict[SSAValue, Layout] = {
            arg: _layout(sizes_of(arg), attrs)
            for arg, attrs in zip(old.args, self.arg_attrs, strict=True)
            if isinstance(arg.type, TensorType)
        }
        self.wanted = [strides for strides in result_strides(function) if strides is not None]
        self.block = Block(arg_types=[self._argument_type(arg) for arg in old.args])
        self.places: dict[SSAValue, Place] = {}
        self.scalars: dict[SSAValue, SSAValue] = {}
        for arg, new in zip(old.args, self.block.args, strict=True):
            new.name_hint, new.location = arg.name_hint, arg.location
            layout = self.layouts.get(arg)
            if layout is None:
                self.scalars[arg] = new
                continue
            size = span(layout.sizes, layout.strides)
            storage = Storage("argument", element_type_of(arg), layout, size, new)
            self.places[arg] = Place(storage, layout)

    def _argument_type(self, arg: SSAValue) -> Attribute:
        layout = self.layouts.get(arg)
        if layout is None:
            return arg.type
        return flat_memref(element_type_of(arg), span(layout.sizes, layout.strides))

    # Leaving

    def leave(self, plan: PlanBuilder, op: ReturnOp, writes: Sequence[WriteOp]) -> None:
        """Return values, after copies of what must not be aliased, after writes into arguments."""
        written = {self.places[write.target].storage for write in writes}
        owned, returned = [OWNED in attrs for attrs in self.result_attrs], tuple(op.arguments)
        taken: set[Storage] = set()
        values: dict[int, SSAValue] = {}
        wanted = iter(self.wanted)
        strides = [next(wanted) if v in self.places else () for v in returned]
        for i in sorted(range(len(owned)), key=lambda i: not owned[i]):
            value = returned[i]
            if value not in self.places:
                values[i] = self.scalars[value]
                continue
            place = self.places[value]
            storage = place.storage
            barred = storage.kind == "argument" if owned[i] else storage in written
            values[i] = _returned(plan, place, strides[i], may_alias=not barred and storage not in taken)
            if owned[i]:
                taken.add(storage)
        self._write(plan, writes, written)
        plan.add(ReturnOp(*(values[i] for i in range(len(owned)))))

    def _write(self, plan: PlanBuilder, writes: Sequence[WriteOp], written: set[Storage]) -> None:
        """Copy into arguments what was not computed there; old values are saved before all writes."""
        pending: list[tuple[WriteOp, Place]] = []
        for write in writes:
            source, target = self.places[write.value], self.places[write.target]
            if source.storage is target.storage and source.layout == target.layout:
                continue
            plan.location = write.location
            pending.append((write, plan.copied(source) if source.storage in written else source))
        for write, source in pending:
            plan.location = write.location
            plan.copy(source, self.places[write.target])

    def finish(self, plan: PlanBuilder) -> None:
        """Give the function its new body, type and attributes."""
        function = self.function
        old = function.detach_region(function.body)
        function.add_region(Region(self.block))
        ret = self.block.last_op
        assert isinstance(ret, ReturnOp)
        types = FunctionType.from_lists(
            [arg.type for arg in self.block.args], [value.type for value in ret.arguments]
        )
        function.properties["function_type"] = types
        if any(layout for layout in self.arg_attrs) or self.layouts:
            attrs = [
                self._attributes_of(arg, attrs)
                for arg, attrs in zip(old.block.args, self.arg_attrs, strict=True)
            ]
            function.properties["arg_attrs"] = ArrayAttr(attrs)
        old.drop_all_references()

    def _attributes_of(self, arg: SSAValue, attrs: dict[str, Attribute]) -> DictionaryAttr:
        layout = self.layouts.get(arg)
        if layout is None:
            return DictionaryAttr(attrs)
        kept = {name: value for name, value in attrs.items() if name != "tw.strides"}
        kept["th.sizes"] = exprs_attr(layout.sizes)
        kept["th.strides"] = exprs_attr(layout.strides)
        return DictionaryAttr(kept)


def result_attributes(function: FuncOp) -> list[dict[str, Attribute]]:
    """What is said of each result."""
    return _attributes(function.res_attrs, len(function.function_type.outputs))


def result_strides(function: FuncOp) -> list[tuple[Expr, ...] | None]:
    """The strides that each result must have, None of what is no tensor."""
    types: tuple[Attribute, ...] = function.function_type.outputs.data
    return [
        _layout(sizes_of_type(type_), attrs).strides if type_.name == TensorType.name else None
        for type_, attrs in zip(types, result_attributes(function), strict=True)
    ]


def _attributes(attrs: ArrayAttr[DictionaryAttr] | None, count: int) -> list[dict[str, Attribute]]:
    return [dict(entry.data) for entry in attrs] if attrs is not None else [{} for _ in range(count)]


def _layout(sizes: tuple[Expr, ...], attrs: dict[str, Attribute]) -> Layout:
    strides = attrs.get("tw.strides")
    if isinstance(strides, StringAttr):
        return Layout(ZERO, sizes, parse_exprs(strides.data))
    return Layout(ZERO, sizes, row_major_strides(sizes))


def _returned(plan: PlanBuilder, place: Place, wanted: tuple[Expr, ...], *, may_alias: bool) -> SSAValue:
    """`place` as a value to return: itself, a view, or a copy where aliasing is not possible."""
    storage, layout = place.storage, place.layout
    repeats = overlaps_itself(layout.sizes, wanted)
    fits = repeats or same_strides(layout.sizes, layout.strides, wanted)
    lasting = storage.kind in ("argument", "result", "call") and may_alias
    if lasting and fits and not layout.has_negative_stride:
        if not place.is_whole:
            # Strides along dimensions of size 1 say nothing, but eager's are what a caller sees.
            exact = layout if repeats else replace(layout, strides=wanted)
            return plan.handle_of(Place(storage, exact))
        value = storage.handle or storage.buffer
        assert value is not None
        return value
    strides = row_major_strides(layout.sizes) if repeats else wanted
    target = plan.result(storage.element, layout.sizes, strides)
    plan.copy(place, target)
    value = target.storage.buffer
    assert value is not None
    return value
