"""Plans copy as little as they can, compute into arguments only what may be there, and refuse by name."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from tk_harness import parse
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import SSAValue

from tilewright.dialects.registry import new_context
from tilewright.dialects.th.calls import CallOp, ExternOp, LaunchOp
from tilewright.dialects.th.control_flow import ControlOp
from tilewright.passes.host.bufferize_function import Bufferizer
from tilewright.passes.host.outline import Names
from tilewright.passes.manager import parse_pipeline, run_pipeline
from tilewright.passes.memory.errors import NotBufferizable

X, T = "tensor<3x5xf32>", "tensor<5x3xf32>"
ARGUMENTS = f"%x: {X}, %y: {X}"


def bufferized(
    results: str, body: str, arguments: str = ARGUMENTS, first: str = "convert-tw-to-tk"
) -> ModuleOp:
    """`@main` as a plan, and the kernels that it launches, after a pass that makes kernels."""
    module = parse(f"""func.func @main({arguments}) -> ({results}) {{
      {body}
    }}
    func.func @same(%a: {X}) -> {X} {{
      func.return %a : {X}
    }}""")
    run_pipeline(new_context(), module, parse_pipeline(first))
    function = module.body.block.first_op
    assert isinstance(function, FuncOp)
    for kernel in Bufferizer(function, Names()).run():
        module.body.block.add_op(kernel)
    function.verify()
    return module


def plan_of(module: ModuleOp) -> list[str]:
    """`kernel: read > written` and `function: operands`; memory is its kind and name, whatever views it."""
    function = module.body.block.first_op
    assert isinstance(function, FuncOp)
    names: dict[SSAValue, str] = {arg: str(arg.name_hint) for arg in function.body.block.args}
    lines: list[str] = []
    for op in function.body.block.ops:
        read = ", ".join(names[value] for value in op.operands)
        for result in op.results:
            viewed = op.name in ("th.view", "th.data")
            names[result] = read if viewed else f"{op.name[3:]} {result.name_hint or ''}".strip()
        if isinstance(op, LaunchOp):
            ins, outs = (", ".join(names[value] for value in values) for values in (op.ins, op.outs))
            lines.append(f"{op.kernel.string_value()}: {ins} > {outs}")
        elif isinstance(op, ExternOp | CallOp):
            lines.append(f"{op.callee.data.removeprefix('aten::')}: {read}")
        elif isinstance(op, ReturnOp | ControlOp):
            lines.append(f"{op.name.partition('.')[2]}: {read}")
    return lines


E, N = f"%e = tw.exp %x : {X}\n", f"%n = tw.neg %e : {X}\n"
WRITE = f"tw.write %e into %x : {X}\n"
BACKWARDS = f"%v = tw.reverse %x dims [0] : {X} -> {X}\n"
BATCHES, PERMUTED = "tensor<2x5x4x4xf32>", "tensor<5x2x4x4xf32>"
TRANSPOSED = f"tw.transpose %x by [1, 0, 2, 3] : {PERMUTED} -> {BATCHES}\n"
PRODUCT = f"({BATCHES}, {BATCHES}) -> {BATCHES}\n"
PLANS: Mapping[str, tuple[str, str, list[str]]] = {
    # the types of the results, the function, the plan
    "temporaries and results are named like values": (
        X,
        f"{E}{N}func.return %n : {X}",
        ["exp: x > alloc e", "neg: alloc e > empty n", "return: empty n"],
    ),
    "an argument is computed in place": ("", f"{E}{WRITE}func.return", ["exp: x > x", "return: "]),
    "not while it is read later": (
        X,
        f"{E}%m = tw.neg %x : {X}\n{WRITE}func.return %m : {X}",
        ["exp: x > alloc e", "neg: x > empty m", "copy: alloc e > x", "return: empty m"],
    ),
    "but after it was read": (
        X,
        f"%m = tw.neg %x : {X}\n{E}{WRITE}func.return %m : {X}",
        ["neg: x > empty m", "exp: x > x", "return: empty m"],
    ),
    "not where other elements are read": (
        "",
        f"{BACKWARDS}%e = tw.exp %v : {X}\n{WRITE}func.return",
        ["exp: x > alloc e", "copy: alloc e > x", "return: "],
    ),
    "what is returned later is what it was": (
        X,
        f"{E}{WRITE}func.return %x : {X}",
        ["exp: x > alloc e", "copy: x > empty", "copy_1: alloc e > x", "return: empty"],
    ),
    "parts are computed into the whole, or copied": (
        "tensor<6x5xf32>",
        f"{E}%r = tw.concat %e, %y dim 0 : ({X}, {X}) -> tensor<6x5xf32>\nfunc.return %r : tensor<6x5xf32>",
        ["exp: x > empty r", "copy: y > empty r", "return: empty r"],
    ),
    "views are no copies": (
        "tensor<15xf32>",
        f"{E}%f = tw.reshape %e : {X} -> tensor<15xf32>\nfunc.return %f : tensor<15xf32>",
        ["exp: x > empty e", "return: empty e"],
    ),
    "but for those that no strides can say": (
        "tensor<15xf32>",
        f"""%t = tw.transpose %x by [1, 0] : {X} -> {T}
        %f = tw.reshape %t : {T} -> tensor<15xf32>
        func.return %f : tensor<15xf32>""",
        ["copy: x > empty f", "return: empty f"],
    ),
    "what a call writes to is not what walks backwards": (
        X,
        f"""{BACKWARDS}tw.aten "aten::neg_"(%v) {{args = [#tw.arg<0>], mutates = array<i64: 0>}} : ({X}) -> ()
        func.return %v : {X}""",
        ["copy: x > alloc", "neg_: alloc", "copy_1: alloc > empty", "return: empty"],
    ),
    "operands of a call lie in order where they must": (
        "tensor<5x3xi32>",
        f"""%t = tw.transpose %x by [1, 0] : {X} -> {T}
        %r = tw.aten "aten::view_copy.dtype"(%t) {{args = [#tw.arg<0>, i32]}} : ({T}) -> tensor<5x3xi32>
        func.return %r : tensor<5x3xi32>""",
        ["copy: x > alloc", "view_copy.dtype: alloc", "return: call"],
    ),
    "and only there": (
        T,
        f"""%t = tw.transpose %x by [1, 0] : {X} -> {T}
        %r = tw.aten "aten::cumprod"(%t) {{args = [#tw.arg<0>, 0 : i64]}} : ({T}) -> {T}
        func.return %r : {T}""",
        ["cumprod: x", "return: call"],
    ),
}


@pytest.mark.parametrize(("results", "body", "expected"), PLANS.values(), ids=PLANS)
def test_plans(results: str, body: str, expected: list[str]) -> None:
    assert plan_of(bufferized(results, body)) == expected


@pytest.mark.parametrize(
    ("product", "arguments", "expected"),
    [
        ("%y, %z", f"%y: {BATCHES}, %z: {BATCHES}", ["bmm.out: y, z, empty m"]),
        ("%t, %y", f"%x: {PERMUTED}, %y: {BATCHES}", ["copy: x > alloc", "bmm.out: alloc, y, empty m"]),
        ("%y, %t", f"%x: {PERMUTED}, %y: {BATCHES}", ["copy: x > alloc", "bmm.out: y, alloc, empty m"]),
        ("%t, %t", f"%x: {PERMUTED}", ["copy: x > alloc", "bmm.out: alloc, alloc, empty m"]),
    ],
)
def test_only_factors_that_need_it_are_copied(product: str, arguments: str, expected: list[str]) -> None:
    before = f"%t = {TRANSPOSED}" if "%t" in product else ""
    body = f"{before}%m = tw.matmul {product} : {PRODUCT}func.return %m : {BATCHES}"
    assert plan_of(bufferized(BATCHES, body, arguments)) == [*expected, "return: empty m"]


def test_a_product_that_no_strides_can_say_is_copied_where_it_belongs() -> None:
    body = f"""%m = tw.matmul %x, %y : {PRODUCT}
      %t = tw.transpose %m by [1, 0, 2, 3] : {BATCHES} -> {PERMUTED}
      func.return %t : {PERMUTED}"""
    assert plan_of(bufferized(PERMUTED, body, f"%x: {BATCHES}, %y: {BATCHES}")) == [
        "bmm.out: x, y, alloc",
        "copy: alloc > empty m",
        "return: empty m",
    ]


def test_calls_do_not_write_to_constants() -> None:
    body = f"""%c = tw.constant dense<1.0> : {X}
      tw.aten "aten::neg_"(%c) {{args = [#tw.arg<0>], mutates = array<i64: 0>}} : ({X}) -> ()
      func.return %c : {X}"""
    assert plan_of(bufferized(X, body, first="dce")) == [
        "copy: constant > alloc",
        "neg_: alloc",
        "copy_1: alloc > empty",
        "return: empty",
    ]


ROWS, COLUMNS = "tensor<2x3x5xf32>", "tensor<3x2x5xf32>"


@pytest.mark.parametrize(
    ("type_", "before", "expected"),
    [
        (ROWS, "", ["control: x"]),
        (
            COLUMNS,
            f"%v = tw.transpose %x by [1, 0, 2] : {COLUMNS} -> {ROWS}",
            ["copy: x > alloc", "control: alloc"],
        ),
    ],
)
def test_functions_are_given_rows(type_: str, before: str, expected: list[str]) -> None:
    body = f"""{before}
      %r = tw.scan @same(%{"v" if before else "x"}) carrying 0 over 1 : ({ROWS}) -> {ROWS}
      func.return %r : {ROWS}"""
    assert plan_of(bufferized(ROWS, body, f"%x: {type_}")) == [*expected, "return: control"]


FLAT = "tensor<15xf32>"
REFUSED = {
    "a write to what is no view of the argument": (
        "",
        f"%t = tw.transpose %x by [1, 0] : {X} -> {T}\n%f = tw.reshape %t : {T} -> {FLAT}\n"
        f"tw.write %v into %f : {FLAT}\nfunc.return",
        "bufferize has no place for `tw.write`",
        "no strides say where in the argument its target lies",
    ),
    "an op that is no kernel": (
        X,
        f"{E}func.return %e : {X}",
        "bufferize has no place for `tw.exp`",
        "it is neither a kernel, a view nor a library call",
    ),
    "a call that takes an index": (
        X,
        f'%e = tw.aten "aten::f"(%x, %n) {{args = [#tw.arg<0>, #tw.arg<1>]}} : ({X}, index) -> {X}\n'
        f"func.return %e : {X}",
        "bufferize has no place for `tw.aten`",
        "it takes or returns index, a plan passes tensors only",
    ),
    "a call that returns one": (
        "index",
        f'%e = tw.aten "aten::f"(%x) {{args = [#tw.arg<0>]}} : ({X}) -> index\nfunc.return %e : index',
        "bufferize has no place for `tw.aten`",
        "it takes or returns index, a plan passes tensors only",
    ),
}


@pytest.mark.parametrize(("results", "body", "what", "why"), REFUSED.values(), ids=REFUSED)
def test_refused(results: str, body: str, what: str, why: str) -> None:
    with pytest.raises(NotBufferizable) as error:
        bufferized(results, body, f"%x: {X}, %n: index, %v: {FLAT}", first="dce")
    assert what in str(error.value)
    assert f"why:   {why}\n" in str(error.value)
