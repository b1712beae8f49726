"""What torch chooses for tensors of GPUs, traced without one, and executed from Triton text."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch._dynamo.source import ConstantSource
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx import GraphModule
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv, StatelessSymbolicContext
from xdsl.dialects.builtin import TensorType, f32
from xdsl.utils.test_value import create_ssa_value

from tilewright.dialects.registry import new_context
from tilewright.dialects.tw.aten import AtenOp
from tilewright.dialects.tw.attention import AttentionBackwardOp, AttentionOp
from tilewright.dialects.types import tensor_type
from tilewright.frontend.aten.attention_base import backward, forward
from tilewright.frontend.aten.builder import Builder
from tilewright.frontend.errors import FallbackRefused, Unsupported
from tilewright.frontend.fx.fx_import import import_fx
from tilewright.frontend.fx.graph import Graph, Result
from tilewright.passes.manager import parse_pipeline, run_pipeline
from tilewright.passes.pipeline import pipeline_text
from tilewright.targets.gpu_triton.emit import emit_unit
from tilewright.targets.gpu_triton.emulate import run_graph

ATEN = torch.ops.aten
FLASH, FLASH_BACKWARD = (
    ATEN._scaled_dot_product_flash_attention,
    ATEN._scaled_dot_product_flash_attention_backward,
)
EFFICIENT = ATEN._scaled_dot_product_efficient_attention
EFFICIENT_BACKWARD = ATEN._scaled_dot_product_efficient_attention_backward
CUDNN, CUDNN_BACKWARD = (
    ATEN._scaled_dot_product_cudnn_attention,
    ATEN._scaled_dot_product_cudnn_attention_backward,
)
Function = Callable[..., Any]


def traced(function: Function, *inputs: Tensor) -> GraphModule:
    """As for tensors of a GPU: those of `meta` take the same operators."""
    with FakeTensorMode() as mode:
        args = [torch.empty_strided(x.shape, x.stride(), dtype=x.dtype, device="meta") for x in inputs]
    with mode:
        return make_fx(function)(*args)


def imported(function: Function, *inputs: Tensor, fallback: bool = False) -> Graph:
    return import_fx(traced(function, *inputs), fallback=fallback)


def run(function: Function, *inputs: Tensor) -> list[Tensor]:
    """The results of the traced graph, its kernels executed from their text."""
    graph = imported(function, *inputs)
    run_pipeline(new_context(), graph.module, parse_pipeline(pipeline_text("gpu")))
    found = run_graph(graph.module, emit_unit(graph.module), list(inputs))
    return [found[out.index] for out in graph.outputs if isinstance(out, Result)]


def heads(rows: int, keys: int, dtype: torch.dtype = torch.float32, shared: int = 3) -> list[Tensor]:
    generator = torch.Generator().manual_seed(0)
    shapes = ((2, 3, rows, 24), (2, shared, keys, 24), (2, shared, keys, 24))
    return [torch.randn(shape, generator=generator).to(dtype) for shape in shapes]


def truth(
    q: Tensor, k: Tensor, v: Tensor, grad: Tensor, mask: Tensor | None = None, **how: Any
) -> list[Tensor]:
    """Result, log-sum-exp and gradients, in float64."""
    wide = [x.double().requires_grad_() for x in (q, k, v)]
    mask = None if mask is None else mask.double()
    out = F.scaled_dot_product_attention(*wide, mask, **how, enable_gqa=True)
    gradients = torch.autograd.grad(out, wide, grad.double())
    with torch.no_grad():
        scores = wide[0] @ wide[1].repeat_interleave(q.shape[1] // k.shape[1], 1).mT
        scores = scores * (how.get("scale") or 1 / math.sqrt(q.shape[-1])) + (0 if mask is None else mask)
        if how.get("is_causal"):
            hidden = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
            scores = scores.masked_fill(hidden, -math.inf)
    return [out.detach(), scores.logsumexp(-1), *gradients]


def check(found: list[Tensor], wanted: list[Tensor], dtype: torch.dtype) -> None:
    limit = {torch.float32: 1e-5, torch.float16: 4e-3, torch.bfloat16: 3e-2}[dtype]
    for x, y in zip(found, wanted, strict=True):
        torch.testing.assert_close(x.double(), y, rtol=limit, atol=limit)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("causal", [False, True])
def test_flash(dtype: torch.dtype, causal: bool) -> None:
    def step(q: Tensor, k: Tensor, v: Tensor, grad: Tensor) -> tuple[Tensor, ...]:
        out, total, cq, ck, mq, mk, seed, offset, _ = FLASH(q, k, v, 0.0, causal, scale=0.3)
        saved = (q, k, v, out, total, cq, ck, mq, mk, 0.0, causal, seed, offset)
        return (out, total, *FLASH_BACKWARD(grad, *saved, scale=0.3))

    q, k, v = heads(37, 37, dtype)
    grad = torch.randn(q.shape, generator=torch.Generator().manual_seed(1)).to(dtype)
    check(run(step, q, k, v, grad), truth(q, k, v, grad, is_causal=causal, scale=0.3), dtype)


@pytest.mark.parametrize("rows", [32, 37])
@pytest.mark.parametrize("biased", [False, True])
def test_efficient(rows: int, biased: bool) -> None:
    """The log-sum-exp has whole warps of rows, and infinity in those that are none."""

    def step(q: Tensor, k: Tensor, v: Tensor, grad: Tensor, *bias: Tensor) -> tuple[Tensor, ...]:
        mask = bias[0] if bias else None
        out, total, seed, offset = EFFICIENT(q, k, v, mask, True)
        want = [True, True, True, False]
        *grads, none = EFFICIENT_BACKWARD(grad, q, k, v, mask, out, total, seed, offset, 0.0, want)
        assert none is None
        return (out, total, *grads)

    q, k, v = heads(rows, 40)
    grad, bias = torch.randn_like(q), torch.randn(2, 3, rows, 40)
    inputs = (q, k, v, grad, *([bias] if biased else []))
    out, total, *grads = run(step, *inputs)
    assert total.shape == (2, 3, -(-rows // 32) * 32)
    assert (total[..., rows:] == math.inf).all()
    wanted = truth(q, k, v, grad, *inputs[4:])
    check([out, total[..., :rows], *grads], wanted, torch.float32)


def test_efficient_of_a_symbolic_length() -> None:
    """Whole warps of rows, of a number that is known when it runs."""
    sizes = [DimDynamic.STATIC, DimDynamic.STATIC, DimDynamic.DYNAMIC, DimDynamic.STATIC]
    mode = FakeTensorMode(shape_env=ShapeEnv())
    context: Any = StatelessSymbolicContext(sizes)
    source = ConstantSource("q")
    like = mode.from_tensor(torch.empty(2, 3, 37, 24, device="meta"), symbolic_context=context, source=source)
    with mode:
        gm = make_fx(lambda q: EFFICIENT(q, q, q, None, True)[:2])(like)
    graph = import_fx(gm, fallback=False)
    run_pipeline(new_context(), graph.module, parse_pipeline(pipeline_text("gpu")))
    q = heads(45, 45)[0]
    out, total = run_graph(graph.module, emit_unit(graph.module), [45, q])
    assert total.shape == (2, 3, 64)
    assert (total[..., 45:] == math.inf).all()
    check([out, total[..., :45]], truth(q, q, q, q)[:2], torch.float32)


def test_efficient_with_a_causal_mask_of_unequal_lengths() -> None:
    """It begins at the first key."""
    q, k, v = heads(19, 40)
    found = run(lambda q, k, v: EFFICIENT(q, k, v, None, True, 0.0, True)[:1], q, k, v)
    check(found, [F.scaled_dot_product_attention(q, k, v, is_causal=True).double()], torch.float32)


def test_efficient_without_the_log_of_sums() -> None:
    q, k, v = heads(19, 40)
    _, total = run(lambda q, k, v: EFFICIENT(q, k, v, None, False)[:2], q, k, v)
    assert total.shape == (2, 3, 0)


def test_cudnn() -> None:
    def step(q: Tensor, k: Tensor, v: Tensor, grad: Tensor, bias: Tensor) -> tuple[Tensor, ...]:
        out, total, cq, ck, mq, mk, seed, offset, _ = CUDNN(q, k, v, bias, True)
        saved = (q, k, v, out, total, seed, offset, bias, cq, ck, mq, mk, 0.0, False)
        return (out, total, *CUDNN_BACKWARD(grad, *saved))

    q, k, v = heads(37, 40, torch.bfloat16)
    grad, bias = torch.randn(q.shape).bfloat16(), torch.randn(2, 1, 37, 40).bfloat16()
    out, total, *grads = run(step, q, k, v, grad, bias)
    assert total.shape == (2, 3, 37, 1)
    check([out, total[..., 0], *grads], truth(q, k, v, grad, bias), torch.bfloat16)


def test_seeds_without_dropout_are_nothing() -> None:
    """A backward pass of ATen's gets seeds of the right type, which it does not look at."""
    q, k, v = heads(37, 37, torch.bfloat16)
    graph = imported(lambda *x: tuple(t for t in FLASH(*x)[6:] if t.numel()), q, k, v)
    (seed, offset) = graph.outputs
    assert isinstance(seed, Result)
    assert isinstance(offset, Result)
    assert seed.dtype == offset.dtype == torch.uint64


LEFT: dict[str, tuple[Function, tuple[int, int], str]] = {
    "dropout": (lambda q, k, v: FLASH(q, k, v, 0.1)[:1], (37, 37), "with dropout"),
    "weights": (
        lambda q, k, v: CUDNN(q, k, v, None, True, 0.0, False, True)[:1],
        (37, 37),
        "returns its weights",
    ),
    "unequal": (lambda q, k, v: FLASH(q, k, v, 0.0, True)[:1], (19, 40), "mask of unequal lengths"),
    "one_row": (lambda q, k, v: FLASH(q, k, v)[:1], (1, 40), "no more than one element"),
}


@pytest.mark.parametrize(("function", "sizes", "why"), LEFT.values(), ids=LEFT)
def test_what_is_left_to_aten(function: Function, sizes: tuple[int, int], why: str) -> None:
    inputs = heads(*sizes, torch.bfloat16)
    graph = imported(function, *inputs, fallback=True)
    ops = list(graph.main.body.block.ops)
    assert sum(isinstance(op, AtenOp) for op in ops) == 1
    assert not any(isinstance(op, AttentionOp) for op in ops)
    assert [why in f.reason for f in graph.fallbacks] == [True]
    with pytest.raises(FallbackRefused, match=why):
        imported(function, *inputs)


def test_the_gradient_of_a_mask_is_left_to_aten() -> None:
    """With the log-sum-exp of our forward pass, and seeds of no meaning."""

    def step(q: Tensor, k: Tensor, v: Tensor, bias: Tensor) -> Any:
        out, total, seed, offset = EFFICIENT(q, k, v, bias, True)
        want = [True, True, True, True]
        return EFFICIENT_BACKWARD(out, q, k, v, bias, out, total, seed, offset, 0.0, want)

    q, k, v = heads(37, 40)
    graph = imported(step, q, k, v, torch.randn(2, 3, 37, 40), fallback=True)
    ops = list(graph.main.body.block.ops)
    (call,) = (op for op in ops if isinstance(op, AtenOp))
    assert any(isinstance(op, AttentionOp) for op in ops)
    assert not any(isinstance(op, AttentionBackwardOp) for op in ops)
    assert all(isinstance(result.type, TensorType) for result in call.results)
    assert ["mask has a gradient" in f.reason for f in graph.fallbacks] == [True]


def test_only_four_dimensions() -> None:
    """Operators take more while fake tensors are traced; a library then refuses, in its own words."""
    value = create_ssa_value(tensor_type(f32, (2, 3, 4, 16, 8)))
    for row, count in ((forward, 3), (backward, 6)):
        with pytest.raises(Unsupported, match="attention of tensors with 5 dimensions"):
            row(Builder.__new__(Builder), [value] * count, None, 0.0, False, None)
