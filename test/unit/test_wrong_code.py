"""An injected bug of the emitter: `reduce --compile` shrinks its module, and a compile leaves a repro."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from click.testing import CliRunner, Result

from tilewright.frontend.cli.main import tilewright
from tilewright.targets.cpu_openmp import rules

TEXT = """
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = tw.sinh %x : tensor<2xf32>
  %1 = tw.exp %0 : tensor<2xf32>
  func.return %1 : tensor<2xf32>
}
"""


def inject(monkeypatch: pytest.MonkeyPatch, row: str) -> None:
    """Emit `row` for `math.sinh`."""
    table: Mapping[str, str] = rules._BY_NAME  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(rules, "_BY_NAME", {**table, "math.sinh": row})


def run(*words: str) -> Result:
    return CliRunner().invoke(tilewright, words)


@pytest.mark.parametrize(
    ("row", "what"),
    [("tw::cosh({0})", "TW3922: the compiled code of @main"), ("tw::hsin({0})", "  graph.cpp:7:22: error: ")],
)
def test_what_is_wrong_once_compiled_is_reduced(
    row: str, what: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    inject(monkeypatch, row)
    (tmp_path / "bad.mlir").write_text(TEXT)
    small = tmp_path / "small.mlir"
    words = ("reduce", f"{tmp_path}/bad.mlir", "--pipeline", "cpu", "--compile", "-o", str(small))
    assert run(*words).exit_code == 0
    text = small.read_text()
    assert what in text
    assert ".making-" not in text  # the same in every run
    assert [line.split()[2] for line in text.splitlines() if " = tw." in line] == ["tw.sinh"]
    # The command at the head of the file fails as long as the file does.
    again = text.partition("// RUN: tilewright ")[2].partition("\n")[0]
    command = shlex.split(again.replace("%s", str(small)))
    assert run(*command).exit_code == 0
    monkeypatch.undo()
    assert "TW1921: reduce: nothing fails" in str(run(*command).exception)


def test_the_repro_of_wrong_code_compiles_it_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    inject(monkeypatch, "tw::cosh({0})")
    options: Any = {"check": "each-pass", "cache_dir": str(tmp_path)}
    with pytest.raises(Exception, match="TW3922: the compiled code of @main"):
        torch.compile(torch.sinh, backend="mlir", options=options)(torch.ones(3))
    (folder,) = (tmp_path / "repros").iterdir()
    words = shlex.split(json.loads((folder / "repro.json").read_text())["command"])
    assert words[:3] == ["tilewright", "run", "module.mlir"]
    monkeypatch.chdir(folder)
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path))
    assert "TW3922: the compiled code of @main" in str(run(*words[1:]).exception)
    monkeypatch.undo()
    monkeypatch.chdir(folder)
    assert run(*words[1:]).exit_code == 0


def test_the_interpreter_takes_no_options_of_the_backend(tmp_path: Path) -> None:
    (tmp_path / "good.mlir").write_text(TEXT)
    assert run("run", f"{tmp_path}/good.mlir", "--option", "check=each-pass").exit_code == 2
