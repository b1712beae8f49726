"""Kernels become functions over flat buffers, of names that nothing else has."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import product
from keyword import iskeyword
from random import Random

import pytest
from kernels_harness import kernels_of, one_kernel
from layout_text import layout_of
from tk_harness import parse
from xdsl.dialects.builtin import StringAttr, f32
from xdsl.ir import Operation

from tilewright.dialects.index_expr import Var, dim, format_exprs, parse_exprs
from tilewright.dialects.tk.access import LoadOp, StoreOp
from tilewright.dialects.tk.attributes import map_attr
from tilewright.dialects.tk.kernels import FuncOp, KernelOp
from tilewright.dialects.types import flat_memref
from tilewright.passes.host.outline import (
    Linearizer,
    Names,
    flat_subscript,
    kernel_name,
    kernel_symbols,
    outline,
    twin,
)

X = "tensor<4x6xf32>"
COPY = "%0 = tk.load %a[d0, d1] : {x} -> f32 tk.store %0, %o[d0, d1] : f32, {o}"


def kernel_of(body: str = COPY, sizes: str = "4, 6", type_: str = X, name: str | None = None) -> KernelOp:
    _, kernel = one_kernel(sizes, body, type_, type_)
    if name is not None:
        kernel.attributes["tk.name"] = StringAttr(name)
    return kernel


# Names


def test_names_are_counted() -> None:
    names = Names()
    assert [names.fresh(base) for base in ("exp", "exp", "neg", "exp")] == ["exp", "exp_1", "neg", "exp_2"]


def test_words_of_python_are_no_names() -> None:
    names = Names()
    assert [names.fresh("and"), names.fresh("and"), names.fresh("None")] == [
        "and_kernel",
        "and_kernel_1",
        "None_kernel",
    ]


def test_names_that_look_counted_are_passed_over() -> None:
    names = Names({"exp_1": 1})
    assert [names.fresh("exp") for _ in range(3)] == ["exp", "exp_2", "exp_3"]
    assert names.fresh("exp_2") == "exp_2_1"


def test_no_name_is_given_twice() -> None:
    random, names = Random(0), Names({"taken": 1, "or_kernel": 1})
    bases = ["a", "a_1", "a_1_1", "a_2", "or", "or_kernel", "or_kernel_1", "taken", "taken_1"]
    given = [names.fresh(random.choice(bases)) for _ in range(300)]
    assert len({*given, "taken", "or_kernel"}) == 302
    assert not any(map(iskeyword, given))


LOAD, STORE = "%0 = tk.load %a[d0, d1] : {x} -> f32 ", " tk.store %1, %o[d0, d1] : f32, {o}"
NAMED: Mapping[str, tuple[str, str]] = {
    "nothing is computed": (COPY, "copy"),
    "one op": (f"{LOAD}%1 = math.exp %0 : f32{STORE}", "exp"),
    "the type of an op does not count": (f"{LOAD}%1 = arith.addf %0, %0 : f32{STORE}", "add"),
    "what looks like a type": (f"{LOAD}%1 = math.erf %0 : f32{STORE}", "erf"),
    "short words stay": (
        f"{LOAD}%2 = arith.cmpf olt, %0, %0 : f32 %3 = arith.ori %2, %2 : i1 "
        f"%1 = arith.select %3, %0, %0 : f32{STORE}",
        "cmp_or_select",
    ),
    "repeated ops count once": (
        f"{LOAD}%2 = math.exp %0 : f32 %3 = math.exp %2 : f32 %4 = arith.negf %3 : f32 "
        f"%1 = math.exp %4 : f32{STORE}",
        "exp_neg_exp",
    ),
    "types and numbers do not count": (
        f"{LOAD}%2 = arith.truncf %0 : f32 to bf16 %3 = arith.extf %2 : bf16 to f32 "
        f"%4 = arith.constant 2.0 : f32 %1 = arith.mulf %3, %4 : f32{STORE}",
        "mul",
    ),
    "four": (
        f"{LOAD}%2 = math.exp %0 : f32 %3 = math.sin %2 : f32 %4 = math.cos %3 : f32 "
        f"%1 = arith.negf %4 : f32{STORE}",
        "exp_sin_cos_neg",
    ),
    "more than four": (
        f"{LOAD}%2 = math.exp %0 : f32 %3 = math.sin %2 : f32 %4 = math.cos %3 : f32 "
        f"%5 = arith.negf %4 : f32 %1 = math.tanh %5 : f32{STORE}",
        "exp_sin_cos_etc",
    ),
}


@pytest.mark.parametrize(("body", "name"), NAMED.values(), ids=NAMED)
def test_kernels_are_named_after_what_they_compute(body: str, name: str) -> None:
    assert kernel_name(kernel_of(body)) == name


def test_kernels_keep_the_name_that_they_have() -> None:
    assert kernel_name(kernel_of(name="soft max-1")) == "soft_max_1"


# Symbols and subscripts


SYMBOLS: Mapping[str, tuple[str, str, str, str]] = {
    # the sizes, the operand's type, the body, the symbols
    "none": ("4, 6", X, COPY, ""),
    "of the space, by number": ("s4*s7*s10, s2*s3*s5", "", COPY, "s2, s3, s4, s5, s7, s10"),
    "of a subscript": ("4, 6", X, COPY.replace("%a[d0, d1]", "%a[d0, d1 + s3 - s3*s1]"), "s1, s3"),
    "of a position": (
        "4, 6",
        X,
        '%i = tk.index "d0 + s5" : i64 %0 = arith.sitofp %i : i64 to f32 tk.store %0, %o[d0, d1] : f32, {o}',
        "s5",
    ),
}


@pytest.mark.parametrize(("sizes", "type_", "body", "symbols"), SYMBOLS.values(), ids=SYMBOLS)
def test_symbols_are_all_that_are_met(sizes: str, type_: str, body: str, symbols: str) -> None:
    kernel = kernel_of(body, sizes, type_ or f'tensor<?x?xf32, #tw.shape<"{sizes}">>')
    assert format_exprs(kernel_symbols(kernel.space, kernel.body.block)) == symbols


LAYOUTS = ["4, 6 at 0 by 6, 1", "4, 6 at 3 by 1, 4", "4, 6 at 23 by -6, -1", "4, 6 at 5 by 0, 2"]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("subscripts", ["d0, d1", "3 - d0, d1", "(d0*6 + d1) floordiv 6, (d0*6 + d1) mod 6"])
def test_positions_are_those_of_the_layout(subscripts: str, layout: str) -> None:
    at, where = parse_exprs(subscripts), layout_of(layout)
    flat = flat_subscript(parse_exprs("4, 6"), at, where)
    for i, j in product(range(4), range(6)):
        point = {Var("d", 0): i, Var("d", 1): j}
        places = [e.evaluate(point) for e in at]
        steps = [stride.evaluate({}) for stride in where.strides]
        wanted = where.offset.evaluate({}) + sum(p * s for p, s in zip(places, steps, strict=True))
        assert flat.evaluate(point) == wanted


SIMPLER = {
    "divisions that take apart what was put together": (
        "4, 6",
        "(d0*6 + d1) floordiv 6, (d0*6 + d1) mod 6",
        "4, 6 at 0 by 6, 1",
        "d0*6 + d1",
    ),
    "axes of one element": ("1, 6", "d0, d1", "4, 6 at 0 by 6, 1", "d1"),
    "no axes": ("", "2, 3", "4, 6 at 1 by 6, 1", "16"),
    "sizes of the run": ("4, s0", "d0, d1", "4, s0 at 0 by s0, 1", "d0*s0 + d1"),
}


@pytest.mark.parametrize(("sizes", "subscripts", "layout", "flat"), SIMPLER.values(), ids=SIMPLER)
def test_positions_are_simple(sizes: str, subscripts: str, layout: str, flat: str) -> None:
    found = flat_subscript(parse_exprs(sizes), parse_exprs(subscripts), layout_of(layout))
    assert format_exprs([found]) == format_exprs(parse_exprs(flat))


def subscripts_of(kernel: KernelOp) -> list[str]:
    return [format_exprs(op.subscripts) for op in kernel.body.block.ops if isinstance(op, LoadOp | StoreOp)]


TWICE = f"{LOAD}%1 = tk.load %a[3 - d0, d1] : {{x}} -> f32 {STORE}"


def test_all_accesses_of_a_buffer_are_placed_and_no_others() -> None:
    kernel = kernel_of(TWICE)
    Linearizer(kernel.space).place(kernel.sources[0], layout_of("4, 6 at 0 by 1, 4"))
    assert subscripts_of(kernel) == ["d0 + d1*4", "-d0 + d1*4 + 3", "d0, d1"]


def test_the_last_place_counts() -> None:
    kernel = kernel_of(TWICE)
    linearizer = Linearizer(kernel.space)
    for layout in ("4, 6 at 0 by 1, 4", "4, 6 at 2 by 12, 2"):
        linearizer.place(kernel.sources[0], layout_of(layout))
    assert subscripts_of(kernel)[:2] == ["d0*12 + d1*2 + 2", "-d0*12 + d1*2 + 38"]


def test_positions_that_indices_say_are_placed() -> None:
    body = '%i = tk.index "d0" : index %0 = tk.load %a[i0, d1](%i) : {x} -> f32' + STORE.replace("%1", "%0")
    kernel = kernel_of(body)
    Linearizer(kernel.space).place(kernel.sources[0], layout_of("4, 6 at 0 by 6, 1"))
    (load,) = (op for op in kernel.body.block.ops if isinstance(op, LoadOp))
    assert load.subscripts == parse_exprs("i0*6 + d1")


# Functions


def outlined() -> FuncOp:
    kernel = kernel_of(COPY, "4, s0", 'tensor<4x?xf32, #tw.shape<"4, s0">>')
    linearizer, layout = Linearizer(kernel.space), layout_of("4, s0 at 0 by s0, 1")
    for buffer in kernel.body.block.args:
        linearizer.place(buffer, layout)
    (size,) = parse_exprs("s0*4")
    function = outline(kernel, "copied", [flat_memref(f32, size), flat_memref(f32, size)])
    assert not kernel.regions
    return function


def test_a_function_does_what_the_kernel_did() -> None:
    function = outlined()
    function.verify()
    assert re.sub(r"\s+", " ", str(function)) == re.sub(
        r"\s+",
        " ",
        """tk.func @copied [4, s0] (%a: memref<?xf32>, %o: memref<?xf32>) symbols [s0] {
          %0 = tk.load %a[d0*s0 + d1] : memref<?xf32> -> f32
          tk.store %0, %o[d0*s0 + d1] : f32, memref<?xf32>
        }""",
    )


def test_a_function_stands_where_the_kernel_stood() -> None:
    module = parse(f"""func.func @main(%x: {X}) -> {X} {{
      %r = tk.kernel [4, 6] ins(%x : {X}) -> ({X}) {{
      ^bb0(%a: {X}, %o: {X}):
        {COPY.replace("{x}", X).replace("{o}", X)}
      }} loc("m.py":3:1)
      func.return %r : {X}
    }}""")
    (kernel,) = kernels_of(module)
    type_ = flat_memref(f32, parse_exprs("24")[0])
    linearizer = Linearizer(kernel.space)
    for buffer in kernel.body.block.args:
        linearizer.place(buffer, layout_of(LAYOUTS[0]))
    assert str(outline(kernel, "copied", [type_, type_]).location) == 'loc("m.py":3:1)'


FUNCTION = """tk.func @first [4] (%a: memref<4xf32>, %o: memref<4xf32>) attributes {tk.inplace = []} {
  %0 = tk.load %a[d0] : memref<4xf32> -> f32 loc("m.py":4:1)
  %1 = arith.negf %0 : f32 loc("m.py":5:1)
  tk.store %1, %o[d0] : f32, memref<4xf32>
} loc("m.py":3:1)"""


def test_a_twin_is_the_same_function_before_it() -> None:
    module = parse(FUNCTION)
    (function,) = module.ops
    assert isinstance(function, FuncOp)
    made = twin(function, "second")
    module.verify()
    assert list(module.ops) == [made, function]
    assert str(made) == str(function).replace("@first", "@second")
    assert list(map(place, made.walk())) == list(map(place, function.walk()))
    made.body.block.first_op.properties["map"] = map_attr([3 - dim(0)])  # pyright: ignore
    assert ("-d0" in str(made), "-d0" in str(function)) == (True, False)


def place(op: Operation) -> str:
    return str(op.location)
