"""The importer by itself: names, places, symbols, layouts, refusals, determinism and speed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.fx import Graph, GraphModule

from tilewright.frontend.backend import compile_graph
from tilewright.frontend.compile import compile_aten, compile_captured
from tilewright.frontend.decompositions.table import decompositions
from tilewright.frontend.environment import read_environment
from tilewright.frontend.errors import FallbackRefused, UnsupportedNode
from tilewright.frontend.fx.fx_import import import_fx
from tilewright.frontend.fx.graph import Graph as Imported
from tilewright.frontend.fx.graph import Passed, Result
from tilewright.frontend.options import make_options
from tilewright.frontend.runtime.request import Request
from tilewright.passes.manager import module_text, verify_module


def imported(function: Callable[..., Any], *args: Any, dynamic: bool = False, **how: Any) -> list[Imported]:
    """The graphs of one call, with the names that Dynamo gave to its inputs."""
    from torch._dynamo.backends.common import aot_autograd

    from tilewright.frontend.compile import dynamo_names
    from tilewright.frontend.torch_internals import tracing_context

    torch._dynamo.reset()
    graphs: list[Imported] = []

    def backend(gm: GraphModule, inputs: Any) -> Any:
        names = dynamo_names(gm)

        def compiler(aten: GraphModule, inputs: Any) -> Any:
            static = tracing_context().fw_metadata.static_input_indices
            graph = import_fx(aten, inputs, names=names, static=static, **how)
            verify_module(graph.module)
            graphs.append(graph)
            return torch._dynamo.disable(lambda *a: aten(*a))

        table = decompositions()
        return aot_autograd(fw_compiler=compiler, decompositions=table, keep_inference_input_mutations=True)(
            gm, inputs
        )

    torch.compile(function, backend=backend, dynamic=dynamic, fullgraph=True)(*args)
    return graphs


def text_of(graph: Imported) -> str:
    return module_text(graph.module)


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(4, 6), nn.ReLU())
        self.register_buffer("count", torch.zeros(6))

    def forward(self, x: Tensor) -> Tensor:
        self.count.add_(1)
        return self.inner(x) * 2  # the marked line


def test_arguments_have_names_and_unwritten_parameters_are_frozen() -> None:
    with torch.no_grad():
        (graph,) = imported(Block(), torch.randn(3, 4), frozen=True)
    text = text_of(graph)
    assert '{tw.name = "inner.0.weight", tw.frozen}' in text
    assert '{tw.name = "x"}' in text
    assert '{tw.name = "count"}' in text
    assert "tw.write" in text


def test_an_argument_that_is_written_and_returned_is_no_result() -> None:
    def update(x: Tensor, y: Tensor) -> Tensor:
        return x.add_(y)

    def twice(x: Tensor, y: Tensor) -> Tensor:
        new = y * 2
        x.copy_(new)
        return new

    (graph,) = imported(update, torch.ones(2), torch.ones(2))
    assert graph.outputs == (Passed(0),)
    assert "tw.write" in text_of(graph)
    (graph,) = imported(twice, torch.ones(2), torch.ones(2))
    assert graph.outputs == (Result(0),)  # a tensor of its own


def test_ops_carry_the_users_line_and_module() -> None:
    (graph,) = imported(Block().requires_grad_(False), torch.randn(3, 4))
    line = next(i for i, t in enumerate(open(__file__), start=1) if "# the marked line\n" in t)
    text = text_of(graph)
    assert f'test_frontend_import.py":{line}:0' in text
    assert '"inner.0"(' in text
    assert "site-packages/torch" not in text


def test_symbols_are_numbered_in_order_of_appearance() -> None:
    (graph,) = imported(lambda x, y: x.reshape(-1) + y, torch.randn(3, 4), torch.randn(12), dynamic=True)
    text = text_of(graph)
    assert '%0: index {tw.symbol = "s0"}' in text
    assert '#tw.shape<"s0' in text
    assert "s3" not in text


def test_layouts_that_are_not_row_major_are_named() -> None:
    (graph,) = imported(lambda x: (x * 2, x @ x.T), torch.randn(3, 4).T)
    text = text_of(graph)
    assert 'tw.strides = "1, 4"' in text


def test_importing_is_deterministic() -> None:
    x = torch.randn(5, 4)
    first, second = (imported(Block().requires_grad_(False), x, dynamic=True)[0] for _ in range(2))
    assert text_of(first) == text_of(second)


def test_fallback_can_be_refused() -> None:
    options = make_options({"fallback": False, "target": "reference"})
    torch._dynamo.reset()

    def backend(gm: GraphModule, inputs: Any) -> Any:
        return compile_captured(gm, inputs, options, read_environment())

    with pytest.raises(Exception, match="TW1008: `aten::linalg_inv_ex` has no native path") as caught:
        torch.compile(lambda x: torch.linalg.inv(x), backend=backend)(torch.eye(4))
    assert isinstance(caught.value.__cause__ or caught.value.inner_exception, FallbackRefused)  # pyright: ignore


def test_a_call_of_a_python_function_is_refused() -> None:
    graph = Graph()
    x = graph.placeholder("x")
    x.meta["val"] = torch.randn(3)
    graph.output((graph.call_function(len, (x,)),))
    with pytest.raises(UnsupportedNode, match="TW1006"):
        import_fx(GraphModule(nn.Module(), graph), [torch.randn(3)])


def test_a_graph_without_work_calls_no_target() -> None:
    graph = Graph()
    x = graph.placeholder("x")
    x.meta["val"] = torch.randn(3)
    graph.output((x, None, 3))
    request = Request(make_options({"target": "gpu_triton"}), read_environment(), "inference")
    value = torch.randn(3)
    got = compile_aten(GraphModule(nn.Module(), graph), [value], request)([value])
    assert got[0] is value
    assert list(got[1:]) == [None, 3]


def test_constants_of_the_graph() -> None:
    def function(x: Tensor) -> Tensor:
        return x + torch.tensor([1.0, 2.0, 3.0]) + torch.arange(300.0)[:3]

    (graph,) = imported(function, torch.randn(3))
    assert "tw.constant dense<[1.0" in text_of(graph)


def test_backend_is_registered() -> None:
    assert "mlir" in torch.compiler.list_backends()
    assert compile_graph.__module__ == "tilewright.frontend.backend"


def test_entry_point_imports_next_to_nothing() -> None:
    program = (
        "import torch._dynamo, sys\n"
        "before = set(sys.modules)\n"
        "import tilewright.frontend.backend\n"
        "print([name for name in sorted(set(sys.modules) - before) if not name.startswith('tilewright')])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_importing_costs_little_per_node() -> None:
    small, large = (_calls_of_import(count) for count in (100, 400))
    assert (large - small) / 600 < 200  # Python calls per node: 126 when this was written
    assert large < 4.4 * small


def _calls_of_import(count: int) -> int:
    """How many Python functions an import of `2 * count` nodes calls: what a busy machine does not change."""
    graph = Graph()
    x = graph.placeholder("x")
    x.meta["val"] = fake = torch.randn(8, 16)
    value = x
    for _ in range(count):
        for op, args in ((torch.ops.aten.mul.Tensor, (value, x)), (torch.ops.aten.tanh.default, None)):
            value = graph.call_function(op, args or (value,))
            value.meta["val"] = fake
    graph.output((value,))
    gm = GraphModule(nn.Module(), graph)
    import_fx(gm, [fake])
    calls = 0

    def note(frame: object, event: str, arg: object) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(note)
    try:
        import_fx(gm, [fake])
    finally:
        sys.setprofile(None)
    return calls


def test_strides_are_reported_as_the_caller_sees_them() -> None:
    """The backward graph is traced with those. A view of little is a copy, which repeats as the view does."""

    def function(x: Tensor) -> tuple[Tensor, ...]:
        wide = x.exp()[:, :, None].expand(-1, -1, 3)
        return wide[:, ::3], x.sin()[:, :1], x.cos().t()

    (graph,) = imported(function, torch.randn(4, 12))
    assert graph.output_strides == ((4, 1, 0), (1, 1), (1, 12))
