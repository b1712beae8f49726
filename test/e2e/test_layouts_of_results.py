"""Results lie in memory as eager mode's do, so that programs may view what they got."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

OPERATORS: dict[str, Callable[[Tensor], Any]] = {
    "dropout": lambda x: F.dropout(x, 0.5),
    "bernoulli": lambda x: torch.bernoulli(x.sigmoid()),
    "bernoulli_": lambda x: x.clone().bernoulli_(0.5),
    "rand_like": torch.rand_like,
    "randn_like": torch.randn_like,
    "randn_like, dense": lambda x: torch.randn_like(x, memory_format=torch.contiguous_format),
    "uniform_": lambda x: x.clone().uniform_(-1, 1),
    "normal_": lambda x: x.clone().normal_(),
    "normal": lambda x: torch.normal(x, 1.0),
    "exponential_": lambda x: x.clone().exponential_(),
    "kthvalue": lambda x: x.kthvalue(2, 1),
    "median of integers": lambda x: (x * 10).int().median(1),
    "masked_scatter": lambda x: x.masked_scatter(x > 0, x),
    "isin few": lambda x: torch.isin(x, x.flatten()[:5]),
    "isin many": lambda x: torch.isin(x, x.flatten().repeat(3), invert=True),
    "isin one": lambda x: torch.isin(x, 0.5),
    "put": lambda x: x.put(torch.tensor([3]), x.new_ones(1)),
}
INPUTS = {
    "row-major": lambda: torch.randn(4, 5, 6),
    "turned": lambda: torch.randn(4, 5, 6).permute(2, 0, 1),
    "channels last": lambda: torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last),
}


def layouts(made: Any) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    return [(tuple(t.shape), t.stride()) for t in (made if isinstance(made, tuple) else (made,))]


@pytest.mark.parametrize("lying", INPUTS)
@pytest.mark.parametrize("name", OPERATORS)
def test_as_in_eager(name: str, lying: str) -> None:
    torch._dynamo.reset()
    operator, x = OPERATORS[name], INPUTS[lying]()
    compiled = torch.compile(operator, backend="mlir", options={"target": "gpu_emulated"})
    assert layouts(compiled(x)) == layouts(operator(x))


@pytest.mark.parametrize("target", ["cpu_openmp", "gpu_emulated"])
def test_what_is_dense_in_eager_may_be_viewed(target: str) -> None:
    torch._dynamo.reset()

    def function(x: Tensor) -> tuple[Tensor, ...]:
        whole = (x * 10).int()
        dropped = F.dropout(x.transpose(0, 1), 0.0)
        return (
            x.kthvalue(3, 1).values.view(-1),
            x.kthvalue(3, 1).indices.view(2, -1),
            whole.median(1).values.view(-1),
            dropped.transpose(0, 1).view(-1),
        )

    x = torch.randn(4, 9, 6)
    found = torch.compile(function, backend="mlir", fullgraph=True, options={"target": target})(x)
    torch.testing.assert_close(found, function(x))
