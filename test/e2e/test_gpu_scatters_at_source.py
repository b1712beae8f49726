"""Scatters in the kernels that make what they scatter, from their Triton text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from drawn import positions, tensor
from torch import Tensor, nn

from tilewright.frontend.explain import Explanation, explain

OPTIONS = {"target": "gpu_emulated", "fallback": False}


def kernels(found: Explanation) -> list[str]:
    """All but those that fill what is scattered to."""
    names = [name for graph in found.graphs for name in graph.kernels]
    return [name for name in names if not name.endswith("_fill")]


def check(function: Callable[..., Any], *inputs: Tensor) -> Explanation:
    """Equal to eager mode in float64, what it changes included."""
    wide = [value.double() if value.is_floating_point() else value.clone() for value in inputs]
    found = explain(function, *inputs, options=OPTIONS)
    expected = (function(*wide), wide)
    torch.testing.assert_close(
        (found.result, list(inputs)), expected, rtol=1e-5, atol=1e-5, check_dtype=False
    )
    return found


def test_rows_that_are_reduced_as_well() -> None:
    """Repeated and negative positions, two targets of one kernel, one of which changes in place."""

    def function(x: Tensor, t: Tensor, u: Tensor, i: Tensor) -> tuple[Tensor, ...]:
        y = x.softmax(-1)
        t.index_add_(0, i, y)
        return y, u.index_put((i - 9,), y.sin(), accumulate=True), t[1:] * 2

    x, t, u = tensor(40, 33), tensor(9, 33, seed=1), tensor(9, 33, seed=2)
    found = check(function, x, t, u, positions(7, 40))
    assert len(kernels(found)) == 2, kernels(found)  # of which one doubles what has changed


@pytest.mark.parametrize("rows", [0, 1, 13])
def test_few_rows_and_none(rows: int) -> None:
    def function(x: Tensor, t: Tensor, i: Tensor) -> tuple[Tensor, ...]:
        y = nn.functional.layer_norm(x, (17,))
        return y.amax(-1), t.scatter_add(0, i[:, None].expand(-1, 17), y), t.index_put((i,), y)

    check(function, tensor(rows, 17), tensor(19, 17, seed=1), torch.arange(rows))


def test_messages_along_edges() -> None:
    """Both ends of each edge are gathered as one row, and checked; a norm of the rows goes to one end."""

    def function(x: Tensor, t: Tensor, src: Tensor, dst: Tensor) -> Tensor:
        ends = torch.cat((x[src], x[dst - 9]), -1)
        return t.index_add(0, dst, nn.functional.layer_norm(ends.tanh(), (34,)))

    src, dst = positions(9, 40), positions(7, 40)
    found = check(function, tensor(9, 17), tensor(9, 34, seed=1), src, dst)
    assert len(kernels(found)) == 1, kernels(found)
    src[3] = 9
    with pytest.raises(Exception, match="index out of range"):
        explain(function, tensor(9, 17), tensor(9, 34), src, dst, options=OPTIONS)


@pytest.mark.parametrize("width", [37, 5000])
def test_rows_that_are_scanned(width: int) -> None:
    """Longer ones than a block, too."""

    def function(x: Tensor, order: Tensor) -> Tensor:
        p = x.softmax(-1)
        return torch.zeros_like(x).scatter(1, order, p * p.cumsum(-1))

    torch._dynamo.reset()
    order = torch.stack([torch.randperm(width, generator=torch.Generator().manual_seed(i)) for i in range(3)])
    found = check(function, tensor(3, width), order)
    assert len(kernels(found)) == 1, kernels(found)


def test_rows_that_are_sorted() -> None:
    def function(x: Tensor) -> Tensor:
        values, order = x.sort(-1, descending=True)
        return torch.zeros_like(x).scatter(1, order, values.exp().cumsum(-1))

    found = check(function, tensor(5, 37))
    assert len(kernels(found)) == 1, kernels(found)


class Embedded(nn.Module):
    """Rows of two tables, of one with a padding row, normed by their means and made smaller at random."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.kinds = nn.Embedding(30, 24, padding_idx=3), nn.Embedding(2, 24)
        self.norm, self.out = nn.LayerNorm(24), nn.Linear(24, 24)

    def forward(self, ids: Tensor, kinds: Tensor) -> Tensor:
        x = self.norm(self.tokens(ids) + self.kinds(kinds))
        return x + self.out(x)


def gradients(model: nn.Module, *inputs: Tensor) -> list[Tensor]:
    model.zero_grad()
    model(*inputs).square().sum().backward()
    return [p.grad.clone() for p in model.parameters() if p.grad is not None]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_gradients_of_embeddings(dtype: torch.dtype) -> None:
    """Where the gradient of the norm is made, whose columns are summed there in parts as well."""
    torch.manual_seed(0)  # pyright: ignore[reportUnknownMemberType]
    model, inputs = Embedded().to(dtype), (positions(7, 64, 16) * 4, positions(2, 64, 16))
    eager = gradients(model, *inputs)
    model.double()
    exact = gradients(model, *inputs)
    model.to(dtype)

    model.zero_grad()
    found = explain(lambda *given: model(*given).square().sum().backward(), *inputs, options=OPTIONS)
    ours = [p.grad for p in model.parameters() if p.grad is not None]
    for got, reference, plain in zip(ours, exact, eager, strict=True):
        errors = [(value.double() - reference).square().mean().sqrt() for value in (got, plain)]
        assert errors[0] <= 2 * errors[1] + 1e-6 * reference.abs().max()
    names = [name for graph in found.graphs for name in graph.kernels]
    assert not [name for name in names if name.endswith("_fill")], "zeros are stored beside other kernels"
