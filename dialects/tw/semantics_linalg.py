"""What the contractions compute, written for clarity, not speed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product as positions

from ..arrays import Array
from ..semantics import Args, Machine, Results, semantics
from ..types import element_type_of
from .linalg import ConvolutionOp, MatmulOp
from .semantics_elementwise import compute


@semantics(MatmulOp)
def run_matmul(op: MatmulOp, args: Args, machine: Machine) -> Results:
    element = element_type_of(op.result)
    if op.widens:
        args = [machine.arrays.cast(arg, machine.arrays.dtype(element)) for arg in args]
    lhs, rhs, *bias = (compute(machine, arg, element) for arg in args)
    with machine.quiet():
        result = machine.xp.matmul(lhs, rhs)
        for term in bias:
            result = result + term
    return (machine.arrays.store(result, element),)


@semantics(ConvolutionOp)
def run_convolution(op: ConvolutionOp, args: Args, machine: Machine) -> Results:
    element, groups = element_type_of(op.image), op.groups.value.data
    image, weight, *bias = (compute(machine, arg, element) for arg in args)
    strides, padding, dilation, _ = op.geometry()
    if op.transposed is not None:
        result = _patches(machine, image, weight, op.geometry(), groups)
    else:
        image = _padded(machine, image, padding)
        result = correlate(machine, image, weight, strides, dilation, groups)
    for term in bias:
        result = result + term.reshape([1, -1] + [1] * len(strides))
    return (machine.arrays.store(result, element),)


def _patches(
    m: Machine, image: Array, weight: Array, geometry: Sequence[Sequence[int]], groups: int
) -> Array:
    """Each element of the image adds a patch to the result: nothing is multiplied that is not there."""
    strides, padding, dilation, extra = geometry
    batch, channels, *spatial = image.shape
    _, outputs, *kernel = weight.shape
    steps = zip(spatial, kernel, strides, dilation, strict=True)
    reach = [(n - 1) * s + (k - 1) * d + 1 for n, k, s, d in steps]
    sizes = [r - 2 * p + e for r, p, e in zip(reach, padding, extra, strict=True)]
    room = [max(r, p + n) for r, p, n in zip(reach, padding, sizes, strict=True)]
    total = m.arrays.full([batch, groups * outputs, *room], 0, image.dtype)
    pixels = image.reshape([batch, groups, channels // groups, math.prod(spatial)])
    for at in positions(*(range(k) for k in kernel)):
        taps = weight[(slice(None), slice(None), *at)].reshape([groups, channels // groups, outputs])
        part = m.xp.matmul(m.arrays.permute(taps, [0, 2, 1]), pixels)
        reached = tuple(
            slice(p * d, p * d + (n - 1) * s + 1, s)
            for p, d, n, s in zip(at, dilation, spatial, strides, strict=True)
        )
        where = (slice(None), slice(None), *reached)
        total[where] = total[where] + part.reshape([batch, groups * outputs, *spatial])
    inside = tuple(slice(p, p + n) for p, n in zip(padding, sizes, strict=True))
    return total[(slice(None), slice(None), *inside)]


def _padded(m: Machine, image: Array, amounts: Sequence[int]) -> Array:
    """Zeros around the spatial dimensions."""
    sizes = [n + 2 * a for n, a in zip(image.shape[2:], amounts, strict=True)]
    result = m.arrays.full([*image.shape[:2], *sizes], 0, image.dtype)
    inner = tuple(slice(a, a + n) for a, n in zip(amounts, image.shape[2:], strict=True))
    result[(slice(None), slice(None), *inner)] = image
    return result


def correlate(
    m: Machine, image: Array, weight: Array, strides: Sequence[int], dilation: Sequence[int], groups: int
) -> Array:
    """Sum over kernel positions of a matrix product over the channels."""
    batch, channels, *spatial = image.shape
    outputs, _, *kernel = weight.shape
    sizes = [
        (n - (k - 1) * d - 1) // s + 1 for n, k, s, d in zip(spatial, kernel, strides, dilation, strict=True)
    ]
    numel = 1
    for n in sizes:
        numel *= n
    total = m.arrays.full([batch, groups, outputs // groups, numel], 0, image.dtype)
    for at in positions(*(range(k) for k in kernel)):
        window = tuple(
            slice(p * d, p * d + (n - 1) * s + 1, s)
            for p, d, n, s in zip(at, dilation, sizes, strides, strict=True)
        )
        patch = image[(slice(None), slice(None), *window)]
        patch = patch.reshape([batch, groups, channels // groups, numel])
        taps = weight[(slice(None), slice(None), *at)].reshape(
            [1, groups, outputs // groups, channels // groups]
        )
        total = total + m.xp.matmul(taps, patch)
    return total.reshape([batch, outputs, *sizes])
