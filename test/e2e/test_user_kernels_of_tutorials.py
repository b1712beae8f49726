"""Users' Triton kernels as tutorials write them: loops over rows, products, random numbers, atomics."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor
from user_kernels import run, seen_by_dynamo

triton = pytest.importorskip("triton")
tl: Any = pytest.importorskip("triton.language")

__all__ = ["seen_by_dynamo"]


@triton.jit
def rows_of_softmax(out, x, x_step, out_step, rows, columns, BLOCK: tl.constexpr, num_stages: tl.constexpr):
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0), num_stages=num_stages):
        c = tl.arange(0, BLOCK)
        value = tl.load(x + row * x_step + c, mask=c < columns, other=-float("inf"))
        value = tl.exp(value - tl.max(value, axis=0))
        tl.store(out + row * out_step + c, value / tl.sum(value, axis=0), mask=c < columns)


@triton.jit
def leaky(value):
    return tl.where(value >= 0, value, 0.01 * value)


@triton.jit
def product(
    a, b, c, M, N, K, a0, a1, b0, b1, c0, c1,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr, ACTIVATION: tl.constexpr,
):  # fmt: skip
    pid = tl.program_id(axis=0)
    across = tl.cdiv(N, BN)
    first = pid // (GROUP * across) * GROUP
    size = min(tl.cdiv(M, BM) - first, GROUP)
    m = ((first + pid % (GROUP * across) % size) * BM + tl.arange(0, BM)) % M
    n = (pid % (GROUP * across) // size * BN + tl.arange(0, BN)) % N
    k = tl.arange(0, BK)
    left, right = a + m[:, None] * a0 + k[None, :] * a1, b + k[:, None] * b0 + n[None, :] * b1
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for step in range(0, tl.cdiv(K, BK)):
        x = tl.load(left, mask=k[None, :] < K - step * BK, other=0.0)
        y = tl.load(right, mask=k[:, None] < K - step * BK, other=0.0)
        total = tl.dot(x, y, total)
        left += BK * a1
        right += BK * b0
    if ACTIVATION == "leaky":
        total = leaky(total)
    tl.store(c + m[:, None] * c0 + n[None, :] * c1, total.to(c.dtype.element_ty))


@triton.jit
def dropped(x, out, n, p, seed, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i, mask=i < n)
    tl.store(out + i, tl.where(tl.rand(seed, i) > p, value / (1 - p), 0.0), mask=i < n)


@triton.jit
def counts(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out + tl.load(x + i, mask=i < n, other=0), 1.0, mask=i < n)


def test_rows_in_a_loop() -> None:
    def f(x: Tensor) -> Tensor:
        out = torch.empty_like(x)
        steps = (x.stride(0), out.stride(0), *x.shape)
        rows_of_softmax[(4,)](out, x, *steps, triton.next_power_of_2(x.shape[1]), 2, num_warps=8)
        return out * 2

    x = torch.randn(37, 50)
    torch.testing.assert_close(run(f, x), x.softmax(1) * 2)


def test_a_matrix_product() -> None:
    def f(a: Tensor, b: Tensor) -> Tensor:
        (rows, inner), columns = a.shape, b.shape[1]
        c = torch.empty((rows, columns), dtype=torch.float16)
        blocks = {"BM": 32, "BN": 32, "BK": 16, "GROUP": 8, "ACTIVATION": "leaky"}
        grid = lambda meta: (triton.cdiv(rows, meta["BM"]) * triton.cdiv(columns, meta["BN"]),)  # noqa: E731
        product[grid](a, b, c, rows, columns, inner, *a.stride(), *b.stride(), *c.stride(), **blocks)
        return c + 1

    a, b = torch.randn(70, 45).half(), torch.randn(45, 40).half()
    wanted = torch.nn.functional.leaky_relu(a.float() @ b.float()).half() + 1
    torch.testing.assert_close(run(f, a, b), wanted, rtol=2e-3, atol=2e-3)


def test_random_numbers() -> None:
    def f(x: Tensor) -> Tensor:
        out = torch.empty_like(x)
        dropped[(triton.cdiv(x.numel(), 128),)](x, out, x.numel(), 0.25, 123, BLOCK=128)
        return out

    x = torch.randn(500)
    found = run(f, x)
    torch.testing.assert_close(found[found != 0], (x / 0.75)[found != 0])
    assert 0.6 < (found != 0).float().mean() < 0.9


def test_atomic_operations() -> None:
    def f(x: Tensor) -> Tensor:
        out = torch.zeros(10)
        counts[(triton.cdiv(x.numel(), 64),)](x, out, x.numel(), BLOCK=64)
        return out + 1

    x = torch.randint(0, 10, (300,))
    torch.testing.assert_close(run(f, x), torch.bincount(x, minlength=10).float() + 1)
