"""passes/kernels/dense_order.py: whether a kernel addresses all of a tensor, and in which order."""

from __future__ import annotations

import pytest
from xdsl.parser import Parser

from tilewright.dialects.registry import new_context
from tilewright.dialects.tk.access import LoadOp
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.passes.kernels.dense_order import accessed, dense_order


def kernel_that_loads(space: str, tensor: str, subscripts: str) -> KernelOp:
    module = f"""
  func.func @f(%x: tensor<{tensor}>) {{
    %r = tk.kernel [{space}] ins(%x : tensor<{tensor}>) -> (tensor<f32>) {{
    ^bb0(%a: tensor<{tensor}>, %o: tensor<f32>):
      %0 = tk.load %a[{subscripts}] : tensor<{tensor}> -> f32
      tk.store %0, %o[] : f32, tensor<f32>
    }}
    func.return
  }}
"""
    return next(op for op in Parser(new_context(), module).parse_module().walk() if isinstance(op, KernelOp))


@pytest.mark.parametrize(
    ("space", "tensor", "subscripts", "order"),
    [
        ("8, 6", "8x6xf32", "d0, d1", (0, 1)),
        ("6, 8", "8x6xf32", "d1, d0", (1, 0)),
        ("8, 1, 6", "8x6xf32", "d0, d2", (0, 2)),
        ("2, 4, 6", "8x6xf32", "d0*4 + d1, d2", (0, 1, 2)),
        ("4, 6", "8x6xf32", "d0, d1", None),
        ("4, 6", "8x6xf32", "d0*2, d1", None),
        ("8, 8", "8x8xf32", "d0, d0", None),
        ("8, 6", "8xf32", "d0", (0,)),
        ("s1", '?xf32, #tw.shape<"s1">', "d0", (0,)),
        ("s1", '?xf32, #tw.shape<"s1">', "-d0 + s1 - 1", None),
    ],
)
def test_order(space: str, tensor: str, subscripts: str, order: tuple[int, ...] | None) -> None:
    kernel = kernel_that_loads(space, tensor, subscripts)
    load = next(op for op in kernel.body.block.ops if isinstance(op, LoadOp))
    assert dense_order(kernel, load) == order
    assert accessed(kernel, load) is kernel.operands[0]
