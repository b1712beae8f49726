"""Rewrites one function over tensors as a th plan, op by op in program order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from xdsl.dialects.builtin import ArrayAttr, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from tilewright.dialects.attribute_facts import ints
from tilewright.dialects.index_expr import Expr
from tilewright.dialects.ir_access import ops_of
from tilewright.dialects.th.calls import CallOp, ExternOp
from tilewright.dialects.th.control_flow import ControlOp as PlannedControlOp
from tilewright.dialects.tk.attributes import segments
from tilewright.dialects.tk.inplace import attach
from tilewright.dialects.tk.kernels import FuncOp as KernelFunction
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.dialects.tw.aten import AtenOp, WriteOp
from tilewright.dialects.tw.base import int_attr, text
from tilewright.dialects.tw.control_flow import ControlOp
from tilewright.dialects.tw.creation import ConstantOp
from tilewright.dialects.tw.updating import UpdatingOp
from tilewright.dialects.tw.view import ConcatOp
from tilewright.dialects.types import element_type_of, sizes_of

from ..memory.errors import NotBufferizable
from ..memory.layouts import Layout, dense
from ..memory.library_calls import Call, Row, out_variant, returning
from ..memory.stated import layout_of_result
from ..memory.views import is_view, layout_behind, part_layout, view_layout
from .boundary import Boundary
from .given_kernels import launch_given, may_update
from .homes import find_homes
from .inplace import inplace_pairs
from .outline import Linearizer, Names, kernel_name, outline
from .plan_builder import PlanBuilder
from .storage import Place


class Bufferizer:
    """The state of one rewrite: where each value lives so far."""

    def __init__(self, function: FuncOp, names: Names, *, once: bool = False) -> None:
        self.once = once
        self.boundary = Boundary(function)
        self.old: Block = function.body.block
        self.homes = find_homes(self.old, self.boundary.layouts, self.boundary.wanted)
        self.plan = PlanBuilder(self.boundary.block, function.location, names)
        self.places: dict[SSAValue, Place] = self.boundary.places
        self.writes: list[WriteOp] = []
        self._starts: dict[ConcatOp, tuple[Expr, ...]] = {}

    def run(self) -> list[KernelFunction]:
        """Replace the body of the function; returns the kernels that it launches."""
        for position, op in enumerate(tuple(self.old.ops)):
            self.plan.location = op.location
            self._lower(op, position)
        self.boundary.finish(self.plan)
        return self.plan.functions

    def _lower(self, op: Operation, position: int) -> None:
        match op:
            case _ if is_view(op):
                self._view(op)
            case KernelOp():
                self._kernel(op, position)
            case ConcatOp():
                self._concat(op)
            case ConstantOp():
                self.places[op.result] = self.plan.constant(op.value, sizes_of(op.result))
            case WriteOp():
                self.writes.append(op)
            case ControlOp():
                self._control(op)
            case ReturnOp():
                self.boundary.leave(self.plan, op, self.writes)
            case _:
                self._lower_call(op, position)

    def _lower_call(self, op: Operation, position: int) -> None:
        """What others wrote: users' kernels and operators, libraries' functions."""
        match op:
            case UpdatingOp():
                targets = [self._given_place(op, i, position) for i in range(len(op.written))]
                launch_given(op, targets, self.plan, self.places)
            case _ if (row := out_variant(op)) is not None:
                self._extern(op, row)
            case _ if (row := returning(op)) is not None:
                self._call(op, row)
            case _:
                raise NotBufferizable(
                    op,
                    reason="it is neither a kernel, a view nor a library call",
                    advice="run convert-tw-to-tk first, or add a row to passes/memory/library_calls.py",
                )

    # Where a new value goes

    def destination(self, value: SSAValue) -> Place:
        """The memory into which `value` is computed, named like it."""
        place = self._destination(value)
        buffer = place.storage.buffer
        if buffer is not None and buffer.name_hint is None:
            buffer.name_hint = value.name_hint
        return place

    def _destination(self, value: SSAValue) -> Place:
        element = element_type_of(value)
        if value in self.homes.results:
            return self.plan.result(element, sizes_of(value), self.homes.results[value])
        if value in self.homes.slices and (place := self._slice_of_concat(value)) is not None:
            return place
        op = value.owner
        assert isinstance(op, Operation)
        return self.plan.temporary(element, layout_of_result(op, op.results.index(value)))

    def _slice_of_concat(self, value: SSAValue) -> Place | None:
        home = self.homes.slices[value]
        whole = self._place_of_concat(home.concat)
        part = self._part(home.concat, whole.layout, home.operand)
        layout = layout_behind(home.views[::-1], part)
        return None if layout is None else Place(whole.storage, layout)

    def _place_of_concat(self, op: ConcatOp) -> Place:
        if op.result not in self.places:
            self.places[op.result] = self.destination(op.result)
        return self.places[op.result]

    # One op each

    def _view(self, op: Operation) -> None:
        source = self.places[op.operands[0]]
        layout = view_layout(op, source.layout)
        if layout is not None:
            self.places[op.results[0]] = Place(source.storage, layout)
            return
        target = self.destination(op.results[0])
        self.plan.copy(source, target)
        self.places[op.results[0]] = target

    def _concat(self, op: ConcatOp) -> None:
        whole = self._place_of_concat(op)
        for i, value in enumerate(op.inputs):
            self.plan.copy(self.places[value], Place(whole.storage, self._part(op, whole.layout, i)))

    def _part(self, op: ConcatOp, whole: Layout, operand: int) -> Layout:
        """Where operand number `operand` lies within the concatenation."""
        if op not in self._starts:
            self._starts[op] = op.starts
        return part_layout(op, operand, self._starts[op][operand], whole)

    def _kernel(self, op: KernelOp, position: int) -> None:
        ins = [self.places[v] for v in op.inputs]
        linearizer = Linearizer(op.space)
        for argument, place in zip(op.sources, ins, strict=True):
            linearizer.place(argument, place.layout)
        outs: list[Place] = []
        for i, result in enumerate(op.results):
            place = self._write_target(op, i, position, linearizer) or self.destination(result)
            linearizer.place(op.destinations[i], place.layout)
            self.places[result] = place
            outs.append(place)
        pairs = self._inplace_pairs(op)
        buffers = [self.plan.buffer_of(place.storage) for place in (*ins, *outs)]
        name = self.plan.names.fresh(kernel_name(op))
        function = outline(op, name, [buffer.type for buffer in buffers])
        attach(function, pairs)
        self.plan.launch(function, buffers[: len(ins)], buffers[len(ins) :])

    def _write_target(self, op: KernelOp, index: int, position: int, linearizer: Linearizer) -> Place | None:
        """The argument that `tw.write` stores result `index` to, if that may happen right here."""
        target = self.homes.targets.get(op.results[index])
        if target is None or self.homes.last_read.get(target.argument, -1) > position:
            return None
        place = Place(self.places[target.argument].storage, target.layout)
        readers = [i for i, v in enumerate(op.inputs) if self.places[v].storage is place.storage]
        if readers:
            linearizer.place(op.destinations[index], place.layout)
            safe = self._inplace_pairs(op)
            if any((i, index) not in safe for i in readers):
                return None
        return place

    def _inplace_pairs(self, op: KernelOp) -> list[tuple[int, int]]:
        ops = tuple(ops_of(op.body.block))
        return inplace_pairs(ops, op.space, op.sources, op.destinations, once=self.once)

    def _given_place(self, op: UpdatingOp, number: int, position: int) -> Place:
        """Where a result of what a user wrote goes: to the argument that it updates, where it may."""
        result = op.outputs[number]
        target = self.homes.targets.get(result)
        if target is not None and self.homes.last_read.get(target.argument, -1) <= position:
            place = Place(self.places[target.argument].storage, target.layout)
            if may_update(op, number, place, self.places):
                return place
        return self.destination(result)

    # ATen

    def _extern(self, op: Operation, row: Row) -> None:
        """Run an out-variant; what no strides can express for it is copied, as little as possible."""
        target = self.destination(op.results[0])
        places = {v: self.places[v] for v in op.operands}
        call: Call | None = None
        out = target
        for copied in _subsets((*op.operands, op.results[0])):
            layouts = {v: dense(p.layout.sizes) if v in copied else p.layout for v, p in places.items()}
            layout = dense(target.layout.sizes) if op.results[0] in copied else target.layout
            call = row(op, layouts.__getitem__, (layout,))
            if call is None:
                continue
            for value in copied:
                if value in places:
                    places[value] = self.plan.copied(places[value])
            if op.results[0] in copied:
                out = self.plan.temporary(target.storage.element, layout)
            break
        assert call is not None, "dense operands have every view"
        ins = [self.plan.handle_of(Place(places[v].storage, layout)) for v, layout in call.ins]
        outs = [self.plan.handle_of(Place(out.storage, call.outs[0]))]
        properties: dict[str, Attribute] = {
            "callee": text(call.callee),
            "args": ArrayAttr(call.args),
            "operandSegmentSizes": segments(len(ins), len(outs)),
        }
        self.plan.add(ExternOp.create(operands=[*ins, *outs], properties=properties))
        self.plan.copy(out, target)
        self.places[op.results[0]] = target

    def _call(self, op: Operation, row: Row) -> None:
        self._check_call(op)
        results = [layout_of_result(op, i) for i in range(len(op.results))]
        places = {v: self.places[v] for v in op.operands}
        call: Call | None = None
        for copied in _subsets(op.operands):
            layouts = {v: dense(p.layout.sizes) if v in copied else p.layout for v, p in places.items()}
            call = row(op, layouts.__getitem__, results)
            if call is not None:
                places.update({v: self.plan.copied(places[v]) for v in copied})
                break
        assert call is not None, "every call takes dense operands"
        given = [Place(places[v].storage, layout) for v, layout in call.ins]
        if isinstance(op, AtenOp):
            given = self._as_asked(op, given)
        ins = [self.plan.handle_of(place) for place in given]
        properties: dict[str, Attribute] = {"callee": text(call.callee), "args": ArrayAttr(call.args)}
        if isinstance(op, AtenOp) and op.returns is not None:
            properties["returns"] = op.returns
        self.places.update(self.plan.call(CallOp, ins, properties, op.results, call.outs))
        for result, layout in zip(op.results, call.results, strict=False):
            self.places[result] = Place(self.places[result].storage, layout)

    def _as_asked(self, op: AtenOp, given: Sequence[Place]) -> list[Place]:
        """The operands with the strides that the op states; one that is written lies there from now on."""
        made = list(given)
        mutated = () if op.mutates is None else ints(op.mutates)
        for i, (operand, place) in enumerate(zip(op.inputs, given, strict=True)):
            if (strides := op.strides_of_operand(i)) is not None:
                made[i] = self.plan.lying(place, strides)
                if i in mutated:
                    self.places[operand] = made[i]
        return made

    def _control(self, op: ControlOp) -> None:
        """Functions see row-major memory."""
        places = [self.places[v] for v in op.inputs]
        copied = [p if p.layout.is_dense else self.plan.copied(p) for p in places]
        outs = [dense(sizes_of(result)) for result in op.results]
        properties: dict[str, Attribute] = {
            "kind": text(op.KIND),
            "functions": ArrayAttr(op.functions),
            "carried": int_attr(op.carried),
            "scanned": int_attr(op.scanned),
        }
        if op.symbols is not None:
            properties["symbols"] = op.symbols
        ins = [self.plan.handle_of(place) for place in copied]
        self.places.update(self.plan.call(PlannedControlOp, ins, properties, op.results, outs))

    def _check_call(self, op: Operation) -> None:
        for value in (*op.operands, *op.results):
            if not isinstance(value.type, TensorType):
                raise NotBufferizable(
                    op,
                    reason=f"it takes or returns {value.type}, a plan passes tensors only",
                    advice="write a size as #tw.size in args; leave ops that return an int out of the graph",
                )
        for index in ints(op.mutates) if isinstance(op, AtenOp) and op.mutates is not None else ():
            place = self.places[op.operands[index]]
            if place.storage.kind == "constant" or place.layout.has_negative_stride:
                self.places[op.operands[index]] = self.plan.copied(place)


def _subsets(values: Sequence[SSAValue]) -> Iterator[tuple[SSAValue, ...]]:
    """Every subset, small ones first."""
    unique = tuple(dict.fromkeys(values))
    for size in range(len(unique) + 1):
        yield from combinations(unique, size)
