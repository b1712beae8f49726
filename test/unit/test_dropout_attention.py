"""Which attention with dropout is ours: forward and backward alike, told apart by the seed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
import torch
from test_attention_rows import CUDNN, CUDNN_BACKWARD, EFFICIENT, EFFICIENT_BACKWARD, FLASH, FLASH_BACKWARD
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx import GraphModule
from torch.fx.experimental.proxy_tensor import make_fx

from tilewright.dialects.tw.aten import AtenOp
from tilewright.dialects.tw.attention import AttentionBackwardOp, AttentionOp, dropout_of
from tilewright.dialects.tw.creation import RngSeedOp
from tilewright.frontend.decompositions.table import decompositions
from tilewright.frontend.fx.fx_import import import_fx
from tilewright.frontend.operators.own_operators import operators

Function = Callable[..., Any]
P = 0.25
WANT = [True, True, True, False]


def traced(function: Function, *inputs: Tensor) -> GraphModule:
    """As AOTAutograd traces for tensors of a GPU."""
    with FakeTensorMode() as mode:
        args = [torch.empty_strided(x.shape, x.stride(), dtype=x.dtype, device="meta") for x in inputs]
    with mode:
        return make_fx(function, decomposition_table=decompositions())(*args)


def called(gm: GraphModule) -> list[str]:
    return [str(n.target) for n in gm.graph.nodes if "attention" in str(n.target)]


def heads(rows: int, keys: int, depth: int = 24, dtype: torch.dtype = torch.bfloat16) -> list[Tensor]:
    return [torch.randn(2, 3, n, depth).to(dtype) for n in (rows, keys, keys)]


def flash(q: Tensor, k: Tensor, v: Tensor, p: float = P, causal: bool = False) -> Any:
    out, total, cq, ck, mq, mk, seed, offset, _ = FLASH(q, k, v, p, causal)
    return FLASH_BACKWARD(out, q, k, v, out, total, cq, ck, mq, mk, p, causal, seed, offset)


def efficient(q: Tensor, k: Tensor, v: Tensor, p: float = P, causal: bool = False) -> Any:
    out, total, seed, offset = EFFICIENT(q, k, v, None, True, p, causal)
    return EFFICIENT_BACKWARD(out, q, k, v, None, out, total, seed, offset, p, WANT, causal)[:3]


def cudnn(q: Tensor, k: Tensor, v: Tensor, p: float = P, causal: bool = False) -> Any:
    out, total, cq, ck, mq, mk, seed, offset, _ = CUDNN(q, k, v, None, True, p, causal)
    return CUDNN_BACKWARD(out, q, k, v, out, total, seed, offset, None, cq, ck, mq, mk, p, causal)


OURS = ["tilewright.dropout_attention.default", "tilewright.dropout_attention_backward.default"]


@pytest.mark.parametrize("function", [flash, efficient, cudnn])
@pytest.mark.parametrize("causal", [False, True])
def test_both_graphs_are_ours(function: Function, causal: bool) -> None:
    gm = traced(lambda *x: function(*x, causal=causal), *heads(37, 37))
    assert called(gm) == OURS
    ops = list(import_fx(gm, fallback=False).main.body.block.ops)
    forward, backward = (op for op in ops if isinstance(op, AttentionOp | AttentionBackwardOp))
    assert dropout_of(forward) == dropout_of(backward) == P
    assert forward.seed is backward.seed is not None
    assert sum(isinstance(op, RngSeedOp) for op in ops) == 1


LEFT: dict[str, tuple[Function, tuple[Any, ...], float]] = {
    "without_dropout": (efficient, (37, 37), 0.0),
    "all_dropped": (efficient, (37, 37), 1.0),
    "deep_heads": (efficient, (37, 37, 160), P),
    "one_row": (efficient, (1, 37), P),
    "doubles": (efficient, (37, 37, 24, torch.float64), P),
    "unequal_flash": (lambda *x: flash(*x, causal=True), (19, 37), P),
    "unequal_cudnn": (lambda *x: cudnn(*x, causal=True), (19, 37), P),
}


@pytest.mark.parametrize(("function", "sizes", "p"), LEFT.values(), ids=LEFT)
def test_neither_graph_is_ours(function: Function, sizes: tuple[Any, ...], p: float) -> None:
    """What no kernel computes, forward or backward, is torch's as a whole."""
    names = called(traced(lambda *x: function(*x, p), *heads(*sizes)))
    assert len(names) == 2
    assert all(name.startswith("aten._scaled_dot_product_") for name in names)


def test_returned_weights_are_left_to_torch() -> None:
    def step(q: Tensor, k: Tensor, v: Tensor) -> Any:
        out, total, cq, ck, mq, mk, seed, offset, weights = FLASH(q, k, v, P, False, True)
        saved = (out, q, k, v, out, total, cq, ck, mq, mk, P, False, seed, offset)
        return weights, *FLASH_BACKWARD(*saved)

    names = called(traced(step, *heads(37, 37)))
    assert len(names) == 2
    assert all(name.startswith("aten._scaled_dot_product_flash") for name in names)


def test_a_seed_of_torch_keeps_the_backward_with_torch() -> None:
    """Whatever an operator of torch returned, its backward pass is not ours."""
    q, k, v = heads(37, 37)
    total = torch.empty(2, 3, 37)
    seeds = (torch.empty((), dtype=torch.int64), torch.empty(2, dtype=torch.uint64))
    for seed in seeds:
        gm = traced(
            lambda q, k, v, t, s: FLASH_BACKWARD(
                q, q, k, v, q, t, None, None, 37, 37, P, False, s, s
            ),
            q, k, v, total, seed,
        )  # fmt: skip
        assert called(gm) == ["aten._scaled_dot_product_flash_attention_backward.default"]
        graph = import_fx(gm)
        assert not any(isinstance(op, AttentionBackwardOp) for op in graph.main.body.block.ops)
        assert ["with dropout" in f.reason for f in graph.fallbacks] == [True]


def test_the_gradient_of_a_mask_drops_the_same_weights() -> None:
    """By ATen's operations; the other gradients by our kernels."""

    def step(q: Tensor, k: Tensor, v: Tensor, bias: Tensor) -> Any:
        out, total, seed, offset = EFFICIENT(q, k, v, bias, True, P)
        want = [True, True, True, True]
        return EFFICIENT_BACKWARD(out, q, k, v, bias, out, total, seed, offset, P, want)

    q, k, v = heads(5, 7, dtype=torch.float32)
    bias = torch.randn(2, 1, 5, 7)
    graph = import_fx(traced(step, q, k, v, bias))
    ops = list(graph.main.body.block.ops)
    (call,) = (op for op in ops if isinstance(op, AtenOp))
    assert call.callee.data == "tilewright::dropout_attention_mask_grad"
    (backward,) = (op for op in ops if isinstance(op, AttentionBackwardOp))
    assert backward.seed in call.operands

    seed, attend = torch.tensor([123456789, 5]), operators()["dropout_attention"]
    shown = attend(q, torch.zeros_like(k), torch.eye(7).expand(2, 3, 7, 7), None, seed, P, False, 1.0)[0]
    leaf = bias.double().requires_grad_()
    weights = (q.double() @ k.double().mT * 0.2 + leaf).softmax(-1)
    truth = torch.where(shown != 0, weights / (1 - P), 0.0) @ v.double()
    grad = torch.randn_like(q)
    (wanted,) = torch.autograd.grad(truth, leaf, grad.double())
    how = (bias, seed, P, False, 0.2)
    out, total = attend(q, k, v, *how)
    torch.testing.assert_close(out.double(), truth, rtol=1e-5, atol=1e-5)
    found = operators()["dropout_attention_mask_grad"](grad, q, k, v, out, total, *how)
    torch.testing.assert_close(found.double(), wanted, rtol=1e-5, atol=1e-5)


RESULTS: dict[str, Function] = {
    "flash": lambda q, k, v: FLASH(q, k, v, P)[0],
    "efficient": lambda q, k, v: EFFICIENT(q, k, v, None, True, P)[0],
    "cudnn": lambda q, k, v: CUDNN(q, k, v, None, True, P)[0],
}


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (0, 2, 1, 3), (2, 0, 1, 3)])
@pytest.mark.parametrize("function", RESULTS.values(), ids=RESULTS)
def test_results_have_the_strides_of_torch(function: Function, order: tuple[int, ...]) -> None:
    """Else what eager views would be copied, and what it copies be a view."""

    def stored(x: Tensor) -> Tensor:
        inverse = [order.index(d) for d in range(4)]
        return x.permute(order).contiguous().permute(inverse)

    inputs = [stored(x) for x in heads(37, 37)]
    theirs = function(*(x.to("meta") for x in inputs)).stride()
    gm = traced(function, *inputs)
    assert called(gm) == OURS[:1]
    (output,) = gm.graph.find_nodes(op="output")
    (found,) = output.all_input_nodes
    assert found.meta["val"].stride() == theirs
    attend, rest = operators()["dropout_attention"], (None, torch.tensor([1, 2]), P, False, 0.2)
    said = attend(*(x.to("meta") for x in inputs), None, rest[1].to("meta"), *rest[2:])[0].stride()
    assert attend(*inputs, *rest)[0].stride() == said


PROGRAM = """
import torch
from tilewright.frontend.fx.graph import Boundary, Fallback
from tilewright.frontend.cache.kept_graph import Kept
name = "dropout_attention_mask_grad"
assert not hasattr(torch.ops.tilewright, name)
call = Fallback("TW1101", f"tilewright::{name}", "here", "because")
Kept(Boundary((), (), (), (call,), False), None, "").load()
assert hasattr(torch.ops.tilewright, name)
"""


def test_a_process_that_loads_a_kept_graph_knows_the_operators() -> None:
    subprocess.run([sys.executable, "-c", PROGRAM], check=True, timeout=300)
