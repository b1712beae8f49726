"""Which axes two kernels have in common that read one tensor, and which kernels are asked."""

from __future__ import annotations

import pytest
from tk_harness import parse

from tilewright.dialects.tk.kernels import KernelOp
from tilewright.passes.fusion.contents import Bodies
from tilewright.passes.reductions.read_alike import axes_read_alike, earlier_readers

X = "tensor<6x4xf32>"


def kernels(*read: str, space: str = "6, 4") -> list[KernelOp]:
    """Kernels over `space`, each of which sums what it loads of `%x` at one of `read` to one element."""
    text = "".join(
        f"""%r{i} = tk.kernel [{space}] ins(%x : {X}) -> (tensor<f32>) {{
        ^bb0(%a: {X}, %o: tensor<f32>):
          %0 = tk.load %a[{subscripts}] : {X} -> f32
          %1 = tk.reduce add %0 over [0, 1] : f32
          tk.store %1, %o[] : f32, tensor<f32>
        }}\n"""
        for i, subscripts in enumerate(read)
    )
    names = ", ".join(f"%r{i}" for i in range(len(read)))
    types = ", ".join("tensor<f32>" for _ in read)
    module = parse(f"func.func @main(%x: {X}) -> ({types}) {{\n{text}func.return {names} : {types}\n}}")
    return [op for op in module.walk() if isinstance(op, KernelOp)]


@pytest.mark.parametrize(
    ("space", "first", "second", "axes"),
    [
        ("6, 4", "d0, d1", "d0, d1", {0: 0, 1: 1}),
        ("6, 4", "d0, 2", "d0, 2", {0: 0}),
        ("6, 4", "d0, 2", "d0, d1", None),
        ("5, 4", "d0, d1", "d0 + 1, d1", None),
        ("4, 4", "d0, d1", "d1, d0", {0: 1, 1: 0}),
        ("4, 4", "d0, d0", "d0, d1", None),
        ("4, 4", "d0, d1", "d0, d0", None),
        ("5, 4", "d0, d1", "d1, d0", None),
    ],
)
def test_axes(space: str, first: str, second: str, axes: dict[int, int] | None) -> None:
    one, other = kernels(first, second, space=space)
    assert axes_read_alike(one.operands[0], one, other, Bodies()) == axes


ROWS, LIST = "tensor<6x4xf32>", "tensor<12xf32>"


@pytest.mark.parametrize(
    ("first", "second", "axes"),
    [
        ("d0*2 + d2", "d0*2 + d2", {0: 0, 1: 1, 2: 2}),
        ("d0 + d2*6", "d0*2 + d2", None),
        ("d0*2", "d0*2", None),
    ],
)
def test_an_axis_by_which_both_read_another_tensor(
    first: str, second: str, axes: dict[int, int] | None
) -> None:
    text = "".join(
        f"""%r{i} = tk.kernel [6, 4, 2] ins(%x, %y : {ROWS}, {LIST}) -> (tensor<6x4x2xf32>) {{
        ^bb0(%a: {ROWS}, %b: {LIST}, %o: tensor<6x4x2xf32>):
          %0 = tk.load %a[d0, d1] : {ROWS} -> f32
          %1 = tk.load %b[{place}] : {LIST} -> f32
          %2 = arith.addf %0, %1 : f32
          tk.store %2, %o[d0, d1, d2] : f32, tensor<6x4x2xf32>
        }}\n"""
        for i, place in enumerate((first, second))
    )
    types = "tensor<6x4x2xf32>, tensor<6x4x2xf32>"
    module = parse(
        f"func.func @main(%x: {ROWS}, %y: {LIST}) -> ({types}) {{\n{text}func.return %r0, %r1 : {types}\n}}"
    )
    one, other = (op for op in module.walk() if isinstance(op, KernelOp))
    assert axes_read_alike(one.operands[0], one, other, Bodies()) == axes


def test_readers_stand_before_and_read_most_of_what_they_walk() -> None:
    first, second, third = kernels("d0, d1", "d0, d1", "d0, d1")
    (x,) = third.operands
    assert earlier_readers(third, [x]) == [(second, x), (first, x)]
    assert earlier_readers(first, [x]) == earlier_readers(third, []) == []
    few = kernels("0, d0 mod 4", "0, d0 mod 4", space="50, 1")
    assert earlier_readers(few[1], list(few[1].operands)) == []
