"""Ops on tiles as Triton calls."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import f32, i1, i8

from tilewright.dialects.tk.interleave import InterleaveOp
from tilewright.dialects.tk.scope import shape_of_lanes
from tilewright.dialects.tk.share import ShareOp
from tilewright.dialects.tk.sort import ArrangeOp
from tilewright.dialects.tk.tiles import CollapseOp, CumulateOp, MmaOp
from tilewright.dialects.tk.transpose import TransposeOp
from tilewright.dialects.types import bytes_of, element_type, is_float, is_float8

from .sort_helpers import helpers_of_sort
from .spelling import bare
from .writer import Writer

_FLOATS: Mapping[str, str] = {
    "mul": "_multiply",
    "max": "_maximum",
    "min": "_minimum",
    "logaddexp": "_log_add_exp",
}
"""How floats combine, where Triton has no reduction that means it (its `tl.max` drops NaN)."""
_INTEGERS: Mapping[str, str] = {"mul": "_multiply", "and": "_and", "or": "_or"}
_NAMED: Mapping[str, str] = {"add": "tl.sum", "max": "tl.max", "min": "tl.min"}


def tile_text(w: Writer, op: CollapseOp | CumulateOp | MmaOp | ShareOp | TransposeOp | InterleaveOp) -> str:
    """The value of an op on tiles that has one result."""
    match op:
        case CollapseOp():
            return _collapse(w, op)
        case CumulateOp():
            return _cumulate(w, op)
        case MmaOp():
            return _mma(w, op)
        case TransposeOp():
            return f"tl.trans({bare(w.whole(op.value))})"
        case InterleaveOp():
            return f"tl.interleave({bare(w.whole(op.even))}, {bare(w.whole(op.odd))})"
        case ShareOp():
            w.helpers.add("_shared")
            return f"_shared({bare(w.whole(op.value))})"


def _collapse(w: Writer, op: CollapseOp) -> str:
    """One call per dimension, the last one first."""
    shape = shape_of_lanes(op.value.type)
    text, kind = w.whole(op.value), op.kind.data
    bits = element_type(op.value.type) == i1
    if bits:
        text, kind = f"{text}.to(tl.int32)", {"and": "min", "or": "max"}.get(kind, kind)
    scalar = not shape_of_lanes(op.result.type)
    for dim in reversed(range(len(shape)) if scalar else op.over):
        text = _along(w, text, kind, dim, floats=is_float(element_type(op.value.type)), keep=not scalar)
    return f"{text} != 0" if bits else text


def _along(w: Writer, text: str, kind: str, dim: int, *, floats: bool, keep: bool) -> str:
    kept = ", keep_dims=True" if keep else ""
    helper = (_FLOATS if floats else _INTEGERS).get(kind)
    if helper is None:
        return f"{_NAMED[kind]}({bare(text)}, {dim}{kept})"
    w.helpers.add(helper)
    return f"tl.reduce({bare(text)}, {dim}, {helper}{kept})"


def _cumulate(w: Writer, op: CumulateOp) -> str:
    text, dim = bare(w.whole(op.value)), op.dim.value.data
    if op.kind.data == "add":
        return f"tl.cumsum({text}, {dim})"
    if op.factor is not None:
        w.helpers.add("_linear")
        return f"tl.associative_scan(({bare(w.whole(op.factor))}, {text}), {dim}, _linear)[1]"
    helper = _FLOATS[op.kind.data]
    w.helpers.add(helper)
    return f"tl.associative_scan({text}, {dim}, {helper})"


def arrange(w: Writer, op: ArrangeOp) -> tuple[str, str]:
    """A call that gives values and positions, and how each of these is turned back, `{0}` where it is not.

    The helpers sort along the last dimension.
    """
    shape, dim = shape_of_lanes(op.value.type), op.dim.value.data
    element = element_type(op.value.type)
    name, *others = helpers_of_sort(8 * bytes_of(element), floats=is_float(element))
    w.helpers.update((name, *others))
    order = [i for i in range(len(shape)) if i != dim] + [dim]
    back = [order.index(i) for i in range(len(shape))]
    turned = order != back or order != sorted(order)
    text = w.whole(op.value)
    if turned:
        text = f"tl.permute({text}, {order})"
    call = f"{name}({text}, {op.descending is not None}, {shape[dim].bit_length() - 1})"
    return call, f"tl.permute({{0}}, {back})" if turned else "{0}"


def _mma(w: Writer, op: MmaOp) -> str:
    """The precision concerns f32 factors; sums of 8-bit floats are f32 beyond one step if told so.

    Before 3.8 or so, Triton takes sums for f32 unless told otherwise.
    """
    acc, lhs, rhs = (bare(w.whole(value)) for value in (op.acc, op.lhs, op.rhs))
    element, more = element_type(op.lhs.type), ""
    if element == f32:
        more = f', input_precision="{op.precision.data}"'
    elif element == i8:
        more = ", out_dtype=tl.int32"
    elif is_float8(element):
        more = f", max_num_imprecise_acc={shape_of_lanes(op.lhs.type)[1]}"
    return f"tl.dot({lhs}, {rhs}, {acc}{more})"
