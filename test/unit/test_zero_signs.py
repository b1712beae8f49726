"""Which readers tell 0.0 from -0.0."""

from __future__ import annotations

import pytest
from tk_harness import parse
from xdsl.dialects.func import FuncOp

from tilewright.passes.tensor.zero_signs import reads_signs_of_zeros

_SUM = "%s = tw.sum %y over [0] : tensor<4x4xf32> -> tensor<4xf32>"


def reader(body: str) -> str | None:
    """The name of the op that may tell them apart in `%x`, of a body whose lines end in `%y`, and in `%s`."""
    module = parse(f"""func.func @main(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>) -> tensor<4xf32> {{
      {body}
      {_SUM}
      func.return %s : tensor<4xf32>
    }}""")
    (function,) = (op for op in module.ops if isinstance(op, FuncOp))
    found = reads_signs_of_zeros(function.body.block.args[0])
    return None if found is None else found.name


@pytest.mark.parametrize(
    "body",
    [
        "%y = tw.add %x, %w : tensor<4x4xf32>",
        "%y = tw.sub %w, %x : tensor<4x4xf32>",
        "%y = tw.mul %x, %w : tensor<4x4xf32>",
        "%y = tw.neg %x : tensor<4x4xf32>",
        "%y = tw.transpose %x by [1, 0] : tensor<4x4xf32> -> tensor<4x4xf32>",
        "%y = tw.matmul %x, %w : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>",
        """%h = tw.cast %x : tensor<4x4xf32> -> tensor<4x4xbf16>
           %y = tw.cast %h : tensor<4x4xbf16> -> tensor<4x4xf32>""",
        """%c = tw.compare lt %x, %w : tensor<4x4xf32> -> tensor<4x4xi1>
           %y = tw.select %c, %x, %w : tensor<4x4xi1>, tensor<4x4xf32>""",
    ],
)
def test_sums_and_products_do_not_tell(body: str) -> None:
    assert reader(body) is None


@pytest.mark.parametrize(
    ("op", "body"),
    [
        ("tw.div", "%y = tw.div %w, %x : tensor<4x4xf32>"),
        ("tw.reciprocal", "%y = tw.reciprocal %x : tensor<4x4xf32>"),
        ("tw.copysign", "%y = tw.copysign %w, %x : tensor<4x4xf32>"),
        ("tw.atan2", "%y = tw.atan2 %x, %w : tensor<4x4xf32>"),
        ("tw.bitcast", """%b = tw.bitcast %x : tensor<4x4xf32> -> tensor<4x4xi32>
                          %y = tw.cast %b : tensor<4x4xi32> -> tensor<4x4xf32>"""),
        ("tw.div", """%n = tw.neg %x : tensor<4x4xf32>
                      %m = tw.mul %n, %w : tensor<4x4xf32>
                      %y = tw.div %w, %m : tensor<4x4xf32>"""),
    ],
)  # fmt: skip
def test_others_may(op: str, body: str) -> None:
    assert reader(body) == op


def test_the_sum_of_one_number_is_that_number() -> None:
    one = """%r = tw.reshape %x : tensor<4x4xf32> -> tensor<1x16xf32>
             %t = tw.sum %r over [0] : tensor<1x16xf32> -> tensor<16xf32>
             %y = tw.reshape %t : tensor<16xf32> -> tensor<4x4xf32>"""
    assert reader(one) == "tw.sum"
    assert reader(one.replace("sum %r over [0]", "sum %r over [1]").replace("1x16", "16x1")) == "tw.sum"


def test_the_sum_of_one_product_may_be_that_product() -> None:
    one = """%r = tw.reshape %x : tensor<4x4xf32> -> tensor<16x1xf32>
             %v = tw.reshape %w : tensor<4x4xf32> -> tensor<1x16xf32>
             %m = tw.matmul %r, %v : (tensor<16x1xf32>, tensor<1x16xf32>) -> tensor<16x16xf32>
             %y = tw.slice %m starts "0, 0" steps "1, 1" : tensor<16x16xf32> -> tensor<4x4xf32>"""
    assert reader(one) == "tw.matmul"


def test_who_is_not_looked_at_may() -> None:
    chain = ["%v0 = tw.neg %x : tensor<4x4xf32>"]
    chain += [f"%v{i} = tw.neg %v{i - 1} : tensor<4x4xf32>" for i in range(1, 100)]
    assert reader("\n".join([*chain, "%y = tw.neg %v99 : tensor<4x4xf32>"])) == "tw.neg"
