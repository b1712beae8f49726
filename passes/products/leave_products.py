"""leave-products: large products of halves that nothing joined are a library's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from tilewright.dialects.index_expr import Expr, product
from tilewright.dialects.index_expr.shapes import static_product
from tilewright.dialects.tk.access import LoadOp, StoreOp
from tilewright.dialects.tk.contraction import Contraction, find_contraction
from tilewright.dialects.tk.domain import Axes
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.dialects.tw.linalg import MatmulOp
from tilewright.dialects.tw.view import ReshapeOp, TransposeOp
from tilewright.dialects.types import element_type_of, is_half, sizes_of

from ..driver import Rewrite, apply_rules
from ..kernels.dense_order import accessed, dense_order
from ..kernels.naming import NAME
from ..rewrite import skip

_Order = tuple[int, ...]
"""Axes, slowest first."""

_LEAST = 1 << 31
"""Multiplications that are worth a call of a library (docs/decisions/gpu-products.md)."""


@dataclass(frozen=True)
class LeaveProductsPass(ModulePass):
    """Make a kernel that is nothing but a product of halves, and large, a call of a library.

    Before:
        %r = tk.kernel [4, 512, 1024, 4096] ins(%x, %w : tensor<4x512x4096xbf16>, tensor<1024x4096xbf16>)
            -> (tensor<2048x1024xbf16>) {... tk.reduce add %p over [3] {tk.factors = bf16} ...}
    After:
        %a = tw.reshape %x : tensor<4x512x4096xbf16> -> tensor<2048x4096xbf16>
        %b = tw.transpose %w by [1, 0] : tensor<1024x4096xbf16> -> tensor<4096x1024xbf16>
        %r = tw.matmul %a, %b : (tensor<2048x4096xbf16>, tensor<4096x1024xbf16>) -> tensor<2048x1024xbf16>

    A kernel of ours saves what is stored between a product and its neighbours, and the time that a library
    takes to be called. Where neither counts, the library's is the faster one until a clock says otherwise,
    and nothing is to be compiled. Such a product has `least` multiplications of numbers. Left alone are those
    with neighbours in their kernel, and whose factors, or what they store, are no dense matrices.
    """

    name = "leave-products"

    least: int = _LEAST

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_rules(op, {KernelOp: (lambda kernel, rw: _leave(kernel, rw, self.least),)}, self.name)


def _leave(kernel: Operation, rw: Rewrite, least: int) -> SSAValue | None:
    assert isinstance(kernel, KernelOp)
    found = _of_library(kernel, least)
    if isinstance(found, str):
        return skip(kernel, found)
    return None if found is None else _call(kernel, rw, *found)


def is_left(kernel: KernelOp) -> bool:
    """Whether `kernel` is one that this pass, with its defaults, makes a call of a library."""
    return isinstance(_of_library(kernel, _LEAST), tuple)


def _of_library(kernel: KernelOp, least: int) -> tuple[_Parts, _Roles] | str | None:
    """The large product that `kernel` is; or why it is more than that."""
    found = find_contraction(kernel.body.block)
    if found is None or (static_product(kernel.space) or 0) < least:
        return None
    parts = _parts(kernel, found)
    if parts is None:
        return "its product has neighbours in the kernel"
    for sides in (parts, parts.turned()):
        if (roles := _roles(kernel, sides)) is not None:
            return sides, roles
    return "a factor of its product, or what it stores, is no dense matrix"


@dataclass(frozen=True)
class _Parts:
    """All that a product reads and writes."""

    left: LoadOp
    right: LoadOp
    bias: LoadOp | None
    store: StoreOp
    rows: Axes
    columns: Axes

    def turned(self) -> _Parts:
        """As `result^T = right^T left^T` has it."""
        return _Parts(self.right, self.left, self.bias, self.store, self.columns, self.rows)


def _parts(kernel: KernelOp, found: Contraction) -> _Parts | None:
    """None where the kernel does more than multiply, add a row and round."""
    store = kernel.body.block.last_op
    if len(kernel.results) != 1 or kernel.attributes.keys() - {NAME} or not isinstance(store, StoreOp):
        return None
    left, right = (_loaded(kernel, factor) for factor in (found.left, found.right))
    rounded = store.value.owner
    if left is None or right is None or store.combine is not None or not isinstance(rounded, arith.TruncFOp):
        return None
    total, bias = rounded.input, None
    if isinstance(total.owner, arith.AddfOp):
        total, added = total.owner.operands
        if (bias := _loaded(kernel, added)) is None:
            return None
    if total is not found.reduce.result:
        return None
    return _Parts(left, right, bias, store, found.rows, found.columns)


def _loaded(kernel: KernelOp, value: SSAValue) -> LoadOp | None:
    """What loads a half of the result's type that is widened to `value`."""
    widened = value.owner
    load = widened.input.owner if isinstance(widened, arith.ExtFOp) else None
    half = element_type_of(kernel.results[0])
    return load if isinstance(load, LoadOp) and is_half(half) and load.result.type == half else None


@dataclass(frozen=True)
class _Roles:
    """What axes are to a product, and whether a factor has its last two groups the other way round."""

    batch: _Order
    rows: _Order
    columns: _Order
    over: _Order
    left_turned: bool
    right_turned: bool


def _roles(kernel: KernelOp, parts: _Parts) -> _Roles | None:
    """None where a tensor is not dense, is not all that is addressed of it, or has axes in another order."""
    left, right, result = (dense_order(kernel, access) for access in (parts.left, parts.right, parts.store))
    if left is None or right is None or result is None:
        return None
    rows = tuple(a for a in left if a in parts.rows)
    columns = tuple(a for a in right if a in parts.columns)
    over = tuple(a for a in left if a not in result)
    batch = tuple(a for a in left if a not in rows + over)
    left_turned, right_turned = left == (*batch, *over, *rows), right == (*batch, *columns, *over)
    if not left_turned and left != (*batch, *rows, *over):
        return None
    if not right_turned and right != (*batch, *over, *columns):
        return None
    if result != (*batch, *rows, *columns):
        return None
    if parts.bias is not None and dense_order(kernel, parts.bias) != columns:
        return None
    return _Roles(batch, rows, columns, over, left_turned, right_turned)


# The call


def _call(kernel: KernelOp, rw: Rewrite, parts: _Parts, roles: _Roles) -> SSAValue:
    def matrix(access: LoadOp, first: _Order, second: _Order, turned: bool) -> SSAValue:
        if not turned:
            return grouped(access, first, second)
        found = grouped(access, second, first)
        rank = len(sizes_of(found))
        return rw.value(TransposeOp(found, (*range(rank - 2), rank - 1, rank - 2)))

    def grouped(access: LoadOp, *groups: _Order) -> SSAValue:
        """The tensor with one dimension per group of axes, one for batches where there are some."""
        wanted = (roles.batch, *groups) if roles.batch and len(groups) > 1 else groups
        return reshaped(accessed(kernel, access), [product(kernel.space[a] for a in axes) for axes in wanted])

    def reshaped(value: SSAValue, sizes: Sequence[Expr]) -> SSAValue:
        return value if sizes_of(value) == tuple(sizes) else rw.value(ReshapeOp(value, sizes))

    left = matrix(parts.left, roles.rows, roles.over, roles.left_turned)
    right = matrix(parts.right, roles.over, roles.columns, roles.right_turned)
    bias = None if parts.bias is None else grouped(parts.bias, roles.columns)
    return reshaped(rw.value(MatmulOp(left, right, bias)), sizes_of(kernel.results[0]))
