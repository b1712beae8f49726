"""Caches of keys and values that a graph writes to: of what is stored there, only the new is touched."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from drawn import tensor
from torch import Tensor

from tilewright.frontend.explain import explain

OPTIONS = {"target": "gpu_emulated", "fallback": False}


def pages(cache: Tensor, new: Tensor, at: Tensor) -> Tensor:
    """Slots of pages, which are views of the argument."""
    cache.view(-1, 2, 8).index_copy_(0, at, new[0, :3])
    return cache[1] * 2


def first_batches(cache: Tensor, new: Tensor, at: Tensor) -> Tensor:
    cache[:2, 3:7] = new[:, :4]
    return cache[:2, :7].sum(1)


def to_the_end(cache: Tensor, new: Tensor, at: Tensor) -> Tensor:
    cache[:, 1:] = new.repeat(2, 1, 1, 1)[:3, :4]
    return cache.sum(1)


def one_position(cache: Tensor, new: Tensor, at: Tensor) -> Tensor:
    cache[:, -2] = new[0, :1]
    return cache[:, 3:].sum(1)


def in_the_middle(cache: Tensor, new: Tensor, at: Tensor) -> Tensor:
    cache[:, :, 1:, 2:6] = new[0, 0, 0, :4]
    return cache + 1


def one_after_the_other(cache: Tensor, new: Tensor, at: Tensor) -> Tensor:
    flat = cache.view(-1, 2, 8)
    flat[at[:1]] = new[0, :1]
    sums = cache.sum(1)
    flat[at[1:2]] = sums[:1] + flat[3:4]
    return cache[1] * 2


def two_slices(cache: Tensor, new: Tensor, at: Tensor) -> Tensor:
    cache[:, :1] = new[0, :1]
    cache[:, 2:4] = new[1, :2] * 2
    return cache.sum(1)


def handed_back(cache: Tensor, new: Tensor, at: Tensor) -> Tensor:
    cache.view(-1, 2, 8).index_copy_(0, at, new[0, :3])
    return cache


WRITES = (
    pages,
    first_batches,
    to_the_end,
    one_position,
    in_the_middle,
    one_after_the_other,
    two_slices,
    handed_back,
)


@pytest.mark.parametrize("write", WRITES)
def test_only_what_is_new_is_stored(write: Callable[..., Any]) -> None:
    tokens = 7 if write is first_batches else 5
    given = tensor(3, tokens, 2, 8), tensor(2, 5, 2, 8, seed=1), torch.tensor([13, 2, 7])
    copies = [value.clone() for value in given]
    found = explain(write, *copies, options=OPTIONS)
    torch.testing.assert_close((found.result, copies), (write(*given), list(given)))
    (graph,) = found.graphs
    assert not any("copy" in name or "concat" in name or "fill" in name for name in graph.kernels)


def interleaved(x: Tensor, c: Tensor, s: Tensor) -> Tensor:
    a, b = x[..., ::2], x[..., 1::2]
    return torch.stack((a * c - b * s, a * s + b * c), -1).flatten(-2)


@pytest.mark.parametrize(
    "take", [interleaved, lambda x, c, s: x[:, 2::3] * c[:, :4], lambda x, c, s: x[1::2]]
)
def test_gradients_of_every_second_number(take: Callable[..., Tensor]) -> None:
    """Each of them is read where it goes: nothing is scattered into zeros."""
    x, c, s = tensor(6, 12).requires_grad_(), tensor(6, 6, seed=1), tensor(6, 6, seed=2)
    expected = torch.autograd.grad(take(x, c, s).square().sum(), x)

    def step() -> tuple[Tensor, ...]:
        return torch.autograd.grad(take(x, c, s).square().sum(), x)

    found = explain(step, options=OPTIONS)
    torch.testing.assert_close(found.result, expected)
    assert not any("scatter" in name for graph in found.graphs for name in graph.kernels)
