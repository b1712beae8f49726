"""duplicate-results: kernels store into a concatenation, too, what it would copy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, OpResult, SSAValue
from xdsl.passes import ModulePass

from tilewright.dialects.index_expr import product
from tilewright.dialects.tk.access import StoreOp
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.dialects.tw.view import ConcatOp, ReshapeOp, TransposeOp
from tilewright.dialects.types import sizes_of

from ..fusion.body import store_to
from ..rewrite import may_rewrite, skip, take_results
from .layouts import Layout, dense
from .views import is_view, part_layout, source_layout


@dataclass(frozen=True)
class DuplicateResultsPass(ModulePass):
    """Let a kernel store a result twice that goes into a concatenation and elsewhere.

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
    """

    name = "duplicate-results"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.ops:
            if isinstance(function, FuncOp) and not function.is_declaration:
                _Duplication(function.body.block).run()


class _Duplication:
    """What one function's results have as places of their own, as far as it was walked."""

    def __init__(self, block: Block) -> None:
        self.block = block
        self.placed: set[SSAValue] = set()
        """What is returned, or lies in a concatenation."""
        if isinstance(ret := block.last_op, ReturnOp):
            self.placed.update(_behind(value, is_view)[0] for value in ret.arguments)

    def run(self) -> None:
        for op in list(self.block.ops):
            if isinstance(op, ConcatOp):
                self._concat(op)

    def _concat(self, op: ConcatOp) -> None:
        contiguous = product(sizes_of(op.result)[: op.dim.value.data]).constant == 1
        sources = [_behind(value, _keeps_elements) for value in op.inputs]
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
            inputs[number] = _viewed(_stored_again(root), views, op)
        _take_inputs(op, inputs)

    def _is_copied(self, root: SSAValue, contiguous: bool) -> bool:
        """Whether `root` is computed by a kernel, but not into the concatenation."""
        if not isinstance(root.owner, KernelOp):
            return False
        if root in self.placed or not (contiguous or _is_read_once(root)):
            return True
        self.placed.add(root)
        return False


def _keeps_elements(op: Operation) -> bool:
    return isinstance(op, ReshapeOp | TransposeOp)


def _behind(value: SSAValue, follows: Callable[[Operation], bool]) -> tuple[SSAValue, list[Operation]]:
    """What `value` is a view of, and the views, the last one first."""
    views: list[Operation] = []
    while isinstance(op := value.owner, Operation) and follows(op):
        views.append(op)
        value = op.operands[0]
    return value, views


def _is_read_once(root: SSAValue) -> bool:
    """Whether a single op reads it, directly or through views."""
    if not root.has_one_use():
        return False
    (use,) = root.uses
    return not is_view(use.operation) or _is_read_once(use.operation.results[0])


def _may_lie_there(op: ConcatOp, root: SSAValue, views: Sequence[Operation], part: Layout) -> bool:
    layout: Layout | None = part
    for view in views:
        layout = None if layout is None else source_layout(view, layout)
    if layout is None:
        skip(op, "a part is copied: what reshapes it would move elements", root)
        return False
    if _store(root) is None:
        skip(op, "a part is copied: its kernel stores it element by element where indices say", root)
        return False
    return True


def _store(result: SSAValue) -> StoreOp | None:
    """The one plain store to a result of a kernel."""
    assert isinstance(result, OpResult)
    kernel = result.op
    assert isinstance(kernel, KernelOp)
    return store_to(kernel.destinations[result.index])


def _stored_again(result: SSAValue) -> SSAValue:
    """Another result of the same kernel with the same elements."""
    kernel, store = result.owner, _store(result)
    assert isinstance(kernel, KernelOp)
    parent = kernel.parent_block()
    assert store is not None
    assert parent is not None
    body = kernel.body.block
    destination = body.insert_arg(result.type, len(body.args))
    again = store.clone()
    again.operands[1] = destination
    body.insert_op_after(again, store)
    made = KernelOp.create(
        operands=kernel.operands,
        result_types=[*kernel.result_types, result.type],
        properties=kernel.properties,
        attributes=kernel.attributes,
        regions=[kernel.detach_region(kernel.body)],
    )
    made.location = kernel.location
    new = made.results[-1]
    new.name_hint = result.name_hint
    parent.insert_op_before(made, kernel)
    take_results(made, [*kernel.results, new])
    kernel.detach()
    kernel.erase()
    return new


def _viewed(value: SSAValue, views: Sequence[Operation], before: Operation) -> SSAValue:
    """The same views of another value."""
    parent = before.parent_block()
    assert parent is not None
    for view in reversed(views):
        copy = view.clone({view.operands[0]: value})
        parent.insert_op_before(copy, before)
        value = copy.results[0]
    return value


def _take_inputs(op: ConcatOp, inputs: Sequence[SSAValue]) -> None:
    """Put them in the place of the old ones, all at once; views that nobody reads then go."""
    old = list(op.inputs)
    op.operands = inputs
    for value in dict.fromkeys(old):
        while not value.uses and isinstance(view := value.owner, Operation) and _keeps_elements(view):
            value = view.operands[0]
            view.detach()
            view.erase()
