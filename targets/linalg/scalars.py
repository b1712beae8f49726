"""Scalar ops of kernel bodies as lines of upstream MLIR: a row per shape of syntax."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, IndexType, IntegerAttr, f32
from xdsl.ir import Attribute, Operation, SSAValue

from tilewright.dialects.index_expr import Var
from tilewright.dialects.scalars import predicate_of
from tilewright.dialects.tk.access import IndexOp
from tilewright.dialects.tk.arith import (
    CmpFOp,
    CmpIOp,
    ExtSIOp,
    ExtUIOp,
    FPToSIOp,
    IndexCastOp,
    SelectOp,
    SIToFPOp,
    TruncIOp,
    UIToFPOp,
)
from tilewright.dialects.tk.calls import CallOp
from tilewright.dialects.tw.creation import as_element
from tilewright.dialects.types import bytes_of, is_float, is_float8

from .errors import LEAVE_OUT, CannotExport
from .writer import Writer, spell

Names = Mapping[SSAValue, str]
_CASTS = (
    arith.BitcastOp, arith.ExtFOp, arith.TruncFOp, ExtSIOp, ExtUIOp, TruncIOp, SIToFPOp,
    UIToFPOp, IndexCastOp,
)  # fmt: skip
_IDENTITIES: Mapping[str, float | int] = {"add": 0, "mul": 1, "and": -1, "or": 0}
_COMBINE = {
    "add": ("arith.addf", "arith.addi"),
    "mul": ("arith.mulf", "arith.muli"),
    "max": ("arith.maximumf", "arith.maxsi"),
    "min": ("arith.minimumf", "arith.minsi"),
    "and": ("arith.andi", "arith.andi"),
    "or": ("arith.ori", "arith.ori"),
}


def write_scalar(w: Writer, op: Operation, names: Names) -> str:
    """Write one `arith`, `math`, `tk.index` or `tk.call` op; gives the name of its result."""
    args = [names[v] for v in op.operands if v in names]
    if (special := _SPECIAL.get(type(op))) is not None:
        return special(w, op, args)
    if isinstance(op, arith.BitcastOp) and any(map(is_float8, (op.input.type, op.result.type))):
        raise CannotExport(op, reason="upstream rounds to 8-bit floats in other ways", advice=LEAVE_OUT)
    if isinstance(op, _CASTS):
        return w.value(f"{op.name} {args[0]} : {spell(op.operands[0].type)} to {spell(op.results[0].type)}")
    plain = op.name.partition(".")[0] in ("arith", "math")
    if not plain or any(v.type != op.results[0].type for v in op.operands):
        raise CannotExport(op, reason="linalg bodies hold arith and math ops on scalars", advice=LEAVE_OUT)
    return w.value(f"{op.name} {', '.join(args)} : {spell(op.results[0].type)}")


def _constant(w: Writer, op: Operation, args: Sequence[str]) -> str:
    attr = op.properties["value"]
    assert isinstance(attr, FloatAttr | IntegerAttr)
    type_: Attribute = op.results[0].type
    return w.constant(as_element(attr.value.data, type_), type_)


def _compare(w: Writer, op: Operation, args: Sequence[str]) -> str:
    return w.value(f"{op.name} {predicate_of(op)}, {', '.join(args)} : {spell(op.operands[0].type)}")


def _select(w: Writer, op: Operation, args: Sequence[str]) -> str:
    return w.value(f"arith.select {', '.join(args)} : {spell(op.results[0].type)}")


def _to_integer(w: Writer, op: Operation, args: Sequence[str]) -> str:
    """Out of range the result is the least integer, as the hardware gives; upstream leaves it open."""
    source, target = op.operands[0].type, op.results[0].type
    bound = 2 ** (8 * bytes_of(target) - 1)
    low, high = w.constant(-bound, source), w.constant(bound, source)
    above = w.value(f"arith.cmpf oge, {args[0]}, {low} : {spell(source)}")
    below = w.value(f"arith.cmpf olt, {args[0]}, {high} : {spell(source)}")
    fits = w.value(f"arith.andi {above}, {below} : i1")
    safe = w.value(f"arith.select {fits}, {args[0]}, {w.constant(0, source)} : {spell(source)}")
    number = w.value(f"arith.fptosi {safe} : {spell(source)} to {spell(target)}")
    least = w.constant(-bound, target)
    return w.value(f"arith.select {fits}, {number}, {least} : {spell(target)}")


def _call(w: Writer, op: Operation, args: Sequence[str]) -> str:
    """C's function of the type: `fmodf` for f32."""
    assert isinstance(op, CallOp)
    type_: Attribute = op.result.type
    name = op.callee.data + ("f" if type_ == f32 else "")
    types = ", ".join([spell(type_)] * len(args))
    w.functions[name] = f"func.func private @{name}({types}) -> {spell(type_)}"
    return w.value(f"func.call @{name}({', '.join(args)}) : ({types}) -> {spell(type_)}")


_SPECIAL: Mapping[type[Operation], Callable[[Writer, Operation, Sequence[str]], str]] = {
    arith.ConstantOp: _constant,
    CmpFOp: _compare,
    CmpIOp: _compare,
    SelectOp: _select,
    FPToSIOp: _to_integer,
    CallOp: _call,
}


def write_index(w: Writer, op: IndexOp, axes: Mapping[Var, str]) -> str:
    """`tk.index`: the value of an expression."""
    name = w.index(op.expr, axes)
    if isinstance(op.result.type, IndexType):
        return name
    return w.value(f"arith.index_cast {name} : index to {spell(op.result.type)}")


def identity(kind: str, type_: Attribute) -> float | int:
    """What changes no value that it is combined with."""
    if kind in _IDENTITIES:
        return _IDENTITIES[kind]
    if is_float(type_):
        return float("-inf" if kind == "max" else "inf")
    bits = 8 * bytes_of(type_) - 1
    return -(2**bits) if kind == "max" else 2**bits - 1


def combined(w: Writer, kind: str, type_: Attribute, old: str, new: str) -> str:
    """One step of a reduction."""
    return w.value(f"{_COMBINE[kind][0 if is_float(type_) else 1]} {old}, {new} : {spell(type_)}")
