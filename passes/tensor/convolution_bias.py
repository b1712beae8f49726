"""Biases of a library's convolutions, apart from them: on GPUs ATen adds and sums them by its own kernels."""

from __future__ import annotations

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, i1
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.hints import isa

from tilewright.dialects.tw.aten import AtenOp
from tilewright.dialects.tw.base import STRIDES as ORDERS
from tilewright.dialects.tw.base import int_array
from tilewright.dialects.tw.linalg import ConvolutionOp
from tilewright.dialects.tw.reduction import SumOp
from tilewright.dialects.tw.view import ReshapeOp
from tilewright.dialects.types import sizes_of

from ..driver import Rewrite
from .convolution_gradients import GRADIENT, MASK, OF_BIAS, computes_gradients, returned, tensors_of
from .windows import with_bias


def add_bias_apart(op: Operation, rw: Rewrite) -> SSAValue | None:
    """The convolution without its bias, which is added to the result: what reads that can add it, too."""
    assert isinstance(op, ConvolutionOp)
    if op.bias is None:
        return None
    bare = ConvolutionOp.create(
        operands=[op.image, op.weight],
        result_types=[op.result.type],
        properties=op.properties,
        attributes=op.attributes,
    )
    return with_bias(rw.value(bare), op.bias, rw)


def sum_bias_apart(op: Operation, rw: Rewrite) -> list[SSAValue] | None:
    """The other gradients, if any, and that of the bias as a sum of the result's."""
    if not computes_gradients(op) or OF_BIAS not in (wanted := returned(op)):
        return None
    total = summed(tensors_of(op)[GRADIENT], op.outputs[wanted.index(OF_BIAS)], rw)
    left = [number for number in wanted if number != OF_BIAS]
    results = rw.insert(_of_others(op, left)).results if left else ()
    made = dict(zip(left, results, strict=True)) | {OF_BIAS: total}
    return [made[number] for number in wanted]


def summed(gradient: SSAValue, result: SSAValue, rw: Rewrite) -> SSAValue:
    """The gradient of a bias, with its size as `result` has it: the channels' may be written differently."""
    total = rw.value(SumOp(gradient, (0, *range(2, len(sizes_of(gradient))))))
    sizes = sizes_of(result)
    return total if sizes_of(total) == sizes else rw.value(ReshapeOp(total, sizes))


def _of_others(op: AtenOp, left: list[int]) -> AtenOp:
    """The same call, for these gradients alone."""
    place = {number: i for i, number in enumerate(returned(op))}
    mask = ArrayAttr(IntegerAttr(int(number in left), i1) for number in range(3))
    attributes: dict[str, Attribute] = dict(op.attributes)
    if isa(orders := attributes.get(ORDERS), ArrayAttr[Attribute]):
        attributes[ORDERS] = ArrayAttr(orders.data[place[number]] for number in left)
    return AtenOp.create(
        operands=op.inputs,
        result_types=[op.outputs[place[number]].type for number in left],
        properties={
            **op.properties,
            "args": ArrayAttr((*op.args.data[:MASK], mask)),
            "returns": int_array(left),
        },
        attributes=attributes,
    )
