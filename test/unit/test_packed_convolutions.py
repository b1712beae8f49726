"""Packed convolutions make the numbers of those in whose place they stand, infinite ones where they were."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
import torch
from tk_harness import parse
from torch import Tensor
from xdsl.dialects.builtin import ModuleOp, bf16, f16, f32

from tilewright.dialects.index_expr import parse_expr
from tilewright.dialects.interpreter import interpret
from tilewright.dialects.tw.linalg import ConvolutionOp
from tilewright.dialects.tw.packed_convolution import PackedConvolutionOp
from tilewright.dialects.tw.window import WindowOp
from tilewright.dialects.types import element_type_of, tensor_type
from tilewright.passes.layout.packed_convolutions import ConvolutionRewrite, has_few_channels, lie_apart

DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}
ELEMENTS = {"f32": f32, "bf16": bf16, "f16": f16}


def dims(text: str, element: str) -> str:
    return str(tensor_type(ELEMENTS[element], [parse_expr(size) for size in text.split()]))


def convolution(
    image: str,
    weight: str,
    result: str,
    geometry: str,
    element: str = "f32",
    *,
    bias: bool = False,
    x: str = "%x",
    before: str = "",
) -> str:
    """`geometry`: strides; padding; dilation; groups. Lists have no commas."""
    *steps, groups = geometry.split(";")
    s, p, d = (", ".join(step.split()) for step in steps)
    zeros = ", ".join("0" for _ in s.split())
    types = [dims(image, element), dims(weight, element)]
    outputs = dims(weight.split()[0], element)
    return f"""func.func @main(%s0: index {{tw.symbol = "s0"}}, %x: {types[0]}, %w: {types[1]}, %b: {outputs})
        -> {dims(result, element)} {{
      {before}
      %r = tw.convolution {x}, %w {"bias %b" * bias} strides [{s}] padding [{p}] dilation [{d}]
        output_padding [{zeros}] groups {groups}
        : ({", ".join([*types, *[outputs] * bias])}) -> {dims(result, element)} loc("m.py":3:1)
      func.return %r : {dims(result, element)}
    }}"""


def op_of(module: ModuleOp) -> ConvolutionOp:
    (op,) = (op for op in module.walk() if isinstance(op, ConvolutionOp))
    return op


def packed(text: str, width: int, *, dot: bool = False) -> tuple[ModuleOp, ModuleOp]:
    """Before and after."""
    before, after = parse(text), parse(text)
    ConvolutionRewrite(op_of(after)).by_packed(width, dot)
    after.verify()
    return before, after


def numbers(image: str, weight: str, element: str) -> list[Tensor]:
    generator = torch.Generator().manual_seed(0)
    shapes = [[int(n) for n in text.split()] for text in (image, weight, weight.split()[0])]
    return [torch.randn(shape, generator=generator).to(DTYPES[element]) for shape in shapes]


CASES: Mapping[str, tuple[str, str, str, str, int]] = {
    # the image, the filter, the result, the geometry; outputs per panel
    "of one dimension": ("2 8 9", "4 8 3", "2 4 7", "1; 0; 1; 1", 2),
    "with strides, padding and dilation": ("2 6 9 8", "4 6 3 2", "2 4 5 8", "2 1; 1 2; 1 4; 1", 4),
    "of volumes": ("1 5 3 4 5", "2 5 2 1 3", "1 2 4 4 5", "1 1 1; 1 0 1; 1 2 1; 1", 1),
    "of outputs that fill no panel": ("1 5 6", "5 5 3", "1 5 4", "1; 0; 1; 1", 4),
    "of groups": ("1 6 7", "4 3 3", "1 4 5", "1; 0; 1; 2", 2),
    "of groups with even channels": ("1 8 7", "4 4 3", "1 4 5", "1; 0; 1; 2", 2),
    "of each channel alone": ("1 6 7", "6 1 3", "1 6 5", "1; 0; 1; 6", 6),
    "of pixels": ("2 7 3 4", "4 7 1 1", "2 4 3 4", "1 1; 0 0; 1 1; 1", 4),
    "of no images": ("0 6 9", "4 6 3", "0 4 7", "1; 0; 1; 1", 2),
    "of three channels": ("2 3 9 8", "4 3 3 2", "2 4 5 8", "2 1; 1 2; 1 4; 1", 4),
    "of rows of three channels": ("2 3 9", "5 3 3", "2 5 5", "1; 0; 2; 1", 4),
    "of volumes of one channel": ("1 1 3 4 5", "2 1 2 1 3", "1 2 4 4 3", "1 1 2; 1 0 1; 1 2 1; 1", 2),
    "of no images of two channels": ("0 2 9", "4 2 3", "0 4 7", "1; 0; 1; 1", 2),
}


@pytest.mark.parametrize(("element", "dot"), [("f32", False), ("bf16", False), ("bf16", True), ("f16", True)])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize(("image", "weight", "result", "geometry", "width"), CASES.values(), ids=CASES)
def test_numbers_stay(
    image: str, weight: str, result: str, geometry: str, width: int, bias: bool, element: str, dot: bool
) -> None:
    before, after = packed(convolution(image, weight, result, geometry, element, bias=bias), width, dot=dot)
    given = [3, *numbers(image, weight, element)]
    (wanted,), (made,) = interpret(before, given, torch), interpret(after, given, torch)
    limit = {"f32": 1e-5, "bf16": 2**-7, "f16": 2**-10}[element]
    torch.testing.assert_close(made, wanted, rtol=limit, atol=limit)


@pytest.mark.parametrize("channels", ["3", "7"])
def test_sizes_may_be_known_at_run_time(channels: str) -> None:
    weight = f"4 {channels} 3 3"
    text = convolution(f"s0 {channels} s0*2 5", weight, "s0 4 s0*2-2 3", "1 1; 0 0; 1 1; 1")
    before, after = packed(text, 2)
    given = [3, *numbers(f"3 {channels} 6 5", weight, "f32")]
    torch.testing.assert_close(interpret(after, given, torch), interpret(before, given, torch))


ODD = {
    "three channels": ("1 3 6 9", "2 3 3 3", "1 2 4 7", "1 1; 0 0; 1 1; 1"),
    "dilated rows of three channels": ("1 3 12", "2 3 3", "1 2 8", "1; 0; 2; 1"),
    "five channels": ("1 5 6 9", "2 5 3 3", "1 2 4 7", "1 1; 0 0; 1 1; 1"),
}


@pytest.mark.parametrize("value", [torch.inf, -torch.inf, torch.nan])
@pytest.mark.parametrize(("image", "weight", "result", "geometry"), ODD.values(), ids=ODD)
def test_what_no_window_has_does_not_count(
    image: str, weight: str, result: str, geometry: str, value: float
) -> None:
    """Pairs of an odd number are filled up: 0 * inf would be no number."""
    before, after = packed(convolution(image, weight, result, geometry, "bf16"), 2, dot=True)
    given = numbers(image, weight, "bf16")
    given[0][..., 5] = value
    (wanted,), (made,) = (interpret(module, [3, *given], torch) for module in (before, after))
    assert wanted.isfinite().any()
    assert torch.equal(made.isfinite(), wanted.isfinite())


FORMS = {
    # the case, the element, whether there are products of pairs: the image's element, pairs, windows
    "f32": ("of one dimension", "f32", True, "f32", False, False),
    "bf16": ("of one dimension", "bf16", True, "bf16", True, False),
    "bf16 where nothing multiplies pairs": ("of one dimension", "bf16", False, "f32", False, False),
    "f16": ("of one dimension", "f16", True, "f32", False, False),
    "an odd number of channels": ("with strides, padding and dilation", "bf16", True, "bf16", True, False),
    "an odd number in each group": ("of groups", "bf16", True, "f32", False, False),
    "an even number in each group": ("of groups with even channels", "bf16", True, "bf16", True, False),
    "few channels": ("of three channels", "f32", False, "f32", False, True),
    "few channels of bf16": ("of three channels", "bf16", True, "bf16", True, True),
}


@pytest.mark.parametrize(("case", "element", "dot", "read", "pairs", "windows"), FORMS.values(), ids=FORMS)
def test_what_is_multiplied(
    case: str, element: str, dot: bool, read: str, pairs: bool, windows: bool
) -> None:
    image, weight, result, geometry, width = CASES[case]
    _, after = packed(convolution(image, weight, result, geometry, element), width, dot=dot)
    ops = list(after.walk())
    (op,) = (op for op in ops if isinstance(op, PackedConvolutionOp))
    assert element_type_of(op.image) == ELEMENTS[read]
    assert str(element_type_of(op.packed)) == element
    assert op.filters.group == (2 if pairs else 1)
    assert any(isinstance(op, WindowOp) for op in ops) == windows


def test_readers_read_what_stands_in_its_place() -> None:
    text = convolution("1 5 9", "5 5 3", "1 5 7", "1; 0; 1; 1", "f16", bias=True)
    _, after = packed(text, 4)
    (function,) = after.ops
    *new, ret = function.regions[0].block.ops
    assert {str(op.location) for op in new} == {'loc("m.py":3:1)'}
    assert ret.operands[0] is new[-1].results[0]
    assert ret.operands[0].name_hint == "r"


IMAGES: Mapping[str, tuple[str, bool]] = {
    # what is convolved, whether its channels lie apart
    "an argument": ("", True),
    "what an op makes": ("%y = tw.reverse %x dims [0] : tensor<2x3x9xf32> -> tensor<2x3x9xf32>", True),
    "a turned image": ("%y = tw.transpose %t by [0, 2, 1] : tensor<2x9x3xf32> -> tensor<2x3x9xf32>", False),
    "what is made of a turned image": (
        """%z = tw.transpose %t by [0, 2, 1] : tensor<2x9x3xf32> -> tensor<2x3x9xf32>
        %u = tw.exp %z : tensor<2x3x9xf32>
        %y = tw.mul %u, %x : tensor<2x3x9xf32>""",
        False,
    ),
    "what is made of an argument": ("%y = tw.exp %x : tensor<2x3x9xf32>", True),
    "what is made of one whose channels come last": ("%y = tw.exp %l : tensor<2x3x9xf32>", False),
    "one whose rows come last": ("%y = tw.exp %m : tensor<2x3x9xf32>", True),
}


@pytest.mark.parametrize(("before", "apart"), IMAGES.values(), ids=IMAGES)
def test_whether_channels_lie_apart(before: str, apart: bool) -> None:
    text = convolution("2 3 9", "4 3 3", "2 4 7", "1; 0; 1; 1", x="%y" if before else "%x", before=before)
    more = """%t: tensor<2x9x3xf32>, %l: tensor<2x3x9xf32> {tw.strides = "27, 1, 3"},
      %m: tensor<2x3x9xf32> {tw.strides = "9, 18, 1"}, """
    op = op_of(parse(text.replace("%w:", f"{more} %w:", 1)))
    assert lie_apart(op.image) == apart
    assert has_few_channels(op) == apart


def test_one_channel_that_comes_last_lies_apart() -> None:
    text = convolution("2 1 9", "4 1 3", "2 4 7", "1; 0; 1; 1")
    op = op_of(parse(text.replace("%x: tensor<2x1x9xf32>", '%x: tensor<2x1x9xf32> {tw.strides = "9, 1, 1"}')))
    assert lie_apart(op.image)


MANY = {
    "five": ("2 5 9", "4 5 3", "2 4 7", "1; 0; 1; 1"),
    "four in two groups": ("2 4 9", "4 2 3", "2 4 7", "1; 0; 1; 2"),
}


@pytest.mark.parametrize(("image", "weight", "result", "geometry"), MANY.values(), ids=MANY)
def test_channels_that_are_not_few(image: str, weight: str, result: str, geometry: str) -> None:
    op = op_of(parse(convolution(image, weight, result, geometry)))
    assert lie_apart(op.image)
    assert not has_few_channels(op)


def test_as_many_channels_as_are_few() -> None:
    assert has_few_channels(op_of(parse(convolution("2 4 9", "4 4 3", "2 4 7", "1; 0; 1; 1"))))
