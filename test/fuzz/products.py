"""Families of products: matrices, images, attention; also in the forms that only passes make."""

from __future__ import annotations

from collections.abc import Sequence

from graph import Graph
from xdsl.dialects.builtin import bf16, f16, f32, i1
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.index_expr import Expr, as_expr
from tilewright.dialects.tw import attention, creation, linalg, packed_convolution, packing, view
from tilewright.dialects.tw.elementwise import AbsOp, SinOp
from tilewright.dialects.tw.elementwise_binary import AddOp, CastOp, CompareOp, SelectOp
from tilewright.dialects.types import element_type_of, is_float, sizes_of, tensor_type


def matmul(g: Graph) -> None:
    lhs = g.pick(lambda v: len(sizes_of(v)) >= 2 and element_type_of(v) != i1)
    *batch, _, k = sizes_of(lhs)
    columns = as_expr(g.random.choice((1, 3, 16, 32)))
    fitting = [
        v
        for v in g.values
        if element_type_of(v) == element_type_of(lhs)
        and list(sizes_of(v)[:-2]) == batch
        and len(sizes_of(v)) >= 2
        and sizes_of(v)[-2] == k
    ]
    if fitting and g.random.random() < 0.7:
        rhs = g.random.choice(fitting)
    else:
        rhs = g.add(creation.IotaOp(element_type_of(lhs), [*batch, k, columns], len(batch), -2, 1))
    g.add(linalg.MatmulOp(lhs, rhs, _bias(g, lhs, sizes_of(rhs)[-1])))


def packed_matmul(g: Graph) -> None:
    lhs = g.pick(lambda v: len(sizes_of(v)) == 2 and is_float(element_type_of(v)))
    k = sizes_of(lhs)[1]
    width, panels = g.random.choice((1, 3, 8, 16)), g.random.choice((1, 2))
    columns = as_expr(width * panels)
    right = _some(g, element_type_of(lhs), [k, columns])
    if element_type_of(lhs) == f32 and g.random.random() < 0.3:
        right = g.add(CastOp(right, g.random.choice((bf16, f16))))
    packed = g.add(packing.PackOp(right, width, _group(g, k)))
    g.add(packing.PackedMatmulOp(lhs, packed, _bias(g, lhs, columns)))


def convolution(g: Graph) -> None:
    image = g.pick(lambda v: 3 <= len(sizes_of(v)) <= 4 and is_float(element_type_of(v)))
    rank = len(sizes_of(image)) - 2
    channels, *_ = [_known(n) for n in sizes_of(image)[1:]]  # ATen takes no image without pixels
    kernel = [as_expr(g.random.randint(1, 3)) for _ in range(rank)]
    outputs = g.random.choice((1, 2, 3, 16))
    groups = g.random.choice([n for n in range(1, channels + 1) if channels % n == outputs % n == 0])
    transposed = g.random.random() < 0.25
    first = [channels, outputs // groups] if transposed else [outputs, channels // groups]
    weight = _some(g, element_type_of(image), [*map(as_expr, first), *kernel])
    padding, dilation, strides = ([g.random.randint(low, low + 1) for _ in range(rank)] for low in (0, 1, 1))
    extra = [g.random.randrange(s) if transposed else 0 for s in strides]
    bias = _bias(g, image, as_expr(outputs))
    g.add(
        linalg.ConvolutionOp(
            image,
            weight,
            bias,
            strides,
            padding,
            dilation,
            transposed=transposed,
            output_padding=extra,
            groups=groups,
        )
    )


def packed_convolution_(g: Graph) -> None:
    image = g.pick(lambda v: 3 <= len(sizes_of(v)) <= 4 and is_float(element_type_of(v)))
    rank = len(sizes_of(image)) - 2
    channels = _known(sizes_of(image)[-1])
    kernel = [as_expr(g.random.randint(1, 2)) for _ in range(rank)]
    groups = g.random.choice([n for n in range(1, channels + 1) if channels % n == 0])
    width = channels if groups == channels else g.random.choice((1, 3, 8))
    outputs = width if groups == channels else width * groups * g.random.choice((1, 2))
    of_group = as_expr(channels // groups)
    weight = _some(g, element_type_of(image), [as_expr(outputs), of_group, *kernel])
    packed = g.add(packed_convolution.PackFilterOp(weight, width, _group(g, of_group)))
    strides, dilation = ([g.random.randint(1, 2) for _ in range(rank)] for _ in range(2))
    bias = _bias(g, image, as_expr(outputs))
    g.add(packed_convolution.PackedConvolutionOp(image, packed, bias, strides, dilation, groups))


def attention_(g: Graph) -> None:
    """Attention of what there is, seen with rank 4; every other time its gradients as well."""
    query = g.pick(lambda v: 2 <= len(sizes_of(v)) <= 4 and is_float(element_type_of(v)))
    sizes = [*[as_expr(1)] * (4 - len(sizes_of(query))), *sizes_of(query)]
    query = _finite(g, query if len(sizes_of(query)) == 4 else g.add(view.ReshapeOp(query, sizes)))
    element = element_type_of(query)
    _, heads, *_ = [_known(n) for n in sizes]  # ATen's kernel divides by them
    shared = as_expr(g.random.choice([n for n in range(1, heads + 1) if heads % n == 0]))
    rows, columns = sizes[2], g.random.choice((sizes[2], as_expr(1), as_expr(5), as_expr(16)))
    before = [sizes[0], shared, columns]
    key = _finite(g, _some(g, element, [*before, sizes[3]]))
    value = _finite(g, _some(g, element, [*before, sizes[3]]))
    mask = _mask(g, element, rows, columns) if g.random.random() < 0.5 else None
    scale, causal = g.random.choice((0.125, 0.5, 1.0)), g.random.random() < 0.3
    op = attention.AttentionOp(query, key, value, mask, scale=scale, is_causal=causal)
    result = g.add(op)
    if g.random.random() < 0.5:
        grad = _finite(g, _some(g, element, sizes_of(result)))
        saved = [query, key, value, grad, result, op.logsumexp]
        g.add(attention.AttentionBackwardOp(saved, mask, scale=scale, is_causal=causal))


def _mask(g: Graph, element: Attribute, rows: Expr, columns: Expr) -> SSAValue:
    """What is added to the scores; of rank 2 or 4. No library takes a mask of i1."""
    sizes = [g.random.choice((rows, as_expr(1))), columns]
    if g.random.random() < 0.3:
        sizes = [as_expr(1), as_expr(1), *sizes]
    return _finite(g, _some(g, element, sizes))


def _finite(g: Graph, value: SSAValue) -> SSAValue:
    """`value` with 0 for what is large, infinite or NaN, of which ATen's kernels make different things."""
    element, sizes = element_type_of(value), sizes_of(value)
    limit, zero = (g.add(creation.FullOp(n, element, sizes)) for n in (30.0, 0.0))
    small = g.add(CompareOp(g.add(AbsOp(value)), limit, "lt"))
    return g.add(SelectOp(small, value, zero))


def _some(g: Graph, element: Attribute, sizes: Sequence[Expr]) -> SSAValue:
    """A value of this type: one that there is, or sines, which vary along every dimension."""
    wanted = tensor_type(element, sizes)
    fitting = [v for v in g.values if v.type == wanted]
    if fitting and g.random.random() < 0.6:
        return g.random.choice(fitting)
    angles = g.add(creation.IotaOp(f32, sizes, 0, g.random.randint(0, 3), 1))
    for dim in range(1, len(sizes)):
        angles = g.add(AddOp(angles, g.add(creation.IotaOp(f32, sizes, dim, 0, dim + 1))))
    sines = g.add(SinOp(angles))
    return sines if element == f32 else g.add(CastOp(sines, element))


def _bias(g: Graph, like: SSAValue, outputs: Expr) -> SSAValue | None:
    return _some(g, element_type_of(like), [outputs]) if g.random.random() < 0.3 else None


def _group(g: Graph, steps: Expr) -> int | None:
    return 2 if (steps % 2).constant == 0 and g.random.random() < 0.5 else None


def _known(size: Expr) -> int:
    if not size.constant:
        raise VerifyException("the size must be known")
    return size.constant
