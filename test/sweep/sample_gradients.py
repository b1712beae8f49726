"""Gradients of what operators make of their samples, by all inputs that ask for one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves


def has_gradients(case: Any, result: Any) -> bool:
    """Whether any result depends on any input in a way that can be differentiated."""
    return bool(_inputs(case)) and bool(_differentiable(result))


def gradients_of(cases: Sequence[Any], results: Sequence[Any]) -> list[list[Tensor]]:
    """The gradients by the inputs of each case, of the sum of its weighed results; 0 where there is none.

    All cases are differentiated at once, since they may be results of one graph. Complex results count as
    pairs of numbers. Raises RuntimeError, as `torch.autograd.grad`, where no result depends on an input.
    """
    outputs = [output for result in results for output in _differentiable(result)]
    inputs = [_inputs(case) for case in cases]
    weights = [_weights(output) for output in outputs]
    everything = [tensor for each in inputs for tensor in each]
    found = iter(torch.autograd.grad(outputs, everything, weights, allow_unused=True))
    return [[g if (g := next(found)) is not None else torch.zeros_like(x) for x in each] for each in inputs]


def _inputs(case: Any) -> list[Tensor]:
    return [leaf for leaf in tree_leaves(case) if isinstance(leaf, Tensor) and leaf.requires_grad]


def _differentiable(result: Any) -> list[Tensor]:
    return [
        torch.view_as_real(leaf.resolve_conj()) if leaf.is_complex() else leaf
        for leaf in tree_leaves(result)
        if isinstance(leaf, Tensor) and leaf.requires_grad and not leaf.is_sparse
    ]


def _weights(output: Tensor) -> Tensor:
    """Drawn, the same each time, of numbers that any type of floats holds."""
    drawn = torch.Generator().manual_seed(output.numel())
    return (torch.randint(-8, 9, output.shape, generator=drawn) / 4).to(output.dtype)
