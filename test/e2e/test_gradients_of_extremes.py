"""The gradient of an extreme reaches the elements that equal it: some do, wherever halves are rounded."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from benchmarks.numerics import judge

TARGETS = ("reference", "cpu_openmp", "gpu_emulated")
ROWS, LENGTH = 24, 170


def values(x: Tensor, a: Tensor) -> Tensor:
    """Roundings of halves in a row, and sums of rows: computed again, they may differ."""
    y = x * a.exp() + a
    return y / (y.var(1, keepdim=True) + 1).sqrt()


def of_rows(x: Tensor, a: Tensor, b: Tensor) -> Tensor:
    return (values(x, a) + b).amax(1)


def of_columns(x: Tensor, a: Tensor, b: Tensor) -> Tensor:
    return (values(x, a).T + b.T).amin(0)


def of_all(x: Tensor, a: Tensor, b: Tensor) -> Tensor:
    return torch.stack([(values(x, a) + row).max() for row in b[:3]])


def of_absolute_values(x: Tensor, a: Tensor, b: Tensor) -> Tensor:
    return torch.linalg.vector_norm(values(x, a).abs() + b, torch.inf, 1)


def middle(x: Tensor, a: Tensor, b: Tensor) -> Tensor:
    return torch.stack([(values(x, a) + row).median() for row in b[:3]])


def scattered(x: Tensor, a: Tensor, b: Tensor) -> Tensor:
    places = torch.arange(LENGTH).expand(ROWS, LENGTH) % 5
    return torch.full((ROWS, 5), -9.0, dtype=x.dtype).scatter_reduce(1, places, values(x, a) + b, "amax")


def of_sorted_rows(x: Tensor, a: Tensor, b: Tensor) -> Tensor:
    return (values(x, a) + b).sort(1).values.amax(1)


def of_the_largest(x: Tensor, a: Tensor, b: Tensor) -> Tensor:
    return (values(x, a) + b).topk(5, 1).values.amin(1)


def of_maxima(x: Tensor, a: Tensor, b: Tensor) -> Tensor:
    return torch.stack([(values(x, a) + row).max(1).values.amax() for row in b[:3]])


def of_the_largest_in_a_checkpoint(x: Tensor, a: Tensor, b: Tensor) -> Tensor:
    found = checkpoint(of_the_largest, x, a, b, use_reentrant=False)
    assert isinstance(found, Tensor)
    return found


def in_a_checkpoint(x: Tensor, a: Tensor, b: Tensor) -> Tensor:
    found = checkpoint(of_rows, x, a, b, use_reentrant=False)
    assert isinstance(found, Tensor)
    return found


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32], ids=str)
@pytest.mark.parametrize(
    "function",
    [
        *(of_rows, of_columns, of_all, of_absolute_values, middle, scattered, in_a_checkpoint),
        *(of_sorted_rows, of_the_largest, of_maxima, of_the_largest_in_a_checkpoint),
    ],
)
def test_shares_sum_up(function: Callable[..., Tensor], dtype: torch.dtype, target: str) -> None:
    """What is added to all elements is added to their extreme."""
    torch.manual_seed(1)  # computed again, no element equals some of these extremes
    torch._dynamo.reset()
    x, a, b = (torch.randn(s).to(dtype).requires_grad_() for s in ((ROWS, LENGTH), (LENGTH,), (ROWS, 1)))
    compiled = torch.compile(function, backend="mlir", options={"target": target})
    result = compiled(x, a, b)
    got = torch.autograd.grad(result.sum(), (x, a, b))
    assert all(gradient.isfinite().all() for gradient in got)
    (wanted,) = torch.autograd.grad(function(x, a, b).sum(), b)
    torch.testing.assert_close(got[2], wanted)


def scaled_product(x: Tensor, w: Tensor) -> Tensor:
    """Dynamic scaling: a product is rounded, widened, and divided by its largest element."""
    s = (x @ w).float()
    return s / s.abs().amax(-1, keepdim=True)


def rectified(x: Tensor, w: Tensor) -> Tensor:
    s = (x @ w).float().relu()
    return s / s.amax()


def stretched(x: Tensor, w: Tensor) -> Tensor:
    s = (x @ w).double()
    return (s - s.amin()) / (s.amax() - s.amin())


def safe_softmax(x: Tensor, w: Tensor) -> Tensor:
    s = (x @ w).float()
    power = (s - s.amax(-1, keepdim=True)).exp()
    return (power / power.sum(-1, keepdim=True)).to(x.dtype) @ x


def scaled_rows(x: Tensor, w: Tensor) -> Tensor:
    s = (x * w.T).sum(-1).float()
    return s / s.abs().amax()


def beside(x: Tensor, w: Tensor) -> Tensor:
    s = (x @ w).float()
    return s.sin() * torch.linalg.vector_norm(s, torch.inf, -1, keepdim=True)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize(
    "function", [scaled_product, rectified, stretched, safe_softmax, scaled_rows, beside]
)
def test_halves_are_widened(function: Callable[..., Tensor], dtype: torch.dtype, target: str) -> None:
    """What is stored as a half is that half for all that is made of it, the extreme and what is compared."""
    torch.manual_seed(2)
    inputs = [torch.randn(40, 40).to(dtype).requires_grad_() for _ in range(2)]
    torch._dynamo.reset()
    compiled = torch.compile(function, backend="mlir", options={"target": target})
    got, want = (torch.autograd.grad(f(*inputs).sum(), inputs) for f in (compiled, function))
    doubles = [t.detach().double().requires_grad_() for t in inputs]
    truth = torch.autograd.grad(function(*doubles).sum(), doubles)
    verdict = judge(got, want, truth)
    assert verdict, verdict.why


@pytest.mark.parametrize("target", TARGETS)
def test_an_extreme_is_one_of_the_elements(target: str) -> None:
    def function(x: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
        s = (x @ w).float()
        return s, s.amax()

    torch._dynamo.reset()
    compiled = torch.compile(function, backend="mlir", options={"target": target})
    every, largest = compiled(*(torch.randn(40, 40, dtype=torch.bfloat16) for _ in range(2)))
    assert every.amax() == largest


def pooled(x: Tensor, w: Tensor) -> Tensor:
    return (x @ w).relu().amax(0)


def pooled_sine(x: Tensor, w: Tensor) -> Tensor:
    return (x.sin() * w).amax(0)


@pytest.mark.parametrize(
    ("function", "dtype", "masks"),
    [(pooled, torch.bfloat16, 0), (pooled, torch.float32, 2), (pooled_sine, torch.float32, 1)],
)
def test_no_mask_is_kept_of_halves_that_a_product_makes(
    function: Callable[..., Tensor], dtype: torch.dtype, masks: int, tmp_path: Path
) -> None:
    """They are in memory anyway; a mask is less to keep than wider numbers, or what no kernel stores."""
    torch._dynamo.reset()
    options: dict[str, Any] = {"target": "gpu_emulated", "dump": str(tmp_path)}
    compiled: Any = torch.compile(function, backend="mlir", options=options)
    drawn = [torch.randn(40, 40, generator=torch.Generator().manual_seed(s)).to(dtype) for s in (1, 2)]
    inputs = [x.requires_grad_() for x in drawn]
    doubles = [x.detach().double().requires_grad_() for x in drawn]
    calls = ((compiled, inputs), (function, inputs), (function, doubles))
    found, want, truth = (torch.autograd.grad(f(*leaves).square().sum(), leaves) for f, leaves in calls)
    assert (verdict := judge(found, want, truth)), verdict.why
    (imported,) = tmp_path.glob("*backward/00-import.mlir")
    (head,) = (line for line in imported.read_text().splitlines() if "func.func" in line)
    assert head.count("xi1") == masks


SEVERAL: dict[str, Callable[[Tensor], Tensor]] = {
    "sorted": lambda x: x.sort(1).values.amax(1),
    "running": lambda x: x.cummax(1).values.amax(),
    "found by an order": lambda x: x.kthvalue(2, 1).values.amin(),
    "singular values, by ATen": lambda x: torch.linalg.matrix_norm(x, 2),
    "a factor, by ATen": lambda x: torch.linalg.qr(x)[1].abs().amax(),
    "parts, which are views": lambda x: x.split(3, 1)[1].amax(1),
}


@pytest.mark.filterwarnings("ignore:TW1101")
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("function", SEVERAL.values(), ids=SEVERAL)
def test_of_one_of_several_results(function: Callable[[Tensor], Tensor], target: str) -> None:
    torch.manual_seed(3)
    torch._dynamo.reset()
    x = torch.randn(6, 9, requires_grad=True)
    (got,) = torch.autograd.grad(
        torch.compile(function, backend="mlir", options={"target": target})(x).sum(), x
    )
    (wanted,) = torch.autograd.grad(function(x).sum(), x)
    torch.testing.assert_close(got, wanted)
