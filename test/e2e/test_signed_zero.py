"""0.0 and -0.0 are equal to Python, so a cache keyed by value would mix them up; results must not."""

from __future__ import annotations

import pytest
import torch


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_zeros_of_both_signs_stay_apart(dtype: torch.dtype) -> None:
    def both(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        plus, minus = torch.full_like(x, 0.0), torch.full_like(x, -0.0)
        return 1 / torch.where(x > 0, plus, minus), torch.where(x > 0, minus, plus).signbit()

    x = torch.tensor([1.0, -1.0, 2.0, -3.0] * 5, dtype=dtype)
    found = torch.compile(both, backend="mlir")(x)
    for have, want in zip(found, both(x), strict=True):
        assert torch.equal(have, want)


def test_signed_zero_of_padding() -> None:
    def padded(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        pad = torch.nn.functional.pad
        return 1 / pad(x, (1, 1), value=0.0), 1 / pad(x, (1, 1), value=-0.0)

    x = torch.ones(3)
    found = torch.compile(padded, backend="mlir")(x)
    for have, want in zip(found, padded(x), strict=True):
        assert torch.equal(have, want)


@pytest.mark.parametrize("target", ["cpu_openmp", "gpu_emulated"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16])
def test_negation_keeps_the_sign_of_zero(target: str, dtype: torch.dtype) -> None:
    x = torch.tensor([0.0, -0.0, 1.0, -2.0, torch.inf], dtype=dtype)
    torch.compiler.reset()
    found = torch.compile(lambda x: 1 / -x, backend="mlir", options={"target": target, "fallback": False})(x)
    assert torch.equal(found, 1 / -x)


def test_running_sums_begin_with_zero() -> None:
    """That of -0.0 is 0.0; a check of every pass compares what is divided by it."""
    x = torch.tensor([[-0.0, -0.0, 1.0], [-0.0, 2.0, -2.0]])
    torch.compiler.reset()
    checked = torch.compile(lambda x: 1 / x.cumsum(1), backend="mlir", options={"check": "each-pass"})
    assert torch.equal(checked(x), 1 / x.cumsum(1))
