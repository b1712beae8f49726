"""Several axes become one, and the kernel computes what it did."""

from __future__ import annotations

import numpy as np
import pytest
from tk_harness import parse
from xdsl.dialects.builtin import ModuleOp

from tilewright.dialects.index_expr import format_exprs
from tilewright.dialects.interpreter import interpret
from tilewright.dialects.tk.domain import reduced_axes
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.passes.kernels.one_axis import one_axis

X, Y, S, P = "tensor<4x6x5xf32>", "tensor<4x12xf32>", "tensor<5xf32>", "tensor<24x5xf32>"
TEXT = f"""func.func @main(%x: {X}, %y: {Y}) -> ({S}, {P}) {{
  %r:2 = tk.kernel [5, 4, 6] ins(%x, %y : {X}, {Y}) -> ({S}, {P}) {{
  ^bb0(%a: {X}, %b: {Y}, %o: {S}, %p: {P}):
    %0 = tk.load %a[d1, d2, d0] : {X} -> f32
    %1 = tk.load %b[d1, d2*2 + 1] : {Y} -> f32
    %2 = arith.mulf %0, %1 : f32
    tk.store %2, %p[d1*6 + d2, d0] : f32, {P}
    %3 = tk.reduce add %2 over [1, 2] : f32
    tk.store %3, %o[d0] : f32, {S}
  }}
  func.return %r#0, %r#1 : {S}, {P}
}}"""


def run(module: ModuleOp) -> list[np.ndarray]:
    x, y = np.linspace(-1, 1, 120, dtype=np.float32), np.linspace(2, 5, 48, dtype=np.float32)
    return list(interpret(module, [x.reshape(4, 6, 5), y.reshape(4, 12)], np))


@pytest.mark.parametrize(("axes", "sizes"), [((1, 2), "5, 24"), ((2, 1), "5, 24")], ids=str)
def test_what_it_computes_stays(axes: tuple[int, ...], sizes: str) -> None:
    module = parse(TEXT)
    (kernel,) = (op for op in module.walk() if isinstance(op, KernelOp))
    wanted = run(module)
    assert one_axis(kernel, axes) == {0: 0, 1: 1, 2: 1}
    module.verify()
    assert format_exprs(kernel.space) == sizes
    assert {axes for op in kernel.body.block.ops if (axes := reduced_axes(op))} == {(1,)}
    for found, value in zip(run(module), wanted, strict=True):
        np.testing.assert_allclose(found, value, rtol=1e-6)


def test_who_walks_as_one_does_not_divide() -> None:
    (kernel,) = (op for op in parse(TEXT).walk() if isinstance(op, KernelOp))
    one_axis(kernel, (1, 2))
    text = str(kernel)
    assert "[d1, d0] : f32, tensor<24x5xf32>" in text
    assert "[(d1 floordiv 6), (d1 mod 6), d0]" in text
    assert "[(d1 floordiv 6), (d1 mod 6)*2 + 1]" in text
