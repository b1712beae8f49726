"""Attention and its gradients -> `tk.kernel`: sums and maxima over axes like any other."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import f32, i1, i64
from xdsl.ir import Attribute, Operation, SSAValue

from tilewright.dialects.index_expr import ZERO, Expr, linearize, row_major_strides
from tilewright.dialects.philox import WORDS
from tilewright.dialects.tk.compute import RandomOp, ReduceOp
from tilewright.dialects.tk.contraction import FACTORS
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.dialects.tw.attention import (
    AnyAttention,
    AttentionKeyGradOp,
    AttentionOp,
    AttentionQueryGradOp,
    GradOp,
    dropout_of,
)
from tilewright.dialects.types import element_type_of, is_half, sizes_of

from ..kernels.kernel_builder import KernelBuilder
from ..rewrite import skip
from ..schedule.tiles.chain_blocks import DEEPEST, DEEPEST_GRAD
from .few_queries import Parts, parts_of
from .lowerings import Lowering

LEAST_ROWS = 16
"""Rows that fill the lanes of a CPU's vectors: of fewer, libraries make more."""


def attention_kernel(op: Operation) -> Lowering | None:
    """How `op` becomes a kernel, if it is attention that tiles can do."""
    lower = _LOWERINGS.get(type(op))
    if lower is None or not isinstance(op, AnyAttention):
        return None
    if (reason := why_library(op)) is not None:
        skip(op, reason)
        return None
    return lower


def fills_lanes(op: AttentionOp) -> bool:
    """Whether rows of queries fill the lanes of a CPU's vectors, if it is known how many there are."""
    rows = sizes_of(op.query)[2].constant
    return rows is None or rows >= LEAST_ROWS


@dataclass(frozen=True)
class Sides:
    """Sizes that decide whether tiles can do an attention, None where they are symbols."""

    rows: int | None
    keys: int | None
    depth: int | None
    width: int | None
    """Of heads: of queries and keys, and of values."""


def why_library(op: AnyAttention) -> str | None:
    """Why tiles cannot do `op`: they compute in f32, with heads that a program can hold.

    A row of queries that is alone is one of two once `split-keys` has computed it in parts.
    """
    sizes = (sizes_of(op.query)[2], *sizes_of(op.key)[2:], sizes_of(op.value)[3])
    sides = Sides(*(size.constant for size in sizes))
    if sides.rows == 1 and isinstance(op, AttentionOp):
        parts = parts_of(op)
        if isinstance(parts, Parts) and not parts.is_plain:
            sides = replace(sides, rows=2)
    return why_no_kernel(element_type_of(op.query), sides, gradient=not isinstance(op, AttentionOp))


def why_no_kernel(element: Attribute, sides: Sides, *, gradient: bool) -> str | None:
    """The same of these facts alone; `gradient` asks for that, which needs more room."""
    if not (is_half(element) or element == f32):
        return f"left to a library: no matrix unit takes {element}"
    heads = (sides.depth, sides.width)
    if any(size is not None and size < 2 for size in (sides.rows, sides.keys, *heads)):
        return "left to a library: one of its sides has no more than one element"
    deepest = DEEPEST_GRAD if gradient else DEEPEST
    if any(size is None or size > deepest for size in heads):
        return f"left to a library: heads are symbolic or have more than {deepest} elements"
    return None


@dataclass(frozen=True)
class _Places:
    """Where the axes of a kernel stand in the tensors."""

    batch: Expr
    head: Expr
    row: Expr
    key: Expr
    depth: Expr
    """Of queries and keys."""
    group: Expr
    """The head of keys and values."""


def _places(op: AnyAttention, batch: Expr, head: Expr, row: Expr, key: Expr, depth: Expr) -> _Places:
    return _Places(batch, head, row, key, depth, _of_keys(op, head, sizes_of(op.query)[1]))


def _of_keys(op: AnyAttention, head: Expr, heads: Expr) -> Expr:
    """The head of keys and values that number `head` of so many shares with others."""
    shared = sizes_of(op.key)[1]
    return head if heads == shared else head // (heads // shared)


def lower_attention(op: Operation) -> KernelOp:
    """Axes: batch, head, row, column of the result, key, depth."""
    assert isinstance(op, AttentionOp)
    sizes, columns = sizes_of(op.query), sizes_of(op.value)[3]
    space = (*sizes[:3], columns, sizes_of(op.key)[2], sizes[3])
    b = KernelBuilder(op.location, space, op.operands, op.result_types)
    batch, head, row, column, key, depth = b.axes
    at = _places(op, batch, head, row, key, depth)
    scores = _scores(b, op, at, 5, 3)
    top = b.add(ReduceOp.make("max", scores, (4,))).results[0]
    nothing = b.compare_float("oeq", top, b.constant(-inf, f32))
    top = b.select(nothing, b.constant(0.0, f32), top)
    weights = b.op(math.ExpOp, b.op(arith.SubfOp, scores, top))
    total = _sum(b, weights, (4,))
    kept = _dropped(b, op, at, weights)
    found = _product(b, op, kept, b.load(2, (batch, at.group, key, column)), 4)
    empty = b.compare_float("oeq", total, b.constant(0.0, f32))
    found = b.op(arith.DivfOp, found, b.select(empty, b.constant(1.0, f32), total))
    b.store(_raised(b, op, found), (batch, head, row, column))
    b.store(b.op(arith.AddfOp, b.op(math.LogOp, total), top), (batch, head, row), 1)
    return b.kernel


def lower_query_grad(op: Operation) -> KernelOp:
    """Axes: batch, head, row, column of the result, key, depth, columns of the values."""
    assert isinstance(op, AttentionQueryGradOp)
    sizes = sizes_of(op.query)
    space = (*sizes, sizes_of(op.key)[2], sizes[3], sizes_of(op.value)[3])
    b = KernelBuilder(op.location, space, op.operands, op.result_types)
    batch, head, row, column, key, depth, width = b.axes
    at = _places(op, batch, head, row, key, depth)
    weights = _weights(b, op, at, 5)
    inner = _inner(b, op, at, weights, width, 6)
    found = _product(b, op, inner, b.load(1, (batch, at.group, key, column)), 4)
    b.store(_scaled(b, op, found), (batch, head, row, column))
    return b.kernel


def lower_key_grad(op: Operation) -> KernelOp:
    """Axes: batch, head of results, key, columns of both, head in its group, row, depth, columns of values.

    A group of one has no axis.
    """
    assert isinstance(op, AttentionKeyGradOp)
    (batches, heads, rows, e), (keys, c) = sizes_of(op.query), sizes_of(op.value)[2:]
    summed = sizes_of(op.key_grad)[1]
    group = () if summed == heads else (heads // summed,)
    space = (batches, summed, keys, e, c, *group, rows, e, c)
    b = KernelBuilder(op.location, space, op.operands, op.result_types)
    batch, part, key, key_column, value_column, *member, row, depth, width = b.axes
    number = len(space)
    head = part * group[0] + member[0] if group else part
    over = tuple(range(5, number - 2))
    at = _Places(batch, head, row, key, depth, _of_keys(op, part, summed))
    weights = _weights(b, op, at, number - 2)
    kept = _dropped(b, op, at, weights)
    values = _raised(b, op, _product(b, op, kept, b.load(3, (batch, head, row, value_column)), *over))
    inner = _inner(b, op, at, weights, width, number - 1)
    found = _product(b, op, inner, b.load(0, (batch, head, row, key_column)), *over)
    b.store(_scaled(b, op, found), (batch, part, key, key_column))
    b.store(values, (batch, part, key, value_column), 1)
    return b.kernel


def _scores(b: KernelBuilder, op: AnyAttention, at: _Places, over: int, mask: int) -> SSAValue:
    """Scaled and masked products of queries and keys; `mask` is the number of that input."""
    q = b.load(0, (at.batch, at.head, at.row, at.depth))
    k = b.load(1, (at.batch, at.group, at.key, at.depth))
    return _masked(b, op, _scaled(b, op, _product(b, op, q, k, over)), at, mask)


def _weights(b: KernelBuilder, op: GradOp, at: _Places, over: int) -> SSAValue:
    """What the softmax made of the scores, again; nothing in a row that sees no key."""
    scores = _scores(b, op, at, over, 6)
    total = b.load(4, (at.batch, at.head, at.row))
    nothing = b.compare_float("oeq", total, b.constant(-inf, f32))
    total = b.select(nothing, b.constant(0.0, f32), total)
    return b.op(math.ExpOp, b.op(arith.SubfOp, scores, total))


def _inner(b: KernelBuilder, op: GradOp, at: _Places, weights: SSAValue, width: Expr, over: int) -> SSAValue:
    """The gradient of the scores."""
    grad, value = (
        b.load(3, (at.batch, at.head, at.row, width)),
        b.load(2, (at.batch, at.group, at.key, width)),
    )
    delta = b.load(5, (at.batch, at.head, at.row))
    above = _dropped(b, op, at, _raised(b, op, _product(b, op, grad, value, over)))
    return b.op(arith.MulfOp, weights, b.op(arith.SubfOp, above, delta))


def _dropped(b: KernelBuilder, op: AnyAttention, at: _Places, value: SSAValue) -> SSAValue:
    """`value`, which varies over rows and keys, where dropout keeps the weight, else 0."""
    if op.seed is None:
        return value
    sizes, number = (*sizes_of(op.query)[:3], sizes_of(op.key)[2]), len(op.operands) - 1
    place = b.index(linearize((at.batch, at.head, at.row, at.key), row_major_strides(sizes)))
    first = b.op(arith.AndIOp, b.load(number, (1,)), b.constant(-WORDS, i64), type_=i64)
    counter = b.op(arith.AddiOp, place, first, type_=i64)
    drawn = b.add(RandomOp.make(b.load(number, (0,)), counter, f32)).results[0]
    kept = b.compare_float("oge", drawn, b.constant(dropout_of(op), f32))
    return b.select(kept, value, b.constant(0.0, f32))


def _raised(b: KernelBuilder, op: AnyAttention, value: SSAValue) -> SSAValue:
    """What the weights that dropout keeps are multiplied with."""
    return value if op.seed is None else b.op(arith.MulfOp, value, b.constant(1 / (1 - dropout_of(op)), f32))


def _scaled(b: KernelBuilder, op: AnyAttention, value: SSAValue) -> SSAValue:
    return b.op(arith.MulfOp, value, b.constant(op.scale.value.data, f32))


def _product(b: KernelBuilder, op: AnyAttention, x: SSAValue, y: SSAValue, *axes: int) -> SSAValue:
    return _sum(b, b.op(arith.MulfOp, x, y), axes, element_type_of(op.query))


def _sum(b: KernelBuilder, value: SSAValue, axes: tuple[int, ...], factors: Attribute = f32) -> SSAValue:
    reduce = ReduceOp.make("add", value, axes)
    if is_half(factors):
        reduce.attributes[FACTORS] = factors
    return b.add(reduce).results[0]


def _masked(b: KernelBuilder, op: AnyAttention, scores: SSAValue, at: _Places, number: int) -> SSAValue:
    hidden = b.constant(-inf, f32)
    if op.mask is not None:
        places = (at.batch, at.head, at.row, at.key)[-len(sizes_of(op.mask)) :]
        shape = zip(sizes_of(op.mask), places, strict=True)
        subscripts: list[Expr] = [ZERO if size.constant == 1 else place for size, place in shape]
        mask = b.load(number, subscripts)
        scores = b.select(mask, scores, hidden) if mask.type == i1 else b.op(arith.AddfOp, scores, mask)
    if op.is_causal is not None:
        scores = b.select(b.compare_int("sle", b.index(at.key), b.index(at.row)), scores, hidden)
    return scores


_LOWERINGS: dict[type[Operation], Lowering] = {
    AttentionOp: lower_attention,
    AttentionQueryGradOp: lower_query_grad,
    AttentionKeyGradOp: lower_key_grad,
}
