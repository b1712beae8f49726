"""Groups of launches: which buffers and symbols they have, which functions, and what may be in place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from tk_harness import parse
from xdsl.dialects.builtin import ModuleOp

from tilewright.dialects.th.calls import LaunchOp
from tilewright.dialects.tk.group import GroupOp, PartOp
from tilewright.dialects.tk.inplace import attached
from tilewright.dialects.tk.kernels import FuncOp
from tilewright.passes.host.group_builder import GroupBuilder
from tilewright.passes.host.outline import Names
from tilewright.passes.host.sized_functions import SizedFunctions

BUFFER, ROWS = "memref<64xf32>", "memref<?xf32>"
ARGUMENTS = ", ".join([*(f"%{name}: {BUFFER}" for name in "abcd"), f"%s: {ROWS}", f"%t: {ROWS}"])
SYMBOLIC = f"""tk.func @rows [s0, s1] (%a: {ROWS}, %o: {ROWS}) symbols [s0, s1] {{
  %0 = tk.load %a[d0*s1 + d1] : {ROWS} -> f32
  tk.store %0, %o[d0*s1 + d1] : f32, {ROWS}
}}"""


def function(name: str, op: str = "negf", size: int = 64, note: str = "") -> str:
    type_ = f"memref<{size}xf32>"
    dialect = "arith" if op == "negf" else "math"
    return f"""tk.func @{name} [{size}] (%a: {type_}, %o: {type_}) {note} {{
      %0 = tk.load %a[d0] : {type_} -> f32
      %1 = {dialect}.{op} %0 : f32
      tk.store %1, %o[d0] : f32, {type_}
    }}"""


NEG, EXP = function("neg"), function("exp", "exp")
IN_PLACE = "attributes {tk.inplace = [array<i64: 0, 0>]}"


def launch(name: str, read: str, made: str, symbols: str = "", type_: str = BUFFER) -> str:
    note = f'symbols "{symbols}"' if symbols else ""
    return f"th.launch @{name}(%{read}) into(%{made}) {note} : ({type_}) into({type_})"


def built(lines: Sequence[str], functions: Sequence[str], *groups: Sequence[int]) -> ModuleOp:
    """After the launches of these numbers were put together, each time in the place of the first."""
    module = parse(f"""func.func @main({ARGUMENTS}) {{
      {chr(10).join(f'{line} loc("m.py":{n}:0)' for n, line in enumerate(lines))}
      func.return
    }}
    {chr(10).join(functions)}""")
    found = {op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp)}
    builder = GroupBuilder(module, found, SizedFunctions(Names(dict.fromkeys(found, 1))))
    launches = launches_of(module)
    for numbers in groups:
        chosen = [launches[n] for n in numbers]
        builder.build(chosen, chosen[0])
    builder.drop_unused()
    module.verify()
    return module


def launches_of(module: ModuleOp) -> list[LaunchOp]:
    return [op for op in module.walk() if isinstance(op, LaunchOp)]


def launched(module: ModuleOp) -> list[str]:
    """`name(inputs) into(results) symbols`"""
    return [
        f"{op.kernel.string_value()}({_names(op.ins)}) into({_names(op.outs)}) "
        + ", ".join(map(str, op.symbol_values))
        for op in launches_of(module)
    ]


def _names(values: Sequence[object]) -> str:
    return ", ".join(str(getattr(value, "name_hint", None)) for value in values)


def groups_of(module: ModuleOp) -> dict[str, list[str]]:
    """Of each group its parts, `name numbers of arguments, symbols`."""
    return {
        op.sym_name.data: [
            f"{part.kernel.string_value()} {[op.body.block.args.index(a) for a in part.arguments]}"
            f" {', '.join(map(str, part.symbols.exprs))}"
            for part in op.body.block.ops
            if isinstance(part, PartOp)
        ]
        for op in module.ops
        if isinstance(op, GroupOp)
    }


def functions_of(module: ModuleOp) -> list[str]:
    return [op.sym_name.data for op in module.ops if isinstance(op, FuncOp)]


def test_a_group_has_each_buffer_once() -> None:
    module = built([launch("neg", "a", "b"), launch("exp", "a", "c")], [NEG, EXP], (0, 1))
    assert launched(module) == ["neg_group(a) into(b, c) "]
    assert groups_of(module) == {"neg_group": ["neg [0, 1] ", "exp [0, 2] "]}
    (made,) = launches_of(module)
    (group,) = (op for op in module.ops if isinstance(op, GroupOp))
    assert str(made.location) == str(group.location) == 'loc("m.py":0:0)'


def test_what_is_written_in_place_is_a_result() -> None:
    module = built([launch("neg", "a", "a"), launch("exp", "b", "c")], [NEG, EXP], (0, 1))
    assert launched(module) == ["neg_group(b) into(a, c) "]
    assert groups_of(module) == {"neg_group": ["neg [1, 1] ", "exp [0, 2] "]}


def test_equal_symbols_are_one_and_numbers_stay() -> None:
    lines = [launch("rows", "s", "t", symbols, ROWS) for symbols in ("s3*2, s7", "4, s3*2")]
    module = built(lines, [SYMBOLIC], (0, 1))
    assert launched(module) == ["rows_group(s) into(t) s3*2, s7"]
    assert groups_of(module) == {"rows_group": ["rows [0, 1] s0, s1", "rows [0, 1] 4, s0"]}


def test_equal_groups_are_one() -> None:
    lines = [
        launch("neg", "a", "b"),
        launch("exp", "a", "c"),
        launch("neg", "b", "c"),
        launch("exp", "b", "d"),
    ]
    module = built(lines, [NEG, EXP], (0, 1), (2, 3))
    assert launched(module) == ["neg_group(a) into(b, c) ", "neg_group(b) into(c, d) "]
    assert list(groups_of(module)) == ["neg_group"]


@pytest.mark.parametrize(
    "others",
    [
        (launch("neg", "b", "c"), launch("exp", "a", "d")),
        (launch("neg", "b", "c"), launch("neg", "b", "d")),
        (launch("exp", "b", "c"), launch("neg", "b", "d")),
        (launch("neg", "b", "b"), launch("exp", "b", "d")),
    ],
    ids=["of other buffers", "of other functions", "in another order", "in place"],
)
def test_other_groups_are_two(others: tuple[str, str]) -> None:
    lines = [launch("neg", "a", "b"), launch("exp", "a", "c"), *others]
    assert len(groups_of(built(lines, [NEG, EXP], (0, 1), (2, 3)))) == 2


SMALL = "memref<32xf32>"


def test_functions_of_two_sizes_are_one_of_any() -> None:
    lines = [
        f'%x = th.alloc "32" : {SMALL}',
        launch("neg", "x", "x", type_=SMALL),
        launch("less", "a", "b"),
        launch("exp", "c", "d"),
    ]
    functions = [function("neg", size=32), function("less"), EXP]
    module = built(lines, functions, (0, 1, 2))
    assert groups_of(module) == {
        "neg_group": ["neg_of_any_size [2, 2] 2", "neg_of_any_size [0, 3] 4", "exp [1, 4] "]
    }
    assert functions_of(module) == ["neg_of_any_size", "exp"]


def test_functions_of_one_size_stay() -> None:
    module = built([launch("neg", "a", "b"), launch("neg", "c", "d")], [NEG], (0, 1))
    assert groups_of(module) == {"neg_group": ["neg [0, 2] ", "neg [1, 3] "]}
    assert functions_of(module) == ["neg"]


def test_only_functions_that_are_launched_no_more_are_dropped() -> None:
    lines = [launch("neg", "a", "b"), launch("exp", "a", "c"), launch("neg", "c", "d")]
    module = built(lines, [NEG, EXP, function("unused")], (0, 1))
    assert functions_of(module) == ["neg", "exp", "unused"]
    assert len(launches_of(module)) == 2


PAIRS: Mapping[str, tuple[Sequence[str], list[tuple[int, int]]]] = {
    "both": ([launch("neg", "a", "b"), launch("neg", "c", "d")], [(0, 0), (1, 1)]),
    "not what another part reads": ([launch("neg", "a", "b"), launch("neg", "a", "c")], []),
    "not what is read and written": ([launch("neg", "a", "a"), launch("neg", "b", "c")], [(0, 1)]),
    "not what another part writes, too": ([launch("neg", "a", "c"), launch("neg", "b", "c")], []),
    "not of another function": ([launch("neg", "a", "b"), launch("exp", "c", "d")], [(0, 0)]),
}


@pytest.mark.parametrize(("lines", "expected"), PAIRS.values(), ids=PAIRS)
def test_inputs_of_one_part_alone_may_be_in_place(
    lines: Sequence[str], expected: list[tuple[int, int]]
) -> None:
    module = built(lines, [function("neg", note=IN_PLACE), EXP], (0, 1))
    (group,) = (op for op in module.ops if isinstance(op, GroupOp))
    assert attached(group) == expected


def test_memory_is_named_before_the_group() -> None:
    lines = [
        launch("neg", "a", "b"),
        f'%e = th.empty sizes "64" strides "1" : {BUFFER}',
        f'%v = th.view %e offset "0" sizes "64" strides "1" : {BUFFER} -> !th.tensor<f32>',
        f'%w = th.data %v size "64" : !th.tensor<f32> -> {BUFFER}',
        f'%x = th.alloc "64" : {BUFFER}',
        launch("exp", "a", "w"),
    ]
    module = built(lines, [NEG, EXP], (0, 1))
    (made,) = launches_of(module)
    block = made.parent
    assert block is not None
    assert [op.name for op in block.ops] == [
        "th.empty",
        "th.view",
        "th.data",
        "th.launch",
        "th.alloc",
        "func.return",
    ]
