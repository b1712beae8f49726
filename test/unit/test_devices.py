"""Where graphs compute: one device, scalars of the CPU, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx import GraphModule
from torch.fx.experimental.proxy_tensor import make_fx
from xdsl.dialects.builtin import TensorType

from tilewright.dialects.tw.aten import AtenOp
from tilewright.frontend.errors import NotOnCpu
from tilewright.frontend.fx.devices import Placement, placement
from tilewright.frontend.fx.fx_import import import_fx
from tilewright.frontend.fx.graph import Argument, Boundary, Constant, Literal, Passed, Result
from tilewright.frontend.runtime.call import make_call
from tilewright.targets.gpu_triton.host_errors import MixedDevices

META = torch.device("meta")  # stands for a GPU: placement only compares devices
CPU = torch.device("cpu")


def traced(function: Callable[..., Any], *devices: str, sizes: tuple[int, ...] = (3,)) -> GraphModule:
    """The ATen graph of a function; `scalar` is a tensor of the CPU without dimensions."""
    with FakeTensorMode() as mode:
        args = [
            torch.empty(() if d == "scalar" else sizes, device="cpu" if d == "scalar" else d) for d in devices
        ]
    with mode:
        return make_fx(function)(*args)


@torch.library.custom_op("tilewright_tests::kept_on_the_cpu", mutates_args=())
def kept_on_the_cpu(x: torch.Tensor, sizes: torch.Tensor) -> torch.Tensor:
    raise NotImplementedError


@kept_on_the_cpu.register_fake
def _like_the_first(x: torch.Tensor, _: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(x)


def test_a_graph_of_one_device() -> None:
    assert placement(traced(lambda x, y: x + y, "cpu", "cpu")) == Placement(CPU)
    assert placement(traced(lambda x, y: x + y, "meta", "meta")) == Placement(META)


def test_scalars_of_the_cpu_come_along() -> None:
    found = placement(traced(lambda x, s, y: x * s + y, "meta", "scalar", "meta"))
    assert found == Placement(META, frozenset({1}))
    constant = Constant(torch.tensor(2.0))
    inputs = found.bring((Argument(0), Argument(1), Argument(2), constant))
    assert inputs[:3] == (Argument(0), Argument(1, device=META), Argument(2))
    assert isinstance(inputs[3], Constant)
    assert inputs[3].tensor.device == META
    assert Placement(CPU, frozenset()).bring((Argument(0), constant)) == (Argument(0), constant)


def test_a_scalar_that_is_kept_for_the_backward_graph() -> None:
    """It is given back as it came, on the CPU, while the graph computes with its copy."""
    gm = traced(lambda x, s: (x * s, s), "meta", "scalar")
    assert placement(gm) == Placement(META, frozenset({1}))
    assert import_fx(gm).outputs == (Result(0), Passed(1))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: torch.where(x > 0, x, torch.full((), 2.0)),
        lambda x: x * torch.ones(3).to("meta"),
        lambda x: x * torch.arange(3).mul(2).to("meta", torch.float16),
        lambda x: x[torch.arange(2).flip(0)],
        lambda x: torch.ops.aten.copy(x, torch.ones(3)),
    ],
)
def test_what_the_graph_makes_on_the_cpu(function: Any) -> None:
    assert placement(traced(function, "meta")) == Placement(META)


@pytest.mark.parametrize(
    "function",
    [
        lambda x, y: x + y.to("meta"),
        lambda x, y: x + y.to("meta", torch.float16),
        lambda x, y: x + y.to(torch.float16).to("meta"),
        lambda x, y: torch.ops.aten.index(x, [y.to(torch.int64)]),
    ],
)
def test_arguments_that_are_only_moved(function: Any) -> None:
    assert placement(traced(function, "meta", "cpu")) == Placement(META, frozenset({1}))


def test_calls_of_aten_make_their_results_on_the_device() -> None:
    gm = traced(lambda x: (x[torch.randperm(3)],), "meta")
    (call,) = (op for op in import_fx(gm, device=META).main.body.block.ops if isinstance(op, AtenOp))
    assert "randperm" in call.callee.data
    assert "meta" in str(call.args)
    assert "cpu" not in str(call.args)


@pytest.mark.parametrize(
    ("function", "devices", "why"),
    [
        (lambda x, y: (x + 1, y + 1), ("meta", "cpu"), "has dimensions"),
        (lambda x, y: x + y.add(1).to("meta"), ("meta", "cpu"), "has dimensions"),
        (lambda x: kept_on_the_cpu(x, torch.ones(3)), ("meta",), "takes `ones` on the CPU"),
        (lambda x: (y := x.cpu(), y[1:]), ("meta",), "shares its memory with another"),
        (lambda x, s: s.copy_(s + 1) if x is None else (x * s.add_(1)), ("meta", "scalar"), "is written to"),
    ],
)
def test_what_must_be_moved_by_the_user(function: Any, devices: tuple[str, ...], why: str) -> None:
    with pytest.raises(MixedDevices, match=f"TW2067: the graph has tensors on meta and cpu(.|\n)*{why}"):
        placement(traced(function, *devices))


@pytest.mark.parametrize(
    ("function", "devices", "outputs"),
    [
        (lambda x: ((x + 1).cpu(),), ("meta",), (Result(0, device=CPU),)),
        (
            lambda x: (x * torch.ones(3).to("meta"), torch.ones(3)),
            ("meta",),
            (Result(0), Result(1, device=CPU)),
        ),
        (lambda x, s: (x * s, s + 1), ("meta", "scalar"), (Result(0), Result(1, device=CPU))),
        (lambda x, s: (x * s, s), ("meta", "scalar"), (Result(0), Passed(1))),
        (lambda x: ((x + 1).cpu()[::2],), ("meta",), (Result(0, device=CPU),)),
    ],
)
def test_results_on_the_cpu(function: Any, devices: tuple[str, ...], outputs: tuple[Any, ...]) -> None:
    gm = traced(function, *devices)
    assert placement(gm).device == META
    graph = import_fx(gm, device=META)
    assert graph.outputs == outputs
    assert "tw.strides" not in str(graph.main)


def test_results_are_copied_after_each_call() -> None:
    boundary = Boundary((Argument(0),), (Result(0, device=META), Result(0)), (), (), True)
    copied, result = make_call(boundary, lambda args: [args[0] + 1])([torch.zeros(3)])
    assert (copied.device, result.device) == (META, CPU)
    assert make_call(replace(boundary, outputs=(Result(0, device=META),)), list)([torch.zeros(3)])[0].is_meta


def test_arguments_are_copied_in_each_call() -> None:
    seen: list[torch.device] = []

    def run(args: list[Any]) -> list[Any]:
        seen.extend(arg.device for arg in args)
        return [args[0] * args[1]]

    boundary = Boundary((Argument(0), Argument(1, device=META)), (Result(0),), (), (), True)
    args = [torch.empty(3, device="meta"), torch.tensor(2.0)]
    (result,) = make_call(boundary, run)(args)
    assert result.device == META
    assert seen == [META, META]
    assert args == []


def test_the_cpu_target_takes_no_other_device() -> None:
    run = torch.compile(lambda x: x + 1, backend="mlir", options={"target": "cpu_openmp", "fallback": False})
    with pytest.raises(Exception, match="TW1021: cpu_openmp cannot run a graph whose tensors are on `meta`"):
        run(torch.empty(3, device="meta"))
    assert NotOnCpu.code == "TW1021"


def test_attention_of_gpus_returns_sizes_that_are_known() -> None:
    """ATen runs it with dropout. None, numbers and a dtype that the IR lacks are among its results."""

    def attention(q: torch.Tensor) -> tuple[Any, ...]:
        found = torch.ops.aten._scaled_dot_product_flash_attention(q, q, q, 0.5, True)
        return found[0] * 2, found[1], found[4], found[6]

    gm = traced(attention, "meta", sizes=(2, 4, 64, 32))
    graph = import_fx(gm)
    assert Literal(64) in graph.outputs
    (call,) = (op for op in graph.main.body.block.ops if isinstance(op, AtenOp))
    assert call.returns is not None
    assert all(isinstance(result.type, TensorType) for result in call.results)
