"""Which kernels store what they read with its last dimension exchanged."""

from __future__ import annotations

import pytest
from xdsl.parser import Parser

from tilewright.dialects.registry import new_context
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.passes.fusion.stored_turned import stores_turned

KERNEL = """
func.func @main(%x: tensor<64x8xf32>, %i: tensor<64x8xi64>) -> ({returned}) {{
  %a = tk.kernel [64, 8] ins(%x, %i : tensor<64x8xf32>, tensor<64x8xi64>) -> (tensor<{stored}xf32>) {{
  ^bb0(%p: tensor<64x8xf32>, %q: tensor<64x8xi64>, %o: tensor<{stored}xf32>):
    {body}
  }}
  {users}
}}
"""
READ = "%v = tk.load %p[d0, d1] : tensor<64x8xf32> -> f32"
LOOKED_UP = """%n = tk.load %q[d0, d1] : tensor<64x8xi64> -> i64
    %at = arith.index_cast %n : i64 to index
    %v = tk.load %p[i0, d1](%at) : tensor<64x8xf32> -> f32"""
TURNED = "tk.store %v, %o[d1, d0] : f32, tensor<8x64xf32>"
AS_READ = "tk.store %v, %o[d0, d1] : f32, tensor<64x8xf32>"
SUM = "%w = tk.reduce add %v over [0] : f32\n    tk.store %w, %o[d1] : f32, tensor<8xf32>"
SHOWN = """%t = tw.transpose %a by [1, 0] : tensor<64x8xf32> -> tensor<8x64xf32>
  func.return %t : tensor<8x64xf32>"""
BOTH = SHOWN.replace("return %t : ", "return %t, %a : ") + ", tensor<64x8xf32>"
CASES = {
    "as it is read": (READ, AS_READ, "64x8", "", False),
    "turned": (READ, TURNED, "8x64", "", True),
    "shown turned": (READ, AS_READ, "64x8", SHOWN, True),
    "both": (READ, AS_READ, "64x8", BOTH, False),
    "summed": (READ, SUM, "8", "", False),
    "looked up": (LOOKED_UP, TURNED, "8x64", "", False),
    "not used": (READ, TURNED, "8x64", "func.return", False),
}


@pytest.mark.parametrize("name", CASES)
def test_turned(name: str) -> None:
    read, store, stored, users, turned = CASES[name]
    users = users or f"func.return %a : tensor<{stored}xf32>"
    returned = users.rpartition(" : ")[2] if " : " in users else ""
    text = KERNEL.format(returned=returned, stored=stored, body=f"{read}\n    {store}", users=users)
    module = Parser(new_context(), text).parse_module()
    (kernel,) = (op for op in module.walk() if isinstance(op, KernelOp))
    assert stores_turned(kernel, kernel.operands[0]) == turned
