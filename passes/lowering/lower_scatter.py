"""Scatters as kernels: the target is copied, then values are stored at loaded positions, in order."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import f32, f64, i32, i64
from xdsl.ir import Operation, SSAValue

from tilewright.dialects.attribute_facts import ints
from tilewright.dialects.index_expr import Expr, dim, gathered, product
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.dialects.tw.indexing import Combine, ScatterAddOp, ScatterAlongOp, ScatterOp
from tilewright.dialects.types import element_type_of, sizes_of

from ..kernels.kernel_builder import KernelBuilder
from ..rewrite import skip

SCATTERS = (ScatterOp, ScatterAddOp, ScatterAlongOp)
_Found = tuple[SSAValue, SSAValue]
"""A position, and whether it lies within the target."""


def scatter_becomes_kernel(op: Operation) -> bool:
    """Whether `op` is a scatter whose target has elements: positions are checked where there are any."""
    if not isinstance(op, SCATTERS):
        return False
    if product(sizes_of(op.target)).constant == 0:
        skip(op, "no kernel: nothing can be written to a target without elements")
        return False
    return True


_WIDE = (f32, f64, i32, i64)
_ATOMIC = {"any": None, "add": _WIDE, "max": _WIDE, "min": _WIDE}
"""What GPUs combine in memory, and of which types (None: all)."""


def combines_at_once(op: Operation, halves: Sequence[str] = ()) -> bool:
    """Whether threads of a GPU may do what a scatter does, at once and in any order.

    `halves` are those that it adds in memory.
    """
    kind, element = _combination(op) or "any", element_type_of(op.results[0])
    types = _ATOMIC.get(kind, ())
    if types is None or element in types or (kind == "add" and str(element) in halves):
        return True
    skip(op, f"no kernel: devices do not combine elements of {element} by `{kind}` in memory")
    return False


def _combination(op: Operation) -> str | None:
    """What a scatter does with the old element; None where it replaces it."""
    if isinstance(op, ScatterAlongOp):
        return None if op.combine.data is Combine.NONE else op.combine.data.value
    return "add" if isinstance(op, ScatterAddOp) else None


def lower_scatter(op: Operation, *, at_once: bool) -> KernelOp:
    """Axes: those of the target, then those of the indices that are none of the target's.

    Where iterations run `at_once`, any of the values for one place may remain, not only the last.
    """
    combine = _combination(op) or ("any" if at_once else None)
    if isinstance(op, ScatterAlongOp):
        return _along(op, combine)
    assert isinstance(op, ScatterOp | ScatterAddOp)
    target, index = sizes_of(op.target), sizes_of(op.indices[0])
    b = KernelBuilder(op.location, (*target, *index), op.operands, op.result_types)
    dims, at = ints(op.dims), op.at.value.data
    places = b.axes[len(target) :]
    wraps = op.strict is None
    found = [b.checked_index(b.load(2 + j, places), target[d], wraps=wraps) for j, d in enumerate(dims)]
    kept = [dim(d) for d in range(len(target)) if d not in dims]
    subscripts = [gathered(dims.index(d)) if d in dims else dim(d) for d in range(len(target))]
    values = (*kept[:at], *places, *kept[at:])
    return _finish(b, (1, values), subscripts, found, places, combine)


def _along(op: ScatterAlongOp, combine: str | None) -> KernelOp:
    """Where the index is as large as the target, both have one axis."""
    target, index, along = sizes_of(op.target), sizes_of(op.index), op.dim.value.data
    own = [d for d, size in enumerate(index) if d == along or size != target[d]]
    space = (*target, *(index[d] for d in own))
    b = KernelBuilder(op.location, space, op.operands, op.result_types)
    places = [dim(len(target) + own.index(d)) if d in own else dim(d) for d in range(len(index))]
    found = [b.checked_index(b.load(1, places), target[along], wraps=False)]
    subscripts = [gathered(0) if d == along else place for d, place in enumerate(places)]
    return _finish(b, (2, places), subscripts, found, b.axes[len(target) :], combine)


def _finish(
    b: KernelBuilder,
    values: tuple[int, Sequence[Expr]],
    subscripts: Sequence[Expr],
    found: Sequence[_Found],
    over: Sequence[Expr],
    combine: str | None,
) -> KernelOp:
    """Copy the target, then write `values`, an input and its subscripts, `over` axes that only they have.

    All places may be one, and all values: what is stored then varies over none of them.
    """
    rank = len(subscripts)
    b.store(b.load(0, b.axes[:rank]), b.axes[:rank])
    inside = b.all_true([ok for _, ok in found])
    dynamic = [at for at, _ in found]
    b.store(b.load(*values), subscripts, dynamic=dynamic, mask=inside, combine=combine, over=over)
    return b.kernel
