"""split-scatters: what fills a buffer and what then scatters to it are kernels of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.dialects.th.calls import LaunchOp
from tilewright.dialects.tk.access import LoadOp, StoreOp
from tilewright.dialects.tk.attributes import segments
from tilewright.dialects.tk.domain import Axes
from tilewright.dialects.tk.inplace import ATTRIBUTE
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
    nothing to fill where the target is the result. With `constants` it runs before `group-launches`, since
    what loads nothing may be filled beside any kernel that comes earlier, and leaves the other fills alone.
    """

    name = "split-scatters"

    constants: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = [f for f in op.ops if isinstance(f, FuncOp)]
        names = Names({f.sym_name.data: 1 for f in functions})
        launches: dict[str, list[LaunchOp]] = {}
        for launch in op.walk():
            if isinstance(launch, LaunchOp):
                launches.setdefault(launch.kernel.string_value(), []).append(launch)
        for function in functions:
            fills = _fills(function, constants=self.constants)
            if fills and function.scheduled is None and may_rewrite(function, "fills by a launch before"):
                _split(function, fills, launches.get(function.sym_name.data, ()), names)


def _fills(function: FuncOp, *, constants: bool = False) -> list[StoreOp]:
    """The plain stores to what is scattered to; of `constants` alone."""
    stores = [op for op in function.body.block.ops if isinstance(op, StoreOp)]
    scattered = [op.buffer for op in stores if op.scatters]
    fills = [op for op in stores if not op.scatters and op.buffer in scattered]
    if not constants or not fills:
        return fills
    body = Body.of(function.body.block)
    return [op for op in fills if not any(isinstance(o, LoadOp) for o in body.closure([op], ()))]


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
    kept = _cleaned(function)
    if not _fills(function):
        function.attributes.pop(ATTRIBUTE, None)  # of what was filled from an input that it may be
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


def _give(launch: LaunchOp, numbers: Sequence[int]) -> None:
    """Leave a launch these of its buffers."""
    ins = sum(number < len(launch.ins) for number in numbers)
    launch.operands = [launch.operands[number] for number in numbers]
    launch.properties["operandSegmentSizes"] = segments(ins, len(numbers) - ins)
