"""Upstream's own command line reads every module of the lit tests, given the IRDL that we print."""

import shutil
import subprocess
from pathlib import Path

import pytest
from xdsl.dialects.func import FuncOp
from xdsl.utils.exceptions import DiagnosticException

from tilewright.dialects.irdl_export import export_irdl
from tilewright.dialects.registry import OWN_DIALECTS, new_context, registered_dialect
from tilewright.dialects.upstream import upstream_text
from tilewright.frontend.tools.tool_io import chunks, parse_module, verify_input

TEST = Path(__file__).parents[1]
TOOL = shutil.which("mlir-opt") or shutil.which("mlir-opt-22")
FOLDERS = ("dialects", "passes", "targets", "tools")


@pytest.mark.skipif(TOOL is None, reason="needs mlir-opt (Debian: apt install mlir-22-tools)")
@pytest.mark.parametrize("folder", FOLDERS)
def test_mlir_opt_reads_every_lit_module(folder: str, tmp_path: Path) -> None:
    """All modules of a folder in one run, as parts of one file."""
    texts: list[str] = []
    for path in sorted((TEST / folder).glob("*.mlir")):
        for text in chunks(path.read_text(), split=True):
            try:
                module = parse_module(new_context(), text, path.name)
                verify_input(module, path.name)
            except DiagnosticException:
                continue  # it stands there to be refused
            if not any(isinstance(f, FuncOp) and f.is_declaration for f in module.ops):
                texts.append(upstream_text(module))  # upstream wants declarations private, xDSL does not
    assert len(texts) >= 3
    assert {text.splitlines()[0] for text in texts} == {"// tilewright irdl --arity 16"}
    definitions, source = tmp_path / "irdl.mlir", tmp_path / "modules.mlir"
    definitions.write_text(export_irdl([registered_dialect(n) for n in OWN_DIALECTS], arity=16))
    source.write_text("// -----\n".join(texts))
    options = [f"--irdl-file={definitions}", "--allow-unregistered-dialect", "--split-input-file"]
    command = [str(TOOL), *options, str(source), "-o", "-"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:3000]
    assert done.stdout.count("func") >= len(texts)


@pytest.mark.skipif(TOOL is None, reason="needs mlir-opt (Debian: apt install mlir-22-tools)")
def test_mlir_opt_refuses_what_breaks_a_definition(tmp_path: Path) -> None:
    """The definitions are in force: an op with an operand too many is no module."""
    (tmp_path / "irdl.mlir").write_text(export_irdl([registered_dialect("tw")], arity=16))
    source = tmp_path / "bad.mlir"
    source.write_text('func.func @f(%x: f32) { %0 = "tw.exp"(%x, %x) : (f32, f32) -> f32 return }')
    command = [str(TOOL), f"--irdl-file={tmp_path / 'irdl.mlir'}", str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "tw.exp" in done.stderr
