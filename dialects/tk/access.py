"""Reading and writing buffers: `tk.load`, `tk.store`, `tk.index`, `tk.local`."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseArrayBase,
    IndexType,
    IntegerAttr,
    MemRefType,
    StringAttr,
    TensorType,
    i32,
    i64,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AnyAttr,
    AttrSizedOperandSegments,
    IRDLOperation,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect, Pure
from xdsl.utils.exceptions import VerifyException

from ..attribute_facts import ints
from ..index_expr import Expr
from ..op_definition import op_definition
from ..types import element_type, scalar_type
from ..verification import Enclosed
from .attributes import (
    MapAttr,
    axes_attr,
    int64,
    map_attr,
    parse_axes,
    parse_bracketed_exprs,
    parse_optional_values,
    parse_quoted_expr,
    parse_type_of,
    parse_value,
    print_axes,
    print_exprs,
    print_values,
    segments,
)
from .lanes import lanes_property, parse_lanes, print_lanes, verify_access, verify_group, verify_lanes
from .scope import enclosing_kernel, verify_axes, verify_exprs

COMBINES = ("add", "mul", "max", "min", "any")
"""What a store makes of the old element and its value; `any` takes the value, whichever of several it is."""
ALONE = "tk.alone"
"""Unit attribute of a store: iterations that run at once never store to one place."""
AWAITS = "tk.awaits"
"""Unit attribute of a store: all threads of the program have loaded what they load before it."""


@op_definition
class LoadOp(Enclosed, IRDLOperation):
    """Read one element, or one vector along axis `lanes`.

    %0 = tk.load %a[d0, d1*64 + i0](%i) if %m else %z : tensor<8x512xf32> -> f32
    %1 = tk.load %a[d0*512 + d1] lanes 1 : memref<4096xf32> -> vector<16xf32>
    %2 = tk.load %a[d0*512 + d1*2] lanes 1 group 2 : memref<4096xbf16> -> vector<32xbf16>

    Lane `l` reads where its axis is larger by `l` (a tile has several: `lanes 0, 1`); with a group
    of G, that element and the G - 1 behind it (without `lanes`, one group; of a tile, along its rows).
    Nothing is read where the mask is false: the value is `else`, which must be given with a mask. Inactive
    lanes of a `tk.tail` or masked loop read nothing and give zero.
    """

    name = "tk.load"

    buffer = operand_def(TensorType.constr() | MemRefType.constr())
    dynamic = var_operand_def()
    mask = opt_operand_def()
    other = opt_operand_def()
    map = prop_def(MapAttr)
    lanes = opt_prop_def(IntegerAttr)
    tile = opt_prop_def(DenseArrayBase)
    group = opt_prop_def(IntegerAttr)
    result = result_def(AnyAttr())

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(MemoryReadEffect())

    @classmethod
    def make(
        cls,
        buffer: SSAValue,
        subscripts: Sequence[Expr | int],
        dynamic: Sequence[SSAValue] = (),
        mask: SSAValue | None = None,
        other: SSAValue | None = None,
        result_type: Attribute | None = None,
        lanes: int | Sequence[int] | None = None,
        group: int | None = None,
    ) -> LoadOp:
        """A load; without `result_type` the scalar type of the buffer's element."""
        masked = () if mask is None or other is None else (mask, other)
        properties: dict[str, Attribute] = {
            "map": map_attr(subscripts),
            "operandSegmentSizes": segments(1, len(dynamic), *((1, 1) if masked else (0, 0))),
        }
        properties.update(lanes_property(lanes))
        if group is not None:
            properties["group"] = int64(group)
        return cls.create(
            operands=[buffer, *dynamic, *masked],
            result_types=[result_type or scalar_type(element_type(buffer.type))],
            properties=properties,
        )

    @property
    def subscripts(self) -> tuple[Expr, ...]:
        return self.map.exprs

    def verify_(self) -> None:
        verify_access(self, self.result.type, self.group is not None)
        if self.group is not None:
            verify_group(self, self.group.value.data)
        if (self.mask is None) != (self.other is None):
            raise VerifyException("tk.load: a mask needs an `else` value, and the reverse")
        if self.other is not None and self.other.type != self.result.type:
            raise VerifyException(
                f"tk.load: `else` value has type {self.other.type}, expected {self.result.type}"
            )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.buffer)
        print_exprs(printer, self.map)
        if self.dynamic:
            print_values(printer, self.dynamic)
        if self.mask is not None and self.other is not None:
            printer.print_string(" if ")
            printer.print_operand(self.mask)
            printer.print_string(" else ")
            printer.print_operand(self.other)
        print_lanes(printer, self)
        if self.group is not None:
            printer.print_string(f" group {self.group.value.data}")
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.buffer.type)
        printer.print_string(" -> ")
        printer.print_attribute(self.result.type)

    @classmethod
    def parse(cls, parser: Parser) -> LoadOp:
        buffer = parse_value(parser)
        subscripts = parse_bracketed_exprs(parser)
        dynamic = parse_optional_values(parser)
        mask = other = None
        if parser.parse_optional_keyword("if"):
            mask = parse_value(parser)
            parser.parse_keyword("else")
            other = parse_value(parser)
        lanes = parse_lanes(parser)
        group = parser.parse_integer() if parser.parse_optional_keyword("group") else None
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        parse_type_of(parser, buffer)
        parser.parse_punctuation("->")
        op = cls.make(buffer, subscripts.exprs, dynamic, mask, other, parser.parse_type(), group=group)
        op.properties.update(lanes)
        op.attributes.update(attributes)
        return op


@op_definition
class StoreOp(IRDLOperation):
    """Write one element, or one vector along axis `lanes`; `combine add` adds to memory.

    tk.store %v, %o[d0, d1] : f32, tensor<8x512xf32>
    tk.store %v, %o[d0, d1] after (%m) : f32, tensor<8x512xf32>
    tk.store %v, %o[i0, d1](%i) over [0] if %m combine add : f32, tensor<8x512xf32>
    tk.store %v, %o[d0*2] lanes 0 group 2 : vector<256xbf16>, memref<4096xbf16>

    In an unscheduled kernel it is done for every element of the axes that operands and subscripts vary over,
    and of those that `over` names: one number may be added several times, or no times where an axis is empty.
    Where the mask is false, and in inactive lanes of a `tk.tail` or masked loop, nothing is written.
    Extremes are NaN where one of the two is. `any` replaces: of the values for one place any remains, not
    the last. In parallel loops a combination is atomic, but for `{tk.alone}`: no two iterations that run
    at once then store to one place. A group is as that of `tk.load`.
    What it stands `after` is only waited for: loops that follow those which find these values store it, so
    that what they read may be where it is stored. The place of a scheduled store says so by itself.
    """

    name = "tk.store"

    value = operand_def(AnyAttr())
    buffer = operand_def(TensorType.constr() | MemRefType.constr())
    dynamic = var_operand_def()
    mask = opt_operand_def()
    after = var_operand_def()
    map = prop_def(MapAttr)
    lanes = opt_prop_def(IntegerAttr)
    tile = opt_prop_def(DenseArrayBase)
    group = opt_prop_def(IntegerAttr)
    combine = opt_prop_def(StringAttr)
    axes = opt_prop_def(DenseArrayBase.constr(i64))

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(MemoryWriteEffect())

    @classmethod
    def make(
        cls,
        value: SSAValue,
        buffer: SSAValue,
        subscripts: Sequence[Expr | int],
        dynamic: Sequence[SSAValue] = (),
        mask: SSAValue | None = None,
        combine: str | None = None,
        lanes: int | Sequence[int] | None = None,
        over: Sequence[int] = (),
        group: int | None = None,
        after: Sequence[SSAValue] = (),
    ) -> StoreOp:
        properties: dict[str, Attribute] = {
            "map": map_attr(subscripts),
            "operandSegmentSizes": segments(1, 1, len(dynamic), int(mask is not None), len(after)),
        }
        properties.update(lanes_property(lanes))
        if combine is not None:
            properties["combine"] = StringAttr(combine)
        if over:
            properties["axes"] = axes_attr(*over)
        if group is not None:
            properties["group"] = int64(group)
        masked = () if mask is None else (mask,)
        return cls.create(operands=[value, buffer, *dynamic, *masked, *after], properties=properties)

    @property
    def scatters(self) -> bool:
        """Whether different iterations may store to one place."""
        return bool(self.dynamic) or self.combine is not None

    @property
    def over(self) -> tuple[int, ...]:
        """Axes that it runs over, whether or not what it stores varies over them."""
        return () if self.axes is None else ints(self.axes)

    @property
    def subscripts(self) -> tuple[Expr, ...]:
        return self.map.exprs

    def in_loops(self) -> tuple[Sequence[SSAValue], dict[str, Attribute]]:
        """Operands and properties in loops: their place says over what it runs, and what it waits for."""
        properties = {**self.properties}
        properties.pop("axes", None)
        if not self.after:
            return self.operands, properties
        sizes = segments(1, 1, len(self.dynamic), int(self.mask is not None), 0)
        properties["operandSegmentSizes"] = sizes
        return self.operands[: -len(self.after)], properties

    def verify_(self) -> None:
        verify_access(self, self.value.type, self.group is not None)
        if self.group is not None:
            verify_group(self, self.group.value.data)
        if self.over:
            verify_axes(self, self.over)
        if (kind := self.combine) is not None and kind.data not in COMBINES:
            raise VerifyException(f"tk.store: `combine` is one of {', '.join(COMBINES)}, got {kind.data}")
        kernel = enclosing_kernel(self)
        if self.after and kernel is not None and "scheduled" in kernel.properties:
            raise VerifyException("tk.store: `after` cannot be in a scheduled function: loops are explicit")
        if kernel is not None and kernel.name == "tk.kernel":
            inputs = len(kernel.operands)
            if self.buffer not in kernel.body.block.args[inputs:]:  # pyright: ignore
                raise VerifyException(
                    f"tk.store: target is not a destination, those are block arguments {inputs} and on"
                )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.value)
        printer.print_string(", ")
        printer.print_operand(self.buffer)
        print_exprs(printer, self.map)
        if self.dynamic:
            print_values(printer, self.dynamic)
        if self.over:
            printer.print_string(" over ")
            print_axes(printer, axes_attr(*self.over))
        if self.mask is not None:
            printer.print_string(" if ")
            printer.print_operand(self.mask)
        if self.combine is not None:
            printer.print_string(f" combine {self.combine.data}")
        if self.after:
            printer.print_string(" after ")
            print_values(printer, self.after)
        print_lanes(printer, self)
        if self.group is not None:
            printer.print_string(f" group {self.group.value.data}")
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.value.type)
        printer.print_string(", ")
        printer.print_attribute(self.buffer.type)

    @classmethod
    def parse(cls, parser: Parser) -> StoreOp:
        value = parse_value(parser)
        parser.parse_punctuation(",")
        buffer = parse_value(parser)
        subscripts = parse_bracketed_exprs(parser)
        dynamic = parse_optional_values(parser)
        over = parse_axes(parser).get_values() if parser.parse_optional_keyword("over") else ()
        mask = parse_value(parser) if parser.parse_optional_keyword("if") else None
        combine = parser.parse_identifier() if parser.parse_optional_keyword("combine") else None
        after = parse_optional_values(parser) if parser.parse_optional_keyword("after") else ()
        lanes = parse_lanes(parser)
        group = parser.parse_integer() if parser.parse_optional_keyword("group") else None
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        parse_type_of(parser, value)
        parser.parse_punctuation(",")
        parse_type_of(parser, buffer)
        op = cls.make(
            value, buffer, subscripts.exprs, dynamic, mask, combine, over=over, group=group, after=after
        )
        op.properties.update(lanes)
        op.attributes.update(attributes)
        return op


@op_definition
class IndexOp(Enclosed, IRDLOperation):
    """The value of an index expression, which fits its type; lane `l` has its axis larger by `l`.

    %0 = tk.index "d0*4 + s0" : i64
    %1 = tk.index "d1" lanes 1 : vector<16xi64>
    """

    name = "tk.index"

    map = prop_def(MapAttr)
    lanes = opt_prop_def(IntegerAttr)
    tile = opt_prop_def(DenseArrayBase)
    result = result_def(AnyAttr())

    traits = traits_def(Pure())

    @classmethod
    def make(
        cls, expr: Expr | int, result_type: Attribute = i64, lanes: int | Sequence[int] | None = None
    ) -> IndexOp:
        properties: dict[str, Attribute] = {"map": map_attr((expr,))}
        properties.update(lanes_property(lanes))
        return cls.create(result_types=[result_type], properties=properties)

    @property
    def expr(self) -> Expr:
        return self.map.exprs[0]

    def verify_(self) -> None:
        type_ = self.result.type
        element = element_type(type_)
        if element not in (i32, i64) and not isinstance(element, IndexType):
            raise VerifyException(f"tk.index: the result is i64, i32 or index (per lane), got {type_}")
        if len(self.map.exprs) != 1:
            raise VerifyException(f'tk.index: expected one expression, got "{self.map.text.data}"')
        verify_lanes(self, type_)
        verify_exprs(self, self.map.exprs)

    def print(self, printer: Printer) -> None:
        printer.print_string(f' "{self.map.text.data}"')
        print_lanes(printer, self)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.result.type)

    @classmethod
    def parse(cls, parser: Parser) -> IndexOp:
        expr = parse_quoted_expr(parser)
        lanes = parse_lanes(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        op = cls.make(expr.exprs[0], parser.parse_type())
        op.properties.update(lanes)
        op.attributes.update(attributes)
        return op


@op_definition
class LocalOp(IRDLOperation):
    """Scratch of the thread that runs here, dead when the enclosing region ends.

    %s = tk.local "s0" : memref<?xf32>
    """

    name = "tk.local"

    size = prop_def(MapAttr)
    result = result_def(MemRefType)

    @classmethod
    def make(cls, size: Expr, type_: MemRefType[Attribute]) -> LocalOp:
        return cls.create(result_types=[type_], properties={"size": map_attr((size,))})

    def verify_(self) -> None:
        verify_exprs(self, self.size.exprs)
        shape = self.result.type.get_shape()
        if len(shape) != 1 or len(self.size.exprs) != 1:
            raise VerifyException(f"tk.local: expected one size and a rank-1 memref, got {self.result.type}")
        if shape[0] != (DYNAMIC_INDEX if (n := self.size.exprs[0].constant) is None else n):
            raise VerifyException(f'tk.local: size "{self.size.text.data}" does not match {self.result.type}')

    def print(self, printer: Printer) -> None:
        printer.print_string(f' "{self.size.text.data}"')
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.result.type)

    @classmethod
    def parse(cls, parser: Parser) -> LocalOp:
        size = parse_quoted_expr(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        return cls.create(
            result_types=[parser.parse_type()], properties={"size": size}, attributes=attributes
        )
