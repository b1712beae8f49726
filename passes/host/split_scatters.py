"""split-scatters: what fills a buffer and what then scatters to it are kernels of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.dialects.th.calls import LaunchOp
from tilewright.dialects.tk.access import StoreOp
from tilewright.dialects.tk.attributes import segments
from tilewright.dialects.tk.domain import Axes
from tilewright.dialects.tk.inplace import ATTRIBUTE, attach, attached
from tilewright.dialects.tk.kernels import FuncOp

from ..functions.coalesce_axes import coalesce
from ..kernels.facts import Body
from ..rewrite import may_rewrite
from .outline import Names, twin


@dataclass(frozen=True)
class SplitScattersPass(ModulePass):
    """Fill what is scattered to by a launch before: programs of a GPU do not wait for each other.

    Before:
        th.launch @put(%i, %v) into(%o) : (memref<2xi64>, memref<2xf32>) into (memref<8xf32>)
        tk.func @put [8, 2] (%at: memref<2xi64>, %w: memref<2xf32>, %o: memref<8xf32>) {
          %0 = arith.constant 0.0 : f32
          tk.store %0, %o[d0] : f32, memref<8xf32>
          ...
          tk.store %3, %o[i0](%2) combine add : f32, memref<8xf32>
        }
    After:
        th.launch @put_fill() into(%o) : () into (memref<8xf32>)
        th.launch @put(%i, %v) into(%o) : (memref<2xi64>, memref<2xf32>) into (memref<8xf32>)
        tk.func @put_fill [8, 2] (%o: memref<8xf32>) {
          %0 = arith.constant 0.0 : f32
          tk.store %0, %o[d0] : f32, memref<8xf32>
        }
        tk.func @put [8, 2] (%at: memref<2xi64>, %w: memref<2xf32>, %o: memref<8xf32>) {
          ...
          tk.store %3, %o[i0](%2) combine add : f32, memref<8xf32>
        }

    Targets with axes of their own are filled by a launch each. Runs after `drop-self-copies`, which leaves
    nothing to fill where the target is the result. With `early` it runs before `group-launches`, since what
    cannot be an input (`tk.inplace`) may be filled beside any kernel that comes earlier.
    """

    name = "split-scatters"

    early: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = [f for f in op.ops if isinstance(f, FuncOp)]
        names = Names({f.sym_name.data: 1 for f in functions})
        launches: dict[str, list[LaunchOp]] = {}
        for launch in op.walk():
            if isinstance(launch, LaunchOp):
                launches.setdefault(launch.kernel.string_value(), []).append(launch)
        for function in functions:
            calls = launches.get(function.sym_name.data, [])
            fills = _fills(function)
            if self.early:
                fills = _apart(function, fills, calls)
            if fills and function.scheduled is None and may_rewrite(function, "fills by a launch before"):
                _split(function, fills, calls, names)


def _fills(function: FuncOp) -> list[StoreOp]:
    """The plain stores to what is scattered to."""
    stores = [op for op in function.body.block.ops if isinstance(op, StoreOp)]
    scattered = [op.buffer for op in stores if op.scatters]
    return [op for op in stores if not op.scatters and op.buffer in scattered]


def _apart(function: FuncOp, fills: Sequence[StoreOp], launches: Sequence[LaunchOp]) -> list[StoreOp]:
    """Those of buffers that are never the memory of an input."""
    args = function.body.block.args
    ins = {len(launch.ins) for launch in launches}
    shared = {args[first + o] for first in ins for _, o in attached(function)}
    return [fill for fill in fills if fill.buffer not in shared]


def _together(function: FuncOp, fills: Sequence[StoreOp]) -> list[list[StoreOp]]:
    """Those that one launch walks: it has all axes of one of them, and of none besides.

    Targets may have axes of their own; to walk those of two would be to walk the product of their sizes.
    """
    body = Body.of(function.body.block)
    found: list[tuple[Axes, list[StoreOp]]] = []
    for fill in fills:
        axes = frozenset(a for op in body.closure([fill], ()) for a in body.runs[op])
        near = next((i for i, (others, _) in enumerate(found) if axes <= others or others <= axes), None)
        if near is None:
            found.append((axes, [fill]))
        else:
            others, stores = found[near]
            found[near] = (axes | others, [*stores, fill])
    return [stores for _, stores in found]


def _split(function: FuncOp, fills: Sequence[StoreOp], launches: Sequence[LaunchOp], names: Names) -> None:
    """Put what fills into functions before `function`, and their launches before each launch."""
    firsts = [_filling(function, stores, names) for stores in _together(function, fills)]
    for fill in fills:
        Rewriter.erase_op(fill)
    made = [(first.sym_name.data, _cleaned(first)) for first in firsts]
    pairs = attached(function)
    kept = _cleaned(function)
    if launches:
        _share_again(function, pairs, kept, len(launches[0].ins))
    for launch in launches:
        for name, numbers in made:
            before = launch.clone()
            before.properties["kernel"] = SymbolRefAttr(name)
            before.location = launch.location
            Rewriter.insert_op(before, InsertPoint.before(launch))
            _give(before, numbers)
        _give(launch, kept)


def _filling(function: FuncOp, fills: Sequence[StoreOp], names: Names) -> FuncOp:
    """A function of what `function` does for these."""
    first = twin(function, names.fresh(f"{function.sym_name.data}_fill"))
    first.attributes.pop(ATTRIBUTE, None)
    for op, copy in list(zip(function.body.block.ops, first.body.block.ops, strict=True)):
        if not op.results and op not in fills:
            Rewriter.erase_op(copy)
    return first


def _cleaned(function: FuncOp) -> list[int]:
    """Drop what no effect needs; the numbers of the buffers that are left."""
    block = function.body.block
    for op in reversed(list(block.ops)):
        if op.results and all(result.first_use is None for result in op.results):
            Rewriter.erase_op(op)
    kept = [arg.index for arg in block.args if arg.first_use is not None]
    for arg in reversed(block.args):
        if arg.first_use is None:
            block.erase_arg(arg)
    coalesce(function, merge=False)
    return kept


def _share_again(function: FuncOp, pairs: Sequence[tuple[int, int]], kept: Sequence[int], ins: int) -> None:
    """Note which inputs may be what is still filled from them; of the buffers, `kept` are left."""
    args = function.body.block.args
    now = {old: new for new, old in enumerate(kept)}
    inputs = sum(number < ins for number in kept)
    filled = [fill.buffer for fill in _fills(function)]
    function.attributes.pop(ATTRIBUTE, None)
    left = [(now[i], now[ins + o]) for i, o in pairs if i in now and ins + o in now]
    attach(function, [(i, o - inputs) for i, o in left if args[o] in filled])


def _give(launch: LaunchOp, numbers: Sequence[int]) -> None:
    """Leave a launch these of its buffers."""
    ins = sum(number < len(launch.ins) for number in numbers)
    launch.operands = [launch.operands[number] for number in numbers]
    launch.properties["operandSegmentSizes"] = segments(ins, len(numbers) - ins)
