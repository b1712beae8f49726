"""Functions that are written out with polynomials and series, against eager and float64."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from mpmath import mp
from torch import Tensor

from tilewright.frontend.decompositions.special_functions import special_functions
from tilewright.frontend.explain import explain

INF, NAN = float("inf"), float("nan")
FUNCTIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "i0": torch.i0,
    "i0e": torch.special.i0e,
    "i1": torch.special.i1,
    "i1e": torch.special.i1e,
    "erfinv": torch.erfinv,
    "ndtri": torch.special.ndtri,
    "erfcx": torch.special.erfcx,
    "log_ndtr": torch.special.log_ndtr,
    "bessel_j0": torch.special.bessel_j0,
    "bessel_j1": torch.special.bessel_j1,
    "bessel_y0": torch.special.bessel_y0,
    "bessel_y1": torch.special.bessel_y1,
    "modified_bessel_k0": torch.special.modified_bessel_k0,
    "modified_bessel_k1": torch.special.modified_bessel_k1,
    "scaled_modified_bessel_k0": torch.special.scaled_modified_bessel_k0,
    "scaled_modified_bessel_k1": torch.special.scaled_modified_bessel_k1,
    "digamma": torch.digamma,
    "trigamma": lambda x: torch.polygamma(1, x),
    "tetragamma": lambda x: torch.polygamma(2, x),
}
LOOSE = {"trigamma": 1e-6, "digamma": 1e-9}
"""Eager's own errors in f64: near poles, and where its series ends early."""


def values(dtype: torch.dtype = torch.float64) -> Tensor:
    numbers = [
        0.0,
        1e-9,
        1e-3,
        0.1,
        0.25,
        0.5,
        0.9,
        0.999,
        0.9999999,
        1.5,
        2.25,
        4.9,
        6.7,
        7.9,
        8.1,
        11.0,
        12.5,
    ]
    numbers += [19.9, 60.5, 1e4 + 0.5, 3e38, INF]
    return torch.tensor([*numbers, *(-n for n in numbers), 1.0, NAN, 1e-30], dtype=torch.float64).to(dtype)


def exact(name: str, x: Tensor) -> Tensor:
    """What eager has in float64, or where that is off by 4e-8, what 40 digits say."""
    truth = FUNCTIONS[name](x.double())
    if "_j" not in name and "_y" not in name:
        return truth
    function, order = mp.besselj if "_j" in name else mp.bessely, int(name[-1])
    there = truth.isfinite() & (x.double().abs() < 1e5)
    numbers = [float(function(order, mp.mpf(v))) for v in x[there].tolist()]
    return truth.masked_scatter(there, torch.tensor(numbers, dtype=torch.float64))


def compared(name: str, got: Tensor, x: Tensor) -> None:
    """As in eager, or as near to what eager has in float64."""
    want, truth = FUNCTIONS[name](x), exact(name, x)
    if name == "trigamma":  # of whose poles eager hits the first
        truth = torch.where((x < 0) & (x == x.round()), INF, truth)
    if name == "tetragamma":  # at infinity it is 0, and not NaN
        got, want, truth = (t[x.isfinite()] for t in (got, want, truth))
    assert got.dtype == want.dtype, name
    same = (got == truth.to(want.dtype)) | (got == want) | (got.isnan() & want.isnan())
    error = (got.double() - truth).abs()
    eps = torch.finfo(want.dtype).eps
    loose = LOOSE.get(name, 0.0) if x.dtype == torch.float64 else 0.0
    allowed = truth.abs() * max(8 * eps, loose) + max(8 * eps, 1e-13)
    close = error <= torch.maximum(allowed, 2 * (want.double() - truth).abs())
    ok = same | (close & got.isfinite())
    x = x[x.isfinite()] if name == "tetragamma" else x
    assert ok.all(), (name, x[~ok], got[~ok], want[~ok])


@pytest.mark.parametrize("target", ["cpu_openmp", "gpu_emulated"])
def test_kernels(target: str) -> None:
    torch._dynamo.reset()
    x = values(torch.float32)
    found = explain(
        lambda x: [function(x) for function in FUNCTIONS.values()],
        x,
        options={"target": target, "fallback": False},
    )
    assert not any(graph.library_calls for graph in found.graphs)
    for name, got in zip(FUNCTIONS, found.result, strict=True):
        compared(name, got, x)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16, torch.int32], ids=str)
def test_every_type(dtype: torch.dtype) -> None:
    """As they are written out, before any of it is compiled."""
    rows = {str(op): row for op, row in special_functions().items()}
    x = values(dtype) if dtype.is_floating_point else torch.arange(-3, 9, dtype=dtype)
    for name in FUNCTIONS:
        if name in ("log_ndtr", "trigamma", "tetragamma"):
            continue
        if dtype in (torch.float16, torch.bfloat16) and (name in ("ndtri", "erfcx") or "bessel" in name):
            continue  # eager has none
        row = next(
            row for op, row in rows.items() if op in (f"aten.{name}.default", f"aten.special_{name}.default")
        )
        compared(name, row(x), x)
    if dtype.is_floating_point:
        for order, name in ((1, "trigamma"), (2, "tetragamma")):
            compared(name, rows["aten.polygamma.default"](order, x), x)


def test_gradients() -> None:
    """Derivatives are functions of the same kind."""
    x = torch.linspace(0.05, 0.95, 13)

    def function(x: Tensor) -> Tensor:
        with torch.enable_grad():
            x = x.detach().requires_grad_()
            total = x.erfinv() + x.digamma() + torch.i0(x) + torch.special.i1e(x) + torch.special.ndtri(x)
            return torch.autograd.grad(total.sum(), x)[0]

    torch._dynamo.reset()
    found = explain(function, x, options={"target": "cpu_openmp", "fallback": False})
    assert not any(graph.library_calls for graph in found.graphs)
    torch.testing.assert_close(found.result, function(x))


@pytest.mark.parametrize("name", ["erfinv", "ndtri"])
def test_inverses_keep_the_last_place(name: str) -> None:
    """What follows them in gradients, exp(x * x), is off by 2 * x * x times as much."""
    x = torch.linspace(0.00001, 0.99999, 5001)
    x = x[FUNCTIONS[name](x).abs() > 1e-3]  # 2 * p - 1 has its own rounding
    table = {str(op): row for op, row in special_functions().items()}
    row = table[f"aten.{'special_' * (name == 'ndtri')}{name}.default"]
    truth = FUNCTIONS[name](x.double())
    off = (row(x).double() - truth) / truth
    assert off.abs().max() < 2**-22
    assert off.square().mean().sqrt() < 2**-24
