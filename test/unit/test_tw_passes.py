"""The tensor passes keep what a module computes: on the lit cases and on random graphs."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy
import pytest
from xdsl.dialects.builtin import ModuleOp, f32, i1
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region, SSAValue
from xdsl.parser import Parser

from tilewright.dialects.dominance import verify_dominance
from tilewright.dialects.index_expr import Expr, Var, as_expr, product, sym
from tilewright.dialects.interpreter import interpret
from tilewright.dialects.registry import new_context
from tilewright.dialects.tw import creation as c
from tilewright.dialects.tw import elementwise as u
from tilewright.dialects.tw import elementwise_binary as b
from tilewright.dialects.tw import reduction as r
from tilewright.dialects.tw import view as v
from tilewright.dialects.types import element_type_of, sizes_of, sizes_of_type, tensor_type
from tilewright.passes.registry import pass_class

PASSES = ("canonicalize", "cse", "dce", "decompose", "simplify-views")
FILES = Path(__file__).parents[1] / "passes"
SYMBOLS = {Var("s", 0): 3, Var("s", 1): 5}
SPECIAL = numpy.array([0.0, -0.0, 1.0, -1.5, 2.5, numpy.inf, -numpy.inf, numpy.nan, 1e-30])


def inputs_of(function: FuncOp, seed: int) -> list[Any]:
    generator = numpy.random.default_rng(seed)
    return [array_of(parameter, generator) for parameter in function.body.block.args]


def array_of(value: SSAValue, generator: numpy.random.Generator) -> Any:
    sizes = [n.evaluate(SYMBOLS) for n in sizes_of_type(value.type)]
    element = element_type_of(value)
    if element == i1:
        return generator.integers(0, 2, sizes).astype(bool)
    if str(element).lstrip("u").startswith("i"):
        return generator.integers(0, 9, sizes)
    array = generator.standard_normal(sizes) * 3
    if array.size > SPECIAL.size:
        array.reshape(-1)[: SPECIAL.size] = generator.permutation(SPECIAL)
    return array.astype(numpy.float32)


def run(module: ModuleOp, args: list[Any], entry: str) -> list[Any]:
    copies = [a.copy() if hasattr(a, "copy") else a for a in args]
    return interpret(module, copies, numpy, entry=entry, draw_seed=lambda: 11, symbols=SYMBOLS)


def check_same(before: list[Any], after: list[Any]) -> None:
    for old, new in zip(before, after, strict=True):
        assert old.dtype == new.dtype
        numpy.testing.assert_allclose(new, old, rtol=1e-6, equal_nan=True)
        zero = (old == 0) & (new == 0)
        if old.dtype.kind == "f":
            numpy.testing.assert_array_equal(numpy.signbit(new[zero]), numpy.signbit(old[zero]))


def cases() -> list[Any]:
    found: list[Any] = []
    for name in PASSES:
        path = FILES / f"{name.replace('-', '_')}.mlir"
        for index, part in enumerate(path.read_text().split("// -----")):
            if not any(word in part for word in ("tw.aten", "tw.write", "leaves_division_by_zero")):
                found.append(pytest.param(name, part, id=f"{name}-{index}"))
    return found


@pytest.mark.parametrize(("name", "text"), cases())
def test_lit_cases_keep_their_meaning(name: str, text: str) -> None:
    module = Parser(new_context(), text).parse_module()
    changed = module.clone()
    pass_class(name)().apply(new_context(), changed)
    changed.verify()
    verify_dominance(changed)
    for function in module.ops:
        assert isinstance(function, FuncOp)
        for seed in range(3):
            args, entry = inputs_of(function, seed), function.sym_name.data
            check_same(run(module, args, entry), run(changed, args, entry))


class RandomGraph:
    """Grows `@main` by random views and elementwise ops, over static and symbolic sizes."""

    SIZES: tuple[Expr, ...] = (as_expr(1), as_expr(2), as_expr(4), sym(0), sym(1))

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        types = [tensor_type(f32, [self.random.choice(self.SIZES) for _ in range(3)]) for _ in range(2)]
        self.block = Block(arg_types=types)
        self.values: list[SSAValue] = list(self.block.args)

    def add(self, op: Any) -> SSAValue:
        self.block.add_op(op)
        self.values.append(op.results[0])
        return op.results[0]

    def grow(self) -> None:
        value = self.random.choice(self.values[-4:])
        kinds = [self.unary, self.binary, self.reshape, self.transpose, self.broadcast, self.cut, self.reduce]
        self.random.choice(kinds)(value, sizes_of(value))

    def unary(self, value: SSAValue, sizes: tuple[Expr, ...]) -> None:
        ops = (u.NegOp, u.AbsOp, u.ReciprocalOp, u.SigmoidOp, u.FloorOp)
        self.add(self.random.choice(ops)(value))

    def binary(self, value: SSAValue, sizes: tuple[Expr, ...]) -> None:
        literal = self.random.choice([0.0, -0.0, 1.0, -1.0, 2.0, 0.25, 3.0])
        peers = [w for w in self.values if w.type == value.type]
        other = self.random.choice([self.add(c.FullOp(literal, f32, sizes)), *peers])
        op = self.random.choice((b.AddOp, b.SubOp, b.MulOp, b.DivOp, b.MaximumOp, b.PowOp))
        operands = [value, other]
        if self.random.random() < 0.5 and op is not b.PowOp:
            operands.reverse()
        self.add(op(*operands))

    def reshape(self, value: SSAValue, sizes: tuple[Expr, ...]) -> None:
        flat = self.add(v.ReshapeOp(value, [product(sizes)]))
        peers = [sizes_of(w) for w in self.values if product(sizes_of(w)) == product(sizes)]
        cut = self.random.randrange(len(sizes) + 1)
        merged = [product(sizes[:cut]), as_expr(1), product(sizes[cut:])]
        self.add(v.ReshapeOp(self.random.choice([flat, value]), self.random.choice([merged, *peers])))

    def transpose(self, value: SSAValue, sizes: tuple[Expr, ...]) -> None:
        self.add(v.TransposeOp(value, self.random.sample(range(len(sizes)), len(sizes))))

    def broadcast(self, value: SSAValue, sizes: tuple[Expr, ...]) -> None:
        if len(sizes) > 3:
            return
        result = [self.random.choice(self.SIZES) if n == as_expr(1) else n for n in sizes]
        at = self.random.randrange(len(sizes) + 1)
        dims = [d for d in range(len(sizes) + 1) if d != at]
        result.insert(at, self.random.choice(self.SIZES[:3]))
        self.add(v.BroadcastOp(value, result, dims))

    def cut(self, value: SSAValue, sizes: tuple[Expr, ...]) -> None:
        if not sizes:
            return
        dim = self.random.randrange(len(sizes))
        if self.random.random() < 0.3:
            self.add(v.ReverseOp(value, [dim]))
            return
        doubled = self.add(v.ConcatOp([value, value], dim))
        n = sizes[dim]
        start, size = self.random.choice(
            [(as_expr(0), n), (n, n), (as_expr(1), n), (n, as_expr(1)), (n * 2 - 1, as_expr(1))]
        )
        starts = [start if d == dim else 0 for d in range(len(sizes))]
        self.add(v.SliceOp(doubled, starts, [size if d == dim else m for d, m in enumerate(sizes)]))

    def reduce(self, value: SSAValue, sizes: tuple[Expr, ...]) -> None:
        axes = [d for d in range(len(sizes)) if self.random.random() < 0.4]
        self.add(self.random.choice((r.MaxOp, r.MinOp))(value, axes))

    def module(self) -> ModuleOp:
        results = self.values[-3:]
        self.block.add_op(ReturnOp(*results))
        types = ([a.type for a in self.block.args], [w.type for w in results])
        return ModuleOp([FuncOp("main", types, Region(self.block))])


@pytest.mark.parametrize("seed", range(150))
def test_random_graphs_keep_their_meaning(seed: int) -> None:
    graph = RandomGraph(seed)
    for _ in range(14):
        graph.grow()
    module = graph.module()
    module.verify()
    function = module.body.block.first_op
    assert isinstance(function, FuncOp)
    args = inputs_of(function, seed)
    expected = run(module, args, "main")
    for name in (*PASSES, "canonicalize", "simplify-views"):
        pass_class(name)().apply(new_context(), module)
        module.verify()
        verify_dominance(module)
        assert str(Parser(new_context(), str(module)).parse_module()) == str(module), name
        check_same(expected, run(module, args, "main"))
