"""Pass `await-loads`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.passes import ModulePass

from tilewright.dialects.ir_access import kinds_within
from tilewright.dialects.tk.access import AWAITS, StoreOp
from tilewright.dialects.tk.attributes import launch_number
from tilewright.dialects.tk.group import GroupOp
from tilewright.dialects.tk.inplace import attached
from tilewright.dialects.tk.kernels import FuncOp
from tilewright.dialects.tk.scope import shape_of_lanes

from ..rewrite import may_rewrite, skip


@dataclass(frozen=True)
class AwaitLoadsPass(ModulePass):
    """Let the threads of a program meet before one stores what others load, where they hold the same.

    Before:
        tk.func @f [64] (%x: memref<64xf32>, %s: memref<1xf32>, %o: memref<64xf32>) scheduled
            attributes {tk.inplace = [array<i64: 0, 1>], tk.warps = 4 : i64} {
          ...
          tk.store %2, %o[d0] lanes 0 : vector<64xf32>, memref<64xf32>
          tk.store %1, %s[0] : f32, memref<1xf32>
    After:
          tk.store %2, %o[d0] lanes 0 {tk.awaits} : vector<64xf32>, memref<64xf32>

    Threads of which a tile has fewer elements than there are hold copies of them: each loads, one stores.
    In place another may then load what was stored already, and what it adds up, or hands on to threads that
    store in another order, is wrong (https://github.com/triton-lang/triton/issues/1615). Where all that is
    loaded leads to one store, nothing of what it makes is handed on. The threads of one warp load together.
    Programs have warps for their tiles, but in a group those of its largest part, and other numbers of them
    are tried out: run after both, and after `apply-schedule`. `lanes` is how many threads a warp has.
    """

    name = "await-loads"

    lanes: int = 32

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        warps = _warps_of_groups(op)
        for func in op.ops:
            if isinstance(func, FuncOp) and func.scheduled is not None and attached(func):
                own = launch_number(func, "tk.warps")
                _mark(func, self.lanes, max(own, warps.get(func.sym_name.data, own)))


def _warps_of_groups(module: ModuleOp) -> Mapping[str, int]:
    """The warps that each part of a group has."""
    found: dict[str, int] = {}
    for group in module.ops:
        if isinstance(group, GroupOp):
            for part in group.parts:
                name = part.kernel.string_value()
                found[name] = max(found.get(name, 1), launch_number(group, "tk.warps"))
    return found


def _mark(func: FuncOp, lanes: int, warps: int) -> None:
    buffers = func.body.block.args
    stores = [op for op in kinds_within(func, StoreOp) if op.buffer in buffers]
    written = [arg for arg in buffers if any(op.buffer is arg for op in stores)]
    if len(stores) < 2:
        return skip(func, "all that it loads leads to one store")
    if warps == 1:
        return skip(func, "the threads of one warp load together")
    for number in sorted({o for _, o in attached(func)}):
        for store in stores:
            if store.buffer is not written[number]:
                continue
            if prod(shape_of_lanes(store.value.type)) >= lanes * warps:
                skip(store, "each thread has elements of its own")
            elif may_rewrite(store, "made to wait for loads"):
                store.attributes[AWAITS] = UnitAttr()
    return None
