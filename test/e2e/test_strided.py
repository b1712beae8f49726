"""`as_strided` and its like see the memory of their operand: where it starts, its gaps, what is beside it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from tilewright.frontend.explain import explain

COUNTS = torch.arange(36.0)
OPERANDS: dict[str, Tensor] = {
    "whole": COUNTS.view(6, 6),
    "turned": COUNTS.view(6, 6).t(),
    "starts-inside": COUNTS.view(9, 4)[3:],
    "with-gaps": COUNTS.view(2, 18)[:, 1:14],
    "complex": torch.complex(COUNTS, -COUNTS).view(9, 4)[3:],
    "float8": COUNTS.to(torch.float8_e4m3fn).view(9, 4)[3:],
}


def scattered(x: Tensor, *where: Any) -> Tensor:
    return torch.as_strided_scatter(x, torch.ones(2, 2).to(x.dtype), *where)


OPERATORS: tuple[Callable[..., Tensor], ...] = (torch.as_strided, torch.as_strided_copy, scattered)


@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
@pytest.mark.parametrize("operator", OPERATORS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("operand", OPERANDS)
@pytest.mark.filterwarnings("ignore:TW1")
def test_places_count_from_the_start_of_the_memory(
    operand: str, operator: Callable[..., Tensor], dynamic: bool
) -> None:
    x = OPERANDS[operand]

    def function(x: Tensor) -> list[Tensor]:
        return [operator(x, (2, 2), (2, 4)), operator(x, (2, 2), (2, 4), 13)]

    torch._dynamo.reset()
    got = torch.compile(function, backend="mlir", dynamic=dynamic)(x)
    for made, expected in zip(got, function(x), strict=True):
        assert torch.equal(made.to(torch.complex64), expected.to(torch.complex64))


def test_operand_made_here_needs_no_aten() -> None:
    """With `fallback` off a call of ATen would be an error."""

    def function(x: Tensor) -> Tensor:
        y = torch.as_strided_scatter(x.exp(), x[:2, :2], (2, 2), (6, 2), 3)
        return y.as_strided((3, 4), (5, 2), 1) + y.as_strided((), (), 7)

    compiled = torch.compile(function, backend="mlir", options={"fallback": False})
    torch.testing.assert_close(compiled(COUNTS.view(6, 6) / 9), function(COUNTS.view(6, 6) / 9))


@pytest.mark.parametrize("dtype", [torch.int64, torch.float64, torch.bfloat16], ids=str)
def test_what_is_scattered_takes_the_dtype_of_the_memory(dtype: torch.dtype) -> None:
    def function(x: Tensor, source: Tensor) -> Tensor:
        return torch.as_strided_scatter(x.exp(), source, (2, 2), (6, 2), 3)

    x, source = COUNTS.view(6, 6) / 9, torch.tensor([[1, 2], [3, 4]]).to(dtype)
    torch._dynamo.reset()
    compiled = torch.compile(function, backend="mlir", options={"fallback": False})
    torch.testing.assert_close(compiled(x, source), function(x, source))


def swapped(x: Tensor) -> Tensor:
    """All of the memory, in another order of dimensions."""
    n, m = x.shape
    return x.exp().as_strided((m, 1, n), (1, n * m, m)) + 1


def rows_scattered(x: Tensor) -> Tensor:
    n, m = x.shape
    return torch.as_strided_scatter(x.exp(), x.t() * 2, (m, n), (1, m))


def windows(x: Tensor) -> Tensor:
    """Of three beside each other, in every row; a part of the memory, some of it twice."""
    n, m = x.shape
    return x.exp().as_strided((n, m - 2, 3), (m, 1, 1)) + 1


def behind_a_row(x: Tensor) -> Tensor:
    n, m = x.shape
    return torch.as_strided_scatter(x.exp(), x[1:] * 2, (n - 1, m), (m, 1), m)


FUNCTIONS: tuple[Callable[[Tensor], Tensor], ...] = (swapped, rows_scattered, windows, behind_a_row)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_lengths_are_symbols(function: Callable[[Tensor], Tensor]) -> None:
    torch._dynamo.reset()
    compiled = torch.compile(function, backend="mlir", dynamic=True, options={"fallback": False})
    for n, m in ((4, 7), (5, 3)):
        x = torch.arange(1.0 * n * m).view(n, m) / 9
        torch.testing.assert_close(compiled(x), function(x))


@pytest.mark.filterwarnings("ignore:TW1006")
def test_what_need_not_be_a_multiple_is_not_all_of_the_memory() -> None:
    """Nothing says that 4 divides `n`, though it does at first."""

    def function(x: Tensor) -> Tensor:
        return x.exp().as_strided((x.shape[0] // 4, 4), (4, 1)) + 1

    torch._dynamo.reset()
    compiled = torch.compile(function, backend="mlir", dynamic=True)
    for n in (8, 11, 14):
        x = torch.arange(1.0 * n) / 9
        torch.testing.assert_close(compiled(x), function(x))


@pytest.mark.parametrize("dtype", [torch.int16, torch.int64, torch.int32], ids=str)
@pytest.mark.filterwarnings("ignore:TW1101")
def test_elements_of_another_size_lie_in_order(dtype: torch.dtype) -> None:
    """Eager views a contiguous copy, compiled code what was copied: elements of another size need a copy."""

    def function(x: Tensor) -> tuple[Tensor, ...]:
        return (x @ x.t()).t().contiguous().view(dtype), x[2:].t().contiguous().view(dtype)

    torch._dynamo.reset()
    x = torch.randn(6, 6, generator=torch.Generator().manual_seed(0))
    for got, expected in zip(torch.compile(function, backend="mlir")(x), function(x), strict=True):
        assert torch.equal(got, expected)


def test_bags_read_their_positions_in_order() -> None:
    """ATen's kernel takes it for granted, as `F.embedding_bag` copies them first."""

    def function(table: Tensor, indices: Tensor, offsets: Tensor) -> list[Tensor]:
        return [F.embedding_bag(indices, table, offsets, mode=mode) for mode in ("sum", "mean", "max")]

    given = (
        torch.randn(10, 5),
        torch.tensor([1, 0, 5, 0, 4, 0, 5, 0, 9, 0])[::2],
        torch.tensor([0, 7, 3, 7])[::2],
    )
    torch._dynamo.reset()
    for got, want in zip(torch.compile(function, backend="mlir")(*given), function(*given), strict=True):
        torch.testing.assert_close(got, want)


@pytest.mark.parametrize("memory_format", [torch.contiguous_format, torch.channels_last], ids=str)
@pytest.mark.parametrize("operand", ["more", "as-many", "fewer", "columns", "int", "bool"])
def test_resized_memory(operand: str, memory_format: torch.memory_format) -> None:
    """Elements in memory order; the rest is as eager mode fills it where it is deterministic."""
    x = {
        "more": COUNTS,
        "as-many": COUNTS[:24].view(2, 3, 2, 2).contiguous(memory_format=torch.channels_last),
        "fewer": COUNTS[:5],
        "columns": COUNTS.view(6, 6)[:5].clone().t(),
        "int": COUNTS[:5].int(),
        "bool": COUNTS[:5] > 2,
    }[operand]

    def function(x: Tensor) -> Tensor:
        return torch.ops.aten.resize(x, (2, 3, 2, 2), memory_format=memory_format)

    torch._dynamo.reset()
    torch.use_deterministic_algorithms(True)
    try:
        expected = function(x)
    finally:
        torch.use_deterministic_algorithms(False)
    compiled = torch.compile(function, backend="mlir", options={"fallback": False})
    got = compiled(x)
    assert got.stride() == expected.stride()
    torch.testing.assert_close(got, expected, equal_nan=True)


@pytest.mark.parametrize("target", ["cpu_openmp", "gpu_emulated"])
@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
def test_gathered_where_all_is_one_element(target: str, dynamic: bool) -> None:
    """Indices of a dimension along which a tensor repeats: the place does not vary, its bounds still hold."""

    def function(x: Tensor, i: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return x[i.flatten()] * 2, x[..., -1][i], x[i, 0, i]

    x, i = torch.randn(1, 1, 3).expand(3, 1, 3), torch.arange(15).view(3, 5) % 3
    compiled = torch.compile(
        function, backend="mlir", options={"target": target, "fallback": False}, dynamic=dynamic
    )
    torch.testing.assert_close(compiled(x, i), function(x, i))
    i[1, 2] = 3
    with pytest.raises(Exception, match="out of range"):
        compiled(x, i)


@pytest.mark.parametrize("target", ["cpu_openmp", "gpu_emulated"])
@pytest.mark.filterwarnings("ignore:TW1")
def test_what_was_written_to_a_row_is_seen_beside_the_gaps(target: str) -> None:
    """A row of an argument with gaps is replaced, of which the gaps stay what they are."""

    def function(x: Tensor) -> Tensor:
        x[-2] = -2
        x.as_strided((2,), (1,), 1).add_(3)
        return x * 2

    torch._dynamo.reset()
    got, wanted = (torch.arange(48.0).view(8, 1, 3, 2)[..., 1] for _ in range(2))
    found = torch.compile(function, backend="mlir", options={"target": target})(got)
    assert torch.equal(found, function(wanted))
    assert torch.equal(got, wanted)


@pytest.mark.parametrize("index", [0, 2, -1])
@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("source", [torch.float32, torch.int64], ids=str)
def test_a_selected_part_of_memory_with_gaps(source: torch.dtype, dim: int, index: int) -> None:
    """It is no call of ATen, and no more kernels than of dense memory."""

    def function(x: Tensor, y: Tensor) -> Tensor:
        return torch.select_scatter(x, y, dim, index) * 2

    torch._dynamo.reset()
    x = torch.arange(120.0).view(3, 4, 5, 2)[..., 1]
    y = torch.ones_like(x.select(dim, index)).to(source)
    found = explain(function, x, y, options={"target": "cpu_openmp", "fallback": False})
    torch.testing.assert_close(found.result, function(x, y))
    assert sum(found.graphs[0].kernels.values()) == 1
