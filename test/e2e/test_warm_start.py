"""What a later process finds in AOTAutograd's cache: hits, misses, damage, and parameters that changed.

`torch._dynamo.reset()` forgets what this process compiled, so that the next call looks into the
cache as a new process would; one test starts real ones.
"""

from __future__ import annotations

import copy
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch._dynamo.utils import counters
from torch.fx import Graph, GraphModule

from tilewright.frontend.cache import cache_key
from tilewright.frontend.environment import read_environment
from tilewright.frontend.options import make_options

Function = Callable[..., Any]


@pytest.fixture(autouse=True)
def caches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Empty caches for each test."""
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "torch"))
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path / "ours"))
    torch._dynamo.reset()
    yield tmp_path
    torch._dynamo.reset()


def in_new_process(function: Function, **how: Any) -> tuple[Function, Callable[[], Mapping[str, int]]]:
    """The function, compiled by somebody who remembers nothing; and what happened since."""
    torch._dynamo.reset()
    counters.clear()
    compiled = torch.compile(function, backend="mlir", **how)
    return compiled, lambda: dict(counters["tilewright"])


def mlp() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 33), nn.GELU(), nn.LayerNorm(33), nn.Linear(33, 3))


def test_second_process_loads() -> None:
    model, x = mlp(), torch.randn(5, 6)
    with torch.no_grad():
        for expected in ({"graph_compiled": 1}, {"graph_loaded": 1}):
            compiled, happened = in_new_process(model)
            torch.testing.assert_close(compiled(x), model(x))
            assert happened() == expected
    assert counters["aot_autograd"]["autograd_cache_hit"] == 1


_PROGRAM = """
import torch
from tilewright.frontend.cache import cache_key
from torch._dynamo.utils import counters
cache_key.package_digest = lambda: "sources"  # they may be edited while this test runs
torch.manual_seed(0)
torch.set_grad_enabled(False)
model, x = torch.nn.Linear(6, 33), torch.randn(5, 6)
torch.testing.assert_close(torch.compile(model, backend="mlir")(x), model(x))
print(sorted(counters["tilewright"].items()))
"""


_OPERATOR = """
import torch
@torch.library.custom_op("warm::scale", mutates_args=())
def scale(x: torch.Tensor) -> torch.Tensor:
    return x * 3
scale.register_fake(lambda x: torch.empty_like(x))
scale.register_autograd(lambda ctx, g: g * {factor})
"""
_GRADIENT = """
import torch
from tilewright.frontend.cache import cache_key
from torch._dynamo.utils import counters
cache_key.package_digest = lambda: "sources"
from operators import scale
x = torch.ones(3, requires_grad=True)
torch.compile(lambda x: scale(x * 2).sum(), backend="mlir")(x).backward()
print(x.grad[0].item(), dict(counters["tilewright"]))
"""


def test_operators_whose_gradient_changes(caches: Path) -> None:
    """torch's key holds their names."""
    (caches / "gradient.py").write_text(_GRADIENT)

    def run(factor: int) -> str:
        (caches / "operators.py").write_text(_OPERATOR.format(factor=factor))
        command = [sys.executable, "gradient.py"]
        return subprocess.run(command, cwd=caches, capture_output=True, text=True, check=True).stdout.strip()

    assert run(3) == "6.0 {'graph_compiled': 2}"
    assert run(5) == "10.0 {'graph_compiled': 2}"


def test_real_processes(caches: Path) -> None:
    script = caches / "program.py"
    script.write_text(_PROGRAM)

    def run(seed: str) -> str:
        env = {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run(
            [sys.executable, str(script)], env=env, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    assert run("1") == "[('graph_compiled', 1)]"
    assert run("2") == "[('graph_loaded', 1)]"


def test_another_model_misses() -> None:
    x = torch.randn(5, 6)
    functions: list[Function] = [lambda x: x.exp() + 1, lambda x: x.exp() + 2]
    for function in functions:
        compiled, happened = in_new_process(function)
        torch.testing.assert_close(compiled(x), function(x))
        assert happened() == {"graph_compiled": 1}


def test_other_options_miss() -> None:
    def function(x: Tensor) -> Tensor:
        return x.sigmoid()

    x = torch.randn(5, 6)
    for options in ({}, {"freeze": False}, {"pool_outputs": False}):
        compiled, happened = in_new_process(function, options=options)
        compiled(x)
        assert happened() == {"graph_compiled": 1}
    compiled, happened = in_new_process(function, options={"freeze": False})
    compiled(x)
    assert happened() == {"graph_loaded": 1}


def test_another_version_misses(monkeypatch: pytest.MonkeyPatch) -> None:
    def function(x: Tensor) -> Tensor:
        return x.sigmoid()

    in_new_process(function)[0](torch.randn(4))
    monkeypatch.setattr(cache_key, "package_digest", lambda: "the sources of another version")
    compiled, happened = in_new_process(function)
    compiled(torch.randn(4))
    assert happened() == {"graph_compiled": 1}


def test_another_machine_misses(monkeypatch: pytest.MonkeyPatch) -> None:
    def function(x: Tensor) -> Tensor:
        return x.sigmoid()

    in_new_process(function)[0](torch.randn(4))
    monkeypatch.setenv("ATEN_CPU_CAPABILITY", "default")  # fewer instructions
    compiled, happened = in_new_process(function)
    compiled(torch.randn(4))
    assert happened() == {"graph_compiled": 1}


def test_changed_parameters_give_the_right_answer() -> None:
    model, x = mlp(), torch.randn(5, 6)
    with torch.no_grad():
        in_new_process(model)[0](x)
        for parameter in model.parameters():
            parameter.mul_(1.5)
        compiled, happened = in_new_process(model)
        torch.testing.assert_close(compiled(x), model(x))
        assert happened() == {"graph_loaded": 1}
        model[0].weight.add_(1.0)  # after loading, too
        torch.testing.assert_close(compiled(x), model(x))
        model.load_state_dict(mlp().state_dict())
        torch.testing.assert_close(compiled(x), model(x))
        assert happened() == {"graph_loaded": 1}


def test_training_loads_both_graphs() -> None:
    model, x = mlp(), torch.randn(5, 6)
    model(x).square().sum().backward()
    expected = [parameter.grad for parameter in model.parameters()]
    for counts in ({"graph_compiled": 2}, {"graph_loaded": 2}):
        fresh = copy.deepcopy(model)
        fresh.zero_grad()
        compiled, happened = in_new_process(fresh)
        compiled(x).square().sum().backward()
        assert happened() == counts
        for parameter, grad in zip(fresh.parameters(), expected, strict=True):
            torch.testing.assert_close(parameter.grad, grad)


def test_backward_that_was_never_called_costs_nothing() -> None:
    model, x = mlp(), torch.randn(5, 6)
    in_new_process(model)[0](x)
    assert counters["tilewright"] == {"graph_compiled": 1}
    compiled, happened = in_new_process(model)
    compiled(x).sum().backward()  # its code is missing, so that this is a miss
    assert happened() == {"graph_loaded": 1, "graph_compiled": 2}
    compiled, happened = in_new_process(model)
    compiled(x).sum().backward()
    assert happened() == {"graph_loaded": 2}


def test_what_is_written_anew_is_kept() -> None:
    """Dynamo's nodes have example values, which torch asks for; what replaces them has none."""
    bags, ids = nn.EmbeddingBag(17, 5, padding_idx=1), torch.randint(0, 17, (6, 4))
    for counts in ({"graph_compiled": 2}, {"graph_loaded": 2}):
        compiled, happened = in_new_process(bags)
        result = compiled(ids)
        result.sum().backward()
        torch.testing.assert_close(result, bags(ids))
        assert happened() == counts


def test_dynamic_shapes() -> None:
    def function(x: Tensor) -> Tensor:
        return torch.softmax(x, -1).sum(0) * x.shape[0]

    for counts in ({"graph_compiled": 1}, {"graph_loaded": 1}):
        compiled, happened = in_new_process(function, dynamic=True)
        for rows in (7, 3, 12):
            x = torch.randn(rows, 2 * rows + 1)
            torch.testing.assert_close(compiled(x), function(x))
        assert happened() == counts


def test_floats_that_became_constants_are_no_entry() -> None:
    """Floats that no tensor can stand for; torch keeps no guard of them with an entry."""

    def function(x: Tensor, factor: float) -> tuple[Tensor, Tensor]:
        return factor - x, x + factor

    x = torch.randn(5, 6)
    for factor in (0.375, -1.25):
        compiled, happened = in_new_process(function, dynamic=True)
        for value in (factor, 2.5):
            torch.testing.assert_close(compiled(x, value), function(x, value))
        assert happened() == {"graph_compiled": 2, "graph_not_kept": 2}


def test_floats_that_are_arguments_are_loaded_for_any_value() -> None:
    def function(x: Tensor, factor: float) -> Tensor:
        return x * factor

    x = torch.randn(5, 6)
    for factor, expected in ((0.375, {"graph_compiled": 1}), (-1.25, {"graph_loaded": 1})):
        compiled, happened = in_new_process(function, dynamic=True)
        torch.testing.assert_close(compiled(x, factor), function(x, factor))
        assert happened() == expected


def test_constants_of_the_graph_are_part_of_the_key() -> None:
    class Scaled(nn.Module):
        def __init__(self, value: float) -> None:
            super().__init__()
            self.scale = torch.full((3,), value)  # neither parameter nor buffer

        def forward(self, x: Tensor) -> Tensor:
            return x * self.scale + torch.tensor([1.0, 2.0, 3.0])

    for value in (2.0, 3.0):
        model, x = Scaled(value), torch.randn(4, 3)
        torch.testing.assert_close(in_new_process(model)[0](x), model(x))


def test_tensors_that_hang_on_a_graph_are_part_of_its_key() -> None:
    """Parameters and buffers are inputs; Dynamo makes inputs of most others, other tools do not."""

    def key(table: Tensor) -> str:
        module, graph = GraphModule(nn.Module(), Graph()), Graph()
        graph.output(graph.call_function(torch.add, (graph.placeholder("x"), graph.get_attr("table"))))
        module.table, module.graph = table, graph
        return cache_key.graph_key(module, (), make_options(), read_environment({}))

    table = torch.tensor([1.0, 2.0])
    assert key(table) == key(table.clone())
    others = (torch.tensor([1.0, 3.0]), table.double(), table[None], table[:1])
    assert len({key(table), *map(key, others)}) == 5


def test_constants_of_a_backward_graph_are_part_of_its_key() -> None:
    for rows in ([0, 2], [1, 1]):
        model = nn.Linear(5, 5)

        def chosen(x: Tensor, model: nn.Module = model, rows: list[int] = rows) -> Tensor:
            return model(x.index_select(0, torch.tensor(rows)))

        grads = []
        for function in (chosen, in_new_process(chosen)[0]):
            x = torch.ones(4, 5, requires_grad=True)
            function(x).sum().backward()
            grads.append(x.grad)
        torch.testing.assert_close(*grads)


def _damage(folder: Path) -> None:
    """Change a byte in the middle of every file."""
    files = [file for file in folder.rglob("*") if file.is_file()]
    assert files
    for file in files:
        data = bytearray(file.read_bytes())
        data[len(data) // 2] ^= 0xFF
        file.unlink()  # this process has mapped the libraries among them
        file.write_bytes(data)


@pytest.mark.parametrize("where", ["torch", "ours"])
def test_damage_is_repaired(caches: Path, where: str) -> None:
    model, x = mlp(), torch.randn(5, 6)
    with torch.no_grad():
        in_new_process(model)[0](x)
        _damage(caches / where)
        compiled, happened = in_new_process(model)
        torch.testing.assert_close(compiled(x), model(x))
        assert sum(happened().values()) >= 1
        compiled, happened = in_new_process(model)
        torch.testing.assert_close(compiled(x), model(x))
        assert happened() == {"graph_loaded": 1}


def test_lost_library_is_built_again(caches: Path) -> None:
    def function(x: Tensor) -> Tensor:
        return x.sigmoid() + 3

    x = torch.randn(4)
    in_new_process(function)[0](x)
    for file in (caches / "ours").rglob("*.so"):
        file.unlink()
    compiled, happened = in_new_process(function)
    torch.testing.assert_close(compiled(x), function(x))
    assert happened() == {"graph_loaded": 1}


def test_dumps_are_written_although_there_is_an_entry(caches: Path) -> None:
    def function(x: Tensor) -> Tensor:
        return x.sigmoid() + 4

    x = torch.randn(4)
    in_new_process(function)[0](x)
    compiled, happened = in_new_process(function, options={"dump": str(caches / "dump")})
    compiled(x)
    assert list((caches / "dump").rglob("*.mlir"))
    assert happened() == {"graph_not_kept": 1}


def test_graphs_that_aten_runs_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    def function(x: Tensor) -> Tensor:
        return x.sigmoid() + 5

    monkeypatch.setenv("CXX", "/nowhere/c++")
    for _ in range(2):
        compiled, happened = in_new_process(function)
        x = torch.randn(4)
        torch.testing.assert_close(compiled(x), function(x))
        assert happened() == {"graph_compiled": 1, "graph_not_kept": 1}


def test_graphs_with_calls_in_python_are_not_kept() -> None:
    """The name of such a call means nothing to another process."""

    def branches(x: Tensor) -> Tensor:
        return torch.cond(x.sum() > 0, lambda y: y.sin(), lambda y: y - 1, (x * 2,)) + 1

    def complex_number(x: Tensor) -> Tensor:
        return (x ** (1 + 2j)).real + 1

    for function in (branches, complex_number):
        for _ in range(2):
            compiled, happened = in_new_process(function)
            x = torch.randn(4)
            torch.testing.assert_close(compiled(x), function(x))
            found = happened()
            assert "graph_loaded" not in found
            assert found["graph_compiled"] == 1


def test_random_numbers_differ_from_call_to_call() -> None:
    def function(x: Tensor) -> Tensor:
        return torch.nn.functional.dropout(x, 0.5)

    x = torch.ones(1000)
    for _ in range(2):
        compiled, _ = in_new_process(function)
        torch.manual_seed(3)
        first, second = compiled(x), compiled(x)
        assert not torch.equal(first, second)
        torch.manual_seed(3)
        assert torch.equal(compiled(x), first)
