"""Means and variances of numbers far from 0 and close together: rounding of their mean is corrected."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from benchmarks.numerics import judge

PROGRAMS: dict[str, Callable[[Tensor], Tensor]] = {
    "layer_norm": lambda x: F.layer_norm(x, (x.shape[-1],)),
    "group_norm": lambda x: F.group_norm(x.unsqueeze(1), 1),
    "batch_norm": lambda x: F.batch_norm(x.t().contiguous(), None, None, training=True),
    "var": lambda x: x.var(-1),
    "std": lambda x: x.std(-1, correction=0),
}


TARGETS = ("cpu_openmp", "gpu_emulated")


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", PROGRAMS)
def test_far_from_zero(name: str, dynamic: bool, target: str) -> None:
    torch.compiler.reset()
    program = PROGRAMS[name]
    compiled = torch.compile(program, backend="mlir", dynamic=dynamic, options={"target": target})
    for length in (7, 100, 1000, 10000):
        noise = torch.randn(4, length, generator=torch.Generator().manual_seed(length))
        for mean in (3.7, 100.3, 12345.678):
            for spread in (0.0, 1e-6, 1e-3, 1.0):
                x = mean * (1 + spread * noise)
                verdict = judge(compiled(x), program(x), program(x.double()))
                assert verdict, f"{length} numbers of {mean} +- {spread}: {verdict.why}"


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("length", [7, 768, 1000, 9001])
def test_equal_numbers_deviate_by_nothing(length: int, target: str) -> None:
    torch.compiler.reset()
    x = torch.full((2, length), 12345.678)

    def program(x: Tensor) -> tuple[Tensor, ...]:
        return (*torch.var_mean(x, -1), F.layer_norm(x, (length,)))

    variance, mean, normalized = torch.compile(program, backend="mlir", options={"target": target})(x)
    assert torch.equal(mean, x[:, 0])
    assert variance.max() < 1e-12
    assert not normalized.any()


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("axis", [0, 1])
def test_what_is_not_finite_gives_no_number(axis: int, target: str) -> None:
    torch.compiler.reset()
    compiled = torch.compile(lambda x: torch.var_mean(x, axis), backend="mlir", options={"target": target})
    for numbers in ([1.0, float("inf"), 2.0], [1.0, float("nan"), 2.0], [float("inf"), float("-inf"), 0.0]):
        assert all(value.isnan() for value in compiled(torch.tensor(numbers).unsqueeze(1 - axis)))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dynamic", [False, True])
def test_no_numbers_have_no_mean(dynamic: bool, target: str) -> None:
    torch.compiler.reset()
    compiled = torch.compile(
        lambda x: torch.var_mean(x, 0, correction=0),
        backend="mlir",
        dynamic=dynamic,
        options={"target": target},
    )
    for rows in (4, 3, 0):
        x = torch.randn(rows, 5, generator=torch.Generator().manual_seed(rows))
        for value, expected in zip(compiled(x), torch.var_mean(x, 0, correction=0), strict=True):
            torch.testing.assert_close(value, expected, equal_nan=True)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dynamic", [False, True])
def test_any_number_is_a_correction(dynamic: bool, target: str) -> None:
    """With a fraction, below zero, more than there are numbers; known when the program runs, or before."""
    torch.compiler.reset()

    def spread(x: Tensor, correction: float) -> tuple[Tensor, ...]:
        return (torch.var(x, 1, correction=correction), *torch.std_mean(x, correction=correction))

    options = {"target": target, "fallback": False}
    compiled = torch.compile(spread, backend="mlir", dynamic=dynamic, options=options)
    x = torch.randn(6, 9, generator=torch.Generator().manual_seed(0))
    for correction in (2, 0.5, 5.25, -3, -1.5):
        for value, expected in zip(compiled(x, correction), spread(x, correction), strict=True):
            torch.testing.assert_close(value, expected)
    assert all(value.isinf().all() for value in compiled(x, 99.5)[:2])
