"""Recognises matrix products in kernel bodies: a sum of products over shared axes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import UnionType

from xdsl.dialects import arith
from xdsl.ir import Block, Operation, SSAValue

from ..ir_access import operands_of, ops_of
from .access import LoadOp, StoreOp
from .calls import AssertOp
from .compute import ReduceOp
from .domain import REDUCTIONS_AND_SCANS, Axes, axes_of, domains_of, own_axes, reduced_axes

FACTORS = "tk.factors"
"""Attribute of the `tk.reduce` of a product: the type that its factors have in the program, a half or i8."""
OF_TILE = "tk.of_tile"
"""Attribute of what reduces the result of a product in its kernel, along the rows or columns of one tile."""


@dataclass(frozen=True)
class Contraction:
    """`sum over (rows x columns x over) of left * right`.

    `right` does not vary over `rows`, and `left` not over `columns`, unless they are shared; both vary over
    some of `over`, and may repeat along the others. Where rows of the result are reduced as well, `rows` are
    those of a tile.
    """

    reduce: ReduceOp
    product: arith.MulfOp | arith.MuliOp
    left: SSAValue
    right: SSAValue
    rows: Axes
    columns: Axes
    over: Axes
    tile: Axes = frozenset()
    """The rows, or the columns, if those of each tile are reduced."""
    parts: Axes = frozenset()
    """Other axes of the result's rows, or columns, then."""

    def sources(self) -> frozenset[LoadOp]:
        """The loads that feed the product."""
        found: set[LoadOp] = set()
        todo = [self.left, self.right]
        while todo:
            owner = todo.pop().owner
            if isinstance(owner, LoadOp):
                found.add(owner)
            if isinstance(owner, Operation):
                todo.extend(owner.operands)
        return frozenset(found)


def find_contraction(block: Block, *, shared_columns: bool = False) -> Contraction | None:
    """The matrix product of a kernel whose only reduction it is; None for any other kernel.

    Beside it tiles of the result may be reduced (`tk.of_tile`). None also where a store walks along the sum
    again, as in `out[i, j, k] = sum(i, j) * c[k]`, or a check does: tiles do not.
    One of integers is a product only where the reduction has `tk.factors`.

    With `shared_columns` the columns may be axes of both operands, as in a sum of
    `image[row + tap, channel] * weight[tap, channel]` over taps.
    """
    found = _sum_of_products(block)
    if found is None:
        return None
    reduce, product, domains = found
    left, right = product.lhs, product.rhs
    over = frozenset(reduce.over)
    rows, columns = domains[left] - domains[right] - over, domains[right] - domains[left] - over
    if shared_columns and bool(rows) != bool(columns):
        if columns:
            left, right, rows = right, left, columns
        columns = (domains[left] & domains[right]) - over
    if not rows or not columns or _walked_again(block, reduce, StoreOp | AssertOp):
        return None
    return _of_tile(block, Contraction(reduce, product, left, right, rows, columns, over))


def find_products(block: Block) -> tuple[Contraction, ...]:
    """The matrix products of a kernel that reduces nothing else; () for any other.

    Two of them are over the same axes, or have none in common. All have the same rows, columns and batches,
    and none is a factor of another. A single one is that of `find_contraction`.
    """
    reductions = _sums(block)
    if len(reductions) < 2:
        found = find_contraction(block)
        return () if found is None else (found,)
    made, domains = _made_of(block, reductions), domains_of(block)
    products = list[Contraction]()
    for op in reductions:
        factors = _factors(op)
        if not isinstance(op, ReduceOp) or factors is None or factors.lhs is factors.rhs:
            return ()
        left, right = factors.lhs, factors.rhs
        if products and not products[0].rows <= domains[left]:
            left, right = right, left
        over, left_axes, right_axes = frozenset(op.over), domains[left], domains[right]
        if made[left] or made[right] or not over & left_axes & right_axes:
            return ()
        rows, columns = left_axes - right_axes - over, right_axes - left_axes - over
        products.append(Contraction(op, factors, left, right, rows, columns, over))
    if len({domains[p.reduce.result] for p in products}) > 1:
        return ()
    sides = {(p.rows, p.columns) for p in products}
    sums = {p.over for p in products}
    if len(sides) > 1 or not all(map(all, sides)) or len(Axes().union(*sums)) < sum(map(len, sums)):
        return ()
    if any(_walked_again(block, p.reduce, StoreOp | AssertOp) for p in products):
        return ()
    return tuple(_of_tile(block, p) for p in products)


def _made_of(block: Block, reductions: Sequence[Operation]) -> dict[SSAValue, bool]:
    """Whether each value needs the result of one of the reductions."""
    made: dict[SSAValue, bool] = dict.fromkeys(block.args, False)
    for op in ops_of(block):
        needs = op in reductions or any(made[v] for v in operands_of(op))
        made.update(dict.fromkeys(op.results, needs))
    return made


def _of_tile(block: Block, found: Contraction) -> Contraction:
    """The same, told which of its rows or columns are reduced beside it."""
    tile = frozenset(a for op in ops_of(block) if OF_TILE in op.attributes for a in reduced_axes(op))
    if not tile:
        return found
    if tile.isdisjoint(found.columns):
        return replace(found, rows=tile, tile=tile, parts=found.rows - tile)
    return replace(found, columns=tile, tile=tile, parts=found.columns - tile)


def find_matrix_vector(block: Block) -> Contraction | None:
    """The product of a matrix, `right`, and a vector, `left`: a contraction without rows."""
    found = _sum_of_products(block)
    if found is None:
        return None
    reduce, product, domains = found
    left, right = product.lhs, product.rhs
    if domains[right] < domains[left]:
        left, right = right, left
    over = frozenset(reduce.over)
    if domains[left] != over or not over < domains[right] or _walked_again(block, reduce, StoreOp):
        return None
    return Contraction(reduce, product, left, right, frozenset(), domains[right] - over, over)


def _sum_of_products(
    block: Block,
) -> tuple[ReduceOp, arith.MulfOp | arith.MuliOp, dict[SSAValue, Axes]] | None:
    """The only reduction of a kernel, if it adds products of values that vary together along an axis."""
    reductions = _sums(block)
    if len(reductions) != 1 or not isinstance(reduce := reductions[0], ReduceOp):
        return None
    product = _factors(reduce)
    if product is None:
        return None
    if product.lhs is product.rhs:  # a sum of squares
        return None
    domains = {factor: axes_of(factor) for factor in (product.lhs, product.rhs)}
    if not frozenset(reduce.over).intersection(*domains.values()):
        return None
    return reduce, product, domains


def _sums(block: Block) -> list[Operation]:
    """What reduces or scans, and is more than what is done with a tile of a product."""
    ops = ops_of(block)
    return [op for op in ops if type(op) in REDUCTIONS_AND_SCANS and OF_TILE not in op.attributes]


def _factors(op: Operation) -> arith.MulfOp | arith.MuliOp | None:
    """What a sum of products adds up; None of any other reduction."""
    if not isinstance(op, ReduceOp) or op.kind.data != "add":
        return None
    product = op.value.owner
    multiplies = arith.MulfOp | arith.MuliOp if FACTORS in op.attributes else arith.MulfOp
    return product if isinstance(product, multiplies) else None


def _walked_again(block: Block, reduce: ReduceOp, effects: type[Operation] | UnionType) -> bool:
    """Whether one of `effects` walks along the axes of the sum."""
    over, walking = frozenset(reduce.over), set[SSAValue]()
    for op in ops_of(block):
        if type(op) is ReduceOp and frozenset(op.over) == over:
            continue
        if walking.isdisjoint(operands_of(op)) and over.isdisjoint(own_axes(op)):
            continue
        if isinstance(op, effects):
            return True
        walking.update(op.results)
    return False
