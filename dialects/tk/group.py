"""One launch for several functions: `tk.group` and its `tk.part`s."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import MemRefType, StringAttr, SymbolRefAttr
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import (
    IsolatedFromAbove,
    MemoryReadEffect,
    MemoryWriteEffect,
    NoTerminator,
    SymbolOpInterface,
)
from xdsl.utils.exceptions import VerifyException

from ..index_expr import Expr
from ..op_definition import op_definition
from ..verification import SelfContained
from .attributes import (
    MapAttr,
    map_attr,
    parse_bracketed_exprs,
    parse_optional_values,
    print_exprs,
    print_values,
)
from .kernels import located_argument, verify_known, verify_launched


@op_definition
class PartOp(IRDLOperation):
    """A function as one of several that a launch runs: its buffers, and the values of its symbols.

    tk.part @k0(%a, %o) symbols [s0, 4096]

    The values are made of the symbols of the `tk.group` around it.
    """

    name = "tk.part"

    kernel = prop_def(SymbolRefAttr)
    symbols = prop_def(MapAttr)
    arguments = var_operand_def(MemRefType)

    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())

    @classmethod
    def make(cls, kernel: str, arguments: Sequence[SSAValue], symbols: Sequence[Expr | int]) -> PartOp:
        """A part of the function of that name."""
        properties = {"kernel": SymbolRefAttr(kernel), "symbols": map_attr(symbols)}
        return cls.create(operands=arguments, properties=properties)

    @property
    def symbol_values(self) -> tuple[Expr, ...]:
        """The values of the function's symbols, in their order."""
        return self.symbols.exprs

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.kernel.string_value())
        print_values(printer, self.arguments)
        if self.symbols.exprs:
            printer.print_string(" symbols ")
            print_exprs(printer, self.symbols)
        printer.print_op_attributes(self.attributes)

    @classmethod
    def parse(cls, parser: Parser) -> PartOp:
        kernel = SymbolRefAttr(parser.parse_symbol_name())
        arguments = parse_optional_values(parser)
        symbols = map_attr(())
        if parser.parse_optional_keyword("symbols"):
            symbols = parse_bracketed_exprs(parser)
        return cls.create(
            operands=arguments,
            properties={"kernel": kernel, "symbols": symbols},
            attributes=parser.parse_optional_attr_dict(),
        )


@op_definition
class GroupOp(SelfContained, IRDLOperation):
    """Several functions that one launch runs beside each other, each over its own iteration space.

    tk.group @steps (%a: memref<4096xf32>, %b: memref<64xf32>, %o: memref<?xf32>) symbols [s0] {
      tk.part @step(%a) symbols [256]
      tk.part @step(%b) symbols [4]
      tk.part @fill(%o) symbols [s0]
    }

    No part may write what another one reads or writes: they have no order. The values of `symbols` follow
    the buffers as arguments of a launch, as those of a `tk.func` do.
    """

    name = "tk.group"

    sym_name = prop_def(StringAttr)
    symbols = prop_def(MapAttr)
    body = region_def("single_block")

    traits = traits_def(IsolatedFromAbove(), NoTerminator(), SymbolOpInterface())

    @classmethod
    def make(cls, name: str, symbols: Sequence[Expr], arg_types: Sequence[Attribute]) -> GroupOp:
        """A group without parts."""
        return cls.create(
            properties={"sym_name": StringAttr(name), "symbols": map_attr(symbols)},
            regions=[Region(Block(arg_types=arg_types))],
        )

    @property
    def parts(self) -> tuple[PartOp, ...]:
        """What it launches."""
        return tuple(op for op in self.body.block.ops if isinstance(op, PartOp))

    def verify_(self) -> None:
        verify_launched(self.name, self.symbols, self.body.block)
        if not self.body.block.ops:
            raise VerifyException("tk.group: it has no parts")
        for op in self.body.block.ops:
            if not isinstance(op, PartOp):
                raise VerifyException(f"tk.group: holds `tk.part`s only, got {op.name}")
            verify_known(self.name, "a part", op.symbol_values, self.symbols)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        printer.print_string(" (")
        printer.print_list(self.body.block.args, printer.print_block_argument)
        printer.print_string(")")
        if self.symbols.exprs:
            printer.print_string(" symbols ")
            print_exprs(printer, self.symbols)
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False)

    @classmethod
    def parse(cls, parser: Parser) -> GroupOp:
        name = parser.parse_symbol_name()
        args = parser.parse_comma_separated_list(parser.Delimiter.PAREN, lambda: located_argument(parser))
        symbols = map_attr(())
        if parser.parse_optional_keyword("symbols"):
            symbols = parse_bracketed_exprs(parser)
        attributes = parser.parse_optional_attr_dict_with_keyword()
        region = parser.parse_region(args)
        if not region.blocks:
            region.add_block(Block(arg_types=[arg.type for arg in args]))
        return cls.create(
            properties={"sym_name": name, "symbols": symbols},
            attributes=attributes.data if attributes else {},
            regions=[region],
        )
