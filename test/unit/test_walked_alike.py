"""passes/fusion/walked_alike.py: two kernels brought to one space, and back."""

from __future__ import annotations

import pytest
from xdsl.dialects.func import FuncOp
from xdsl.parser import Parser

from tilewright.dialects.registry import new_context
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.passes.fusion.contents import Bodies
from tilewright.passes.fusion.walked_alike import may_walk_alike, walk_alike

KERNEL = """
    %r{n} = tk.kernel [{space}] ins(%x : tensor<8x6xf32>) -> (tensor<{result}xf32>) {{
    ^bb0(%a: tensor<8x6xf32>, %o: tensor<{result}xf32>):
      %0 = tk.load %a[{at}] : tensor<8x6xf32> -> f32
      tk.store %0, %o[{to}] : f32, tensor<{result}xf32>
    }}
"""
ROWS = {"space": "8, 6", "result": "8x6", "at": "d0, d1", "to": "d0, d1"}
COLUMNS = {"space": "6, 8", "result": "6x8", "at": "d1, d0", "to": "d0, d1"}
PARTS = {"space": "2, 4, 6", "result": "2x4x6", "at": "d0*4 + d1, d2", "to": "d0, d1, d2"}
BACKWARDS = {"space": "6, 8", "result": "6x8", "at": "-d1 + 7, d0", "to": "d0, d1"}


def function_of(*kernels: dict[str, str]) -> FuncOp:
    body = "".join(KERNEL.format(n=n, **kernel) for n, kernel in enumerate(kernels))
    module = f"func.func @f(%x: tensor<8x6xf32>) {{{body}func.return\n}}"
    return next(op for op in Parser(new_context(), module).parse_module().walk() if isinstance(op, FuncOp))


@pytest.mark.parametrize(
    ("one", "other", "tiles", "alike"),
    [
        (ROWS, COLUMNS, True, True),
        (COLUMNS, ROWS, True, True),
        (ROWS, COLUMNS, False, False),
        (ROWS, PARTS, False, True),
        (ROWS, BACKWARDS, True, False),
    ],
    ids=["columns", "columns first", "loops", "parts", "backwards"],
)
def test_spaces(one: dict[str, str], other: dict[str, str], tiles: bool, alike: bool) -> None:
    function = function_of(one, other)
    first, second = (op for op in function.body.block.ops if isinstance(op, KernelOp))
    before = str(function)
    assert may_walk_alike(first, second)
    take_back = walk_alike(function.body.block.args[0], first, second, Bodies(scans_join=tiles))
    assert (first.space == second.space) is alike
    assert (str(function) != before) is alike
    take_back()
    assert str(function) == before
