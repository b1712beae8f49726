"""Index expressions: canonical form, division, bounds and text, against plain integers."""

from __future__ import annotations

import os
import pickle
import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from dataclasses import FrozenInstanceError
from itertools import product as grid

import pytest

from tilewright.dialects.index_expr import (
    Bounds,
    Expr,
    IndexExprSyntaxError,
    Var,
    as_expr,
    delinearize,
    dim,
    format_exprs,
    linearize,
    maximum,
    minimum,
    parse_expr,
    parse_exprs,
    row_major_strides,
    sym,
)

SIZES = {"d0": 8, "d1": 5}


def _random_text(r: random.Random, depth: int) -> str:
    if depth == 0:
        return r.choice(["d0", "d1", "s0", str(r.randint(0, 9))])
    left, op = _random_text(r, depth - 1), r.choice(["+", "-", "*", "//", "%"])
    if op in ("//", "%"):
        return f"(({left}) {op} {r.randint(1, 12)})"
    return f"(({left}) {op} ({_random_text(r, depth - 1)}))"


@pytest.mark.parametrize("seed", range(8))
def test_expressions_mean_what_python_says(seed: int) -> None:
    r = random.Random(seed)
    for _ in range(200):
        text = _random_text(r, 3)
        env = {"d0": r.randrange(8), "d1": r.randrange(5), "s0": r.randint(0, 9)}
        wanted = eval(text, {}, env)
        expr = as_expr(eval(text, {}, {"d0": dim(0), "d1": dim(1), "s0": sym(0)}))
        values = {Var(name[0], int(name[1])): value for name, value in env.items()}
        assert expr.evaluate(values) == wanted, text
        assert parse_expr(str(expr)) == expr
        simple = Bounds((as_expr(8), as_expr(5))).simplify(expr)
        assert simple.evaluate(values) == wanted, (text, str(expr), str(simple))


def test_equal_polynomials_are_equal_and_print_alike() -> None:
    d0, s0 = dim(0), sym(0)
    assert (d0 + 1) * s0 - s0 == d0 * s0
    assert str((d0 + 1) * (d0 - 1)) == "d0*d0 - 1"
    assert hash(d0 + s0) == hash(s0 + d0)


def test_pickled_expressions_hash_as_those_of_the_process_that_reads_them() -> None:
    """A graph that another process kept is read where text hashes otherwise."""
    value = maximum((sym(0) + 3) // 2 * sym(1) + dim(0), sym(2)) % 5 + 1
    program = "import pickle, sys; from tilewright.dialects.index_expr import parse_expr; "
    program += f"sys.stdout.buffer.write(pickle.dumps(parse_expr({str(value)!r})))"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    for seed in ("7", "8"):
        environment["PYTHONHASHSEED"] = seed
        made = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, check=True
        )
        read = pickle.loads(made.stdout)
        assert read == value
        assert hash(read) == hash(value)
        assert {value: 1}[read] == 1


def test_bounds_remove_divisions() -> None:
    sizes = (as_expr(8), sym(0), as_expr(12), as_expr(64))
    bounds = Bounds(sizes)
    axes = [dim(i) for i in range(4)]
    flat = linearize(axes, row_major_strides(sizes))
    assert [bounds.simplify(e) for e in delinearize(flat, sizes)] == axes
    merged = delinearize(flat, (sym(0) * 8, as_expr(768)))
    assert format_exprs(bounds.simplify(e) for e in merged) == "d0*s0 + d1, d2*64 + d3"
    assert str(bounds.simplify((dim(2) * 64 + dim(3)) // 32)) == "d2*2 + (d3 floordiv 32)"


def test_an_axis_that_was_divided_is_put_together_again() -> None:
    """Also where a quotient became simpler: 64 rows of pixels lie in one image of 3136."""
    bounds, sizes = Bounds((as_expr(392), as_expr(64))), [as_expr(n) for n in (8, 56, 56)]
    row = dim(0) * 64 + dim(1)
    whole = linearize(delinearize(row, sizes), row_major_strides(sizes))
    assert bounds.simplify(whole) == row
    assert bounds.simplify(whole * 4 + 1) == row * 4 + 1
    assert str(bounds.simplify(row % 56 + row // 56 * 57)) != str(row)


@pytest.mark.parametrize(
    ("text", "simple"),
    [
        ("(d0*18 + d1) mod 17", "d0 + d1"),
        ("(d0*18 + d1) floordiv 17", "d0"),
        ("(d0*35 + d1) floordiv 17", "d0*2"),
        ("(d0*18 + d1 + 1) mod 17", "((d0*18 + d1 + 1) mod 17)"),
        ("(d0*16 + d1) mod 17", "((d0*16 + d1) mod 17)"),
    ],
)
def test_rows_that_begin_one_place_further_each(text: str, simple: str) -> None:
    """Of 5 rows and 13 columns."""
    value, bounds = parse_expr(text), Bounds((as_expr(5), as_expr(13)))
    found = bounds.simplify(value)
    assert str(found) == simple
    for row, column in grid(range(5), range(13)):
        at = {Var("d", 0): row, Var("d", 1): column}
        assert found.evaluate(at) == value.evaluate(at)


@pytest.mark.parametrize(
    ("text", "simple"),
    [
        ("(d0*s0 + d1) mod (s0*4)", "s0*(d0 mod 4) + d1"),
        ("(d0*s0 + d1) floordiv (s0*4)", "(d0 floordiv 4)"),
        ("(d0*s0*2 + d1) floordiv (s0*8)", "(d0 floordiv 4)"),
        ("(d0*s0*2 + d1) floordiv 8", "((d0*s0*2 + d1) floordiv 8)"),
        ("(d0*(s0 + 1) + d1) floordiv (s0*4 + 4)", "(d0 floordiv 4)"),
        ("(d0*(s0 + 1) + d1) mod (s0*4 + 4)", "s0*(d0 mod 4) + d1 + (d0 mod 4)"),
        ("(d0*(s0 + 1) + d1) floordiv (s0 + 1)", "d0"),
        ("((d0 floordiv 2)*(s0 + 1) + d1) floordiv (s0*4 + 4)", "(d0 floordiv 8)"),
        ("(d0*s0*16 + d2) floordiv 64", "((d0*s0) floordiv 4)"),
        ("(d0*s0 + d1 + 1) mod (s0*4)", "((d0*s0 + d1 + 1) mod (s0*4))"),
        ("(d0*s0 + d1) mod (s0*s0)", "s0*(d0 mod s0) + d1"),
        ("(d0*s0 - d1) mod (s0*4)", "((d0*s0 - d1) mod (s0*4))"),
    ],
)
def test_rows_of_a_symbolic_length(text: str, simple: str) -> None:
    """Of rows of `s0` columns, in groups of four."""
    value, bounds = parse_expr(text), Bounds((as_expr(12), sym(0), as_expr(16)))
    found = bounds.simplify(value)
    assert str(found) == simple
    for row, length, near in grid(range(12), range(1, 7), (0, 15)):
        for column in range(length):
            at = {Var("d", 0): row, Var("d", 1): column, Var("d", 2): near, Var("s", 0): length}
            assert found.evaluate(at) == value.evaluate(at)


@pytest.mark.parametrize(
    ("text", "simple"),
    [
        ("(d0 mod 16 + 12) mod 16", "((d0 + 12) mod 16)"),
        ("(d0 floordiv 3 mod 16 + 8) mod 16", "(((d0 floordiv 3) + 8) mod 16)"),
        ("(d0 mod 32 + d1 mod 16 + 1) mod 16", "((d0 + d1 + 1) mod 16)"),
        # not by a part of what remains, beside what is none, or from before the first
        ("(d0 mod 10 + 12) mod 16", "(((d0 mod 10) + 12) mod 16)"),
        ("(d0 mod 16 + d1) mod 16", "((d1 + (d0 mod 16)) mod 16)"),
        ("(d0 mod 16 - 1) mod 16", "(((d0 mod 16) - 1) mod 16)"),
    ],
)
def test_remainders_of_remainders(text: str, simple: str) -> None:
    value = parse_expr(text)
    assert str(found := Bounds((as_expr(70), as_expr(40))).simplify(value)) == simple
    for at in grid(range(70), range(40)):
        here = {Var("d", axis): n for axis, n in enumerate(at)}
        assert found.evaluate(here) == value.evaluate(here)


def test_division_that_rounds_up() -> None:
    symbolic = (sym(0) * 2 + 1).ceildiv(sym(1))
    assert str(sym(0).ceildiv(256)) == "((s0 + 255) floordiv 256)"
    assert (sym(0) * 8).ceildiv(4) == sym(0) * 2
    for value, by in grid(range(20), range(1, 6)):
        assert as_expr(-value).ceildiv(by) == as_expr(-(value // by))
        assert symbolic.evaluate({Var("s", 0): value, Var("s", 1): by}) == -((-2 * value - 1) // by)


def test_nothing_is_assumed_of_an_axis_without_bounds() -> None:
    assert str(dim(0) // 8) == "(d0 floordiv 8)"
    assert str(Bounds((as_expr(9),)).simplify(dim(0) // 8)) == "(d0 floordiv 8)"
    assert Bounds((as_expr(8),)).simplify(dim(0) // 8) == as_expr(0)


@pytest.mark.parametrize(
    ("text", "most"),
    [
        ("min(-d0 + 1000, 32)", "32"),
        ("min(s0, 32)", "32"),
        ("min(d0 + 2, 32)", "13"),
        ("s0*2 - (s0 mod 8)", "s0*2"),
        ("(d0 mod 4) - (min(d0, 7) mod 5)", "3"),
        ("max(d0, 3)", "None"),
        ("min(i0, d0)", "11"),
    ],
)
def test_upper_bounds(text: str, most: str) -> None:
    assert str(Bounds((as_expr(12),)).upper(parse_expr(text))) == most


def test_extremes() -> None:
    assert maximum(sym(0), sym(0) + 3) == sym(0) + 3
    assert minimum(4, 7) == as_expr(4)
    assert str(minimum(sym(0), 7)) == "min(7, s0)"
    for value in (3, 9):
        assert minimum(sym(0), 7).evaluate({Var("s", 0): value}) == min(value, 7)


def test_coefficients() -> None:
    expr = dim(0) * sym(0) * 2 + dim(1) + 5
    assert expr.coefficient(Var("d", 0)) == sym(0) * 2
    assert expr.coefficient(Var("d", 7)) == as_expr(0)
    assert (dim(0) * dim(0)).coefficient(Var("d", 0)) is None
    assert (dim(0) // 2).coefficient(Var("d", 0)) is None


def test_division_by_zero_is_an_error() -> None:
    with pytest.raises(ZeroDivisionError):
        _ = sym(0) // 0


@pytest.mark.parametrize("text", ["d0 +", "4 4", "x3", "(d0", "max(1)", "d0,,d1"])
def test_bad_text(text: str) -> None:
    with pytest.raises(IndexExprSyntaxError):
        parse_exprs(text)


def test_division_identity_on_a_grid() -> None:
    expr: Expr = dim(0) * 6 + dim(1) * 4 - 7
    for d0, d1 in grid(range(5), range(5)):
        values = {Var("d", 0): d0, Var("d", 1): d1}
        for by in (1, 2, 3, 5):
            quotient, rest = (expr // by).evaluate(values), (expr % by).evaluate(values)
            assert quotient * by + rest == expr.evaluate(values)
            assert 0 <= rest < by


def test_there_is_one_object_for_each_variable() -> None:
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda n: Var("d", 10_000 + n % 50), range(4000)))
    assert len({id(var) for var in found}) == 50
    for var in found[:50]:
        assert pickle.loads(pickle.dumps(var)) is deepcopy(var) is var
    assert Var("d", 0) != Var("s", 0)
    with pytest.raises(FrozenInstanceError):
        setattr(found[0], "index", 1)  # noqa: B010
