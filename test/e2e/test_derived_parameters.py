"""What is derived from parameters: made once, anew when one changed, never of what the graph writes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tilewright.frontend.runtime.frozen import Setup

X = torch.randn(8, 64)


@pytest.fixture(name="derived")
def _derived(monkeypatch: pytest.MonkeyPatch) -> list[Sequence[Tensor]]:
    """What the calls of compiled graphs were given, one entry per call that takes derived tensors."""
    torch._dynamo.reset()
    given: list[Sequence[Tensor]] = []
    original = Setup.derived

    def noted(self: Setup, args: Sequence[Any]) -> list[Tensor]:
        given.append(original(self, args))
        return given[-1]

    monkeypatch.setattr(Setup, "derived", noted)
    return given


@torch.no_grad()
def test_once_until_a_parameter_changes(derived: list[Sequence[Tensor]]) -> None:
    model = nn.Linear(64, 96)
    run = torch.compile(model, backend="mlir")
    for _ in range(3):
        torch.testing.assert_close(run(X), model(X))
    model.weight[0, 5].add_(1)
    for _ in range(2):
        torch.testing.assert_close(run(X), model(X))
    assert [made is derived[0] for made in derived] == [True, True, True, False, False]
    assert derived[3] is derived[4]


class Bank(nn.Module):
    """Each call scores by all rows, then replaces one."""

    def __init__(self) -> None:
        super().__init__()
        self.rows = nn.Buffer(torch.randn(96, 64, generator=torch.Generator().manual_seed(1)))

    def forward(self, x: Tensor, at: Tensor, row: Tensor) -> Tensor:
        scores = F.linear(x, self.rows)
        self.rows[at] = row
        return scores


@torch.no_grad()
def test_never_of_what_the_graph_writes(derived: list[Sequence[Tensor]]) -> None:
    mine, theirs = Bank(), Bank()
    run = torch.compile(mine, backend="mlir")
    for i in range(3):
        at, row = torch.tensor([7 * i]), torch.randn(1, 64)
        torch.testing.assert_close(run(X, at, row), theirs(X, at, row))
        torch.testing.assert_close(mine.rows, theirs.rows)
    assert derived == []
