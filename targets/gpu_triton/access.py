"""Loads, stores and index values of tiles: pointers, masks, and the widths of offsets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import f32, f64, i1, i8, i32
from xdsl.ir import Attribute, SSAValue

from tilewright.dialects.index_expr import ZERO, Expr, Var
from tilewright.dialects.tk.access import IndexOp, LoadOp, StoreOp
from tilewright.dialects.tk.interleave import at_elements
from tilewright.dialects.tk.lanes import axes_of_lanes, group_of
from tilewright.dialects.tk.scope import shape_of_lanes
from tilewright.dialects.types import element_type, is_float

from .errors import NoTritonLowering
from .spelling import bare, enclosed, number, shape_text
from .writer import Shape, Writer, broadcast

_LIMIT = 2**31
_FLOATS: Mapping[Attribute, int] = {f32: 32, f64: 64}
"""Floats whose bits are compared as integers of a width."""


def load(w: Writer, op: LoadOp) -> str:
    """`tl.load(a0 + ..., mask=..., other=0.0)`."""
    shape = shape_of_lanes(op.result.type)
    pointer = _pointer(w, op, shape, op.dynamic)
    mask = _mask(w, op, shape, op.mask)
    if not mask:
        return f"tl.load({pointer})"
    if op.other is not None:
        other = bare(w.names[op.other])
    else:
        other = number(0.0 if is_float(element_type(op.result.type)) else 0, _no_bit(op.result.type))
    return f"tl.load({pointer}, mask={mask}, other={other})"


def _no_bit(type_: Attribute) -> Attribute:
    element = element_type(type_)
    return i8 if element == i1 else element


def store(w: Writer, op: StoreOp) -> str:
    """`tl.store(a1 + ..., v3, mask=...)`."""
    shape = shape_of_lanes(op.value.type)
    pointer = _pointer(w, op, shape, op.dynamic)
    mask = _mask(w, op, shape, op.mask)
    value = w.whole(op.value) if op.value in w.literals else bare(w.names[op.value])
    masked = f", mask={mask}" if mask else ""
    kind = None if op.combine is None else op.combine.data
    if kind in ("max", "min") and (width := _FLOATS.get(element_type(op.value.type))):
        name, all_lanes = f"_atomic_{kind}_{width}", f"tl.full({shape_text(shape)}, True, tl.int1)"
        w.helpers.add(name)
        return f"{name}({pointer}, {bare(w.whole(op.value))}, {mask or all_lanes})"
    if kind is not None and kind != "any":
        return f'tl.atomic_{kind}({pointer}, {bare(w.whole(op.value))}{masked}, sem="relaxed")'
    return f"tl.store({pointer}, {value}{masked})"


def _pointer(w: Writer, op: LoadOp | StoreOp, shape: Shape, dynamic: Sequence[SSAValue]) -> str:
    """Buffer plus offset, of the shape of the access."""
    axes = axes_of_lanes(op)
    (expr,), bounds = op.subscripts, w.bounds
    if (group := group_of(op)) > 1:
        if not axes or group & (group - 1):
            raise NoTritonLowering(op, reason="groups are of lanes, each of which has 2, 4, ... neighbours")
        expr = at_elements(expr, axes[-1], group)
        bounds = w.bounds.lengthened(axes[-1], group)
    names = w.lanes(axes, shape, group)
    names |= {Var("i", n): offset(w, value) for n, value in enumerate(dynamic)}
    text, buffer = w.text(expr, names, bounds), w.names[op.buffer]
    used = [w.shape(v) for n, v in enumerate(dynamic) if expr.uses(Var("i", n))]
    got = broadcast([_shape_of(expr, axes, shape), *used])
    if got != shape:
        text = f"{text} + tl.zeros({shape_text(shape)}, {_offset_type(w)})"
    return buffer if text == "0" else f"{buffer} + {enclosed(text)}"


def _shape_of(expr: Expr, axes: Sequence[int], shape: Shape) -> Shape:
    """The shape of an expression of the coordinates of a tile."""
    used = tuple(n if n > 1 and expr.uses(Var("d", a)) else 1 for a, n in zip(axes, shape, strict=True))
    return used if any(n > 1 for n in used) else ()


def _offset_type(w: Writer) -> str:
    return "tl.int64" if w.wide else "tl.int32"


def offset(w: Writer, value: SSAValue) -> str:
    """A gather index, which is i64, as wide as offsets are."""
    return w.names[value] if w.wide or value in w.literals else f"{w.names[value]}.to(tl.int32)"


def _mask(w: Writer, op: LoadOp | StoreOp, shape: Shape, mask: SSAValue | None) -> str:
    parts = [text for text, _ in w.active(axes_of_lanes(op), shape, group_of(op))]
    if mask is not None:
        parts.append(w.whole(mask) if mask in w.literals else w.names[mask])
    return " & ".join(parts) if len(parts) > 1 else "".join(map(bare, parts))


def active(w: Writer, axes: Sequence[int], shape: Shape) -> tuple[str, Shape]:
    """The mask of a tile, and the shape that its text has."""
    parts = w.active(axes, shape)
    return " & ".join(text for text, _ in parts), broadcast([part for _, part in parts])


def index(w: Writer, op: IndexOp) -> tuple[str, Shape]:
    """The value of an expression, computed in 64 bits where 32 might not do."""
    axes, shape = axes_of_lanes(op), shape_of_lanes(op.result.type)
    type_ = "tl.int32" if element_type(op.result.type) == i32 else "tl.int64"
    names = w.lanes(axes, shape)
    got = _shape_of(op.expr, axes, shape)
    expr = op.expr.substitute({axis: ZERO for axis in w.zeros if axis not in names})
    if expr.constant is not None:
        return f"tl.full([], {expr.constant}, {type_})", ()
    if w.wide or _fits(w, op.expr):
        text = w.text(expr, names)
        return text if not w.wide and type_ == "tl.int32" else f"{enclosed(text)}.to({type_})", got
    spelled = {**w.axes, **names}
    cast = {v: f"{spelled[v]}.to(tl.int64)" for v in sorted(expr.variables(), key=str)}
    near = _of_axes(expr)
    if near.variables() and near != expr and _fits(w, near):
        text = f"{enclosed(w.text(near, names))}.to(tl.int64) + {w.text(expr - near, names | cast)}"
    else:
        text = w.text(expr, names | cast)
    return text if type_ == "tl.int64" else f"{enclosed(text)}.to({type_})", got


def _of_axes(expr: Expr) -> Expr:
    """The terms without symbols, of which nobody knows how large they are."""
    terms = [Expr((term,)) for term in expr.terms]
    return sum((t for t in terms if all(v.kind == "d" for v in t.variables())), ZERO)


def _fits(w: Writer, expr: Expr) -> bool:
    """Whether the value, and what it is made of, has 32 bits: what is added up and what is subtracted."""
    plus = Expr(tuple((monomial, c) for monomial, c in expr.terms if c > 0))
    uppers = [w.bounds.upper(part) for part in (plus, plus - expr) if w.bounds.is_nonnegative(part)]
    limits = [None if upper is None else upper.constant for upper in uppers]
    return len(limits) == 2 and all(n is not None and n < _LIMIT - 2**16 for n in limits)
