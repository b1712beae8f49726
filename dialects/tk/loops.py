"""Explicit loops of a scheduled function: `tk.for`, `tk.tail`, `tk.yield`."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IndexType, IntegerAttr, UnitAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsTerminator, NoTerminator, Pure, RecursiveMemoryEffect
from xdsl.utils.exceptions import VerifyException

from ..index_expr import Expr
from ..op_definition import op_definition
from .attributes import (
    MapAttr,
    int64,
    map_attr,
    parse_optional_values,
    parse_quoted_expr,
    parse_value,
    print_values,
    segments,
)
from .scope import verify_exprs


@op_definition
class YieldOp(IRDLOperation):
    """The values that a loop carries on.

    tk.yield %acc : vector<16xf32>
    """

    name = "tk.yield"

    values = var_operand_def()

    traits = traits_def(IsTerminator(), Pure())
    assembly_format = "($values^ `:` type($values))? attr-dict"


UNEVEN = "tk.uneven"
"""Unit attribute of a parallel `tk.for`: iterations differ in work, so that threads take one at a time."""


def _print_iter(op: ForOp | TailOp, printer: Printer) -> None:
    """` iter(%a = %z : f32) {...}`."""
    if op.inits:
        printer.print_string(" iter(")
        for i, (arg, init) in enumerate(zip(op.body.block.args, op.inits, strict=True)):
            printer.print_string(", " if i else "")
            printer.print_operand(arg)
            printer.print_string(" = ")
            printer.print_operand(init)
            printer.print_string(" : ")
            printer.print_attribute(init.type)
        printer.print_string(")")
    printer.print_op_attributes(op.attributes, print_keyword=True)
    printer.print_string(" ")
    printer.print_region(op.body, print_entry_block_args=False)


def _parse_iter(parser: Parser) -> tuple[list[SSAValue], dict[str, Attribute], Region]:
    inits: list[SSAValue] = []
    args: list[Parser.Argument] = []

    def one() -> None:
        name = parser.parse_argument(expect_type=False)
        parser.parse_punctuation("=")
        inits.append(parse_value(parser))
        parser.parse_punctuation(":")
        args.append(name.resolve(parser.parse_type()))

    if parser.parse_optional_keyword("iter"):
        parser.parse_comma_separated_list(parser.Delimiter.PAREN, one)
    attributes = parser.parse_optional_attr_dict_with_keyword()
    region = parser.parse_region(args)
    if not region.blocks:
        region.add_block(Block())
    return inits, dict(attributes.data) if attributes else {}, region


def _types(types: Sequence[Attribute]) -> str:
    return f"[{', '.join(map(str, types))}]"


def _verify_loop(op: ForOp | TailOp) -> None:
    arg_types = [arg.type for arg in op.body.block.args]
    init_types = [init.type for init in op.inits]
    result_types = list(op.result_types)
    if arg_types != init_types or result_types != init_types:
        raise VerifyException(
            f"{op.name}: initial values {_types(init_types)}, block arguments {_types(arg_types)} and "
            f"results {_types(result_types)} must have equal types"
        )
    last = op.body.block.last_op
    yielded = [v.type for v in last.operands] if isinstance(last, YieldOp) else []
    if yielded != result_types:
        raise VerifyException(f"{op.name}: yields {_types(yielded)}, expected {_types(result_types)}")
    if op.axis.value.data < 0:
        raise VerifyException(f"{op.name}: axis must not be negative, got {op.axis.value.data}")


@op_definition
class ForOp(IRDLOperation):
    """Bind axis `d<axis>` to every `step`-th value from `lower` to below `upper`.

    tk.for 0 = "0" to "s0" step 1 parallel if "s0*768 - 32768" {...}
    %sum = tk.for 1 = "0" to "768" step 16 unroll 4 iter(%acc = %zero : vector<16xf32>) {
      tk.yield %next : vector<16xf32>
    }

    Iterations of a `parallel` loop are independent; with `if` it is worth running in
    parallel only where the expression is positive. Axes beyond the iteration space are
    those of tiles. In a `masked` loop the lanes along the axis that are not below `upper`
    are inactive. Bounds may use `index` operands, which are written `i0, i1, ...` in them. With
    `once` the body runs for `lower` alone, whatever `upper` is; masked, no lane may be active then.

    %all = tk.for 5 = "0" to "i0*4"(%count) step 1 iter(%acc = %zero : vector<16xf32>) {
      %part = tk.for 1 = "i0*64 + (d5 mod 4)*16" to "s0"(%block) step 16 once masked iter(...) {...}
      tk.yield %part : vector<16xf32>
    }
    """

    name = "tk.for"

    inits = var_operand_def()
    dynamic = var_operand_def()
    axis = prop_def(IntegerAttr)
    lower = prop_def(MapAttr)
    upper = prop_def(MapAttr)
    step = prop_def(IntegerAttr)
    once = opt_prop_def(UnitAttr)
    masked = opt_prop_def(UnitAttr)
    parallel = opt_prop_def(UnitAttr)
    worth = opt_prop_def(MapAttr)
    unroll = opt_prop_def(IntegerAttr)
    body = region_def("single_block")
    res = var_result_def()

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(NoTerminator(), RecursiveMemoryEffect())

    @classmethod
    def make(
        cls,
        axis: int,
        lower: Expr | int,
        upper: Expr | int,
        step: int,
        inits: Sequence[SSAValue] = (),
        dynamic: Sequence[SSAValue] = (),
    ) -> ForOp:
        """A loop with an empty body; its block arguments are the carried values."""
        types = [v.type for v in inits]
        return cls.create(
            operands=[*inits, *dynamic],
            result_types=types,
            properties={
                "operandSegmentSizes": segments(len(inits), len(dynamic)),
                "axis": int64(axis),
                "lower": map_attr((lower,)),
                "upper": map_attr((upper,)),
                "step": int64(step),
            },
            regions=[Region(Block(arg_types=types))],
        )

    @property
    def bounds(self) -> tuple[Expr, Expr]:
        return self.lower.exprs[0], self.upper.exprs[0]

    def verify_(self) -> None:
        if self.step.value.data < 1:
            raise VerifyException(f"tk.for: step must be at least 1, got {self.step.value.data}")
        if self.parallel is not None and self.inits:
            raise VerifyException("tk.for: a parallel loop carries no values")
        if self.worth is not None and self.parallel is None:
            raise VerifyException("tk.for: `if` belongs to a parallel loop")
        if self.parallel is not None and (self.dynamic or self.once is not None):
            raise VerifyException("tk.for: how often a parallel loop runs follows from sizes")
        if self.masked is not None and any(var.kind == "i" for var in self.bounds[1].variables()):
            raise VerifyException("tk.for: where lanes of a masked loop end follows from sizes")
        if wrong := [str(v.type) for v in self.dynamic if v.type != IndexType()]:
            raise VerifyException(f"tk.for: operands of bounds must be index, got {', '.join(wrong)}")
        verify_exprs(self, (*self.bounds, *(self.worth.exprs if self.worth else ())), len(self.dynamic))
        _verify_loop(self)

    def print(self, printer: Printer) -> None:
        lower, upper = self.lower.text.data, self.upper.text.data
        printer.print_string(f' {self.axis.value.data} = "{lower}" to "{upper}"')
        if self.dynamic:
            print_values(printer, self.dynamic)
        printer.print_string(f" step {self.step.value.data}")
        if self.once is not None:
            printer.print_string(" once")
        if self.masked is not None:
            printer.print_string(" masked")
        if self.parallel is not None:
            printer.print_string(" parallel")
        if self.worth is not None:
            printer.print_string(f' if "{self.worth.text.data}"')
        if self.unroll is not None:
            printer.print_string(f" unroll {self.unroll.value.data}")
        _print_iter(self, printer)

    @classmethod
    def parse(cls, parser: Parser) -> ForOp:
        properties: dict[str, Attribute] = {"axis": int64(parser.parse_integer())}
        parser.parse_punctuation("=")
        properties["lower"] = parse_quoted_expr(parser)
        parser.parse_keyword("to")
        properties["upper"] = parse_quoted_expr(parser)
        dynamic = parse_optional_values(parser)
        parser.parse_keyword("step")
        properties["step"] = int64(parser.parse_integer())
        if parser.parse_optional_keyword("once"):
            properties["once"] = UnitAttr()
        if parser.parse_optional_keyword("masked"):
            properties["masked"] = UnitAttr()
        if parser.parse_optional_keyword("parallel"):
            properties["parallel"] = UnitAttr()
        if parser.parse_optional_keyword("if"):
            properties["worth"] = parse_quoted_expr(parser)
        if parser.parse_optional_keyword("unroll"):
            properties["unroll"] = int64(parser.parse_integer())
        inits, attributes, region = _parse_iter(parser)
        properties["operandSegmentSizes"] = segments(len(inits), len(dynamic))
        return cls.create(
            operands=[*inits, *dynamic],
            result_types=[v.type for v in inits],
            properties=properties,
            attributes=attributes,
            regions=[region],
        )


@op_definition
class TailOp(IRDLOperation):
    """Run the body once with axis `d<axis>` at `start` and only `count` active lanes.

    tk.tail 1 = "s0 - (s0 mod 16)" count "s0 mod 16" iter(%acc = %a : vector<16xf32>) {...}

    Vector accesses along the axis read zero and write nothing in inactive lanes. Where
    `count` is not positive nothing runs, and the results are the initial values.
    """

    name = "tk.tail"

    inits = var_operand_def()
    axis = prop_def(IntegerAttr)
    start = prop_def(MapAttr)
    count = prop_def(MapAttr)
    body = region_def("single_block")
    res = var_result_def()

    traits = traits_def(NoTerminator(), RecursiveMemoryEffect())

    @classmethod
    def make(cls, axis: int, start: Expr | int, count: Expr | int, inits: Sequence[SSAValue] = ()) -> TailOp:
        """A tail with an empty body."""
        types = [v.type for v in inits]
        return cls.create(
            operands=inits,
            result_types=types,
            properties={
                "axis": int64(axis),
                "start": map_attr((start,)),
                "count": map_attr((count,)),
            },
            regions=[Region(Block(arg_types=types))],
        )

    def verify_(self) -> None:
        verify_exprs(self, (*self.start.exprs, *self.count.exprs))
        _verify_loop(self)

    def print(self, printer: Printer) -> None:
        printer.print_string(
            f' {self.axis.value.data} = "{self.start.text.data}" count "{self.count.text.data}"'
        )
        _print_iter(self, printer)

    @classmethod
    def parse(cls, parser: Parser) -> TailOp:
        properties: dict[str, Attribute] = {"axis": int64(parser.parse_integer())}
        parser.parse_punctuation("=")
        properties["start"] = parse_quoted_expr(parser)
        parser.parse_keyword("count")
        properties["count"] = parse_quoted_expr(parser)
        inits, attributes, region = _parse_iter(parser)
        return cls.create(
            operands=inits,
            result_types=[v.type for v in inits],
            properties=properties,
            attributes=attributes,
            regions=[region],
        )


LOOPS: tuple[type[Operation], ...] = (ForOp, TailOp)
