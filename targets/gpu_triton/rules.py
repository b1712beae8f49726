"""`arith`, `math` and the scalar `tk` ops as Triton expressions: one row per op."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from xdsl.dialects import math
from xdsl.dialects.builtin import BFloat16Type, Float16Type, IntegerType, StringAttr, f32, f64
from xdsl.ir import Attribute, Operation
from xdsl.utils.hints import isa

from tilewright.dialects.scalars import predicate_of
from tilewright.dialects.tk.calls import CallOp
from tilewright.dialects.types import element_type

from ..native.text import FLOAT_COMPARISONS, INTEGER_COMPARISONS
from .errors import NoTritonLowering
from .spelling import bare, binary, dtype

Rule = Callable[[Operation, Sequence[str]], str]

_SAME = """acos acosh asin asinh atan atanh cos cosh erf exp exp2 expm1 log log10 log1p log2 sin sinh sqrt tan
trunc""".split()

ROWS: Mapping[str, str] = {
    **{f"math.{name}": f"libdevice.{name}({{0}})" for name in _SAME},
    "math.absf": "tl.abs({0})",
    "math.absi": "tl.abs({0})",
    "math.atan2": "libdevice.atan2({0}, {1})",
    "math.ceil": "tl.ceil({0})",
    "math.copysign": "libdevice.copysign({0}, {1})",
    "math.floor": "tl.floor({0})",
    "math.fma": "tl.fma({0}, {1}, {2})",
    "math.ipowi": "_power({0}, {1})",
    "math.powf": "libdevice.pow({0}, {1})",
    "math.roundeven": "libdevice.rint({0})",
    "math.rsqrt": "libdevice.rsqrt({0})",
    "arith.addf": "{0} + {1}",
    "arith.addi": "{0} + {1}",
    "arith.andi": "{0} & {1}",
    "arith.divf": "{0} / {1}",
    "arith.divsi": "{0} // {1}",
    "arith.floordivsi": "_floor_div({0}, {1})",
    "arith.index_cast": "{0}.to(tl.int64)",
    "arith.maximumf": "tl.maximum({0}, {1}, propagate_nan=tl.PropagateNan.ALL)",
    "arith.minimumf": "tl.minimum({0}, {1}, propagate_nan=tl.PropagateNan.ALL)",
    "arith.maxnumf": "tl.maximum({0}, {1})",
    "arith.minnumf": "tl.minimum({0}, {1})",
    "arith.maxsi": "tl.maximum({0}, {1})",
    "arith.minsi": "tl.minimum({0}, {1})",
    "arith.mulf": "{0} * {1}",
    "arith.muli": "{0} * {1}",
    "arith.negf": "{0} * -1.0",  # Triton 3.6 makes 0 - x of -x, which loses the sign of a zero
    "arith.ori": "{0} | {1}",
    "arith.remf": "libdevice.fmod({0}, {1})",
    "arith.remsi": "{0} % {1}",
    "arith.select": "tl.where({0}, {1}, {2})",
    "arith.shli": "{0} << {1}",
    "arith.shrsi": "{0} >> {1}",
    "arith.subf": "{0} - {1}",
    "arith.subi": "{0} - {1}",
    "arith.xori": "{0} ^ {1}",
}
"""Operands are names, expressions that stand together, or literals where another operand is not one."""

_ON_BITS: Mapping[str, str] = {
    "arith.addi": "{0} ^ {1}",
    "arith.subi": "{0} ^ {1}",
    "arith.muli": "{0} & {1}",
}
"""Rows of integers that differ for i1."""


def _width(type_: Attribute) -> int:
    element = element_type(type_)
    return element.width.data if isa(element, IntegerType) else 64


def _is_bit(type_: Attribute) -> bool:
    return _width(type_) == 1


def unsigned(text: str, type_: Attribute) -> str:
    """The bits of an integer, read as a number that is not negative."""
    return text if _is_bit(type_) else f"{text}.to(tl.uint{_width(type_)}, bitcast=True)"


_OF_ONE = {"uno": "{0} != {0}", "ord": "{0} == {0}"}
"""Comparisons of a number with itself: whether it is one."""


def _compare_floats(op: Operation, args: Sequence[str]) -> str:
    row = FLOAT_COMPARISONS[predicate_of(op)]
    if isinstance(row, bool):  # a tile, not one value
        row = "({0} == {1}) | True" if row else "({0} == {1}) & False"
    if args[0] == args[1] and predicate_of(op) in _OF_ONE:
        row = _OF_ONE[predicate_of(op)]
    return row.format(*args)


def _compare_integers(op: Operation, args: Sequence[str]) -> str:
    predicate, type_ = predicate_of(op), op.operands[0].type
    lhs, rhs = args
    if _is_bit(type_) and predicate not in ("eq", "ne"):
        sign = "-" if predicate[0] == "s" else ""  # a signed i1 is 0 or -1
        lhs, rhs = f"{sign}{_integer(lhs)}", f"{sign}{_integer(rhs)}"
    elif predicate[0] == "u":
        lhs, rhs = _unsigned_operand(lhs, type_), _unsigned_operand(rhs, type_)
    return f"{lhs} {INTEGER_COMPARISONS[predicate]} {rhs}"


def _integer(text: str) -> str:
    return str(int(text == "True")) if text in ("True", "False") else f"{text}.to(tl.int32)"


def _unsigned_operand(text: str, type_: Attribute) -> str:
    literal = text.strip("()")
    if literal.lstrip("-").isdigit():
        return str(int(literal) % 2 ** _width(type_))
    return unsigned(text, type_)


def _convert(op: Operation, args: Sequence[str]) -> str:
    return f"{args[0]}.to({dtype(op.results[0].type)})"


def _truncate_float(op: Operation, args: Sequence[str]) -> str:
    source, target = element_type(op.operands[0].type), element_type(op.results[0].type)
    through = isinstance(target, BFloat16Type | Float16Type) and str(source) == "f64"
    text = f"{args[0]}.to(tl.float32)" if through else args[0]  # ATen, too, goes through f32
    return f"{text}.to({dtype(op.results[0].type)})"


def _extend_unsigned(op: Operation, args: Sequence[str]) -> str:
    return f"{unsigned(args[0], op.operands[0].type)}.to({dtype(op.results[0].type)})"


def _extend_signed(op: Operation, args: Sequence[str]) -> str:
    text = f"{args[0]}.to({dtype(op.results[0].type)})"
    return f"-{text}" if _is_bit(op.operands[0].type) else text


def _truncate_integer(op: Operation, args: Sequence[str]) -> str:
    if _is_bit(op.results[0].type):
        return f"({args[0]} & 1) != 0"
    return f"{args[0]}.to({dtype(op.results[0].type)})"


def _float_to_unsigned(op: Operation, args: Sequence[str]) -> str:
    bits = _width(op.results[0].type)
    return f"{args[0]}.to(tl.uint{bits}).to({dtype(op.results[0].type)}, bitcast=True)"


def _on_unsigned(row: str) -> Rule:
    def rule(op: Operation, args: Sequence[str]) -> str:
        type_ = op.operands[0].type
        text = row.format(*(_unsigned_operand(a, type_) for a in args))
        return f"({text}).to({dtype(op.results[0].type)}, bitcast=True)"

    return rule


_CALLS = {name: name for name in ("fmod", "erfc", "hypot", "lgamma", "nextafter")}


_CALL = re.compile(r"[a-z_.0-9]+\(.*\)")
"""A row whose operands are arguments."""
_BINARY = re.compile(r"\{0\} (\S+) \{1\}")


def _format(row: str, args: Sequence[str]) -> str:
    if (operator := _BINARY.fullmatch(row)) is not None:
        return binary(args[0], operator[1], args[1])
    return row.format(*(map(bare, args) if _CALL.fullmatch(row) else args))


def _call(op: Operation, args: Sequence[str]) -> str:
    callee = op.properties["callee"]
    assert isinstance(callee, StringAttr)
    if callee.data not in _CALLS:
        raise NoTritonLowering(op, reason=f"libdevice has no function {callee.data}")
    return f"libdevice.{_CALLS[callee.data]}({', '.join(map(bare, args))})"


def _bitcast(op: Operation, args: Sequence[str]) -> str:
    return f"{args[0]}.to({dtype(op.results[0].type)}, bitcast=True)"


def _tanh(op: Operation, args: Sequence[str]) -> str:
    """libdevice's has branches, by which the lanes of a warp, and what they do next, wait for each other."""
    name = "_tanh" if element_type(op.results[0].type) == f32 else "libdevice.tanh"
    return f"{name}({bare(args[0])})"


FUNCTIONS: Mapping[str, Rule] = {
    "arith.bitcast": _bitcast,
    "arith.cmpf": _compare_floats,
    "arith.cmpi": _compare_integers,
    "arith.divui": _on_unsigned("{0} // {1}"),
    "arith.remui": _on_unsigned("{0} % {1}"),
    "arith.shrui": _on_unsigned("{0} >> {1}"),
    "arith.extf": _convert,
    "arith.truncf": _truncate_float,
    "arith.extui": _extend_unsigned,
    "arith.uitofp": _extend_unsigned,
    "arith.extsi": _extend_signed,
    "arith.sitofp": _extend_signed,
    "arith.trunci": _truncate_integer,
    "arith.fptosi": _convert,
    "arith.fptoui": _float_to_unsigned,
    "math.tanh": _tanh,
    CallOp.name: _call,
}


def takes_types(op: Operation) -> bool:
    """Whether literals need a type: functions of libdevice are found by types, and a literal is f32."""
    row = "libdevice." if isinstance(op, CallOp | math.TanhOp) else ROWS.get(op.name, "")
    return row.startswith("libdevice.") and element_type(op.results[0].type) == f64


def helpers(op: Operation) -> Sequence[str]:
    """The functions of `helpers.py` that the expression of `op` calls."""
    if isinstance(op, math.TanhOp):
        return ["_tanh"] if element_type(op.result.type) == f32 else []
    return [name for name in ("_power", "_floor_div") if ROWS.get(op.name, "").startswith(name)]


def lower(op: Operation, args: Sequence[str]) -> str:
    """The Triton expression of a pure op with one result, element by element."""
    if op.operands and _is_bit(op.operands[-1].type) and (row := _ON_BITS.get(op.name)) is not None:
        return _format(row, args)
    if (row := ROWS.get(op.name)) is not None:
        return _format(row, args)
    if (function := FUNCTIONS.get(op.name)) is not None:
        return function(op, args)
    raise NoTritonLowering(op, reason="it has no row in the table of Triton expressions")
