"""Kernels without the results that nobody reads any more."""

from __future__ import annotations

from xdsl.ir import OpResult
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.dialects.tk.kernels import KernelOp

from ..kernels.body import simplify_body, store_to
from ..rewrite import take_results
from .merge import drop_destinations


def drop_unread(kernel: KernelOp) -> None:
    """Leave out what nobody reads of what `kernel` stores, or all of it."""
    if all(result.first_use is None for result in kernel.results):
        Rewriter.erase_op(kernel)
        return
    unread = {r for r in kernel.results if r.first_use is None and store_to(kernel.destinations[r.index])}
    if not unread:
        return
    kept: list[OpResult] = [result for result in kernel.results if result not in unread]
    drop_destinations(kernel, unread)
    smaller = KernelOp.create(
        operands=kernel.operands,
        result_types=[result.type for result in kept],
        properties=kernel.properties,
        attributes=kernel.attributes,
        regions=[kernel.detach_region(kernel.body)],
    )
    smaller.location = kernel.location
    Rewriter.insert_op(smaller, InsertPoint.before(kernel))
    take_results(smaller, kept)
    Rewriter.erase_op(kernel)
    simplify_body(smaller)
