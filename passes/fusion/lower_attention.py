"""Attention -> `tk.kernel`: two products and a softmax, as sums and maxima over axes like any other."""

from __future__ import annotations

from math import inf

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import f32, i1
from xdsl.ir import Attribute, Operation, SSAValue

from tilewright.dialects.index_expr import ZERO, Expr
from tilewright.dialects.tk.compute import ReduceOp
from tilewright.dialects.tk.contraction import FACTORS
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.dialects.tw.linalg import AttentionOp
from tilewright.dialects.types import element_type_of, is_half, sizes_of

from ..rewrite import skip
from .kernel_builder import KernelBuilder

_DEEPEST = 256
"""Elements of a head that a program can hold of each of its rows."""


def attention_becomes_kernel(op: Operation) -> bool:
    """Whether `op` is attention that tiles can do: in f32, of heads that a program can hold."""
    if not isinstance(op, AttentionOp):
        return False
    element = element_type_of(op.query)
    if not (is_half(element) or element == f32):
        skip(op, f"left to a library: no matrix unit takes {element}")
        return False
    sides = (sizes_of(op.query)[2], *sizes_of(op.key)[2:], sizes_of(op.value)[3])
    if any(size.constant is not None and size.constant < 2 for size in sides):
        skip(op, "left to a library: one of its sides has no more than one element")
        return False
    if any(size.constant is None or size.constant > _DEEPEST for size in sides[2:]):
        skip(op, f"left to a library: heads are symbolic or have more than {_DEEPEST} elements")
        return False
    return True


def lower_attention(op: Operation) -> KernelOp:
    """Axes: batch, head, row, column of the result, key, depth."""
    assert isinstance(op, AttentionOp)
    sizes, columns = sizes_of(op.query), sizes_of(op.value)[3]
    space = (*sizes[:3], columns, sizes_of(op.key)[2], sizes[3])
    b = KernelBuilder(op.location, space, op.operands, op.result_types)
    batch, head, row, column, key, depth = b.axes
    factors = element_type_of(op.query)
    heads, shared = sizes[1], sizes_of(op.key)[1]
    group = head if heads == shared else head // (heads // shared)
    q, k = b.load(0, (batch, head, row, depth)), b.load(1, (batch, group, key, depth))
    scores = _sum(b, b.op(arith.MulfOp, q, k), 5, factors)
    scores = b.op(arith.MulfOp, scores, b.constant(op.scale.value.data, f32))
    scores = _masked(b, op, scores)
    top = b.add(ReduceOp.make("max", scores, (4,))).results[0]
    nothing = b.compare_float("oeq", top, b.constant(-inf, f32))
    top = b.select(nothing, b.constant(0.0, f32), top)
    weights = b.op(math.ExpOp, b.op(arith.SubfOp, scores, top))
    total = _sum(b, weights, 4)
    product = b.op(arith.MulfOp, weights, b.load(2, (batch, group, key, column)))
    found = _sum(b, product, 4, factors)
    empty = b.compare_float("oeq", total, b.constant(0.0, f32))
    b.store(
        b.op(arith.DivfOp, found, b.select(empty, b.constant(1.0, f32), total)), (batch, head, row, column)
    )
    b.store(b.op(arith.AddfOp, b.op(math.LogOp, total), top), (batch, head, row), 1)
    return b.kernel


def _sum(b: KernelBuilder, value: SSAValue, axis: int, factors: Attribute = f32) -> SSAValue:
    reduce = ReduceOp.make("add", value, (axis,))
    if is_half(factors):
        reduce.attributes[FACTORS] = factors
    return b.add(reduce).results[0]


def _masked(b: KernelBuilder, op: AttentionOp, scores: SSAValue) -> SSAValue:
    batch, head, row, _, key, _ = b.axes
    hidden = b.constant(-inf, f32)
    if op.mask is not None:
        places = (batch, head, row, key)[-len(sizes_of(op.mask)) :]
        shape = zip(sizes_of(op.mask), places, strict=True)
        subscripts: list[Expr] = [ZERO if size.constant == 1 else place for size, place in shape]
        mask = b.load(3, subscripts)
        scores = b.select(mask, scores, hidden) if mask.type == i1 else b.op(arith.AddfOp, scores, mask)
    if op.is_causal is not None:
        scores = b.select(b.compare_int("sle", b.index(key), b.index(row)), scores, hidden)
    return scores
