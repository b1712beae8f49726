"""Flex attention is compiled like what torch says that it means: results and gradients, on every target."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.attention import flex_attention as flex
from torch.nn.attention.flex_attention import AuxRequest, and_masks, create_block_mask, flex_attention

import tilewright
from benchmarks.numerics import judge

Function = Callable[..., Any]
TARGETS = ("cpu_openmp", "reference", "gpu_emulated")

pytestmark = pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile")


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eager computes gradients on CPUs, too, but for a check in front."""
    monkeypatch.setattr(flex, "_validate_device", lambda *_: None)
    torch._dynamo.reset()


def floats(*shape: int, dtype: torch.dtype = torch.float32, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def heads(rows: int, keys: int, *, shared: int = 1, dtype: torch.dtype = torch.float32) -> list[Tensor]:
    """Two batches, four heads of queries; keys have more columns than values."""
    key, value = (2, 4 // shared, keys, 12), (2, 4 // shared, keys, 7)
    return [floats(*shape, dtype=dtype, seed=i) for i, shape in enumerate(((2, 4, rows, 12), key, value))]


def run(function: Function, inputs: list[Tensor], *, training: bool) -> list[Tensor]:
    """What it returns, and with `training` the gradients of all inputs."""
    leaves = [t.detach().clone().requires_grad_(training) for t in inputs]
    out = function(*leaves)
    outs = list(out) if isinstance(out, tuple) else [out]
    if not training:
        return outs
    grads = [floats(*o.shape, dtype=torch.float64, seed=8 + i).to(o.dtype) for i, o in enumerate(outs)]
    return [*outs, *torch.autograd.grad(outs, leaves, grads)]


def check(function: Function, *inputs: Tensor, training: bool = False, **how: Any) -> None:
    """As close to float64 as eager is, without a fall-back."""
    how.setdefault("options", {})["fallback"] = False
    found = run(torch.compile(function, backend="mlir", **how), list(inputs), training=training)
    wanted = run(function, list(inputs), training=training)
    truth = run(function, [t.double() for t in inputs], training=training)
    assert (verdict := judge(found, wanted, truth)), verdict.why


def distance(score: Tensor, b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
    return score - (i - j).abs() * torch.exp2(-(h + 1.0))


def causal(b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
    return i >= j


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64], ids=str)
def test_scores(target: str, dtype: torch.dtype) -> None:
    """Captured tensors are read by indices; all gradients, also of heads that share keys."""

    def attention(q: Tensor, k: Tensor, v: Tensor, slopes: Tensor, table: Tensor) -> Tensor:
        def score(value: Tensor, b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
            return 5 * torch.tanh(value / 5) * slopes[h] + table[b, i - j + 20]

        return flex_attention(q * 2, k, v, score_mod=score, scale=0.3, enable_gqa=True) + 1

    captured = [floats(4, dtype=dtype, seed=5), floats(2, 40, dtype=dtype, seed=6)]
    inputs = [*heads(19, 21, shared=2, dtype=dtype), *captured]
    check(attention, *inputs, training=True, options={"target": target})


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("target", TARGETS)
def test_masks(target: str, training: bool) -> None:
    """Row 3 sees nothing, and is 0; blocks say nothing that the mask does not."""
    mask = create_block_mask(
        and_masks(causal, lambda b, h, i, j: (i != 3) & (j % 5 != h)), None, 4, 37, 37, "cpu", BLOCK_SIZE=8
    )

    def attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return flex_attention(q, k, v, score_mod=distance, block_mask=mask)

    inputs = heads(37, 37)
    assert (torch.compile(attention, backend="mlir")(*inputs)[:, :, 3] == 0).all()
    check(attention, *inputs, training=training, options={"target": target})


def test_log_sum_exp_and_its_gradient() -> None:
    def attention(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        out, aux = flex_attention(q, k, v, score_mod=distance, return_aux=AuxRequest(lse=True))
        return out, aux.lse

    check(attention, *heads(9, 21), training=True)


def test_layouts() -> None:
    """Heads inside, as projections leave them; one batch of keys for two of queries."""

    class Layer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.project, self.out = nn.Linear(24, 72), nn.Linear(24, 24)
            self.bias = nn.Parameter(floats(3, 40, seed=4))

        def forward(self, x: Tensor) -> Tensor:
            q, k, v = self.project(x).unflatten(-1, (3, 3, 8)).permute(2, 0, 3, 1, 4)
            found = flex_attention(q, k, v, score_mod=self.score)
            return self.out(found.transpose(1, 2).flatten(2)).relu()

        def score(self, value: Tensor, b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
            return value + self.bias[h, i - j + 17]

    model, x = Layer(), floats(2, 17, 24)
    results = []
    for function in (model, torch.compile(model, backend="mlir", options={"fallback": False})):
        model.zero_grad()
        out = function(x)
        out.square().sum().backward()
        results.append([out, *(p.grad for p in model.parameters())])
    torch.testing.assert_close(*results, rtol=1e-4, atol=1e-5)

    mask = create_block_mask(lambda b, h, i, j: (j + b) % 3 != 0, 2, None, 19, 21, "cpu", BLOCK_SIZE=8)
    q, k, v = heads(19, 21)
    check(lambda q, k, v: flex_attention(q, k, v, block_mask=mask), q, k[:1], v[:1], training=True)


@pytest.mark.parametrize("target", TARGETS)
def test_symbolic_lengths(target: str) -> None:
    def attention(q: Tensor, k: Tensor, v: Tensor, slopes: Tensor) -> Tensor:
        def score(value: Tensor, b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
            return value + slopes[h] * (i - j)

        return flex_attention(q, k, v, score_mod=score)

    function = torch.compile(attention, backend="mlir", options={"target": target}, dynamic=True)
    for rows, keys in ((9, 21), (17, 33)):
        inputs = [*heads(rows, keys), floats(4, seed=3)]
        found, wanted = (run(f, inputs, training=True) for f in (function, attention))
        torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)


def test_scores_softmax_mask_and_products_are_one_kernel() -> None:
    """Nothing of the size of scores is a buffer, nor a table of the mask's blocks, whose lists it walks."""
    mask = create_block_mask(causal, None, None, 64, 64, "cpu", BLOCK_SIZE=16)
    found = tilewright.explain(
        lambda q, k, v: flex_attention(q, k, v, score_mod=distance, block_mask=mask),
        *(floats(1, 2, 64, 16, seed=i) for i in range(3)),
    )
    (graph,) = found.graphs
    assert found.fallbacks == 0
    assert sum(graph.kernels.values()) == 1
    assert not graph.library_calls
    assert int(graph.arena_bytes) == 0


def test_two_functions_of_one_line_are_two_entries(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    """What AOTAutograd's cache keeps of a graph depends on the graphs that hang on it."""
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "torch"))
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path / "ours"))

    def make(change: Function) -> Function:
        return lambda q, k, v: flex_attention(q, k, v, score_mod=lambda s, b, h, i, j: change(s, i))

    inputs = heads(9, 21)
    for change in (lambda s, i: s * 2 + i, lambda s, i: s * 3 - i, lambda s, i: s * 2 + i):
        torch._dynamo.reset()
        found, wanted = (
            run(f, inputs, training=True) for f in (torch.compile(make(change), backend="mlir"), make(change))
        )
        torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)


def test_nested_regions_are_inlined() -> None:
    @torch.compiler.nested_compile_region
    def region(x: Tensor) -> Tensor:
        return x.sin() * 2

    def f(x: Tensor) -> Tensor:
        return region(x + 1) + region(x * 2)

    x = floats(3, 5).requires_grad_()
    found = tilewright.explain(f, x)
    torch.testing.assert_close(found.result, f(x))
    assert (found.fallbacks, [sum(g.kernels.values()) for g in found.graphs]) == (0, [1, 1])


def test_what_vmap_cannot_do_runs_in_python() -> None:
    """A score that torch itself could only compute number by number."""

    def attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        def score(value: Tensor, b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
            return torch.special.chebyshev_polynomial_t(value, 2)

        return flex_attention(q, k, v, score_mod=score) + 1

    inputs = [floats(1, 1, n, 4, seed=n) for n in (3, 5, 5)]
    found = tilewright.explain(attention, *inputs)
    torch.testing.assert_close(found.result, attention(*inputs))
    ((call,),) = (graph.fallbacks for graph in found.graphs)
    assert (call.code, call.op) == ("TW1105", "higher_order::flex_attention")
    assert "cannot be traced: aten::special_chebyshev_polynomial_t" in call.reason
