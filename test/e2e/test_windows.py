"""`unfold`, `im2col`, `col2im` and their gradients: views, pads and sums, against eager."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from tilewright.frontend.decompositions.windows import windows
from tilewright.frontend.explain import explain

ROWS = {str(op): row for op, row in windows().items()}
TARGETS = ["cpu_openmp", "gpu_emulated"]
PLANES = [
    # sizes, window, dilation, padding, strides
    ((7, 9), (3, 3), (1, 1), (1, 1), (1, 1)),
    ((12, 6), (2, 4), (2, 1), (1, 2), (2, 3)),
    ((7, 9), (5, 1), (1, 2), (0, 0), (3, 1)),
    ((8, 8), (7, 7), (1, 1), (3, 3), (1, 1)),
    ((5, 6), (1, 1), (1, 1), (0, 0), (1, 1)),
]


def random(*sizes: int, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.randn(sizes, generator=torch.Generator().manual_seed(0)).to(dtype)


@pytest.mark.parametrize("sizes", [(7,), (5, 9), (2, 12, 3), (0, 10)], ids=str)
def test_gradient_of_lines_as_written_out(sizes: tuple[int, ...]) -> None:
    """Before it is compiled: windows apart, side by side, and of which few or many share an element."""
    gradient = ROWS["aten.unfold_backward.default"]
    for dim, size, step in product(range(-1, len(sizes)), (1, 2, 3, 5, 7), (1, 2, 3, 4, 6)):
        if sizes[dim] >= size:
            given = random(*torch.empty(sizes).unfold(dim, size, step).shape)
            wanted = torch.ops.aten.unfold_backward(given, sizes, dim, size, step)
            found = gradient(given, sizes, dim, size, step)
            torch.testing.assert_close(found, wanted)
            assert found.stride() == wanted.stride()


def test_whole_numbers_are_added_exactly() -> None:
    given = torch.full((3, 2), 2**53 + 1)
    found = ROWS["aten.unfold_backward.default"](given, (4,), 0, 2, 1)
    assert found.tolist() == [2**53 + 1, 2**54 + 2, 2**54 + 2, 2**53 + 1]


def test_halves_are_rounded_once() -> None:
    """256 + 1 is 256 in bfloat16, and 256 + 1 + 1 is 258."""
    given = torch.ones(3, 3, dtype=torch.bfloat16)
    given[:, 0] = 256
    for lines in (given, given.flip(1)):
        found = ROWS["aten.unfold_backward.default"](lines, (5,), 0, 3, 1)
        assert found[2] == 258


@pytest.mark.parametrize(("windows", "sizes"), [((1,), ()), ((0,), ()), ((3, 5, 0), (3, 4))], ids=str)
def test_gradient_of_no_line(windows: tuple[int, ...], sizes: tuple[int, ...]) -> None:
    how = (random(*windows), sizes, len(sizes) - 1, windows[-1], 1)
    wanted = torch.ops.aten.unfold_backward(*how)
    torch.testing.assert_close(ROWS["aten.unfold_backward.default"](*how), wanted)


@pytest.mark.parametrize("batch", [(), (2,), (0,)], ids=str)
@pytest.mark.parametrize(("sizes", "window", "dilation", "padding", "strides"), PLANES, ids=str)
def test_planes_as_written_out(
    sizes: tuple[int, int],
    window: tuple[int, int],
    dilation: tuple[int, int],
    padding: tuple[int, int],
    strides: tuple[int, int],
    batch: tuple[int, ...],
) -> None:
    x, how = random(*batch, 3, *sizes), (window, dilation, padding, strides)
    columns = torch.ops.aten.im2col(x, *how)
    found = ROWS["aten.im2col.default"](x, *how)
    torch.testing.assert_close(found, columns, rtol=0, atol=0)
    given = random(*columns.shape)
    wanted = torch.ops.aten.col2im(given, sizes, *how)
    found = ROWS["aten.col2im.default"](given, sizes, *how)
    torch.testing.assert_close(found, wanted)
    assert found.stride() == wanted.stride()


PROGRAMS: dict[str, tuple[Callable[[Tensor], Tensor], tuple[int, ...]]] = {
    "patches": (lambda x: x.unfold(2, 4, 4).unfold(3, 4, 4).flatten(4).movedim(1, -1), (2, 3, 12, 9)),
    "frames": (lambda x: (x.unfold(1, 16, 5) * 2).square().mean(-1), (3, 67)),
    "moving_average": (lambda x: x.unfold(-1, 9, 1).mean(-1), (3, 40)),
    "sparse": (lambda x: x.unfold(0, 2, 5).exp(), (13, 3)),
    "columns": (lambda x: F.unfold(x, 3, padding=1).tanh(), (2, 3, 7, 6)),
    "wide_columns": (lambda x: F.unfold(x, 5, padding=2).relu().square(), (2, 2, 7, 7)),
    "columns_apart": (lambda x: F.unfold(x, (2, 3), dilation=(3, 2), padding=(0, 2), stride=2), (2, 3, 9, 8)),
    "columns_of_a_product": (
        lambda x: F.unfold(x, 3, stride=2, padding=1).mT @ F.unfold(x, 3, stride=2),
        (2, 3, 6, 5),
    ),
    "folded": (lambda x: F.fold(x.exp(), (6, 5), 3, padding=1), (2, 18, 30)),
    "folded_far": (lambda x: F.fold(x, (9, 10), (7, 2), stride=(1, 2)), (2, 14, 15)),
    "unfolded_and_folded": (
        lambda x: F.fold(F.unfold(x, 5, padding=2).relu(), (7, 7), 5, padding=2),
        (2, 2, 7, 7),
    ),
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_and_gradients(name: str, target: str) -> None:
    """Nothing is added in memory, and nothing left to ATen but products."""
    function, sizes = PROGRAMS[name]

    def both(x: Tensor) -> tuple[Tensor, Tensor]:
        with torch.enable_grad():
            x = x.detach().requires_grad_()
            made = function(x)
            return made.detach(), torch.autograd.grad((made * made.detach()).sum(), x)[0]

    torch._dynamo.reset()
    found = explain(both, random(*sizes), options={"target": target, "fallback": False})
    torch.testing.assert_close(found.result, both(random(*sizes)))
    assert bool(found.library_calls) == (name == "columns_of_a_product")
    assert not any("scatter" in kernel for graph in found.graphs for kernel in graph.kernels)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("name", ["patches", "moving_average", "folded"])
def test_dtypes(name: str, dtype: torch.dtype, target: str) -> None:
    """Sums of halves are rounded once: no farther from those of f64 than eager's."""
    function, sizes = PROGRAMS[name]
    torch._dynamo.reset()
    compiled = torch.compile(function, backend="mlir", options={"target": target, "fallback": False})
    gradients: list[Tensor] = []
    for call, precise in ((compiled, False), (function, False), (function, True)):
        given = random(*sizes, dtype=dtype)
        x = (given.double() if precise else given).requires_grad_()
        made = call(x)
        made.backward(random(*made.shape, dtype=dtype).to(made.dtype))
        assert x.grad is not None
        gradients.append(x.grad.double())
    found, eager, exact = gradients
    assert (found - exact).norm() <= 1.01 * (eager - exact).norm() + 1e-12


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", ["patches", "frames", "moving_average", "sparse", "columns", "wide_columns"])
def test_sizes_of_symbols(name: str, target: str) -> None:
    function, sizes = PROGRAMS[name]
    torch._dynamo.reset()
    compiled = torch.compile(
        function, backend="mlir", dynamic=True, fullgraph=True, options={"target": target, "fallback": False}
    )
    for more in (0, 5, 12):
        given = [random(*(n + more for n in sizes)).requires_grad_() for _ in "ab"]
        found, wanted = compiled(given[0]), function(given[1])
        torch.testing.assert_close(found, wanted)
        found.square().sum().backward()
        wanted.square().sum().backward()
        torch.testing.assert_close(given[0].grad, given[1].grad)


def test_what_is_kept_for_the_gradient() -> None:
    """The image and the weights, not the windows: these are nine times as large."""
    kept: list[torch.Size] = []

    def pack(value: Tensor) -> Tensor:
        kept.append(value.shape)
        return value

    def function(x: Tensor, w: Tensor) -> Tensor:
        return (F.unfold(x, 3, padding=1).view(2, 3, 9, 6, 7) * w).sum(2)

    torch._dynamo.reset()
    compiled = torch.compile(function, backend="mlir")
    x, w = random(2, 3, 6, 7).requires_grad_(), random(2, 1, 9, 6, 7).requires_grad_()
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda value: value):
        compiled(x, w).sum().backward()
    assert sorted(kept) == sorted([x.shape, w.shape])
