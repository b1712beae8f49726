"""Whole graphs through the GPU pipeline, executed from their Triton text, against eager."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
import torch.nn.functional as F
import triton_graphs
from torch import Tensor, nn


@pytest.fixture(autouse=True)
def emulated() -> Iterator[None]:
    torch.manual_seed(0)
    torch._dynamo.reset()
    triton_graphs.UNITS.clear()
    triton_graphs.register()
    yield
    torch._dynamo.reset()


def compiled(function: Callable[..., Any], dynamic: bool | None = None) -> Callable[..., Any]:
    return torch.compile(function, backend="mlir", dynamic=dynamic, options={"target": "emulated"})


def kernels() -> list[str]:
    return [kernel.name for unit in triton_graphs.UNITS for kernel in unit.kernels]


def check(function: Callable[..., Any], *inputs: Any, dynamic: bool | None = None, **tolerance: Any) -> None:
    expected = function(*inputs)
    torch.testing.assert_close(compiled(function, dynamic)(*inputs), expected, equal_nan=True, **tolerance)


class Block(nn.Module):
    def __init__(self, width: int = 24, heads: int = 3) -> None:
        super().__init__()
        self.heads = heads
        self.norms = nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        b, t, d = x.shape
        q, k, v = self.qkv(self.norms[0](x)).view(b, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        weights = torch.softmax(q @ k.transpose(-1, -2) / 3, -1)
        x = x + self.out((weights @ v).transpose(1, 2).reshape(b, t, d))
        return x + self.down(F.gelu(self.up(self.norms[1](x))))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_transformer_block_and_its_gradients(dtype: torch.dtype) -> None:
    model = Block().to(dtype)
    x = torch.randn(2, 19, 24, dtype=dtype)
    exact, parameters = Block().double(), list(model.parameters())
    exact.load_state_dict(model.state_dict())
    truth = torch.autograd.grad(exact(x.double()).square().mean(), list(exact.parameters()))
    eager = torch.autograd.grad(model(x).float().square().mean(), parameters)
    ours = torch.autograd.grad(compiled(model)(x).float().square().mean(), parameters)
    factor = 2 if dtype == torch.float32 else 3
    for found, base, wanted in zip(ours, eager, truth, strict=True):
        if torch.allclose(found, base):
            continue
        error, limit = (found - wanted).square().mean().sqrt(), (base - wanted).square().mean().sqrt()
        assert error <= factor * limit + 1e-12
    assert any("matmul" in name for name in kernels()) == (dtype != torch.float32)


def test_convolutions_with_batch_norm_of_many_sizes() -> None:
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2)).train()
    check(model.eval(), torch.randn(2, 3, 13, 17), dynamic=True)
    check(model, torch.randn(3, 3, 11, 17), dynamic=True)


def test_views_scans_and_positions() -> None:
    def function(x: Tensor, i: Tensor) -> list[Any]:
        return [
            x.cumsum(1), *x.max(1), torch.cat([x, x[:, :3] * 2], 1), x[i], F.pad(x, (2, 1)), x.var(0),
            x.t().contiguous(), torch.logsumexp(x, 1), x.prod(0), x.argmin(), x.flip(0),
        ]  # fmt: skip

    check(function, torch.randn(13, 21), torch.tensor([0, 5, 12, -1]))
    check(function, torch.randn(7, 33), torch.tensor([0, 5]), dynamic=True)


def test_nan_and_infinities() -> None:
    def function(x: Tensor) -> list[Any]:
        return [
            *x.max(1), x.amin(1), torch.maximum(x, x.flip(0)), x.clamp(-1, 1), x.softmax(1), x.isnan().any(1),
            x.exp(), x.tanh(), x.sigmoid(), x.sum(), x.floor(), x.sign(),
        ]  # fmt: skip

    x = torch.randn(6, 11)
    x[2, 3], x[4, 5], x[5, 0] = float("nan"), float("inf"), -float("inf")
    check(function, x)


def test_integers_of_all_widths() -> None:
    def function(a: Tensor, b: Tensor, u: Tensor) -> list[Any]:
        return [
            a // b, a % b, a & b, ~a, a / b, torch.div(a, b, rounding_mode="trunc"), u + 1, u * 2,
            (u > 3).sum(), a.to(torch.int8), u.half(), a.sum(), a.max(), a.pow(2), a == b, a.bool(),
        ]  # fmt: skip

    wide = torch.randint(-(2**40), 2**40, (7, 9))
    check(function, wide, torch.randint(1, 9, (7, 9)), torch.randint(0, 255, (11,), dtype=torch.uint8))


def test_random_numbers_are_those_of_the_reference() -> None:
    def function(x: Tensor) -> tuple[Tensor, Tensor]:
        return F.dropout(x, 0.3), torch.randn_like(x)

    x, results = torch.randn(1000), []
    for target in ("emulated", "reference"):
        torch._dynamo.reset()
        torch.manual_seed(5)
        run = torch.compile(function, backend="mlir", options={"target": target})
        results.append(run(x))
    torch.testing.assert_close(*results)


def test_failed_checks_say_where() -> None:
    with pytest.raises(Exception, match="index out of range"):
        compiled(lambda x, i: x[i] * 2)(torch.randn(5), torch.tensor([1, 7]))


def test_long_sums_are_split_and_exact_enough() -> None:
    x = torch.randn(300, 700)
    eager, exact = x.sum(), x.double().sum()
    found = compiled(lambda x: x.sum())(x)
    assert len(kernels()) == 2
    assert abs(found - exact) <= max(2 * abs(eager - exact), 1e-3)
    check(lambda x: (x - x.mean()) / x.std(), torch.randn(200, 700), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("size", [0, 70000])
def test_one_kernel_of_symbolic_length_serves_all(size: int) -> None:
    run = compiled(lambda x: (x.sum(), x * 2), dynamic=True)
    for n in (300_000, size + 2):
        x = torch.randn(n)
        total, twice = run(x)
        torch.testing.assert_close(twice, x * 2)
        torch.testing.assert_close(total.double(), x.double().sum(), rtol=1e-4, atol=1e-2)
    assert len(triton_graphs.UNITS) == 1


def test_split_sums_of_products() -> None:
    a, b = torch.randn(32, 4096).bfloat16() * 0.02, torch.randn(4096, 40).bfloat16()
    check(lambda a, b: torch.tanh(a @ b), a, b, rtol=2e-2, atol=2e-2)
    assert len(kernels()) == 2


def test_empty_and_scalar_tensors() -> None:
    for x in (torch.randn(0, 5), torch.tensor(0.4)):
        check(lambda x: (x.exp(), x.sum(), x + 1), x)


def test_kernels_are_not_called_by_words_of_python() -> None:
    a, b = torch.rand(7, 5) > 0.5, torch.rand(7, 5) > 0.5
    check(lambda a, b: a & b, a, b)
    assert kernels() == ["and_kernel"]
