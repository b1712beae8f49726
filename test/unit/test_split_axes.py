"""Axes are split where that removes divisions: each way is tried once, whatever has it in its subscripts."""

from __future__ import annotations

from typing import Any

import pytest
from xdsl.parser import Parser

from tilewright.dialects.registry import new_context
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.passes.fusion import body

LOADS = "\n".join(f"  %{i} = tk.load %a[d0 floordiv 8, d0 mod 8] : tensor<6x8xf32> -> f32" for i in range(9))
TEXT = f"""
func.func @f(%x: tensor<6x8xf32>) -> tensor<48xf32> {{
  %r = tk.kernel [48] ins(%x : tensor<6x8xf32>) -> (tensor<48xf32>) {{
  ^bb0(%a: tensor<6x8xf32>, %o: tensor<48xf32>):
{LOADS}
  tk.store %8, %o[d0] : f32, tensor<48xf32>
  }}
  func.return %r : tensor<48xf32>
}}
"""


def kernel_of(text: str) -> KernelOp:
    return next(op for op in Parser(new_context(), text).parse_module().walk() if isinstance(op, KernelOp))


def test_each_way_is_tried_once(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[Any] = []

    def refuse(kernel: KernelOp, axis: int, inner: Any, **how: bool) -> bool:
        tried.append((axis, inner))
        return False

    monkeypatch.setattr(body, "split_axis", refuse)
    body.remove_divisions(kernel_of(TEXT))
    assert len(tried) == len(set(tried)) == 1


def test_divisions_are_removed() -> None:
    kernel = kernel_of(TEXT)
    body.remove_divisions(kernel)
    assert [str(n) for n in kernel.space] == ["6", "8"]
    assert "floordiv" not in str(kernel)
