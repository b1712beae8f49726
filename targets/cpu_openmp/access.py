"""Loads and stores: contiguous, lane-invariant or lane by lane; whole, partial or masked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from xdsl.dialects.arith import IndexCastOp
from xdsl.dialects.builtin import MemRefType, VectorType, i32
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.hints import isa

from tilewright.dialects.index_expr import ONE, ZERO, Expr, Var, as_expr
from tilewright.dialects.tk.access import ALONE, IndexOp, LoadOp, StoreOp
from tilewright.dialects.tk.turn import TurnOp
from tilewright.dialects.types import element_type

from ..native.cpp import buffer_type, expression, lanes, operand, value_type
from .errors import NoCppLowering


class Scope(Protocol):
    """What an access must know of where it stands."""

    def name(self, value: SSAValue) -> str: ...
    def active_lanes(self, axis: int) -> str | None: ...
    def in_parallel(self) -> bool: ...


@dataclass(frozen=True)
class _Address:
    """Where an access goes, lane by lane."""

    base: str  # expression of lane 0, or of every lane where it does not vary
    stride: Expr | None  # in elements; None where it is not constant along the lanes
    lane: str  # expression of lane `l`
    positions: tuple[str, str] | None = None  # the same as a scalar and a vector to be added to it


def _address(scope: Scope, op: LoadOp | StoreOp, axis: int | None) -> _Address:
    (subscript,) = op.subscripts
    names = {Var("i", k): scope.name(v) for k, v in enumerate(op.dynamic)}
    base = expression(subscript, names)
    if axis is None:
        return _Address(base, ZERO, base)
    varying = {Var("i", k) for k, v in enumerate(op.dynamic) if isinstance(v.type, VectorType)}
    lane_var = Var("d", axis)
    per_lane = {var: f"{name}[l]" if var in varying else name for var, name in names.items()}
    per_lane[lane_var] = f"({lane_var} + l)"
    lane = expression(subscript, per_lane)
    if varying & subscript.variables():
        return _Address(base, None, lane, _positions(scope, op, axis))
    return _Address(base, subscript.coefficient(lane_var), lane)


_SMALL = 2**31
"""Positions in buffers of less elements take 32 bits."""


def _positions(scope: Scope, op: LoadOp | StoreOp, axis: int) -> tuple[str, str] | None:
    """Where lanes are, as a scalar and a vector; None where the subscript is not linear in what varies."""
    (subscript,) = op.subscripts
    buffer = op.buffer.type
    assert isa(buffer, MemRefType[Attribute])
    (size,) = buffer.get_shape()
    bits = 32 if 0 <= size < _SMALL else 64
    vectors = {Var("i", k): v for k, v in enumerate(op.dynamic) if isinstance(v.type, VectorType)}
    varying = [*vectors, Var("d", axis)]
    names = {Var("i", k): scope.name(v) for k, v in enumerate(op.dynamic)}
    terms: list[str] = []
    for var in varying:
        step = subscript.coefficient(var)
        if step is None or any(step.uses(other) for other in varying):
            return None
        factor = f"(i{bits})({expression(step, names)})"
        if var not in vectors and step != ZERO:
            terms.append(f"tw::iota<tw::vec<i{bits}, {_width(op)}>>(0, {factor})")
        elif step != ZERO:
            index = _narrow(scope, vectors[var]) if bits == 32 else scope.name(vectors[var])
            terms.append(index if step == ONE else f"{index} * {factor}")
    return expression(subscript.substitute(dict.fromkeys(vectors, ZERO)), names), " + ".join(terms)


def _narrow(scope: Scope, index: SSAValue) -> str:
    """A vector of indices in 32 bits: as it was before it became one, if it was so then."""
    owner = index.owner
    if isinstance(owner, IndexCastOp) and element_type(owner.input.type) == i32:
        return scope.name(owner.input)
    return f"tw::convert<tw::vec<i32, {lanes(index.type)}>>({scope.name(index)})"


def _width(op: LoadOp | StoreOp) -> int:
    return lanes(op.result.type if isinstance(op, LoadOp) else op.value.type)


def _pointer(scope: Scope, buffer: SSAValue, base: str) -> str:
    name = scope.name(buffer)
    return name if base == "0" else f"{name} + {base}"


def _varies(mask: SSAValue | None) -> bool:
    """Whether lanes have masks of their own."""
    return mask is not None and isinstance(mask.type, VectorType)


def _active(scope: Scope, mask: SSAValue | None) -> str:
    """The functor that says which lanes take part."""
    if mask is None:
        return "tw::every_lane{}"
    lane = f"{scope.name(mask)}[l] != 0" if isinstance(mask.type, VectorType) else scope.name(mask)
    return f"[&](int l) {{ return {lane}; }}"


def load(scope: Scope, op: LoadOp) -> str:
    """The expression of what `op` reads."""
    axis = None if op.lanes is None else op.lanes.value.data
    at = _address(scope, op, axis)
    name = scope.name(op.buffer)
    if op.group is not None:
        return _load_groups(scope, op, at, op.group.value.data)
    if axis is None:
        text = f"{name}[{at.base}]"
        if op.mask is None or op.other is None:
            return text
        return f"{scope.name(op.mask)} ? {text} : {scope.name(op.other)}"
    count = scope.active_lanes(axis)
    if op.mask is not None and op.other is not None and not isinstance(op.mask.type, VectorType):
        text = _load_lanes(scope, op, at, count)
        return f"{scope.name(op.mask)} ? {text} : {scope.name(op.other)}"
    if op.mask is not None and op.other is not None:
        text = _load_masked(scope, op, at, op.mask, count)
        return f"tw::select({scope.name(op.mask)}, {text}, {scope.name(op.other)})"
    return _load_lanes(scope, op, at, count)


def _load_lanes(scope: Scope, op: LoadOp, at: _Address, count: str | None) -> str:
    """A load whose active lanes all take part."""
    name, type_ = scope.name(op.buffer), value_type(op.result.type)
    width = lanes(op.result.type)
    if at.stride == ONE:
        where = _pointer(scope, op.buffer, at.base)
        return (
            f"tw::load<{width}>({where})" if count is None else f"tw::load_first<{width}>({where}, {count})"
        )
    if at.stride == ZERO:
        text = f"tw::splat_memory<{width}>({name}[{at.base}])"
        return (
            text
            if count is None
            else f"tw::select(tw::first_lanes<i32x{width}>({count}), {text}, {type_}{{}})"
        )
    if at.positions is not None:
        base, vector = at.positions
        return f"tw::gather_at<{width}>({name}, {base}, {vector}, {count or width}, tw::every_lane{{}})"
    if at.stride is not None and at.stride.constant in _PERMUTED:
        where = _pointer(scope, op.buffer, at.base)
        return f"tw::load_strided<{width}, {at.stride.constant}>({where}, {count or width})"
    lane = f"[&](int l) {{ return {at.lane}; }}"
    return f"tw::gather<{width}>({name}, {count or width}, {lane}, tw::every_lane{{}})"


_PERMUTED = (-2, -1, 2)
"""Strides along which a vector has its elements from two."""


def _load_groups(scope: Scope, op: LoadOp, at: _Address, group: int) -> str:
    """Neighbours in memory, all of them where the groups of the lanes follow each other."""
    width = lanes(op.result.type)
    if op.lanes is None or at.stride == as_expr(group):
        return f"tw::load<{width}>({_pointer(scope, op.buffer, at.base)})"
    axis = Var("d", op.lanes.value.data)
    (subscript,) = op.subscripts
    lane = expression(subscript, {axis: f"({axis} + l / {group})"})
    at_lane = f"[&](int l) {{ return {lane} + l % {group}; }}"
    return f"tw::gather<{width}>({scope.name(op.buffer)}, {width}, {at_lane}, tw::every_lane{{}})"


def _load_masked(scope: Scope, op: LoadOp, at: _Address, mask: SSAValue, count: str | None) -> str:
    width, name = lanes(op.result.type), scope.name(op.buffer)
    if at.stride == ONE and isinstance(mask.type, VectorType):
        where = _pointer(scope, op.buffer, at.base)
        return f"tw::load_masked<{width}>({where}, {scope.name(mask)}, {count or width})"
    if at.positions is not None and isinstance(mask.type, VectorType):
        base, vector = at.positions
        return f"tw::gather_at<{width}>({name}, {base}, {vector}, {count or width}, {scope.name(mask)})"
    lane = f"[&](int l) {{ return {at.lane}; }}"
    return f"tw::gather<{width}>({name}, {count or width}, {lane}, {_active(scope, mask)})"


_WHOLE_AND_FIRST = (("whole", "store"), ("first", "store_first"))
"""Neighbours that combine with what stands there, and such as replace it."""


def store(scope: Scope, op: StoreOp) -> str:
    """The statement that writes."""
    if op.group is not None:
        raise NoCppLowering(op, reason="groups of neighbours are loaded, not stored")
    axis = None if op.lanes is None else op.lanes.value.data
    at = _address(scope, op, axis)
    value, name = scope.name(op.value), scope.name(op.buffer)
    how = "" if op.combine is None else f"tw::{op.combine.data.capitalize()}"
    races = scope.in_parallel() and ALONE not in op.attributes
    atomic = "true" if races else "false"
    if axis is None:
        text = (
            f"tw::combine_to<{how}, {atomic}>(&{name}[{at.base}], {value});"
            if how
            else f"{name}[{at.base}] = {value};"
        )
        return text if op.mask is None else f"if ({scope.name(op.mask)}) {text}"
    count, width = scope.active_lanes(axis), lanes(op.value.type)
    if at.stride == ONE and not (how and races) and not _varies(op.mask):
        where = _pointer(scope, op.buffer, at.base)
        whole, first = (f"combine_{n}<{how}>" if how else s for n, s in _WHOLE_AND_FIRST)
        text = (
            f"tw::{whole}({where}, {value});" if count is None else f"tw::{first}({where}, {value}, {count});"
        )
        return text if op.mask is None else f"if ({scope.name(op.mask)}) {text}"
    function = f"scatter_combine<{how}, {atomic}, {width}>" if how else f"scatter<{width}>"
    lane = f"[&](int l) {{ return {at.lane}; }}"
    return f"tw::{function}({name}, {value}, {count or width}, {lane}, {_active(scope, op.mask)});"


def turn(scope: Scope, op: TurnOp) -> str:
    """The statement that copies a rectangle; its lower left corner stands at both starts."""
    corner = {Var("d", axis): start for axis, start, _ in op.ranges}
    read, write = (expression(e.substitute(corner)) for e in op.subscripts)
    stride, apart = op.strides()
    assert stride is not None  # the op's verifier says so
    assert apart is not None
    source = f"{_pointer(scope, op.source, read)}, {expression(stride)}"
    target = f"{_pointer(scope, op.target, write)}, {expression(apart)}"
    columns, rows = (expression(count) for _, _, count in op.ranges)
    return f"tw::turn({source}, {target}, {columns}, {rows});"


def index(op: IndexOp) -> str:
    """The value of an index expression."""
    if op.lanes is None:
        return expression(op.expr)
    type_, lane_var = value_type(op.result.type), Var("d", op.lanes.value.data)
    step = op.expr.coefficient(lane_var)
    if step is not None:
        if step == ZERO:
            return f"tw::splat<{type_}>({expression(op.expr)})"
        return f"tw::iota<{type_}>({expression(op.expr)}, {operand(step)})"
    lane = expression(op.expr, {lane_var: f"({lane_var} + l)"})
    return f"tw::by_index<{type_}>([&](int l) {{ return {lane}; }})"


def local(name: str, type_: Attribute, size: Expr) -> list[str]:
    """Declarations of scratch: on the stack where small and fixed."""
    element = buffer_type(type_)
    count = size.constant
    if count is not None and count * 8 <= 65536:
        return [f"alignas(64) {element} {name}[{max(count, 1)}];"]
    return [
        f"tw::Scratch<{element}> {name}_memory({expression(size)});",
        f"{element}* const {name} = ({element}*){name}_memory.memory;",
    ]
