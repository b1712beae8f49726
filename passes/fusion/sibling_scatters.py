"""Kernels that scatter one list, to a tensor each: one may walk the list for both."""

from __future__ import annotations

from xdsl.ir import SSAValue

from tilewright.dialects.tk.domain import Axes, axes_of_exprs
from tilewright.dialects.tk.kernels import KernelOp

from ..kernels.body import loads_of
from ..memory.views import behind
from .contents import Bodies, Contents
from .in_place import changed_by
from .match import Match


def scatter_together(value: SSAValue, first: KernelOp, second: KernelOp, bodies: Bodies) -> bool:
    """Whether both scatter what lies along the same axes, and read `value` along these."""
    if not bodies.scatters_join or first.space != second.space:
        return False
    one, other = bodies.of(first), bodies.of(second)
    axes = _listed(one)
    if axes is None or axes != _listed(other) or one.reduced != other.reduced:
        return False
    return _reads_all(value, axes, first, second)


def scattered_match(first: KernelOp, second: KernelOp, bodies: Bodies, same: dict[int, int]) -> Match | str:
    """The space of one kernel that does what both do; `same` axes are those of both."""
    for scatter, other in ((first, second), (second, first)):
        changed = changed_by(scatter)
        if any(behind(operand)[0] in changed for operand in other.operands):
            return "one reads what the other one changes in place"
    return Match(same, first.space, bodies.of(first).reduced)


def _listed(contents: Contents) -> Axes | None:
    """The axes of the list that a kernel scatters; None where that is none, or several are."""
    found = {frozenset(store.over) for store in contents.stores if store.scatters}
    return (found.pop() or None) if len(found) == 1 else None


def _reads_all(value: SSAValue, axes: Axes, *kernels: KernelOp) -> bool:
    """Whether each kernel has a load of `value` that varies over all of `axes`."""
    for kernel in kernels:
        source = kernel.sources[list(kernel.operands).index(value)]
        if not any(axes <= axes_of_exprs(load.subscripts) for load in loads_of(source)):
            return False
    return True
