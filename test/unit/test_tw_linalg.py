"""The reference semantics of contractions against torch, and the interpreter's own rules."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
import torch
from torch.nn import functional
from tw_harness import FLOATS, INTEGERS, TORCH_DTYPES, check
from xdsl.dialects.builtin import f32, i32
from xdsl.parser import Parser
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.test_value import create_ssa_value

from tilewright.dialects.interpreter import NoEntry, WrongArgument, interpret
from tilewright.dialects.registry import new_context
from tilewright.dialects.tw import linalg as t
from tilewright.dialects.types import tensor_type


def values(*shape: int, name: str = "f32", seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch.float64).to(TORCH_DTYPES[name])


MATRICES = [((3, 5), (5, 7)), ((2, 3, 5), (2, 5, 1)), ((3, 0), (0, 4)), ((0, 3), (3, 2))]
TOLERANCE = {"f64": 1e-12, "f32": 1e-5, "bf16": 1.6e-2, "f16": 2e-3}


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize(
    "shapes", [((3, 5), (5, 7)), ((2, 3, 5), (2, 5, 1)), ((3, 0), (0, 4)), ((0, 3), (3, 2))]
)
def test_matmul(name: str, shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    a, b = values(*shapes[0], name=name), values(*shapes[1], name=name, seed=1)
    bias, tolerance = values(shapes[1][-1], name=name, seed=2), TOLERANCE[name]
    wanted = a.double() @ b.double()
    check([a, b], lambda v: t.MatmulOp(*v), wanted.to(a.dtype), rtol=tolerance, atol=tolerance)
    biased = (wanted + bias.double()).to(a.dtype)
    check([a, b, bias], lambda v: t.MatmulOp(*v), biased, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", INTEGERS)
def test_integer_matmul(name: str) -> None:
    a = torch.randint(0, 5, (3, 4)).to(TORCH_DTYPES[name])
    b = torch.randint(0, 5, (4, 2)).to(TORCH_DTYPES[name])
    check([a, b], lambda v: t.MatmulOp(*v), a @ b)


def test_widened_integer_matmul() -> None:
    a = torch.randint(-128, 128, (3, 300), dtype=torch.int8)
    b = torch.randint(-128, 128, (300, 2), dtype=torch.int8)
    bias = torch.tensor([7, 2**30], dtype=torch.int32)
    wanted = a.int() @ b.int()
    check([a, b], lambda v: t.MatmulOp(*v, element=i32), wanted)
    check([a, b, bias], lambda v: t.MatmulOp(*v, element=i32), wanted + bias)


CONVOLUTIONS: list[dict[str, Any]] = [
    {"image": (2, 3, 9), "weight": (4, 3, 3), "s": [1], "p": [0], "d": [1]},
    {"image": (2, 4, 9, 7), "weight": (6, 2, 3, 2), "s": [2, 1], "p": [1, 2], "d": [1, 2], "groups": 2},
    {"image": (1, 2, 4, 5, 6), "weight": (3, 2, 2, 2, 2), "s": [1, 2, 1], "p": [0, 1, 1], "d": [1, 1, 2]},
    {"image": (2, 4, 5, 4), "weight": (4, 1, 3, 3), "s": [1, 1], "p": [1, 1], "d": [1, 1], "groups": 4},
    {"image": (2, 4, 5, 4), "weight": (4, 3, 3, 2), "s": [2, 3], "p": [1, 0], "d": [1, 1], "extra": [1, 2]},
    {"image": (2, 4, 5), "weight": (4, 2, 3), "s": [2], "p": [2], "d": [2], "extra": [1], "groups": 2},
]


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("case", CONVOLUTIONS)
def test_convolution(name: str, case: dict[str, Any]) -> None:
    image, weight = values(*case["image"], name=name), values(*case["weight"], name=name, seed=1)
    groups, transposed = case.get("groups", 1), "extra" in case
    extra = case.get("extra", [0] * len(case["s"]))
    outputs = weight.shape[1] * groups if transposed else weight.shape[0]
    bias = values(outputs, name=name, seed=2)
    wanted = torch.ops.aten.convolution(
        image.double(),
        weight.double(),
        bias.double(),
        case["s"],
        case["p"],
        case["d"],
        transposed,
        extra,
        groups,
    ).to(image.dtype)
    check(
        [image, weight, bias],
        lambda v: t.ConvolutionOp(
            *v, case["s"], case["p"], case["d"], transposed=transposed, output_padding=extra, groups=groups
        ),
        wanted,
        rtol=TOLERANCE[name],
        atol=TOLERANCE[name] * 4,
    )


# The interpreter

TEXT = """
func.func @main(%x: tensor<?x3xbf16, #tw.shape<"s0, 3">>, %s0: index {tw.symbol = "s0"}, %y: tensor<3xf32>)
    -> (tensor<f32>, tensor<3xf32>) {
  %a = tw.cast %x : tensor<?x3xbf16, #tw.shape<"s0, 3">> -> tensor<?x3xf32, #tw.shape<"s0, 3">>
  %s = tw.sum %a over [0, 1] : tensor<?x3xf32, #tw.shape<"s0, 3">> -> tensor<f32>
  %n = tw.full "s0*3" -> tensor<f32>
  %m = tw.div %s, %n : tensor<f32>
  %z = tw.add %y, %y : tensor<3xf32>
  tw.write %z into %y : tensor<3xf32>
  %r = tw.aten "aten::relu"(%y) {args = [#tw.arg<0>]} : (tensor<3xf32>) -> tensor<3xf32>
  func.return %m, %r : tensor<f32>, tensor<3xf32>
}
"""


def test_a_kernel_larger_than_the_image_is_refused() -> None:
    """Parsers know no negative sizes; ops compute them."""
    image, weight = (create_ssa_value(tensor_type(f32, sizes)) for sizes in ((1, 3, 4), (3, 3, 3)))
    op = t.ConvolutionOp(image, weight, None, [1], [0], [3], groups=1)
    with pytest.raises(VerifyException, match="size -2 is negative"):
        op.verify()


def test_symbols_writes_and_calls() -> None:
    module = Parser(new_context(), TEXT).parse_module()
    x, y = values(4, 3, name="bf16"), torch.tensor([1.0, -2.0, 3.0])
    mean, relu = interpret(module, [x, 4, y], torch, aten=lambda op, args: [functional.relu(*args)])
    torch.testing.assert_close(mean, x.float().mean())
    torch.testing.assert_close(relu, torch.tensor([1.0, 0.0, 3.0]))
    torch.testing.assert_close(y, torch.tensor([2.0, -4.0, 6.0]))


def test_float64_computes_every_float_in_f64() -> None:
    module = Parser(new_context(), TEXT).parse_module()
    x, y = values(4, 3, name="bf16"), torch.tensor([1.0, -2.0, 3.0])
    mean, _ = interpret(module, [x, 4, y], torch, True, aten=lambda op, args: list(args))
    assert mean.dtype == torch.float64
    torch.testing.assert_close(mean, x.double().mean(), rtol=1e-15, atol=0)


def test_wrong_arguments_are_named() -> None:
    module = Parser(new_context(), TEXT).parse_module()
    with pytest.raises(WrongArgument, match=r"argument 0 of @main is \[5, 3\], expected \[4, 3\]"):
        interpret(module, [numpy.ones((5, 3)), 4, numpy.ones(3)], numpy)
    with pytest.raises(NoEntry, match="@other"):
        interpret(module, [], numpy, entry="other")
