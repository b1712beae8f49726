"""Pass `scatter-at-source`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.passes import ModulePass

from tilewright.dialects.index_expr import ONE
from tilewright.dialects.ir_access import defined_functions
from tilewright.dialects.tk.access import LoadOp, StoreOp
from tilewright.dialects.tk.kernels import KernelOp

from ..fusion.contents import Bodies
from ..fusion.drawback import drawback
from ..fusion.in_place import changed_by, reads_what_changes
from ..fusion.match import Match, Undo, counterpart, match
from ..fusion.merge import merge, users_to_sink
from ..kernels.body import loads_of, simplify_body
from ..kernels.chains import find_chain
from ..kernels.facts import Body
from ..memory.views import behind
from ..rewrite import may_rewrite, skip
from .parts_of_sums import reduces_in_parts
from .read_alike import axes_read_alike, earlier_readers


@dataclass(frozen=True)
class ScatterAtSourcePass(ModulePass):
    """Scatter in the kernel that makes what is scattered, so that it is not read again, nor written for that.

    Before (a softmax, whose rows are added up in those of a table):
        %y = tk.kernel [6, 4] ins(%x : tensor<6x4xf32>) -> (tensor<6x4xf32>) {
          ... tk.reduce add %2 over [1] ...
          tk.store %4, %o[d0, d1] : f32, tensor<6x4xf32>
        }
        %r = tk.kernel [9, 4, 6] ins(%t, %i, %y : ...) -> (tensor<9x4xf32>) {
          %0 = tk.load %a[d0, d1] : tensor<9x4xf32> -> f32
          tk.store %0, %o[d0, d1] : f32, tensor<9x4xf32>
          ... tk.load %b[d2, d1] : tensor<6x4xf32> -> f32
          tk.store %3, %o[i0, d1](%2) combine add : f32, tensor<9x4xf32>
        }
    After:
        %r = tk.kernel [9, 4, 6] ins(%x, %t, %i : ...) -> (tensor<9x4xf32>) {
          ... tk.reduce add %2 over [1] ...
          tk.store %5, %o[d0, d1] : f32, tensor<9x4xf32>
          tk.store %4, %o[i0, d1](%6) combine add : f32, tensor<9x4xf32>
        }

    What `fuse` leaves apart: what is made with reductions, beside other results, or for other readers, too.
    Where a kernel stands before that walks a tensor of which it is made, as the gradient of a codebook and of
    what chose from it do, that is read once for both.
    The axes of the target stay those of its copy alone, which `split-scatters` makes a launch of its own.
    Programs of products have no elements of their own to scatter; rows that `split-reductions` would reduce
    in `programs` parts are there only after these.
    """

    name = "scatter-at-source"

    max_ops: int = 256
    max_inputs: int = 32
    programs: int = 256

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in defined_functions(op):
            for kernel in [k for k in function.body.block.ops if isinstance(k, KernelOp)]:
                _Scatter(kernel, self).move()


@dataclass
class _Scatter:
    kernel: KernelOp
    limits: ScatterAtSourcePass
    bodies: Bodies = field(default_factory=Bodies)

    def move(self) -> None:
        """Into every kernel that makes some of what is scattered, and takes that; then beside its readers."""
        refused = set[SSAValue]()
        while (value := self._next(refused)) is not None:
            made = self._into(value)
            if isinstance(made, str):
                skip(self.kernel, f"not scattered where it is made: {made}", value)
                refused.add(value)
            else:
                self.kernel = made
        for reader, value in earlier_readers(self.kernel, self._scattered()):
            made = self._beside(reader, value)
            if isinstance(made, str):
                skip(self.kernel, f"not scattered where it is read: {made}", value)
            else:
                self.kernel = made

    def _scattered(self) -> list[SSAValue]:
        """The operands of which is made what this kernel scatters."""
        stores = [op for op in self.kernel.body.block.ops if isinstance(op, StoreOp) and op.scatters]
        if not stores:
            return []
        body = Body.of(self.kernel.body.block)
        needed = {op for op in body.closure(stores, ()) if isinstance(op, LoadOp)}
        read = zip(self.kernel.operands, self.kernel.sources, strict=True)
        return [value for value, source in read if not needed.isdisjoint(loads_of(source))]

    def _next(self, refused: set[SSAValue]) -> OpResult | None:
        """What a kernel makes and this one scatters."""
        for value in self._scattered():
            if isinstance(value, OpResult) and isinstance(value.op, KernelOp) and value not in refused:
                return value
        return None

    def _beside(self, reader: KernelOp, value: SSAValue) -> KernelOp | str:
        """Scatter where `reader` walks `value`, too; why not."""
        if any(operand.owner is reader for operand in self.kernel.operands):
            return "what it makes of it is read, too"
        axes = axes_read_alike(value, reader, self.kernel, self.bodies)
        if axes is None:
            return "it is read along other axes"
        found = _complete(reader, self.kernel, self.bodies, axes)
        return self._join(reader, reader.results[0], lambda _: found)

    def _into(self, value: OpResult) -> KernelOp | str:
        """Scatter where `value` is made; why not."""
        producer = value.op
        assert isinstance(producer, KernelOp)
        return self._join(
            producer, value, lambda undo: match(producer, self.kernel, self.bodies, undo, _complete)
        )

    def _join(
        self, producer: KernelOp, value: OpResult, find: Callable[[Undo], Match | str]
    ) -> KernelOp | str:
        """One kernel of this one and the one that makes `value`, in the space that is found; why not."""
        kernel = self.kernel
        if (why := self._unfit(value, producer)) is not None:
            return why
        undo: Undo = {}
        found = find(undo)
        sunk = found if isinstance(found, str) else self._moved_behind(producer)
        if isinstance(found, Match) and not isinstance(sunk, str):
            if may_rewrite(kernel, "scattered where it is made"):
                merged = merge(producer, kernel, self.bodies, found, sunk)
                simplify_body(merged)
                self.bodies.changed(merged)
                return merged
        for changed, restore in undo.items():
            restore()
            self.bodies.changed(changed)
        return sunk if isinstance(sunk, str) else "left alone"

    def _unfit(self, value: OpResult, producer: KernelOp) -> str | None:
        """Why the kernel that makes `value` should not scatter it, whatever their axes."""
        of_p, of_k, limits = self.bodies.of(producer), self.bodies.of(self.kernel), self.limits
        if len({*producer.operands, *self.kernel.operands}) - 1 > limits.max_inputs:
            return f"one kernel would read more than {limits.max_inputs} tensors"
        if of_p.ops + of_k.ops > limits.max_ops:
            return f"one kernel would have more than {limits.max_ops} ops"
        if of_p.contraction is not None or find_chain(producer.body.block) is not None:
            return "a product makes it"
        if reads_what_changes(value, self.kernel):
            return "its kernel reads what the scatter changes, which could not be done in place"
        if reduces_in_parts(producer, limits.programs):
            return "its kernel reduces few long rows, in parts"
        return None

    def _moved_behind(self, producer: KernelOp) -> Sequence[Operation] | str:
        """The ops that go behind the one kernel, none of which may read what it changes."""
        sunk = users_to_sink(producer, self.kernel)
        changed = changed_by(self.kernel)
        if not isinstance(sunk, str) and any(behind(v)[0] in changed for op in sunk for v in op.operands):
            return "what the scatter changes is read by others, which would come later"
        return sunk


def _complete(producer: KernelOp, consumer: KernelOp, bodies: Bodies, axes: dict[int, int]) -> Match | str:
    """Each element is made once and scattered once; the producer's other axes are new ones.

    What it reduces may be an axis along which elements are scattered: they are made of the results.
    """
    of_p, of_c = bodies.of(producer), bodies.of(consumer)
    if of_c.over:
        return "the scatter reduces, too"
    runs = Body.of(consumer.body.block).runs
    scattered = {a for op, own in runs.items() if isinstance(op, StoreOp) and op.scatters for a in own}
    space = list(consumer.space)
    for axis, size in enumerate(producer.space):
        if axis not in axes:
            along = axis in of_p.reduced
            place = counterpart(size, consumer, (of_p, of_c), axis, axes, scattered) if along else None
            axes[axis] = len(space) if place is None else place
            space += [size] if place is None else []
    if any(consumer.space[a] != ONE for a in scattered.difference(axes.values())):
        return "each of its elements is scattered several times"
    found = Match(axes, tuple(space), frozenset(axes[a] for a in of_p.reduced))
    return drawback(producer, consumer, bodies, found) or found
