"""Functions of one static size become functions of any, where nothing in them depends on it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from tk_harness import parse, run_on
from xdsl.dialects.builtin import IntegerAttr, ModuleOp

from tilewright.dialects.index_expr import format_exprs
from tilewright.dialects.tk.kernels import FuncOp
from tilewright.passes.host.outline import Names
from tilewright.passes.host.sized_functions import SizedFunctions
from tilewright.passes.schedule.offsets import LIMIT, MOST

NEG = "%1 = arith.negf %0 : f32"


def text_of(
    name: str = "neg",
    size: int = 64,
    sizes: str = "",
    body: str = NEG,
    load: str = "d0",
    store: str = "d0",
    made: str = "",
    note: str = "",
) -> str:
    """A function that reads one buffer of `size` elements and writes one of `made`."""
    read, made = f"memref<{size}xf32>", f"memref<{made or size}xf32>"
    return f"""tk.func @{name} [{sizes or size}] (%a: {read}, %o: {made}) {note} {{
      %0 = tk.load %a[{load}] : {read} -> f32 loc("m.py":4:1)
      {body} loc("m.py":5:1)
      tk.store %1, %o[{store}] : f32, {made} loc("m.py":6:1)
    }} loc("m.py":3:1)"""


def functions_of(*texts: str) -> tuple[ModuleOp, list[FuncOp]]:
    module = parse("\n".join(texts))
    return module, [op for op in module.ops if isinstance(op, FuncOp)]


def sized(names: Names | None = None) -> SizedFunctions:
    return SizedFunctions(names or Names())


FLAT = "d0*16 + d1"
ANY: Mapping[str, tuple[str, str, int]] = {
    # a function, the sizes of that for any size, and how many units it has
    "units of sixteen": (text_of(size=64), "s0*16", 4),
    "units of one": (text_of(size=60), "s0", 60),
    "one unit": (text_of(size=16), "s0*16", 1),
    "several axes that are one": (text_of(sizes="4, 16", load=FLAT, store=FLAT), "s0*16", 4),
    "an element for all": (text_of(load="3"), "s0*16", 4),
    "the place is computed with": (
        text_of(
            body='%i = tk.index "d0" : i64 %f = arith.sitofp %i : i64 to f32 %1 = arith.addf %0, %f : f32'
        ),
        "s0*16",
        4,
    ),
}


@pytest.mark.parametrize(("text", "sizes", "units"), ANY.values(), ids=ANY)
def test_functions_of_any_size_do_the_same(text: str, sizes: str, units: int) -> None:
    module, (function,) = functions_of(text)
    before, result = str(module), np.random.default_rng(0).standard_normal(64).astype(np.float32)
    found = sized().of(function)
    assert found is not None
    assert str(module) == before
    size = found.size
    assert (format_exprs(found.function.space), found.units) == (sizes, units)
    assert format_exprs(found.function.symbols.exprs) == "s0"
    wanted, made = ([result[:size].copy(), np.zeros(size, np.float32)] for _ in range(2))
    run_on(module, wanted, {})
    run_on(ModuleOp([found.function]), made, {"s0": units})
    np.testing.assert_array_equal(made[1], wanted[1])
    assert found.function.body.block.args[1].type != function.body.block.args[1].type


NOT_ANY: Mapping[str, str] = {
    "two axes": text_of(sizes="4, 16", load="d0*16 + d1", store="d0 + d1*4"),
    "backwards": text_of(load="63 - d0"),
    "part of a buffer": text_of(sizes="32", load="d0 + 32", made="32"),
    "every other element": text_of(sizes="32", load="d0*2", made="32"),
    "a position along the way": text_of(
        body='%i = tk.index "d0 + 1" : i64 %f = arith.sitofp %i : i64 to f32 %1 = arith.addf %0, %f : f32'
    ),
    "a sum": text_of(body="%1 = tk.reduce add %0 over [0] : f32", store="0", made="1"),
    "a running sum": text_of(body="%1 = tk.scan add %0 along 0 : f32"),
    "nothing": text_of(size=0),
    "a single element": text_of(size=1),
    "no axes": text_of(size=1).replace("[1]", "[]").replace("d0", "0"),
    "more than 32 bits count": text_of(size=LIMIT),
    "a symbol": """tk.func @neg [s0] (%a: memref<?xf32>, %o: memref<?xf32>) symbols [s0] {
      %0 = tk.load %a[d0] : memref<?xf32> -> f32
      tk.store %0, %o[d0] : f32, memref<?xf32>
    }""",
    "a symbol that is no size": """tk.func @neg [64] (%a: memref<64xf32>, %o: memref<64xf32>) symbols [s0] {
      %0 = tk.load %a[d0] : memref<64xf32> -> f32
      tk.store %0, %o[d0] : f32, memref<64xf32>
    }""",
}


@pytest.mark.parametrize("text", NOT_ANY.values(), ids=NOT_ANY)
def test_functions_that_do_more_have_their_size(text: str) -> None:
    module, (function,) = functions_of(text)
    before = str(module)
    assert sized().of(function) is None
    assert str(module) == before


def test_the_largest_size_is_one_less_than_the_limit() -> None:
    _, (function,) = functions_of(text_of(size=LIMIT - 1))
    assert sized().of(function) is not None


EQUAL: Mapping[str, tuple[str, str, bool]] = {
    "sizes in units": (text_of(size=64), text_of("b", size=32), True),
    "one of several axes": (text_of(size=64), text_of("b", 32, "2, 16", load=FLAT, store=FLAT), True),
    "other units": (text_of(size=64), text_of("b", size=30), False),
    "sizes in no units": (text_of(size=62), text_of("b", size=30), True),
    "another body": (text_of(), text_of("b", body="%1 = math.exp %0 : f32"), False),
    "another element for all": (text_of(load="3"), text_of("b", load="4"), False),
    "a buffer that is longer": (text_of(size=64), text_of("b", size=32, made="64"), False),
    "buffers that are longer": (text_of(made="128"), text_of("b", size=32, made="128"), True),
    "in place": (text_of(), text_of("b", note="attributes {tk.inplace = [array<i64: 0, 0>]}"), False),
}


@pytest.mark.parametrize(("one", "other", "equal"), EQUAL.values(), ids=EQUAL)
def test_one_function_stands_for_all_of_a_body(one: str, other: str, equal: bool) -> None:
    _, functions = functions_of(one, other)
    found = sized()
    first, second = (found.of(function) for function in functions)
    assert first is not None
    assert second is not None
    assert (first.key == second.key) == equal


def test_it_is_found_once() -> None:
    _, (function,) = functions_of(text_of())
    functions = sized()
    assert functions.of(function) is functions.of(function)


def test_locations_stay() -> None:
    _, (function,) = functions_of(text_of())
    found = sized().of(function)
    assert found is not None
    assert [str(op.location) for op in found.function.walk()] == [
        f'loc("m.py":{line}:1)' for line in range(3, 7)
    ]


def test_the_first_is_placed_and_stands_for_those_that_follow() -> None:
    module, functions = functions_of(text_of("a", 32), text_of("b", 64), text_of("c", 48), text_of("d", 30))
    found = sized(Names({"a_of_any_size": 1}))
    placed = list[FuncOp]()
    for function in functions:
        one = found.of(function)
        assert one is not None
        placed.append(found.place(one, function))
    module.verify()
    first, *_, last = placed
    assert placed == [first, first, first, last]
    assert first is not last
    names = [op.sym_name.data for op in module.ops if isinstance(op, FuncOp)]
    assert names == ["a_of_any_size_1", "a", "b", "c", "d_of_any_size", "d"]
    assert [most_of(function) for function in (first, last)] == [64, 30]


def most_of(function: FuncOp) -> int:
    most = function.attributes[MOST]
    assert isinstance(most, IntegerAttr)
    return most.value.data
