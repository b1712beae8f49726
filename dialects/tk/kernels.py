"""The ops that own an iteration space: `tk.kernel` on tensors, `tk.func` on buffers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.dialects.builtin import MemRefType, StringAttr, TensorType, UnitAttr
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.irdl import (
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
from xdsl.traits import IsolatedFromAbove, NoTerminator, Pure, SymbolOpInterface
from xdsl.utils.exceptions import VerifyException

from ..index_expr import Expr
from ..ir_access import operands_of
from ..op_definition import op_definition
from ..types import rank_of
from ..verification import SelfContained
from .access import StoreOp
from .attributes import MapAttr, map_attr, parse_bracketed_exprs, parse_value, print_exprs


def _verify_sizes(op: KernelOp | FuncOp) -> None:
    for size in op.sizes.exprs:
        for var in sorted(size.variables(), key=str):
            if var.kind != "s":
                raise VerifyException(f"{op.name}: sizes are made of symbols, got {size}")


@op_definition
class KernelOp(SelfContained, IRDLOperation):
    """A fused computation over an iteration space, on tensors.

    %r = tk.kernel [8, 768] ins(%x : tensor<8x768xf32>) -> (tensor<8x768xf32>) {
    ^bb0(%a: tensor<8x768xf32>, %o: tensor<8x768xf32>):
      %0 = tk.load %a[d0, d1] : tensor<8x768xf32> -> f32
      tk.store %0, %o[d0, d1] : f32, tensor<8x768xf32>
    }

    Block arguments are the inputs, then one destination per result. A value varies over
    the axes that it depends on; each destination is stored to exactly once per element.
    """

    name = "tk.kernel"

    inputs = var_operand_def(TensorType)
    sizes = prop_def(MapAttr)
    body = region_def("single_block")
    res = var_result_def(TensorType)

    traits = traits_def(IsolatedFromAbove(), NoTerminator(), Pure())

    @classmethod
    def make(
        cls, sizes: Sequence[Expr | int], inputs: Sequence[SSAValue], result_types: Sequence[Attribute]
    ) -> KernelOp:
        """A kernel with an empty body whose block arguments are in place."""
        block = Block(arg_types=[*(v.type for v in inputs), *result_types])
        return cls.create(
            operands=inputs,
            result_types=result_types,
            properties={"sizes": map_attr(sizes)},
            regions=[Region(block)],
        )

    @property
    def space(self) -> tuple[Expr, ...]:
        """The size of each axis."""
        return self.sizes.exprs

    @property
    def sources(self) -> Sequence[SSAValue]:
        """The block arguments that stand for the operands."""
        return self.body.block.args[: len(operands_of(self))]

    @property
    def destinations(self) -> Sequence[SSAValue]:
        """The block arguments that stand for the results."""
        return self.body.block.args[len(operands_of(self)) :]

    def verify_(self) -> None:
        _verify_sizes(self)
        found = [arg.type for arg in self.body.block.args]
        expected = [*self.operand_types, *self.result_types]
        if found != expected:
            raise VerifyException(
                "tk.kernel: block arguments are the inputs, then the destinations: expected "
                f"{[str(t) for t in expected]}, got {[str(t) for t in found]}"
            )
        stored = {op.buffer for op in self.body.block.ops if isinstance(op, StoreOp)}
        for i, destination in enumerate(self.destinations):
            if destination not in stored:
                raise VerifyException(f"tk.kernel: nothing is stored to the destination of result {i}")

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        print_exprs(printer, self.sizes)
        if self.operands:
            printer.print_string(" ins(")
            printer.print_list(self.operands, printer.print_operand)
            printer.print_string(" : ")
            printer.print_list(self.operand_types, printer.print_attribute)
            printer.print_string(")")
        printer.print_string(" -> (")
        printer.print_list(self.result_types, printer.print_attribute)
        printer.print_string(")")
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body)

    @classmethod
    def parse(cls, parser: Parser) -> KernelOp:
        sizes = parse_bracketed_exprs(parser)
        inputs: list[SSAValue] = []
        if parser.parse_optional_keyword("ins"):
            parser.parse_punctuation("(")
            inputs = parser.parse_comma_separated_list(parser.Delimiter.NONE, lambda: parse_value(parser))
            parser.parse_punctuation(":")
            at = parser.pos
            types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
            if types != [v.type for v in inputs]:
                parser.raise_error("the types of the inputs differ from those of their definitions", at)
            parser.parse_punctuation(")")
        parser.parse_punctuation("->")
        results = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
        attributes = parser.parse_optional_attr_dict_with_keyword()
        return cls.create(
            operands=inputs,
            result_types=results,
            properties={"sizes": sizes},
            attributes=attributes.data if attributes else {},
            regions=[parser.parse_region()],
        )


def verify_launched(name: str, symbols: MapAttr, block: Block) -> None:
    """What is launched takes buffers, and then plain symbols. Raises VerifyException."""
    for symbol in symbols.exprs:
        if len(symbol.variables()) != 1 or str(symbol) != str(next(iter(symbol.variables()))):
            raise VerifyException(f"{name}: `symbols` lists plain symbols, got {symbol}")
    for arg in block.args:
        type_: Attribute = arg.type
        if not isinstance(arg.type, MemRefType) or rank_of(arg) != 1:
            raise VerifyException(f"{name}: arguments are rank-1 memrefs, got {type_}")


def verify_known(name: str, what: str, exprs: Sequence[Expr], symbols: MapAttr) -> None:
    """Expressions use listed symbols only. Raises VerifyException."""
    known = [str(e) for e in symbols.exprs]
    for var in sorted({v for e in exprs for v in e.variables()}, key=str):
        if str(var) not in known:
            raise VerifyException(f"{name}: symbol {var} of {what} is not among {known}")


def located_argument(parser: Parser) -> Parser.Argument:
    """`%a: memref<8xf32> loc("m.py":1:2)`: printing with debug info writes the location."""
    argument = parser.parse_argument()
    return replace(argument, location=parser.parse_optional_location())


@op_definition
class FuncOp(SelfContained, IRDLOperation):
    """An outlined kernel over flat buffers, one subscript per access.

    tk.func @k0 [8, s0] (%a: memref<?xf32>, %o: memref<?xf32>) symbols [s0] {...}

    The values of `symbols` follow the buffers as arguments of a launch. `scheduled`
    marks a function whose loops are explicit.
    """

    name = "tk.func"

    sym_name = prop_def(StringAttr)
    sizes = prop_def(MapAttr)
    symbols = prop_def(MapAttr)
    scheduled = opt_prop_def(UnitAttr)
    body = region_def("single_block")

    traits = traits_def(IsolatedFromAbove(), NoTerminator(), SymbolOpInterface())

    @classmethod
    def make(
        cls,
        name: str,
        sizes: Sequence[Expr | int],
        symbols: Sequence[Expr],
        arg_types: Sequence[Attribute],
    ) -> FuncOp:
        """A function with an empty body."""
        return cls.create(
            properties={
                "sym_name": StringAttr(name),
                "sizes": map_attr(sizes),
                "symbols": map_attr(symbols),
            },
            regions=[Region(Block(arg_types=arg_types))],
        )

    @property
    def space(self) -> tuple[Expr, ...]:
        """The size of each axis."""
        return self.sizes.exprs

    @property
    def destinations(self) -> Sequence[SSAValue]:
        """The block arguments that are stored to, in order."""
        stored = {op.buffer for op in self.body.walk() if isinstance(op, StoreOp)}
        return [arg for arg in self.body.block.args if arg in stored]

    def verify_(self) -> None:
        _verify_sizes(self)
        verify_launched(self.name, self.symbols, self.body.block)
        verify_known(self.name, "the sizes", self.sizes.exprs, self.symbols)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        printer.print_string(" ")
        print_exprs(printer, self.sizes)
        printer.print_string(" (")
        printer.print_list(self.body.block.args, printer.print_block_argument)
        printer.print_string(")")
        if self.symbols.exprs:
            printer.print_string(" symbols ")
            print_exprs(printer, self.symbols)
        if self.scheduled is not None:
            printer.print_string(" scheduled")
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False)

    @classmethod
    def parse(cls, parser: Parser) -> FuncOp:
        properties: dict[str, Attribute] = {"sym_name": parser.parse_symbol_name()}
        properties["sizes"] = parse_bracketed_exprs(parser)
        args = parser.parse_comma_separated_list(parser.Delimiter.PAREN, lambda: located_argument(parser))
        properties["symbols"] = map_attr(())
        if parser.parse_optional_keyword("symbols"):
            properties["symbols"] = parse_bracketed_exprs(parser)
        if parser.parse_optional_keyword("scheduled"):
            properties["scheduled"] = UnitAttr()
        attributes = parser.parse_optional_attr_dict_with_keyword()
        region = parser.parse_region(args)
        if not region.blocks:
            region.add_block(Block(arg_types=[arg.type for arg in args]))
        return cls.create(
            properties=properties, attributes=attributes.data if attributes else {}, regions=[region]
        )
