"""Copies between buffers that turn rows into columns: `tk.turn`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from xdsl.dialects.builtin import DenseArrayBase, IntegerType, MemRefType
from xdsl.ir import SSAValue
from xdsl.irdl import IRDLOperation, operand_def, prop_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException

from ..arrays import Array
from ..index_expr import ONE, Expr, Var, as_expr
from ..op_definition import op_definition
from ..semantics import Machine
from .attributes import (
    MapAttr,
    axes_attr,
    map_attr,
    parse_bracketed_exprs,
    parse_quoted_expr,
    parse_type_of,
    parse_value,
    print_exprs,
)
from .memory import evaluate
from .scope import bound_axes, verify_exprs

Range = tuple[int, Expr, Expr]
"""An axis, its first place and how many there are."""


@op_definition
class TurnOp(IRDLOperation):
    """Copy a rectangle whose elements are neighbours along one axis here and along another there.

    tk.turn %a[d0 + d1*512] into %s[d0*32 - d2*32 + d1] over 0 = "d2" count "32", 1 = "0" count "32"
        : memref<16384xf32>, memref<1024xf32>

    Binds both axes: `target[...] = source[...]` at every pair of places. Along the first axis the
    subscript of the source rises by 1, along the second one that of the target. Scheduled
    functions load and store whole vectors of scratch that is filled, or emptied, in this way.
    """

    name = "tk.turn"

    source = operand_def(MemRefType.constr())
    target = operand_def(MemRefType.constr())
    source_map = prop_def(MapAttr)
    target_map = prop_def(MapAttr)
    axes = prop_def(DenseArrayBase[IntegerType])
    starts = prop_def(MapAttr)
    counts = prop_def(MapAttr)

    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())

    @classmethod
    def make(
        cls, source: SSAValue, read: Expr, target: SSAValue, write: Expr, ranges: tuple[Range, Range]
    ) -> TurnOp:
        """`ranges` begins with the axis along which the source is contiguous."""
        return cls.create(
            operands=[source, target],
            properties={
                "source_map": map_attr((read,)),
                "target_map": map_attr((write,)),
                "axes": axes_attr(*(axis for axis, _, _ in ranges)),
                "starts": map_attr([start for _, start, _ in ranges]),
                "counts": map_attr([count for _, _, count in ranges]),
            },
        )

    @property
    def ranges(self) -> tuple[Range, Range]:
        first, second = zip(self.axes.get_values(), self.starts.exprs, self.counts.exprs, strict=True)
        return first, second

    @property
    def subscripts(self) -> tuple[Expr, Expr]:
        """Of the source and of the target."""
        return self.source_map.exprs[0], self.target_map.exprs[0]

    def strides(self) -> tuple[Expr | None, Expr | None]:
        """How far the source moves along the second axis, and the target along the first."""
        first, second = (Var("d", axis) for axis in self.axes.get_values())
        read, write = self.subscripts
        return read.coefficient(second), write.coefficient(first)

    def verify_(self) -> None:
        if self.source.type.element_type != self.target.type.element_type:  # pyright: ignore
            raise VerifyException(
                f"tk.turn: {self.source.type} and {self.target.type} have different elements"
            )
        axes = self.axes.get_values()
        lists = (self.starts.exprs, self.counts.exprs)
        if len(set(axes)) != 2 or any(len(exprs) != 2 for exprs in lists):
            raise VerifyException(f"tk.turn: expected two different axes with their places, got {list(axes)}")
        if len(self.source_map.exprs) != 1 or len(self.target_map.exprs) != 1:
            raise VerifyException("tk.turn: buffers are flat, each has one subscript")
        _, bound = bound_axes(self)
        if bound is not None and not bound.isdisjoint(axes):
            raise VerifyException(f"tk.turn: binds axes {list(axes)}, but {sorted(bound)} are bound already")
        first, second = (Var("d", axis) for axis in axes)
        read, write = self.subscripts
        if read.coefficient(first) != ONE or write.coefficient(second) != ONE:
            raise VerifyException(
                f"tk.turn: [{read}] must rise by 1 along axis {axes[0]} and [{write}] along axis {axes[1]}"
            )
        own = {first, second}
        if any(stride is None or stride.variables() & own for stride in self.strides()):
            raise VerifyException(f"tk.turn: [{read}] and [{write}] must be linear in both axes")
        inside = {var: as_expr(0) for var in own}
        verify_exprs(self, (*(e.substitute(inside) for e in self.subscripts), *lists[0], *lists[1]))

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.source)
        print_exprs(printer, self.source_map)
        printer.print_string(" into ")
        printer.print_operand(self.target)
        print_exprs(printer, self.target_map)
        for i, (axis, start, count) in enumerate(self.ranges):
            printer.print_string(f'{"," if i else " over"} {axis} = "{start}" count "{count}"')
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_list([self.source.type, self.target.type], printer.print_attribute)

    @classmethod
    def parse(cls, parser: Parser) -> TurnOp:
        source = parse_value(parser)
        (read,) = parse_bracketed_exprs(parser).exprs
        parser.parse_keyword("into")
        target = parse_value(parser)
        (write,) = parse_bracketed_exprs(parser).exprs
        parser.parse_keyword("over")
        first = _parse_range(parser)
        parser.parse_punctuation(",")
        second = _parse_range(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        parse_type_of(parser, source)
        parser.parse_punctuation(",")
        parse_type_of(parser, target)
        op = cls.make(source, read, target, write, (first, second))
        op.attributes.update(attributes)
        return op


def _parse_range(parser: Parser) -> Range:
    axis = parser.parse_integer()
    parser.parse_punctuation("=")
    (start,) = parse_quoted_expr(parser).exprs
    parser.parse_keyword("count")
    (count,) = parse_quoted_expr(parser).exprs
    return axis, start, count


def run_turn(op: TurnOp, source: Array, target: Array, places: Mapping[Var, Any], machine: Machine) -> None:
    """Copy the rectangle; raises IndexError where it leaves a buffer."""
    inside = dict(places)
    for dim, (axis, start, count) in enumerate(op.ranges):
        steps = machine.arrays.arange(max(count.evaluate(dict(places)), 0)).reshape(
            [-1, 1] if dim == 0 else [1, -1]
        )
        inside[Var("d", axis)] = steps + start.evaluate(dict(places))
    if 0 in [inside[Var("d", axis)].reshape([-1]).shape[0] for axis, _, _ in op.ranges]:
        return
    read, write = (evaluate(e, inside, machine.xp) for e in op.subscripts)
    for index, buffer in ((read, source), (write, target)):
        if bool(((index < 0) | (index >= buffer.shape[0])).any()):
            raise IndexError(f"tk.turn leaves a buffer of {buffer.shape[0]} elements: {index}")
    target[write] = source[read]
