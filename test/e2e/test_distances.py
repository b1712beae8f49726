"""Distances of all pairs of rows, gradients of copies on borders, rounding to decimals: against eager."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from math import inf, nan

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from tilewright.frontend.decompositions.composites import composites
from tilewright.frontend.decompositions.distances import distance_functions
from tilewright.frontend.explain import explain

ORDERS = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, inf)


def random(*sizes: int) -> Tensor:
    return torch.randn(sizes, generator=torch.Generator().manual_seed(len(sizes)))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_every_order(dtype: torch.dtype) -> None:
    """As they are written out; some rows are equal, some in one place."""
    aten, rows = torch.ops.aten, {str(op): row for op, row in distance_functions().items()}
    x, y = random(2, 5, 3).to(dtype), random(4, 3).expand(2, 4, 3).to(dtype, copy=True)
    y[0, 1], y[1, 1, 1] = x[0, 2], x[1, 0, 1]
    for p in ORDERS:
        want = aten._cdist_forward(x, y, p, None)
        torch.testing.assert_close(rows["aten._cdist_forward.default"](x, y, p), want)
        w = random(*want.shape).to(dtype)
        found = rows["aten._cdist_backward.default"](w, x, y, p, want)
        torch.testing.assert_close(found, aten._cdist_backward(w, x, y, p, want))


def test_rows_that_hold_no_number() -> None:
    """Of order inf ATen's distances depend on the length of rows there; these are NaN."""
    rows = {str(op): row for op, row in distance_functions().items()}
    x, y = random(5, 3), random(4, 3)
    x[1, 2], y[0, 0], x[3, 1], y[2, 1] = nan, inf, inf, -inf
    for p in ORDERS[:-1]:
        want = torch.ops.aten._cdist_forward(x, y, p, None)
        found = rows["aten._cdist_forward.default"](x, y, p)
        torch.testing.assert_close(found, want, equal_nan=True)
        assert found[1].isnan().all()


@pytest.mark.parametrize(
    ("sizes", "padding"),
    [
        ((2, 7), (1, 2)),
        ((2, 3, 5, 6), (-1, 2, 1, -2)),
        ((1, 2, 4, 5, 3), (1, 1, 2, 0, 1, 4)),
        ((2, 1, 1), (2, 3)),
    ],
    ids=str,
)
def test_gradients_of_copies(sizes: tuple[int, ...], padding: tuple[int, ...]) -> None:
    rows = {str(op): row for op, row in composites().items()}
    x = random(*sizes).requires_grad_()
    y = F.pad(x, padding, mode="replicate")
    w = random(*y.shape)
    row = rows[f"aten.replication_pad{len(padding) // 2}d_backward.default"]
    torch.testing.assert_close(row(w, x, padding), torch.autograd.grad(y, x, w)[0])


@pytest.mark.parametrize(("mode", "name"), [("replicate", "replication"), ("reflect", "reflection")])
def test_gradients_of_what_is_padded_and_cut(mode: str, name: str) -> None:
    """Padding below zero may leave nothing but copies."""
    row = {str(op): row for op, row in composites().items()}[f"aten.{name}_pad1d_backward.default"]
    judged = 0
    for size, low, high in product((1, 2, 4), range(-6, 6), range(-6, 6)):
        x = random(2, 3, size).requires_grad_()
        if size + low + high < 1 or (mode == "reflect" and max(low, high) >= size):
            continue
        y = F.pad(x, (low, high), mode=mode)
        w = random(*y.shape)
        want = torch.autograd.grad(y, x, w)[0]
        torch.testing.assert_close(
            row(w, x, (low, high)), want, msg=f"{size} elements, {low} and {high} more"
        )
        judged += 1
    assert judged > 50


def distances(x: Tensor, y: Tensor) -> list[Tensor]:
    with torch.enable_grad():
        x, y = x.detach().requires_grad_(), y.detach().requires_grad_()
        made = [
            torch.cdist(x, y),
            torch.cdist(x[:, :9], y[:, :4], p=1.0),
            torch.cdist(x[:, :3], y[:1], p=inf),
        ]
        gradients = torch.autograd.grad(sum(t.square().sum() for t in made), (x, y))
    return [*(t.detach() for t in made), *gradients, torch.cdist(x[:, :0], y).detach()]


def borders(x: Tensor, y: Tensor) -> list[Tensor]:
    with torch.enable_grad():
        x = x.detach().requires_grad_()
        padded = F.pad(x[None], (1, 2, 0, 3), mode="replicate")
        gradient = torch.autograd.grad(padded.square().sum(), x)[0]
    rounded = [torch.round(x * 100, decimals=d).detach() for d in (2, -1, 0)]
    return [gradient, *rounded, torch.round(y.half(), decimals=1), torch.round(y.double(), decimals=-3)]


@pytest.mark.parametrize("target", ["cpu_openmp", "gpu_emulated"])
@pytest.mark.parametrize("function", [distances, borders])
def test_kernels(function: Callable[..., list[Tensor]], target: str) -> None:
    torch._dynamo.reset()
    given = random(2, 30, 5), random(2, 27, 5) * 3
    found = explain(function, *given, options={"target": target, "fallback": False})
    calls = {call for graph in found.graphs for call in graph.library_calls}
    assert calls <= {"aten::bmm.out", "aten::baddbmm.out"}
    for got, want in zip(found.result, function(*given), strict=True):
        torch.testing.assert_close(got, want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("target", ["cpu_openmp", "gpu_emulated"])
def test_an_operator_of_torchs_own_takes_for_granted_how_its_operands_lie(target: str) -> None:
    def apart(x: Tensor) -> tuple[Tensor, ...]:
        return F.pdist(x.t()), F.pdist((x + 1)[:, ::2].t())

    x = torch.randn(3, 6)
    torch.compiler.reset()
    compiled = torch.compile(apart, backend="mlir", options={"target": target})
    for got, want in zip(compiled(x), apart(x), strict=True):
        torch.testing.assert_close(got, want)
