"""Plans compute what the tensor program computes, at every stage of the host passes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from tilewright.dialects.interpreter import interpret
from tilewright.dialects.registry import new_context
from tilewright.dialects.th.run import run_plan
from tilewright.passes.manager import parse_pipeline, run_pipeline, verify_module

STAGES = ("bufferize", "bufferize,dedupe-kernels", "bufferize,dedupe-kernels,plan-memory")


def parse(text: str) -> ModuleOp:
    return Parser(new_context(), text).parse_module()


def compile_to(text: str, pipeline: str) -> ModuleOp:
    ctx = new_context()
    module = Parser(ctx, text).parse_module()
    run_pipeline(ctx, module, parse_pipeline(f"convert-tw-to-tk,dce,{pipeline}"))
    verify_module(module)
    return module


def arrays(seed: int, *shapes: Sequence[int]) -> list[Any]:
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(shape).astype(np.float32) for shape in shapes]


def check(text: str, args: list[Any]) -> None:
    """Results and final arguments agree with the interpreter of the tensor program."""
    expected_args = [a.copy() if hasattr(a, "copy") else a for a in args]
    expected = interpret(parse(text), expected_args, np)
    for stage in STAGES:
        found_args = [a.copy() if hasattr(a, "copy") else a for a in args]
        found = run_plan(compile_to(text, stage), found_args, np)
        for a, b in zip([*found, *found_args], [*expected, *expected_args], strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5, err_msg=stage)
            assert np.shape(a) == np.shape(b)


ATTENTION = """
func.func @main(%x: tensor<2x5x24xf32>, %w: tensor<8x24xf32>) -> (tensor<2x5x8xf32>, tensor<2x5x8xf32>) {
  %q = tw.slice %x starts "0, 0, 0" steps "1, 1, 1" : tensor<2x5x24xf32> -> tensor<2x5x8xf32>
  %k = tw.slice %x starts "0, 0, 8" steps "1, 1, 1" : tensor<2x5x24xf32> -> tensor<2x5x8xf32>
  %v = tw.slice %x starts "0, 0, 16" steps "1, 1, 1" : tensor<2x5x24xf32> -> tensor<2x5x8xf32>
  %q2 = tw.reshape %q : tensor<2x5x8xf32> -> tensor<2x5x2x4xf32>
  %k2 = tw.reshape %k : tensor<2x5x8xf32> -> tensor<2x5x2x4xf32>
  %v2 = tw.reshape %v : tensor<2x5x8xf32> -> tensor<2x5x2x4xf32>
  %q3 = tw.transpose %q2 by [0, 2, 1, 3] : tensor<2x5x2x4xf32> -> tensor<2x2x5x4xf32>
  %k3 = tw.transpose %k2 by [0, 2, 3, 1] : tensor<2x5x2x4xf32> -> tensor<2x2x4x5xf32>
  %v3 = tw.transpose %v2 by [0, 2, 1, 3] : tensor<2x5x2x4xf32> -> tensor<2x2x5x4xf32>
  %s = tw.matmul %q3, %k3 : (tensor<2x2x5x4xf32>, tensor<2x2x4x5xf32>) -> tensor<2x2x5x5xf32>
  %e = tw.exp %s : tensor<2x2x5x5xf32>
  %o = tw.matmul %e, %v3 : (tensor<2x2x5x5xf32>, tensor<2x2x5x4xf32>) -> tensor<2x2x5x4xf32>
  %t = tw.transpose %o by [0, 2, 1, 3] : tensor<2x2x5x4xf32> -> tensor<2x5x2x4xf32>
  %r = tw.reshape %t : tensor<2x5x2x4xf32> -> tensor<2x5x8xf32>
  %n = tw.neg %r : tensor<2x5x8xf32>
  func.return %r, %n : tensor<2x5x8xf32>, tensor<2x5x8xf32>
}
"""

CACHE = """
func.func @main(%cache: tensor<2x6x4xf32> {tw.strides = "24, 1, 6"}, %new: tensor<2x1x4xf32>)
    -> (tensor<2x6x4xf32>, tensor<2x4xf32>) {
  %tail = tw.slice %cache starts "0, 1, 0" steps "1, 1, 1" : tensor<2x6x4xf32> -> tensor<2x5x4xf32>
  %e = tw.exp %new : tensor<2x1x4xf32>
  %r = tw.concat %tail, %e dim 1 : (tensor<2x5x4xf32>, tensor<2x1x4xf32>) -> tensor<2x6x4xf32>
  %last = tw.slice %r starts "0, 5, 0" steps "1, 1, 1" : tensor<2x6x4xf32> -> tensor<2x1x4xf32>
  %flat = tw.reshape %last : tensor<2x1x4xf32> -> tensor<2x4xf32>
  tw.write %r into %cache : tensor<2x6x4xf32>
  func.return %r, %flat : tensor<2x6x4xf32>, tensor<2x4xf32>
}
"""

STATS = """
func.func @main(%x: tensor<8x4xf32>, %mean: tensor<4xf32>) -> (tensor<8x4xf32>, tensor<4xf32>) {
  %s = tw.sum %x over [0] : tensor<8x4xf32> -> tensor<4xf32>
  %m = tw.add %mean, %s : tensor<4xf32>
  %b = tw.broadcast %m dims [1] : tensor<4xf32> -> tensor<8x4xf32>
  %r = tw.sub %x, %b : tensor<8x4xf32>
  tw.write %m into %mean : tensor<4xf32>
  func.return %r, %mean : tensor<8x4xf32>, tensor<4xf32>
}
"""

SHUFFLE = """
func.func @main(%x: tensor<3x4xf32>) -> (tensor<12xf32>, tensor<4x3xf32>, tensor<3x4xf32>, tensor<4x3xf32>) {
  %e = tw.exp %x : tensor<3x4xf32>
  %t = tw.transpose %e by [1, 0] : tensor<3x4xf32> -> tensor<4x3xf32>
  %f = tw.reshape %t : tensor<4x3xf32> -> tensor<12xf32>
  %v = tw.reverse %t dims [0, 1] : tensor<4x3xf32> -> tensor<4x3xf32>
  %n = tw.neg %v : tensor<4x3xf32>
  func.return %f, %t, %e, %n : tensor<12xf32>, tensor<4x3xf32>, tensor<3x4xf32>, tensor<4x3xf32>
}
"""


def batched(*sizes: int) -> str:
    """The type of a tensor with s0 rows."""
    return f'tensor<?x{"x".join(map(str, sizes))}xf32, #tw.shape<"s0, {", ".join(map(str, sizes))}">>'


X4, X6, X10 = batched(4), batched(6), batched(10)

MLP = f"""
func.func @main(%x: {X4}, %s0: index {{tw.symbol = "s0"}},
    %w: tensor<4x6xf32> {{tw.strides = "1, 4"}},
    %b: tensor<6xf32>, %v: tensor<6x4xf32>) -> ({X4}, {X10}) {{
  %h = tw.matmul %x, %w bias %b : ({X4}, tensor<4x6xf32>, tensor<6xf32>) -> {X6}
  %e = tw.tanh %h : {X6}
  %y = tw.matmul %e, %v : ({X6}, tensor<6x4xf32>) -> {X4}
  %r = tw.add %y, %x : {X4}
  %c = tw.concat %r, %e dim 1 : ({X4}, {X6}) -> {X10}
  func.return %r, %c : {X4}, {X10}
}}
"""


@pytest.mark.parametrize(
    ("text", "shapes"),
    [
        (ATTENTION, [(2, 5, 24), (8, 24)]),
        (CACHE, [(2, 6, 4), (2, 1, 4)]),
        (STATS, [(8, 4), (4,)]),
        (SHUFFLE, [(3, 4)]),
    ],
    ids=["attention", "cache", "stats", "shuffle"],
)
def test_plan_computes_the_same(text: str, shapes: list[tuple[int, ...]]) -> None:
    check(text, arrays(0, *shapes))


@pytest.mark.parametrize("batch", [0, 1, 7])
def test_symbolic_batch(batch: int) -> None:
    x, w, b, v = arrays(1, (batch, 4), (4, 6), (6,), (6, 4))
    check(MLP, [x, batch, w, b, v])
