"""duplicate-results: kernels store twice what would be copied, into a concatenation or to be returned."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from tilewright.dialects.index_expr import ZERO, product
from tilewright.dialects.ir_access import defined_functions
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.dialects.tw.view import ConcatOp
from tilewright.dialects.types import sizes_of

from ..kernels.body import combined_axes
from ..memory.layouts import Layout, dense, overlaps_itself, same_strides
from ..memory.returned import Returned, returned_by
from ..memory.views import behind, is_view, keeps_elements, layout_behind, layout_shown, part_layout
from ..rewrite import may_rewrite, skip
from .second_stores import store_of, stored_again, take_operands, viewed


@dataclass(frozen=True)
class DuplicateResultsPass(ModulePass):
    """Let a kernel store a result twice that goes into a concatenation and elsewhere, or is returned twice.

    Before:
        %h = tk.kernel [8] ins(%x : tensor<8xf32>) -> (tensor<8xf32>) {... tk.store %v, %o[d0] ...}
        %all = tw.concat %h, %y dim 0 : (tensor<8xf32>, tensor<8xf32>) -> tensor<16xf32>
        func.return %h, %all
    After:
        %h, %h1 = tk.kernel [8] ins(%x : tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
            {... tk.store %v, %o[d0] ... tk.store %v, %o1[d0] ...}
        %all = tw.concat %h1, %y dim 0 : (tensor<8xf32>, tensor<8xf32>) -> tensor<16xf32>
        func.return %h, %all

    `bufferize` places the second into the concatenation, where a launch would have read the first and copied
    it. Left alone is what bufferize places there anyway: what nobody else reads, or what others can read
    there since the part is contiguous. So is what no strides can place there, and what is added up in memory.
    A result that must not share memory with another one (`tw.memory` of other numbers) is stored again where
    the first one lies as it does. With `turned`, for targets whose tiles store rows and columns alike, it may
    lie otherwise, as its transpose does, unless the kernel reduces: what holds rows for their sums would
    store each element of them far from the others.
    """

    name = "duplicate-results"

    turned: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in defined_functions(op):
            _Duplication(function, self.turned).run()


class _Duplication:
    """What one function's results have as places of their own, as far as it was walked."""

    def __init__(self, function: FuncOp, turned: bool) -> None:
        self.turned = turned
        self.block: Block = function.body.block
        self.returned = returned_by(function)
        self.placed: set[SSAValue] = set()
        """What is returned, or lies in a concatenation."""
        self.placed.update(self.returned)

    def run(self) -> None:
        for op in list(self.block.ops):
            if isinstance(op, ConcatOp):
                self._concat(op)
            elif isinstance(op, ReturnOp):
                self._return(op)

    def _concat(self, op: ConcatOp) -> None:
        contiguous = product(sizes_of(op.result)[: op.dim.value.data]).constant == 1
        sources = [behind(value, keeps_elements) for value in op.inputs]
        copied = [n for n, (root, _) in enumerate(sources) if self._is_copied(root, contiguous)]
        if not copied:
            return
        starts, whole = op.starts, dense(sizes_of(op.result))
        parts = {n: part_layout(op, n, starts[n], whole) for n in copied}
        chosen = [n for n in copied if _may_lie_there(op, *sources[n], parts[n])]
        if not chosen or not may_rewrite(op, "parts are stored twice"):
            return
        inputs = list(op.inputs)
        for number in chosen:
            root, views = sources[number]
            inputs[number] = viewed(stored_again(root), views, op)
        take_operands(op, inputs)

    def _is_copied(self, root: SSAValue, contiguous: bool) -> bool:
        """Whether `root` is computed by a kernel, but not into the concatenation."""
        if not isinstance(root.owner, KernelOp):
            return False
        if root in self.placed or not (contiguous or _is_read_once(root)):
            return True
        self.placed.add(root)
        return False

    def _return(self, op: ReturnOp) -> None:
        arguments = list(op.arguments)
        for root, results in self.returned.items():
            for group in _apart(op, results, self.turned) if isinstance(root.owner, KernelOp) else ():
                if not may_rewrite(op, "a result is stored twice"):
                    return
                again = stored_again(root)
                for result in group:
                    arguments[result.position] = viewed(again, result.views, op)
        take_operands(op, arguments)


def _apart(op: ReturnOp, results: Sequence[Returned], turned: bool) -> Iterator[list[Returned]]:
    """Groups of results that share no memory with those of the first number, and can be stored again."""
    groups: dict[int | None, list[Returned]] = {}
    for result in results:
        groups.setdefault(result.memory, []).append(result)
    first = next((number for number in groups if number is not None), None)
    if first is None:
        return
    layout, root = _layout_of(groups.pop(first)), results[0].root
    for group in groups.values():
        alike = layout is not None and all(_lies_in(layout, result) for result in group)
        if not alike and not (turned and _may_turn(root, group)):
            skip(op, "a result is copied: it does not lie as another one of the same elements", root)
        elif store_of(root) is None:
            skip(op, "a result is copied: its kernel stores it element by element", root)
        else:
            yield group


def _may_turn(root: SSAValue, group: Sequence[Returned]) -> bool:
    """Whether the kernel may store the group in a layout of its own, beside others in theirs."""
    layout = _layout_of(group)
    if layout is None or not all(_lies_in(layout, result) for result in group):
        return False
    assert isinstance(root.owner, KernelOp)
    return not any(combined_axes(op) for op in root.owner.body.block.ops)


def _layout_of(group: Sequence[Returned]) -> Layout | None:
    """The layout that what the results are views of must have; None if no result has all of it."""
    for result in group:
        found = layout_behind(result.views, Layout(ZERO, sizes_of(result.value), result.strides))
        if found is not None and not overlaps_itself(found.sizes, found.strides):
            return found
    return None


def _lies_in(layout: Layout, result: Returned) -> bool:
    """Whether the result can be a view of what has this layout."""
    found = layout_shown(result.views, layout)
    return found is not None and same_strides(found.sizes, found.strides, result.strides)


def _is_read_once(root: SSAValue) -> bool:
    """Whether a single op reads it, directly or through views."""
    if not root.has_one_use():
        return False
    (use,) = root.uses
    return not is_view(use.operation) or _is_read_once(use.operation.results[0])


def _may_lie_there(op: ConcatOp, root: SSAValue, views: Sequence[Operation], part: Layout) -> bool:
    if layout_behind(views, part) is None:
        skip(op, "a part is copied: what reshapes it would move elements", root)
        return False
    if store_of(root) is None:
        skip(op, "a part is copied: its kernel stores it element by element where indices say", root)
        return False
    return True
