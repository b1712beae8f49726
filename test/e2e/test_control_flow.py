"""`cond`, loops, scans and maps: their graphs are compiled, and an op of the plan calls them."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from emulated_gpu import EmulatedGpu
from torch import Tensor
from torch._higher_order_ops import map as torch_map
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop

import tilewright

TARGETS = ["cpu_openmp", "gpu_emulated"]
WEIGHT = torch.nn.Parameter(torch.linspace(-1, 1, 25, dtype=torch.float64).reshape(5, 5))


@pytest.fixture(autouse=True)
def fresh() -> None:
    torch._dynamo.reset()


def compiled(f: Callable[..., Any], target: str = "auto", **options: Any) -> Callable[..., Any]:
    """Compiled for all sizes; nothing may run by way of torch."""
    options = {"target": target, "fallback": False, **options}
    return torch.compile(f, backend="mlir", dynamic=True, options=options)


def same(run: Callable[..., Any], f: Callable[..., Any], *args: Any) -> None:
    with torch.no_grad():
        torch.testing.assert_close(run(*args), f(*args))


def same_gradients(run: Callable[..., Any], f: Callable[..., Any], x: Tensor) -> None:
    found: list[Any] = []
    for function in (run, f):
        WEIGHT.grad = None
        leaf = x.clone().requires_grad_()
        result = function(leaf)
        result.square().sum().backward()
        found.append((result.detach(), leaf.grad, WEIGHT.grad))
    torch.testing.assert_close(*found)


def branches(x: Tensor) -> Tensor:
    """Of one branch the result is a copy of its operand."""
    return torch.cond(x.sum() > 0, lambda y: (y @ WEIGHT).sin(), lambda y: y.clone(), ((x * 2).exp(),)) + 1


def by_size(x: Tensor) -> Tensor:
    return torch.cond(x.shape[0] * 2 > 8, lambda y: y @ WEIGHT, lambda y: y.cos(), (x * 2,)) + 1


def grow(x: Tensor) -> Tensor:
    """A condition within a loop, whose state has a number and a tensor, and a weight."""

    def step(i: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        return i + 1, torch.cond(y.sum() > 0, lambda z: z * 2, lambda z: z - WEIGHT.sum() - 1.5, (y,))

    start = torch.zeros((), dtype=torch.int64)
    return while_loop(lambda i, y: (y.abs().max() < 12) & (i < 3), step, (start, x + 1))[1] - 1


def recurrence(x: Tensor) -> Tensor:
    last, all_ = scan(
        lambda c, y: (c + y @ WEIGHT, c * y), torch.ones(5).double(), x * x.shape[0], reverse=True
    )
    return all_ + last


def mapped(x: Tensor) -> Tensor:
    return torch_map(lambda row, w: row.sin() + row @ w, x, WEIGHT) * 2


def everything(x: Tensor) -> Tensor:
    """One compile of all of them."""
    return torch.cat([branches(x), by_size(x), grow(x), recurrence(x), mapped(x)])


@pytest.mark.parametrize("target", TARGETS)
def test_one_compile_for_all_sizes_and_choices(target: str) -> None:
    run = compiled(everything, target)
    for rows, sign in ((4, 1), (7, -1)):
        same(run, everything, (torch.rand(rows, 10).double() * sign)[:, ::2])


@pytest.mark.parametrize(("target", "f"), zip(TARGETS, (recurrence, mapped), strict=True))
def test_gradients(f: Callable[[Tensor], Tensor], target: str) -> None:
    def both(x: Tensor) -> Tensor:
        return branches(f(x).tanh())

    run = compiled(both, target)
    for rows, sign in ((4, 1), (6, -1)):
        same_gradients(run, both, torch.rand(rows, 5).double() * sign)


def test_native_host_functions_for_gpus(gpu: EmulatedGpu, caplog: pytest.LogCaptureFixture) -> None:
    """A recorded CUDA graph would take the same branch for ever: none is made, and the reason is logged."""
    run = compiled(grow, "gpu_triton", cuda_graphs=True)
    with caplog.at_level("INFO", "tilewright.cuda_graphs"):
        for rows, sign in ((4, 1), (7, -1)):
            same(run, grow, torch.rand(rows, 5).double() * sign)
    assert len(gpu.units) == 1
    (message,) = [r.getMessage() for r in caplog.records if r.name == "tilewright.cuda_graphs"]
    assert message.startswith("a graph runs without CUDA graphs: the host decides what runs in `")


def test_every_function_has_kernels_of_its_own() -> None:
    with torch.no_grad():
        found = tilewright.explain(branches, torch.rand(3, 5).double())
    (graph,) = found.graphs
    assert (graph.fallbacks, graph.control) == ((), {"cond": 1})
    assert {"sin", "exp"} <= {word for name in graph.kernels for word in name.split("_")}
    assert "control: cond" in str(found)


@pytest.mark.parametrize("target", TARGETS)
def test_each_call_draws_its_own_numbers(target: str) -> None:
    def f(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        def noisy(y: Tensor) -> Tensor:
            return y + torch.rand_like(y)

        first, second = (torch.cond(x.sum() > 0, noisy, noisy, (x * 2,)) for _ in range(2))
        return first, second, torch_map(noisy, x * 2)

    first, second, rows = compiled(f, target)(torch.ones(4, 5))
    assert not torch.equal(first, second)
    assert not torch.equal(rows[0], rows[1])


def test_complex_numbers() -> None:
    def f(x: Tensor) -> Tensor:
        turned = torch.cond(x.sum() > 0, lambda y: y * (2 + 1j), lambda y: y * (1 + 0j), (x * 2,))
        return torch.cond(x.sum() > 0, lambda z: z * z, lambda z: z + 1, (turned,)).real

    for sign in (1, -1):
        same(compiled(f), f, torch.rand(3, 5) * sign)


def over_numbers(x: Tensor) -> Tensor:
    return while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * 2), (0, x + 1))[1]


def until_any(x: Tensor) -> Tensor:
    """The number of rows that are left depends on data."""
    return torch.cond(x.sum() > 0, lambda y: y.nonzero().sum(), lambda y: y.sum().long(), (x,)) + 1


@pytest.mark.parametrize(
    ("f", "reason"),
    [
        (over_numbers, "its state is a number of Python: carry a tensor without dimensions"),
        (until_any, "cannot compile its graphs: TW1004: size `u"),
    ],
)
def test_what_is_declined_runs_in_python_and_says_why(f: Callable[[Tensor], Tensor], reason: str) -> None:
    x = torch.ones(3, 5)
    with torch.no_grad(), torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        found = tilewright.explain(f, x)
    torch.testing.assert_close(found.result, f(x))
    (fallback,) = (fallback for graph in found.graphs for fallback in graph.fallbacks)
    assert (fallback.code, fallback.place.partition(":")[0]) == ("TW1105", __file__)
    assert reason in fallback.reason
