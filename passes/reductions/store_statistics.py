"""Pass `store-statistics`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, OpResult, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.dialects.ir_access import defined_functions
from tilewright.dialects.tk.access import StoreOp
from tilewright.dialects.tk.kernels import KernelOp

from ..fusion.computed_again import compute_again
from ..fusion.contents import NEAR, Bodies
from ..fusion.fuse import FusePass, Fuser
from ..fusion.in_place import reads_what_changes
from ..fusion.worth import Memory
from ..kernels.body import combined_axes, store_to
from ..kernels.facts import Body
from ..kernels.naming import NAME, fused_name
from ..rewrite import count_rewrite, may_rewrite, replace_results, rewrites_left, skip
from .statistics_cost import costs_more, places
from .statistics_of_rows import divided, statistics_of


@dataclass(frozen=True)
class StoreStatisticsPass(ModulePass):
    """Store what rows are reduced to, where the kernel that reads what is made of it can make that itself.

    Before (a norm of rows, of which another kernel sums the columns):
        %y = tk.kernel [64, 8] ins(%x : tensor<64x8xf32>) -> (tensor<64x8xf32>) {
          %1 = tk.reduce max %0 over [1] : f32
          %2 = arith.subf %0, %1 : f32
          tk.store %2, %o[d0, d1] ...
        %s = tk.kernel [64, 8] ins(%y : tensor<64x8xf32>) -> (tensor<8xf32>) {
          %1 = tk.reduce add %0 over [0] : f32 ...
    After:
        %m = tk.kernel [64, 8] ins(%x : tensor<64x8xf32>) -> (tensor<64xf32>) {
          %1 = tk.reduce max %0 over [1] : f32 ...
        %s = tk.kernel [64, 8] ins(%x, %m) -> (tensor<8xf32>) {
          %2 = arith.subf %0, %1 : f32
          %3 = tk.reduce add %2 over [0] : f32 ...

    What the kernel stores for others, too, is read there. The rows are read twice and not written at
    all, where they were read, written and read: so with pooling behind a norm of groups, an average of
    tokens behind one of rows, a loss of what a softmax makes. So is what no reduction is needed for,
    beside results that stay: differences from a mean in the gradient of a norm. What the first read for
    that alone it reads no more, which counts. A reader that walks the same rows, and needs their
    elements at other places (rotary embeddings behind a norm of heads), reduces them itself then, and
    one kernel is left. Left alone is what others read as well, what a matrix product reads, and what
    costs more to compute again. `column` is that of `fuse`.
    """

    name = "store-statistics"

    max_ops: int = 256
    max_inputs: int = 32
    column: int = NEAR

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in defined_functions(op):
            block = function.body.block
            _join(block, _walk(block, self), self)


def _walk(block: Block, limits: StoreStatisticsPass) -> set[Operation]:
    """Divide kernels; returns those that store statistics now."""
    op, found = block.first_op, set[Operation]()
    while op is not None:
        if isinstance(op, KernelOp):
            divided = _Divided(op, limits)
            op = divided.store_statistics()
            if divided.stores_statistics:
                found.add(op)
        op = op.next_op
    return found


def _join(block: Block, divided: set[Operation], limits: StoreStatisticsPass) -> None:
    """Let a reader that walks the same rows reduce them itself."""
    options = FusePass(max_ops=limits.max_ops, max_inputs=limits.max_inputs, far=True, column=limits.column)
    fuser = Fuser.of(block, options)
    op = block.first_op
    while op is not None:
        joined = _joined(op, divided, fuser) if isinstance(op, KernelOp) else None
        op = joined or op.next_op


def _joined(reader: KernelOp, divided: set[Operation], fuser: Fuser) -> KernelOp | None:
    """The kernel that stands there once `reader` is one with a kernel that stores statistics for it."""
    for value in reader.operands:
        if not isinstance(value, OpResult) or value.op not in divided or not rewrites_left():
            continue
        if not isinstance(found := fuser.fuse(value, reader), str):
            count_rewrite(found, "reduces its rows itself")
            return found
    return None


@dataclass
class _Divided:
    """A kernel, and what is left of it as others make its results."""

    kernel: KernelOp
    limits: StoreStatisticsPass
    bodies: Bodies = field(default_factory=Bodies)
    stores_statistics: bool = False

    def store_statistics(self) -> KernelOp:
        """As often as that is better; returns what stands there then."""
        while self._divided_once():
            pass
        return self.kernel

    def _divided_once(self) -> bool:
        readers = self._by_reader()
        if not readers:
            return False
        body = Body.of(self.kernel.body.block)
        for reader, results in readers.items():
            rows, elements = self._of_rows(body, results), self._elementwise(body, results, reader)
            for wide, what in (
                (rows, "what it makes of its reductions"),
                (elements, "what its reader can make"),
            ):
                why = self._without(body, wide, reader) if wide else ""
                if why is None:
                    return True
                if why:
                    skip(self.kernel, f"{what} is stored: {why}", wide[0])
        return False

    def _by_reader(self) -> dict[KernelOp, list[OpResult]]:
        """The kernels each of which alone reads some of the results, whose stores are plain."""
        found: dict[KernelOp, list[OpResult]] = {}
        for result in self.kernel.results:
            uses = list(result.uses)
            reader = uses[0].operation if len(uses) == 1 else None
            if isinstance(reader, KernelOp) and store_to(self.kernel.destinations[result.index]):
                found.setdefault(reader, []).append(result)
        return found

    def _store(self, result: OpResult) -> StoreOp:
        store = store_to(self.kernel.destinations[result.index])
        assert store is not None, "_by_reader asks for it"
        return store

    def _of_rows(self, body: Body, results: list[OpResult]) -> list[OpResult]:
        """Those that lie along what is reduced; without what is sorted or scanned, unless all of them are."""
        over = frozenset(axis for axes in body.over.values() for axis in axes)
        rows = [result for result in results if not body.runs[self._store(result)].isdisjoint(over)]
        made = [result for result in rows if not isinstance(statistics_of(body, [self._store(result)]), str)]
        return made or rows

    def _elementwise(self, body: Body, results: list[OpResult], reader: KernelOp) -> list[OpResult]:
        """Those that no reduction is needed for, and that are read at one place, if others stay."""
        found = [
            result
            for result in results
            if len(places(result, reader)) == 1
            and not reads_what_changes(result, reader)
            and not any(
                combined_axes(op) for op in body.closure([self._store(result)], frozenset[SSAValue]())
            )
        ]
        return found if len(found) < len(self.kernel.results) else []

    def _without(self, body: Body, wide: list[OpResult], reader: KernelOp) -> str | None:
        """Let `reader` make `wide`; why not, or nothing where that is no question."""
        kernel = self.kernel
        stores = [self._store(result) for result in wide]
        found = statistics_of(body, stores)
        if isinstance(found, str):
            return found
        product = found and self.bodies.of(kernel).contraction is not None
        if product or self.bodies.of(reader).contraction is not None:
            return "a product reads it, or makes it"
        ops = body.closure(stores, frozenset(found))
        times = max(len(places(result, reader)) for result in wide)
        if self.bodies.of(reader).ops + len(ops) * times > self.limits.max_ops:
            return f"its reader would have more than {self.limits.max_ops} ops"
        if len({*reader.operands, *kernel.operands}) + len(found) > self.limits.max_inputs:
            return f"its reader would read more than {self.limits.max_inputs} tensors"
        by_result = dict(zip(wide, stores, strict=True))
        if (why := costs_more(kernel, by_result, reader, body, found)) is not None:
            return why
        if not may_rewrite(kernel, "its statistics are stored"):
            return ""
        return self._divide(wide, stores, reader, body, found)

    def _divide(
        self,
        wide: list[OpResult],
        stores: list[StoreOp],
        reader: KernelOp,
        body: Body,
        found: list[SSAValue],
    ) -> str | None:
        kernel = self.kernel
        first, rest = divided(kernel, body, stores, found)
        Rewriter.insert_op([first, rest], InsertPoint.before(kernel))
        taken = reader.clone()
        Rewriter.insert_op(taken, InsertPoint.before(reader))
        for old, new in zip(wide, rest.results, strict=True):
            taken.operands = [new if operand is old else operand for operand in taken.operands]
        for made in rest.results:
            why = compute_again(made, taken, self.bodies, Memory(1, far=True))
            if why is not None:
                for op in (taken, rest, first):
                    Rewriter.erase_op(op)
                return why
        taken.attributes[NAME] = fused_name(kernel, reader)
        self._replace(reader, reader.results, taken.results)
        Rewriter.erase_op(rest)
        others = [result for result in kernel.results if result not in wide]
        self._replace(kernel, others, first.results[: len(others)])
        self.kernel, self.stores_statistics = first, self.stores_statistics or bool(found)
        return None

    @staticmethod
    def _replace(kernel: KernelOp, old: Sequence[OpResult], new: Sequence[OpResult]) -> None:
        replace_results(old, new)
        Rewriter.erase_op(kernel)
