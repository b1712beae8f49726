"""What makes two kernels equal: everything but names and, where asked, constant offsets of subscripts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.ir import Operation, SSAValue

from tilewright.dialects.index_expr import Expr
from tilewright.dialects.ir_access import operands_of, ops_of
from tilewright.dialects.tk.attributes import MapAttr
from tilewright.dialects.tk.kernels import FuncOp
from tilewright.dialects.tw.base import is_pure

SUBSCRIPTS = "map"
"""The property of loads, stores and index ops that holds their expressions."""

Key = tuple[object, ...]


@dataclass(frozen=True)
class Offset:
    """The constant term of a subscript of an op, rounded down to a multiple of the unit."""

    op: Operation
    number: int
    value: int


def kernel_key(function: FuncOp) -> Key:
    """Equal for functions that differ in names only (symbols must be numbered alike).

    Where constants and other pure ops without operands stand does not count, either.
    """
    return _Keys().of(function)


def key_and_offsets(function: FuncOp, unit: int) -> tuple[Key, Sequence[Offset]]:
    """As `kernel_key`, but subscripts may also differ in constants, by multiples of `unit`; and these."""
    keys = _Keys(unit)
    return keys.of(function), keys.offsets


@dataclass
class _Keys:
    """Numbers the values of one function in the order in which they are used."""

    unit: int = 0
    offsets: list[Offset] = field(default_factory=list[Offset])
    _numbers: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])
    _parts: list[object] = field(default_factory=list[object])

    def of(self, function: FuncOp) -> Key:
        arguments = function.body.block.args
        self._number(arguments)
        types = tuple(argument.type for argument in arguments)
        self._parts += [function.sizes, function.symbols, types, self._facts(function)]
        for op in ops_of(function.body.block):
            self._append(op)
        return tuple(self._parts)

    def _number(self, values: Sequence[SSAValue]) -> None:
        for value in values:
            self._numbers[value] = len(self._numbers)

    def _append(self, op: Operation) -> None:
        if _stands_anywhere(op):
            return  # comes with its first use
        operands = operands_of(op)
        for operand in operands:
            if operand not in self._numbers:
                assert isinstance(operand.owner, Operation)
                self._describe(operand.owner, ())
        self._describe(op, operands)
        for region in op.regions:
            for block in region.blocks:
                self._number(block.args)
                self._parts.append(len(block.args))
                for inner in ops_of(block):
                    self._append(inner)
                self._parts.append("end")

    def _describe(self, op: Operation, operands: Sequence[SSAValue]) -> None:
        self._number(op.results)
        self._parts.append(op.name)
        self._parts.append(tuple([self._numbers[operand] for operand in operands]))
        self._parts.append(op.result_types)
        self._parts.append(self._facts(op))

    def _facts(self, op: Operation) -> tuple[tuple[str, object], ...]:
        facts: list[tuple[str, object]] = []
        for name, value in (*op.properties.items(), *op.attributes.items()):
            if self.unit and name == SUBSCRIPTS and isinstance(value, MapAttr):
                exprs = [self._without_offset(op, i, expr) for i, expr in enumerate(value.exprs)]
                facts.append((name, tuple(exprs)))
            elif name != "sym_name":
                facts.append((name, value))
        return tuple(sorted(facts, key=lambda fact: fact[0]))

    def _without_offset(self, op: Operation, number: int, expr: Expr) -> Expr:
        constant = next((coefficient for monomial, coefficient in expr.terms if not monomial), 0)
        offset = constant - constant % self.unit
        self.offsets.append(Offset(op, number, offset))
        return expr - offset if offset else expr


def _stands_anywhere(op: Operation) -> bool:
    return not operands_of(op) and not op.regions and is_pure(op)
