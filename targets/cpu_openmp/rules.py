"""Scalar and vector ops as C++ expressions: a row per op, a function where a row is not enough.

`{0}`, `{1}` are the operands, `{t}` the C++ type of the result. One row serves scalars
and vectors: the prelude's functions are templates, and C++ operators work on both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from xdsl.dialects import arith, math, vector
from xdsl.dialects.builtin import BFloat16Type, Float16Type, IntegerType, StringAttr, VectorType, f64, i64
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from tilewright.dialects.scalars import predicate_of
from tilewright.dialects.tk.access import LoadOp
from tilewright.dialects.tk.arith import may_contract
from tilewright.dialects.tk.calls import CallOp
from tilewright.dialects.tk.compute import RandomOp
from tilewright.dialects.tk.dot import DotOp
from tilewright.dialects.types import element_type

from ..native.cpp import is_vector, value_type
from ..native.text import FLOAT_COMPARISONS, INTEGER_COMPARISONS
from .errors import NoCppLowering

ROWS: Mapping[type[Operation], str] = {
    arith.MulfOp: "{0} * {1}",
    arith.DivfOp: "{0} / {1}",
    arith.NegfOp: "-{0}",
    arith.MaximumfOp: "tw::maximum({0}, {1})",
    arith.MinimumfOp: "tw::minimum({0}, {1})",
    arith.MaxnumfOp: "tw::max_number({0}, {1})",
    arith.MinnumfOp: "tw::min_number({0}, {1})",
    arith.AddiOp: "{0} + {1}",
    arith.SubiOp: "{0} - {1}",
    arith.MuliOp: "{0} * {1}",
    arith.DivSIOp: "tw::quotient({0}, {1})",
    arith.RemSIOp: "tw::rest({0}, {1})",
    arith.DivUIOp: "tw::bits<{t}>(tw::as_unsigned({0}) / tw::as_unsigned({1}))",
    arith.RemUIOp: "tw::bits<{t}>(tw::as_unsigned({0}) % tw::as_unsigned({1}))",
    arith.FloorDivSIOp: "tw::floor_div({0}, {1})",
    arith.CeilDivSIOp: "-tw::floor_div(-{0}, {1})",
    arith.MaxSIOp: "tw::max_of({0}, {1})",
    arith.MinSIOp: "tw::min_of({0}, {1})",
    arith.MaxUIOp: "tw::bits<{t}>(tw::max_of(tw::as_unsigned({0}), tw::as_unsigned({1})))",
    arith.MinUIOp: "tw::bits<{t}>(tw::min_of(tw::as_unsigned({0}), tw::as_unsigned({1})))",
    arith.AndIOp: "{0} & {1}",
    arith.OrIOp: "{0} | {1}",
    arith.XOrIOp: "{0} ^ {1}",
    arith.ShLIOp: "{0} << {1}",
    arith.ShRSIOp: "{0} >> {1}",
    arith.ShRUIOp: "tw::bits<{t}>(tw::as_unsigned({0}) >> tw::as_unsigned({1}))",
    arith.SelectOp: "tw::select({0}, {1}, {2})",
    arith.BitcastOp: "tw::bits<{t}>({0})",
    arith.IndexCastOp: "tw::convert<{t}>({0})",
    math.AbsFOp: "tw::abs({0})",
    math.AbsIOp: "tw::abs({0})",
    math.AcosOp: "tw::acos({0})",
    math.AcoshOp: "tw::acosh({0})",
    math.AsinOp: "tw::asin({0})",
    math.AsinhOp: "tw::asinh({0})",
    math.Atan2Op: "tw::atan2({0}, {1})",
    math.AtanOp: "tw::atan({0})",
    math.AtanhOp: "tw::atanh({0})",
    math.CbrtOp: "tw::cbrt({0})",
    math.CeilOp: "tw::ceil({0})",
    math.CopySignOp: "tw::copysign({0}, {1})",
    math.CosOp: "tw::cos({0})",
    math.CoshOp: "tw::cosh({0})",
    math.ErfOp: "tw::erf({0})",
    math.Exp2Op: "tw::exp2({0})",
    math.ExpM1Op: "tw::expm1({0})",
    math.ExpOp: "tw::exp({0})",
    math.FloorOp: "tw::floor({0})",
    math.FmaOp: "tw::fma({0}, {1}, {2})",
    math.IPowIOp: "tw::int_pow({0}, {1})",
    math.Log10Op: "tw::log10({0})",
    math.Log1pOp: "tw::log1p({0})",
    math.Log2Op: "tw::log2({0})",
    math.LogOp: "tw::log({0})",
    math.PowFOp: "tw::pow({0}, {1})",
    math.RoundEvenOp: "tw::round_even({0})",
    math.RoundOp: "tw::round_away({0})",
    math.RsqrtOp: "tw::rsqrt({0})",
    math.SinOp: "tw::sin({0})",
    math.SinhOp: "tw::sinh({0})",
    math.SqrtOp: "tw::sqrt({0})",
    math.TanOp: "tw::tan({0})",
    math.TanhOp: "tw::tanh({0})",
    math.TruncOp: "tw::trunc({0})",
    vector.FMAOp: "tw::fma({0}, {1}, {2})",
    RandomOp: "tw::uniform({0}, {1})",
}

Rule = Callable[[Operation, Sequence[str], str], str]


def _is_i1(type_: Attribute) -> bool:
    return element_type(type_) == IntegerType(1)


# Comparison


_WIDE = (f64, i64)
_OR_NAN: Mapping[str, str] = {
    "ueq": "!(({0} < {1}) | ({0} > {1}))",
    "ugt": "!({0} <= {1})",
    "uge": "!({0} < {1})",
    "ult": "!({0} >= {1})",
    "ule": "!({0} > {1})",
}
"""One comparison instead of three."""


def _compared(op: Operation, row: str, args: Sequence[str]) -> str:
    """A comparison as a mask; of 64-bit lanes, which may take several registers, by a function."""
    type_: Attribute = op.operands[0].type
    if is_vector(type_) and element_type(type_) in _WIDE:
        return f"tw::compared({', '.join(args)}, [](auto a, auto b) {{ return {row.format('a', 'b')}; }})"
    return f"tw::mask({row.format(*args)})"


def _compare_floats(op: Operation, args: Sequence[str], type_: str) -> str:
    row = _OR_NAN.get(predicate := predicate_of(op), FLOAT_COMPARISONS[predicate])
    if isinstance(row, bool):
        return str(row).lower() if type_ == "bool" else f"tw::splat<{type_}>({-int(row)})"
    return _compared(op, row, args)


def _compare_integers(op: Operation, args: Sequence[str], type_: str) -> str:
    predicate = predicate_of(op)
    lhs, rhs = args
    if predicate[0] == "u":
        lhs, rhs = f"tw::as_unsigned({lhs})", f"tw::as_unsigned({rhs})"
    elif predicate[0] == "s" and op.operands[0].type == IntegerType(1):
        lhs, rhs = f"-(int){lhs}", f"-(int){rhs}"  # a signed i1 is 0 or -1
    return _compared(op, f"{{0}} {INTEGER_COMPARISONS[predicate]} {{1}}", (lhs, rhs))


# Conversion


def _extend_float(op: Operation, args: Sequence[str], type_: str) -> str:
    source = element_type(op.operands[0].type)
    text = args[0]
    if isinstance(source, BFloat16Type):
        text = f"tw::from_bf16({text})"
    elif isinstance(source, Float16Type):
        text = f"tw::from_f16({text})"
    return text if type_.startswith("f32") else f"tw::convert<{type_}>({text})"


def _truncate_float(op: Operation, args: Sequence[str], type_: str) -> str:
    target = element_type(op.results[0].type)
    if not isinstance(target, BFloat16Type | Float16Type):
        return f"tw::convert<{type_}>({args[0]})"
    text = args[0]
    if str(element_type(op.operands[0].type)) == "f64":  # ATen, too, goes through f32
        text = f"tw::convert<tw::like<{value_type(op.operands[0].type)}, f32>>({text})"
    return f"tw::to_bf16({text})" if isinstance(target, BFloat16Type) else f"tw::to_f16({text})"


def _extend_unsigned(op: Operation, args: Sequence[str], type_: str) -> str:
    source = op.operands[0].type
    if _is_i1(source):
        text = f"({args[0]} & 1)" if isinstance(source, VectorType) else args[0]
        return f"tw::convert<{type_}>({text})"
    return f"tw::convert<{type_}>(tw::as_unsigned({args[0]}))"


def _extend_signed(op: Operation, args: Sequence[str], type_: str) -> str:
    source = op.operands[0].type
    if source == IntegerType(1):
        return f"-({type_}){args[0]}"
    return f"tw::convert<{type_}>({args[0]})"  # a mask has lanes of 0 and -1 already


def _truncate_integer(op: Operation, args: Sequence[str], type_: str) -> str:
    if not _is_i1(op.results[0].type):
        return f"tw::convert<{type_}>({args[0]})"
    return f"tw::mask(({args[0]} & 1) != 0)"


def _float_to_integer(op: Operation, args: Sequence[str], type_: str) -> str:
    return f"tw::convert<{type_}>({args[0]})"


def _float_to_unsigned(op: Operation, args: Sequence[str], type_: str) -> str:
    return f"tw::bits<{type_}>(tw::convert<decltype(tw::as_unsigned({type_}{{}}))>({args[0]}))"


# Sums


_NO_PRODUCTS = (arith.ConstantOp, arith.AddfOp, arith.SubfOp, arith.DivfOp, vector.BroadcastOp)
"""Whose results no compiler takes into a fused multiply-add; what is loaded from arguments neither."""


def _sum(op: Operation, args: Sequence[str], type_: str) -> str:
    return " + ".join(_terms(op, args))


def _difference(op: Operation, args: Sequence[str], type_: str) -> str:
    return " - ".join(_terms(op, args))


def _terms(op: Operation, args: Sequence[str]) -> Sequence[str]:
    """Rounded, unless the op may be contracted: `x * x - y * y` is 0 where `x == y`."""
    if may_contract(op):
        return args
    return [arg if _is_rounded(v) else f"tw::opaque({arg})" for v, arg in zip(op.operands, args, strict=True)]


def _is_rounded(value: SSAValue) -> bool:
    owner = value.owner
    if isinstance(owner, LoadOp):
        return isinstance(owner.buffer, BlockArgument)
    return isinstance(owner, _NO_PRODUCTS)


# Others

_REDUCTIONS: Mapping[str, str] = {
    "add": "across_add",
    "mul": "across_mul",
    "maximumf": "across_maximum",
    "minimumf": "across_minimum",
    "maxnumf": "across_max",
    "minnumf": "across_min",
    "maxsi": "across_max",
    "minsi": "across_min",
    "and": "across_and",
    "or": "across_or",
    "xor": "across_xor",
}
_REDUCE_WITH: Mapping[str, str] = {
    "add": "{0} + {1}",
    "mul": "{0} * {1}",
    "maximumf": "tw::maximum({0}, {1})",
    "minimumf": "tw::minimum({0}, {1})",
    "maxnumf": "tw::max_of({0}, {1})",
    "minnumf": "tw::min_of({0}, {1})",
    "maxsi": "tw::max_of({0}, {1})",
    "minsi": "tw::min_of({0}, {1})",
    "and": "{0} & {1}",
    "or": "{0} | {1}",
    "xor": "{0} ^ {1}",
}


def _reduction(op: Operation, args: Sequence[str], type_: str) -> str:
    assert isinstance(op, vector.ReductionOp)
    kind = op.kind.data.value if hasattr(op.kind.data, "value") else str(op.kind.data)
    if kind not in _REDUCTIONS:
        raise NoCppLowering(op, reason=f"there is no reduction of kind {kind}")
    text = f"tw::{_REDUCTIONS[kind]}({args[0]})"
    if type_ == "bool":
        text = f"({text} != 0)"
    return text if len(args) == 1 else _REDUCE_WITH[kind].format(text, args[1])


def _extract(op: Operation, args: Sequence[str], type_: str) -> str:
    assert isinstance(op, vector.ExtractOp)
    positions = op.static_position.get_values()
    if len(positions) != 1:
        raise NoCppLowering(op, reason="only vectors of rank 1 are extracted from")
    index = args[1] if len(args) > 1 else str(positions[0])
    text = f"{args[0]}[{index}]"
    if type_ == "bf16":
        return f"bf16{{{text}}}"
    return f"({text} != 0)" if type_ == "bool" else text


def _broadcast(op: Operation, args: Sequence[str], type_: str) -> str:
    source = op.operands[0].type
    if isinstance(source, VectorType):
        raise NoCppLowering(op, reason="only scalars are broadcast")
    if source == IntegerType(1):
        return f"tw::splat<{type_}>(-(i32){args[0]})"
    return f"tw::splat<{type_}>({args[0]}{'.bits' if isinstance(source, BFloat16Type) else ''})"


_CALLS = frozenset({"fmod", "erfc", "lgamma", "nextafter", "hypot"})


def _call(op: Operation, args: Sequence[str], type_: str) -> str:
    callee = op.properties["callee"]
    assert isinstance(callee, StringAttr)
    if callee.data not in _CALLS:
        raise NoCppLowering(op, reason=f"the prelude has no function {callee.data}")
    return f"tw::{callee.data}({', '.join(args)})"


def _dot(op: Operation, args: Sequence[str], type_: str) -> str:
    acc, groups, *common = args
    if len(common) == 1 and isinstance(op.operands[2].type, VectorType):
        return f"tw::dot({acc}, {groups}, {common[0]})"
    element = element_type(op.operands[1].type)
    vector_element, suffix = ("u16", ".bits") if isinstance(element, BFloat16Type) else ("f16", "")
    values = ", ".join(value + suffix for value in common)
    return f"tw::dot({acc}, {groups}, tw::vec<{vector_element}, {len(common)}>{{{values}}})"


FUNCTIONS: Mapping[str, Rule] = {
    "arith.addf": _sum,
    "arith.subf": _difference,
    "arith.cmpf": _compare_floats,
    "arith.cmpi": _compare_integers,
    "arith.extf": _extend_float,
    "arith.truncf": _truncate_float,
    "arith.extui": _extend_unsigned,
    "arith.uitofp": _extend_unsigned,
    "arith.extsi": _extend_signed,
    "arith.sitofp": _extend_signed,
    "arith.trunci": _truncate_integer,
    "arith.fptosi": _float_to_integer,
    "arith.fptoui": _float_to_unsigned,
    "vector.reduction": _reduction,
    "vector.extract": _extract,
    "vector.broadcast": _broadcast,
    CallOp.name: _call,
    DotOp.name: _dot,
}

_BY_NAME: Mapping[str, str] = {cls.name: row for cls, row in ROWS.items()}


def lower(op: Operation, args: Sequence[str]) -> str:
    """The C++ expression of a pure op with one result."""
    type_ = value_type(op.results[0].type)
    if (row := _BY_NAME.get(op.name)) is not None:
        return row.format(*args, t=type_)
    if (function := FUNCTIONS.get(op.name)) is not None:
        return function(op, args, type_)
    raise NoCppLowering(op, reason="it has no row in the table of C++ expressions")
