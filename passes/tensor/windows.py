"""What the two ways to write a convolution as products share: of rows, and of columns."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import SSAValue

from tilewright.dialects.index_expr import Expr, product
from tilewright.dialects.tw.elementwise_binary import AddOp
from tilewright.dialects.tw.view import BroadcastOp
from tilewright.dialects.types import sizes_of

from ..driver import Rewrite


@dataclass(frozen=True)
class Windows:
    """Those of an image `[N, C, spatial...]` that filters `[O, C, kernel...]` multiply, in one group."""

    image: SSAValue
    weight: SSAValue
    strides: tuple[int, ...]
    kernel: tuple[int, ...]
    places: tuple[Expr, ...]
    """How many there are along each spatial dimension."""

    @property
    def rank(self) -> int:
        """The number of spatial dimensions."""
        return len(self.strides)

    @property
    def window(self) -> Expr:
        """The elements of one."""
        return product(sizes_of(self.weight)[1:])


def with_bias(result: SSAValue, bias: SSAValue | None, rw: Rewrite) -> SSAValue:
    """A convolution `[N, O, spatial...]`, or its rows `[N * places, O]`, and its bias `[O]`."""
    if bias is None:
        return result
    return rw.value(AddOp(result, rw.value(BroadcastOp(bias, sizes_of(result), (1,)))))
