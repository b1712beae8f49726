"""`lanes A` and `lanes A, B`: the axes along which the elements of a vector or tile stand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import IndexType, IntegerAttr, UnitAttr
from xdsl.ir import Attribute, Operation
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ..attribute_facts import ints_in
from ..types import element_type, rank_of, scalar_type
from .attributes import axes_attr, int64
from .scope import enclosing_tail, shape_of_lanes, verify_exprs, verify_mask

if TYPE_CHECKING:
    from .access import LoadOp, StoreOp

Lanes = dict[str, Attribute]
"""The property that says it: `lanes` for one axis, `tile` for several, none for a scalar."""


def lanes_property(axes: int | Sequence[int] | None) -> Lanes:
    """The property for these axes."""
    if axes is None or isinstance(axes, int):
        return {} if axes is None else {"lanes": int64(axes)}
    if len(axes) == 1:
        return {"lanes": int64(axes[0])}
    return {"tile": axes_attr(*axes)} if axes else {}


def axes_of_lanes(op: Operation) -> tuple[int, ...]:
    """The axes of the dimensions of what `op` reads, writes or makes; () for a scalar."""
    single, several = op.properties.get("lanes"), op.properties.get("tile")
    if isinstance(single, IntegerAttr):
        return (single.value.data,)
    return ints_in(several) or ()


def group_of(op: Operation) -> int:
    """How many neighbours in memory `op` reads or writes for each place of its axes."""
    group = op.properties.get("group")
    return group.value.data if isinstance(group, IntegerAttr) else 1


def parse_lanes(parser: Parser) -> Lanes:
    """` lanes 0, 1`, or nothing."""
    if not parser.parse_optional_keyword("lanes"):
        return {}
    return lanes_property(
        parser.parse_comma_separated_list(parser.Delimiter.NONE, lambda: parser.parse_integer())
    )


def print_lanes(printer: Printer, op: Operation) -> None:
    if axes := axes_of_lanes(op):
        printer.print_string(f" lanes {', '.join(map(str, axes))}")


def verify_lanes(op: Operation, type_: Attribute) -> None:
    """As many axes as the type has dimensions, each once."""
    axes, shape = axes_of_lanes(op), shape_of_lanes(type_)
    if bool(axes) != bool(shape):
        raise VerifyException(f"{op.name}: `lanes` is given exactly for vectors, value type is {type_}")
    if len(axes) != len(shape) or len(set(axes)) != len(axes):
        raise VerifyException(f"{op.name}: {type_} needs {len(shape)} different lane axes, got {list(axes)}")


def verify_group(op: LoadOp | StoreOp, group: int) -> None:
    """A group is read or written as it lies in memory."""
    type_ = op.results[0].type if op.results else op.operands[0].type
    shape = shape_of_lanes(type_)
    last = shape[-1] if shape else 0
    plain = not op.dynamic and op.mask is None and len(op.map.exprs) == 1 and enclosing_tail(op) is None
    if not plain or "combine" in op.properties:
        raise VerifyException(f"{op.name}: a group lies in a flat buffer, with no mask, tail or combination")
    if group < 2 or last % group or (not axes_of_lanes(op) and last != group):
        wanted = "a vector with a multiple of" if axes_of_lanes(op) else "a vector of"
        raise VerifyException(f"{op.name}: group {group} has {wanted} {group} elements, got {type_}")
    if axes_of_lanes(op):
        verify_lanes(op, type_)


def verify_access(op: LoadOp | StoreOp, value_type: Attribute, grouped: bool = False) -> None:
    """Rank, element type, gather indices, lanes, mask and subscripts agree."""
    buffer: Attribute = op.buffer.type
    exprs = op.map.exprs
    if len(exprs) != (rank := rank_of(op.buffer)):
        raise VerifyException(f"{op.name}: {buffer} has rank {rank}, but there are {len(exprs)} subscripts")
    if element_type(value_type) != scalar_type(element_type(buffer)):
        raise VerifyException(f"{op.name}: element of {buffer} does not match value type {value_type}")
    for dynamic in op.dynamic:
        if not isinstance(element_type(dynamic.type), IndexType):
            raise VerifyException(f"{op.name}: a gather index has type index, got {dynamic.type}")
    if not grouped:
        verify_lanes(op, value_type)
    verify_mask(op, op.mask, value_type)
    verify_exprs(op, exprs, len(op.dynamic))


def verify_active(op: Operation, type_: Attribute) -> None:
    """Inside a tail, or with lanes of which at least one belongs to a masked loop."""
    axes = axes_of_lanes(op)
    if not axes:
        if enclosing_tail(op) is None:
            raise VerifyException("tk.active must be inside tk.tail, or have `lanes` of a masked loop")
        return
    verify_lanes(op, type_)
    if masked_axes(op).isdisjoint(axes):
        raise VerifyException(f"tk.active: no masked loop over any of {list(axes)} is around it")


def masked_axes(op: Operation) -> frozenset[int]:
    """The axes of the masked loops around `op`."""
    found: set[int] = set()
    parent = op.parent_op()
    while parent is not None:
        axis = parent.properties.get("axis")
        if isinstance(parent.properties.get("masked"), UnitAttr) and isinstance(axis, IntegerAttr):
            found.add(axis.value.data)
        parent = parent.parent_op()
    return frozenset(found)
