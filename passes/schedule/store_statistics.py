"""Pass `store-statistics`."""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.passes import ModulePass

from tilewright.dialects.tk.access import LoadOp, StoreOp
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.dialects.types import bytes_of, element_type_of, sizes_of

from ..fusion.body import loads_of, reduced_axes, store_to
from ..fusion.computed_again import compute_again
from ..fusion.contents import Bodies
from ..fusion.cost import MEMORY_BYTE_COST, body_cost, count, evaluations
from ..fusion.naming import NAME, fused_name
from ..fusion.worth import Memory
from ..rewrite import may_rewrite, skip
from .body import Body
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

    The rows are read twice and not written at all, where they were read, written and read: so with pooling
    behind a norm of groups, an average of tokens behind one of rows, a loss of what a softmax makes. What
    only the rest reads is not read by the first any more, and counts as such. Left alone is what others
    read as well, what a matrix product reads, and what costs more to compute again.
    """

    name = "store-statistics"

    max_ops: int = 256
    max_inputs: int = 32

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.ops:
            if isinstance(function, FuncOp) and not function.is_declaration:
                for kernel in [k for k in function.body.block.ops if isinstance(k, KernelOp)]:
                    _Norm(kernel, self).store_statistics()


@dataclass
class _Norm:
    """A kernel that reduces, and makes something of what it has reduced and its results."""

    kernel: KernelOp
    limits: StoreStatisticsPass
    bodies: Bodies = field(default_factory=Bodies)

    def store_statistics(self) -> None:
        if not any(reduced_axes(op) for op in self.kernel.body.block.ops):
            return
        for reader, wide in self._by_reader().items():
            why = self._without(wide, reader)
            if why is None:
                return
            if why:
                skip(self.kernel, f"what it makes of its reductions is stored: {why}", wide[0])

    def _by_reader(self) -> dict[KernelOp, list[OpResult]]:
        """The kernels each of which alone reads some of the results, whose stores are plain."""
        found: dict[KernelOp, list[OpResult]] = {}
        for result in self.kernel.results:
            uses = list(result.uses)
            reader = uses[0].operation if len(uses) == 1 else None
            if isinstance(reader, KernelOp) and store_to(self.kernel.destinations[result.index]):
                found.setdefault(reader, []).append(result)
        return found

    def _without(self, wide: list[OpResult], reader: KernelOp) -> str | None:
        """Let `reader` make `wide`; why not, or nothing where that is no question."""
        kernel, body = self.kernel, Body.of(self.kernel.body.block)
        over = frozenset(axis for axes in body.over.values() for axis in axes)
        stores = [
            op
            for result in wide
            if (op := store_to(kernel.destinations[result.index])) and not body.runs[op].isdisjoint(over)
        ]
        wide = [
            result for result in wide if any(kernel.destinations[result.index] is s.buffer for s in stores)
        ]
        if not stores:
            return ""
        found = statistics_of(body, stores)
        if isinstance(found, str):
            return found
        if any(self.bodies.of(k).contraction is not None for k in (kernel, reader)):
            return "a product reads it, or makes it"
        ops = body.closure(stores, frozenset(found))
        if self.bodies.of(reader).ops + len(ops) > self.limits.max_ops:
            return f"its reader would have more than {self.limits.max_ops} ops"
        if len({*reader.operands, *kernel.operands}) + len(found) > self.limits.max_inputs:
            return f"its reader would read more than {self.limits.max_inputs} tensors"
        spared = _spared(kernel, body, stores, found)
        if (why := _costs_more(kernel, wide, reader, body, found, ops, spared)) is not None:
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
        block = kernel.parent_block()
        assert block is not None
        block.insert_ops_before([first, rest], kernel)
        taken = reader.clone()
        block.insert_op_before(taken, reader)
        for old, new in zip(wide, rest.results, strict=True):
            taken.operands = [new if operand is old else operand for operand in taken.operands]
        for made in rest.results:
            why = compute_again(made, taken, self.bodies, Memory(1, far=True))
            if why is not None:
                for op in (taken, rest, first):
                    block.erase_op(op)
                return why
        taken.attributes[NAME] = fused_name(kernel, reader)
        self._replace(reader, list(reader.results), list(taken.results))
        block.erase_op(rest)
        others = [result for result in kernel.results if result not in wide]
        self._replace(kernel, others, list(first.results[: len(others)]))
        return None

    @staticmethod
    def _replace(kernel: KernelOp, old: list[OpResult], new: list[OpResult]) -> None:
        for before, after in zip(old, new, strict=True):
            before.replace_all_uses_with(after)
            after.name_hint = before.name_hint
        block = kernel.parent_block()
        assert block is not None
        block.erase_op(kernel)


def _costs_more(
    kernel: KernelOp,
    wide: list[OpResult],
    reader: KernelOp,
    body: Body,
    found: list[SSAValue],
    ops: list[Operation],
    spared: int,
) -> str | None:
    """Compare what is moved, and what is computed again, with writing `wide` and reading it.

    `spared` are the bytes that are read for `wide` alone.
    """
    written = sum(count(sizes_of(value)) * bytes_of(element_type_of(value)) for value in wide)
    statistics = sum(
        count([kernel.space[a] for a in sorted(body.domains[value])]) * bytes_of(value.type)
        for value in found
    )
    moved = 2 * statistics + _read(kernel, reader, [op for op in ops if isinstance(op, LoadOp)]) - spared
    if moved * 10 > 2 * written * 9:
        return f"to make it again would move {moved} bytes of {2 * written}"
    sources = [reader.sources[list(reader.operands).index(value)] for value in wide]
    loads = [load for source in sources for load in loads_of(source)]
    evaluated = max(evaluations(load.subscripts, reader.space) for load in loads)
    extra, saved = body_cost(ops) * evaluated, (2 * written - moved) * MEMORY_BYTE_COST
    return f"making it again costs {extra:.0f} and saves {saved:.0f}" if extra > saved else None


def _spared(kernel: KernelOp, body: Body, stores: list[StoreOp], found: list[SSAValue]) -> int:
    """Bytes that `kernel` reads for nothing but `stores`, what these take of reductions apart."""
    others = [op for op in body.sinks() if op not in stores]
    others += [value.op for value in found if isinstance(value, OpResult)]
    stays = {op.buffer for op in body.closure(others, frozenset[SSAValue]()) if isinstance(op, LoadOp)}
    return sum(_touched(kernel, source, loads_of(source)) for source in kernel.sources if source not in stays)


def _read(kernel: KernelOp, reader: KernelOp, loads: list[LoadOp]) -> int:
    """Bytes that `loads` of `kernel` touch of what `reader` does not read yet."""
    operands = dict(zip(kernel.sources, kernel.operands, strict=True))
    sources = dict.fromkeys(load.buffer for load in loads)
    return sum(
        _touched(kernel, source, [load for load in loads if load.buffer is source])
        for source in sources
        if operands[source] not in reader.operands
    )


def _touched(kernel: KernelOp, source: SSAValue, loads: list[LoadOp]) -> int:
    """Bytes of `source` that `loads` read, each place once."""
    places = {load.map: load for load in loads}
    elements = sum(evaluations(load.subscripts, kernel.space) for load in places.values())
    return min(elements, count(sizes_of(source))) * bytes_of(element_type_of(source))
