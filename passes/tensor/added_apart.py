"""Sums of halves in f32, in a buffer with a place for each position, not for each element of the target."""

from __future__ import annotations

from xdsl.dialects.builtin import f32, i64
from xdsl.ir import SSAValue

from tilewright.dialects.attribute_facts import ints
from tilewright.dialects.index_expr import Expr, product
from tilewright.dialects.tw.creation import FullOp, IotaOp
from tilewright.dialects.tw.elementwise_binary import AddOp, CastOp
from tilewright.dialects.tw.indexing import GatherOp, ScatterAddOp, ScatterOp
from tilewright.dialects.tw.view import ReshapeOp
from tilewright.dialects.types import element_type_of, sizes_of

from ..driver import Rewrite
from .splats import splat_of


def added_apart(op: ScatterAddOp, onto: SSAValue, rw: Rewrite) -> SSAValue:
    """What a scatter adds up, rounded and added to a target of halves."""
    dims, at, strict = list(ints(op.dims)), op.at.value.data, op.strict is not None
    target, sizes = sizes_of(onto), sizes_of(op.indices[0])
    own = range(len(dims))
    numbers = _numbers(rw, sizes)
    none = rw.value(FullOp(0, i64, [target[d] for d in dims]))
    stands = rw.value(ScatterOp(none, op.indices, numbers, own, strict=strict))
    place = rw.value(GatherOp(stands, op.indices, own, strict=strict))
    scattered = sizes_of(op.values)
    flat = (*scattered[:at], product(sizes), *scattered[at + len(sizes) :])
    zeros, values = rw.value(FullOp(0.0, f32, flat)), wide(op.values, rw)
    sums = rw.value(ScatterAddOp(zeros, [place], values, [at], at, strict=True))
    found = rw.value(GatherOp(sums, [place], [at], at, strict=True))
    if splat_of(onto) != 0:
        old = rw.value(GatherOp(onto, op.indices, dims, at, strict=strict))
        found = rw.value(AddOp(rw.value(CastOp(old, f32)), found))
    rounded = rw.value(CastOp(found, element_type_of(onto)))
    return rw.value(ScatterOp(onto, op.indices, rounded, dims, at, strict=strict))


def wide(value: SSAValue, rw: Rewrite) -> SSAValue:
    """As f32."""
    if element_type_of(value) == f32:
        return value
    constant = splat_of(value)
    return rw.value(CastOp(value, f32) if constant is None else FullOp(constant, f32, sizes_of(value)))


def _numbers(rw: Rewrite, sizes: tuple[Expr, ...]) -> SSAValue:
    """0, 1, 2, ... of this shape."""
    count = rw.value(IotaOp(i64, [product(sizes)]))
    return count if len(sizes) == 1 else rw.value(ReshapeOp(count, sizes))
