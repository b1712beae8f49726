"""fuse: merge kernels so that intermediate tensors are never written."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerType, ModuleOp
from xdsl.ir import Block, Operation, OpResult, SSAValue
from xdsl.passes import ModulePass

from tilewright.dialects.ir_access import defined_functions, operands_of
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.dialects.types import element_type_of

from ..kernels.body import remove_divisions, simplify_body
from ..kernels.naming import NAME, fused_name
from ..rewrite import count_rewrite, remarks_wanted, rewrites_left, skip
from .computed_again import compute_again, compute_instead, compute_written_out
from .contents import NEAR, Bodies
from .drawback import drawback
from .drop_checks import drop_checks
from .in_place import reads_what_changes
from .match import plain_match
from .merge import merge, users_to_sink
from .merge_matched import merge_matched, merge_written_out
from .sizes import SizesTogether
from .staying import only_reader
from .stretch import merge_stretched
from .unit_axes import drop_unit_axes
from .unread import drop_unread
from .worth import Memory, waits


@dataclass(frozen=True)
class FusePass(ModulePass):
    """Fuse producers into the kernels that read them.

    Before:
        %e = tk.kernel [8] ins(%x : tensor<8xf32>) -> (tensor<8xf32>) {... math.exp ...}
        %s = tk.kernel [8] ins(%e : tensor<8xf32>) -> (tensor<f32>) {... tk.reduce add ...}
    After:
        %s = tk.kernel [8] ins(%x : tensor<8xf32>) -> (tensor<f32>) {
          %0 = tk.load %a[d0] ...
          %1 = math.exp %0 : f32
          %2 = tk.reduce add %1 over [0] : f32
          tk.store %2, %o[] ...

    With `hold_back`, for targets whose matrix products are kernels: what reads a product joins it only
    after everything else was fused, unless the product's result vanishes and nothing wider takes its
    place. A product takes no second reduction, so what a norm reads is better computed in the norm. What only
    widens its operand or fills it up, or does little more, waits, too: its readers may load what is less.
    `tile` is how many rows of one factor read an element of the other at once.

    With `far`, for targets where results go through the memory of a device and not a cache, more is computed
    again to keep results out of it: factors of products may be widened, from bytes to halves, again for each
    tile, a small kernel is computed again by all that read it, where they wait for their memory longer than
    that takes, and reductions over a few elements are written out where that lets them be computed again,
    or join a reduction of rows, such as a sum over experts a norm. A result that cannot join what reads it,
    at other places, is not stored where that reader makes it of what is stored beside it, and of inputs.
    Axes of one point are left out, so that kernels over the same elements walk equal spaces.
    Columns of at most `column` elements are walked again where they are reduced, since a program holds them;
    rows of any length are. What makes the terms of a long sum joins it, whatever else it stores, since
    `split-reductions` makes parts of both.
    What several programs would each compute for themselves, such as keys of attention for each block of
    rows, is written where that takes longer. Running sums join what reads them, and what reduces or sorts
    the same rows; where one kernel reads from the end what another makes, as in the gradient of a running
    sum, one walks backwards. What reads a part of sorted or scanned rows walks them whole, under a mask.
    Results that nobody reads are not stored, with any options.

    Two ways: an elementwise producer is **inlined** (recomputed at each load, whatever the
    subscripts), or both kernels are **merged** into one iteration space, where nothing is
    recomputed, reductions are allowed and the producer may keep its result. Inlining wins
    where the result has no other reader, or where recomputing costs less than the memory
    traffic that it saves; a refusal is a remark with its reason.
    """

    name = "fuse"

    max_ops: int = 256
    max_inputs: int = 32
    hold_back: bool = False
    tile: int = 1
    far: bool = False
    column: int = NEAR

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in defined_functions(op):
            Fuser.of(function.body.block, self).run()


@dataclass
class Fuser:
    """Fuses kernels of one block."""

    block: Block
    options: FusePass
    bodies: Bodies
    together: SizesTogether
    hold_back: bool
    held_back: bool = False

    @classmethod
    def of(cls, block: Block, options: FusePass) -> Fuser:
        """With nothing known of the kernels yet."""
        far = options.far
        bodies = Bodies(scans_join=far, column=options.column, parts=far, far=far)
        return cls(block, options, bodies, SizesTogether(bodies), options.hold_back)

    def run(self) -> None:
        self._walk()
        if self.held_back:
            self.hold_back = False
            self._walk()
        for kernel in [op for op in self.block.ops if isinstance(op, KernelOp)]:
            if self.options.far:
                drop_unit_axes(kernel)
            simplify_body(kernel)
            if any(result.first_use is not None for result in kernel.results):
                drop_unread(kernel)

    def _walk(self) -> None:
        op = self.block.first_op
        while op is not None:
            if isinstance(op, KernelOp):
                op = self._fuse_producers(op)
            op = op.next_op

    def _fuse_producers(self, consumer: KernelOp) -> KernelOp:
        """Fuse as many producers as possible; returns the kernel that stands there then."""
        refused: dict[SSAValue, str] = {}
        shared: list[OpResult] = []
        while rewrites_left() and (value := self._next_of(consumer, refused)) is not None:
            decides = not value.op.operands and isinstance(element_type_of(value), IntegerType)
            if isinstance(result := self.fuse(value, consumer), str):
                refused[value] = result
                if not only_reader(value, consumer):
                    shared.append(value)
            else:
                count_rewrite(consumer, "fused with a producer")
                if decides or result is not consumer:
                    self._tidy(result, decides)
                consumer = result
                while shared and only_reader(shared[-1], consumer):
                    refused.pop(shared.pop())  # its other readers are part of this kernel now
        for value, why in refused.items() if remarks_wanted() else ():
            skip(consumer, f"not fused with the kernel of {_place(value)}: {why}", value)
        return consumer

    def _next_of(self, consumer: KernelOp, refused: Collection[SSAValue]) -> OpResult | None:
        """The next result to fuse: that of the shortest kernel where not all fit, so that few are left."""
        waiting = [
            (v, v.op)
            for v in operands_of(consumer)
            if isinstance(v, OpResult) and isinstance(v.op, KernelOp) and v not in refused
        ]
        if len(waiting) > 1:
            ops = {kernel: self.bodies.of(kernel).ops for _, kernel in waiting}
            if sum(ops.values()) + self.bodies.of(consumer).ops > self.options.max_ops:
                waiting.sort(key=lambda made: ops[made[1]])
        return waiting[0][0] if waiting else None

    def fuse(self, value: OpResult, consumer: KernelOp) -> KernelOp | str:
        """The kernel that makes `value` and reads it, or why there is none."""
        producer = value.op
        assert isinstance(producer, KernelOp)
        if (why := self._too_big(producer, consumer)) is not None:
            return why
        if self.options.far and reads_what_changes(value, consumer):
            return "it reads what the scatter that reads it changes, which could not be done in place"
        if self.hold_back and (why := waits(producer, consumer, self.bodies, self.options.tile)) is not None:
            self.held_back = True
            return why
        if only_reader(value, consumer) and (merged := self._merge_plainly(producer, consumer)) is not None:
            return merged
        self._drop_checks(producer, consumer)
        memory = Memory(self.options.tile, self.options.far)
        why_not_inline = compute_again(value, consumer, self.bodies, memory)
        if why_not_inline is None:
            return self._inlined(producer, consumer)
        merged = merge_matched(producer, consumer, self.bodies)
        if isinstance(merged, str) and memory.far:
            if compute_written_out(value, consumer, self.bodies, memory):
                return self._inlined(producer, consumer)
            merged = merge_written_out(producer, consumer, self.bodies, self._too_big) or merged
            if isinstance(merged, str):
                merged = merge_stretched(producer, consumer, self.bodies, self._too_big) or merged
            if isinstance(merged, str) and compute_instead(value, consumer, self.bodies, memory):
                return self._inlined(producer, consumer)
        return f"{why_not_inline}; {merged}" if isinstance(merged, str) else merged

    def _drop_checks(self, producer: KernelOp, consumer: KernelOp) -> None:
        """Drop checks that cannot fail of what a product is about to read: its tiles check nothing."""
        product = self.options.far and self.bodies.of(consumer).contraction is not None
        if product and drop_checks(producer):
            self.bodies.changed(producer)

    def _tidy(self, merged: KernelOp, decides: bool) -> None:
        """Leave one of equal ops where there are many, which all that follows would walk over.

        Also less work where an integer that became known `decides` choices, as that to divide by does.
        """
        if decides or self.bodies.of(merged).ops > self.options.max_ops:
            simplify_body(merged)
            self.bodies.changed(merged)

    def _inlined(self, producer: KernelOp, consumer: KernelOp) -> KernelOp:
        """Tidy up where `consumer` computes a result of `producer` now."""
        consumer.attributes[NAME] = fused_name(producer, consumer)
        drop_unread(producer)
        if remove_divisions(consumer):
            simplify_body(consumer)
        self.bodies.changed(consumer)
        return consumer

    def _too_big(self, producer: KernelOp, consumer: KernelOp) -> str | None:
        inputs = len({*operands_of(producer), *operands_of(consumer)}) - 1
        if inputs > (limit := self.options.max_inputs):
            return f"the kernel would read {inputs} tensors, max-inputs is {limit}"
        ops = self.bodies.of(producer).ops + self.bodies.of(consumer).ops
        limit = self.options.max_ops
        if ops > limit and (ops := self.together.of(producer, consumer)) > limit:
            return f"the kernel would have {ops} ops, max-ops is {limit}"
        return None

    def _merge_plainly(self, producer: KernelOp, consumer: KernelOp) -> KernelOp | None:
        """Merge two kernels that walk the same space already, which is cheaper than copying ops."""
        found = plain_match(producer, consumer, self.bodies)
        if found is None or drawback(producer, consumer, self.bodies, found) is not None:
            return None
        sunk = users_to_sink(producer, consumer)
        return None if isinstance(sunk, str) else merge(producer, consumer, self.bodies, found, sunk)


def _place(value: SSAValue) -> str:
    owner = value.owner
    return str(owner.location) if isinstance(owner, Operation) else "an argument"
