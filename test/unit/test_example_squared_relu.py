"""examples/squared_relu as a user has it: built as a wheel, unpacked, found by its entry points."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path
from textwrap import dedent

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "squared_relu"


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Variables with which Python finds the package."""
    pytest.importorskip("hatchling")
    folder = tmp_path_factory.mktemp("installed")
    command = [sys.executable, "-m", "pip", "wheel", str(EXAMPLE), "-w", str(folder), "-q"]
    subprocess.run([*command, "--no-deps", "--no-build-isolation"], check=True)
    (wheel,) = folder.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(folder / "site")
    path = os.pathsep.join([str(folder / "site"), str(ROOT / "test" / "importroot")])
    return {**os.environ, "PYTHONPATH": path, "TILEWRIGHT_CACHE_DIR": str(folder / "cache")}


def test_its_lit_tests_pass(environment: dict[str, str]) -> None:
    lit = [str(Path(sys.executable).parent / "lit"), "-v", str(EXAMPLE / "test")]
    done = subprocess.run(lit, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "Passed: 4" in done.stdout


PROGRAM = """
import sys
import torch
import tilewright
from tilewright.frontend.compile import Record, compile_captured
from tilewright.frontend.environment import read_environment
from tilewright.frontend.options import make_options

def check(f, *args, rtol=1.3e-6, atol=1e-5, **options):
    record = Record()
    def backend(gm, inputs):
        return compile_captured(gm, inputs, make_options(options), read_environment(), record)
    got = torch.compile(f, backend=backend)(*args)
    torch.testing.assert_close(got, f(*args), equal_nan=True, rtol=rtol, atol=atol)
    assert not any(graph.fallbacks for _, graph in record.graphs), record.graphs
    return [pass_ for trace in record.traces for pass_ in trace.passes()]

def mlp(x, w):
    return torch.relu(x @ w) ** 2 - 1

def softly(x):
    return torch.relu(x).square().mean(-1)

torch.manual_seed(0)
insert = {"after:canonicalize#2": ["fuse-squared-relu"]}
x = torch.randn(5, 7)
x[0, :4] = torch.tensor([float("nan"), float("inf"), -float("inf"), -0.0])
for target in ("cpu_openmp", "reference"):
    options = {"target": target} if target == "reference" else {"target": target, "insert": insert}
    passes = check(mlp, torch.randn(4, 6), torch.randn(6, 3), **options)
    assert target == "reference" or "fuse-squared-relu" in passes
    check(softly, x, **options)
    check(softly, torch.randn(7, 5).t(), **options)
    check(softly, torch.randn(3, 0, 4), **options)
assert "squared_relu.operator" not in sys.modules, "nothing asked for the operator yet"

import squared_relu.operator
op = torch.ops.squared_relu.squared_relu
for dtype in (torch.float32, torch.float64, torch.bfloat16):
    bounds = {"rtol": 0.016} if dtype == torch.bfloat16 else {}
    check(lambda x: op(x, 0.25) + 1, x.to(dtype), **bounds)

a, b = (x[1:].clone().requires_grad_() for _ in range(2))
torch.compile(lambda v: op(v, 3.0).sum(), backend="mlir")(a).backward()
op(b, 3.0).sum().backward()
torch.testing.assert_close(a.grad, b.grad)
print("fine")
"""


def test_it_computes_what_eager_does(environment: dict[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", dedent(PROGRAM)], env=environment, capture_output=True, text=True, check=False
    )
    assert done.stdout.strip().endswith("fine"), done.stderr[-3000:]
