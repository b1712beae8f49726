"""The `join-products` pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.ir import OpResult, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.dialects.ir_access import defined_functions, ops_of
from tilewright.dialects.tk.contraction import FACTORS, Contraction, find_products
from tilewright.dialects.tk.kernels import KernelOp

from ..fusion.join import Frame, join
from ..fusion.merge import put_behind, users_to_sink
from ..kernels.body import erase_unread, simplify_body
from ..kernels.naming import NAME
from ..kernels.running_sums import block_of, running_sums
from ..rewrite import may_rewrite, skip, take_results
from ..schedule.collisions import scatters

_TILES = 2
"""Tiles of sums that registers hold, with what is computed of them."""


@dataclass(frozen=True)
class JoinProductsPass(ModulePass):
    """Make one kernel of products of halves that meet number by number: a tile sums one, then the other.

    Before (the gradient of what two layers multiply by weights of theirs):
        %a = tk.kernel [1024, 768, 512] ins(%g, %v) -> (tensor<1024x768xbf16>)
            {... tk.reduce add %2 over [2] {tk.factors = bf16} ...}
        %b = tk.kernel [1024, 768, 256] ins(%h, %w, %a) -> (tensor<1024x768xbf16>)
            {... %3 = tk.reduce add %2 over [2] {tk.factors = bf16} : f32 ... arith.addf %3, %5 ...}
    After:
        %b = tk.kernel [1024, 768, 512, 256] ins(%g, %v, %h, %w) -> (tensor<1024x768xbf16>) {
          ... %3 = tk.reduce add %2 over [2] ... %7 = tk.reduce add %6 over [3] ... arith.addf %7, %3 ...}

    The result of the first one is not written and read again, nor is there a launch for it; if others read
    it, it is still written. What is added goes on from the sum before (`running_sums.py`): it takes no
    more registers than one product. Left alone are more than `most` products, each of which is a loop to
    compile; more than two tiles of sums that would be held beside each other; those with other rows, columns
    or batches; what a library multiplies (`leave-products`), and what is summed in parts
    (`split-reductions`), both of which ran before.
    """

    name = "join-products"

    most: int = 4

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in defined_functions(op):
            for kernel in [k for k in function.body.block.ops if isinstance(k, KernelOp)]:
                if kernel.parent is not None and _of_halves(kernel):
                    _join_producers(kernel, self.most)


def _of_halves(kernel: KernelOp) -> tuple[Contraction, ...]:
    found = find_products(kernel.body.block)
    plain = not kernel.attributes.keys() - {NAME} and not any(map(scatters, kernel.body.block.ops))
    return found if plain and all(FACTORS in product.reduce.attributes for product in found) else ()


def _join_producers(kernel: KernelOp, most: int) -> None:
    """Take in one product after the other that `kernel` reads."""
    refused = set[OpResult]()
    while (value := _product_read(kernel, refused)) is not None:
        made = _joined(value, kernel, most)
        if isinstance(made, str):
            skip(kernel, f"not one kernel with a product that it reads: {made}", value)
            refused.add(value)
        elif made is None:
            return
        else:
            kernel = made


def _product_read(kernel: KernelOp, refused: set[OpResult]) -> OpResult | None:
    """What `kernel` reads of a product, but as a factor."""
    factors = {load.buffer for product in _of_halves(kernel) for load in product.sources()}
    for value, source in zip(kernel.inputs, kernel.sources, strict=False):
        if isinstance(value, OpResult) and value not in refused and source not in factors:
            if isinstance(value.op, KernelOp) and _of_halves(value.op):
                return value
    return None


def _joined(value: OpResult, kernel: KernelOp, most: int) -> KernelOp | str | None:
    """Both in one kernel, put into place; or why not, None where no more is to be rewritten."""
    producer = value.op
    assert isinstance(producer, KernelOp)
    sunk = users_to_sink(producer, kernel)
    if isinstance(sunk, str):
        return sunk
    frame = Frame(kernel)
    if (why := frame.place_producer(value, kernel)) is not None:
        return why
    kept = [r for r in producer.results if any(use.operation is not kernel for use in r.uses)]
    kept += kernel.results
    made = join((producer, kernel), kept, frame)
    if isinstance(made, str):
        return made
    simplify_body(made)
    if products := _of_halves(made):
        add_products_first(products)
    if (why := _drawback(made, most)) is not None:
        made.erase()
        return why
    if not may_rewrite(kernel, "one kernel with a product that it reads"):
        made.erase()
        return None
    Rewriter.insert_op(made, InsertPoint.before(kernel))
    take_results(made, kept)
    for op in (kernel, producer):
        Rewriter.erase_op(op)
    put_behind(sunk, made)
    return made


def _drawback(made: KernelOp, most: int) -> str | None:
    products = _of_halves(made)
    if len(products) < 2:
        return "a tile does not sum one after the other"
    if len(products) > most:
        return f"there would be {len(products)} products"
    if (tiles := len(running_sums(products))) > _TILES:
        return f"{tiles} tiles of sums would be held"
    return None


def add_products_first(products: Sequence[Contraction]) -> None:
    """Let sums in f32 of several products, and of what else, begin with the products: `(x + a b) + c d`."""
    made = {p.reduce.result for p in products}
    for op in [op for op in ops_of(block_of(products)) if isinstance(op, arith.AddfOp)]:
        if op.result.type != f32 or _inner(op.result) is not None:
            continue
        terms = _terms(op)
        terms.sort(key=lambda value: value not in made)
        total, *others = terms
        if others and others[0] in made:
            for value in others:
                added = arith.AddfOp(total, value)
                added.location = op.location
                Rewriter.insert_op(added, InsertPoint.before(op))
                total = added.result
            op.result.replace_all_uses_with(total)
    erase_unread(block_of(products))


def _terms(op: arith.AddfOp) -> list[SSAValue]:
    """What a tree of additions adds up, in order; additions that nobody else reads are part of it."""
    found: list[SSAValue] = []
    for value in op.operands:
        if isinstance(added := value.owner, arith.AddfOp) and _inner(value) is op:
            found += _terms(added)
        else:
            found.append(value)
    return found


def _inner(value: SSAValue) -> arith.AddfOp | None:
    """The addition that alone reads `value`, and once."""
    if not value.has_one_use():
        return None
    (use,) = value.uses
    return use.operation if isinstance(use.operation, arith.AddfOp) else None
