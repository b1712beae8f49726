"""`arith` and `math` ops, on scalars of a linalg body or on tensors -> `tw`: a row or a function per op."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from xdsl.dialects.builtin import i1, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue

from tilewright.dialects.tw import elementwise as un
from tilewright.dialects.tw import elementwise_binary as bi
from tilewright.dialects.types import element_type, element_type_of, is_float
from tilewright.passes.lowering.scalar_rules import FLOAT_ROWS, INTEGER_ROWS

from .builder import Builder, attribute, bits, predicate_in
from .errors import cannot, name_of

Scalar = Callable[[Builder, Operation, Sequence[SSAValue]], SSAValue]

ROWS: Mapping[str, type[Operation]] = {
    **{row.name: op for op, row in reversed(list(INTEGER_ROWS.items()))},
    **{row.name: op for op, row in reversed(list(FLOAT_ROWS.items()))},
    "arith.subi": bi.SubOp,
    "arith.divsi": bi.TruncDivOp,
    "arith.floordivsi": bi.FloorDivOp,
    "arith.remsi": bi.FmodOp,
    "arith.remf": bi.FmodOp,
    "arith.shli": bi.ShiftLeftOp,
    "arith.shrsi": bi.ShiftRightOp,
    "arith.select": bi.SelectOp,
}
"""One op of the same meaning: how kernels are lowered, read backwards, and a few more."""
CALLS: Mapping[str, type[Operation]] = {
    f"{name}{suffix}": op
    for suffix in ("", "f")
    for name, op in {
        "fmod": bi.FmodOp,
        "erfc": un.ErfcOp,
        "lgamma": un.LgammaOp,
        "hypot": bi.HypotOp,
        "nextafter": bi.NextafterOp,
    }.items()
}
_ORDERED = {"oeq": "eq", "ogt": "gt", "oge": "ge", "olt": "lt", "ole": "le", "une": "ne"}
_UNORDERED = {"ugt": "le", "uge": "lt", "ult": "ge", "ule": "gt"}
_INTEGER = {"eq": "eq", "ne": "ne"}


def read_scalar(b: Builder, op: Operation, args: Sequence[SSAValue]) -> SSAValue | None:
    """The result of an `arith` or `math` op on tensors of equal sizes; None for any other op."""
    name = name_of(op)
    if (function := _FUNCTIONS.get(name)) is not None:
        return function(b, op, args)
    if (row := ROWS.get(name)) is None:
        return None
    if row is not bi.SelectOp and len({v.type for v in args}) > 1:
        b.same_sizes(args)
    return b.add(row(*args))


def _target(op: Operation) -> Attribute:
    return element_type(op.results[0].type)


def _cast(b: Builder, op: Operation, args: Sequence[SSAValue]) -> SSAValue:
    return b.cast(args[0], _target(op))


def _signed(b: Builder, op: Operation, args: Sequence[SSAValue]) -> SSAValue:
    """True is -1 to an extension of sign."""
    wide = b.cast(args[0], _target(op))
    return b.add(un.NegOp(wide)) if element_type_of(args[0]) == i1 else wide


def _unsigned(b: Builder, op: Operation, args: Sequence[SSAValue]) -> SSAValue:
    """Widened first, then the bits above the old ones cleared."""
    element, target = element_type_of(args[0]), _target(op)
    if element == i1:
        return b.cast(args[0], target)
    if element == i64:
        raise cannot(op, "there are no unsigned integers of 64 bits")
    wide = b.cast(args[0], target if not is_float(target) else i64)
    return b.cast(b.add(bi.AndOp(wide, b.like(wide, 2 ** bits(element) - 1))), target)


def _truncated(b: Builder, op: Operation, args: Sequence[SSAValue]) -> SSAValue:
    if _target(op) != i1:
        return b.cast(args[0], _target(op))
    return b.cast(b.add(bi.AndOp(args[0], b.like(args[0], 1))), i1)


def _compare(b: Builder, op: Operation, args: Sequence[SSAValue]) -> SSAValue:
    predicate = predicate_in(op)
    b.same_sizes(args)
    if name_of(op) == "arith.cmpf":
        return _compare_floats(b, op, predicate, *args)
    return compare_integers(b, predicate, *args)


def _compare_floats(b: Builder, op: Operation, name: str, x: SSAValue, y: SSAValue) -> SSAValue:
    if name in _ORDERED:
        return b.add(bi.CompareOp(x, y, _ORDERED[name]))
    if name in _UNORDERED:
        return b.add(un.LogicalNotOp(b.add(bi.CompareOp(x, y, _UNORDERED[name]))))
    if name in ("false", "true"):
        raise cannot(op, f"the predicate is constant ({name})")
    if name in ("one", "ueq"):
        apart = [b.add(bi.CompareOp(x, y, p)) for p in ("lt", "gt")]
        found, positive = b.add(bi.OrOp(*apart)), name == "one"
    else:
        found = b.add(bi.OrOp(b.add(un.IsNanOp(x)), b.add(un.IsNanOp(y))))
        positive = name == "uno"
    return found if positive else b.add(un.LogicalNotOp(found))


def compare_integers(b: Builder, name: str, x: SSAValue, y: SSAValue) -> SSAValue:
    """Unsigned order is signed order with the highest bit flipped; true is 1 or, signed, -1."""
    element = element_type_of(x)
    if name in _INTEGER:
        return b.add(bi.CompareOp(x, y, name))
    if element == i1:
        x, y = b.cast(x, i32), b.cast(y, i32)
        if name[0] == "s":
            x, y = b.add(un.NegOp(x)), b.add(un.NegOp(y))
    elif name[0] == "u":
        low = b.like(x, -(2 ** (bits(element) - 1)))
        x, y = b.add(bi.XorOp(x, low)), b.add(bi.XorOp(y, low))
    return b.add(bi.CompareOp(x, y, name[1:]))


def _call(b: Builder, op: Operation, args: Sequence[SSAValue]) -> SSAValue:
    callee = str(attribute(op, "callee")).strip('@"')
    if (row := CALLS.get(callee)) is None:
        raise cannot(op, f"@{callee} is no function of C that has an op")
    return b.add(row(*args))


_FUNCTIONS: Mapping[str, Scalar] = {
    "arith.extf": _cast,
    "arith.truncf": _cast,
    "arith.fptosi": _cast,
    "arith.extsi": _signed,
    "arith.sitofp": _signed,
    "arith.extui": _unsigned,
    "arith.uitofp": _unsigned,
    "arith.trunci": _truncated,
    "arith.cmpf": _compare,
    "arith.cmpi": _compare,
    "func.call": _call,
}
