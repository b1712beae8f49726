"""StableHLO ops -> `tw`: a row per op of the same meaning, a function where a row is not enough."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from xdsl.dialects.builtin import IntegerAttr, i1
from xdsl.ir import Attribute, Operation, SSAValue

from tilewright.dialects.index_expr import ONE, Expr, as_expr, product
from tilewright.dialects.tw import creation, reduction, view
from tilewright.dialects.tw import elementwise as un
from tilewright.dialects.tw import elementwise_binary as bi
from tilewright.dialects.tw.linalg import MatmulOp
from tilewright.dialects.types import element_type_of, is_float, sizes_of

from .builder import (
    Builder,
    attribute,
    integers,
    is_unsigned,
    known_element,
    required,
    shape_of,
    static_sizes,
)
from .errors import cannot, name_of
from .stablehlo_gather import read_dynamic_slice, read_gather

Read = Callable[[Builder, Operation, Sequence[SSAValue]], SSAValue]

ROWS: Mapping[str, type[Operation]] = {
    "abs": un.AbsOp,
    "atan2": bi.Atan2Op,
    "ceil": un.CeilOp,
    "cosine": un.CosOp,
    "exponential": un.ExpOp,
    "exponential_minus_one": un.Expm1Op,
    "floor": un.FloorOp,
    "log": un.LogOp,
    "log_plus_one": un.Log1pOp,
    "logistic": un.SigmoidOp,
    "maximum": bi.MaximumOp,
    "minimum": bi.MinimumOp,
    "negate": un.NegOp,
    "not": un.BitwiseNotOp,
    "and": bi.AndOp,
    "or": bi.OrOp,
    "xor": bi.XorOp,
    "power": bi.PowOp,
    "remainder": bi.FmodOp,
    "round_nearest_even": un.RoundOp,
    "rsqrt": un.RsqrtOp,
    "shift_left": bi.ShiftLeftOp,
    "sine": un.SinOp,
    "sqrt": un.SqrtOp,
    "subtract": bi.SubOp,
    "tan": un.TanOp,
    "tanh": un.TanhOp,
}


def _row(b: Builder, op: Operation, args: Sequence[SSAValue]) -> SSAValue:
    b.same_sizes(args)
    return b.add(ROWS[_short(op)](*args))


def _short(op: Operation) -> str:
    return name_of(op).removeprefix("stablehlo.")


def _logical(plain: type[Operation], on_truth: type[Operation]) -> Read:
    def read(b: Builder, op: Operation, args: Sequence[SSAValue]) -> SSAValue:
        b.same_sizes(args)
        return b.add((on_truth if element_type_of(args[0]) == i1 else plain)(*args))

    return read


def _divide(b: Builder, op: Operation, args: Sequence[SSAValue]) -> SSAValue:
    b.same_sizes(args)
    return b.add((bi.DivOp if is_float(element_type_of(args[0])) else bi.TruncDivOp)(*args))


def _sign(b: Builder, op: Operation, args: Sequence[SSAValue]) -> SSAValue:
    """NaN and zeros of both signs stay what they are."""
    (x,) = args
    sign = b.add(un.SignOp(x))
    if not is_float(element_type_of(x)):
        return sign
    itself = b.add(bi.OrOp(b.add(un.IsNanOp(x)), b.add(bi.CompareOp(x, b.like(x, 0), "eq"))))
    return b.add(bi.SelectOp(itself, x, sign))


def _is_finite(b: Builder, op: Operation, args: Sequence[SSAValue]) -> SSAValue:
    strange = b.add(bi.OrOp(b.add(un.IsNanOp(args[0])), b.add(un.IsInfOp(args[0]))))
    return b.add(un.LogicalNotOp(strange))


def _shift_right(b: Builder, op: Operation, args: Sequence[SSAValue]) -> SSAValue:
    logical = _short(op) == "shift_right_logical"
    if logical != is_unsigned(element_type_of(args[0])):
        raise cannot(op, f"{element_type_of(args[0])} is shifted in the other way by tw.shift_right")
    b.same_sizes(args)
    return b.add(bi.ShiftRightOp(*args))


def _compare(b: Builder, op: Operation, args: Sequence[SSAValue]) -> SSAValue:
    if "TOTALORDER" in str(attribute(op, "compare_type")):
        raise cannot(op, "a total order of floats has no op")
    found = re.search(r"\b(EQ|NE|LT|LE|GT|GE)\b", str(attribute(op, "comparison_direction")))
    assert found is not None
    b.same_sizes(args)
    return b.add(bi.CompareOp(args[0], args[1], found[1].lower()))


def _select(b: Builder, op: Operation, args: Sequence[SSAValue]) -> SSAValue:
    condition = b.broadcast(args[0], sizes_of(args[1]), range(len(sizes_of(args[0]))))
    b.same_sizes(args[1:])
    return b.add(bi.SelectOp(condition, *args[1:]))


def _clamp(b: Builder, op: Operation, args: Sequence[SSAValue]) -> SSAValue:
    low, x, high = (b.broadcast(v, sizes_of(args[1]), range(len(sizes_of(v)))) for v in args)
    return b.add(bi.MinimumOp(b.add(bi.MaximumOp(low, x)), high))


def _convert(b: Builder, op: Operation, args: Sequence[SSAValue]) -> SSAValue:
    return b.cast(args[0], known_element(op, op.results[0].type))


# Shapes


def _ints(op: Operation, name: str) -> list[int]:
    return integers(required(op, name))


def _number(op: Operation, name: str) -> int:
    attr = attribute(op, name)
    assert isinstance(attr, IntegerAttr)
    return attr.value.data


def _result_sizes(op: Operation) -> list[Expr]:
    type_: Attribute = op.results[0].type
    if any(n < 0 for n in shape_of(type_)):
        raise cannot(op, "a size of its result is not in its type")
    return static_sizes(type_)


def _constant(b: Builder, op: Operation, args: Sequence[SSAValue]) -> SSAValue:
    return b.constant(op, required(op, "value"))


def _iota(b: Builder, op: Operation, args: Sequence[SSAValue]) -> SSAValue:
    element = known_element(op, op.results[0].type)
    return b.add(creation.IotaOp(element, _result_sizes(op), _number(op, "iota_dimension")))


def _broadcast(b: Builder, op: Operation, args: Sequence[SSAValue]) -> SSAValue:
    dims = _ints(op, "broadcast_dimensions")
    order = sorted(range(len(dims)), key=lambda i: dims[i])
    return b.broadcast(b.transpose(args[0], order), _result_sizes(op), sorted(dims))


def _reshape(b: Builder, op: Operation, args: Sequence[SSAValue]) -> SSAValue:
    return b.reshape(args[0], _result_sizes(op))


def _transpose(b: Builder, op: Operation, args: Sequence[SSAValue]) -> SSAValue:
    return b.transpose(args[0], _ints(op, "permutation"))


def _slice(b: Builder, op: Operation, args: Sequence[SSAValue]) -> SSAValue:
    starts, steps = _ints(op, "start_indices"), _ints(op, "strides")
    return b.add(view.SliceOp(args[0], starts, _result_sizes(op), steps))


def _reverse(b: Builder, op: Operation, args: Sequence[SSAValue]) -> SSAValue:
    return b.add(view.ReverseOp(args[0], _ints(op, "dimensions")))


def _concatenate(b: Builder, op: Operation, args: Sequence[SSAValue]) -> SSAValue:
    return b.add(view.ConcatOp(args, _number(op, "dimension")))


def _pad(b: Builder, op: Operation, args: Sequence[SSAValue]) -> SSAValue:
    low, high = _ints(op, "edge_padding_low"), _ints(op, "edge_padding_high")
    if any(_ints(op, "interior_padding")) or args[1] not in b.splats:
        raise cannot(op, "it pads between elements, or with a value that is no constant")
    cut = [(max(-a, 0), max(-z, 0)) for a, z in zip(low, high, strict=True)]
    x = args[0]
    if any(a or z for a, z in cut):
        kept = [n - a - z for n, (a, z) in zip(sizes_of(x), cut, strict=True)]
        x = b.add(view.SliceOp(x, [a for a, _ in cut], kept))
    low, high = [max(n, 0) for n in low], [max(n, 0) for n in high]
    return b.add(view.PadOp(x, low, high, b.splats[args[1]])) if any([*low, *high]) else x


# Reductions and products

Reduce = Callable[[SSAValue, Sequence[int]], Operation]
Combine = Callable[[SSAValue, SSAValue], Operation]
_REDUCE: Mapping[str, tuple[Reduce, Combine]] = {
    "add": (reduction.SumOp, bi.AddOp),
    "multiply": (reduction.ProdOp, bi.MulOp),
    "maximum": (reduction.MaxOp, bi.MaximumOp),
    "minimum": (reduction.MinOp, bi.MinimumOp),
    "or": (reduction.AnyOp, bi.OrOp),
    "and": (reduction.AllOp, bi.AndOp),
}


def _reduce(b: Builder, op: Operation, args: Sequence[SSAValue]) -> SSAValue:
    """One input; its body is one op on the two scalars."""
    ops = list(op.regions[0].block.ops)
    name = _short(ops[0])
    scalars = {*op.regions[0].block.args}
    if len(args) != 2 or len(ops) != 2 or name not in _REDUCE or {*ops[0].operands} != scalars:
        raise cannot(op, f"its body is not one of {', '.join(_REDUCE)} on its two arguments")
    element = element_type_of(args[0])
    if name == "add" and element == i1:
        name = "or"
    elif name == "multiply" and element == i1:
        name = "and"
    if (name in ("or", "and")) != (element == i1) and name not in ("maximum", "minimum"):
        raise cannot(op, f"a reduction of {element} by {name} is not known")
    reduce, combine = _REDUCE[name]
    found = b.add(reduce(args[0], sorted(_ints(op, "dimensions"))))
    if args[1] in b.splats and b.splats[args[1]] == _start(name, element):
        return found
    return b.add(combine(b.broadcast(args[1], sizes_of(found), ()), found))


def _start(name: str, element: Attribute) -> float | int | None:
    """What changes no other value; None where only the type's bound would do and is compared as such."""
    known = {"add": 0, "or": 0, "multiply": 1, "and": 1}
    if name in known:
        return known[name]
    return float("-inf" if name == "maximum" else "inf") if is_float(element) else None


_LISTS = re.compile(r"(\w+) = \[([\d, ]*)\]")


def _dot_general(b: Builder, op: Operation, args: Sequence[SSAValue]) -> SSAValue:
    lists = {
        k: [int(n) for n in v.split(",") if n.strip()]
        for k, v in _LISTS.findall(str(attribute(op, "dot_dimension_numbers")))
    }
    names = ("batching_dimensions", "contracting_dimensions")
    left, right = ([lists.get(f"{side}_{name}", []) for name in names] for side in ("lhs", "rhs"))
    return _product(b, op, args, left, right)


def _dot(b: Builder, op: Operation, args: Sequence[SSAValue]) -> SSAValue:
    rank = len(sizes_of(args[0]))
    return _product(b, op, args, [[], [rank - 1]], [[], [0]])


def _product(
    b: Builder, op: Operation, args: Sequence[SSAValue], left: Sequence[list[int]], right: Sequence[list[int]]
) -> SSAValue:
    """Batches, then what is left of lhs, then of rhs."""
    lhs, rhs = args
    target = known_element(op, op.results[0].type)
    (batch, summed), (rhs_batch, rhs_summed) = left, right
    rows = [d for d in range(len(sizes_of(lhs))) if d not in (*batch, *summed)]
    columns = [d for d in range(len(sizes_of(rhs))) if d not in (*rhs_batch, *rhs_summed)]
    a, c = sizes_of(lhs), sizes_of(rhs)

    def flat(value: SSAValue, order: Sequence[Sequence[int]]) -> SSAValue:
        sizes = sizes_of(value)
        moved = b.transpose(value, [d for group in order for d in group])
        shape = [sizes[d] for d in order[0]] + [product(sizes[d] for d in group) for group in order[1:]]
        return b.reshape(b.cast(moved, target), shape or [ONE])

    found = b.add(MatmulOp(flat(lhs, (batch, rows, summed)), flat(rhs, (rhs_batch, rhs_summed, columns))))
    shape = [*(a[d] for d in batch), *(a[d] for d in rows), *(c[d] for d in columns)]
    return b.reshape(found, [as_expr(n) for n in shape])


STABLEHLO: Mapping[str, Read] = {
    f"stablehlo.{name}": read
    for name, read in {
        **dict.fromkeys(ROWS, _row),
        "add": _logical(bi.AddOp, bi.OrOp),
        "multiply": _logical(bi.MulOp, bi.AndOp),
        "divide": _divide,
        "sign": _sign,
        "is_finite": _is_finite,
        "shift_right_arithmetic": _shift_right,
        "shift_right_logical": _shift_right,
        "compare": _compare,
        "select": _select,
        "clamp": _clamp,
        "convert": _convert,
        "constant": _constant,
        "iota": _iota,
        "broadcast_in_dim": _broadcast,
        "reshape": _reshape,
        "transpose": _transpose,
        "slice": _slice,
        "reverse": _reverse,
        "concatenate": _concatenate,
        "pad": _pad,
        "reduce": _reduce,
        "dynamic_slice": read_dynamic_slice,
        "gather": read_gather,
        "dot_general": _dot_general,
        "dot": _dot,
    }.items()
}
