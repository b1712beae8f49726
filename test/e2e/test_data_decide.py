"""Sizes and integers that data decide: torch finds them, and all that is around them is compiled."""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from emulated_gpu import EmulatedGpu
from torch import Tensor

import tilewright
from benchmarks.numerics import judge

TARGETS = pytest.mark.parametrize("target", ["cpu_openmp", "gpu_emulated"])
Function = Callable[..., Any]


@pytest.fixture(autouse=True)
def _captured() -> Generator[None]:
    torch.manual_seed(0)
    torch._dynamo.reset()
    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True, capture_scalar_outputs=True):
        yield


def rows_apart(x: Tensor, w: Tensor, m: Tensor) -> Tensor:
    """Rows that a mask leaves out are not computed with, as padding is not."""
    places = m.nonzero().squeeze(1)
    return torch.zeros_like(x).index_put((places,), F.gelu(x[places] @ w))


def experts(x: Tensor, w: Tensor, m: Tensor) -> Tensor:
    weights, chosen = (x @ w).softmax(-1).topk(2)
    out = torch.zeros_like(x)
    for number in range(3):
        rows, rank = (chosen == number).nonzero(as_tuple=True)
        out = out.index_add(0, rows, F.silu(x[rows] @ w) * weights[rows, rank, None])
    return out


def loss_of_some(x: Tensor, w: Tensor, m: Tensor) -> Tensor:
    """Two look-ups by one mask."""
    return F.cross_entropy((x @ w)[m], x.detach().argmax(1)[m], reduction="sum") / 19


def selected(x: Tensor, w: Tensor, m: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    return x[m].sum(0), torch.masked_select(x * 2, m[:, None]), x[m] * w[0]


def repeated(x: Tensor, w: Tensor, m: Tensor) -> tuple[Tensor, int]:
    found = x.repeat_interleave(m.long() * 2, 0)
    return found.sin() * 2, found.shape[0]


def as_many_as(x: Tensor, w: Tensor, m: Tensor) -> Tensor:
    count = m.sum().item()
    torch._check(count >= 0)
    torch._check(count <= x.shape[0])
    return x.narrow(0, 0, count).exp().sum(0) * count


def in_pieces(x: Tensor, w: Tensor, m: Tensor) -> Tensor:
    sizes = torch.stack([m.sum(), (~m).sum()]).tolist()
    return torch.stack([piece.sum(0) for piece in torch.split(x.sin(), sizes)])


def of_several_dimensions(x: Tensor, w: Tensor, m: Tensor) -> tuple[Tensor, Tensor]:
    """Behind others, and a mask of two."""
    return x.t()[:, m] * w[:, :1], x[(x > 0) & m[:, None]].exp()


def in_halves(x: Tensor, w: Tensor, m: Tensor) -> Tensor:
    """The last part is given twice as many rows as it computes with."""
    both = torch.cat([x[m], x[m] @ w])
    rest = both[both[:, 0] > 0]
    return both.view(2, -1, 7) * rest.cos().sum()


def beside_a_mask(x: Tensor, w: Tensor, m: Tensor) -> tuple[Tensor, Tensor]:
    """Of two look-ups by one mask the second has another index, too."""
    return x[m] * 2, x[m, w.detach().argmax(1)[:1]].exp()


def one_behind_the_other(x: Tensor, w: Tensor, m: Tensor) -> Tensor:
    """What data decide depends on what data decided."""
    some = x[m] * 2
    return some[some[:, 0] > 0].cos().sum(0)


FUNCTIONS: tuple[Function, ...] = (
    rows_apart,
    experts,
    loss_of_some,
    selected,
    repeated,
    as_many_as,
    in_pieces,
    of_several_dimensions,
    in_halves,
    beside_a_mask,
    one_behind_the_other,
)


def run(function: Function, x: Tensor, w: Tensor, m: Tensor) -> list[Tensor]:
    """The results, and the gradients of both operands."""
    x, w = (t.detach().clone().requires_grad_() for t in (x, w))
    out = function(x, w, m)
    results = (
        [out] if isinstance(out, Tensor) else [r if isinstance(r, Tensor) else torch.tensor(r) for r in out]
    )
    total = sum((r.cos().sum() for r in results if r.requires_grad), start=x.new_zeros(()))
    gradients = torch.autograd.grad(total, (x, w), allow_unused=True)
    return [r.detach() for r in results] + [g for g in gradients if g is not None]


def lying(tensor: Tensor) -> tuple[Any, ...]:
    return (tensor.shape, tensor.stride() if tensor.numel() else ())


@TARGETS
@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
@pytest.mark.filterwarnings("error:TW1004")
def test_results_and_gradients(function: Function, dynamic: bool | None, target: str) -> None:
    """For some rows, for all of them and for none, by one compile."""
    options = {"target": target}
    compiled = torch.compile(function, backend="mlir", fullgraph=True, dynamic=dynamic, options=options)
    x, w = torch.randn(19, 7), torch.randn(7, 7)
    for mask in (torch.arange(19) % 3 > 0, torch.ones(19).bool(), torch.zeros(19).bool()):
        found, wanted = run(compiled, x, w, mask), run(function, x, w, mask)
        truth = run(function, x.double(), w.double(), mask)
        assert [lying(t) for t in found] == [lying(t) for t in wanted]
        assert judge(found, wanted, truth)


def graphs_of(function: Function, *given: Tensor, **options: Any) -> list[Any]:
    return list(tilewright.explain(function, *given, options={"target": "gpu_emulated", **options}).graphs)


def test_what_torch_runs_stands_between_graphs() -> None:
    """One look for three look-ups; what they give is computed with where it is looked up."""

    def function(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        mask = x.sum(1) > 0
        return x[mask] * y[mask] + 1, x.sin()[mask].sum(0)

    before, behind = graphs_of(function, torch.randn(19, 7), torch.randn(19, 7))
    assert [sum(graph.kernels.values()) for graph in (before, behind)] == [1, 2]
    (fallback,) = before.fallbacks
    assert (fallback.code, fallback.op) == ("TW1104", "aten::nonzero")
    assert fallback.place.startswith(__file__)
    assert "data decide" in fallback.reason
    assert not behind.fallbacks


def test_what_is_independent_is_found_at_once() -> None:
    """The masks of all experts, before any of these computes."""
    graphs = graphs_of(experts, torch.randn(19, 7), torch.randn(7, 7), torch.ones(19).bool())
    assert len(graphs) == 2
    assert [fallback.op for fallback in graphs[0].fallbacks] == ["aten::nonzero"] * 3


def test_what_is_asserted_of_data_is_checked() -> None:
    """In each call, by torch, as in eager mode."""

    def function(x: Tensor, n: Tensor) -> Tensor:
        count = n.sum().item()
        torch._check(count == 4)
        return x.view(count, -1) * 2

    compiled = torch.compile(function, backend="mlir", fullgraph=True)
    x = torch.randn(4, 6)
    torch.testing.assert_close(compiled(x, torch.tensor([1, 3])), x * 2)
    with pytest.raises(RuntimeError, match="Runtime assertion failed"):
        compiled(x, torch.tensor([1, 2]))


def test_inputs_are_written_at_last() -> None:
    """What is read of them behind a look-up is what they were."""

    def function(x: Tensor, y: Tensor) -> Tensor:
        view = x[1:]
        old = view * 1
        x.add_(1)
        return old[y[1:] > 0] + x[y > 0].sum()

    compiled = torch.compile(function, backend="mlir", fullgraph=True)
    y = torch.tensor([1.0, -1.0, 2.0, 3.0])
    mine, theirs = torch.arange(4.0), torch.arange(4.0)
    torch.testing.assert_close(compiled(mine, y), function(theirs, y))
    torch.testing.assert_close(mine, theirs)


def test_nothing_runs_through_aten_where_that_is_refused() -> None:
    compiled = torch.compile(loss_of_some, backend="mlir", options={"fallback": False})
    with pytest.raises(Exception, match=r"(?s)TW1008: `aten::nonzero`.*data decide"):
        compiled(torch.randn(19, 7), torch.randn(7, 7), torch.ones(19).bool())


def test_native_host_functions_for_gpus(gpu: EmulatedGpu, caplog: pytest.LogCaptureFixture) -> None:
    """One for each part. A size that data decide is another one in each call: its part is not recorded."""
    x, w, mask = torch.randn(19, 7), torch.randn(7, 7), torch.ones(19).bool()
    compiled = torch.compile(experts, backend="mlir", fullgraph=True, options={"target": "gpu_triton"})
    torch.testing.assert_close(compiled(x, w, mask), experts(x, w, mask))
    assert len(gpu.units) == 2

    def looked_up(x: Tensor, mask: Tensor) -> Tensor:
        return x[mask].exp() * 2

    options = {"target": "gpu_triton", "cuda_graphs": True}
    recorded = torch.compile(looked_up, backend="mlir", fullgraph=True, options=options)
    with caplog.at_level(logging.INFO, "tilewright.cuda_graphs"):
        torch.testing.assert_close(recorded(x, mask), looked_up(x, mask))
    (message,) = [r.getMessage() for r in caplog.records if r.name == "tilewright.cuda_graphs"]
    assert message.startswith("a graph runs without CUDA graphs: data decide a size")
