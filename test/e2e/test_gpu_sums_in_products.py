"""What products make is reduced where it is made, from their Triton text."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from pathlib import Path

import pytest
import torch
from test_gpu_emulated import check, compiled, floats
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.numerics import judge
from tilewright.dialects.tk.contraction import OF_TILE
from tilewright.frontend.explain import explain

Shape = tuple[int, ...]
HALVES = (torch.bfloat16, torch.float16)


def bias(x: Tensor, w: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    m = F.gelu(x @ w)
    return m, m.float().sum(0) * b.float()


def statistics(x: Tensor, w: Tensor, b: Tensor) -> tuple[Tensor, ...]:
    """Of pixels, whose image is read again."""
    y = x @ w + b
    return (y, *torch.var_mean(y.float(), (0, 1, 2)))


def gradient_of_norm(g: Tensor, w: Tensor, x: Tensor) -> tuple[Tensor, ...]:
    d = torch.where(x > 0, g @ w, 0.0)
    return d, d.float().sum(0), (d.float() * x.float()).sum(0)


def largest_column(x: Tensor, w: Tensor) -> Tensor:
    return (x @ w).amax(1)


def matrices(x: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
    m = torch.tanh(x @ w)
    return m, m.float().mean(1)


CASES: dict[str, tuple[Callable[..., object], tuple[Shape, ...]]] = {
    "bias": (bias, ((192, 40), (40, 33), (33,))),
    "statistics": (statistics, ((3, 8, 16, 24), (24, 65), (65,))),
    "gradient of a norm": (gradient_of_norm, ((160, 17), (17, 70), (160, 70))),
    "last tile": (statistics, ((3, 11, 17, 24), (24, 40), (40,))),
    "last tile of a batch": (matrices, ((2, 519, 16), (2, 16, 17))),
    "largest column": (largest_column, ((37, 32), (32, 96))),
    "matrices": (matrices, ((3, 64, 16), (3, 16, 40))),
}


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("name", CASES)
def test_reduced_where_made(name: str, dtype: torch.dtype) -> None:
    function, shapes = CASES[name]
    inputs = [floats(*shape, dtype=dtype, seed=i) for i, shape in enumerate(shapes)]
    check(function, *inputs)
    torch.compiler.reset()
    (graph,) = explain(function, *inputs, options={"target": "gpu_emulated", "fallback": False}).graphs
    assert sum(graph.kernels.values()) == 2


@pytest.mark.parametrize("value", [torch.inf, -torch.inf, torch.nan], ids=str)
def test_what_is_not_finite(value: float) -> None:
    x, w = floats(64, 24, dtype=torch.bfloat16), floats(24, 64, dtype=torch.bfloat16, seed=1)
    x[3, 4] = value
    check(lambda x, w: ((m := (x @ w).relu()), m.float().sum(0)), x, w)
    check(largest_column, x, w)


def test_sizes_may_be_symbols() -> None:
    """Of one batch and of two, whose rows are those of the matrix."""
    function, w, b = (
        compiled(statistics_of_rows, dynamic=True),
        *(floats(*s, seed=1) for s in ((24, 40), (40,))),
    )
    w, b = w.bfloat16(), b.bfloat16()
    for shape in ((3, 37, 24), (2, 5, 24), (7, 130, 24), (4, 0, 24)):
        x = floats(*shape, dtype=torch.bfloat16)
        exact = statistics_of_rows(x.double(), w.double(), b.double())
        verdict = judge(function(x, w, b), statistics_of_rows(x, w, b), exact)
        assert verdict, verdict.why


def statistics_of_rows(x: Tensor, w: Tensor, b: Tensor) -> tuple[Tensor, ...]:
    y = F.gelu((x.reshape(-1, x.shape[2]) @ w) + b)
    return y, y.to(torch.promote_types(y.dtype, torch.float32)).sum(0)


def log_sum(x: Tensor, w: Tensor) -> Tensor:
    return torch.logsumexp((x @ w).float(), 0)


def variance(x: Tensor, w: Tensor) -> Tensor:
    y = (x @ w).float()
    return (y - y.mean(0)).square().mean(0)


@pytest.mark.parametrize("function", [log_sum, variance])
def test_what_is_met_again_is_not_reduced_by_tiles(function: Callable[..., Tensor]) -> None:
    check(function, floats(640, 48, dtype=torch.bfloat16), floats(48, 40, dtype=torch.bfloat16, seed=1))


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_the_norm_of_rows_that_are_all_alike(dtype: torch.dtype) -> None:
    """Their mean is what each of them is, rounded: the norm would make the difference large."""

    def norm(x: Tensor, w: Tensor) -> Tensor:
        return F.batch_norm(x @ w, None, None, training=True)

    x, w = floats(1, 24).to(dtype).expand(777, 24).contiguous(), floats(24, 64, dtype=dtype, seed=1)
    check(norm, x, w)


class Bottleneck(nn.Module):
    """1 x 1 before norms, as in residual networks."""

    def __init__(self, width: int, inner: int) -> None:
        super().__init__()
        self.down, self.up = nn.Conv2d(width, inner, 1, bias=False), nn.Conv2d(inner, width, 1, bias=False)
        self.norms = nn.ModuleList([nn.BatchNorm2d(inner), nn.BatchNorm2d(width)])

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(x + self.norms[1](self.up(F.relu(self.norms[0](self.down(x))))))


def steps(model: nn.Module, function: Callable[[Tensor], Tensor], x: Tensor) -> list[Tensor]:
    """The result, all gradients and running statistics."""
    leaf = x.clone().requires_grad_()
    y = function(leaf)
    wanted = torch.linspace(-1, 1, y.numel(), dtype=torch.float64).reshape(y.shape).to(y.dtype)
    gradients = torch.autograd.grad(y, [leaf, *model.parameters()], wanted)
    return [y.detach(), *gradients, *(b for b in model.buffers() if b.is_floating_point())]


def test_training_a_bottleneck(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEWRIGHT_DUMP", str(tmp_path))
    torch.manual_seed(0)  # pyright: ignore[reportUnknownMemberType]
    model, x = Bottleneck(96, 80).to(torch.bfloat16), floats(4, 96, 16, 16, dtype=torch.bfloat16)
    ours, eager, exact = deepcopy(model), deepcopy(model), deepcopy(model).double()
    got = steps(ours, compiled(ours), x)
    verdict = judge(got, steps(eager, eager, x), steps(exact, exact, x.double()))
    assert verdict, verdict.why
    forward, backward = (
        text.read_text().count(OF_TILE) for text in sorted(tmp_path.rglob("*-sum-in-products.mlir"))
    )
    assert (forward, backward) == (2, 2)
