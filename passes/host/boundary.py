"""The edge of a plan: arguments, results and writes into arguments."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Region, SSAValue

from tilewright.dialects.th.types import span
from tilewright.dialects.tw.aten import WriteOp
from tilewright.dialects.tw.base import STRIDES, exprs_attr
from tilewright.dialects.types import element_type_of, flat_memref, sizes_of

from ..memory.errors import NotBufferizable
from ..memory.layouts import Layout, same_places
from ..memory.result_memory import attributes_of, memory_of, result_attributes
from ..memory.stated import layout_at_edge, result_strides
from .leaving import value_of, views_of_copies
from .plan_builder import PlanBuilder
from .storage import Place, Storage


class Boundary:
    """Arguments and results of one function, before and after."""

    def __init__(self, function: FuncOp) -> None:
        self.function = function
        old = function.body.block
        self.arg_attrs = attributes_of(function.arg_attrs, len(old.args))
        self.result_attrs = result_attributes(function)
        self.layouts: dict[SSAValue, Layout] = {
            arg: layout_at_edge(sizes_of(arg), attrs)
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
        for write in writes:
            if self.places[write.target].storage.kind != "argument":
                why = "no strides say where in the argument its target lies"
                raise NotBufferizable(write, reason=why, advice="write to slices of it, or to all of it")
        written = {self.places[write.target].storage for write in writes}
        memory, returned = [memory_of(attrs) for attrs in self.result_attrs], tuple(op.arguments)
        wanted = iter(self.wanted)
        strides = [next(wanted) if value in self.places else () for value in returned]
        places = {i: self.places[value] for i, value in enumerate(returned) if value in self.places}
        places |= views_of_copies(plan, places, memory, strides)
        holders: dict[Storage, int] = {}
        values = {i: self.scalars[value] for i, value in enumerate(returned) if i not in places}
        for i in sorted(places, key=lambda i: memory[i] is None):
            storage, number = places[i].storage, memory[i]
            if number is None:
                may_alias = storage not in written and storage not in holders
            else:
                may_alias = storage.kind != "argument" and holders.setdefault(storage, number) == number
            values[i] = value_of(plan, places[i], strides[i], may_alias=may_alias)
        self._write(plan, writes, written)
        plan.add(ReturnOp(*(values[i] for i in range(len(returned)))))

    def _write(self, plan: PlanBuilder, writes: Sequence[WriteOp], written: set[Storage]) -> None:
        """Copy into arguments what was not computed there; old values are saved before all writes."""
        pending: list[tuple[WriteOp, Place]] = []
        for write in writes:
            source, target = self.places[write.value], self.places[write.target]
            if source.storage is target.storage and same_places(source.layout, target.layout):
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
        kept = {name: value for name, value in attrs.items() if name != STRIDES}
        kept["th.sizes"] = exprs_attr(layout.sizes)
        kept["th.strides"] = exprs_attr(layout.strides)
        return DictionaryAttr(kept)
