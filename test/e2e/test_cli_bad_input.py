"""What the commands say of files, options and functions that do not do: one diagnostic, no traceback."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from click.testing import CliRunner, Result

from tilewright.dialects.diagnostics import TilewrightError
from tilewright.frontend.cli.errors import BadInputText, FailedCall
from tilewright.frontend.cli.main import tilewright
from tilewright.frontend.cli.subject import make_input
from tilewright.frontend.tools import opt_tool, translate_tool

MODULE = """func.func @main(%x: tensor<4x8xf32>) -> tensor<4xf32> {
  %0 = tw.sum %x over [1] : tensor<4x8xf32> -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
"""
KEPT = """func.func @main() -> tensor<200x2xi64> {
  %a = tw.constant dense<[1, 2]> : tensor<2xi64>
  %b = tw.broadcast %a dims [1] : tensor<2xi64> -> tensor<200x2xi64>
  func.return %b : tensor<200x2xi64>
}
"""
MODEL = """import torch

def adds(x):
    return x + 1

def refuses(x):
    if x.dim() == 2:
        raise ValueError("two sides")
    return x

def product(x):
    return x @ torch.ones(8, 4)
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("good.mlir").write_text(MODULE)
    Path("empty.mlir").write_text("// nothing\n")
    Path("refusing.py").write_text(MODEL)
    return tmp_path


def run(*words: str) -> Result:
    return CliRunner().invoke(tilewright, words)


@pytest.mark.parametrize(
    "words",
    [
        "opt good.mlir -p dce --dump good.mlir",
        "opt good.mlir -p dce --dump good.mlir/below",
        "run good.mlir -o good.mlir",
        "capture refusing.py:adds --input 3xf32 -o good.mlir/",
        "new-pass my-pass --folder good.mlir",
        "new-op mine.op --folder good.mlir",
    ],
)
def test_folders_that_cannot_be_made(words: str, here: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tilewright.frontend.cli.main", *words.split()], capture_output=True, text=True
    )
    assert done.returncode == 1
    assert done.stderr.startswith("TW1902: cannot write good.mlir")
    assert "Traceback" not in done.stderr


def test_text_without_an_op_is_a_module_without_ops(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert opt_tool.main(["empty.mlir", "-p", "canonicalize"]) == 0
    assert capsys.readouterr().out == "builtin.module {\n}\n"
    with pytest.raises(TilewrightError, match=r"TW1955: cannot run empty.mlir\n  why:   it has no function"):
        CliRunner().invoke(tilewright, ["run", "empty.mlir"], catch_exceptions=False)


def test_a_byte_order_mark_is_no_text(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("marked.mlir").write_bytes(b"\xef\xbb\xbf" + MODULE.encode())
    assert opt_tool.main(["marked.mlir"]) == 0
    assert "tw.sum" in capsys.readouterr().out


def test_malformed_text_of_other_dialects_is_named(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("torch_mlir")
    Path("cut.mlir").write_text("func.func @main(%x: tensor<4xf32> {\n")
    assert translate_tool.main(["cut.mlir", "--from=linalg"]) == 1
    said = capsys.readouterr().err
    assert said.startswith("TW1901: cannot read cut.mlir")
    assert "cut.mlir:1:36: expected attribute name" in said


SYMBOLIC = """func.func @main(%x: tensor<?x4xf32, #tw.shape<"s0, 4">>, %s0: index {tw.symbol = "s0"},
                %b: tensor<4xbf16>) -> tensor<4xf32> {
  %0 = tw.sum %x over [0] : tensor<?x4xf32, #tw.shape<"s0, 4">> -> tensor<4xf32>
  %1 = tw.cast %b : tensor<4xbf16> -> tensor<4xf32>
  %2 = tw.add %0, %1 : tensor<4xf32>
  func.return %2 : tensor<4xf32>
}
"""


@pytest.mark.parametrize("through", ["interpreter", "cpu_openmp"])
def test_inputs_of_any_layout_and_of_torch(through: str, here: Path) -> None:
    Path("symbolic.mlir").write_text(SYMBOLIC)
    columns = np.arange(12, dtype=np.float32).reshape(3, 4)
    np.save("columns.npy", np.asfortranarray(columns))
    torch.save(torch.ones(4, dtype=torch.bfloat16), "ones.pt")
    words = "run symbolic.mlir --symbol s0=3 --input 0=columns.npy --input 2=ones.pt -o out --through"
    assert run(*words.split(), through).exit_code == 0
    np.testing.assert_array_equal(np.load("out/result0.npy"), columns.sum(0) + 1)


def test_symbols_are_as_the_inputs_have_them(here: Path) -> None:
    Path("symbolic.mlir").write_text(SYMBOLIC)
    np.save("seven.npy", np.ones((7, 4), np.float32))
    assert run("run", "symbolic.mlir", "--input", "0=seven.npy", "-o", "out").exit_code == 0
    assert run("run", "symbolic.mlir", "--symbol", "s0=7", "--input", "0=seven.npy").exit_code == 0


@pytest.mark.parametrize("name", ["archive.npz", "list.pt", "text.pt", "wide.npy"])
def test_inputs_that_are_no_argument(name: str, here: Path) -> None:
    Path("symbolic.mlir").write_text(SYMBOLIC)
    np.savez("archive.npz", a=np.ones(3), b=np.ones(3))
    torch.save([torch.ones(3)], "list.pt")
    Path("text.pt").write_text("no tensor")
    np.save("wide.npy", np.ones((7, 4), np.float32))
    done = run("run", "symbolic.mlir", "--symbol", "s0=3", "--input", f"0={name}")
    assert done.exit_code == 2
    assert name in done.output
    assert ("--symbol gives sizes" in done.output) == (name == "wide.npy")


@pytest.mark.parametrize("insert", ["after:fuse", "after:fuse=", "after:fuse=dce"])
def test_insertions_that_would_do_nothing_are_refused(
    insert: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert opt_tool.main(["good.mlir", "--insert", insert]) == 1
    assert "TW3912: no place `after:fuse" in capsys.readouterr().err


def test_passes_are_inserted_among_those_of_p(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--insert", "after:dce=cse", "--insert", "before:canonicalize=dce"]
    assert opt_tool.main(["good.mlir", "-p", "canonicalize,dce", *words, "--timing"]) == 0
    said = capsys.readouterr().err
    assert re.findall(r"ms  ([\w-]+)", said) == ["dce", "canonicalize", "dce", "cse", "total"]


def test_remarks_are_no_part_of_the_module(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("kept.mlir").write_text(KEPT)
    assert opt_tool.main(["kept.mlir", "-p", "canonicalize,canonicalize", "--remarks"]) == 0
    module, said = capsys.readouterr()
    assert module.startswith("builtin.module {")
    (remark,) = said.splitlines()
    assert re.fullmatch(r'remark: tw\.\w+ at loc\("kept\.mlir":3:8\): .* \(\d+x\)', remark)


@pytest.mark.parametrize(
    "words",
    [
        "run good.mlir --range 9..1",
        "cache --folder good.mlir list",
        "cache --folder missing verify",
        "cache --folder . prune --older-than -4",
    ],
)
def test_options_that_mean_nothing_are_bad_usage(words: str, here: Path) -> None:
    assert run(*words.split()).exit_code == 2
    assert os.path.exists("good.mlir")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("explan", "TW1904: tilewright: No such command 'explan'; did you mean `explain`?"),
        ("cache lst", "TW1904: tilewright cache: No such command 'lst'"),
        ("explain a:b --target x", "TW1904: tilewright explain: No such option '--target'"),
        ("explain", "TW1904: tilewright explain: Missing argument 'MODULE:FUNCTION'"),
        ("run good.mlir --through cpu_openm", "did you mean `cpu_openmp`?"),
        ("run good.mlir --through foo", "--through: 'foo' is none of interpreter, float64, cpu_openmp,"),
        ("run good.mlir --through auto", "--through: 'auto' is none of interpreter, float64, cpu_openmp,"),
    ],
)
def test_bad_usage_looks_like_other_errors(words: str, said: str, here: Path) -> None:
    done = run(*words.split())
    assert done.exit_code == 2
    first, why, fix = done.stderr.splitlines()[:3]
    assert first.startswith("TW1904: tilewright")
    assert said in first
    assert why == "  why:   the command line does not follow the usage below"
    assert fix.startswith("  fix:   Usage: tilewright ")
    assert "--help` says more" in done.stderr


@pytest.mark.parametrize(
    ("text", "reason", "fix"),
    [
        ("8x-4xf32", "`-4` is no size", "sizes are numbers"),
        ("3", "it has no element type", "add one: 3xf32"),
        ("4x8", "it has no element type", "add one: 4x8xf32"),
        ("4xf31", "`f31` is no element type", "use one of the element types f64, f32"),
        ("4xi64:9..1", "`9..1` is no range", "write low..high"),
        ("4xi64:nine", "`nine` is no range", "write low..high"),
    ],
)
def test_an_input_that_is_none_says_which_part(text: str, reason: str, fix: str) -> None:
    with pytest.raises(BadInputText) as told:
        make_input(text)
    assert f"TW1951: `{text}` describes no input: {reason}\n" in str(told.value)
    assert f"fix:   {fix}" in str(told.value)


@pytest.mark.parametrize("command", ["capture", "explain", "report"])
def test_an_error_of_the_users_function_is_told_with_its_line(command: str, here: Path) -> None:
    with pytest.raises(FailedCall) as told:
        CliRunner().invoke(
            tilewright, [command, "refusing.py:refuses", "--input", "2x3xf32"], catch_exceptions=False
        )
    assert "ValueError: two sides" in str(told.value)
    assert f"in refuses, {here / 'refusing.py'}:8" in str(told.value)


@pytest.mark.parametrize("command", ["capture", "explain"])
def test_sizes_that_do_not_fit_are_told_by_the_op_that_refuses(command: str, here: Path) -> None:
    words = [sys.executable, "-m", "tilewright.frontend.cli.main", command, "refusing.py:product"]
    done = subprocess.run([*words, "--input", "3x9xf32"], capture_output=True, text=True)
    assert done.returncode == 1
    first, why, where, fix = done.stderr.splitlines()
    assert first.startswith("TW1957: `refusing.py:product` failed")
    assert why.startswith("  why:   RuntimeError: ")
    assert "[3, 9]" in why
    assert where.endswith(f"in product, {here / 'refusing.py'}:12")
    assert fix.startswith("  fix:")


def test_missing_arguments_are_told(here: Path) -> None:
    with pytest.raises(
        FailedCall, match=r"called with no arguments\n.*missing 1 required positional argument"
    ):
        CliRunner().invoke(tilewright, ["capture", "refusing.py:adds"], catch_exceptions=False)


def test_a_file_that_does_not_load_is_told_with_its_line(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("late.py").write_text("import os\n\nundefined\n")
    assert opt_tool.main(["good.mlir", "--load", "late.py"]) == 1
    assert "line 3: NameError: name 'undefined' is not defined" in capsys.readouterr().err


def test_a_written_test_runs_what_was_run(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("mine.py").write_text(
        "import tilewright\n\n\n@tilewright.register_pass('mine-too')\ndef mine(ctx, module):\n"
        '    """Nothing."""\n'
    )
    words = ["--load", "mine.py", "--pipeline=cpu", "--insert", "after:fuse=mine-too", "-p", "mine-too,dce"]
    assert opt_tool.main(["good.mlir", *words, "--write-test", "test.mlir"]) == 0
    first = Path("test.mlir").read_text().partition("\n")[0]
    wanted = "--load mine.py --pipeline=cpu --insert after:fuse=mine-too -p 'mine-too,dce'"
    assert first == f"// RUN: tilewright-opt %s {wanted} | filecheck %s"


def test_a_test_of_a_pass_without_a_place_says_where_it_starts(here: Path) -> None:
    done = run("test-from-capture", "refusing.py:adds", "--input", "3xf32", "-p", "schedule-gpu")
    assert "`schedule-gpu` has no place in the pipeline cpu" in done.stderr
    assert "tw.add" in done.stdout


def test_triton_text_of_a_graph_is_refused(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert translate_tool.main(["good.mlir", "--to=triton"]) == 1
    assert "TW2201: gpu_triton cannot lower `tw.sum`" in capsys.readouterr().err
