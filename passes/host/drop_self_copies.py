"""drop-self-copies: what a kernel would store where it was loaded stays there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import BlockArgument, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from tilewright.dialects.th.calls import LaunchOp
from tilewright.dialects.th.memory import BufferOp
from tilewright.dialects.tk.access import LoadOp, StoreOp
from tilewright.dialects.tk.kernels import FuncOp

from ..rewrite import may_rewrite, skip


@dataclass(frozen=True)
class DropSelfCopiesPass(ModulePass):
    """Leave out the copy of a buffer to itself, with which a scatter into an argument begins.

    Before:
        th.launch @put(%x, %i, %v) into(%x) : (memref<8xf32>, ...) into (memref<8xf32>)
        tk.func @put [8, 2] (%a: memref<8xf32>, %at: memref<2xi64>, %w: memref<2xf32>, %o: memref<8xf32>) {
          %0 = tk.load %a[d0] : memref<8xf32> -> f32
          tk.store %0, %o[d0] : f32, memref<8xf32>
          ...
          tk.store %3, %o[i0](%2) : f32, memref<8xf32>
        }
    After:
        tk.func @put [8, 2] (%a: memref<8xf32>, %at: memref<2xi64>, %w: memref<2xf32>, %o: memref<8xf32>) {
          ...
          tk.store %3, %o[i0](%2) : f32, memref<8xf32>
        }

    In every launch of the kernel, input and output must be one buffer. Runs after `plan-memory`, which
    gives an output the place of an input that dies; a kernel that does nothing else is left as it is.
    """

    name = "drop-self-copies"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        launches: dict[str, list[LaunchOp]] = {}
        for launch in op.walk():
            if isinstance(launch, LaunchOp):
                launches.setdefault(launch.kernel.string_value(), []).append(launch)
        for function in op.ops:
            if isinstance(function, FuncOp) and function.scheduled is None:
                for copy in _self_copies(function, launches.get(function.sym_name.data, ())):
                    if may_rewrite(copy.store, "stores what it has loaded from there"):
                        copy.erase()


@dataclass(frozen=True)
class _Copy:
    load: LoadOp
    store: StoreOp

    def erase(self) -> None:
        Rewriter.erase_op(self.store)
        if not self.load.result.uses:
            Rewriter.erase_op(self.load)


def _self_copies(function: FuncOp, launches: Sequence[LaunchOp]) -> list[_Copy]:
    """Plain stores of what was loaded at the same subscript of a buffer that is the same one."""
    stores = [op for op in function.body.block.ops if isinstance(op, StoreOp)]
    copies = [copy for store in stores if (copy := _as_copy(store)) is not None]
    if not launches or len(copies) == len(stores):
        return []
    found: list[_Copy] = []
    for copy in copies:
        one, other = _number(copy.load.buffer), _number(copy.store.buffer)
        same = [_is_same(launch.operands[one], launch.operands[other]) for launch in launches]
        if all(same):
            found.append(copy)
        elif any(same):
            skip(copy.store, "other launches of this kernel copy between two buffers")
    return found


def _number(buffer: SSAValue) -> int:
    assert isinstance(buffer, BlockArgument), "kernels without loops have no scratch"
    return buffer.index


def _as_copy(store: StoreOp) -> _Copy | None:
    load = store.value.owner
    if not isinstance(load, LoadOp) or store.scatters or store.mask is not None:
        return None
    if load.dynamic or load.mask is not None or load.subscripts != store.subscripts:
        return None
    return _Copy(load, store)


def _is_same(one: SSAValue, other: SSAValue) -> bool:
    """Whether two buffers are one, perhaps under two names of one place in an arena."""
    if one is other:
        return True
    a, b = _place(one), _place(other)
    return a is not None and a == b and one.type == other.type


def _place(buffer: SSAValue) -> tuple[SSAValue, str] | None:
    owner = buffer.owner
    return (owner.arena, owner.offset.data) if isinstance(owner, BufferOp) else None
