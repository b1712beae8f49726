"""passes/schedule/loops/dot.py: along which axis products of halves go in groups."""

from __future__ import annotations

import pytest
from tk_harness import parse

from tilewright.dialects.tk.contraction import find_contraction
from tilewright.dialects.tk.kernels import FuncOp
from tilewright.passes.schedule.loops.dot import group_axis


def axis_of(right: str, *, element: str = "bf16", group: int = 2) -> int | None:
    """Of a product of 8 rows by 32 columns (axes 0, 1), summed over 16 groups (2) of `group` (3)."""
    factors = [("a", f"d0*{16 * group} + d2*{group} + d3"), ("b", right)]
    loads = "".join(
        f"%{name} = tk.load %{name}s[{at}] : memref<4096x{element}> -> {element}\n"
        + (f"%w{name} = arith.extf %{name} : {element} to f32\n" if element != "f32" else "")
        for name, at in factors
    )
    wide = "" if element == "f32" else "w"
    func = parse(f"""tk.func @f [8, 32, 16, {group}] (%as: memref<4096x{element}>,
        %bs: memref<4096x{element}>, %o: memref<256xf32>) {{
      {loads}
      %0 = arith.mulf %{wide}a, %{wide}b : f32
      %1 = tk.reduce add %0 over [2, 3] : f32
      tk.store %1, %o[d0*32 + d1] : f32, memref<256xf32>
    }}""").body.block.first_op
    assert isinstance(func, FuncOp)
    product = find_contraction(func.body.block)
    assert product is not None
    return group_axis(func, product)


PACKED = "d2*64 + d1*2 + d3"
"""Two of a column beside each other, then those of the next one."""


def test_groups_of_two_that_are_packed() -> None:
    assert axis_of(PACKED) == 3


@pytest.mark.parametrize(
    ("right", "element", "group"),
    [
        ("d2*64 + d3*32 + d1", "bf16", 2),  # rows, as they are
        ("d2*128 + d1*4 + d3", "bf16", 4),  # other groups
        (PACKED, "f32", 2),
        (PACKED, "f16", 2),
    ],
    ids=["rows", "four", "f32", "f16"],
)
def test_what_has_no_groups(right: str, element: str, group: int) -> None:
    assert axis_of(right, element=element, group=group) is None
