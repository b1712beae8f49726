"""Which graphs of convolutions keep their images as they are, and what is said of it."""

from __future__ import annotations

import pytest
from tk_harness import parse

from tilewright.dialects.ir_access import defined_functions
from tilewright.dialects.tw.linalg import ConvolutionOp
from tilewright.passes.layout.worth_turning import why_not

GROUPS = "a convolution of the graph has groups of several channels"
FEW = "all convolutions of the graph have few channels"
NARROW = "a convolution of the graph has half as many channels behind it"
MOSTLY = "most of the work is in groups of several channels"
DEPTHWISE = "no convolution of the graph multiplies channels with each other"
Filters = tuple[int, int, int, int]
"""Channels behind and before, the size of the kernel, groups."""
WIDE, HALVED, SMALL = (128, 128, 3, 1), (64, 128, 3, 1), (32, 16, 3, 1)
GROUPED, DEPTH = (128, 128, 3, 4), (128, 128, 3, 128)


def found(*filters: Filters, trains: bool = False, asked: bool = False) -> str | None:
    """Why the images of a graph of such convolutions stay; it keeps what they return for a backward pass."""
    lines, given, results = list[str](), list[str](), list[str]()
    for number, (behind, before, kernel, groups) in enumerate(filters):
        image, weight = (
            f"tensor<2x{before}x9x9xf32>",
            f"tensor<{behind}x{before // groups}x{kernel}x{kernel}xf32>",
        )
        size = 9 - kernel + 1
        result = f"tensor<2x{behind}x{size}x{size}xf32>"
        given += [f"%x{number}: {image}", f"%w{number}: {weight}"]
        results.append(result)
        lines.append(
            f"%r{number} = tw.convolution %x{number}, %w{number} strides [1, 1] padding [0, 0] "
            f"dilation [1, 1] output_padding [0, 0] groups {groups} : ({image}, {weight}) -> {result}"
        )
    kept = [f"{result} {{tw.free}}" * trains or result for result in results]
    names = ", ".join(f"%r{number}" for number in range(len(filters)))
    module = parse(
        f"func.func @main({', '.join(given)}) -> ({', '.join(kept)}) {{\n"
        + "\n".join(lines)
        + f"\nfunc.return {names} : {', '.join(results)}\n}}"
    )
    (function,) = defined_functions(module)
    convolutions = [op for op in function.body.block.ops if isinstance(op, ConvolutionOp)]
    return why_not(function, convolutions, asked=asked)


TURNED: dict[str, tuple[tuple[Filters, ...], bool]] = {
    "inference of wide ones": ((WIDE,), False),
    "inference that narrows": ((HALVED,), False),
    "inference of few channels": ((SMALL,), False),
    "inference, most of it wide": ((WIDE, WIDE, GROUPED), False),
    "training of wide ones": ((WIDE, SMALL), True),
    "training with depthwise ones among them": ((WIDE, DEPTH), True),
}
LEFT: dict[str, tuple[tuple[Filters, ...], bool, str]] = {
    "groups in training": ((WIDE, GROUPED), True, GROUPS),
    "narrowing in training": ((WIDE, HALVED), True, NARROW),
    "few channels in training": ((SMALL, SMALL), True, FEW),
    "mostly groups in inference": ((GROUPED,), False, MOSTLY),
    "nothing but depthwise ones": ((DEPTH,), False, DEPTHWISE),
}


@pytest.mark.parametrize(("filters", "trains"), TURNED.values(), ids=TURNED)
def test_images_are_turned(filters: tuple[Filters, ...], trains: bool) -> None:
    assert found(*filters, trains=trains) is None


@pytest.mark.parametrize(("filters", "trains", "why"), LEFT.values(), ids=LEFT)
def test_images_stay(filters: tuple[Filters, ...], trains: bool, why: str) -> None:
    assert found(*filters, trains=trains) == why


def test_depthwise_ones_are_turned_where_their_images_are_so_already() -> None:
    assert found(DEPTH, asked=True) is None
