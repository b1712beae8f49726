"""Which values of a function depend on nothing but frozen parameters."""

from __future__ import annotations

import re

from xdsl.dialects.builtin import StringAttr, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from tilewright.dialects.tw.aten import AtenOp
from tilewright.dialects.tw.base import is_pure
from tilewright.dialects.tw.creation import ConstantOp, FullOp, IotaOp
from tilewright.dialects.types import ShapeAttr

LARGEST = 1 << 26
"""Elements of a value that is worth being kept for ever."""
_SYMBOL = re.compile(r"\bs\d")
_CONSTANTS = (ConstantOp, FullOp, IotaOp)


def frozen_arguments(function: FuncOp) -> list[SSAValue]:
    """Arguments marked `tw.frozen`, in order."""
    attrs = function.arg_attrs.data if function.arg_attrs is not None else ()
    return [
        arg for arg, attr in zip(function.body.block.args, attrs, strict=False) if "tw.frozen" in attr.data
    ]


def frozen_values(function: FuncOp) -> dict[SSAValue, bool]:
    """Values that stay the same while parameters do; true where a parameter is behind one.

    Tensors of static shape only: what depends on a symbol changes from call to call.
    """
    found: dict[SSAValue, bool] = dict.fromkeys(frozen_arguments(function), True)
    for op in function.body.block.ops:
        if isinstance(op, AtenOp) or not is_pure(op) or not _is_static(op):
            continue
        if isinstance(op, _CONSTANTS):
            found.update(dict.fromkeys(op.results, False))
        elif op.operands and all(v in found for v in op.operands):
            found.update(dict.fromkeys(op.results, any(found[v] for v in op.operands)))
    return found


def _is_static(op: Operation) -> bool:
    """True where neither sizes nor properties mention a symbol."""
    types = (v.type for v in (*op.operands, *op.results))
    if any(isinstance(t, TensorType) and isinstance(t.encoding, ShapeAttr) for t in types):
        return False
    texts = (p.data for p in op.properties.values() if isinstance(p, StringAttr))
    return not any(_SYMBOL.search(text) for text in texts)
