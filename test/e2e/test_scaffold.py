"""`tilewright new-pass` and `new-op`: what they write works, passes its own test and is documented."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from tilewright.frontend.cli.main import tilewright

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent


def run(*words: str) -> str:
    result = CliRunner().invoke(tilewright, words, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def lit_lines(file: Path, environment: dict[str, str] | None = None) -> None:
    """Run the RUN lines of a lit test as lit would."""
    path = f"{BIN}{os.pathsep}{os.environ['PATH']}"
    lines = [line.partition("RUN: ")[2] for line in file.read_text().splitlines() if "RUN: " in line]
    assert lines
    for line in lines:
        command = "set -o pipefail; " + line.replace("%s", str(file)).replace("%S", str(file.parent))
        env = {**os.environ, "PATH": path, **(environment or {})}
        subprocess.run(["bash", "-c", command], check=True, env=env)


def test_new_pass_passes_its_test(tmp_path: Path) -> None:
    printed = run("new-pass", "fold-nothing-much", "--folder", str(tmp_path))
    lit_lines(tmp_path / "fold_nothing_much.mlir")
    command = (
        printed.partition("try:  ")[2].partition("\n")[0].replace("tilewright-opt", f"{BIN}/tilewright-opt")
    )
    done = subprocess.run(command.split(), capture_output=True, text=True, check=True)
    assert done.stdout.count("tw.neg") == 1
    page = (tmp_path / "fold_nothing_much.md").read_text()
    assert "### `fold-nothing-much`\n\nDrop a negation of a negation." in page
    assert_repeats(tmp_path / "fold_nothing_much.md")


def assert_repeats(page: Path) -> None:
    """The command that a page names writes this page."""
    text = page.read_text()
    command = text.partition("by `python")[2].partition("`;")[0]
    page.write_text("out of date")
    subprocess.run([sys.executable, *command.split()], cwd=page.parent, check=True)
    assert page.read_text() == text


def test_new_op_passes_its_tests(tmp_path: Path) -> None:
    run("new-op", "mine.swish_norm", "--folder", str(tmp_path))
    lit_lines(tmp_path / "mine_swish_norm.mlir")


def test_two_new_ops_share_a_dialect(tmp_path: Path) -> None:
    for op in ("cube", "quart"):
        run("new-op", f"mine.{op}", "--folder", str(tmp_path))
    (tmp_path / "both.mlir").write_text("""
func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = mine.cube %x : tensor<3xf32>
  %1 = mine.quart %0 : tensor<3xf32>
  func.return %1 : tensor<3xf32>
}
""")
    # The first file once more: what is loaded again replaces itself.
    program = """
from tilewright.dialects.plugins import added_by
from tilewright.frontend.tools.opt_tool import main
for files in (("cube", "quart"), ("cube",)):
    loads = [word for op in files for word in ("--load", f"mine_{op}.py")]
    assert main(["both.mlir", *loads, "-p", "convert-tw-to-tk,fuse,dce", "--check-semantics"]) == 0
print(*(name for name, added in added_by().items() if "dialect mine" in added))
"""
    env = {**os.environ, "PYTHONPATH": str(ROOT / "test" / "importroot")}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=True)
    assert done.stdout.count("arith.mulf") == 4
    assert done.stdout.splitlines()[-1] == "mine_cube mine_quart"


def test_new_op_has_a_page_that_is_generated_from_it(tmp_path: Path) -> None:
    run("new-op", "mine.swish_norm", "--folder", str(tmp_path))
    page = tmp_path / "mine_swish_norm.md"
    assert "#### `mine.swish_norm`\n\n`x * x` of a float tensor." in page.read_text()
    assert "Operands: `operand`; results: `result`; traits: Elementwise, Pure" in page.read_text()
    assert "tw." not in page.read_text()
    assert_repeats(page)


def test_new_pass_in_a_checkout_is_registered_tested_and_documented(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("dialects", "passes", "targets", "frontend", "docs", "test/importroot", "test/passes"):
        ignore = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / folder, tmp_path / folder, symlinks=True, ignore=ignore)
    environment = {"PYTHONPATH": str(tmp_path / "test" / "importroot")}
    done = subprocess.run(
        [sys.executable, "-m", "tilewright.frontend.cli.main", "new-pass", "fold-it", "--in-tree", "tensor"],
        cwd=tmp_path,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[:4] == [
        "wrote passes/tensor/fold_it.py",
        "wrote test/passes/fold_it.mlir",
        "wrote passes/registry.py",
        "wrote docs/passes.md",
    ]
    lit_lines(tmp_path / "test/passes/fold_it.mlir", environment)
    assert "### `fold-it`" in (tmp_path / "docs" / "passes.md").read_text()
    row = '    "fold-it": "tilewright.passes.tensor.fold_it:FoldItPass",\n}\n'
    assert row in (tmp_path / "passes" / "registry.py").read_text()
    ruff = [str(BIN / "ruff"), "check", "--config", str(ROOT / "pyproject.toml"), "passes/tensor/fold_it.py"]
    subprocess.run(ruff, cwd=tmp_path, check=True)


@pytest.mark.parametrize(
    "words",
    [
        ("new-pass", "Bad Name"),
        ("new-pass", "snake_case"),
        ("new-pass", "cse"),
        ("new-pass", "class"),
        ("new-pass", "fine-name", "--in-tree", "tensor"),
        ("new-op", "no_dialect"),
        ("new-op", "tw.mine"),
        ("new-op", "mine.with-dash"),
    ],
)
def test_bad_names_are_refused_and_nothing_is_written(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(tilewright, words)
    assert "TW1956" in str(result.exception)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("ending", ["mlir", "md"])
def test_nothing_is_overwritten(tmp_path: Path, ending: str) -> None:
    (tmp_path / f"fold_it.{ending}").write_text("mine")
    result = CliRunner().invoke(tilewright, ("new-pass", "fold-it", "--folder", str(tmp_path)))
    assert "TW1956" in str(result.exception)
    assert [p.name for p in tmp_path.iterdir()] == [f"fold_it.{ending}"]
