"""The `drop-checks` pass."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from tilewright.dialects.ir_access import defined_functions
from tilewright.dialects.tk.calls import AssertOp
from tilewright.dialects.tk.kernels import KernelOp

from ..kernels.body import simplify_body
from ..kernels.known import fold_known

_DECIDED = (AssertOp, arith.CmpiOp, arith.TruncIOp)
"""Ops about which positions and ranges may tell something."""


@dataclass(frozen=True)
class DropChecksPass(ModulePass):
    """Drop checks of positions that cannot fail, and let loads say where they are.

    Before:
        %o = tk.kernel [s0] ins(%x : tensor<?xi64>) -> (tensor<?xi64>) {
          %0 = tk.index "d0" : i64
          %1 = tk.index "s0" : i64
          %2 = arith.cmpi ult, %0, %1 : i64
          tk.assert %2 "index out of range" : i1
          %3 = arith.select %2, %0, %zero : i64
          %4 = arith.index_cast %3 : i64 to index
          %5 = tk.load %a[i0](%4) : tensor<?xi64> -> i64 ...
    After:
          %5 = tk.load %a[d0] : tensor<?xi64> -> i64 ...

    That a position is below the size of its axis holds for any size. A mask of attention that reads a tensor
    at the numbers of rows and columns has no check then, and blocks may be left out. So it is known that a
    number is not zero: division by it checks nothing. What floats make of positions of a known number lies
    between two numbers, too: where an image is read that is resized. A load under a mask that never holds is
    none, as of a part of a stack where the position says that another one is read. Bits that are taken apart
    keep their width: a number from 0 to 15 is not made a byte and widened again.
    """

    name = "drop-checks"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in defined_functions(op):
            for kernel in function.body.block.ops:
                if isinstance(kernel, KernelOp) and _has(kernel, *_DECIDED):
                    _fold(kernel)


def drop_checks(kernel: KernelOp) -> bool:
    """Do so in one kernel that has checks; whether there was something."""
    return _has(kernel, AssertOp) and _fold(kernel)


def _has(kernel: KernelOp, *kinds: type[Operation]) -> bool:
    return any(isinstance(op, kinds) for op in kernel.body.block.ops)


def _fold(kernel: KernelOp) -> bool:
    if changed := fold_known(kernel):
        simplify_body(kernel)
    return changed
