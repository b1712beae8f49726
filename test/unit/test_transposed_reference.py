"""The reference of a transposed convolution is what ATen computes, of what is not finite, too."""

from __future__ import annotations

import pytest
import torch
from tk_harness import parse
from torch import Tensor

from tilewright.dialects.interpreter import interpret

GEOMETRIES = {
    "patches": ((2, 2), (0, 0), (1, 1), (0, 0), 1),
    "apart": ((3, 4), (0, 0), (1, 1), (2, 1), 1),
    "over each other": ((1, 2), (1, 0), (1, 1), (0, 1), 1),
    "dilated": ((2, 1), (1, 2), (2, 3), (1, 0), 1),
    "groups": ((2, 3), (1, 1), (1, 2), (0, 2), 2),
    "behind what is reached": ((4, 4), (0, 1), (1, 1), (3, 3), 1),
}
"""Strides, padding, dilation, output padding and groups."""


def sizes_of(t: Tensor) -> str:
    return "x".join(map(str, t.shape))


@pytest.mark.parametrize("number", [1.0, float("inf"), float("nan")])
@pytest.mark.parametrize("name", GEOMETRIES)
def test_as_aten(name: str, number: float) -> None:
    strides, padding, dilation, extra, groups = GEOMETRIES[name]
    generator = torch.Generator().manual_seed(3)
    draw = (
        torch.randn(shape, generator=generator).double()
        for shape in ((2, 4, 3, 5), (4, 3, 2, 3), (3 * groups,))
    )
    image, weight, bias = draw
    image[1, 2, 1, 3] = weight[3, 0, 1, 2] = number
    expected = torch.conv_transpose2d(image, weight, bias, strides, padding, extra, groups, dilation)
    types = [f"tensor<{sizes_of(t)}xf64>" for t in (image, weight, bias, expected)]
    geometry = f"strides {list(strides)} padding {list(padding)} dilation {list(dilation)}"
    module = parse(f"""func.func @main(%x: {types[0]}, %w: {types[1]}, %b: {types[2]}) -> {types[3]} {{
      %r = tw.convolution %x, %w bias %b {geometry} transposed output_padding {list(extra)} groups {groups}
        : ({", ".join(types[:3])}) -> {types[3]}
      func.return %r : {types[3]}
    }}""")
    (found,) = interpret(module, [image, weight, bias], torch)
    torch.testing.assert_close(found, expected, equal_nan=True)
