"""Pass `widen-scans`."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp, f32, f64
from xdsl.passes import ModulePass

from tilewright.dialects.tk.compute import ScanOp
from tilewright.dialects.tk.kernels import FuncOp
from tilewright.dialects.types import is_half

from ..kernels.scalar_builder import InsertingBuilder
from ..rewrite import may_rewrite, skip

_ROUNDED = ("add", "mul")


@dataclass(frozen=True)
class WidenScansPass(ModulePass):
    """Keep running sums and products of f32 in f64, as ATen does on CPUs.

    Before:
        %1 = tk.scan add %0 along 1 : f32
    After:
        %1 = arith.extf %0 : f32 to f64
        %2 = tk.scan add %1 along 1 : f64
        %3 = arith.truncf %2 : f64 to f32

    One after the other n additions leave an error that grows with n; a reduction can add in blocks, a scan
    on one core cannot. Sums of halves stay in f32, as ATen's do: results are rounded by far more.
    """

    name = "widen-scans"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in op.body.block.ops:
            if isinstance(func, FuncOp) and func.scheduled is None:
                for scan in list(func.body.block.ops):
                    if isinstance(scan, ScanOp) and scan.value.type == f32:
                        _widen(scan)


def _widen(scan: ScanOp) -> None:
    if scan.kind.data not in _ROUNDED:
        skip(scan, "only sums and products lose more with each step")
        return
    source = scan.value.owner
    if isinstance(source, arith.ExtFOp) and is_half(source.input.type):
        skip(scan, "halves are rounded by more")
        return
    if not may_rewrite(scan, "in f64"):
        return
    block, b = scan.parent, InsertingBuilder(scan)
    assert block is not None
    wide = ScanOp.make(scan.kind.data, b.op(arith.ExtFOp, scan.value, type_=f64), scan.along)
    scan.result.replace_all_uses_with(b.op(arith.TruncFOp, b.add(wide).results[0], type_=f32))
    block.erase_op(scan)
