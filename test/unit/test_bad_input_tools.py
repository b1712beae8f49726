"""Passes and tools on modules that they were not made for: a diagnostic or a sound module."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from lit_modules import modules
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import DiagnosticException

from tilewright.dialects.diagnostics import BrokenByPass, FailedPass
from tilewright.dialects.registry import new_context
from tilewright.frontend.tools import opt_tool, translate_tool
from tilewright.passes.manager import parse_pipeline, run_pipeline, verify_hook
from tilewright.passes.registry import pass_names

TEST = Path(__file__).parents[1]
TOOLS: dict[str, Callable[[list[str]], int]] = {
    "opt": opt_tool.main,
    "translate": lambda argv: translate_tool.main([*argv, "--to", "cpp"]),
}


@pytest.fixture(scope="module")
def corpus() -> list[ModuleOp]:
    paths = sorted(path for path in TEST.rglob("*.mlir") if "importroot" not in path.parts)
    return [module for path in paths for module in modules(path)]


@pytest.mark.parametrize("part", range(3))
@pytest.mark.parametrize("name", [name for name in pass_names() if name != "upstream"])
def test_a_pass_on_modules_of_every_level(name: str, part: int, corpus: list[ModuleOp]) -> None:
    passes = parse_pipeline(name)
    for module in corpus[part::3]:
        try:
            run_pipeline(new_context(), module.clone(), passes, hooks=[verify_hook()])
        except (FailedPass, BrokenByPass):
            raise
        except DiagnosticException:
            continue


@pytest.mark.parametrize("module", range(3))
def test_emission_of_modules_of_every_level(module: int, corpus: list[ModuleOp]) -> None:
    from tilewright.targets.cpu_openmp.emit import emit_cpp

    for candidate in corpus[module::3]:
        try:
            emit_cpp(candidate)
        except DiagnosticException:
            continue


INPUTS: dict[str, bytes] = {
    "empty op": b"func.func @main(",
    "no text": b"\xff\xfe\x00\x01",
    "unknown op": b'"nobody.knows"() : () -> ()',
    "invalid op": b"func.func @main() -> tensor<4xf32> {\n  func.return %y : tensor<4xf32>\n}",
    "deep": b"(" * 5000,
    "zeros": bytes(100),
}


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("name", INPUTS)
def test_malformed_files(tool: str, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "input.mlir"
    file.write_bytes(INPUTS[name])
    assert TOOLS[tool]([str(file)]) == 1
    assert re.search(r"^TW19\d\d: ", capsys.readouterr().err)


@pytest.mark.parametrize("tool", TOOLS)
def test_files_that_cannot_be_read_or_written(
    tool: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert TOOLS[tool]([str(tmp_path)]) == 1
    assert TOOLS[tool]([str(tmp_path / "missing.mlir")]) == 1
    (tmp_path / "good.mlir").write_text("builtin.module {\n}\n")
    assert TOOLS[tool]([str(tmp_path / "good.mlir"), "-o", str(tmp_path / "no" / "folder")]) == 1
    codes = re.findall(r"^(TW\d{4}): ", capsys.readouterr().err, re.MULTILINE)
    assert codes == ["TW1901", "TW1901", "TW1902"]


def test_a_pass_that_raises_is_named() -> None:
    class Broken(ModulePass):
        name = "broken"

        def apply(self, ctx: object, op: ModuleOp) -> None:
            raise KeyError("lost")

    with pytest.raises(FailedPass, match="TW3910: pass 1 `broken` failed"):
        run_pipeline(new_context(), ModuleOp([]), [Broken()])
