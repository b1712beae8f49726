"""Packed convolutions and filters as kernels give the numbers of their ops."""

from __future__ import annotations

import numpy as np
import pytest
from tk_harness import parse
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.rewriter import Rewriter

from tilewright.dialects.index_expr import ZERO, format_exprs
from tilewright.dialects.interpreter import interpret
from tilewright.dialects.tk.access import LoadOp
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.dialects.types import element_type_of, sizes_of
from tilewright.passes.lowering.lower_convolution import lower_pack_filter, lower_packed_convolution

KINDS = {"f16": np.float16, "f32": np.float32, "f64": np.float64}


def module_of(line: str) -> tuple[ModuleOp, Operation]:
    """An op of `%a`, `%b` and, where there is one, a bias `%c`."""
    how, _, types = line.partition(" : ")
    given, _, made = types.partition(" -> ")
    arguments = [f"%{name}: {type_}" for name, type_ in zip("abc", given.split(", "), strict=False)]
    listed = given if how.startswith("tw.pack_filter") else f"({given})"
    module = parse(f"""func.func @main({", ".join(arguments)}) -> {made} {{
      %r = {how} : {listed} -> {made}
      func.return %r : {made}
    }}""")
    (op,) = (op for op in module.walk() if op.name.startswith("tw."))
    return module, op


def check(module: ModuleOp, op: Operation, kernel: KernelOp, tolerance: float) -> None:
    random, inputs = np.random.default_rng(0), list[np.ndarray]()
    for value in op.operands:
        numbers = random.standard_normal([size.evaluate({}) for size in sizes_of(value)])
        inputs.append(numbers.astype(KINDS[str(element_type_of(value))]))
    wanted = interpret(module, inputs, np)
    Rewriter.replace_op(op, kernel)
    module.verify()
    found = interpret(module, inputs, np)
    assert found[0].dtype == wanted[0].dtype
    np.testing.assert_allclose(found[0], wanted[0], rtol=tolerance, atol=tolerance)


FILTERS = {
    "of a row": "tw.pack_filter %a width 3 : tensor<6x2x4xf32> -> tensor<2x4x2x3xf32>",
    "of an image": "tw.pack_filter %a width 2 : tensor<4x3x2x5xf16> -> tensor<2x2x5x3x2xf16>",
    "in groups of channels": "tw.pack_filter %a width 3 group 2 : tensor<6x4x5xf32> -> tensor<2x5x2x3x2xf32>",
    "all at once": "tw.pack_filter %a width 6 : tensor<6x1x1xf64> -> tensor<1x1x1x6xf64>",
}


@pytest.mark.parametrize("line", FILTERS.values(), ids=FILTERS)
def test_filters(line: str) -> None:
    module, op = module_of(line)
    kernel = lower_pack_filter(op)
    assert kernel.space == sizes_of(op.results[0])
    check(module, op, kernel, 0)


CONVOLUTIONS = {
    # op and types, sizes of the kernel
    "a row": (
        "tw.packed_convolution %a, %b strides [1] dilation [1] groups 1 : "
        "tensor<2x9x3xf32>, tensor<2x3x3x4xf32> -> tensor<2x7x8xf32>",
        "2, 7, 1, 2, 4, 3, 3",
    ),
    "strides and dilations": (
        "tw.packed_convolution %a, %b bias %c strides [2, 1] dilation [1, 2] groups 1 : "
        "tensor<1x7x8x2xf32>, tensor<1x3x2x2x5xf32>, tensor<5xf32> -> tensor<1x3x6x5xf32>",
        "1, 3, 6, 1, 1, 5, 3, 2, 2",
    ),
    "groups": (
        "tw.packed_convolution %a, %b strides [1] dilation [1] groups 2 : "
        "tensor<2x5x6xf64>, tensor<4x2x3x2xf64> -> tensor<2x4x8xf64>",
        "2, 4, 2, 2, 2, 2, 3",
    ),
    "groups of channels": (
        "tw.packed_convolution %a, %b bias %c strides [1] dilation [1] groups 2 : "
        "tensor<2x5x8xf32>, tensor<2x3x2x5x2xf32>, tensor<10xf32> -> tensor<2x3x10xf32>",
        "2, 3, 2, 1, 5, 3, 2, 2",
    ),
    "each channel by itself": (
        "tw.packed_convolution %a, %b bias %c strides [1, 1] dilation [1, 1] groups 6 : "
        "tensor<1x4x5x6xf32>, tensor<2x2x3x1x3xf32>, tensor<6xf32> -> tensor<1x3x3x6xf32>",
        "1, 3, 3, 1, 2, 3, 2, 3, 1",
    ),
    "halves": (
        "tw.packed_convolution %a, %b strides [1] dilation [1] groups 1 : "
        "tensor<2x9x3xf16>, tensor<2x3x3x4xf16> -> tensor<2x7x8xf16>",
        "2, 7, 1, 2, 4, 3, 3",
    ),
    "an image of one row": (
        "tw.packed_convolution %a, %b strides [2, 1] dilation [1, 1] groups 1 : "
        "tensor<2x1x5x3xf32>, tensor<1x1x2x3x4xf32> -> tensor<2x1x4x4xf32>",
        "2, 1, 4, 1, 1, 4, 1, 2, 3",
    ),
}


@pytest.mark.parametrize(("line", "sizes"), CONVOLUTIONS.values(), ids=CONVOLUTIONS)
def test_convolutions(line: str, sizes: str) -> None:
    module, op = module_of(line)
    kernel = lower_packed_convolution(op)
    assert format_exprs(kernel.space) == sizes
    check(module, op, kernel, 2e-3 if "f16" in line else 1e-5)


def test_places_in_a_dimension_of_one_are_zero() -> None:
    """Also where a stride would multiply them: nothing has to be known of the axis."""
    _, op = module_of(CONVOLUTIONS["an image of one row"][0])
    load = next(inner for inner in lower_packed_convolution(op).walk() if isinstance(inner, LoadOp))
    assert [e == ZERO for e in load.subscripts] == [False, True, False, False]
