"""Views in a row, as `einsum` makes them, are one view of a joint graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.fx.experimental.proxy_tensor import make_fx

from tilewright.frontend.joint.unit_axes import join_views

_ATEN = torch.ops.aten


def scores(q: Tensor, k: Tensor) -> Tensor:
    return torch.einsum("bhid,bhjd->bhij", q, k) * 2


def of_rows(q: Tensor, k: Tensor) -> Tensor:
    """Heads behind rows: what the first product permutes the second one permutes back."""
    return torch.einsum("bhij,bjhd->bihd", torch.einsum("bihd,bjhd->bhij", q, k).exp(), k)


def moved(q: Tensor, k: Tensor) -> Tensor:
    return q.unsqueeze(2).permute(0, 1, 3, 4, 2).squeeze(4) + 1


def turned(q: Tensor, k: Tensor) -> Tensor:
    """No order of elements is left."""
    return q.permute(0, 2, 1, 3).unsqueeze(1) + 1


def strided(q: Tensor, k: Tensor) -> Tensor:
    """Every other element, which views show as well."""
    return q[:, :, ::2].unsqueeze(0).permute(1, 0, 2, 3, 4).view(2, 3, 1, -1, 8) + 1


@pytest.mark.parametrize(
    ("function", "views", "permutations"),
    [(scores, 4, 1), (of_rows, 7, 4), (moved, 1, 0), (turned, 1, 1), (strided, 1, 0)],
)
def test_views_in_a_row(function: Callable[..., Any], views: int, permutations: int) -> None:
    inputs = [torch.randn(2, 3, 3 if function is of_rows else 6, 8) for _ in range(2)]
    gm = make_fx(function, tracing_mode="fake")(*inputs)
    join_views(gm)
    gm.graph.lint()
    gm.recompile()
    torch.testing.assert_close(gm(*inputs), function(*inputs))
    shows = (_ATEN.view.default, _ATEN.unsqueeze.default, _ATEN.squeeze.dim, _ATEN.squeeze.dims)
    targets = [node.target for node in gm.graph.nodes]
    assert sum(targets.count(target) for target in shows) == views
    assert targets.count(_ATEN.permute.default) == permutations


def test_nothing_is_done_to_symbols() -> None:
    gm = make_fx(lambda x: x.unsqueeze(0).unsqueeze(0) + 1, tracing_mode="symbolic")(torch.randn(4, 5))
    before = gm.graph.python_code("self").src
    join_views(gm)
    assert gm.graph.python_code("self").src == before
