"""Scatters by kernels, from their Triton text: what adds does so atomically, what replaces in any order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from drawn import positions, tensor
from torch import Tensor, nn

from benchmarks.numerics import judge
from tilewright.frontend.explain import Explanation, explain
from tilewright.passes.manager import parse_pipeline, with_facts
from tilewright.passes.pipeline import pipeline_text

DTYPES = (torch.float32, torch.float64, torch.int64, torch.int32)


OPTIONS = {"target": "gpu_emulated", "fallback": False}


def calls(found: Explanation) -> set[str]:
    """The functions of ATen that the graphs call."""
    return {call for graph in found.graphs for call in graph.library_calls}


def check(function: Callable[..., Any], *inputs: Tensor) -> Explanation:
    """Equal to eager mode, what it changes included."""
    copies = [value.clone() for value in inputs]
    found = explain(function, *copies, options=OPTIONS)
    expected = (function(*inputs), list(inputs))
    torch.testing.assert_close((found.result, copies), expected, rtol=1e-5, atol=1e-5)
    return found


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_many_meet_in_one_place(dtype: torch.dtype) -> None:
    def function(x: Tensor, i: Tensor, y: Tensor, z: Tensor) -> tuple[Tensor, ...]:
        return (
            torch.zeros_like(x).index_put((i,), y, accumulate=True), x.index_add(1, i[:5], z),
            x.scatter_add(0, i[:, None].expand(-1, 33), y), x.index_put((i - 7,), y, accumulate=True),
        )  # fmt: skip

    x, y, z = (tensor(*s, dtype=dtype, seed=n) for n, s in enumerate(((7, 33), (40, 33), (7, 5))))
    assert not calls(check(function, x, positions(7, 40), y, z))


@pytest.mark.parametrize("shape", [(17, 9), (300, 65), (3, 5, 7)], ids=str)
def test_a_sum_over_all_is_added_to_each_column_once(shape: tuple[int, ...]) -> None:
    """The kernel runs over what it sums, with which what it adds to shares an axis."""

    def function(x: Tensor, i: Tensor, y: Tensor) -> Tensor:
        return x.sin().index_put((i,), y.mean(), accumulate=True)

    check(function, tensor(*shape), positions(shape[0], 1), tensor(*shape, seed=1))


def test_in_place_and_nothing_to_add() -> None:
    def function(x: Tensor, i: Tensor, y: Tensor) -> Tensor:
        x.index_put_((i,), y, accumulate=True)
        return x.index_add(0, i[:0], y[:0])

    assert not calls(check(function, tensor(9, 17), positions(9, 21), tensor(21, 17)))


@pytest.mark.parametrize("replaces", [False, True])
def test_what_others_read_is_scattered_beside_them(replaces: bool) -> None:
    """The gradients of a codebook and of what chose from it walk the same two tensors."""

    def function(x: Tensor, q: Tensor, i: Tensor, g: Tensor, table: Tensor) -> tuple[Tensor, ...]:
        d = (q - x) * 0.25
        return g - d, table.index_copy(0, i, d * 8) if replaces else table.index_add(0, i, d * 8)

    x, q, g, table = (
        tensor(*s, dtype=torch.float32, seed=n) for n, s in enumerate(3 * [(40, 33)] + [(51, 33)])
    )
    i = torch.arange(40).flip(0) if replaces else positions(51, 40)
    found = check(function, x, q, i, g, table)
    assert sum(found.graphs[0].kernels.values()) == 2  # one copies the table


def test_scatters_to_one_target_are_one_kernel() -> None:
    """What they add is computed where it is added, from what all of them read; extremes take turns."""

    def function(x: Tensor, i: Tensor, y: Tensor, z: Tensor) -> tuple[Tensor, Tensor]:
        sums = torch.zeros_like(x).index_put((i,), y * z, accumulate=True)
        for n in range(1, 4):
            sums = sums.index_put(((i + n) % 7,), y * (z + n), accumulate=True)
        along = i[:, None].expand(-1, 5)
        larger = x.scatter_reduce(0, along, y, "amax").scatter_reduce(0, along, y + z, "amax")
        return sums, larger.scatter_add(0, along, z)

    found = check(function, tensor(7, 5), positions(7, 40), tensor(40, 5, seed=1), tensor(40, 5, seed=2))
    assert not calls(found)
    launches = sum(found.graphs[0].kernels.values())
    assert launches == 1 + 3  # the targets are filled at once, sums are added to one of them


HALVES = (torch.bfloat16, torch.float16)


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Targets of this many elements are not cast as a whole."""
    monkeypatch.setattr("tilewright.passes.tensor.widen_scatters.LARGE", 1000)


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize("rows", [9, 90])
@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_halves_are_added_up_in_f32(dtype: torch.dtype, rows: int) -> None:
    """And rounded once, whether the whole target is cast or what is added has places of its own."""

    def function(x: Tensor, i: Tensor, j: Tensor, y: Tensor, z: Tensor) -> tuple[Tensor, ...]:
        return (
            x.index_put((i,), y, accumulate=True), x.index_put((i - rows,), y, accumulate=True),
            torch.zeros_like(x).index_put((i,), y, accumulate=True), x.index_add(1, j, z),
            x.index_put((i[:20].view(4, 5), j[:5]), z[0, :5], accumulate=True),
        )  # fmt: skip

    x, y, z = (tensor(*s, dtype=dtype, seed=n) for n, s in enumerate(((rows, 17), (70, 17), (rows, 40))))
    given = (x, positions(min(rows, 40), 70), positions(17, 40), y, z)
    copies = [value.clone() for value in given]
    found = explain(function, *given, options=OPTIONS)
    wide = function(*(t.double() if t.is_floating_point() else t for t in copies))
    for got, exact in zip(found.result, wide, strict=True):
        torch.testing.assert_close(got, exact.to(dtype), rtol=2 * torch.finfo(dtype).eps, atol=1e-4)
    assert not calls(found)


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_sums_of_sums_of_halves_are_rounded_once(dtype: torch.dtype) -> None:
    """And added up in one place: gradients of a table that is looked up more than once."""

    def function(table: Tensor, i: Tensor, y: Tensor) -> Tensor:
        found = (torch.zeros_like(table).index_add(0, (i + n) % 9, y * n) for n in (1, 2, 3))
        return sum(found, next(found))

    table, i, y = tensor(9, 33, dtype=dtype), positions(9, 40), tensor(40, 33, dtype=dtype, seed=1)
    found = explain(function, table, i, y, options=OPTIONS)
    exact = function(table.double(), i, y.double())
    error, of_eager = ((one.double() - exact).norm() for one in (found.result, function(table, i, y)))
    assert error <= of_eager
    assert sum(len(graph.kernels) for graph in found.graphs) <= 3
    assert not calls(found)


@pytest.mark.parametrize("rows", [9, 90])
def test_halves_are_added_in_place(rows: int) -> None:
    """What stood there is read before it is written, whoever writes it."""

    def function(x: Tensor, i: Tensor, y: Tensor) -> Tensor:
        x.index_put_((i,), y, accumulate=True)
        return x * 2

    x, y = tensor(rows, 300, dtype=torch.bfloat16), tensor(70, 300, dtype=torch.bfloat16, seed=1)
    i = positions(9, 70)
    exact = function(x.double(), i, y.double())
    found = explain(function, x, i, y, options=OPTIONS)
    torch.testing.assert_close(found.result, exact.bfloat16(), rtol=2e-2, atol=1e-4)
    assert not calls(found)


@pytest.mark.usefixtures("large")
def test_gradients_of_a_table_of_halves() -> None:
    """The table is filled with zeros, and those of its rows that were read are stored to."""
    table = nn.Embedding(500, 24).bfloat16()
    ids = positions(40, 6, 13)

    def step(ids: Tensor) -> Tensor:
        return (table(ids).float() * torch.arange(24)).sum()

    found = explain(lambda ids: step(ids).backward(), ids, options=OPTIONS)
    assert table.weight.grad is not None
    got, table.weight.grad = table.weight.grad, None
    step(ids).backward()
    torch.testing.assert_close(got, table.weight.grad, rtol=2e-2, atol=1e-3)
    (backward,) = (graph for graph in found.graphs if graph.kind == "backward")
    assert not backward.library_calls
    assert int(backward.arena_bytes) < 500 * 24 * 4


def _told(**facts: Any) -> dict[str, Any]:
    """The options of a device of which these facts are known."""
    passes = with_facts(parse_pipeline(pipeline_text("gpu")), facts)
    return OPTIONS | {"pipeline": ",".join(map(str, passes))}


LOOK_UPS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "along": lambda x, i: x.gather(1, i[..., None].expand(-1, -1, 33)),
    "in rows": lambda x, i: x[torch.arange(3)[:, None], i],
    "anywhere": lambda x, i: x.flatten(0, 1)[i],
}


@pytest.mark.usefixtures("like_cuda")
@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("name", LOOK_UPS)
def test_gradients_of_few_halves_are_added_in_memory(name: str, dtype: torch.dtype) -> None:
    """By devices that do so; by others, in f32."""

    def function(x: Tensor, i: Tensor) -> Tensor:
        return LOOK_UPS[name]((x * 2).sin(), i).square()

    bytes_of: list[int] = []
    for halves in ((), ("bf16", "f16")):
        given = tensor(3, 19, 33, dtype=dtype), positions(19, 3, 11)
        found = judged_with_indices(function, *given, options=_told(halves=halves))
        assert not calls(found)
        (backward,) = (graph for graph in found.graphs if graph.kind == "backward")
        bytes_of.append(int(backward.arena_bytes))
        torch._dynamo.reset()
    assert bytes_of[0] >= 3 * 19 * 33 * 4 > bytes_of[1]


@pytest.mark.usefixtures("like_cuda")
def test_many_of_few_numbers_are_rounded_once() -> None:
    """As eager mode does it on GPUs, whatever devices add: 512 and 1 are 512, of bf16."""

    def function(x: Tensor, i: Tensor) -> Tensor:
        return x[i].float()

    x = torch.zeros(1000, dtype=torch.bfloat16, requires_grad=True)
    found = explain(function, x, torch.full((701,), 7), options=_told(halves=("bf16", "f16")))
    found.result.sum().backward()
    assert x.grad is not None
    torch.testing.assert_close(x.grad[7], torch.tensor(701.0).bfloat16(), rtol=0, atol=0)


@pytest.mark.usefixtures("like_cuda")
def test_gradients_of_a_table_are_rounded_once() -> None:
    """As on GPUs in eager mode, whatever devices add: many tokens are one."""
    table, factors = nn.Embedding(500, 24).bfloat16(), torch.arange(101, 125)

    def step(ids: Tensor) -> None:
        (table(ids).float() * factors).sum().backward()

    explain(step, torch.full((41,), 7), options=_told(halves=("bf16", "f16")))
    assert table.weight.grad is not None
    torch.testing.assert_close(table.weight.grad[7], (factors * 41).bfloat16(), rtol=0, atol=0)


def judged_with_indices(
    function: Callable[[Tensor, Tensor], Tensor], x: Tensor, i: Tensor, options: dict[str, Any]
) -> Explanation:
    """The gradient is as close to float64 as eager's."""
    wide, x = x.double().requires_grad_(), x.requires_grad_()
    found = explain(function, x, i, options=options)
    results = (found.result, function(x, i), function(wide, i))
    got, wanted, truth = (
        torch.autograd.grad(y.sum(), given) for y, given in zip(results, (x, x, wide), strict=True)
    )
    assert (verdict := judge(got, wanted, truth)), verdict.why
    return found


@pytest.fixture
def one_order() -> Iterator[None]:
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)


@pytest.mark.usefixtures("one_order")
def test_sums_of_one_order_are_left_to_aten() -> None:
    def function(x: Tensor, i: Tensor, y: Tensor) -> Tensor:
        return x.index_put((i,), y, accumulate=True)

    assert calls(check(function, tensor(9, 17), positions(9, 21), tensor(21, 17))) == {"aten::index_put"}


@pytest.mark.usefixtures("one_order")
def test_the_last_of_several_is_left_to_aten() -> None:
    def function(x: Tensor, i: Tensor, y: Tensor) -> Tensor:
        return x.index_put((i,), y)

    assert calls(check(function, tensor(9, 17), positions(9, 21), tensor(21, 17))) == {"aten::index_put"}


REPLACED = (*DTYPES, torch.bfloat16, torch.float16, torch.int8, torch.uint8, torch.bool)


@pytest.mark.parametrize("dtype", REPLACED, ids=str)
def test_what_replaces(dtype: torch.dtype) -> None:
    def function(x: Tensor, i: Tensor, y: Tensor, j: Tensor) -> tuple[Tensor, ...]:
        return (
            x.index_put((i,), y), x.index_put((i - 9,), y), x.index_copy(1, i, y.t()[:9, :5]),
            x.scatter(0, j, y), x.t().scatter(1, j.t(), 1), x.scatter(0, j[:0], y),
            x.scatter(1, j[:, :5] % 3 * 5 + torch.arange(5), y), x.t().index_fill(1, i[:3], 1),
            x[:0].index_put((i[:0],), y[:0]),
        )  # fmt: skip

    i = torch.tensor([7, 2, 3, 0, 8])
    j = torch.stack([torch.randperm(9, generator=torch.Generator().manual_seed(n))[:5] for n in range(17)], 1)
    found = check(function, tensor(9, 17, dtype=dtype), i, tensor(9, 17, dtype=dtype, seed=2)[:5], j)
    assert not calls(found)


@pytest.mark.parametrize("target", ["gpu_emulated", "cpu_openmp"])
def test_one_of_several_remains(target: str) -> None:
    """Element by element, and on CPUs the last one, as in eager mode with one thread."""

    def function(x: Tensor, i: Tensor, y: Tensor) -> Tensor:
        return x.index_put((i,), y)

    x, i, y = tensor(9, 300), positions(7, 40), tensor(40, 300, seed=2)
    found = explain(function, x, i, y, options=OPTIONS | {"target": target}).result
    for row in range(9):
        meant = y[i == row] if bool((i == row).any()) else x[row : row + 1]
        assert bool((found[row] == (meant[-1:] if target == "cpu_openmp" else meant)).any(0).all())


@pytest.mark.parametrize("target", ["gpu_emulated", "cpu_openmp"])
@pytest.mark.parametrize("dtype", REPLACED[:-1], ids=str)
def test_numbers_of_counted_rows_of_a_constant(dtype: torch.dtype, target: str) -> None:
    """Chosen by position: from the start or from the end, of columns as well, one in a row or two."""

    def function(x: Tensor, i: Tensor, y: Tensor) -> tuple[Tensor, ...]:
        rows, zeros = torch.arange(7), torch.zeros_like(x)
        both = torch.stack([i, i + 1], 1)
        return (
            torch.full_like(x, 3).index_put((rows, i), y), zeros.index_put((rows, i - 9), y, accumulate=True),
            zeros.t().index_put((i, rows), y) + x.t(), zeros.index_put((rows[:, None], both), x[:, :2]),
            zeros[0].index_put((i[:1],), y[:1]),
            zeros[..., None].expand(7, 9, 3).index_put((rows, i), x[:, :3], accumulate=True),
            torch.ops.aten.index_put(zeros[None].expand(2, 7, 9), [None, rows, i], x[:2, :7]),
        )  # fmt: skip

    torch._dynamo.reset()
    given = tensor(7, 9, dtype=dtype), torch.tensor([3, 0, 7, 7, 2, 1, 5]), tensor(7, dtype=dtype, seed=1)
    found = explain(function, *given, options=OPTIONS | {"target": target})
    torch.testing.assert_close(found.result, function(*given), rtol=0, atol=0)
    assert not calls(found)


def test_what_replaces_in_place() -> None:
    def function(x: Tensor, i: Tensor, y: Tensor) -> Tensor:
        x[i] = y * 2
        return y.sum(0)

    found = check(function, tensor(9, 17), torch.tensor([5, 0, 3]), tensor(3, 17, seed=2))
    assert not calls(found)
    assert not [name for graph in found.graphs for name in graph.kernels if name.endswith("_fill")]


class Tied(nn.Module):
    """The table of the embedding is also that of the last product."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(50, 24), nn.Embedding(13, 24)
        self.norm = nn.LayerNorm(24)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.tokens(ids) + self.places(torch.arange(ids.shape[1]))
        return torch.nn.functional.linear(self.norm(x), self.tokens.weight)


def test_gradients_of_tied_tables() -> None:
    """The two gradients of the table are one buffer: neither zeros nor a sum of tables are made."""
    torch.manual_seed(0)  # pyright: ignore[reportUnknownMemberType]
    model, ids = Tied(), positions(50, 3, 13)

    def step(ids: Tensor) -> None:
        model(ids).square().sum().backward()

    def gradients() -> list[Tensor]:
        taken = [p.grad for p in model.parameters() if p.grad is not None]
        model.zero_grad()
        return taken

    step(ids)
    expected = gradients()
    alone = pipeline_text("gpu").replace("group-launches,", "")  # zeros keep their names
    found = explain(step, ids, options=OPTIONS | {"pipeline": alone})
    torch.testing.assert_close(gradients(), expected, rtol=1e-4, atol=1e-4)
    (backward,) = (graph for graph in found.graphs if graph.kind == "backward")
    assert set(backward.library_calls) == {"aten::mm.out"}
    assert not [name for name in backward.kernels if name.endswith("_fill")]  # places are a slice
    assert "add" not in backward.kernels
