"""Iterations that may run at once never store to one place; stores that add to others come behind them."""

from __future__ import annotations

from itertools import product

import pytest
from xdsl.parser import Parser

from tilewright.dialects.index_expr import Var, parse_expr
from tilewright.dialects.registry import new_context
from tilewright.dialects.tk.access import StoreOp
from tilewright.dialects.tk.kernels import FuncOp
from tilewright.passes.kernels.facts import Body
from tilewright.passes.schedule.collisions import in_turn, is_independent, limit_of

SPACE, LIMITS = (2, 3), (2, 3)
"""Sizes of axes, and of how many values positions are: `i0` and `i1`."""


def parse(body: str) -> FuncOp:
    text = f"tk.func @k [{SPACE[0]}, {SPACE[1]}] (%p: memref<99xi64>, %o: memref<999xf32>) {{{body}}}"
    func = Parser(new_context(), text).parse_module().body.block.first_op
    assert isinstance(func, FuncOp)
    return func


def position(number: int, limit: str, predicate: str = "ult", otherwise: str = "zero") -> str:
    """What is loaded, or 0 where it is not below a limit."""
    return f"""
      %x{number} = tk.load %p[d0 + d1*2] : memref<99xi64> -> i64
      %zero{number} = arith.constant 0 : i64
      %one{number} = arith.constant 1 : i64
      %n{number} = {limit}
      %t{number} = arith.cmpi {predicate}, %x{number}, %n{number} : i64
      %c{number} = arith.select %t{number}, %x{number}, %{otherwise}{number} : i64
      %i{number} = arith.index_cast %c{number} : i64 to index"""


def scatter(where: str, *positions: str) -> FuncOp:
    checked = "".join(positions or (position(k, f"arith.constant {n} : i64") for k, n in enumerate(LIMITS)))
    used = [f"%i{k}" for k in range(len(positions or LIMITS))]
    return parse(f"""{checked}
      %v = arith.constant 1.0 : f32
      tk.store %v, %o[{where}]({", ".join(used)}) over [0, 1] combine add : f32, memref<999xf32>""")


def meet(where: str, axis: int) -> bool:
    """Whether two iterations with different numbers of `axis` store to one place, for some positions."""
    expr, found = parse_expr(where), dict[int, int]()
    variables = [Var(kind, k) for kind in "di" for k in range(2)]
    for numbers in product(*map(range, (*SPACE, *LIMITS))):
        place = expr.evaluate(dict(zip(variables, numbers, strict=True)))
        if found.setdefault(place, numbers[axis]) != numbers[axis]:
            return True
    return False


@pytest.mark.parametrize(
    ("where", "independent"),
    [
        ("d1 + i0*3", (False, True)),
        ("d0*6 + d1*2 + i0", (True, True)),
        ("d0*9 + d1 + i1*3", (True, True)),
        ("d0*3 - i1", (True, False)),
        ("d0*6 + i0*3 + i1", (True, False)),
        ("d0*6 + d1*2 + i0*3 + i1", (False, False)),
        ("d0*2 + d1*4 + i0*2", (False, False)),
        ("d0*2 + i1", (False, False)),
        ("d0 + d1*2 + i0", (False, False)),
        ("(d0 + d1 + i0) floordiv 2", (False, False)),
    ],
)
def test_digits_are_apart(where: str, independent: tuple[bool, bool]) -> None:
    func = scatter(where)
    body = Body.of(func.body.block)
    assert tuple(is_independent(body, func.space, axis) for axis in (0, 1)) == independent
    for axis in (0, 1):
        assert not (independent[axis] and meet(where, axis))


def test_what_is_along_symbols_stays_where_it_is() -> None:
    func = scatter("d1 + s0*5 + i0*3")
    assert is_independent(Body.of(func.body.block), func.space, 1)


@pytest.mark.parametrize(
    ("checked", "limit"),
    [
        (position(0, "arith.constant 2 : i64"), "2"),
        (position(0, 'tk.index "s0" : i64'), "s0"),
        (position(0, "arith.constant 2 : i64", predicate="slt"), None),
        (position(0, "arith.constant 2 : i64", otherwise="one"), None),
        (position(0, "tk.load %p[7] : memref<99xi64> -> i64"), None),
    ],
)
def test_limits_of_checked_positions(checked: str, limit: str | None) -> None:
    func = scatter("d1 + i0*3", checked)
    store = func.body.block.last_op
    assert isinstance(store, StoreOp)
    found = limit_of(store.dynamic[0])
    assert found == (None if limit is None else parse_expr(limit))
    assert is_independent(Body.of(func.body.block), func.space, 1)


@pytest.mark.parametrize(
    ("stores", "turns"),
    [
        ("fill fill", ["fill fill"]),
        ("fill add", ["fill", "add"]),
        ("add add", ["add", "add"]),
        ("add other", ["add other"]),
        ("other add check", ["other add check"]),
        ("fill check add", ["fill", "check add"]),
    ],
)
def test_what_adds_to_a_store_has_a_turn_of_its_own(stores: str, turns: list[str]) -> None:
    texts = {
        "fill": "tk.store %v, %o[d0] : f32, memref<999xf32>",
        "add": "tk.store %v, %o[0] over [0] combine add : f32, memref<999xf32>",
        "other": "tk.store %v, %p[d0] : f32, memref<999xf32>",
        "check": 'tk.assert %t "wrong" : i1',
    }
    body = "\n".join(texts[word] for word in stores.split())
    text = f"""tk.func @k [4] (%p: memref<999xf32>, %o: memref<999xf32>) {{
      %v = arith.constant 1.0 : f32
      %t = arith.constant true
      {body}
    }}"""
    func = Parser(new_context(), text).parse_module().body.block.first_op
    assert isinstance(func, FuncOp)
    sinks = Body.of(func.body.block).sinks()
    words = dict(zip(sinks, stores.split(), strict=True))
    assert [" ".join(words[op] for op in turn) for turn in in_turn(sinks)] == turns
