"""Gradients that are sparse tensors: their indices and values are compiled, ATen makes the tensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

import tilewright

ROWS = torch.tensor([[1, 4], [4, 0], [7, 7]])


def embedded(w: Tensor) -> Tensor:
    return F.embedding(ROWS, w, sparse=True).exp()


def scaled_before(w: Tensor) -> Tensor:
    return F.embedding(ROWS, w * 2, sparse=True).sin()


def twice(w: Tensor) -> Tensor:
    return F.embedding(ROWS, w, sparse=True).exp() + F.embedding(7 - ROWS, w, sparse=True)


def bag(w: Tensor) -> Tensor:
    return F.embedding_bag(ROWS, w, sparse=True, mode="sum").exp()


def gathered(w: Tensor) -> Tensor:
    return torch.gather(w, 0, ROWS, sparse_grad=True).exp()


def dense_as_well(w: Tensor) -> Tensor:
    return F.embedding(ROWS, w, sparse=True).sum() * w.exp()


FUNCTIONS: tuple[Callable[[Tensor], Tensor], ...] = (
    embedded,
    scaled_before,
    twice,
    bag,
    gathered,
    dense_as_well,
)


@pytest.mark.parametrize("target", ["cpu_openmp", "gpu_emulated"])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
@pytest.mark.filterwarnings("ignore:TW1")
def test_gradients(function: Callable[[Tensor], Tensor], target: str) -> None:
    torch._dynamo.reset()
    w = torch.randn(8, 3, requires_grad=True)
    compiled = torch.compile(function, backend="mlir", options={"target": target})
    found, wanted = compiled(w), function(w)
    torch.testing.assert_close(found, wanted)
    weights = torch.randn_like(wanted)
    (mine,) = torch.autograd.grad(found, w, weights)
    (theirs,) = torch.autograd.grad(wanted, w, weights)
    assert mine.layout == theirs.layout
    torch.testing.assert_close(mine.to_dense(), theirs.to_dense())


@pytest.mark.filterwarnings("ignore:TW1")
def test_training_by_sparse_adam() -> None:
    torch._dynamo.reset()
    losses: dict[str, list[float]] = {}
    for backend in ("eager", "mlir"):
        torch.manual_seed(0)
        model = torch.nn.EmbeddingBag(8, 3, sparse=True, mode="sum")
        optimizer = torch.optim.SparseAdam(list(model.parameters()), lr=0.1)
        compiled: Any = torch.compile(model, backend=backend, dynamic=True)
        for step in range(3):
            optimizer.zero_grad()
            loss = compiled(ROWS[: step + 1]).pow(2).sum()
            loss.backward()
            optimizer.step()
            losses.setdefault(backend, []).append(loss.item())
    assert losses["mlir"] == pytest.approx(losses["eager"])


@pytest.mark.filterwarnings("ignore:TW1")
def test_one_operator_runs_elsewhere() -> None:
    torch._dynamo.reset()
    found = tilewright.explain(embedded, torch.randn(8, 3, requires_grad=True))
    assert not any(graph.by_aten for graph in found.graphs)
    (fallback,) = [fallback for graph in found.graphs for fallback in graph.fallbacks]
    assert fallback.op == "aten::_sparse_coo_tensor_with_dims_and_tensors"
    assert fallback.place.endswith(f"test_sparse_gradients.py:{embedded.__code__.co_firstlineno + 1}")
    assert "sparse" in fallback.reason


def test_it_is_refused_where_nothing_may_run_elsewhere() -> None:
    torch._dynamo.reset()
    w = torch.randn(8, 3, requires_grad=True)
    with pytest.raises(Exception, match="TW1008: `aten::_sparse_coo_tensor_with_dims_and_tensors`"):
        torch.compile(embedded, backend="mlir", options={"fallback": False})(w).sum().backward()
