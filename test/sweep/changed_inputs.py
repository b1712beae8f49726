"""Changes to the tensors of an operator's sample: numbers that are none, memory in another order, no rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import inf, nan
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_map

Change = Callable[[Tensor, torch.Generator], Tensor]
SHARE = 0.3
"""Of the elements that are replaced."""


def changed(case: Any, name: str, numbers: torch.Generator) -> Any:
    """`case` with each of its tensors changed; `numbers` draws which elements."""

    def one(value: Any) -> Any:
        if not isinstance(value, Tensor) or value.is_sparse:
            return value
        return CHANGES[name](value.detach(), numbers).requires_grad_(value.requires_grad)

    return tree_map(one, case)


def _replaced(
    numbers_of: Callable[[torch.finfo], Sequence[float]], x: Tensor, drawn: torch.Generator
) -> Tensor:
    """Some elements of floats are others."""
    if not x.is_floating_point() or not x.numel():
        return x
    values = torch.tensor(numbers_of(torch.finfo(x.dtype)), dtype=torch.float64).to(x.dtype)
    others = values[torch.randint(len(values), x.shape, generator=drawn)]
    return torch.where(torch.rand(x.shape, generator=drawn) < SHARE, others, x)


def _turned(x: Tensor, _: torch.Generator) -> Tensor:
    """The first dimension is the one whose elements are neighbours."""
    order = list(range(x.dim()))[::-1]
    return x.permute(order).contiguous().permute(order)


def _gaps(x: Tensor, _: torch.Generator) -> Tensor:
    """Between any two elements are two that do not belong to it."""
    wide = x.new_zeros(*x.shape, 3)[..., 1]
    return wide.copy_(x)


def _offset(x: Tensor, _: torch.Generator) -> Tensor:
    """It begins three elements into its memory, so that nothing is aligned."""
    return x.new_zeros(x.numel() + 3)[3:].view(x.shape).copy_(x)


def _repeated(x: Tensor, _: torch.Generator) -> Tensor:
    """All of the first dimension is one element of memory."""
    return x[:1].expand(x.shape) if x.dim() else x


def _first(count: int, x: Tensor, _: torch.Generator) -> Tensor:
    return x[:count] if x.dim() else x


CHANGES: Mapping[str, Change] = {
    "nan": partial(_replaced, lambda _: (nan,)),
    "infinite": partial(_replaced, lambda _: (inf, -inf)),
    "large": partial(_replaced, lambda kind: (kind.max, kind.min, kind.max / 2)),
    "zeros": partial(_replaced, lambda _: (0.0, -0.0)),
    "subnormal": partial(_replaced, lambda kind: (kind.tiny, -kind.tiny, kind.tiny / 8)),
    "turned": _turned,
    "gaps": _gaps,
    "offset": _offset,
    "repeated": _repeated,
    "empty": partial(_first, 0),
    "single": partial(_first, 1),
}
