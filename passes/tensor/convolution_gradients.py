"""What calls of `aten::convolution_backward` are given and return.

Schema: (grad_output, input, weight, bias_sizes, stride, padding, dilation, transposed, output_padding,
groups, output_mask) -> the gradients of the image, the filters and the bias, of which some may be left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeGuard

from xdsl.ir import Operation, SSAValue

from tilewright.dialects.attribute_facts import ints
from tilewright.dialects.tw.aten import AtenOp
from tilewright.dialects.tw.linalg import ConvolutionOp

from .call_arguments import literal

GRADIENT, IMAGE, FILTERS = range(3)
"""Arguments that are tensors."""
STRIDES, PADDING, DILATION, TRANSPOSED, GROUPS, MASK = 4, 5, 6, 7, 9, 10
"""Other arguments."""
OF_IMAGE, OF_FILTERS, OF_BIAS = range(3)
"""The results."""


def computes_gradients(op: Operation) -> TypeGuard[AtenOp]:
    """Whether `op` computes gradients of a convolution."""
    return isinstance(op, AtenOp) and op.callee.data == "aten::convolution_backward"


def number_of(op: Operation, argument: int) -> int:
    """Which operand of a convolution, or of the gradients of one, the gradient, image or filters are.

    An image that is its own filter, or gradient, is one operand of the latter.
    """
    if isinstance(op, ConvolutionOp):
        return argument - IMAGE
    assert computes_gradients(op)
    number = op.operand_number(argument)
    assert number is not None
    return number


def tensors_of(op: AtenOp) -> tuple[SSAValue, SSAValue, SSAValue]:
    """The gradient, the image and the filters."""
    gradient, image, filters = (op.inputs[number_of(op, argument)] for argument in (GRADIENT, IMAGE, FILTERS))
    return gradient, image, filters


def returned(op: AtenOp) -> Sequence[int]:
    """Which gradients are the results of the call, in their order."""
    return range(3) if op.returns is None else ints(op.returns)


def groups_of(op: AtenOp) -> int | None:
    """The number of groups of channels; None where that is a symbol."""
    return literal(op, GROUPS)
