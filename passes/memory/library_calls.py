"""tw op -> ATen: a row per op that no kernel computes.

A row turns an op into a `Call`: the callee, the tensors it takes and the rest of its arguments.
That of an `out_variant` writes into memory of ours, one of `returning` returns a tensor of ATen's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from xdsl.dialects.builtin import (
    ArrayAttr,
    FloatAttr,
    IntAttr,
    IntegerAttr,
    StringAttr,
    UnitAttr,
    f64,
    i1,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue

from tilewright.dialects.attribute_facts import ints
from tilewright.dialects.index_expr import Expr, product
from tilewright.dialects.tw.aten import ArgAttr, AtenOp
from tilewright.dialects.tw.attention import AttentionBackwardOp, AttentionOp
from tilewright.dialects.tw.base import STRIDES
from tilewright.dialects.tw.control_flow import ControlOp
from tilewright.dialects.tw.creation import RngSeedOp
from tilewright.dialects.tw.indexing import (
    Combine,
    GatherAlongOp,
    GatherOp,
    ScatterAddOp,
    ScatterAlongOp,
    ScatterOp,
)
from tilewright.dialects.tw.linalg import ConvolutionOp, MatmulOp
from tilewright.dialects.types import element_type_of, sizes_of

from .errors import NotBufferizable
from .layouts import Layout, dense, inverse, last_dims, reshaped, transposed

NONE = UnitAttr()


@dataclass(frozen=True)
class Call:
    """One ATen call. `args` refer to `ins`, then to the outputs."""

    callee: str
    ins: tuple[tuple[SSAValue, Layout], ...]
    args: tuple[Attribute, ...]
    outs: tuple[Layout, ...]
    """Per tensor that ATen writes or returns: how ATen must see it."""
    results: tuple[Layout, ...] = ()
    """Per result of the tw op: its elements within what ATen returns, if that is not the same."""


LayoutOf = Callable[[SSAValue], Layout]
Row = Callable[[Any, LayoutOf, Sequence[Layout]], Call | None]
"""(op, layout of a value, layouts of the results) -> call; None where it cannot be a view."""


def arg(index: int) -> ArgAttr:
    return ArgAttr(IntAttr(index))


def integer(value: int) -> IntegerAttr[Any]:
    return IntegerAttr(value, i64)


def boolean(value: bool) -> IntegerAttr[Any]:
    return IntegerAttr(int(value), i1)


def integers(values: Sequence[int]) -> ArrayAttr[Attribute]:
    return ArrayAttr([integer(value) for value in values])


# Matrix products


def _matmul(op: MatmulOp, layout_of: LayoutOf, results: Sequence[Layout]) -> Call | None:
    factors = _flat_factors(layout_of(op.lhs), layout_of(op.rhs), results[0])
    if factors is None:
        return None
    lhs, rhs, out = factors
    ins = ((op.lhs, lhs), (op.rhs, rhs))
    rank3 = len(lhs.sizes) == 3
    if op.widens:
        return _integer_matmul(op, ins, out)
    if op.bias is None:
        return Call("aten::bmm.out" if rank3 else "aten::mm.out", ins, (arg(0), arg(1), arg(2)), (out,))
    callee = "aten::baddbmm.out" if rank3 else "aten::addmm.out"
    args = (arg(0), arg(1), arg(2), integer(1), integer(1), arg(3))
    return Call(callee, ((op.bias, layout_of(op.bias)), *ins), args, (out,))


def _integer_matmul(op: MatmulOp, ins: tuple[tuple[SSAValue, Layout], ...], out: Layout) -> Call:
    if len(out.sizes) == 2:
        return Call("aten::_int_mm.out", ins, (arg(0), arg(1), arg(2)), (out,))
    reason = "ATen multiplies no batches of i8 with a product of i32"
    raise NotBufferizable(op, reason=reason, advice="cast the matrices to i32 first")


@lru_cache(maxsize=4096)
def _flat_factors(lhs: Layout, rhs: Layout, out: Layout) -> tuple[Layout, Layout, Layout] | None:
    """The factors and the product under at most one batch dimension, None where that is no view."""
    if len(lhs.sizes) == 2:
        return lhs, rhs, out
    if (shared := _shared_rhs(lhs, rhs, out)) is not None:
        return shared
    batch = product(lhs.sizes[:-2])
    a, b, c = (reshaped(x, (batch, *x.sizes[-2:])) for x in (lhs, rhs, out))
    return None if a is None or b is None or c is None else (a, b, c)


def _shared_rhs(lhs: Layout, rhs: Layout, out: Layout) -> tuple[Layout, Layout, Layout] | None:
    """All batches multiply by one matrix: one product with the batches as rows."""
    if any(stride for stride in rhs.strides[:-2]):
        return None
    rows = product(lhs.sizes[:-1])
    a, c = reshaped(lhs, (rows, lhs.sizes[-1])), reshaped(out, (rows, out.sizes[-1]))
    if a is None or c is None:
        return None
    return a, last_dims(rhs, 2), c


# Convolution and attention


def _convolution(op: ConvolutionOp, layout_of: LayoutOf, results: Sequence[Layout]) -> Call:
    values = [op.image, op.weight] if op.bias is None else [op.image, op.weight, op.bias]
    strides, padding, dilation, output_padding = op.geometry()
    args = (
        *(arg(i) for i in range(len(values))),
        *((NONE,) if op.bias is None else ()),
        *(integers(values) for values in (strides, padding, dilation)),
        boolean(op.transposed is not None),
        integers(output_padding),
        integer(op.groups.value.data),
    )
    return Call("aten::convolution", tuple((v, layout_of(v)) for v in values), args, tuple(results))


def _attention(op: AttentionOp, layout_of: LayoutOf, results: Sequence[Layout]) -> Call | None:
    """ATen's kernel reads rows of query, key and value as contiguous memory, and does not check."""
    _refuse_attention(op)
    if any(layout_of(v).strides[-1].constant != 1 for v in (op.query, op.key, op.value)):
        return None
    values = [op.query, op.key, op.value] if op.mask is None else [op.query, op.key, op.value, op.mask]
    args = (
        arg(0),
        arg(1),
        arg(2),
        op.dropout_p,
        boolean(op.is_causal is not None),
        NONE if op.mask is None else arg(3),
        op.scale,
    )
    assert op.scale.type == f64
    callee = "aten::_scaled_dot_product_flash_attention_for_cpu"
    layouts = tuple(results)
    if STRIDES not in op.attributes:
        layouts = tuple(_heads_inside(layout.sizes) for layout in results)
    return Call(callee, tuple((v, layout_of(v)) for v in values), args, layouts)


def _attention_backward(
    op: AttentionBackwardOp, layout_of: LayoutOf, results: Sequence[Layout]
) -> Call | None:
    """As for `_attention`."""
    _refuse_attention(op)
    values = [op.grad, op.query, op.key, op.value, op.result, op.logsumexp]
    if any(layout_of(v).strides[-1].constant != 1 for v in values[:-1]):
        return None
    if op.mask is not None:
        values.append(op.mask)
    args = (
        *(arg(i) for i in range(6)),
        FloatAttr(0.0, f64),
        boolean(op.is_causal is not None),
        NONE if op.mask is None else arg(6),
        op.scale,
    )
    callee = "aten::_scaled_dot_product_flash_attention_for_cpu_backward"
    layouts = tuple(_heads_inside(layout.sizes) for layout in results)
    return Call(callee, tuple((v, layout_of(v)) for v in values), args, layouts)


def _refuse_attention(op: AttentionOp | AttentionBackwardOp) -> None:
    """A library would draw its own numbers, and drop other weights; it also takes fewer masks and heads."""
    depth, width = sizes_of(op.query)[3], sizes_of(op.value)[3]
    if op.seed is not None:
        reason = "no library drops the weights that its seed says"
    elif op.mask is not None and element_type_of(op.mask) == i1:
        reason = "ATen's attention for CPUs adds its mask, and takes none of i1"
    elif depth != width:
        reason = (
            f"ATen's attention for CPUs has heads of one width, not {depth} for keys and {width} for values"
        )
    elif (element := element_type_of(op.query)) != (made := element_type_of(op.result)):
        reason = f"ATen's attention for CPUs rounds its result to {element}, and makes none of {made}"
    else:
        return
    advice = "compile it for GPUs, whose kernels do: f32, bf16 or f16, and no side of one element"
    raise NotBufferizable(op, reason=reason, advice=advice)


def _heads_inside(sizes: Sequence[Expr]) -> Layout:
    """[b, h, l, ...] laid out as [b, l, h, ...], as ATen's attention returns it."""
    perm = (0, 2, 1, *range(3, len(sizes)))
    return transposed(dense(tuple(sizes[p] for p in perm)), inverse(perm))


# Gathers and scatters


def _index_list(dims: Sequence[int], rank: int, first: int) -> ArrayAttr[Attribute]:
    """`Tensor?[]`: index tensor per source dimension, None where it is taken whole."""
    last = max(dims, default=-1)
    assert last < rank
    return ArrayAttr([arg(first + dims.index(d)) if d in dims else NONE for d in range(last + 1)])


def _natural_perm(dims: Sequence[int], at: int, index_rank: int, rank: int) -> tuple[int, ...]:
    """Result dim of ATen's indexing for each dim of ours, which has the index dims at `at`."""
    adjacent = list(dims) == list(range(min(dims), min(dims) + len(dims)))
    natural = min(dims) if adjacent else 0
    others = [d for d in range(rank) if not natural <= d < natural + index_rank]
    index = list(range(natural, natural + index_rank))
    return (*others[:at], *index, *others[at:])


def _gather(op: GatherOp, layout_of: LayoutOf, results: Sequence[Layout]) -> Call:
    dims, index_rank = list(ints(op.dims)), len(sizes_of(op.indices[0]))
    perm = _natural_perm(dims, op.at.value.data, index_rank, len(results[0].sizes))
    values = [op.source, *op.indices]
    args = (arg(0), _index_list(dims, len(sizes_of(op.source)), 1))
    returned = dense(tuple(results[0].sizes[p] for p in inverse(perm)))
    return Call(
        "aten::index.Tensor",
        tuple((v, layout_of(v)) for v in values),
        args,
        (returned,),
        (transposed(returned, perm),),
    )


def _scatter(op: ScatterOp | ScatterAddOp, layout_of: LayoutOf, results: Sequence[Layout]) -> Call:
    dims, index_rank = list(ints(op.dims)), len(sizes_of(op.indices[0]))
    values = layout_of(op.values)
    perm = _natural_perm(dims, op.at.value.data, index_rank, len(values.sizes))
    ins = [(op.target, layout_of(op.target)), (op.values, transposed(values, inverse(perm)))]
    ins += [(v, layout_of(v)) for v in op.indices]
    args = (
        arg(0),
        _index_list(dims, len(sizes_of(op.target)), 2),
        arg(1),
        boolean(isinstance(op, ScatterAddOp)),
    )
    return Call("aten::index_put", tuple(ins), args, tuple(results))


def _gather_along(op: GatherAlongOp, layout_of: LayoutOf, results: Sequence[Layout]) -> Call:
    ins = tuple((v, layout_of(v)) for v in (op.source, op.index))
    args = (arg(0), integer(op.dim.value.data), arg(1), boolean(False), arg(2))
    return Call("aten::gather.out", ins, args, tuple(results))


_REDUCES = {Combine.MUL: "prod", Combine.MAX: "amax", Combine.MIN: "amin"}


def _scatter_along(op: ScatterAlongOp, layout_of: LayoutOf, results: Sequence[Layout]) -> Call:
    ins = tuple((v, layout_of(v)) for v in (op.target, op.index, op.values))
    args = (arg(0), integer(op.dim.value.data), arg(1), arg(2))
    if op.combine.data in _REDUCES:
        how = (StringAttr(_REDUCES[op.combine.data]), boolean(True), arg(3))
        return Call("aten::scatter_reduce.two_out", ins, (*args, *how), tuple(results))
    callee = "aten::scatter_add.out" if op.combine.data is Combine.ADD else "aten::scatter.src_out"
    return Call(callee, ins, (*args, arg(3)), tuple(results))


def _rng_seed(op: RngSeedOp, layout_of: LayoutOf, results: Sequence[Layout]) -> Call:
    sizes = [size.constant for size in sizes_of(op.result)]
    args = (integer(-(2**63)), integer(2**63 - 1), integers([n for n in sizes if n is not None]), arg(0))
    return Call("aten::randint.low_out", (), args, tuple(results))


def _aten(op: AtenOp, layout_of: LayoutOf, results: Sequence[Layout]) -> Call | None:
    """Some kernels take it for granted that operands lie in order, as eager's program brings them."""
    ins = tuple((v, layout_of(v)) for v in op.inputs)
    in_order = map(op.operand_number, _IN_ORDER.get(op.callee.data, ()))
    if not all(ins[number][1].is_dense for number in in_order if number is not None):
        return None
    return Call(op.callee.data, ins, tuple(op.args.data), tuple(results))


_IN_ORDER: Mapping[str, range] = {
    "aten::view.dtype": range(0, 1),  # memory for elements of another size
    "aten::view_copy.dtype": range(0, 1),
    "aten::_embedding_bag": range(1, 3),  # positions, where bags begin, and which bag each is in
    "aten::_embedding_bag_forward_only": range(1, 3),
    "aten::_embedding_bag_backward": range(1, 4),
    "aten::_embedding_bag_dense_backward": range(1, 3),
    "aten::_embedding_bag_per_sample_weights_backward": range(2, 5),
}
"""Which arguments ATen's kernels read as contiguous memory without a check."""


ADDED_PRODUCTS = ("aten::addmm", "aten::baddbmm")
"""What adds a product to its first operand. Of several dtypes they fail as in eager mode; `.out` does not."""


def _added_product(op: AtenOp, layout_of: LayoutOf, results: Sequence[Layout]) -> Call:
    """Factors are 1 where they are left out."""
    ins = tuple((v, layout_of(v)) for v in op.inputs)
    args = (*op.args.data, integer(1), integer(1))[:5]
    return Call(f"{op.callee.data}.out", ins, (*args, arg(len(ins))), tuple(results))


_OUT_VARIANTS: Mapping[type[Operation], Row] = {
    GatherAlongOp: _gather_along,
    MatmulOp: _matmul,
    RngSeedOp: _rng_seed,
    ScatterAlongOp: _scatter_along,
}

_FUNCTIONS: Mapping[type[Operation], Row] = {
    AtenOp: _aten,
    AttentionBackwardOp: _attention_backward,
    AttentionOp: _attention,
    ConvolutionOp: _convolution,
    GatherOp: _gather,
    ScatterAddOp: _scatter,
    ScatterOp: _scatter,
}


def out_variant(op: Operation) -> Row | None:
    """The row of an op that writes into memory of ours."""
    if isinstance(op, AtenOp):
        added = op.callee.data in ADDED_PRODUCTS
        return _added_product if added and len(set(map(element_type_of, op.inputs))) == 1 else None
    return _OUT_VARIANTS.get(type(op))


def returning(op: Operation) -> Row | None:
    """The row of an op that returns a tensor of ATen's."""
    return None if out_variant(op) is not None else _FUNCTIONS.get(type(op))


def is_call(op: Operation) -> bool:
    """True where what `op` calls allocates its results."""
    return returning(op) is not None or isinstance(op, ControlOp)
