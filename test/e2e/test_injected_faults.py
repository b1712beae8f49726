"""`bisect` names the pass and the rewrite of an injected bug; `reduce` leaves a few ops."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "faults"))

from faults import FAULTS

ROOT = Path(__file__).parents[2]
MODULE = """
func.func @main(%x: tensor<9x10xf32>, %y: tensor<9x10xf32>) -> (tensor<9x5xf32>, tensor<10x9xf32>) {
  %two = tw.full 2.0 : f32 -> tensor<9x10xf32>
  %a = tw.tanh %x : tensor<9x10xf32>
  %b = tw.pow %a, %two : tensor<9x10xf32>
  %c = tw.mul %b, %y : tensor<9x10xf32>
  %d = tw.slice %c starts "0, 1" steps "1, 2" : tensor<9x10xf32> -> tensor<9x5xf32>
  %e = tw.sigmoid %d : tensor<9x5xf32>
  %f = tw.transpose %y by [1, 0] : tensor<9x10xf32> -> tensor<10x9xf32>
  %g = tw.reverse %f dims [0] : tensor<10x9xf32> -> tensor<10x9xf32>
  %h = tw.cos %g : tensor<10x9xf32>
  func.return %e, %h : tensor<9x5xf32>, tensor<10x9xf32>
}
"""
KERNELS = "convert-tw-to-tk,absorb-views"


@pytest.mark.parametrize(
    ("name", "passes", "culprit", "rewrite"),
    [
        ("square-as-double", "canonicalize,cse", "canonicalize", "tw.pow"),
        ("absorb-slice-step", KERNELS, "absorb-views", "tw.slice"),
        ("absorb-reverse-end", KERNELS, "absorb-views", "tw.reverse"),
    ],
)
def test_an_injected_bug_is_found_and_made_small(
    tmp_path: Path, name: str, passes: str, culprit: str, rewrite: str
) -> None:
    environment = {**os.environ, "PYTHONPATH": str(_tree_with(name, tmp_path) / "test/importroot")}
    (tmp_path / "big.mlir").write_text(MODULE)

    def tilewright(*args: str) -> str:
        command = [sys.executable, "-m", "tilewright.frontend.cli.main", *args, "big.mlir", "-p", passes]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    first, second, *_ = tilewright("bisect").splitlines()
    assert f"`{culprit}`" in first
    assert second.startswith("rewrite ")
    assert f": {rewrite} " in second
    small = tilewright("reduce")
    assert f"`{culprit}`" in small
    assert rewrite in small
    assert len([line for line in small.splitlines() if " = tw." in line or " = tk." in line]) <= 3


def _tree_with(name: str, folder: Path) -> Path:
    """The sources with one bug: links, but for the file that is changed and the folders above it."""
    (fault,) = [fault for fault in FAULTS if fault.name == name]
    tree = folder / "tree"
    package = tree / "test/importroot/tilewright"
    package.mkdir(parents=True)
    for entry in (ROOT / "test/importroot/tilewright").iterdir():
        if entry.name != "__pycache__":
            (package / entry.name).symlink_to(entry.resolve())
    at = Path()
    for part in Path(fault.file).parts[:-1]:
        at = at / part
        (package / at).unlink()
        (package / at).mkdir()
        for entry in (ROOT / at).iterdir():
            (package / at / entry.name).symlink_to(entry)
    (package / fault.file).unlink()
    (package / fault.file).write_text(fault.text(ROOT))
    return tree
