"""Images of another size without aliasing, and their gradients, against eager."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from tilewright.frontend.decompositions.antialiasing import resizings
from tilewright.frontend.explain import explain

SIZES = [((9, 11), (5, 4)), ((6, 7), (13, 9)), ((37, 20), (5, 3)), ((9, 9), (1, 1)), ((5, 6), (5, 6))]
SCALED = [((8, 5), (4, 10), 0.5, 2.0), ((16, 11), (7, 5), 0.45, 0.5)]


def random(*sizes: int) -> Tensor:
    return torch.randn(sizes, generator=torch.Generator().manual_seed(len(sizes)))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("kind", ["bilinear", "bicubic"])
def test_as_written_out(kind: str, dtype: torch.dtype) -> None:
    aten, rows = torch.ops.aten, {str(op): row for op, row in resizings().items()}
    forward, backward = f"_upsample_{kind}2d_aa", f"_upsample_{kind}2d_aa_backward"
    for size, result, *scales in (*SIZES, *SCALED):
        x = random(2, 3, *size).to(dtype)
        want = getattr(aten, forward)(x, result, False, *scales)
        torch.testing.assert_close(rows[f"aten.{forward}.default"](x, result, False, *scales), want)
        w = random(*want.shape).to(dtype)
        want = getattr(aten, backward)(w, result, x.shape, False, *scales)
        found = rows[f"aten.{backward}.default"](w, result, x.shape, False, *scales)
        torch.testing.assert_close(found, want)


@pytest.mark.parametrize("target", ["cpu_openmp", "gpu_emulated"])
def test_kernels(target: str) -> None:
    """An infinite element counts where it is read, and nowhere else."""

    def function(x: Tensor) -> list[Tensor]:
        with torch.enable_grad():
            x = x.detach().requires_grad_()
            made = F.interpolate(x, (5, 4), mode="bilinear", antialias=True)
            gradient = torch.autograd.grad(made.sin().sum(), x)[0]
        odd = torch.where(x > 2.5, torch.inf, x).detach()
        return [
            made.detach(),
            gradient,
            F.interpolate(odd, scale_factor=0.4, mode="bilinear", antialias=True),
            F.interpolate(x, (13, 15), mode="bicubic", antialias=True).detach(),
        ]

    torch._dynamo.reset()
    x = random(2, 3, 9, 11).contiguous(memory_format=torch.channels_last)
    x[1, 2, 3, 4] = 7
    found = explain(function, x, options={"target": target, "fallback": False})
    calls = {call for graph in found.graphs for call in graph.library_calls}
    assert calls <= {"aten::bmm.out", "aten::mm.out"}
    for got, want in zip(found.result, function(x), strict=True):
        torch.testing.assert_close(got, want)
        assert got.stride() == want.stride()
