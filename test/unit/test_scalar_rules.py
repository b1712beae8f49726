"""Scalar ops of each elementwise op give the same numbers, at the ends of each type, too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product

import pytest
import torch
from tw_harness import FLOATS, INTEGERS, TORCH_DTYPES, module_of
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.interpreter import interpret
from tilewright.dialects.tk.arith import ROUNDED
from tilewright.dialects.tw import elementwise as un
from tilewright.dialects.tw import elementwise_binary as bi
from tilewright.dialects.tw.bits import BitcastOp
from tilewright.dialects.tw.float8 import DecodeFloat8Op, EncodeFloat8Op
from tilewright.dialects.tw.linalg import MatmulOp
from tilewright.dialects.types import ELEMENT_TYPES, sizes_of
from tilewright.passes.kernels.kernel_builder import KernelBuilder
from tilewright.passes.lowering.scalar_rules import FLOAT_ROWS, FUNCTIONS, INTEGER_ROWS, has_rule, lower

KINDS = (*FLOATS, *INTEGERS, "i1")
OPS = sorted({*FLOAT_ROWS, *INTEGER_ROWS, *FUNCTIONS}, key=lambda op: op.name)
ALONE = [op for op in OPS if issubclass(op, un.UnaryOp | un.PredicateOp)]
PAIRS = [op for op in OPS if issubclass(op, bi.BinaryOp)]
ABOUT_1_ULP = {"f64": 1e-12, "f32": 2e-6, "bf16": 2e-2, "f16": 2e-3}
Build = Callable[[Sequence[SSAValue]], Operation]


def numbers(kind: str) -> torch.Tensor:
    """Those where ops differ most from each other."""
    dtype = TORCH_DTYPES[kind]
    if kind == "i1":
        return torch.tensor([False, True])
    if kind in FLOATS:
        special = [
            0.0,
            -0.0,
            1.0,
            -1.0,
            0.5,
            1.5,
            2.5,
            -2.5,
            7.0,
            -7.0,
            30.0,
            torch.inf,
            -torch.inf,
            torch.nan,
        ]
        return torch.tensor(special, dtype=dtype)
    limits = torch.iinfo(dtype)
    found = {
        limits.min,
        limits.min + 1,
        limits.max,
        limits.max - 1,
        0,
        1,
        2,
        3,
        7,
        limits.bits - 1,
        limits.bits,
    }
    return torch.tensor(sorted(found | ({-1, -2, -7} if limits.min else set())), dtype=dtype)


def paired(kind: str) -> list[torch.Tensor]:
    pairs = list(product(numbers(kind), repeat=2))
    return [torch.stack([pair[side] for pair in pairs]) for side in (0, 1)]


def check(inputs: Sequence[torch.Tensor], build: Build) -> None:
    """The kernel of an op makes what the op does, or both refuse."""
    module = module_of(inputs, build)
    (main,) = (op for op in module.walk() if isinstance(op, FuncOp))
    op = next(op for op in main.body.block.ops if op.name.startswith("tw."))
    assert has_rule(op)
    wanted, refused = _run(module, inputs)
    b = KernelBuilder(op.location, sizes_of(op.results[0]), op.operands, op.result_types)
    b.store(lower(b, op, [b.load(n, b.axes) for n in range(len(op.operands))]), b.axes)
    Rewriter.replace_op(op, b.kernel)
    module.verify()
    found, also_refused = _run(module, inputs)
    assert refused == also_refused
    if wanted is not None and found is not None:
        name = next(name for name, dtype in TORCH_DTYPES.items() if dtype == wanted.dtype)
        near = ABOUT_1_ULP.get(name, 0)
        torch.testing.assert_close(found, wanted, rtol=near, atol=near, equal_nan=True)
        zero = wanted == 0
        assert torch.equal(found[zero].signbit(), wanted[zero].signbit())


def _run(module: Operation, inputs: Sequence[torch.Tensor]) -> tuple[torch.Tensor | None, bool]:
    try:
        return interpret(module, inputs, torch)[0], False  # type: ignore[arg-type]
    except ZeroDivisionError:
        return None, True


def accepts(op: type[Operation], kind: str, count: int) -> bool:
    sample = torch.zeros(1, dtype=TORCH_DTYPES[kind])
    try:
        module_of([sample] * count, lambda args: op(*args))
    except VerifyException:
        return False
    return True


@pytest.mark.parametrize("kind", KINDS)
def test_ops_of_one_number(kind: str) -> None:
    ops = [op for op in ALONE if accepts(op, kind, 1)]
    assert len(ops) > (30 if kind in FLOATS else 0)
    for op in ops:
        check([numbers(kind)], lambda args, op=op: op(args[0]))


@pytest.mark.parametrize("kind", KINDS)
def test_ops_of_two(kind: str) -> None:
    ops = [op for op in PAIRS if accepts(op, kind, 2)]
    assert len(ops) > (10 if kind != "i1" else 3)
    x, y = paired(kind)
    if kind in INTEGERS:
        keep = y != 0
        x, y = x[keep], y[keep]
    for op in ops:
        shown = (
            (y >= 0) & (y < 4)
            if op is bi.PowOp and kind in INTEGERS
            else torch.ones_like(y, dtype=torch.bool)
        )
        check([x[shown], y[shown]], lambda args, op=op: op(*args))


@pytest.mark.parametrize("kind", INTEGERS)
@pytest.mark.parametrize("op", [bi.FloorDivOp, bi.TruncDivOp, bi.FmodOp, bi.RemainderOp])
def test_integers_are_not_divided_by_zero(op: type[Operation], kind: str) -> None:
    check([numbers(kind), torch.zeros_like(numbers(kind))], lambda args: op(*args))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("predicate", ["eq", "ne", "lt", "le", "gt", "ge"])
def test_comparisons(predicate: str, kind: str) -> None:
    check(paired(kind), lambda args: bi.CompareOp(args[0], args[1], predicate))


@pytest.mark.parametrize("kind", ["f32", "i8", "i1"])
def test_choices(kind: str) -> None:
    x, y = paired(kind)
    truths = torch.arange(len(x)) % 3 == 0
    check([truths, x, y], lambda args: bi.SelectOp(*args))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("to", KINDS)
def test_casts(kind: str, to: str) -> None:
    given = numbers(kind)
    if kind in FLOATS and to in INTEGERS:  # others depend on the machine
        given = given[
            given.isfinite() & ((given >= 0) if to == "ui8" else torch.ones_like(given, dtype=bool))
        ]
    check([given], lambda args: bi.CastOp(args[0], ELEMENT_TYPES[to]))


@pytest.mark.parametrize(("kind", "to", "rounds"), [
    ("f32", "bf16", True), ("f64", "f16", True), ("f16", "bf16", True), ("bf16", "bf16", False),
    ("f32", "f16", True), ("i1", "bf16", False),
])  # fmt: skip
def test_casts_that_round_are_not_undone(kind: str, to: str, rounds: bool) -> None:
    """Unless they lose nothing."""
    module = module_of([numbers(kind)], lambda args: bi.CastOp(args[0], ELEMENT_TYPES[to], rounded=True))
    (op,) = (op for op in module.walk() if isinstance(op, bi.CastOp))
    b = KernelBuilder(op.location, sizes_of(op.result), op.operands, op.result_types)
    b.store(lower(b, op, [b.load(0, b.axes)]), b.axes)
    assert any(ROUNDED in inner.attributes for inner in b.kernel.walk()) == rounds
    check([numbers(kind)], lambda args: bi.CastOp(args[0], ELEMENT_TYPES[to], rounded=True))


@pytest.mark.parametrize("format_", ["e4m3fn", "e4m3fnuz", "e5m2", "e5m2fnuz"])
def test_floats_of_8_bits(format_: str) -> None:
    every = torch.arange(-128, 128).to(torch.int8)
    check([every], lambda args: DecodeFloat8Op(args[0], format_))
    wide = torch.tensor([0.0, -0.0, 1.0, -1.0625, 0.001, 1e-9, 240.0, 449.0, -6e4, 1e9, torch.inf, torch.nan])
    check([wide], lambda args: EncodeFloat8Op(args[0], format_))
    check([wide], lambda args: EncodeFloat8Op(args[0], format_, clamped=True))


def test_bits() -> None:
    check([numbers("f32")], lambda args: BitcastOp(args[0]))
    check([numbers("i64")], lambda args: BitcastOp(args[0]))


@pytest.mark.parametrize("kind", ["i8", "i16", "ui8"])
def test_what_is_computed_of_narrow_integers_wraps_at_once(kind: str) -> None:
    """Not only where it is stored: what follows in the same kernel reads it, too."""
    x, y = paired(kind)
    module = module_of([x, y], lambda args: bi.CompareOp(bi.AddOp(*args).result, args[0], "lt"))
    add, less = (op for op in module.walk() if isinstance(op, bi.AddOp | bi.CompareOp))
    wanted = interpret(module, [x, y], torch)
    b = KernelBuilder(less.location, sizes_of(less.results[0]), add.operands, less.result_types)
    given = [b.load(n, b.axes) for n in (0, 1)]
    b.store(lower(b, less, [lower(b, add, given), given[0]]), b.axes)
    Rewriter.replace_op(less, b.kernel)
    assert torch.equal(interpret(module, [x, y], torch)[0], wanted[0])
    assert torch.equal(wanted[0], x + y < x)


def test_other_ops_have_no_rule() -> None:
    square = torch.zeros(2, 2)
    module = module_of([square, square], lambda args: MatmulOp(*args))
    assert not any(has_rule(op) for op in module.walk())
