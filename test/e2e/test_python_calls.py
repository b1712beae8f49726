"""Calls that no operator describes run alone, in Python: all around them is compiled."""

import logging
import operator
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch._dynamo.exc import BackendCompilerFailed
from torch._higher_order_ops.effects import _get_effect
from torch._higher_order_ops.while_loop import while_loop
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx import Graph, GraphModule
from torch.fx.experimental.symbolic_shapes import ShapeEnv
from xdsl.dialects.builtin import ArrayAttr

import tilewright
from tilewright.frontend.compile import compile_aten
from tilewright.frontend.environment import read_environment
from tilewright.frontend.explain import Explanation
from tilewright.frontend.options import make_options
from tilewright.frontend.runtime import fallback
from tilewright.frontend.runtime.request import Request
from tilewright.targets.native.errors import UnknownOperator
from tilewright.targets.native.launch_calls import resolve

HERE = __file__


@pytest.fixture(autouse=True)
def fresh() -> None:
    torch._dynamo.reset()


def explained(f: Callable[..., Any], *args: Any, kernels: int = 1, **how: Any) -> Explanation:
    """Compiled once, equal to eager, with no graph that ATen runs as a whole."""
    torch.manual_seed(0)
    found = tilewright.explain(f, *args, **how)
    torch.manual_seed(0)
    torch.testing.assert_close(found.result, f(*args))
    assert all(graph.by_aten is None for graph in found.graphs), found
    assert sum(sum(graph.kernels.values()) for graph in found.graphs) >= kernels, found
    return found


def alone(f: Callable[..., Any], *args: Any, callee: str, **how: Any) -> None:
    """... and with one call in Python, which the user sees."""
    found = explained(f, *args, **how)
    (call,) = (fallback for graph in found.graphs for fallback in graph.fallbacks)
    assert (call.code, call.op) == ("TW1105", callee)
    assert call.place.startswith(HERE)
    assert str(call) in str(found)


def counted(x: Tensor) -> Tensor:
    """A loop whose state is a number of Python; torch has no gradient of it."""
    return while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y.sin() * 2), (0, (x * 2).exp()))[1] + 1


@pytest.mark.parametrize("target", ["cpu_openmp", "reference", "gpu_emulated"])
def test_loops_over_numbers(target: str) -> None:
    x, options = torch.rand(3, 5).t(), {"target": target}
    alone(counted, x, callee="higher_order::while_loop", kernels=target != "reference", options=options)


def test_one_compile_for_all_sizes() -> None:
    run = torch.compile(counted, backend="mlir", dynamic=True)
    for rows in (2, 3, 7):
        x = torch.rand(rows, 5)
        torch.testing.assert_close(run(x), counted(x))


def test_functions_whose_results_share_memory() -> None:
    """The plan may write over operands and results, so that each gets memory of its own."""
    constant = torch.arange(15.0)

    def function(x: Tensor, *, shape: list[int]) -> list[Any]:
        flat = x.view(shape)
        return [flat, None, flat[1:], x, constant]

    graph, value = Graph(), torch.randn(3, 5)
    x = graph.placeholder("x")
    x.meta["val"] = value
    doubled = graph.call_function(torch.ops.aten.mul.Tensor, (x, 2))
    doubled.meta["val"] = value * 2
    called = graph.call_function(function, (doubled,), {"shape": [15]})
    called.meta["val"] = function(value, shape=[15])
    parts: list[Any] = []
    for i in (0, 2, 3):
        part = graph.call_function(operator.getitem, (called, i))
        part.meta["val"] = called.meta["val"][i]
        parts.append(part)
    more = graph.call_function(torch.ops.aten.add.Tensor, (doubled, 1))
    more.meta["val"] = value
    graph.output((more, *parts, called.meta["val"][1]))
    request = Request(make_options({}), read_environment(), "inference")
    results = compile_aten(GraphModule(torch.nn.Module(), graph), [value], request)([value])
    wanted = function(value * 2, shape=[15])
    torch.testing.assert_close(list(results), [value * 2 + 1, wanted[0], wanted[2], wanted[3], None])
    tensors = [value, *results[:4]]
    assert len({tensor.untyped_storage().data_ptr() for tensor in tensors}) == 5


def _rooted(number: float) -> float:
    return number**0.5


def test_functions_of_symbolic_floats() -> None:
    mode = FakeTensorMode(shape_env=ShapeEnv(), static_shapes=False)
    fake = mode.from_tensor(torch.randn(5, 4))
    size = fake.shape[0]
    assert isinstance(size, torch.SymInt)
    graph = Graph()
    rows, x = graph.placeholder("rows"), graph.placeholder("x")
    rows.meta["val"], x.meta["val"] = size, fake
    half = graph.call_function(operator.truediv, (rows, 2))
    half.meta["val"] = size / 2
    root = graph.call_function(_rooted, (half,))
    root.meta["val"] = torch.sym_float(size)
    scaled = graph.call_function(torch.ops.aten.mul.Tensor, (x, root))
    with mode:
        scaled.meta["val"] = fake * 2
    graph.output((scaled,))
    request = Request(make_options({}), read_environment(), "inference")
    run = compile_aten(GraphModule(torch.nn.Module(), graph), [size, fake], request)
    for n in (5, 9):
        value = torch.randn(n, 4)
        torch.testing.assert_close(run([n, value])[0], value * (n / 2) ** 0.5)


def test_associative_scans_are_graphs_of_operators() -> None:
    from torch._higher_order_ops.associative_scan import associative_scan

    def f(x: Tensor) -> Tensor:
        return associative_scan(lambda a, b: a * b + a, x * 2, 0, combine_mode="generic") + 1

    assert explained(f, torch.randn(7, 3)).fallbacks == 0


@torch.library.custom_op("tilewright_test::scaled", mutates_args=())
def scaled(x: Tensor, factors: list[float], mode: str) -> Tensor:
    return (x * factors[0] if mode == "times" else x + factors[0]).clone()


@scaled.register_fake
def _(x: Tensor, factors: list[float], mode: str) -> Tensor:
    return torch.empty_like(x)


@torch.library.custom_op("tilewright_test::count", mutates_args=("seen",))
def count(x: Tensor, seen: Tensor) -> Tensor:
    seen += x.sum()
    return x + seen


@count.register_fake
def _(x: Tensor, seen: Tensor) -> Tensor:
    return torch.empty_like(x)


def test_operators_of_users() -> None:
    found = explained(lambda x: scaled(x + 1, [3.0], "times") * 2, torch.randn(3, 5))
    assert [(f.code, f.op) for g in found.graphs for f in g.fallbacks] == [
        ("TW1101", "tilewright_test::scaled")
    ]


def test_operators_of_users_that_write() -> None:
    def f(x: Tensor, seen: Tensor) -> Tensor:
        y = count(x * 2, seen)
        return y + count(y, seen) + seen

    x, ours, theirs = torch.randn(3, 5), torch.ones(1), torch.ones(1)
    run = torch.compile(f, backend="mlir")
    for _ in range(2):
        torch.testing.assert_close(run(x, ours), f(x, theirs))
        torch.testing.assert_close(ours, theirs)
    found = tilewright.explain(f, x, ours)
    assert all(graph.by_aten is None for graph in found.graphs), found
    assert {f.code for g in found.graphs for f in g.fallbacks} == {"TW1101"}


def test_it_is_logged_once(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fallback, "_said", {})
    with caplog.at_level(logging.WARNING, "tilewright.fallback"):
        for rows in (2, 3):
            torch.compile(counted, backend="mlir", dynamic=False)(torch.ones(rows, 2))
    (record,) = (r for r in caplog.records if "while_loop" in r.getMessage())
    assert record.getMessage().startswith(f"TW1105: higher_order::while_loop at {HERE}")


def test_it_can_be_refused() -> None:
    with pytest.raises(BackendCompilerFailed, match="TW1008: `higher_order::while_loop` has no native path"):
        torch.compile(counted, backend="mlir", options={"fallback": False})(torch.ones(2, 3))


def test_names_do_not_depend_on_what_was_compiled_before() -> None:
    def names(f: Callable[..., Any], *args: Any) -> list[str]:
        found = explained(f, *args)
        return [name for graph in found.graphs for name in graph.library_calls]

    def other(x: Tensor) -> Tensor:
        return while_loop(lambda i, y: i < 4, lambda i, y: (i + 1, y * 3), (0, x * 2))[1] + 1

    first = names(counted, torch.rand(3, 5))
    second = names(other, torch.rand(3))
    assert names(counted, torch.rand(3, 5)) == first != second


def test_meaning_is_checked_around_it() -> None:
    explained(counted, torch.rand(3, 5), options={"check": "each-pass"})


@pytest.mark.parametrize(
    ("callee", "expected"),
    [
        ("tilewright::cond_0", "in the process that compiled the graph"),
        ("aten::nothing", "import the package"),
    ],
)
def test_operators_of_another_process(callee: str, expected: str) -> None:
    with pytest.raises(UnknownOperator, match=f"TW2119: torch has no operator `{callee}`(.|\n)*{expected}"):
        fallback.AtenFunction(callee, ArrayAttr([]))
    with pytest.raises(UnknownOperator, match="TW2119"):
        resolve(callee)


@pytest.mark.parametrize("through", ["reference", "cpu_openmp"])
def test_a_dump_runs_where_it_was_compiled_only(
    through: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TILEWRIGHT_DUMP", str(tmp_path))
    torch.compile(counted, backend="mlir")(torch.rand(3, 5))
    (file,) = tmp_path.rglob("00-import.mlir")
    done = subprocess.run(
        [sys.executable, "-m", "tilewright.frontend.cli.main", "run", str(file), "--through", through],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert "TW2119: torch has no operator `tilewright::while_loop_" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(
    _get_effect(torch.ops.aten._linalg_check_errors.default) is None,
    reason="torch 2.11 drops the check of `inv`, whatever the backend",
)
def test_an_operator_with_an_effect_stays_and_its_graph_is_compiled() -> None:
    """`inv` is an operator and a check, which AOTAutograd orders by a token."""

    def f(x: Tensor) -> Tensor:
        return torch.linalg.inv(x @ x.T + torch.eye(4)).exp()

    x = torch.randn(4, 4)
    grads = []
    for function in (f, torch.compile(f, backend="mlir")):
        x = x.detach().requires_grad_()
        function(x).sum().backward()
        grads.append(x.grad)
    torch.testing.assert_close(*grads)
    found = tilewright.explain(f, x.detach())
    (graph,) = found.graphs
    assert graph.by_aten is None
    assert {fallback.op for fallback in graph.fallbacks} == {
        "aten::linalg_inv_ex",
        "aten::_linalg_check_errors",
    }
    with pytest.raises(torch.linalg.LinAlgError, match="singular"):
        torch.compile(lambda x: torch.linalg.inv(x).exp(), backend="mlir")(torch.zeros(4, 4))


def test_effects_keep_their_order_and_one_that_cannot_be_described_is_refused() -> None:
    from torch._higher_order_ops.effects import _EffectType, _register_effectful_op

    seen: list[tuple[str, float]] = []

    @torch.library.custom_op("tilewright_test::tell", mutates_args=())
    def tell(x: Tensor, what: str, weight: int | float | bool) -> Tensor:
        seen.append((what, float(x.sum())))
        return x.clone()

    tell.register_fake(lambda x, what, weight: torch.empty_like(x))  # pyright: ignore
    operator_ = torch.ops.tilewright_test.tell.default
    _register_effectful_op(operator_, _EffectType.ORDERED)

    def f(x: Tensor) -> Tensor:
        operator_(x, "first", 1)
        y = x * 2
        operator_(y, "second", 1)
        return y + 1

    assert torch.equal(torch.compile(f, backend="mlir")(torch.ones(3)), torch.full((3,), 3.0))
    assert seen == [("first", 3.0), ("second", 6.0)]
    (graph,) = tilewright.explain(lambda x: operator_(x, "third", 1 + 2j) + 1, torch.ones(3)).graphs
    assert "TW1006" in str(graph.by_aten)
    assert seen[-1] == ("third", 3.0)
