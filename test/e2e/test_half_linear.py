"""Linear layers in 16 bits: every instruction set, one row, odd sums, epilogues, views."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from benchmarks.numerics import check_model, judge
from tilewright.targets.cpu_openmp.isa import machine_isa

SHAPES = [(1, 96, 96), (7, 33, 48), (64, 64, 16), (5, 1, 32), (0, 8, 16), (3, 24, 17)]


@pytest.fixture(autouse=True)
def _fresh() -> None:
    torch.manual_seed(0)
    torch.compiler.reset()


def limit(monkeypatch: pytest.MonkeyPatch, capability: str) -> None:
    """Compile for less than this CPU can do."""
    if capability:
        monkeypatch.setenv("ATEN_CPU_CAPABILITY", capability)


class Block(nn.Module):
    """A product with an epilogue, one of a transposed input, and a residual."""

    def __init__(self, k: int, n: int) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(k, n), nn.Linear(n, k, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.down(nn.functional.gelu(self.up(x)))


class Transposed(nn.Module):
    """The rows of the left operand are not contiguous."""

    def __init__(self, k: int, n: int) -> None:
        super().__init__()
        self.layer = nn.Linear(k, n)

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x.t())


@pytest.mark.parametrize("capability", ["", "avx2", "default"])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=["bf16", "f16"])
@pytest.mark.parametrize(("m", "k", "n"), SHAPES)
def test_linear(
    m: int, k: int, n: int, dtype: torch.dtype, capability: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit(monkeypatch, capability)
    model = nn.Linear(k, n).to(dtype).eval()
    x = torch.randn(m, k).to(dtype)
    with torch.no_grad():
        assert check_model(torch.compile(model, backend="mlir", fullgraph=True), model, (x,))


@pytest.mark.parametrize("capability", ["", "avx2"])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=["bf16", "f16"])
@pytest.mark.parametrize(
    ("kind", "k", "n", "sizes"), [(Block, 48, 96, (2, 19, 48)), (Transposed, 40, 32, (40, 11))]
)
def test_what_surrounds_a_product(
    kind: type[Block | Transposed],
    k: int,
    n: int,
    sizes: tuple[int, ...],
    dtype: torch.dtype,
    capability: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    limit(monkeypatch, capability)
    model = kind(k, n).to(dtype).eval()
    x = torch.randn(sizes).to(dtype)
    with torch.no_grad():
        assert check_model(torch.compile(model, backend="mlir", fullgraph=True), model, (x,))


def test_infinities_and_nan_stay_in_their_rows() -> None:
    """The zeros that an odd sum is padded with meet nothing of the next row."""
    model = nn.Linear(33, 16).to(torch.bfloat16).eval()
    x = torch.randn(4, 33).to(torch.bfloat16)
    x[1, 0], x[2, 5], x[3, 32] = float("inf"), float("nan"), float("-inf")
    with torch.no_grad():
        result = torch.compile(model, backend="mlir", fullgraph=True)(x)
        assert torch.equal(result.isfinite(), model(x).isfinite())


def test_dynamic_rows() -> None:
    model = Block(48, 96).to(torch.bfloat16).eval()
    compiled = torch.compile(model, backend="mlir", fullgraph=True, dynamic=True)
    with torch.no_grad():
        for m in (5, 17, 32):
            x = torch.randn(m, 48).to(torch.bfloat16)
            assert check_model(compiled, model, (x,))


def test_a_scaled_product_may_be_larger_than_f16_before() -> None:
    def function(c: Tensor, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
        return torch.addmm(c, a, b, alpha=0.01, beta=0.5), torch.baddbmm(
            c[None], a[None], b[None], alpha=0.01
        )

    given = torch.randn(9, 17).half(), torch.full((9, 64), 40.0).half(), torch.full((64, 17), 40.0).half()
    for got, want in zip(torch.compile(function, backend="mlir")(*given), function(*given), strict=True):
        torch.testing.assert_close(got, want)


@pytest.mark.parametrize("target", ["cpu_openmp", "gpu_emulated"])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("batches", [(), (3,)], ids=["addmm", "baddbmm"])
def test_scaled_products_are_rounded_once(batches: tuple[int, ...], dtype: torch.dtype, target: str) -> None:
    """As libraries do: iterations that orthogonalise a matrix (Muon) had 4 times the error of eager mode."""
    c, x, y = (torch.randn(*batches, *sizes).to(dtype) for sizes in ((30, 50), (30, 70), (70, 50)))

    def function(c: Tensor, x: Tensor, y: Tensor) -> Tensor:
        return (torch.baddbmm if batches else torch.addmm)(c, x, y, beta=-4.7, alpha=2.1)

    torch._dynamo.reset()
    found = torch.compile(function, backend="mlir", options={"target": target, "fallback": False})(c, x, y)
    wanted = (2.1 * (x.double() @ y.double()) - 4.7 * c.double()).to(dtype)
    assert (found == wanted).double().mean() > 0.99


def test_a_scaled_product_of_bf16_is_the_library_s(tmp_path: Path) -> None:
    """It writes into planned memory: `aten::addmm.out`, also for a row that is repeated; sizes change."""
    if not machine_isa(os.environ).bf16_dot:
        pytest.skip("this CPU multiplies no pairs of bf16")

    def function(c: Tensor, x: Tensor, y: Tensor) -> Tensor:
        return torch.addmm(c, x, y, beta=-4.7) + torch.addmm(c[:1], x.relu(), y.sin(), alpha=2.1)

    options = {"target": "cpu_openmp", "fallback": False, "dump": str(tmp_path)}
    compiled = torch.compile(function, backend="mlir", options=options, dynamic=True)
    for n, k, m in ((30, 70, 50), (2, 3, 4)):
        given = [torch.randn(size).to(torch.bfloat16) for size in ((n, m), (n, k), (k, m))]
        assert judge(compiled(*given), function(*given), function(*(value.double() for value in given)))
    (planned,) = tmp_path.glob("*/*-plan-memory.mlir")
    assert planned.read_text().count('"aten::addmm.out"') == 2
