"""One function per class of kernel, with inputs that are as large as asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

Make = Callable[[int, torch.dtype], tuple[Tensor, ...]]


@dataclass(frozen=True)
class KernelClass:
    """A function that becomes one kernel (or, where two stages are needed, two)."""

    name: str
    kind: str
    """`elementwise`, `reduction` and `norm` have a goal in bandwidth; others are only checked."""
    run: Callable[..., Any]
    make: Make
    """(elements of the largest input, dtype) -> inputs on the CPU, seeded."""
    floats: bool = True
    """Whether it is tried in half precision, too."""
    differentiable: bool = True


def matrix(columns: int, *, extra: int = 0) -> Make:
    """Rows of so many columns; after them `extra` vectors of a row."""

    def make(elements: int, dtype: torch.dtype) -> tuple[Tensor, ...]:
        rows = max(1, elements // columns)
        vectors = [torch.randn(columns).to(dtype) for _ in range(extra)]
        return (torch.randn(rows, columns).to(dtype), *vectors)

    return make


def alike(count: int) -> Make:
    """So many tensors of one odd shape."""

    def make(elements: int, dtype: torch.dtype) -> tuple[Tensor, ...]:
        columns = 1023 if elements > 1 << 14 else 33
        return tuple(torch.randn(max(1, elements // columns), columns).to(dtype) for _ in range(count))

    return make


def indexed(elements: int, dtype: torch.dtype) -> tuple[Tensor, ...]:
    rows = max(2, elements // 256)
    return torch.randn(rows, 256).to(dtype), torch.randint(0, rows, (rows,))


def _heads(elements: int, dtype: torch.dtype) -> tuple[Tensor, ...]:
    length = 128 if elements <= 1 << 16 else 1024
    batch = max(1, elements // (4 * length * 64))
    return tuple(torch.randn(batch, 4, length, 64).to(dtype) for _ in range(3))


def _square(elements: int, dtype: torch.dtype) -> tuple[Tensor, ...]:
    n = max(32, int(elements**0.5) // 8 * 8 + 3)
    return torch.randn(n, n).to(dtype) / n**0.5, torch.randn(n, n).to(dtype), torch.randn(n).to(dtype)


def _images(elements: int, dtype: torch.dtype) -> tuple[Tensor, ...]:
    side = 16 if elements <= 1 << 16 else 56
    batch = max(1, elements // (16 * side * side))
    return torch.randn(batch, 16, side, side).to(dtype), torch.randn(32, 16, 3, 3).to(dtype) / 12


def _rms_norm(x: Tensor, weight: Tensor) -> Tensor:
    return x * torch.rsqrt(x.float().square().mean(-1, keepdim=True) + 1e-6).to(x.dtype) * weight


CLASSES: Sequence[KernelClass] = (
    KernelClass("copy-and-scale", "elementwise", lambda x: x * 2, alike(1)),
    KernelClass("chain", "elementwise", lambda x, y: torch.tanh(x * y + 1).sigmoid() * x, alike(2)),
    KernelClass("gelu", "elementwise", F.gelu, alike(1)),
    KernelClass("broadcast", "elementwise", lambda x, b: F.silu(x + b), matrix(1024, extra=1)),
    KernelClass("transpose", "view", lambda x: x.t().contiguous() + 1, alike(1)),
    KernelClass("concat", "view", lambda x, y: torch.cat([x, y * 2], 1), alike(2)),
    KernelClass("pad", "view", lambda x: F.pad(x, (1, 2)) * 2, alike(1)),
    KernelClass("sum-rows", "reduction", lambda x: x.sum(-1), matrix(1024)),
    KernelClass("sum-long-rows", "reduction", lambda x: x.sum(-1), matrix(100003)),
    KernelClass("sum-columns", "reduction", lambda x: x.sum(0), matrix(1024)),
    KernelClass("sum-all", "reduction", lambda x: x.sum(), alike(1)),
    KernelClass("amax", "reduction", lambda x: x.amax(-1), matrix(1000)),
    KernelClass("variance", "reduction", lambda x: torch.var_mean(x, -1), matrix(1024)),
    KernelClass("argmax", "search", lambda x: x.argmax(-1), matrix(1000), differentiable=False),
    KernelClass("cumsum", "scan", lambda x: x.cumsum(-1), matrix(512)),
    KernelClass("softmax", "norm", lambda x: torch.softmax(x, -1), matrix(1024)),
    KernelClass("log-softmax-long", "norm", lambda x: torch.log_softmax(x, -1), matrix(50257)),
    KernelClass(
        "layer-norm", "norm", lambda x, w, b: F.layer_norm(x, x.shape[-1:], w, b), matrix(1024, extra=2)
    ),
    KernelClass("rms-norm", "norm", _rms_norm, matrix(4096, extra=1)),
    KernelClass(
        "norm-of-sum", "norm",
        lambda x, w, b: F.gelu(F.layer_norm(x + b, x.shape[-1:], w)), matrix(768, extra=2),
    ),
    KernelClass("embedding", "indexing", lambda t, i: t[i] * 2, indexed),
    KernelClass("index-add", "indexing", lambda t, i: torch.zeros_like(t).index_add(0, i, t), indexed, False),
    KernelClass("sort", "search", lambda x: x.sort(-1).values, matrix(200)),
    KernelClass("topk", "search", lambda x: x.topk(5, -1).values, matrix(200)),
    KernelClass("integers", "elementwise", lambda i, j: (i // 3 + j) % 7 - (i & j), lambda n, _: (
        torch.randint(-1000, 1000, (n,)), torch.randint(0, 1000, (n,))), False, False),
    KernelClass("int8", "elementwise", lambda q: (q.float() * 0.5).to(torch.int8), lambda n, _: (
        torch.randint(-100, 100, (n,), dtype=torch.int8),), False, False),
    KernelClass("matmul", "product", lambda a, b, c: a @ b, _square),
    KernelClass("matmul-epilogue", "product", lambda a, b, c: F.gelu(a @ b + c), _square),
    KernelClass("matmul-prologue", "product", lambda a, b, c: F.silu(a) @ b, _square),
    KernelClass("bmm", "product", lambda q, k, v: (q.flatten(0, 1) @ k.flatten(0, 1).mT).relu(), _heads),
    KernelClass("attention", "attention", F.scaled_dot_product_attention, _heads),
    KernelClass(
        "causal-attention", "attention",
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), _heads,
    ),
    KernelClass("convolution", "product", lambda x, w: F.relu(F.conv2d(x, w, padding=1)), _images),
)  # fmt: skip


def bytes_moved(inputs: Sequence[Tensor], results: Any) -> int:
    """Each input read once, each result written once."""
    outputs = [results] if isinstance(results, Tensor) else [r for r in results if isinstance(r, Tensor)]
    return sum(t.numel() * t.element_size() for t in (*inputs, *outputs))
