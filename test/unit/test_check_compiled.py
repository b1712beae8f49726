"""Compiled code is compared with the interpreter, and code that computes something else is found."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from cpu_harness import parse

from tilewright.dialects.registry import new_context
from tilewright.frontend.check.aten_callback import aten_callback
from tilewright.frontend.check.errors import WrongCode
from tilewright.frontend.check.native import check_compiled
from tilewright.frontend.check.session import SemanticCheck
from tilewright.passes.manager import parse_pipeline, run_pipeline
from tilewright.passes.pipeline import pipeline_text
from tilewright.targets.cpu_openmp.launch import load

TEXT = """
func.func @main(%x: tensor<?x5xf32, #tw.shape<"s0, 5">> {tw.strides = "1, s0"}, %s0: index {tw.symbol = "s0"})
    -> (tensor<?xf32, #tw.shape<"s0">>, tensor<?x5xbf16, #tw.shape<"s0, 5">>) {
  %e = tw.exp %x : tensor<?x5xf32, #tw.shape<"s0, 5">>
  %r = tw.sum %e over [1] : tensor<?x5xf32, #tw.shape<"s0, 5">> -> tensor<?xf32, #tw.shape<"s0">>
  %c = tw.cast %e : tensor<?x5xf32, #tw.shape<"s0, 5">> -> tensor<?x5xbf16, #tw.shape<"s0, 5">>
  tw.write %e into %x : tensor<?x5xf32, #tw.shape<"s0, 5">>
  func.return %r, %c : tensor<?xf32, #tw.shape<"s0">>, tensor<?x5xbf16, #tw.shape<"s0, 5">>
}
"""


def test_compiled_code_is_judged_by_the_interpreter(tmp_path: Path) -> None:
    module = parse(TEXT)
    check = SemanticCheck(module, aten=aten_callback)
    run_pipeline(new_context(), module, parse_pipeline(pipeline_text("cpu")), hooks=[check])
    call = load(module, cache_dir=tmp_path).call
    assert check_compiled(call, module, check.baseline) == len(check.baseline.expected) == 9

    def wrong(args: list[Any]) -> Sequence[Any]:
        total, halves = call(args)
        return torch.where(total > 9, total * 1.001, total), halves

    with pytest.raises(WrongCode, match=r"TW3922: .* @main .*\n  why:   result 0: \d of \d elements differ"):
        check_compiled(wrong, module, check.baseline)
