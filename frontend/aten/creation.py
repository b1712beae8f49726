"""ATen operations that make tensors from nothing."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import f32, f64
from xdsl.ir import SSAValue

from tilewright.dialects.index_expr import Expr, as_expr, product
from tilewright.dialects.tw.creation import IotaOp, RngNormalOp, RngSeedOp, RngUniformOp
from tilewright.dialects.tw.elementwise import FloorOp
from tilewright.dialects.tw.elementwise_binary import AddOp, MulOp
from tilewright.dialects.types import is_float

from ..errors import Unsupported
from .builder import Builder, FloatScalar, Operand, Row, integer


def _filled(value: Operand) -> Row:
    def row(b: Builder, *_: object, **__: object) -> SSAValue:
        return b.operand(value, b.element, b.sizes)

    return row


def _full(b: Builder, _: Any, value: Operand, **__: object) -> SSAValue:
    return b.operand(value, b.element, b.sizes)


def _new_full(b: Builder, x: SSAValue, size: Any, value: Operand, **__: object) -> SSAValue:
    return b.operand(value, b.element, b.sizes)


def _scalar_tensor(b: Builder, value: Operand, **_: object) -> SSAValue:
    return b.operand(value, b.element, ())


def _number(value: Any) -> Any:
    return value.constant if isinstance(value, Expr) and value.constant is not None else value


def _range(b: Builder, start: Any, step: Any) -> SSAValue:
    """`start + i * step`, in f64 for f64, else in f32.

    For integers torch drops what is behind the points of both before it counts.
    """
    start, step = _number(start), _number(step)
    if not is_float(b.element):
        start, step = (int(n) if isinstance(n, float) else n for n in (start, step))
    if isinstance(start, int | Expr) and isinstance(step, int | Expr):
        return b.emit(IotaOp(b.element, b.sizes, 0, start, step))
    if isinstance(start, FloatScalar) or isinstance(step, FloatScalar):
        raise Unsupported("arange with symbolic floats")
    work = f64 if b.element == f64 else f32
    count = b.emit(IotaOp(work, b.sizes))
    scaled = b.emit(MulOp(count, b.operand(step, work, b.sizes)))
    return b.cast(b.emit(AddOp(scaled, b.operand(start, work, b.sizes))), b.element)


def _arange(b: Builder, start: Any, end: Any, step: Any = 1, **_: object) -> SSAValue:
    return _range(b, start, step)


def _arange_end(b: Builder, end: Any, **_: object) -> SSAValue:
    return _range(b, 0, 1)


def _iota(b: Builder, length: Any, *, start: Any, step: Any, **_: object) -> SSAValue:
    return _range(b, start, step)


def _uniform(b: Builder, *_: object, generator: object = None, **__: object) -> SSAValue:
    if generator is not None:
        raise Unsupported("an explicit generator")
    seed, offset = b.random(product(b.sizes))
    return b.cast(b.emit(RngUniformOp(seed, b.sizes, offset)), b.element)


def _normal(b: Builder, *_: object, generator: object = None, **__: object) -> SSAValue:
    if generator is not None:
        raise Unsupported("an explicit generator")
    seed, offset = b.random(product(b.sizes) * 2)
    return b.cast(b.emit(RngNormalOp(seed, b.sizes, offset)), b.element)


def _seed(b: Builder, **_: object) -> SSAValue:
    return b.emit(RngSeedOp())


def _drawn(op: type[RngUniformOp | RngNormalOp]) -> Row:
    """Of a seed and an offset that are given, as what a checkpoint draws again."""

    def row(b: Builder, seed: SSAValue, offset: int, *_: object, **__: object) -> SSAValue:
        return b.cast(b.emit(op(seed, b.sizes, as_expr(offset))), b.element)

    return row


def _random_integers(b: Builder, low: Any, high: Any, *_: object, **__: object) -> SSAValue:
    first, last = integer(low), integer(high)
    if last - first > 1 << 24:
        raise Unsupported("random integers from a range above 2**24")
    seed, offset = b.random(product(b.sizes))
    number = b.emit(RngUniformOp(seed, b.sizes, offset))
    scaled = b.emit(FloorOp(b.emit(MulOp(number, b.full(float(last - first), f32, b.sizes)))))
    return b.emit(AddOp(b.cast(scaled, b.element), b.full(first, b.element, b.sizes)))


def _random_below(b: Builder, high: Any, *_: object, **__: object) -> SSAValue:
    return _random_integers(b, 0, high)


ROWS: dict[str, Row] = {
    "aten.full.default": _full,
    "aten.full_like.default": _full,
    "aten.new_full.default": _new_full,
    "aten.fill.Scalar": _full,
    "aten.fill.Tensor": _full,
    "aten.scalar_tensor.default": _scalar_tensor,
    "aten.arange.default": _arange_end,
    "aten.arange.start": _arange,
    "aten.arange.start_step": _arange,
    "prims.iota.default": _iota,
    "aten.rand.default": _uniform,
    "aten.randn.default": _normal,
    "tilewright.random_seed.default": _seed,
    "tilewright.uniform.default": _drawn(RngUniformOp),
    "tilewright.normal.default": _drawn(RngNormalOp),
    "aten.randint.low": _random_integers,
    "aten.randint.default": _random_below,
    **dict.fromkeys(
        (
            "aten.zeros.default",
            "aten.zeros_like.default",
            "aten.new_zeros.default",
            "aten.zero.default",
            "aten._efficientzerotensor.default",  # the tangent of a constant; it has no memory to read
            "aten._new_zeros_with_same_feature_meta.default",
            "aten.empty.memory_format",
            "aten.empty_like.default",
            "aten.new_empty.default",
            "aten.new_empty_strided.default",
            "aten.empty_strided.default",
            "aten.empty_permuted.default",
            "prims.empty_strided.default",
        ),
        _filled(0),
    ),
    **dict.fromkeys(("aten.ones.default", "aten.ones_like.default", "aten.new_ones.default"), _filled(1)),
}
