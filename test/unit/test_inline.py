"""What is computed again where it is read is what was stored, at any position and under any mask."""

from __future__ import annotations

import numpy as np
import pytest
from tk_harness import parse
from xdsl.dialects.builtin import ModuleOp

from tilewright.dialects.interpreter import interpret
from tilewright.dialects.tk.access import LoadOp
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.passes.fusion.inline import axis_values, inline_at, input_of, producer_of
from tilewright.passes.kernels.body import loads_of

MODULE = """
func.func @main(%s0: index {{tw.symbol = "s0"}}, %x: {x}, %i: tensor<5xi64>) -> {r} {{
  %p = tk.kernel [{space}] ins(%x, %i : {x}, tensor<5xi64>) -> ({p}) {{
  ^bb0(%a: {x}, %j: tensor<5xi64>, %o: {p}):
    %z = arith.constant 0.0 : f32 PRODUCER
  }}
  %r = tk.kernel [{over}] ins(%p, %i : {p}, tensor<5xi64>) -> ({r}) {{
  ^bb0(%a: {p}, %j: tensor<5xi64>, %o: {r}):
    %c2 = arith.constant 2 : i64 %z = arith.constant 7.0 : f32
    %v = tk.load %j[d0] : tensor<5xi64> -> i64 %w = arith.index_cast %v : i64 to index
    %m = arith.cmpi slt, %v, %c2 : i64 CONSUMER
  }}
  func.return %r : {r}
}}"""
GRID, ROWS = "tensor<4x6xf32>", 'tensor<?x6xf32, #tw.shape<"s0, 6">>'
TYPES = {"x": GRID, "space": "4, 6", "p": GRID, "over": "5", "r": "tensor<5xf32>"}
NONE = "tensor<0x6xf32>"
EMPTY = {"x": NONE, "p": NONE, "space": "0, 6", "over": "0", "r": "tensor<0xf32>"}
SYMBOLIC = {"x": ROWS, "p": ROWS, "space": "s0, 6", "over": "s0", "r": 'tensor<?xf32, #tw.shape<"s0">>'}
READ = "%k = tk.load %a[AT : {p} -> f32 tk.store %k, %o[d0] : f32, {r}"
EXP = "%0 = tk.load %a[d0, d1] : {x} -> f32 %1 = math.exp %0 : f32 tk.store %1, %o[d0, d1] : f32, {p}"
FIRST = "%0 = tk.load %a[1, 2] : {x} -> f32 tk.store %0, %o[] : f32, {p}"
POSITION = """%0 = tk.index "d0*10 + d1" : i64 %1 = arith.sitofp %0 : i64 to f32
    tk.store %1, %o[d0, d1] : f32, {p}"""
GATHERED = """%v = tk.load %j[d0] : tensor<5xi64> -> i64 %w = arith.index_cast %v : i64 to index
    %1 = tk.load %a[i0, d1](%w) : {x} -> f32 tk.store %1, %o[d0, d1] : f32, {p}"""
MASKED = """%c3 = arith.constant 3 : i64 %0 = tk.index "d0 + d1" : i64 %m = arith.cmpi sge, %0, %c3 : i64
    %1 = tk.load %a[d0, d1] if %m else %z : {x} -> f32 tk.store %1, %o[d0, d1] : f32, {p}"""
WIDENED = """%0 = tk.load %a[d0, d1] : {x} -> bf16 %1 = arith.extf %0 : bf16 to f32
    tk.store %1, %o[d0, d1] : f32, {p}"""
CHECKED = """%0 = tk.load %a[d0, d1] : {x} -> f32 %1 = arith.cmpf one, %0, %z : f32
    tk.assert %1 "division by zero" : i1 tk.store %0, %o[d0, d1] : f32, {p}"""
OF_ROW = """%0 = tk.load %a[d0, 2] : {x} -> f32 %1 = tk.load %a[d0, d1] : {x} -> f32
    %2 = arith.mulf %0, %1 : f32 tk.store %2, %o[d0, d1] : f32, {p}"""
WHOLE = """%0 = tk.load %j[2] : tensor<5xi64> -> i64 %1 = arith.sitofp %0 : i64 to f32
    tk.store %1, %o[d0, d1] : f32, {p}"""
CASES: dict[str, tuple[str, str, dict[str, str]]] = {
    "gathered": (GATHERED, "i0, i0 + 2](%w)", {"p": "tensor<5x6xf32>", "space": "5, 6"}),
    "gathered position": (POSITION, "i0, i0 + d0](%w)", {"p": "tensor<4x8xf32>", "space": "4, 8"}),
    "masked": (EXP, "4 - d0, d0] if %m else %z", {}),
    "masked twice": (MASKED, "4 - d0, d0] if %m else %z", {}),
    "masked and gathered": (MASKED, "i0, 2](%w) if %m else %z", {}),
    "checked under a mask": (CHECKED, "4 - d0, d0] if %m else %z", {}),
    "halves": (WIDENED, "4 - d0, d0] if %m else %z", {"x": "tensor<4x6xbf16>"}),
    "of a row under a mask": (OF_ROW, "1, d0] if %m else %z", {}),
    "number": (FIRST, "]", {"p": "tensor<f32>", "space": ""}),
    "empty": (EXP, "d0, 3]", EMPTY),
    "symbolic": (EXP, "s0 - 1 - d0, 3]", SYMBOLIC),
}


def module_of(producer: str, reads: str, types: dict[str, str]) -> ModuleOp:
    text = MODULE.replace("PRODUCER", producer).replace("CONSUMER", READ.replace("AT", reads))
    return parse(text.format(**{**TYPES, **types}))


def outcome(module: ModuleOp) -> np.ndarray:
    x = np.random.default_rng(0).standard_normal((0 if "0x6" in str(module) else 4, 6)).astype(np.float32)
    return interpret(module, [4, x, np.array([3, 0, 2, 1, 0])], np)[0]


def inlined(module: ModuleOp, *, checks: bool = True) -> str | None:
    """Inline what the second kernel reads of the first, or say why not."""
    first, second = (op for op in module.walk() if isinstance(op, KernelOp))
    if isinstance(producer := producer_of(first.results[0]), str):
        return producer
    (load,) = loads_of(second.sources[0])
    if isinstance(values := axis_values(producer, load, second.space, checks=checks), str):
        return values
    inline_at(second, load, producer, values)
    module.verify()
    assert not loads_of(second.sources[0])
    return None


@pytest.mark.parametrize("name", CASES)
def test_what_is_computed_again_is_what_was_stored(name: str) -> None:
    module = module_of(*CASES[name])
    wanted = outcome(module)
    assert inlined(module) is None
    np.testing.assert_array_equal(outcome(module), wanted)


@pytest.mark.parametrize(
    ("producer", "reads", "masked"),
    [
        (OF_ROW, "1, d0] if %m else %z", [False, True]),
        (OF_ROW, "4, d0] if %m else %z", [True, True]),
        (OF_ROW, "i0, 3](%w) if %m else %z", [True, True]),
        (WHOLE, "1, d0] if %m else %z", [False]),
    ],
    ids=["the same for all lanes", "beyond the last row", "gathered", "integers"],
)
def test_what_lies_inside_for_all_that_a_mask_tells_apart_is_read_without_it(
    producer: str, reads: str, masked: list[bool]
) -> None:
    module = module_of(producer, reads, {})
    assert inlined(module) is None
    kernel = [op for op in module.walk() if isinstance(op, KernelOp)][-1]
    found = [op for op in kernel.body.walk() if isinstance(op, LoadOp)]
    assert [op.mask is not None for op in found][1:] == masked


REFUSED = {
    "combined": (EXP.replace("d0, d1] : f32", "d0, d1] combine add : f32"), "0, 0]", "one plain store"),
    "sum": (EXP.replace("math.exp %0", "tk.reduce add %0 over [1]"), "0, 0]", "it is a reduction"),
    "check": (CHECKED, "4 - d0, d0] if %m else %z", "read under a mask"),
    "position": (POSITION.replace("*10", "*d1"), "i0, i0](%w)", "it depends on its position"),
    "product": (POSITION.replace("*10", "*d1"), "i0, i1](%w, %w)", "it depends on its position"),
}


@pytest.mark.parametrize(("producer", "reads", "why"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_computed_again_says_why(producer: str, reads: str, why: str) -> None:
    assert why in (inlined(module_of(producer, reads, {}), checks=False) or "it was inlined")


def test_inputs_are_added_once_in_front_of_the_destinations() -> None:
    module = module_of(*CASES["masked"])
    first, second = (op for op in module.walk() if isinstance(op, KernelOp))
    assert input_of(second, second.operands[1]) is second.sources[1]
    added = input_of(second, first.operands[0])
    assert input_of(second, first.operands[0]) is added is second.sources[2]
    module.verify()
