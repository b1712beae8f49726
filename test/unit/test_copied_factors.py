"""Which copies that attention makes for its products the backward pass makes again."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from test_recomputed_weights import again, joint
from torch import Tensor

from tilewright.frontend.joint.recomputed_weights import recompute_weights
from tilewright.frontend.joint.unit_axes import join_views

BATCH, ROWS, HEADS, DEPTH = 2, 19, 3, 24


def behind_rows(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Heads lie behind rows, as einsum takes them."""
    weights = torch.einsum("bihd,bjhd->bhij", q, k).softmax(-1)
    return torch.einsum("bhij,bjhd->bihd", weights, v)


def of_inputs(x: Tensor, w: Tensor) -> Tensor:
    return behind_rows(*x.view(BATCH, ROWS, 3, HEADS, DEPTH).unbind(2)) + w.sum()


def packed(x: Tensor, w: Tensor) -> Tensor:
    """Parts of one product, which they cover."""
    return behind_rows(*(x @ w).view(BATCH, ROWS, 3, HEADS, DEPTH).unbind(2))


def without_a_part(x: Tensor, w: Tensor) -> Tensor:
    """Values are computed from what no product makes: a third of the product would be kept for nothing."""
    q, k, v = (x @ w).view(BATCH, ROWS, 3, HEADS, DEPTH).unbind(2)
    return behind_rows(q, k, v.relu())


def in_front_of_rows(x: Tensor, w: Tensor) -> Tensor:
    """Products take them as they are."""
    q, k, v = x.view(3, BATCH, HEADS, ROWS, DEPTH).unbind(0)
    return (q @ k.mT).softmax(-1) @ v + w.sum()


@pytest.mark.parametrize(
    ("function", "copies"), [(of_inputs, 3), (packed, 3), (without_a_part, 0), (in_front_of_rows, 0)]
)
def test_copies_of_what_is_kept_whole(function: Callable[..., Tensor], copies: int) -> None:
    width = 3 * HEADS * DEPTH
    gm = joint(function, *(torch.randn(*s).bfloat16() for s in ((BATCH, ROWS, width), (width, width))))
    join_views(gm)
    recompute_weights(gm, 1)
    nodes = {node.name: node for node in gm.graph.nodes}
    found = [name for name in again(gm) if nodes[name].target is torch.ops.aten.clone.default]
    assert len(found) == copies
