"""Distances between all pairs of rows of two matrices, and their gradients, in tensor functions."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any

import torch
from torch import Tensor
from torch._ops import OperatorBase

MOST_ROWS = 25
"""Beyond so many rows euclidean distances come from a product of matrices, unless asked for otherwise."""
BY_PRODUCT, NEVER_BY_PRODUCT = 1, 2


def _differences(x: Tensor, y: Tensor) -> Tensor:
    return x.unsqueeze(-2) - y.unsqueeze(-3)


def _euclidean(x: Tensor, y: Tensor) -> Tensor:
    """From squares of norms and the products of rows."""
    squares = (x * x).sum(-1, keepdim=True) + (y * y).sum(-1).unsqueeze(-2)
    return (squares - 2 * (x @ y.mT)).clamp(min=0).sqrt()


def _distances(x: Tensor, y: Tensor, p: float, compute_mode: int | None = None) -> Tensor:
    if not x.is_floating_point() or x.dtype != y.dtype:
        return NotImplemented
    many = x.shape[-2] > MOST_ROWS or y.shape[-2] > MOST_ROWS
    if p == 2 and (compute_mode == BY_PRODUCT or (compute_mode != NEVER_BY_PRODUCT and many)):
        return _euclidean(x, y)
    size = _differences(x, y).abs()
    if not size.shape[-1]:
        return size.sum(-1)
    if p == 0:
        return size.ceil().clamp(max=1).sum(-1)  # NaN is no distance
    if p == 1:
        return size.sum(-1)
    if p == 2:
        return (size * size).sum(-1).sqrt()
    if p == inf:
        return size.amax(-1)
    return size.pow(p).sum(-1).pow(1 / p)


def _gradient(gradient: Tensor, x: Tensor, y: Tensor, p: float, distances: Tensor) -> Tensor:
    """By the rows of `x`."""
    between = _differences(x, y)
    size, far = between.abs(), distances.unsqueeze(-1)
    if p == 0:
        return torch.zeros_like(x)
    if p == 1:
        slope = between.sign()
    elif p == 2:
        slope = torch.where(far == 0, 0.0, between / far)
    elif p == inf:
        slope = between.sign() * (size == far)
    else:
        slope = between.sign() * size.pow(p - 1) * far.pow(1 - p)
        slope = torch.where((far == 0) | ((size == 0) & (p < 1)), 0.0, slope)
    return (gradient.unsqueeze(-1) * slope).sum(-2)


def distance_functions() -> dict[OperatorBase, Callable[..., Any]]:
    """What replaces each of these operators."""
    aten = torch.ops.aten
    return {aten._cdist_forward.default: _distances, aten._cdist_backward.default: _gradient}
