"""compute-where-read: what several kernels read is not stored where to make it again is less to move."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from tilewright.dialects.ir_access import defined_functions
from tilewright.dialects.tk.domain import axes_of_exprs
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.dialects.types import bytes_of, element_type_of, sizes_of

from ..kernels.body import loads_apart, loads_of
from ..kernels.chains import find_chain
from ..rewrite import may_rewrite, skip
from .computed_again import inline_everywhere
from .contents import Bodies
from .cost import count, evaluations
from .in_place import reads_what_changes
from .repeats import computed, size_in_bytes
from .vanishing import can_be_made_again, readers_of


@dataclass(frozen=True)
class ComputeWhereReadPass(ModulePass):
    """Leave out kernels whose results all readers can make of the inputs, if less is read and written then.

    Before (messages along edges, of which two kernels read a half each):
        %m = tk.kernel [16384, 128] ins(%x, %i, %f : ...) -> (tensor<16384x128xf32>) {... x[i] * f ...}
        %a = tk.kernel [64, 2048, 16384] ins(%m, %j) {... tk.load %0[d2, d0] ... combine add ...}
        %b = tk.kernel [64, 64, 16384] ins(%m, %k) {... tk.load %0[d2, d0 + 64] ... combine add ...}
    After:
        %a = tk.kernel [64, 2048, 16384] ins(%x, %i, %f, %j) {... x[i] * f ... combine add ...}
        %b = tk.kernel [64, 64, 16384] ins(%x, %i, %f, %k) {... x[i] * f ... combine add ...}

    Runs behind all that makes one kernel of those that read and those that make it: before that, what is read
    twice might still be made in one place. Left alone is what a result or a product reads, but for what
    chained products read once (queries that are scaled), and what is more work than there is time for while
    memory is read.
    """

    name = "compute-where-read"

    tile: int = 128
    max_ops: int = 256
    max_inputs: int = 32

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in defined_functions(op):
            bodies = Bodies(far=True)
            kernels = [op for op in function.body.block.ops if isinstance(op, KernelOp)]
            for kernel in reversed(kernels):
                if (readers := _readers(kernel)) and _moves_less(kernel, readers, self.tile):
                    self._leave_out(kernel, readers, bodies)

    def _leave_out(self, kernel: KernelOp, readers: Sequence[KernelOp], bodies: Bodies) -> None:
        if (why := self._refusal(kernel, readers, bodies)) is not None:
            skip(kernel, f"stored for those that read it: {why}")
        elif may_rewrite(kernel, "made where it is read"):
            inline_everywhere(kernel, readers, bodies)

    def _refusal(self, kernel: KernelOp, readers: Sequence[KernelOp], bodies: Bodies) -> str | None:
        if not can_be_made_again(kernel, bodies, self.tile):
            return "one of them cannot make it, or has no time to"
        for reader in readers:
            if bodies.of(kernel).ops + bodies.of(reader).ops > self.max_ops:
                return f"one of them would have more than {self.max_ops} ops"
            if len({*kernel.operands, *reader.operands}) - 1 > self.max_inputs:
                return f"one of them would read more than {self.max_inputs} tensors"
            if any(reads_what_changes(v, reader) for v in kernel.results if v in reader.operands):
                return "one of them changes in place what it is made of"
        return None


def _readers(kernel: KernelOp) -> list[KernelOp]:
    """Those that read its results; none where something else does, too, or chained products as no factor."""
    found = readers_of(kernel)
    readers = [op for op in found if isinstance(op, KernelOp) and _may_compute(op, kernel)]
    return readers if len(readers) == len(found) else []


def _may_compute(reader: KernelOp, kernel: KernelOp) -> bool:
    """Whether `reader` is no chain of products, or reads what `kernel` makes as a factor that programs hold.

    Of what they go along, a copy from memory overlaps with what is multiplied. A list of blocks is a tensor.
    What is made of several tensors, as by a norm's weights, would be read as matrix units want it: in pieces.
    """
    chain = find_chain(reader.body.block)
    if chain is None:
        return True
    if sum(any(axes_of_exprs(load.subscripts) for load in loads_of(s)) for s in kernel.sources) > 1:
        return False
    read = [s for v, s in zip(reader.operands, reader.sources, strict=True) if v.owner is kernel]
    axes = [axes_of_exprs(load.subscripts) for source in read for load in loads_of(source)]
    multiplied, steps = {f.axis for f in chain.inner}, {chain.along, *chain.around}
    return all(not multiplied.isdisjoint(a) and steps.isdisjoint(a) for a in axes)


def _moves_less(kernel: KernelOp, readers: Sequence[KernelOp], tile: int) -> bool:
    """Whether its readers have clearly less to read than it, what it writes, and what they read of that.

    What it reads at several places, as terms of a sum that is written out, each of their programs reads as
    often.
    """
    inputs = dict(zip(kernel.operands, kernel.sources, strict=True))
    loads = {value: _bytes_apart(source, kernel) for value, source in inputs.items()}
    touched = {value: min(size_in_bytes(value), sum(loads[value])) for value in inputs}
    again = sum(sum(places) - max(places, default=0) for places in loads.values())
    now, then = float(sum(map(size_in_bytes, kernel.results))) + sum(touched.values()), 0.0
    for reader in readers:
        part = times = 0.0
        for value, source in zip(reader.operands, reader.sources, strict=True):
            if value.owner is kernel:
                read, size = sum(_bytes_apart(source, reader)), size_in_bytes(value)
                now += min(read, size)
                part = max(part, min(1.0, read / max(1, size)))
                made = sum(computed(load, reader, tile) for load in loads_of(source))
                times = max(times, made / max(1, count(sizes_of(value))))
        new = sum(read for value, read in touched.items() if value not in reader.operands)
        then += part * new + times * again
    return then * 10 <= now * 9


def _bytes_apart(source: SSAValue, kernel: KernelOp) -> list[int]:
    """Bytes that are loaded of a tensor, for each place at which a point reads it."""
    element = bytes_of(element_type_of(source))
    return [evaluations(load.subscripts, kernel.space) * element for load in loads_apart(source)]
