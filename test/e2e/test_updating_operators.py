"""Operators of users' libraries that write to their arguments: in place, where nobody needs the old value."""

from __future__ import annotations

from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from tilewright.dialects.th.calls import CallOp, ExternOp, LaunchOp
from tilewright.frontend.cli.failing import read_module

TARGETS = pytest.mark.parametrize("target", ["cpu_openmp", "gpu_emulated", "reference"])
Program = Callable[..., Any]
updating: Any = torch.ops.updating


_SCHEMAS = (
    "put(Tensor(a!) x, Tensor y) -> ()",
    "rotate(Tensor(a!) q, Tensor(b!) k, Tensor c) -> ()",
    "store(Tensor k, Tensor v, Tensor(a!) ks, Tensor(b!) vs, Tensor at, float scale, str kind) -> ()",
    "each(Tensor(a!)[] xs, Tensor y) -> ()",
    "maybe(Tensor(a!) x, Tensor(b!)? z, int n) -> ()",
    "step(Tensor(a!) state, Tensor y) -> Tensor",
    "steps(Tensor(a!) state, Tensor y, int n) -> (Tensor, Tensor)",
)


def put(x: Tensor, y: Tensor) -> None:
    x.add_(y)


def rotate(q: Tensor, k: Tensor, c: Tensor) -> None:
    q.mul_(c)
    k.add_(c * 2)


def store(k: Tensor, v: Tensor, ks: Tensor, vs: Tensor, at: Tensor, scale: float, kind: str) -> None:
    assert kind == "rows"
    ks.index_copy_(0, at, k * scale)
    vs.index_copy_(0, at, v)


def each(xs: list[Tensor], y: Tensor) -> None:
    for number, x in enumerate(xs):
        x.add_(y, alpha=number + 1)


def maybe(x: Tensor, z: Tensor | None, n: int) -> None:
    x.mul_(n)
    if z is not None:
        z.add_(n)


def step(state: Tensor, y: Tensor) -> Tensor:
    state.mul_(0.5).add_(y)
    return state.sum(-1)


def steps(state: Tensor, y: Tensor, n: int) -> tuple[Tensor, Tensor]:
    return step(state, y * n), state.t().contiguous().t()


def noise(x: Tensor) -> None:
    x.add_(torch.rand_like(x))


@pytest.fixture(autouse=True, scope="module")
def operators() -> Generator[None]:
    with torch.library._scoped_library("updating", "DEF") as library:
        for schema in _SCHEMAS:
            library.define(schema)
        library.define("noise(Tensor(a!) x) -> ()", tags=torch.Tag.nondeterministic_seeded)
        fakes = {
            "step": lambda state, y: state.new_empty(state.shape[:-1]),
            "steps": lambda state, y, n: (state.new_empty(state.shape[:-1]), torch.empty_like(state.t()).t()),
        }
        for function in (put, rotate, store, each, maybe, step, steps, noise):
            name = function.__name__
            library.impl(name, function, "CPU")
            fake = fakes.get(name, lambda *args, **kwargs: None)
            torch.library.register_fake(f"updating::{name}", fake, lib=library)
        yield


def argument(x: Tensor, y: Tensor) -> Tensor:
    updating.put(x, y.sin())
    return x[0] * 2


def twice(x: Tensor, y: Tensor) -> Tensor:
    updating.put(x, y)
    updating.put(x, y * 2)
    return x.sum()


def temporary(x: Tensor, y: Tensor) -> Tensor:
    z = x * 2
    updating.put(z, y)
    updating.put(z, y.sin())
    return z + 1


def old_value(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    z = x * 2
    before = z.clone()
    updating.put(z, y)
    return z + before, before


def itself(x: Tensor, y: Tensor) -> Tensor:
    updating.put(x, x)
    return x + y


def parts(x: Tensor, y: Tensor) -> Tensor:
    updating.put(x[1], y[0])
    updating.put(x[:, 2], y[:, 0])
    updating.put(x[2:4], y[2:4])
    return x + 1


def parts_of_a_temporary(x: Tensor, y: Tensor) -> Tensor:
    z = x.exp().contiguous()
    updating.put(z[1:3], y[1:3])
    updating.put(z.t()[1], y[:, 0])
    updating.put(z.view(-1)[5:9], y.reshape(-1)[:4])
    return z * 2


def columns(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    z = (x * 2).t()
    updating.put(z, y.t())
    updating.put(x.t(), y.t())
    return z.contiguous(), z


def between(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    updating.put(x[0], y[0])
    z = x.clone()
    updating.put(x[0], y[1])
    return z, x


def read_later(x: Tensor, y: Tensor) -> Tensor:
    updating.put(x, y)
    between = x.clone()
    updating.put(x, y * 2)
    return between.sin()


def repeated(x: Tensor, y: Tensor) -> Tensor:
    updating.put(x, y[0].expand(x.shape))
    return x


def several(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    w = y * 2
    updating.each([x, w], y)
    updating.rotate(x, w, y.cos())
    return w, x * 2


def optional(x: Tensor, y: Tensor) -> Tensor:
    updating.maybe(x, None, 3)
    z = y * 2
    updating.maybe(y, z, 2)
    return x + y + z


def caches(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """As a server has keys and values of all layers in one tensor."""
    cache, at = y.new_zeros(2, 2, 16, y.shape[1]), torch.tensor([1, 5, 7])
    for layer in range(2):
        updating.store(x[:3] * 2, y[:3].relu(), cache[layer, 0], cache[layer, 1], at + layer, 0.5, "rows")
    return cache.sum(-1), cache[1, 0] * 2


def states(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Operators that return something, too."""
    z = x * 2
    first = updating.step(x, y)
    updating.step(z[1], y[0])
    second, turned = updating.steps(x, y.sin(), 2)
    return first + second, turned * 2 + z


def nobody_reads(x: Tensor, y: Tensor) -> Tensor:
    updating.put(x * 2, y)
    return x + 1


PROGRAMS: list[Program] = [
    argument, twice, temporary, old_value, itself, parts, parts_of_a_temporary, columns, between, read_later,
    repeated, several, optional, caches, states, nobody_reads,
]  # fmt: skip


def inputs(layout: str, dtype: torch.dtype) -> list[Tensor]:
    torch.manual_seed(0)
    x, y = (torch.randn(6, 8).mul(4).to(dtype) for _ in range(2))
    match layout:
        case "columns":
            return [x.t().contiguous().t(), y]
        case "gaps":
            return [torch.stack([x, y], 2)[..., 0], y]
        case _:
            return [x, y]


@TARGETS
@pytest.mark.parametrize("layout", ["rows", "columns", "gaps"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_results_and_arguments(program: Program, layout: str, target: str) -> None:
    for dynamic in (False, True):
        torch._dynamo.reset()
        compiled = torch.compile(
            program, backend="mlir", fullgraph=True, dynamic=dynamic, options={"target": target}
        )
        expected, given = (inputs(layout, torch.float32) for _ in range(2))
        for _ in range(2):
            torch.testing.assert_close(compiled(*given), program(*expected))
            torch.testing.assert_close(given, expected)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64, torch.int64, torch.complex64])
@pytest.mark.parametrize("program", [twice, old_value, parts])
def test_dtypes(program: Program, dtype: torch.dtype) -> None:
    torch._dynamo.reset()
    y = inputs("rows", torch.float32)[1].to(dtype)
    expected, given = ([x, y] for x in (y * 3, y * 3))
    compiled = torch.compile(program, backend="mlir", fullgraph=True)
    torch.testing.assert_close(compiled(*given), program(*expected))
    torch.testing.assert_close(given, expected)


@pytest.mark.parametrize("shape", [(0, 8), ()])
def test_no_elements_and_one(shape: tuple[int, ...]) -> None:
    def program(x: Tensor, y: Tensor) -> Tensor:
        updating.put(x, y)
        return x * 2

    torch._dynamo.reset()
    x, y = torch.randn(shape), torch.randn(shape)
    expected = program(x.clone(), y)
    torch.testing.assert_close(torch.compile(program, backend="mlir")(x, y), expected)


def test_numbers_are_drawn_anew() -> None:
    def program(x: Tensor) -> tuple[Tensor, Tensor]:
        a, b = x * 2, x * 2
        updating.noise(a)
        updating.noise(b)
        return a, b

    torch._dynamo.reset()
    a, b = torch.compile(program, backend="mlir")(torch.zeros(64))
    assert not torch.equal(a, b)


@pytest.mark.parametrize("program", [temporary, parts, states])
def test_meaning_is_checked_around_it(program: Program) -> None:
    torch._dynamo.reset()
    expected, given = (inputs("rows", torch.float32) for _ in range(2))
    compiled = torch.compile(program, backend="mlir", options={"check": "each-pass"})
    torch.testing.assert_close(compiled(*given), program(*expected))
    torch.testing.assert_close(given, expected)


def test_in_functions_of_control_flow() -> None:
    def first_row(x: Tensor, y: Tensor) -> Tensor:
        z = x.clone()
        updating.put(z[0], y[0])
        return z

    def program(x: Tensor, y: Tensor) -> Tensor:
        return torch.cond(x.sum() > 0, temporary, first_row, (x, y))

    torch._dynamo.reset()
    compiled = torch.compile(program, backend="mlir", fullgraph=True)
    for x in (torch.rand(6, 8), -torch.rand(6, 8)):
        y = torch.randn(6, 8)
        torch.testing.assert_close(compiled(x, y), program(x, y))


@pytest.mark.parametrize(
    ("program", "launches"),
    [(argument, 2), (twice, 2), (parts, 1), (parts_of_a_temporary, 2), (temporary, 3), (states, 4)],
)
def test_nothing_is_copied(program: Program, launches: int, tmp_path: Path) -> None:
    torch._dynamo.reset()
    compiled = torch.compile(program, backend="mlir", options={"dump": str(tmp_path)})
    compiled(*inputs("rows", torch.float32))
    (plan,) = tmp_path.glob("*/*-drop-self-copies.mlir")
    ops = list(read_module(str(plan)).walk())
    assert sum(isinstance(op, LaunchOp) for op in ops) == launches
    assert any(isinstance(op, ExternOp | CallOp) for op in ops)
