"""examples/numpy_target: the behaviour tests of ATen's operators, with NumPy text as the target."""

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from xdsl.dialects.builtin import ModuleOp

from tilewright.dialects.registry import new_context
from tilewright.frontend.options import make_options
from tilewright.frontend.tools.tool_io import parse_module
from tilewright.passes.manager import parse_pipeline, run_pipeline
from tilewright.targets.registry import emitter, pipeline, register_target
from tilewright.targets.registry import target as target_of

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "numpy_target"


@pytest.fixture(autouse=True, scope="module")
def numpy_target() -> Iterator[None]:
    """The target as an import away; entry points are tested with the other example."""
    sys.path.insert(0, str(EXAMPLE))
    from numpy_target import TARGET  # pyright: ignore

    register_target(TARGET)
    yield
    sys.path.remove(str(EXAMPLE))


@pytest.fixture(scope="module")
def behaviour() -> ModuleType:
    """test/e2e/test_aten_ops.py, whose compiles go to this target."""
    spec = importlib.util.spec_from_file_location("aten_ops_by_numpy", ROOT / "test/e2e/test_aten_ops.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    vars(module)["make_options"] = lambda given: make_options({**given, "target": "numpy"})
    plain = module.compiled

    def compiled(*args: Any, **how: Any) -> Any:
        got, record = plain(*args, **how)
        assert [trace.by_aten for trace in record.traces if trace.by_aten is not None] == []
        return got, record

    vars(module)["compiled"] = compiled
    return module


def runs(behaviour: ModuleType) -> list[tuple[str, tuple[Any, ...]]]:
    """Its test functions with their parameters."""
    found: list[tuple[str, tuple[Any, ...]]] = []
    for name, function in vars(behaviour).items():
        if name.startswith("test_"):
            marks = [mark for mark in getattr(function, "pytestmark", ()) if mark.name == "parametrize"]
            assert len(marks) <= 1
            found += [(name, (value,)) for value in marks[0].args[1]] if marks else [(name, ())]
    return found


def test_behaviour_of_the_operators(behaviour: ModuleType) -> None:
    failed: list[str] = []
    for name, arguments in runs(behaviour):
        try:
            getattr(behaviour, name)(*arguments)
        except Exception as error:
            failed.append(f"{name}{arguments}: {error}")
    assert failed == []


def compiled(function: Any) -> Any:
    return torch.compile(function, backend="mlir", options={"target": "numpy", "fallback": False})


def test_a_block_of_a_transformer_trains() -> None:
    torch.manual_seed(0)
    block = nn.TransformerEncoderLayer(8, 2, 12, dropout=0.0, batch_first=True)
    x = torch.randn(2, 5, 8)
    found: list[list[torch.Tensor]] = []
    for run in (block, compiled(block)):
        block.zero_grad()
        y = run(x)
        y.square().mean().backward()
        found.append([y.detach(), *(p.grad.clone() for p in block.parameters() if p.grad is not None)])
    torch.testing.assert_close(*found)


def test_failed_checks_raise() -> None:
    gather = compiled(lambda x, i: x[i])
    assert gather(torch.arange(4.0), torch.tensor([-1, 2])).tolist() == [3, 2]
    with pytest.raises(IndexError, match="index out of range"):
        gather(torch.arange(4.0), torch.tensor([4]))
    with pytest.raises(ZeroDivisionError):
        compiled(lambda x, y: x // y)(torch.ones(2, dtype=torch.int64), torch.zeros(2, dtype=torch.int64))


def test_randomness_follows_the_seed() -> None:
    dropout = compiled(lambda x: F.dropout(x, 0.25))
    torch.manual_seed(7)
    first, second = dropout(torch.ones(1000)), dropout(torch.ones(1000))
    torch.manual_seed(7)
    assert torch.equal(first, dropout(torch.ones(1000)))
    assert not torch.equal(first, second)


SUM = """
func.func @main(%x: tensor<3x5xf32>) -> tensor<3xf32> {
  %0 = tw.exp %x : tensor<3x5xf32>
  %1 = tw.sum %0 over [1] : tensor<3x5xf32> -> tensor<3xf32>
  func.return %1 : tensor<3xf32>
}
"""


def lowered(passes: str) -> ModuleOp:
    ctx = new_context()
    module = parse_module(ctx, SUM, "test")
    run_pipeline(ctx, module, parse_pipeline(passes))
    return module


def test_the_tools_know_it() -> None:
    text = emitter("numpy")(lowered(",".join(pipeline("numpy"))))
    assert "np.exp(" in text
    assert "reduce(np.add" in text


def test_explicit_loops_are_refused() -> None:
    with pytest.raises(Exception, match=r"NP0001: the NumPy target cannot write `tk\.func`(.|\n)*explicit"):
        emitter("numpy")(lowered(",".join(pipeline("cpu"))))


def test_it_is_small() -> None:
    """Lines that hold code or text: blank lines do not count."""
    files = sorted((EXAMPLE / "numpy_target").glob("*.py"))
    assert sum(1 for file in files for line in file.read_text().splitlines() if line.strip()) < 300
    assert target_of("numpy").pipeline[-1] != "apply-schedule"
