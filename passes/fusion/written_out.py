"""Reductions over a few elements, written out: without any, what reads a kernel can compute it again."""

from __future__ import annotations

from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.dialects.tk.kernels import KernelOp

from ..kernels.unroll import few_terms, ops_unrolled, unroll

_MOST_OPS = 192


def axes_to_write_out(kernel: KernelOp) -> tuple[int, ...] | None:
    """Those over which all reductions go, of few elements, if that leaves few ops."""
    axes = few_terms(kernel)
    return None if axes is None or ops_unrolled(kernel, axes) > _MOST_OPS else axes


def written_out(kernel: KernelOp) -> KernelOp | None:
    """A copy of `kernel` without its reductions, which stands before it, if there is one."""
    if (axes := axes_to_write_out(kernel)) is None:
        return None
    copy = kernel.clone()
    unroll(copy, axes)
    Rewriter.insert_op(copy, InsertPoint.before(kernel))
    return copy


def use_results(used: KernelOp, instead_of: KernelOp) -> None:
    """Let all that read one of two equal kernels read the other."""
    for old, new in zip(instead_of.results, used.results, strict=True):
        old.replace_all_uses_with(new)
