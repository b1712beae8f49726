"""Sums of columns in the kernels that make the rows, from their Triton text."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from test_gpu_emulated import check, floats
from torch import Tensor, nn

from tilewright.frontend.explain import explain


class Block(nn.Module):
    """Two norms, and a bias whose gradient is a sum of what an activation's gradient makes."""

    def __init__(self, width: int, inner: int) -> None:
        super().__init__()
        self.first, self.second = nn.LayerNorm(width), nn.RMSNorm(width)
        self.up, self.down = nn.Linear(width, inner), nn.Linear(inner, width)

    def forward(self, x: Tensor) -> Tensor:
        return self.second(x + self.down(nn.functional.gelu(self.up(self.first(x)))))


@pytest.mark.parametrize(
    ("rows", "width", "inner"), [((4, 128), 48, 96), ((8, 65), 33, 70), ((512,), 130, 200)], ids=str
)
def test_gradients_of_norms_and_biases(rows: tuple[int, ...], width: int, inner: int) -> None:
    torch.compiler.reset()  # else these sizes were symbols, being others than those of the test before
    torch.manual_seed(0)  # pyright: ignore[reportUnknownMemberType]
    model = Block(width, inner)
    x = torch.randn(*rows, width, requires_grad=True)

    def step(x: Tensor) -> None:
        model(x).square().sum().backward()

    def gradients() -> list[Tensor]:
        tensors = [x, *model.parameters()]
        taken = [t.grad for t in tensors if t.grad is not None]
        assert len(taken) == len(tensors)
        for t in tensors:
            t.grad = None
        return taken

    step(x)
    expected = gradients()
    found = explain(step, x, options={"target": "gpu_emulated", "fallback": False})
    torch.testing.assert_close(gradients(), expected, rtol=1e-4, atol=1e-3)
    (backward,) = (graph for graph in found.graphs if graph.kind == "backward")
    # Three make rows and sum them in parts, three add up parts, most of which are launched in groups.
    assert sum(backward.kernels.values()) in (3, 4)


def norm_gradient(
    keep: Tensor, g: Tensor, r: Tensor, x: Tensor, y: Tensor, z: Tensor, w: Tensor, u: Tensor
) -> tuple[Tensor, Tensor]:
    """Of a dropped input and of the weight of its norm, whose result three branches read."""
    d, s = torch.where(keep, g * 1.25, 0.0), x + y + z
    row = (s * w * d).sum(1, keepdim=True) * -0.5 * r**3 / w.numel()
    return (u + s * w * r + row * (d * 2)) * (keep * 1.25), (s * (d * r)).sum(0)


def test_fewer_rows_at_a_time_where_much_is_live(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of eight rows, of which a program holds four."""
    monkeypatch.setenv("TILEWRIGHT_DUMP", str(tmp_path))
    g, x, y, z, u = (floats(1024, 520, seed=i) for i in range(5))
    keep, r, w = floats(1024, 520, seed=5) > -0.8, floats(1024, 1, seed=6).abs(), floats(520, seed=7)
    check(norm_gradient, keep, g, r, x, y, z, w, u)
    (kernels,) = tmp_path.rglob("kernels.py")
    assert "in range(0, 8, 4):" in kernels.read_text()


def norm_of_inputs(g: Tensor, x: Tensor, r: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
    """The weight's gradient, then that of the rows, of which no kernel makes any."""
    row = (g * w * x).mean(1, keepdim=True) * r * r
    return (g * (x * r)).sum(0), (g * w - x * row) * r


def test_one_kernel_reads_what_none_makes() -> None:
    g, x, r, w = floats(520, 33), floats(520, 33, seed=1), floats(520, 1, seed=2), floats(33, seed=3)
    check(norm_of_inputs, g, x, r, w)


def test_a_sum_joins_a_kernel_that_another_made_read_its_rows() -> None:
    """The gradient of columns that are made standard: all three sums take one walk over both."""

    def gradient(x: Tensor, g: Tensor) -> Tensor:
        x = x.detach().requires_grad_()
        ((x - x.mean(0)) / (x.std(0) + 1e-5)).backward(g)
        assert x.grad is not None
        return x.grad

    x, g = floats(4096, 33), floats(4096, 33, seed=1)
    expected = gradient(x, g)
    found = explain(gradient, x, g, options={"target": "gpu_emulated", "fallback": False})
    torch.testing.assert_close(found.result, expected, rtol=1e-4, atol=1e-5)
    (backward,) = (graph for graph in found.graphs if graph.kind == "backward")
    assert sum(backward.kernels.values()) == 3


def test_a_rounded_sum_of_columns_walks_rows() -> None:
    """The gradient of the weight of a norm of halves, whose columns come first where it is rounded."""

    def halves(g: Tensor, x: Tensor, r: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
        weight, rows = norm_of_inputs(g.float(), x.float(), r, w.float())
        return weight.bfloat16(), rows.bfloat16()

    g, x = floats(520, 33).bfloat16(), floats(520, 33, seed=1).bfloat16()
    r, w = floats(520, 1, seed=2), floats(33, seed=3).bfloat16()
    check(halves, g, x, r, w)
    torch.compiler.reset()
    (graph,) = explain(halves, g, x, r, w, options={"target": "gpu_emulated", "fallback": False}).graphs
    assert sum(graph.kernels.values()) == 2, "the rows are read once, and their parts are added up"


def layer_norm_gradient(g: Tensor, x: Tensor, mean: Tensor, rstd: Tensor, w: Tensor) -> tuple[Tensor, ...]:
    """Of the rows, the weight and the bias."""
    return torch.ops.aten.native_layer_norm_backward(g, x, w.shape, mean, rstd, w, w, [True, True, True])


@pytest.mark.parametrize(
    ("rows", "width", "dtype", "loop"),
    [
        (1290, 2048, torch.float32, "range(0, 5, 2):"),
        (516, 2051, torch.bfloat16, "range(0, 4, 1):"),
        (512, 8191, torch.float32, "range(0, 4, 1):"),
    ],
    ids=str,
)
def test_programs_go_along_long_rows(
    rows: int, width: int, dtype: torch.dtype, loop: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All three gradients read the rows once; steps may hang over a part, and lanes over a row."""
    monkeypatch.setenv("TILEWRIGHT_DUMP", str(tmp_path))
    g, x = floats(rows, width).to(dtype), floats(rows, width, seed=1).to(dtype)
    mean, rstd = floats(rows, 1, seed=2).to(dtype), floats(rows, 1, seed=3).abs().to(dtype)
    check(layer_norm_gradient, g, x, mean, rstd, floats(width, seed=4).to(dtype))
    (kernels,) = tmp_path.rglob("kernels.py")
    text = kernels.read_text()
    assert loop in text
    count = text.count("\ndef ") - text.count("\ndef _part_")
    assert count == 2, "rows are read once, and their parts are added up"
