"""Pass `sum-at-source`."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import OpResult
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.dialects.index_expr import ONE, as_expr
from tilewright.dialects.ir_access import defined_functions
from tilewright.dialects.tk.domain import reduced_axes
from tilewright.dialects.tk.kernels import KernelOp

from ..fusion.contents import Bodies
from ..fusion.cost import count
from ..fusion.match import Complete, Match, Undo, complete_match, match
from ..fusion.merge import merge, put_behind, users_to_sink
from ..fusion.stored_turned import stores_turned
from ..fusion.unread import drop_unread
from ..fusion.written_out import use_results, written_out
from ..kernels.body import remember_axes, simplify_body, split_axis, store_to
from ..rewrite import may_rewrite, skip, take_results
from .column_sums import Part, Rows, has_many_columns, part_of, rows_held, summed_axes
from .partial_sums import reduced_in_parts
from .same_rows import later_of, readers_of_rows, walk_as_it_lies

_FEW = 128
"""Elements for each program that is wanted: a few walk so many before a second kernel has started."""


@dataclass(frozen=True)
class SumAtSourcePass(ModulePass):
    """Sum columns in the kernel that makes the rows, in parts; a second kernel adds up the parts.

    Before:
        %y = tk.kernel [1024, 768] ins(%x : ...) -> (tensor<1024x768xf32>) {... tk.store %v, %o[d0, d1] ...}
        %s = tk.kernel [1024, 768] ins(%y : ...) -> (tensor<768xf32>) {... tk.reduce add %0 over [0] ...}
    After:
        %y, %p = tk.kernel [16, 64, 768] ins(%x : ...) -> (tensor<1024x768xf32>, tensor<16x768xf32>)
            {... tk.store %v, %o[d0*64 + d1, d2] ... tk.reduce add %v over [1] ...}
        %s = tk.kernel [16, 768] ins(%p : ...) -> (tensor<768xf32>) {... tk.reduce add %0 over [0] ...}

    So are gradients of biases, and of the weights of norms, whose kernels reduce each row as well: a program
    then holds whole rows, and goes along those of its part in steps where they are long. Rows that no kernel
    makes are summed by one that reads them, too, unless `fuse-siblings` merges the two whole, since there are
    few. `programs` is how many are wanted at least. All in a fixed order.
    """

    name = "sum-at-source"

    programs: int = 128
    max_inputs: int = 32

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in defined_functions(op):
            left: list[KernelOp] = []
            todo = deque(k for k in function.body.block.ops if isinstance(k, KernelOp))
            while todo:
                kernel = todo.popleft()
                if kernel.parent is None or not summed_axes(kernel):
                    continue  # it is part of another by now, or no sum
                if (merged := _Sum(kernel, self.programs, self.max_inputs).move()) is None:
                    left.append(kernel)
                    continue
                # It reads more now, which others may sum that found no kernel so far.
                again = [k for k in left if not {*k.operands}.isdisjoint(merged.operands)]
                left = [k for k in left if k not in again]
                todo.extendleft(reversed(again))


@dataclass
class _Sum:
    kernel: KernelOp
    programs: int
    max_inputs: int
    bodies: Bodies = field(default_factory=Bodies)

    def move(self) -> KernelOp | None:
        """The sum into the first kernel that takes it; returns what that became."""
        over = summed_axes(self.kernel)
        if not has_many_columns(self.kernel, over) and (merged := self._where_made()):
            return merged
        restore = walk_as_it_lies(self.kernel)
        self.bodies.changed(self.kernel)
        many = has_many_columns(self.kernel, summed_axes(self.kernel))
        merged = (self._where_made() if many else None) or self._where_read()
        if merged is None and restore is not None:
            restore()
        return merged

    def _where_made(self) -> KernelOp | None:
        """Into the first producer that takes it."""
        over = summed_axes(self.kernel)
        for value in list(self.kernel.operands):
            if not isinstance(value, OpResult) or not isinstance(value.op, KernelOp):
                continue
            found = self._into(value, over)
            merged = self._into_written_out(value, over) if isinstance(found, str) else found
            if merged is not None:
                return merged
            skip(self.kernel, f"not summed where the rows are made: {found}", value)
        return None

    def _where_read(self) -> KernelOp | None:
        """Into the first kernel that takes it of those that read the same rows."""
        over = summed_axes(self.kernel)
        for reader, where in readers_of_rows(self.kernel):
            if any(stores_turned(reader, v) for v in self.kernel.operands if v in reader.operands):
                skip(self.kernel, "not summed where the rows are read: they are stored turned there")
                continue
            if self._is_whole_beside(reader):
                skip(self.kernel, "not summed in parts where the rows are read: few programs do both whole")
                continue
            merged = self._in_parts(reader, rows_held(reader, where), over, made=False)
            if not isinstance(merged, str):
                return merged
            skip(self.kernel, f"not summed where the rows are read: {merged}", reader.results[0])
        return None

    def _is_whole_beside(self, reader: KernelOp) -> bool:
        """Whether `fuse-siblings` merges the two, of so few elements that a second kernel takes longer."""
        space = self.kernel.space
        if reader.space != space or count(space) > _FEW * self.programs:
            return False
        same = {axis: axis for axis in range(len(space))}
        return not isinstance(complete_match(reader, self.kernel, self.bodies, same), str)

    def _into(self, value: OpResult, over: tuple[int, ...]) -> KernelOp | str:
        """Sum where `value` is made; why not."""
        producer = value.op
        assert isinstance(producer, KernelOp)
        store = store_to(producer.destinations[value.index])
        held = None if store is None else rows_held(producer, store.subscripts)
        return self._in_parts(producer, held, over, made=True)

    def _into_written_out(self, value: OpResult, over: tuple[int, ...]) -> KernelOp | None:
        """The same where few elements are reduced for each, whose terms are written out then."""
        producer = value.op
        assert isinstance(producer, KernelOp)
        if (copy := written_out(producer)) is None:
            return None
        use_results(copy, producer)
        merged = self._into(copy.results[value.index], over)
        if isinstance(merged, str):
            use_results(producer, copy)
        drop_unread(copy if isinstance(merged, str) else producer)
        return None if isinstance(merged, str) else merged

    def _in_parts(
        self, producer: KernelOp, held: Rows | None, over: tuple[int, ...], *, made: bool
    ) -> KernelOp | str:
        """Sum in the kernel that makes the rows, or reads them as well; what that became, or why not."""
        kernel = self.kernel
        if len({*producer.operands, *kernel.operands}) > self.max_inputs:
            return "one kernel would read too many tensors"
        part = part_of(kernel, over, held, self.programs)
        if part is None:
            return "no number of rows divides them into enough parts, which hold few enough"
        split = kernel.clone()
        inside = _cut(split, part)
        parts, rest = reduced_in_parts(split, inside)
        split.erase()
        behind, waiting = later_of(kernel, producer)
        Rewriter.insert_op([parts, rest], InsertPoint.before(behind))
        undo: Undo = {}
        complete = _complete(parts, rest, inside)
        if made:
            found = match(producer, parts, self.bodies, undo, complete)
        else:
            found = self._alike(producer, parts, part, undo, complete)
        sunk = found if isinstance(found, str) else users_to_sink(producer, parts)
        if isinstance(found, Match) and not isinstance(sunk, str) and may_rewrite(kernel, "summed in parts"):
            take_results(rest, kernel.results)
            Rewriter.erase_op(kernel)
            put_behind(waiting, rest)
            merged = merge(producer, parts, self.bodies, found, sunk)
            simplify_body(merged)
            self.bodies.changed(merged)
            return merged
        for unused in (rest, parts):
            Rewriter.erase_op(unused)
        for changed, restore in undo.items():
            restore()
            self.bodies.changed(changed)
        return sunk if isinstance(sunk, str) else "left alone"

    def _alike(
        self, reader: KernelOp, parts: KernelOp, part: Part, undo: Undo, complete: Complete
    ) -> Match | str:
        """Let `reader` walk the same parts, if it does not yet."""
        if reader.space == self.kernel.space:
            undo[reader] = remember_axes(reader)
            _cut(reader, part)
            self.bodies.changed(reader)
        if reader.space != parts.space:
            return "it walks other parts"
        self.bodies.of(parts)  # `merge` adds up what is known of both
        return complete(reader, parts, self.bodies, {a: a for a in range(len(reader.space))})


def _cut(kernel: KernelOp, part: Part) -> frozenset[int]:
    """Let `kernel` walk its rows by parts; returns the axes inside of one."""
    moved = int(split_axis(kernel, part.axis, as_expr(part.length)))
    within = frozenset(a + moved for a in part.within)
    return within if part.length == 1 else within | {part.axis + moved}


def _complete(parts: KernelOp, rest: KernelOp, inside: frozenset[int]) -> Complete:
    """The producer has no axes of its own but of size 1, and reduces rows, or the rows of the same parts."""
    rank = len(parts.space)
    kept = [a for a in range(rank) if a not in inside]
    summed = {*inside, *(kept[a] for op in rest.body.block.ops for a in reduced_axes(op))}

    def complete(producer: KernelOp, consumer: KernelOp, bodies: Bodies, axes: dict[int, int]) -> Match | str:
        if len(consumer.space) != rank:
            return "their axes do not line up"
        own = [a for a in range(len(producer.space)) if a not in axes]
        if any(producer.space[a] != ONE for a in own):
            return "one of its axes is not read"
        axes |= {a: rank + i for i, a in enumerate(own)}
        of_p = bodies.of(producer)
        if of_p.scans or of_p.sorts or any(op.scatters for op in of_p.stores):
            return "it scans or scatters"
        for over in of_p.over:
            mapped = frozenset(axes[a] for a in over)
            if mapped != inside and not mapped.isdisjoint(summed):
                return "it reduces along what is summed"
        return Match(axes, (*consumer.space, *(ONE for _ in own)), inside)

    return complete
