"""The edge of a plan: arguments are buffers, results leave before writes and as nothing that is changed."""

from __future__ import annotations

import pytest
from layout_text import text_of
from tk_harness import parse
from xdsl.dialects.builtin import UnknownLoc, f32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import SSAValue

from tilewright.dialects.index_expr import format_exprs
from tilewright.dialects.th.calls import LaunchOp
from tilewright.dialects.tw.aten import WriteOp
from tilewright.dialects.types import sizes_of
from tilewright.passes.host.boundary import Boundary
from tilewright.passes.host.plan_builder import PlanBuilder
from tilewright.passes.host.storage import Place
from tilewright.passes.memory.layouts import dense, transposed
from tilewright.passes.memory.stated import result_strides

X, T, ROWS = "tensor<3x5xf32>", "tensor<5x3xf32>", 'tensor<?x5xf32, #tw.shape<"s0, 5">>'
MINE, OTHERS = "{tw.memory = 0 : i64}", "{tw.memory = 1 : i64}"
ARGUMENTS = f"%x: {X}, %y: {X}, %n: index"


def function_of(results: str, body: str, arguments: str = ARGUMENTS) -> FuncOp:
    module = parse(f"func.func @main({arguments}) -> ({results}) {{\n{body}\n}}")
    (function,) = module.ops
    assert isinstance(function, FuncOp)
    return function


def leave(function: FuncOp) -> tuple[Boundary, PlanBuilder]:
    """Leave `function`, in which each `tw.exp` is a result of its own and a transposition a view."""
    boundary, ops = Boundary(function), list(function.body.block.ops)
    plan, ret = PlanBuilder(boundary.block, UnknownLoc()), ops[-1]
    for op in ops:
        if op.name == "tw.exp":
            sizes = sizes_of(op.results[0])
            boundary.places[op.results[0]] = plan.result(f32, sizes, dense(sizes).strides)
        elif op.name == "tw.transpose":
            place = boundary.places[op.operands[0]]
            boundary.places[op.results[0]] = Place(place.storage, transposed(place.layout, (1, 0)))
    assert isinstance(ret, ReturnOp)
    boundary.leave(plan, ret, [op for op in ops if isinstance(op, WriteOp)])
    return boundary, plan


def plan_of(function: FuncOp) -> list[str]:
    """Copies, and what is returned: of new memory the number and the kind, `1 empty`."""
    boundary, _ = leave(function)
    names: dict[SSAValue, str] = {arg: str(arg.name_hint) for arg in boundary.block.args}
    lines: list[str] = []
    for op in boundary.block.ops:
        for result in op.results:
            names[result] = f"{len(names) - len(boundary.block.args)} {op.name.partition('.')[2]}"
        if isinstance(op, LaunchOp):
            lines.append(f"{names[op.ins[0]]} > {names[op.outs[0]]}")
    ret = boundary.block.last_op
    assert isinstance(ret, ReturnOp)
    return [*lines, ", ".join(names[value] for value in ret.arguments)]


LEAVING = {
    # the types of the results, the function, and its plan
    "arguments": (f"{X}, index, {X}", f"func.return %y, %n, %x : {X}, index, {X}", ["y, n, x"]),
    "one argument twice": (f"{X}, {X}", f"func.return %x, %x : {X}, {X}", ["x, x"]),
    "an argument, in other memory": (f"{X} {MINE}", f"func.return %x : {X}", ["x > 0 empty", "0 empty"]),
    "one argument twice, in one other memory": (
        f"{X} {MINE}, {X} {MINE}",
        f"func.return %x, %x : {X}, {X}",
        ["x > 0 empty", "1 view, 1 view"],
    ),
    "one argument twice, in two": (
        f"{X} {MINE}, {X} {OTHERS}",
        f"func.return %x, %x : {X}, {X}",
        ["x > 0 empty", "x > 1 empty", "0 empty, 1 empty"],
    ),
    "what was computed": (X, f"%e = tw.exp %x : {X}\nfunc.return %e : {X}", ["0 empty"]),
    "what was computed, twice": (
        f"{X} {MINE}, {T} {MINE}",
        f"%e = tw.exp %x : {X}\n%t = tw.transpose %e by [1, 0] : {X} -> {T}\nfunc.return %e, %t : {X}, {T}",
        ["0 empty > 1 empty", "0 empty, 1 empty"],
    ),
    "what was computed, in two memories": (
        f"{X} {MINE}, {X} {OTHERS}",
        f"%e = tw.exp %x : {X}\nfunc.return %e, %e : {X}, {X}",
        ["0 empty > 1 empty", "0 empty, 1 empty"],
    ),
    "what was computed, in one memory, and anywhere": (
        f"{X}, {X} {MINE}, {X} {MINE}",
        f"%e = tw.exp %x : {X}\nfunc.return %e, %e, %e : {X}, {X}, {X}",
        ["0 empty > 1 empty", "1 empty, 0 empty, 0 empty"],
    ),
    "an argument that is written": (
        X,
        f"tw.write %y into %x : {X}\nfunc.return %x : {X}",
        ["x > 0 empty", "y > x", "0 empty"],
    ),
    "an argument that another is written to": (
        X,
        f"tw.write %y into %x : {X}\nfunc.return %y : {X}",
        ["y > x", "y"],
    ),
    "an argument that is written to itself": ("", f"tw.write %x into %x : {X}\nfunc.return", [""]),
    "two arguments that are exchanged": (
        "",
        f"tw.write %y into %x : {X}\ntw.write %x into %y : {X}\nfunc.return",
        ["y > 0 alloc", "x > 1 alloc", "0 alloc > x", "1 alloc > y", ""],
    ),
    "what was computed, written": (
        X,
        f"%e = tw.exp %y : {X}\ntw.write %e into %x : {X}\nfunc.return %e : {X}",
        ["0 empty > x", "0 empty"],
    ),
}


@pytest.mark.parametrize(("results", "body", "expected"), LEAVING.values(), ids=LEAVING)
def test_leaving(results: str, body: str, expected: list[str]) -> None:
    assert plan_of(function_of(results, body)) == expected


def test_an_argument_is_written_turned() -> None:
    square = "tensor<3x3xf32>"
    turned = (
        f"%t = tw.transpose %x by [1, 0] : {square} -> {square}\ntw.write %t into %x : {square}\nfunc.return"
    )
    assert plan_of(function_of("", turned, f"%x: {square}")) == ["x > 0 alloc", "0 alloc > x", ""]


ARRAYS = f'%x: {X} {{tw.strides = "1, 3", tw.note}}, %s0: index {{tw.symbol = "s0"}}, %r: {ROWS}'


def test_arguments_become_flat_buffers() -> None:
    function = function_of("", "func.return", ARRAYS)
    boundary = Boundary(function)
    assert [str(arg.type) for arg in boundary.block.args] == ["memref<15xf32>", "index", "memref<?xf32>"]
    assert [arg.name_hint for arg in boundary.block.args] == ["x", "s0", "r"]
    x, s0, r = function.body.block.args
    assert {arg.name_hint: text_of(layout) for arg, layout in boundary.layouts.items()} == {
        "x": "3, 5 at 0 by 1, 3",
        "r": "s0, 5 at 0 by 5, 1",
    }
    assert boundary.scalars == {s0: boundary.block.args[1]}
    assert list(boundary.places) == [x, r]
    place = boundary.places[r]
    assert (place.is_whole, place.storage.kind, str(place.storage.size)) == (True, "argument", "s0*5")
    assert place.storage.buffer is boundary.block.args[2]


def test_a_function_gets_its_new_body_and_type() -> None:
    function = function_of(f"{ROWS}, index", f"func.return %r, %s0 : {ROWS}, index", ARRAYS)
    boundary, plan = leave(function)
    boundary.finish(plan)
    function.verify()
    text = str(function)
    assert text.splitlines()[0] == (
        'func.func @main(%x: memref<15xf32> {tw.note, th.sizes = "3, 5", th.strides = "1, 3"}, '
        '%s0: index {tw.symbol = "s0"}, %r: memref<?xf32> {th.sizes = "s0, 5", th.strides = "5, 1"}) '
        "-> (memref<?xf32>, index) {"
    )
    assert text.splitlines()[1].strip() == "func.return %r, %s0 : memref<?xf32>, index"
    assert function.body.block is boundary.block


def test_strides_of_results() -> None:
    results = f'{X}, index, {X} {{tw.strides = "1, 3"}}, {ROWS}'
    function = function_of(results, f"func.return %x, %s0, %x, %r : {X}, index, {X}, {ROWS}", ARRAYS)
    found = [strides and format_exprs(strides) for strides in result_strides(function)]
    assert found == ["5, 1", None, "1, 3", "5, 1"]
