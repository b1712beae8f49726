"""What is returned in two layouts, or as a copy, is stored by one kernel on GPUs (emulated)."""

from __future__ import annotations

import pytest
import torch
from drawn import tensor
from test_gpu_emulated import Function, check
from torch import Tensor

from tilewright.frontend.explain import explain


def both_layouts(x: Tensor) -> tuple[Tensor, ...]:
    made = torch.exp(x)
    return made, made.t().contiguous()


def float8(x: Tensor) -> tuple[Tensor, ...]:
    """Rows and columns of what a matrix unit multiplies, by one scale."""
    scale = x.abs().amax() / 448
    made = (x / scale).clamp(-448, 448).to(torch.float8_e4m3fn)
    return made.float(), made.t().contiguous().float(), scale


def transposed_argument(x: Tensor) -> tuple[Tensor, ...]:
    return x.t().contiguous(), x + 1


def three_layouts(x: Tensor) -> tuple[Tensor, ...]:
    return x.permute(0, 2, 1).contiguous(), x.permute(1, 0, 2).contiguous(), x * 2


def library_product(x: Tensor) -> tuple[Tensor, ...]:
    """What a library makes is an argument to the kernel that copies it."""
    made = x @ x.t()
    return made.sin(), made[:, :].t().contiguous() * 1.0


def sums_of_columns_first(x: Tensor) -> tuple[Tensor, ...]:
    """Rows are summed by a kernel that was to walk columns."""
    return x.t().contiguous().sum(0), x + 1


def all_sums(x: Tensor) -> tuple[Tensor, ...]:
    return x.sum(0), x.sum(1), torch.cos(x)


CASES: dict[str, tuple[Function, tuple[int, ...], int]] = {
    "both layouts": (both_layouts, (67, 45), 1),
    "float8": (float8, (1031, 257), 3),
    "transposed argument": (transposed_argument, (67, 45), 1),
    "three layouts": (three_layouts, (3, 35, 41), 1),
    "library product": (library_product, (37, 11), 1),
    "sums of columns first": (sums_of_columns_first, (67, 45), 1),
    "all sums": (all_sums, (1031, 257), 2),
}


@pytest.mark.parametrize("name", CASES)
def test_kernels(name: str) -> None:
    function, shape, kernels = CASES[name]
    x = tensor(*shape)
    check(function, x)
    torch.compiler.reset()
    (graph,) = explain(function, x, options={"target": "gpu_emulated", "fallback": False}).graphs
    assert sum(graph.kernels.values()) == kernels


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.int16, torch.bool])
@pytest.mark.parametrize("shape", [(33, 17), (1, 9), (0, 4)], ids=str)
def test_layouts_are_those_of_eager_mode(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    torch.compiler.reset()
    x = (tensor(*shape) * 3).to(dtype)
    compiled = torch.compile(transposed_argument, backend="mlir", options={"target": "gpu_emulated"})
    for result, expected in zip(compiled(x), transposed_argument(x), strict=True):
        assert result.stride() == expected.stride()
        torch.testing.assert_close(result, expected)


def test_each_result_has_its_own_memory() -> None:
    x = tensor(33, 17)
    compiled = torch.compile(both_layouts, backend="mlir", options={"target": "gpu_emulated"})
    rows, columns = compiled(x)
    columns.zero_()
    torch.testing.assert_close(rows, torch.exp(x))


@pytest.mark.parametrize("at", [None, torch.tensor([3, 0, 3])], ids=["all", "rows"])
def test_what_changes_is_copied_before(at: Tensor | None) -> None:
    """An argument is written in place by a kernel that reads it; the copy has what was there."""

    def program(x: Tensor) -> Tensor:
        before = x.t().contiguous()
        if at is None:
            x.mul_(2)
        else:
            x[at] = 1
        return before

    eager, mine = tensor(33, 17), tensor(33, 17)
    expected = program(eager)
    compiled = torch.compile(program, backend="mlir", options={"target": "gpu_emulated"})
    torch.testing.assert_close(compiled(mine), expected)
    torch.testing.assert_close(mine, eager)
