"""The `tilewright` command: what each subcommand prints, and how it refuses bad input."""

import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner, Result

from tilewright.dialects.diagnostics import TilewrightError
from tilewright.frontend.cli.main import COMMANDS, tilewright
from tilewright.targets.native.store import Store

MODEL = """
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(8, 4)

    def forward(self, x):
        return torch.nn.functional.gelu(self.linear(x))

def picks(x, i):
    y = x.sin() * 2
    torch._dynamo.graph_break()
    return y[i]

def example():
    return torch.randn(4, 8), torch.tensor([1, 2])

def adds(x):
    return x + x.shape[0]

def nothing(x):
    return 7

if __name__ == "__main__":
    torch.compile(adds, backend="mlir")(torch.ones(3))
"""


@pytest.fixture
def model(tmp_path: Path) -> str:
    path = tmp_path / "a_model.py"
    path.write_text(MODEL)
    return str(path)


def run(*words: str) -> Result:
    return CliRunner().invoke(tilewright, words)


def test_help_lists_every_command_and_every_command_has_help() -> None:
    listed = run("--help").output
    for name, line in COMMANDS.items():
        assert f"  {name}  " in listed
        assert line.split()[0] in listed
        module = import_module(f"tilewright.frontend.cli.{name.replace('-', '_')}")
        assert module.command is not None
        if name not in ("opt", "translate"):
            assert run(name, "--help").exit_code == 0
    commands = {path.stem.replace("_", "-") for path in Path(module.__file__ or "").parent.glob("*.py")}
    assert commands - set(COMMANDS) == {"--init--", "main", "subject", "given", "errors", "failing", "tool"}


def test_unknown_commands_are_bad_usage() -> None:
    assert run("nonsense").exit_code == 2
    assert run("capture").exit_code == 2


def test_capture_writes_each_graph(model: str) -> None:
    text = run("capture", f"{model}:picks", "--inputs-from", f"{model}:example").output
    first, second = text.split("// -----\n")
    assert "tw.sin" in first
    assert "a_model.py" in first
    assert "tw.gather" in second


def test_capture_of_dynamic_sizes_has_symbols(model: str) -> None:
    text = run("capture", f"{model}:adds", "--input", "3xf32", "--dynamic").output
    assert 'tw.symbol = "s0"' in text


def test_capture_of_training_has_both_graphs(model: str, tmp_path: Path) -> None:
    folder = f"{tmp_path}/graphs/"
    assert run("capture", f"{model}:Net", "--input", "3x8xf32", "--training", "-o", folder).exit_code == 0
    assert sorted(os.listdir(folder)) == ["000-forward.mlir", "001-backward.mlir"]


def test_capture_of_a_script(model: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tilewright.frontend.cli.main", "capture", model],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "tw.add" in done.stdout


def test_captured_text_goes_through_opt(model: str, tmp_path: Path) -> None:
    out = tmp_path / "net.mlir"
    assert run("capture", f"{model}:Net", "--input", "3x8xf32", "-o", str(out)).exit_code == 0
    done = subprocess.run(
        [sys.executable, "-m", "tilewright.frontend.cli.main", "opt", str(out), "--pipeline=cpu"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "scheduled" in done.stdout


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("picks", "--input", "3x8xf33"), "TW1951"),
        (("picks", "--input", "4xi64:5..2"), "TW1951"),
        (("pick",), "did you mean `picks`"),
        (("nothing", "--input", "3xf32"), "TW1952"),
    ],
)
def test_bad_subjects_are_explained(model: str, words: tuple[str, ...], code: str) -> None:
    result = run("capture", f"{model}:{words[0]}", *words[1:])
    assert isinstance(result.exception, TilewrightError)
    assert code in str(result.exception)


def test_modules_that_cannot_be_imported_are_explained(tmp_path: Path) -> None:
    broken = tmp_path / "broken.py"
    broken.write_text("import a_module_that_nobody_has")
    for subject in (f"{broken}:f", "no_such_package:f", "no_colon", f"{tmp_path}/gone.py:f"):
        result = run("capture", subject)
        assert "TW1950" in str(result.exception)


def test_a_function_that_is_not_traced_says_why(tmp_path: Path) -> None:
    file = tmp_path / "recurrent.py"
    file.write_text("import torch\nnet = torch.nn.LSTM(4, 3)\n")
    result = run("capture", f"{file}:net", "--input", "2x4xf32")
    assert "why:   not traced: Attempted to wrap RNN, GRU, or LSTM: " in str(result.exception)
    assert "allow_rnn=True" in str(result.exception)


def test_a_script_that_fails_or_compiles_nothing(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("raise SystemExit(3)")
    assert "TW1953" in str(run("capture", str(script)).exception)
    script.write_text("pass")
    assert "TW1952" in str(run("capture", str(script)).exception)


def test_explain_reports_kernels(model: str) -> None:
    text = run("explain", f"{model}:Net", "--input", "3x8xf32").output
    # four columns are half a vector of 256 bits: padded there, and cut by a kernel of its own
    assert text.startswith(("1 graph, 0 graph breaks, 1 kernel, ", "1 graph, 0 graph breaks, 2 kernels, "))
    assert "TW1001" in str(run("explain", f"{model}:Net", "--input", "3x8xf32", "--option", "x=1").exception)


def test_test_from_capture_writes_a_test_that_passes(model: str, tmp_path: Path) -> None:
    out = tmp_path / "test.mlir"
    run("test-from-capture", f"{model}:Net", "--input", "3x8xf32", "-p", "fuse,dce", "-o", str(out))
    command = out.read_text().splitlines()[0].removeprefix("// RUN: ").replace("%s", str(out))
    assert command.startswith("tilewright-opt ")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    subprocess.run(command, shell=True, check=True, env={**os.environ, "PATH": path})
    assert "tk.kernel" in out.read_text()


def test_doctor_finds_what_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path))
    well = run("doctor")
    assert well.exit_code == 0, well.output
    monkeypatch.setenv("CXX", "no-such-compiler")
    ill = run("doctor")
    assert ill.exit_code == 1
    assert "TW2103" in ill.output
    assert "apt install g++" in ill.output


def test_cache_lists_verifies_and_prunes(tmp_path: Path) -> None:
    store, keys = Store(tmp_path), ["aa" + "0" * 38, "bb" + "0" * 38, "cc" + "0" * 38]
    for age, key in enumerate(keys):
        folder = store.make(key, "library", lambda work: (work / "data").write_bytes(b"x" * 1000) and None)
        os.utime(folder / "manifest", (1e9 - age, 1e9 - age))
    cache = ("cache", "--folder", str(tmp_path))
    assert [line.split()[-1] for line in run(*cache, "list").output.splitlines()] == keys
    assert run(*cache, "size").output.splitlines()[0].split()[:2] == ["library", "3"]
    assert run(*cache, "verify").exit_code == 0
    (store.folder(keys[0]) / "data").write_bytes(b"y")
    assert run(*cache, "verify").exit_code == 1
    run(*cache, "prune")
    assert [entry.key for entry in store.entries()] == keys[1:]
    run(*cache, "prune", "--max-size", "2K")
    assert [entry.key for entry in store.entries()] == keys[1:2]
    run(*cache, "prune", "--older-than", "30")
    assert list(store.entries()) == []
    assert run(*cache, "prune", "--max-size", "lots").exit_code == 2


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script(shell: str) -> None:
    assert "_TILEWRIGHT_COMPLETE" in run("completion", shell).output


@pytest.mark.parametrize(
    ("words", "last", "found"),
    [
        ("opt", "--pip", ["--pipeline"]),
        ("opt --pipeline", "cpu", ["cpu", "cpu_openmp"]),
        ("opt --load x.py -p", "cse,canon", ["cse,canonicalize"]),
        ("translate --to", "li", ["linalg"]),
        ("translate", "--fr", ["--from"]),
        ("run", "--compa", ["--compare"]),
        ("opt", "graph", ["graph"]),
    ],
)
def test_completion_knows_options_and_values(words: str, last: str, found: list[str]) -> None:
    complete = ShellComplete(tilewright, {}, "tilewright", "_TILEWRIGHT_COMPLETE")
    assert [item.value for item in complete.get_completions(words.split(), last)] == found


GRAPH = """
func.func @main(%x: tensor<4x?xf32, #tw.shape<"4, s0">> {tw.strides = "1, 4"}, %s0: index {tw.symbol = "s0"},
                %i: tensor<3xi64>) -> (tensor<4x?xf32, #tw.shape<"4, s0">>, tensor<3xi64>) {
  %0 = tw.exp %x : tensor<4x?xf32, #tw.shape<"4, s0">>
  %1 = tw.mul %i, %i : tensor<3xi64>
  func.return %0, %1 : tensor<4x?xf32, #tw.shape<"4, s0">>, tensor<3xi64>
}
"""


@pytest.fixture
def graph(tmp_path: Path) -> str:
    path = tmp_path / "graph.mlir"
    path.write_text(GRAPH)
    return str(path)


def test_run_gives_the_same_through_interpreter_and_targets(graph: str, tmp_path: Path) -> None:
    np.save(tmp_path / "i.npy", np.array([3, -1, 7]))
    given = ("run", graph, "--symbol", "s0=9", "--input", f"2={tmp_path}/i.npy")
    found: list[list[np.ndarray]] = []
    for through in ("interpreter", "float64", "cpu_openmp", "reference"):
        folder = tmp_path / through
        result = run(*given, "--through", through, "--compare", "-o", str(folder))
        assert result.exit_code == 0, result.output
        assert "result 1: int64[3] [ 9  1 49]" in result.output
        found.append([np.load(folder / f"result{i}.npy") for i in range(2)])
        largest = float(result.output.partition("largest ")[2].partition(",")[0])
        assert largest < 1e-5
    for values in found[1:]:
        assert values[0].shape == (4, 9)
        np.testing.assert_allclose(values[0], found[0][0], rtol=1e-6)


def test_run_takes_kernels_and_passes(graph: str) -> None:
    result = run("run", graph, "-p", "convert-tw-to-tk,fuse,dce", "--compare")
    assert result.exit_code == 0
    assert "float32[4, 5]" in result.output


@pytest.mark.parametrize(
    "words",
    [
        ("--symbol", "s7=2"),
        ("--symbol", "s0=x"),
        ("--input", "9=x.npy"),
        ("--input", "0=no_such_file.npy"),
        ("--range", "many"),
    ],
)
def test_run_refuses_bad_arguments(graph: str, words: tuple[str, ...]) -> None:
    assert run("run", graph, *words).exit_code == 2


def test_run_refuses_what_cannot_run(graph: str) -> None:
    assert "TW1955" in str(run("run", graph, "--entry", "other").exception)
    assert "TW1904" in run("run", graph, "--through", "nonsense").stderr
    kernels = run("run", graph, "-p", "convert-tw-to-tk,bufferize", "--through", "cpu_openmp")
    assert "TW1955" in str(kernels.exception)
