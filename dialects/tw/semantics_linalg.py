"""What the contractions compute, written for clarity, not speed."""

from __future__ import annotations

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
    strides, padding, dilation, extra = op.geometry()
    low = high = padding
    if op.transposed is not None:
        image, weight = _spread(machine, image, strides), _flipped(machine, weight, groups)
        reach = [(k - 1) * d for k, d in zip(weight.shape[2:], dilation, strict=True)]
        low = [r - p for r, p in zip(reach, padding, strict=True)]
        high = [a + e for a, e in zip(low, extra, strict=True)]
        strides = [1] * len(strides)
    image = _padded(machine, image, low, high)
    result = correlate(machine, image, weight, strides, dilation, groups)
    for term in bias:
        result = result + term.reshape([1, -1] + [1] * len(strides))
    return (machine.arrays.store(result, element),)


def _spread(m: Machine, image: Array, strides: Sequence[int]) -> Array:
    """Insert `stride - 1` zeros between neighbours."""
    sizes = [(n - 1) * s + 1 for n, s in zip(image.shape[2:], strides, strict=True)]
    result = m.arrays.full([*image.shape[:2], *sizes], 0, image.dtype)
    result[(slice(None), slice(None), *(slice(None, None, s) for s in strides))] = image
    return result


def _flipped(m: Machine, weight: Array, groups: int) -> Array:
    """`[C, O / groups, ...]` as the mirrored `[O, C / groups, ...]`."""
    channels, outputs, *kernel = weight.shape
    split = weight.reshape([groups, channels // groups, outputs, *kernel])
    swapped = m.arrays.permute(split, [0, 2, 1, *range(3, 3 + len(kernel))])
    merged = swapped.reshape([groups * outputs, channels // groups, *kernel])
    return m.arrays.flip(merged, range(2, 2 + len(kernel)))


def _padded(m: Machine, image: Array, low: Sequence[int], high: Sequence[int]) -> Array:
    """Zeros around the spatial dimensions; negative amounts crop."""
    crop = tuple(
        slice(max(-a, 0), n - max(-b, 0)) for a, b, n in zip(low, high, image.shape[2:], strict=True)
    )
    image = image[(slice(None), slice(None), *crop)]
    low, high = [max(a, 0) for a in low], [max(b, 0) for b in high]
    sizes = [n + a + b for n, a, b in zip(image.shape[2:], low, high, strict=True)]
    result = m.arrays.full([*image.shape[:2], *sizes], 0, image.dtype)
    inner = tuple(slice(a, a + n) for a, n in zip(low, image.shape[2:], strict=True))
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
