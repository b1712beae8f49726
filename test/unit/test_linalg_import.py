"""translate --from=linalg: what other stacks write runs as `tw`, with their results."""

import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region

sys.path.insert(0, str(Path(__file__).parents[1] / "fuzz"))

from families import random_graph

from tilewright.dialects import upstream
from tilewright.dialects.interpreter import interpret
from tilewright.dialects.tw.dialect import TW
from tilewright.frontend.check.aten_callback import aten_callback
from tilewright.frontend.check.execute import Outcome
from tilewright.frontend.check.inputs import arguments
from tilewright.frontend.check.session import Expected, SemanticCheck, compare
from tilewright.frontend.check.signature import Entry, entries
from tilewright.frontend.mlir_import.errors import CannotImport
from tilewright.frontend.mlir_import.text import import_text
from tilewright.passes.manager import verify_module
from tilewright.targets.linalg.emit import emit_linalg
from tilewright.targets.linalg.errors import CannotExport

pytestmark = pytest.mark.skipif(not upstream.available(), reason="needs the upstream extra")


def with_sizes(entry: Entry, args: list[Any]) -> list[Any]:
    """`args`, and the sizes that the imported function takes besides."""
    known: dict[Any, int] = {}
    for parameter, value in zip(entry.parameters, args, strict=False):
        if parameter.symbol is not None:
            known[parameter.symbol] = value
        for size, extent in zip(parameter.sizes or (), np.shape(value), strict=True):
            known |= dict.fromkeys(size.variables(), extent) if str(size).isalnum() else {}
    return args + [known[p.symbol] for p in entry.parameters[len(args) :]]


def outcome(back: ModuleOp, expected: Expected, like: Outcome, *, float64: bool) -> Outcome:
    (entry,), _ = entries(back)
    args = arguments(expected.entry, expected.case, expected.sizes)
    final = like.values[like.results :]
    with np.errstate(all="ignore"):
        found = interpret(back, with_sizes(entry, args), np, float64=float64)
    # linalg has no unsigned integers: the same bits come back
    same = [
        np.asarray(v).view(w.dtype) if w.dtype == np.uint8 else v
        for v, w in zip(found, like.values, strict=False)
    ]
    return Outcome((*map(np.asarray, same), *final), len(found))


def round_trip(module: ModuleOp) -> int:
    """Export, import, run; gives the number of runs that agreed."""
    back = import_text(emit_linalg(module), "linalg", "test")
    baseline, runs = SemanticCheck(module, aten=aten_callback, budget=0.3).baseline, 0
    for expected in baseline.expected:
        if expected.own.error is None:
            own = outcome(back, expected, expected.own, float64=False)
            exact = outcome(back, expected, expected.truth, float64=True)
            assert compare(expected, own, exact, baseline.narrow) is None
            runs += 1
    return runs


@pytest.mark.parametrize("first", [0, 10])
def test_round_trips_of_random_graphs(first: int) -> None:
    runs = 0
    for seed in range(first, first + 10):
        try:
            runs += round_trip(random_graph(seed))
        except (CannotExport, CannotImport):
            continue
    assert runs >= 10


def alone(op: Operation) -> ModuleOp:
    """A function of one op, whose operands are arguments."""
    block = Block(arg_types=op.operand_types)
    copy = op.clone(dict(zip(op.operands, block.args, strict=True)))
    block.add_ops([copy, ReturnOp(*copy.results)])
    module = ModuleOp([FuncOp("main", (list(op.operand_types), list(op.result_types)), Region(block))])
    verify_module(module)
    return module


@cache
def instances() -> Mapping[str, Sequence[Operation]]:
    """Some of each op, of different types, as random graphs have them."""
    found: dict[str, dict[str, Operation]] = {}
    for seed in range(500):
        for op in random_graph(seed).walk():
            found.setdefault(op.name, {}).setdefault(f"{op.operand_types} {op.result_types}", op)
    return {name: list(ops.values()) for name, ops in found.items()}


NOT_EXPORTED = {
    *(f"tw.{name}" for name in "aten triton rng_seed rng_uniform rng_normal sort write update".split()),
    *(f"tw.{name}" for name in "cumsum cumprod cummax cummin logcumsumexp".split()),
    *(f"tw.{name}" for name in "scatter scatter_add scatter_along convolution packed_convolution".split()),
    *(f"tw.{name}" for name in "attention attention_backward packed_matmul".split()),
    *(f"tw.{name}" for name in "attention_query_grad attention_key_grad".split()),
    *(f"tw.{name}" for name in "decode_float8 encode_float8 cond while scan linear_scan".split()),
}
NEVER_DRAWN = {"tw.bitcast"}
"""Random graphs have none: `test/targets/linalg.mlir` shows what is exported."""


@pytest.mark.parametrize(
    "name", [op.name for op in TW.operations if op.name not in NOT_EXPORTED | NEVER_DRAWN]
)
def test_every_op_that_is_exported_comes_back(name: str) -> None:
    runs = 0
    for op in instances()[name]:
        module = alone(op)
        if needs_symbols(module):
            continue
        runs += round_trip(module)
        if runs >= 15:
            return
    assert runs >= 1


def needs_symbols(module: ModuleOp) -> bool:
    """Whether a size is no argument's."""
    try:
        emit_linalg(module)
    except CannotExport as error:
        if "is neither an argument nor a size of one" not in str(error):
            raise
        return True
    return False


@pytest.mark.parametrize("name", [name for name in sorted(NOT_EXPORTED) if name in instances()])
def test_what_is_not_exported_is_refused(name: str) -> None:
    with pytest.raises(CannotExport):
        emit_linalg(alone(instances()[name][0]))


def test_a_product_comes_back_as_one() -> None:
    text = """func.func @main(%a: tensor<2x3x?xf32>, %b: tensor<2x?x4xf32>) -> tensor<2x3x4xf32> {
      %z = arith.constant 0.0 : f32
      %e = tensor.empty() : tensor<2x3x4xf32>
      %f = linalg.fill ins(%z : f32) outs(%e : tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
      %r = linalg.batch_matmul ins(%a, %b : tensor<2x3x?xf32>, tensor<2x?x4xf32>)
        outs(%f : tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
      return %r : tensor<2x3x4xf32>
    }"""
    module = import_text(text, "linalg", "test")
    names = [op.name for op in module.walk()]
    assert "tw.matmul" in names
    assert "tw.sum" not in names
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((2, 3, 5), np.float32), rng.standard_normal((2, 5, 4), np.float32)
    (result,) = interpret(module, [a, b, 5], np)
    np.testing.assert_allclose(result, a @ b, rtol=1e-5)


NAMED = """
func.func @main(%x: tensor<3x5xf32>, %y: tensor<3x5xf32>, %v: tensor<5xf32>)
  -> (tensor<3xf32>, tensor<5x3xf32>) {
  %e = tensor.empty() : tensor<3x5xf32>
  %a = linalg.add ins(%x, %y : tensor<3x5xf32>, tensor<3x5xf32>) outs(%e : tensor<3x5xf32>) -> tensor<3x5xf32>
  %w = linalg.broadcast ins(%v : tensor<5xf32>) outs(%e : tensor<3x5xf32>) dimensions = [0]
  %m = linalg.map { arith.mulf } ins(%a, %w : tensor<3x5xf32>, tensor<3x5xf32>) outs(%e : tensor<3x5xf32>)
  %s = tensor.empty() : tensor<3xf32>
  %two = arith.constant 2.0 : f32
  %i = linalg.fill ins(%two : f32) outs(%s : tensor<3xf32>) -> tensor<3xf32>
  %r = linalg.reduce { arith.addf } ins(%m : tensor<3x5xf32>) outs(%i : tensor<3xf32>) dimensions = [1]
  %f = tensor.empty() : tensor<5x3xf32>
  %t = linalg.transpose ins(%m : tensor<3x5xf32>) outs(%f : tensor<5x3xf32>) permutation = [1, 0]
  return %r, %t : tensor<3xf32>, tensor<5x3xf32>
}
"""


def test_named_ops_of_linalg() -> None:
    rng = np.random.default_rng(1)
    x, y, v = (rng.standard_normal(n).astype(np.float32) for n in ((3, 5), (3, 5), 5))
    total, turned = interpret(import_text(NAMED, "linalg", "test"), [x, y, v], np)
    np.testing.assert_allclose(total, ((x + y) * v).sum(1) + 2, rtol=1e-5)
    np.testing.assert_array_equal(turned, ((x + y) * v).T)


PADDED = """
func.func @main(%x: tensor<2x?xf32>) -> tensor<3x?xf32> {
  %one = arith.constant 1.0 : f32
  %p = tensor.pad %x low[0, 3] high[1, 2] {
  ^bb0(%i: index, %j: index):
    tensor.yield %one : f32
  } : tensor<2x?xf32> to tensor<3x?xf32>
  return %p : tensor<3x?xf32>
}
"""


def test_pads_of_tensors() -> None:
    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    (padded,) = interpret(import_text(PADDED, "linalg", "test"), [x, 4], np)
    np.testing.assert_array_equal(padded, np.pad(x, ((0, 1), (3, 2)), constant_values=1.0))


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("yield %one", "yield %f", "it pads with a value that is no constant"),
        ("low[0, 3]", "low[0, -3]", "it takes elements away"),
    ],
)
def test_other_pads_are_refused(old: str, new: str, reason: str) -> None:
    body = "%k = arith.index_cast %j : index to i64\n    %f = arith.sitofp %k : i64 to f32\n    tensor.yield"
    text = PADDED.replace("tensor.yield", body).replace(old, new)
    with pytest.raises(CannotImport, match=reason) as caught:
        import_text(text, "linalg", "test")
    assert "TW1031" in str(caught.value)


LOOKUP = """
func.func @main(%x: tensor<4xf32>, %k: tensor<3xi64>) -> tensor<3xf32> {
  %e = tensor.empty() : tensor<3xf32>
  %four = arith.constant 4 : i64
  %none = arith.constant -1.0 : f32
  %r = linalg.map ins(%k : tensor<3xi64>) outs(%e : tensor<3xf32>) (%p: i64, %o: f32) {
    %ok = arith.cmpi ult, %p, %four : i64
    BODY
  }
  return %r : tensor<3xf32>
}
"""
CHECKED = """cf.assert %ok, "too far"
    %at = arith.index_cast %p : i64 to index
    %v = tensor.extract %x[%at] : tensor<4xf32>
    linalg.yield %v : f32"""
MASKED = """%v = scf.if %ok -> f32 {
      %at = arith.index_cast %p : i64 to index
      %one = tensor.extract %x[%at] : tensor<4xf32>
      scf.yield %one : f32
    } else {
      scf.yield %none : f32
    }
    linalg.yield %v : f32"""


def looked_up(body: str, places: Sequence[int]) -> Any:
    module = import_text(LOOKUP.replace("BODY", body), "linalg", "test")
    return interpret(module, [np.arange(4, dtype=np.float32), np.array(places)], np)[0]


def test_elements_are_extracted_where_a_mask_holds() -> None:
    np.testing.assert_array_equal(looked_up(MASKED, [3, 4, -1]), [3, -1, -1])


def test_what_is_asserted_is_still_an_error() -> None:
    np.testing.assert_array_equal(looked_up(CHECKED, [3, 0, 1]), [3, 0, 1])
    with pytest.raises(IndexError):
        looked_up(CHECKED, [3, 4, 1])
    divided = 'cf.assert %ok, "too far"\n linalg.yield %none : f32'
    np.testing.assert_array_equal(looked_up(divided, [0, 1, 2]), [-1] * 3)
    with pytest.raises(IndexError):
        looked_up(divided, [0, 1, 4])


EXTREME = """
func.func @main(%x: tensor<3x5xf32>) -> tensor<3xi64> {
  %low = arith.constant 0xFF800000 : f32
  %last = arith.constant 9223372036854775807 : i64
  %a = tensor.empty() : tensor<3xf32>
  %b = tensor.empty() : tensor<3xi64>
  %f = linalg.fill ins(%low : f32) outs(%a : tensor<3xf32>) -> tensor<3xf32>
  %g = linalg.fill ins(%last : i64) outs(%b : tensor<3xi64>) -> tensor<3xi64>
  %m, %p = linalg.generic {
    indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>],
    iterator_types = ["parallel", "reduction"]
  } ins(%x : tensor<3x5xf32>) outs(%f, %g : tensor<3xf32>, tensor<3xi64>) {
  ^bb0(%v: f32, %old: f32, %before: i64):
    %i = linalg.index 1 : index
    %at = arith.index_cast %i : index to i64
    %nan = arith.cmpf uno, %v, %v : f32
    %number = arith.cmpf oeq, %old, %old : f32
    %more = arith.cmpf ugt, %v, %old : f32
    %strange = arith.andi %nan, %number : i1
    %greater = arith.andi %more, %number : i1
    %same = arith.cmpf ueq, %v, %old : f32
    %both = arith.cmpf ORDER, %v, %old : f32
    %nans = arith.cmpf une, %old, %old : f32
    %twice = arith.andi %nan, %nans : i1
    %equal = arith.ori %both, %twice : i1
    %first = arith.cmpi WHICH, %before, %at : i64
    %tie = arith.andi %equal, %first : i1
    %better = arith.ori %strange, %greater : i1
    %take = arith.ori %better, %tie : i1
    %w = arith.select %take, %v, %old : f32
    %q = arith.select %take, %at, %before : i64
    linalg.yield %w, %q : f32, i64
  } -> (tensor<3xf32>, tensor<3xi64>)
  return %p : tensor<3xi64>
}
"""


def test_the_first_extreme_in_other_words() -> None:
    module = import_text(EXTREME.replace("ORDER", "oeq").replace("WHICH", "sgt"), "linalg", "test")
    assert [op.name for op in module.walk()][2:] == ["tw.argmax", "func.return"]


@pytest.mark.parametrize(("order", "which"), [("oeq", "slt"), ("ole", "sgt"), ("oeq", "ugt")])
def test_another_choice_is_refused(order: str, which: str) -> None:
    with pytest.raises(CannotImport, match="an output is not a reduction"):
        import_text(EXTREME.replace("ORDER", order).replace("WHICH", which), "linalg", "test")
