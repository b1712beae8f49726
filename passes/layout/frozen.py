"""Which values of a function depend on nothing but frozen parameters."""

from __future__ import annotations

import re

from xdsl.dialects.builtin import StringAttr, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from tilewright.dialects.ir_access import operands_of, ops_of, type_of
from tilewright.dialects.tw.aten import AtenOp
from tilewright.dialects.tw.base import is_pure
from tilewright.dialects.tw.control_flow import ControlOp
from tilewright.dialects.tw.creation import ConstantOp, FullOp, IotaOp
from tilewright.dialects.types import ShapeAttr

LARGEST = 1 << 26
"""Elements of a value that is worth being kept for ever."""
_SYMBOL = re.compile(r"\bs\d")
_CONSTANTS = frozenset[type[Operation]]((ConstantOp, FullOp, IotaOp))


def frozen_arguments(function: FuncOp) -> list[SSAValue]:
    """Arguments marked `tw.frozen`, in order."""
    attrs = function.arg_attrs.data if function.arg_attrs is not None else ()
    return [
        arg for arg, attr in zip(function.body.block.args, attrs, strict=False) if "tw.frozen" in attr.data
    ]


def frozen_values(function: FuncOp) -> dict[SSAValue, bool]:
    """Values that stay the same while parameters do; true where a parameter is behind one.

    Tensors of static shape only: what depends on a symbol changes from call to call. What calls operators
    of ATen or functions of the module stays where it is.
    """
    found: dict[SSAValue, bool] = dict.fromkeys(frozen_arguments(function), True)
    for op in ops_of(function.body.block):
        operands = operands_of(op)
        if type(op) in _CONSTANTS:
            known = False
        elif operands and all(v in found for v in operands):
            known = any(found[v] for v in operands)
        else:
            continue
        if not isinstance(op, AtenOp | ControlOp) and is_pure(op) and _is_static(op):
            found.update(dict.fromkeys(op.results, known))
    return found


def _is_static(op: Operation) -> bool:
    """True where neither sizes nor properties mention a symbol."""
    types = map(type_of, (*operands_of(op), *op.results))
    if any(isinstance(t, TensorType) and type(t.encoding) is ShapeAttr for t in types):
        return False
    texts = (p.data for p in op.properties.values() if type(p) is StringAttr)
    return not any(_SYMBOL.search(text) for text in texts)
