"""Scatters are kernels that add in the order of the index: bit for bit as eager mode with one thread."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from drawn import positions, tensor
from torch import Tensor, nn

_DTYPES = (
    torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.int64, torch.int32, torch.int16,
    torch.int8, torch.uint8,
)  # fmt: skip


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Eager mode adds in any order if it has several."""
    count = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(count)


def exactly(function: Callable[..., Any], *inputs: Tensor) -> None:
    """Compiled, equal to eager mode; results do not depend on how many threads there are."""
    torch._dynamo.reset()
    compiled = torch.compile(function, backend="mlir")
    copies = [[value.clone() for value in inputs] for _ in range(2)]
    results = [compiled(*copies[0])]
    torch.set_num_threads(2)
    results.append(compiled(*copies[1]))
    torch.set_num_threads(1)
    expected = (function(*inputs), list(inputs))
    for result, after in zip(results, copies, strict=True):
        torch.testing.assert_close((result, after), expected, rtol=0, atol=0)


@pytest.mark.parametrize("dtype", _DTYPES, ids=str)
def test_index_add(dtype: torch.dtype) -> None:
    x, y, index = tensor(7, 5, 33, dtype=dtype), tensor(11, 11, 33, dtype=dtype, seed=2), positions(5, 11)
    exactly(
        lambda x, i, y: (
            x.index_add(0, i, y[:, :5]), x.index_add(1, i, y[:7]), x.index_add(2, i, y[:7, :5, :11])
        ),
        x, index, y,
    )  # fmt: skip


@pytest.mark.parametrize("dtype", _DTYPES, ids=str)
def test_index_add_of_elements(dtype: torch.dtype) -> None:
    exactly(
        lambda x, i, y: (
            x.index_add(0, i, y), x.index_add(0, i[:0], y[:0]), x[3].index_add(0, i[:1] * 0, y[0]),
            x.index_add(0, i[0], y[:1]),
        ),
        tensor(19, dtype=dtype), positions(19, 50), tensor(50, dtype=dtype, seed=2),
    )  # fmt: skip


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
def test_index_add_to_no_rows(dtype: torch.dtype) -> None:
    x, y = tensor(0, 3, dtype=dtype), tensor(0, 2, dtype=dtype)
    exactly(lambda x, i, y: x.index_add(1, i, y), x, torch.tensor([0, 1]), y)


def _one_place(count: Any) -> Tensor:
    return torch.zeros(count, dtype=torch.long)


_UNIFORM: dict[str, Callable[[Tensor, Any], Tensor]] = {
    "added": lambda x, n: x.index_add(0, _one_place(n), torch.ones(n)),
    "added_rows": lambda x, n: x.reshape(2, 2).index_add(0, _one_place(n), torch.ones(n, 2)),
    "added_at_pairs": lambda x, n: x.reshape(2, 2).index_put(
        (_one_place(n)[:, None], _one_place(2)), torch.ones(()), accumulate=True
    ),
    "added_along": lambda x, n: x.scatter_add(0, _one_place(n), torch.ones(n)),
    "put": lambda x, n: x.index_put((_one_place(n),), torch.tensor(3.0)),
    "along": lambda x, n: x.scatter(0, _one_place(n), 4.0),
    "a_slice": lambda x, n: x.slice_scatter(torch.zeros(n // 2), 0, 0, n // 2 * 2, 2),
}


@pytest.mark.parametrize("target", ["cpu_openmp", "gpu_emulated"])
@pytest.mark.parametrize("name", _UNIFORM)
def test_one_value_at_one_place_is_stored_as_often_as_it_is_listed(name: str, target: str) -> None:
    """No times at all where a size, known or not, is 0."""
    function = _UNIFORM[name]

    def program(x: Tensor, y: Tensor) -> Tensor:
        return function(x, y.shape[0] - 2)

    for dynamic in (True, False):
        torch._dynamo.reset()
        compiled = torch.compile(program, backend="mlir", dynamic=dynamic, options={"target": target})
        for count in (5, 2, 3):
            x, y = tensor(4), torch.zeros(count)
            torch.testing.assert_close(compiled(x, y), program(x, y), rtol=0, atol=0)


@pytest.mark.parametrize(
    "function",
    [
        lambda x, y: x.select_scatter(y[0], 0, 1),
        lambda x, y: x.slice_scatter(y[:1], 0, 1, 2),
        lambda x, y: x.slice_scatter(y[:, ::2], 1, 0, None, 2),
        lambda x, y: x.slice_scatter(y),
        lambda x, y: x.diagonal_scatter(y[0, :2]),
    ],
)
def test_what_is_scattered_takes_the_dtype_of_the_target(function: Callable[..., Tensor]) -> None:
    exactly(function, tensor(2, 3, dtype=torch.int16), tensor(2, 3) * 9)
    exactly(function, tensor(2, 3, dtype=torch.bfloat16), tensor(2, 3, dtype=torch.float64))


@pytest.mark.parametrize(
    "function",
    [
        lambda x, y: x.slice_scatter(y[:, :1], 1, 0, 2),
        lambda x, y: x.slice_scatter(y[:1, :2], 0, 0, 4, 2),
        lambda x, y: x.select_scatter(y[:1, 0], 0, 1),
        lambda x, y: x.select_scatter(y[:1], 0, 1),
        lambda x, y: x.diagonal_scatter(y[0, :1]),
        lambda x, y: x.index_add(0, torch.tensor([0, 1]), y[:2].double()),
    ],
)
@pytest.mark.parametrize("dynamic", [False, True])
def test_what_is_scattered_is_not_fitted(function: Callable[..., Tensor], dynamic: bool) -> None:
    x, y = tensor(5, 3), tensor(5, 3)
    with pytest.raises(RuntimeError, match=r"size equal to the slice|same scalar type"):
        function(x, y)
    torch.compiler.reset()
    compiled = torch.compile(function, backend="mlir", dynamic=dynamic)
    with pytest.raises(RuntimeError, match=r"size|scalar type"):  # torch 2.11 finds one while it traces
        compiled(x, y)


def test_index_add_scales_and_takes_small_indices() -> None:
    index = positions(9, 20).int()
    exactly(lambda x, i, y: x.index_add(0, i, y, alpha=3), tensor(9, 4), index, tensor(20, 4))
    exactly(lambda x, i, y: x.index_add(1, i, y.t(), alpha=-2.5), tensor(4, 9), index, tensor(20, 4))


def test_index_add_in_place() -> None:
    def add(x: Tensor, i: Tensor) -> Tensor:
        x.index_add_(0, i, x[:6] * 2)
        return x * 1

    exactly(add, tensor(8, 17), positions(8, 6))


def test_large_targets_are_cut_into_columns() -> None:
    x, y = tensor(600, 400), tensor(2000, 400, seed=3)
    exactly(lambda x, i, y: x.index_add(0, i, y), x, positions(600, 2000), y)
    i = positions(600, 2000, 400)
    exactly(lambda x, i, y: x.scatter_add(0, i, y), x, i, y)
    exactly(lambda x, i, y: x.t().scatter_add(1, i.t(), y.t()), x, i, y)


@pytest.mark.parametrize("dtype", _DTYPES, ids=str)
def test_scatter_add(dtype: torch.dtype) -> None:
    x, y = tensor(6, 5, 31, dtype=dtype), tensor(8, 8, 40, dtype=dtype, seed=2)
    exactly(
        lambda x, i, y: (
            x.scatter_add(0, i, y[:, :5]), x.scatter_add(1, i[:6], y), x.scatter_add(2, i[:4], y),
            x.scatter_add(2, i[:6], y),
        ),
        x, positions(5, 8, 5, 29), y,
    )  # fmt: skip


def test_scatter_add_of_views_and_nothing() -> None:
    x, y = tensor(6, 5, 31), tensor(8, 8, 40, seed=2)
    exactly(lambda x, i, y: x.mT.scatter_add(1, i.mT, y.mT), x, positions(5, 4, 5, 8), y)
    exactly(lambda x, i, y: x[::2].scatter_add(0, i, y[..., ::2]), x, positions(3, 4, 5, 8), y)
    exactly(lambda x, i, y: x.scatter_add(1, i, y), x, positions(5, 0, 5, 3), y)


@pytest.mark.parametrize("dtype", [*_DTYPES, torch.bool], ids=str)
def test_replaces(dtype: torch.dtype) -> None:
    index = torch.randperm(13, generator=torch.Generator().manual_seed(0))[:9]
    x, y = tensor(13, 21, dtype=dtype), tensor(9, 21, dtype=dtype, seed=2)
    exactly(lambda x, i, y: x.index_put((i - 13,), y), x, index, y)
    exactly(lambda x, i, y: x.index_copy(0, i, y), x, index, y)
    exactly(lambda x, i, y: x.scatter(0, i[:, None].expand(9, 21), y), x, index, y)
    exactly(lambda x, i: x.scatter(0, i[:, None], 1), x, index)


@pytest.mark.parametrize("dtype", _DTYPES, ids=str)
def test_index_put_adds(dtype: torch.dtype) -> None:
    x, index = tensor(7, 9, dtype=dtype), positions(7, 30, low=-7)
    exactly(lambda x, i, y: x.index_put((i,), y, accumulate=True), x, index, tensor(30, 9, dtype=dtype))
    exactly(
        lambda x, i, y: x.index_put((i, i % 9), y, accumulate=True), x, index, tensor(30, dtype=dtype, seed=4)
    )
    put = torch.ops.aten.index_put
    exactly(lambda x, i, y: put(x, [None, i], y, True), x, index, tensor(7, 1, dtype=dtype))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("padding", [-1, 3])
def test_gradients_of_embeddings(dtype: torch.dtype, padding: int) -> None:
    gradient = torch.ops.aten.embedding_dense_backward
    exactly(lambda g, i: gradient(g, i, 17, padding, False), tensor(40, 35, dtype=dtype), positions(17, 40))
    exactly(
        lambda g, i: gradient(g, i, 17, padding, False), tensor(4, 6, 8, dtype=dtype), positions(17, 4, 6)
    )


def test_trains_an_embedding() -> None:
    torch._dynamo.reset()
    models = [nn.Embedding(29, 24, padding_idx=2) for _ in range(2)]
    models[1].load_state_dict(models[0].state_dict())
    ids = positions(29, 5, 13)
    for run in (models[0], torch.compile(models[1], backend="mlir")):
        (run(ids) ** 3).sum().backward()
    torch.testing.assert_close(models[1].weight.grad, models[0].weight.grad)


@pytest.mark.parametrize("bad", [-1, 8])
def test_positions_are_checked_before_anything_is_written(bad: int) -> None:
    def add(x: Tensor, i: Tensor, y: Tensor) -> Tensor:
        return x.index_add_(0, i, y)

    torch._dynamo.reset()
    x, index = tensor(8, 3), torch.tensor([bad])
    before = x.clone()
    with pytest.raises(IndexError):
        torch.compile(add, backend="mlir")(x, index, torch.full((1, 3), 100.0))
    assert torch.equal(x, before)


def test_sizes_may_change() -> None:
    torch._dynamo.reset()
    run = torch.compile(lambda x, i, y: x.index_add(0, i, y), backend="mlir", dynamic=True)
    for rows, count, columns in ((7, 30, 5), (9, 4, 33), (300, 1000, 64)):
        x, index, y = tensor(rows, columns), positions(rows, count), tensor(count, columns, seed=2)
        assert torch.equal(run(x, index, y), x.index_add(0, index, y))
    run = torch.compile(lambda x, i, y: x.scatter_add(1, i, y), backend="mlir", dynamic=True)
    for rows, count, columns in ((7, 30, 5), (9, 4, 33), (300, 1000, 64)):
        x, index, y = tensor(rows, columns), positions(columns, rows, count), tensor(rows, count, seed=2)
        torch.testing.assert_close(run(x, index, y), x.scatter_add(1, index, y))


@pytest.mark.parametrize("rows", [1, 4])
def test_what_is_added_was_written_in_place(rows: int) -> None:
    """The fuzzer's: the loop that adds read what the loop before had put in the place of its operand."""

    def function(x: Tensor, i: Tensor) -> tuple[Tensor, Tensor]:
        x.neg_()
        return x.scatter_add(0, i, x), x * 2

    torch._dynamo.reset()
    x, index = tensor(rows, 6), positions(rows, rows, 6)
    found, expected = (run(x.clone(), index) for run in (torch.compile(function, backend="mlir"), function))
    for have, want in zip(found, expected, strict=True):
        assert torch.equal(have, want)


_UPDATES: dict[str, Callable[[Tensor, Tensor, Tensor], Any]] = {
    "index_copy_": lambda x, i, y: x.index_copy_(1, i, y[:, :3]),
    "index_add_": lambda x, i, y: x.index_add_(1, i, y[:, :3]),
    "index_fill_": lambda x, i, y: x.index_fill_(1, i, 3),
    "index_put_": lambda x, i, y: x.index_put_((i % 4, i), y[0, :3, :1], accumulate=True),
    "setitem": lambda x, i, y: x.__setitem__((slice(None), i), y[:, :3]),
    "scatter_": lambda x, i, y: x.scatter_(1, i[None, :, None].expand(4, 3, 5), y),
    "scatter_add_": lambda x, i, y: x.scatter_add_(1, i[None, :, None].expand(4, 3, 5), y),
    "of itself": lambda x, i, y: x.index_add_(1, i, x[:, 2:5]),
    "at its own values": lambda x, i, y: x.index_add_(1, x[0, :3, 0].long().abs() % 7, y[:, :3]),
    "twice": lambda x, i, y: x.index_add_(1, i, y[:, :3]).index_copy_(0, i[1:2], y[:1]),
}


_LAYOUTS: dict[str, Callable[[Tensor], Tensor]] = {
    "rows": lambda x: x.clone(),
    "columns": lambda x: x.mT.contiguous().mT,
    "every other": lambda x: torch.stack((x, x), -1).flatten(-2)[..., ::2],
    "bf16": lambda x: x.bfloat16(),
    "i64": lambda x: x.mul(9).long(),
    "bool": lambda x: x > 0,
}


@pytest.mark.parametrize("layout", _LAYOUTS)
@pytest.mark.parametrize("update", _UPDATES)
def test_updates_in_place(update: str, layout: str) -> None:
    """A cache that is written to and read, whatever the strides."""

    def function(x: Tensor, i: Tensor, y: Tensor) -> Tensor:
        _UPDATES[update](x, i, y)
        return x * 2

    cache, new = (_LAYOUTS[layout](tensor(4, 7, 33, seed=seed)) for seed in (0, 2))
    exactly(function, cache, torch.tensor([5, 0, 3]), new[:, :, :33])


@pytest.mark.parametrize("update", _UPDATES)
def test_old_values_outlast_an_update(update: str) -> None:
    def function(x: Tensor, i: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        old = x[:, 1:].clone()
        _UPDATES[update](x, i, y)
        return old, x * 2, x

    exactly(function, tensor(4, 7, 33), torch.tensor([5, 0, 3]), tensor(4, 7, 33, seed=2))


FILLS = (
    (torch.float64, 1e300),
    (torch.int64, 2**60 + 1),
    (torch.float32, torch.tensor(3)),
    (torch.bool, True),
)


@pytest.mark.parametrize(("dtype", "value"), FILLS, ids=str)
def test_fills_hold_the_value_and_the_strides(dtype: torch.dtype, value: Any) -> None:
    numbers = torch.arange(12).view(3, 4).to(dtype)
    for x in (numbers, numbers.t()):
        exactly(lambda x, i: x.index_fill(-1, i, value), x, torch.tensor([0, 2]))
    exactly(lambda x, i: x.index_fill(0, i, value), numbers[0, 1], torch.tensor([0]))


def test_sums_of_bools_are_true_where_any_is() -> None:
    exactly(
        lambda x, i, y: (
            x.index_add(0, i, y), x.index_put((i,), y, accumulate=True), x.scatter_add(0, i[:, None] + y, y)
        ),
        tensor(7, 5) > 0, positions(6, 11), tensor(11, 5, seed=2) > 0,
    )  # fmt: skip
