"""`options={"target": "reference"}` runs what `pipeline` and `insert` made of a graph, at any level."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from tilewright.frontend.tools.tool_io import load_passes
from tilewright.targets.registry import target

WRONG = Path(__file__).parents[1] / "tools" / "Inputs" / "turn_differences.py"


def stores(x: torch.Tensor) -> torch.Tensor:
    x.add_(1)
    return x.sum()


CASES: dict[str, tuple[Callable[..., Any], torch.Tensor]] = {
    "softmax": (lambda x: torch.softmax(x, -1), torch.randn(5, 7)),
    "argmax": (lambda x: x.argmax(1), torch.randn(5, 7)),
    "product of halves": (lambda x: (x @ x.T).relu().sum(0), torch.randn(5, 7).bfloat16()),
    "index": (lambda x: x[torch.tensor([3, 1])] * 2, torch.randn(5, 7)),
    "scatter": (
        lambda x: torch.zeros(6, 7).index_add(0, torch.tensor([0, 1, 1, 5, 2]), x),
        torch.randn(5, 7),
    ),
    "sort": (lambda x: x.sort(-1), torch.randn(5, 7)),
    "booleans": (lambda x: (x > 0).any(0) ^ (x < 0.1).all(0), torch.randn(5, 7)),
    "integers": (lambda x: x // 3 + x % 5, torch.randint(-50, 50, (5, 7))),
    "view": (lambda x: x.t()[1:], torch.randn(5, 7)),
    "nothing": (lambda x: x.sum(0) + 1, torch.randn(0, 7)),
    "write": (stores, torch.randn(5, 7)),
}
PIPELINES = {
    "tensors": "canonicalize,decompose",
    "kernels": "canonicalize,decompose,convert-tw-to-tk,fuse,dce",
    "cpu": ",".join(target("cpu_openmp").pipeline),
    "gpu": ",".join(target("gpu_triton").pipeline),
}


def compiled(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    torch._dynamo.reset()
    given: Any = {"target": "reference", "fallback": False, **options}
    return torch.compile(function, backend="mlir", options=given)


@pytest.mark.parametrize("level", PIPELINES)
@pytest.mark.parametrize("case", CASES)
def test_it_runs_what_passes_made(case: str, level: str) -> None:
    function, x = CASES[case]
    ours, theirs = x.clone(), x.clone()
    with torch.no_grad():
        found = compiled(function, pipeline=PIPELINES[level])(ours)
        torch.testing.assert_close(found, function(theirs))
    assert torch.equal(ours, theirs)


def test_it_derives_parameters_anew_in_each_call() -> None:
    model = torch.nn.Linear(7, 16).eval()
    x = torch.randn(3, 7)
    run = compiled(model, pipeline=PIPELINES["cpu"])
    with torch.no_grad():
        torch.testing.assert_close(run(x), model(x))
        model.weight.data.numpy()[0, 0] = 5  # counts no version
        torch.testing.assert_close(run(x), model(x))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"insert": {"before:fuse": ["cse"]}}, "TW3912: no place `before:fuse`"),
        ({"pipeline": "csee"}, "TW3901: no pass is named `csee`"),
        ({"pipeline": "canonicalize,turn-differences", "check": "each-pass"}, "TW3921: pass 2"),
    ],
)
def test_its_passes_are_run_and_checked(options: dict[str, Any], message: str) -> None:
    load_passes(str(WRONG))
    with pytest.raises(Exception, match=message):
        compiled(lambda x: x - x.sin(), **options)(torch.randn(3))


@pytest.mark.parametrize("chosen", ["reference", "gpu_emulated"])
def test_check_runs_what_was_compiled(chosen: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", "tilewright.check"):
        compiled(lambda x: x.exp().sum(0), target=chosen, check="each-pass")(torch.randn(3, 4))
    assert "kept its meaning (compiled: " in caplog.text
