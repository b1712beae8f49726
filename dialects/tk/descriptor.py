"""Tensor descriptors: blocks of memory that a GPU's copy engine brings by itself, told where a tensor lies.

A load with `{tk.descriptor}` is one of them:

    %a = tk.load %x[d0*768 + d2] lanes 0, 2 {tk.descriptor} : memref<98304xbf16> -> vector<128x64xbf16>

It means what it means without the attribute; `describe` says what the engine has to know.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import Operation

from ..index_expr import ZERO, Expr, Var, dim, is_nonnegative
from ..types import bytes_of, element_type, is_float
from .access import LoadOp
from .domain import axes_of_exprs
from .loops import ForOp

DESCRIPTOR = "tk.descriptor"
"""Unit attribute of a load on a tile."""

_GRAIN = 16
"""Bytes: addresses and strides are multiples of it, and a row of a block has as many at least."""
_LONGEST_SIDE = 256
"""Elements of a block along one dimension."""
_LIMIT = 2**31
"""Places along a dimension have 32 bits."""


@dataclass(frozen=True)
class Axis:
    """An axis as its loop binds it: every so manyth place below `size`."""

    size: Expr
    step: int
    """It divides each place."""
    fixed: bool
    """A program stays where it begins: the axis belongs to the grid."""


@dataclass(frozen=True)
class Side:
    """One dimension of a descriptor."""

    axis: int
    block: int
    stride: Expr
    """In elements."""
    bound: Axis

    @property
    def extent(self) -> Expr | None:
        """How far the tensor goes: from the base, which is where the block begins if the axis is fixed.

        None where that is what is left of the axis, or the block if that is less.
        """
        if not self.bound.fixed:
            return self.bound.size
        return ZERO + self.block if (self.bound.size % self.block).constant == 0 else None


@dataclass(frozen=True)
class Descriptor:
    """A tensor of two dimensions, of which one block is read."""

    base: Expr
    """Elements from the start of the buffer; the same for all of a program."""
    outer: Side
    inner: Side
    """Along it neighbours lie side by side."""
    turned: bool
    """The tile has its dimensions the other way round."""


def axes_around(op: Operation) -> dict[int, Axis]:
    """The axes that the loops around an op of a scheduled function bind."""
    found: dict[int, Axis] = {}
    parent = op.parent_op()
    while parent is not None:
        if isinstance(parent, ForOp):
            lower, upper = parent.bounds
            step = parent.step.value.data if lower.constant == 0 else 1
            found[parent.axis.value.data] = Axis(upper, step, parent.parallel is not None)
        parent = parent.parent_op()
    return found


def describe(
    op: LoadOp, lanes: Sequence[int], shape: Sequence[int], axes: Mapping[int, Axis]
) -> Descriptor | str:
    """What a descriptor says of a load on a tile of `lanes`; a text says why none can."""
    if op.mask is not None or op.dynamic:
        return "it has a mask or a gather index of its own"
    if len(shape) != 2 or min(shape) < 2:
        return "it reads no block of two dimensions"
    element = element_type(op.buffer.type)
    if not is_float(element):
        return f"its elements are {element}"
    (expr,) = op.subscripts
    sides: list[Side] = []
    for axis, block in zip(lanes, shape, strict=True):
        stride = expr.coefficient(Var("d", axis))
        if stride is None:
            return f"its steps along d{axis} are not all of one length"
        sides.append(Side(axis, block, stride, axes[axis]))
    inner = next((side for side in reversed(sides) if side.stride.constant == 1), None)
    if inner is None:
        return "no dimension has stride 1"
    outer = sides[0] if inner is sides[1] else sides[1]
    why = _sides_fit(outer, inner, bytes_of(element))
    if why is None:
        found = Descriptor(_base(expr, sides), outer, inner, turned=inner is sides[0])
        why = _base_fits(found.base, axes, bytes_of(element))
        return found if why is None else why
    return why


def _sides_fit(outer: Side, inner: Side, width: int) -> str | None:
    """Why the engine could not take blocks of these sides; None where it can."""
    if (outer.stride * width % _GRAIN).constant != 0:
        return f"rows of {outer.stride} elements are not known to be multiples of {_GRAIN} bytes"
    if not is_nonnegative(outer.stride):
        return f"rows {outer.stride} elements apart may run backwards"
    if not _covers(outer.stride, inner):
        return f"rows {outer.stride} elements apart may overlap"
    if inner.block * width < _GRAIN or max(inner.block, outer.block) > _LONGEST_SIDE:
        return f"a block of {outer.block} x {inner.block} is too narrow or too long"
    for side in (outer, inner):
        size = side.bound.size.constant
        if not side.bound.fixed and (size is None or not 0 < size < _LIMIT):
            return f"the program loops along d{side.axis}, which may have no place, or 2**31 and more"
    return None


def _covers(stride: Expr, inner: Side) -> bool:
    """Whether a row ends before the next one begins; a stride of 0 is that of an empty tensor."""
    size = inner.bound.size
    needs = [size, ZERO + inner.block] if inner.bound.fixed else [size]
    if any(is_nonnegative(stride - need) for need in needs):
        return True
    least = min((c for _, c in stride.terms), default=0)
    return any(need.constant is not None and least >= need.constant for need in needs)


def _base(expr: Expr, sides: Sequence[Side]) -> Expr:
    """The subscript where the block begins along fixed axes, and the tensor along others."""
    return expr.substitute({Var("d", side.axis): ZERO for side in sides if not side.bound.fixed})


def _base_fits(base: Expr, axes: Mapping[int, Axis], width: int) -> str | None:
    used = axes_of_exprs([base])
    moving = sorted(a for a in used if not axes[a].fixed)
    if moving:
        return f"it moves along d{moving[0]}, too, over which the program loops"
    start = base.substitute({Var("d", a): dim(a) * axes[a].step for a in used})
    if (start * width % _GRAIN).constant != 0:
        return f"a block is not known to begin at a multiple of {_GRAIN} bytes"
    return None
