"""translate --from=stablehlo: its own reference interpreter, which the wheel carries, is the judge."""

from typing import Any

import numpy as np
import pytest

from tilewright.dialects import upstream
from tilewright.dialects.interpreter import interpret
from tilewright.frontend.mlir_import.errors import CannotImport
from tilewright.frontend.mlir_import.text import import_text

pytestmark = pytest.mark.skipif(not upstream.available(), reason="needs the upstream extra")

F = "tensor<3x5xf32>"
STRANGE = np.array(
    [np.nan, np.inf, -np.inf, -0.0, 0.0, 0.5, -1.5, 2.5, 3.0, -2.0, 1e30, 7.0, -7.5, 1.0, -1.0]
)
FLOATS = [STRANGE.reshape(3, 5), np.roll(STRANGE, 4).reshape(3, 5)]
SMALL = [np.linspace(0.1, 0.9, 15).reshape(3, 5), np.linspace(-0.9, 0.8, 15).reshape(3, 5)]


def check(text: str, args: list[Any], *, rtol: float = 2e-6) -> None:
    """Compare with StableHLO's interpreter; the function is @main of static tensors."""
    module = import_text(text, "stablehlo", "test")
    with np.errstate(all="ignore"):
        found = interpret(module, args, np)
    wanted = upstream.evaluate_stablehlo(text, args)
    assert len(found) == len(wanted)
    for own, judge in zip(found, wanted, strict=True):
        assert own.dtype == judge.dtype
        np.testing.assert_allclose(own, judge, rtol=rtol, atol=1e-7)


@pytest.mark.parametrize(
    "name",
    "abs ceil cosine exponential exponential_minus_one floor log log_plus_one logistic negate "
    "round_nearest_even rsqrt sign sine sqrt tan tanh".split(),
)
def test_stablehlo_of_one_float(name: str) -> None:
    text = f"func.func @main(%x: {F}) -> {F} {{ %0 = stablehlo.{name} %x : {F} return %0 : {F} }}"
    check(text, [FLOATS[0].astype(np.float32)])
    check(text, [SMALL[0].astype(np.float32)])


@pytest.mark.parametrize("name", "add subtract multiply divide maximum minimum power remainder atan2".split())
def test_stablehlo_of_two_floats(name: str) -> None:
    text = (
        f"func.func @main(%x: {F}, %y: {F}) -> {F} {{ %0 = stablehlo.{name} %x, %y : {F} return %0 : {F} }}"
    )
    check(text, [v.astype(np.float32) for v in FLOATS])
    check(text, [v.astype(np.float32) for v in SMALL])


@pytest.mark.parametrize("name", "add subtract multiply maximum minimum and or xor divide remainder".split())
@pytest.mark.parametrize("element", ["i8", "i32", "i64"])
def test_stablehlo_of_integers(name: str, element: str) -> None:
    type_, dtype = f"tensor<15x{element}>", np.dtype(f"int{element[1:]}")
    text = f"func.func @main(%x: {type_}, %y: {type_}) -> {type_} "
    text += f"{{ %0 = stablehlo.{name} %x, %y : {type_} return %0 : {type_} }}"
    x = np.array([0, 1, -1, 5, -7, 100, -100, 127, -128, 3, 4, -4, 64, -64, 9], dtype)
    check(text, [x, np.array([3, -3, 2, -2, 7, 5, -5, 127, 127, 1, -1, 9, 2, 3, 4], dtype)])


@pytest.mark.parametrize("direction", ["EQ", "NE", "LT", "LE", "GT", "GE"])
def test_stablehlo_comparisons(direction: str) -> None:
    text = f"""func.func @main(%x: {F}, %y: {F}) -> tensor<3x5xi1> {{
      %0 = stablehlo.compare {direction}, %x, %y : ({F}, {F}) -> tensor<3x5xi1>
      return %0 : tensor<3x5xi1> }}"""
    check(text, [v.astype(np.float32) for v in FLOATS])


GRAPH = """func.func @main(%x: tensor<2x3x5xf32>, %w: tensor<2x4x5xf32>, %p: tensor<i1>)
    -> (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<5x6xf32>, tensor<4x3xi32>, tensor<2x2xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %three = stablehlo.constant dense<3.0> : tensor<f32>
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %d = stablehlo.dot_general %x, %w, batching_dims = [0] x [0], contracting_dims = [2] x [2]
    : (tensor<2x3x5xf32>, tensor<2x4x5xf32>) -> tensor<2x3x4xf32>
  %s = stablehlo.reduce(%d init: %three) applies stablehlo.add across dimensions = [0, 2]
    : (tensor<2x3x4xf32>, tensor<f32>) -> tensor<3xf32>
  %m = stablehlo.reduce(%d init: %low) applies stablehlo.maximum across dimensions = [0, 2]
    : (tensor<2x3x4xf32>, tensor<f32>) -> tensor<3xf32>
  %b = stablehlo.broadcast_in_dim %s, dims = [1] : (tensor<3xf32>) -> tensor<4x3xf32>
  %pad = stablehlo.pad %b, %three, low = [1, -1], high = [0, 4], interior = [0, 0]
    : (tensor<4x3xf32>, tensor<f32>) -> tensor<5x6xf32>
  %i = stablehlo.iota dim = 0 : tensor<4x3xi32>
  %f = stablehlo.convert %i : (tensor<4x3xi32>) -> tensor<4x3xf32>
  %c = stablehlo.clamp %zero, %f, %three : (tensor<f32>, tensor<4x3xf32>, tensor<f32>) -> tensor<4x3xf32>
  %g = stablehlo.select %p, %b, %c : tensor<i1>, tensor<4x3xf32>
  %r = stablehlo.reverse %g, dims = [1] : tensor<4x3xf32>
  %t = stablehlo.transpose %r, dims = [1, 0] : (tensor<4x3xf32>) -> tensor<3x4xf32>
  %q = stablehlo.reshape %t : (tensor<3x4xf32>) -> tensor<2x6xf32>
  %v = stablehlo.slice %q [0:2, 1:6:3] : (tensor<2x6xf32>) -> tensor<2x2xf32>
  return %d, %s, %m, %pad, %i, %v
    : tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<5x6xf32>, tensor<4x3xi32>, tensor<2x2xf32>
}"""


@pytest.mark.parametrize("choice", [False, True])
def test_a_stablehlo_graph(choice: bool) -> None:
    rng = np.random.default_rng(2)
    args = [rng.standard_normal((2, n, 5)).astype(np.float32) for n in (3, 4)]
    check(GRAPH, [*args, np.array(choice)], rtol=1e-5)


JOINED = """func.func @main(%x: tensor<2x3xf32>, %y: tensor<2x1xf32>) -> (tensor<2x6xf32>, tensor<2x6xf32>) {
  %i = stablehlo.iota dim = 1 : tensor<2x2xf32>
  %c = stablehlo.concatenate %x, %y, %i, dim = 1
    : (tensor<2x3xf32>, tensor<2x1xf32>, tensor<2x2xf32>) -> tensor<2x6xf32>
  %r = stablehlo.reverse %c, dims = [0, 1] : tensor<2x6xf32>
  %l = stablehlo.compare LT, %c, %r, FLOAT : (tensor<2x6xf32>, tensor<2x6xf32>) -> tensor<2x6xi1>
  %s = stablehlo.select %l, %c, %r : tensor<2x6xi1>, tensor<2x6xf32>
  return %c, %s : tensor<2x6xf32>, tensor<2x6xf32>
}"""


def test_stablehlo_of_joined_tensors() -> None:
    rng = np.random.default_rng(3)
    check(JOINED, [rng.standard_normal((2, n)).astype(np.float32) for n in (3, 1)])


@pytest.mark.parametrize("starts", [(0, 0), (1, 2), (-3, 9), (2, -1)])
@pytest.mark.parametrize("element", ["i32", "i64"])
def test_stablehlo_dynamic_slice(starts: tuple[int, int], element: str) -> None:
    """Starts are held where the slice fits."""
    text = f"""func.func @main(%x: tensor<4x5x3xf32>, %i: tensor<{element}>, %j: tensor<{element}>)
        -> tensor<2x3x3xf32> {{
      %0 = stablehlo.dynamic_slice %x, %i, %j, %i, sizes = [2, 3, 3]
        : (tensor<4x5x3xf32>, tensor<{element}>, tensor<{element}>, tensor<{element}>) -> tensor<2x3x3xf32>
      return %0 : tensor<2x3x3xf32> }}"""
    given = [np.array(n, f"int{element[1:]}") for n in starts]
    check(text, [np.arange(60, dtype=np.float32).reshape(4, 5, 3), *given])


FIRST = "collapsed_slice_dims = [0], start_index_map = [0]"
BATCHES = "operand_batching_dims = [0], start_indices_batching_dims = [1]"
GATHERS = {
    "rows of a table": ("4x5xf32", "3x1xi32", "3x5xf32", f"[1], {FIRST}", 1, "1, 5"),
    "indices that are no vectors": ("4x5xf32", "2x3xi32", "2x5x3xf32", f"[1], {FIRST}", 2, "1, 5"),
    "starts in another order": (
        "4x5x6xf32",
        "2x3xi32",
        "3x3x3xf32",
        "[1, 2], collapsed_slice_dims = [1], start_index_map = [2, 0]",
        0,
        "3, 1, 3",
    ),
    "windows first": ("4x5xf32", "3x2xi32", "2x4x3xf32", "[0, 1], start_index_map = [1, 0]", 1, "2, 4"),
    "one element": ("4x5xf32", "2xi32", "f32", f"[], {FIRST}".replace("[0]", "[0, 1]"), 0, "1, 1"),
    "batches": (
        "3x4x5xf32",
        "2x3x1xi32",
        "2x3x2xf32",
        f"[2], collapsed_slice_dims = [1], {BATCHES}, start_index_map = [1]",
        2,
        "1, 1, 2",
    ),
}


@pytest.mark.parametrize("name", GATHERS)
def test_stablehlo_gather(name: str) -> None:
    """Starts are held where the slice fits."""
    operand, index, result, numbers, along, slices = GATHERS[name]
    x, i, r = (f"tensor<{shape}>" for shape in (operand, index, result))
    text = f"""func.func @main(%x: {x}, %i: {i}) -> {r} {{
      %0 = "stablehlo.gather"(%x, %i) <{{
        dimension_numbers = #stablehlo.gather<offset_dims = {numbers}, index_vector_dim = {along}>,
        indices_are_sorted = false, slice_sizes = array<i64: {slices}>}}> : ({x}, {i}) -> {r}
      return %0 : {r} }}"""
    rng = np.random.default_rng(4)
    shape, places = ([int(n) for n in t.split("x")[:-1]] for t in (operand, index))
    check(text, [rng.standard_normal(shape).astype(np.float32), rng.integers(-2, 6, places).astype(np.int32)])


def test_what_cannot_be_imported_is_named() -> None:
    text = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = stablehlo.cbrt %x : tensor<4xf32> loc("model.py":3:1)
      return %0 : tensor<4xf32> }"""
    with pytest.raises(
        CannotImport, match=r'TW1031: `stablehlo\.cbrt` cannot be imported\n  where: loc\("model'
    ):
        import_text(text, "stablehlo", "test")


def test_a_stablehlo_constant_of_no_elements() -> None:
    text = f"""func.func @main(%x: {F}) -> ({F}, tensor<0xf32>) {{
      %0 = stablehlo.constant dense<> : tensor<0xf32>
      return %x, %0 : {F}, tensor<0xf32> }}"""
    check(text, [FLOATS[0].astype(np.float32)])
