"""Attention with dropout as torch chooses it for GPUs, compiled forward and backward; kernels run from text.

The operators have no kernel for CPUs: what eager computes is written out here, with the weights that the
reference generator leaves out.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any
from unittest import mock

import pytest
import torch
from test_gpu_emulated import OPTIONS, compiled, floats
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from benchmarks.numerics import judge
from tilewright.dialects.philox import uniform
from tilewright.frontend import compile as driver
from tilewright.frontend.errors import MissingTarget
from tilewright.frontend.runtime.aten_runtime import RunsByAten, forget_warnings

ATEN = torch.ops.aten
EFFICIENT = ATEN._scaled_dot_product_efficient_attention
P = 0.3
Function = Callable[..., Tensor]


def efficient(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None, **how: Any) -> Tensor:
    return EFFICIENT(q, k, v, mask, True, P, **how)[0]


def flash(q: Tensor, k: Tensor, v: Tensor, **how: Any) -> Tensor:
    return ATEN._scaled_dot_product_flash_attention(q, k, v, P, **how)[0]


def cudnn(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None, **how: Any) -> Tensor:
    return ATEN._scaled_dot_product_cudnn_attention(q, k, v, mask, True, P, **how)[0]


def kept(q: Tensor, keys: int, seed: int) -> Tensor:
    """The weights that dropout leaves in the first attention of a graph."""
    torch.manual_seed(seed)
    key, first = torch.randint(-(2**63), 2**63 - 1, (2,))
    shape = (*q.shape[:3], keys)
    return (uniform(int(key), torch.arange(math.prod(shape)) + (first & -4)) >= P).view(shape)


def eager(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, left: Tensor, *, is_causal: bool = False
) -> Tensor:
    group = q.shape[1] // k.shape[1]
    k, v = (x.repeat_interleave(group, 1) for x in (k, v))
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    scores = scores if mask is None else scores + mask
    if is_causal:
        scores = scores.masked_fill(torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1), -math.inf)
    return torch.where(left, scores.softmax(-1) / (1 - P), 0.0).to(v.dtype) @ v


def step(function: Function, inputs: list[Tensor], mask: Tensor | None, **how: Any) -> list[Tensor]:
    """The result and the gradients."""
    leaves = [x.detach().clone().requires_grad_() for x in inputs]
    out = function(*leaves, **({} if mask is None else {"mask": mask}), **how)
    grad = torch.randn(out.shape, generator=torch.Generator().manual_seed(8), dtype=torch.float64)
    return [out.detach(), *torch.autograd.grad(out, leaves, grad.to(inputs[0].dtype).to(out.dtype))]


def check(function: Function, inputs: list[Tensor], mask: Tensor | None = None, **how: Any) -> None:
    """Forward and backward are as close to float64 as eager's, with the same weights left out."""
    torch.manual_seed(7)
    found = step(compiled(function), inputs, mask, **how)
    left = kept(inputs[0], inputs[1].shape[2], 7)
    wanted, truth = (
        step(lambda q, k, v, mask=None: eager(q, k, v, mask, left, **how), given, wide)
        for given, wide in (
            (inputs, mask),
            ([x.double() for x in inputs], None if mask is None else mask.double()),
        )
    )
    verdict = judge(found, wanted, truth)
    assert verdict, verdict.why


def heads(rows: int, keys: int, depth: int = 24, shared: int = 3, **how: Any) -> list[Tensor]:
    return [
        floats(2, h, n, depth, seed=i, **how)
        for i, (h, n) in enumerate(((3, rows), (shared, keys), (shared, keys)))
    ]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("causal", [False, True])
def test_more_than_one_block_of_rows_and_keys(dtype: torch.dtype, causal: bool) -> None:
    check(efficient, heads(149, 149, dtype=dtype), is_causal=causal)


@pytest.mark.parametrize(("rows", "keys"), [(19, 75), (75, 19)])
def test_unequal_lengths(rows: int, keys: int) -> None:
    check(efficient, heads(rows, keys, 40))


def test_a_mask_of_numbers() -> None:
    check(efficient, heads(19, 40), floats(2, 1, 1, 40, seed=9))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_heads_share_keys(dtype: torch.dtype) -> None:
    check(efficient, heads(19, 40, shared=1, dtype=dtype))


@pytest.mark.parametrize("function", [flash, cudnn])
def test_other_operators(function: Function) -> None:
    check(function, heads(37, 37, dtype=torch.bfloat16), is_causal=True)


def test_lengths_are_symbols() -> None:
    torch._dynamo.reset()  # which remembers other sizes of heads, and would take these for symbols, too
    run = torch.compile(efficient, backend="mlir", options=OPTIONS)
    for rows, keys in ((7, 33), (70, 64)):
        inputs = [x.requires_grad_() for x in heads(rows, keys, 16)]
        for tensor in inputs:
            torch._dynamo.mark_dynamic(tensor, 2)
        torch.manual_seed(3)
        out = run(*inputs)
        found = [out, *torch.autograd.grad(out.square().sum(), inputs)]
        left = kept(inputs[0].detach(), keys, 3)
        want = eager(*inputs, None, left)
        wanted = [want, *torch.autograd.grad(want.square().sum(), inputs)]
        for one, other in zip(found, wanted, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)


def test_the_weights_that_are_left() -> None:
    """Keys that are zero, and the columns of an identity as values, show them."""
    q = floats(2, 3, 37, 16)
    k, v = torch.zeros(2, 3, 45, 16), torch.eye(45).expand(2, 3, 45, 45).contiguous()
    torch.manual_seed(6)
    found = compiled(efficient)(q, k, v)
    assert torch.equal(found != 0, kept(q, 45, 6))
    torch.testing.assert_close(found, (found != 0) / (45 * (1 - P)))


def test_the_seed_of_torch_repeats_the_mask_and_calls_differ() -> None:
    run, inputs = compiled(efficient), heads(19, 40)
    torch.manual_seed(5)
    first, second = run(*inputs), run(*inputs)
    torch.manual_seed(5)
    assert torch.equal(run(*inputs), first)
    assert not torch.equal(first, second)


def test_two_layers_drop_other_weights() -> None:
    """Each has a seed of its own, drawn together with the graph's."""
    q, k = torch.randn(2, 3, 40, 16), torch.zeros(2, 3, 40, 16)
    v = torch.eye(40).expand(2, 3, 40, 40).contiguous()
    torch.manual_seed(2)
    found = compiled(lambda q, k, v: (efficient(q, k, v), torch.rand(9600), efficient(q, k, v)))(q, k, v)
    one, other = (x.flatten() != 0 for x in (found[0], found[2]))
    both = {"layers": one == other, "rand": one == (found[1] >= P)}
    for name, same in both.items():
        share = float(same.float().mean())
        assert abs(share - (P**2 + (1 - P) ** 2)) < 4 * (0.25 / 9600) ** 0.5, name


@pytest.mark.parametrize("kind", ["forward", "backward"])
def test_a_graph_that_runs_by_aten_drops_the_same_weights(kind: str) -> None:
    """Either of the two may be left to ATen, whatever the other is."""
    inputs = heads(37, 45)
    torch.manual_seed(4)
    wanted = step(compiled(efficient), inputs, None, is_causal=True)
    build = driver.build

    def partly(name: str, graph: Any, request: Any) -> Any:
        if request.kind == kind:
            raise MissingTarget(name="gpu", reason="a test")
        return build(name, graph, request)

    torch._dynamo.reset()
    forget_warnings()
    run = torch.compile(efficient, backend="mlir", options={**OPTIONS, "fallback": True})
    torch.manual_seed(4)
    with mock.patch.object(driver, "build", partly), pytest.warns(RunsByAten, match="a test"):
        found = step(run, inputs, None, is_causal=True)
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-5)


def test_what_a_checkpoint_recomputes_drops_the_same_weights() -> None:
    """The seed is kept, not drawn again."""
    inputs = heads(19, 40, 16)
    found: list[list[Tensor]] = []
    for function in (efficient, lambda *x: checkpoint(efficient, *x, use_reentrant=False)):
        torch._dynamo.reset()
        run = torch.compile(function, backend="mlir", options=OPTIONS)
        torch.manual_seed(4)
        found.append(step(run, inputs, None))
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("shape", [(), (7,), (4099,), (13, 7), (64, 96), (3, 33, 20)], ids=str)
def test_numbers_are_those_of_cpus(shape: tuple[int, ...]) -> None:
    """In fours along rows or columns, or each of a block: one seed gives one result, whatever the target."""

    sizes, order = shape[::-1], tuple(reversed(range(len(shape))))

    def draws(x: Tensor) -> tuple[Tensor, ...]:
        first, second = torch.rand_like(x), torch.rand_like(x)
        return first, second.flatten() * 2, torch.rand(sizes).permute(order) + x

    found: list[tuple[Tensor, ...]] = []
    for target in ("gpu_emulated", "cpu_openmp"):
        torch.compiler.reset()
        torch.manual_seed(3)  # pyright: ignore[reportUnknownMemberType]
        run = torch.compile(draws, backend="mlir", options={"target": target, "fallback": False})
        found.append(run(torch.zeros(shape)))
    torch.testing.assert_close(*found, rtol=0, atol=0)
