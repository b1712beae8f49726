"""Matrix products and convolution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import bf16, f16, f32, i1, i32
from xdsl.ir import SSAValue

from tilewright.dialects.index_expr import ONE, format_exprs, product
from tilewright.dialects.tw.elementwise_binary import AddOp, MulOp
from tilewright.dialects.tw.linalg import ConvolutionOp, MatmulOp
from tilewright.dialects.types import is_float, sizes_of

from ..errors import Unsupported
from .builder import Builder, Row, element_of, integer, integers
from .float8 import decoded, encoded, kind_of


def _check_alike(*operands: SSAValue | None) -> None:
    """ATen refuses products of several dtypes, which tracing lets pass: it shall say so."""
    if len({element_of(value) for value in operands if value is not None}) > 1:
        raise Unsupported("its operands are of several dtypes")


def _matmul(b: Builder, x: SSAValue, y: SSAValue) -> SSAValue:
    _check_alike(x, y)
    if element_of(x) == i1:
        raise Unsupported("a matrix product of torch.bool")
    return b.emit(MatmulOp(x, y))


def _matmul_in(b: Builder, x: SSAValue, y: SSAValue, out_dtype: Any) -> SSAValue:
    element = b.element_of_dtype(out_dtype)
    return _matmul(b, b.cast(x, element), b.cast(y, element))


def _integer_matmul(b: Builder, x: SSAValue, y: SSAValue) -> SSAValue:
    return b.emit(MatmulOp(x, y, element=i32))


def _grouped_matmul(b: Builder, x: SSAValue, y: SSAValue, ends: SSAValue | None = None, *_: Any) -> SSAValue:
    """A batch of products where no group ends at a row, a column or an element that is known at run time."""
    if ends is not None:
        raise Unsupported("groups whose ends are known at run time are a library's")
    return b.cast(b.emit(MatmulOp(x, y)), b.element)


def _scaled(b: Builder, value: SSAValue, factor: Any) -> SSAValue:
    if factor == 1:
        return value
    return b.emit(MulOp(value, b.operand(factor, element_of(value), sizes_of(value))))


def _added_matmul(
    b: Builder, bias: SSAValue, x: SSAValue, y: SSAValue, *, beta: Any = 1, alpha: Any = 1
) -> SSAValue:
    _check_alike(bias, x, y)
    sizes = b.sizes
    row = sizes_of(bias)
    if beta == 1 and alpha == 1 and row == sizes[-1:]:
        return b.emit(MatmulOp(x, y, bias))
    if b.element in (f16, bf16):  # all of it is computed in f32, and rounded once
        bias, x, y = (b.cast(value, f32) for value in (bias, x, y))
    product = _scaled(b, _matmul(b, x, y), alpha)
    if beta != 0:
        product = b.emit(AddOp(b.broadcast(_scaled(b, bias, beta), sizes), product))
    return b.cast(product, b.element)


def _scaled_matmul(
    b: Builder,
    x: SSAValue,
    y: SSAValue,
    scale_x: SSAValue,
    scale_y: SSAValue,
    bias: SSAValue | None = None,
    scale_result: SSAValue | None = None,
    out_dtype: Any = None,
    use_fast_accum: bool = False,
) -> SSAValue:
    """A product of 8-bit floats, times a scale of each matrix or one per row and column; sums are f32."""
    narrow, sizes = kind_of(b.fake.dtype), b.sizes
    if scale_result is not None:
        raise Unsupported("a scale of the product")
    scaled = b.emit(MatmulOp(decoded(b, x), decoded(b, y)))
    for scale, wanted in ((scale_x, (sizes[0], ONE)), (scale_y, (ONE, sizes[1]))):
        own = sizes_of(scale)
        if element_of(scale) != f32 or scale in b.carried:
            raise Unsupported("scales of other types than f32")
        if product(own) == ONE:
            scale = b.reshape(scale, (1, 1))
        elif own != wanted:
            raise Unsupported(f"scales of shape [{format_exprs(own)}]: per block, not per row or column")
        scaled = b.emit(MulOp(scaled, b.broadcast(scale, sizes)))
    if bias is not None:
        scaled = b.emit(AddOp(scaled, b.broadcast(b.cast(bias, f32), sizes)))
    return b.cast(scaled, b.element) if narrow is None else encoded(b, scaled, narrow)


def _scaled_matmul_by_recipes(
    b: Builder,
    x: SSAValue,
    y: SSAValue,
    scales_x: Sequence[SSAValue],
    recipe_x: Sequence[int],
    swizzle_x: Sequence[int],
    scales_y: Sequence[SSAValue],
    recipe_y: Sequence[int],
    swizzle_y: Sequence[int],
    bias: SSAValue | None = None,
    out_dtype: Any = None,
    contraction_dim: Sequence[int] = (),
    use_fast_accum: bool = False,
) -> SSAValue:
    """The same, with the shapes of the scales in words: 0 of the matrix, 1 of its rows (columns)."""
    recipes, swizzled = (*recipe_x, *recipe_y), any((*swizzle_x, *swizzle_y))
    if len(recipes) != 2 or not {0, 1}.issuperset(recipes) or swizzled or contraction_dim:
        raise Unsupported(f"scales by the recipes {list(recipes)}: per block, or in another order")
    return _scaled_matmul(b, x, y, scales_x[0], scales_y[0], bias)


def _vector_product(b: Builder, x: SSAValue, y: SSAValue) -> SSAValue:
    """Matrix by vector, and vector by vector."""
    _check_alike(x, y)
    (count,) = sizes_of(y)
    rows = sizes_of(x)[:-1]
    matrix = b.reshape(x, (*rows, count) if rows else (1, count))
    return b.reshape(b.emit(MatmulOp(matrix, b.reshape(y, (count, 1)))), b.sizes)


def _convolution(
    b: Builder,
    x: SSAValue,
    weight: SSAValue,
    bias: SSAValue | None,
    stride: Sequence[Any],
    padding: Sequence[Any],
    dilation: Sequence[Any],
    transposed: bool,
    output_padding: Sequence[Any],
    groups: int,
) -> SSAValue:
    _check_alike(x, weight, bias)
    if not is_float(element_of(x)):
        raise Unsupported("an integer convolution")
    if len(sizes_of(x)) != len(sizes_of(weight)):
        raise Unsupported("a convolution of one image without a batch dimension")
    if product(b.sizes).constant == 0:  # also where torch gives no channels for no channels
        return b.full(0, b.element, b.sizes)
    spatial = len(sizes_of(x)) - 2
    return b.emit(
        ConvolutionOp(
            x,
            weight,
            bias,
            _spread(stride, spatial),
            _spread(padding, spatial),
            _spread(dilation, spatial),
            transposed=transposed,
            output_padding=_spread(output_padding, spatial),
            groups=integer(groups),
        )
    )


def _spread(values: Sequence[Any], count: int) -> list[int]:
    numbers = integers(values)
    return numbers * count if len(numbers) == 1 else numbers


ROWS: dict[str, Row] = {
    "aten.mm.default": _matmul,
    "aten.bmm.default": _matmul,
    "aten.mm.dtype": _matmul_in,
    "aten.bmm.dtype": _matmul_in,
    "aten._int_mm.default": _integer_matmul,
    "aten._grouped_mm.default": _grouped_matmul,
    "aten._scaled_mm.default": _scaled_matmul,
    "aten._scaled_mm_v2.default": _scaled_matmul_by_recipes,
    "aten.addmm.default": _added_matmul,
    "aten.baddbmm.default": _added_matmul,
    "aten.mv.default": _vector_product,
    "aten.dot.default": _vector_product,
    "aten.convolution.default": _convolution,
}
