"""accumulate-products: a library's product is added to what is there, by the same call."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, IntAttr, ModuleOp, f32, f64
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from tilewright.dialects.index_expr import Expr
from tilewright.dialects.tk.access import LoadOp, StoreOp
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.dialects.tw.aten import ArgAttr, AtenOp
from tilewright.dialects.tw.linalg import MatmulOp
from tilewright.dialects.tw.view import ReshapeOp
from tilewright.dialects.types import element_type_of, rank_of, sizes_of

from ..driver import Rewrite, apply_rules
from ..kernels.dense_order import accessed, dense_order
from ..kernels.folding import number_of
from ..kernels.naming import NAME
from ..rewrite import skip


@dataclass(frozen=True)
class AccumulateProductsPass(ModulePass):
    """Let `aten::addmm` or `aten::baddbmm` add a product where a kernel did nothing else.

    Before:
        %p = tw.matmul %a, %b : (tensor<64x8xf32>, tensor<8x32xf32>) -> tensor<64x32xf32>
        %q = tw.matmul %c, %d : (tensor<64x4xf32>, tensor<4x32xf32>) -> tensor<64x32xf32>
        %s = tk.kernel [64, 32] ins(%p, %q : tensor<64x32xf32>, tensor<64x32xf32>) -> (tensor<64x32xf32>)
            {... tk.load %p[d0, d1] ... tk.load %q[d0, d1] ... arith.addf ... tk.store %0, %o[d0, d1] ...}
    After:
        %p = tw.matmul %a, %b : (tensor<64x8xf32>, tensor<8x32xf32>) -> tensor<64x32xf32>
        %s = tw.aten "aten::addmm"(%p, %c, %d) {args = [#tw.arg<0>, #tw.arg<1>, #tw.arg<2>, 1.0, 1.0]}
            : (tensor<64x32xf32>, tensor<64x8xf32>, tensor<8x32xf32>) -> tensor<64x32xf32>

    So are gradients of what several products read. BLAS defines a product as `C := alpha A B + beta C`.
    `plan-memory` gives the sum the place of what it begins with, if nothing else reads that: no product is
    stored to be read again, and a launch is saved. Where it stays, ATen copies it first: as much is launched,
    read and stored then as by a kernel that adds.

    Left alone are sums of which two terms are no products, what does more than add, factors of 0, by which
    the library takes nothing to be read, and products of halves, which a kernel of ours adds up.
    """

    name = "accumulate-products"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_rules(op, {KernelOp: (_accumulate,)}, self.name)


@dataclass(frozen=True)
class _Term:
    """`factor` times all of a tensor."""

    value: SSAValue
    factor: float

    @property
    def product(self) -> MatmulOp | None:
        """The product that it is, if nothing else reads that."""
        owner = self.value.owner
        if not isinstance(owner, MatmulOp) or owner.bias is not None or rank_of(self.value) > _MOST:
            return None
        return owner if self.value.has_one_use() else None


_MOST = 3
"""Dimensions of products that the library adds up: one of batches."""


def _accumulate(op: Operation, rw: Rewrite) -> SSAValue | None:
    assert isinstance(op, KernelOp)
    terms = _terms_of(op)
    if terms is None or not any(term.product for term in terms):
        return None
    others = [term for term in terms if term.product is None]
    plain = [term for term in others or terms if term.factor == 1]
    if len(others) > 1:
        return skip(op, "not added by a library: two of its terms are no products")
    if not plain:
        return skip(op, "not added by a library: what it begins with has a factor")
    total = plain[0].value
    for term in terms:
        if term is not plain[0] and (product := term.product) is not None:
            start = _reshaped(total, sizes_of(product.result), rw)
            total = rw.value(_added(start, product, term.factor), like=product)
    return _reshaped(total, sizes_of(op.results[0]), rw)


def _added(start: SSAValue, product: MatmulOp, factor: float) -> AtenOp:
    callee = "aten::addmm" if rank_of(product.result) == 2 else "aten::baddbmm"
    factors = (FloatAttr(1.0, f64), FloatAttr(factor, f64))
    args = (*(ArgAttr(IntAttr(number)) for number in range(3)), *factors)
    return AtenOp(callee, (start, product.lhs, product.rhs), args, (product.result.type,))


def _reshaped(value: SSAValue, sizes: Sequence[Expr], rw: Rewrite) -> SSAValue:
    return value if sizes_of(value) == tuple(sizes) else rw.value(ReshapeOp(value, sizes))


# What a kernel adds up


def _terms_of(kernel: KernelOp) -> list[_Term] | None:
    """The terms of a sum of tensors, each of which lies as the sum does; None if it does anything else."""
    store = kernel.body.block.last_op
    if len(kernel.results) != 1 or kernel.attributes.keys() - {NAME} or not isinstance(store, StoreOp):
        return None
    if element_type_of(kernel.results[0]) not in (f32, f64) or store.combine is not None:
        return None
    order = dense_order(kernel, store)
    terms: list[_Term] = []
    for value, factor in _addends(store.value, 1.0):
        load = value.owner
        if not isinstance(load, LoadOp) or factor == 0 or not value.has_one_use():
            return None
        if element_type_of(value) != element_type_of(kernel.results[0]) or dense_order(kernel, load) != order:
            return None
        terms.append(_Term(accessed(kernel, load), factor))
    return terms if order is not None and len(terms) > 1 else None


def _addends(value: SSAValue, factor: float) -> Iterable[tuple[SSAValue, float]]:
    """What is added up to `factor` times `value`, each with its own factor."""
    match value.owner:
        case arith.AddfOp() as total if value.has_one_use():
            yield from _addends(total.lhs, factor)
            yield from _addends(total.rhs, factor)
        case arith.SubfOp() as difference if value.has_one_use():
            yield from _addends(difference.lhs, factor)
            yield from _addends(difference.rhs, -factor)
        case arith.MulfOp() as scaled if value.has_one_use() and (pair := _scale(scaled)) is not None:
            yield from _addends(pair[0], factor * pair[1])
        case _:
            yield value, factor


def _scale(op: arith.MulfOp) -> tuple[SSAValue, float] | None:
    """What a product multiplies by a number, and the number."""
    pairs = ((value, number_of(other)) for value, other in (op.operands, op.operands[::-1]))
    return next(((value, number) for value, number in pairs if number is not None), None)
