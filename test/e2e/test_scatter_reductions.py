"""Scatters that take products, means and extremes, with the old elements and without, on both targets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import pytest
import torch
from drawn import positions, tensor
from torch import Tensor

from benchmarks.numerics import judge
from tilewright.frontend.explain import explain

TARGETS = ("cpu_openmp", "gpu_emulated")
REDUCES = ("sum", "prod", "mean", "amax", "amin")
TOGETHER = (("sum", "mean"), ("prod",), ("amax", "amin"))
FLOATS = (torch.float32, torch.float64, torch.bfloat16, torch.float16)
DTYPES = (*FLOATS, torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)
pytestmark = [
    pytest.mark.filterwarnings("ignore:index_reduce"),
    pytest.mark.filterwarnings("ignore:The reduce argument"),
]


numbers = partial(tensor, high=5)
"""Small integers, whose products are no large ones."""


def along(reduce: str) -> Callable[..., list[Tensor]]:
    def function(x: Tensor, y: Tensor, i: Tensor) -> list[Tensor]:
        kinds = [{"reduce": reduce, "include_self": own} for own in (True, False)]
        found = [x.scatter_reduce(0, i, y, **how) for how in kinds]
        found += [x.t().scatter_reduce(1, i[:5, ::2].t(), y.t()[::2], **how) for how in kinds]
        return found + [x.scatter_reduce(-1, i[:7, :9] % 5, y, **how) for how in kinds]

    return function


def slices(reduce: str) -> Callable[..., list[Tensor]]:
    def function(x: Tensor, y: Tensor, i: Tensor) -> list[Tensor]:
        kinds = [{"reduce": reduce, "include_self": own} for own in (True, False)]
        found = [x.index_reduce(0, i[:, 0], y, **how) for how in kinds]
        return found + [x.t().index_reduce(1, i[:7, 1], y[:7].t(), **how) for how in kinds]

    return function


def check(
    function: Callable[..., Sequence[Tensor]], target: str, x: Tensor, y: Tensor, *more: Tensor
) -> set[str]:
    """As near to what f64 gives as eager mode; what ATen was called for."""
    found = explain(function, x, y, *more, options={"target": target})
    truth = function(x.double(), y.double(), *more) if x.dtype.is_floating_point else function(x, y, *more)
    for got, want, exact in zip(found.result, function(x, y, *more), truth, strict=True):
        assert (got.dtype, got.shape) == (want.dtype, want.shape)
        verdict = judge(got, want, exact)
        assert verdict, verdict.why
    assert not found.fallbacks
    return {call for graph in found.graphs for call in graph.library_calls}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("reduces", TOGETHER)
def test_dtypes(reduces: Sequence[str], dtype: torch.dtype, target: str) -> None:
    def function(*given: Tensor) -> list[Tensor]:
        made = [along(how) for how in reduces] + [slices(how) for how in reduces if how != "sum"]
        return [found for one in made for found in one(*given)]

    x, y, i = numbers(7, 33, dtype=dtype), numbers(21, 33, dtype=dtype, seed=2), positions(7, 21, 33)
    calls = check(function, target, x, y, i)
    if target == "gpu_emulated":
        added = reduces == ("sum", "mean") and dtype not in (torch.int16, torch.int8, torch.uint8)
        compared = reduces == ("amax", "amin") and dtype not in (torch.bfloat16, torch.float16)
        assert bool(calls) != (added or compared)
    else:
        assert not calls


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("reduces", TOGETHER)
def test_numbers_that_are_none(reduces: Sequence[str], dtype: torch.dtype, target: str) -> None:
    """NaN spreads from either side, and from neither where the old elements do not count."""

    def function(*given: Tensor) -> list[Tensor]:
        return [found for how in reduces for found in along(how)(*given)]

    x, y, i = numbers(7, 33, dtype=dtype), numbers(21, 33, dtype=dtype, seed=2), positions(7, 21, 33)
    x[0, :5], x[1, :4], x[2, 5], x[6, 6] = torch.nan, torch.inf, -torch.inf, -0.0
    y[3, ::3], y[4, ::4], y[5, 1], y[6] = torch.nan, -torch.inf, torch.inf, -0.0
    found = explain(function, x, y, i, options={"target": target}).result
    for got, want in zip(found, function(x, y, i), strict=True):
        finite = want.isfinite()
        torch.testing.assert_close(got[~finite], want[~finite], equal_nan=True)
        assert torch.equal(got.isfinite(), finite)


def bits(x: Tensor) -> Tensor:
    return x.view({4: torch.int32, 8: torch.int64}[x.itemsize])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("reduce", ["amax", "amin"])
def test_extremes_in_memory(reduce: str, dtype: torch.dtype) -> None:
    """Every pair of an old element and a value: the old one stays if equal, as does NaN of either sign."""
    special = [0.0, -0.0, 1.0, -1.0, 2.0, -2.0, torch.inf, -torch.inf, 1e-40, -1e-40, torch.nan]
    each = torch.tensor(special, dtype=dtype)
    each = torch.cat([each, -each[-1:]])
    old, new = (t.flatten() for t in torch.meshgrid(each, each, indexing="ij"))
    at = torch.randperm(len(old), generator=torch.Generator().manual_seed(0))

    def function(x: Tensor, y: Tensor, i: Tensor) -> Tensor:
        return x.scatter_reduce(0, i, y, reduce)

    x = torch.empty_like(old)
    x[at] = old
    explained = explain(function, x, new, at, options={"target": "gpu_emulated"})
    assert not [call for graph in explained.graphs for call in graph.library_calls]
    found, wanted = explained.result, function(x, new, at)
    assert torch.equal(found.isnan(), wanted.isnan())
    assert torch.equal(bits(found)[~wanted.isnan()], bits(wanted)[~wanted.isnan()])


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("reduce", REDUCES)
def test_numbers_and_nothing(reduce: str, target: str) -> None:
    def function(x: Tensor, y: Tensor, i: Tensor, none: Tensor, at: Tensor) -> list[Tensor]:
        return [
            x.scatter_reduce(0, i[:0], y[:0], reduce), none.scatter_reduce(1, none.long(), none, reduce),
            x[0, 0].scatter_reduce(0, at, y[0, 0], reduce),
            x[0].scatter_reduce(0, at, y[0], reduce, include_self=False),
        ]  # fmt: skip

    x, y, i = numbers(7, 5), numbers(9, 5, seed=2), positions(7, 9, 5)
    check(function, target, x, y, i, torch.zeros(0, 3), torch.tensor(0))


@pytest.mark.parametrize("target", TARGETS)
def test_as_scatter_calls_them(target: str) -> None:
    def function(x: Tensor, y: Tensor, i: Tensor) -> list[Tensor]:
        return [
            *(x.scatter(0, i, y, reduce=how) for how in ("add", "multiply")),
            *(x.scatter(1, i[:7] % 5, 3, reduce=how) for how in ("add", "multiply")),
        ]

    check(function, target, numbers(7, 33), numbers(21, 33, seed=2), positions(7, 21, 33))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("reduce", REDUCES)
def test_gradients(reduce: str, target: str) -> None:
    def function(x: Tensor, y: Tensor, i: Tensor) -> Tensor:
        return x.sin().scatter_reduce(0, i, y.cos(), reduce).square()

    gradients: list[list[Tensor | None]] = []
    torch._dynamo.reset()
    for call in (torch.compile(function, backend="mlir", options={"target": target}), function):
        given = [numbers(7, 13).requires_grad_(), numbers(21, 13, seed=2).requires_grad_()]
        call(*given, positions(7, 21, 13)).sum().backward()
        gradients.append([value.grad for value in given])
    torch.testing.assert_close(*gradients)


@pytest.mark.parametrize("target", TARGETS)
def test_into_an_argument(target: str) -> None:
    def function(x: Tensor, y: Tensor, i: Tensor) -> None:
        x.scatter_reduce_(0, i, y, "amax").index_reduce_(0, i[:, 0], y, "amin")

    torch._dynamo.reset()
    x, y, i = (
        numbers(7, 33, dtype=torch.int32),
        numbers(21, 33, dtype=torch.int32, seed=2),
        positions(7, 21, 33),
    )
    got = x.clone()
    torch.compile(function, backend="mlir", options={"target": target, "fallback": False})(got, y, i)
    function(x, y, i)
    assert torch.equal(got, x)


@pytest.mark.parametrize("target", TARGETS)
def test_positions_outside(target: str) -> None:
    function = torch.compile(
        lambda x, i: x.scatter_reduce(0, i, x, "amin"), backend="mlir", options={"target": target}
    )
    with pytest.raises(Exception, match=r"out of (range|bounds)"):
        function(torch.zeros(3, dtype=torch.int32), torch.tensor([0, 3, 1]))
