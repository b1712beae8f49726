"""Which products of a kernel go on from each other, and additions put in their order."""

from __future__ import annotations

import pytest
from xdsl.dialects import arith
from xdsl.parser import Parser

from tilewright.dialects.registry import new_context
from tilewright.dialects.tk.compute import ReduceOp
from tilewright.dialects.tk.contraction import Contraction, find_products
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.passes.kernels.running_sums import running_sums
from tilewright.passes.products.join_products import add_products_first

X, W, R = "tensor<8x4xf32>", "tensor<4x6xf32>", "tensor<8x6xf32>"


def products(after: str) -> tuple[Contraction, ...]:
    """Three of a kernel, %s0 to %s2, beside %r, which is read; `after` makes %v of them."""
    sums = "".join(
        f"""%x{i} = tk.load %a[d0, d{i + 2}] : {X} -> f32
        %w{i} = tk.load %b[d{i + 2}, d1] : {W} -> f32
        %m{i} = arith.mulf %x{i}, %w{i} : f32
        %s{i} = tk.reduce add %m{i} over [{i + 2}] : f32
        """
        for i in range(3)
    )
    text = f"""func.func @main(%x: {X}, %w: {W}, %y: {R}) -> {R} {{
      %z = tk.kernel [8, 6, 4, 4, 4] ins(%x, %w, %y : {X}, {W}, {R}) -> ({R}) {{
      ^bb0(%a: {X}, %b: {W}, %c: {R}, %o: {R}):
        {sums}
        %r = tk.load %c[d0, d1] : {R} -> f32
        {after}
        tk.store %v, %o[d0, d1] : f32, {R}
      }}
      func.return %z : {R}
    }}"""
    module = Parser(new_context(), text).parse_module()
    kernel = next(op for op in module.walk() if isinstance(op, KernelOp))
    return find_products(kernel.body.block)


def lengths(found: tuple[Contraction, ...]) -> list[int]:
    return sorted(map(len, running_sums(found).values()))


@pytest.mark.parametrize(
    ("after", "tiles"),
    [
        ("%p = arith.addf %s0, %s1 : f32\n%v = arith.addf %p, %s2 : f32", [3]),
        ("%p = arith.addf %s2, %s1 : f32\n%v = arith.addf %s0, %p : f32", [3]),
        ("%p = arith.addf %s0, %s1 : f32\n%v = arith.mulf %p, %s2 : f32", [1, 2]),
        (
            "%p = arith.addf %s0, %s1 : f32\n%q = arith.mulf %p, %s1 : f32\n%v = arith.addf %q, %s2 : f32",
            [1, 1, 1],
        ),
        ("%p = arith.subf %s0, %s1 : f32\n%v = arith.addf %p, %s2 : f32", [1, 1, 1]),
    ],
)
def test_tiles_of_sums(after: str, tiles: list[int]) -> None:
    """One that something else reads as well is a tile of its own, and so is what is no addition."""
    assert lengths(products(after)) == tiles


def test_products_are_added_first() -> None:
    found = products(
        "%p = arith.addf %r, %s0 : f32\n%q = arith.addf %p, %s1 : f32\n%v = arith.addf %q, %s2 : f32"
    )
    assert lengths(found) == [1, 1, 1]
    add_products_first(found)
    (total,) = running_sums(found)
    (use,) = total.uses
    assert isinstance(use.operation, arith.AddfOp)
    assert not any(isinstance(value.owner, ReduceOp) for value in use.operation.operands)
