"""What a check of meaning asks of errors at run time: none comes, and what kernels raise stays."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from cpu_harness import parse
from xdsl.dialects.builtin import ModuleOp

from tilewright.dialects.registry import new_context
from tilewright.dialects.tk.calls import AssertOp
from tilewright.frontend.check.aten_callback import aten_callback
from tilewright.frontend.check.errors import ChangedMeaning, WrongCode
from tilewright.frontend.check.native import check_compiled
from tilewright.frontend.check.session import SemanticCheck
from tilewright.passes.manager import PassRun, parse_pipeline, run_pipeline
from tilewright.passes.pipeline import pipeline_text
from tilewright.targets.cpu_openmp.launch import load

UNREAD = """
func.func @main(%x: tensor<4xi32>, %y: tensor<?xf32, #tw.shape<"s0">>, %s0: index {tw.symbol = "s0"})
    -> tensor<f32> {
  %q = tw.floor_div %x, %x : tensor<4xi32>
  %m = tw.max %y over [0] : tensor<?xf32, #tw.shape<"s0">> -> tensor<f32>
  func.return %m : tensor<f32>
}
"""
"""Where `s0` is 0 and `x` has a zero, the division raises, and without it the maximum of nothing."""

READ = """
func.func @main(%x: tensor<4xi32>) -> tensor<4xi32> {
  %q = tw.floor_div %x, %x : tensor<4xi32>
  func.return %q : tensor<4xi32>
}
"""


def _compiled(text: str) -> tuple[ModuleOp, SemanticCheck]:
    module = parse(text)
    check = SemanticCheck(module, aten=aten_callback, blame=False)
    run_pipeline(new_context(), module, parse_pipeline(pipeline_text("cpu")), hooks=[check])
    return module, check


def test_an_unread_op_may_go_with_its_error_and_another_error_be_met() -> None:
    _, check = _compiled(UNREAD)
    errors = [type(e.own.error) for e in check.baseline.expected if dict(e.case.symbols).popitem()[1] == 0]
    assert errors == [ZeroDivisionError]


def test_an_error_that_comes_is_found() -> None:
    check = SemanticCheck(parse(READ.replace("floor_div", "mul")), blame=False)
    with pytest.raises(ChangedMeaning, match=r"it raises ZeroDivisionError: tw\.floor_div"):
        check(PassRun(1, "careless", 0.0), parse(READ))


def test_a_check_of_a_kernel_stays() -> None:
    module, check = _compiled(READ)
    assert check.baseline.promised
    for op in [op for op in module.walk() if isinstance(op, AssertOp)]:
        op.detach()
        op.erase()
    with pytest.raises(ChangedMeaning, match="it no longer raises ZeroDivisionError, as its kernels did"):
        check(PassRun(99, "careless", 0.0), module)


def test_a_kernel_that_is_given_keeps_its_checks() -> None:
    kernels, _ = _compiled(READ)
    check = SemanticCheck(kernels, blame=False)
    assert len(check.baseline.promised) == sum(e.own.error is not None for e in check.baseline.expected) > 0


def test_a_check_of_values_is_not_promised() -> None:
    check = SemanticCheck(parse(READ), blame=False)
    assert any(e.own.error is not None for e in check.baseline.expected)
    assert not check.baseline.promised


def test_compiled_code_raises_what_its_kernels_did(tmp_path: Path) -> None:
    module, check = _compiled(READ)
    call = load(module, cache_dir=tmp_path).call
    assert check_compiled(call, module, check.baseline) == len(check.baseline.expected)

    def silent(args: list[Any]) -> Sequence[Any]:
        return [torch.floor_divide(args[0], torch.where(args[0] == 0, 1, args[0]))]

    with pytest.raises(WrongCode, match="it no longer raises ZeroDivisionError, as its kernels did"):
        check_compiled(silent, module, check.baseline)
