"""Split axes walk the same elements; where that removes divisions each way is tried once."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from tilewright.dialects.index_expr import Var, parse_expr
from tilewright.dialects.interpreter import interpret
from tilewright.dialects.registry import new_context
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.passes.kernels import body


def module_of(size: str, source: str, made: str, ops: str) -> ModuleOp:
    """A kernel of `%a` that makes `%o`."""
    text = f"""func.func @main(%x: {source}) -> {made} {{
      %r = tk.kernel [{size}] ins(%x : {source}) -> ({made}) {{
      ^bb0(%a: {source}, %o: {made}):
        {ops}
      }}
      func.return %r : {made}
    }}"""
    return Parser(new_context(), text).parse_module()


def kernel_of(module: ModuleOp) -> KernelOp:
    return next(op for op in module.walk() if isinstance(op, KernelOp))


LOADS = "\n".join(f"%{i} = tk.load %a[d0 floordiv 8, d0 mod 8] : tensor<6x8xf32> -> f32" for i in range(9))
DIVIDED = "48", "tensor<6x8xf32>", "tensor<48xf32>", LOADS + "\ntk.store %8, %o[d0] : f32, tensor<48xf32>"


def test_each_way_is_tried_once(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[Any] = []

    def refuse(kernel: KernelOp, axis: int, inner: Any, **how: bool) -> bool:
        tried.append((axis, inner))
        return False

    monkeypatch.setattr(body, "split_axis", refuse)
    body.remove_divisions(kernel_of(module_of(*DIVIDED)))
    assert len(tried) == len(set(tried)) == 1


ROW, NONE, SYMBOL = "tensor<24xf32>", "tensor<0xf32>", 'tensor<?xf32, #tw.shape<"s0*4">>'
COPY = "%0 = tk.load %a[d0] : {0} -> f32\ntk.store %0, %o[d0] : f32, {0}"
SUM = f"""%0 = tk.load %a[d0] : {ROW} -> f32
  %1 = tk.reduce add %0 over [0] : f32
  tk.store %1, %o[] : f32, tensor<f32>"""
ADDED = f"""%0 = tk.load %a[3] : {ROW} -> f32
  tk.store %0, %o[] over [0] combine add : f32, tensor<f32>"""
SPLIT = {
    # size, inner, what is read, what is made, body, sizes then
    "in rows": ("24", "6", ROW, ROW, COPY.format(ROW), "4, 6"),
    "without elements": ("0", "6", NONE, NONE, COPY.format(NONE), "0, 6"),
    "of symbols": ("s0*4", "s0", SYMBOL, SYMBOL, COPY.format(SYMBOL), "4, s0"),
    "and summed": ("24", "6", ROW, "tensor<f32>", SUM, "4, 6"),
    "and added up": ("24", "6", ROW, "tensor<f32>", ADDED, "4, 6"),
}
WHOLE = {"unevenly": ("24", "7"), "by a symbol": ("24", "s0"), "of one": ("24", "1"), "whole": ("24", "24")}


@pytest.mark.parametrize("case", SPLIT.values(), ids=SPLIT)
def test_split_axes_walk_the_same(case: tuple[str, ...]) -> None:
    size, inner, source, made, ops, then = case
    module, x = module_of(size, source, made, ops), np.arange(0 if size == "0" else 24, dtype=np.float32)
    kernel, symbols = kernel_of(module), {Var("s", 0): 6}
    before, text = interpret(module, [x], np, symbols=symbols), str(module)
    restore = body.remember_axes(kernel)
    assert not body.split_axis(kernel, 0, parse_expr(inner), only_if_simpler=True)
    assert str(module) == text  # nothing divides
    assert body.split_axis(kernel, 0, parse_expr(inner))
    module.verify()
    assert ", ".join(map(str, kernel.space)) == then
    np.testing.assert_array_equal(interpret(module, [x], np, symbols=symbols), before)
    restore()
    assert str(module) == text


@pytest.mark.parametrize(("size", "inner"), WHOLE.values(), ids=WHOLE)
def test_axes_that_stay_whole(size: str, inner: str) -> None:
    module = module_of(size, ROW, ROW, COPY.format(ROW))
    text = str(module)
    assert not body.split_axis(kernel_of(module), 0, parse_expr(inner))
    assert str(module) == text


def test_what_is_scanned_stays_whole() -> None:
    scan = f"%0 = tk.load %a[d0] : {ROW} -> f32\n%1 = tk.scan add %0 along 0 : f32"
    assert not body.split_axis(kernel_of(module_of("24", ROW, ROW, scan)), 0, parse_expr("6"))


@pytest.mark.parametrize(("read", "divisions"), [("d0", 0), ("23 - d0", 2)])
def test_only_what_is_walked_forwards_is_split(read: str, divisions: int) -> None:
    load = f"%0 = tk.load %a[({read}) floordiv 8, ({read}) mod 8] : tensor<3x8xf32> -> f32\n"
    module = module_of("24", "tensor<3x8xf32>", ROW, load + f"tk.store %0, %o[d0] : f32, {ROW}")
    x = np.arange(24, dtype=np.float32).reshape(3, 8)
    before = interpret(module, [x], np)
    body.remove_divisions(kernel_of(module))
    assert len(re.findall("floordiv|mod ", str(kernel_of(module)))) == divisions
    np.testing.assert_array_equal(interpret(module, [x], np), before)


def test_axes_in_another_order_walk_the_same() -> None:
    ops = """%0 = tk.load %a[d1, d0] : tensor<6x4xf32> -> f32
  %1 = tk.index "d0*8 + d1" : i64
  %2 = arith.sitofp %1 : i64 to f32
  %3 = arith.mulf %0, %2 : f32
  %4 = tk.reduce add %3 over [1] : f32
  tk.store %4, %o[d0] : f32, tensor<4xf32>"""
    module = module_of("4, 6", "tensor<6x4xf32>", "tensor<4xf32>", ops)
    x = np.arange(24, dtype=np.float32).reshape(6, 4)
    before = interpret(module, [x], np)
    body.permute_axes(kernel_of(module), (1, 0))
    module.verify()
    assert "tk.kernel [6, 4]" in str(module)
    assert "over [0]" in str(module)
    np.testing.assert_array_equal(interpret(module, [x], np), before)
