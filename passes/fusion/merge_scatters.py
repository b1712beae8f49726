"""merge-scatters: scatters that combine with one target, one after the other, are one kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import OpResult, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.dialects.ir_access import defined_functions
from tilewright.dialects.tk.access import LoadOp, StoreOp
from tilewright.dialects.tk.kernels import KernelOp

from ..kernels.body import merge_equal_inputs, simplify_body
from ..kernels.naming import NAME, fused_name
from ..rewrite import insert_arguments, may_rewrite, skip, take_results

_ORDERED = "any"
"""How a store combines where the later one of two scatters must win."""


@dataclass(frozen=True)
class MergeScattersPass(ModulePass):
    """Let one kernel store what several scatter to one target, where they walk equal spaces.

    Before:
        %s = tk.kernel [9, 6] ins(%t, %i, %v : ...) -> (tensor<9xf32>) {
          %0 = tk.load %a[d0] ...
          tk.store %0, %o[d0] ...
          ...
          tk.store %3, %o[i0](%2) combine add ...
        }
        %r = tk.kernel [9, 6] ins(%s, %j, %w : ...) -> (tensor<9xf32>) {...}
    After:
        %r = tk.kernel [9, 6] ins(%t, %i, %v, %j, %w : ...) -> (tensor<9xf32>) {
          %0 = tk.load %a[d0] ...
          tk.store %0, %o[d0] ...
          ...
          tk.store %3, %o[i0](%2) combine add ...
          tk.store %6, %o[i0](%5) combine add ...
        }

    The gradient of an image of which samples are weighted means of four pixels is four such scatters: in one
    kernel what they add is computed where it is added, from one element of the gradient. For targets that
    combine in memory, in any order. Runs before `fuse`, which would find four readers of that element.
    """

    name = "merge-scatters"

    max_inputs: int = 32
    """Of a kernel: it shall not read more for this."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in defined_functions(op):
            for kernel in list(function.body.block.ops):
                if isinstance(kernel, KernelOp):
                    _absorb_first(kernel, self.max_inputs)


@dataclass(frozen=True)
class _Scatter:
    """A kernel that fills its only result by one plain store and then combines with it."""

    kernel: KernelOp
    fill: StoreOp
    combine: str
    """How each of the stores behind does."""


def _absorb_first(kernel: KernelOp, max_inputs: int) -> None:
    """Put the stores of the kernel that makes what `kernel` scatters to in front of its own."""
    second = _scatter_of(kernel)
    target = None if second is None else _copied(second)
    if second is None or not isinstance(target, OpResult) or not isinstance(target.op, KernelOp):
        return
    if (first := _scatter_of(target.op)) is None:
        return
    if (why := _refusal(first, second, target, max_inputs)) is not None:
        skip(kernel, f"not one kernel with the scatter before it: {why}", target)
    elif may_rewrite(kernel, "one kernel with the scatter before it"):
        _merge(first, second)


def _scatter_of(kernel: KernelOp) -> _Scatter | None:
    stores = [op for op in kernel.body.block.ops if isinstance(op, StoreOp)]
    if len(kernel.results) != 1 or len(stores) < 2:
        return None
    fill, *later = stores
    kinds = {None if op.combine is None else op.combine.data for op in later}
    if fill.scatters or fill.mask is not None or len(kinds) > 1:
        return None
    (kind,) = kinds
    return None if kind is None else _Scatter(kernel, fill, kind)


def _copied(scatter: _Scatter) -> SSAValue | None:
    """The operand that a kernel copies first, and of which it reads nothing else."""
    load, kernel = scatter.fill.value.owner, scatter.kernel
    if not isinstance(load, LoadOp) or len(load.operands) > 1 or load.subscripts != scatter.fill.subscripts:
        return None
    if not load.result.has_one_use() or not load.buffer.has_one_use():
        return None
    return kernel.operands[list(kernel.sources).index(load.buffer)]


def _refusal(first: _Scatter, second: _Scatter, target: SSAValue, max_inputs: int) -> str | None:
    if not target.has_one_use():
        return "its result has other readers"
    if first.combine != second.combine:
        return f"one combines by `{first.combine}`, the other one by `{second.combine}`"
    if first.combine == _ORDERED:
        return "of two values for one place the later one must remain"
    if first.kernel.space != second.kernel.space:
        return "they walk different spaces"
    inputs = len({*first.kernel.operands, *second.kernel.operands}) - 1
    if inputs > max_inputs:
        return f"the kernel would read {inputs} tensors, max-inputs is {max_inputs}"
    return None


def _merge(first: _Scatter, second: _Scatter) -> None:
    """The body of `first`, then that of `second` without its copy, where `second` stands."""
    before, kernel = first.kernel, second.kernel
    copied = second.fill.value.owner
    assert isinstance(copied, LoadOp)
    others = [v for v in kernel.operands if v.owner is not before]
    merged = KernelOp.create(
        operands=[*before.operands, *others],
        result_types=kernel.result_types,
        properties=kernel.properties,
        attributes={**before.attributes, **kernel.attributes, NAME: fused_name(before, kernel)},
        regions=[before.detach_region(before.body)],
    )
    merged.location = kernel.location
    body = merged.body.block
    own = insert_arguments(body, len(before.operands), [v.type for v in others])
    for op in (second.fill, copied):
        Rewriter.erase_op(op)
    _rename(kernel, before, own, merged.destinations[0])
    for op in list(kernel.body.block.ops):
        op.detach()
        body.add_op(op)
    Rewriter.insert_op(merged, InsertPoint.before(kernel))
    take_results(merged, list(kernel.results))
    for op in (kernel, before):
        Rewriter.erase_op(op, safe_erase=False)
    merge_equal_inputs(merged)
    simplify_body(merged)


def _rename(kernel: KernelOp, before: KernelOp, own: Sequence[SSAValue], result: SSAValue) -> None:
    """Let what `kernel` computes use the arguments of the merged kernel."""
    arguments = iter(own)
    for operand, source in zip(list(kernel.operands), list(kernel.sources), strict=True):
        if operand.owner is not before:
            source.replace_all_uses_with(next(arguments))
    kernel.destinations[0].replace_all_uses_with(result)
