"""Which concatenations become kernels, and that each element of those is of the piece it lies in."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import Rewriter

from tilewright.dialects.index_expr import Var, parse_exprs
from tilewright.dialects.interpreter import interpret
from tilewright.dialects.registry import new_context
from tilewright.dialects.tk.access import LoadOp
from tilewright.dialects.tw.creation import FullOp
from tilewright.dialects.tw.elementwise import ExpOp, NegOp
from tilewright.dialects.tw.elementwise_binary import AddOp, MulOp
from tilewright.dialects.tw.linalg import MatmulOp
from tilewright.dialects.tw.reduction import SumOp
from tilewright.dialects.tw.view import BroadcastOp, ConcatOp, ReshapeOp, TransposeOp
from tilewright.dialects.types import ELEMENT_TYPES, element_type_of, sizes_of, tensor_type
from tilewright.passes.lowering.lower_concat import concat_becomes_kernel, lower_concat
from tilewright.passes.manager import parse_pipeline, run_pipeline
from tilewright.passes.rewrite import Remark, remarks_to

Build = Callable[[Sequence[SSAValue]], Sequence[SSAValue]]


def module_of(sizes: Sequence[str], element: str, build: Build) -> ModuleOp:
    """What `build` makes of arguments of these sizes, with all but concatenations in kernels."""
    types = [tensor_type(ELEMENT_TYPES[element], parse_exprs(text)) for text in sizes]
    block = Block(arg_types=types)
    results = build(block.args)
    for result in results:
        add(block, result)
    block.add_op(ReturnOp(*results))
    module = ModuleOp([FuncOp("main", (types, [result.type for result in results]), Region(block))])
    run_pipeline(new_context(), module, parse_pipeline("convert-tw-to-tk"))
    return module


def add(block: Block, value: SSAValue) -> None:
    """The op of `value`, behind those of its operands."""
    if isinstance(op := value.owner, Operation) and op.parent is None:
        for operand in op.operands:
            add(block, operand)
        block.add_op(op)


def concat_of(module: ModuleOp) -> ConcatOp:
    return next(op for op in module.walk() if isinstance(op, ConcatOp))


CASES: dict[str, tuple[str, int, str]] = {
    "one": ("3, 2", 1, "f32"),
    "three": ("3, 2; 3, 4; 3, 1", 1, "f32"),
    "rows": ("1, 4; 3, 4", 0, "bf16"),
    "empty ones": ("0, 2; 3, 2; 0, 2; 1, 2; 0, 2", 0, "i8"),
    "all empty": ("0, 2; 0, 2", 0, "f32"),
    "nothing along another axis": ("2, 0; 3, 0", 0, "f32"),
    "truths": ("2; 3", 0, "i1"),
    "symbols": ("s0, 2; 1, 2; s0, 2", 0, "f32"),
    "two numbers": ("7.0 of 2; 3; 8.0 of 1", 0, "f32"),
    "two zeros": ("0.0 of 2; 3; -0.0 of 1", 0, "f32"),
    "rounded": ("0.1 of 2; 3", 0, "bf16"),
    "no piece": ("7.0 of 2; 7.0 of 3", 0, "f32"),
    "two pieces": ("7.0 of 2; 3; 4", 0, "f32"),
    "pad before": ("7.0 of 3, 2; 3, 4", 1, "f32"),
    "pad behind": ("3, 4; 7.0 of 3, 2", 1, "f32"),
    "pad around": ("-0.0 of 2, 4; -0.0 of 1, 4; 3, 4; -0.0 of 2, 4", 0, "f32"),
    "pad of halves": ("3; 0.0 of 2", 0, "bf16"),
    "pad of integers": ("-3 of 2; 3", 0, "i64"),
    "pad of symbols": ("7.0 of 2; s0; 7.0 of s0", 0, "f32"),
    "pad of nothing": ("7.0 of 2; 0", 0, "f32"),
}


@pytest.mark.parametrize("name", CASES)
def test_each_element_is_of_its_piece(name: str) -> None:
    """Of pads there is one piece that is read: what fills the rest is no input."""
    text, dim, element = CASES[name]
    pieces = [piece.rpartition(" of ") for piece in text.split("; ")]
    given = [sizes for number, _, sizes in pieces if not number]

    def build(args: Sequence[SSAValue]) -> Sequence[SSAValue]:
        rest, kind = iter(args), ELEMENT_TYPES[element]
        number = int if element.startswith("i") else float
        values = [FullOp(number(n), kind, parse_exprs(s)).result if n else next(rest) for n, _, s in pieces]
        return [ConcatOp(values, dim).result]

    module, rng = module_of(given, element, build), np.random.default_rng(0)
    dtype = {"i1": np.bool_, "i8": np.int8, "i64": np.int64}.get(element, np.float32)
    symbols = {Var("s", 0): 3}
    inputs = [rng.integers(0, 2, [e.evaluate(symbols) for e in parse_exprs(s)]).astype(dtype) for s in given]
    (wanted,) = interpret(module, inputs, np, symbols=symbols)
    op = concat_of(module)
    kernel = lower_concat(op)
    Rewriter.replace_op(op, kernel)
    module.verify()
    (found,) = interpret(module, inputs, np, symbols=symbols)
    np.testing.assert_array_equal(found, wanted)
    assert np.signbit(found.astype(np.float32)).tolist() == np.signbit(wanted.astype(np.float32)).tolist()
    loads = [inner for inner in kernel.walk() if isinstance(inner, LoadOp)]
    assert len(loads) == len(kernel.inputs) == (1 if name.startswith("pad") else len(pieces))


def joined(*values: SSAValue) -> SSAValue:
    return ConcatOp(values, 0).result


def exps(x: SSAValue, times: int) -> SSAValue:
    return joined(*(ExpOp(x).result for _ in range(times)))


def steps(x: SSAValue, times: int) -> list[SSAValue]:
    states = [x]
    for _ in range(times):
        states.append(ExpOp(states[-1]).result)
    return states[1:]


def turned(x: SSAValue) -> SSAValue:
    return TransposeOp(x, (1, 0)).result


def filled(x: SSAValue) -> SSAValue:
    number = FullOp(2.0, element_type_of(x), sizes_of(x)).result
    return joined(MulOp(x, number).result, AddOp(x, number).result)


def normed(x: SSAValue) -> SSAValue:
    total = SumOp(x, [0]).result
    return AddOp(x, BroadcastOp(total, sizes_of(x), [1]).result).result


def product(args: Sequence[SSAValue]) -> SSAValue:
    return MatmulOp(args[0], args[0]).result


def folded(x: SSAValue) -> SSAValue:
    return ReshapeOp(SumOp(x, [0]).result, [1, 16]).result


MANY = "joined piece by piece: it has more than {}"
IN_PLACE = "joined piece by piece: one is computed where it belongs"
SHARED = "joined piece by piece: they are computed of the same"
DECISIONS: dict[str, tuple[Build, str | None]] = {
    "eight": (lambda a: [exps(a[0], 8)], None),
    "nine": (lambda a: [exps(a[0], 9)], MANY.format(8)),
    "given": (lambda a: [joined(*[a[0]] * 31, ReshapeOp(a[1], [2, 2]).result)], None),
    "too many": (lambda a: [joined(*[a[0]] * 33)], MANY.format(32)),
    "mostly given": (lambda a: [joined(*[a[0]] * 8, ExpOp(a[0]).result)], MANY.format(8)),
    "sums behind a view": (lambda a: [joined(folded(a[2]), a[2])], IN_PLACE),
    "a product": (lambda a: [joined(product(a), a[0])], IN_PLACE),
    "steps": (lambda a: [joined(*steps(a[2], 8))], SHARED),
    "steps behind views": (lambda a: [joined(*map(turned, steps(a[2], 3)))], SHARED),
    "one step twice": (lambda a: [joined((s := steps(a[2], 2))[0], *s)], None),
    "a step and what is given": (lambda a: [joined(a[2], *steps(a[2], 2))], None),
    "of one sum": (lambda a: [joined(ExpOp(s := SumOp(a[2], [0]).result).result, NegOp(s).result)], IN_PLACE),
    "a norm": (lambda a: [joined(a[2], ExpOp(normed(a[2])).result)], IN_PLACE),
    "a norm, and what computes of it": (lambda a: [ExpOp(joined(a[2], normed(a[2]))).result], None),
    "what is returned": (lambda a: [joined(a[0], e := ExpOp(a[0]).result), e], IN_PLACE),
    "what others compute of": (lambda a: [joined(a[0], e := ExpOp(a[0]).result), NegOp(e).result], None),
    "one filling": (lambda a: [filled(a[2])], None),
    "a product that others read": (lambda a: [joined(p := product(a), a[0]), p], None),
}


@pytest.mark.parametrize("name", DECISIONS)
def test_what_is_better_written_where_it_is_computed_stays(name: str) -> None:
    build, why = DECISIONS[name]
    found = list[Remark]()
    module = module_of(["2, 2", "4", "16, 16"], "f32", build)
    with remarks_to(found.append):
        assert concat_becomes_kernel(concat_of(module)) == (why is None)
    assert [remark.why for remark in found] == ([why] if why else [])
    assert not concat_becomes_kernel(module)
