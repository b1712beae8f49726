"""Operators of users' libraries: they may look at how operands lie, and take objects of their own."""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator
from typing import Any

import pytest
import torch
from torch import Tensor
from torch._higher_order_ops.effects import _EffectType, _register_effectful_op

import tilewright
from tilewright.frontend.torch_internals import must_run

TARGETS = pytest.mark.parametrize("target", ["cpu_openmp", "gpu_emulated", "reference"])


@pytest.fixture(autouse=True, scope="module")
def operators() -> Generator[None]:
    """`lying::strides` says how its operands lie; `lying::add_to` writes to its first, if row-major."""
    with torch.library._scoped_library("lying", "DEF") as library:
        library.define("strides(Tensor[] xs) -> Tensor")
        library.define("strict(Tensor x) -> Tensor")
        library.define("loose(Tensor x) -> Tensor", tags=torch.Tag.flexible_layout)
        library.define("add_to(Tensor(a!) x, Tensor y) -> ()")

        def strides(xs: list[Tensor]) -> Tensor:
            return torch.tensor([n for x in xs for n in x.stride()])

        def fake_strides(xs: list[Tensor]) -> Tensor:
            return torch.empty(sum(x.dim() for x in xs), dtype=torch.int64)

        def add_to(x: Tensor, y: Tensor) -> None:
            assert x.is_contiguous()
            x.add_(y)

        library.define("dense(Tensor x) -> Tensor")
        library.impl("dense", torch.Tensor.contiguous, "CPU")
        torch.library.register_fake("lying::dense", lambda x: torch.empty(x.shape), lib=library)
        library.impl("strides", strides, "CPU")
        library.impl("add_to", add_to, "CPU")
        torch.library.register_fake("lying::strides", fake_strides, lib=library)
        torch.library.register_fake("lying::add_to", lambda x, y: None, lib=library)
        for name in ("strict", "loose"):
            library.impl(name, lambda x: strides([x]), "CPU")
            torch.library.register_fake(f"lying::{name}", lambda x: fake_strides([x]), lib=library)
        yield


def strides(*xs: Tensor) -> Tensor:
    return torch.ops.lying.strides(list(xs))


def transposed(x: Tensor) -> Tensor:
    """One value, which lies in two ways."""
    return strides(x.transpose(1, 2).contiguous(), x.transpose(1, 2), x)


def computed(x: Tensor) -> Tensor:
    return strides((x + 1).permute(2, 0, 1).contiguous(), (x * 2).permute(1, 2, 0), x.sin())


def with_gaps(x: Tensor) -> Tensor:
    return strides(x[:, ::2], x[:, 1:3].contiguous(), x[..., 0], (x + 1)[:, :, 1:])


def channels_last(x: Tensor) -> Tensor:
    images = x[None].relu().to(memory_format=torch.channels_last)
    return strides(images, images * 2, images.contiguous())


def repeated(x: Tensor) -> Tensor:
    return strides(x.expand(2, *x.shape).contiguous(), x[:, :1].expand(-1, 4, -1).contiguous())


@TARGETS
@pytest.mark.parametrize("program", [transposed, computed, with_gaps, channels_last, repeated])
def test_operands_lie_as_in_eager_mode(program: Callable[..., Tensor], target: str) -> None:
    torch._dynamo.reset()
    compiled = torch.compile(program, backend="mlir", fullgraph=True, options={"target": target})
    for sizes in ((3, 4, 5), (5, 6, 7)):  # the second with symbols
        x = torch.randn(sizes)
        assert compiled(x).tolist() == program(x).tolist()


@TARGETS
def test_what_is_written_lies_as_in_eager_mode(target: str) -> None:
    def program(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        rows = x.t().contiguous()
        torch.ops.lying.add_to(rows, rows.sin())
        copy = rows.t().contiguous()
        torch.ops.lying.add_to(copy, x)
        return rows, copy + 1, x

    x = torch.randn(4, 6)
    compiled = torch.compile(program, backend="mlir", fullgraph=True, options={"target": target})
    torch.testing.assert_close(compiled(x), program(x))


@TARGETS
def test_what_is_returned_has_memory_of_its_own(target: str) -> None:
    """Operators return operands as they are, although torch forbids it: that memory is used again."""

    def program(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        first = torch.ops.lying.dense(x * 2)
        second = torch.ops.lying.dense((x + 1).exp() * 3)
        return first, second, torch.ops.lying.dense(x)

    torch._dynamo.reset()
    compiled = torch.compile(program, backend="mlir", fullgraph=True, options={"target": target})
    given = [torch.randn(64, 64) for _ in range(2)]
    results = [compiled(x) for x in given]
    expected = [tuple(t.clone() for t in program(x)) for x in given]
    for x in given:
        x.zero_()
    torch.testing.assert_close(results, expected)


def test_nothing_is_copied_for_those_that_do_not_look() -> None:
    def program(x: Tensor, operator: Any) -> Tensor:
        return operator(x.t().contiguous()) + 1

    x, operators = torch.randn(4, 6), torch.ops.lying
    kernels = [
        sum(tilewright.explain(program, x, operator).graphs[0].kernels.values())
        for operator in (operators.loose, operators.strict)
    ]
    assert kernels == [1, 2]


@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize("kind", ["tag", "effect"])
def test_what_must_run_is_in_no_cuda_graph(kind: str, caplog: pytest.LogCaptureFixture) -> None:
    tags = (torch.Tag.cudagraph_unsafe,) if kind == "tag" else ()
    with torch.library._scoped_library("running", "DEF") as library:
        library.define(f"{kind}(Tensor x) -> Tensor", tags=tags)
        library.impl(kind, torch.clone, "CPU")
        torch.library.register_fake(f"running::{kind}", torch.empty_like, lib=library)
        operator = getattr(torch.ops.running, kind).default
        handle = _register_effectful_op(operator, _EffectType.ORDERED) if kind == "effect" else None

        def program(x: Tensor) -> Tensor:
            return operator(x * 2) + 1

        torch._dynamo.reset()
        options = {"target": "gpu_triton", "cuda_graphs": True}
        x = torch.randn(8)
        with caplog.at_level(logging.INFO, "tilewright.cuda_graphs"):
            compiled = torch.compile(program, backend="mlir", fullgraph=True, options=options)
            torch.testing.assert_close(compiled(x), x * 2 + 1)
        if handle is not None:
            handle.destroy()
    said = [r.getMessage() for r in caplog.records if r.name == "tilewright.cuda_graphs"]
    reason = f"a graph runs without CUDA graphs: `running::{kind}` has to run in each call"
    assert said == [reason]
    assert not must_run(torch.ops.lying.strict.default)


@pytest.fixture(scope="module")
def factor_type() -> Generator[type[Any]]:
    """A class that `objects::scale` knows; torch knows how to pass it on."""
    opaque: Any = pytest.importorskip("torch._library.opaque_object")
    base: Any = pytest.importorskip("torch._opaque_base")

    class Factor(base.OpaqueBase):
        def __init__(self, number: float) -> None:
            self.number = number

    Factor.__qualname__ = "Factor"  # schemas cannot say more
    opaque.register_opaque_type(Factor, typ="reference")
    with torch.library._scoped_library("objects", "DEF") as library:
        library.define(f"scale(Tensor x, {opaque.get_opaque_type_name(Factor)} factor) -> Tensor")
        library.impl("scale", lambda x, factor: x * factor.number, "CPU")
        torch.library.register_fake("objects::scale", lambda x, factor: torch.empty_like(x), lib=library)
        yield Factor


@TARGETS
def test_objects_that_only_operators_know(target: str, factor_type: type[Any]) -> None:
    def program(x: Tensor, factor: Any) -> tuple[Tensor, Any]:
        return torch.ops.objects.scale(x.sin() * 2, factor).relu() + 1, factor

    torch._dynamo.reset()
    compiled = torch.compile(program, backend="mlir", fullgraph=True, options={"target": target})
    for number in (2.0, 3.0):
        x, factor = torch.randn(4, 5), factor_type(number)
        result, passed = compiled(x, factor)
        torch.testing.assert_close(result, program(x, factor)[0])
        assert passed is factor
