"""drop-self-copies: what a kernel would store where it was loaded stays there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, IntAttr, ModuleOp, SymbolRefAttr
from xdsl.ir import BlockArgument, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from tilewright.dialects.ir_access import kinds_within, ops_within
from tilewright.dialects.th.calls import ExternOp, LaunchOp
from tilewright.dialects.th.memory import BufferOp
from tilewright.dialects.tk.access import LoadOp, StoreOp
from tilewright.dialects.tk.attributes import segments
from tilewright.dialects.tk.group import PartOp
from tilewright.dialects.tk.kernels import FuncOp
from tilewright.dialects.tw.aten import ArgAttr

from ..rewrite import may_rewrite
from .liveness import added_in_place
from .outline import Names, twin


@dataclass(frozen=True)
class DropSelfCopiesPass(ModulePass):
    """Leave out the copy of a buffer to itself, with which a scatter into an argument begins, say.

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

    Launches of which input and output are not one buffer keep the kernel as it was, and so do parts of a
    `tk.group`. Of a kernel that does nothing else the launch is left out. Runs after `plan-memory`,
    which gives an output the place of an input that dies. What a library's product is added to it would copy
    to where it is, unless both are one tensor:

    Before:
        th.extern "aten::addmm.out"(%c, %a, %b) into(%o) {args = [#tw.arg<0>, #tw.arg<1>, #tw.arg<2>, ...]}
    After (`%c` and `%o` are views of one place):
        th.extern "aten::addmm.out"(%a, %b) into(%o) {args = [#tw.arg<2>, #tw.arg<0>, #tw.arg<1>, ...]}
    """

    name = "drop-self-copies"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = [f for f in op.ops if isinstance(f, FuncOp)]
        names = Names({f.sym_name.data: 1 for f in functions})
        launches: dict[str, list[LaunchOp]] = {}
        for step in ops_within(op):
            if isinstance(step, LaunchOp):
                launches.setdefault(step.kernel.string_value(), []).append(step)
            elif isinstance(step, ExternOp):
                _add_in_place(step)
        parts = {part.kernel.string_value() for part in kinds_within(op, PartOp)}
        for function in functions:
            if function.scheduled is None and (copies := _copies(function)):
                name = function.sym_name.data
                own, is_part = launches.get(name, []), name in parts
                if 2 * len(copies) == len(function.body.block.ops):
                    _drop_launches(function, copies, own, is_part=is_part)
                elif len(copies) < sum(isinstance(inner, StoreOp) for inner in function.body.block.ops):
                    _drop(function, copies, own, names, as_it_is=is_part)


def _add_in_place(op: ExternOp) -> None:
    """Give a product that is added to what lies where the sum does that tensor once."""
    views = added_in_place(op)
    if views is None or not _is_same(views[0].source, views[1].source):
        return
    if not may_rewrite(op, "its product is added in place"):
        return
    last = len(op.ins) - 1
    moved = {ArgAttr(IntAttr(0)): ArgAttr(IntAttr(last))}
    moved |= {ArgAttr(IntAttr(i + 1)): ArgAttr(IntAttr(i)) for i in range(last + 1)}
    op.properties["args"] = ArrayAttr([moved[arg] if isinstance(arg, ArgAttr) else arg for arg in op.args])
    op.properties["operandSegmentSizes"] = segments(last, len(op.outs))
    op.operands = list(op.operands)[1:]
    if not views[0].result.uses:
        Rewriter.erase_op(views[0])


def _drop_launches(
    function: FuncOp, copies: Sequence[_Copy], launches: Sequence[LaunchOp], *, is_part: bool
) -> None:
    """Leave out launches of a function that only copies, where each copy is one of a buffer to itself."""
    idle = [launch for launch in launches if all(copy.within(launch) for copy in copies)]
    if not idle or not may_rewrite(function, "stores what it has loaded from there, and no more"):
        return
    for launch in idle:
        Rewriter.erase_op(launch)
    if len(idle) == len(launches) and not is_part:
        Rewriter.erase_op(function)


def _drop(
    function: FuncOp, copies: Sequence[_Copy], launches: Sequence[LaunchOp], names: Names, *, as_it_is: bool
) -> None:
    """Leave out the copies that launches do not need; a twin of `function` for each set of them but one.

    `as_it_is`: somebody needs them all.
    """
    groups: dict[tuple[int, ...], list[LaunchOp]] = {(): []} if as_it_is else {}
    for launch in launches:
        own = tuple(i for i, copy in enumerate(copies) if copy.within(launch))
        groups.setdefault(own, []).append(launch)
    if not any(groups) or not may_rewrite(function, "stores what it has loaded from there"):
        return
    stays = () if () in groups else next(iter(groups))
    for own, members in groups.items():
        if own == stays:
            continue
        name = names.fresh(f"{function.sym_name.data}_in_place")
        _erase(_copies(twin(function, name)), own)
        for launch in members:
            launch.properties["kernel"] = SymbolRefAttr(name)
    _erase(copies, stays)


def _erase(copies: Sequence[_Copy], own: Sequence[int]) -> None:
    for i in own:
        copies[i].erase()


@dataclass(frozen=True)
class _Copy:
    load: LoadOp
    store: StoreOp

    def within(self, launch: LaunchOp) -> bool:
        """Whether a launch gives it one buffer."""
        one, other = (launch.operands[_number(op.buffer)] for op in (self.load, self.store))
        return _is_same(one, other)

    def erase(self) -> None:
        Rewriter.erase_op(self.store)
        if not self.load.result.uses:
            Rewriter.erase_op(self.load)


def _copies(function: FuncOp) -> list[_Copy]:
    """Plain stores of what was loaded at the same subscript."""
    stores = [op for op in function.body.block.ops if isinstance(op, StoreOp)]
    return [copy for store in stores if (copy := _as_copy(store)) is not None]


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
