"""The pass manager blames the pass that broke the module, and dumps what the tools read back."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from xdsl.builder import ImplicitBuilder
from xdsl.context import Context
from xdsl.dialects import arith, func, test
from xdsl.dialects.builtin import ModuleOp, UnknownLoc, i32
from xdsl.passes import ModulePass

from tilewright.dialects.diagnostics import BadPassOption, BrokenByPass, LostLocation, UseBeforeDefinition
from tilewright.dialects.dominance import verify_dominance
from tilewright.dialects.registry import new_context
from tilewright.frontend.dump import IMPORT_STAGE, open_dump, write_import
from tilewright.frontend.tools.opt_tool import main
from tilewright.frontend.tools.tool_io import parse_module
from tilewright.passes.manager import (
    Timing,
    location_hook,
    module_text,
    parse_pipeline,
    run_pipeline,
    verify_hook,
)

TEXT = """
func.func @main(%x: f32) -> f32 {
  %0 = arith.addf %x, %x : f32 loc("m.py":1:2)
  %1 = arith.mulf %0, %0 : f32 loc("m.py":2:2)
  func.return %1 : f32
}
"""


def parsed(text: str = TEXT, *, places: bool = True) -> ModuleOp:
    return parse_module(new_context(), text, "test", places=places)


@dataclass(frozen=True)
class _SwapPass(ModulePass):
    """Moves the second op before the first, on which it depends."""

    name = "swap"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        first, second, *_ = (o for o in op.walk() if isinstance(o, arith.AddfOp | arith.MulfOp))
        second.detach()
        assert first.parent is not None
        first.parent.insert_op_before(second, first)


@dataclass(frozen=True)
class _ForgetPass(ModulePass):
    name = "forget"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in op.walk():
            if isinstance(inner, arith.MulfOp):
                inner.location = UnknownLoc()


def test_verify_hook_names_the_guilty_pass() -> None:
    with pytest.raises(BrokenByPass, match=r"TW3904: .* after pass 2 `swap`") as error:
        run_pipeline(new_context(), parsed(), [*parse_pipeline("cse"), _SwapPass()], hooks=[verify_hook()])
    assert "operand 0 of `arith.mulf` does not dominate this use" in str(error.value)


def test_location_hook_names_the_op() -> None:
    module = parsed()
    with pytest.raises(LostLocation, match=r"TW3906: pass 1 `forget` left `arith.mulf`"):
        run_pipeline(new_context(), module, [_ForgetPass()], hooks=[location_hook(module)])


def test_location_hook_is_silent_without_locations() -> None:
    module = parsed(TEXT.replace(' loc("m.py":1:2)', ""), places=False)
    run_pipeline(new_context(), module, [_ForgetPass()], hooks=[location_hook(module)])


def test_timing_has_one_row_per_pass() -> None:
    timing = Timing()
    run_pipeline(new_context(), parsed(), parse_pipeline("cse,dce,cse"), hooks=[timing])
    assert [run.name for run in timing.runs] == ["cse", "dce", "cse"]
    assert [line.split("ms")[1].strip() for line in timing.report().splitlines()] == [
        "cse",
        "dce",
        "cse",
        "total",
    ]


def test_option_of_wrong_type_is_refused() -> None:
    with pytest.raises(BadPassOption, match=r"upstream\{pipeline=<str>\}"):
        parse_pipeline("upstream{pipeline=3}")


def test_dominance_sees_through_regions() -> None:
    def nested(*, bad: bool) -> ModuleOp:
        module = ModuleOp([])
        with ImplicitBuilder(module.body):
            made = test.TestOp(result_types=[i32])
            outer = test.TestOp(regions=[ModuleOp([]).detach_region(0)])
            with ImplicitBuilder(outer.regions[0]):
                inner = test.TestOp(result_types=[i32])
                test.TestOp(operands=[made.results[0], inner.results[0]])
            if bad:
                test.TestOp(operands=[inner.results[0]])
        return module

    verify_dominance(nested(bad=False))
    with pytest.raises(UseBeforeDefinition):
        verify_dominance(nested(bad=True))


def test_dominance_stops_at_isolated_regions() -> None:
    module = ModuleOp([])
    with ImplicitBuilder(module.body):
        outside = test.TestOp(result_types=[i32])
        function = func.FuncOp("f", ((), ()))
        with ImplicitBuilder(function.body):
            test.TestOp(operands=[outside.results[0]])
            func.ReturnOp()
    with pytest.raises(UseBeforeDefinition):
        verify_dominance(module)


def test_each_graph_gets_its_own_folder(tmp_path: Path) -> None:
    root = tmp_path / "dump"
    folders = [open_dump(root, label) for label in ("forward", "backward")]
    assert [dump.folder.name for dump in folders if dump] == ["000-forward", "001-backward"]
    assert open_dump(None, "forward") is None


def test_dump_reproduces_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    module, passes = parsed(), parse_pipeline("cse,dce")
    dump = open_dump(tmp_path, "forward")
    assert dump is not None
    write_import(dump, module, passes)
    run_pipeline(new_context(), module, passes, hooks=[dump])
    assert sorted(p.name for p in dump.folder.iterdir()) == [IMPORT_STAGE, "01-cse.mlir", "02-dce.mlir"]
    header = (dump.folder / IMPORT_STAGE).read_text().splitlines()
    assert "xdsl" in header[0]
    assert header[1] == "// RUN: tilewright-opt %s -p 'cse,dce'"
    assert main([str(dump.folder / IMPORT_STAGE), "-p", "cse,dce", "--print-debuginfo"]) == 0
    assert capsys.readouterr().out == (dump.folder / "02-dce.mlir").read_text() == module_text(module)
