"""Integers that follow from positions are what kernels compute, wrapping around included, or not known."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest
from tk_harness import parse
from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, IntegerType, i32, i64
from xdsl.ir import Operation, SSAValue

from tilewright.dialects.index_expr import as_expr, dim
from tilewright.dialects.tk.access import IndexOp
from tilewright.dialects.tk.kernels import FuncOp
from tilewright.passes.kernels.positions import Positions

CASES: dict[str, tuple[str, str, str | None, str | None]] = {
    # axes, body, what it is, what it is where ranges must say so
    "a position": ("8", '%r = tk.index "d0 + 3" : i32', "d0 + 3", "d0 + 3"),
    "of unknown size": ("s0", '%r = tk.index "d0" : i64', "d0", "d0"),
    "which 32 bits may not hold": ("s0", '%r = tk.index "d0" : i32', None, None),
    "a sum": (
        "8, 4",
        '%0 = tk.index "d0" : i32  %1 = tk.index "d1*8" : i32  %r = arith.addi %0, %1 : i32',
        "d0 + d1*8",
        "d0 + d1*8",
    ),
    "a sum of unknown range": (
        "8, s0",
        '%0 = tk.index "d0" : i64  %1 = tk.index "d1" : i64  %r = arith.addi %0, %1 : i64',
        "d0 + d1",
        None,
    ),
    "a difference that 32 bits may not hold": (
        "8, s0",
        '%0 = tk.index "d0" : i32  %1 = tk.index "s0" : i32  %r = arith.subi %0, %1 : i32',
        None,
        None,
    ),
    "the last number of 32 bits": (
        "8",
        '%0 = tk.index "d0" : i32  %1 = arith.constant 2147483640 : i32  %r = arith.addi %0, %1 : i32',
        "d0 + 2147483640",
        "d0 + 2147483640",
    ),
    "one more": (
        "9",
        '%0 = tk.index "d0" : i32  %1 = arith.constant 2147483640 : i32  %r = arith.addi %0, %1 : i32',
        None,
        None,
    ),
    "the same in 64 bits": (
        "9",
        '%0 = tk.index "d0" : i64  %1 = arith.constant 2147483640 : i64  %r = arith.addi %0, %1 : i64',
        "d0 + 2147483640",
        "d0 + 2147483640",
    ),
    "widened after it wrapped around": (
        "9",
        '%0 = tk.index "d0" : i32  %1 = arith.constant 2147483640 : i32  %2 = arith.addi %0, %1 : i32 '
        "%r = arith.extsi %2 : i32 to i64",
        None,
        None,
    ),
    "a product by a constant": (
        "s0",
        '%0 = tk.index "d0" : i64  %1 = arith.constant 16777216 : i64  %r = arith.muli %1, %0 : i64',
        "d0*16777216",
        None,
    ),
    "by one that is too large": (
        "s0",
        '%0 = tk.index "d0" : i64  %1 = arith.constant 16777217 : i64  %r = arith.muli %1, %0 : i64',
        None,
        None,
    ),
    "a product of positions": (
        "8, 8",
        '%0 = tk.index "d0" : i64  %1 = tk.index "d1" : i64  %r = arith.muli %0, %1 : i64',
        None,
        None,
    ),
    "an index": (
        "8",
        '%0 = tk.index "d0" : i32  %1 = arith.extsi %0 : i32 to i64  %r = arith.index_cast %1 : i64 to index',
        "d0",
        "d0",
    ),
    "one that is cut off": (
        "s0",
        '%0 = tk.index "d0*1000" : index  %r = arith.index_cast %0 : index to i32',
        None,
        None,
    ),
    "loaded": ("8", "%r = tk.load %x[d0] : memref<8xi64> -> i64", None, None),
    "a sum of what is loaded": (
        "8",
        '%0 = tk.index "d0" : i64  %1 = tk.load %x[d0] : memref<8xi64> -> i64  %r = arith.addi %0, %1 : i64',
        None,
        None,
    ),
    "the greater one": (
        "8",
        '%0 = tk.index "d0" : i64  %1 = arith.constant 3 : i64  %r = arith.maxsi %0, %1 : i64',
        None,
        None,
    ),
}


@pytest.mark.parametrize(("space", "body", "plain", "ranged"), CASES.values(), ids=CASES)
def test_what_is_known(space: str, body: str, plain: str | None, ranged: str | None) -> None:
    module = parse(f"tk.func @f [{space}] (%x: memref<8xi64>, %o: memref<8xi64>) symbols [s0] {{ {body} }}")
    (func,) = (op for op in module.ops if isinstance(op, FuncOp))
    asked = func.body.block.last_op
    assert asked is not None
    for wanted, strict in ((plain, False), (ranged, True)):
        found = Positions(func.space, ranged=strict).of(asked.results[0])
        assert (None if found is None else str(found)) == wanted


def test_each_is_looked_at_once() -> None:
    """However often it is used, and however long the way to it is."""
    value: SSAValue = IndexOp.make(dim(0)).results[0]
    positions = Positions((as_expr(8),))
    for _ in range(2000):
        twice = arith.AddiOp(value, value)
        value = arith.SubiOp(twice.result, value).result
    assert positions.of(value) == dim(0)
    assert positions.known([value]) == {value: dim(0)}


def _program(random: Random) -> list[Operation]:
    """Integers made of positions and of numbers near the limits of 32 bits."""
    made: dict[IntegerType, list[SSAValue]] = {i32: [], i64: []}
    ops: list[Operation] = []
    for _ in range(12):
        type_ = random.choice((i32, i64))
        values = made[type_]
        kinds: tuple[type[Operation], ...] = (arith.AddiOp, arith.SubiOp, arith.MuliOp, arith.ExtSIOp)
        kind = random.choice(kinds)
        if len(values) < 2:
            number = random.choice((-(2**31), -5, -1, 0, 1, 3, 2**16, 2**30, 2**31 - 6))
            place = dim(random.randrange(2)) * random.choice((1, 3)) + random.choice((-2, 0, 5))
            constant = arith.ConstantOp(IntegerAttr(number, type_))
            op = constant if random.random() < 0.4 else IndexOp.make(place, type_)
        elif kind is arith.ExtSIOp and made[i32]:
            op = arith.ExtSIOp(random.choice(made[i32]), i64)
        else:
            kind = arith.AddiOp if kind is arith.ExtSIOp else kind
            op = kind.create(operands=[random.choice(values), random.choice(values)], result_types=[type_])
        ops.append(op)
        made[i32 if op.results[0].type == i32 else i64].append(op.results[0])
    return ops


def _run(ops: list[Operation], at: tuple[int, ...]) -> dict[SSAValue, int]:
    """What the ops compute at one position, each in its type."""
    found: dict[SSAValue, int] = {}
    for op in ops:
        args = [found[v] for v in op.operands]
        match op:
            case arith.ConstantOp(value=IntegerAttr(value=number)):
                value = number.data
            case IndexOp():
                value = op.expr.evaluate({v: at[v.index] for v in op.expr.variables()})
            case arith.AddiOp():
                value = args[0] + args[1]
            case arith.SubiOp():
                value = args[0] - args[1]
            case arith.MuliOp():
                value = args[0] * args[1]
            case _:
                (value,) = args
        half = 2**31 if op.results[0].type == i32 else 2**63
        found[op.results[0]] = (value + half) % (2 * half) - half
    return found


@pytest.mark.parametrize("ranged", [False, True])
def test_what_is_known_is_what_is_computed(ranged: bool) -> None:
    random, sizes, known = Random(0), (5, 3), 0
    for _ in range(100):
        ops = _program(random)
        positions = Positions([as_expr(n) for n in sizes], ranged=ranged)
        found = positions.known(op.results[0] for op in ops)
        for at in product(*map(range, sizes)):
            values = _run(ops, at)
            for value, expr in found.items():
                assert expr.evaluate({v: at[v.index] for v in expr.variables()}) == values[value], expr
        known += sum(bool(expr.variables()) and not isinstance(v.owner, IndexOp) for v, expr in found.items())
    assert known > 50
