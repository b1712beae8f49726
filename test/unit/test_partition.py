"""What the forward pass keeps for the backward pass."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx import GraphModule
from torch.fx.experimental.proxy_tensor import make_fx

from tilewright.frontend.partition import partition

ATEN = torch.ops.aten


def efficient(q: Tensor, g: Tensor, p: float) -> tuple[Tensor, Tensor]:
    out, total, seed, offset = ATEN._scaled_dot_product_efficient_attention(q, q, q, None, True, p)
    saved = (g, q, q, q, None, out, total, seed, offset)
    wanted = [True, True, True, False]
    return out, ATEN._scaled_dot_product_efficient_attention_backward(*saved, p, wanted)[0]


def flash(q: Tensor, g: Tensor, p: float) -> tuple[Tensor, Tensor]:
    found = ATEN._scaled_dot_product_flash_attention(q, q, q, p)
    out, total, cum_q, cum_k, max_q, max_k, seed, offset = found[:8]
    saved = (g, q, q, q, out, total, cum_q, cum_k, max_q, max_k, p, False, seed, offset)
    return out, ATEN._scaled_dot_product_flash_attention_backward(*saved)[0]


def parts(function: Any, p: float) -> tuple[GraphModule, GraphModule]:
    with FakeTensorMode():
        given = [torch.empty(2, 3, 32, 16, dtype=torch.float16, device="meta") for _ in range(2)]

    def both(primals: list[Tensor], tangents: list[Tensor]) -> tuple[Tensor, Tensor]:
        return function(primals[0], tangents[0], p)

    joint = make_fx(both)([given[0]], [given[1]])
    for node, name in zip(joint.graph.find_nodes(op="placeholder"), ("primals_1", "tangents_1"), strict=True):
        node.name = node.target = name
    joint.recompile()
    return partition(joint, given, again=lambda _: False, num_fwd_outputs=1)


def kept(forward: GraphModule) -> list[torch.dtype]:
    """The dtypes of what is returned beside the one result."""
    (output,) = forward.graph.find_nodes(op="output")
    return [node.meta["val"].dtype for node in output.args[0][1:]]


@pytest.mark.parametrize("function", [efficient, flash])
@pytest.mark.parametrize("p", [0.0, 0.25])
def test_seeds_are_kept_with_dropout_alone(function: Any, p: float) -> None:
    forward, backward = parts(function, p)
    seeds = [dtype for dtype in kept(forward) if not dtype.is_floating_point]
    assert bool(seeds) == (p > 0)
    zeros = backward.graph.find_nodes(op="call_function", target=ATEN.full.default)
    assert bool(zeros) == (p == 0)
