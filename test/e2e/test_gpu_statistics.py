"""Statistics of rows that are stored for the kernel that reads what is made of them (emulated)."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from drawn import tensor
from torch import Tensor
from torch.nn import functional as F

from tilewright.frontend.explain import explain


def pooled(x: Tensor) -> Tensor:
    return F.max_pool2d(F.relu(F.group_norm(x, 2)), 2)


def averaged(x: Tensor) -> Tensor:
    return F.layer_norm(x, x.shape[3:]).mean(2)


def overlaps(x: Tensor) -> Tensor:
    """Two results of one kernel, of softmax and its mask, for one that sums both."""
    p = x.softmax(1)
    return (p * (x > 0)).sum((2, 3)) / p.sum((2, 3))


def padded(x: Tensor) -> Tensor:
    """Read under a mask, and beyond its end."""
    return F.avg_pool2d(F.pad(F.instance_norm(x), (1, 1, 0, 1), value=2.0), 2)


@pytest.mark.parametrize("function", [pooled, averaged, overlaps, padded])
def test_what_is_normed_is_not_written(function: Callable[[Tensor], Tensor]) -> None:
    x = tensor(3, 4, 12, 70)
    found = explain(function, x, options={"target": "gpu_emulated", "fallback": False})
    torch.testing.assert_close(found.result, function(x))
    (graph,) = found.graphs
    assert [name.endswith("statistics") for name in graph.kernels] == [True, False]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_rows_are_reduced_where_they_are_read_at_other_places(dtype: torch.dtype) -> None:
    """Rotary embeddings behind a norm of heads: one kernel."""

    def rotated(x: Tensor, w: Tensor, angles: Tensor) -> Tensor:
        y = F.rms_norm(x, x.shape[3:], w).transpose(1, 2)
        turned = torch.cat((-y[..., 35:], y[..., :35]), -1)
        return y * angles.cos() + turned * angles.sin()

    x, w, angles = (tensor(*sizes).to(dtype) for sizes in ((3, 4, 5, 70), (70,), (4, 70)))
    found = explain(rotated, x, w, angles, options={"target": "gpu_emulated", "fallback": False})
    exact = rotated(*(v.double() for v in (x, w, angles)))
    errors = [F.mse_loss(v.double(), exact).sqrt() for v in (found.result, rotated(x, w, angles))]
    assert errors[0] <= 2 * errors[1]
    (graph,) = found.graphs
    assert sum(graph.kernels.values()) == 1


def test_what_is_returned_is() -> None:
    def both(x: Tensor) -> tuple[Tensor, Tensor]:
        y = F.layer_norm(x, x.shape[3:])
        return y, y.mean(2)

    x = tensor(3, 4, 12, 70)
    found = explain(both, x, options={"target": "gpu_emulated", "fallback": False})
    torch.testing.assert_close(found.result, both(x))
    assert not any("statistics" in name for graph in found.graphs for name in graph.kernels)


def test_what_is_returned_is_read_where_it_is() -> None:
    """Statistics as results of their own: sums of columns of a softmax, which reads both."""

    def both(x: Tensor) -> tuple[Tensor, ...]:
        most = x.amax(1, keepdim=True)
        e = (x - most).exp()
        total = e.sum(1, keepdim=True)
        return (e / total * x.sign()).sum((2, 3)), most, total.flatten(1)

    x = tensor(3, 20, 12, 70)
    found = explain(both, x, options={"target": "gpu_emulated", "fallback": False})
    torch.testing.assert_close(found.result, both(x))
    (graph,) = found.graphs
    assert [name.endswith("statistics") for name in graph.kernels] == [True, False]


def test_what_is_made_of_statistics_alone_is_stored_with_them() -> None:
    """Running averages of a norm of few long rows, which the kernel that adds up its parts makes."""

    def normed(x: Tensor, mean: Tensor, var: Tensor, w: Tensor, b: Tensor) -> Tensor:
        return F.relu(F.batch_norm(x, mean, var, w, b, training=True))

    x, w, b = tensor(8, 5, 64, 65), tensor(5), tensor(5)
    running = [tensor(5), tensor(5).abs()]
    ours = [v.clone() for v in running]
    found = explain(normed, x, *ours, w, b, options={"target": "gpu_emulated", "fallback": False})
    torch.testing.assert_close(found.result, normed(x, *running, w, b))
    torch.testing.assert_close(ours, running)
    (graph,) = found.graphs
    assert sum(graph.kernels.values()) == 3


@pytest.mark.parametrize("sizes", [(13, 11003), (5, 7, 4099)], ids=str)
def test_parts_of_all_are_of_neighbours(sizes: tuple[int, ...], tmp_path: Path) -> None:
    """Rows of odd lengths, all of which are summed."""
    x = tensor(*sizes)
    options = {"target": "gpu_emulated", "fallback": False, "dump": str(tmp_path)}
    torch.compiler.reset()  # else these sizes were symbols
    found = torch.compile(lambda x: x.sigmoid().mean(), backend="mlir", options=options)(x)
    torch.testing.assert_close(found, x.sigmoid().mean())
    (text,) = tmp_path.rglob("kernels.py")
    assert " % " not in text.read_text(), "positions go on from row to row"


def test_rows_then_columns_of_the_same() -> None:
    """Sinkhorn's iteration sums a matrix both ways: nothing of its size is stored in between."""

    def step(c: Tensor) -> Tensor:
        v = torch.logsumexp(c, 0)
        return torch.logsumexp(c - torch.logsumexp(c - v, 1)[:, None], 0)

    x = tensor(512, 256)
    found = explain(step, x, options={"target": "gpu_emulated", "fallback": False})
    torch.testing.assert_close(found.result, step(x))
    (graph,) = found.graphs
    assert sum(graph.kernels.values()) == 3


def test_an_index_is_checked_where_statistics_are_stored() -> None:
    def losses(x: Tensor, t: Tensor) -> tuple[Tensor, Tensor]:
        return F.cross_entropy(x, t), x.softmax(1).sum((0, 2))

    x, t = tensor(4, 21, 64), torch.arange(256).reshape(4, 64) % 21
    found = explain(losses, x, t, options={"target": "gpu_emulated", "fallback": False})
    torch.testing.assert_close(found.result, losses(x, t))
    assert any("statistics" in name for graph in found.graphs for name in graph.kernels)
    t[1, 2] = 21
    with pytest.raises(Exception, match="TW2237"):
        explain(losses, x, t, options={"target": "gpu_emulated", "fallback": False})


def test_differences_from_a_mean_are_made_again() -> None:
    """The gradient of a norm of columns, behind a product of halves."""
    torch.manual_seed(0)  # pyright: ignore[reportUnknownMemberType]
    model = torch.nn.Sequential(torch.nn.Linear(48, 32), torch.nn.BatchNorm1d(32), torch.nn.ReLU())
    model.append(torch.nn.Linear(32, 1)).bfloat16()
    compiled = torch.compile(model, backend="mlir", options={"target": "gpu_emulated", "fallback": False})
    x, found = tensor(256, 48).bfloat16(), list[list[Tensor]]()
    wide = copy.deepcopy(model).double()
    for one in (compiled, model, wide):
        one.zero_grad()
        given = x.to(next(one.parameters()).dtype, copy=True).requires_grad_()
        one(given).square().sum().backward()
        found.append([t.grad.double() for t in (given, *one.parameters()) if t.grad is not None])
    for ours, eager, exact in zip(*found, strict=True):
        assert (ours - exact).norm() <= 3 * (eager - exact).norm() + 1e-6 * exact.norm()


def test_gathers_are_joined_where_they_are_checked() -> None:
    def pairs(x: Tensor, i: Tensor, j: Tensor) -> Tensor:
        return torch.cat([x[i], x[j] * 2], 1)

    x, i, j = tensor(9, 6), torch.arange(5), torch.arange(-3, 2)
    found = explain(pairs, x, i, j, options={"target": "gpu_emulated", "fallback": False})
    torch.testing.assert_close(found.result, pairs(x, i, j))
    (graph,) = found.graphs
    assert sum(graph.kernels.values()) == 1
    for at in (i, j):
        wrong = [t.clone() for t in (i, j)]
        wrong[at is j][2] = 9
        with pytest.raises(Exception, match="TW2237"):
            explain(pairs, x, *wrong, options={"target": "gpu_emulated", "fallback": False})
