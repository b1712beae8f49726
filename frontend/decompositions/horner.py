"""A polynomial of a tensor."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import torch
from torch import Tensor


def horner(t: Tensor, powers: Sequence[float]) -> Tensor:
    """The sum of these multiples of powers of `t`, the lowest first."""
    *lower, last = powers
    return reduce(lambda total, c: total * t + c, reversed(lower), torch.full_like(t, last))
