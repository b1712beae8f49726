"""What makes two kernels equal: everything but names and, where asked, constant offsets of subscripts."""

from __future__ import annotations

from xdsl.dialects.builtin import FloatAttr
from xdsl.ir import Attribute, Operation, SSAValue

from tilewright.dialects.index_expr import Expr
from tilewright.dialects.ir_access import operands_of, ops_of
from tilewright.dialects.tk.attributes import MapAttr
from tilewright.dialects.tk.kernels import FuncOp

SUBSCRIPTS = "map"
"""The property of loads, stores and index ops that holds their expressions."""

Key = tuple[object, ...]


def kernel_key(function: FuncOp, offsets: list[int] | None = None) -> Key:
    """Equal for functions that differ in names only (symbols must be numbered alike).

    With `offsets`, the constant terms of subscripts do not count: they are appended there.
    """
    numbers: dict[SSAValue, int] = {}
    for argument in function.body.block.args:
        numbers[argument] = len(numbers)
    types = tuple(argument.type for argument in function.body.block.args)
    parts: list[object] = [function.sizes, function.symbols, types, _facts(function, None)]
    for op in ops_of(function.body.block):
        _append(parts, op, numbers, offsets)
    return tuple(parts)


def _facts(op: Operation, offsets: list[int] | None) -> tuple[tuple[str, object], ...]:
    facts: list[tuple[str, object]] = []
    for name, value in (*op.properties.items(), *op.attributes.items()):
        if offsets is not None and name == SUBSCRIPTS and isinstance(value, MapAttr):
            facts.append((name, tuple(_without_offset(expr, offsets) for expr in value.exprs)))
        elif name != "sym_name":
            facts.append((name, _exact(value)))
    return tuple(sorted(facts, key=lambda fact: fact[0]))


def _without_offset(expr: Expr, offsets: list[int]) -> Expr:
    """The expression without its constant term, which is appended to `offsets`."""
    offset = next((coefficient for monomial, coefficient in expr.terms if not monomial), 0)
    offsets.append(offset)
    return expr - offset if offset else expr


def _exact(attribute: Attribute) -> Attribute | str:
    """Attributes compare by value, in which 0.0 equals -0.0: floats are told apart by their text."""
    return str(attribute) if attribute.name == FloatAttr.name else attribute


def _append(
    parts: list[object], op: Operation, numbers: dict[SSAValue, int], offsets: list[int] | None
) -> None:
    for result in op.results:
        numbers[result] = len(numbers)
    parts.append(op.name)
    parts.append(tuple([numbers[operand] for operand in operands_of(op)]))
    parts.append(op.result_types)
    parts.append(_facts(op, offsets))
    for region in op.regions:
        for block in region.blocks:
            for argument in block.args:
                numbers[argument] = len(numbers)
            parts.append(len(block.args))
            for inner in ops_of(block):
                _append(parts, inner, numbers, offsets)
            parts.append("end")
