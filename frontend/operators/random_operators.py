"""Operators of ours for random numbers that are drawn twice: of a seed that forward and backward share.

Their meaning is that of `tw.rng_seed`, `tw.rng_uniform` and `tw.rng_normal`. Kernels of ours compute them;
where ATen runs a graph instead, the functions below draw the same numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, cast

import torch
from torch import Tensor

from tilewright.dialects.philox import uniform

from ..torch_internals import NONDETERMINISTIC

LOWEST, HIGHEST = -(2**63), 2**63 - 1
_DRAWN = "(Tensor seed, int offset, SymInt[] size, *, ScalarType dtype) -> Tensor"


def _seed(*, device: torch.device) -> Tensor:
    return torch.randint(LOWEST, HIGHEST, (), dtype=torch.int64, device=device)


def _fake_seed(*, device: torch.device) -> Tensor:
    return torch.empty((), dtype=torch.int64, device=device)


def _multiples(seed: Tensor, offset: int, size: Sequence[int]) -> Tensor:
    """Of 2**-24, below 1."""
    counters = torch.arange(math.prod(size), device=seed.device) + offset
    return uniform(cast("Any", seed), counters).float().view(size)


def _uniform(seed: Tensor, offset: int, size: Sequence[int], *, dtype: torch.dtype) -> Tensor:
    return _multiples(seed, offset, size).to(dtype)


def _normal(seed: Tensor, offset: int, size: Sequence[int], *, dtype: torch.dtype) -> Tensor:
    u, v = (_multiples(seed, first, size) for first in (offset, offset + math.prod(size)))
    return ((-2.0 * torch.log1p(-u)).sqrt() * (v * (2 * math.pi)).cos()).to(dtype)


def _fake(seed: Tensor, offset: int, size: Sequence[int], *, dtype: torch.dtype) -> Tensor:
    return seed.new_empty(size, dtype=dtype)


OPERATORS: tuple[tuple[str, Callable[..., Any], Callable[..., Any], tuple[torch.Tag, ...]], ...] = (
    ("random_seed(*, Device device) -> Tensor", _seed, _fake_seed, (NONDETERMINISTIC,)),
    (f"uniform{_DRAWN}", _uniform, _fake, ()),
    (f"normal{_DRAWN}", _normal, _fake, ()),
)
"""Schema, function, what tracing takes for it, tags."""
