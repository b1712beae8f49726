"""Medians, elements of a given rank and the commonest number, against eager: kernels that sort."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from tilewright.frontend.explain import explain

NAN = float("nan")


def values() -> Tensor:
    """Without equal numbers; some rows hold NaN, one of them nothing else."""
    x = torch.randperm(4 * 9 * 5, generator=torch.Generator().manual_seed(0)).float().view(4, 9, 5) - 50
    x[0, 3, 1:3], x[1, :, 2], x[2, 1:3, 1], x[3, :8, 3] = NAN, NAN, NAN, NAN
    return x


def ranks(x: Tensor) -> list[Tensor]:
    found = [*x[:1, :, 3:].kthvalue(3, 1), *x.kthvalue(1, 2, keepdim=True), x.kthvalue(9, 1).values]
    found += [x[0, 0].median()]
    found += [*x.median(1), *x.median(-1, keepdim=True), *x[2:].nanmedian(1, keepdim=True)]
    found += [*x.nanmedian(0), x.nanmedian(1).values]
    found += [x.nanmedian(), x.median(), *x[0, 0, 0].median(0), x.to(torch.bfloat16).nanmedian(1).values]
    found += [x[:2].double().median(2).values, (x.nan_to_num(7.0).long() % 8).median(1).values]
    found += [torch.nanquantile(x, 0.3, 1), x[:1].nan_to_num(4.0).quantile(torch.tensor([0.5, 0.25]), 2)]
    return found


def commonest(x: Tensor) -> list[Tensor]:
    few = x.nan_to_num(7.0) % 4
    return [*few.mode(1), *few.mode(0, keepdim=True), *few.long().mode(), *few[0, 0, 0].mode()]


@pytest.mark.parametrize("target", ["cpu_openmp", "gpu_emulated"])
def test_as_in_eager(target: str) -> None:
    torch._dynamo.reset()
    x = values()
    found = explain(lambda x: [*ranks(x), *commonest(x)], x, options={"target": target, "fallback": False})
    assert not any(graph.library_calls for graph in found.graphs)
    for i, (got, want) in enumerate(zip(found.result, [*ranks(x), *commonest(x)], strict=True)):
        torch.testing.assert_close(got, want, equal_nan=True, msg=lambda text, i=i: f"{i}: {text}")


@pytest.mark.parametrize("target", ["cpu_openmp", "gpu_emulated"])
@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.uint8], ids=str)
def test_positions_of_equal_integers(dtype: torch.dtype, target: str) -> None:
    """Any of theirs is right: torch's own depends on how it goes about finding one."""
    torch._dynamo.reset()
    x = torch.randint(0, 9, (7, 33), generator=torch.Generator().manual_seed(0)).to(dtype)
    options = {"target": target, "fallback": False}
    found = explain(lambda x: (*x.kthvalue(9), *x.kthvalue(2, 0, True)), x, options=options)
    assert not any(graph.library_calls for graph in found.graphs)
    values, positions, columns, places = found.result
    assert torch.equal(values, x.kthvalue(9).values)
    assert torch.equal(values, x.gather(1, positions.unsqueeze(1)).squeeze(1))
    assert torch.equal(columns, x.kthvalue(2, 0, True).values)
    assert torch.equal(columns, x.gather(0, places))


@pytest.mark.parametrize("target", ["cpu_openmp", "gpu_emulated"])
def test_the_commonest_of_longer_rows(target: str) -> None:
    """The least of those that are there most often, and a place where it stands."""

    def function(x: Tensor, whole: Tensor) -> list[Tensor]:
        return [*x.mode(), *whole.mode(0, keepdim=True)]

    torch._dynamo.reset()
    x = torch.randint(0, 30, (9, 100), generator=torch.Generator().manual_seed(0)).float()
    x[3], x[4, 7:9], x[5] = torch.arange(100.0), NAN, -torch.inf
    whole = x.nan_to_num(3.0, neginf=4.0).long().t()
    found = explain(function, x, whole, options={"target": target, "fallback": False})
    assert not any(graph.library_calls for graph in found.graphs)
    values, positions, least, places = found.result
    assert torch.equal(values, x.mode().values)
    assert torch.equal(values, x.gather(1, positions.unsqueeze(1)).squeeze(1))
    assert torch.equal(least, whole.mode(0, keepdim=True).values)
    assert torch.equal(least, whole.gather(0, places))


def test_gradients_and_long_rows() -> None:
    """The gradient goes where the element was; one of many elements is found by ATen."""

    def function(x: Tensor) -> Tensor:
        with torch.enable_grad():
            x = x.detach().requires_grad_()
            return torch.autograd.grad(x.median(1).values.sum() + x.kthvalue(2).values.square().sum(), x)[0]

    torch._dynamo.reset()
    x = values().nan_to_num(99.5)
    compiled = torch.compile(function, backend="mlir", options={"target": "cpu_openmp", "fallback": False})
    torch.testing.assert_close(compiled(x), function(x))
    torch._dynamo.reset()
    found = explain(lambda x: x.median(0), torch.randn(1025), options={"target": "cpu_openmp"})
    assert [call for graph in found.graphs for call in graph.library_calls] == ["aten::median.dim"]


@pytest.mark.parametrize("target", ["cpu_openmp", "gpu_emulated"])
def test_medians_of_repeated_numbers(target: str) -> None:
    """With sizes that are symbols they are ATen's, which must not see memory that repeats itself."""

    def function(x: Tensor) -> list[Tensor]:
        rows = x.shape[0]
        number, row = x.argmin().expand(rows, rows).clone(), x[:1].expand(rows, rows).clone()
        return [*number.median(0), *row.nanmedian(1), row.median(), number.kthvalue(1, 0).values]

    torch._dynamo.reset()
    run = torch.compile(function, backend="mlir", dynamic=True, options={"target": target})
    for rows in (5, 70):
        x = torch.randn(rows)
        torch.testing.assert_close(run(x), function(x))
