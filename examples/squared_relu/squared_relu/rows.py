"""How calls of the operator become ops: imported when a graph holds one."""

from __future__ import annotations

from xdsl.ir import SSAValue

from tilewright.dialects.types import element_type_of, is_float
from tilewright.frontend.aten.builder import Builder
from tilewright.frontend.errors import Unsupported

from .dialect import SquaredReluOp


def squared_relu(b: Builder, x: SSAValue, scale: float = 1.0) -> SSAValue:
    """Integers are left to the operator's own kernel."""
    if not is_float(element_type_of(x)):
        raise Unsupported("squared_relu of integers")
    return b.emit(SquaredReluOp(x, scale))
