"""What fusion takes ops, sizes and reads to cost."""

from __future__ import annotations

import pytest
from tk_harness import parse
from xdsl.ir import Operation

from tilewright.dialects.index_expr import parse_exprs
from tilewright.dialects.tk.access import LoadOp
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.passes.fusion import cost

KERNEL = """func.func @f(%p: tensor<8x64xf16>, %q: tensor<8x64xi64>, %s: tensor<i64>) -> tensor<f32> {{
  %r = tk.kernel [8, 64] ins(%p, %q, %s : tensor<8x64xf16>, tensor<8x64xi64>, tensor<i64>) -> (tensor<f32>) {{
  ^bb0(%a: tensor<8x64xf16>, %b: tensor<8x64xi64>, %c: tensor<i64>, %o: tensor<f32>):
    %one = arith.constant 1.0 : f32
    %h = tk.load %a[d0, d1] : tensor<8x64xf16> -> f16
    %n = tk.load %b[d0, d1] : tensor<8x64xi64> -> i64
    %x = arith.extf %h : f16 to f32
    %three = arith.constant 3 : i64
    %four = arith.constant 4 : i64
    %minus = arith.constant -2 : i64
    %v = {op}
    tk.store %one, %o[] : f32, tensor<f32>
  }}
  func.return %r : tensor<f32>
}}"""
ORDERED = (
    ("arith.truncf %x : f32 to f16", "arith.constant 3 : i64", "tk.load %b[d0, 0] : tensor<8x64xi64> -> i64"),
    ("arith.addf %x, %one : f32", "math.absf %x : f32", "math.floor %x : f32", "arith.muli %n, %n : i64"),
    (
        "arith.divsi %n, %four : i64",
        "arith.remsi %n, %minus : i64",
        "arith.divf %one, %x : f32",
        "math.sqrt %x : f32",
        "math.rsqrt %x : f32",
    ),
    ("arith.divsi %n, %three : i64", "arith.remsi %n, %three : i64"),
    ("math.exp %x : f32", "math.tanh %x : f32", "math.erf %x : f32"),
    ("arith.divsi %n, %n : i64", "arith.remsi %n, %n : i64"),
    ("math.powf %x, %one : f32", 'tk.call "fmod"(%x, %one) : f32, f32 -> f32'),
    ("tk.random %n, %n : f32",),
)
"""Each costs as much as the others of its row, and more than those of the rows above."""


def body_with(op: str) -> list[Operation]:
    (kernel,) = (o for o in parse(KERNEL.format(op=op)).walk() if isinstance(o, KernelOp))
    return list(kernel.body.block.ops)


def test_ops_cost_more_from_row_to_row() -> None:
    rows = [{cost.op_cost(body_with(op)[7]) for op in row} for row in ORDERED]
    assert all(len(row) == 1 for row in rows), rows
    found = [row.pop() for row in rows]
    assert found == sorted(set(found))
    assert found[:2] == [0, 1]


@pytest.mark.parametrize(("op", "more", "converted"), [("math.exp %x : f32", 15, 1), (ORDERED[0][0], 0, 2)])
def test_bodies_cost_what_their_ops_do(op: str, more: int, converted: int) -> None:
    """Loads, constants and conversions nothing; a store is one op."""
    ops = body_with(op)
    assert cost.body_cost(ops) == more + 1
    assert cost.conversions(ops) == converted
    assert (cost.body_cost([]), cost.conversions([])) == (0, 0)


SIZES: dict[str, tuple[str, int]] = {
    "number": ("", 1),
    "static": ("4, 5", 20),
    "empty": ("4, 0, s0", 0),
    "symbolic": ("s0, 3", 3 * cost.SYMBOL_GUESS),
    "sum": ("s0 + s1 + 1", 2 * cost.SYMBOL_GUESS + 1),
    "less than one": ("7, s0 floordiv 1000", 7),
}


@pytest.mark.parametrize(("sizes", "wanted"), SIZES.values(), ids=SIZES)
def test_sizes_are_counted(sizes: str, wanted: int) -> None:
    """No element where a size is 0; at least one of symbols, whatever their guess would leave."""
    assert cost.count(parse_exprs(sizes)) == wanted


def test_one_size_is_never_negative_by_a_guess() -> None:
    assert [cost.extent(e) for e in parse_exprs("0, 9, s0 - 300, s0*2")] == [0, 9, 1, 2 * cost.SYMBOL_GUESS]


SPACE = parse_exprs("4, s0, 3")
READS: dict[str, tuple[str, set[int]]] = {
    "nothing": ("", set()),
    "number": ("0, 3", set()),
    "symbol": ("s0 - 1", set()),
    "some": ("d2, d2 + d0*3", {0, 2}),
    "inside a division": ("d1 floordiv 4", {1}),
    "cancelled": ("d1 - d1 + d0", {0}),
    "gathered": ("i0, 2", {0, 1, 2}),
}


@pytest.mark.parametrize(("subscripts", "axes"), READS.values(), ids=READS)
def test_values_are_needed_once_for_each_place_of_their_axes(subscripts: str, axes: set[int]) -> None:
    read = parse_exprs(subscripts)
    assert cost.axes_read(read, SPACE) == axes
    assert cost.evaluations(read, SPACE) == cost.count([SPACE[a] for a in axes])


@pytest.mark.parametrize(
    ("place", "axes"),
    [("d0, d1", [1]), ("d1, d0 + 3", [0]), ("d0, d1*2", []), ("d1, d1", []), ("0, d0 + d1", [0, 1]),
     ("d0, d1 floordiv 2", []), ("d0, 63 - d1", []), ("d1 floordiv 8, d1", []), ("", [])],
)  # fmt: skip
def test_neighbours_are_read_along_an_axis(place: str, axes: list[int]) -> None:
    """One by one in the last dimension, with the others held."""
    read = f"%b[{place}] : tensor<8x64xi64>" if place else "%c[] : tensor<i64>"
    load = body_with(f"tk.load {read} -> i64")[7]
    assert isinstance(load, LoadOp)
    assert [axis for axis in range(2) if cost.is_contiguous(load, axis)] == axes
