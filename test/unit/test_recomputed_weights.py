"""Which attention that the program writes out keeps no weights, and that its gradients stay right."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.fx import GraphModule
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils.checkpoint import CheckpointPolicy

from tilewright.frontend.decompositions.table import decompositions
from tilewright.frontend.joint.recomputed_weights import recompute_weights

Function = Callable[..., Any]


def heads(depth: int = 24, dtype: torch.dtype = torch.bfloat16) -> list[Tensor]:
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(2, 3, n, depth, generator=generator).to(dtype) for n in (19, 21, 21)]


def scores(q: Tensor, k: Tensor) -> Tensor:
    return (q @ k.transpose(-2, -1)).float() / math.sqrt(q.shape[-1])


def plain(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return ((q @ k.transpose(-2, -1)) * 0.2).softmax(-1) @ v


def masked(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    later = torch.arange(k.shape[-2]) > torch.arange(q.shape[-2])[:, None]
    return scores(q, k).masked_fill(later, -math.inf).softmax(-1).to(v.dtype) @ v


def capped(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    bias = torch.arange(q.shape[-2])[:, None] - torch.arange(k.shape[-2])
    return (3 * torch.tanh(scores(q, k) / 3) + bias * 0.1).softmax(-1).to(v.dtype) @ v


def joint(function: Function, *inputs: Tensor) -> GraphModule:
    """As AOTAutograd has it: results, then gradients."""

    def both(*given: Tensor) -> list[Tensor]:
        leaves = [t.detach().requires_grad_() for t in given]
        outs = function(*leaves)
        outs = list(outs) if isinstance(outs, tuple) else [outs]
        return [*outs, *torch.autograd.grad([o.sum() * 2 for o in outs], leaves)]

    return make_fx(both, decomposition_table=decompositions(), tracing_mode="fake")(*inputs)


def again(gm: GraphModule) -> list[str]:
    return [n.name for n in gm.graph.nodes if n.meta.get("recompute") == CheckpointPolicy.MUST_RECOMPUTE]


def dropped(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """As CPUs have it: times a factor that is 0 for what is left out."""
    weights = scores(q, k).softmax(-1)
    return (weights * ((torch.rand(weights.shape) >= 0.3).float() / 0.7)).to(v.dtype) @ v


def dropped_in_halves(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """As GPUs have it: 0 where it is left out."""
    weights, _ = torch.native_dropout(scores(q, k).softmax(-1).to(v.dtype), 0.3, train=True)
    return weights @ v


def gated(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """A factor that is no random number."""
    return (scores(q, k).softmax(-1) * torch.arange(k.shape[-2]).cos()).to(v.dtype) @ v


AGAIN = [plain, masked, capped, dropped, dropped_in_halves, gated]


@pytest.mark.parametrize("function", AGAIN)
def test_weights_are_computed_again(function: Function) -> None:
    """All that has rows and columns, from the product on; maxima, sums and the result are kept."""
    inputs = heads()
    gm = joint(function, *inputs)
    before = copy.deepcopy(gm)
    recompute_weights(gm, 1)
    gm.recompile()
    nodes = {n.name: n for n in gm.graph.nodes}
    assert again(gm)
    assert all(tuple(nodes[name].meta["val"].shape[-2:]) == (19, 21) for name in again(gm))
    kept = [n for n in nodes.values() if n.meta.get("recompute") == CheckpointPolicy.MUST_SAVE]
    assert [n.target for n in kept] == [
        torch.ops.aten.amax.default,
        torch.ops.aten.sum.dim_IntList,
        torch.ops.aten.bmm.default,
    ]
    assert all(n.meta["val"].dtype == torch.float32 for n in kept)
    results = list[list[Tensor]]()
    for graph in (gm, before):
        torch.manual_seed(3)
        results.append(graph(*inputs))
    for found, wanted in zip(*results, strict=True):
        torch.testing.assert_close(found, wanted, rtol=2e-2, atol=2e-2)


@pytest.mark.parametrize("function", [dropped, dropped_in_halves])
def test_what_dropout_draws_is_drawn_again(function: Function) -> None:
    gm = joint(function, *heads())
    recompute_weights(gm, 1)
    (drawn,) = gm.graph.find_nodes(op="call_function", target=torch.ops.aten.rand.default)
    assert drawn.name in again(gm)


def returned(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    weights = scores(q, k).softmax(-1).to(v.dtype)
    return weights @ v, weights


def dropped_twice(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    weights = scores(q, k).softmax(-1)
    for _ in range(2):
        weights, _ = torch.native_dropout(weights, 0.5, train=True)
    return weights.to(v.dtype) @ v


def gated_by_scores(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Through the factor, too, a gradient reaches the scores."""
    s = scores(q, k)
    return (s.softmax(-1) * s.sigmoid()).to(v.dtype) @ v


def of_two_products(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return (scores(q, k) + scores(q, k * 2)).softmax(-1).to(v.dtype) @ v


def mixed(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Each row with all others, before the softmax."""
    return scores(q, k).cumsum(-1).softmax(-1).to(v.dtype) @ v


def of_columns(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return scores(q, k).softmax(-2).to(v.dtype) @ v


def of_best_keys(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Others are masked by what an operator of two results finds in the scores."""
    s = scores(q, k)
    least = s.topk(4, -1).values[..., -1:]
    return s.masked_fill(s < least, -math.inf).softmax(-1).to(v.dtype) @ v


def of_all(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """All weights together are 1."""
    s = scores(q, k)
    powers = (s - s.amax(-1, keepdim=True)).exp()
    return (powers / powers.sum(None, keepdim=True)).to(v.dtype) @ v


OTHERS = [returned, dropped_twice, gated_by_scores, of_two_products, mixed, of_columns, of_best_keys, of_all]


@pytest.mark.parametrize("function", OTHERS)
def test_other_weights_are_kept(function: Function) -> None:
    gm = joint(function, *heads())
    recompute_weights(gm, 2 if function is returned else 1)
    assert again(gm) == []


@pytest.mark.parametrize(
    ("depth", "dtype"), [(24, torch.float32), (264, torch.bfloat16), (1, torch.bfloat16)]
)
def test_what_no_kernel_holds_is_kept(depth: int, dtype: torch.dtype) -> None:
    gm = joint(masked, *heads(depth, dtype))
    recompute_weights(gm, 1)
    assert again(gm) == []


def test_what_a_checkpoint_decides_stays() -> None:
    gm = joint(masked, *heads())
    for node in gm.graph.nodes:
        node.meta["recompute"] = CheckpointPolicy.PREFER_SAVE
    recompute_weights(gm, 1)
    assert again(gm) == []
