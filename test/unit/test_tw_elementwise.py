"""The reference semantics of elementwise ops against torch, per dtype and shape."""

from __future__ import annotations

import pytest
import torch
from tw_harness import FLOATS, INTEGERS, TORCH_DTYPES, check

from tilewright.dialects.tw import elementwise as u
from tilewright.dialects.tw import elementwise_binary as b
from tilewright.dialects.types import ELEMENT_TYPES

SHAPES = [(), (0,), (7,), (3, 5), (2, 0, 3), (2, 3, 4)]
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -2.5, 3.5, float("inf"), float("-inf"), float("nan"), 1e-3, 30.0]

UNARY = {
    u.NegOp: torch.neg, u.AbsOp: torch.abs, u.ExpOp: torch.exp, u.Exp2Op: torch.exp2, u.Expm1Op: torch.expm1,
    u.LogOp: torch.log, u.Log2Op: torch.log2, u.Log10Op: torch.log10, u.Log1pOp: torch.log1p,
    u.SqrtOp: torch.sqrt, u.RsqrtOp: torch.rsqrt, u.ReciprocalOp: torch.reciprocal, u.SinOp: torch.sin,
    u.CosOp: torch.cos, u.TanOp: torch.tan, u.AsinOp: torch.asin, u.AcosOp: torch.acos, u.AtanOp: torch.atan,
    u.SinhOp: torch.sinh, u.CoshOp: torch.cosh, u.TanhOp: torch.tanh, u.AsinhOp: torch.asinh,
    u.AcoshOp: torch.acosh, u.AtanhOp: torch.atanh, u.ErfOp: torch.erf, u.SigmoidOp: torch.sigmoid,
    u.FloorOp: torch.floor, u.CeilOp: torch.ceil, u.RoundOp: torch.round, u.TruncOp: torch.trunc,
    u.IsNanOp: torch.isnan, u.IsInfOp: torch.isinf,
}  # fmt: skip
BINARY = {
    b.AddOp: torch.add, b.SubOp: torch.sub, b.MulOp: torch.mul, b.FmodOp: torch.fmod,
    b.RemainderOp: torch.remainder, b.MaximumOp: torch.maximum, b.MinimumOp: torch.minimum,
    b.FloorDivOp: lambda x, y: torch.div(x, y, rounding_mode="floor"),
}  # fmt: skip
FLOAT_BINARY = {b.DivOp: torch.div, b.Atan2Op: torch.atan2, b.CopysignOp: torch.copysign, b.PowOp: torch.pow}
INT_BINARY = {
    b.AndOp: torch.bitwise_and, b.OrOp: torch.bitwise_or, b.XorOp: torch.bitwise_xor,
    b.TruncDivOp: lambda x, y: torch.div(x, y, rounding_mode="trunc"),
}  # fmt: skip


def floats(shape: tuple[int, ...], name: str, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return (torch.randn(shape, generator=generator, dtype=torch.float64) * 3).to(TORCH_DTYPES[name])


def integers(shape: tuple[int, ...], name: str, seed: int = 0, low: int = -9) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    low = max(low, 0) if name == "ui8" else low
    return torch.randint(low, 10, shape, generator=generator).to(TORCH_DTYPES[name])


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("op", UNARY)
def test_unary(op: type[u.UnaryOp], name: str) -> None:
    values = [floats(shape, name) for shape in SHAPES]
    for x in [*values, torch.tensor(SPECIAL, dtype=TORCH_DTYPES[name])]:
        check([x], lambda args: op(args[0]), UNARY[op](x))


@pytest.mark.parametrize("name", FLOATS)
def test_sign_of_zeros_and_nan(name: str) -> None:
    x = torch.tensor([1.5, -2.0, -0.0, float("nan"), float("-inf")], dtype=TORCH_DTYPES[name])
    wanted = torch.tensor([1.0, -1.0, 0.0, 0.0, -1.0], dtype=TORCH_DTYPES[name])
    check([x], lambda args: u.SignOp(args[0]), wanted)


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("op", BINARY | FLOAT_BINARY)
def test_float_binary(op: type[b.BinaryOp], name: str) -> None:
    function = (BINARY | FLOAT_BINARY)[op]
    for shape in SHAPES:
        x, y = floats(shape, name), floats(shape, name, 1)
        check([x, y], lambda args: op(*args), function(x.double(), y.double()).to(x.dtype)
              if name in ("bf16", "f16") and op is not b.FloorDivOp else function(x, y))  # fmt: skip


@pytest.mark.parametrize("name", ["f64", "f32"])
@pytest.mark.parametrize("op", BINARY | FLOAT_BINARY)
def test_float_binary_special(op: type[b.BinaryOp], name: str) -> None:
    special = torch.tensor(SPECIAL, dtype=TORCH_DTYPES[name])
    x, y = special.repeat_interleave(len(SPECIAL)), special.repeat(len(SPECIAL))
    check([x, y], lambda args: op(*args), (BINARY | FLOAT_BINARY)[op](x, y))


@pytest.mark.parametrize("name", INTEGERS)
@pytest.mark.parametrize("op", BINARY | INT_BINARY)
def test_integer_binary(op: type[b.BinaryOp], name: str) -> None:
    for shape in SHAPES:
        x, y = integers(shape, name), integers(shape, name, 1)
        y = torch.where(y == 0, torch.ones_like(y), y)
        check([x, y], lambda args: op(*args), (BINARY | INT_BINARY)[op](x, y))


@pytest.mark.parametrize("name", INTEGERS)
def test_integer_pow(name: str) -> None:
    x, y = integers((40,), name), integers((40,), name, 1, low=0)
    check([x, y], lambda args: b.PowOp(*args), torch.pow(x, y))


def test_integer_pow_of_negative_exponent() -> None:
    x, y = torch.tensor([1, -1, -1, 2, 0]), torch.tensor([-3, -3, -2, -1, -1])
    check([x, y], lambda args: b.PowOp(*args), torch.tensor([1, -1, 1, 0, 0]))


@pytest.mark.parametrize("name", INTEGERS)
def test_shifts(name: str) -> None:
    x = torch.tensor([1, 3, 100, 7]).to(TORCH_DTYPES[name])
    y = torch.tensor([1, 2, 3, 0]).to(TORCH_DTYPES[name])
    check([x, y], lambda args: b.ShiftLeftOp(*args), x << y)
    check([x, y], lambda args: b.ShiftRightOp(*args), x >> y)


def test_shifts_outside_the_width() -> None:
    x, y = torch.tensor([5, -5, 5], dtype=torch.int32), torch.tensor([32, 40, -1], dtype=torch.int32)
    check([x, y], lambda args: b.ShiftLeftOp(*args), torch.zeros(3, dtype=torch.int32))
    check([x, y], lambda args: b.ShiftRightOp(*args), torch.tensor([0, -1, 0], dtype=torch.int32))


def test_integer_division_by_zero_is_an_error() -> None:
    x, y = torch.tensor([1]), torch.tensor([0])
    with pytest.raises(ZeroDivisionError, match=r"tw\.floor_div"):
        check([x, y], lambda args: b.FloorDivOp(*args), x)


@pytest.mark.parametrize("name", INTEGERS)
def test_integer_unary(name: str) -> None:
    x = integers((11,), name)
    check([x], lambda args: u.NegOp(args[0]), torch.neg(x))
    check([x], lambda args: u.AbsOp(args[0]), torch.abs(x))
    check([x], lambda args: u.SignOp(args[0]), torch.sign(x))
    check([x], lambda args: u.BitwiseNotOp(args[0]), torch.bitwise_not(x))


def test_bools() -> None:
    x, y = torch.tensor([True, True, False, False]), torch.tensor([True, False, True, False])
    check([x], lambda args: u.LogicalNotOp(args[0]), ~x)
    check([x], lambda args: u.BitwiseNotOp(args[0]), ~x)
    check([x, y], lambda args: b.AndOp(*args), x & y)
    check([x, y], lambda args: b.XorOp(*args), x ^ y)
    check([x, y], lambda args: b.MaximumOp(*args), x | y)


@pytest.mark.parametrize("predicate", ["eq", "ne", "lt", "le", "gt", "ge"])
@pytest.mark.parametrize("name", [*FLOATS, *INTEGERS, "i1"])
def test_compare(predicate: str, name: str) -> None:
    x, y = (torch.tensor(v).to(TORCH_DTYPES[name]) for v in ([0, 1, 2, 1], [0, 2, 1, 1]))
    check([x, y], lambda args: b.CompareOp(*args, predicate), getattr(torch, predicate)(x, y))


def test_compare_nan() -> None:
    x = torch.tensor([float("nan"), -0.0])
    y = torch.tensor([float("nan"), 0.0])
    check([x, y], lambda args: b.CompareOp(*args, "eq"), torch.tensor([False, True]))
    check([x, y], lambda args: b.CompareOp(*args, "ne"), torch.tensor([True, False]))


@pytest.mark.parametrize("name", TORCH_DTYPES)
def test_select(name: str) -> None:
    condition = torch.tensor([[True, False], [False, True]])
    x, y = torch.ones(2, 2).to(TORCH_DTYPES[name]), torch.zeros(2, 2).to(TORCH_DTYPES[name])
    check([condition, x, y], lambda args: b.SelectOp(*args), torch.where(condition, x, y))


@pytest.mark.parametrize("source", TORCH_DTYPES)
@pytest.mark.parametrize("target", TORCH_DTYPES)
def test_cast(source: str, target: str) -> None:
    for x in (torch.tensor([0.0, 1.0, 2.75, 100.3]), torch.tensor(3.0), torch.ones(0, 2)):
        value = x.to(TORCH_DTYPES[source])
        wanted = value.to(TORCH_DTYPES[target])
        check([value], lambda args: b.CastOp(args[0], ELEMENT_TYPES[target]), wanted)


def test_cast_to_bool_of_nan_and_fractions() -> None:
    x = torch.tensor([float("nan"), 0.3, -0.0, float("inf")])
    check([x], lambda args: b.CastOp(args[0], ELEMENT_TYPES["i1"]), torch.tensor([True, True, False, True]))
