"""Mean and variance in one pass over rows in loops, rows in parts and columns, on emulated kernels."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

EPSILON = 2.0**-24
Function = Callable[[Tensor], tuple[Tensor, ...]]


def compiled(function: Callable[..., object], *, dynamic: bool = False) -> Callable[..., object]:
    torch._dynamo.reset()
    options = {"target": "gpu_emulated"}
    return torch.compile(function, backend="mlir", options=options, dynamic=dynamic)


def numbers(*shape: int, mean: float, deviation: float) -> Tensor:
    generator = torch.Generator().manual_seed(0)
    return torch.randn(shape, generator=generator) * deviation + mean


CASES: dict[str, tuple[tuple[int, ...], tuple[int, ...], bool]] = {
    "held": ((5, 300), (1,), False),
    "looped": ((3, 40001), (1,), False),
    "looped_evenly": ((2, 32768), (1,), False),
    "unknown_length": ((3, 1001), (1,), True),
    "parts": ((2, 200003), (1,), False),
    "columns": ((20011, 7), (0,), False),
    "channels": ((4, 2, 150, 151), (0, 2, 3), False),
}


@pytest.mark.parametrize("mean", [0.0, 1000.0, -30000.0])
@pytest.mark.parametrize("case", CASES)
def test_large_means_and_small_variances(case: str, mean: float) -> None:
    """A sum of squares would be wrong by the square of mean / deviation; this is wrong by at most that."""
    shape, axes, dynamic = CASES[case]
    x = numbers(*shape, mean=mean, deviation=0.5)
    variance, average = compiled(lambda x: torch.var_mean(x, axes), dynamic=dynamic)(x)  # type: ignore[misc]
    truth, middle = torch.var_mean(x.double(), axes)
    assert ((average - middle).abs() <= 8 * EPSILON * middle.abs() + 1e-6).all()
    assert ((variance - truth).abs() <= truth * (32 * EPSILON + EPSILON * abs(mean) / 0.5)).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_rows_of_sums_of_many_functions(dtype: torch.dtype) -> None:
    """Ops in another order, so that the row stays; f64 is read again."""

    def normed(x: Tensor, *others: Tensor) -> Tensor:
        return nn.functional.layer_norm(sum((torch.tanh(t) for t in others), x), x.shape[1:])

    inputs = [numbers(3, 9001, mean=0.1 * i, deviation=1.0).to(dtype) for i in range(8)]
    torch.testing.assert_close(compiled(normed)(*inputs), normed(*inputs))


def test_numbers_that_are_none() -> None:
    x = numbers(4, 20000, mean=1.0, deviation=1.0)
    x[0, 17], x[1, 3], x[2, 5], x[2, 19000] = float("nan"), float("inf"), -float("inf"), float("inf")
    variance, average = compiled(lambda x: (x.var(1), x.mean(1)))(x)  # type: ignore[misc]
    assert variance[:3].isnan().all()
    assert torch.allclose(variance[3], x[3].var())
    assert torch.allclose(average, x.mean(1), equal_nan=True)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32], ids=str)
def test_group_norm_trains(dtype: torch.dtype) -> None:
    """Statistics in parts and the gradient through them are as close to float64 as eager's."""
    x = numbers(1, 4, 192, 193, mean=3.0, deviation=2.0).to(dtype)
    model = nn.GroupNorm(2, 4).to(dtype)

    def gradients(function: Callable[..., object], x: Tensor, model: nn.Module) -> list[Tensor]:
        x = x.clone().requires_grad_()
        result = function(x)
        assert isinstance(result, Tensor)
        return list(torch.autograd.grad(result.square().mean(), [x, *model.parameters()]))

    exact = nn.GroupNorm(2, 4).double()
    ours, eager = gradients(compiled(model), x, model), gradients(model, x, model)
    for mine, base, truth in zip(ours, eager, gradients(exact, x.double(), exact), strict=True):
        error, limit = ((value - truth).square().mean().sqrt() for value in (mine, base))
        assert error <= (3 if dtype == torch.bfloat16 else 2) * limit
