"""Tensors for tests: the same numbers for the same seed."""

from __future__ import annotations

import torch
from torch import Tensor


def tensor(*sizes: int, dtype: torch.dtype = torch.float32, seed: int = 0, high: int = 100) -> Tensor:
    """Normal numbers, or integers below `high`."""
    generator = torch.Generator().manual_seed(seed)
    if dtype.is_floating_point:
        return torch.randn(sizes, generator=generator).to(dtype)
    return torch.randint(0, high, sizes, generator=generator).to(dtype)


def positions(high: int, *sizes: int, low: int = 0) -> Tensor:
    return torch.randint(low, high, sizes, generator=torch.Generator().manual_seed(1))
