"""merge-products: a sum of matrix products is one product of all their rows and columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from tilewright.dialects.attribute_facts import ints
from tilewright.dialects.tw.elementwise_binary import AddOp
from tilewright.dialects.tw.linalg import MatmulOp
from tilewright.dialects.tw.view import ConcatOp, TransposeOp
from tilewright.dialects.types import element_type_of, is_half, sizes_of

from ..driver import Rewrite, apply_rules
from ..fusion.cost import count
from ..rewrite import skip


@dataclass(frozen=True)
class MergeProductsPass(ModulePass):
    """Multiply joined factors once, instead of adding up the products of each pair.

    Before:
        %a = tw.matmul %x, %u : (tensor<64x2xf32>, tensor<2x48xf32>) -> tensor<64x48xf32>
        %b = tw.matmul %y, %v : (tensor<64x3xf32>, tensor<3x48xf32>) -> tensor<64x48xf32>
        %s = tw.add %a, %b : tensor<64x48xf32>
    After:
        %l = tw.concat %x, %y dim 1 : (tensor<64x2xf32>, tensor<64x3xf32>) -> tensor<64x5xf32>
        %r = tw.concat %u, %v dim 0 : (tensor<2x48xf32>, tensor<3x48xf32>) -> tensor<5x48xf32>
        %s = tw.matmul %l, %r : (tensor<64x5xf32>, tensor<5x48xf32>) -> tensor<64x48xf32>

    The gradient of a weight that each step of a recurrence uses is such a sum. What else is added, is added
    afterwards. Left alone are products that others read, too, and factors that are longer than the
    products: to join them would move more than is saved. So are `apart` products of halves or fewer, where
    one kernel adds up so many (`join-products`).
    """

    name = "merge-products"

    apart: int = 0

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_rules(op, {AddOp: (partial(_merge, apart=self.apart),)}, self.name)


def _merge(op: Operation, rw: Rewrite, apart: int) -> SSAValue | None:
    assert isinstance(op, AddOp)
    if _is_inner(op):
        return None
    products: list[MatmulOp] = []
    others: list[SSAValue] = []
    for term in _terms(op):
        owner = term.owner
        if isinstance(owner, MatmulOp) and _may_join(owner, products):
            products.append(owner)
        else:
            others.append(term)
    if len(products) < 2:
        return None
    if (why := _drawback(products, apart)) is not None:
        skip(op, why)
        return None
    products = _ordered(products)
    lhs = _joined(rw, [p.lhs for p in products], 1)
    rhs = _joined(rw, [p.rhs for p in products], 0)
    total = rw.value(MatmulOp(lhs, rhs), like=products[0])
    for other in others:
        total = rw.value(AddOp(other, total))
    return total


def _is_inner(op: AddOp) -> bool:
    """Whether all that reads the sum is another sum, whose term it is."""
    return op.result.has_one_use() and isinstance(next(iter(op.result.uses)).operation, AddOp)


def _terms(op: AddOp) -> list[SSAValue]:
    """What a tree of additions adds up, in order."""
    found: list[SSAValue] = []
    todo = [*reversed(op.operands)]
    while todo:
        value = todo.pop()
        if isinstance(owner := value.owner, AddOp) and value.has_one_use():
            todo += reversed(owner.operands)
        else:
            found.append(value)
    return found


def _may_join(op: MatmulOp, products: Sequence[MatmulOp]) -> bool:
    plain = op.bias is None and not op.widens and len(sizes_of(op.result)) == 2
    return plain and op.result.has_one_use() and op not in products


def _drawback(products: Sequence[MatmulOp], apart: int) -> str | None:
    """Factors are read and written once more; products are neither written nor read, but one."""
    if len(products) <= apart and is_half(element_type_of(products[0].lhs)):
        return f"products stay apart: one kernel adds up {apart} of halves"
    moved = 2 * sum(count(sizes_of(factor)) for p in products for factor in (p.lhs, p.rhs))
    saved = 2 * (len(products) - 1) * count(sizes_of(products[0].result))
    if moved >= saved:
        return f"products stay apart: to join their factors moves {moved} elements and saves {saved}"
    return None


def _ordered(products: list[MatmulOp]) -> list[MatmulOp]:
    """In the order in which someone joins factors of theirs anyway, so that both can share that."""
    for values in ([p.lhs for p in products], [p.rhs for p in products]):
        pieces = _pieces(values) or values
        for use in pieces[0].uses:
            if isinstance(joined := use.operation, ConcatOp) and {*joined.inputs} == {*pieces}:
                place = {value: number for number, value in enumerate(joined.inputs)}
                by_place = sorted(zip(pieces, products, strict=True), key=lambda pair: place[pair[0]])
                return [product for _, product in by_place]
    return products


def _joined(rw: Rewrite, values: Sequence[SSAValue], dim: int) -> SSAValue:
    """One matrix of several; of transposed ones a transposed one."""
    pieces = _pieces(values)
    if pieces is None:
        return rw.value(ConcatOp(values, dim))
    return rw.value(TransposeOp(rw.value(ConcatOp(pieces, 1 - dim)), (1, 0)))


def _pieces(values: Sequence[SSAValue]) -> list[SSAValue] | None:
    """What the matrices are transposes of, if all are."""
    owners = [value.owner for value in values]
    found = [o.source for o in owners if isinstance(o, TransposeOp) and tuple(ints(o.perm)) == (1, 0)]
    return found if len(found) == len(values) else None
