"""The elementary functions of the C++ prelude against float64, in units in the last place."""

from __future__ import annotations

import ctypes
import os

import pytest
import torch

from tilewright.targets.cpu_openmp.build import build

# function -> largest error in ulp (measured over all samples, rounded up)
BOUNDS = {
    "exp": 1.0,
    "exp2": 1.0,
    "expm1": 1.5,
    "log": 1.0,
    "log2": 1.5,
    "log10": 1.0,
    "log1p": 1.0,
    "tanh": 4.5,
    "erf": 4.5,
    "sin": 1.6,
    "cos": 1.6,
    "sqrt": 0.5,
    "rsqrt": 1.5,
    "floor": 0.5,
    "ceil": 0.5,
    "trunc": 0.5,
    "round_even": 0.5,
    "abs": 0.5,
    "atan": 1.0,
    "tan": 1.0,
    "asinh": 2.0,
    "cbrt": 1.0,
}

_FUNCTION = """
extern "C" __attribute__((visibility("default"))) void {name}_{lanes}(const f32* x, f32* y, i64 n) {{
  for (i64 i = 0; i < n; i += {lanes}) {body}
}}
"""


def _source() -> str:
    parts = ['#include "prelude_math.h"']
    for name in BOUNDS:
        parts.append(_FUNCTION.format(name=name, lanes=1, body=f"y[i] = tw::{name}(x[i]);"))
        for lanes in (4, 8, 16):
            body = f"tw::store(y + i, tw::{name}(tw::load<{lanes}>(x + i)));"
            parts.append(_FUNCTION.format(name=name, lanes=lanes, body=body))
    return "\n".join(parts)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    folder = tmp_path_factory.mktemp("cache")
    return ctypes.CDLL(str(build(_source(), cache_dir=folder, environment=os.environ)))


@pytest.fixture(scope="module", params=["avx2", "default"])
def older(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> ctypes.CDLL:
    """The same functions for CPUs without AVX-512, and without FMA."""
    if os.uname().machine != "x86_64":
        pytest.skip("x86 only")
    folder = tmp_path_factory.mktemp("older")
    environment = {**os.environ, "ATEN_CPU_CAPABILITY": request.param}
    return ctypes.CDLL(str(build(_source(), cache_dir=folder, environment=environment)))


@pytest.fixture(scope="module")
def samples() -> torch.Tensor:
    """Every exponent, dense stretches where the functions bend, and the special values."""
    generator = torch.Generator().manual_seed(0)
    bits = torch.randint(-(2**31), 2**31, (1 << 18,), dtype=torch.int64, generator=generator)
    special = [0.0, -0.0, float("inf"), float("-inf"), float("nan"), 1e-45, -1e-45, 1e-40, 3.4e38, -3.4e38]
    edges = [88.7228, 88.73, -87.3366, -103.97, -104.1, 127.9, 128.0, -126.0, -149.0, -150.1, 1e5, -1e6, 3.92]
    parts = [
        bits.to(torch.int32).view(torch.float32),
        torch.linspace(-120, 120, 1 << 16),
        torch.linspace(-1.5, 1.5, 1 << 16),
        1 + torch.linspace(-1e-3, 1e-3, 1 << 14),
        torch.linspace(0.5, 2.0, 1 << 16),
        torch.tensor((special + edges) * 16),
    ]
    x = torch.cat(parts)
    return x[: x.numel() // 16 * 16].contiguous()


def _reference(name: str, x: torch.Tensor) -> torch.Tensor:
    if name == "round_even":
        return torch.round(x)
    if name == "cbrt":
        return torch.copysign(x.abs() ** (1 / 3), x)
    return getattr(torch, name)(x)


@pytest.mark.parametrize("lanes", [1, 4, 8, 16])
@pytest.mark.parametrize("name", list(BOUNDS))
def test_error_in_ulp(library: ctypes.CDLL, samples: torch.Tensor, name: str, lanes: int) -> None:
    check(library, samples, name, lanes, slack=1.0)


@pytest.mark.parametrize("name", list(BOUNDS))
def test_error_on_older_cpus(older: ctypes.CDLL, samples: torch.Tensor, name: str) -> None:
    check(older, samples, name, 8, slack=1.5)  # without FMA there are more roundings


def check(library: ctypes.CDLL, samples: torch.Tensor, name: str, lanes: int, *, slack: float) -> None:
    got = torch.empty_like(samples)
    function = getattr(library, f"{name}_{lanes}")
    function(
        ctypes.c_void_p(samples.data_ptr()), ctypes.c_void_p(got.data_ptr()), ctypes.c_int64(got.numel())
    )
    exact = _reference(name, samples.double())
    want = exact.float()
    assert torch.equal(got.isnan(), want.isnan())
    numbers = ~want.isnan()
    got, want, exact, x = got[numbers], want[numbers], exact[numbers], samples[numbers]
    assert torch.equal(got.signbit(), want.signbit())
    assert torch.equal(got.isinf(), want.isinf())
    finite = ~want.isinf()
    got, want, exact, x = got[finite], want[finite], exact[finite], x[finite]
    lowest = torch.tensor(2.0**-126)
    ulp = 2.0 ** (torch.maximum(want.abs(), lowest).double().log2().floor() - 23)
    error = torch.where(got == want, 0.0, (got.double() - exact).abs() / ulp)
    worst = int(error.argmax())
    assert error[worst] <= BOUNDS[name] * slack, (
        f"{error[worst]:.2f} ulp at {x[worst]}: {got[worst]}, exact {exact[worst]}"
    )


def test_lanes_do_not_change_results(library: ctypes.CDLL, samples: torch.Tensor) -> None:
    """A value rounds the same in a scalar loop, a tail and any vector width."""
    for name in BOUNDS:
        results: list[torch.Tensor] = []
        for lanes in (1, 4, 8, 16):
            y = torch.empty_like(samples)
            function = getattr(library, f"{name}_{lanes}")
            function(
                ctypes.c_void_p(samples.data_ptr()), ctypes.c_void_p(y.data_ptr()), ctypes.c_int64(y.numel())
            )
            results.append(y.nan_to_num(nan=7.0).view(torch.int32))
        assert all(torch.equal(results[0], other) for other in results[1:]), name
