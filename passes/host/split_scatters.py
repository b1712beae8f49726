"""split-scatters: what fills a buffer and what then scatters to it are kernels of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from tilewright.dialects.th.calls import LaunchOp
from tilewright.dialects.tk.access import StoreOp
from tilewright.dialects.tk.attributes import segments
from tilewright.dialects.tk.kernels import FuncOp

from ..rewrite import may_rewrite
from .inplace import ATTRIBUTE
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

    Runs after `drop-self-copies`, which leaves nothing to fill where the target is the result, and before
    `coalesce-axes`, which drops the axes that one of the two does not use.
    """

    name = "split-scatters"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = [f for f in op.ops if isinstance(f, FuncOp)]
        names = Names({f.sym_name.data: 1 for f in functions})
        launches: dict[str, list[LaunchOp]] = {}
        for launch in op.walk():
            if isinstance(launch, LaunchOp):
                launches.setdefault(launch.kernel.string_value(), []).append(launch)
        for function in functions:
            fills = _fills(function)
            if fills and function.scheduled is None and may_rewrite(function, "fills by a launch before"):
                _split(function, fills, launches.get(function.sym_name.data, ()), names)


def _fills(function: FuncOp) -> list[StoreOp]:
    """The plain stores to what is scattered to."""
    stores = [op for op in function.body.block.ops if isinstance(op, StoreOp)]
    scattered = [op.buffer for op in stores if op.scatters]
    return [op for op in stores if not op.scatters and op.buffer in scattered]


def _split(function: FuncOp, fills: Sequence[StoreOp], launches: Sequence[LaunchOp], names: Names) -> None:
    """Put what fills into a function before `function`, and its launch before each launch."""
    name = names.fresh(f"{function.sym_name.data}_fill")
    first = twin(function, name)
    pairs = list(zip(function.body.block.ops, first.body.block.ops, strict=True))
    for op, copy in pairs:
        if op in fills:
            Rewriter.erase_op(op)
        elif not op.results:
            Rewriter.erase_op(copy)
    kept = [_cleaned(f) for f in (first, function)]
    for launch in launches:
        before = launch.clone()
        before.properties["kernel"] = SymbolRefAttr(name)
        before.location = launch.location
        parent = launch.parent
        assert parent is not None
        parent.insert_op_before(before, launch)
        for one, numbers in zip((before, launch), kept, strict=True):
            _give(one, numbers)


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
    function.attributes.pop(ATTRIBUTE, None)  # memory is planned
    return kept


def _give(launch: LaunchOp, numbers: Sequence[int]) -> None:
    """Leave a launch these of its buffers."""
    ins = sum(number < len(launch.ins) for number in numbers)
    launch.operands = [launch.operands[number] for number in numbers]
    launch.properties["operandSegmentSizes"] = segments(ins, len(numbers) - ins)
