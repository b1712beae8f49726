"""Whether images are better off with their channels last, as TorchInductor's authors measured it.

`GraphLowering.decide_layout_opt` records what convolutions took of the time that those of NCHW images did, on
an A100, with the inputs of torchbench's training, and which models became slower as a whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from tilewright.dialects.tw.linalg import ConvolutionOp
from tilewright.dialects.types import sizes_of

from ..fusion.cost import extent
from ..memory.result_memory import FREE, result_attributes
from ..tensor.convolution_gradients import FILTERS, computes_gradients, groups_of, number_of

_SMALL = 64
"""Channels that are few on both sides."""
_GROUPED, _FEW, _NARROWING, _OTHERS = 1.358, 0.783, 0.725, 0.823
"""The time of a channels-last convolution, by kind, where the same of an NCHW image takes 1."""


def why_not(function: FuncOp, convolutions: Sequence[Operation], *, asked: bool) -> str | None:
    """Why the images of a function should stay as they are, None where they should not.

    `asked`: whether some that it is given, or returns, have their channels last.
    """
    if not asked and all(_is_depthwise(op) for op in convolutions):
        return "no convolution of the graph multiplies channels with each other"
    kinds = [_kind(op) for op in convolutions]
    if not _trains(function, convolutions):
        work = [_work(op) for op in convolutions]
        if sum(w * k for w, k in zip(work, kinds, strict=True)) > sum(work):
            return "most of the work is in groups of several channels"
        return None
    if _GROUPED in kinds:
        return "a convolution of the graph has groups of several channels"
    if any(_narrows(op) for op in convolutions):
        return "a convolution of the graph has half as many channels behind it"
    if all(kind == _FEW for kind in kinds):
        return "all convolutions of the graph have few channels"
    return None


def _filters_of(op: Operation) -> tuple[int, int, tuple[int, ...]]:
    """The first two sizes of the filters of a convolution, or of the gradients of one, and the kernel's."""
    filters = op.operands[number_of(op, FILTERS)]
    first, second, *kernel = map(extent, sizes_of(filters))
    return first, second, tuple(kernel)


def _trains(function: FuncOp, convolutions: Sequence[Operation]) -> bool:
    kept = any(FREE in attributes for attributes in result_attributes(function))
    return kept or any(map(computes_gradients, convolutions))


def _kind(op: Operation) -> float:
    first, second, _ = _filters_of(op)
    if _groups(op) != 1 and second != 1:
        return _GROUPED
    if max(first, second) <= _SMALL:
        return _FEW
    return _NARROWING if _narrows(op) else _OTHERS


def _is_depthwise(op: Operation) -> bool:
    """Whether each channel has filters of its own, of which matrix units have no rows to multiply."""
    return _groups(op) != 1 and _filters_of(op)[1] == 1


def _narrows(op: Operation) -> bool:
    first, second, kernel = _filters_of(op)
    return 2 * first <= second and kernel[0] > 1


def _groups(op: Operation) -> int | None:
    if isinstance(op, ConvolutionOp):
        return op.groups.value.data
    assert computes_gradients(op)
    return groups_of(op)


def _work(op: Operation) -> float:
    """Products of a convolution."""
    assert isinstance(op, ConvolutionOp)
    _, second, kernel = _filters_of(op)
    sizes = sizes_of(op.image if op.transposed is not None else op.result)
    return float(prod(map(extent, sizes)) * second * prod(kernel))
