"""How arguments and results of libraries lie in memory, and the one transpose that shows it."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from layout_text import text_of
from tk_harness import parse
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, SSAValue

from tilewright.dialects.attribute_facts import ints
from tilewright.dialects.dominance import verify_dominance
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.dialects.tw.view import TransposeOp
from tilewright.passes.memory.memory_order import layout_of, memory_view, shows_memory

X, T, ROWS = "tensor<3x5xf32>", "tensor<5x3xf32>", 'tensor<?x5xf32, #tw.shape<"s0, 5">>'


def main_of(arguments: str, body: str = "") -> FuncOp:
    module = parse(
        f'func.func @main({arguments}, %s0: index {{tw.symbol = "s0"}}) {{\n{body}\nfunc.return\n}}'
    )
    (function,) = module.ops
    assert isinstance(function, FuncOp)
    return function


def value_of(function: FuncOp, name: str) -> SSAValue:
    block = function.body.block
    values = [*block.args, *(result for op in block.ops for result in op.results)]
    (value,) = (value for value in values if value.name_hint == name)
    return value


def call(strides: str, made: str = X) -> str:
    return f"""%c = tw.aten "aten::cumprod"(%x) {{args = [#tw.arg<0>, 0 : i64]{strides}}} : ({X}) -> {made}"""


VALUES: Mapping[str, tuple[str, str, str]] = {
    # the arguments and ops, of which `%c` is asked for
    "an argument": (f"%c: {X}", "", "3, 5 at 0 by 5, 1"),
    "an argument that says how it lies": (f'%c: {X} {{tw.strides = "1, 3"}}', "", "3, 5 at 0 by 1, 3"),
    "an argument beside one that says it": (
        f'%x: {X} {{tw.strides = "1, 3"}}, %c: {X}',
        "",
        "3, 5 at 0 by 5, 1",
    ),
    "an argument of the run's size": (f'%c: {ROWS} {{tw.strides = "1, s0"}}', "", "s0, 5 at 0 by 1, s0"),
    "an argument without dimensions": ("%c: tensor<f32>", "", " at 0 by "),
    "what a call makes": (f"%x: {X}", call(""), "3, 5 at 0 by 5, 1"),
    "what a call makes in columns": (f"%x: {X}", call(', tw.strides = ["1, 3"]'), "3, 5 at 0 by 1, 3"),
    "what is made in any order": (
        f"%x: {X}",
        f'%c = tw.exp %x {{tw.strides = ["1, 3"]}} : {X}',
        "3, 5 at 0 by 5, 1",
    ),
}


@pytest.mark.parametrize(("arguments", "body", "layout"), VALUES.values(), ids=VALUES)
def test_how_values_lie(arguments: str, body: str, layout: str) -> None:
    assert text_of(layout_of(value_of(main_of(arguments, body), "c"))) == layout


def test_where_nothing_is_said_arguments_are_row_major() -> None:
    (function,) = parse(f"func.func @main(%c: {X}) {{\nfunc.return\n}}").ops
    assert isinstance(function, FuncOp)
    assert text_of(layout_of(value_of(function, "c"))) == "3, 5 at 0 by 5, 1"


def test_results_of_a_call_say_each_for_itself() -> None:
    function = main_of(
        f"%x: {X}",
        f"""%v, %c = tw.aten "aten::cummax"(%x)
          {{args = [#tw.arg<0>, 0 : i64], tw.strides = ["5, 1", "1, 3"]}}
          : ({X}) -> ({X}, tensor<3x5xi64>)""",
    )
    assert text_of(layout_of(value_of(function, "v"))) == "3, 5 at 0 by 5, 1"
    assert text_of(layout_of(value_of(function, "c"))) == "3, 5 at 0 by 1, 3"


def test_what_a_kernel_sees_of_an_argument_is_row_major() -> None:
    function = main_of(
        f'%x: {X} {{tw.strides = "1, 3"}}',
        f"""%k = tk.kernel [3, 5] ins(%x : {X}) -> ({X}) {{
        ^bb0(%a: {X}, %o: {X}):
          %0 = tk.load %a[d0, d1] : {X} -> f32
          tk.store %0, %o[d0, d1] : f32, {X}
        }}""",
    )
    (kernel,) = (op for op in function.walk() if isinstance(op, KernelOp))
    assert text_of(layout_of(kernel.sources[0])) == "3, 5 at 0 by 5, 1"


def test_what_belongs_to_no_function_is_row_major() -> None:
    block = Block(arg_types=[value_of(main_of(f"%c: {X}"), "c").type])
    assert text_of(layout_of(block.args[0])) == "3, 5 at 0 by 5, 1"


COLUMNS = f'%c: {X} {{tw.strides = "1, 3"}}'
TURNED = f"%t = tw.transpose %c by [1, 0] : {X} -> {T}"
SHOWN: Mapping[str, tuple[str, str, bool]] = {
    "columns, turned": (COLUMNS, TURNED, True),
    "rows, turned": (f"%c: {X}", TURNED, False),
    "rows of one element are columns": (
        '%c: tensor<1x5xf32> {tw.strides = "1, 1"}',
        "%t = tw.transpose %c by [1, 0] : tensor<1x5xf32> -> tensor<5x1xf32>",
        False,
    ),
    "turned by half": (
        '%c: tensor<2x3x5xf32> {tw.strides = "1, 2, 6"}',
        "%t = tw.transpose %c by [1, 2, 0] : tensor<2x3x5xf32> -> tensor<3x5x2xf32>",
        False,
    ),
    "not turned": (
        '%c: tensor<2x3x5xf32> {tw.strides = "3, 1, 6"}',
        "%t = tw.transpose %c by [2, 0, 1] : tensor<2x3x5xf32> -> tensor<5x2x3xf32>",
        True,
    ),
    "another view": (COLUMNS, f"%t = tw.reshape %c : {X} -> {T}", False),
    "of a view": (
        COLUMNS,
        f"%b = tw.reverse %c dims [0] : {X} -> {X}\n%t = tw.transpose %b by [1, 0] : {X} -> {T}",
        False,
    ),
    "of a scalar": ("%c: tensor<f32>", "%t = tw.transpose %c by [] : tensor<f32> -> tensor<f32>", False),
    "with gaps": (f'%c: {X} {{tw.strides = "1, 4"}}', TURNED, False),
}


@pytest.mark.parametrize(("arguments", "body", "shows"), SHOWN.values(), ids=SHOWN)
def test_what_shows_memory(arguments: str, body: str, shows: bool) -> None:
    owner = value_of(main_of(arguments, body), "t").owner
    assert not isinstance(owner, Block)
    assert shows_memory(owner) == shows


def module_behind(function: FuncOp) -> ModuleOp:
    module = function.parent_op()
    assert isinstance(module, ModuleOp)
    module.verify()
    verify_dominance(module)
    return module


ORDERS: Mapping[str, tuple[str, str, tuple[int, ...]]] = {
    "an argument in columns": (COLUMNS, f"%e = tw.exp %c : {X}", (1, 0)),
    "a call's result in columns": (
        f"%x: {X}",
        call(', tw.strides = ["1, 3"]') + f"\n%e = tw.exp %c : {X}",
        (1, 0),
    ),
    "an image whose channels come last": (
        '%c: tensor<2x3x5x7xf32> {tw.strides = "105, 1, 21, 3"}',
        "",
        (0, 2, 3, 1),
    ),
    "sizes of the run": (f'%c: {ROWS} {{tw.strides = "1, s0"}}', "", (1, 0)),
}


@pytest.mark.parametrize(("arguments", "body", "order"), ORDERS.values(), ids=ORDERS)
def test_a_view_is_made_that_shows_memory(arguments: str, body: str, order: tuple[int, ...]) -> None:
    function = main_of(arguments, body)
    value = value_of(function, "c")
    view = memory_view(value)
    assert view is not None
    module_behind(function)
    assert isinstance(view.owner, TransposeOp)
    assert view.owner.source is value
    assert ints(view.owner.perm) == order
    assert shows_memory(view.owner)
    before = view.owner.prev_op
    assert before is (None if isinstance(value.owner, Block) else value.owner)
    assert memory_view(value) is view


NO_VIEW = {
    "row-major": (f"%c: {X}", ""),
    "with gaps": (f'%c: {X} {{tw.strides = "1, 4"}}', ""),
    "repeated": (f'%c: {X} {{tw.strides = "0, 1"}}', ""),
    "of one row": ('%c: tensor<1x5xf32> {tw.strides = "1, 1"}', ""),
    "empty": ('%c: tensor<0x5xf32> {tw.strides = "1, 1"}', ""),
    "no tensor": ("%c: index", ""),
    "no tensor that a call makes": (f"%x: {X}", call("", "i64")),
    "what a kernel could store otherwise": (f"%x: {X}", f'%c = tw.exp %x {{tw.strides = ["1, 3"]}} : {X}'),
}


@pytest.mark.parametrize(("arguments", "body"), NO_VIEW.values(), ids=NO_VIEW)
def test_there_is_nothing_to_show(arguments: str, body: str) -> None:
    function = main_of(arguments, body)
    text = str(function)
    assert memory_view(value_of(function, "c")) is None
    assert str(function) == text


def test_a_view_that_is_there_comes_before_what_will_read_it() -> None:
    function = main_of(COLUMNS, f"%e = tw.exp %c : {X}\n%b = tw.reshape %c : {X} -> {T}\n{TURNED}")
    view = memory_view(value_of(function, "c"))
    assert view is not None
    assert view is value_of(function, "t")
    assert view.owner is function.body.block.first_op
    module_behind(function)


def test_a_new_view_is_placed_as_what_it_shows() -> None:
    function = main_of(f"%x: {X}", call(', tw.strides = ["1, 3"]') + ' loc("m.py":3:1)')
    view = memory_view(value_of(function, "c"))
    assert view is not None
    assert not isinstance(view.owner, Block)
    assert str(view.owner.location) == 'loc("m.py":3:1)'
